//! Results in channels, and as asynchronous streams.

use std::io::{self, Cursor, Read};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::task::{Context, Poll, Wake, Waker};

use anyhow::{Context as _, Result, ensure};
use futures::{Stream, StreamExt, TryStreamExt};
use warpath::{CancelToken, Engine, Error, Hits, InputError, Predicate, Program, Query};
use warpath_answer::answer::Want;
use warpath_answer::columns::{ColumnType, Schema};
use warpath_exec::channel::Channel;
use warpath_exec::document::Format;
use warpath_exec::operators::Input;
use warpath_exec::record_batches::RecordBatches;
use warpath_exec::stream::{Answers, AsyncResults, Columns, Filtering, Hit, Indexes, Schemas};

fn query() -> Query {
    Query::compile("$.a").unwrap()
}

fn text(lines: usize) -> String {
    (0..lines).map(|n| format!("{{\"a\":{n}}}\n")).collect()
}

fn inputs(engine: &Engine, text: &str) -> [Input<'static>; 2] {
    [engine.reader("text", Cursor::new(text.to_owned())), engine.bytes(text.to_owned())]
}

/// Iterators and inputs may be moved to any thread, and so may their results.
#[test]
fn results_are_send() {
    fn send<T: Send>() {}
    send::<Input<'_>>();
    send::<Hits<'_>>();
    send::<Hit<'_>>();
    send::<Answers<'_>>();
    send::<Columns<'_>>();
    send::<Filtering<'_>>();
    send::<Schemas<'_>>();
    send::<Indexes<'_>>();
    send::<RecordBatches<'_>>();
    send::<Channel<Hit<'_>>>();
    send::<AsyncResults<'_, warpath_exec::stream::Programs<Option<warpath_exec::stream::Batch<'_>>>>>();
}

#[test]
fn a_channel_has_all_results_in_order() -> Result<()> {
    for (size, capacity) in [(100, 0), (100, 3), (1 << 20, 1000)] {
        let engine = Engine::builder().partition_size(size).build()?;
        for input in inputs(&engine, &text(2000)) {
            let hits = input.query(&query())?.into_channel(capacity)?;
            let got = hits.map(|hit| Ok(hit?.text().parse()?)).collect::<Result<Vec<usize>>>()?;
            ensure!(got == (0..2000).collect::<Vec<_>>());
        }
    }
    // The error comes last.
    let engine = Engine::builder().build()?;
    let mut hits = engine.bytes("{\"a\":1}\n{]\n".to_owned()).query(&query())?.into_channel(1)?;
    ensure!(hits.next().context("a hit")??.text() == "1");
    match hits.next().context("an error")?.map(drop) {
        Err(Error::Input(InputError::Record(at))) => ensure!((at.line, at.byte) == (2, 2), "{at}"),
        other => panic!("{other:?}"),
    }
    ensure!(hits.next().is_none() && hits.receiver().recv().is_err());
    let schema = Schema::new(&[(query(), ColumnType::Int64)])?;
    let batches = engine.bytes(text(10)).record_batches(&schema).into_channel(1)?;
    ensure!(batches.map(|batch| Ok(batch?.num_rows())).sum::<Result<usize>>()? == 10);
    Ok(())
}

/// A reader that counts its reads, and reports that it was dropped.
struct Counted {
    reads: Arc<AtomicUsize>,
    dropped: Sender<()>,
}

impl Read for Counted {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let line = b"{\"a\":1}\n";
        room[..8].copy_from_slice(line);
        Ok(8)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let _ = self.dropped.send(());
    }
}

#[test]
fn a_dropped_channel_ends_the_work() -> Result<()> {
    let (dropped, is_dropped) = channel();
    let reader = Counted { reads: Arc::default(), dropped };
    let mut hits = Engine::builder().build()?.reader("endless", reader).query(&query())?.into_channel(2)?;
    ensure!(hits.next().context("a hit")?.is_ok());
    drop(hits);
    is_dropped.recv()?;
    Ok(())
}

/// The thread of a channel waits in a reader that gives nothing; the drop does not wait for the reader.
#[test]
fn a_dropped_channel_does_not_wait_for_its_input() -> Result<()> {
    let (reads, is_read) = channel();
    let (room, is_over) = sync_channel::<()>(0);
    struct Silent(Sender<()>, std::sync::mpsc::Receiver<()>);
    impl Read for Silent {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            let _ = self.0.send(());
            let _ = self.1.recv();
            Ok(0)
        }
    }
    let input = Engine::builder().build()?.reader("silent", Silent(reads, is_over));
    let hits = input.query(&query())?.into_channel(2)?;
    is_read.recv()?;
    drop(hits);
    drop(room);
    Ok(())
}

