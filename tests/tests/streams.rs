//! Many workers and tiny partitions. The results are those of the whole text, in its order, for every
//! interleaving of the workers.
//!
//! No test here depends on time. Some tests are about order, or about workers that run ahead. They make
//! threads wait for events ([`Watched`]), so they hold on a machine of any speed. A fault either fails such a
//! test or makes it wait without end.

use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, MutexGuard};
use std::thread;

use anyhow::{Context, Result, ensure};
use warpath::answer::{Answer, Limit, TextForm, Want, text};
use warpath::backend::{Backend, Evaluation, Stage, StructuralIndex, Together, Worker};
use warpath::columns::{OffsetWidth, Schema};
use warpath::device::{Accelerator, Pipeline};
use warpath::{Cpu, DeviceChoice, Engine, Error, InputError, OnError, Program, Query, Source};
use warpath_tests::data::{FILES, file};
use warpath_tests::emulated::Emulated;
use warpath_tests::oracle;
use warpath_tests::results::{WantedColumn, compare_columns, every_type};

/// The CPU, an emulated device with several queues, and two such devices.
fn backends() -> Vec<Arc<dyn Backend>> {
    let device = || -> Arc<dyn Backend> { Arc::new(Pipeline::new(Emulated::default()).unwrap()) };
    vec![Arc::new(Cpu), device(), Arc::new(Together::new(vec![device(), device()]).unwrap())]
}

fn engine(backend: &Arc<dyn Backend>, size: usize, workers: usize, on_error: OnError) -> Engine {
    let builder = Engine::builder().backend(backend.clone()).partition_size(size).workers(workers);
    builder.on_error(on_error).build().unwrap()
}

/// A match: its input, line, bytes in the input, and text.
type Found = (String, u64, (u64, u64), Vec<u8>);

/// The matches, and the error at which they ended.
fn ask(engine: &Engine, sources: Vec<Source>, path: &str) -> (Vec<Found>, Option<String>) {
    let (mut found, mut failed) = (Vec::new(), None);
    for hit in engine.input(sources).query(&Query::compile(path).unwrap()).unwrap() {
        match hit {
            Ok(hit) => {
                found.push((hit.source().into(), hit.line(), hit.offsets(), hit.bytes().to_vec()));
            }
            Err(error) => failed = Some(error.to_string()),
        }
    }
    (found, failed)
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

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
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
    all.insert(4, gzip(b"{\"a\":[1,2,3]}\n{\"a\":\"packed\"}"));
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
            for workers in [1, 2, 7] {
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
        for size in [1, 50, 700, 1 << 20] {
            let folder = Folder::new(&[text.to_vec()]);
            let engine = engine(&backends()[0], size, 5, OnError::Skip);
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
                let mut got = run(&engine(backend, *size, 6, on_error))?;
                if on_error == OnError::Fail {
                    // The text of the partition with the fault is as long as it is.
                    (got.2, want.2) = (0, 0);
                }
                assert_eq!(got, want, "{}: {size} bytes", backend.name());
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
                let want = Want { matches: true, text: Some(form), ..Want::default() };
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
                    let mut columns =
                        engine(backend, *size, 5, on_error).input(folder.sources()).columns(&schema);
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

/// The recorded work of a [`Watched`] backend's workers.
#[derive(Debug, Default)]
struct Seen {
    /// The number of live workers, and of all workers so far.
    workers: usize,
    created: usize,
    /// The number of texts that workers have begun to evaluate, and their bytes.
    begun: usize,
    bytes: usize,
    /// The number of evaluated texts, and the offset of each in the input, for texts of [`numbered`].
    answered: usize,
    starts: Vec<usize>,
    /// The texts or bytes that the caller has received; a test sets it.
    given: usize,
    /// The number of times that the caller has requested more; a test sets it.
    calls: usize,
    /// Something was begun before its time.
    fault: Option<String>,
}

impl Seen {
    /// Notes that more texts have been begun than there should be.
    fn limit_begun(&mut self, most: usize) {
        if self.begun > most {
            let fault = format!("{} texts are begun where {most} are the most: {self:?}", self.begun);
            self.fault.get_or_insert(fault);
        }
    }
}

/// An action of a worker between beginning a text and evaluating it.
type Before = Box<dyn Fn(&Watched, &[u8]) + Send + Sync>;

/// Answers as the CPU does. Threads can wait for what it has seen.
#[derive(Default)]
struct Watched {
    seen: Mutex<Seen>,
    changed: Condvar,
    before: Option<Before>,
}

struct WatchedWorker<'a>(&'a Watched);

impl Watched {
    fn new(before: impl Fn(&Self, &[u8]) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { before: Some(Box::new(before)), ..Self::default() })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    fn change(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen());
        self.changed.notify_all();
    }

    /// Waits until something holds, or there is a fault.
    fn wait(&self, until: impl Fn(&Seen) -> bool) -> MutexGuard<'_, Seen> {
        let waits = |seen: &mut Seen| seen.fault.is_none() && !until(seen);
        self.changed.wait_while(self.seen(), waits).unwrap()
    }
}

