//! A kept index is queried several times, and gives the results of its inputs.

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use anyhow::{Result, ensure};
use flate2::Compression;
use warpath::aggregate::DEFAULT_MEMORY;
use warpath::columns::{ColumnType, Schema};
use warpath::twig::{Documents, Standing, Subscriptions};
use warpath::{
    CancelToken, DeviceError, Engine, Error, IndexError, Input, Loaded, LoadedInput, OnError, Predicate,
    Program, Query, RowForm, Source, TextForm, Want,
};
use warpath_answer::backend::{Backend, StructuralIndex, Worker};
use warpath_cpu::Cpu;
use warpath_device::Pipeline;
use warpath_device::Together;
use warpath_tests::data::{FILES, file, paths_of};
use warpath_tests::emulated::Emulated;
use warpath_tests::random::Rng;

use crate::common::{bare_backend, found, gzip};

fn device(emulated: &Emulated) -> Arc<dyn Backend> {
    Arc::new(Pipeline::new(emulated.clone()).unwrap())
}

fn backends() -> Vec<Arc<dyn Backend>> {
    let several = || (0..3).map(|_| device(&Emulated::default())).collect();
    vec![Arc::new(Cpu), device(&Emulated::default()), Arc::new(Together::new(several()).unwrap())]
}

fn engine(backend: &Arc<dyn Backend>, size: usize, on_error: OnError) -> Engine {
    Engine::builder().backend(backend.clone()).partition_size(size).on_error(on_error).build().unwrap()
}

fn reader(name: &str, text: &[u8]) -> Source {
    Source::Reader(name.into(), Box::new(Cursor::new(text.to_vec())))
}

/// Bytes of the index, and on a device of its text.
fn bytes_of(index: &Loaded) -> u64 {
    index.device().map_or_else(|| index.memory() - index.text_bytes(), |(_, bytes)| bytes)
}

/// Every file of the test data, in partitions of several sizes. Queries run in a random order, more than
/// once.
#[test]
fn answers_are_those_of_the_input() -> Result<()> {
    let rng = &mut Rng::new(5);
    let folder = tempfile::tempdir()?;
    for (name, text) in FILES {
        std::fs::write(folder.path().join(name), text)?;
    }
    for (i, backend) in backends().iter().enumerate() {
        for size in if i == 0 { &[1, 100, 5000, 1 << 20][..] } else { &[3000, 1 << 20] } {
            for on_error in [OnError::Fail, OnError::Skip] {
                let engine = engine(backend, *size, on_error);
                let readers = || FILES.iter().map(|(name, text)| reader(name, text)).collect::<Vec<_>>();
                let files = || FILES.iter().map(|(name, _)| Source::File(folder.path().join(name))).collect();
                let sources = || if on_error == OnError::Fail && *size > 100 { files() } else { readers() };
                let index = engine.input(sources()).index(8)?;
                let mut paths: Vec<&str> = FILES.iter().flat_map(|(name, _)| paths_of(name)).collect();
                paths.extend(["$", "$.*", "$.a", "$[*][*]"]);
                for _ in 0..if i == 0 { 40 } else { 6 } {
                    let path = paths[rng.below(paths.len())];
                    // Unsupported queries are refused at compilation.
                    let Ok(query) = Query::compile(path) else { continue };
                    let want = found(engine.input(sources()).query(&query)?);
                    ensure!(
                        found(index.input(&engine).query(&query)?) == want,
                        "{path}: {size} bytes on {}",
                        backend.name()
                    );
                    if on_error == OnError::Skip {
                        ensure!(index.input(&engine).count(&query)? == want.0.len() as u64, "{path}: count");
                    }
                }
            }
        }
    }
    Ok(())
}

