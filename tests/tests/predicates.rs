//! Predicates about records: every backend evaluates the records for which an oracle says that they match.
//!
//! A random predicate is written twice: for the product, with all its spellings, and as a filter of RFC 9535
//! for the oracle, which has a parser of its own.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use warpath::answer::{Answer, Limit, RowForm, TextForm, Want};
use warpath::backend::Backend;
use warpath::columns::{ColumnType, Schema};
use warpath::{Cpu, Engine, Error, Format, OnError, Predicate, Program, Query};
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
];

/// A predicate as the product reads it, and as a filter about the current node.
fn predicate(rng: &mut Rng, depth: usize) -> (String, String) {
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
    match rng.below(8) {
        0 => {
            let pattern = rng.pick(&["x.*", "y", "", "."]);
            let call = rng.pick(&["match", "search"]);
            (format!("{call}({path}, '{pattern}')"), about(&format!("{call}({path}, '{pattern}')")))
        }
        1 => (nodes.to_owned(), about(nodes)),
        2 => (
            format!("{value}{word} in ({one}, {two})"),
            negated(not, about(&format!("{value} == {one} || {value} == {two}"))),
        ),
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
    let want = Want {
        records: true,
        matches: true,
        text: Some(TextForm::Json),
        rows: Some(RowForm::Ndjson),
        columns: Some(Schema::new(&[(queries[0].clone(), ColumnType::Json)])?.width()),
        limit: None,
    };
    let guarded = program.matching(&predicate, true)?;
    let found = backend.answer(text.as_bytes(), &guarded, want)?;
    let expected = Cpu.answer(alone.as_bytes(), &program, want)?;
    let records = |answer: &Answer| -> Vec<u32> {
        let mut base = 0;
        let of_piece = |piece: &warpath::answer::Piece| {
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
    let only = Want { columns: want.columns, ..Want::default() };
    let only = backend.answer(text.as_bytes(), &guarded, only)?;
    let count = only.pieces.iter().map(|piece| piece.columns.rows).sum::<usize>();
    ensure!(count == wanted.len(), "{own}: {count} rows of columns");
    Ok(wanted.len())
}

/// The lines as a text. With `pad`, objects have one more member, so long that the CPU evaluates the records in
/// one pass.
fn text_of_lines(pad: bool) -> String {
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
        let want = Want { text: Some(TextForm::Json), matches: true, ..Want::default() };
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

#[test]
fn a_condition_on_a_match_reads_the_record() -> Result<()> {
    let text = "{\"max\":2,\"n\":[1,2,3]}\n{\"max\":9,\"n\":[1,20]}\n";
    let engine = Engine::builder().device(warpath::DeviceChoice::Cpu).build()?;
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
        let limit = Want { records: true, limit: Some(Limit::Records(5)), ..Want::default() };
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
    let engine = Engine::builder().device(warpath::DeviceChoice::Cpu).build()?;
    let input = || engine.reader("text", text.as_bytes());
    let predicate = Arc::new(Predicate::parse("$.a = 2")?);
    let program = Program::new(&[Query::compile("$.a")?])?.matching(&predicate, false)?;
    let want = Want { rows: Some(RowForm::Ndjson), ..Want::default() };
    let rows = |answers: warpath::Answers| -> Result<String, Error> {
        let mut rows = Vec::new();
        for batch in answers {
            batch?.pieces().for_each(|(_, piece)| rows.extend_from_slice(&piece.rows));
        }
        Ok(String::from_utf8_lossy(&rows).into_owned())
    };
    let named = program.with_names(&["a"])?;
    assert_eq!(rows(input().answers(named.clone(), want))?, "{\"a\":2}\n");
    assert_eq!(rows(input().index(named.levels())?.answers(named.clone(), want)?)?, "{\"a\":2}\n");
    let twice = rows(input().matching(&predicate).answers(named, want));
    assert!(matches!(twice, Err(Error::Usage(_))), "{twice:?}");
    Ok(())
}
