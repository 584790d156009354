//! Many workers and tiny partitions. The results are those of the whole text, in its order, for every
//! interleaving of the workers.

mod devices;
mod limits;
mod parts;
mod workers;

use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use warpath::columns::{OffsetWidth, Schema};
use warpath::{Engine, Error, InputError, OnError, Program, Query, Source, TextForm, Want};
use warpath_answer::answer::text;
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_device::Together;
use warpath_tests::data::{FILES, file};
use warpath_tests::oracle;
use warpath_tests::results::{WantedColumn, compare_columns, every_type};

use crate::common::{SourceMatch, device, found, gzip};

/// The CPU, an emulated device with several queues, and two such devices.
fn backends() -> Vec<Arc<dyn Backend>> {
    vec![Arc::new(Cpu), device(), Arc::new(Together::new(vec![device(), device()]).unwrap())]
}

/// An engine with some workers. Without any, the caller's thread evaluates.
fn engine(backend: &Arc<dyn Backend>, size: usize, workers: usize, on_error: OnError) -> Engine {
    let builder = Engine::builder().backend(backend.clone()).partition_size(size).on_error(on_error);
    let builder = if workers == 0 { builder.in_caller() } else { builder.workers(workers) };
    builder.build().unwrap()
}

/// The matches, and the error at which they ended.
fn ask(engine: &Engine, sources: Vec<Source>, path: &str) -> (Vec<SourceMatch>, Option<String>) {
    found(engine.input(sources).query(&Query::compile(path).unwrap()).unwrap())
}

/// Files with these contents.
struct Folder {
    paths: Vec<PathBuf>,
    /// Goes last.
    _folder: tempfile::TempDir,
}

impl Folder {
    fn new(contents: &[Vec<u8>]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths = contents.iter().enumerate().map(|(i, bytes)| {
            let path = folder.path().join(i.to_string());
            std::fs::write(&path, bytes).unwrap();
            path
        });
        Self { paths: paths.collect(), _folder: folder }
    }

    fn sources(&self) -> Vec<Source> {
        self.paths.iter().cloned().map(Source::File).collect()
    }
}

/// Contents that are hard to cut: the last is about 20 KB.
fn contents() -> Vec<Vec<u8>> {
    let long = format!("{{\"a\":\"{}\"}}", "x\\\"".repeat(2000));
    let numbers: String = (0..500).map(|n| format!("{{\"a\":{n}}}\n")).collect();
    let mut all: Vec<Vec<u8>> = [
        "",
        "\n",
        "{\"a\":1}",
        "\u{feff}{\"a\":1}\n\n\n{\"a\":2}\n",
        "\r\n{\"a\":1}\r\n\r\n{\"a\":2}",
        "\n\n\n\n\n\n",
        &format!("{{\"a\":1}}\n{long}\n{{\"a\":2}}\n{long}"),
        &numbers,
    ]
    .map(|text| text.as_bytes().to_vec())
    .into();
    all.insert(4, gzip(b"{\"a\":[1,2,3]}\n{\"a\":\"packed\"}", Compression::fast()));
    all
}

#[test]
fn files_in_parts_are_as_files_in_one() {
    let folder = Folder::new(&contents());
    let whole = ask(&engine(&backends()[0], 1 << 20, 1, OnError::Fail), folder.sources(), "$.a");
    assert_eq!(whole.1, None);
    assert_eq!(whole.0.len(), 1 + 2 + 2 + 2 + 4 + 500);
    for (i, backend) in backends().iter().enumerate() {
        for size in if i == 0 { &[1, 2, 3, 7, 8, 9, 10, 100, 4096, 1 << 20][..] } else { &[9, 1000, 1 << 20] }
        {
            for workers in [0, 1, 2, 7] {
                let got = ask(&engine(backend, *size, workers, OnError::Fail), folder.sources(), "$.a");
                assert!(got == whole, "{}: {size} bytes, {workers} workers: {got:?}", backend.name());
            }
        }
    }
}

