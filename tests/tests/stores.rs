//! Stores: every byte of the lines comes back, and queries over a part or a folder have the results of the
//! text.

mod filters;
mod schemas;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};

use anyhow::{Context, Result, ensure};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use warpath::columns::{OffsetWidth, Schema};
use warpath::store::{AddOptions, Added, Store};
use warpath::{
    Engine, Error, InputError, OnError, Predicate, Program, Query, RowForm, Source, StoreError, TextForm,
    Want,
};
use warpath_answer::backend::Backend;
use warpath_random::cases;
use warpath_tests::data::{BOUNDARY_LINES, FILES, file, paths_of};
use warpath_tests::random::{self, Rng};
use warpath_tests::results::{WantedColumn, compare_columns, every_type};

use crate::common::backends;
use crate::index_files::{All, ask, cpu};
use crate::predicates;

fn reader(name: &str, text: &[u8]) -> Source {
    Source::Reader(name.to_owned(), Box::new(std::io::Cursor::new(text.to_vec())))
}

fn add(path: &Path, sources: Vec<Source>, group: usize) -> Result<Added, Error> {
    Store::add(path, sources, AddOptions::default().group_bytes(group), &mut |_| {})
}

/// All text of a store, or of a part.
fn text_of(path: &Path) -> Result<Vec<u8>, Error> {
    let mut all = Vec::new();
    Store::open(path)?.text(0..u64::MAX, &mut |text| {
        all.extend_from_slice(text);
        true
    })?;
    Ok(all)
}

/// Texts one after the other. Lines between them that lack the newline get one.
fn joined<T: AsRef<[u8]>>(texts: &[T]) -> Vec<u8> {
    let mut all: Vec<u8> = Vec::new();
    for text in texts.iter().map(AsRef::as_ref).filter(|text| !text.is_empty()) {
        if all.last().is_some_and(|last| *last != b'\n') {
            all.push(b'\n');
        }
        all.extend_from_slice(text);
    }
    all
}

/// A folder with stores of the same lines.
struct Case {
    folder: tempfile::TempDir,
    texts: Vec<Vec<u8>>,
}

impl Case {
    /// One store has a part for each text that is not empty, and another one has one part for all.
    fn new(texts: &[&[u8]], group: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let texts: Vec<Vec<u8>> =
            texts.iter().filter(|text| !text.is_empty()).map(|text| text.to_vec()).collect();
        let case = Self { folder, texts };
        for (at, text) in case.texts.iter().enumerate() {
            add(&case.path("parts"), vec![reader(&format!("text {at}"), text)], group).unwrap();
        }
        add(&case.path("one"), vec![reader("text", &joined(&case.texts))], group).unwrap();
        assert_eq!(case.parts("parts").len(), case.texts.len());
        assert_eq!(case.parts("one").len(), 1);
        case
    }

    /// One that has the store `compacted`, too: that with many parts, with its parts merged.
    fn with_compacted(self, group: usize) -> Self {
        for text in &self.texts {
            add(&self.path("compacted"), vec![reader("text", text)], group).unwrap();
        }
        let total = Store::compact(self.path("compacted")).unwrap();
        assert_eq!((total.parts_before, total.parts_after), (self.texts.len(), 1));
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn parts(&self, name: &str) -> Vec<PathBuf> {
        let path = self.path(name);
        Store::open(&path).unwrap().parts().unwrap().iter().map(|part| path.join(&part.name)).collect()
    }

    /// The texts of a store's parts, as inputs that have the names of the parts.
    fn texts(&self, name: &str) -> Vec<Source> {
        let parts = self.parts(name);
        let names = parts.iter().map(|part| part.display().to_string());
        match parts.len() {
            1 => names.map(|name| reader(&name, &joined(&self.texts))).collect(),
            _ => names.zip(&self.texts).map(|(name, text)| reader(&name, text)).collect(),
        }
    }

    fn sources(&self, name: &str) -> Vec<Source> {
        Store::open(self.path(name)).unwrap().sources()
    }
}

/// An engine, and what it evaluates.
struct Evaluated {
    engine: Engine,
    program: Program,
    predicate: Option<Predicate>,
    want: Want,
}

impl Evaluated {
    fn new(backend: &Arc<dyn Backend>, on_error: OnError, program: &Program, want: Want) -> Self {
        let builder = Engine::builder().backend(backend.clone()).on_error(on_error).workers(2);
        let engine = builder.partition_size(3000).build().unwrap();
        Self { engine, program: program.clone(), predicate: None, want }
    }

    fn results(&self, sources: Vec<Source>) -> All {
        let mut input = self.engine.input(sources);
        if let Some(predicate) = &self.predicate {
            input = input.matching(predicate);
        }
        ask(input, &self.program, self.want).without_offsets()
    }

