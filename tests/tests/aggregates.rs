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

/// A record whose statistics are known from how it was made.
struct Event {
    host: Option<&'static str>,
    /// The start of its hour in UTC, as text; `None` for a time that is none.
    hour: Option<String>,
    /// The value of `ms`, times a million, and its text; `None` for a value that is not a number.
    ms: Vec<(Option<i128>, String)>,
}

const HOSTS: [&str; 5] = ["\"a\"", "\"\\u0062\"", "\"web-01\"", "7", "null"];

/// An instant of a few days of March 2026, in one of several notations, and its hour.
fn time(rng: &mut Rng) -> (String, Option<String>) {
    let (day, hour, minute, second) = (1 + rng.below(3), rng.below(24), rng.below(60), rng.below(60));
    let whole = Some(format!("\"2026-03-{day:02}T{hour:02}:00:00Z\""));
    // 2026-03-01T00:00:00Z.
    let seconds = 1_772_323_200 + 86_400 * (day as u64 - 1) + (3600 * hour + 60 * minute + second) as u64;
    let text = format!("2026-03-{day:02}T{hour:02}:{minute:02}:{second:02}");
    match rng.below(8) {
        0 => (format!("{seconds}"), whole),
        1 => (format!("{}", seconds * 1000 + 7), whole),
        2 => (format!("{seconds}.5"), whole),
        3 => (format!("\"{text}.123Z\""), whole),
        4 => (format!("\"{text}+00:00\""), whole),
        5 => ([" \"yesterday\"", "true", "[]", "\"2026-13-01\""][rng.below(4)].to_owned(), None),
        _ => (format!("\"{text}Z\""), whole),
    }
}

/// A value of `ms`, with its millionths if it is a number.
fn number(rng: &mut Rng) -> (Option<i128>, String) {
    let n = rng.below(2000) as i128 - 300;
    match rng.below(12) {
        0 => (Some(n * 250_000), format!("{}", n as f64 / 4.0)),
        1 => (Some(n * 1_000_000), format!("{n}e0")),
        2 => (Some(n * 10_000_000), format!("{n}.00E+1")),
        // Integers that no double holds.
        3 => ((Some((n + 90_071_992_547_409_931) * 1_000_000)), format!("{}", n + 90_071_992_547_409_931)),
        4 => (None, "\"12\"".to_owned()),
        5 => (None, "null".to_owned()),
        6 => {
            (Some(n * 100_000), format!("{}{}.{}", if n < 0 { "-" } else { "" }, n.abs() / 10, n.abs() % 10))
        }
        _ => (Some(n * 1_000_000), format!("{n}")),
    }
}

fn events(seed: u64, count: usize) -> (Vec<Event>, String) {
    let (mut rng, mut text) = (Rng::new(seed), String::new());
    let mut events = Vec::new();
    for _ in 0..count {
        let mut members = Vec::new();
        let host = (rng.below(7) > 0).then(|| HOSTS[rng.below(HOSTS.len())]);
        members.extend(host.map(|host| format!("\"host\":{host}")));
        let mut hour = None;
        if rng.below(9) > 0 {
            let (time, of) = time(&mut rng);
            members.push(format!("\"at\":{time}"));
            hour = of;
        }
        let ms: Vec<_> = (0..[0, 1, 1, 1, 2][rng.below(5)]).map(|_| number(&mut rng)).collect();
        let texts: Vec<&str> = ms.iter().map(|(_, text)| text.as_str()).collect();
        members.push(format!("\"ms\":[{}]", texts.join(",")));
        text.push_str(&format!("{{{}}}\n", members.join(",")));
        events.push(Event { host, hour, ms });
    }
    (events, text)
}

/// A number of millionths as text: without zeros at its ends.
fn millionths(number: i128) -> String {
    let digits = format!("{:07}", number.abs());
    let (whole, fraction) = digits.split_at(digits.len() - 6);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{whole}{point}{fraction}", if number < 0 { "-" } else { "" })
}

/// The statistics of a group: records, missing, numbers, distinct values, sum, least, greatest, quantiles.
type Row = (u64, u64, u64, u64, Option<[String; 3]>, Vec<f64>);

fn row(events: &[&Event], percents: &[usize]) -> Row {
    let values = || events.iter().flat_map(|event| &event.ms);
    let numbers: Vec<i128> = values().filter_map(|(number, _)| *number).collect();
    let others = values().filter(|(number, text)| number.is_none() && text != "null");
    let mut distinct = numbers.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let strings = others.map(|(_, text)| text).collect::<std::collections::BTreeSet<_>>().len();
    let mut doubles: Vec<f64> = numbers.iter().map(|number| millionths(*number).parse().unwrap()).collect();
    doubles.sort_by(f64::total_cmp);
    let quantile = |percent: &usize| doubles.get((percent * doubles.len()).div_ceil(100).max(1) - 1).copied();
    let exact = || {
        let ends = [numbers.iter().sum::<i128>(), *distinct.first()?, *distinct.last()?];
        Some(ends.map(millionths))
    };
    (
        events.len() as u64,
        events.iter().filter(|event| event.ms.is_empty()).count() as u64,
        numbers.len() as u64,
        (distinct.len() + strings) as u64,
        exact(),
        percents.iter().filter_map(quantile).collect(),
    )
}