/// A reader that gives bytes in chunks of odd sizes.
struct Dribble(Cursor<Vec<u8>>, usize);

impl Read for Dribble {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.1 = self.1 % 17 + 1;
        let most = room.len().min(self.1);
        self.0.read(&mut room[..most])
    }
}

#[test]
fn files_are_as_readers() {
    for (name, text) in FILES {
        for (size, workers) in [(1, 5), (50, 5), (50, 0), (700, 5), (1 << 20, 5), (1 << 20, 0)] {
            let folder = Folder::new(&[text.to_vec()]);
            let engine = engine(&backends()[0], size, workers, OnError::Skip);
            let (file, none) = ask(&engine, folder.sources(), "$.*");
            let reader = Dribble(Cursor::new(text.to_vec()), 0);
            let sources = vec![Source::Reader(folder.paths[0].display().to_string(), Box::new(reader))];
            let (read, nothing) = ask(&engine, sources, "$.*");
            assert_eq!((none, nothing), (None, None));
            assert!(file == read, "{name}, {size} bytes");
        }
    }
}

/// The results end at the first fault, and the skipped faults are the same, however many workers are ahead of
/// it.
#[test]
fn faults_are_where_they_are() -> Result<()> {
    let folder = Folder::new(&[file("bad.ndjson").to_vec(), b"1\n".to_vec()]);
    let program = Program::new(&[Query::compile("$")?])?;
    let run = |engine: &Engine| -> Result<_> {
        let mut answers = engine.input(folder.sources()).answers(program.clone(), Want::default());
        let (mut count, mut skipped, mut failed) = (0, Vec::new(), None);
        for batch in &mut answers {
            match batch {
                Ok(batch) => {
                    count += batch.count(0);
                    skipped.extend(batch.skipped());
                    if let Some(fault) = batch.fault() {
                        ensure!(!batch.line_of(fault).is_empty());
                    }
                }
                Err(error) => failed = Some(error.to_string()),
            }
        }
        let stats = answers.stats();
        ensure!(stats.matches == count && stats.skipped == skipped.len() as u64, "{stats:?}");
        Ok((count, stats.lines, stats.bytes, skipped, failed))
    };
    for on_error in [OnError::Fail, OnError::Skip] {
        let mut want = run(&engine(&backends()[0], 1 << 20, 1, on_error))?;
        assert_eq!(want.4.is_some(), on_error == OnError::Fail);
        for (i, backend) in backends().iter().enumerate() {
            for size in if i == 0 { &[1, 30, 200, 1 << 20][..] } else { &[200, 1 << 20] } {
                for workers in [6, 0] {
                    let mut got = run(&engine(backend, *size, workers, on_error))?;
                    if on_error == OnError::Fail {
                        // The text of the partition with the fault is as long as it is.
                        (got.2, want.2) = (0, 0);
                    }
                    assert_eq!(got, want, "{}: {size} bytes, {workers} workers", backend.name());
                }
            }
        }
    }
    Ok(())
}

/// The text that workers make is that of the matches.
#[test]
fn texts_are_those_of_the_matches() -> Result<()> {
    let folder = Folder::new(&[file("people.ndjson").to_vec(), file("bad.ndjson").to_vec()]);
    let program = Program::new(&[Query::compile("$")?, Query::compile("$.*")?])?;
    for backend in backends() {
        for on_error in [OnError::Fail, OnError::Skip] {
            for form in [TextForm::Json, TextForm::Raw] {
                let engine = engine(&backend, 300, 4, on_error);
                let want = Want::default().matches(true).text(form);
                for batch in engine.input(folder.sources()).answers(program.clone(), want) {
                    let Ok(batch) = batch else { continue };
                    for (_, piece) in batch.pieces() {
                        let made = piece.matches.iter().map(|list| {
                            list.iter().fold(Vec::new(), |mut all, found| {
                                text::append(batch.match_text(piece, found), form, &mut all);
                                all.push(b'\n');
                                all
                            })
                        });
                        ensure!(piece.texts == made.collect::<Vec<_>>(), "{}", backend.name());
                    }
                }
            }
        }
    }
    Ok(())
}

