//! Cancellation, deadlines and memory budgets.

use std::io::{self, Cursor, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use warpath::{CancelToken, Engine, Error, Query};
use warpath_exec::aggregate::DEFAULT_MEMORY;
use warpath_exec::input::{FollowEnd, FollowFrom, Source};
use warpath_exec::operators::Input;

fn query() -> Query {
    Query::compile("$.a").unwrap()
}

/// A reader that gives one line, then calls a function, and waits for ever.
struct Waits<F: FnMut()> {
    given: bool,
    then: F,
}

impl<F: FnMut()> Read for Waits<F> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if !std::mem::replace(&mut self.given, true) {
            room[..8].copy_from_slice(b"{\"a\":1}\n");
            return Ok(8);
        }
        (self.then)();
        loop {
            std::thread::park();
        }
    }
}

/// A reader that gives lines as long as they are taken, and reports that it was dropped.
struct Endless(Sender<()>);

impl Read for Endless {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        room[..8].copy_from_slice(b"{\"a\":1}\n");
        Ok(8)
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

fn endless() -> (Endless, Receiver<()>) {
    let (sender, receiver) = channel();
    (Endless(sender), receiver)
}

#[test]
fn a_reader_that_waits_is_cancelled() -> Result<()> {
    let token = CancelToken::new();
    let its = token.clone();
    let reader = Waits { given: false, then: move || its.cancel() };
    let input = Engine::builder().build()?.reader("waits", reader).cancel(&token);
    ensure!(matches!(input.count(&query()), Err(Error::Cancelled)));
    Ok(())
}

/// One record of which nobody can wait for all results: a path of eight descents over 60 levels has 2.5
/// thousand million matches.
#[test]
fn the_evaluation_of_one_record_is_ended() -> Result<()> {
    let record = format!("{}1{}", "{\"a\":".repeat(60), "}".repeat(60));
    let engine = Engine::builder().workers(2).build()?;
    for path in [
        "$..*..*..*..*..*..*..*..*",
        "$..*..*..*..*..*..*..*..[?@.b == $.b]",
        "$..[?count($..*..*..*..*..*..*..*) > 1]",
    ] {
        let query = Query::compile(path)?;
        let time = Duration::from_millis(1);
        let bytes = engine.bytes(&record).timeout(time).count(&query);
        ensure!(matches!(bytes, Err(Error::DeadlineExceeded)), "{path} {bytes:?}");
        let read = engine.reader("record", Cursor::new(record.clone())).timeout(time).count(&query);
        ensure!(matches!(read, Err(Error::DeadlineExceeded)), "{path} {read:?}");
        let token = CancelToken::new();
        let input = engine.reader("record", Cursor::new(record.clone())).cancel(&token);
        let mut hits = input.query(&query)?;
        // The drop waits for the worker.
        token.cancel();
        ensure!(matches!(hits.next(), Some(Err(Error::Cancelled))));
        drop(hits);
    }
    Ok(())
}

/// The token of the engine, of the input and of the run itself.
#[test]
fn every_token_cancels_after_the_first_result() -> Result<()> {
    let text = "{\"a\":1}\n".repeat(100_000);
    for size in [1000, 1 << 20] {
        for which in 0..3 {
            let (of_engine, of_input) = (CancelToken::new(), CancelToken::new());
            let engine = Engine::builder().partition_size(size).cancel(&of_engine).build()?;
            let reader = engine.reader("text", Cursor::new(text.clone()));
            for input in [
                reader,
                engine.bytes(&text),
                engine.bytes(text.clone()),
                engine.bytes("{\"a\":1}\n{\"a\":2}"),
            ] {
                let mut hits = input.cancel(&of_input).query(&query())?;
                ensure!(hits.next().context("a hit")?.is_ok());
                let own = hits.canceller();
                match which {
                    0 => of_engine.cancel(),
                    1 => of_input.cancel(),
                    _ => own.cancel(),
                }
                ensure!(matches!(hits.next(), Some(Err(Error::Cancelled))), "{which}");
                ensure!(hits.next().is_none());
                // The other inputs have ended before they began, except with the token of the run.
                if which < 2 {
                    break;
                }
            }
            let count = engine.bytes(&text).count(&query());
            ensure!(matches!(count, Err(Error::Cancelled)) == (which == 0), "{which}: {count:?}");
        }
    }
    Ok(())
}

type Operation = fn(Input<'_>) -> Result<(), Error>;

/// Every operation of an input, to its end.
const OPERATIONS: [(&str, Operation); 9] = [
    ("query", |input| input.query(&query())?.try_for_each(|hit| hit.map(drop))),
    ("count", |input| input.count(&query()).map(drop)),
    ("count_by", |input| input.count_by(&[query()], DEFAULT_MEMORY).map(drop)),
    ("distinct", |input| input.distinct(&[query()], DEFAULT_MEMORY).map(drop)),
    ("statistics", |input| input.statistics(&[query()], DEFAULT_MEMORY).map(drop)),
    ("schema", |input| input.schema(None).try_for_each(|part| part.map(drop))),
    ("index", |input| input.index(1).map(drop)),
    ("indexes", |input| input.indexes(1).try_for_each(|part| part.map(drop))),
    ("matching", |input| {
        let only = warpath_lang::predicate::Predicate::parse("$.a >= 1")?;
        input.matching(&only).count(&query()).map(drop)
    }),
];

#[test]
fn every_operation_is_cancelled_and_has_a_deadline() -> Result<()> {
    let engine = Engine::builder().partition_size(1000).build()?;
    let text = "{\"a\":1}\n".repeat(1000);
    for (name, run) in OPERATIONS {
        for kind in 0..3 {
            let input = || match kind {
                0 => engine.reader("text", Cursor::new(text.clone())),
                1 => engine.bytes(&text),
                _ => engine.bytes("{\"a\":1}"),
            };
            ensure!(run(input()).is_ok(), "{name}");
            let token = CancelToken::new();
            ensure!(run(input().cancel(&token)).is_ok(), "{name}");
            token.cancel();
            ensure!(matches!(run(input().cancel(&token)), Err(Error::Cancelled)), "{name} {kind}");
            let past = input().deadline(Instant::now());
            ensure!(matches!(run(past), Err(Error::DeadlineExceeded)), "{name} {kind}");
            let none = input().timeout(Duration::ZERO);
            ensure!(matches!(run(none), Err(Error::DeadlineExceeded)), "{name} {kind}");
            ensure!(run(input().timeout(Duration::MAX)).is_ok(), "{name} {kind}");
        }
    }
    Ok(())
}

/// The reader's thread ends, too, if its reads return.
#[test]
fn a_cancelled_input_is_not_read_on() -> Result<()> {
    let (reader, dropped) = endless();
    let mut hits = Engine::builder().build()?.reader("endless", reader).query(&query())?;
    ensure!(hits.next().context("a hit")?.is_ok());
    hits.canceller().cancel();
    ensure!(matches!(hits.next(), Some(Err(Error::Cancelled))));
    drop(hits);
    dropped.recv()?;
    Ok(())
}

#[test]
fn a_deadline_ends_an_endless_input_and_one_that_waits() -> Result<()> {
    let (reader, dropped) = endless();
    let engine = Engine::builder().timeout(Duration::from_millis(20)).build()?;
    ensure!(matches!(engine.reader("endless", reader).count(&query()), Err(Error::DeadlineExceeded)));
    dropped.recv()?;
    let waits = Waits { given: false, then: || {} };
    ensure!(matches!(engine.reader("waits", waits).count(&query()), Err(Error::DeadlineExceeded)));
    Ok(())
}

#[test]
fn followed_files_are_cancelled() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("log.ndjson");
    std::fs::write(&path, "{\"a\":1}\n")?;
    let engine = Engine::builder().build()?;
    let (one, all) = (FollowEnd::default(), FollowEnd::default());
    let followed = Source::Followed(path.clone(), FollowFrom::Start, one.clone());
    let several = Source::FollowedAll(warpath_exec::input::FollowedFiles::new(
        vec![path],
        Default::default(),
        FollowFrom::Start,
        all.clone(),
    ));
    for (source, end) in [(followed, one), (several, all)] {
        let mut hits = engine.input(vec![source]).query(&query())?;
        ensure!(hits.next().context("a hit")?.is_ok());
        hits.canceller().cancel();
        ensure!(matches!(hits.next(), Some(Err(Error::Cancelled))));
        end.end();
    }
    Ok(())
}

#[test]
fn results_do_not_depend_on_the_memory_budget() -> Result<()> {
    let text: String =
        (0..20_000).map(|n| format!("{{\"a\":{n},\"b\":\"{}\"}}\n", "x".repeat(n % 90))).collect();
    let sum = |input: Input<'_>| -> Result<u64> {
        let mut sum = 0;
        for hit in input.query(&query())? {
            sum += hit?.text().parse::<u64>()?;
        }
        Ok(sum)
    };
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), &text)?;
    for memory in [4000, 100_000, 1 << 20, 1 << 40] {
        let engine = Engine::builder().memory(memory).build()?;
        for input in [engine.open(file.path())?, engine.bytes(&text), engine.bytes(text.clone())] {
            ensure!(sum(input)? == (0..20_000).sum::<u64>(), "{memory}");
        }
        let hits = engine.open(file.path())?.query(&query())?;
        let plan = hits.plan();
        ensure!(plan.workers >= 1 && (2 * plan.workers + 1) * 2 * plan.partition_size <= memory, "{plan:?}");
    }
    Ok(())
}