/// Texts, rows, counts, records and what was skipped, of several paths in one pass.
#[test]
fn batches_are_those_of_the_input() -> Result<()> {
    let queries = ["$", "$.*", "$.a"].map(|path| Query::compile(path).unwrap());
    let program = Program::new(&queries)?;
    let wants = [
        Want::default(),
        Want::default().matches(true).records(true),
        Want::default().text(TextForm::Json),
        Want::default().text(TextForm::Raw).rows(RowForm::Ndjson),
    ];
    let text = [file("people.ndjson"), file("bad.ndjson"), b"\n\n{\"a\":[1,\"x\\n\"]}"].concat();
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("text");
    std::fs::write(&path, &text)?;
    for backend in backends() {
        for (on_error, is_file) in
            [OnError::Fail, OnError::Skip].into_iter().flat_map(|it| [(it, false), (it, true)])
        {
            let engine = engine(&backend, 700, on_error);
            let input = || match is_file {
                true => engine.open(&path).unwrap(),
                false => engine.reader("text", Cursor::new(text.clone())),
            };
            let index = input().index(program.levels())?;
            ensure!(index.text_bytes() == text.len() as u64 && bytes_of(&index) > 0);
            for want in wants.iter().chain(&wants) {
                let mut streamed = input().answers(program.clone(), *want);
                let mut kept = index.input(&engine).answers(program.clone(), *want);
                ensure!(
                    kept.plan().index().as_deref() == Some("resident, 1 of 1 levels read"),
                    "{:?}",
                    kept.plan()
                );
                loop {
                    let (mine, other) = (kept.next(), streamed.next());
                    match (mine, other) {
                        (None, None) => break,
                        (Some(Ok(mine)), Some(Ok(other))) => {
                            ensure!(mine.offset() == other.offset() && mine.source() == other.source());
                            ensure!(mine.fault() == other.fault());
                            ensure!(mine.skipped().eq(other.skipped()));
                            ensure!(mine.pieces().eq(other.pieces()), "{want:?} on {}", backend.name());
                        }
                        (Some(Err(mine)), Some(Err(other))) => {
                            ensure!(mine.to_string() == other.to_string());
                        }
                        _ => panic!("{want:?} on {}: one ends before the other", backend.name()),
                    }
                }
                let (mine, other) = (kept.stats(), streamed.stats());
                ensure!(
                    (mine.lines, mine.matches, mine.skipped) == (other.lines, other.matches, other.skipped)
                );
            }
        }
    }
    Ok(())
}

/// Predicates, aggregates and columns are evaluated over the index, and subscriptions and schemas over the
/// text.
#[test]
fn every_operator_reads_what_is_kept() -> Result<()> {
    let text = [file("people.ndjson"), file("bad.ndjson")].concat();
    let paths = ["$.user.name", "$.tags[*]"].map(|path| Query::compile(path).unwrap());
    let mut subscriptions = Subscriptions::default();
    subscriptions.add("name", "//name")?;
    let standing = Standing::new(subscriptions);
    let results = |input: &dyn Fn() -> Input<'static>| -> Result<Vec<String>> {
        let mut all = Vec::new();
        let matching = input().matching(&Predicate::parse("$.user.name >= 'C' or $.b")?);
        for hit in matching.query(&Query::compile("$")?)? {
            let hit = hit?;
            all.push(format!("{}: {}", hit.line(), hit.text()));
        }
        for counted in input().count_by(&paths[..1], DEFAULT_MEMORY)?.by_count(None)? {
            let (key, count) = counted?;
            all.push(format!("{key:?}: {count}"));
        }
        let (described, _) = &input().statistics(&paths[1..], DEFAULT_MEMORY)?.finish(&[])?[0];
        all.push(format!("{:?} and {} missing", described.kinds, described.missing));
        // Partitions need not be the same.
        let schema = Schema::new(&[(paths[0].clone(), ColumnType::Json)])?;
        let rows = input().columns(&schema).map(|batch| Ok(batch?.rows)).sum::<Result<usize, Error>>()?;
        all.push(format!("{rows} rows"));
        let mut schemas = input().schema(None);
        for part in &mut schemas {
            part?;
        }
        all.push(format!("{:?}", schemas.finish().tree.root().members().len()));
        let mut pairs = 0;
        for filtered in input().filter(&standing, Documents::Ndjson) {
            pairs += filtered?.pairs().len();
        }
        all.push(format!("{pairs} pairs"));
        Ok(all)
    };
    for backend in backends() {
        let engine = engine(&backend, 1 << 20, OnError::Skip);
        let sources = || vec![reader("first", &text), reader("second", file("people.ndjson"))];
        let index = engine.input(sources()).index(8)?;
        ensure!(index.inputs().iter().map(LoadedInput::name).eq(["first", "second"]));
        let want = results(&|| engine.input(sources()))?;
        ensure!(results(&|| index.input(&engine))? == want, "{}", backend.name());
        // A stricter engine reads the text, and says why.
        let strict = Engine::builder().backend(backend.clone()).strict(true).build()?;
        let hits = index.input(&strict).query(&paths[0])?;
        let unused: Vec<String> = hits.plan().unused.iter().map(|unused| unused.why.clone()).collect();
        ensure!(unused == ["records are checked otherwise than when it was made"], "{unused:?}");
        ensure!(found(hits) == found(strict.input(sources()).query(&paths[0])?), "{}", backend.name());
    }
    Ok(())
}

