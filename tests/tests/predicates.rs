//! Predicates about records: every backend evaluates the records for which an oracle says that they match.
//!
//! A random predicate is written twice: for the product, with all its spellings, and as a filter of RFC 9535
//! for the oracle, which has a parser of its own.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use warpath::columns::{ColumnType, Schema};
use warpath::{Engine, Error, Format, Limit, OnError, Predicate, Program, Query, RowForm, TextForm, Want};
use warpath_answer::answer::Answer;
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_random::table::texts;
use warpath_tests::oracle;
use warpath_tests::random::Rng;

use crate::common::emulated;

const LINES: &[&str] = &[
    r#"{"a":1,"b":"x","c":{"d":[1,2,3]},"e":null}"#,
    r#"{"a":2.0,"b":"xy","c":{"d":[]}}"#,
    r#"{"a":"2","b":"","c":{},"e":true}"#,
    r#"{"b":null,"a":10e-1,"c":[{"d":1},{"d":2}]}"#,
    r#"{"c":{"d":[1,{"d":"x"}]},"a":-3,"e":false}"#,
    r"{}",
    r"[]",
    r"5",
    r#""x""#,
    r"null",
    r"[1,2,3]",
    r#"{"a":{"a":1},"b":{"b":"x"}}"#,
    r#"  {"a" : 1 , "b" : "\u0078"}  "#,
    r#"{"a":9007199254740993,"b":"é","c":{"d":[1,2,3,4,5]}}"#,
    r#"{"a":1.5,"b":"\ud83d\ude42","c":{"d":[3,0]},"e":-0.0}"#,
    r#"{"a":"\u0079","b":"y","c":{"d":["é"]},"e":-5e-1}"#,
    r#"{"a":"X\ny","b":"100%_\\x","c":{"d":["É","ſS"]},"e":"10.1.2.3"}"#,
    r#"{"a":"x\u00e9\"'","b":"ÉX","c":{"d":["\ud800x"]},"e":"::ffff:10.0.0.1"}"#,
    r#"{"a":"fe80::1","b":"\u212ak","c":{"d":["%"]},"e":"\u0000x"}"#,
];

/// The characters of strings and of texts that are searched in them.
const CHARACTERS: [&str; 20] =
    ["x", "x", "X", "y", "é", "É", "ß", "ſ", "s", "K", "k", "🙂", "\0", "\n", "\"", "'", "%", "_", "\\", "/"];

/// A literal of a query: a string with some of its characters as escapes.
fn literal_of(rng: &mut Rng, text: &str) -> String {
    let quote = ['\'', '"'][rng.below(2)];
    let escaped = |c: char, rng: &mut Rng| match c {
        c if c < ' ' || rng.below(6) == 0 => {
            c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }
        c if c == quote || c == '\\' => format!("\\{c}"),
        c => c.to_string(),
    };
    let inside: String = text.chars().map(|c| escaped(c, rng)).collect();
    format!("{quote}{inside}{quote}")
}

/// A test of a string by a function of Warpath's own, as the product reads it, and as a filter about the
/// current node.
fn string_test(rng: &mut Rng, path: &str) -> (String, String) {
    let of_node = path.replacen('$', "@", 1);
    if rng.below(5) == 0 {
        const BLOCKS: [&str; 9] = [
            "10.0.0.0/8",
            "10.1.2.3",
            "10.1.2.2/31",
            "0.0.0.0/0",
            "::/0",
            "fe80::/10",
            "::ffff:10.0.0.0/104",
            "::1/128",
            "192.168.0.0/16",
        ];
        let blocks: String = (0..1 + rng.below(2)).map(|_| format!(", '{}'", rng.pick(&BLOCKS))).collect();
        return (format!("cidr({path}{blocks})"), format!("cidr({of_node}{blocks})"));
    }
    let name = rng.pick(&oracle::strings::NAMES);
    let is_like = name.ends_with("like");
    let part = |rng: &mut Rng| match rng.pick(&CHARACTERS) {
        "\\" | "%" | "_" if is_like && rng.below(2) == 0 => rng.pick(&["\\\\", "\\%", "\\_"]),
        "\\" if is_like => "%",
        _ if is_like && rng.below(3) == 0 => rng.pick(&["%", "_"]),
        character => character,
    };
    let text: String = (0..rng.below(4)).map(|_| part(rng)).collect();
    let literal = literal_of(rng, &text);
    let filter = format!("{name}({of_node}, {literal})");
    match rng.below(4) {
        0 if is_like => (format!("{path} {name} {literal}"), filter),
        1 if is_like => (format!("{path} NOT {name} {literal}"), format!("!{filter}")),
        _ => (format!("{name}({path}, {literal})"), filter),
    }
}

