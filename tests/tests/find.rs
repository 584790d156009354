//! Values found in one record in memory: the results are those of an engine, in every record, in every
//! thread, and whatever the calls before.

use std::sync::Arc;

use warpath::twig::{Documents, Standing, Subscriptions};
use warpath::{Engine, Error, Find, Format, InputError, Matches, OnError, Predicate, Program, Query, Want};
use warpath_cpu::Cpu;
use warpath_tests::random::{self, Rng};
use warpath_tests::twigs::{Doc, Node};

use crate::common::backends;

/// The matches in a record, each with the number of its query, its range and its normalised path; or the line
/// and byte of the record's fault with the kind.
type Outcome = Result<Vec<(usize, (usize, usize), String)>, (u64, u64, String)>;

fn outcome(found: Result<Matches<'_>, Error>, record: &[u8]) -> Outcome {
    match found {
        Ok(matches) => {
            let count = matches.len();
            let found: Vec<_> = matches
                .map(|found| {
                    assert_eq!(found.bytes(), &record[found.range()]);
                    (found.query(), (found.range().start, found.range().end), found.path())
                })
                .collect();
            assert_eq!(found.len(), count);
            Ok(found)
        }
        Err(error) => Err(fault(&error)),
    }
}

fn fault(error: &Error) -> (u64, u64, String) {
    match error {
        Error::Input(InputError::Record(error)) => {
            assert_eq!(error.name, "<record>");
            (error.line, error.byte, error.kind.to_string())
        }
        Error::Input(InputError::Tree(error)) => (error.line, error.byte, error.kind.to_string()),
        other => panic!("{other}"),
    }
}

/// The results of an engine for each line of a text.
fn of_lines(program: &Program, text: &[u8]) -> Vec<Outcome> {
    let engine = Engine::builder().backend(Arc::new(Cpu)).on_error(OnError::Skip).workers(1).build().unwrap();
    let starts: Vec<usize> =
        [0].into_iter().chain(memchr(text).map(|at| at + 1)).filter(|start| *start < text.len()).collect();
    let mut outcomes: Vec<Outcome> = starts.iter().map(|_| Ok(Vec::new())).collect();
    let want = Want::new().matches(true);
    let input = engine.reader("text", std::io::Cursor::new(text.to_vec()));
    for batch in input.answers(program.clone(), want) {
        let batch = batch.unwrap();
        let offset = batch.offset() as usize;
        for (first, piece) in batch.pieces() {
            for (path, list) in piece.matches.iter().enumerate() {
                let mut paths = batch.paths();
                for found in list {
                    let line = first as usize + found.line as usize;
                    let start = piece.base as usize + found.start as usize;
                    let mut name = String::new();
                    paths.append(start, &mut name);
                    let start = offset + start - starts[line];
                    let end = start + (found.end - found.start) as usize;
                    outcomes[line].as_mut().unwrap().push((path, (start, end), name));
                }
            }
        }
        for error in batch.skipped() {
            outcomes[error.line as usize - 1] = Err((1, error.byte, error.kind.to_string()));
        }
    }
    outcomes
}

fn memchr(text: &[u8]) -> impl Iterator<Item = usize> + '_ {
    (0..text.len()).filter(|at| text[*at] == b'\n')
}

/// Queries of all kinds, some of them of the whole grammar.
fn queries(rng: &mut Rng, count: usize) -> Vec<Query> {
    let mut queries = Vec::new();
    while queries.len() < count {
        let text = if rng.below(3) == 0 { random::query(rng) } else { random::path(rng) };
        queries.extend(Query::compile(&text).ok());
    }
    queries
}

