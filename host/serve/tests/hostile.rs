//! Clients that send garbage, half a request, too much, or nothing, and those that have no business here.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use warpath_random::Rng;

use crate::harness::{Answer, Server, inputs};

const COUNT: &str = r#"{"arguments": ["$.level", "data"], "count": true}"#;

/// All that comes before the server closes the connection.
fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    // A connection that is reset has no more bytes.
    let _ = stream.read_to_end(&mut rest);
    rest
}

#[test]
fn garbage_is_refused() {
    let server = Server::of(&["data"]);
    let mut random = Rng::new(43);
    for round in 0..200 {
        let mut bytes: Vec<u8> = (0..random.below(300)).map(|_| random.below(256) as u8).collect();
        if round % 2 == 0 {
            let request =
                format!("POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", bytes.len());
            bytes = [request.into_bytes(), bytes].concat();
        }
        let mut stream = server.connect();
        // The server may have closed it already.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let answer = rest(stream);
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{bytes:?}");
    }
    assert_eq!(server.post("/query", COUNT).text(), "22\n");
    server.wait_for("warpath_connections", 1);
}

#[test]
fn heads_and_bodies_have_limits() {
    let server = Server::of(&["--body", "1K", "data"]);
    let mut stream = server.connect();
    let head = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    let _ = stream.write_all(head.as_bytes());
    let answer = String::from_utf8_lossy(&rest(stream)).into_owned();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    let long = format!(r#"{{"arguments": ["$.a"], "where": "{}"}}"#, " ".repeat(2000));
    let refused = server.post("/query", &long);
    assert_eq!(refused.status, 413, "{refused:?}");
    assert_eq!(server.post("/run", &long).status, 413);
    // A chunk without its length.
    let mut stream = server.connect();
    let head =
        "POST /query HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(format!("{head}nonsense\r\n").as_bytes()).unwrap();
    assert!(String::from_utf8_lossy(&rest(stream)).starts_with("HTTP/1.1 400"));
    // A length that no memory has.
    let mut stream = server.connect();
    let head = "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n{";
    stream.write_all(head.as_bytes()).unwrap();
    assert!(String::from_utf8_lossy(&rest(stream)).starts_with("HTTP/1.1 413"));
    assert_eq!(server.post("/query", COUNT).status, 200);
}

#[test]
fn clients_that_send_nothing_are_closed() {
    let server = Server::of(&["--idle", "50ms", "data"]);
    for begin in ["", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"] {
        let mut stream = server.connect();
        stream.write_all(begin.as_bytes()).unwrap();
        // The connection ends without more of the client.
        rest(stream);
    }
    let mut stream = server.connect();
    let half = "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"arguments\"";
    stream.write_all(half.as_bytes()).unwrap();
    let answer = String::from_utf8_lossy(&rest(stream)).into_owned();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[test]
fn half_a_beginning_of_http2_is_closed() {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let server = Server::of(&["--idle", "50ms", "data"]);
    for len in [1, 3, 10, PREFACE.len()] {
        // Whole, and then nothing: the client does not answer a ping.
        let mut stream = server.connect();
        stream.write_all(&PREFACE[..len]).unwrap();
        rest(stream);
    }
    let mut random = Rng::new(47);
    for len in [3, PREFACE.len()] {
        for _ in 0..50 {
            let noise: Vec<u8> = (0..random.below(300)).map(|_| random.below(256) as u8).collect();
            let mut stream = server.connect();
            // The server may have closed it already.
            let _ = stream.write_all(&[&PREFACE[..len], &noise].concat());
            let _ = stream.shutdown(Shutdown::Write);
            rest(stream);
        }
    }
    // A method whose name begins like it.
    let mut stream = server.connect();
    stream.write_all(b"PRIVATE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    assert!(rest(stream).starts_with(b"HTTP/1.1 405"));
    server.wait_for("warpath_connections", 1);
    assert_eq!(server.post("/query", COUNT).text(), "22\n");
}

#[test]
fn hosts_and_origins_of_others_are_refused() {
    let server = Server::of(&["--writable", "logs.wp"]);
    for (head, status) in [
        ("Host: evil.example", 421),
        ("Host: localhost\r\nOrigin: http://evil.example", 403),
        ("Host: localhost\r\nOrigin: null", 403),
        ("Host: localhost\r\nOrigin: http://localhost", 200),
    ] {
        let mut stream = server.connect();
        let request = format!(
            "POST /append HTTP/1.1\r\n{head}\r\nConnection: close\r\nContent-Length: 8\r\n\r\n{{\"n\":1}}\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let answer = Answer::read(stream);
        assert_eq!(answer.status, status, "{head}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    assert_eq!(server.beside(&["query", "$.n", "logs.wp"]).stdout, b"1\n");
}

#[test]
fn a_token_opens_the_server() {
    let folder = inputs();
    std::fs::write(folder.path().join("token"), "correct-horse-battery-staple\n").unwrap();
    let server = Server::in_folder(folder, &["--token-file", "token", "--writable", "logs.wp"]);
    let with = |token: &str, path: &str| {
        let header = format!("Authorization: Bearer {token}\r\n");
        Answer::read(server.send("POST", path, &header, br#"{"arguments": ["$.level"], "count": true}"#))
    };
    for path in ["/query", "/append", "/run"] {
        for token in ["", "wrong", "correct-horse-battery-stapl", "correct-horse-battery-staple2"] {
            let refused = with(token, path);
            assert_eq!(refused.status, 401, "{path}");
            assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
        }
    }
    assert_eq!(server.get("/health").status, 401);
    assert_eq!(server.get("/").status, 200, "the page asks for the token");
    assert_eq!(with("correct-horse-battery-staple", "/query").text(), "22\n");
    let refused = server.over(server.path(), &["query", "$.level", "--count"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("WARPATH_TOKEN"), "{refused:?}");
    let url = format!("http://{}", server.address);
    let allowed = std::process::Command::new(crate::harness::warpath())
        .args(["query", "$.level", "--count", "--server", &url])
        .env("WARPATH_TOKEN", "correct-horse-battery-staple")
        .output()
        .unwrap();
    assert_eq!(allowed.stdout, b"22\n", "{allowed:?}");
    // Other machines reach this address.
    let open = std::process::Command::new(env!("CARGO_BIN_EXE_warpath-serve"))
        .args(["--listen", "0.0.0.0:0", "logs.wp"])
        .env_remove("WARPATH_TOKEN")
        .current_dir(server.path())
        .output()
        .unwrap();
    assert_eq!(open.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&open.stderr).contains("other machines reach this address"), "{open:?}");
}

#[test]
fn a_thousand_connections_are_served() {
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let server = Server::of(&["data"]);
    let open: Vec<TcpStream> = (0..1000).map(|_| server.connect()).collect();
    server.wait_for("warpath_connections", 1001);
    let request = format!(
        "POST /query HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{COUNT}",
        COUNT.len()
    );
    for (at, mut stream) in open.iter().enumerate() {
        if at % 100 == 0 {
            stream.write_all(request.as_bytes()).unwrap();
        }
    }
    for (at, stream) in open.into_iter().enumerate() {
        if at % 100 == 0 {
            assert_eq!(Answer::read(stream).text(), "22\n");
        }
    }
    server.wait_for("warpath_connections", 1);
}

#[test]
fn more_connections_wait() {
    let server = Server::of(&["--connections", "2", "data"]);
    let (first, second) = (server.connect(), server.connect());
    let third = server.send("POST", "/query", "", COUNT.as_bytes());
    // The third is not accepted before another one ends.
    drop(first);
    assert_eq!(Answer::read(third).text(), "22\n");
    drop(second);
}