/// A predicate as the product reads it, and as a filter about the current node.
pub fn predicate(rng: &mut Rng, depth: usize) -> (String, String) {
    if depth > 0 && rng.below(2) == 0 {
        let (left, right) = (predicate(rng, depth - 1), predicate(rng, depth - 1));
        let (words, operator) = [(["and", "&&", "AND"], "&&"), (["or", "||", "Or"], "||")][rng.below(2)];
        let not = [("", ""), ("!", "!"), ("not ", "!")][rng.below(3)];
        return (
            format!("{}(({}) {} {})", not.0, left.0, rng.pick(&words), grouped(&right.0)),
            format!("{}(({}) {operator} ({}))", not.1, left.1, right.1),
        );
    }
    let path = rng.pick(&["$.a", "$.b", "$.c.d", "$['c']['d'][0]", "$.c.d[-1]", "$.e", "$[1]", "$", "$.a.a"]);
    let nodes = rng.pick(&["$..d", "$.c.d[*]", "$.*", "$.c[?@.d == 1]", "$[?@ > 1]", "$..[?@.d]"]);
    let literal = |rng: &mut Rng| {
        rng.pick(&["1", "2", "-3", "0.5", "1e0", "\"x\"", "'xy'", "''", "true", "false", "null", "5"])
    };
    let about = |text: &str| text.replace('$', "@");
    let value = match rng.below(5) {
        0 => format!("length({path})"),
        1 => format!("count({nodes})"),
        2 => format!("value({nodes})"),
        _ => path.to_owned(),
    };
    let (one, two) = (literal(rng), literal(rng));
    let negated = |not: bool, text: String| if not { format!("!({text})") } else { text };
    let not = rng.below(2) == 0;
    let (word, is_not) = if not { (" not", " is not") } else { ("", " is") };
    match rng.below(10) {
        8 | 9 => string_test(rng, path),
        0 => {
            let pattern = rng.pick(&["x.*", "y", "", "."]);
            let call = rng.pick(&["match", "search"]);
            (format!("{call}({path}, '{pattern}')"), about(&format!("{call}({path}, '{pattern}')")))
        }
        1 => (nodes.to_owned(), about(nodes)),
        2 => {
            // Few values are compared one by one, and many are a set.
            let mut values = vec![one, two];
            if rng.below(2) == 0 {
                let more =
                    ["3", "1.5", "-3.0", "1e400", "-0.5", "0", "\"xy\"", "\"é\"", "\"y\"", "\"🙂\"", "null"];
                values.extend((0..7 + rng.below(20)).map(|_| rng.pick(&more)));
            }
            let equal: Vec<String> = values.iter().map(|literal| format!("{value} == {literal}")).collect();
            let filter = negated(not, about(&equal.join(" || ")));
            if not || rng.below(2) == 0 {
                (format!("{value}{word} in ({})", values.join(", ")), filter)
            } else {
                (grouped(&equal.join(" or ")), filter)
            }
        }
        3 => (
            format!("{value}{word} BETWEEN {one} AND {two}"),
            negated(not, about(&format!("{value} >= {one} && {value} <= {two}"))),
        ),
        4 => (format!("{path}{is_not} missing"), negated(!not, format!("({})", about(path)))),
        5 => (format!("{path}{is_not} null"), negated(not, about(&format!("{path} == null")))),
        _ => {
            let (own, op) = [("==", "=="), ("=", "=="), ("!=", "!="), ("<>", "!="), ("<", "<"), (">=", ">=")]
                [rng.below(6)];
            (format!("{value} {own} {one}"), about(&format!("{value} {op} {one}")))
        }
    }
}

/// A part of `and` and `or`, in parentheses.
fn grouped(text: &str) -> String {
    format!("({text})")
}

/// Returns whether the oracle finds the record in an array of itself by a filter.
fn matches(record: &str, filter: &str) -> bool {
    !oracle::query::nodes(format!("[{record}]").as_bytes(), &format!("$[?{filter}]")).is_empty()
}

fn rows(answer: &Answer) -> Vec<u8> {
    answer.pieces.iter().flat_map(|piece| piece.rows.clone()).collect()
}

const PATHS: [&str; 3] = ["$.a", "$..d", "$.c.d[*]"];

