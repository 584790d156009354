//! Requests with JSON, as the page and programs send them.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Answer, Server, inputs};

fn lines(answer: &Answer) -> Vec<Value> {
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn commands_answer_with_lines_of_json() {
    let server = Server::of(&["data", "logs.wp"]);
    for (path, body, beside) in [
        ("/query", r#"{"arguments": ["$.level", "data"]}"#, &["query", "$.level", "data"][..]),
        (
            "/query",
            r#"{"arguments": ["$.level", "logs.wp"], "where": "$.ms > 40", "limit": 2}"#,
            &["query", "$.level", "logs.wp", "--where", "$.ms > 40", "--limit", "2"],
        ),
        (
            "/select",
            r#"{"arguments": ["level=$.level", "data"], "sort": "level"}"#,
            &["select", "level=$.level", "data", "--sort", "level"],
        ),
        (
            "/count-by",
            r#"{"arguments": ["$.level", "logs.wp"]}"#,
            &["count-by", "--format", "ndjson", "$.level", "logs.wp"],
        ),
        ("/head", r#"{"arguments": ["data"], "limit": 2}"#, &["head", "-n", "2", "data"]),
        (
            "/stats",
            r#"{"arguments": ["$.ms", "data"], "by": "$.level"}"#,
            &["stats", "--format", "ndjson", "$.ms", "data", "--by", "$.level"],
        ),
    ] {
        let answer = server.post(path, body);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/x-ndjson"), "{path}");
        assert_eq!(answer.text(), String::from_utf8(server.beside(beside).stdout).unwrap(), "{path} {body}");
    }
    let rows = server.post("/sql", r#"{"query": "SELECT count(*) AS n FROM 'logs.wp'"}"#);
    assert_eq!(rows.text(), "{\"n\":22}\n", "{rows:?}");
    let none = server.post("/query", r#"{"arguments": ["$.nothing", "data"], "exit-status": true}"#);
    assert_eq!((none.status, none.text()), (200, String::new()));
}

/// Malformed records are what `validate` lists, so its response is whole.
#[test]
fn malformed_records_are_listed() {
    let server = Server::of(&["data", "bad.ndjson"]);
    let answer = server.post("/validate", r#"{"arguments": ["data", "bad.ndjson"], "all": true}"#);
    let beside = server.beside(&["validate", "--all", "data", "bad.ndjson"]);
    assert!(answer.status == 200 && answer.is_whole, "{answer:?}");
    assert_eq!(answer.text(), String::from_utf8(beside.stdout).unwrap());
    assert!(answer.text().starts_with("bad.ndjson:"), "{answer:?}");
    let schema = server.post("/validate", r#"{"arguments": ["data"], "schema": "none.json"}"#);
    assert_eq!(schema.status, 400, "{schema:?}");
}

#[test]
fn formats_are_chosen_by_name_and_by_header() {
    let server = Server::of(&["data"]);
    let body = r#"{"arguments": ["level=$.level", "data"]}"#;
    for (accept, begin) in [
        ("text/csv", &b"level\n"[..]),
        ("application/vnd.apache.arrow.stream", b"\xff\xff\xff\xff"),
        ("application/vnd.apache.parquet", b"PAR1"),
        ("text/plain", b"level"),
        ("text/html, */*", b"{\"level\":"),
    ] {
        let header = format!("Accept: {accept}\r\n");
        let answer = Answer::read(server.send("POST", "/select", &header, body.as_bytes()));
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body.starts_with(begin) && answer.is_whole, "{accept}: {:?}", answer.text());
    }
    for path in ["/select", "/sql"] {
        let body = json!({
            "arguments": ["level=$.level", "data"],
            "query": "SELECT level FROM 'data'",
            "format": "parquet",
        });
        let mut body = body.as_object().unwrap().clone();
        body.remove(if path == "/sql" { "arguments" } else { "query" });
        let answer = server.post(path, &Value::Object(body).to_string());
        assert_eq!(answer.header("content-type"), Some("application/vnd.apache.parquet"), "{answer:?}");
        assert!(answer.body.starts_with(b"PAR1") && answer.body.ends_with(b"PAR1"), "{path}");
    }
}

#[test]
fn mistakes_have_their_place() {
    let server = Server::of(&["data", "bad.ndjson"]);
    let answer = server.post("/query", r#"{"arguments": ["$.é[", "data"]}"#);
    assert_eq!(answer.status, 400, "{answer:?}");
    let error = &answer.json()["error"];
    assert_eq!((&error["input"], &error["begin"]), (&json!("$.é["), &json!(5)), "{error}");
    let unloaded = server.post("/query", r#"{"arguments": ["$.a", "other"]}"#);
    assert_eq!(unloaded.status, 400);
    assert_eq!(unloaded.json()["error"]["message"], "other: is not among the inputs of the server");
    assert!(unloaded.json()["error"]["help"].as_str().unwrap().starts_with("it has data"));
    let sql = server.post("/sql", r#"{"query": "SELECT lvl FROM 'data'"}"#);
    assert_eq!(sql.status, 400);
    assert_eq!(sql.json()["error"]["begin"], 7, "{sql:?}");
    for (path, body) in [
        ("/query", "nonsense"),
        ("/query", "[]"),
        ("/query", r#"{"arguments": ["$.a"], "output": "/tmp/x"}"#),
        ("/query", r#"{"arguments": ["$.a"], "no-such-option": 1}"#),
        ("/query", r#"{"arguments": ["$.a"], "limit": "many"}"#),
        ("/run", "{}"),
        ("/run", "nonsense"),
    ] {
        assert_eq!(server.post(path, body).status, 400, "{path} {body}");
    }
    for (path, status, said) in [("/query", 405, "another method"), ("/nothing", 404, "no such address")] {
        let answer = server.get(path);
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains(said), "{answer:?}");
    }
    assert_eq!(server.get("/query").header("allow"), Some("POST"));
    let sql = server.post("/sql", r#"{"arguments": ["SELECT 1"]}"#);
    assert_eq!(sql.json()["error"]["message"], "`query` is a statement of SQL", "{sql:?}");
    let deep = r#"{"query": "SELECT value FROM generate_series(1, 9) ORDER BY value DESC LIMIT 1"}"#;
    assert_eq!(server.post("/sql", deep).text(), "{\"value\":9}\n");
}

#[test]
fn names_of_inputs_are_listed() {
    let folder = inputs();
    for name in ["one", "two"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join("log.ndjson"), "{\"a\":1}\n").unwrap();
    }
    let server = Server::in_folder(folder, &["one", "two", "logs.wp"]);
    let said = |path: &str, body: &str| {
        let answer = server.post(path, body);
        assert_eq!(answer.status, 400, "{answer:?}");
        let error = &answer.json()["error"];
        format!("{}; {}", error["message"].as_str().unwrap(), error["help"].as_str().unwrap_or_default())
    };
    let several = "log.ndjson: means several inputs of the server; they are one/log.ndjson, two/log.ndjson";
    let none = "nope.ndjson: is not among the inputs of the server; it has one, two, logs.wp";
    for (name, why) in [("log.ndjson", several), ("nope.ndjson", none)] {
        let of_sql = said("/sql", &format!(r#"{{"query": "SELECT * FROM '{name}'"}}"#));
        assert!(of_sql.starts_with(why), "{of_sql}");
        let of_query = said("/query", &format!(r#"{{"arguments": ["$.a", "{name}"]}}"#));
        assert!(of_query.starts_with(why), "{of_query}");
    }
    let of_table = said("/sql", r#"{"query": "SELECT * FROM nope"}"#);
    assert!(of_table.ends_with("not found; SHOW TABLES lists the inputs of the server"), "{of_table}");
    let tables = r#"{"query": "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"}"#;
    let listed = server.post("/sql", tables).text();
    assert_eq!(listed, "{\"table_name\":\"logs.wp\"}\n{\"table_name\":\"one\"}\n{\"table_name\":\"two\"}\n");
    // One that is gone is listed, too.
    std::fs::remove_dir_all(server.path().join("two")).unwrap();
    let shown = server.post("/sql", r#"{"query": "SHOW TABLES"}"#).text();
    assert!(shown.contains("logs.wp") && shown.contains("two"), "{shown}");
    std::fs::create_dir(server.path().join("two")).unwrap();
    std::fs::write(server.path().join("two/log.ndjson"), "{\"a\":1}\n").unwrap();
    let columns = r#"{"query": "SHOW COLUMNS FROM 'one'"}"#;
    assert!(
        server.post("/sql", columns).text().contains("\"column_name\":\"a\""),
        "{}",
        server.post("/sql", columns).text()
    );
}

#[test]
fn what_follows_the_rows_is_their_last_line() {
    let server = Server::of(&["data", "bad.ndjson"]);
    let noted = server.post("/query", r#"{"arguments": ["$.lvl", "data"], "notes": true}"#);
    let last = lines(&noted).pop().unwrap();
    assert_eq!(last["$notes"][0]["level"], "note", "{last}");
    assert!(last["$notes"][0]["message"].as_str().unwrap().contains("$.lvl"), "{last}");
    let failed = server.post("/query", r#"{"arguments": ["$.level", "bad.ndjson"]}"#);
    assert_eq!(failed.status, 200);
    let lines = lines(&failed);
    assert_eq!(lines[0], 1);
    assert!(lines[1]["$error"]["message"].as_str().unwrap().starts_with("bad.ndjson:2:"), "{lines:?}");
    assert_eq!(lines[1]["$error"]["line"], 2);
    let header = "Accept: text/csv\r\n";
    let body = br#"{"arguments": ["level=$.level", "bad.ndjson"]}"#;
    let cut = Answer::read(server.send("POST", "/select", header, body));
    assert_eq!((cut.status, cut.is_whole), (422, true), "{cut:?}");
    assert_eq!(cut.json()["error"]["line"], 2, "{cut:?}");
}

#[test]
fn the_schema_is_a_tree() {
    let server = Server::of(&["data", "logs.wp"]);
    let schema = server.get("/schema?input=logs.wp").json();
    assert_eq!(schema["inputs"][0]["records"], 22, "{schema}");
    assert_eq!(schema["inputs"][0]["version"], 0, "{}", schema["inputs"]);
    let children = schema["root"]["children"].as_array().unwrap();
    let of = |name: &str| children.iter().find(|child| child["name"] == name).unwrap();
    assert_eq!(of("time")["time"], true);
    assert_eq!(of("level")["types"]["string"], 22);
    assert_eq!(of("user")["children"][1]["path"], "$.user.name");
    assert_eq!(of("a b")["path"], "$['a b']");
    let errors = server.get("/schema?where=%24.level%20%3D%3D%20'error'&input=data").json();
    assert_eq!(errors["root"]["count"], 2, "{errors}");
    assert_eq!(server.get("/schema?input=other").status, 400);
    assert_eq!(server.get("/schema?output=x").status, 400);
    let mistake = server.get("/schema?where=%24.a%20%3E");
    assert_eq!((mistake.status, &mistake.json()["error"]["input"]), (400, &json!("$.a >")));
}

#[test]
fn plans_are_text() {
    let server = Server::of(&["data"]);
    let body =
        r#"{"command": "select", "arguments": ["level=$.level"], "where": "$.ms > 1", "sort": "level"}"#;
    let plan = server.post("/explain", body);
    let beside = server.beside(&["explain", "level=$.level", "--where", "$.ms > 1"]);
    assert_eq!(plan.text(), String::from_utf8(beside.stdout).unwrap());
    let sql = server.post("/explain", r#"{"command": "sql", "query": "SELECT level FROM 'data'"}"#);
    assert!(sql.text().contains("physical_plan"), "{sql:?}");
}

#[test]
fn health_and_metrics_are_those_of_the_inputs() {
    let server = Server::of(&["data", "logs.wp"]);
    let health = server.get("/health").json();
    assert_eq!(health["status"], "ok");
    assert_eq!(health["inputs"][1]["name"], "logs.wp");
    server.post("/query", r#"{"arguments": ["$.level", "data"]}"#);
    server.post("/query", r#"{"arguments": ["$.", "data"]}"#);
    server.wait_for("warpath_questions_total{command=\"query\",status=\"ok\"}", 1);
    server.wait_for("warpath_questions_total{command=\"query\",status=\"error\"}", 1);
    assert_eq!(server.metric("warpath_rows_total"), 22);
    assert!(server.metric("warpath_loaded_bytes") > 1000);
    assert_eq!(server.metric("warpath_running"), 0);
    let text = server.get("/metrics").text();
    assert!(text.contains("warpath_question_seconds_bucket{") && text.ends_with("# EOF\n"), "{text}");
    // A store that vanishes is reported, and a question about it fails.
    std::fs::remove_dir_all(server.path().join("logs.wp")).unwrap();
    let gone = server.get("/health");
    assert_eq!((gone.status, gone.json()["status"].as_str()), (503, Some("error")));
    let failed = server.post("/query", r#"{"arguments": ["$.level", "logs.wp"]}"#);
    assert!(failed.status >= 400 && failed.json()["error"]["message"].is_string(), "{failed:?}");
    assert_eq!(server.post("/query", r#"{"arguments": ["$.level", "data"]}"#).status, 200);
}

#[test]
fn the_page_runs_its_own_scripts_alone() {
    let server = Server::of(&["data"]);
    let page = server.get("/");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self';") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    // All that the page names is there, and nothing is inline.
    let text = page.text();
    assert!(!text.contains("<style") && !text.contains("onclick") && !text.contains("<script>"), "{text}");
    let named = text.split('"').filter(|word| word.starts_with("page/"));
    let mut count = 0;
    for name in named {
        assert_eq!(server.get(&format!("/{name}")).status, 200, "{name}");
        count += 1;
    }
    assert!(count > 0);
    for name in ["/page/index.htm", "/page/../Cargo.toml", "/page/%2e%2e%2fCargo.toml", "/page/"] {
        assert_eq!(server.get(name).status, 404, "{name}");
    }
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("page/index.html").is_file());
}
