//! Filters in a scan select the rows that DataFusion selects by itself, from the same values in memory.

use std::fmt::Write;
use std::sync::Arc;

use datafusion::datasource::MemTable;
use warpath_random::Rng;
use warpath_sql::{Options, SchemaFrom};

use super::Session;

/// A value of a column, which often is one of few, so that conditions hold sometimes.
fn value(random: &mut Rng, kind: usize, drifts: bool) -> String {
    if drifts && random.below(12) == 0 {
        let odd = r#"[1] {"x":1} "5" true 5.0 1e400 99999999999999999999 "\ud800" "a\ud800b" "\ud83d\ude00""#;
        return odd.split(' ').nth(random.below(10)).unwrap().to_owned();
    }
    match kind {
        0 => random.below(6).to_string(),
        1 => ["9007199254740993", "-9223372036854775808", "9223372036854775807", "-1", "5"][random.below(5)]
            .into(),
        2 => ["0.1", "0.10000000000000001", "5", "-2.5e3", "1.5", "2"][random.below(6)].into(),
        3 => {
            let strings = r#""a" "b" "" "\u0061" "é" "a\nb" "zz" "^$.(a|b)*" "$a""#;
            strings.split(' ').nth(random.below(9)).unwrap().into()
        }
        5 => ["170141183460469231", "17014118346046923173168730371588410572", "-5", "7"][random.below(4)]
            .into(),
        _ => ["true", "false"][random.below(2)].into(),
    }
}

const COLUMNS: [&str; 6] = ["i", "big", "f", "s", "b", "huge"];

fn record(random: &mut Rng, drifts: bool) -> String {
    let mut members = Vec::new();
    for (kind, name) in COLUMNS.iter().enumerate() {
        match random.below(8) {
            0 => {}
            1 => members.push(format!("\"{name}\":null")),
            _ => members.push(format!("\"{name}\":{}", value(random, kind, drifts))),
        }
    }
    if random.below(4) > 0 {
        let (s, i) = (value(random, 3, drifts), value(random, 0, drifts));
        members.push(format!("\"o\":{{\"s\":{s},\"i\":{i}}}"));
    }
    format!("{{{}}}", members.join(","))
}

fn comparison(random: &mut Rng) -> String {
    let op = ["=", "<>", "<", "<=", ">", ">="][random.below(6)];
    let columns = ["i", "big", "f", "s", "b", "o['s']", "o['i']", "huge"];
    let at = random.below(columns.len());
    let literal = match at {
        0 | 6 => random.below(6).to_string(),
        1 => ["9007199254740993", "9007199254740992", "-1", "5"][random.below(4)].into(),
        2 => ["0.1", "5.0", "1.5", "-2500.0"][random.below(4)].into(),
        4 => ["true", "false"][random.below(2)].into(),
        7 => {
            let numbers = ["17014118346046923173168730371588410572", "7", "-6"];
            format!("CAST('{}' AS DECIMAL(38, 0))", numbers[random.below(3)])
        }
        _ => ["'a'", "'b'", "''", "'é'", "'zz'", "'\u{fffd}'"][random.below(6)].into(),
    };
    let column = columns[at];
    if matches!(at, 3 | 5) && random.below(2) == 0 {
        let patterns = r"a%,%a,%a%,%,_,__,a_b,a%b,%b%a%,^$.(%,$%,%|b)*,é,😀%,,_%_,a\%,\^$.%,%\b,a\_%,%\,%�%";
        let pattern = patterns.split(',').nth(random.below(22)).unwrap();
        return match random.below(4) {
            0 => format!("{column} NOT LIKE '{pattern}'"),
            1 => format!("starts_with({column}, '{pattern}')"),
            2 => format!("{column} ILIKE '{pattern}'"),
            _ => format!("{column} LIKE '{pattern}'"),
        };
    }
    match random.below(7) {
        0 => format!("{column} IS NULL"),
        1 => format!("{column} IS NOT NULL"),
        2 => format!("{column} IN ({literal}, {literal})"),
        3 => format!("{column} NOT IN ({literal})"),
        4 => format!("{literal} {op} {column}"),
        _ => format!("{column} {op} {literal}"),
    }
}

fn condition(random: &mut Rng, depth: usize) -> String {
    match random.below(if depth == 0 { 2 } else { 6 }) {
        0 | 1 => comparison(random),
        2 => format!("NOT ({})", condition(random, depth - 1)),
        3 => "b".into(),
        kind => {
            let by = if kind == 4 { "AND" } else { "OR" };
            format!("({} {by} {})", condition(random, depth - 1), condition(random, depth - 1))
        }
    }
}

/// Compares a table of a file with its values in memory.
fn compare(session: &Session, table: &str, random: &mut Rng, conditions: usize) {
    let all = session.batches(&format!("SELECT * FROM {table}")).unwrap();
    let memory = MemTable::try_new(all[0].schema(), vec![all]).unwrap();
    session.context.deregister_table("memory").unwrap();
    session.context.register_table("memory", Arc::new(memory)).unwrap();
    for _ in 0..conditions {
        let condition = condition(random, 3);
        for what in ["count(*)", "i, o['s']", "*"] {
            let rows = |from: &str| {
                let mut rows = session.rows(&format!("SELECT {what} FROM {from} WHERE {condition}"));
                rows.sort();
                rows
            };
            let plan = || session.plan(&format!("SELECT {what} FROM {table} WHERE {condition}"));
            assert!(rows(table) == rows("memory"), "{what} WHERE {condition}\n{}", plan());
        }
    }
}

#[test]
fn filters_select_the_same_rows() {
    let mut random = Rng::new(24);
    let session = Session::new();
    let mut text = String::new();
    for _ in 0..700 {
        writeln!(text, "{}", record(&mut random, false)).unwrap();
    }
    let table = session.file("clean.ndjson", &text);
    compare(&session, &table, &mut random, 150);
}