/// Compares a backend's results under a predicate with the CPU's results over the matching lines alone.
fn check(backend: &dyn Backend, text: &str, rng: &mut Rng) -> Result<usize> {
    let (own, filter) = predicate(rng, 2);
    let queries: Vec<Query> = PATHS.iter().map(|path| Query::compile(path).unwrap()).collect();
    let paths = &queries[..1 + rng.below(PATHS.len())];
    let program = Program::new(paths)?.with_types(&vec![ColumnType::Json; paths.len()])?;
    let predicate = Arc::new(Predicate::parse(&own).with_context(|| own.clone())?);
    let wanted: Vec<u32> =
        (0..).zip(text.lines()).filter(|(_, line)| matches(line, &filter)).map(|(at, _)| at).collect();
    let lines: Vec<&str> = text.lines().collect();
    let alone: String = wanted.iter().map(|line| format!("{}\n", lines[*line as usize])).collect();
    let want = Want::default()
        .records(true)
        .matches(true)
        .text(TextForm::Json)
        .rows(RowForm::Ndjson)
        .columns(Schema::new(&[(queries[0].clone(), ColumnType::Json)])?.width());
    let guarded = program.matching(&predicate, true)?;
    let found = backend.answer(text.as_bytes(), &guarded, want)?;
    let expected = Cpu.answer(alone.as_bytes(), &program, want)?;
    let records = |answer: &Answer| -> Vec<u32> {
        let mut base = 0;
        let of_piece = |piece: &warpath_answer::answer::Piece| {
            let first = base;
            base += piece.lines;
            piece.records.iter().map(move |line| first + line).collect::<Vec<_>>()
        };
        answer.pieces.iter().flat_map(of_piece).collect()
    };
    ensure!(records(&found) == wanted, "{own}: {:?}, not {wanted:?} ({filter})", records(&found));
    ensure!(rows(&found) == rows(&expected), "{own}: rows");
    let sums = |answer: &Answer| -> Vec<u64> {
        (0..paths.len()).map(|path| answer.pieces.iter().map(|piece| piece.counts[path]).sum()).collect()
    };
    let texts = |answer: &Answer| -> Vec<Vec<u8>> {
        (0..paths.len())
            .map(|path| answer.pieces.iter().flat_map(|piece| piece.texts[path].clone()).collect())
            .collect()
    };
    ensure!(found.pieces.iter().all(|piece| piece.counts.len() == paths.len()), "{own}: paths");
    if !wanted.is_empty() {
        ensure!(sums(&found) == sums(&expected), "{own}: counts");
        ensure!(texts(&found) == texts(&expected), "{own}: texts");
        let columns = |answer: &Answer| answer.pieces.iter().map(|piece| piece.columns.clone()).next();
        ensure!(found.pieces.len() > 1 || columns(&found) == columns(&expected), "{own}: columns");
    }
    // The same without marks, and columns without matches.
    let plain = backend.answer(text.as_bytes(), &program.matching(&predicate, false)?, Want::default())?;
    ensure!(sums(&plain) == sums(&found), "{own}: counts alone");
    let mut only = Want::new();
    only.columns = want.columns;
    let only = backend.answer(text.as_bytes(), &guarded, only)?;
    let count = only.pieces.iter().map(|piece| piece.columns.rows).sum::<usize>();
    ensure!(count == wanted.len(), "{own}: {count} rows of columns");
    Ok(wanted.len())
}

/// The lines as a text. With `pad`, objects have one more member, so long that the CPU evaluates the records
/// in one pass.
pub fn text_of_lines(pad: bool) -> String {
    let long = format!("{{\"z\":\"{}\",", "x".repeat(1500));
    let padded = |line: &str| match line.trim_start().strip_prefix('{') {
        Some("}") if pad => format!("{}}}\n", long.trim_end_matches(',')),
        Some(rest) if pad => format!("{long}{rest}\n"),
        _ => format!("{line}\n"),
    };
    LINES.iter().map(|line| padded(line)).collect()
}

fn check_all(backend: &dyn Backend, cases: usize, seed: u64) -> Result<()> {
    let mut rng = Rng::new(seed);
    let texts = [text_of_lines(false), text_of_lines(true)];
    let mut found = [0; LINES.len() + 1];
    for case in 0..cases {
        found[check(backend, &texts[case % 2], &mut rng)?] += 1;
    }
    ensure!(found.iter().filter(|cases| **cases > 0).count() > LINES.len() / 2, "{found:?}");
    Ok(())
}

/// A JSON string of some characters, some of them as escapes.
fn string(rng: &mut Rng) -> String {
    if rng.below(4) == 0 {
        const OTHERS: [&str; 12] = [
            "\"10.1.2.3\"",
            "\"10.200.0.1\"",
            "\"::ffff:10.1.2.3\"",
            "\"::ffff:a01:203\"",
            "\"FE80::1\"",
            "\"::1\"",
            "\"192.168.1\"",
            "\"10.1.2.3:80\"",
            "5",
            "null",
            "[\"x\"]",
            "\"\\ud800\"",
        ];
        return rng.pick(&OTHERS).to_string();
    }
    let count = rng.below(7);
    let character = |rng: &mut Rng| match rng.pick(&CHARACTERS) {
        text if text < " " || rng.below(5) == 0 => {
            text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
        }
        text @ ("\"" | "\\") => format!("\\{text}"),
        text => text.to_owned(),
    };
    let text: String = (0..count).map(|_| character(rng)).collect();
    format!("\"{text}\"")
}

