//! Counts, distinct values and statistics against naive ones over parsed records, for any number of workers,
//! partition size, memory and backend.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use serde_json::Value;
use warpath::aggregate::{Counts, DEFAULT_MEMORY, Fraction};
use warpath::{Engine, Format, Input, OnError, Predicate, Query};
use warpath_answer::backend::Backend;
use warpath_core::key;
use warpath_cpu::Cpu;
use warpath_exec::aggregate::count::values;
use warpath_tests::random::Rng;

use crate::common::device;

/// Values, some of which are equal in other forms.
const VALUES: [&str; 22] = [
    "null",
    "true",
    "false",
    "0",
    "-0.0",
    "1",
    "1.0",
    "10e-1",
    "-2.5",
    "3e0",
    "7",
    "\"x\"",
    "\"é\"",
    r#""\u00e9""#,
    r#""\"\\\n""#,
    "\"\"",
    "[1, 2.0]",
    "[1.0,2]",
    r#"{"k":1,"l":[null]}"#,
    r#"{ "l" : [ null ] , "k" : 1.0 }"#,
    "[]",
    "{}",
];

/// Records with members `a`, `b` and `c`, of which any may be missing; `c` is an array. Some lines are blank,
/// and some malformed.
fn records(seed: u64, count: usize, malformed: bool) -> String {
    let (mut rng, mut text) = (Rng::new(seed), String::new());
    for _ in 0..count {
        match rng.below(40) {
            0 => text.push_str("  \n"),
            1 if malformed => text.push_str("{\"a\":1]\n"),
            _ => {
                let mut members = Vec::new();
                for name in ["a", "b"] {
                    if rng.below(6) > 0 {
                        members.push(format!("\"{name}\":{}", rng.pick(&VALUES)));
                    }
                }
                if rng.below(3) > 0 {
                    let elements: Vec<&str> = (0..rng.below(4)).map(|_| rng.pick(&VALUES)).collect();
                    members.push(format!("\"c\":[{}]", elements.join(",")));
                }
                text.push_str(&format!("{{{}}}\n", members.join(",")));
            }
        }
    }
    text
}

/// The records of a text, up to the first malformed line or without the malformed lines.
fn parsed(text: &str, on_error: OnError) -> Vec<Value> {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str);
    if on_error == OnError::Fail {
        lines.map_while(Result::ok).collect()
    } else {
        lines.filter_map(Result::ok).collect()
    }
}

/// A text that equal values have in common, and no others of [`VALUES`].
fn common(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("{:e}", number.as_f64().unwrap() + 0.0),
        Value::Array(values) => format!("[{}]", values.iter().map(common).collect::<Vec<_>>().join(",")),
        Value::Object(members) => {
            let mut members: Vec<_> =
                members.iter().map(|(name, value)| format!("{name}:{}", common(value))).collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
        other => other.to_string(),
    }
}

fn select<'a>(record: &'a Value, path: &str) -> Vec<&'a Value> {
    match path {
        "$.c[*]" => record.get("c").and_then(Value::as_array).into_iter().flatten().collect(),
        path => record.get(&path[2..]).into_iter().collect(),
    }
}

/// The combinations that are counted, in order; `None` for a missing value.
fn combinations(records: &[Value], paths: &[&str], missing: bool) -> Vec<Vec<Option<String>>> {
    let mut all = Vec::new();
    for record in records {
        if let [path] = paths {
            let selected = select(record, path);
            if selected.is_empty() && missing {
                all.push(vec![None]);
            }
            all.extend(selected.into_iter().map(|value| vec![Some(common(value))]));
        } else {
            let values: Vec<_> =
                paths.iter().map(|path| select(record, path).first().map(|value| common(value))).collect();
            if missing || values.iter().any(Option::is_some) {
                all.push(values);
            }
        }
    }
    all
}

