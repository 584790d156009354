//! Indexes of files that stay where they are: results with an index are those without one, and an invalid
//! index gives none.

use std::fs::{self, File};
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use warpath::plan::Reading;
use warpath::{
    Engine, Error, IndexError, IndexFile, Input, Limit, OnError, Plan, Program, Query, RowForm, Source,
    TextForm, Want,
};
use warpath_answer::answer::Piece;
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_device::Together;
use warpath_tests::data::{BOUNDARY_LINES, FILES, file, paths_of};
use warpath_tests::random::{self, Rng};

use crate::common::device;

pub fn cpu() -> Arc<dyn Backend> {
    Arc::new(Cpu)
}

fn emulated() -> Arc<dyn Backend> {
    Arc::new(Together::new(vec![device(), device()]).unwrap())
}

fn engine(backend: &Arc<dyn Backend>, size: usize) -> Engine {
    let builder = Engine::builder().backend(backend.clone()).partition_size(size);
    builder.on_error(OnError::Skip).workers(3).find_indexes(false).build().unwrap()
}

/// A folder with an input and its index.
pub struct Case {
    folder: tempfile::TempDir,
    input: PathBuf,
    pub index: PathBuf,
}

impl Case {
    pub fn new(text: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("text");
        let index = IndexFile::path_of(&input);
        fs::write(&input, text).unwrap();
        Self { folder, input, index }
    }

    pub fn build(&self, backend: &Arc<dyn Backend>, size: usize, levels: u32) -> Result<IndexFile, Error> {
        IndexFile::build(&engine(backend, size), &self.input, levels)
    }

    pub fn input(&self) -> &Path {
        &self.input
    }

    /// The names in the folder.
    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Writes to the input and leaves its time as it was.
    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let modified = self.input.metadata().unwrap().modified().unwrap();
        let mut text = fs::read(&self.input).unwrap();
        change(&mut text);
        fs::write(&self.input, text).unwrap();
        File::options().write(true).open(&self.input).unwrap().set_modified(modified).unwrap();
    }
}

pub fn program(paths: &[&str]) -> Program {
    let queries: Vec<Query> = paths.iter().map(|path| Query::compile(path).unwrap()).collect();
    Program::new(&queries).unwrap()
}

/// A match: the line, the bytes in the input, and the text.
type PlacedMatch = (u64, u64, u64, Vec<u8>);

/// All results for an input, with those of its pieces joined. An index and a stream cut pieces at different
/// offsets.
#[derive(Debug, Default, PartialEq)]
pub struct All {
    /// The matches of each path.
    matches: Vec<Vec<PlacedMatch>>,
    records: Vec<u64>,
    texts: Vec<Vec<u8>>,
    rows: Vec<u8>,
    counts: Vec<u64>,
    skipped: Vec<String>,
    failed: Option<String>,
}

fn add<T: Clone + Default>(to: &mut Vec<T>, len: usize, mut each: impl FnMut(usize, &mut T)) {
    to.resize(len.max(to.len()), T::default());
    (0..len).for_each(|i| each(i, &mut to[i]));
}

impl All {
    /// The same without offsets, which depend on how much of each record was read.
    pub fn without_offsets(mut self) -> Self {
        for found in self.matches.iter_mut().flatten() {
            (found.1, found.2) = (0, 0);
        }
        self
    }
}

