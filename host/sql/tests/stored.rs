//! Stores and parts in object stores as tables: what is fetched of them, and what is wrong with them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use warpath::store::Store;
use warpath::{Engine, Predicate};
use warpath_objects::{Proxy, S3Server};

use super::objects::session_of;
use super::parts::{add, lines, size};
use super::{Session, quoted};

/// The key of the store of the tests.
const KEY: &str = "deep/a b%20.wp";

/// A server with a store of two parts. Returns also the folder of the store.
fn server() -> (S3Server, PathBuf) {
    let server = S3Server::start();
    let path = server.folder().join(KEY);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = lines(20_000);
    let middle = text[..text.len() / 2].rfind('\n').unwrap() + 1;
    for half in [&text[..middle], &text[middle..]] {
        add(&path, half, text.len() / 8);
    }
    (server, path)
}

fn url(key: &str) -> String {
    format!("s3://bucket/{key}")
}

/// The names of the parts of a store.
fn parts(path: &Path) -> Vec<String> {
    Store::open(path).unwrap().parts().unwrap().into_iter().map(|part| part.name).collect()
}

/// The bytes that a query fetches: those of the log and of lists, and those of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fetched {
    log: u64,
    parts: u64,
}

#[test]
fn queries_fetch_the_log_and_the_bytes_that_they_need() {
    let (server, path) = server();
    let whole = size(&path);
    assert!(whole > 2 << 20, "{whole}");
    let disk = Session::new();
    let fetch = |query: &str, rows: &str| {
        // A new session knows no footers.
        let proxy = Proxy::before(server.address());
        let session = session_of(proxy.address());
        let found = session.rows(&query.replace("STORE", &format!("'{}'", url(KEY))));
        assert_eq!(found, [rows], "{query}");
        assert_eq!(found, disk.rows(&query.replace("STORE", &quoted(&path))), "{query}");
        let mut fetched = Fetched { log: 0, parts: 0 };
        for passed in proxy.passed() {
            let target = &passed.request.target;
            if target.contains("_delta_log") || target.contains("list-type") {
                fetched.log += passed.bytes;
            } else {
                assert!(
                    target.ends_with(".parquet") && passed.request.range().is_some(),
                    "{query}: {target}"
                );
                fetched.parts += passed.bytes;
            }
        }
        fetched
    };
    let footers = fetch("SELECT count(*) FROM STORE", "20000");
    assert!(footers.log > 0 && (1..=2 << 16).contains(&footers.parts), "{footers:?}");
    assert_eq!(fetch("SELECT count(id), min(id), max(id) FROM STORE", "20000 0 19999"), footers);
    let rest = |query: &str, rows: &str| {
        let fetched = fetch(query, rows);
        assert_eq!(fetched.log, footers.log, "{query}");
        fetched.parts - footers.parts
    };
    // One leaf.
    let leaf = rest("SELECT count(DISTINCT data['kind']) FROM STORE", "5");
    assert!((1..whole / 40).contains(&leaf), "{leaf} of {whole}");
    let leaf = rest("SELECT max(length(data['m3'])) FROM STORE", "16");
    assert!((whole / 40..whole / 10).contains(&leaf), "{leaf} of {whole}");
    // One of eight groups. The two leaves are near each other, and come by one request with what is between.
    let some = rest("SELECT max(length(data['m3'])) FROM STORE WHERE data['at'] = 12345", "16");
    assert!((1..whole / 16).contains(&some), "{some} of {whole}");
    assert_eq!(rest("SELECT count(data['m3']) FROM STORE WHERE data['at'] < 0", "0"), 0);
}

#[test]
fn stores_and_parts_have_the_rows_of_those_on_a_disk() {
    let (server, path) = server();
    let (session, disk) = (session_of(server.address()), Session::new());
    let names = parts(&path);
    assert_eq!(names.len(), 2);
    let mut pairs = vec![(url(KEY), path.clone()), (format!("{}/", url(KEY)), path.clone())];
    pairs.extend(names.iter().map(|name| (url(&format!("{KEY}/{name}")), path.join(name))));
    for (at, (url, path)) in pairs.iter().enumerate() {
        let create = |session: &Session, location: &str| {
            session.rows(&format!("CREATE EXTERNAL TABLE t{at} STORED AS WARPATH LOCATION '{location}'"));
        };
        create(&session, url);
        create(&disk, &path.display().to_string());
        for query in [
            "SELECT count(*), sum(id), min(data['at']), max(data['m7']) FROM TABLE",
            "SELECT data['kind'] AS k, count(*), max(data['m1']) FROM TABLE GROUP BY k ORDER BY k",
            "SELECT id, data['m2'] FROM TABLE WHERE data['at'] BETWEEN 9990 AND 10010 ORDER BY id",
            "SELECT * FROM TABLE WHERE id % 1000 = 7 ORDER BY id",
            "DESCRIBE TABLE",
        ] {
            let on = |session: &Session, name: &str| session.rows(&query.replace("TABLE", name));
            let expected = on(&disk, &quoted(path));
            assert!(!expected.is_empty() || at > 1, "{query}");
            assert_eq!(on(&session, &format!("'{url}'")), expected, "{url}: {query}");
            assert_eq!(on(&session, &format!("t{at}")), expected, "{url}: {query}");
            assert_eq!(on(&disk, &format!("t{at}")), expected, "{url}: {query}");
        }
    }
    // Lines that are added, and those that are removed.
    add(&path, "{\"id\":-1,\"more\":true}\n", 1 << 20);
    let query = format!("SELECT count(*), min(id), count(more) FROM '{}'", url(KEY));
    assert_eq!(session.rows(&query), ["20001 -1 1"]);
    let engine = Engine::builder().build().unwrap();
    Store::drop_matching(&path, &engine, &Predicate::parse("$.id >= -1").unwrap()).unwrap();
    assert_eq!(session.rows(&query), ["0 NULL 0"]);
}

