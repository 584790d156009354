//! Tables of objects: the client lists them, and executors read them with their own credentials.

use std::io::Cursor;
use std::sync::Arc;

use object_store::ObjectStoreExt;
use warpath::Source;
use warpath::store::{AddOptions, Store};
use warpath_objects::{Proxy, S3Server};
use warpath_sql::{Options, StoreSettings};

use super::processes::Cluster;
use super::{Session, quoted};

fn options(server: std::net::SocketAddr) -> Options {
    let settings = StoreSettings::of_variables(S3Server::variables(server)).unwrap();
    Options { stores: Some(settings), ..Options::default() }
}

fn records(from: usize, to: usize) -> String {
    (from..to).map(|n| format!("{{\"n\":{n},\"k\":\"k{}\"}}\n", n % 7)).collect()
}

#[test]
fn objects_give_the_rows_of_one_process() {
    let server = S3Server::start();
    for part in 0..6 {
        server.put(&format!("logs/day={}/{part}.ndjson", part % 2), records(part * 1000, part * 1100 + 1000));
    }
    server.put("kinds.csv", "k,name\nk0,zero\nk3,three\n");
    // Connections are cut now and then, also those of executors.
    let proxy = Proxy::before(server.address());
    proxy.cut(10_000, 4);
    let cluster = Cluster::with_variables(2, &S3Server::variables(proxy.address()));
    let one = Session::new(&options(server.address()), None);
    let many = Session::new(&options(server.address()), Some(cluster.address()));
    for query in [
        "SELECT k, count(*), sum(n) FROM 's3://bucket/logs/**/*.ndjson' WHERE n % 3 = 0 GROUP BY k ORDER BY k",
        "SELECT day, count(*) AS c, max(n) FROM 's3://bucket/logs/' GROUP BY day ORDER BY day",
        "SELECT n FROM 's3://bucket/logs/day=1/*.ndjson' WHERE k = 'k3' ORDER BY n DESC LIMIT 5",
        "SELECT b.name, count(*) AS c FROM 's3://bucket/logs/' a JOIN 's3://bucket/kinds.csv' b ON a.k = b.k \
         GROUP BY b.name ORDER BY c DESC, b.name",
    ] {
        let rows = many.rows(query);
        assert_eq!(rows, one.rows(query), "{query}");
        assert!(!rows.is_empty());
    }
    // The client has another endpoint.
    assert!(proxy.passed().iter().any(|it| it.request.target.contains("5.ndjson")));
}

/// The client reads the log, and executors read the parts.
#[test]
fn stores_give_the_rows_of_one_process() {
    let server = S3Server::start();
    let path = server.folder().join("a b%20.wp");
    for part in 0..3 {
        let text: String = (0..2_000)
            .map(|n| format!("{{\"o\":{{\"n\":{n}}},\"k\":\"k{}\",\"part\":{part}}}\n", n % 7))
            .collect();
        let source = Source::Reader("lines".into(), Box::new(Cursor::new(text)));
        Store::add(&path, vec![source], AddOptions::default().group_bytes(20_000), &mut |_| {}).unwrap();
    }
    let proxy = Proxy::before(server.address());
    let cluster = Cluster::with_variables(2, &S3Server::variables(proxy.address()));
    let one = Session::new(&options(server.address()), None);
    let many = Session::new(&options(server.address()), Some(cluster.address()));
    let part = Store::open(&path).unwrap().parts().unwrap().remove(1).name;
    for name in ["a b%20.wp", &format!("a b%20.wp/{part}")] {
        for query in [
            "SELECT count(*), sum(o['n']), min(part) FROM TABLE",
            "SELECT k, part, count(*), max(o['n']) FROM TABLE WHERE part > 0 GROUP BY k, part ORDER BY k, part",
            "SELECT part, o['n'] AS n FROM TABLE WHERE o['n'] BETWEEN 700 AND 705 ORDER BY part, n",
        ] {
            let on = |session: &Session, table: &str| session.rows(&query.replace("TABLE", table));
            let rows = on(&many, &format!("'s3://bucket/{name}'"));
            assert_eq!(rows, on(&one, &quoted(&server.folder().join(name))), "{name}: {query}");
            assert!(!rows.is_empty());
        }
    }
    assert!(!proxy.ranges(&part).is_empty());
    assert!(!proxy.passed().iter().any(|it| it.request.target.contains("_delta_log")));
}

#[test]
fn stores_that_an_executor_cannot_read_are_errors_with_its_name() {
    let server = S3Server::start();
    server.put("a.ndjson", records(0, 10));
    let mut variables = S3Server::variables(server.address());
    variables.iter_mut().find(|(name, _)| *name == "AWS_SECRET_ACCESS_KEY").unwrap().1 = "wrong".into();
    let cluster = Cluster::with_variables(1, &variables);
    let many = Session::new(&options(server.address()), Some(cluster.address()));
    let error = many.batches("SELECT n + 1 FROM 's3://bucket/a.ndjson'").unwrap_err();
    let failure = warpath_sql::cli::Failure::of_query(error, "");
    let executor = &cluster.executors[0].address;
    assert!(failure.message.contains("s3://bucket/a.ndjson: "), "{failure:?}");
    assert_eq!(failure.help, Some(format!("the executor {executor} reports this")), "{failure:?}");
    // A store that only the client has.
    let store = object_store::memory::InMemory::new();
    many.runtime.block_on(store.put(&"a.ndjson".into(), records(0, 10).into())).unwrap();
    many.context.register_object_store(&url::Url::parse("memory://bucket").unwrap(), Arc::new(store));
    let error = many.batches("SELECT n + 1 FROM 'memory://bucket/a.ndjson'").unwrap_err();
    let failure = warpath_sql::cli::Failure::of_query(error, "");
    assert!(failure.message.contains("memory://bucket"), "{failure:?}");
    assert_eq!(failure.help, Some(format!("the executor {executor} reports this")), "{failure:?}");
}
