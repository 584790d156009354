//! Compares backends with other implementations of RFC 9535: the JSONPath compliance test suite, and
//! `serde_json_path`. Compares the oracle with `serde_json_path` over the whole grammar.

use std::io::Cursor;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use serde_json_path::{JsonPath, LocatedNode, PathElement};
use warpath::{Engine, Program, Query, Want};
use warpath_answer::answer::Paths;
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_tests::conformance;
use warpath_tests::data;
use warpath_tests::oracle;
use warpath_tests::oracle::grammar;
use warpath_tests::oracle::json::{self, Content, Number};
use warpath_tests::oracle::syntax::{Comparable, Logical, Operator, Query as Tree, Segment, Selector};
use warpath_tests::random::{self, Rng};

use crate::common::{backends, device};

/// The values that each path selects of each line of a text: `[path][match]` = line from 0, value.
fn select(backend: &dyn Backend, text: &[u8], queries: &[Query]) -> Result<Vec<Vec<(u32, Value)>>> {
    let mut all = vec![Vec::new(); queries.len()];
    let answer = backend.answer(text, &Program::new(queries)?, Want::default().matches(true))?;
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

/// All of the suite, on a backend.
fn compliance_of(backend: &dyn Backend) -> Result<()> {
    let tests = conformance::tests(env!("WARPATH_CTS"))?;
    assert_eq!(conformance::compliance(backend, &tests)?, 703);
    Ok(())
}

#[test]
#[cfg_attr(
    not(conformance),
    ignore = "no ../shared/conformance/cts.json beside the project, nor WARPATH_CONFORMANCE"
)]
fn compliance_of_the_cpu() -> Result<()> {
    compliance_of(&Cpu)
}

#[test]
#[cfg_attr(
    not(conformance),
    ignore = "no ../shared/conformance/cts.json beside the project, nor WARPATH_CONFORMANCE"
)]
fn compliance_of_the_kernels() -> Result<()> {
    compliance_of(device().as_ref())
}

/// The CPU and the oracle find the same, by random queries of the whole grammar.
#[test]
fn the_cpu_agrees_with_the_oracle() -> Result<()> {
    let compared = conformance::random_pairs(&Cpu, 0..4_000)?;
    println!("{compared:?}");
    ensure!(compared.pairs > 100_000 && compared.nodes > 40_000 && compared.too_large < 100, "{compared:?}");
    Ok(())
}

/// The kernels agree with the oracle, too.
#[test]
fn the_kernels_agree_with_the_oracle() -> Result<()> {
    let compared = conformance::random_pairs(device().as_ref(), 1 << 30..(1 << 30) + 150)?;
    ensure!(compared.pairs > 1_000 && compared.nodes > 400, "{compared:?}");
    Ok(())
}