impl Backend for Watched {
    fn name(&self) -> String {
        "watched".into()
    }
    fn partition_size(&self) -> usize {
        1 << 20
    }
    fn workers(&self, _: usize) -> usize {
        4
    }
    fn stages(&self, _: &Evaluation<'_>) -> Vec<Stage> {
        Vec::new()
    }
    fn worker(&self, _: usize) -> Result<Box<dyn Worker + '_>, Error> {
        self.change(|seen| {
            seen.workers += 1;
            seen.created += 1;
        });
        Ok(Box::new(WatchedWorker(self)))
    }
    fn index(&self, text: &[u8], levels: u32) -> Result<StructuralIndex, Error> {
        Cpu.index(text, levels)
    }
}

impl Worker for WatchedWorker<'_> {
    fn answer(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        self.0.change(|seen| {
            seen.begun += 1;
            seen.bytes += text.len();
        });
        if let Some(before) = &self.0.before {
            before(self.0, text);
        }
        let answer = Cpu.answer(text, program, want);
        self.0.change(|seen| {
            seen.answered += 1;
            seen.starts.extend(start_of(text));
        });
        answer
    }
}

impl Drop for WatchedWorker<'_> {
    fn drop(&mut self) {
        self.0.change(|seen| seen.workers -= 1);
    }
}

fn lines(count: usize) -> Vec<u8> {
    (0..count).flat_map(|n| format!("{{\"a\":{n}}}\n").into_bytes()).collect()
}

/// Bytes of a line of [`numbered`].
const LINE: usize = 16;

/// Lines of [`LINE`] bytes that say where they begin: see [`start_of`].
fn numbered(count: usize) -> Vec<u8> {
    (0..count).flat_map(|n| format!("{{\"a\":\"{n:07}\"}}\n").into_bytes()).collect()
}

/// The offset in [`numbered`] of a text that was cut out of it.
fn start_of(text: &[u8]) -> Option<usize> {
    let number = std::str::from_utf8(text.get(6..13)?).ok()?;
    Some(LINE * number.parse::<usize>().ok()?)
}

/// The results are in order, whichever worker is slow. Each text of an odd number is evaluated before its
/// predecessor. The first is evaluated only when the greatest possible number of texts after it are done.
#[test]
fn slow_workers_keep_the_order() -> Result<()> {
    const SIZE: usize = 10 * LINE;
    const WORKERS: usize = 8;
    // Two texts a worker are out at most, and the first is one of them.
    const BEHIND: usize = 2 * WORKERS - 1;
    let text = numbered(2000);
    let last = text.len() - SIZE;
    let watched = Watched::new(move |watched, text| {
        let number = start_of(text).unwrap() / SIZE;
        let waits_for = if number == 0 { BEHIND } else { number | 1 };
        if waits_for > number && waits_for * SIZE <= last {
            drop(watched.wait(|seen| seen.starts.iter().any(|start| start / SIZE == waits_for)));
        }
    });
    let backend: Arc<dyn Backend> = watched.clone();
    let folder = Folder::new(&[text]);
    // A caller who may stop soon would not let workers run ahead so far.
    let want = Want { matches: true, ..Want::default() };
    let program = Program::new(&[Query::compile("$.a")?])?;
    let mut got = Vec::new();
    for batch in engine(&backend, SIZE, WORKERS, OnError::Fail).input(folder.sources()).answers(program, want)
    {
        let batch = batch?;
        for (_, piece) in batch.pieces() {
            got.extend(piece.matches[0].iter().map(|found| batch.match_text(piece, found).to_vec()));
        }
    }
    assert_eq!(got, (0..2000).map(|n| format!("\"{n:07}\"").into_bytes()).collect::<Vec<_>>());
    let seen = watched.seen();
    let numbers: Vec<usize> = seen.starts.iter().map(|start| start / SIZE).collect();
    assert_eq!(numbers.len(), 200);
    let place = |number| numbers.iter().position(|answered| *answered == number);
    ensure!(place(0) > place(BEHIND) && (1..100).all(|pair| place(2 * pair) > place(2 * pair + 1)));
    Ok(())
}

