//! Checks a backend against RFC 9535: by the JSONPath compliance test suite, and by the oracle over random
//! queries of the whole grammar.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use warpath::{Error, Program, Query, Want};
use warpath_answer::answer::{Answer, Paths};
use warpath_answer::backend::Backend;
use warpath_core::diagnostic::DiagnosticKind;
use warpath_cpu::Cpu;

use crate::oracle::{json, query};
use crate::random::{self, Rng};

/// The byte ranges of one path's matches in a text, in order.
type Places = Vec<Range<usize>>;

/// Returns the byte ranges of the matches of each path of a program. The text must have no faulty line.
///
/// # Errors
/// An error of the backend, or a faulty line.
pub fn places(backend: &dyn Backend, text: &[u8], program: &Program) -> Result<Vec<Places>> {
    let answer = backend.answer(text, program, Want::default().matches(true))?;
    let mut all = vec![Vec::new(); program.paths()];
    for piece in &answer.pieces {
        ensure!(piece.faults.is_empty(), "{:?}", piece.faults);
        for (list, all) in piece.matches.iter().zip(&mut all) {
            let place = |at: u32| (piece.base + at) as usize;
            all.extend(list.iter().map(|found| place(found.start)..place(found.end)));
        }
    }
    Ok(all)
}

/// A test of the compliance suite.
pub struct Test {
    name: String,
    /// The query.
    pub selector: String,
    /// The document, and each right pair of a list of values and a list of normalised paths. The document is
    /// on one line; nothing else in its spelling changes. `None` if the selector is invalid.
    pub valid: Option<(String, Vec<(Value, Value)>)>,
}

/// Reads the tests of a suite from a file.
///
/// # Errors
/// A file that cannot be read, or that is not a compliance suite.
pub fn tests(path: impl AsRef<Path>) -> Result<Vec<Test>> {
    let path = path.as_ref();
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let suite: Value = serde_json::from_str(&text)?;
    let root = json::parse(text.as_bytes(), 0, text.len()).context("the suite is not JSON")?;
    let written = root.member(b"tests").context("no tests")?.children();
    let tests = suite["tests"].as_array().context("no tests")?;
    ensure!(written.len() == tests.len(), "{} and {} tests", written.len(), tests.len());
    let test = |(test, written): (&Value, &json::Value)| {
        let name = test["name"].as_str().context("a test without a name")?.to_owned();
        let selector = test["selector"].as_str().context("a test without a selector")?.to_owned();
        if test["invalid_selector"] == true {
            return Ok(Test { name, selector, valid: None });
        }
        // The document is copied from the text: another parser would change the spelling of numbers.
        let document = written.member(b"document").context("a test without a document")?;
        let document = text[document.start..document.end].replace('\n', " ");
        let wanted = match test["results"].as_array() {
            None => vec![(test["result"].clone(), test["result_paths"].clone())],
            Some(results) => {
                let paths = test["results_paths"].as_array().context("no results_paths")?;
                ensure!(results.len() == paths.len(), "{name}: results and their paths");
                results.iter().cloned().zip(paths.iter().cloned()).collect()
            }
        };
        Ok(Test { name, selector, valid: Some((document, wanted)) })
    };
    tests.iter().zip(written).map(test).collect()
}

/// Runs all tests on a backend and returns their number. A test compares the values, their order and their
/// normalised paths. An invalid selector must be refused.
///
/// # Errors
/// The tests that fail, or an error of the backend.
pub fn compliance(backend: &dyn Backend, tests: &[Test]) -> Result<usize> {
    let mut wrong = Vec::new();
    for Test { name, selector, valid } in tests {
        let mut fault = |what: String| wrong.push(format!("{name}: {selector}: {what}"));
        match (Query::compile(selector), valid) {
            (Err(Error::Query(_)), None) => {}
            (Ok(_), None) => fault("accepted".into()),
            (Err(error), _) => fault(error.to_string()),
            (Ok(query), Some((document, wanted))) => {
                let program = Program::new(&[query])?;
                let found = places(backend, document.as_bytes(), &program)
                    .with_context(|| format!("{name}: {selector}"))?
                    .remove(0);
                let values = found.iter().map(|place| serde_json::from_str(&document[place.clone()]));
                let values: Value = Value::Array(values.collect::<Result<_, _>>()?);
                let mut normalised = Paths::new(document.as_bytes());
                let mut path_of = |place: &Range<usize>| {
                    let mut path = String::new();
                    normalised.append(place.start, &mut path);
                    path
                };
                let paths: Value = found.iter().map(&mut path_of).collect();
                if !wanted.iter().any(|(want, want_paths)| *want == values && *want_paths == paths) {
                    fault(format!("{values} at {paths}"));
                }
            }
        }
    }
    ensure!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(tests.len())
}