/// Names in very many containers, more than are kept while they are counted, in the order of the containers.
#[test]
fn many_members_of_a_name() -> Result<()> {
    let mut text = Vec::new();
    for count in [0, 1, 2, 3, 15, 16, 17, 18, 100] {
        let element = |i| format!(r#"{{"b":{{"a":{i},"a":0}},"\u0061":[{{"a":-{i}}}],"c":"a"}}"#);
        let elements: Vec<String> = (0..count).map(element).collect();
        text.extend(format!("[{}]\n", elements.join(",")).into_bytes());
    }
    for paths in [&["$..a"][..], &["$..a", "$..b"], &["$..c", "$..a", "$..a"]] {
        let queries: Vec<Query> = paths.iter().map(|path| Query::compile(path)).collect::<Result<_, _>>()?;
        let program = Program::new(&queries)?;
        let want: Vec<Vec<_>> = paths
            .iter()
            .map(|path| {
                let found = oracle::query::query(&text, &[], path).found;
                found.into_iter().map(|(_, start, end)| start as usize..end as usize).collect()
            })
            .collect();
        for backend in [&Cpu as &dyn Backend, device().as_ref()] {
            assert_eq!(
                conformance::places(backend, &text, &program)?,
                want,
                "{paths:?} on {}",
                backend.name()
            );
        }
    }
    Ok(())
}

/// Also where the text is no JSON.
#[test]
fn the_kernels_agree_with_the_cpu() -> Result<()> {
    conformance::as_the_cpu(device().as_ref(), 0..120)
}

/// Returns true if `serde_json` reads a value exactly. It keeps the last member of a repeated name; RFC
/// 9535's selector takes the first. A number that equals no double becomes another number.
fn reads_alike(written: &json::Value, read: &Value) -> bool {
    match (&written.kind, read) {
        (Content::Array(written), Value::Array(read)) => {
            written.iter().zip(read).all(|(written, read)| reads_alike(written, read))
        }
        (Content::Object(written), Value::Object(read)) => {
            written.len() == read.len()
                && written.iter().zip(read).all(|((_, written), (_, read))| reads_alike(written, read))
        }
        (Content::Number(written), Value::Number(read)) => *written == Number::parse(&read.to_string()),
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

/// Compares the results of a backend with those of `serde_json_path`.
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
            paths.push((Query::compile(path)?, JsonPath::parse(path).with_context(|| path.to_owned())?));
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
    let emulated = device();
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

/// The normalised path of each value of each record is the oracle's. Values are visited in text order and in
/// reverse.
#[test]
fn values_have_the_oracles_normalised_paths() -> Result<()> {
    let mut count = 0;
    let mut check = |text: &[u8]| {
        let mut want = Vec::new();
        let mut base = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if json::parse(line, 0, line.len()).is_some() {
                let nodes = ["$", "$..*"].into_iter().flat_map(|path| oracle::query::nodes(line, path));
                want.extend(nodes.map(|(range, path)| (base + range.start, path)));
            }
            base += line.len();
        }
        let path_of = |paths: &mut Paths<'_>, start| {
            let mut path = String::new();
            paths.append(start, &mut path);
            path
        };
        let (mut forth, mut back) = (Paths::new(text), Paths::new(text));
        want.iter().for_each(|(start, path)| assert_eq!(path_of(&mut forth, *start), *path));
        want.iter().rev().for_each(|(start, path)| assert_eq!(path_of(&mut back, *start), *path));
        count += want.len();
    };
    for name in
        ["tweets.ndjson", "products.ndjson", "maps.ndjson", "people.ndjson", "edge.ndjson", "crlf.ndjson"]
    {
        check(data::file(name));
    }
    for seed in 0..300 {
        check(&random::json(&mut Rng::new(seed), 2_000));
    }
    ensure!(count > 20_000, "{count} values were compared");
    Ok(())
}

/// A match has its path, whichever backend found it, however the text was cut.
#[test]
fn hits_have_normalised_paths() -> Result<()> {
    let (text, path) = (data::file("tweets.ndjson"), "$.entities.*[*]");
    let query = Query::compile(path)?;
    let mut want = Vec::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        want.extend(oracles_paths(std::str::from_utf8(line)?, path));
    }
    ensure!(want.len() > 20, "{} matches", want.len());
    for backend in backends() {
        for size in [1, 10_000, 1 << 20] {
            let engine = Engine::builder().backend(backend.clone()).partition_size(size).build()?;
            let hits = engine.reader("tweets", Cursor::new(text)).query(&query)?;
            let found: Vec<String> = hits.map(|hit| Ok(hit?.path())).collect::<Result<_>>()?;
            ensure!(found == want, "{}: partitions of {size}", backend.name());
        }
    }
    Ok(())
}

// --- the oracle, of the whole grammar ----------------------------------------------------------------------

/// The normalised paths of what `serde_json_path` selects of a record.
fn others_paths(record: &Value, path: &str) -> Result<Vec<String>> {
    let path = JsonPath::parse(path).with_context(|| path.to_owned())?;
    let shown = |element: &PathElement| match element {
        PathElement::Index(index) => format!("[{index}]"),
        // 0.7 writes a backslash as it is, where section 2.7 has two.
        PathElement::Name(name) => format!("['{}']", name.replace('\\', r"\\").replace('\'', r"\'")),
    };
    let shown = |found: LocatedNode| format!("${}", found.location().iter().map(shown).collect::<String>());
    Ok(path.query_located(record).into_iter().map(shown).collect())
}

/// The normalised paths of what the oracle selects of a record.
fn oracles_paths(record: &str, path: &str) -> Vec<String> {
    oracle::query::nodes(record.as_bytes(), path).into_iter().map(|(_, path)| path).collect()
}

/// A query of which the oracle and `serde_json_path` 0.7 differ.
struct Difference {
    /// The record, and the query over it.
    record: &'static str,
    query: &'static str,
    /// The number of nodes that the oracle and `serde_json_path` find; `None` if the query is refused.
    oracle: Option<usize>,
    other: Option<usize>,
    /// The rule of RFC 9535, and its section.
    rfc: &'static str,
}

