//! Held to others' reading of RFC 9535: the JSONPath compliance test suite, and `serde_json_path`.

use std::io::Cursor;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use serde_json_path::JsonPath;
use warpath::answer::Want;
use warpath::backend::Backend;
use warpath::device::Pipeline;
use warpath::{Cpu, Engine, Error, Program, Query};
use warpath_tests::data;
use warpath_tests::emulated::Emulated;
use warpath_tests::oracle::json::{self, Kind, Number};
use warpath_tests::random::{self, Rng};

fn emulated() -> Arc<dyn Backend> {
    Arc::new(Pipeline::new(Emulated::default()).unwrap())
}

/// The values that each path selects of each line of a text: `[path][match]` = line from 0, value.
fn select(backend: &dyn Backend, text: &[u8], queries: &[Query]) -> Result<Vec<Vec<(u32, Value)>>> {
    let mut all = vec![Vec::new(); queries.len()];
    let answer = backend.answer(text, &Program::new(queries)?, Want { matches: true, ..Want::default() })?;
    let mut first = 0;
    for piece in &answer.pieces {
        ensure!(piece.faults.is_empty(), "{:?}", piece.faults);
        for (list, all) in piece.matches.iter().zip(&mut all) {
            for found in list {
                let (start, end) = (piece.base + found.start, piece.base + found.end);
                let value = serde_json::from_slice(&text[start as usize..end as usize])?;
                all.push((first + found.line, value));
            }
        }
        first += piece.lines;
    }
    Ok(all)
}

/// How many of the suite's valid queries are supported, at the least.
const SUPPORTED: usize = 200;

#[test]
#[cfg_attr(
    not(conformance),
    ignore = "no ../shared/conformance/cts.json beside the project, nor WARPATH_CONFORMANCE"
)]
fn compliance_test_suite() -> Result<()> {
    let path = env!("WARPATH_CTS");
    let suite: Value =
        serde_json::from_str(&std::fs::read_to_string(path).with_context(|| path.to_owned())?)?;
    let tests = suite["tests"].as_array().context("no tests")?;
    let emulated = emulated();
    let (mut supported, mut unsupported, mut invalid) = (0, 0, 0);
    let mut wrong = Vec::new();
    // Queries of the same document are asked in one program on the emulated device.
    let mut documents: Vec<(String, Vec<(&str, Query)>)> = Vec::new();
    for test in tests {
        let name = test["name"].as_str().context("a test without a name")?;
        let selector = test["selector"].as_str().context("a test without a selector")?;
        let compiled = Query::compile(selector);
        if test["invalid_selector"] == true {
            invalid += 1;
            if !matches!(compiled, Err(Error::Query(_))) {
                wrong.push(format!("{name}: {selector}: accepted, or refused as unsupported"));
            }
            continue;
        }
        let query = match compiled {
            Ok(query) => query,
            Err(Error::Unsupported(_)) => {
                unsupported += 1;
                continue;
            }
            Err(error) => {
                wrong.push(format!("{name}: {selector}: {error}"));
                continue;
            }
        };
        supported += 1;
        let document = test["document"].to_string();
        match documents.iter_mut().find(|(known, _)| *known == document) {
            Some((_, queries)) => queries.push((name, query)),
            None => documents.push((document, vec![(name, query)])),
        }
    }
    for (text, queries) in &documents {
        let text = text.as_bytes();
        let compiled: Vec<Query> = queries.iter().map(|(_, query)| query.clone()).collect();
        let on_device = select(emulated.as_ref(), text, &compiled)?;
        for ((name, query), on_device) in queries.iter().zip(on_device) {
            let on_cpu = select(&Cpu, text, std::slice::from_ref(query))?.remove(0);
            if on_cpu != on_device {
                wrong.push(format!("{name}: {}: CPU {on_cpu:?}, device {on_device:?}", query.text()));
            }
            let got = Value::Array(on_cpu.into_iter().map(|(_, value)| value).collect());
            let test = tests.iter().find(|test| test["name"] == *name).context("a test of the name")?;
            let right = match test["results"].as_array() {
                Some(results) => results.contains(&got),
                None => test["result"] == got,
            };
            if !right {
                wrong.push(format!("{name}: {}: {got}", query.text()));
            }
        }
    }
    println!("{supported} supported, {unsupported} unsupported, {invalid} refused");
    ensure!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    ensure!(supported >= SUPPORTED, "{supported} supported, {SUPPORTED} were");
    Ok(())
}

/// Whether `serde_json` reads a value as it is written: it keeps the last member of a name, RFC 9535's selector takes
/// the first; and a number that no double is equal to becomes another.
fn reads_alike(written: &json::Value, read: &Value) -> bool {
    match (&written.kind, read) {
        (Kind::Array(written), Value::Array(read)) => {
            written.iter().zip(read).all(|(written, read)| reads_alike(written, read))
        }
        (Kind::Object(written), Value::Object(read)) => {
            written.len() == read.len()
                && written.iter().zip(read).all(|((_, written), (_, read))| reads_alike(written, read))
        }
        (Kind::Number(written), Value::Number(read)) => *written == Number::parse(&read.to_string()),
        _ => true,
    }
}

