//! Selected lines: their results are the results of all lines, without those of the other lines.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use warpath::bitmap::RowSet;
use warpath::columns::{ColumnType, Schema};
use warpath::{
    Engine, EngineBuilder, Error, IndexFile, Input, Limit, OnError, Program, Query, RowForm, TextForm, Want,
};
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_shared::units::LineIx;
use warpath_tests::random::{self, Rng};

use crate::common::device;

fn cpu() -> Arc<dyn Backend> {
    Arc::new(Cpu)
}

fn engine(backend: &Arc<dyn Backend>, size: usize) -> EngineBuilder {
    Engine::builder().backend(backend.clone()).partition_size(size).workers(3).find_indexes(false)
}

/// A file, and an index of it that knows where its lines are.
struct Case {
    folder: tempfile::TempDir,
    input: PathBuf,
    index: IndexFile,
    lines: Vec<Vec<u8>>,
}

fn lines_of(text: &[u8]) -> Vec<Vec<u8>> {
    text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

impl Case {
    fn new(text: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("text");
        fs::write(&input, text).unwrap();
        let mark = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let lines = lines_of(&text[mark..]);
        // Partitions of the index begin anywhere in a block of 64 lines.
        let size = 1 + text.len() % 1_500;
        let index = IndexFile::build(&engine(&cpu(), size).build().unwrap(), &input, 1).unwrap();
        Self { folder, input, index, lines }
    }

    fn input(&self, engine: &Engine, selected: &[bool]) -> Result<Input<'static>, Error> {
        engine.open(&self.input)?.only(&self.index, selected.iter().copied().collect())
    }
}

fn program(paths: &[&str]) -> Program {
    let queries: Vec<Query> = paths.iter().map(|path| Query::compile(path).unwrap()).collect();
    Program::new(&queries).unwrap()
}

/// All results for an input, line by line.
#[derive(Clone, Debug, Default, PartialEq)]
struct All {
    /// For each match the number of its path, its line, its bytes, its normalised path, and its text.
    matches: Vec<(usize, u64, u64, u64, String, Vec<u8>)>,
    records: Vec<u64>,
    /// Errors, and the lines that they speak of.
    skipped: Vec<(u64, String, Vec<u8>)>,
    failed: Option<String>,
    lines: u64,
}

fn ask(input: Input, program: &Program) -> All {
    let mut all = All::default();
    let want = Want::default().matches(true).records(true);
    let mut answers = input.answers(program.clone(), want);
    for batch in &mut answers {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                all.failed = Some(error.to_string());
                continue;
            }
        };
        let mut paths = batch.paths();
        let mut of_batch = Vec::new();
        for (first, piece) in batch.pieces() {
            let line = |line: LineIx| batch.line(first + u64::from(line));
            for (number, matches) in piece.matches.iter().enumerate() {
                for found in matches {
                    let at = u64::from(piece.base) + u64::from(found.start);
                    let start = batch.offset_of(at);
                    let end = start + u64::from(found.end - found.start);
                    let mut path = String::new();
                    paths.append(at as usize, &mut path);
                    let text = batch.match_text(piece, found).to_vec();
                    of_batch.push((number, line(found.line), start, end, path, text));
                }
            }
            all.records.extend(piece.records.iter().map(|record| line(*record)));
        }
        all.matches.extend(of_batch);
        let skipped = batch.skipped().chain(batch.fault().cloned());
        all.skipped
            .extend(skipped.map(|error| (error.line - 1, error.to_string(), batch.line_of(&error).to_vec())));
    }
    all.lines = answers.stats().lines;
    // Pieces are cut at different offsets.
    all.matches.sort_by_key(|found| (found.0, found.1));
    all
}

/// The results for the selected lines, from the results for all lines.
fn filtered(all: &All, selected: &[bool]) -> All {
    let is = |line: &u64| selected[*line as usize];
    All {
        matches: all.matches.iter().filter(|found| is(&found.1)).cloned().collect(),
        records: all.records.iter().copied().filter(is).collect(),
        skipped: all.skipped.iter().filter(|error| is(&error.0)).cloned().collect(),
        failed: None,
        lines: selected.iter().filter(|selected| **selected).count() as u64,
    }
}