/// Threads that query at the same time each get their own results, even if one leaves early.
#[test]
fn several_threads_may_ask() -> Result<()> {
    let text: String = (0..600).map(|n| format!("{{\"a\":{n},\"b\":[{n},{n}]}}\n")).collect();
    for backend in backends() {
        let engine = engine(&backend, 900, OnError::Fail);
        let index = engine.reader("text", Cursor::new(text.clone())).index(3)?;
        thread::scope(|scope| {
            for (path, count) in [("$.a", 600), ("$.b[*]", 1200), ("$.c", 0), ("$", 600)] {
                let (index, engine) = (&index, &engine);
                scope.spawn(move || {
                    let query = Query::compile(path).unwrap();
                    for _ in 0..2 {
                        assert_eq!(index.input(engine).count(&query).unwrap(), count, "{path}");
                        let some = index.input(engine).query(&query).unwrap().take(5).filter(Result::is_ok);
                        assert_eq!(some.count(), 5.min(count as usize), "{path}");
                    }
                });
            }
        });
    }
    Ok(())
}

/// Says nothing of keeping.
struct Silent;

impl Backend for Silent {
    bare_backend!("silent", partition_size: 500, workers: 2);
    fn worker(&self, number: usize) -> Result<Box<dyn Worker + '_>, Error> {
        Cpu.worker(number)
    }
    fn index(&self, text: &[u8], levels: u32) -> Result<StructuralIndex, Error> {
        Cpu.index(text, levels)
    }
}

#[test]
fn a_backend_that_says_nothing_of_keeping_has_its_index_kept() -> Result<()> {
    let engine = Engine::builder().backend(Arc::new(Silent)).on_error(OnError::Skip).build()?;
    let text = [file("people.ndjson"), file("bad.ndjson")].concat();
    let input = || engine.reader("text", Cursor::new(text.clone()));
    let index = input().index(3)?;
    for path in ["$.user.lang", "$.*", "$"] {
        let query = Query::compile(path)?;
        ensure!(
            query.levels() <= 3
                && found(index.input(&engine).query(&query)?) == found(input().query(&query)?),
            "{path}"
        );
    }
    Ok(())
}

#[test]
fn nothing_may_be_kept() -> Result<()> {
    let query = Query::compile("$")?;
    for backend in backends() {
        for (text, count) in [("", 0), ("\n\n", 0), ("1", 1)] {
            let engine = engine(&backend, 10, OnError::Fail);
            let index = engine.reader("text", Cursor::new(text)).index(0)?;
            ensure!(index.input(&engine).count(&query)? == count && index.text_bytes() == text.len() as u64);
        }
    }
    Ok(())
}

#[test]
fn more_levels_than_are_kept_are_refused() -> Result<()> {
    for backend in backends() {
        let engine = engine(&backend, 100, OnError::Fail);
        let index = engine.reader("text", Cursor::new("{\"a\":{\"b\":1}}")).index(1)?;
        let levels = index.inputs()[0].levels();
        ensure!(index.input(&engine).count(&Query::compile("$.a")?)? == 1 && levels == Some(1));
        let deep = Query::compile("$.a.b")?;
        match index.input(&engine).query(&deep)?.next().map(|hit| hit.map(drop)) {
            Some(Err(Error::Index(IndexError::TooFewLevels { kept: 1, needed: 2 }))) => {}
            other => panic!("{other:?}"),
        }
        let counted = index.input(&engine).count(&deep);
        let is_refused =
            matches!(counted, Err(Error::Index(IndexError::TooFewLevels { kept: 1, needed: 2 })));
        ensure!(is_refused, "{counted:?}");
    }
    Ok(())
}