/// Ways to read a text.
fn inputs(text: &str, on_error: OnError, backend: &Arc<dyn Backend>) -> Vec<(String, Input<'static>)> {
    let mut inputs = Vec::new();
    for (size, workers) in [(1, 1), (100, 3), (3000, 2), (1 << 20, 1)] {
        if size == 1 && backend.name() != Cpu.name() {
            continue;
        }
        let engine = Engine::builder().backend(backend.clone()).partition_size(size).workers(workers);
        let engine = engine.on_error(on_error).build().unwrap();
        let input = engine.reader("text", Cursor::new(text.to_owned().into_bytes()));
        inputs.push((format!("{} {size} {workers}", backend.name()), input));
    }
    inputs
}

fn queries(paths: &[&str]) -> Vec<Query> {
    paths.iter().map(|path| Query::compile(path).unwrap()).collect()
}

/// The counts, with values as [`common`] writes them.
fn counted(counts: Counts) -> Vec<(Vec<Option<String>>, u64)> {
    let counts: Vec<(Vec<u8>, u64)> = counts.collect::<Result<_, _>>().unwrap();
    let text = |key: &[u8]| {
        let parse = |text: String| common(&serde_json::from_str(&text).unwrap());
        values(key).into_iter().map(|value| value.map(parse)).collect()
    };
    counts.iter().map(|(key, count)| (text(key), *count)).collect()
}

fn sorted(counts: &Counted) -> Counted {
    let mut sorted = counts.clone();
    sorted.sort();
    sorted
}

type Counted = Vec<(Vec<Option<String>>, u64)>;

#[test]
fn counts_are_those_of_parsed_records() {
    let path_lists: [&[&str]; 5] =
        [&["$.a"], &["$.c[*]"], &["$.nope"], &["$.a", "$.b"], &["$.b", "$.nope", "$.a"]];
    for backend in [Arc::new(Cpu) as Arc<dyn Backend>, device()] {
        let is_cpu = backend.name() == Cpu.name();
        for (seed, on_error) in [(1, OnError::Skip), (2, OnError::Fail), (3, OnError::Skip)] {
            let text = records(seed, if is_cpu { 400 } else { 40 }, on_error == OnError::Skip);
            let all = parsed(&text, on_error);
            for paths in path_lists {
                let mut want: BTreeMap<Vec<Option<String>>, u64> = BTreeMap::new();
                for values in combinations(&all, paths, true) {
                    *want.entry(values).or_default() += 1;
                }
                let want: Counted = want.into_iter().collect();
                for memory in [1, 2000, DEFAULT_MEMORY] {
                    let mut first: Option<Counted> = None;
                    for (said, input) in inputs(&text, on_error, &backend) {
                        let counter = input.count_by(&queries(paths), memory).unwrap();
                        let got = counted(counter.by_count(None).unwrap());
                        assert!(got.is_sorted_by_key(|(_, count)| u64::MAX - count), "{said} {memory}");
                        assert_eq!(sorted(&got), want, "{said} {memory} {paths:?}");
                        // The order is the same, however the text is read.
                        assert_eq!(&got, first.get_or_insert_with(|| got.clone()), "{said} {memory}");
                    }
                    let top: Vec<_> = first.unwrap().into_iter().take(3).collect();
                    let (said, input) = inputs(&text, on_error, &backend).pop().unwrap();
                    let counter = input.count_by(&queries(paths), memory).unwrap();
                    assert_eq!(counted(counter.by_count(Some(3)).unwrap()), top, "{said} {memory}");
                }
            }
        }
    }
}

#[test]
fn values_with_the_same_count_are_in_their_order() {
    let text = "{\"a\":\"b\"}\n{\"a\":10}\n{\"a\":\"a\"}\n{\"a\":9}\n{}\n{\"a\":null}\n{\"a\":true}\n{\"a\":[]}\n{\"a\":-1}\n";
    let input = Engine::builder().build().unwrap().reader("text", text.as_bytes());
    let counts = input.count_by(&queries(&["$.a"]), DEFAULT_MEMORY).unwrap().by_count(None).unwrap();
    let shown: Vec<_> = counts.map(|counted| values(&counted.unwrap().0).pop().unwrap()).collect();
    let shown: Vec<&str> = shown.iter().map(|value| value.as_deref().unwrap_or("-")).collect();
    assert_eq!(shown, ["-", "null", "true", "-1", "9", "10", "\"a\"", "\"b\"", "[]"]);
}