/// Workers do not run far ahead of a caller that does not consume. A caller that stops early leaves no worker
/// running.
#[test]
fn workers_wait_for_the_caller_and_end_with_it() -> Result<()> {
    const WORKERS: usize = 3;
    let folder = Folder::new(&[lines(50_000)]);
    for taken in [0, 1, 5, 300] {
        // At most two texts per worker are out, beside those that the caller has requested.
        let watched = Watched::new(|watched, _| {
            watched.change(|seen| seen.limit_begun(seen.calls + 2 * WORKERS));
        });
        let backend: Arc<dyn Backend> = watched.clone();
        let engine = engine(&backend, 200, WORKERS, OnError::Fail);
        let mut answers =
            engine.input(folder.sources()).answers(Program::new(&[Query::compile("$.a")?])?, Want::default());
        for call in 0..=taken {
            // The workers begin that many, even if the caller requests no more.
            let seen = watched.wait(|seen| seen.begun == call + 2 * WORKERS && seen.answered == seen.begun);
            ensure!(seen.fault.is_none(), "{seen:?}");
            ensure!((1..=WORKERS).contains(&seen.workers) && seen.created == seen.workers, "{seen:?}");
            drop(seen);
            if call < taken {
                watched.change(|seen| seen.calls += 1);
                ensure!(answers.next().is_some_and(|batch| batch.is_ok()));
            }
        }
        drop(answers);
        // All workers have ended.
        let seen = watched.seen();
        ensure!(seen.fault.is_none() && seen.workers == 0, "{seen:?}");
        assert_eq!((seen.begun, seen.answered), (taken + 2 * WORKERS, taken + 2 * WORKERS));
    }
    Ok(())
}

/// The most texts of an input that may be begun when `used` have been used up, if the caller may stop soon.
/// At first it is the next text alone. From the sixth on, each used text allows one more ahead, up to two for
/// each of four workers.
fn begun_at_most(used: usize) -> usize {
    used + 1 + used.saturating_sub(4).min(7)
}

/// Workers run little ahead of a caller that may stop soon. They read ahead about as much as was used, and
/// nothing while it is used.
#[test]
fn what_may_be_left_soon_is_read_little_by_little() -> Result<()> {
    const SIZE: usize = 100 * LINE;
    /// The number of texts that are used one at a time. They and those ahead of them end before [`IN_TURN`].
    const ONE_AT_A_TIME: usize = 30;
    /// From here on a text waits for its turn.
    const IN_TURN: usize = 45 * SIZE;
    /// From here on a text waits for all workers.
    const TOGETHER: usize = 60 * SIZE;
    let text = numbered(20_000);
    let folder = Folder::new(std::slice::from_ref(&text));
    let program = Program::new(&[Query::compile("$.a")?])?;
    let want = Want { matches: true, limit: Some(Limit::Matches(1_000_000)), ..Want::default() };
    for reader in [false, true] {
        let watched = Watched::new(|watched, text| {
            let start = start_of(text).unwrap();
            watched.change(|seen| {
                // The caller has used up its text when it requests more.
                let used = seen.calls.saturating_sub(1);
                seen.limit_begun(begun_at_most(used));
            });
            // Once texts are used as fast as they come, all workers run. A worker that takes a text while
            // there is room starts another. Texts that wait for the caller's request leave room, so each of
            // the other workers is started.
            if start >= IN_TURN {
                drop(watched.wait(|seen| seen.given >= start));
            }
            if start >= TOGETHER {
                drop(watched.wait(|seen| seen.created == 4));
            }
        });
        let backend: Arc<dyn Backend> = watched.clone();
        let engine = engine(&backend, SIZE, 4, OnError::Fail);
        let input = match reader {
            true => engine.reader("text", Cursor::new(text.clone())),
            false => engine.input(folder.sources()),
        };
        let mut answers = input.answers(program.clone(), want);
        let (mut given, mut used) = (0, 0);
        loop {
            watched.change(|seen| seen.calls += 1);
            let Some(batch) = answers.next() else { break };
            let before = given;
            given += batch?.text().len();
            watched.change(|seen| seen.given = given);
            if used < ONE_AT_A_TIME {
                // The workers begin as much as they may, while the caller has its text.
                let seen = watched.wait(|seen| seen.begun == begun_at_most(used));
                ensure!(seen.fault.is_none(), "{seen:?}");
                // Lines may end after their part, and parts grow by that length.
                let most = 2 * before + SIZE / 16 + LINE * seen.begun;
                let read = answers.bytes_read() as usize;
                ensure!(
                    read == seen.bytes && read <= most.max(given),
                    "{read} bytes are read, {before} used"
                );
                used += 1;
            }
        }
        let seen = watched.seen();
        ensure!(seen.fault.is_none(), "{seen:?}");
        ensure!(given == text.len() && answers.bytes_read() as usize == given);
        assert_eq!(answers.stats().workers, 4);
    }
    // The first part has 100 bytes, and so at least five lines: no other is begun.
    for _ in 0..20 {
        let watched = Watched::new(|watched, _| watched.change(|seen| seen.limit_begun(1)));
        let backend: Arc<dyn Backend> = watched.clone();
        let engine = engine(&backend, SIZE, 4, OnError::Fail);
        let mut hits = engine.input(folder.sources()).query(&Query::compile("$.a")?)?;
        ensure!(hits.by_ref().take(5).all(|hit| hit.is_ok()));
        drop(hits);
        let seen = watched.seen();
        assert_eq!((seen.begun, seen.answered), (1, 1));
    }
    Ok(())
}

