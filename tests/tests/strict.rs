//! Strict mode: each record is JSON by all of RFC 8259, in UTF-8, or is malformed. On the CPU and on the
//! emulated device.

mod record;

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::error::Category;
use warpath::columns::OffsetWidth;
use warpath::{
    Engine, Error, IndexFile, InputError, Limit, OnError, Program, Query, RowForm, Source, TextForm, Want,
};
use warpath_answer::answer::LineFault;
use warpath_answer::backend::Backend;
use warpath_cpu::strict;
use warpath_cpu::tree::line_fault;
use warpath_shared::check::{FaultKind, diagnose, trim};
use warpath_shared::units::MAX_DEPTH;
use warpath_tests::data;
use warpath_tests::random::{self, Rng};

use crate::common::backends;

fn engine(backend: &Arc<dyn Backend>, strict: bool, on_error: OnError) -> Engine {
    Engine::builder().backend(backend.clone()).strict(strict).on_error(on_error).build().unwrap()
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

fn is_blank(line: &[u8]) -> bool {
    trim(0, line.len() as u32, |at| line[at as usize]).is_none()
}

// --- what is checked in which mode -------------------------------------------------------------------------

/// A row of the table of docs/queries.md: its text up to the verdicts, the record, and the verdicts by
/// default and in strict mode.
struct DocRow {
    doc: &'static str,
    record: Vec<u8>,
    default: Option<(FaultKind, u64)>,
    strict: Option<(FaultKind, u64)>,
}

fn rows() -> Vec<DocRow> {
    use FaultKind::*;
    let both = |doc, record: &str, kind, byte| DocRow {
        doc,
        record: record.into(),
        default: Some((kind, byte)),
        strict: Some((kind, byte)),
    };
    let strict = |doc, record: &[u8], kind, byte| DocRow {
        doc,
        record: record.into(),
        default: None,
        strict: Some((kind, byte)),
    };
    let neither = |doc, record: &[u8]| DocRow { doc, record: record.into(), default: None, strict: None };
    let deep = "[".repeat(MAX_DEPTH + 1) + &"]".repeat(MAX_DEPTH + 1);
    vec![
        both(r#"string that is not closed | `{"a":"x}`"#, r#"{"a":"x}"#, UnclosedString, 6),
        both(r#"escape at the end of the line | `{"a":"x\`"#, r#"{"a":"x\"#, EscapeAtEnd, 8),
        both(r#"bracket that is not closed | `{"a":[1}`"#, r#"{"a":[1"#, UnclosedContainer, 6),
        both(r#"closing bracket too many | `{"a":1}}`"#, r#"{"a":1}}"#, UnopenedContainer, 8),
        both(r#"bracket of the other kind | `{"a":[1}]`"#, r#"{"a":[1}]"#, MismatchedBracket, 8),
        both(r#"second object or array | `{"a":1}{}`"#, r#"{"a":1}{}"#, SecondRoot, 8),
        both(r#"`:` or `,` outside of objects and arrays | `{"a":1},`"#, r#"{"a":1},"#, StraySeparator, 8),
        both("nesting deeper than 1,024 | `[[[…`", &deep, TooDeep, MAX_DEPTH as u64 + 1),
        both("text that begins no value | `worker started`", "worker started", NoValue, 1),
        both("a word that is no literal | `nul`", "nul", BadLiteral, 4),
        both("a number that is none | `01`", "01", LeadingZero, 2),
        both(r#"something else after the value | `{"a":1} x`"#, r#"{"a":1} x"#, BehindRecord, 9),
        both("second value that is no object or array | `1 2`", "1 2", BehindRecord, 3),
        strict("bytes that are not UTF-8 | byte FF in a string", b"\"a\xff\"", NotUtf8, 3),
        strict("overlong UTF-8 | bytes C0 80 in a string", b"\"a\xc0\x80\"", NotUtf8, 3),
        strict("a surrogate in UTF-8 | bytes ED A0 80 in a string", b"\"a\xed\xa0\x80\"", NotUtf8, 3),
        strict("UTF-8 above U+10FFFF | bytes F4 90 80 80 in a string", b"\"a\xf4\x90\x80\x80\"", NotUtf8, 3),
        strict("control character in a string | byte 09 in a string", b"\"a\t\"", ControlInString, 3),
        both("control character between values | byte 0C after `[`", "[\x0c1]", NoValue, 2),
        strict(r#"escape that JSON does not have | `"\x41"`"#, br#""\x41""#, BadEscape, 3),
        strict(r#"fewer than four digits after `\u` | `"\u12"`"#, br#""\u12""#, BadHexDigit, 6),
        strict("zero before other digits | `[01]`", b"[01]", LeadingZero, 3),
        strict("number without digits after its point | `[1.]`", b"[1.]", NoDigit, 4),
        strict("number without digits before its point | `[.5]`", b"[.5]", NoValue, 2),
        strict("number with a plus | `[+1]`", b"[+1]", NoValue, 2),
        strict("exponent without digits | `[1e]`", b"[1e]", NoDigit, 4),
        strict("number that is none | `[NaN]`", b"[NaN]", NoValue, 2),
        strict("literal that is none | `[nul]`", b"[nul]", BadLiteral, 5),
        strict("comma before a closing bracket | `[1,]`", b"[1,]", TrailingComma, 4),
        strict("comma too many | `[1,,2]`", b"[1,,2]", NoValue, 4),
        strict("no comma | `[1 2]`", b"[1 2]", NoSeparator, 4),
        strict(r#"no colon | `{"a" 1}`"#, br#"{"a" 1}"#, NoColon, 6),
        strict(r#"no value | `{"a":}`"#, br#"{"a":}"#, NoValue, 6),
        both("name without quotes | `{a:1}`", "{a:1}", NoName, 2),
        both("name that is no string | `{1:2}`", "{1:2}", NoName, 2),
        strict("string in single quotes | `['a']`", b"['a']", NoValue, 2),
        both("comment | `[1]/**/`", "[1]/**/", BehindRecord, 4),
        both(
            "byte order mark, but at the start of an input | bytes EF BB BF before `[1]`",
            "\u{feff}[1]",
            NoValue,
            1,
        ),
        neither(r#"escape of a surrogate without its partner | `"\ud800"`"#, br#""\ud800""#),
        neither(r#"repeated name | `{"a":1,"a":2}`"#, br#"{"a":1,"a":2}"#),
        neither("number beyond any double | `[1e999]`", b"[1e999]"),
        neither(
            "DEL, U+2028 and the like in a string | byte 7F in a string",
            "\"\u{7f}\u{2028}\"".as_bytes(),
        ),
        neither(r#"white space around values | `\t{ "a" :\t1 }\r`"#, b"\t{ \"a\" :\t1 }\r"),
    ]
}

/// For programs that need trees, counts are numbers of matches, not of records. Every record is checked.
#[test]
fn strict_counts_of_trees() -> Result<()> {
    let text = b"{\"a\":1,\"b\":{\"a\":2}}\n{\"c\":1}\n{\"c\":01}\n{\"a\":[{\"a\":1}]}\n";
    for backend in backends() {
        for (path, count) in [("$..a", 4), ("$..zzz", 0), ("$[?match(@.a, $.c)]", 0), ("$", 3)] {
            let program = Program::new(&[Query::compile(path)?])?;
            let input = engine(&backend, true, OnError::Skip).reader("text", Cursor::new(text.to_vec()));
            let mut found = 0;
            for batch in input.answers(program, Want::default()) {
                found += batch?.pieces().map(|(_, piece)| piece.counts[0]).sum::<u64>();
            }
            assert_eq!(found, count, "{path} on {}", backend.name());
        }
    }
    Ok(())
}

#[test]
fn the_documented_table_is_true() -> Result<()> {
    let rows = rows();
    let docs = include_str!("../../docs/queries.md");
    let documented: Vec<&str> =
        docs.lines().filter(|line| line.ends_with("refused |") || line.ends_with("passes |")).collect();
    assert_eq!(documented.len(), rows.len());
    for (row, documented) in rows.iter().zip(documented) {
        let said = |fault: Option<_>| if fault.is_some() { "refused" } else { "passes" };
        let by_trees = said(line_fault(&row.record).map(|fault| (fault.kind, 0)));
        let want = format!("| {} | {} | {by_trees} | {} |", row.doc, said(row.default), said(row.strict));
        assert_eq!(documented, want);
    }
    let mut text = Vec::new();
    for row in &rows {
        text.extend_from_slice(&row.record);
        text.extend_from_slice(b"\n{\"a\":0}\n");
    }
    let by_trees: Vec<_> = rows
        .iter()
        .zip(0..)
        .filter_map(|(row, at)| Some(LineFault { line: 2 * at, fault: line_fault(&row.record)? }))
        .collect();
    for backend in backends() {
        let program = Program::new(&[Query::compile("$..a")?])?;
        let answer = backend.answer(&text, &program, Want::default())?;
        let faults: Vec<_> = answer.pieces.iter().flat_map(|piece| piece.faults.clone()).collect();
        assert_eq!(faults, by_trees, "{}", backend.name());
    }
    for backend in backends() {
        for strict in [false, true] {
            let name = format!("{}, strict {strict}", backend.name());
            // All of them in one text, between good lines, with faults left out.
            let mut text = b"{\"a\":0}\n".to_vec();
            for row in &rows {
                text.extend_from_slice(&row.record);
                text.extend_from_slice(b"\n{\"a\":0}\n");
            }
            let wanted = |row: &DocRow| if strict { row.strict } else { row.default };
            let faults: BTreeMap<u64, (FaultKind, u64)> =
                rows.iter().zip(1..).filter_map(|(row, at)| Some((2 * at, wanted(row)?))).collect();
            let program = Program::new(&[Query::compile("$")?])?;
            let want = Want::default().matches(true).records(true);
            let (mut skipped, mut records, mut found) = (BTreeMap::new(), 0, Vec::new());
            let input = engine(&backend, strict, OnError::Skip).reader("text", Cursor::new(text.clone()));
            for batch in input.answers(program, want) {
                let batch = batch?;
                skipped.extend(batch.skipped().map(|error| (error.line, (error.kind, error.byte))));
                for (first, piece) in batch.pieces() {
                    records += piece.records.len();
                    found.extend(piece.matches[0].iter().map(|found| first + u64::from(found.line) + 1));
                }
            }
            assert_eq!(skipped, faults, "{name}");
            let good: Vec<u64> =
                (1..=2 * rows.len() as u64 + 1).filter(|line| !faults.contains_key(line)).collect();
            assert_eq!(found, good, "{name}");
            assert_eq!(records, good.len(), "{name}");
            // One by one, and as the end of the results.
            for row in &rows {
                let text = [b"1\n", &row.record[..], b"\n2\n"].concat();
                let input = engine(&backend, strict, OnError::Fail).reader("text", Cursor::new(text));
                let hits: Vec<_> = input.query(&Query::compile("$")?)?.collect();
                let name = format!("{name}: {}", row.doc);
                match wanted(row) {
                    None => {
                        assert_eq!(hits.len(), 3, "{name}");
                        let hit = hits[1].as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
                        assert_eq!(hit.bytes(), row.record.trim_ascii(), "{name}");
                    }
                    Some((kind, byte)) => {
                        assert_eq!(hits.len(), 2, "{name}");
                        let Err(Error::Input(InputError::Record(error))) = &hits[1] else {
                            anyhow::bail!("{name}: no error of a record");
                        };
                        assert_eq!((error.line, error.kind, error.byte), (2, kind, byte), "{name}");
                        assert_eq!(error.to_string(), format!("text:2:{byte}: {kind}"));
                    }
                }
            }
        }
    }
    Ok(())
}

/// `bad.expect.txt` says of each line what is wrong with it by default, and what is left for strict mode.
#[test]
fn the_bad_lines_of_the_test_data_are_found() -> Result<()> {
    let mut want = BTreeMap::new();
    for line in include_str!("../data/bad.expect.txt").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        if fields[1] != "Good" {
            want.insert(fields[0].parse::<u32>()? - 1, (fields[1], fields[2].parse::<usize>()?));
        }
    }
    let faults = strict::faults(data::file("bad.ndjson"));
    assert_eq!(faults.len(), want.len());
    for fault in faults {
        let (line, kind) = (fault.line + 1, fault.fault.kind);
        let (class, at) = match (line, want[&fault.line]) {
            // By default any character may be escaped, and no other token is looked at.
            (72, ("NoValue", 6)) => ("NoSeparator", 6),
            (48, ("UnclosedString", 5)) => ("BadEscape", 8),
            (_, want) => want,
        };
        assert_eq!(fault.fault.at, at, "line {line}");
        assert!(class == "Strict" || format!("{kind:?}") == class, "line {line}: {kind:?}");
    }
    Ok(())
}

#[test]
fn a_byte_order_mark_at_the_start_is_no_part_of_the_text() -> Result<()> {
    for backend in backends() {
        let text = b"\xef\xbb\xbf{\"a\":1}\n\xef\xbb\xbf{\"a\":2}\n".to_vec();
        let input = engine(&backend, true, OnError::Fail).reader("text", Cursor::new(text));
        let hits: Vec<_> = input.query(&Query::compile("$.a")?)?.collect();
        assert_eq!(hits.len(), 2);
        assert_eq!(hits[0].as_ref().map(|hit| hit.text().into_owned()).ok().as_deref(), Some("1"));
        let said = "text:2:1: no JSON value begins here";
        assert_eq!(hits[1].as_ref().err().map(ToString::to_string).as_deref(), Some(said));
    }
    Ok(())
}

// --- every way to evaluate ---------------------------------------------------------------------------------

/// A text with good, blank and faulty lines in a random order. `before` is its part before the first faulty
/// line. `blanked` has blank lines in place of the faulty ones.
struct Mixed {
    text: Vec<u8>,
    before: Vec<u8>,
    blanked: Vec<u8>,
    first: Option<u64>,
    faults: u64,
}

fn mixed(rng: &mut Rng, bad_in: usize) -> Mixed {
    const BAD: [&[u8]; 6] = [
        b"{\"a\":01,\"b\":[1]}",
        b"[1,]",
        b"{\"a\":\"\xff\"}",
        b"{\"a\":\"x}",
        b"{\"a\":[2}]",
        b"{\"a\":\"\\x\"} ",
    ];
    let (mut text, mut before, mut blanked) = (Vec::new(), Vec::new(), Vec::new());
    let (mut first, mut faults) = (None, 0);
    for line in 0..1 + rng.below(60) {
        let bad = rng.below(bad_in) == 0;
        let record = match (bad, rng.below(8)) {
            (true, _) => BAD[rng.below(BAD.len())].to_vec(),
            (_, 0) => b" \t".to_vec(),
            (_, 1) => b"{\"b\":[]}\r".to_vec(),
            _ => format!("{{\"a\":{line},\"b\":[\"x\\n\",{{\"c\":{line}.5}}]}}").into_bytes(),
        };
        if bad {
            faults += 1;
            first.get_or_insert(line as u64 + 1);
        } else {
            blanked.extend_from_slice(&record);
        }
        text.extend_from_slice(&record);
        if first.is_none() {
            before.extend_from_slice(&record);
            before.push(b'\n');
        }
        text.push(b'\n');
        blanked.push(b'\n');
    }
    Mixed { text, before, blanked, first, faults }
}

/// The results for an input: counts, matches and their text by path; rows; columns; the lines that are
/// records; and the line at which it ended.
#[derive(Debug, Default, PartialEq)]
struct Given {
    counts: Vec<u64>,
    matches: Vec<(usize, u64, Vec<u8>)>,
    texts: Vec<Vec<u8>>,
    rows: Vec<u8>,
    columns: usize,
    records: Vec<u64>,
    skipped: u64,
    lines: u64,
}

fn given(answers: warpath::Answers, paths: usize) -> (Given, Option<u64>) {
    let mut all = Given { counts: vec![0; paths], texts: vec![Vec::new(); paths], ..Given::default() };
    let (mut answers, mut failed) = (answers, None);
    for batch in answers.by_ref() {
        let mut batch = match batch {
            Ok(batch) => batch,
            Err(Error::Input(InputError::Record(error))) => {
                failed = Some(error.line);
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        for (first, piece) in batch.pieces() {
            all.counts.iter_mut().zip(&piece.counts).for_each(|(all, count)| *all += count);
            for (path, list) in piece.matches.iter().enumerate() {
                let found = list.iter().map(|found| {
                    (path, first + u64::from(found.line) + 1, batch.match_text(piece, found).to_vec())
                });
                all.matches.extend(found);
            }
            all.texts.iter_mut().zip(&piece.texts).for_each(|(all, text)| all.extend_from_slice(text));
            all.rows.extend_from_slice(&piece.rows);
            all.records.extend(piece.records.iter().map(|line| first + u64::from(*line) + 1));
        }
        all.skipped += batch.skipped().count() as u64;
        all.columns += batch.take_columns().iter().map(|columns| columns.rows).sum::<usize>();
    }
    all.lines = answers.stats().lines;
    all.matches.sort();
    (all, failed)
}

const PATHS: [&str; 3] = ["$.a", "$.b[*]", "$"];

fn wants() -> Vec<Want> {
    let nothing = Want::default();
    vec![
        nothing,
        nothing.matches(true).records(true),
        nothing.text(TextForm::Raw),
        nothing.rows(RowForm::Csv),
        nothing.columns(OffsetWidth::Small),
        nothing.matches(true).limit(Limit::Matches(u64::MAX)),
    ]
}

/// Strict results are those of the text without its faulty lines, or of the text before the first. This holds
/// for a stream, a text kept in memory, and an index file, in partitions of any size.
#[test]
fn answers_are_those_of_the_good_lines() -> Result<()> {
    let rng = &mut Rng::new(12);
    for (i, backend) in backends().iter().enumerate() {
        for round in 0..if i == 0 { 40 } else { 6 } {
            let Mixed { text, before, blanked, first, faults } = mixed(rng, [2, 8, 30, 1000][round % 4]);
            let paths = &PATHS[..1 + round % 3];
            let paths = if round % 5 == 4 { &PATHS[2..] } else { paths };
            let queries = paths.iter().map(|path| Query::compile(path)).collect::<Result<Vec<_>, _>>()?;
            let program = Program::new(&queries)?.with_names(paths)?;
            let folder = tempfile::tempdir()?;
            let file = folder.path().join("text");
            fs::write(&file, &text)?;
            for size in if i == 0 { &[1, 64, 700, 1 << 20][..] } else { &[700, 1 << 20] } {
                for on_error in [OnError::Fail, OnError::Skip] {
                    let builder = || {
                        let builder = Engine::builder().backend(backend.clone()).partition_size(*size);
                        builder.on_error(on_error)
                    };
                    let (strict, lax) = (builder().strict(true).build()?, builder().build()?);
                    let source = |text: &[u8]| {
                        vec![Source::Reader("text".into(), Box::new(Cursor::new(text.to_vec())))]
                    };
                    let resident = strict.input(source(&text)).index(4)?;
                    let stored = IndexFile::build(&strict, &file, 4)?;
                    for want in wants() {
                        let context = || {
                            let text = text.escape_ascii();
                            format!("{}, {size}, {on_error:?}, {want:?}, {paths:?}: {text}", backend.name())
                        };
                        let good = if on_error == OnError::Fail { &before } else { &blanked };
                        let mut wanted =
                            given(lax.input(source(good)).answers(program.clone(), want), paths.len());
                        ensure!(wanted.1.is_none() && wanted.0.skipped == 0);
                        if on_error == OnError::Fail {
                            wanted.1 = first;
                        } else {
                            wanted.0.skipped = faults;
                        }
                        let file = || strict.open(&file);
                        for (way, answers) in [
                            ("pipe", strict.input(source(&text)).answers(program.clone(), want)),
                            ("file", file()?.answers(program.clone(), want)),
                            ("resident", resident.input(&strict).answers(program.clone(), want)),
                            ("index file", file()?.with_index(&stored)?.answers(program.clone(), want)),
                        ] {
                            let got = given(answers, paths.len());
                            ensure!(got == wanted, "{way}: {got:?}, not {wanted:?}: {}", context());
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// A limit that is reached before a faulty record ends before it.
#[test]
fn what_is_behind_a_limit_is_not_told() -> Result<()> {
    for backend in backends() {
        let engine = engine(&backend, true, OnError::Fail);
        let input = engine.reader("text", Cursor::new("{\"a\":1}\n{\"a\":2}\n{\"a\":03}\n{\"a\":4}\n"));
        let mut hits = input.query(&Query::compile("$.a")?)?;
        for want in ["1", "2"] {
            let hit = hits.next().context("a match")??;
            assert_eq!(hit.text(), want);
        }
        let error = hits.next().context("an error")?.map(drop).unwrap_err().to_string();
        assert!(error.starts_with("text:3:7: "), "{error}");
        assert!(hits.next().is_none());
        for most in 0..4 {
            let input = engine.reader("text", Cursor::new("1\n2\n03\n4\n"));
            let want = Want::default().matches(true).limit(Limit::Matches(most));
            let batch =
                input.answers(Program::new(&[Query::compile("$")?])?, want).next().context("a batch")??;
            assert!(batch.count(0) >= most.min(2) && batch.count(0) <= 2, "{}", backend.name());
        }
    }
    Ok(())
}

/// The faults of an engine's indexes are the faults in its results.
#[test]
fn indexes_have_the_faults_of_the_mode() -> Result<()> {
    let text = "{\"a\":1}\n{\"a\":01}\n{\"a\":1\n";
    for backend in backends() {
        for (strict, want) in [(false, vec![3]), (true, vec![2, 3])] {
            let input = engine(&backend, strict, OnError::Fail).reader("text", Cursor::new(text));
            let mut lines = Vec::new();
            for partition in input.indexes(1) {
                lines.extend(partition?.faults().map(|error| error.line));
            }
            assert_eq!(lines, want, "{}", backend.name());
        }
    }
    Ok(())
}