    /// Compares the results of a store with those of its text: of all whole records, of some of these, and
    /// of their members.
    fn compare(&mut self, case: &Case, store: &str) -> Result<()> {
        let wanted = self.results(case.texts(store));
        let want = self.want;
        for read in [want, want.sparse(true), want.partial(true)] {
            self.want = read;
            let found = self.results(case.sources(store));
            ensure!(found == wanted, "{:?} over `{store}`: {found:?}, not {wanted:?}", self.want);
        }
        self.want = want;
        Ok(())
    }
}

const ALL: Want = Want::new().matches(true).records(true).text(TextForm::Json).rows(RowForm::Ndjson);
const WANTS: [Want; 4] = [Want::new(), ALL, Want::new().text(TextForm::Raw), Want::new().rows(RowForm::Csv)];
const STORES: [&str; 3] = ["one", "parts", "compacted"];

fn compiled<S: AsRef<str>>(paths: &[S]) -> Result<Vec<Query>> {
    paths.iter().map(|path| Ok(Query::compile(path.as_ref())?)).collect()
}

/// Halves of a text, cut at a line, and a line that lacks its newline between them.
fn halves(text: &[u8]) -> [&[u8]; 2] {
    let at = text.iter().skip(text.len() / 2).position(|byte| *byte == b'\n');
    let at = at.map_or(text.len(), |at| text.len() / 2 + at);
    [&text[..at], text.get(at + 1..).unwrap_or_default()]
}

/// A text without its byte order mark, unless it is the first one.
fn without_mark<'a>((at, text): (usize, &&'a [u8])) -> &'a [u8] {
    if at == 0 { text } else { text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text) }
}

fn is_exact(texts: &[&[u8]], group: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (once, often) = (folder.path().join("once"), folder.path().join("often"));
    // The newline after an input that lacks it is in no part.
    let text_bytes = texts.iter().map(|text| text.len() as u64).sum::<u64>();
    // Of byte order marks, that of the text alone comes back.
    let want = joined(&texts.iter().enumerate().map(without_mark).collect::<Vec<_>>());
    let sources = texts.iter().map(|text| reader("text", text)).collect();
    let added = add(&once, sources, group)?;
    for text in texts {
        add(&often, vec![reader("text", text)], group)?;
    }
    let lines = want.split_inclusive(|byte| *byte == b'\n').count() as u64;
    ensure!((added.lines, added.text_bytes) == (lines, text_bytes), "{added:?}: {lines} lines");
    for path in [&once, &often] {
        let store = Store::open(path)?;
        store.verify()?;
        ensure!(store.lines()? == lines, "{} lines of {lines}", store.lines()?);
        ensure!(text_of(path)? == want, "{}", path.display());
    }
    Ok(())
}

#[test]
fn every_byte_comes_back() -> Result<()> {
    let files: Vec<&[u8]> = FILES.iter().map(|(_, text)| *text).collect();
    for (name, text) in FILES {
        for group in [text.len() / 3, 1 << 20] {
            is_exact(&halves(text), group).with_context(|| format!("{name}, groups of {group} bytes"))?;
        }
    }
    is_exact(&files, 1 << 20)?;
    is_exact(&[BOUNDARY_LINES.join("\n").as_bytes(), &[], b"\xef\xbb\xbf{\"a\":1}\n", b"\n\n", b"x"], 1)?;
    let mut rng = Rng::new(1);
    let (mut texts, mut lines) = (Vec::new(), 0);
    while lines < cases(10_000) {
        let mut text = match rng.below(3) {
            0 => random::odd_lines(&mut rng, 200),
            1 => random::json(&mut rng, 5000),
            _ => objects(&mut rng, 200),
        };
        if rng.below(4) == 0 {
            random::mutate(&mut rng, &mut text, 20);
        }
        // Some first bytes are those of other formats, which are refused.
        text.splice(..0, *b"{}\n");
        lines += text.split(|byte| *byte == b'\n').count();
        texts.push(text);
    }
    for (at, texts) in texts.chunks(8).enumerate() {
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let group = [1 << 20, 100_000][at % 2];
        is_exact(&texts, group).with_context(|| format!("random texts {at}, groups of {group} bytes"))?;
    }
    Ok(())
}

#[test]
#[cfg_attr(
    not(json_test_suite),
    ignore = "no ../shared/conformance/JSONTestSuite beside the project, nor WARPATH_CONFORMANCE"
)]
fn the_texts_of_json_test_suite_come_back() -> Result<()> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(env!("WARPATH_JSON_TEST_SUITE"))? {
        let text = fs::read(entry?.path())?;
        texts.push([b"{\"a\":", &text[..], b"}"].concat());
        texts.push(text);
    }
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let all = joined(&texts);
    is_exact(&[&all], 1 << 20)?;
    is_exact(&[&all], 20_000)?;
    let case = Case::new(&[&all], 50_000);
    for strict in [false, true] {
        same_faults(&case, &cpu(), strict, "one")?;
    }
    Ok(())
}

