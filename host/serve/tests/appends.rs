//! Lines that are added to stores while questions run.

use std::io::{BufReader, Write as _};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::harness::{Answer, Server, chunk, head};

#[test]
fn lines_are_there_when_the_answer_comes() {
    let server = Server::of(&["--writable", "logs.wp", "data"]);
    let count = |server: &Server| -> String {
        server.post("/query", r#"{"arguments": ["$.n", "logs.wp"], "count": true}"#).text()
    };
    assert_eq!(count(&server), "0\n");
    let added = server.post("/append?input=logs.wp", "{\"n\":1}\n{\"n\":2}\n");
    assert_eq!((added.status, &added.json()["lines"]), (200, &2.into()), "{added:?}");
    let version = added.json()["version"].as_u64().unwrap();
    assert_eq!(count(&server), "2\n");
    assert_eq!(server.beside(&["query", "$.n", "logs.wp"]).stdout, b"1\n2\n");
    // Another program adds lines, too.
    std::fs::write(server.path().join("more.ndjson"), "{\"n\":3}\n").unwrap();
    assert!(server.beside(&["store", "add", "logs.wp", "more.ndjson"]).status.success());
    assert_eq!(count(&server), "3\n");
    std::fs::write(server.path().join("plain.ndjson"), "{\"n\":4}\n").unwrap();
    let packed = Command::new("gzip").arg("-k").arg(server.path().join("plain.ndjson")).status().unwrap();
    assert!(packed.success());
    let packed = std::fs::read(server.path().join("plain.ndjson.gz")).unwrap();
    let header = "Content-Encoding: gzip\r\n";
    let added = Answer::read(server.send("POST", "/append?input=logs.wp", header, &packed));
    assert_eq!(added.json()["version"], version + 2, "{added:?}");
    assert_eq!(count(&server), "4\n");
    assert_eq!(server.metric("warpath_appended_lines_total"), 3);
    assert_eq!(server.post("/append?input=data", "{}\n").status, 400);
    assert_eq!(server.post("/append?input=other", "{}\n").status, 400);
    assert_eq!(server.post("/append", "{}\n").status, 400);
}

#[test]
fn only_a_writable_server_takes_lines() {
    let server = Server::of(&["logs.wp"]);
    let refused = server.post("/append", "{}\n");
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(server.get("/health").json()["inputs"][0]["records"], 22);
}

#[test]
fn half_a_body_adds_nothing() {
    let server = Server::of(&["--writable", "--append", "1K", "logs.wp"]);
    let mut stream = server.connect();
    let request = "POST /append HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"n\":1}\n{\"n\":";
    stream.write_all(request.as_bytes()).unwrap();
    drop(stream);
    let too_long = server.post("/append", &"{\"n\":1}\n".repeat(1000));
    assert_eq!(too_long.status, 413, "{too_long:?}");
    // This request has its turn after the others have ended.
    let added = server.post("/append", "{\"n\":2}\n");
    assert_eq!(added.json()["version"], 1, "{added:?}");
    assert_eq!(server.beside(&["query", "$.n", "logs.wp"]).stdout, b"2\n");
}

#[test]
fn a_slow_client_keeps_nobody_waiting() {
    let server = Server::of(&["--writable", "--idle", "1h", "logs.wp"]);
    let mut slow = server.connect();
    let request = "POST /append HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 16\r\n\r\n{\"n\":1}\n{";
    slow.write_all(request.as_bytes()).unwrap();
    // The first connection is that of the slow client, and this is the second one.
    server.wait_for("warpath_connections", 2);
    let added = server.post("/append", "{\"n\":2}\n");
    assert_eq!((added.status, &added.json()["version"]), (200, &1.into()), "{added:?}");
    slow.write_all(b"\"n\":3}\n").unwrap();
    let added = Answer::read(slow);
    assert_eq!((added.status, &added.json()["lines"]), (200, &2.into()), "{added:?}");
    assert_eq!(server.beside(&["query", "$.n", "logs.wp"]).stdout, b"2\n1\n3\n");
}

#[test]
fn a_question_goes_on_with_later_lines() {
    let server = Server::of(&["--writable", "logs.wp", "data"]);
    let body = br#"{"arguments": ["$.n", "logs.wp"], "follow": true}"#;
    let mut tail = BufReader::new(server.send("POST", "/query", "", body));
    let mut read = String::new();
    for round in 1..=3 {
        let added = server.post("/append?input=logs.wp", &format!("{{\"n\":{round}}}\n"));
        assert_eq!(added.status, 200, "{added:?}");
        if round == 2 {
            // Parts that take the place of others have no new lines.
            assert!(server.beside(&["store", "compact", "logs.wp"]).status.success());
        }
        if round == 1 {
            assert!(head(&mut tail).starts_with("HTTP/1.1 200"));
        }
        while !read.ends_with(&format!("{round}\n")) {
            read += std::str::from_utf8(&chunk(&mut tail).unwrap()).unwrap();
        }
    }
    assert_eq!(read, "1\n2\n3\n");
    drop(tail);
    server.wait_for("warpath_questions_total{command=\"query\",status=\"cancelled\"}", 1);
    server.wait_for("warpath_running", 0);
    // A file is followed, too.
    let body = br#"{"arguments": ["$.n", "hostile.ndjson"], "follow": true}"#;
    let tail = server.send("POST", "/query", "", body);
    let path = server.path().join("data/hostile.ndjson");
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(b"{\"n\":7}\n").unwrap();
    let mut tail = BufReader::new(tail);
    assert!(head(&mut tail).starts_with("HTTP/1.1 200"));
    assert_eq!(chunk(&mut tail).unwrap(), b"7\n");
    drop(tail);
    server.wait_for("warpath_questions_total{command=\"query\",status=\"cancelled\"}", 2);
}

#[test]
fn questions_additions_and_compaction_at_the_same_time_lose_nothing() {
    let server = Server::of(&["--writable", "logs.wp"]);
    const WRITERS: usize = 4;
    const ROUNDS: usize = 12;
    let is_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let server = &server;
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            writers.push(scope.spawn(move || {
                for round in 0..ROUNDS {
                    let line = format!("{{\"n\":{}}}\n", writer * ROUNDS + round);
                    let added = server.post("/append", &line);
                    assert_eq!(added.status, 200, "{added:?}");
                }
            }));
            scope.spawn(move || {
                let mut before = 0;
                for _ in 0..ROUNDS {
                    let body = r#"{"arguments": ["$.n"], "count": true}"#;
                    let answer = server.post("/query", body);
                    let now: usize = answer.text().trim().parse().unwrap_or_else(|_| panic!("{answer:?}"));
                    assert!((before..=WRITERS * ROUNDS).contains(&now));
                    before = now;
                }
            });
        }
        let is_ended = &is_ended;
        scope.spawn(move || {
            while !is_ended.load(Ordering::Relaxed) {
                let merged = server.beside(&["store", "compact", "logs.wp"]);
                // The server may have merged some of the same parts first.
                let said = String::from_utf8_lossy(&merged.stderr);
                assert!(merged.status.success() || said.contains("another writer"), "{merged:?}");
            }
        });
        // The other threads end also if a writer fails.
        let written: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_ended.store(true, Ordering::Relaxed);
        assert!(written.iter().all(Result::is_ok));
    });
    let all = server.beside(&["query", "$.n", "logs.wp"]).stdout;
    assert_eq!(numbers(&all), (0..WRITERS * ROUNDS).collect::<Vec<_>>());
    assert_eq!(numbers(&server.post("/query", r#"{"arguments": ["$.n"]}"#).body), numbers(&all));
}

/// The numbers of lines, ascending.
fn numbers(lines: &[u8]) -> Vec<usize> {
    let lines = std::str::from_utf8(lines).unwrap().lines();
    let mut numbers: Vec<usize> = lines.map(|line| line.parse().unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn small_parts_become_one() {
    let server = Server::of(&["--writable", "logs.wp"]);
    const LINES: usize = 100;
    for n in 0..LINES {
        assert_eq!(server.post("/append", &format!("{{\"n\":{n}}}\n")).status, 200);
    }
    // This addition comes after the merge that the one before has begun.
    assert_eq!(server.post("/append", "{\"m\":1}\n").status, 200);
    let info = server.beside(&["store", "info", "logs.wp"]);
    let info = String::from_utf8(info.stdout).unwrap();
    assert!(info.matches(".parquet").count() < 33, "{info}");
    let all = server.post("/query", r#"{"arguments": ["$.n"]}"#);
    // In their order.
    let expected: String = (0..LINES).map(|n| format!("{n}\n")).collect();
    assert_eq!(all.text(), expected);
}
