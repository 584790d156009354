//! `warpath schema` compared with a naive count over random records that drift.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value as Parsed;
use warpath_random::Rng;

use super::Folder;

/// A value, with its numbers as they are written.
enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Big(String),
    Float(String),
    String(String),
    Array(Vec<Self>),
    Object(Vec<(&'static str, Self)>),
}

/// Names of members, each with two spellings.
const NAMES: [(&str, &str); 8] = [
    ("at", "\\u0061t"),
    ("on", "on"),
    ("id", "i\\u0064"),
    ("user", "user"),
    ("größe", "gr\\u00f6\\u00dfe"),
    ("a_name_of_more_than_thirty_two_bytes", "a_name_of_more_than_thirty_two_byte\\u0073"),
    ("tags", "\\u0074ags"),
    ("x", "x"),
];

/// A random value. Types and members depend on `era`, so that records drift.
fn value(rng: &mut Rng, depth: usize, era: usize) -> Value {
    match rng.below(if depth > 3 { 9 } else { 12 }) + if depth == 0 { 12 } else { 0 } {
        0 => Value::Null,
        1 => Value::Bool(rng.below(2) == 0),
        2 | 3 if era < 3 => Value::Integer(rng.next_u64() as i64 >> rng.below(64)),
        2 | 3 => Value::Integer(rng.below(20) as i64),
        4 if era > 6 => Value::Big(format!("{}{:019}", 1 + rng.below(9), rng.next_u64() % 10_u64.pow(19))),
        5 if era > 2 => Value::Float(["1.5", "-2e3", "2.50", "-0.0", "1e-7", "1000.0"][rng.below(6)].into()),
        4..=8 => {
            let parts = ["a", "Zz", "é", "☺", "😀", "/", "\"", "\\", "\n", "\u{0}", "word "];
            Value::String((0..rng.below(2 + era)).map(|_| rng.pick(&parts)).collect())
        }
        9 => Value::Array((0..rng.below(4)).map(|_| value(rng, depth + 1, era)).collect()),
        _ => {
            let count = rng.below(2 + era % 5);
            let member = |_| {
                let name = rng.pick(&NAMES).0;
                let second = rng.below(60);
                let member = match (name, rng.below(9)) {
                    (_, 0) if depth > 1 => Value::Null,
                    ("at", _) => Value::String(format!("2026-03-01T12:00:{second:02}.5Z")),
                    // Later records have instants, too.
                    ("on", 1) if era > 8 && depth > 2 => {
                        Value::String(format!("2026-03-01T12:00:{second:02}+01:00"))
                    }
                    ("on", _) => Value::String(format!("20{second:02}-02-28")),
                    _ => value(rng, depth + 1, era),
                };
                (name, member)
            };
            Value::Object((0..count).map(member).collect())
        }
    }
}

/// Writes a value with random spellings and white space.
fn write(value: &Value, rng: &mut Rng, out: &mut String) {
    let space = |rng: &mut Rng, out: &mut String| out.push_str(["", "", "", " ", "\t "][rng.below(5)]);
    space(rng, out);
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => write!(out, "{value}").unwrap(),
        Value::Integer(value) => write!(out, "{value}").unwrap(),
        Value::Big(text) | Value::Float(text) => out.push_str(text),
        Value::String(text) => {
            out.push('"');
            for c in text.chars() {
                match c {
                    '"' | '\\' => write!(out, "\\{c}").unwrap(),
                    '/' => out.push_str(["/", "\\/", "\\u002f"][rng.below(3)]),
                    c if c < ' ' || c < '\u{ffff}' && rng.below(8) == 0 => {
                        write!(out, "\\u{:04x}", u32::from(c)).unwrap();
                    }
                    c => out.push(c),
                }
            }
            out.push('"');
        }
        Value::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(element, rng, out);
            }
            space(rng, out);
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (at, (name, member)) in members.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                space(rng, out);
                let (_, spelt) = NAMES.iter().find(|(plain, _)| plain == name).unwrap();
                write!(out, "\"{}\"", if rng.below(3) == 0 { spelt } else { name }).unwrap();
                space(rng, out);
                out.push(':');
                write(member, rng, out);
            }
            space(rng, out);
            out.push('}');
        }
    }
    space(rng, out);
}