/// Lines that are objects, most of them with members of the same names.
fn objects(rng: &mut Rng, lines: usize) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..lines {
        let value = random::json(rng, 20);
        let value = value.trim_ascii().split(|byte| *byte == b'\n').next().unwrap_or_default();
        let value = if value.trim_ascii().is_empty() { b"null" } else { value };
        let name = rng.pick(&["a", "b", "c", "lang", "a\\\"b"]);
        text.extend_from_slice(format!("{{\"{name}\":").as_bytes());
        text.extend_from_slice(value.trim_ascii());
        if rng.below(2) == 0 {
            let more = [",\"b\":{\"a\":[1,{\"b\":2}]}", ",\"a\":\"x\"", ",\"lang\":null", ", \"c\": [] "];
            text.extend_from_slice(rng.pick(&more).as_bytes());
        }
        text.extend_from_slice(b"}\n");
    }
    text
}

#[test]
fn queries_have_the_results_of_the_text() -> Result<()> {
    for (number, (name, text)) in FILES.iter().filter(|(_, text)| !text.is_empty()).enumerate() {
        let group = text.len() / 4;
        let case = Case::new(&halves(text), group).with_compacted(group);
        let mut paths = paths_of(name);
        paths.extend(["$", "$.*", "$.a", "$.id", "$..a"]);
        paths.retain(|path| Query::compile(path).is_ok());
        let is_small = text.len() < 60_000;
        for (backend, is_cpu) in backends().iter().zip([true, false]).take(1 + usize::from(is_small)) {
            let all = Program::new(&compiled(&paths)?)?;
            for (at, want) in WANTS.into_iter().enumerate().filter(|(at, _)| is_cpu || *at == 1) {
                // A large file takes longer on the emulated device.
                let stores = if is_cpu && at < 2 || text.len() < 10_000 { 0..3 } else { 0..1 };
                for store in stores.map(|store| STORES[(store + at + number) % 3]) {
                    for on_error in [OnError::Skip, OnError::Fail].into_iter().take(1 + usize::from(at < 2)) {
                        let mut run = Evaluated::new(backend, on_error, &all, want);
                        run.compare(&case, store).with_context(|| format!("{name} on {}", backend.name()))?;
                    }
                }
            }
        }
        for (at, path) in paths.iter().enumerate() {
            let program = Program::new(&compiled(&[path])?)?;
            for (want, store) in [(Want::new(), STORES[at % 2]), (ALL, STORES[(at + 1) % 2])] {
                if is_small || (want == ALL) == (at % 3 == 0) {
                    Evaluated::new(&cpu(), OnError::Skip, &program, want)
                        .compare(&case, store)
                        .context(*name)?;
                }
            }
        }
        for count in paths.iter().filter(|_| is_small) {
            let engine = Engine::builder().on_error(OnError::Skip).backend(cpu()).build()?;
            let query = Query::compile(count)?;
            let of = |sources| engine.input(sources).count(&query);
            ensure!(of(case.sources("one"))? == of(case.texts("one"))?, "{name} {count}");
        }
    }
    Ok(())
}

#[test]
fn columns_have_the_values_of_the_text() -> Result<()> {
    for (name, text) in FILES.iter().filter(|(_, text)| !text.is_empty()) {
        let case = Case::new(&halves(text), text.len() / 4);
        let paths = paths_of(name);
        let own: Vec<&str> = paths.into_iter().filter(|path| Query::compile(path).is_ok()).take(2).collect();
        for paths in [&own[..], &["$", "$.a"], &["$.id", "$.*"]] {
            if paths.is_empty() {
                continue;
            }
            let asked = every_type(paths)?;
            let schema = Schema::new(&asked)?.with_offsets(OffsetWidth::Small);
            for (store, on_error) in [("one", OnError::Skip), ("parts", OnError::Fail)] {
                let texts = if store == "one" { vec![joined(&case.texts)] } else { case.texts.clone() };
                let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
                let wanted = WantedColumn::of_texts(&texts, &asked, on_error == OnError::Fail)?;
                for backend in backends().into_iter().take(if text.len() > 10_000 { 1 } else { 2 }) {
                    let builder = Engine::builder().backend(backend).partition_size(3000);
                    let engine = builder.on_error(on_error).build()?;
                    let columns = engine.input(case.sources(store)).columns(&schema);
                    let batches: Vec<_> = columns.map_while(Result::ok).collect();
                    compare_columns(&batches, &asked, &wanted, schema.width(), false)
                        .with_context(|| format!("{name} {paths:?}, {store}"))?;
                }
            }
        }
    }
    Ok(())
}

