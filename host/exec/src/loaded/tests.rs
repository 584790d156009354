//! Results over loaded inputs beside those over the same text.

use std::fmt::Write as _;

use warpath_answer::answer::Want;
use warpath_lang::predicate::Predicate;
use warpath_lang::program::{Program, Query};
use warpath_random::{Rng, cases};
use warpath_store::schema::{ndjson, rows};

use super::*;
use crate::aggregate::DEFAULT_MEMORY;
use crate::aggregate::grouping::Grouping;
use crate::engine::OnError;
use crate::operators::Input;
use crate::store::{AddOptions, Store};

/// Values that leaves have as they are.
const TAME: &[&str] = &[
    "1",
    "2",
    "-7",
    "9007199254740993",
    "0.5",
    "1.25",
    "-3.75",
    "1e300",
    "true",
    "false",
    "null",
    "\"x\"",
    "\"y\"",
    "\"\"",
    "\"a long text that is in no other record\"",
    "\"\\u00e9\"",
    "\"2026-03-02T10:59:59Z\"",
    "\"2026-03-02T11:00:00Z\"",
    "1772452799",
    "{\"b\":1}",
    "{\"b\":null,\"c\":\"x\"}",
    "{}",
];
/// Values that are in the lines alone, or in other leaves.
const WILD: &[&str] = &[
    "1E5",
    "-0",
    "1.10",
    "123456789012345678901234567890",
    "\"\\ud800\"",
    "[1,2]",
    "[]",
    "[{\"b\":2}]",
    "{\"b\":1,\"b\":2}",
    "0.1000000000000000055",
    "\"\\/\"",
];
const LINES: &[&str] = &["", "7", "[1]", "{\"a\":", "{\"a\":1,\"a\":\"x\"}", "{\"a\" : {\"b\" : 2} }", "{}"];

fn line(rng: &mut Rng, wild: bool) -> String {
    if wild && rng.below(40) == 0 {
        return rng.pick(LINES).to_owned();
    }
    // A blank line is a row, and no record.
    if rng.below(60) == 0 {
        return " ".repeat(rng.below(2));
    }
    let mut line = "{".to_owned();
    for key in ["a", "b", "c", "d"] {
        if rng.below(4) > 0 {
            let is_wild = wild && rng.below(30) == 0;
            // Members of one kind are as frequent as members of several.
            let value = match (is_wild, key) {
                (true, _) => rng.pick(WILD),
                (false, "b") => rng.pick(&["1", "2", "300", "-4", "null"]),
                (false, "c") => rng.pick(&["\"x\"", "\"y\"", "\"2026-03-02T10:59:59Z\""]),
                (false, "d") => rng.pick(&["{\"b\":1}", "{\"b\":\"x\",\"c\":[1]}", "{\"b\":7.5}"]),
                _ => rng.pick(TAME),
            };
            let _ = write!(line, "{}\"{key}\":{value}", if line.len() > 1 { "," } else { "" });
        }
    }
    line + "}"
}

fn text(rng: &mut Rng, lines: usize, wild: bool) -> String {
    let lines: Vec<_> = (0..lines).map(|_| line(rng, wild)).collect();
    lines.join("\n") + rng.pick(&["", "\n"])
}

const PATHS: &[&str] =
    &["$.a", "$.b", "$.c", "$.d.b", "$.a.b", "$.d.c", "$.none", "$", "$.d.c[0]", "$..b", "$.*"];
const PREDICATES: &[&str] = &[
    "$.a == 1",
    "$.a != 1",
    "$.a > 0.5",
    "$.b <= 2",
    "$.b < 1.5",
    "$.b >= -4 and $.c == 'x'",
    "$.a is null",
    "$.a is missing",
    "$.a",
    "!$.d.b",
    "$.a in (1, 'x', null, true, 0.5)",
    "$.a not in (1, 'x')",
    "$.b between 1 and 2",
    "$.c > 'x'",
    "match($.c, '[xy]')",
    "$.a == 'x' or $.b == 300",
    "$.d.b == 7.5",
    "not ($.b == 1 and $.c == 'y')",
    "$.a == 9007199254740993",
    "$.a < 9007199254740992.5",
    "$.a <= null",
    "count($.d.c[*]) > 0",
    "$.c like '2026%' and count($.d.*) > 1",
    "$.d == 1",
    "$.d",
];

