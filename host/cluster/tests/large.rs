//! A comparison over a gigabyte, which is ignored because it takes minutes.

use std::path::PathBuf;
use std::time::Instant;

use warpath_sql::Options;

use super::Session;
use super::processes::Cluster;

/// Queries over records of Bluesky's shape.
const QUERIES: [&str; 8] = [
    "SELECT count(*) FROM T",
    "SELECT commit['collection'] AS c, count(*) AS n FROM T GROUP BY c ORDER BY n DESC, c",
    "SELECT commit['collection'] AS c, count(*) AS n, count(DISTINCT did) AS users FROM T \
     WHERE kind = 'commit' AND commit['operation'] = 'create' GROUP BY c ORDER BY n DESC, c",
    "SELECT commit['collection'] AS c, CAST(time_us / 3600000000 % 24 AS BIGINT) AS h, count(*) AS n FROM T \
     WHERE kind = 'commit' GROUP BY c, h ORDER BY h, c",
    "SELECT did, min(time_us) AS first FROM T WHERE commit['collection'] = 'app.bsky.feed.post' GROUP BY did \
     ORDER BY first, did LIMIT 3",
    "SELECT did, max(time_us) - min(time_us) AS span FROM T WHERE commit['collection'] = 'app.bsky.feed.post' \
     GROUP BY did ORDER BY span DESC, did LIMIT 3",
    "SELECT kind, count(*) FROM T GROUP BY kind UNION ALL SELECT commit['operation'], count(*) FROM T \
     GROUP BY commit['operation']",
    "SELECT a.did, count(*) AS n FROM T a JOIN (SELECT did, max(time_us) AS last FROM T GROUP BY did) b \
     ON a.did = b.did AND a.time_us = b.last GROUP BY a.did ORDER BY n DESC, a.did LIMIT 10",
];

/// The folder has about a gigabyte in 16 files, made by the program `generate` of `benches`.
#[test]
#[ignore = "needs a gigabyte: WARPATH_CLUSTER_DATA names a folder with 16 files of `generate --shape bluesky`"]
fn a_gigabyte_on_a_cluster_and_in_one_process() {
    let folder =
        PathBuf::from(std::env::var_os("WARPATH_CLUSTER_DATA").expect("WARPATH_CLUSTER_DATA is set"));
    let mut cluster = Cluster::new(3);
    let one = Session::new(&Options::default(), None);
    let many = Session::new(&Options::default(), Some(cluster.address()));
    let table = format!("'{}/'", folder.display());
    let mut expected = Vec::new();
    for query in QUERIES {
        let query = query.replace("FROM T", &format!("FROM {table}"));
        let start = Instant::now();
        expected.push(one.rows(&query));
        let in_one = start.elapsed();
        let start = Instant::now();
        assert_eq!(Some(&many.rows(&query)), expected.last(), "{query}");
        println!(
            "one process {:.2} s, cluster {:.2} s: {query}",
            in_one.as_secs_f64(),
            start.elapsed().as_secs_f64()
        );
    }
    let query = QUERIES[2].replace("FROM T", &format!("FROM {table}"));
    let rows = std::thread::scope(|scope| {
        let (many, query) = (&many, &query);
        let rows = scope.spawn(move || many.rows(query));
        let executor = cluster.executors.last_mut().unwrap();
        while executor.said.try_recv().is_ok() {}
        executor.wait_for("of stage 1 of job");
        executor.kill();
        rows.join().unwrap()
    });
    assert_eq!(rows, expected[2]);
}