/// Compares tests of random strings on a backend with the oracle's.
fn check_strings(backend: &dyn Backend, cases: usize, seed: u64) -> Result<()> {
    let mut rng = Rng::new(seed);
    let (mut found, mut lines) = (0, 0);
    for case in 0..cases {
        let pad = format!(",\"pad\":\"{}\"", "z".repeat(if case % 2 == 0 { 0 } else { 1500 }));
        let records: Vec<String> = (0..20).map(|_| format!("{{\"s\":{}{pad}}}", string(&mut rng))).collect();
        let (own, filter) = string_test(&mut rng, "$.s");
        // In a filter of a path, too.
        let (own, filter) = match rng.below(4) {
            0 if !own.contains(" like") && !own.contains("ilike ") && !own.contains("NOT") => {
                (format!("$[?{}]", own.replace("$.s", "@")), format!("@[?{}]", filter.replace("@.s", "@")))
            }
            _ => (own, filter),
        };
        let text: String = records.iter().map(|record| format!("{record}\n")).collect();
        let predicate = Arc::new(Predicate::parse(&own).with_context(|| own.clone())?);
        let program = Program::new(&[Query::compile("$.s")?])?.matching(&predicate, true)?;
        let answer = backend.answer(text.as_bytes(), &program, Want::default().records(true))?;
        let records_of = answer.pieces.iter().flat_map(|piece| &piece.records);
        let is: Vec<&str> = records_of.map(|line| records[*line as usize].as_str()).collect();
        ensure!(answer.pieces.len() == 1, "{} pieces", answer.pieces.len());
        let wanted: Vec<&str> =
            records.iter().map(String::as_str).filter(|record| matches(record, &filter)).collect();
        ensure!(is == wanted, "{own}: {is:?}, not {wanted:?} ({filter})");
        found += wanted.len();
        lines += records.len();
    }
    ensure!(found > lines / 10 && found < lines / 2, "{found} of {lines}");
    Ok(())
}

#[test]
fn the_cpu_tests_strings_as_the_oracle_does() -> Result<()> {
    check_strings(&Cpu, 4000, 6)
}

#[test]
fn kernels_test_strings_as_the_oracle_does() -> Result<()> {
    check_strings(&emulated(), 100, 7)
}

#[test]
fn the_cpu_finds_what_the_oracle_finds() -> Result<()> {
    check_all(&Cpu, 2000, 1)
}

#[test]
fn kernels_find_what_the_oracle_finds() -> Result<()> {
    check_all(&emulated(), 60, 2)
}

/// Compares a backend's matches under a condition with those for which the oracle finds it true.
fn check_matches(backend: &dyn Backend, text: &str, rng: &mut Rng) -> Result<usize> {
    let (own, filter) = predicate(rng, 1);
    let own = own.replace('$', "@");
    let path = rng.pick(&["$", "$.a", "$.b", "$.c", "$.c.d[*]", "$.*", "$..d", "$.c.d[-1]", "$['z','a']"]);
    let query = Query::compile(path)?.holding(&Predicate::of_value(&own).with_context(|| own.clone())?)?;
    let mut expected = Vec::new();
    for line in text.lines() {
        for (at, _) in oracle::query::nodes(line.as_bytes(), path) {
            if matches(&line[at.clone()], &filter) {
                expected.extend_from_slice(line[at].as_bytes());
                expected.push(b'\n');
            }
        }
    }
    // With another path beside it, whose matches have no condition.
    let other = Query::compile("$.a")?;
    for queries in [vec![query.clone()], vec![other, query]] {
        let program = Program::new(&queries)?;
        let want = Want::default().text(TextForm::Json).matches(true);
        let found = backend.answer(text.as_bytes(), &program, want)?;
        let texts: Vec<u8> =
            found.pieces.iter().flat_map(|piece| piece.texts[queries.len() - 1].clone()).collect();
        let (texts, wanted) = (String::from_utf8_lossy(&texts), String::from_utf8_lossy(&expected));
        ensure!(texts == wanted, "{path}, {own}: {texts:?}, not {wanted:?} ({filter})");
        let counted = backend.answer(text.as_bytes(), &program, Want::default())?;
        let count: u64 = counted.pieces.iter().map(|piece| piece.counts[queries.len() - 1]).sum();
        ensure!(count as usize == wanted.lines().count(), "{path}, {own}: {count} matches counted");
    }
    Ok(String::from_utf8_lossy(&expected).lines().count())
}

fn check_all_matches(backend: &dyn Backend, cases: usize, seed: u64) -> Result<()> {
    let mut rng = Rng::new(seed);
    let texts = [text_of_lines(false), text_of_lines(true)];
    let mut some = 0;
    for case in 0..cases {
        some += usize::from(check_matches(backend, &texts[case % 2], &mut rng)? > 0);
    }
    ensure!(some > cases / 4, "{some} of {cases} have matches");
    Ok(())
}

#[test]
fn the_cpu_finds_the_matches_for_which_a_condition_is_true() -> Result<()> {
    check_all_matches(&Cpu, 2000, 3)
}

#[test]
fn kernels_find_the_matches_for_which_a_condition_is_true() -> Result<()> {
    check_all_matches(&emulated(), 60, 4)
}

