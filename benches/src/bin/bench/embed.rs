//! Times what a program that embeds the library pays: more fields of a record, columns of a text, an index
//! that is kept, channels and limits. The figures of docs/embedding.md are from here.
//!
//! Each table has ways to do the same work, whose results are compared first. The ways take turns. The median
//! of the rounds is shown, and the least.
//!
//! ```text
//! cargo run --release -p warpath-benches --bin bench -- embed
//! ```

use std::hint::black_box;
use std::io::{self, Read};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use warpath::columns::{ColumnType, Schema};
use warpath::{CancelToken, Engine, Error, Find, Input, InputBytes, Predicate, Program, Query};
use warpath_benches::generate::{Shape, ndjson};
use warpath_benches::harness::timing::{Loop, Times};

#[derive(clap::Args)]
pub struct Args {
    /// Rounds of work over the text; the median and the least are shown.
    #[arg(long, default_value_t = 31)]
    rounds: usize,
    /// Millions of bytes of the text.
    #[arg(long, default_value_t = 32)]
    size: usize,
}

/// Members of the events: integers, strings and booleans.
const PATHS: [(&str, ColumnType); 8] = [
    ("$.event.user.id", ColumnType::Int64),
    ("$.event.user.lang", ColumnType::Utf8),
    ("$.type", ColumnType::Utf8),
    ("$.event.level", ColumnType::Utf8),
    ("$.event.labels.shard", ColumnType::Int64),
    ("$.event.user.verified", ColumnType::Boolean),
    ("$.event.labels.region", ColumnType::Utf8),
    ("$.event.trace", ColumnType::Utf8),
];

const CONDITION: &str = "$.event.user.lang == 'en'";

/// One way to do some work. Returns a number that depends on the result.
type Way<'a> = Box<dyn FnMut() -> Result<u64> + 'a>;