#[test]
fn distinct_values_are_in_the_order_of_the_records() {
    let backend = Arc::new(Cpu) as Arc<dyn Backend>;
    for seed in 1..4 {
        let text = records(seed, 400, true);
        let all = parsed(&text, OnError::Skip);
        for paths in [&["$.a"][..], &["$.c[*]"], &["$.a", "$.b"]] {
            let mut want: Vec<Vec<Option<String>>> = Vec::new();
            for values in combinations(&all, paths, false) {
                if !want.contains(&values) {
                    want.push(values);
                }
            }
            for memory in [1, 2000, DEFAULT_MEMORY] {
                for (said, input) in inputs(&text, OnError::Skip, &backend) {
                    let counter = input.distinct(&queries(paths), memory).unwrap();
                    let got = counted(counter.in_order(true).unwrap());
                    let got: Vec<_> = got.into_iter().map(|(values, _)| values).collect();
                    assert_eq!(got, want, "{said} {memory} {paths:?}");
                }
                let (_, input) = inputs(&text, OnError::Skip, &backend).pop().unwrap();
                let counter = input.distinct(&queries(paths), memory).unwrap();
                assert_eq!(counter.distinct().unwrap(), want.len() as u64);
            }
        }
    }
}

#[test]
fn statistics_are_those_of_parsed_records() {
    let percents = [0, 7, 50, 57, 90, 100];
    let fraction = |percent: &usize| format!("{}.{:02}", percent / 100, percent % 100).parse().unwrap();
    let fractions: Vec<Fraction> = percents.iter().map(fraction).collect();
    let paths = ["$.a", "$.c[*]", "$.nope"];
    for backend in [Arc::new(Cpu) as Arc<dyn Backend>, device()] {
        let text = records(9, if backend.name() == Cpu.name() { 2000 } else { 80 }, true);
        for on_error in [OnError::Skip, OnError::Fail] {
            // Without malformed lines, nothing is skipped.
            let text = if on_error == OnError::Fail { text.replace("1]\n", "1}\n") } else { text.clone() };
            let all = parsed(&text, on_error);
            for memory in [1, DEFAULT_MEMORY] {
                for (said, input) in inputs(&text, on_error, &backend) {
                    let statistics = input.statistics(&queries(&paths), memory).unwrap();
                    let described = statistics.finish(&fractions).unwrap();
                    for (path, (summary, quantiles)) in paths.iter().zip(&described) {
                        let selected: Vec<Vec<&Value>> =
                            all.iter().map(|record| select(record, path)).collect();
                        let values: Vec<&Value> = selected.iter().flatten().copied().collect();
                        let count = |kind: fn(&Value) -> bool| {
                            values.iter().filter(|value| kind(value)).count() as u64
                        };
                        let kinds = summary.kinds;
                        assert_eq!(summary.records, all.len() as u64, "{said}");
                        assert_eq!(
                            summary.missing,
                            selected.iter().filter(|values| values.is_empty()).count() as u64
                        );
                        assert_eq!(kinds.all(), values.len() as u64);
                        assert_eq!(kinds.nulls, count(Value::is_null));
                        assert_eq!(kinds.booleans, count(Value::is_boolean));
                        assert_eq!(kinds.strings, count(Value::is_string));
                        assert_eq!(kinds.arrays, count(Value::is_array));
                        assert_eq!(kinds.objects, count(Value::is_object));
                        let mut numbers: Vec<f64> =
                            values.iter().filter_map(|value| value.as_f64()).collect();
                        numbers.sort_by(f64::total_cmp);
                        assert_eq!(kinds.numbers, numbers.len() as u64);
                        // Sums of these numbers are exact.
                        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
                        assert_eq!(summary.mean(), (!numbers.is_empty()).then_some(mean));
                        let number = |text: Vec<u8>| String::from_utf8(text).unwrap().parse::<f64>().unwrap();
                        assert_eq!(
                            summary.numbers().map(|(least, greatest)| (number(least), number(greatest))),
                            numbers.first().copied().zip(numbers.last().copied())
                        );
                        let strings = || values.iter().filter_map(|value| value.as_str());
                        let string = |text: Vec<u8>| serde_json::from_slice::<String>(&text).unwrap();
                        assert_eq!(
                            summary.strings().map(|(first, last)| (string(first), string(last))),
                            strings().min().map(str::to_owned).zip(strings().max().map(str::to_owned))
                        );
                        let quantile = |percent: &usize| {
                            let rank = (percent * numbers.len()).div_ceil(100).max(1);
                            numbers.get(rank - 1).copied()
                        };
                        let want: Vec<f64> = percents.iter().filter_map(quantile).collect();
                        assert_eq!(quantiles, &want, "{said} {memory} {path}");
                    }
                }
            }
        }
    }
}