/// With a limit the results begin like those without one. They end at the limit or later, whatever the rest
/// of the input is.
#[test]
fn a_limit_leaves_out_only_what_is_behind_it() -> Result<()> {
    let folder = Folder::new(&[file("people.ndjson").to_vec(), file("bad.ndjson").to_vec(), lines(300)]);
    for paths in [&["$"][..], &["$.*", "$.tags[*]"], &["$[?@ == 1]"]] {
        let queries = paths.iter().map(|path| Query::compile(path)).collect::<Result<Vec<_>, _>>()?;
        let program = Program::new(&queries)?;
        for (i, backend) in backends().iter().enumerate() {
            for size in if i == 0 { &[1, 200, 3000, 1 << 20][..] } else { &[3000] } {
                let engine = engine(backend, *size, 3, OnError::Skip);
                // Path by path and for records, each with its offset; and the faults.
                let run = |limit: Option<Limit>, enough: usize| -> Result<_> {
                    let want = Want { matches: true, records: true, limit, ..Want::default() };
                    let mut found = vec![Vec::new(); paths.len() + 1];
                    let mut faults = Vec::new();
                    for batch in engine.input(folder.sources()).answers(program.clone(), want) {
                        let batch = batch?;
                        for (first, piece) in batch.pieces() {
                            for (list, found) in piece.matches.iter().zip(&mut found) {
                                let text = |found| {
                                    (batch.source().to_owned(), batch.match_text(piece, found).to_vec())
                                };
                                found.extend(list.iter().map(text));
                            }
                            let line = |line: &u32| {
                                (
                                    batch.source().to_owned(),
                                    (first + u64::from(*line)).to_string().into_bytes(),
                                )
                            };
                            found[paths.len()].extend(piece.records.iter().map(line));
                        }
                        faults.extend(batch.skipped());
                        let reached = match limit {
                            Some(Limit::Matches(_)) => {
                                found[..paths.len()].iter().all(|list| list.len() >= enough)
                            }
                            _ => found[paths.len()].len() >= enough,
                        };
                        if reached {
                            break;
                        }
                    }
                    Ok((found, faults))
                };
                let whole = run(None, usize::MAX)?;
                ensure!(!whole.1.is_empty());
                for limit in [0, 1, 2, 7, 30, 100, 1_000_000] {
                    for kind in [Limit::Matches, Limit::Records] {
                        let (found, faults) = run(Some(kind(limit)), limit as usize)?;
                        let wanted = match kind(limit) {
                            Limit::Matches(_) => 0..paths.len(),
                            Limit::Records(_) => paths.len()..paths.len() + 1,
                        };
                        for (list, whole) in found.iter().zip(&whole.0) {
                            ensure!(whole.starts_with(list), "{}: {paths:?} {size} {limit}", backend.name());
                        }
                        for (list, whole) in found[wanted.clone()].iter().zip(&whole.0[wanted]) {
                            ensure!(list.len() >= whole.len().min(limit as usize));
                        }
                        ensure!(whole.1.starts_with(&faults));
                    }
                }
            }
        }
    }
    Ok(())
}