/// Compares the errors of malformed lines.
fn same_faults(case: &Case, backend: &Arc<dyn Backend>, strict: bool, store: &str) -> Result<()> {
    for paths in [&["$.a"][..], if store == "one" { &["$"] } else { &["$..a", "$"] }] {
        for on_error in [OnError::Skip, OnError::Fail] {
            let program = Program::new(&compiled(paths)?)?;
            let mut run = Evaluated::new(backend, on_error, &program, Want::new().records(true));
            let builder = Engine::builder().backend(backend.clone()).on_error(on_error).strict(strict);
            run.engine = builder.partition_size(3000).build()?;
            run.compare(case, store).with_context(|| format!("strict: {strict}"))?;
        }
    }
    Ok(())
}

#[test]
fn malformed_lines_have_the_errors_of_the_text() -> Result<()> {
    let lines = BOUNDARY_LINES.join("\n");
    let case = Case::new(&[file("bad.ndjson"), lines.as_bytes(), file("crlf.ndjson"), b"{\"a\":[1}"], 1500);
    for backend in backends() {
        for store in ["one", "parts"] {
            for strict in [false, true] {
                same_faults(&case, &backend, strict, store)?;
            }
        }
    }
    Ok(())
}

#[test]
fn predicates_match_the_records_of_the_text() -> Result<()> {
    let texts = [false, true].map(predicates::text_of_lines);
    let case = Case::new(&[texts[0].as_bytes(), texts[1].as_bytes()], 500);
    let mut rng = Rng::new(5);
    let program = Program::new(&compiled(&["$.a", "$..d"])?)?;
    for (backend, count) in backends().iter().zip([cases(120), cases(6)]) {
        for round in 0..count {
            let predicate = predicates::predicate(&mut rng, 2).0;
            let want = WANTS[1 - round % 2];
            let mut run = Evaluated::new(backend, OnError::Fail, &program, want);
            run.predicate = Some(Predicate::parse(&predicate)?);
            run.compare(&case, STORES[round % 2]).context(predicate)?;
        }
    }
    let case = Case::new(&halves(file("tweets.ndjson")), 50_000);
    let program = Program::new(&compiled(&["$.id", "$.user.lang"])?)?;
    for (round, predicate) in [
        "$.user.lang == 'nl'",
        "$.retweeted_status is missing",
        "count($.entities.urls[*]) > 0 and not $.lang in ('en', 'ja')",
        "search($.text, 'a.*e') or $.user.followers_count between 10 and 1000",
        "icontains($.user.name, 'AN') or $.text like '%\\\\_%' or contains($.text, 'rt @')",
        "starts_with($.text, 'RT @') and not iends_with($.user.lang, 'N')",
        "time($.created_at, '%a %b %d %H:%M:%S %z %Y') < now() - 5w and $.user.name ilike '%a%'",
        "$..lang",
    ]
    .into_iter()
    .enumerate()
    {
        let mut run = Evaluated::new(&cpu(), OnError::Skip, &program, ALL);
        run.predicate = Some(Predicate::parse(predicate)?);
        run.compare(&case, STORES[round % 2]).context(predicate)?;
    }
    Ok(())
}

/// The lines of a text, with blank and malformed ones, repeated names, and a line that only strict checks
/// refuse.
fn mixed(rng: &mut Rng, lines: usize) -> Vec<u8> {
    let odd: [&[u8]; 8] = [
        b"",
        b" \r",
        b"{\"a\":1",
        b"{\"a\":1,\"a\":2}",
        b"{\"a\":1} x",
        b"[{\"a\":1}]",
        b"{\"a\":\"\xff\",\"b\":1}",
        b"{\"a\":01}",
    ];
    let mut text = Vec::new();
    for _ in 0..lines {
        match rng.below(12) {
            0 => text.extend_from_slice(rng.pick(&odd)),
            1 => text.extend_from_slice(objects(rng, 1).trim_ascii_end()),
            _ => {
                let (a, b) = (rng.below(30), rng.pick(&["x", "y", "\\u0079", "long\\n"]));
                let space = rng.pick(&["", " "]);
                text.extend_from_slice(format!("{{\"a\":{space}{a},\"c\":{{\"b\":\"{b}\"}}}}").as_bytes());
            }
        }
        text.push(b'\n');
    }
    text
}

const MIXED: [&str; 15] = [
    "$.a == 7",
    "$.a > 28 && $.c.b == 'y'",
    "$.a == 3 || $.c.b == 'x'",
    "$.a in (1, 2, 40) || $.a is null || $.b",
    "!($.a < 25) && $.c",
    "!($.c.b == 'x' || $.a > 3)",
    "not ($.a between 2 and 29 and $.c.b != 'y')",
    "$.a == 1000",
    "$.a is missing",
    "match($.c.b, 'l.*') && $.a < 9",
    "search($.c.b, 'y|x') && !($.c.b == 'x')",
    "icontains($.c.b, 'Y') or $.c.b like '%x_' and $.a < 20",
    "starts_with($.c.b, 'x') && not ends_with($.c.b, 'y')",
    "not cidr($.c.b, '10.0.0.0/8') and $.a in (2, 3)",
    "length($.c.b) > 1 || $.lang == null",
];