/// Columns are those of the whole texts, in order, for all partitions. They end at the first fault, or skip
/// faults.
#[test]
fn columns_are_those_of_the_texts() -> Result<()> {
    let asked = every_type(&["$.a", "$", "$.a[*]", "$.*"])?;
    let odd = contents();
    let plain: Vec<Vec<u8>> = odd
        .iter()
        .map(|text| match text.strip_prefix("\u{feff}".as_bytes()) {
            Some(text) => text.to_vec(),
            None if text.starts_with(b"\x1f\x8b") => b"{\"a\":[1,2,3]}\n{\"a\":\"packed\"}".to_vec(),
            None => text.clone(),
        })
        .collect();
    let faulty = vec![file("people.ndjson").to_vec(), file("bad.ndjson").to_vec(), b"[1]\n".to_vec()];
    let nothing = vec![b"\n \n".to_vec(), Vec::new(), b"{]\n\"\n".to_vec()];
    for (inputs, texts) in [(&odd, &plain), (&faulty, &faulty), (&nothing, &nothing), (&vec![], &vec![])] {
        let faults: usize = texts.iter().map(|text| oracle::index::index(text, 0).faults.len()).sum();
        let folder = Folder::new(inputs);
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        for on_error in [OnError::Fail, OnError::Skip] {
            let fails = on_error == OnError::Fail && faults > 0;
            let wanted = WantedColumn::of_texts(&texts, &asked, fails)?;
            for (i, backend) in backends().iter().enumerate() {
                for size in if i == 0 { &[1, 2, 9, 100, 3000, 1 << 20][..] } else { &[900, 1 << 20] } {
                    let width = if size % 2 == 0 { OffsetWidth::Small } else { OffsetWidth::Large };
                    let schema = Schema::new(&asked)?.with_offsets(width);
                    let workers = if size % 3 == 0 { 0 } else { 5 };
                    let mut columns =
                        engine(backend, *size, workers, on_error).input(folder.sources()).columns(&schema);
                    let (mut batches, mut failed) = (Vec::new(), None);
                    for batch in &mut columns {
                        ensure!(failed.is_none(), "a batch after an error");
                        match batch {
                            Ok(batch) => batches.push(batch),
                            Err(error) => failed = Some(error),
                        }
                    }
                    ensure!(batches.iter().all(|batch| batch.rows > 0));
                    let context = || format!("{}: {size} bytes, {on_error:?}", backend.name());
                    compare_columns(&batches, &asked, &wanted, width, false).with_context(context)?;
                    ensure!(
                        matches!(failed, Some(Error::Input(InputError::Record(_)))) == fails,
                        "{failed:?}"
                    );
                    let skipped = if on_error == OnError::Skip { faults as u64 } else { 0 };
                    ensure!(columns.stats().skipped == skipped, "{:?}, {}", columns.stats(), context());
                }
            }
        }
    }
    Ok(())
}

fn lines(count: usize) -> Vec<u8> {
    (0..count).flat_map(|n| format!("{{\"a\":{n}}}\n").into_bytes()).collect()
}

/// One worker is enough for one partition.
#[test]
fn short_inputs_start_few_threads() -> Result<()> {
    let folder = Folder::new(&[lines(10)]);
    let program = Program::new(&[Query::compile("$.a")?])?;
    let mut answers = engine(&backends()[0], 1 << 20, 9, OnError::Fail)
        .input(folder.sources())
        .answers(program, Want::default());
    assert_eq!(answers.by_ref().count(), 1);
    assert_eq!(answers.stats().workers, 1);
    assert_eq!(answers.plan().workers, 9);
    Ok(())
}