/// The facts of a path, as the oracle counts them.
#[derive(Default)]
struct Seen {
    types: BTreeMap<&'static str, u64>,
    first: BTreeMap<&'static str, usize>,
    /// Objects that have the member.
    present: u64,
    distinct: BTreeSet<String>,
    numbers: Vec<f64>,
    strings: BTreeSet<String>,
    lengths: BTreeSet<usize>,
}

fn count(value: &Value, path: &str, line: usize, all: &mut BTreeMap<String, Seen>) {
    let seen = all.entry(path.to_owned()).or_default();
    let kind = match value {
        Value::Null => "null",
        Value::Bool(value) => {
            seen.distinct.insert(value.to_string());
            "bool"
        }
        Value::Integer(number) => {
            seen.distinct.insert(format!("n{number}"));
            seen.numbers.push(*number as f64);
            "int64"
        }
        Value::Big(text) => {
            seen.distinct.insert(format!("n{text}"));
            seen.numbers.push(text.parse().unwrap());
            "bigint"
        }
        Value::Float(text) => {
            let number: f64 = text.parse().unwrap();
            // -0.0 and 0 are equal.
            seen.distinct.insert(format!("n{}", number + 0.0));
            seen.numbers.push(number);
            "float64"
        }
        Value::String(text) => {
            seen.distinct.insert(format!("s{text}"));
            seen.strings.insert(text.clone());
            "string"
        }
        Value::Array(elements) => {
            seen.lengths.insert(elements.len());
            "array"
        }
        Value::Object(_) => "object",
    };
    *seen.types.entry(kind).or_default() += 1;
    seen.first.entry(kind).or_insert(line);
    match value {
        Value::Array(elements) => {
            elements.iter().for_each(|element| count(element, &format!("{path}[*]"), line, all));
        }
        Value::Object(members) => {
            let names: BTreeSet<_> = members.iter().map(|(name, _)| *name).collect();
            members.iter().for_each(|(name, member)| count(member, &format!("{path}.{name}"), line, all));
            names.iter().for_each(|name| all.get_mut(&format!("{path}.{name}")).unwrap().present += 1);
        }
        _ => {}
    }
}

#[test]
fn a_naive_count_of_random_records_agrees() {
    let mut rng = Rng::new(21);
    let (mut text, mut all) = (String::new(), BTreeMap::new());
    for line in 0..10_000 {
        let record = value(&mut rng, 0, line / 1000);
        write(&record, &mut rng, &mut text);
        text.push('\n');
        count(&record, "$", line + 1, &mut all);
    }
    let folder = Folder::new(&[("in.ndjson", text.as_bytes())]);
    let args = ["schema", "--format", "ndjson", "--workers", "3", "--partition-size", "64KiB", "in.ndjson"];
    let ran = folder.run(&args);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let rows: Vec<Parsed> = ran
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(rows.len(), all.len());
    assert!(rows.len() > 300, "{}", rows.len());
    let mut kinds = BTreeMap::new();
    for seen in all.values_mut() {
        let are = |test: &dyn Fn(&String) -> bool| !seen.strings.is_empty() && seen.strings.iter().all(test);
        let kind = match () {
            () if are(&|text| text.len() > 10 && text.starts_with("2026-03-01T")) => "time",
            () if are(&|text| text.len() == 10 && text.ends_with("-02-28")) => "date",
            () => "string",
        };
        if let Some(count) = seen.types.remove("string") {
            seen.types.insert(kind, count);
        }
        if let Some(line) = seen.first.remove("string") {
            seen.first.insert(kind, line);
        }
        *kinds.entry(kind).or_insert(0) += 1;
    }
    assert!(["time", "date", "string"].iter().all(|kind| kinds[kind] > 3), "{kinds:?}");
    for row in rows {
        let path = row["path"].as_str().unwrap();
        let seen = &all[path];
        let types: BTreeMap<&str, u64> = row["types"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(kind, count)| (&**kind, count.as_u64().unwrap()))
            .collect();
        assert_eq!(types, seen.types, "{path}");
        assert_eq!(row["count"], seen.types.values().sum::<u64>(), "{path}");
        for (kind, line) in &seen.first {
            assert_eq!(row["first"][kind], format!("in.ndjson:{line}"), "{path} {kind}");
        }
        let parent = path.rfind(['.', '[']).map(|at| &path[..at]);
        let missing = match parent {
            Some(parent) if !path.ends_with(']') => all[parent].types["object"] - seen.present,
            _ => 0,
        };
        assert_eq!(row["missing"], missing, "{path}");
        let distinct = row["distinct"].as_u64().unwrap_or(0);
        let (want, bools) = (seen.distinct.len() as u64, 2);
        if row["distinct_exact"] == true {
            assert_eq!(distinct, want, "{path}");
            assert!(want <= 32 + bools, "{path}");
        } else if want > 0 {
            assert!((distinct as f64 / want as f64 - 1.0).abs() < 0.1, "{path}: {distinct}, not {want}");
        }
        let strings = (row["least_string"].as_str(), row["greatest_string"].as_str());
        let (least, greatest) = (seen.strings.first(), seen.strings.last());
        // Long strings are cut.
        if [least, greatest].into_iter().flatten().all(|text| text.len() <= 96) {
            assert_eq!(strings, (least.map(String::as_str), greatest.map(String::as_str)), "{path}");
        }
        let least = seen.numbers.iter().copied().reduce(f64::min);
        let greatest = seen.numbers.iter().copied().reduce(f64::max);
        // The parser of the test does not round numbers of many digits to the nearest double.
        for (found, want) in [(&row["least"], least), (&row["greatest"], greatest)] {
            let is_near = |(a, b): (f64, f64)| a == b || (a / b - 1.0).abs() < 1e-14;
            assert!(found.as_f64().zip(want).map_or(want.is_none() && found.is_null(), is_near), "{path}");
        }
        let lengths = (seen.lengths.first(), seen.lengths.last());
        let found =
            [&row["least_length"], &row["greatest_length"]].map(|length| length.as_u64().map(|n| n as usize));
        assert_eq!(found, [lengths.0.copied(), lengths.1.copied()], "{path}");
    }
}