/// A second query does not read the input again: the file may be gone.
#[test]
fn inputs_are_read_once() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let paths: Vec<PathBuf> = ["plain", "packed"].iter().map(|name| folder.path().join(name)).collect();
    std::fs::write(&paths[0], file("tweets.ndjson"))?;
    std::fs::write(&paths[1], gzip(b"{\"user\":{\"lang\":\"packed\"}}\n", Compression::fast()))?;
    let query = Query::compile("$.user.lang")?;
    for backend in backends() {
        let engine = engine(&backend, 20_000, OnError::Fail);
        let sources = || paths.iter().cloned().map(Source::File).collect();
        let want = found(engine.input(sources()).query(&query)?);
        let index = engine.input(sources()).index(2)?;
        let renamed: Vec<PathBuf> = paths.iter().map(|path| path.with_extension("away")).collect();
        for (path, away) in paths.iter().zip(&renamed) {
            std::fs::rename(path, away)?;
        }
        for _ in 0..2 {
            ensure!(found(index.input(&engine).query(&query)?) == want && want.0.len() == 59);
        }
        for (path, away) in paths.iter().zip(&renamed) {
            std::fs::rename(away, path)?;
        }
        match engine.input(vec![Source::File(folder.path().join("missing"))]).index(2).map(drop) {
            Err(Error::Input(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    Ok(())
}

/// The index has its own copy of the text: a file that is cut or written over later changes no result.
#[test]
fn later_changes_of_a_file_have_no_effect() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tweets");
    let query = Query::compile("$.user.lang")?;
    for backend in backends() {
        std::fs::write(&path, file("tweets.ndjson"))?;
        let engine = engine(&backend, 20_000, OnError::Fail);
        let want = found(engine.open(&path)?.query(&query)?);
        let index = engine.open(&path)?.index(2)?;
        let len = std::fs::metadata(&path)?.len() as usize;
        let opened = std::fs::File::options().write(true).open(&path)?;
        std::os::unix::fs::FileExt::write_all_at(&opened, &vec![b'x'; len], 0)?;
        ensure!(found(index.input(&engine).query(&query)?) == want && want.0.len() == 58, "{}", want.0.len());
        opened.set_len(0)?;
        ensure!(found(index.input(&engine).query(&query)?) == want);
    }
    Ok(())
}

/// A text of several pinned pieces, the last one short, arrives whole.
#[test]
fn a_long_partition_is_sent_in_pieces() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("long");
    let tweets = file("tweets.ndjson");
    // Two whole pieces of 4 MiB, and a part of a third. No newline at the end.
    let mut text = tweets.repeat((9 << 20) / tweets.len() + 1);
    text.extend_from_slice(b"{\"user\":{\"lang\":\"last\"}}");
    std::fs::write(&path, &text)?;
    let query = Query::compile("$.user.lang")?;
    let emulated = Emulated::default();
    let engine = engine(&device(&emulated), 1 << 24, OnError::Fail);
    let index = engine.open(&path)?.index(2)?;
    let (_, largest) = emulated.take_work();
    ensure!(largest == 4 << 20 && emulated.take_uploaded() >= text.len() as u64, "{largest}");
    let want = Engine::builder().backend(Arc::new(Cpu)).build()?.open(&path)?.count(&query)?;
    ensure!(index.input(&engine).count(&query)? == want && index.text_bytes() == text.len() as u64);
    let last = index.input(&engine).query(&query)?.last().transpose()?;
    ensure!(last.is_some_and(|hit| hit.text() == "\"last\""));
    Ok(())
}

/// A device that fails in the middle of a load, and a load that is cancelled: an error, and no memory of the
/// device is held any more.
#[test]
fn a_load_that_ends_early_gives_its_memory_back() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("text");
    std::fs::write(&path, file("tweets.ndjson").repeat(20))?;
    let query = Query::compile("$.user.lang")?;
    let emulated = Emulated::default();
    let engine = engine(&device(&emulated), 10_000, OnError::Fail);
    let want = engine.open(&path)?.index(2)?.input(&engine).count(&query)?;
    // The arrays that queues keep for their next partitions.
    let scratch = emulated.used();
    for uploads in [0, 1, 7, 30] {
        emulated.fail_uploads_after(uploads);
        match engine.open(&path)?.index(2).map(drop) {
            Err(Error::Device(_)) => {}
            other => panic!("{uploads} uploads: {other:?}"),
        }
        emulated.fail_uploads_after(u64::MAX);
        ensure!(emulated.used() <= scratch, "{uploads} uploads: {} over {scratch}", emulated.used());
    }
    let token = CancelToken::new();
    token.cancel();
    let cancelled = engine.open(&path)?.cancel(&token).index(2).map(drop);
    ensure!(matches!(cancelled, Err(Error::Cancelled)), "{cancelled:?}");
    ensure!(engine.open(&path)?.index(2)?.input(&engine).count(&query)? == want);
    Ok(())
}