/// All lines of some groups, few of others, and none of many.
#[test]
fn lines_that_match_are_those_of_the_text() -> Result<()> {
    let mut rng = Rng::new(8);
    for round in 0..cases(2) {
        let texts = [mixed(&mut rng, 120), objects(&mut rng, 20), mixed(&mut rng, 60)];
        let last = [&texts[2][..], b"{\"a\":7}"].concat();
        let case = Case::new(&[&texts[0], &texts[1], &last], [400, 2500][round % 2]);
        for (at, predicate) in MIXED.into_iter().enumerate() {
            let of_text = Predicate::parse(predicate)?;
            for mode in 0..4 {
                let (strict, on_error) = (mode % 2 == 1, [OnError::Skip, OnError::Fail][mode / 2]);
                let turn = at + round + mode;
                let program = Program::new(&compiled([&["$"][..], &["$.c", "$..b"]][turn % 2])?)?;
                let mut run = Evaluated::new(&cpu(), on_error, &program, WANTS[turn / 2 % 2]);
                let builder = Engine::builder().backend(cpu()).on_error(on_error).strict(strict);
                run.engine = builder.partition_size(3000).build()?;
                run.predicate = Some(of_text.clone());
                let said = || format!("{predicate}, strict: {strict}, {on_error:?}");
                run.compare(&case, STORES[at % 2]).with_context(said)?;
            }
            matching_lines(&case, &of_text, STORES[at % 2])?;
        }
    }
    Ok(())
}

/// Compares the matching lines of a store, and those that are left without them, with those of its text.
fn matching_lines(case: &Case, predicate: &Predicate, store: &str) -> Result<()> {
    let engine = Engine::builder().backend(cpu()).on_error(OnError::Skip).build()?;
    let texts = if store == "one" { vec![joined(&case.texts)] } else { case.texts.clone() };
    let (mut wanted, mut rest) = (Vec::new(), Vec::new());
    for text in &texts {
        let input = engine.input(vec![reader("text", text)]).matching(predicate);
        let lines: Vec<u64> =
            input.query(&Query::compile("$")?)?.map(|hit| Ok(hit?.line() - 1)).collect::<Result<_>>()?;
        for (at, line) in (0..).zip(text.split_inclusive(|byte| *byte == b'\n')) {
            let to = if lines.contains(&at) { &mut wanted } else { &mut rest };
            to.push(line);
        }
    }
    let mut found = Vec::new();
    Store::open(case.path(store))?.text_matching(&engine, predicate, &mut |text| {
        found.extend_from_slice(text);
        true
    })?;
    ensure!(found == joined(&wanted), "{predicate:?}: {}", found.escape_ascii());
    let copy = case.path("copy");
    add(&copy, texts.iter().map(|text| reader("text", text)).collect(), 700)?;
    let changed = Store::drop_matching(&copy, &engine, predicate)?;
    ensure!(changed.lines_removed == wanted.len() as u64, "{changed:?}");
    ensure!(text_of(&copy)? == joined(&rest), "{predicate:?}");
    fs::remove_dir_all(copy)?;
    Ok(())
}

/// Random records and random queries. Each record is a pair with each query.
#[test]
fn random_queries_have_the_results_of_the_text() -> Result<()> {
    let mut pairs = 0;
    for seed in 0..cases(14) as u64 {
        let rng = &mut Rng::new(13 << 32 | seed);
        let mut text = objects(rng, 12);
        if seed % 4 == 0 {
            text.extend_from_slice(&random::json(rng, 200));
        }
        let case = Case::new(&halves(&text), [60, 150, 1 << 20][seed as usize % 3]);
        for round in 0..16 {
            let query = if round % 2 == 0 { random::query(rng) } else { random::path(rng) };
            let Ok(compiled) = Query::compile(&query) else { continue };
            let program = Program::new(&[compiled])?;
            let store = STORES[round / 2 % 2];
            // Numbers alone are counted without the values.
            for want in [ALL, Want::new()] {
                Evaluated::new(&cpu(), OnError::Skip, &program, want)
                    .compare(&case, store)
                    .with_context(|| format!("seed {seed}: {}", text.escape_ascii()))?;
            }
            pairs += 12;
        }
    }
    ensure!(pairs > cases(2000), "{pairs} pairs");
    Ok(())
}