#[test]
fn objects_that_are_no_store_are_read_as_before() {
    let (server, path) = server();
    let (session, disk) = (session_of(server.address()), Session::new());
    // Parquet files of another program.
    fs::create_dir(server.folder().join("tables")).unwrap();
    for at in 0..2 {
        let file = server.folder().join(format!("tables/{at}.parquet"));
        disk.batches(&format!("COPY (SELECT {at} AS n) TO {}", quoted(&file))).unwrap();
    }
    session.rows("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION 's3://bucket/tables/'");
    assert_eq!(session.rows("SELECT sum(n), count(*) FROM t"), ["1 2"]);
    assert_eq!(session.rows("SELECT n FROM 's3://bucket/tables/1.parquet'"), ["1"]);
    // Lines, in a folder and in an object that have names as stores have.
    server.put("lines.wp/a.ndjson", "{\"n\":1}\n");
    server.put("one.wp", "{\"n\":2}\n");
    server.put("bare", "{\"n\":3}\n");
    for (key, n) in [("lines.wp/", "1"), ("one.wp", "2"), ("bare", "3")] {
        assert_eq!(session.rows(&format!("SELECT n FROM '{}'", url(key))), [n]);
    }
    let gone = &parts(&path)[1];
    session.rows(&format!("CREATE EXTERNAL TABLE before STORED AS WARPATH LOCATION '{}'", url(KEY)));
    fs::remove_file(path.join(gone)).unwrap();
    let damaged = server.folder().join("damaged.wp");
    add(&damaged, "{\"id\":1}\n", 1 << 20);
    let part = &parts(&damaged)[0];
    let bytes = vec![b'x'; size(&damaged) as usize];
    fs::write(damaged.join(part), bytes).unwrap();
    server.put("log.wp/_delta_log/00000000000000000000.json", "{");
    server.put(
        "foreign.wp/_delta_log/00000000000000000000.json",
        "{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":2}}\n{\"metaData\":{\"id\":\"1\",\"format\":\
         {\"provider\":\"parquet\",\"options\":{}},\"schemaString\":\"{\\\"type\\\":\\\"struct\\\",\\\"fields\\\":[]}\",\
         \"partitionColumns\":[],\"configuration\":{}}}\n",
    );
    for (key, wanted) in [
        ("none.wp", "s3://bucket/none.wp: no file matches"),
        ("none.wp/", "s3://bucket/none.wp/: no file matches"),
        ("none.parquet", "s3://bucket/none.parquet"),
        (KEY, &format!("s3://bucket/{KEY}: part `{gone}` has no file in place of ")),
        ("damaged.wp", &format!("s3://bucket/damaged.wp/{part}: ")),
        ("log.wp", "s3://bucket/log.wp: "),
        ("foreign.wp", "s3://bucket/foreign.wp: is a Delta table of another program"),
    ] {
        let said = session.error(&format!("SELECT count(*) FROM '{}'", url(key)));
        assert!(said.contains(wanted), "{key}: {said}");
    }
    let said = session.error("SELECT max(data['m3']) FROM before");
    assert!(said.contains(gone.as_str()) && said.contains("404"), "{said}");
    let said = session.error("SELECT count(*) FROM 's3://nobody/logs.wp'");
    assert!(
        said.contains("s3://nobody/logs.wp: cannot be read or written: there is no such bucket"),
        "{said}"
    );
    let whole = url("whole.wp");
    add(&server.folder().join("whole.wp"), "{\"id\":1}\n", 1 << 20);
    let said =
        session.error(&format!("CREATE EXTERNAL TABLE u (id BIGINT) STORED AS WARPATH LOCATION '{whole}'"));
    assert!(said.contains("s3://bucket/whole.wp: a store has columns; declare none"), "{said}");
}

/// A store that a program has registered is read as every other one.
#[test]
fn stores_that_a_program_registers_have_tables() {
    let (_server, path) = server();
    let (session, objects) = (Session::new(), InMemory::new());
    let mut names = parts(&path);
    names.extend(
        fs::read_dir(path.join("_delta_log"))
            .unwrap()
            .map(|file| format!("_delta_log/{}", file.unwrap().file_name().to_str().unwrap())),
    );
    for name in names {
        let bytes = fs::read(path.join(&name)).unwrap();
        let key = format!("deep/logs.wp/{name}").into();
        session.runtime.block_on(objects.put(&key, bytes.into())).unwrap();
    }
    let root = url::Url::parse("memory://here").unwrap();
    session.context.register_object_store(&root, Arc::new(objects));
    for table in ["'memory://here/deep/logs.wp'", "'memory://here/deep/logs.wp/'"] {
        assert_eq!(session.rows(&format!("SELECT count(*), max(data['at']) FROM {table}")), ["20000 19999"]);
    }
}
