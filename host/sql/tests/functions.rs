//! `json_path` and its variants, over columns of any table and in scans.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, StringArray, StringViewArray};
use warpath_sql::{Options, SchemaFrom};

use super::Session;

const TEXT: &str = r#"{"a":{"b":[1,2.5,"x"]},"t":"2026-01-02T03:04:05Z","n":null,"y":true,"s":"q\"é"}"#;

#[test]
fn each_variant_has_its_type() {
    let session = Session::new();
    let call = |function: &str, path: &str| {
        let text = TEXT.replace('\'', "''");
        session.rows(&format!("SELECT {function}('{text}', '{path}')")).remove(0)
    };
    for (function, path, want) in [
        ("json_path", "$.a.b", r#"[1,2.5,"x"]"#),
        ("json_path", "$.s", r#""q\"é""#),
        ("json_path", "$.a.b[*]", "1"),
        ("json_path", "$.none", "NULL"),
        ("json_path", "$.n", "NULL"),
        ("json_path_text", "$.s", "q\"é"),
        ("json_path_text", "$.a.b[2]", "x"),
        ("json_path_text", "$.a.b[0]", "1"),
        ("json_path_int", "$.a.b[0]", "1"),
        ("json_path_int", "$.a.b[1]", "NULL"),
        ("json_path_float", "$.a.b[1]", "2.5"),
        ("json_path_bool", "$.y", "true"),
        ("json_path_time", "$.t", "2026-01-02T03:04:05Z"),
        ("json_path_exists", "$.n", "true"),
        ("json_path_exists", "$.none", "false"),
        ("json_path_count", "$.a.b[*]", "3"),
        ("json_path_count", "$..*", "9"),
        ("json_path_array", "$.a.b[?@ > 1]", "[2.5]"),
    ] {
        assert_eq!(call(function, path), want, "{function} {path}");
    }
}

/// Results of integers that have no room in their type are errors, in constants, columns, groups and orders.
#[test]
fn arithmetic_of_integers_is_exact() {
    let session = Session::new();
    let lines =
        format!("{{\"g\":1,\"x\":{}}}\n{{\"g\":2,\"x\":{}}}\n{{\"g\":3,\"x\":null}}\n", i64::MAX, i64::MIN);
    let table = session.file("integers.ndjson", lines);
    let no_room = "the result has no room in its type";
    for (select, want) in [
        ("x + 1 FROM t WHERE g = 1", Err(no_room)),
        ("x + -1 FROM t WHERE g = 1", Ok("9223372036854775806")),
        ("1 + x FROM t WHERE g = 3", Ok("NULL")),
        ("x - 1 FROM t WHERE g = 2", Err(no_room)),
        ("x * 2 FROM t WHERE g = 2", Err(no_room)),
        ("x * 1 FROM t WHERE g = 2", Ok("-9223372036854775808")),
        ("-x FROM t WHERE g = 2", Err(no_room)),
        ("-x FROM t WHERE g = 1", Ok("-9223372036854775807")),
        ("x / -1 FROM t WHERE g = 2", Err("Overflow")),
        ("abs(x) FROM t WHERE g = 2", Err("overflow")),
        ("CAST(x AS DECIMAL(38, 0)) + 1 FROM t WHERE g = 1", Ok("9223372036854775808")),
        ("9223372036854775807 + 1", Err(no_room)),
        ("CAST(2000000000 AS INT) * CAST(2 AS INT)", Err(no_room)),
        ("CAST(2000000000 AS INT) + 2000000000", Ok("4000000000")),
        ("CAST(1 AS INT UNSIGNED) - CAST(2 AS INT UNSIGNED)", Err(no_room)),
        ("1.5 + 1", Ok("2.5")),
        ("g FROM t WHERE x - 1 > 0 AND g < 2", Ok("1")),
        ("count(*) FROM t WHERE x - 1 < 0", Err(no_room)),
        ("max(x + 1) FROM t", Err(no_room)),
        ("max(x) - min(x) FROM t", Err(no_room)),
        ("max(g) + 1 FROM t GROUP BY g + 1 HAVING max(g) + 1 > 3", Ok("4")),
        ("g + 1 FROM t GROUP BY ROLLUP(g + 1) HAVING g + 1 > 3", Ok("4")),
        ("count(*) FROM t GROUP BY GROUPING SETS((-g), (g + 1, -g)) HAVING -g = -3 LIMIT 1", Ok("1")),
        ("g FROM t ORDER BY -g LIMIT 1", Ok("3")),
        ("g FROM t ORDER BY g * 9223372036854775807 LIMIT 1", Err(no_room)),
        ("g FROM t WHERE g + 1 IN (SELECT g FROM t WHERE g - 1 = 2)", Ok("2")),
        ("a.g FROM t a JOIN t b ON a.g + 2 = b.g", Ok("1")),
        ("sum(g + 1) OVER (ORDER BY g) FROM t LIMIT 1", Ok("2")),
        (
            "max(n) FROM (WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n * 2 FROM r WHERE n < 999) SELECT n FROM r)",
            Ok("1024"),
        ),
        ("DATE '2026-01-02' - DATE '2026-01-01'", Ok("1")),
    ] {
        let query = format!("SELECT {select}")
            .replace("FROM t", &format!("FROM {table}"))
            .replace("JOIN t", &format!("JOIN {table}"));
        match (want, session.batches_in(&session.context, &query)) {
            (Ok(want), Ok(_)) => assert_eq!(session.rows(&query), [want], "{query}"),
            (Err(want), Err(error)) => assert!(error.to_string().contains(want), "{query}: {error}"),
            (want, got) => panic!("{query}: {want:?} {got:?}"),
        }
    }
    // Chains are one call, and calls within calls have a limit.
    let chain = |count: usize, operators: &[&str]| {
        (0..count).fold("g".to_owned(), |chain, at| format!("{chain} {} 1", operators[at % operators.len()]))
    };
    let of = |chain: &str| format!("SELECT {chain} AS n FROM {table} WHERE g = 1");
    let chains = || {
        assert_eq!(session.rows(&of(&chain(600, &["+"]))), ["601"]);
        assert_eq!(session.rows(&of(&chain(300, &["-"]))), ["-299"]);
        assert_eq!(session.rows(&of(&chain(90, &["+", "-"]))), ["1"]);
        let error = session.batches_in(&session.context, &of(&chain(101, &["+", "-"]))).unwrap_err();
        assert!(error.to_string().contains("more than 100 levels of +, - and *"), "{error}");
    };
    // The program plans in threads with large stacks, too.
    std::thread::scope(|scope| {
        let large = std::thread::Builder::new().stack_size(1 << 28);
        large.spawn_scoped(scope, chains).unwrap();
    });
    // The names of columns are those of the operators.
    let batches = session.batches_in(&session.context, "SELECT 1 + 2, -(3 * 4), (3 - 2) * 4 AS n").unwrap();
    let names: Vec<String> = batches[0].schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["Int64(1) + Int64(2)", "(- Int64(3) * Int64(4))", "n"]);
}

#[test]
fn columns_of_any_table_are_texts() {
    let session = Session::new();
    let texts =
        [Some("{\"a\":1}"), None, Some(""), Some(" \n"), Some("{\"a\":\n\"x\"}"), Some("[3]"), Some("7")];
    let plain =
        RecordBatch::try_from_iter([("text", Arc::new(StringArray::from(texts.to_vec())) as _)]).unwrap();
    let views =
        RecordBatch::try_from_iter([("text", Arc::new(StringViewArray::from(texts.to_vec())) as _)]).unwrap();
    session.context.register_batch("plain", plain).unwrap();
    session.context.register_batch("views", views).unwrap();
    for table in ["plain", "views"] {
        let rows = |what: &str| {
            session.rows(&format!("SELECT coalesce(cast({what} AS VARCHAR), 'NULL') FROM {table}"))
        };
        assert_eq!(rows("json_path_text(text, '$.a')"), ["1", "NULL", "NULL", "NULL", "x", "NULL", "NULL"]);
        assert_eq!(
            rows("json_path(text, '$')"),
            ["{\"a\":1}", "NULL", "NULL", "NULL", "{\"a\": \"x\"}", "[3]", "7"]
        );
        assert_eq!(rows("json_path_count(text, '$.*')"), ["1", "NULL", "NULL", "NULL", "1", "1", "0"]);
    }
}

#[test]
fn mistakes_are_errors() {
    let session = Session::new();
    let error = session.error("SELECT json_path('{}', '$.a[')");
    assert!(error.contains("the path of json_path") && error.contains('^'), "{error}");
    let error = session.error("SELECT json_path(x, x) FROM (VALUES ('$')) AS t(x)");
    assert!(error.contains("must be a constant"), "{error}");
    let error =
        session.error("SELECT json_path_int(x, '$.a') FROM (VALUES ('{\"a\":1}'), ('{\"a\":')) AS t(x)");
    assert!(error.contains("row 2 of a batch is not JSON"), "{error}");
}

/// A scan reads paths of `line` itself, with the results of the functions.
#[test]
fn a_scan_evaluates_paths_of_lines() {
    let options = Options { schema: SchemaFrom::Line, workers: 2, ..Options::default() };
    let session = Session::with(options);
    let lines = ["{\"a\":{\"b\":5},\"s\":\"x\"}", "", "{\"a\":{\"b\":\"y\"}}", "null", "[1]"];
    let table = session.file("lines.ndjson", lines.join("\n"));
    let query = format!(
        "SELECT json_path_int(line, '$.a.b') AS b, json_path_text(line, '$.a.b') AS t FROM {table} \
         WHERE json_path_text(line, '$.a.b') IS NOT NULL ORDER BY t"
    );
    assert_eq!(session.rows(&query), ["5 5", "NULL y"]);
    let plan = session.plan(&query);
    assert!(plan.contains("paths=[$.a.b:"), "{plan}");
    let all = format!("SELECT count(*), count(line), count(json_path(line, '$.s')) FROM {table}");
    assert_eq!(session.rows(&all), ["4 3 1"]);
}