/// On a device, a second query copies no text and launches no kernel of the index.
#[test]
fn a_device_is_sent_the_query_alone() -> Result<()> {
    let emulated = Emulated::default();
    let before = emulated.used();
    let engine = engine(&device(&emulated), 30_000, OnError::Fail);
    let index = engine.reader("text", Cursor::new(file("tweets.ndjson"))).index(4)?;
    let (kernels, upload) = emulated.take_work();
    ensure!(kernels.contains_key("structure_write") && upload > 20_000, "{kernels:?} {upload}");
    let text = Want::default().text(TextForm::Json);
    for (path, want, expected) in [
        ("$.user.lang", Want::default(), &["query_slots", "slot_compact"][..]),
        ("$.user.lang", text, &["query_slots", "slot_compact", "text_gather", "text_scan"]),
        ("$.entities.*", Want::default(), &["count_scan", "query_bounds", "query_count"]),
    ] {
        for _ in 0..2 {
            let program = Program::new(&[Query::compile(path)?])?;
            let mut answers = index.input(&engine).answers(program, want);
            ensure!(answers.all(|batch| batch.is_ok()));
            let (kernels, upload) = emulated.take_work();
            let names: Vec<&str> = kernels.keys().copied().collect();
            ensure!(names == expected, "{path}: {kernels:?}");
            ensure!(upload < 1000, "{path}: {upload} bytes");
        }
    }
    // All of it is given back.
    let kept = bytes_of(&index);
    ensure!(emulated.used() >= before + kept && kept > file("tweets.ndjson").len() as u64);
    let used = emulated.used();
    drop(index);
    ensure!(emulated.used() <= used - kept);
    drop(engine);
    ensure!(emulated.used() == before);
    Ok(())
}

#[test]
fn what_does_not_fit_a_device_says_so() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("text");
    let text = file("tweets.ndjson").repeat(40);
    std::fs::write(&path, &text)?;
    let devices = |count: usize, memory: u64| -> Arc<dyn Backend> {
        let device = || device(&Emulated::with_memory(memory));
        Arc::new(Together::new((0..count).map(|_| device()).collect()).unwrap())
    };
    let size = text.len() as u64;
    let keep = |backend: &Arc<dyn Backend>, levels| {
        let engine = engine(backend, 100_000, OnError::Fail);
        Ok(engine.open(&path)?.index(levels)?.input(&engine))
    };
    // By its size, before anything is read.
    match keep(&devices(1, size), 3).map(drop) {
        Err(Error::Device(DeviceError::IndexTooLarge { needed, free })) => {
            ensure!(needed > size && free == size, "{needed} {free}");
        }
        other => panic!("{other:?}"),
    }
    // A pipe, of which nobody knows how long it is: when the memory is full.
    let small = engine(&devices(1, size), 100_000, OnError::Fail);
    match small.reader("pipe", Cursor::new(text.clone())).index(3).map(drop) {
        Err(Error::Device(DeviceError::IndexTooLarge { needed, free })) => {
            ensure!(needed > free && free <= size, "{needed} {free}");
        }
        other => panic!("{other:?}"),
    }
    // Two such devices have twice the room.
    let query = Query::compile("$.user.lang")?;
    let want = Engine::builder().backend(Arc::new(Cpu)).build()?.open(&path)?.count(&query)?;
    let memory = size + size / 2;
    let one = keep(&devices(1, memory), 2).map(drop);
    ensure!(matches!(one, Err(Error::Device(DeviceError::IndexTooLarge { .. }))), "{one:?}");
    ensure!(keep(&devices(2, memory), 2)?.count(&query)? == want);
    ensure!(keep(&devices(1, 3 * size), 2)?.count(&query)? == want);
    Ok(())
}
