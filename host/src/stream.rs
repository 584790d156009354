//! From partitions to answers, in order, with reading, answering and consuming overlapped.
//!
//! ```text
//! reader thread ──partition──► worker thread ──batch──► the caller
//!     ▲                        (the backend)              │
//!     └──────────────── buffers, reused ◄─────────────────┘
//! (an input that may be slow, such as a pipe, has a thread more: see `input/feed.rs`)
//! ```

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use warpath_shared::check::Fault;
use warpath_shared::kernel::Match;
use warpath_shared::units::{ByteOffset, Level, LineIx};

use crate::answer::{Answer, LineFault, Piece, Want};
use crate::backend::StructuralIndex;
use crate::engine::{Engine, Input, OnError};
use crate::error::{Error, InputError, RecordError};
use crate::input::{Partition, Partitions, Source};
use crate::program::Program;

/// Partitions that wait between two threads.
const IN_FLIGHT: usize = 1;

/// What has been done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of text answered, decompressed.
    pub bytes: u64,
    /// Lines answered, blank ones too.
    pub lines: u64,
    /// Matches found, of all paths.
    pub matches: u64,
    /// Malformed records left out.
    pub skipped: u64,
    /// Partitions.
    pub partitions: u64,
    /// Time spent reading and decompressing, in a thread of its own.
    pub reading: Duration,
    /// Time spent in the backend, in another.
    pub answering: Duration,
}

#[derive(Default)]
struct Shared {
    stats: Mutex<Stats>,
    /// Bytes read so far, for progress.
    read: AtomicU64,
    /// Whether nobody wants more answers.
    closing: AtomicBool,
    /// Held while the backend is at work.
    at_work: Mutex<()>,
}

impl Shared {
    fn update(&self, change: impl FnOnce(&mut Stats)) {
        change(&mut self.stats.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A partition of one input, and where it stands.
struct Read {
    partition: Partition,
    source: Arc<str>,
    /// Its place in the input, in decompressed bytes.
    offset: ByteOffset,
    /// Whether it is the first of its input.
    first: bool,
}

/// A partition that could not be read.
struct Unread {
    error: InputError,
    /// Whether it would have been the first of its input.
    first: bool,
}

/// Reads inputs, one after the other.
struct Reader {
    sources: std::vec::IntoIter<Source>,
    open: Option<(Partitions, Arc<str>, ByteOffset)>,
    size: usize,
    failed: bool,
}

impl Reader {
    fn new(sources: Vec<Source>, size: usize) -> Self {
        Self { sources: sources.into_iter(), open: None, size, failed: false }
    }
}

impl Iterator for Reader {
    type Item = Result<Read, Unread>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            let mut first = false;
            if self.open.is_none() {
                let source = self.sources.next()?;
                let name: Arc<str> = source.name().into();
                match Partitions::open(source, self.size) {
                    Ok(partitions) => self.open = Some((partitions, name, 0)),
                    Err(error) => {
                        self.failed = true;
                        return Some(Err(Unread { error, first: true }));
                    }
                }
                first = true;
            }
            if let Some((partitions, source, offset)) = &mut self.open {
                match partitions.next() {
                    Ok(Some(partition)) => {
                        *offset += partition.skipped();
                        let read = Read { source: source.clone(), offset: *offset, first, partition };
                        *offset += read.partition.text().len() as u64;
                        return Some(Ok(read));
                    }
                    Ok(None) => self.open = None,
                    Err(error) => {
                        self.failed = true;
                        return Some(Err(Unread { error, first }));
                    }
                }
            }
        }
        None
    }
}

/// The line number of the next partition's first line, counted from 0.
#[derive(Default)]
struct LineCounter(u64);

impl LineCounter {
    fn start(&mut self, first: bool) -> u64 {
        if first {
            self.0 = 0;
        }
        self.0
    }

    /// Fills in what the reader does not know.
    fn locate(&mut self, unread: Unread) -> InputError {
        let line = self.start(unread.first) + 1;
        match unread.error {
            InputError::RecordTooLong { name, limit, .. } => InputError::RecordTooLong { name, line, limit },
            other => other,
        }
    }
}

/// The answers for one partition.
pub struct Batch {
    read: Read,
    answer: Answer,
    first_line: u64,
    fault: Option<RecordError>,
}

impl Batch {
    /// The input's name: a file's path, or `<stdin>`.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.read.source
    }