/// The lines that both read alike, as a text and as values.
fn common(text: &[u8]) -> (Vec<u8>, Vec<Value>) {
    let (mut kept, mut values) = (Vec::new(), Vec::new());
    for line in text.split(|byte| *byte == b'\n') {
        let Ok(value) = serde_json::from_slice(line) else { continue };
        if json::parse(line, 0, line.len()).is_some_and(|written| reads_alike(&written, &value)) {
            kept.extend_from_slice(line);
            kept.push(b'\n');
            values.push(value);
        }
    }
    (kept, values)
}

/// A path as both read it.
type Both = (Query, JsonPath);

/// Holds the answers of a backend to those of `serde_json_path`.
fn check(backend: &dyn Backend, text: &[u8], paths: &[Both]) -> Result<usize> {
    let (text, values) = common(text);
    let queries: Vec<Query> = paths.iter().map(|(query, _)| query.clone()).collect();
    for (found, (query, path)) in select(backend, &text, &queries)?.into_iter().zip(paths) {
        let want: Vec<(u32, Value)> = values
            .iter()
            .zip(0..)
            .flat_map(|(value, line)| path.query(value).into_iter().map(move |found| (line, found.clone())))
            .collect();
        ensure!(
            found == want,
            "{}: {} matches, not {}; first difference {:?}",
            query.text(),
            found.len(),
            want.len(),
            found.iter().zip(&want).find(|(a, b)| a != b)
        );
    }
    Ok(values.len())
}

#[test]
fn serde_json_path_agrees_on_the_test_data() -> Result<()> {
    // 0.7 does not read it.
    const UNREAD: &str = r"$['\ud83d\ude00']";
    ensure!(JsonPath::parse(UNREAD).is_err(), "serde_json_path reads {UNREAD} now");
    for name in
        ["tweets.ndjson", "products.ndjson", "maps.ndjson", "people.ndjson", "edge.ndjson", "crlf.ndjson"]
    {
        let mut paths = Vec::new();
        for path in data::paths_of(name).into_iter().filter(|path| *path != UNREAD) {
            match Query::compile(path) {
                Ok(query) => paths.push((query, JsonPath::parse(path).with_context(|| path.to_owned())?)),
                Err(Error::Unsupported(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let lines = check(&Cpu, data::file(name), &paths).with_context(|| name.to_owned())?;
        ensure!(lines > 0, "{name}: no line was compared");
    }
    Ok(())
}

/// Random lines, and paths that both read.
fn random_case(seed: u64, bytes: usize) -> Result<(Vec<u8>, Vec<Both>)> {
    let rng = &mut Rng::new(seed);
    let text = random::json(rng, bytes);
    let mut paths = Vec::new();
    while paths.len() < 6 {
        let path = random::path(rng);
        // 0.7 finds nothing by an index from the end in a filter's query.
        if path.contains("@[-") {
            continue;
        }
        let other = JsonPath::parse(&path).with_context(|| path.clone())?;
        paths.push((Query::compile(&path)?, other));
    }
    Ok((text, paths))
}

#[test]
fn serde_json_path_agrees_on_random_json() -> Result<()> {
    let mut lines = 0;
    for seed in 0..1500 {
        let (text, paths) = random_case(seed, 600)?;
        lines += check(&Cpu, &text, &paths).with_context(|| format!("seed {seed}"))?;
    }
    ensure!(lines > 5_000, "{lines} lines were compared");
    let emulated = emulated();
    for seed in 0..40 {
        let (text, paths) = random_case(1 << 32 | seed, 600)?;
        check(emulated.as_ref(), &text, &paths).with_context(|| format!("emulated, seed {seed}"))?;
    }
    Ok(())
}

/// The library's iterator gives what the backend does.
#[test]
fn hits_are_the_nodelist() -> Result<()> {
    let document =
        r#"{"store":{"book":[{"price":8},{"price":12,"isbn":"x"},{"price":8}],"bicycle":{"price":8}}}"#;
    let engine = Engine::builder().backend(Arc::new(Cpu)).build()?;
    let ask = |path: &str| -> Result<Vec<String>> {
        let input = engine.reader("store", Cursor::new(document.to_owned()));
        let hits = input.query(&Query::compile(path)?)?;
        hits.map(|hit| Ok(hit?.text().into_owned())).collect()
    };
    assert_eq!(ask("$.store.book[?@.price == 8].price")?, ["8", "8"]);
    assert_eq!(ask("$.store.book[::-1].price")?, ["8", "12", "8"]);
    assert_eq!(ask("$.store.*.price")?, ["8"]);
    assert_eq!(ask("$.store.book[1]['isbn','price','isbn']")?, [r#""x""#, "12", r#""x""#]);
    Ok(())
}
