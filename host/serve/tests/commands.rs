//! Commands print the same bytes with `--server` as without it, and have the same exit code.

use std::process::Output;

use crate::harness::Server;

/// The same command, beside the inputs and over the server.
fn compare(server: &Server, arguments: &[&str]) -> Output {
    let (beside, over) = (server.beside(arguments), server.over(server.path(), arguments));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&over.stderr), text(&beside.stderr), "{arguments:?}");
    assert_eq!(text(&over.stdout), text(&beside.stdout), "{arguments:?}");
    assert_eq!(over.stdout, beside.stdout, "{arguments:?}");
    assert_eq!(over.status.code(), beside.status.code(), "{arguments:?}");
    over
}

/// Command lines over an input, which is `IN`.
const CASES: &[&[&str]] = &[
    &["query", "$.level", "IN"],
    &["query", "IN", "$.level"],
    &["query", "$.user.lang", "--where", "$.level == 'error'", "IN"],
    &["query", "$.level", "--count", "IN"],
    &["query", "$..lang", "--with-path", "-n", "3", "IN"],
    &["query", "$.nothing", "IN"],
    &["query", "$.nothing", "-e", "IN"],
    &["query", "$.lvl", "IN"],
    &["query", "$.user lang", "IN"],
    &["query", "$.level", "--where", "$.ms >", "IN"],
    &["query", "$.level", "--where", "$.ms > 1 &&\u{1b}[31m", "IN"],
    &["query", "$[?@.level == 'error']", "IN"],
    &["query", "$.level", "--limit", "x", "IN"],
    &["query", "$.level", "--no-such-option", "IN"],
    &["query", "$.level", "--color", "always", "--pretty", "IN"],
    &["query", "$", "--drop", "$.user", "--mask", "$.level", "IN"],
    &["query", "$.level", "--message-format", "json", "--where", "$.ms >", "IN"],
    &["query", "$.ms", "--sort", "$.ms", "IN"],
    &["select", "level=$.level", "ms:int64=$.ms", "IN"],
    &["select", "--format", "csv", "level=$.level", "lang=$.user.lang", "IN"],
    &["select", "--format", "table", "level=$.level", "IN"],
    &["select", "--format", "arrow", "level=$.level", "IN"],
    &["select", "--format", "parquet", "level=$.level", "IN"],
    &["select", "--auto", "IN"],
    &["select", "level", "IN"],
    &["count-by", "$.level", "IN"],
    &["count-by", "$.level", "--bars", "IN"],
    &["count-by", "--every", "1min", "--time", "$.time", "IN"],
    &["count-by", "--every", "1min", "IN"],
    &["distinct", "$.user.lang", "IN"],
    &["stats", "$.ms", "--by", "$.level", "IN"],
    &["stats", "$.ms", "--format", "ndjson", "IN"],
    &["head", "IN"],
    &["head", "-n", "2", "IN"],
    &["sample", "3", "--seed", "7", "IN"],
    &["validate", "IN"],
    &["validate", "--schema", "schema.json", "IN"],
    &["validate", "--schema", "missing.json", "IN"],
    &["schema", "IN"],
    &["schema", "--format", "ndjson", "--where", "$.level == 'error'", "IN"],
    &["schema", "--format", "json-schema", "IN"],
    &["filter", "--subscriptions", "subs.txt", "IN"],
    &["filter", "--subscriptions", "subs.txt", "--count", "IN"],
    &["filter", "--subscriptions", "missing.txt", "IN"],
    &["explain", "$.level", "--where", "$.ms > 1"],
    &["explain", "$.level", "IN"],
    &["IN"],
    &["$.level", "IN"],
    &["--version"],
    &["query", "--help"],
];

fn with_input(case: &[&'static str], input: &'static str) -> Vec<&'static str> {
    case.iter().map(|word| if *word == "IN" { input } else { word }).collect()
}