/// The schema of an input, without the positions of first values.
fn schema_of(folder: &Folder, args: &[&str]) -> Vec<Parsed> {
    let ran = folder.run(&[&["schema", "--format", "ndjson", "--partition-size", "5KiB"], args].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
    let rows = ran.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let row = |line: &[u8]| {
        let mut row: Parsed = serde_json::from_slice(line).unwrap();
        row.as_object_mut().unwrap().remove("first");
        row
    };
    rows.map(row).collect()
}

#[test]
fn a_condition_chooses_the_same_records_as_a_naive_filter() {
    let mut rng = Rng::new(210);
    let mut text = String::new();
    for line in 0..2000 {
        if rng.below(20) == 0 {
            text.push('\n');
        }
        let record = Value::Object(vec![
            ("x", Value::Integer(rng.below(10) as i64)),
            ("user", value(&mut rng, 1, line / 200)),
        ]);
        write(&record, &mut rng, &mut text);
        text.push('\n');
    }
    let is_chosen = |line: &&str| {
        let record: Option<Parsed> = serde_json::from_str(line).ok();
        record.is_some_and(|record| record["x"].as_i64().is_some_and(|x| x >= 7))
    };
    let chosen: Vec<&str> = text.lines().filter(is_chosen).collect();
    assert!((100..1900).contains(&chosen.len()));
    let folder = Folder::new(&[
        ("all", text.as_bytes()),
        ("chosen", (chosen.join("\n") + "\n").as_bytes()),
        ("first", (chosen[..50].join("\n") + "\n").as_bytes()),
    ]);
    let want = schema_of(&folder, &["chosen"]);
    for workers in ["1", "3"] {
        assert_eq!(schema_of(&folder, &["--where", "$.x >= 7", "--workers", workers, "all"]), want);
        let strict = ["--where", "$.x >= 7", "--strict", "--workers", workers, "all"];
        assert_eq!(schema_of(&folder, &strict), want);
    }
    assert_eq!(
        schema_of(&folder, &["--where", "$.x >= 7", "-n", "50", "all"]),
        schema_of(&folder, &["first"])
    );
    let first = folder.run(&["schema", "--where", "$.x >= 7", "--format", "ndjson", "all"]);
    let first: Parsed =
        serde_json::from_slice(first.stdout.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    let line = text.lines().position(|line| is_chosen(&line)).unwrap() + 1;
    assert_eq!(first["first"]["object"], format!("all:{line}"));
}