    /// The partition's text.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.read.partition.text()
    }

    /// Where the partition stands in its input, in decompressed bytes.
    #[must_use]
    pub fn offset(&self) -> ByteOffset {
        self.read.offset
    }

    /// The pieces of the answer, with the number of each piece's first line in its input, counted from 0.
    pub fn pieces(&self) -> impl Iterator<Item = (u64, &Piece)> {
        let mut line = self.first_line;
        self.answer.pieces.iter().map(move |piece| {
            let this = line;
            line += piece.lines as u64;
            (this, piece)
        })
    }

    /// How many matches a path has here; 0 for a path that there is not.
    #[must_use]
    pub fn count(&self, path: usize) -> u64 {
        self.answer.pieces.iter().filter_map(|piece| piece.counts.get(path)).sum()
    }

    /// The malformed records that were left out.
    pub fn skipped(&self) -> impl Iterator<Item = RecordError> {
        let name = self.source();
        self.pieces().flat_map(move |(line, piece)| {
            piece.faults.iter().map(move |fault| record_error(name, line, fault))
        })
    }

    /// The malformed record at which the answers end, under [`OnError::Fail`]. The error follows this batch.
    #[must_use]
    pub fn fault(&self) -> Option<&RecordError> {
        self.fault.as_ref()
    }

    /// The line that an error of this batch speaks of, without its newline. Counts lines to find it.
    #[must_use]
    pub fn line_of(&self, error: &RecordError) -> &[u8] {
        // Lines count from 1 in errors.
        let line = error.line.saturating_sub(1);
        let (first, base) = self
            .pieces()
            .take_while(|(first, _)| *first <= line)
            .last()
            .map_or((self.first_line, 0), |(first, piece)| (first, piece.base as usize));
        let text = self.text().get(base..).unwrap_or_default();
        text.split(|byte| *byte == b'\n').nth((line.saturating_sub(first)) as usize).unwrap_or_default()
    }

    /// The bytes of a match of a piece.
    #[must_use]
    pub fn match_text(&self, piece: &Piece, found: &Match) -> &[u8] {
        let base = piece.base as usize;
        self.text().get(base + found.start as usize..base + found.end as usize).unwrap_or_default()
    }
}

fn record_error(name: &str, first_line: u64, fault: &LineFault) -> RecordError {
    let Fault { kind, at } = fault.fault;
    RecordError { name: name.to_owned(), line: first_line + fault.line as u64 + 1, byte: at as u64 + 1, kind }
}

/// Cuts an answer off before its first faulty record, which it returns.
fn cut_at_fault(answer: &mut Answer, name: &str, mut first_line: u64) -> Option<RecordError> {
    let at = answer.pieces.iter().position(|piece| !piece.faults.is_empty())?;
    first_line += answer.pieces[..at].iter().map(|piece| piece.lines as u64).sum::<u64>();
    answer.pieces.truncate(at + 1);
    let piece = answer.pieces.last_mut()?;
    let fault = std::mem::take(&mut piece.faults).into_iter().next()?;
    let before = |line: &LineIx| *line < fault.line;
    piece.lines = fault.line;
    piece.records.truncate(piece.records.partition_point(before));
    for list in &mut piece.matches {
        list.truncate(list.partition_point(|found| before(&found.line)));
    }
    if let Some(counts) = piece.counts_before_fault.take() {
        piece.counts = counts;
    }
    Some(record_error(name, first_line, &fault))
}

/// The answers of a program over inputs, a partition at a time and in order.
///
/// Reading and answering go on in threads of their own while the caller consumes. Dropping it lets the partition at work
/// finish and starts no other; a reader that waits for its input goes when that comes, or ends.
pub struct Answers {
    batches: Receiver<Result<Option<Batch>, Error>>,
    shared: Arc<Shared>,
    finished: bool,
}

/// What the reader thread sends: a partition, or the end. A channel that closes without an end is a thread that died.
type ToWorker = Result<Option<Read>, Unread>;
/// What the worker thread sends, likewise.
type ToCaller = Result<Option<Batch>, Error>;