#[test]
fn commands_print_the_same_bytes() {
    let inputs = ["data", "logs.wp", "bad.ndjson", "empty.ndjson"];
    // Inputs that are read for each question, and inputs in memory.
    let server = Server::of(&[&["--load", "0"], &inputs[..]].concat());
    let in_memory = Server::of(&inputs);
    for input in inputs {
        for case in CASES {
            compare(&server, &with_input(case, input));
            // The plan of a question over memory is another one.
            if case[0] != "explain" {
                compare(&in_memory, &with_input(case, input));
            }
        }
    }
    let found = compare(&server, &["query", "$.level", "data"]);
    assert!(found.stdout.len() > 100, "{found:?}");
}

#[test]
fn sql_prints_the_same_bytes() {
    if !crate::harness::warpath().with_file_name("warpath-sql").is_file() {
        panic!("`cargo build -p warpath-sql` builds the program that this test compares with");
    }
    let server = Server::of(&["data", "logs.wp"]);
    for input in ["data", "logs.wp"] {
        for (query, format) in [
            ("SELECT level, count(*) AS n FROM 'IN' GROUP BY level ORDER BY n DESC, level", "table"),
            ("SELECT level, count(*) AS n FROM 'IN' GROUP BY level ORDER BY n DESC, level", "ndjson"),
            ("SELECT level FROM 'IN' WHERE level = 'nothing'", "csv"),
            ("SELECT lvl FROM 'IN'", "table"),
            ("SELEC", "table"),
            ("SELECT arrow_typeof(\"user\") FROM 'IN' LIMIT 1", "table"),
            ("SELECT 1; SELECT 2", "ndjson"),
        ] {
            let query = query.replace("IN", input);
            compare(&server, &["sql", "--format", format, &query]);
        }
    }
    std::fs::write(server.path().join("report.sql"), "SELECT count(*) AS n FROM 'logs.wp'").unwrap();
    let counted = compare(&server, &["sql", "--format", "csv", "--file", "report.sql"]);
    assert_eq!(counted.stdout, b"n\n22\n");
    let elsewhere =
        server.over(server.path(), &["sql", "-o", "n.parquet", "SELECT count(*) AS n FROM 'logs.wp'"]);
    assert!(elsewhere.status.success(), "{elsewhere:?}");
    assert!(std::fs::read(server.path().join("n.parquet")).unwrap().starts_with(b"PAR1"));
}

#[test]
fn files_are_those_of_the_client() {
    let server = Server::of(&["data", "bad.ndjson"]);
    let client = tempfile::tempdir().unwrap();
    for (name, arguments) in [
        ("rows.csv", &["select", "-o", "rows.csv", "level=$.level", "data"][..]),
        ("rows.parquet", &["select", "-orows.parquet", "level=$.level", "data"]),
        ("rows.arrow", &["select", "--output=rows.arrow", "level=$.level", "data"]),
        ("levels.ndjson", &["query", "$.level", "-o", "levels.ndjson", "data"]),
        ("rejected", &["query", "$.level", "--on-error", "skip", "--rejects", "rejected", "bad.ndjson"]),
    ] {
        let (beside, over) = (server.beside(arguments), server.over(client.path(), arguments));
        assert_eq!(over.status.code(), beside.status.code(), "{over:?}");
        assert_eq!(over.stdout, beside.stdout, "{arguments:?}");
        assert_eq!(over.stderr, beside.stderr, "{arguments:?}");
        let [made, expected] =
            [client.path(), server.path()].map(|folder| std::fs::read(folder.join(name)).unwrap());
        assert!(!made.is_empty() && made == expected, "{name}");
        // The server has no file of the client.
        std::fs::remove_file(server.path().join(name)).unwrap();
        server.over(client.path(), arguments);
        assert!(!server.path().join(name).exists(), "{name}");
    }
    let missing = server.over(client.path(), &["select", "-o", "no/rows.csv", "a=$.a", "data"]);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no/rows.csv"), "{missing:?}");
    // A run that fails leaves the file as it is.
    std::fs::write(client.path().join("kept.parquet"), "kept").unwrap();
    let failed = server.over(client.path(), &["select", "-o", "kept.parquet", "a=$.level", "bad.ndjson"]);
    assert_eq!(failed.status.code(), Some(4), "{failed:?}");
    assert_eq!(std::fs::read(client.path().join("kept.parquet")).unwrap(), b"kept");
    assert_eq!(
        std::fs::read_dir(client.path())
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.') })
            .count(),
        0,
        "temporary files are removed"
    );
}