/// All ways in which they are known to differ. The random queries below leave them out.
const DIFFERENCES: &[Difference] = &[
    Difference {
        record: "[[1]]",
        query: "$[?@[-1] == 1]",
        oracle: Some(1),
        other: Some(0),
        rfc: "2.3.3.2: a negative index counts from the array end backwards",
    },
    Difference {
        record: "[[1]]",
        query: "$[?count(@[-1]) == 1]",
        oracle: Some(1),
        other: Some(0),
        rfc: "2.3.3.2: a negative index counts from the array end backwards",
    },
    Difference {
        record: "[1]",
        query: "$[?@.a <= @.b]",
        oracle: Some(1),
        other: Some(0),
        rfc: "2.3.5.2.2: a <= b is true if a < b or a == b, and == of two empty node lists is true",
    },
    Difference {
        record: "[true]",
        query: "$[?@ > false]",
        oracle: Some(0),
        other: Some(1),
        rfc: "2.3.5.2.2: < is true of two numbers or two strings only, and a > b is b < a",
    },
    Difference {
        record: "[[1]]",
        query: "$[?@ >= $]",
        oracle: Some(0),
        other: Some(1),
        rfc: "2.3.5.2.2: < is true of two numbers or two strings only, and a >= b is b < a or a == b",
    },
    Difference {
        record: "[[1], [1.0]]",
        query: "$[?@ == $[0]]",
        oracle: Some(2),
        other: Some(1),
        rfc: "2.3.5.2.2: arrays are equal if the elements are, and numbers by their value",
    },
    Difference {
        record: "[9007199254740993]",
        query: "$[?@ == 9007199254740992]",
        oracle: Some(0),
        other: Some(1),
        rfc: "2.3.5.2.2: numbers that I-JSON does not expect to interoperate may compare in another way; ours are exact",
    },
    Difference {
        record: r#"["]"]"#,
        query: "$[?match(@, ']')]",
        oracle: Some(0),
        other: Some(1),
        rfc: "2.4.6: if the second argument is not a string that conforms to RFC 9485, the result is LogicalFalse",
    },
    Difference {
        record: r#"["1"]"#,
        query: r"$[?search(@, '\\d')]",
        oracle: Some(0),
        other: Some(1),
        rfc: "2.4.7: if the second argument is not a string that conforms to RFC 9485, the result is LogicalFalse",
    },
    Difference {
        record: r#"["&"]"#,
        query: "$[?match(@, '[a&&b]')]",
        oracle: Some(1),
        other: Some(0),
        rfc: "2.4.6, and RFC 9485 section 3: `&` is a CCchar like any other",
    },
    Difference {
        record: r#"{"a": 1}"#,
        query: "$ ..a",
        oracle: Some(1),
        other: None,
        rfc: "2.1.1: segments = *(S segment)",
    },
    Difference {
        record: r#"{"\ud83d\ude00": 1}"#,
        query: r"$['\ud83d\ude00']",
        oracle: Some(1),
        other: None,
        rfc: "2.3.1.1: hexadecimal digits of either case, also of surrogates",
    },
    Difference {
        record: "[10e399]",
        query: "$[?@ == 1e400]",
        oracle: Some(1),
        other: None,
        rfc: "2.3.5.1: number = (int / \"-0\") [ frac ] [ exp ]",
    },
    Difference {
        record: "[[1]]",
        query: "$[?@[ 0 ] == 1]",
        oracle: None,
        other: Some(1),
        rfc: "2.3.5.1: index-segment = \"[\" index-selector \"]\", without white space",
    },
];

/// A query without white space before `..`, which 0.7 does not parse. Strings of [`random::query`] contain no
/// `..`.
fn unspaced(query: &str) -> String {
    let mut parts = query.split("..").peekable();
    let mut out = String::new();
    while let Some(part) = parts.next() {
        out.push_str(if parts.peek().is_some() { part.trim_end() } else { part });
        out.push_str(if parts.peek().is_some() { ".." } else { "" });
    }
    out
}

/// A value with its numbers as RFC 9535 compares them: where 1.0 is written, 1.
fn plain_numbers(value: &Value) -> Value {
    match value {
        Value::Array(elements) => elements.iter().map(plain_numbers).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), plain_numbers(value))).collect()
        }
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 1e15 => Value::from(float as i64),
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}