impl Answers {
    pub(crate) fn start(input: Input, program: Program, want: Want) -> Self {
        let Input { engine, sources } = input;
        let shared = Arc::new(Shared::default());
        let (to_worker, partitions) = sync_channel(IN_FLIGHT);
        let (to_caller, batches) = sync_channel(IN_FLIGHT);
        let reader = Reader::new(sources, engine.partition_size());
        let (reading, answering, failing) = (shared.clone(), shared.clone(), to_caller.clone());
        let started = thread::Builder::new()
            .name("warpath reader".into())
            .spawn(move || read(reader, &to_worker, &reading))
            .and_then(|_| {
                thread::Builder::new()
                    .name("warpath worker".into())
                    .spawn(move || answer(&engine, &program, want, &partitions, &to_caller, &answering))
            });
        if let Err(error) = started {
            // The channel holds one message, and nobody else has sent any.
            let _ = failing.try_send(Err(Error::Internal(format!("no thread could be started: {error}"))));
        }
        Self { batches, shared, finished: false }
    }

    /// What has been done so far; complete when the iterator has ended.
    #[must_use]
    pub fn stats(&self) -> Stats {
        *self.shared.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decompressed bytes read so far. Another thread may ask while this one waits.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.shared.read.load(Ordering::Relaxed)
    }
}

impl Iterator for Answers {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let next = match self.batches.recv() {
            Ok(message) => message.transpose(),
            Err(_) => Some(Err(died("worker"))),
        };
        self.finished = !matches!(next, Some(Ok(_)));
        next
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        // A process that ends while a device is at work is the driver's to clean up, and it does not always like that.
        drop(self.shared.at_work.lock());
    }
}

fn died(thread: &str) -> Error {
    Error::Internal(format!("the {thread} thread ended before its work did"))
}

/// The reader thread.
fn read(reader: Reader, to_worker: &SyncSender<ToWorker>, shared: &Shared) {
    let mut since = Instant::now();
    for read in reader {
        shared.update(|stats| stats.reading += since.elapsed());
        if let Ok(read) = &read {
            shared.read.fetch_add(read.partition.text().len() as u64, Ordering::Relaxed);
        }
        let ended = read.is_err();
        // Where nobody listens any more, the caller has seen enough.
        if to_worker.send(read.map(Some)).is_err() || ended {
            return;
        }
        since = Instant::now();
    }
    let _ = to_worker.send(Ok(None));
}

/// The worker thread.
fn answer(
    engine: &Engine,
    program: &Program,
    want: Want,
    partitions: &Receiver<ToWorker>,
    to_caller: &SyncSender<ToCaller>,
    shared: &Shared,
) {
    let mut lines = LineCounter::default();
    let last = loop {
        let read = match partitions.recv() {
            Ok(Ok(Some(read))) => read,
            Ok(Ok(None)) => break Ok(None),
            Ok(Err(unread)) => break Err(lines.locate(unread).into()),
            Err(_) => break Err(died("reader")),
        };
        let first_line = lines.start(read.first);
        let answer = {
            let _at_work = shared.at_work.lock();
            if shared.closing.load(Ordering::Relaxed) {
                return;
            }
            let since = Instant::now();
            let answer = engine.backend().answer(read.partition.text(), program, want);
            shared.update(|stats| stats.answering += since.elapsed());
            answer
        };
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(error) => break Err(error),
        };
        let fault = match engine.on_error() {
            OnError::Fail => cut_at_fault(&mut answer, &read.source, first_line),
            OnError::Skip => None,
        };
        lines.0 += answer.pieces.iter().map(|piece| piece.lines as u64).sum::<u64>();
        shared.update(|stats| {
            stats.bytes += read.partition.text().len() as u64;
            stats.lines += lines.0 - first_line;
            stats.matches += answer.pieces.iter().flat_map(|piece| &piece.counts).sum::<u64>();
            stats.skipped += answer.pieces.iter().map(|piece| piece.faults.len() as u64).sum::<u64>();
            stats.partitions += 1;
        });
        if to_caller.send(Ok(Some(Batch { read, answer, first_line, fault: fault.clone() }))).is_err() {
            return;
        }
        if let Some(error) = fault {
            break Err(InputError::from(error).into());
        }
    };
    let _ = to_caller.send(last);
}

