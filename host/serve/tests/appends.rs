//! Lines that are added to stores while questions run.

use std::io::{BufReader, Write as _};
use std::process::Command;

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
fn questions_and_additions_at_the_same_time_lose_nothing() {
    let server = Server::of(&["--writable", "logs.wp"]);
    const WRITERS: usize = 4;
    const ROUNDS: usize = 5;
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let server = &server;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let line = format!("{{\"n\":{}}}\n", writer * ROUNDS + round);
                    let added = server.post("/append", &line);
                    assert_eq!(added.status, 200, "{added:?}");
                }
            });
            scope.spawn(move || {
                let mut before = 0;
                for _ in 0..ROUNDS {
                    let body = r#"{"arguments": ["$.n"], "count": true}"#;
                    let now: usize = server.post("/query", body).text().trim().parse().unwrap();
                    assert!((before..=WRITERS * ROUNDS).contains(&now));
                    before = now;
                }
            });
        }
    });
    let all = server.beside(&["query", "$.n", "logs.wp"]).stdout;
    let mut all: Vec<usize> = String::from_utf8(all).unwrap().lines().map(|n| n.parse().unwrap()).collect();
    all.sort_unstable();
    assert_eq!(all, (0..WRITERS * ROUNDS).collect::<Vec<_>>());
}