/// Counts of the comparisons with the oracle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compared {
    /// Pairs of a record and a query.
    pub pairs: usize,
    /// Nodes that the queries select in these records.
    pub nodes: usize,
    /// Queries that were skipped, because a pattern is too large.
    pub too_large: usize,
}

/// Evaluates random queries of the whole grammar over random records, and compares a backend with the oracle.
///
/// # Errors
/// The first difference, or an error of the backend.
pub fn random_pairs(backend: &dyn Backend, seeds: Range<u64>) -> Result<Compared> {
    let mut compared = Compared::default();
    for seed in seeds {
        let rng = &mut Rng::new(9 << 32 | seed);
        let text = random::json(rng, 400);
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        let is_json =
            |line: &&&[u8]| json::parse(line, 0, line.trim_ascii_end().len()).is_some() || line.is_empty();
        let text: Vec<u8> = lines.iter().filter(is_json).copied().flatten().copied().collect();
        let (mut asked, mut queries) = (Vec::new(), Vec::new());
        while asked.len() < 3 {
            let query = random::query(rng);
            match Query::compile(&query) {
                Ok(compiled) => queries.push(compiled),
                // Some patterns are too large.
                Err(Error::Unsupported(error)) if error.diagnostic().kind == DiagnosticKind::TooLarge => {
                    compared.too_large += 1;
                    continue;
                }
                Err(error) => return Err(error).with_context(|| query),
            }
            asked.push(query);
        }
        // Some seeds evaluate the queries one by one, the others in one program. A program whose paths are
        // all like the following ones is evaluated in its own way.
        for path in ["$..a", "$..lang", "$..a"].into_iter().filter(|_| seed % 3 == 0) {
            asked.push(path.into());
        }
        let mut programs: Vec<Vec<Query>> = match seed % 2 {
            0 => queries.iter().map(|query| vec![query.clone()]).collect(),
            _ => vec![queries],
        };
        if seed % 3 == 0 {
            programs.push(asked[3..].iter().map(|path| Query::compile(path)).collect::<Result<_, _>>()?);
        }
        let mut found = Vec::new();
        for program in programs {
            found.extend(
                places(backend, &text, &Program::new(&program)?)
                    .with_context(|| format!("seed {seed}: {asked:?} of {}", text.escape_ascii()))?,
            );
        }
        for (found, asked) in found.into_iter().zip(&asked) {
            let want = query::query(&text, &[], asked);
            ensure!(want.not_json.is_empty(), "seed {seed}: lines {:?}", want.not_json);
            let want: Places =
                want.found.iter().map(|(_, start, end)| *start as usize..*end as usize).collect();
            ensure!(
                found == want,
                "seed {seed}: {asked} of {}: {found:?}, not {want:?}",
                text.escape_ascii()
            );
            compared.nodes += found.len();
            compared.pairs += text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        }
    }
    Ok(compared)
}

/// Evaluates random queries over random texts, and compares a backend's matches and faults with the CPU's.
/// Most lines of these texts are not JSON.
///
/// # Errors
/// The first difference, or an error of the backend.
pub fn as_the_cpu(backend: &dyn Backend, seeds: Range<u64>) -> Result<()> {
    for seed in seeds {
        let rng = &mut Rng::new(10 << 32 | seed);
        let text = if seed % 2 == 0 {
            random::bytes(rng, 500)
        } else {
            let mut text = random::json(rng, 500);
            random::mutate(rng, &mut text, 3);
            text
        };
        let Ok(query) = Query::compile(&random::query(rng)) else { continue };
        // A descendant segment needs trees, which find more faults than bitmaps.
        let program = Program::new(&[query, Query::compile("$..[0, 'a']")?])?;
        let want = Want::default().matches(true).records(true);
        let (got, cpu) = (backend.answer(&text, &program, want)?, Cpu.answer(&text, &program, want)?);
        let faults = |answer: &Answer| -> Vec<_> {
            answer.pieces.iter().flat_map(|piece| piece.faults.clone()).collect()
        };
        let matches = |answer: &Answer| -> Vec<_> {
            answer.pieces.iter().flat_map(|piece| piece.matches.clone()).collect()
        };
        ensure!(
            faults(&got) == faults(&cpu) && matches(&got) == matches(&cpu),
            "seed {seed}: {} of {}: {:?} and {:?}, not {:?} and {:?}",
            program,
            text.escape_ascii(),
            faults(&got),
            matches(&got),
            faults(&cpu),
            matches(&cpu)
        );
    }
    Ok(())
}