#[test]
fn streams_have_the_results_of_their_iterators() -> Result<()> {
    let engine = Engine::builder().partition_size(100).build()?;
    for input in inputs(&engine, &text(2000)) {
        let hits = input.query(&query())?.into_stream();
        let got: Vec<Hit<'_>> = pollster::block_on(hits.try_collect())?;
        ensure!(got.iter().map(|hit| hit.text().parse::<usize>().unwrap()).eq(0..2000));
    }
    for input in inputs(&engine, &text(2000)) {
        let batches = input.answers(Program::new(&[query()])?, Want::new()).into_stream();
        let counts = batches.map_ok(|batch| batch.count(0));
        ensure!(pollster::block_on(counts.try_fold(0, |sum, one| async move { Ok(sum + one) }))? == 2000);
    }
    for input in inputs(&engine, &text(2000)) {
        let schema = Schema::new(&[(query(), ColumnType::Int64)])?;
        let batches = input.record_batches(&schema).into_stream();
        ensure!(batches.schema().fields().len() == 1);
        let rows = pollster::block_on(batches.map_ok(|batch| batch.num_rows()).try_collect::<Vec<_>>())?;
        ensure!(rows.iter().sum::<usize>() == 2000);
    }
    // Documents replace their workers while the results are polled.
    let documents = Engine::builder().partition_size(100).format(Format::Json).build()?;
    let document = format!("[{}]", text(2000).trim_end().replace('\n', ",\n"));
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), &document)?;
    let every = Query::compile("$[*].a")?;
    for input in [documents.open(file.path())?, documents.bytes(document.clone()), documents.bytes(&document)]
    {
        let hits = input.query(&every)?.into_stream();
        ensure!(pollster::block_on(hits.try_collect::<Vec<_>>())?.len() == 2000);
    }
    // An error is the last item.
    let bad = engine.bytes("{\"a\":1}\n{]\n").query(&query())?.into_stream();
    let all = pollster::block_on(bad.map(|hit| hit.is_ok()).collect::<Vec<_>>());
    ensure!(all == [true, false]);
    Ok(())
}

struct Counting(AtomicUsize, Sender<()>);

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        let _ = self.1.send(());
    }
}

/// A stream without results waits without a thread of its own, is woken by each event, and ends.
#[test]
fn a_pending_stream_is_woken_by_results_and_by_its_token() -> Result<()> {
    let (lines, received) = sync_channel::<&[u8]>(1);
    struct Fed(std::sync::mpsc::Receiver<&'static [u8]>);
    impl Read for Fed {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let Ok(line) = self.0.recv() else { return Ok(0) };
            room[..line.len()].copy_from_slice(line);
            Ok(line.len())
        }
    }
    let (woken, is_woken) = channel();
    let waker = Waker::from(Arc::new(Counting(AtomicUsize::new(0), woken)));
    let mut context = Context::from_waker(&waker);
    let token = CancelToken::new();
    let input = Engine::builder().build()?.reader("fed", Fed(received)).cancel(&token);
    let mut hits = pin!(input.query(&query())?.into_stream());
    for number in 0..3 {
        ensure!(hits.as_mut().poll_next(&mut context).is_pending(), "{number}");
        lines.send(b"{\"a\":1}\n")?;
        is_woken.recv()?;
        ensure!(matches!(hits.as_mut().poll_next(&mut context), Poll::Ready(Some(Ok(_)))), "{number}");
    }
    ensure!(hits.as_mut().poll_next(&mut context).is_pending());
    std::thread::scope(|scope| scope.spawn(|| token.cancel()).join()).unwrap();
    is_woken.recv()?;
    ensure!(matches!(hits.as_mut().poll_next(&mut context), Poll::Ready(Some(Err(Error::Cancelled)))));
    ensure!(matches!(hits.as_mut().poll_next(&mut context), Poll::Ready(None)));
    Ok(())
}

/// Results that a cancellation ends have an error, also if it comes while an input is read.
#[test]
fn a_cancellation_while_reading_is_an_error() -> Result<()> {
    struct Cancels(CancelToken);
    impl Read for Cancels {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            self.0.cancel();
            Ok(0)
        }
    }
    for builder in [Engine::builder().in_caller(), Engine::builder().workers(1)] {
        let token = CancelToken::new();
        let engine = builder.build()?;
        let mut hits = engine.reader("cancels", Cancels(token.clone())).cancel(&token).query(&query())?;
        ensure!(matches!(hits.next(), Some(Err(Error::Cancelled))));
        ensure!(hits.next().is_none());
    }
    Ok(())
}

/// A stream that evaluates where it is polled gives other tasks their turn, also where nothing matches.
#[test]
fn a_stream_without_workers_waits_between_partitions() -> Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), "{\"b\":1}\n".repeat(1000))?;
    let (woken, is_woken) = channel();
    let waker = Waker::from(Arc::new(Counting(AtomicUsize::new(0), woken)));
    let mut context = Context::from_waker(&waker);
    let engine = Engine::builder().partition_size(80).in_caller().build()?;
    let matching = Predicate::parse("$.b == 2")?;
    let schema = Schema::new(&[(Query::compile("$.b")?, ColumnType::Int64)])?;
    let input = || engine.open(file.path());
    let (mut hits, mut batches) = (
        pin!(input()?.query(&query())?.into_stream()),
        pin!(input()?.matching(&matching).record_batches(&schema).into_stream()),
    );
    for _ in 0..20 {
        ensure!(hits.as_mut().poll_next(&mut context).is_pending());
        is_woken.try_recv()?;
        ensure!(batches.as_mut().poll_next(&mut context).is_pending());
        is_woken.try_recv()?;
    }
    ensure!(pollster::block_on(hits.next()).is_none() && pollster::block_on(batches.next()).is_none());
    Ok(())
}

#[test]
fn a_stream_that_is_not_polled_holds_its_reader_back() -> Result<()> {
    let (dropped, is_dropped) = channel();
    let reads = Arc::new(AtomicUsize::new(0));
    let reader = Counted { reads: reads.clone(), dropped };
    let engine = Engine::builder().partition_size(64).workers(1).build()?;
    let mut hits = engine.reader("endless", reader).query(&query())?.into_stream();
    ensure!(pollster::block_on(hits.next()).context("a hit")?.is_ok());
    // The reader ends as soon as the stream is dropped: it waits for room, and has not run ahead for ever.
    drop(hits);
    is_dropped.recv()?;
    ensure!(reads.load(Ordering::Relaxed) < 1000);
    Ok(())
}