/// The selectors of the compliance suite, over all documents of the suite: as lines, and as members.
#[test]
#[cfg_attr(
    not(conformance),
    ignore = "no ../shared/conformance/cts.json beside the project, nor WARPATH_CONFORMANCE"
)]
fn the_compliance_suite_has_the_results_of_the_text() -> Result<()> {
    let tests = warpath_tests::conformance::tests(env!("WARPATH_CTS"))?;
    let (mut lines, mut members, mut queries) = (Vec::new(), Vec::new(), Vec::new());
    for test in &tests {
        let Some((document, _)) = &test.valid else { continue };
        lines.push(document.as_str());
        members.push(format!("{{\"v\":{document}}}"));
        queries.push(Query::compile(&test.selector)?);
        queries.push(Query::compile(&format!("$.v{}", &test.selector[1..]))?);
    }
    lines.sort_unstable();
    lines.dedup();
    members.sort_unstable();
    members.dedup();
    let case = Case::new(&[lines.join("\n").as_bytes(), members.join("\n").as_bytes()], 2000);
    for (at, queries) in queries.chunks(20).enumerate() {
        let mut run =
            Evaluated::new(&cpu(), OnError::Fail, &Program::new(queries)?, Want::new().text(TextForm::Json));
        run.compare(&case, STORES[at % 2])?;
    }
    Ok(())
}

fn refusal(result: Result<impl Sized, Error>) -> String {
    match result {
        Err(Error::Store(StoreError::Refused { reason, .. })) => reason,
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("it is not refused"),
    }
}

#[test]
fn inputs_are_added_once() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let files = |names: &[&str]| names.iter().map(|name| Source::File(path(name))).collect();
    fs::write(path("a"), "{\"a\":1}\n")?;
    fs::write(path("b"), "{\"b\":1}")?;
    // A missing input leaves no folder.
    let Err(Error::Input(InputError::Io { .. })) = add(&path("store"), files(&["a", "none"]), 100) else {
        panic!("a file that is not there");
    };
    ensure!(!path("store").exists());
    let added = add(&path("store"), files(&["a", "a"]), 100)?;
    ensure!((added.lines, added.parts, added.known.len()) == (1, 1, 1), "{added:?}");
    let added = add(&path("store"), files(&["b", "a"]), 100)?;
    ensure!((added.lines, &added.known[..]) == (1, &[path("a").display().to_string()][..]), "{added:?}");
    let version = Store::open(path("store"))?.version();
    let added = add(&path("store"), files(&["a", "b"]), 100)?;
    ensure!((added.lines, added.parts, added.known.len()) == (0, 0, 2), "{added:?}");
    ensure!(Store::open(path("store"))?.version() == version);
    ensure!(Store::open(path("store"))?.inputs().len() == 2);
    for changed in ["{\"a\":2}\n", "{\"a\":2}\n{\"a\":2}\n", ""] {
        fs::write(path("a"), changed)?;
        let said = refusal(add(&path("store"), files(&["a"]), 100));
        ensure!(!said.is_empty());
        ensure!(text_of(&path("store"))? == b"{\"a\":1}\n{\"b\":1}");
    }
    // Of a file that has grown, the new lines are added. A last line that had not ended is replaced.
    for (name, before, after) in [("g", "{\"g\":1}\n", "{\"g\":2}\n"), ("h", "{\"h\":1}", "2\n")] {
        fs::write(path(name), before)?;
        let store = path(&format!("of {name}"));
        add(&store, files(&[name]), 100)?;
        fs::write(path(name), [before, after].concat())?;
        let added = add(&store, files(&[name]), 100)?;
        ensure!(added.lines == 1 && text_of(&store)? == [before, after].concat().as_bytes(), "{name}");
    }
    // A part is an input of lines, and a table of another program is not.
    let part = path("store").join(&Store::open(path("store"))?.parts()?[0].name);
    add(&path("copy"), vec![Source::File(part.clone()), reader("b", b"{\"b\":7}\n")], 100)?;
    ensure!(text_of(&path("copy"))? == b"{\"a\":1}\n{\"b\":7}\n");
    let mut cut = fs::read(&part)?;
    cut.truncate(cut.len() - 1);
    fs::write(path("cut"), cut)?;
    let Err(Error::Input(InputError::Foreign { .. })) = add(&path("copy"), files(&["cut"]), 100) else {
        panic!("a part that is cut");
    };
    // A folder of other files is not taken for one.
    fs::create_dir(path("other"))?;
    fs::write(path("other").join("file"), "")?;
    ensure!(refusal(add(&path("other"), files(&["b"]), 100)).contains("is no store"));
    ensure!(refusal(Store::open(path("other")).map(drop)).len() > 10);
    // An input that fails leaves the store as it was, without a file more.
    let names = || -> Vec<_> { fs::read_dir(path("store")).unwrap().map(|e| e.unwrap().path()).collect() };
    let before = names();
    let failing = std::io::Read::chain(&b"{\"c\":1}\n"[..], Failing);
    let sources = vec![reader("c", b"{\"c\":0}\n"), Source::Reader("d".into(), Box::new(failing))];
    let Err(Error::Input(_)) = add(&path("store"), sources, 1) else { panic!("the reader fails") };
    ensure!(names() == before);
    ensure!(text_of(&path("store"))? == b"{\"a\":1}\n{\"b\":1}");
    Ok(())
}