/// The matches of one query, one at a time. See [`Input::query`].
pub struct Hits {
    answers: Answers,
    batch: Option<Arc<Batch>>,
    /// The next match: its piece, its place in it, and the number of the piece's first line.
    piece: usize,
    next: usize,
    first_line: u64,
}

impl Hits {
    pub(crate) fn new(answers: Answers) -> Self {
        Self { answers, batch: None, piece: 0, next: 0, first_line: 0 }
    }

    /// What has been done so far; complete when the iterator has ended.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.answers.stats()
    }
}

impl Iterator for Hits {
    type Item = Result<Hit, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = &self.batch {
                while let Some(piece) = batch.answer.pieces.get(self.piece) {
                    if let Some(found) = piece.matches.first().and_then(|list| list.get(self.next)) {
                        self.next += 1;
                        let line = self.first_line + found.line as u64;
                        return Some(Ok(Hit { base: piece.base, found: *found, line, batch: batch.clone() }));
                    }
                    self.first_line += piece.lines as u64;
                    (self.piece, self.next) = (self.piece + 1, 0);
                }
            }
            match self.answers.next()? {
                Ok(batch) => {
                    (self.piece, self.next, self.first_line) = (0, 0, batch.first_line);
                    self.batch = Some(Arc::new(batch));
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// One match. Keeps its partition in memory while it lives.
#[derive(Clone)]
pub struct Hit {
    batch: Arc<Batch>,
    base: u32,
    found: Match,
    line: u64,
}

impl Hit {
    /// The value's JSON text as it stands in the input. Bytes that are not UTF-8 become U+FFFD.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// The value's bytes as they stand in the input.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        let (start, end) = (self.base + self.found.start, self.base + self.found.end);
        self.batch.text().get(start as usize..end as usize).unwrap_or_default()
    }

    /// The input's name: a file's path, or `<stdin>`.
    #[must_use]
    pub fn source(&self) -> &str {
        self.batch.source()
    }

    /// The line in its input, counted from 1; blank lines count.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line + 1
    }

    /// The value's bytes in its input, decompressed: start, and one past the end.
    #[must_use]
    pub fn offsets(&self) -> (ByteOffset, ByteOffset) {
        let base = self.batch.offset() + self.base as u64;
        (base + self.found.start as u64, base + self.found.end as u64)
    }
}

/// The structural indexes of inputs, a partition at a time. See [`Input::indexes`].
pub struct Indexes {
    engine: Engine,
    reader: Reader,
    levels: Level,
    lines: LineCounter,
}

impl Indexes {
    pub(crate) fn new(input: Input, levels: Level) -> Self {
        let Input { engine, sources } = input;
        let reader = Reader::new(sources, engine.partition_size());
        Self { engine, reader, levels, lines: LineCounter::default() }
    }
}

/// One partition with its index.
pub struct IndexedPartition {
    read: Read,
    /// The number of the first line in its input, counted from 0.
    pub first_line: u64,
    /// The index.
    pub index: StructuralIndex,
}

impl IndexedPartition {
    /// The input's name.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.read.source
    }

    /// The partition's text.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.read.partition.text()
    }

    /// Where the partition stands in its input, in decompressed bytes.
    #[must_use]
    pub fn offset(&self) -> ByteOffset {
        self.read.offset
    }

    /// Its malformed records.
    pub fn faults(&self) -> impl Iterator<Item = RecordError> {
        self.index.faults.iter().map(|fault| record_error(self.source(), self.first_line, fault))
    }
}

impl Iterator for Indexes {
    type Item = Result<IndexedPartition, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = match self.reader.next()? {
            Ok(read) => read,
            Err(unread) => return Some(Err(self.lines.locate(unread).into())),
        };
        let first_line = self.lines.start(read.first);
        match self.engine.backend().index(read.partition.text(), self.levels) {
            Ok(index) => {
                self.lines.0 += index.line_starts.len() as u64 - 1;
                Some(Ok(IndexedPartition { read, first_line, index }))
            }
            Err(error) => {
                // What follows would have the wrong line numbers.
                self.reader.failed = true;
                Some(Err(error))
            }
        }
    }
}