/// All results of operations on an input, or their errors, as text.
fn results(input: &dyn Fn() -> Input<'static>) -> Vec<String> {
    let mut all = Vec::new();
    let query = |path: &str| Query::compile(path).unwrap();
    let predicates = PREDICATES.iter().map(|text| Some(*text)).chain([None]);
    for predicate in predicates {
        let only = || match predicate {
            Some(text) => input().matching(&Predicate::parse(text).unwrap()),
            None => input(),
        };
        let name = predicate.unwrap_or("all");
        for path in PATHS {
            all.push(format!(
                "{name} count {path}: {:?}",
                only().count(&query(path)).map_err(|e| e.to_string())
            ));
            let counted = only()
                .count_by(&[query(path)], DEFAULT_MEMORY)
                .and_then(|counter| counter.by_count(None)?.values().collect::<Result<Vec<_>, _>>());
            all.push(format!("{name} count_by {path}: {:?}", counted.map_err(|error| error.to_string())));
        }
        let hits = only().query(&query("$.a")).and_then(|hits| {
            hits.map(|hit| hit.map(|hit| (hit.line(), hit.text().into_owned())))
                .collect::<Result<Vec<_>, _>>()
        });
        all.push(format!("{name} hits: {:?}", hits.map_err(|error| error.to_string())));
        let distinct = only()
            .distinct(&[query("$.c"), query("$.b")], DEFAULT_MEMORY)
            .and_then(|counter| counter.by_count(None)?.values().collect::<Result<Vec<_>, _>>());
        all.push(format!("{name} distinct: {:?}", distinct.map_err(|error| error.to_string())));
        all.push(format!("{name} schema: {:?}", schema(only())));
        let groups = [
            Grouping::default(),
            Grouping::of_values(&[query("$.c")]),
            Grouping::default().with_time(query("$.a"), "1h".parse().unwrap(), None).with_value(query("$.c")),
        ];
        for groups in groups {
            let statistics =
                only().statistics_of(&[query("$.b"), query("$.a")], groups, true, DEFAULT_MEMORY);
            let described = statistics.and_then(|statistics| {
                let mut lines = Vec::new();
                statistics.groups(&["0.5".parse().unwrap()], |group| {
                    let paths: Vec<_> = group
                        .paths
                        .iter()
                        .map(|(summary, quantiles)| {
                            let kinds = format!("{:?}", summary.kinds);
                            (
                                summary.records,
                                summary.missing,
                                kinds,
                                summary.sum(),
                                summary.distinct,
                                quantiles.clone(),
                            )
                        })
                        .collect();
                    lines.push(format!("{:?} {paths:?}", group.values()));
                    Ok::<_, Error>(())
                })?;
                Ok(lines)
            });
            all.push(format!("{name} statistics: {:?}", described.map_err(|error| error.to_string())));
        }
    }
    all
}

/// The rows of a schema with the positions of examples, or the error.
fn schema(input: Input<'_>) -> Result<Vec<String>, String> {
    let mut parts = input.schema(None);
    parts.by_ref().try_for_each(|part| part.map(drop)).map_err(|error| error.to_string())?;
    let schema = parts.finish();
    let rows = rows(&schema.tree, &|position| schema.locate(position));
    Ok(rows.iter().map(ndjson).collect())
}

/// The schema of a segment is made once. Its lines are not read for it again.
#[test]
fn schemas_stay_with_segments() {
    let text = text(&mut Rng::new(4), 300, false);
    let engine = Engine::builder().partition_size(4096).build().unwrap();
    let loaded = engine.load(vec![Source::Bytes("text".into(), text.into_bytes().into())]).unwrap();
    let first = schema(loaded.input(&engine)).unwrap();
    let trees = || {
        let contents = loaded.inputs()[0].contents().unwrap();
        let schema = |segment| contents.schema_of(segment).unwrap().tree.unwrap();
        (0..contents.segments.len()).map(schema).collect::<Vec<_>>()
    };
    let made = trees();
    let mut parts = loaded.input(&engine).schema(None);
    let records: u64 = parts.by_ref().map(|part| part.unwrap().records).sum();
    assert_eq!((records, parts.stats().bytes), (parts.finish().tree.records(), 0));
    assert_eq!(schema(loaded.input(&engine)).unwrap(), first);
    assert!(made.iter().zip(&trees()).all(|(one, other)| Arc::ptr_eq(one, other)));
}