/// Times ways, whose results are equal if `same`. Prints nanoseconds for each of `units`, and with `bytes`
/// the rate.
fn time(
    title: &str,
    rounds: usize,
    (units, bytes): (u64, usize),
    same: bool,
    mut ways: Vec<(String, Way<'_>)>,
) -> Result<()> {
    println!("\n{title}");
    let mut wanted = None;
    for (name, way) in &mut ways {
        let found = way()?;
        ensure!(!same || found == *wanted.get_or_insert(found), "{name} has another result: {found}");
    }
    let times = Loop::new(0, rounds).turns(&mut ways, |(_, way)| {
        let start = Instant::now();
        black_box(way()?);
        Ok(start.elapsed().as_secs_f64())
    })?;
    for ((name, _), times) in ways.iter().zip(times) {
        let [median, least] = [times.median(), times.least()].map(|time| time * 1e9 / units as f64);
        let rate = if bytes > 0 {
            format!("   {:6.2} GB/s", bytes as f64 / times.median() / 1e9)
        } else {
            String::new()
        };
        println!("  {name:34} {median:10.1} ns   least {least:10.1} ns{rate}");
    }
    Ok(())
}

fn queries(count: usize) -> Result<Vec<Query>, Error> {
    PATHS[..count].iter().map(|(path, _)| Query::compile(path)).collect()
}

/// Fields of one record in memory, in the caller's thread.
fn fields(text: &[u8], rounds: usize) -> Result<()> {
    let records: Vec<&[u8]> =
        text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(2000).collect();
    let bytes = records.iter().map(|record| record.len()).sum::<usize>();
    let mut ways: Vec<(String, Way<'_>)> = Vec::new();
    for count in [1, 2, 4, 8] {
        let program = Program::new(&queries(count)?)?;
        let records = &records;
        let one_pass = move || {
            let mut found = 0;
            for record in records {
                let row = program.find(black_box(*record))?;
                found += (0..count).filter(|path| row.first(*path).is_some()).count() as u64;
            }
            Ok(found)
        };
        ways.push((format!("one program of {count}"), Box::new(one_pass)));
    }
    let eight = queries(8)?;
    let all = &records;
    let one_by_one = move || {
        let mut found = 0;
        for record in all {
            for query in &eight {
                found += u64::from(query.find(black_box(*record))?.next().is_some());
            }
        }
        Ok(found)
    };
    ways.push(("eight queries, one by one".into(), Box::new(one_by_one)));
    let predicate = Predicate::parse(CONDITION)?;
    let condition = move || {
        let mut passed = 0;
        for record in all {
            passed += u64::from(predicate.matches(black_box(*record))?);
        }
        Ok(passed)
    };
    ways.push(("a condition".into(), Box::new(condition)));
    let title = format!("fields of a record of {} bytes, for each record", bytes / records.len());
    time(&title, rounds, (records.len() as u64, bytes), false, ways)
}

/// Columns of a text as record batches, by all workers.
fn columns(engine: &Engine, text: &'static [u8], lines: u64, rounds: usize) -> Result<()> {
    let mut ways: Vec<(String, Way<'_>)> = Vec::new();
    for count in [1, 2, 4, 8] {
        let columns: Vec<_> =
            queries(count)?.into_iter().zip(PATHS.iter().map(|(_, values)| values.clone())).collect();
        let schema = Schema::new(&columns)?;
        let read = move || {
            let mut rows = 0;
            for batch in engine.bytes(InputBytes::shared(text)).record_batches(&schema) {
                rows += batch?.num_rows() as u64;
            }
            Ok(rows)
        };
        ways.push((format!("{count} columns"), Box::new(read)));
    }
    let query = Query::compile(PATHS[0].0)?;
    let count = move || Ok(engine.bytes(InputBytes::shared(text)).count(&query)?);
    ways.push(("a count of the first path".into(), Box::new(count)));
    time("columns of the text, for each row", rounds, (lines, text.len()), true, ways)
}

/// Queries over an index that is kept.
fn index(engine: &Engine, text: &'static [u8], lines: u64, rounds: usize) -> Result<()> {
    let query = Query::compile(PATHS[0].0)?;
    let kept = engine.bytes(InputBytes::shared(text)).index(query.levels())?;
    let bytes = kept.device().map_or_else(|| kept.memory() - kept.text_bytes(), |(_, bytes)| bytes);
    let ratio = bytes as f64 / kept.text_bytes() as f64;
    println!("\nan index has {:.2} bytes for each byte of text", ratio);
    let (levels, again) = (query.levels(), query.clone());
    let ways: Vec<(String, Way<'_>)> = vec![
        ("a count over the index".into(), Box::new(|| Ok(kept.input(engine).count(&query)?))),
        (
            "a count over the text".into(),
            Box::new(|| Ok(engine.bytes(InputBytes::shared(text)).count(&again)?)),
        ),
        (
            "the index, and a count over it".into(),
            Box::new(|| {
                let kept = engine.bytes(InputBytes::shared(text)).index(levels)?;
                Ok(kept.input(engine).count(&query)?)
            }),
        ),
    ];
    time("an index that is kept, for each record", rounds, (lines, text.len()), true, ways)
}

/// Matches by an iterator, and by channels.
fn channels(engine: &Engine, text: &'static [u8], lines: u64, rounds: usize) -> Result<()> {
    let query = Query::compile(PATHS[0].0)?;
    let hits = || engine.bytes(InputBytes::shared(text)).query(&query);
    let mut ways: Vec<(String, Way<'_>)> =
        vec![("an iterator".into(), Box::new(|| Ok(hits()?.try_fold(0, |sum, hit| hit.map(|_| sum + 1))?)))];
    for capacity in [1, 16, 1024] {
        let read = move || {
            let channel = hits()?.into_channel(capacity)?;
            Ok(channel.into_iter().try_fold(0, |sum, hit| hit.map(|_| sum + 1))?)
        };
        ways.push((format!("a channel of {capacity}"), Box::new(read)));
    }
    time("matches, for each of them", rounds, (lines, text.len()), true, ways)
}

/// Counts with limits that end nothing.
fn limits(engine: &Engine, text: &'static [u8], lines: u64, rounds: usize) -> Result<()> {
    let query = Query::compile(PATHS[0].0)?;
    let (query, token) = (&query, CancelToken::new());
    let count = |limited: fn(Input<'static>, &CancelToken) -> Input<'static>, token: CancelToken| {
        move || {
            // A reader of bytes takes memory, as a file does.
            let input = engine.reader("text", text);
            Ok(limited(input, &token).count(query)?)
        }
    };
    let ways: Vec<(String, Way<'_>)> = vec![
        ("no limit".into(), Box::new(count(|input, _| input, token.clone()))),
        ("a token".into(), Box::new(count(Input::cancel, token.clone()))),
        (
            "a token and a timeout".into(),
            Box::new(count(
                |input, token| input.cancel(token).timeout(Duration::from_secs(60)),
                token.clone(),
            )),
        ),
        ("64 MiB of memory".into(), Box::new(count(|input, _| input.memory(64 << 20), token.clone()))),
        ("4 MiB of memory".into(), Box::new(count(|input, _| input.memory(4 << 20), token))),
    ];
    time("limits of a count, for each record", rounds, (lines, text.len()), true, ways)
}

/// An input that is idle until it is dropped.
struct Idle(mpsc::Receiver<()>);

impl Read for Idle {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        // The sender is gone at the end.
        let _ = self.0.recv();
        Ok(0)
    }
}

/// The time from a cancellation to the end of a result that is waited for.
fn cancellation(engine: &Engine, rounds: usize) -> Result<()> {
    let query = Query::compile("$.a")?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let (sender, receiver) = mpsc::channel();
        let mut hits = engine.reader("idle", Idle(receiver)).query(&query)?;
        let token = hits.canceller();
        let cancelling = std::thread::spawn(move || {
            // The caller waits by now. If not, the time is shorter.
            std::thread::sleep(Duration::from_millis(5));
            let start = Instant::now();
            token.cancel();
            start
        });
        let ended = hits.next();
        let end = Instant::now();
        ensure!(matches!(ended, Some(Err(Error::Cancelled))), "the result was not cancelled");
        let start = cancelling.join().ok().context("the thread that cancels panicked")?;
        times.push(end.saturating_duration_since(start).as_secs_f64() * 1e6);
        drop(hits);
        drop(sender);
    }
    let median = Times::new(times).median();
    println!("\na result that waits ends {median:.0} µs after its cancellation (median)");
    Ok(())
}

pub fn run(args: &Args) -> Result<()> {
    let text: &'static [u8] = ndjson(Shape::Events, 1, args.size * 1_000_000).leak();
    let lines = text.iter().filter(|byte| **byte == b'\n').count() as u64;
    let engine = Engine::builder().device(warpath::DeviceChoice::Cpu).build()?;
    println!(
        "{}, {} events, {} bytes in memory, {} rounds",
        engine.backend_name(),
        lines,
        text.len(),
        args.rounds
    );
    fields(text, args.rounds)?;
    columns(&engine, text, lines, args.rounds)?;
    index(&engine, text, lines, args.rounds)?;
    channels(&engine, text, lines, args.rounds)?;
    limits(&engine, text, lines, args.rounds)?;
    cancellation(&engine, args.rounds)
}