/// The results up to the first error, from those that skip faults: nothing after the first malformed line.
fn failed(skipped: &All) -> All {
    let Some((line, error, text)) = skipped.skipped.first().cloned() else { return skipped.clone() };
    let before = |found: &u64| *found < line;
    All {
        matches: skipped.matches.iter().filter(|found| before(&found.1)).cloned().collect(),
        records: skipped.records.iter().copied().filter(before).collect(),
        skipped: vec![(line, error.clone(), text)],
        failed: Some(error),
        lines: 0,
    }
}

/// Lines: random documents, malformed ones, blank ones, long ones.
fn text(rng: &mut Rng, lines: usize, long: usize) -> Vec<u8> {
    let mut text = Vec::new();
    if rng.below(3) == 0 {
        text.extend_from_slice(b"\xef\xbb\xbf");
    }
    for _ in 0..lines {
        match rng.below(24) {
            0 => {}
            1 => text.extend_from_slice(b"  \t"),
            2 => text.extend_from_slice(br#"{"a":[1}"#),
            3 => text.extend_from_slice(br#"{"a":"b"#),
            4 => {
                let pad = "x".repeat(rng.below(long));
                text.extend_from_slice(format!(r#"{{"pad":"{pad}","a":{}}}"#, rng.below(9)).as_bytes());
            }
            5..8 => text.extend(random::json(rng, 40)),
            _ => {
                let (a, b) = (rng.below(10), rng.below(1000));
                text.extend_from_slice(format!(r#"{{"a":{a},"b":[{b},{{"lang":"nl"}}]}}"#).as_bytes());
            }
        }
        if rng.below(9) == 0 {
            text.push(b'\r');
        }
        text.push(b'\n');
    }
    if rng.below(2) == 0 {
        text.pop();
    }
    text
}

/// A random selection of lines: few, many, all, none, a run, or one of each 64.
fn selection(rng: &mut Rng, lines: usize) -> Vec<bool> {
    let kind = rng.below(8);
    let (from, to) = (rng.below(lines + 1), rng.below(lines + 1));
    (0..lines)
        .map(|line| match kind {
            0 => rng.below(100) == 0,
            1 => rng.below(10) == 0,
            2 => rng.below(2) == 0,
            3 => rng.below(20) > 0,
            4 => true,
            5 => (from..to).contains(&line),
            6 => line % 64 == 63,
            _ => line + 1 == lines,
        })
        .collect()
}

const PATHS: [&str; 4] = ["$.a", "$.b[*]", "$..lang", "$.b[?@.lang=='nl'].lang"];

fn compare(case: &Case, backend: &Arc<dyn Backend>, size: usize, selected: &[bool]) -> Result<()> {
    for paths in [&PATHS[..1], &PATHS[..]] {
        let program = program(paths);
        for strict in [false, true] {
            let build = |on_error| engine(backend, size).strict(strict).on_error(on_error).build();
            let all = ask(build(OnError::Skip)?.open(&case.input)?, &program);
            let want = filtered(&all, selected);
            let found = ask(case.input(&build(OnError::Skip)?, selected)?, &program);
            ensure!(found == want, "{program}, size {size}, strict {strict}:\n{found:?}\n{want:?}");
            let want = failed(&want);
            let mut found = ask(case.input(&build(OnError::Fail)?, selected)?, &program);
            found.lines = want.lines;
            ensure!(
                found == want,
                "{program}, size {size}, strict {strict}, at an error:\n{found:?}\n{want:?}"
            );
        }
    }
    Ok(())
}

/// Path by path, texts; rows; and path by path, how many matches.
type Written = (Vec<Vec<u8>>, Vec<u8>, Vec<u64>);

/// A match: its line, its byte range in the input, its path and its text.
type Told = (u64, (u64, u64), String, String);

/// Compares the output that workers write: texts, rows, columns.
fn compare_written(case: &Case, backend: &Arc<dyn Backend>, size: usize, selected: &[bool]) -> Result<()> {
    let engine = engine(backend, size).on_error(OnError::Skip).build()?;
    // The same lines, in a file of their own.
    let alone = case.folder.path().join("alone");
    let lines = case.lines.iter().zip(selected).filter(|(_, selected)| **selected);
    fs::write(&alone, lines.flat_map(|(line, _)| line.clone()).collect::<Vec<u8>>())?;
    let columns = [(Query::compile("$.a")?, ColumnType::Int64), (Query::compile("$.b")?, ColumnType::Json)];
    let schema = Schema::new(&columns)?.with_names(&["a", "b"])?;
    let wants = [
        Want::default().text(TextForm::Raw),
        Want::default().rows(RowForm::Ndjson),
        Want::default().rows(RowForm::Csv),
        Want::default(),
    ];
    for want in wants {
        let write = |input: Input| -> Result<Written> {
            let mut written = (vec![Vec::new(); 2], Vec::new(), vec![0; 2]);
            for batch in input.answers(schema.program().clone(), want) {
                for (_, piece) in batch?.pieces() {
                    piece.texts.iter().zip(&mut written.0).for_each(|(text, to)| to.extend_from_slice(text));
                    written.1.extend_from_slice(&piece.rows);
                    piece.counts.iter().zip(&mut written.2).for_each(|(count, to)| *to += count);
                }
            }
            Ok(written)
        };
        ensure!(
            write(case.input(&engine, selected)?)? == write(engine.open(&alone)?)?,
            "{want:?}, size {size}"
        );
    }
    let rows = |input: Input| -> Result<Vec<String>> {
        let mut rows = Vec::new();
        for batch in input.record_batches(&schema) {
            let batch = batch?;
            rows.extend((0..batch.num_rows()).map(|row| format!("{:?}", batch.slice(row, 1))));
        }
        Ok(rows)
    };
    ensure!(rows(case.input(&engine, selected)?)? == rows(engine.open(&alone)?)?);
    Ok(())
}

/// Match by match, and up to a limit.
fn compare_hits(case: &Case, backend: &Arc<dyn Backend>, size: usize, selected: &[bool]) -> Result<()> {
    let engine = engine(backend, size).on_error(OnError::Skip).build()?;
    let query = Query::compile("$.b[*]")?;
    let hits = |input: Input| -> Result<Vec<Told>> {
        let hit = |hit: warpath::Hit| (hit.line(), hit.offsets(), hit.path(), hit.text().into_owned());
        input.query(&query)?.map(|found| Ok(hit(found?))).collect()
    };
    let mut want = hits(engine.open(&case.input)?)?;
    want.retain(|hit| selected[hit.0 as usize - 1]);
    ensure!(hits(case.input(&engine, selected)?)? == want, "size {size}");
    ensure!(case.input(&engine, selected)?.count(&query)? == want.len() as u64);
    for most in [1, 5] {
        let limited = Want::default().matches(true).limit(Limit::Matches(most));
        let mut found = 0;
        for batch in case.input(&engine, selected)?.answers(program(&["$.b[*]"]), limited) {
            found += batch?.count(0);
            if found >= most {
                break;
            }
        }
        ensure!(found >= most.min(want.len() as u64), "{found} of {most}");
    }
    Ok(())
}

fn hold(backend: &Arc<dyn Backend>, seeds: std::ops::Range<u64>, most_lines: usize) -> Result<()> {
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let lines = [0, 1, 63, 64, 65, 128, 1 + rng.below(most_lines)][rng.below(7)];
        let long = [10, 400, 3_000][rng.below(3)];
        let case = Case::new(&text(&mut rng, lines, long));
        let selected = selection(&mut rng, case.lines.len());
        let size = [1, 100, 1_000, 20_000][rng.below(4)];
        let held = compare(&case, backend, size, &selected)
            .and_then(|()| compare_written(&case, backend, size, &selected))
            .and_then(|()| compare_hits(&case, backend, size, &selected));
        held.with_context(|| format!("seed {seed}"))?;
    }
    Ok(())
}

#[test]
fn selected_lines_are_answered_as_among_all() -> Result<()> {
    hold(&cpu(), 0..60, 700)
}

#[test]
fn selected_lines_are_answered_as_among_all_on_a_device() -> Result<()> {
    hold(&device(), 100..112, 200)
}

/// Lines that are longer than what is read at once, and files of which most is not read.
#[test]
fn long_lines_are_read_in_steps() -> Result<()> {
    let mut rng = Rng::new(3);
    let case = Case::new(&text(&mut rng, 150, 900_000));
    for part in 0..4 {
        let selected: Vec<bool> = (0..case.lines.len()).map(|line| (line / (1 + part)) % 3 == 0).collect();
        compare_written(&case, &cpu(), 1 << 20, &selected)?;
        compare_hits(&case, &cpu(), 50_000, &selected)?;
    }
    Ok(())
}

#[test]
fn what_is_selected_is_told() -> Result<()> {
    let case = Case::new("{\"a\":1}\n".repeat(200).as_bytes());
    let selected: Vec<bool> = (0..200).map(|line| line == 70 || line == 71 || line == 199).collect();
    let engine = engine(&cpu(), 1000).build()?;
    let answers = case.input(&engine, &selected)?.answers(program(&["$.a"]), Want::default());
    let plan = answers.plan().index().context("no word of the index")?;
    ensure!(plan.ends_with(".text.warpath: 3 of 200 lines, in 2 of 4 blocks"), "{plan}");
    Ok(())
}

/// An input for which the index was not made is refused.
#[test]
fn other_inputs_are_refused() -> Result<()> {
    let text = "{\"a\":1}\n".repeat(200);
    let case = Case::new(text.as_bytes());
    let engine = Engine::builder().backend(cpu()).build()?;
    let said = |input: Result<Input, Error>| input.err().map(|error| error.to_string()).unwrap_or_default();
    let open = || engine.open(&case.input);
    let none = RowSet::from_words(Vec::new(), 200);
    let short = said(open()?.only(&case.index, RowSet::all(199)));
    ensure!(short == "the selection is of 199 lines; the index has 200", "{short}");
    let pipe = said(engine.reader("pipe", std::io::empty()).only(&case.index, none.clone()));
    ensure!(pipe == "an index requires one plain file; this input is another", "{pipe}");
    let document = Engine::builder().backend(cpu()).format(warpath_exec::document::Format::Json).build()?;
    ensure!(
        said(document.open(&case.input)?.only(&case.index, none.clone()))
            .contains("this input is one JSON document")
    );
    let kept = case.input(&engine, &[true; 200])?.index(3).err().context("it was kept")?.to_string();
    ensure!(
        kept == "a resident index requires all lines of an input; some lines are selected here",
        "{kept}"
    );
    let indexed = case.input(&engine, &[true; 200])?.indexes(3).next().context("no error")?;
    ensure!(indexed.err().context("no error")?.to_string().contains("some lines are selected here"));
    let both = case.input(&engine, &[true; 200])?.with_index(&case.index)?;
    let hits = both.query(&Query::compile("$.a")?)?;
    ensure!(hits.plan().unused[0].why == "some lines are read alone");
    let other = case.folder.path().join("other");
    fs::write(&other, &text[8..])?;
    ensure!(said(engine.open(&other)?.only(&case.index, none.clone())).contains("does not match "));
    // Bits after the last line select nothing.
    let answers = open()?.only(&case.index, RowSet::from_words(vec![0, 0, 0, !0 << 8], 200))?;
    ensure!(answers.count(&Query::compile("$.a")?)? == 0);
    Ok(())
}

/// A file that becomes shorter while it is read loses nothing before that.
#[test]
fn a_file_that_becomes_shorter_is_an_error_behind_whole_lines() -> Result<()> {
    let case = Case::new("{\"a\":1}\n".repeat(640).as_bytes());
    let engine = engine(&cpu(), 512).workers(1).build()?;
    let input = case.input(&engine, &[true; 640])?;
    File::options().write(true).open(&case.input)?.set_len(2_000)?;
    let (mut found, mut error) = (0, None);
    for batch in input.answers(program(&["$.a"]), Want::default()) {
        match batch {
            Ok(batch) => found += batch.count(0),
            Err(said) => error = Some(said.chain()),
        }
    }
    let error = error.context("no error")?;
    ensure!(error.ends_with("the file became shorter while it was read"), "{error}");
    ensure!(found == 250, "{found}");
    // A longer input is accepted: the text after the lines of the index is not read.
    let case = Case::new("{\"a\":1}\n".repeat(640).as_bytes());
    let input = case.input(&engine, &[true; 640])?;
    File::options().append(true).open(&case.input)?.write_all(b"{\"a\":2}\n")?;
    ensure!(input.count(&Query::compile("$.a")?)? == 640);
    Ok(())
}