/// The types are declared, and some values do not have them.
#[test]
fn values_of_other_types_are_null_for_filters_too() {
    let mut random = Rng::new(25);
    let session = Session::new();
    let mut text = String::new();
    for _ in 0..700 {
        writeln!(text, "{}", record(&mut random, true)).unwrap();
    }
    let location = session.file("drift.ndjson", &text);
    let columns = "i BIGINT, big BIGINT, f DOUBLE, s VARCHAR, b BOOLEAN, huge DECIMAL(38, 0), \
                   o STRUCT<s VARCHAR, i BIGINT>";
    session
        .batches(&format!("CREATE EXTERNAL TABLE t ({columns}) STORED AS WARPATH LOCATION {location}"))
        .unwrap();
    compare(&session, "t", &mut random, 150);
    let left_out = session.report.take();
    assert!(left_out.columns.keys().any(|name| name == "$['i']:int64"), "{left_out:?}");
}

/// A schema of few records does not fit the others.
#[test]
fn a_schema_of_a_sample_is_not_trusted() {
    let session = Session::with(Options { schema: SchemaFrom::Sample(1), workers: 2, ..Options::default() });
    let table = session.file("a.ndjson", "{\"a\":1}\n{\"a\":2.0}\n{\"a\":\"x\"}\n{\"a\":3}\n");
    assert_eq!(session.rows(&format!("SELECT a FROM {table} WHERE a >= 2")), ["3"]);
    assert_eq!(session.rows(&format!("SELECT count(*) FROM {table} WHERE a IS NULL")), ["2"]);
    let refused = session.report.take().columns["$['a']:int64"].clone();
    assert!(refused.count > 0, "{refused:?}");
}

#[test]
fn plans_show_paths_and_predicates() {
    let session = Session::new();
    let table = session.file("log.ndjson", "{\"a\":{\"b\":1},\"s\":\"x\",\"t\":2}\n");
    let plan = session.plan(&format!("SELECT a['b'] + 1 FROM {table} WHERE s = 'x' AND t < 5"));
    assert!(plan.contains("paths=[$['a']['b']:int64"), "{plan}");
    assert!(plan.contains("predicate=$['s'] == 'x' && $['t'] < 5"), "{plan}");
    assert!(!plan.contains("FilterExec"), "{plan}");
    // A filter that no predicate is stays where it is.
    let plan = session.plan(&format!("SELECT t FROM {table} WHERE s LIKE 'x%' AND t > 1"));
    assert!(plan.contains("FilterExec: s@") && plan.contains("predicate=$['t'] > 1"), "{plan}");
    // A long chain is one predicate, and not a deep one.
    let chain = (0..300).map(|at| format!("t > {at} AND s < '{at}'")).collect::<Vec<_>>().join(" OR ");
    let query = format!("SELECT count(*) FROM {table} WHERE {chain} OR s < 'xx'");
    assert_eq!(session.rows(&query), ["1"]);
    let plan = session.plan(&query);
    assert!(plan.contains("$['t'] > 299 && $['s'] < '299'"), "{plan}");
    // A count reads no value.
    let plan = session.plan(&format!("SELECT count(*) FROM {table} WHERE s = 'x'"));
    assert!(plan.contains("paths=[]"), "{plan}");
    let plan = session.plan(&format!("SELECT s FROM {table} ORDER BY t LIMIT 1"));
    assert!(plan.contains("dynamic=[DynamicFilter"), "{plan}");
}

/// Semi and anti joins look for one partner, and not for all.
#[test]
fn semi_joins_have_distinct_keys() {
    let session = Session::new();
    let a = session.file(
        "a.ndjson",
        "{\"k\":1,\"n\":1}\n{\"k\":2,\"n\":2}\n{\"n\":4}\n{\"k\":2,\"n\":8}\n{\"k\":3,\"n\":16}\n",
    );
    let b = session
        .file("b.ndjson", "{\"k\":2,\"m\":1}\n{\"k\":2,\"m\":9}\n{\"k\":3,\"m\":1}\n{\"k\":3,\"m\":2}\n");
    let nulls = session.file("nulls.ndjson", "{\"k\":2}\n{\"k\":null}\n{\"k\":2}\n");
    for (condition, sum) in [
        (format!("k IN (SELECT k FROM {b})"), "26"),
        (format!("k NOT IN (SELECT k FROM {b})"), "1"),
        // SQL compares with the null, and knows of no row.
        (format!("k NOT IN (SELECT k FROM {nulls})"), "NULL"),
        (format!("k IN (SELECT k FROM {nulls})"), "10"),
        (format!("EXISTS (SELECT 1 FROM {b} b WHERE b.k = a.k)"), "26"),
        (format!("NOT EXISTS (SELECT 1 FROM {b} b WHERE b.k = a.k)"), "5"),
        (format!("NOT EXISTS (SELECT 1 FROM {nulls} b WHERE b.k = a.k)"), "21"),
        (format!("EXISTS (SELECT 1 FROM {b} b WHERE b.k = a.k AND b.m > a.n)"), "10"),
        (format!("k IN (SELECT DISTINCT k FROM {b})"), "26"),
    ] {
        let query = format!("SELECT sum(n) FROM {a} a WHERE {condition}");
        assert_eq!(session.rows(&query), [sum], "{query}");
        let plan = session.plan(&query);
        let groups = plan.matches("gby=[k@0 as k]").count() + plan.matches("gby=[k@1 as k]").count();
        assert_eq!(groups > 0, !condition.contains("b.m > a.n"), "{query}: {plan}");
    }
}