fn lines(rng: &mut Rng, round: usize) -> Vec<u8> {
    let mut text = match round % 4 {
        0 => random::bytes(rng, 600),
        1 => (0..4)
            .map(|_| {
                let (bytes, odd) = (100 + rng.below(6000), rng.below(2) == 0);
                random::long_record(rng, bytes, odd) + "\n"
            })
            .collect::<String>()
            .into_bytes(),
        _ => random::json(rng, 1500),
    };
    if !round.is_multiple_of(3) {
        let changes = 1 + rng.below(20);
        random::mutate(rng, &mut text, changes);
    }
    // An engine recognises other formats by the first bytes of an input. A record is JSON in any case.
    [b"{}\n".to_vec(), text].concat()
}

/// Each line alone has the results that it has among others. Records of all kinds take turns, so that nothing
/// of one record is left in the memory for the next.
#[test]
fn results_are_those_of_an_engine() {
    let rng = &mut Rng::new(22);
    let (mut matches, mut faults, mut trees) = (0, 0, 0);
    for round in 0..400 {
        let text = lines(rng, round);
        let count = 1 + rng.below(4);
        let queries = queries(rng, count);
        let Ok(program) = Program::new(&queries) else { continue };
        trees += usize::from(program.needs_trees());
        let want = of_lines(&program, &text);
        for (line, want) in text.split(|byte| *byte == b'\n').zip(want) {
            let context = || format!("{:?} of {}", program.queries(), line.escape_ascii());
            let got = outcome(program.find(line), line);
            assert_eq!(got, want, "{}", context());
            matches += want.as_ref().map_or(0, Vec::len);
            faults += usize::from(want.is_err());
            // A program that needs trees checks more, for all of its queries.
            if let [query] = &queries[..] {
                assert_eq!(outcome(query.find(line), line), want, "{}", context());
                let any = query.matches(line).map_err(|error| fault(&error));
                assert_eq!(any, want.as_ref().map(|found| !found.is_empty()).map_err(Clone::clone));
            }
        }
    }
    assert!(matches > 5_000 && faults > 500 && trees > 50, "{matches} {faults} {trees}");
}

/// A record on several lines is one document.
#[test]
fn records_on_several_lines_are_documents() {
    let rng = &mut Rng::new(23);
    let engine = Engine::builder().backend(Arc::new(Cpu)).format(Format::Json).workers(1).build().unwrap();
    let (mut several, mut matches, mut faults) = (0, 0, 0);
    for round in 0..600 {
        let bytes = rng.below(900);
        let mut text = random::document(rng, bytes);
        if round % 3 == 0 {
            let changes = 1 + rng.below(6);
            random::mutate(rng, &mut text, changes);
        }
        // An engine would recognise these as other formats.
        if !matches!(text.trim_ascii_start().first(), Some(b'{' | b'[' | b'"' | b'0'..=b'9')) {
            continue;
        }
        several += usize::from(text.trim_ascii().contains(&b'\n'));
        let Some(query) = Query::compile(&random::array_path(rng)).ok() else { continue };
        let got = outcome(query.find(&text), &text);
        let mut want = Ok(Vec::new());
        for hit in engine.reader("text", std::io::Cursor::new(text.clone())).query(&query).unwrap() {
            match hit {
                Ok(hit) => {
                    let (start, end) = hit.offsets();
                    let found = (0, (start as usize, end as usize), hit.path());
                    want.as_mut().unwrap().push(found);
                }
                Err(Error::Input(InputError::Record(error))) => {
                    want = Err((error.line, error.byte, error.kind.to_string()));
                }
                Err(Error::Input(InputError::Tree(error))) => {
                    want = Err((error.line, error.byte, error.kind.to_string()));
                }
                Err(error) => panic!("{error} {}", text.escape_ascii()),
            }
        }
        assert_eq!(got, want, "{} of {}", query.text(), text.escape_ascii());
        matches += want.as_ref().map_or(0, Vec::len);
        faults += usize::from(want.is_err());
    }
    assert!(several > 200 && matches > 500 && faults > 20, "{several} {matches} {faults}");
}

fn texts(query: &str, record: &[u8]) -> Vec<String> {
    Query::compile(query).unwrap().find(record).unwrap().map(|found| found.text().into()).collect()
}

