//! Queries on a cluster and in one process, also while executors are killed.

use warpath::store::{AddOptions, Store};
use warpath::{FolderFiles, Source};
use warpath_sql::Options;

use super::processes::Cluster;
use super::{Session, quoted, records};

/// Queries over the files of `records`. A query without ORDER BY has its rows in any order.
pub const QUERIES: [&str; 32] = [
    "SELECT count(*) FROM 'events/'",
    "SELECT count(*), count(note), count(DISTINCT note), count(DISTINCT \"user\"['id']) FROM 'events/'",
    "SELECT kind, count(*) AS n, sum(ms), min(id), max(id) FROM 'events/' GROUP BY kind ORDER BY kind",
    "SELECT \"user\"['lang'] AS lang, avg(ms) FROM 'events/' WHERE kind = 'commit' GROUP BY lang ORDER BY lang",
    "SELECT id, ms FROM 'events/' WHERE ms < 40 AND ok",
    "SELECT id, ms, note FROM 'events/' ORDER BY ms DESC, id LIMIT 17",
    "SELECT id FROM 'events/' ORDER BY id LIMIT 5 OFFSET 1000",
    "SELECT sum(big), max(big), min(big) FROM 'events/'",
    "SELECT odd, count(*) AS n FROM 'events/' GROUP BY odd ORDER BY odd",
    "SELECT note, count(*) FROM 'events/' WHERE note IS NOT NULL GROUP BY note HAVING count(*) > 3",
    "SELECT count(*) FROM 'events/' WHERE note IS NULL AND NOT ok",
    "SELECT u.team, count(*) AS n, sum(e.ms) FROM 'events/' e JOIN 'users.ndjson' u ON e.\"user\"['id'] = u.id \
     GROUP BY u.team ORDER BY u.team",
    "SELECT u.name, e.id FROM 'users.ndjson' u LEFT JOIN (SELECT * FROM 'events/' WHERE ms < 300) e \
     ON e.\"user\"['id'] = u.id",
    "SELECT u.id, e.id FROM 'users.ndjson' u FULL JOIN (SELECT id, \"user\"['id'] AS who FROM 'events/' \
     WHERE ms < 200) e ON e.who = u.id",
    "SELECT a.kind, count(*) FROM 'events/' a JOIN 'events/' b ON a.id = b.id + 1 GROUP BY a.kind",
    "SELECT count(*) FROM 'users.ndjson' WHERE id IN (SELECT \"user\"['id'] FROM 'events/' WHERE ms > 99000)",
    "SELECT count(*) FROM 'users.ndjson' WHERE id NOT IN (SELECT \"user\"['id'] FROM 'events/' WHERE ms > 99000)",
    "SELECT name FROM 'users.ndjson' u WHERE NOT EXISTS (SELECT 1 FROM 'events/' e WHERE e.\"user\"['id'] = u.id \
     AND e.ms > 90000)",
    "SELECT count(*) FROM 'events/' WHERE ms > (SELECT avg(ms) FROM 'events/')",
    "SELECT id, rank() OVER (PARTITION BY kind ORDER BY ms DESC, id) AS r FROM 'events/' WHERE ms > 99000",
    "SELECT kind, id, sum(ms) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM 'events/' \
     WHERE id < 200",
    "SELECT 'a' AS t, count(*) AS n FROM 'events/' WHERE ok UNION ALL SELECT 'b', count(*) FROM 'events/' \
     WHERE NOT ok",
    "SELECT id, kind FROM 'events/' WHERE ms < 50 UNION ALL SELECT id, name FROM 'users.ndjson' UNION ALL \
     SELECT id, kind FROM 'events/' WHERE ms < 20",
    "SELECT id FROM 'events/' WHERE ms < 90 UNION SELECT id FROM 'users.ndjson'",
    "SELECT id FROM 'users.ndjson' EXCEPT SELECT \"user\"['id'] FROM 'events/' WHERE ms < 500",
    "SELECT DISTINCT \"user\"['lang'], kind FROM 'events/'",
    "SELECT tag, count(*) FROM (SELECT unnest(\"user\"['tags']) AS tag FROM 'events/') GROUP BY tag ORDER BY tag",
    "SELECT date_trunc('day', at) AS d, count(*), sum(ratio) FROM 'events/' GROUP BY d ORDER BY d",
    "SELECT year, count(*), sum(ms) FROM 'years/' WHERE kind <> 'account' GROUP BY year ORDER BY year",
    "SELECT kind, count(*), sum(ms) FROM 'packed/' GROUP BY kind ORDER BY kind",
    "SELECT a.team, b.kind, count(*) FROM 'users.ndjson' a CROSS JOIN (SELECT DISTINCT kind FROM 'events/') b \
     GROUP BY a.team, b.kind",
    "WITH top AS (SELECT \"user\"['id'] AS who, sum(ms) AS total FROM 'events/' GROUP BY who) \
     SELECT t.who, t.total, u.name FROM top t JOIN 'users.ndjson' u ON u.id = t.who ORDER BY t.total DESC, t.who \
     LIMIT 10",
];

/// Queries over records as lines.
const LINES: [&str; 3] = [
    "SELECT json_path_text(line, '$.kind') AS k, count(*), sum(json_path_int(line, '$.ms')) FROM 'events/' \
     GROUP BY k ORDER BY k",
    "SELECT json_path_count(line, '$.user.tags[*]') AS c, count(*) FROM 'events/' GROUP BY c ORDER BY c",
    "SELECT count(*) FROM 'events/' WHERE json_path_bool(line, '$.ok') AND json_path_exists(line, '$.note')",
];