struct Failing;

impl std::io::Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("broken"))
    }
}

#[test]
fn writers_at_the_same_time() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("store");
    let same = folder.path().join("same");
    fs::write(&same, "{\"same\":1}\n")?;
    for round in 0..8 {
        let barrier = Barrier::new(2);
        let texts = [0, 1].map(|writer| {
            let line = |line| format!("{{\"round\":{round},\"writer\":{writer},\"line\":{line}}}\n");
            (0..30).map(line).collect::<String>()
        });
        let before = if path.exists() { text_of(&path)? } else { Vec::new() };
        let results: Vec<Result<Added, Error>> = std::thread::scope(|scope| {
            let writers = texts.each_ref().map(|text| {
                let (path, barrier) = (&path, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    add(path, vec![reader("text", text.as_bytes())], 200)
                })
            });
            writers.map(|writer| writer.join().unwrap()).into()
        });
        for result in results {
            ensure!(result?.lines == 30);
        }
        let all = text_of(&path)?;
        let either = [texts.concat(), [texts[1].as_str(), &texts[0]].concat()];
        ensure!(either.iter().any(|text| all == [&before, text.as_bytes()].concat()), "round {round}");
    }
    // The same file: one adds it, and the other one either sees that or fails.
    let barrier = Barrier::new(2);
    let results: Vec<Result<Added, Error>> = std::thread::scope(|scope| {
        let writers = [(); 2].map(|()| {
            scope.spawn(|| {
                barrier.wait();
                add(&path, vec![Source::File(same.clone())], 200)
            })
        });
        writers.map(|writer| writer.join().unwrap()).into()
    });
    ensure!(results.iter().flatten().map(|added| added.lines).sum::<u64>() == 1, "{results:?}");
    for error in results.into_iter().filter_map(Result::err) {
        ensure!(matches!(error, Error::Store(StoreError::Refused { .. })), "{error:?}");
    }
    ensure!(text_of(&path)?.ends_with(b"{\"same\":1}\n"));
    Store::open(&path)?.verify()?;
    Ok(())
}

#[test]
fn changes_keep_the_other_lines() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("store");
    // The second part has no line to remove, and the fourth has no other.
    let texts = [
        "{\"n\":1}\n{\"n\": 20}\n\n{\"n\":\n[20]\n",
        "{\"n\":2}\n\x01\n{\"n\":3}",
        "{\"n\":30}\n{\"n\":4}\n20\n{\"n\":99}",
        "{\"n\":11}\n",
        "{\"n\":12}\n{\"m\":5}",
    ];
    for text in texts {
        add(&path, vec![reader("text", text.as_bytes())], 8)?;
    }
    ensure!(text_of(&path)? == joined(&texts));
    let engine = Engine::builder().on_error(OnError::Skip).build()?;
    let total = Store::drop_matching(&path, &engine, &Predicate::parse("$.n > 10")?)?;
    ensure!((total.lines_removed, total.parts_before, total.parts_after) == (5, 4, 3), "{total:?}");
    let rest = joined(&["{\"n\":1}\n\n{\"n\":\n[20]\n", texts[1], "{\"n\":4}\n20\n", "{\"m\":5}"]);
    let found = text_of(&path)?;
    ensure!(found == rest, "{}", found.escape_ascii());
    let version = Store::open(&path)?.version();
    let total = Store::drop_matching(&path, &engine, &Predicate::parse("$.n > 10")?)?;
    ensure!(total == warpath::store::Rewritten::default());
    ensure!(Store::open(&path)?.version() == version);

    let total = Store::compact(&path)?;
    ensure!((total.parts_before, total.parts_after) == (4, 1), "{total:?}");
    ensure!(text_of(&path)? == rest);
    add(&path, vec![reader("text", b"{\"late\":true}")], 100)?;
    ensure!(text_of(&path)? == joined(&[&rest[..], b"{\"late\":true}"]));
    Store::compact(&path)?;
    Store::open(&path)?.verify()?;
    ensure!(text_of(&path)? == joined(&[&rest[..], b"{\"late\":true}"]));
    // Without a line there is still a store.
    let engine = Engine::builder().on_error(OnError::Skip).build()?;
    Store::drop_matching(&path, &engine, &Predicate::parse("$.n is missing or $.n >= 0")?)?;
    ensure!(text_of(&path)? == b"\n{\"n\":\n\x01\n");
    Ok(())
}