/// A search for a string among the children of a match would not end.
#[test]
fn kernels_compare_matches_with_strings() -> Result<()> {
    let text = "{\"a\":[\"x\",\"y\",\"x\"],\"b\":\"x\"}\n{\"b\":\"y\"}\n{\"b\":\"\"}\n";
    for (path, condition, count) in [
        ("$.b", "@ == 'x'", 1),
        ("$.a[*]", "@ == \"x\"", 2),
        ("$.*", "@ == ''", 1),
        ("$.b", "@ in ('x', 'y')", 2),
    ] {
        let query = Query::compile(path)?.holding(&Predicate::of_value(condition)?)?;
        for backend in [&emulated() as &dyn Backend, &Cpu] {
            let answer = backend.answer(
                text.as_bytes(),
                &Program::new(std::slice::from_ref(&query))?,
                Want::default(),
            )?;
            let found: u64 = answer.pieces.iter().map(|piece| piece.counts[0]).sum();
            ensure!(found == count, "{path} {condition} on {}: {found}", backend.name());
        }
    }
    Ok(())
}

#[test]
fn a_condition_on_a_match_reads_the_record() -> Result<()> {
    let text = "{\"max\":2,\"n\":[1,2,3]}\n{\"max\":9,\"n\":[1,20]}\n";
    let engine = Engine::builder().device(warpath_exec::devices::DeviceChoice::Cpu).build()?;
    for (path, condition, wanted) in [
        ("$.n[*]", "@ > $.max", "3 20"),
        ("$.n[*]", "@ > 1 and $.max == 2", "2 3"),
        ("$.max", "@ between 3 and 10", "9"),
        ("$", "@.max == 9", "{\"max\":9,\"n\":[1,20]}"),
        ("$.n", "@[2]", "[1,2,3]"),
        ("$.n[*]", "@.x is missing", "1 2 3 1 20"),
    ] {
        let query = Query::compile(path)?.holding(&Predicate::of_value(condition)?)?;
        let input = || engine.reader("text", text.as_bytes());
        let hits = input().query(&query)?.map(|hit| Ok(hit?.text().into_owned()));
        let found = hits.collect::<Result<Vec<_>, Error>>()?.join(" ");
        assert_eq!(found, wanted, "{path} {condition}");
        // With a predicate about the record, too.
        let first = input().matching(&Predicate::parse("$.max < 5")?).count(&query)?;
        let of_first = wanted.split(' ').filter(|value| ["1", "2", "3", "[1,2,3]"].contains(value)).count();
        assert_eq!(first as usize, if wanted == "1 2 3 1 20" { 3 } else { of_first }, "{path} {condition}");
    }
    // A document is evaluated by the elements of its array, unless the condition reads the whole document.
    let engine = Engine::builder().format(Format::Json).build()?;
    for (condition, count) in [("@ > 1", 2), ("@ > $[0]", 2), ("@ > $[1]", 1)] {
        let query = Query::compile("$[*]")?.holding(&Predicate::of_value(condition)?)?;
        assert_eq!(engine.reader("text", &b"[1,\n2,3]"[..]).count(&query)?, count, "{condition}");
    }
    let Err(Error::Expression(error)) = Query::compile("$")?.holding(&Predicate::of_value("price > 1")?)
    else {
        panic!("a match has no columns");
    };
    assert_eq!(error.diagnostic().help.as_deref(), Some("a member of the value is a path: `@.price`"));
    Ok(())
}

#[test]
fn long_lines_and_partitions_do_not_matter() -> Result<()> {
    let text: String = (0..3000)
        .map(|id| format!("{{\"id\":{id},\"n\":{},\"pad\":\"{}\"}}\n", id % 7, "x".repeat(id % 900)))
        .collect();
    let predicate = Predicate::parse("$.n in (3, 5) and not $.id between 100 and 2900")?;
    let wanted: Vec<String> = (0..3000)
        .filter(|id| [3, 5].contains(&(id % 7)) && !(100..=2900).contains(id))
        .map(|id| id.to_string())
        .collect();
    for size in [1000, 1 << 20] {
        let engine = Engine::builder().backend(Arc::new(Cpu)).partition_size(size).workers(2).build()?;
        let input = || engine.reader("text", std::io::Cursor::new(text.clone())).matching(&predicate);
        let ids: Vec<String> = input()
            .query(&Query::compile("$.id")?)?
            .map(|hit| Ok(hit?.text().into_owned()))
            .collect::<Result<_, Error>>()?;
        assert_eq!(ids, wanted);
        assert_eq!(input().count(&Query::compile("$.n")?)?, wanted.len() as u64);
        let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
        let rows = input().columns(&schema).map(|batch| Ok(batch?.rows)).sum::<Result<usize, Error>>()?;
        assert_eq!(rows, wanted.len());
        // A limit counts matching records.
        let limit = Want::default().records(true).limit(Limit::Records(5));
        let program = Program::new(&[Query::compile("$.id")?])?;
        let found: usize = input()
            .answers(program, limit)
            .map(|batch| Ok(batch?.pieces().map(|(_, piece)| piece.records.len()).sum::<usize>()))
            .sum::<Result<usize, Error>>()?;
        assert!(found >= 5, "{found}");
    }
    Ok(())
}

