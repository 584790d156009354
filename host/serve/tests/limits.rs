//! Limits of questions, clients that go away, and the end of the server.

use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;

use crate::harness::{Answer, Server, head, inputs};

/// More bytes than sockets and the server hold.
pub const LINES: usize = 400_000;

/// A server with a large file, beside the others.
pub fn with_large(arguments: &[&str]) -> Server {
    let folder = inputs();
    let mut file = std::fs::File::create(folder.path().join("large.ndjson")).unwrap();
    let lines = format!("{{\"text\":\"{}\"}}\n", "x".repeat(100)).repeat(1000);
    for _ in 0..LINES / 1000 {
        file.write_all(lines.as_bytes()).unwrap();
    }
    let all: Vec<&str> = arguments.iter().copied().chain(["large.ndjson", "logs.wp"]).collect();
    Server::in_folder(folder, &all)
}

/// A question that runs until its client reads all of the response, or goes away.
pub fn stalled(server: &Server) -> TcpStream {
    let stream = server.send("POST", "/query", "", br#"{"arguments": ["$.text", "large.ndjson"]}"#);
    let mut reader = BufReader::with_capacity(1, stream);
    assert!(head(&mut reader).starts_with("HTTP/1.1 200"));
    reader.into_inner()
}

const COUNT: &str = r#"{"arguments": ["$.level", "logs.wp"], "count": true}"#;

#[test]
fn a_client_that_goes_away_ends_its_question() {
    let server = with_large(&["--questions", "1", "--queue", "0"]);
    for (round, of) in [(1, "query"), (2, "query")] {
        let stream = stalled(&server);
        let refused = server.post("/query", COUNT);
        assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")), "{refused:?}");
        let over = server.over(server.path(), &["query", "$.level", "logs.wp"]);
        assert_eq!((over.status.code(), over.stdout.len()), (Some(2), 0));
        assert!(String::from_utf8_lossy(&over.stderr).contains("too many questions"), "{over:?}");
        drop(stream);
        let metric = format!("warpath_questions_total{{command=\"{of}\",status=\"cancelled\"}}");
        server.wait_for(&metric, round);
        server.wait_for("warpath_running", 0);
        assert_eq!(server.post("/query", COUNT).status, 200);
    }
    // A statement of SQL ends, too.
    let body = br#"{"query": "SELECT \"text\" FROM 'large.ndjson'"}"#;
    let mut reader = BufReader::with_capacity(1, server.send("POST", "/sql", "", body));
    assert!(head(&mut reader).starts_with("HTTP/1.1 200"));
    drop(reader);
    server.wait_for("warpath_running", 0);
    assert_eq!(server.post("/query", COUNT).text(), "22\n");
}

#[test]
fn questions_wait_for_others() {
    let server = with_large(&["--questions", "1", "--queue", "1"]);
    let stream = stalled(&server);
    let waiting = server.send("POST", "/query", "", COUNT.as_bytes());
    server.wait_for("warpath_waiting", 1);
    assert_eq!(server.post("/query", COUNT).status, 429);
    let answer = Answer::read(stream_rest(stream));
    drop(answer);
    assert_eq!(Answer::read(waiting).text(), "22\n");
}

/// Reads all that a connection has.
fn stream_rest(mut stream: TcpStream) -> TcpStream {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(rest.ends_with(b"0\r\n\r\n") && rest.len() > LINES * 100);
    stream
}

#[test]
fn a_question_has_a_longest_time() {
    let server = with_large(&["--time", "1ms", "--idle", "2s"]);
    const BODY: &str = r#"{"arguments": ["$.text", "large.ndjson"]}"#;
    let answer = server.post("/query", BODY);
    let last = answer.text().lines().last().unwrap().to_owned();
    let error = "{\"message\":\"the question took longer than 0.001 s, the most that this server allows\"}";
    assert!(last.contains(error), "{} {last}", answer.status);
    // A client that reads nothing does not hold its question.
    let deaf = server.send("POST", "/query", "", BODY.as_bytes());
    server.wait_for("warpath_questions_total{command=\"query\",status=\"limit\"}", 2);
    drop(deaf);
}

#[test]
fn work_ends_with_its_question() {
    let folder = inputs();
    let record = format!("{}1{}\n", "{\"a\":".repeat(60), "}".repeat(60));
    let path = "$..*..*..*..*..*..*..*..*";
    let deep = record.trim().replace('"', "\\\"");
    let of_deep = |function| {
        format!(r#"{{"query": "SELECT {function}(line, '{path}') FROM (SELECT '{deep}' AS line)"}}"#)
    };
    std::fs::write(folder.path().join("deep.ndjson"), record).unwrap();
    let server =
        Server::in_folder(folder, &["--time", "100ms", "--questions", "1", "deep.ndjson", "logs.wp"]);
    let endless = "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT sum(n) FROM t";
    for (path, body) in [
        (
            "/query",
            r#"{"arguments": ["$..*..*..*..*..*..*..*..*", "deep.ndjson"], "count": true}"#.to_owned(),
        ),
        ("/sql", format!(r#"{{"query": "{endless}"}}"#)),
        // One record, in a function.
        ("/sql", of_deep("json_path_count")),
        ("/sql", of_deep("json_path")),
    ] {
        let answer = server.post(path, &body);
        assert_eq!(answer.status, 413, "{answer:?}");
        assert!(answer.text().contains("longer than 0.1 s"), "{answer:?}");
        // The next question has its turn when the threads have seen the end.
        server.wait_for("warpath_running", 0);
        let drop_early = server.send("POST", path, "", body.as_bytes());
        drop(drop_early);
        server.wait_for("warpath_running", 0);
    }
}

/// Statements so deep that their plan would need more stack, or more time, than there is.
#[test]
fn a_statement_has_a_most_operators() {
    let server = Server::of(&["logs.wp"]);
    let joins = (0..2000).map(|at| format!("(VALUES (1)) t{at}")).collect::<Vec<_>>().join(", ");
    let twice = |at: usize| format!(", c{at} AS (SELECT a FROM c{0} UNION ALL SELECT a FROM c{0})", at - 1);
    let names: String = (1..40).map(twice).collect();
    let levels = "more than 2000 operators";
    for (query, said) in [
        (format!("SELECT {}", vec!["1"; 200_000].join("+")), levels),
        (format!("SELECT {}1", "- ".repeat(200_000)), levels),
        (vec!["SELECT 1, 1"; 20_000].join(" UNION ALL "), levels),
        (format!("{}SELECT 1", "EXPLAIN ".repeat(100_000)), levels),
        (format!("SELECT now(){}", " AT TIME ZONE 'UTC'".repeat(40_000)), levels),
        (format!("SELECT 1 FROM {joins}"), "more than 200 tables in one FROM"),
        (format!("WITH c0 AS (SELECT 1 AS a){names} SELECT count(*) FROM c39"), "more than 1000 tables"),
    ] {
        let answer = server.post("/sql", &format!(r#"{{"query": "{query}"}}"#));
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.text().contains(said), "{answer:?}");
    }
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn an_answer_has_a_most_lines() {
    let server = with_large(&["--rows", "1000"]);
    let answer = server.post("/query", r#"{"arguments": ["$.text", "large.ndjson"]}"#);
    let error = "the response has more than 1000 lines, the most that this server gives";
    assert_eq!((answer.status, &answer.json()["error"]["message"]), (413, &error.into()), "{answer:?}");
    let over = server.over(server.path(), &["query", "$.text", "large.ndjson"]);
    assert_eq!(over.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&over.stderr).contains(error), "{over:?}");
    let few = server.post("/query", r#"{"arguments": ["$.text", "large.ndjson"], "limit": 1000}"#);
    assert_eq!((few.status, few.text().lines().count()), (200, 1000));
    let table = r#"{"query": "SELECT \"text\" FROM 'large.ndjson'"}"#;
    assert!(server.post("/sql", table).text().contains(error));
}

#[test]
fn an_answer_has_a_most_bytes() {
    let server = with_large(&["--answer", "100K"]);
    const BODY: &[u8] = br#"{"arguments": ["text=$.text", "large.ndjson"]}"#;
    let error = "the response has more than 102400 bytes, the most that this server gives";
    for accept in ["application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream"] {
        let header = format!("Accept: {accept}\r\n");
        let cut = Answer::read(server.send("POST", "/select", &header, BODY));
        // What is cut is never taken for the whole.
        let said = String::from_utf8_lossy(&cut.body).contains(error);
        assert!(said || !cut.is_whole, "{accept} {}", cut.status);
        assert!(cut.status == 200 || said, "{accept} {}", cut.status);
        assert!(cut.body.len() < 110_000, "{accept} {}", cut.body.len());
    }
    let over = server.over(server.path(), &["query", "$.text", "large.ndjson"]);
    assert_eq!(over.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&over.stderr).contains(error), "{over:?}");
    let header = "Accept: application/vnd.apache.parquet\r\n";
    let large = with_large(&["--answer", "1"]);
    let cut = Answer::read(large.send("POST", "/select", header, BODY));
    assert!(cut.status == 413 || !cut.is_whole, "{cut:?}");
}

#[test]
fn the_lines_of_arrow_are_not_its_bytes() {
    let server = with_large(&["--rows", "10"]);
    // Each number has the byte of a new line.
    let body = br#"{"query": "SELECT 10 + 0 * value AS n FROM generate_series(1, 100)"}"#;
    let header = "Accept: application/vnd.apache.arrow.stream\r\n";
    let answer = Answer::read(server.send("POST", "/sql", header, body));
    assert_eq!((answer.status, answer.is_whole), (200, true), "{answer:?}");
    let text = Answer::read(server.send("POST", "/sql", "", body));
    assert!(text.text().contains("more than 10 lines"), "{text:?}");
}

#[test]
fn signals_end_the_server() {
    for signal in ["-TERM", "-INT"] {
        let server = with_large(&["--grace", "30s"]);
        let body = br#"{"arguments": ["$.level", "logs.wp"], "follow": true}"#;
        let mut tail = BufReader::new(server.send("POST", "/query", "", body));
        assert!(head(&mut tail).starts_with("HTTP/1.1 200"));
        let mut running = stalled(&server);
        server.signal(signal);
        // A question that follows would not end: it is ended, and says so.
        let mut rest = String::new();
        tail.read_to_string(&mut rest).unwrap();
        assert!(rest.contains("{\"$error\":{\"message\":\"the server ends\"}}"), "{rest}");
        // Another one is answered to its end.
        let mut all = Vec::new();
        running.read_to_end(&mut all).unwrap();
        assert!(all.ends_with(b"0\r\n\r\n"), "{}", all.len());
        assert_eq!(server.wait(), Some(0), "{signal}");
    }
}

#[test]
fn a_second_signal_ends_what_runs() {
    let server = with_large(&["--grace", "1h"]);
    let running = stalled(&server);
    let connected = server.connect();
    server.signal("-TERM");
    // The server accepts nothing any more: what was accepted and idle is closed.
    assert_eq!(BufReader::new(connected).read(&mut [0; 8]).unwrap_or(0), 0);
    server.signal("-TERM");
    assert_eq!(server.wait(), Some(0));
    drop(running);
}