/// Members that leaves have as they are need no text, whatever the predicate.
#[test]
fn leaves_answer_without_lines() {
    let text = text(&mut Rng::new(1), 900, false);
    let engine = Engine::builder().partition_size(4096).workers(2).build().unwrap();
    let source = Source::Bytes("text".into(), text.clone().into_bytes().into());
    let loaded = engine.load(vec![source]).unwrap();
    assert!(loaded.inputs()[0].contents().unwrap().segments.len() > 3);
    for predicate in &PREDICATES[..21] {
        let program = Program::new(&[Query::compile("$.b").unwrap()]).unwrap();
        let only = loaded.input(&engine).matching(&Predicate::parse(predicate).unwrap());
        let bytes: u64 =
            only.answers(program, Want::new().partial(true)).map(|batch| batch.unwrap().text_bytes()).sum();
        assert_eq!(bytes, 0, "{predicate}");
    }
}

/// Texts of few and of many lines, tame and wild, with results that end at malformed records or skip them.
#[test]
fn results_are_those_of_the_text() {
    for seed in 0..cases(8) as u64 {
        let mut rng = Rng::new(seed);
        let wild = seed % 2 == 1;
        let lines = rng.pick(&[1, 5, 70, 700]);
        let text = text(&mut rng, lines, wild);
        for on_error in [OnError::Fail, OnError::Skip] {
            let engine =
                Engine::builder().on_error(on_error).partition_size(4096).workers(2).build().unwrap();
            let source = || Source::Bytes("text".into(), text.clone().into_bytes().into());
            let loaded = engine.load(vec![source()]).unwrap();
            let want = results(&|| engine.input(vec![source()]));
            let got = results(&|| loaded.input(&engine));
            for (got, want) in got.iter().zip(&want) {
                assert_eq!(got, want, "seed {seed}, {lines} lines");
            }
        }
    }
}

/// A match: its line, its offsets and its text.
type Found = (u64, (u64, u64), String);

/// The matches of a path, or the error.
fn hits(input: Input<'_>) -> Result<Vec<Found>, String> {
    let hits = input.query(&Query::compile("$.a").unwrap()).map_err(|error| error.to_string())?;
    hits.map(|hit| hit.map(|hit| (hit.line(), hit.offsets(), hit.text().into_owned())))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}

/// A file that grows, is changed, and is cut: other versions have its lines, and share what has not changed.
#[test]
fn versions_are_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.ndjson");
    let engine = Engine::builder().partition_size(1000).build().unwrap();
    let sources = || vec![Source::File(path.clone())];
    let mut rng = Rng::new(5);
    let mut all = "\u{feff}".to_owned() + &text(&mut rng, 200, false);
    std::fs::write(&path, &all).unwrap();
    let mut loaded = engine.load(sources()).unwrap();
    let mut first = Arc::as_ptr(&loaded.inputs()[0].contents().unwrap().segments[0]);
    for (change, is_shared) in [
        ("{\"a\":1}\n{\"a\":2}\n", all.ends_with('\n')),
        ("{\"a\":3}\n{\"a\"", true),
        (":4}\n{\"a\":5}", false),
        ("cut", false),
        ("{\"a\":[6]}\n", true),
    ] {
        match change {
            "cut" => all.truncate(all.find('\n').unwrap() + 1),
            more => all += more,
        }
        std::fs::write(&path, &all).unwrap();
        let old = loaded.clone();
        loaded = loaded.renewed(&engine, sources()).unwrap();
        let now = Arc::as_ptr(&loaded.inputs()[0].contents().unwrap().segments[0]);
        assert_eq!(now == first, is_shared, "{change:?}");
        first = now;
        assert_eq!(hits(loaded.input(&engine)), hits(engine.input(sources())), "{change:?}");
        assert_eq!(schema(loaded.input(&engine)), schema(engine.input(sources())), "{change:?}");
        assert!(matches!(loaded.in_place_of(sources())[..], [Source::Loaded(_)]));
        assert!(matches!(old.in_place_of(sources())[..], [Source::File(_)]));
    }
}