#[test]
fn malformed_lines_are_found_whatever_the_predicate() -> Result<()> {
    let text = "{\"a\":1}\n{\"a\":2\n{\"a\":3}\n";
    let none = Predicate::parse("$.a == 7")?;
    let query = Query::compile("$.a")?;
    for strict in [false, true] {
        let engine = |on_error| Engine::builder().strict(strict).on_error(on_error).build();
        let failed = engine(OnError::Fail)?.reader("text", text.as_bytes()).matching(&none).count(&query);
        assert!(failed.unwrap_err().to_string().starts_with("text:2:"), "strict {strict}");
        let some = Predicate::parse("$.a > 1")?;
        let skipped = engine(OnError::Skip)?.reader("text", text.as_bytes()).matching(&some).count(&query)?;
        assert_eq!(skipped, 1);
        let all = engine(OnError::Skip)?.reader("text", text.as_bytes()).matching(&some);
        assert_eq!(all.count(&Query::compile("$")?)?, 1);
    }
    Ok(())
}

#[test]
fn a_document_is_one_record() -> Result<()> {
    let document = "{\"kind\": \"list\",\n \"items\": [{\"id\": 1}, {\"id\": 2}]}\n";
    let engine = Engine::builder().format(Format::Json).build()?;
    for (predicate, count) in [("$.kind == 'list'", 2), ("$.items[5]", 0), ("count($.items[*]) == 2", 2)] {
        let input = engine.reader("document", document.as_bytes()).matching(&Predicate::parse(predicate)?);
        assert_eq!(input.count(&Query::compile("$.items[*].id")?)?, count, "{predicate}");
    }
    Ok(())
}

#[test]
fn a_column_needs_an_index() -> Result<()> {
    let engine = Engine::builder().build()?;
    for (text, column, help) in [
        ("$.a == 1 and lang = 'en'", 14, "a member of the record is a path: `$.lang`"),
        ("`odd name` is null", 1, "a member of the record is a path: `$['odd name']`"),
    ] {
        let input = engine.reader("text", &b"{}\n"[..]).matching(&Predicate::parse(text)?);
        let Err(Error::Expression(error)) = input.count(&Query::compile("$")?) else {
            panic!("{text} has a column")
        };
        assert_eq!((error.column(), error.diagnostic().help.as_deref()), (column, Some(help)));
    }
    Ok(())
}

#[test]
fn programs_mark_records_where_results_need_that() -> Result<()> {
    let text = "{\"a\":1}\n{\"a\":2}\n{\"b\":1}\n";
    let engine = Engine::builder().device(warpath_exec::devices::DeviceChoice::Cpu).build()?;
    let input = || engine.reader("text", text.as_bytes());
    let predicate = Arc::new(Predicate::parse("$.a = 2")?);
    let program = Program::new(&[Query::compile("$.a")?])?.matching(&predicate, false)?;
    let want = Want::default().rows(RowForm::Ndjson);
    let rows = |answers: warpath::Answers| -> Result<String, Error> {
        let mut rows = Vec::new();
        for batch in answers {
            batch?.pieces().for_each(|(_, piece)| rows.extend_from_slice(&piece.rows));
        }
        Ok(String::from_utf8_lossy(&rows).into_owned())
    };
    let named = program.with_names(&["a"])?;
    assert_eq!(rows(input().answers(named.clone(), want))?, "{\"a\":2}\n");
    let kept = input().index(named.levels())?;
    let engine = Engine::builder().backend(Arc::new(Cpu)).build()?;
    assert_eq!(rows(kept.input(&engine).answers(named.clone(), want))?, "{\"a\":2}\n");
    // The predicates of an input and of its program both hold.
    for (of_input, both) in [("$.a > 1", "{\"a\":2}\n"), ("$.a > 2 or $.b", "")] {
        let input = input().matching(&Predicate::parse(of_input)?);
        assert_eq!(rows(input.answers(named.clone(), want))?, both, "{of_input}");
    }
    Ok(())
}

/// The days since 1970-01-01 of a date of the proleptic Gregorian calendar, counted year by year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let of_year = |year| if is_leap(year) { 366 } else { 365 };
    let of_month = |month| match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    (1970..year).map(of_year).sum::<i64>() + (1..month).map(of_month).sum::<i64>() + day - 1
}

/// The year, month and day of a day since 1970-01-01, found by trying.
fn civil(day: i64) -> (i64, i64, i64) {
    let years = 2022..2028;
    let dates =
        years.flat_map(|year| (1..13).flat_map(move |month| (1..32).map(move |day| (year, month, day))));
    // The 31st of June is the first of July, which is the date with the least day.
    let of_day = dates.filter(|(year, month, of)| days(*year, *month, *of) == day);
    of_day.min_by_key(|(_, _, day)| *day).expect("a date of a few years")
}

