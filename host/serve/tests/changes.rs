//! Inputs that change, are cut or vanish while the server has them in memory.

use std::fs;
use std::io::{BufReader, Read as _};

use crate::harness::{Server, head, inputs};
use crate::limits::{LINES, stalled, with_large};

const IDS: &str = r#"{"arguments": ["$.n", "n.ndjson"]}"#;

#[test]
fn a_file_is_read_as_it_is() {
    let folder = inputs();
    let path = folder.path().join("n.ndjson");
    fs::write(&path, "{\"n\":1}\n{\"n\":2}\n").unwrap();
    let server = Server::in_folder(folder, &["n.ndjson", "data"]);
    let now = |expected: &str| {
        // The first question meets the change, and later ones may read what was loaded since.
        for _ in 0..3 {
            assert_eq!(server.post("/query", IDS).text(), expected);
        }
    };
    now("1\n2\n");
    for (lines, expected) in [
        ("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n", "1\n2\n3\n"),
        // The same size, and other lines.
        ("{\"n\":7}\n{\"n\":8}\n{\"n\":9}\n", "7\n8\n9\n"),
        ("{\"n\":7}\n", "7\n"),
        ("", ""),
        ("{\"n\":4}", "4\n"),
    ] {
        fs::write(&path, lines).unwrap();
        now(expected);
    }
    // A cut within a line is malformed, and says where.
    fs::write(&path, "{\"n\":5}\n{\"n\":").unwrap();
    for _ in 0..3 {
        let cut = server.post("/query", IDS).text();
        let last = cut.lines().last().unwrap();
        assert!(cut.starts_with("5\n") && last.contains("n.ndjson:2:"), "{cut}");
    }
    assert_eq!((server.get("/health").status, server.metric("warpath_unreadable_inputs")), (200, 0));
    fs::remove_file(&path).unwrap();
    for _ in 0..3 {
        let gone = server.post("/query", IDS);
        assert_eq!(gone.status, 400, "{gone:?}");
        let said = gone.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(said.starts_with("n.ndjson: ") && said.contains("No such file"), "{said}");
    }
    let health = server.get("/health");
    assert_eq!(health.status, 503);
    assert!(health.json()["inputs"][0]["error"].as_str().unwrap().contains("n.ndjson"), "{health:?}");
    assert_eq!(server.metric("warpath_unreadable_inputs"), 1);
    assert_eq!(server.post("/query", r#"{"arguments": ["$.level", "data"], "count": true}"#).text(), "22\n");
    fs::write(&path, "{\"n\":6}\n").unwrap();
    now("6\n");
    assert_eq!((server.get("/health").status, server.metric("warpath_unreadable_inputs")), (200, 0));
}

#[test]
fn a_part_that_is_cut_is_an_error_until_it_is_back() {
    let server = Server::of(&["logs.wp", "data"]);
    const COUNT: &str = r#"{"arguments": ["$.level", "logs.wp"], "count": true}"#;
    assert_eq!(server.post("/query", COUNT).text(), "22\n");
    let parts = fs::read_dir(server.path().join("logs.wp")).unwrap().map(|entry| entry.unwrap().path());
    let part = parts.into_iter().find(|path| path.extension() == Some("parquet".as_ref())).unwrap();
    let whole = fs::read(&part).unwrap();
    for left in [whole.len() / 2, 0] {
        fs::write(&part, &whole[..left]).unwrap();
        let cut = server.post("/query", COUNT);
        let said = cut.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!((400..=500).contains(&cut.status) && said.contains("logs.wp"), "{cut:?}");
        let sql = server.post("/sql", r#"{"query": "SELECT count(*) AS n FROM 'logs.wp'"}"#);
        assert!((400..=500).contains(&sql.status), "{sql:?}");
        assert_eq!((server.get("/health").status, server.metric("warpath_unreadable_inputs")), (503, 1));
        assert_eq!(server.post("/query", r#"{"arguments": ["$.level", "data"]}"#).status, 200);
    }
    fs::write(&part, &whole).unwrap();
    assert_eq!(server.post("/query", COUNT).text(), "22\n");
    assert_eq!((server.get("/health").status, server.metric("warpath_unreadable_inputs")), (200, 0));
}

#[test]
fn a_question_ends_with_the_lines_that_it_began_with() {
    for load in [&[][..], &["--load", "0"]] {
        let server = with_large(load);
        let mut running = stalled(&server);
        fs::remove_file(server.path().join("large.ndjson")).unwrap();
        fs::remove_dir_all(server.path().join("logs.wp")).unwrap();
        let mut all = Vec::new();
        running.read_to_end(&mut all).unwrap();
        assert!(all.ends_with(b"0\r\n\r\n") && all.len() > LINES * 100, "{load:?} {}", all.len());
        assert_eq!(server.get("/health").status, 503);
    }
}

#[test]
fn a_file_that_is_cut_under_a_question_ends_it_alone() {
    let server = with_large(&["--load", "0"]);
    let running = stalled(&server);
    let file = fs::OpenOptions::new().write(true).open(server.path().join("large.ndjson")).unwrap();
    file.set_len(1000).unwrap();
    let mut rest = Vec::new();
    BufReader::new(running).read_to_end(&mut rest).unwrap();
    assert!(rest.len() < LINES * 100, "{}", rest.len());
    server.wait_for("warpath_running", 0);
    let body = r#"{"arguments": ["$.level", "logs.wp"], "count": true}"#;
    assert_eq!(server.post("/query", body).text(), "22\n");
    let mut short = BufReader::new(server.send("POST", "/query", "", br#"{"arguments": ["$.text"]}"#));
    assert!(head(&mut short).starts_with("HTTP/1.1 "));
}