#[test]
fn what_has_no_room_in_the_budget_is_an_error() -> Result<()> {
    let text = format!("{{\"a\":1}}\n{{\"a\":\"{}\"}}\n", "x".repeat(100_000));
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), &text)?;
    let engine = Engine::builder().build()?;
    let reader = engine.reader("text", Cursor::new(text.clone()));
    for input in [reader, engine.open(file.path())?] {
        let mut hits = input.memory(50_000).query(&query())?;
        ensure!(hits.next().context("a hit")??.text() == "1");
        let error = hits.next().context("an error")?.err().context("an error")?;
        ensure!(matches!(error, Error::Memory { limit: 8333, .. }), "{error:?}");
        ensure!(hits.next().is_none());
    }
    // Bytes in memory take none of the budget, but a kept index does.
    ensure!(engine.bytes(&text).memory(50_000).count(&query())? == 2);
    let many = "{\"a\":1}\n".repeat(10_000);
    ensure!(matches!(engine.bytes(&many).memory(50_000).index(1), Err(Error::Memory { limit: 50_000, .. })));
    ensure!(engine.bytes(&many).memory(1 << 20).index(1)?.input(&engine).count(&query())? == 10_000);
    Ok(())
}

#[test]
fn a_kept_index_has_limits_of_its_own() -> Result<()> {
    let token = CancelToken::new();
    let engine = Engine::builder().build()?;
    let index = engine.bytes("{\"a\":1}\n").cancel(&token).index(1)?;
    token.cancel();
    let input = || index.input(&engine);
    ensure!(input().count(&query())? == 1);
    ensure!(matches!(input().cancel(&token).count(&query()), Err(Error::Cancelled)));
    let past = input().deadline(Instant::now());
    ensure!(matches!(past.count(&query()), Err(Error::DeadlineExceeded)));
    ensure!(matches!(input().timeout(Duration::ZERO).count(&query()), Err(Error::DeadlineExceeded)));
    ensure!(input().count(&query())? == 1);
    Ok(())
}