/// A random instant in seconds since 1970, near a few days.
fn instant(rng: &mut Rng) -> i64 {
    let (year, month) = (2023 + rng.below(3) as i64, 1 + rng.below(12) as i64);
    days(year, month, 1 + rng.below(28) as i64) * 86_400 + rng.below(86_400) as i64
}

/// The formats of the values of [`texts_of`].
const VALUE_FORMATS: [&str; 8] =
    ["", "", "", ", '%d/%b/%Y:%H:%M:%S %z'", ", '%b %d %H:%M:%S %z %Y'", ", 's'", "", ", 'us'"];

/// Texts and numbers of an instant. The third is of its minute, and the number without a format of the half
/// of a second after it.
fn texts_of(rng: &mut Rng, utc: i64) -> [String; 8] {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let offset = rng.pick(&[0, 60, -330, 840]);
    let local = utc + offset * 60;
    let (year, month, day) = civil(local.div_euclid(86_400));
    let clock = local.rem_euclid(86_400);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    let (sign, hours, minutes) =
        (if offset < 0 { '-' } else { '+' }, i64::abs(offset) / 60, i64::abs(offset) % 60);
    let (date, clock) = (format!("{year}-{month:02}-{day:02}"), format!("{hour:02}:{minute:02}:{second:02}"));
    let name = MONTHS[month as usize - 1];
    let space = rng.pick(&["", " "]);
    [
        format!("\"{date}T{clock}{sign}{hours:02}:{minutes:02}\""),
        format!("\"{date} {clock}{space}{sign}{hours:02}{minutes:02}\""),
        format!("\"{date}T{hour:02}:{minute:02}{space}{sign}{hours:02}{minutes:02}\""),
        format!("\"{day:02}/{name}/{year}:{clock} {sign}{hours:02}{minutes:02}\""),
        format!("\"{name} {day:02} {clock} {sign}{hours:02}{minutes:02} {year}\""),
        utc.to_string(),
        format!("{utc}.5e3"),
        format!("\"{utc}000000\""),
    ]
}

#[test]
fn instants_are_compared_as_instants() -> Result<()> {
    let mut rng = Rng::new(5);
    let mut some = 0;
    for case in 0..600 {
        let bound = instant(&mut rng);
        // A whole day, a whole minute, or one second as a text.
        let length = [86_400, 60, 1][case % 3];
        let low = bound.div_euclid(length) * length;
        let high = low + length;
        let form = rng.below(8);
        // These numbers have a half of a second, and a point is the first nanosecond of its second.
        if length == 1 && form == 6 {
            continue;
        }
        let values: Vec<(i64, String)> = (0..20)
            .map(|_| {
                let inside = low + rng.below(length as usize) as i64;
                let near = low + rng.below(3) as i64 - 1;
                let near = rng.pick(&[near, near + length, inside]);
                let at = if rng.below(3) == 0 { instant(&mut rng) } else { near };
                let text = texts_of(&mut rng, at)[form].clone();
                (if form == 2 { at.div_euclid(60) * 60 } else { at }, text)
            })
            .collect();
        let format = VALUE_FORMATS[form];
        let (year, month, day) = civil(low.div_euclid(86_400));
        let date = format!("{year}-{month:02}-{day:02}");
        let clock = low.rem_euclid(86_400);
        let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
        let (separator, zone) = (rng.pick(&["T", " ", "t"]), rng.pick(&["", "Z", "+00:00", "-0000", " +00"]));
        let literal = match length {
            86_400 => format!("\"{date}\""),
            60 => format!("'{date}{separator}{hour:02}:{minute:02}{zone}'"),
            _ => format!("'{date}{separator}{hour:02}:{minute:02}:{second:02}{zone}'"),
        };
        type Holds = fn(i64, i64, i64) -> bool;
        let holds: [(&str, Holds); 7] = [
            (">=", |at, low, _| at >= low),
            (">", |at, _, high| at >= high),
            ("<", |at, low, _| at < low),
            ("<=", |at, _, high| at < high),
            ("==", |at, low, high| (low..high).contains(&at)),
            ("!=", |at, low, high| !(low..high).contains(&at)),
            ("between", |at, low, high| (low..high).contains(&at)),
        ];
        let (op, oracle) = holds[rng.below(7)];
        let predicate = match op {
            "between" => format!("time($.at{format}) between {literal} and {literal}"),
            _ => format!("time($.at{format}) {op} {literal}"),
        };
        let text: String = values.iter().map(|(_, value)| format!("{{\"at\":{value}}}\n")).collect();
        let text = text + "{\"at\":null}\n{\"at\":\"soon\"}\n{}\n{\"at\":[1]}\n{\"at\":\"2024-01-01T10\"}\n";
        let wanted = values.iter().filter(|(at, _)| oracle(*at, low, high)).count();
        some += wanted;
        let wanted = wanted + if op == "!=" { 5 } else { 0 };
        // The host evaluates instants for a device, too.
        let backend: Arc<dyn Backend> = if case < 590 { Arc::new(Cpu) } else { Arc::new(emulated()) };
        let engine = Engine::builder().backend(backend).build()?;
        let input = engine.reader("text", std::io::Cursor::new(text.clone()));
        let found = input.matching(&Predicate::parse(&predicate)?).count(&Query::compile("$")?)?;
        assert_eq!(found as usize, wanted, "{predicate}\n{text}");
    }
    ensure!(some > 2000, "{some}");
    Ok(())
}