#[test]
fn without_a_name_all_inputs_are_read() {
    let server = Server::of(&["data", "empty.ndjson"]);
    let all = server.over(server.path(), &["query", "$.level"]);
    assert_eq!(all.stdout, server.beside(&["query", "$.level", "data", "empty.ndjson"]).stdout);
    let one = server.over(server.path(), &["query", "$.level", "hostile.ndjson"]);
    assert_eq!(one.stdout, server.beside(&["query", "$.level", "data/hostile.ndjson"]).stdout);
}

#[test]
fn nothing_else_of_the_machine_is_reached() {
    let server = Server::of(&["data", "logs.wp"]);
    let secret = server.path().join("secret.ndjson");
    std::fs::write(&secret, "{\"secret\":\"leaked\"}\n").unwrap();
    let name = secret.to_str().unwrap();
    let from_secret = format!("SELECT * FROM '{name}'");
    let copied = format!("COPY (SELECT 1) TO '{}'", server.path().join("made.csv").display());
    let external = format!("CREATE EXTERNAL TABLE t STORED AS NDJSON LOCATION '{name}'");
    let client = tempfile::tempdir().unwrap();
    for arguments in [
        &["query", "$", name][..],
        &["query", "$", "secret.ndjson"],
        &["query", "$", "data/../secret.ndjson"],
        &["query", "$", "*.ndjson"],
        &["query", "$", "file:///etc/passwd"],
        &["query", "$", "-"],
        &["query", "$", "--files-from", name],
        &["query", "$", "-o", "made/{$.level}.ndjson"],
        &["select", "--auto", "--format", "parquet", "-o", "x.parquet", "--schema", name],
        &["head", "--follow", name],
        &["filter", "--subscriptions", name, "--watch"],
        &["validate", "--schema", name, name],
        &["schema", "diff", "data", name],
        &["explain", "$.a", name],
        &["tree", name],
        &["index", "dump", name],
        &["store", "info", "logs.wp"],
        &["store", "add", "logs.wp", name],
        &["devices"],
        &["completions", "bash"],
        &["sql", &from_secret],
        &["sql", &copied],
        &["sql", &external],
        &["sql", "SET datafusion.execution.batch_size = 1"],
        &["sql", "--schema", "line", "SELECT * FROM 'secret.ndjson'"],
    ] {
        let refused = server.over(client.path(), arguments);
        assert!(!refused.status.success(), "{arguments:?} {refused:?}");
        let said = [refused.stdout, refused.stderr].concat();
        assert!(!said.is_empty() && !String::from_utf8_lossy(&said).contains("leaked"), "{arguments:?}");
    }
    assert!(!server.path().join("made.csv").exists() && !server.path().join("made").exists());
    let names = server.over(client.path(), &["query", "$", "other"]);
    let expected = "error: other: is not among the inputs of the server\n  \
                    help: it has data, logs.wp; without a name, all of them are read\n";
    assert_eq!(String::from_utf8_lossy(&names.stderr), expected);
}

#[test]
fn a_server_that_is_none_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let of = |server: &str| {
        let arguments = ["query", "$.a", "--server", server].map(std::ffi::OsStr::new);
        let output = crate::harness::run(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    // Nobody listens on a port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(of(&port.to_string()).contains("Connection refused"), "{}", of(&port.to_string()));
    assert!(of("not a url").starts_with("error: http://not a url: "));
    assert!(of("https://localhost").contains("without TLS"));
    for (answer, said) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "no server of Warpath answers there"),
        ("SSH-2.0-OpenSSH\r\n", "error: "),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.warpath.run\r\n\r\n\u{1}\0\0\0\u{7f}",
            "sends what no server",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.warpath.run\r\n\r\n\u{1}\u{9}\0\0\0x",
            "ended the response",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.warpath.run\r\n\r\n\u{4}\u{8}\0\0\0\0.profil",
            "names a file that the command line does not name",
        ),
    ] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serve = std::thread::spawn(move || {
            use std::io::{Read as _, Write as _};
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1 << 16];
            assert!(stream.read(&mut request).unwrap() > 0);
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let error = of(&address);
        assert!(error.contains(said), "{answer:?}: {error}");
        serve.join().unwrap();
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
