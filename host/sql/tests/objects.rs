//! Tables of objects: S3 over a folder, and HTTP.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use warpath_objects::{HttpServer, Proxy, Reply, S3Server};
use warpath_sql::{Options, StoreSettings};

use super::Session;

fn session(settings: StoreSettings) -> Session {
    Session::with(Options { workers: 2, stores: Some(settings), ..Options::default() })
}

pub(super) fn session_of(server: std::net::SocketAddr) -> Session {
    session(StoreSettings::of_variables(S3Server::variables(server)).unwrap())
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// A server with some tables.
fn server() -> S3Server {
    let server = S3Server::start();
    server.put("logs/a.ndjson", "{\"n\":1,\"k\":\"x\"}\n{\"n\":2,\"k\":\"y\"}\n");
    server.put("logs/b.ndjson.gz", gzip("{\"n\":3,\"k\":\"x\"}\n"));
    server.put("logs/c d%20.ndjson", "{\"n\":4,\"k\":\"x\"}\n");
    server.put("logs/deep/e.ndjson", "{\"n\":50,\"k\":\"z\"}\n");
    server.put("logs/t.csv", "n,k\n7,q\n");
    server.put("parts/year=2025/a.ndjson", "{\"n\":1}\n");
    server.put("parts/year=2026/a.ndjson", "{\"n\":2}\n{\"n\":3}\n");
    server.put("bad.ndjson", "{\"n\":1}\n{\"n\":\n");
    server
}

#[test]
fn names_after_from_are_urls() {
    let server = server();
    let session = session_of(server.address());
    for (name, sum) in [
        ("s3://bucket/logs/a.ndjson", "3"),
        ("s3://bucket/logs/b.ndjson.gz", "3"),
        ("s3://bucket/logs/c d%20.ndjson", "4"),
        ("s3://bucket/logs/*.ndjson", "7"),
        ("s3://bucket/logs/*.ndjson*", "10"),
        ("s3://bucket/logs/{a,c*}.ndjson", "7"),
        ("s3://bucket/logs/**/*.ndjson", "57"),
        ("s3://bucket/*/deep/e.ndjson", "50"),
    ] {
        let query = format!("SELECT sum(n) FROM '{name}' WHERE k <> 'q'");
        assert_eq!(session.rows(&query), [sum], "{name}");
    }
    let query = "SELECT year, sum(n) FROM 's3://bucket/parts/' GROUP BY year ORDER BY year";
    assert_eq!(session.rows(query), ["2025 1", "2026 5"]);
    // Other formats are read by DataFusion, from the same store.
    assert_eq!(session.rows("SELECT n, k FROM 's3://bucket/logs/t.csv'"), ["7 q"]);
}

#[test]
fn tables_have_urls_as_locations() {
    let server = server();
    let session = session_of(server.address());
    for (table, location, sum) in [
        ("one", "s3://bucket/logs/a.ndjson", "3"),
        ("odd", "s3://bucket/logs/c d%20.ndjson", "4"),
        ("many", "s3://bucket/logs/*.ndjson", "7"),
    ] {
        session.rows(&format!("CREATE EXTERNAL TABLE {table} STORED AS WARPATH LOCATION '{location}'"));
        assert_eq!(session.rows(&format!("SELECT sum(n) FROM {table}")), [sum], "{location}");
    }
}

#[test]
fn objects_give_the_rows_of_files() {
    let server = S3Server::start();
    let text: String = (0..20_000).map(|n| format!("{{\"n\":{n},\"k\":\"k{}\"}}\n", n % 7)).collect();
    server.put("long.ndjson", text.clone());
    let proxy = Proxy::before(server.address());
    let settings = StoreSettings::of_variables(S3Server::variables(proxy.address())).unwrap();
    let cache = tempfile::tempdir().unwrap();
    let stores = Some(StoreSettings { part_bytes: 50_000, ..settings });
    let cache_folder = Some(cache.path().join("deep/schemas"));
    let session = Session::with(Options { workers: 2, stores, cache: cache_folder, ..Options::default() });
    let file = session.file("long.ndjson", &text);
    proxy.cut(10_000, 3);
    let query = |table: &str| {
        format!("SELECT k, sum(n), count(*) FROM {table} WHERE n % 3 = 0 GROUP BY k ORDER BY k")
    };
    assert_eq!(session.rows(&query("'s3://bucket/long.ndjson'")), session.rows(&query(&file)));
    // Once for the schema, and once for the rows: each byte comes twice.
    let bytes = || -> u64 {
        let passed = proxy.passed();
        let read = passed.iter().filter(|it| it.request.method == "GET" && it.request.range().is_some());
        read.map(|passed| passed.bytes).sum()
    };
    assert_eq!(bytes(), 2 * text.len() as u64);
    // The schema is kept: once for the rows.
    session.rows(&query("'s3://bucket/long.ndjson'"));
    assert_eq!(bytes(), 3 * text.len() as u64);
    // The number of records is in it.
    assert_eq!(session.rows("SELECT count(*) FROM 's3://bucket/long.ndjson'"), ["20000"]);
    assert_eq!(bytes(), 3 * text.len() as u64);
    // The schema of another object is not that of the first one.
    server.put("long.ndjson", text.replace("\"k\"", "\"q\""));
    assert_eq!(session.rows("SELECT count(q) FROM 's3://bucket/long.ndjson'"), ["20000"]);
    assert_eq!(bytes(), 5 * text.len() as u64);
}

/// A server that says neither a tag nor a time: an object of the same size may be another one.
#[test]
fn objects_without_a_version_are_read_again() {
    let texts = ["{\"n\":1}\n{\"n\":2}\n", "{\"n\":1,\"m\":234}\n"];
    assert_eq!(texts[0].len(), texts[1].len());
    let at = Arc::new(AtomicUsize::new(0));
    let now = at.clone();
    let server = HttpServer::start(move |request| {
        Reply::file(request, texts[now.load(Ordering::Relaxed)].as_bytes(), None)
    });
    let cache = tempfile::tempdir().unwrap();
    let options = Options { cache: Some(cache.path().join("schemas")), ..Options::default() };
    let (session, url) = (Session::with(options), server.url("a.ndjson"));
    assert_eq!(session.rows(&format!("SELECT count(*) FROM '{url}'")), ["2"]);
    at.store(1, Ordering::Relaxed);
    assert_eq!(session.rows(&format!("SELECT count(*) FROM '{url}'")), ["1"]);
    assert_eq!(session.rows(&format!("SELECT m FROM '{url}'")), ["234"]);
    assert!(!cache.path().join("schemas").exists());
}

/// A folder is listed for each query, and nobody but the user reads the kept schemas.
#[test]
fn folders_are_as_they_are_now() {
    let server = S3Server::start();
    let cache = tempfile::tempdir().unwrap();
    let stores = Some(StoreSettings::of_variables(S3Server::variables(server.address())).unwrap());
    let options = Options { stores, cache: Some(cache.path().to_owned()), ..Options::default() };
    let session = Session::with(options.clone());
    let count = |session: &Session| session.rows("SELECT count(*) FROM 's3://bucket/logs/'");
    server.put("logs/a.ndjson", "{\"n\":1}\n");
    assert_eq!(count(&session), ["1"]);
    server.put("logs/a.ndjson", "{\"n\":1}\n{\"m\":2}\n");
    assert_eq!(count(&session), ["2"]);
    assert_eq!(session.rows("SELECT sum(m) FROM 's3://bucket/logs/'"), ["2"]);
    server.put("logs/b.ndjson", "{\"n\":1}\n");
    assert_eq!(count(&session), ["3"]);
    let kept: Vec<_> = std::fs::read_dir(cache.path()).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(kept.len(), 2);
    for file in &kept {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        // A damaged one is made again.
        std::fs::write(file, "{}\n").unwrap();
    }
    assert_eq!(count(&Session::with(options.clone())), ["3"]);
    assert!(kept.iter().all(|file| file.metadata().unwrap().len() > 10));
    // Others are kept nowhere.
    let nowhere = cache.path().join("nowhere");
    let options = Options { cache: Some(nowhere.clone()), keeps_schemas: false, ..options };
    assert_eq!(count(&Session::with(options)), ["3"]);
    assert!(!nowhere.exists());
}

#[test]
fn files_of_http_servers_are_tables() {
    let server = HttpServer::start(|request| match request.target.as_str() {
        "/a%20b.ndjson" => Reply::file(request, b"{\"n\":1}\n{\"n\":41}\n", Some("\"1\"")),
        _ => Reply::new("404 Not Found", ""),
    });
    let session = session(StoreSettings::default());
    assert_eq!(session.rows(&format!("SELECT sum(n) FROM '{}'", server.url("a%20b.ndjson"))), ["42"]);
    let said = session.error(&format!("SELECT * FROM '{}'", server.url("a.ndjson?key=secret")));
    assert!(said.contains("a.ndjson?…: SQL reads no URL with a query"), "{said}");
}

#[test]
fn file_urls_are_files() {
    let session = session(StoreSettings::default());
    session.file("a b.ndjson", "{\"n\":1}\n");
    let root = session.folder.path().to_str().unwrap();
    assert_eq!(session.rows(&format!("SELECT n FROM 'file://{root}/a%20b.ndjson'")), ["1"]);
    assert_eq!(session.rows(&format!("SELECT n FROM 'file://{root}'")), ["1"]);
}

#[test]
fn the_program_takes_the_settings_of_its_environment() {
    let server = server();
    let folder = tempfile::tempdir().unwrap();
    let slow = HttpServer::start(|request| Reply::file(request, b"1", None).stalled_after(0));
    let run = |variables: &[(&str, String)], query: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpath-sql"));
        command.args(["--format", "csv", query]).current_dir(folder.path()).env_clear().stdin(Stdio::null());
        let output = command.envs(variables.iter().map(|(name, value)| (*name, value))).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let variables = S3Server::variables(server.address());
    let (code, rows, said) = run(&variables, "SELECT sum(n) AS n FROM 's3://bucket/logs/a.ndjson'");
    assert_eq!((code, rows.as_str()), (0, "n\n3\n"), "{said}");
    let mut wrong = variables.clone();
    wrong[2].1 = "wrong".into();
    let slow_url = slow.url("a.ndjson");
    let short = [("WARPATH_REMOTE_TIMEOUT", "0.1".to_owned())];
    for (variables, name, wanted) in [
        (&variables[..], "s3://bucket/none.ndjson", "s3://bucket/none.ndjson: no file matches"),
        (&variables, "s3://bucket/none/*.ndjson", "s3://bucket/none/*.ndjson: no file matches"),
        (&variables, "s3://bucket/**/none", "s3://bucket/**/none: no object matches this pattern"),
        (
            &variables,
            "s3://nobody/*",
            "s3://nobody/*: cannot be read or written: there is no such bucket (404)",
        ),
        (
            &wrong,
            "s3://bucket/logs/a.ndjson",
            "s3://bucket/logs/a.ndjson: cannot be read or written: access is denied (403)",
        ),
        (&variables, "s3://bucket/bad.ndjson", "s3://bucket/bad.ndjson:2:"),
        (&variables, "gs://bucket/a", "gs://bucket/a: has a scheme that is not read"),
        (&short, &slow_url, "the server sent nothing for 0.1 s"),
    ] {
        let (code, rows, said) = run(variables, &format!("SELECT count(*) FROM '{name}'"));
        assert!(matches!(code, 2..=4) && rows.is_empty(), "{name}: {code} {rows}");
        assert!(said.contains(wanted), "{name}: {said}");
    }
}