/// A loaded file is read again after another file of its size and time took its name. A file is read again
/// after a write, although its time was set back.
#[test]
#[cfg(unix)]
fn a_file_is_not_known_by_its_size_and_time() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other] = ["log.ndjson", "other.ndjson"].map(|name| folder.path().join(name));
    let engine = Engine::builder().build().unwrap();
    let sources = || vec![Source::File(path.clone())];
    let set_time = |path: &Path| {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    };
    let write = |path: &Path, text: &str| {
        std::fs::write(path, text).unwrap();
        set_time(path);
    };
    write(&path, "{\"a\":1}\n");
    let mut loaded = engine.load(sources()).unwrap();
    for (number, in_place) in [(2, false), (3, true)] {
        let text = format!("{{\"a\":{number}}}\n");
        match in_place {
            true => write(&path, &text),
            false => {
                write(&other, &text);
                std::fs::rename(&other, &path).unwrap();
            }
        }
        assert!(matches!(loaded.in_place_of(sources())[..], [Source::File(_)]));
        loaded = loaded.renewed(&engine, sources()).unwrap();
        assert_eq!(hits(loaded.input(&engine)).unwrap()[0].2, number.to_string());
        assert!(matches!(loaded.in_place_of(sources())[..], [Source::Loaded(_)]));
    }
}

/// Parts of a store, whose segments are their row groups. Some parts, all or none have a resident form: the
/// results and the memory are the same.
#[test]
fn stores_are_loaded_by_their_parts() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::builder().on_error(OnError::Skip).build().unwrap();
    let (mut memory, mut want) = (Vec::new(), None);
    for resident in [[false; 3], [true; 3], [false, true, true], [true, false, true]] {
        let path = folder.path().join(format!("{resident:?}.wp"));
        for ((seed, wild), resident) in [(1, false), (2, true), (3, false)].into_iter().zip(resident) {
            let text = text(&mut Rng::new(seed), 300, wild) + "\n";
            let source = Source::Bytes("lines".into(), text.into_bytes().into());
            let options = AddOptions::default().group_bytes(3000).resident(resident);
            Store::add(&path, vec![source], options, &mut |_| {}).unwrap();
        }
        let sources = || Source::named(&path, Default::default()).unwrap();
        let loaded = engine.load(sources()).unwrap();
        assert_eq!(loaded.inputs().len(), 3);
        assert!(loaded.inputs().iter().all(|input| input.contents().unwrap().segments.len() > 1));
        memory.push(loaded.inputs().iter().map(LoadedInput::memory).collect::<Vec<_>>());
        // Positions in a schema name the part.
        let numbered = |results: Vec<String>| {
            let names = loaded.inputs().iter().map(LoadedInput::name).enumerate();
            let number = |all: String, (number, name)| all.replace(name, &format!("part {number}"));
            let results = results.into_iter().map(|result| names.clone().fold(result, number));
            results.collect::<Vec<_>>()
        };
        let want = want.get_or_insert_with(|| numbered(results(&|| engine.input(sources()))));
        let got = numbered(results(&|| loaded.input(&engine)));
        got.iter().zip(want).for_each(|(got, want)| assert_eq!(got, want, "{resident:?}"));
        refuse_budget(sources());
    }
    assert!(memory.windows(2).all(|pair| pair[0] == pair[1]), "{memory:?}");
}

/// A part without malformed lines has the schema of its lines, which are not read for it.
#[test]
fn parts_know_their_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs.wp");
    let engine = Engine::builder().build().unwrap();
    for seed in [1, 2] {
        let text = text(&mut Rng::new(seed), 300, false) + "\n";
        let source = Source::Bytes("lines".into(), text.into_bytes().into());
        Store::add(&path, vec![source], AddOptions::default().group_bytes(3000), &mut |_| {}).unwrap();
    }
    let sources = || Source::named(&path, Default::default()).unwrap();
    let loaded = engine.load(sources()).unwrap();
    for input in [loaded.input(&engine), engine.input(sources())] {
        let mut parts = input.schema(None);
        let records: u64 = parts.by_ref().map(|part| part.unwrap().records).sum();
        assert_eq!((records, parts.stats().bytes), (parts.finish().tree.records(), 0));
    }
    assert_eq!(schema(loaded.input(&engine)), schema(engine.input(sources())));
    let of_text = loaded.inputs().iter().map(|input| input.known_schema().unwrap().records());
    assert_eq!(of_text.sum::<u64>(), engine.input(sources()).count(&Query::compile("$").unwrap()).unwrap());
    let first = &loaded.inputs()[0];
    let again = engine.load(vec![Source::Loaded(first.clone())]).unwrap();
    assert!(again.inputs()[0].known_schema().is_some());
}

fn refuse_budget(sources: Vec<Source>) {
    let limited = Engine::builder().memory(10_000).build().unwrap();
    let refused = limited.load(sources).expect_err("the budget is too small").to_string();
    assert!(refused.contains("loaded inputs"), "{refused}");
}