/// Results end before the first malformed record, as everywhere.
#[test]
fn counts_end_before_a_malformed_record() {
    let text = "{\"a\":1}\n{\"a\":2}\n{\"a\":2]\n{\"a\":3}\n";
    for size in [1, 10, 1 << 20] {
        let engine = Engine::builder().partition_size(size).build().unwrap();
        let error = engine.reader("text", text.as_bytes()).count_by(&queries(&["$.a"]), DEFAULT_MEMORY);
        let error = error.err().unwrap().to_string();
        assert!(error.starts_with("text:3:7: "), "{error}");
    }
}

#[test]
fn predicates_and_documents_are_counted() {
    let predicate = Predicate::parse("$.b > 1").unwrap();
    let text = "{\"a\":1,\"b\":2}\n{\"a\":1,\"b\":1}\n{\"b\":3}\n{\"a\":1.0,\"b\":5}\n{\"a\":2}\n";
    let engine = Engine::builder().build().unwrap();
    let counts = |input: Input, path: &str| {
        let counter = input.count_by(&queries(&[path]), DEFAULT_MEMORY).unwrap();
        let counts = counter.by_count(None).unwrap().map(Result::unwrap);
        counts.map(|(key, count)| (values(&key).pop().unwrap(), count)).collect::<Vec<_>>()
    };
    let one = Some("1".to_owned());
    assert_eq!(
        counts(engine.reader("text", text.as_bytes()).matching(&predicate), "$.a"),
        [(one.clone(), 2), (None, 1)]
    );
    let engine = Engine::builder().format(Format::Json).build().unwrap();
    let document = "[{\"a\":1},\n {\"a\":\n 1.0},{}]";
    assert_eq!(counts(engine.reader("document", document.as_bytes()), "$[*].a"), [(one, 2)]);
    assert_eq!(counts(engine.reader("document", document.as_bytes()), "$.x"), [(None, 1)]);
}

/// The keys of values order them as the comparisons of RFC 9535 do, where these compare.
#[test]
fn keys_agree_with_filters() {
    let engine = Engine::builder().build().unwrap();
    let key = |value: &str| {
        let mut key = Vec::new();
        key::encode(value.as_bytes(), &mut key);
        key
    };
    for left in VALUES {
        for right in VALUES {
            let text = format!("{{\"l\":{left},\"r\":{right}}}\n");
            let is = |operator: &str| {
                let predicate = Predicate::parse(&format!("$.l {operator} $.r")).unwrap();
                let input =
                    engine.reader("text", Cursor::new(text.clone().into_bytes())).matching(&predicate);
                input.count(&Query::compile("$").unwrap()).unwrap() == 1
            };
            assert_eq!(key(left) == key(right), is("=="), "{left} {right}");
            if is("<") {
                assert!(key(left) < key(right), "{left} {right}");
            }
        }
    }
}