/// Counts and statistics by values and by buckets are those of an evaluator that knows the records otherwise,
/// over text and over stores.
#[test]
fn groups_are_those_of_records_that_are_known() {
    use warpath::Source;
    use warpath::aggregate::Grouping;
    use warpath::store::{AddOptions, Store};
    use warpath::time::Zone;

    let folder = tempfile::tempdir().unwrap();

    let percents = [0, 50, 90, 99, 100];
    let fractions: Vec<Fraction> =
        percents.iter().map(|p| format!("{}.{:02}", p / 100, p % 100).parse().unwrap()).collect();
    let query = |path: &str| Query::compile(path).unwrap();
    for (count, memory, sizes) in [
        (100_000, DEFAULT_MEMORY, &[(1 << 16, 1), (1 << 20, 8)][..]),
        (20_000, 200_000, &[(1 << 14, 3)]),
        (2_000, 1, &[(1000, 2), (1 << 20, 1)]),
        (0, DEFAULT_MEMORY, &[(1 << 20, 1)]),
    ] {
        let (events, text) = events(count as u64 + 1, count);
        // Parts of several row groups.
        let store = folder.path().join(format!("{count}"));
        let middle = text.len() / 2 + text[text.len() / 2..].find('\n').map_or(0, |at| at + 1);
        for half in [&text[..middle], &text[middle..]] {
            let source = Source::Reader("events".to_owned(), Box::new(Cursor::new(half.to_owned())));
            let options = AddOptions::default().group_bytes(1 << 20);
            Store::add(&store, vec![source], options, &mut |_| {}).unwrap();
        }
        for (with_host, with_hour) in [(true, true), (true, false), (false, true), (false, false)] {
            let mut want: BTreeMap<Vec<Option<String>>, Vec<&Event>> = BTreeMap::new();
            for event in &events {
                let host = event.host.map(|host| host.replace("\\u0062", "b"));
                let key = [(with_hour, event.hour.clone()), (with_host, host)];
                let key = key.into_iter().filter(|(is_used, _)| *is_used).map(|(_, value)| value).collect();
                want.entry(key).or_default().push(event);
            }
            let want: BTreeMap<_, Row> =
                want.into_iter().map(|(key, events)| (key, row(&events, &percents))).collect();
            for ((size, workers), is_stored) in
                sizes.iter().flat_map(|size| [false, true].map(|it| (size, it)))
            {
                let said = format!("{size} {workers} {memory} {is_stored}");
                let mut grouping = Grouping::default();
                if with_hour {
                    let every: warpath::time::Every = "1h".parse().unwrap();
                    grouping = grouping.with_time(query("$.at"), every.in_zone(Zone::default()), None);
                }
                if with_host {
                    grouping = grouping.with_value(query("$.host"));
                }
                let engine = Engine::builder().partition_size(*size).workers(*workers).build().unwrap();
                let input = || match is_stored {
                    true => engine.input(Store::open(&store).unwrap().sources()),
                    false => engine.reader("events", Cursor::new(text.clone().into_bytes())),
                };
                // Without groups, nothing is counted.
                let counter = match grouping.is_empty() {
                    true => None,
                    false => Some(input().counts_of(grouping.clone(), memory).unwrap()),
                };
                let statistics = input().statistics_of(&[query("$.ms[*]")], grouping, true, memory).unwrap();
                assert_eq!(statistics.has_spilled(), memory < DEFAULT_MEMORY && !(memory > 1 && count == 0));
                let mut got = BTreeMap::new();
                statistics
                    .groups(&fractions, |group| -> Result<(), warpath::Error> {
                        let (summary, quantiles) = &group.paths[0];
                        assert_eq!(summary.records, group.records);
                        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
                        let exact = summary
                            .numbers()
                            .map(|(least, greatest)| [summary.exact_sum(), least, greatest].map(text));
                        let row = (
                            group.records,
                            summary.missing,
                            summary.kinds.numbers,
                            summary.distinct.unwrap(),
                            exact,
                            quantiles.clone(),
                        );
                        assert!(got.insert(group.values(), row).is_none());
                        Ok(())
                    })
                    .unwrap();
                if let Some(counter) = counter {
                    let mut counts = counted(counter.by_count(None).unwrap());
                    counts.sort();
                    let want = want.iter().map(|(key, (records, ..))| {
                        let common = |value: &String| common(&serde_json::from_str(value).unwrap());
                        (key.iter().map(|value| value.as_ref().map(common)).collect(), *records)
                    });
                    let mut want: Counted = want.collect();
                    want.sort();
                    assert_eq!(counts, want, "{said}");
                }
                if count == 0 {
                    assert!(got.is_empty());
                    continue;
                }
                assert_eq!(got.len(), want.len());
                for (key, row) in &want {
                    assert_eq!(got.get(key), Some(row), "{key:?} {said}");
                }
            }
        }
    }
}