/// A query with the paths of files in a folder.
pub fn in_folder(query: &str, folder: &std::path::Path) -> String {
    let folder = folder.display();
    let mut query = query.to_owned();
    for name in ["events/", "packed/", "years/", "users.ndjson"] {
        query = query.replace(&format!("'{name}'"), &format!("'{folder}/{name}'"));
    }
    query
}

fn lines() -> Options {
    Options { schema: warpath_sql::SchemaFrom::Line, ..Options::default() }
}

#[test]
fn a_cluster_returns_the_rows_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    records::write_all(folder.path(), 1_000);
    let cluster = Cluster::new(3);
    for (options, queries) in [(Options::default(), &QUERIES[..]), (lines(), &LINES[..])] {
        let one = Session::new(&options, None);
        let many = Session::new(&options, Some(cluster.address()));
        for query in queries {
            let query = in_folder(query, folder.path());
            let (expected, rows) = (one.rows(&query), many.rows(&query));
            assert!(!expected.is_empty(), "{query}");
            assert_eq!(rows, expected, "{query}");
        }
    }
    // Queries without files run in the client.
    let many = Session::new(&Options::default(), Some(cluster.address()));
    assert_eq!(many.rows("SELECT 1 + 1"), ["2"]);
    // Rows are written to a file by the client.
    let out = folder.path().join("out.csv");
    let query = format!("COPY (SELECT kind, count(*) FROM 'events/' GROUP BY kind) TO '{}'", out.display());
    assert_eq!(many.rows(&in_folder(&query, folder.path())), ["3"]);
    assert_eq!(std::fs::read_to_string(out).unwrap().lines().count(), 4);
    // Files that DataFusion reads by itself.
    let parquet = folder.path().join("kinds.parquet");
    let one = Session::new(&Options::default(), None);
    let query = format!("COPY (SELECT id, kind FROM 'events/' WHERE ok) TO '{}'", parquet.display());
    one.rows(&in_folder(&query, folder.path()));
    for (name, join) in [("kinds.parquet", "id"), ("out.csv", "kind")] {
        let file = folder.path().join(name);
        let query = format!(
            "SELECT a.kind, count(*) AS n FROM 'events/' a JOIN '{}' b ON a.{join} = b.{join} GROUP BY a.kind",
            file.display()
        );
        let query = in_folder(&query, folder.path());
        assert_eq!(many.rows(&query), one.rows(&query));
    }
    // Plans and their metrics are shown.
    let query =
        in_folder("EXPLAIN ANALYZE SELECT kind, count(*) FROM 'events/' GROUP BY kind", folder.path());
    let shown = many.rows(&query).join("\n");
    assert!(shown.contains("stage 1") && shown.contains("text_bytes="), "{shown}");
}

/// Executors read the parts of a store by DataFusion's own scan.
#[test]
fn a_cluster_reads_stores() {
    let folder = tempfile::tempdir().unwrap();
    records::write_all(folder.path(), 1_000);
    let store = folder.path().join("events.wp");
    for files in ["events/0*.ndjson", "events/1*.ndjson"] {
        let sources = Source::named(&folder.path().join(files), FolderFiles::Json).unwrap();
        Store::add(&store, sources, AddOptions::default().group_bytes(100_000), &mut |_| {}).unwrap();
    }
    let cluster = Cluster::new(2);
    let one = Session::new(&Options::default(), None);
    let many = Session::new(&Options::default(), Some(cluster.address()));
    for query in [
        "SELECT count(*), min(id), max(id) FROM 'events/'",
        "SELECT kind, count(*), sum(ms) FROM 'events/' WHERE id < 1500 GROUP BY kind ORDER BY kind",
        "SELECT \"user\"['lang'] AS lang, count(*) FROM 'events/' WHERE \"user\"['id'] = 77 GROUP BY lang \
         ORDER BY lang",
        "SELECT id FROM 'events/' WHERE \"user\"['id'] < 0 OR id IN (3, 5000) ORDER BY id",
    ] {
        let expected = one.rows(&in_folder(query, folder.path()));
        let query = query.replace("'events/'", &quoted(&store));
        assert_eq!(one.rows(&query), expected, "{query}");
        assert_eq!(many.rows(&query), expected, "{query}");
    }
}

/// An executor is killed while it runs a task, and another one when it has results that others need.
#[test]
fn queries_survive_executors_that_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    records::write_all(folder.path(), 10_000);
    let mut cluster = Cluster::new(3);
    let one = Session::new(&Options::default(), None);
    let query = in_folder(QUERIES[31], folder.path());
    let expected = one.rows(&query);
    for event in ["of stage 1 of job", "of stage 2 of job", "of stage 3 of job"] {
        let address = cluster.address().to_owned();
        let rows = std::thread::scope(|scope| {
            let (address, query) = (&address, &query);
            let rows = scope.spawn(move || Session::new(&Options::default(), Some(address)).rows(query));
            let at = cluster.first_to_say(event);
            cluster.executors.remove(at).kill();
            rows.join().unwrap()
        });
        assert_eq!(rows, expected, "{event}");
        cluster.add_executor();
    }
    // The folders of the killed executors are gone.
    assert_eq!(std::fs::read_dir(cluster.work.path()).unwrap().count(), 3);
    let executor = cluster.executors.pop().unwrap();
    assert!(executor.terminate().success());
    assert_eq!(std::fs::read_dir(cluster.work.path()).unwrap().count(), 2);
    let many = Session::new(&Options::default(), Some(cluster.address()));
    assert_eq!(many.rows(&query), expected);
}