/// Records of the last hours and of the next ones, by the clock of this test.
#[test]
fn now_is_when_a_predicate_is_parsed() -> Result<()> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs() as i64;
    let hours = |hours: i64| now + hours * 3600;
    let text: String = (-5..5).map(|at| format!("{{\"at\":{}}}\n", hours(at))).collect();
    for backend in [Arc::new(Cpu) as Arc<dyn Backend>, Arc::new(emulated())] {
        let engine = Engine::builder().backend(backend).build()?;
        for (predicate, count) in [
            ("time($.at) >= now() - 90m", 6),
            ("now() - 90m <= time($.at)", 6),
            ("time($.at) < now() - 1d + 22h + 30m", 4),
            ("time($.at, 's') between now() - 5400s and now() + 5400000ms", 3),
            ("time($.at) in (now(), 5)", 0),
            ("time($.at) != now() - 1w", 10),
        ] {
            let input = engine.reader("text", std::io::Cursor::new(text.clone()));
            let found = input.matching(&Predicate::parse(predicate)?).count(&Query::compile("$")?)?;
            assert_eq!(found, count, "{predicate}");
        }
    }
    let query = Query::compile("$[?time(@) > now() - 90m]")?;
    let array = format!("[{},{},\"x\"]\n", hours(-1), hours(-2));
    let engine = Engine::builder().build()?;
    assert_eq!(engine.reader("text", std::io::Cursor::new(array)).count(&query)?, 1);
    Ok(())
}

#[test]
fn programs_with_instants_run_on_the_cpu_and_say_so() -> Result<()> {
    let engine = Engine::builder().backend(crate::common::device()).build()?;
    let query = Query::compile("$[?time(@.at) >= '2026-01-02'].id")?;
    let text =
        "[{\"id\":1,\"at\":\"2026-01-01T23:59:59Z\"},{\"id\":2,\"at\":\"2026-01-01T23:59:59-01:00\"}]\n";
    let mut answers =
        engine.reader("text", text.as_bytes()).answers(Program::new(&[query])?, Want::default());
    let count: u64 = answers.by_ref().map(|batch| batch.map(|batch| batch.count(0))).sum::<Result<_, _>>()?;
    assert_eq!(count, 1);
    let reason = answers.plan().reason.clone().unwrap_or_default();
    assert!(reason.ends_with("the CPU runs instead, because the program compares instants"), "{reason}");
    let addresses = Query::compile("$[?cidr(@.ip, '10.0.0.0/8')]")?;
    let text = "[{\"ip\":\"10.0.0.1\"},{\"ip\":\"11.0.0.1\"},{\"ip\":10}]\n";
    let mut answers =
        engine.reader("text", text.as_bytes()).answers(Program::new(&[addresses])?, Want::default());
    let count: u64 = answers.by_ref().map(|batch| batch.map(|batch| batch.count(0))).sum::<Result<_, _>>()?;
    assert_eq!(count, 1);
    let reason = answers.plan().reason.clone().unwrap_or_default();
    assert!(reason.ends_with("the CPU runs instead, because the program tests IP addresses"), "{reason}");
    // The default format is for calls that have none.
    let twitter = warpath_core::time::Format::new("%a %b %d %H:%M:%S %z %Y").map_err(Error::Usage)?;
    let predicate = Predicate::parse("time($.at) < '2017-03-02' and time($.ms, 'ms') == 1488326400000")?;
    let text = "{\"at\":\"Wed Mar 01 00:00:10 +0000 2017\",\"ms\":1488326400000}\n{\"at\":\"2017-03-01\",\"ms\":1488326400000}\n";
    let input = Engine::builder().build()?.reader("text", text.as_bytes());
    let count = input.matching(&predicate.with_time_format(&twitter)).count(&Query::compile("$")?)?;
    assert_eq!(count, 1);
    for [wrong, message, help] in texts(include_str!("../data/programs.txt"), "refused times") {
        let input = Engine::builder().build()?.reader("text", &b"{}\n"[..]);
        let failed =
            Predicate::parse(&wrong).and_then(|wrong| input.matching(&wrong).count(&Query::compile("$")?));
        let Err(Error::Expression(error)) = failed else { panic!("{wrong}: {failed:?}") };
        assert_eq!(error.diagnostic().message, message, "{wrong}");
        assert!(!error.render().contains("RFC 9535"), "{}", error.render());
        assert!(help.is_empty() || error.help() == Some(&help), "{}", error.render());
    }
    Ok(())
}