pub fn ask(input: Input, program: &Program, want: Want) -> All {
    let mut all = All::default();
    for batch in input.answers(program.clone(), want) {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                all.failed = Some(error.chain());
                continue;
            }
        };
        for (first, piece) in batch.pieces() {
            let Piece { base, records, counts, matches, texts, rows, .. } = piece;
            let at = batch.offset() + u64::from(*base);
            add(&mut all.matches, matches.len(), |i, to: &mut Vec<_>| {
                to.extend(matches[i].iter().map(|m| {
                    let text = batch.match_text(piece, m).to_vec();
                    (
                        batch.line(first + u64::from(m.line)),
                        at + u64::from(m.start),
                        at + u64::from(m.end),
                        text,
                    )
                }));
            });
            add(&mut all.texts, texts.len(), |i, to| to.extend_from_slice(&texts[i]));
            add(&mut all.counts, counts.len(), |i, to| *to += counts[i]);
            all.records.extend(records.iter().map(|line| batch.line(first + u64::from(*line))));
            all.rows.extend_from_slice(rows);
        }
        all.skipped.extend(batch.skipped().map(|error| {
            let line = String::from_utf8_lossy(batch.line_of(&error)).into_owned();
            format!("{error}: {line}")
        }));
        if let Some(fault) = batch.fault() {
            all.skipped.push(String::from_utf8_lossy(batch.line_of(fault)).into_owned());
        }
    }
    all
}

const NOTHING: Want = Want::new();
const WANTS: [Want; 5] = [
    NOTHING,
    NOTHING.matches(true).records(true),
    NOTHING.text(TextForm::Json),
    NOTHING.matches(true).text(TextForm::Raw),
    NOTHING.rows(RowForm::Ndjson),
];