#[test]
fn special_records() {
    for blank in [&b""[..], b" ", b"\n", b" \r\n\n\t", b"\xef\xbb\xbf", b"\xef\xbb\xbf \n"] {
        assert_eq!(texts("$", blank), [""; 0]);
        assert_eq!(texts("$..a", blank), [""; 0]);
        assert!(!Predicate::parse("$.a is missing").unwrap().matches(blank).unwrap());
    }
    // Ranges count the byte order mark, as offsets of inputs do. Bytes of errors do not.
    let record = b"\xef\xbb\xbf{\"a\":7}";
    let found = Query::compile("$.a").unwrap().find(record).unwrap().next().unwrap();
    assert_eq!((found.range(), found.bytes(), found.path()), (8..9, &b"7"[..], "$['a']".into()));
    let error = Query::compile("$.a").unwrap().find(b"\xef\xbb\xbf{\"a\":}}").unwrap_err();
    assert_eq!(error.to_string(), "<record>:1:7: closing bracket without an opening one");
    // Scalars, line ends, and two records, which are one too many.
    assert_eq!(texts("$", b" 17 \r\n"), ["17"]);
    assert_eq!(texts("$.a", b"\n{\"a\":\n[1,\n2]}\n\n"), ["[1,\n2]"]);
    let error = Query::compile("$.a").unwrap().find(b"{\"a\":1}\n{\"a\":2}\n").unwrap_err();
    assert_eq!(error.to_string(), "<record>:2:1: a second value begins after the record has ended");
    let error = Query::compile("$.a").unwrap().find(b"[\n\"a\n\"]").unwrap_err();
    assert_eq!(error.to_string(), "<record>:2:1: string is not closed by the end of the line");
    // Names with escapes.
    assert_eq!(texts("$['é\"']", br#"{"a":1,"\u00e9\"":2}"#), ["2"]);
    let query = Query::compile("$.*").unwrap();
    let strings: Vec<_> =
        query.find(b"[\"\\u0061\\ud800\", \"\xff\", 1]").unwrap().map(|found| found.string()).collect();
    assert_eq!(strings, [Some("a\u{fffd}".into()), Some("\u{fffd}".into()), None]);
}

/// Very deep records, and records of 1 MB, by names, through all elements, by trees and with a predicate.
#[test]
fn large_and_deep_records() {
    for depth in [63, 64, 65, 1000, 1024, 1025] {
        let record = format!("{}{{\"a\":1}}{}", "{\"a\":".repeat(depth - 1), "}".repeat(depth - 1));
        for query in ["$.a.a", "$..b", "$.a[?@.a]"] {
            let program = Program::new(&[Query::compile(query).unwrap()]).unwrap();
            let want = of_lines(&program, record.as_bytes()).remove(0);
            assert_eq!(want.is_err(), depth > 1024);
            assert_eq!(outcome(program.find(record.as_bytes()), record.as_bytes()), want, "{query} {depth}");
        }
    }
    let (rng, mut matches) = (&mut Rng::new(24), 0);
    for bytes in [200_000, 1_100_000] {
        let record = random::long_record(rng, bytes, false);
        for query in ["$.a", "$[*]", "$..lang", "$[?@.a]"] {
            let program = Program::new(&[Query::compile(query).unwrap()]).unwrap();
            let want = of_lines(&program, record.as_bytes()).remove(0).unwrap();
            matches += want.len();
            // Each path is found by a walk from the start of the record, so only some are compared.
            let found: Vec<_> = program.find(record.as_bytes()).unwrap().collect();
            let ranges = found.iter().map(|found| (found.range().start, found.range().end));
            assert!(ranges.eq(want.iter().map(|want| want.1)), "{query} {bytes}");
            for (found, (.., path)) in found.iter().zip(&want).step_by(1 + want.len() / 20) {
                assert_eq!(&found.path(), path);
            }
        }
    }
    assert!(matches > 1000, "{matches}");
}

#[test]
fn predicates_keep_their_meaning() {
    let holds = |predicate: &str, record: &str| {
        Predicate::parse(predicate).unwrap().matches(record.as_bytes()).unwrap()
    };
    assert!(holds("$.a != 5", "{}") && !holds("$.a >= 5", "{}"));
    assert!(holds("not ($.a >= 5)", "{}") && holds("$.a is missing", "{}"));
    assert!(holds("$.a in (1, 2) and $.b is null", r#"{"b":null,"a":2}"#));
    assert!(holds("time($.at) >= '2026-01-01'", r#"{"at":"2026-01-02T00:00:00Z"}"#));
    // A predicate selects the record, and guards the queries of a program.
    let predicate = Predicate::parse("$.a > 1").unwrap();
    assert_eq!(predicate.find(b" {\"a\":2} ").unwrap().next().unwrap().range(), 1..8);
    let query = Query::compile("$.b").unwrap();
    for marks in [false, true] {
        let program = Program::new(std::slice::from_ref(&query)).unwrap();
        let program = program.matching(&Arc::new(predicate.clone()), marks).unwrap();
        assert_eq!(program.find(br#"{"a":2,"b":3}"#).unwrap().len(), 1);
        assert_eq!(program.find(br#"{"a":1,"b":3}"#).unwrap().len(), 0);
    }
    assert!(matches!(Predicate::parse("a > 1").unwrap().matches(b"{}"), Err(Error::Expression(_))));
    // A changed query has no form of the one before.
    assert_eq!(query.find(br#"{"b":3}"#).unwrap().len(), 1);
    let query = query.holding(&Predicate::of_value("@ > 5").unwrap()).unwrap();
    assert_eq!(query.find(br#"{"b":3}"#).unwrap().len(), 0);
    assert_eq!(query.clone().find(br#"{"b":7}"#).unwrap().len(), 1);
}

/// Results of several calls are alive at the same time, on one thread.
#[test]
fn results_do_not_share_memory() {
    let query = Query::compile("$[*]").unwrap();
    let records: Vec<String> = (0..9).map(|count| format!("{:?}", vec![count; count])).collect();
    let all: Vec<_> = records.iter().map(|record| query.find(record.as_bytes()).unwrap()).collect();
    for (count, matches) in all.into_iter().enumerate() {
        let texts: Vec<String> = matches.map(|found| found.text().into()).collect();
        assert_eq!(texts, vec![count.to_string(); count]);
    }
    // A result may end in another thread than the one that made it.
    let matches = query.find(b"[1, 2]").unwrap();
    assert_eq!(std::thread::spawn(move || matches.count()).join().unwrap(), 2);
}

/// Threads share a query and subscriptions, of which none has been used before.
#[test]
fn threads_share_queries() {
    let rng = &mut Rng::new(25);
    let records: Vec<String> = (0..60).map(|_| random::long_record(rng, 300, false)).collect();
    for text in ["$.a", "$..a", "$[?@.a == 1]", "$.a.b"] {
        let program = Program::new(&[Query::compile(text).unwrap()]).unwrap();
        let want: Vec<Outcome> = of_lines(&program, (records.join("\n") + "\n").as_bytes());
        let query = Query::compile(text).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (query, records, want) = (&query, &records, &want);
                scope.spawn(move || {
                    for at in 0..records.len() {
                        let at = (at + 7 * thread) % records.len();
                        let record = records[at].as_bytes();
                        assert_eq!(&outcome(query.find(record), record), &want[at]);
                    }
                });
            }
        });
    }
}

/// The ids that an engine reports for each line, and the faults of lines.
fn of_subscriptions(standing: &Standing, text: &str) -> Vec<Result<Vec<String>, (u64, String)>> {
    let [cpu, _] = backends();
    let engine = Engine::builder().backend(cpu).on_error(OnError::Skip).workers(1).build().unwrap();
    let mut outcomes: Vec<_> = text.lines().map(|_| Ok(Vec::new())).collect();
    let reader = std::io::Cursor::new(text.to_owned());
    for batch in engine.reader("text", reader).filter(standing, Documents::Ndjson) {
        let batch = batch.unwrap();
        for document in batch.documents() {
            let ids = document.ids().map(str::to_owned).collect();
            outcomes[document.line().unwrap() as usize - 1] = Ok(ids);
        }
        for error in batch.skipped() {
            let InputError::Record(error) = error else { panic!("{error}") };
            outcomes[error.line as usize - 1] = Err((error.byte, error.kind.to_string()));
        }
    }
    outcomes
}

/// One event matches the subscriptions that it matches among others, with few subscriptions and with many,
/// and after the subscriptions have changed.
#[test]
fn events_match_what_an_engine_reports() {
    let rng = &mut Rng::new(26);
    let (mut matches, mut faults) = (0, 0);
    for round in 0..30 {
        let mut subscriptions = Subscriptions::default();
        // More than 16 groups of twigs are selected by their keys.
        for number in 0..[40, 200, 3000][round % 3] {
            let size = [1, 2, 3, 8, 20][rng.below(5)];
            let query = Node::random(rng, size, true).to_xpath(rng);
            let id = format!("s{number}");
            subscriptions.add(&id, &query).unwrap_or_else(|error| panic!("{query}: {error}"));
        }
        let standing = Standing::new(subscriptions);
        for change in 0..3 {
            let mut text = String::new();
            for _ in 0..40 {
                let mut line = Doc::json(rng).to_json().into_bytes();
                if rng.below(5) == 0 {
                    random::mutate(rng, &mut line, 2);
                }
                let line = String::from_utf8_lossy(&line).replace(['\n', '\r'], " ");
                text += &(line + "\n");
            }
            let want = of_subscriptions(&standing, &text);
            for (line, want) in text.lines().zip(want) {
                let got = standing.matches(line.as_bytes());
                let got = match &got {
                    Ok(found) => {
                        assert_eq!(found.len(), found.ids().count());
                        assert_eq!(found.is_empty(), found.ids().next().is_none());
                        Ok(found.ids().map(str::to_owned).collect::<Vec<String>>())
                    }
                    Err(error) => {
                        let (_, byte, kind) = fault(error);
                        Err((byte, kind))
                    }
                };
                assert_eq!(got, want, "{line}");
                matches += want.as_ref().map_or(0, Vec::len);
                faults += usize::from(want.is_err());
            }
            standing.change(|subscriptions| subscriptions.remove(&format!("s{change}")));
        }
    }
    assert!(matches > 5_000 && faults > 50, "{matches} {faults}");
}

#[test]
fn special_events() {
    let mut subscriptions = Subscriptions::default();
    subscriptions.add("all", "$").unwrap();
    subscriptions.add("one", "/a[. = 1]").unwrap();
    let standing = Standing::new(subscriptions);
    let ids =
        |event: &[u8]| -> Vec<String> { standing.matches(event).unwrap().ids().map(str::to_owned).collect() };
    assert_eq!(ids(b""), [""; 0]);
    assert_eq!(ids(b" \n"), [""; 0]);
    assert_eq!(ids(b"7"), ["all"]);
    assert_eq!(ids(b"\xef\xbb\xbf{\n\"\\u0061\":\n1}\n"), ["all", "one"]);
    let error = standing.matches(b"{\n\"a\": 1]").unwrap_err();
    assert_eq!(error.to_string(), "<record>:2:7: closing bracket does not match the opening one");
    assert_eq!(ids(b"{\"a\":1}"), ["all", "one"]);
    assert!(Standing::default().matches(b"{}").unwrap().is_empty());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for number in 0..200 {
                    let event = format!("{{\"a\":{}}}", number % 2);
                    let found = standing.matches(event.as_bytes()).unwrap();
                    assert_eq!(found.len(), 1 + number % 2);
                }
            });
        }
    });
}