/// The CPU reads nothing after the record that reaches the limit.
#[test]
fn the_cpu_stops_where_there_is_enough() -> Result<()> {
    let text = [
        lines(1000),
        b"[
"
        .to_vec(),
        lines(9000),
    ]
    .concat();
    // The first streams, where lines are long; the second does not.
    for (path, pad) in [("$.a", 0), ("$.a", 600), ("$[?@ == 3]", 0), ("$.*", 600)] {
        let text =
            String::from_utf8(text.clone())?.replace('}', &format!(",\"b\":\"{}\"}}", "x".repeat(pad)));
        let program = Program::new(&[Query::compile(path)?])?;
        for limit in [1, 2, 500] {
            let ask = |limit| {
                let want = Want { matches: true, records: true, limit: Some(limit), ..Want::default() };
                Ok::<_, Error>(Cpu.answer(text.as_bytes(), &program, want)?.pieces.remove(0))
            };
            let piece = ask(Limit::Records(limit))?;
            assert_eq!((piece.lines as u64, piece.records.len() as u64), (limit, limit));
            let piece = ask(Limit::Matches(limit))?;
            let last = piece.matches[0].get(limit as usize - 1);
            assert_eq!(last.map_or(10_001, |last| last.line + 1), piece.lines, "{path} {limit}");
            assert_eq!(piece.faults.len(), (piece.lines > 1000) as usize);
        }
    }
    Ok(())
}

/// A reader that gives nothing, ever.
struct Silent;

impl Read for Silent {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        loop {
            thread::park();
        }
    }
}

/// Says that it was read.
struct Touched(Arc<AtomicUsize>);

impl Read for Touched {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(0)
    }
}

#[test]
fn what_lies_behind_an_input_that_is_left_is_not_opened() -> Result<()> {
    let touched = Arc::new(AtomicUsize::new(0));
    for backend in backends() {
        let engine = engine(&backend, 100, 3, OnError::Fail);
        let first = Source::Reader("endless".into(), Box::new(Cursor::new("1\n").chain(Silent)));
        let second = Source::Reader("behind".into(), Box::new(Touched(touched.clone())));
        let mut hits = engine.input(vec![first, second]).query(&Query::compile("$")?)?;
        ensure!(hits.next().is_some_and(|hit| hit.is_ok()));
        drop(hits);
        // All threads but the one that reads for an input have ended.
        ensure!(touched.load(Ordering::SeqCst) == 0, "{} reads", touched.load(Ordering::SeqCst));
    }
    Ok(())
}

#[test]
fn an_input_that_never_ends_can_be_left() -> Result<()> {
    let watched = Arc::new(Watched::default());
    let backend: Arc<dyn Backend> = watched.clone();
    let engine = engine(&backend, 100, 3, OnError::Fail);
    let mut hits = engine.reader("silent", Cursor::new("1\n").chain(Silent)).query(&Query::compile("$")?)?;
    ensure!(hits.next().is_some_and(|hit| hit.is_ok()));
    // This would wait without end for a worker that waits for the input.
    drop(hits);
    let seen = watched.seen();
    assert_eq!((seen.workers, seen.created), (0, 1));
    Ok(())
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

/// A file that becomes shorter while it is read. Its whole lines are evaluated, and then there is an error,
/// unless it was read before.
#[test]
fn a_file_may_shrink_while_it_is_read() -> Result<()> {
    for left in [0, 1, 5000, 100_000] {
        let folder = Folder::new(&[lines(20_000)]);
        let path = folder.paths[0].clone();
        let backend: Arc<dyn Backend> = Watched::new(move |_, _| shrink_to(&path, left));
        let input = engine(&backend, 1000, 4, OnError::Fail).input(folder.sources());
        let mut next = 0;
        let mut failed = None;
        for hit in input.query(&Query::compile("$.a")?)? {
            match hit {
                Ok(hit) => {
                    assert_eq!(hit.text(), next.to_string());
                    next += 1;
                }
                Err(error) => failed = Some(error),
            }
        }
        ensure!(matches!(failed, Some(Error::Input(InputError::Io { .. }))), "{left}: {failed:?}");
        ensure!(next < 20_000);
    }
    Ok(())
}

fn shrink_to(path: &Path, len: u64) {
    let file = File::options().write(true).open(path).unwrap();
    if file.metadata().unwrap().len() > len {
        file.set_len(len).unwrap();
    }
}

/// A backend whose workers each evaluate their first text when all have one.
struct Meeting(Arc<dyn Backend>, Arc<Barrier>);

struct MeetingWorker<'a>(Box<dyn Worker + 'a>, Option<&'a Barrier>);

impl Backend for Meeting {
    fn name(&self) -> String {
        self.0.name()
    }
    fn partition_size(&self) -> usize {
        self.0.partition_size()
    }
    fn workers(&self, partition_size: usize) -> usize {
        self.0.workers(partition_size)
    }
    fn stages(&self, evaluation: &Evaluation<'_>) -> Vec<Stage> {
        self.0.stages(evaluation)
    }
    fn worker(&self, number: usize) -> Result<Box<dyn Worker + '_>, Error> {
        Ok(Box::new(MeetingWorker(self.0.worker(number)?, Some(&self.1))))
    }
    fn index(&self, text: &[u8], levels: u32) -> Result<StructuralIndex, Error> {
        self.0.index(text, levels)
    }
}