/// Holds what is answered by an index to what is answered without.
fn compare(case: &Case, index: &IndexFile, paths: &[&str]) -> Result<()> {
    let supported: Vec<&str> = paths.iter().copied().filter(|path| Query::compile(path).is_ok()).collect();
    let programs = supported.iter().map(|path| program(&[path])).chain([program(&supported)]);
    for program in programs {
        for on_error in [OnError::Skip, OnError::Fail] {
            let engine = Engine::builder().backend(cpu()).on_error(on_error).find_indexes(false).build()?;
            for want in WANTS {
                let streamed = ask(engine.open(&case.input)?, &program, want);
                let input = engine.open(&case.input)?.with_index(index)?;
                ensure!(ask(input, &program, want) == streamed, "{program} {want:?} {on_error:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn answers_are_those_without() -> Result<()> {
    for (name, text) in FILES {
        let case = Case::new(text);
        let mut paths = paths_of(name);
        paths.extend(["$", "$.*", "$.a", "$[*][*]"]);
        for size in [1, 777, 1 << 20] {
            let index = case.build(&cpu(), size, 8)?;
            index.verify(&case.input)?;
            compare(&case, &index, &paths).with_context(|| format!("{name}, {size} bytes"))?;
            // These find more faults than an index does.
            let by_trees = ["$..a", "$[?count(@.*) > 1]"];
            compare(&case, &index, &by_trees).with_context(|| format!("{name}, {size} bytes"))?;
        }
    }
    Ok(())
}

#[test]
fn lines_that_are_hard_to_cut() -> Result<()> {
    for text in ["", "\n", "\u{feff}", "\u{feff}{\"a\":1}\n{\"a\":2}", "\r\n[1]\r\n", "1", "\n\n\n2"] {
        let case = Case::new(text.as_bytes());
        for size in [1, 3, 100] {
            compare(&case, &case.build(&cpu(), size, 2)?, &["$", "$.a"]).with_context(|| text.to_owned())?;
        }
    }
    let lines = BOUNDARY_LINES.join("\n");
    for shift in 0..64 {
        let case = Case::new(format!("{}{lines}", " ".repeat(shift)).as_bytes());
        compare(&case, &case.build(&cpu(), 500, 4)?, &["$", "$.a.*", "$[1]"])?;
    }
    Ok(())
}

/// Only the needed parts of long records are read. Short records are read whole, and so are long ones whose
/// text is wanted.
#[test]
fn long_records() -> Result<()> {
    for round in 0..6 {
        let rng = &mut Rng::new(round);
        let mut text = String::new();
        for _ in 0..3 {
            let bytes = [70_000, 150_000, 300_000][rng.below(3)];
            text.push_str(&random::long_record(rng, bytes, round % 2 == 1));
            text.push('\n');
            text.push_str(if round % 3 == 0 { "{\"a\":[1,\n" } else { "" });
        }
        let case = Case::new(&text.as_bytes()[..text.len() - (round as usize % 2)]);
        for size in [1, 200_000, 1 << 20] {
            let paths = ["$", "$.a", "$['ab','','b']", "$.*.a", "$[?@.lang == 'nl']", "$[-9]", "$[::-5].b.a"];
            compare(&case, &case.build(&cpu(), size, 8)?, &paths)
                .with_context(|| format!("{round} {size}"))?;
        }
    }
    Ok(())
}

/// An index is the same from every backend and for every number of threads, and a device gives the same
/// results with it.
#[test]
fn backends_agree() -> Result<()> {
    let text = [file("people.ndjson"), file("bad.ndjson"), file("edge.ndjson")].concat();
    let case = Case::new(&text);
    let index = case.build(&cpu(), 2000, 3)?;
    let bytes = fs::read(&case.index)?;
    for (backend, workers) in [(cpu(), 1), (cpu(), 8), (emulated(), 2)] {
        let engine = Engine::builder().backend(backend).partition_size(2000).workers(workers).build()?;
        IndexFile::build(&engine, &case.input, 3)?;
        ensure!(fs::read(&case.index)? == bytes);
    }
    let program = program(&["$.user.lang", "$.a"]);
    let device = engine(&emulated(), 3000);
    for want in WANTS {
        let streamed = ask(device.open(&case.input)?, &program, want);
        ensure!(ask(device.open(&case.input)?.with_index(&index)?, &program, want) == streamed);
    }
    // Both say what they do.
    let cpu = engine(&cpu(), 9);
    let plan = |engine: &Engine, program: &Program| -> Result<Plan> {
        let input = engine.open(&case.input)?.with_index(&index)?;
        Ok(input.answers(program.clone(), Want::default()).plan().clone())
    };
    ensure!(plan(&cpu, &program)?.index().is_some_and(|index| index.ends_with("2 of 3 levels read")));
    let unused = |engine: &Engine, program: &Program| {
        Ok::<_, anyhow::Error>(plan(engine, program)?.unused[0].why.clone())
    };
    ensure!(unused(&device, &program)? == "the device makes bitmaps faster than it would be sent them");
    // Both read the text for more levels than there are.
    let deep = self::program(&["$.a.b.c.d"]);
    ensure!(unused(&cpu, &deep)? == "it has 3 levels, and the program reads 4");
    for engine in [&device, &cpu] {
        let with = ask(engine.open(&case.input)?.with_index(&index)?, &deep, Want::default());
        ensure!(with == ask(engine.open(&case.input)?, &deep, Want::default()));
    }
    Ok(())
}

/// The results with an index file, or the error.
pub fn try_index(case: &Case, path: &Path, program: &Program) -> Result<All, Error> {
    let index = IndexFile::open(path)?;
    let engine = engine(&cpu(), 1 << 20);
    let mut all = All::default();
    for batch in engine.open(&case.input)?.with_index(&index)?.answers(program.clone(), WANTS[2]) {
        let batch = batch?;
        for (_, piece) in batch.pieces() {
            add(&mut all.texts, piece.texts.len(), |i, to| to.extend_from_slice(&piece.texts[i]));
        }
    }
    Ok(all)
}

/// The reason why an input is refused; `None` if it is the indexed one.
fn refused(case: &Case, index: &IndexFile, verify: bool) -> Option<String> {
    let opened = match verify {
        false => engine(&cpu(), 1 << 20).open(&case.input).unwrap().with_index(index).map(drop),
        true => index.verify(&case.input).map(drop),
    };
    match opened {
        Ok(()) => None,
        Err(Error::Index(IndexError::OtherInput { what, .. })) => Some(what),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn an_input_that_has_changed_is_refused() -> Result<()> {
    let line = b"{\"a\":\"0123456789\"}\n";
    let case = Case::new(&line.repeat(100_000));
    let index = case.build(&cpu(), 1 << 18, 2)?;
    ensure!(refused(&case, &index, false).is_none() && refused(&case, &index, true).is_none());

    // Its time alone.
    let modified = case.input.metadata()?.modified()?;
    let set = |time: SystemTime| File::options().write(true).open(&case.input)?.set_modified(time);
    set(modified + Duration::from_nanos(1000))?;
    ensure!(refused(&case, &index, false).as_deref() == Some("it was written to after it was indexed"));
    set(SystemTime::UNIX_EPOCH - Duration::from_millis(1500))?;
    ensure!(refused(&case, &index, false).is_some());
    set(modified)?;
    ensure!(refused(&case, &index, false).is_none());

    // Its size alone: a file that has grown is not another one, but a shorter one is.
    case.change(|text| text.extend_from_slice(b"\n"));
    ensure!(refused(&case, &index, false).is_none());
    case.change(|text| text[5] ^= 1);
    ensure!(refused(&case, &index, false).as_deref() == Some("its first bytes have changed"));
    case.change(|text| {
        text[5] ^= 1;
        text.truncate(1_899_999);
    });
    ensure!(
        refused(&case, &index, false).is_some_and(|said| said.contains("1899999 bytes in place of 1900000"))
    );
    case.change(|text| text.push(b'\n'));

    // Its bytes alone, where a sample sees them, and where only the whole does.
    for at in [0, 5, 4095, 1_899_999 - 4000, 1_899_999] {
        case.change(|text| text[at] ^= 1);
        ensure!(refused(&case, &index, false).as_deref() == Some("its contents have changed"), "{at}");
        case.change(|text| text[at] ^= 1);
    }
    case.change(|text| text[10_000] ^= 1);
    ensure!(refused(&case, &index, false).is_none());
    ensure!(refused(&case, &index, true).is_some_and(|said| said.starts_with("bytes 0..262")));
    case.change(|text| text[10_000] ^= 1);
    ensure!(refused(&case, &index, true).is_none());

    // Another file.
    fs::write(&case.input, b"{\"a\":1}\n")?;
    ensure!(refused(&case, &index, false).is_some());
    Ok(())
}

/// Files of no more than the samples' bytes are compared whole.
#[test]
fn small_inputs_are_compared_whole() -> Result<()> {
    let case = Case::new(&b"{\"a\":1}\n".repeat(100));
    let index = case.build(&cpu(), 100, 2)?;
    for at in 0..800 {
        case.change(|text| text[at] ^= 4);
        ensure!(refused(&case, &index, false).is_some(), "{at}");
        case.change(|text| text[at] ^= 4);
    }
    ensure!(refused(&case, &index, true).is_none());
    Ok(())
}

/// A file that becomes shorter after its check is an error, never another result.
#[test]
fn files_that_shrink_meanwhile() -> Result<()> {
    for line in [b"{\"a\":1}\n".to_vec(), format!("{{\"a\":\"{}\"}}\n", "x".repeat(100_000)).into_bytes()] {
        let case = Case::new(&line.repeat(20));
        let program = program(&["$.a"]);
        let shrink = |path: &Path| File::options().write(true).open(path)?.set_len(40);
        let index = case.build(&cpu(), 10, 1)?;
        for want in WANTS {
            let input = engine(&cpu(), 10).open(&case.input)?.with_index(&index)?;
            let text = fs::read(&case.input)?;
            let modified = case.input.metadata()?.modified()?;
            shrink(&case.input)?;
            let all = ask(input, &program, want);
            ensure!(all.failed.is_some_and(|said| said.contains("became shorter")), "{want:?}");
            fs::write(&case.input, &text)?;
            File::options().write(true).open(&case.input)?.set_modified(modified)?;
        }
        let input = engine(&cpu(), 10).open(&case.input)?.with_index(&index)?;
        shrink(&case.index)?;
        let all = ask(input, &program, WANTS[0]);
        ensure!(all.failed.is_some_and(|said| said.contains("damaged: it ends early")));
    }
    Ok(())
}

#[test]
fn inputs_that_have_no_index_file() -> Result<()> {
    let case = Case::new(b"{\"a\":1}\n");
    let index = case.build(&cpu(), 100, 1)?;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"{\"a\":1}\n")?;
    let packed_path = case.folder.path().join("packed");
    fs::write(&packed_path, packed.finish()?)?;
    let engine = engine(&cpu(), 100);
    let before = case.names();
    let build = |input: &Path| IndexFile::build(&engine, input, 1).map(drop);
    let Err(Error::Index(IndexError::NotPlain { .. })) = build(&packed_path) else { panic!() };
    for missing in [case.folder.path(), &case.folder.path().join("missing")] {
        let Err(Error::Input(_)) = build(missing) else { panic!("{missing:?}") };
    }
    // The names of other indexes are a folder, and too long.
    let taken = tempfile::tempdir()?;
    for name in ["taken".to_owned(), "x".repeat(250)] {
        let input = taken.path().join(name);
        fs::write(&input, b"1\n")?;
        let _ = fs::create_dir(IndexFile::path_of(&input));
        let Err(Error::Output { name, .. }) = build(&input) else { panic!("{input:?}") };
        ensure!(name == IndexFile::path_of(&input).to_string_lossy(), "{name}");
    }
    // Nothing is left of what was not finished, and nothing was overwritten.
    assert_eq!(case.names(), before);
    ensure!(fs::read(&case.input)? == b"{\"a\":1}\n");

    let file = || Source::File(case.input.clone());
    let pipe = || Source::Reader("pipe".into(), Box::new(Cursor::new(b"1")));
    for sources in [vec![], vec![pipe()], vec![file(), file()], vec![Source::Stdin]] {
        let input = engine.input(sources).with_index(&index)?;
        let answers = input.answers(program(&["$.a"]), Want::default());
        ensure!(answers.plan().unused.len() == 1, "{:?}", answers.plan());
    }
    let missing = vec![Source::File(case.folder.path().join("missing"))];
    let Err(Error::Input(_)) = engine.input(missing).with_index(&index).map(drop) else { panic!() };
    Ok(())
}

#[test]
fn an_index_says_what_it_is() -> Result<()> {
    let text = [file("people.ndjson"), file("bad.ndjson")].concat();
    let case = Case::new(&text);
    let index = case.build(&cpu(), 1000, 5)?;
    let info = index.info();
    let lines = text.split_inclusive(|byte| *byte == b'\n').count() as u64;
    ensure!((info.input_bytes, info.lines) == (text.len() as u64, lines), "{info:?}");
    ensure!(info.input_modified == case.input.metadata()?.modified()?);
    ensure!(info.bytes == case.index.metadata()?.len() && info.level_bytes.len() == 5);
    ensure!(info.longest_partition >= 1000 && info.partitions > 2);
    let skipped = ask(engine(&cpu(), 100).open(&case.input)?, &program(&["$"]), Want::default()).skipped;
    ensure!(info.faulty == skipped.len() as u64 && info.faulty > 5);
    Ok(())
}

/// The bytes of text that an index serves for, and all bytes; `None` if the plan does not use the index.
fn covered(input: Input<'_>) -> Result<Option<(u64, u64)>> {
    let hits = input.query(&Query::compile("$.a")?)?;
    Ok(match &hits.plan().reading {
        Reading::Levels { text, .. } => Some(*text),
        _ => None,
    })
}

/// An index of a file that has grown serves for the lines that had ended, wherever the file ended then.
#[test]
fn a_file_that_has_grown() -> Result<()> {
    let text = "\u{feff}{\"a\":1}\n\n{\"a\":{\"b\":[2]}}\r\n{\"a\":\n{\"a\":\"\\\"\u{e9}\"} x\n[{\"a\":7}]\n{\"a\":3}";
    for text in [text, &text[3..], &format!("{text}\n"), "1\n", "\u{feff}7"] {
        let text = text.as_bytes();
        for (cut, size) in (0..text.len()).flat_map(|cut| [(cut, 12), (cut, 1 << 20)]) {
            let case = Case::new(&text[..cut]);
            let index = case.build(&cpu(), size, 3)?;
            File::options().append(true).open(&case.input)?.write_all(&text[cut..])?;
            let context = || format!("{size}, {}", text[..cut].escape_ascii());
            let (known, all) = index.verify(&case.input).with_context(context)?;
            let before = &text[..usize::try_from(known)?];
            let has_lines = cut > 3 || !text.starts_with(b"\xef");
            ensure!(all == text.len() as u64 && before.len() <= cut, "{} {known}", context());
            ensure!(before.is_empty() || before.ends_with(b"\n"), "{} {known}", context());
            // Only the partition of a line that had not ended is not used.
            let is_whole = text[..cut].ends_with(b"\n") && has_lines;
            ensure!(!is_whole || before.len() == cut, "{} {known}", context());
            let opened = engine(&cpu(), size).open(&case.input)?.with_index(&index)?;
            ensure!(covered(opened)? == Some((known, all)), "{}", context());
            compare(&case, &index, &["$.a"]).with_context(context)?;
        }
    }
    Ok(())
}

/// An index that is beside a file is used unasked, also if the file has grown. The index of another file,
/// and of a file that is shorter now, is not.
#[test]
fn an_index_beside_a_file() -> Result<()> {
    let line = |number: usize| format!("{{\"a\":{number},\"b\":[{}1]}}\n", "0,".repeat(number % 50));
    let lines = |from: usize, to: usize| (from..to).map(line).collect::<String>();
    let case = Case::new(lines(0, 2000).as_bytes());
    case.build(&cpu(), 1 << 16, 2)?;
    let engine = Engine::builder().backend(cpu()).partition_size(10_000).build()?;
    let query = Query::compile("$.a")?;
    let len = |path: &Path| Ok::<_, anyhow::Error>(path.metadata()?.len());
    let old = len(&case.input)?;
    ensure!(covered(engine.open(&case.input)?)? == Some((old, old)));
    File::options().append(true).open(&case.input)?.write_all(lines(2000, 3000).as_bytes())?;
    let new = len(&case.input)?;
    ensure!(covered(engine.open(&case.input)?)? == Some((old, new)));
    let numbers = |input: Input<'_>| -> Result<Vec<String>> {
        let hits = input.query(&query)?;
        hits.map(|hit| hit.map(|hit| format!("{} {}", hit.line(), hit.text())).map_err(Into::into)).collect()
    };
    let found = numbers(engine.open(&case.input)?)?;
    ensure!(found == (0..3000).map(|number| format!("{} {number}", number + 1)).collect::<Vec<_>>());
    // A limit ends within the old lines, at their end, and within the new ones.
    for limit in [1, 1999, 2000, 2001, 2999] {
        let program = program(&["$.a"]);
        let want = Want::new().matches(true).limit(Limit::Matches(limit));
        let found = ask(engine.open(&case.input)?, &program, want);
        let lines: Vec<u64> = found.matches[0].iter().map(|found| found.0).take(limit as usize).collect();
        ensure!(lines == (0..limit).collect::<Vec<_>>(), "{limit}: {lines:?}");
    }
    // Another file, and a shorter one.
    let other = case.folder.path().join("other");
    fs::write(&other, lines(1, 2001))?;
    fs::copy(&case.index, IndexFile::path_of(&other))?;
    let shorter = case.folder.path().join("shorter");
    fs::write(&shorter, lines(0, 1900))?;
    fs::copy(&case.index, IndexFile::path_of(&shorter))?;
    for (input, count, why) in
        [(&other, 2000, "its first bytes have changed"), (&shorter, 1900, "bytes in place of")]
    {
        let mut hits = engine.open(input)?.query(&query)?;
        ensure!(hits.by_ref().count() == count);
        let unused = &hits.plan().unused[0];
        let renews = format!("`warpath store index {}` renews it", input.display());
        ensure!(unused.matters && unused.why.contains(why) && unused.why.ends_with(&renews), "{unused:?}");
    }
    Ok(())
}