/// Any lines of a store, cut from its text.
#[test]
fn ranges_of_lines() -> Result<()> {
    let mut rng = Rng::new(6);
    let mut texts = [objects(&mut rng, 20), random::odd_lines(&mut rng, 20), objects(&mut rng, 9)];
    texts[1].splice(..0, *b"{}\n");
    let texts = texts.each_ref().map(Vec::as_slice);
    let case = Case::new(&texts, 300);
    let all = joined(&texts);
    let lines: Vec<&[u8]> = all.split_inclusive(|byte| *byte == b'\n').collect();
    for _ in 0..60 {
        let from = rng.below(lines.len() + 3);
        let to = from + rng.below(20);
        let want = lines[from.min(lines.len())..to.min(lines.len())].concat();
        for store in ["one", "parts"] {
            let mut found = Vec::new();
            Store::open(case.path(store))?.text(from as u64..to as u64, &mut |text| {
                found.extend_from_slice(text);
                true
            })?;
            ensure!(found == want, "lines {from}..{to} of `{store}`: {}", found.escape_ascii());
        }
    }
    Ok(())
}

#[test]
fn parts_of_other_writers_are_refused() -> Result<()> {
    let case = Case::new(&[file("products.ndjson")], 1 << 20);
    let part = &case.parts("one")[0];
    let other = case.path("other.parquet");
    let builder = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(part)?)?;
    // Once with all keys of the part, and once without them.
    let keys = builder.metadata().file_metadata().key_value_metadata().cloned();
    ensure!(keys.as_ref().is_some_and(|keys| !keys.is_empty()));
    let schema = builder.schema().clone();
    let batches: Vec<_> = builder.build()?.collect::<Result<_, _>>()?;
    for keys in [keys, None] {
        let properties = parquet::file::properties::WriterProperties::builder();
        let properties = properties.set_key_value_metadata(keys.clone()).build();
        let mut writer = ArrowWriter::try_new(fs::File::create(&other)?, schema.clone(), Some(properties))?;
        for batch in &batches {
            writer.write(batch)?;
        }
        writer.close()?;
        ensure!(!refusal(Store::open(&other).map(drop)).is_empty());
        let input = Engine::builder().build()?.input(vec![Source::File(other.clone())]);
        let error = input.count(&Query::compile("$.name")?).unwrap_err().to_string();
        ensure!(error.starts_with(&other.display().to_string()), "{error}");
        ensure!(error.contains("Parquet"), "{error}");
    }
    Ok(())
}

/// The matches of a part, or the error.
fn matches(path: &Path, query: &Query) -> Result<Vec<String>, Error> {
    let engine = Engine::builder().backend(cpu()).build()?;
    engine.open(path)?.query(query)?.map(|hit| Ok(hit?.text().into_owned())).collect()
}

#[test]
fn altered_files_are_refused() -> Result<()> {
    let mut rng = Rng::new(7);
    let texts = [file("people.ndjson"), b"{\"a\":1\n\n{\"user\":2}", b"{\"a\":1}\n", b"{\"b\":[]}\n"];
    let case = Case::new(&texts, 2000);
    let (store, text) = (case.path("parts"), joined(&texts));
    let query = Query::compile("$.user.name")?;
    let part = case.parts("parts")[0].clone();
    let wanted = matches(&part, &query)?;
    ensure!(!wanted.is_empty());
    let mut files = vec![part.clone()];
    files.extend(fs::read_dir(store.join("_delta_log"))?.map(|entry| entry.unwrap().path()));
    ensure!(files.len() > 4);
    let mut reported = [0; 2];
    for path in &files {
        let bytes = fs::read(path)?;
        let is_part = *path == part;
        for _ in 0..cases(if is_part { 300 } else { 100 }) {
            let (at, change) = (rng.below(bytes.len()), 1 + rng.below(255) as u8);
            let mut altered = bytes.clone();
            altered[at] ^= change;
            if rng.below(10) == 0 {
                altered.truncate(at);
            }
            fs::write(path, &altered)?;
            let said = || format!("{}: byte {at} xor {change}", path.display());
            match text_of(&store) {
                Ok(found) => ensure!(found == text, "{}: another text", said()),
                Err(Error::Store(_)) => reported[0] += 1,
                Err(error) => return Err(error).with_context(said),
            }
            if is_part {
                match matches(path, &query) {
                    Ok(found) => ensure!(found == wanted, "{}: other matches", said()),
                    Err(Error::Input(_)) => reported[1] += 1,
                    Err(error) => return Err(error).with_context(said),
                }
            }
        }
        fs::write(path, &bytes)?;
    }
    ensure!(reported[0] > cases(400) && reported[1] > cases(100), "{reported:?}");
    ensure!(text_of(&store)? == text);
    Ok(())
}