impl Worker for MeetingWorker<'_> {
    fn answer(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        if let Some(all) = self.1.take() {
            all.wait();
        }
        self.0.answer(text, program, want)
    }
}

/// Both devices are used, each by workers with their own queues. A worker keeps its queues.
#[test]
fn devices_share_the_work() -> Result<()> {
    const WORKERS: usize = 4;
    let devices = [Emulated::default(), Emulated::default()];
    let watching = devices.each_ref().map(|device| device.queue().unwrap());
    let all = Arc::new(Barrier::new(WORKERS));
    let [first, second] = devices.map(|device| -> Arc<dyn Backend> {
        Arc::new(Meeting(Arc::new(Pipeline::new(device).unwrap()), all.clone()))
    });
    let each = first.workers(1 << 20);
    let backend: Arc<dyn Backend> = Arc::new(Together::new(vec![first, second])?);
    assert_eq!(backend.workers(1 << 20), 2 * each);
    let folder = Folder::new(&[lines(400)]);
    // All batches at once, not as many as a caller uses: so there is room for all workers from the start.
    let engine = engine(&backend, 50, WORKERS, OnError::Fail);
    for _ in 0..3 {
        let program = Program::new(&[Query::compile("$.a")?])?;
        let mut count = 0;
        for batch in engine.input(folder.sources()).answers(program, Want::default()) {
            count += batch?.count(0);
        }
        assert_eq!(count, 400);
    }
    for device in &watching {
        assert_eq!(device.queues(), 1 + WORKERS as u64 / 2);
    }
    Ok(())
}

#[test]
fn the_engine_chooses_by_size_and_says_so() -> Result<()> {
    let engine = Engine::builder().device(DeviceChoice::Auto).build()?;
    let folder = Folder::new(&[lines(100), gzip(&lines(100))]);
    let program = Program::new(&[Query::compile("$.a")?])?;
    for (source, reason) in [
        (folder.paths[0].clone(), "auto: cpu, 0 MB of plain files are below "),
        (folder.paths[1].clone(), "auto: cpu, no plain file to feed a device fast enough"),
    ] {
        let mut answers = engine.input(vec![Source::File(source)]).answers(program.clone(), Want::default());
        ensure!(answers.by_ref().all(|batch| batch.is_ok()));
        let plan = answers.plan();
        ensure!(plan.backend.starts_with("cpu ("), "{plan:?}");
        ensure!(plan.reason.as_ref().is_some_and(|said| said.starts_with(reason)), "{plan:?}");
    }
    for (builder, wrong) in [
        (Engine::builder().workers(0), "worker"),
        (Engine::builder().partition_size(0), "partition"),
        (Engine::builder().device(DeviceChoice::CudaList(vec![1, 0, 1])), "cuda:1 is named twice"),
        (Engine::builder().device(DeviceChoice::CudaList(Vec::new())), "no backend to join"),
    ] {
        match builder.build().map(drop) {
            Err(Error::Usage(said)) => ensure!(said.contains(wrong), "{said}"),
            other => panic!("{other:?}"),
        }
    }
    Ok(())
}