/// Returns true if `serde_json_path` 0.7 is known to differ from the oracle for a part of a query, as in
/// [`DIFFERENCES`].
fn differs(query: &Tree) -> bool {
    selectors(query).any(|selector| match selector {
        Selector::Filter(expr) => expr_differs(expr),
        _ => false,
    })
}

fn selectors(query: &Tree) -> impl Iterator<Item = &Selector> {
    query.segments.iter().flat_map(|(Segment::Child(selectors) | Segment::Descendant(selectors))| selectors)
}

fn expr_differs(expr: &Logical) -> bool {
    match expr {
        Logical::Or(exprs) | Logical::And(exprs) => exprs.iter().any(expr_differs),
        Logical::Not(expr) => expr_differs(expr),
        Logical::Exists(query) => differs(query),
        Logical::Match(subject, pattern) | Logical::Search(subject, pattern) => {
            // A string of the record is seldom an I-Regexp, and often what 0.7 takes for one.
            operand_differs(subject) || !is_literal(pattern)
        }
        // They are Warpath's own.
        Logical::Text(..) | Logical::Cidr(..) => true,
        Logical::Comparison(left, op, right) => {
            let ordered = !matches!(op, Operator::Equal | Operator::NotEqual);
            let open = !is_number_or_string(left) && !is_number_or_string(right);
            operand_differs(left) || operand_differs(right) || (ordered && open)
        }
    }
}

/// An index from the end in a singular query, also where that is an argument.
fn operand_differs(operand: &Comparable) -> bool {
    let from_end = |query| selectors(query).any(|selector| matches!(selector, Selector::Index(..0)));
    match operand {
        Comparable::Singular(query) => from_end(query),
        Comparable::Length(operand) => operand_differs(operand),
        Comparable::Count(query) | Comparable::Value(query) => {
            differs(query) || is_singular(query) && from_end(query)
        }
        _ => false,
    }
}

/// Returns true if a query has child segments of one name or index only.
fn is_singular(query: &Tree) -> bool {
    query.segments.iter().all(|segment| {
        matches!(segment, Segment::Child(selectors)
            if matches!(selectors[..], [Selector::Name(_) | Selector::Index(_)]))
    })
}

fn is_literal(operand: &Comparable) -> bool {
    matches!(operand, Comparable::Number(_) | Comparable::String(_) | Comparable::Bool(_) | Comparable::Null)
}

/// Returns true if an operand is a number or a string for every record.
fn is_number_or_string(operand: &Comparable) -> bool {
    matches!(operand, Comparable::Number(_) | Comparable::String(_) | Comparable::Count(_))
}

#[test]
fn serde_json_path_differs_as_is_known() {
    for Difference { record, query, oracle, other, rfc } in DIFFERENCES {
        let oracles = grammar::parse(query).map(|_| oracles_paths(record, query).len());
        assert_eq!(oracles, *oracle, "{query}: {rfc}");
        // If `serde_json` cannot read the record, no path is evaluated over it.
        let value = serde_json::from_str(record).unwrap_or_default();
        let others = others_paths(&value, query).ok().map(|paths| paths.len());
        assert_eq!(others, *other, "{query}: {rfc}");
    }
}

/// The nodes that the oracle finds, their order and their paths, by random queries of the whole grammar.
#[test]
fn serde_json_path_agrees_with_the_oracle() -> Result<()> {
    let (mut pairs, mut selected, mut filtered, mut left_out) = (0, 0, 0, 0);
    for seed in 0..6000 {
        let rng = &mut Rng::new(2 << 32 | seed);
        let (text, values) = common(&random::json(rng, 300));
        let text = String::from_utf8(text)?;
        for _ in 0..4 {
            let query = random::query(rng);
            let parsed = grammar::parse(&query).with_context(|| query.clone())?;
            if differs(&parsed) {
                left_out += 1;
                continue;
            }
            for (record, value) in text.lines().zip(&values) {
                let got = oracles_paths(record, &query);
                let want = others_paths(&plain_numbers(value), &unspaced(&query))?;
                ensure!(got == want, "seed {seed}: {query:?} of {record}: {got:?}, not {want:?}");
                pairs += 1;
                selected += got.len();
                filtered += usize::from(query.contains('?') && !got.is_empty());
            }
        }
    }
    println!(
        "{pairs} pairs, {selected} nodes, {filtered} pairs with filters select some, {left_out} queries left out"
    );
    ensure!(
        pairs > 100_000 && selected > 40_000 && filtered > 3_000,
        "{pairs} pairs, {selected} nodes, {filtered} filtered"
    );
    Ok(())
}
