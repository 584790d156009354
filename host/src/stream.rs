//! From inputs to answers, in order, with reading, answering and consuming overlapped.
//!
//! ```text
//! jobs ─┬─► worker 0: reads a partition, answers it ─┬─► in order ─► the caller
//!       ├─► worker 1: reads the next, answers it    ─┤                  │
//!       └─► ...                                     ─┘                  │
//!     buffers, used again ◄─────────────────────────────────────────────┘
//! ```
//!
//! Nothing is handed from thread to thread between reading and answering: what overlaps is the work on different partitions.
//! Only the lines of a partition are known before those before it have been counted, so whoever consumes numbers them.
//!
//! | module | question it answers |
//! |---|---|
//! | [`jobs`] | which part of which input comes next? |
//! | [`workers`] | who reads and answers it, and how do the answers come in order? |
//! | [`batch`] | what is answered of a partition? |
//! | [`hits`] | and match by match? |
//! | [`columns`] | and as typed columns? |
//! | [`indexes`] | what if only indexes are wanted? |
//! | [`each`] | and what if something is made of each partition, to be kept? |

mod batch;
mod columns;
mod each;
mod hits;
mod indexes;
mod jobs;
mod workers;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::answer::{Answer, Want};
use crate::engine::{Chosen, Input, OnError};
use crate::error::{Error, InputError};
use crate::input::Text;
use crate::program::Program;

pub use batch::Batch;
pub use columns::Columns;
pub(crate) use each::each_part;
pub use hits::{Hit, Hits};
pub use indexes::{IndexedPartition, Indexes};

pub(crate) use jobs::Origin;
use jobs::{Feed, Jobs};
use workers::{Next, Task, Workers};

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
    /// Partitions that have lines.
    pub partitions: u64,
    /// Workers that have been at work.
    pub workers: usize,
    /// Time spent reading and decompressing, waiting for a slow input included: the sum over all workers.
    pub reading: Duration,
    /// Time spent in the backend, and on strict checks before, likewise.
    pub answering: Duration,
}

/// How the backend was made, as far as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// How long each part took. Whoever uses the backend first pays; some of it goes on while the first partitions are read.
    pub parts: Vec<(&'static str, Duration)>,
    /// When it was ready to answer, if it had to be made.
    pub ready: Option<Instant>,
    /// What went otherwise than it should, and was made good: it may have cost time.
    pub notes: Vec<String>,
}

/// What answers, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The backend in a few words.
    pub backend: String,
    /// Why this one, where the engine chose.
    pub reason: Option<String>,
    /// How many workers there may be.
    pub workers: usize,
    /// Bytes of a partition.
    pub partition_size: usize,
    /// Whether the host checks records by all of RFC 8259, and for UTF-8, before they are answered.
    pub strict: bool,
    /// Which index is used, and for what, where there is one.
    pub index: Option<String>,
}

/// The line number of the next partition's first line, counted from 0.
#[derive(Default)]
struct LineCounter {
    input: usize,
    line: u64,
}

impl LineCounter {
    /// The next line of an input.
    fn of(&mut self, origin: &Origin) -> u64 {
        if self.input != origin.input {
            *self = Self { input: origin.input, line: 0 };
        }
        self.line
    }

    /// Fills in what the reader does not know.
    fn locate(&mut self, origin: &Origin, error: Error) -> Error {
        match error {
            Error::Input(InputError::RecordTooLong { name, limit, .. }) => {
                let line = self.of(origin) + 1;
                InputError::RecordTooLong { name, line, limit }.into()
            }
            other => other,
        }
    }
}

/// Partitions that are indexed already.
pub(crate) trait Store: Send + Sync {
    /// Which input a partition is of; `None` behind the last.
    fn origin(&self, number: usize) -> Option<Origin>;

    /// Answers a program over a partition. It reads no more levels than there are.
    fn answer(&self, number: usize, program: &Program, want: Want) -> Result<Stored, Error>;
}

/// An answer over a partition that was indexed.
pub(crate) struct Stored {
    pub text: Text,
    pub answer: Answer,
    /// Time spent reading.
    pub reading: Duration,
    /// Time spent in the backend.
    pub answering: Duration,
}

/// The answers of a program over inputs, a partition at a time and in order.
///
/// Workers read and answer in threads of their own while the caller consumes, and wait when they are far ahead of it.
/// Dropping it lets the partitions at work finish, starts no other, and waits until no worker is left.
pub struct Answers {
    /// `None` where there is no backend.
    workers: Option<Workers>,
    plan: Plan,
    on_error: OnError,
    lines: LineCounter,
    stats: Stats,
    /// What has been taken from the workers and not been given out: of one partition's worth of input.
    texts: VecDeque<(Text, Answer)>,
    origin: Origin,
    /// What comes after those.
    error: Option<Error>,
    finished: bool,
}

impl Answers {
    pub(crate) fn start(input: Input, program: Program, want: Want) -> Self {
        let Input { engine, sources, index } = input;
        let on_error = engine.on_error();
        let chosen = match engine.choose(&sources) {
            Ok(chosen) => chosen,
            Err(error) => return Self::failed(error),
        };
        let Some(index) = index else {
            let jobs = Feed::Jobs(Box::new(Jobs::new(sources, chosen.partition_size)));
            return Self::of((chosen, on_error), jobs, None, program, want);
        };
        match index.use_for(&chosen, &program) {
            Err(error) => Self::failed(error),
            Ok((Some(store), said)) => Self::over((chosen, on_error), store, said, program, want),
            Ok((None, said)) => {
                let jobs = Feed::Jobs(Box::new(Jobs::new(sources, chosen.partition_size)));
                Self::of((chosen, on_error), jobs, Some(said), program, want)
            }
        }
    }

    /// The answers over a store. `index` says what it is.
    pub(crate) fn over(
        settings: (Chosen, OnError),
        store: Arc<dyn Store>,
        index: String,
        program: Program,
        want: Want,
    ) -> Self {
        Self::of(settings, Feed::Store(store, 0), Some(index), program, want)
    }

    /// An error, and nothing else.
    fn failed(error: Error) -> Self {
        Self {
            workers: None,
            plan: Plan::default(),
            on_error: OnError::default(),
            lines: LineCounter::default(),
            stats: Stats::default(),
            texts: VecDeque::new(),
            origin: Origin::default(),
            error: Some(error),
            finished: false,
        }
    }

    fn of(
        (chosen, on_error): (Chosen, OnError),
        jobs: Feed,
        index: Option<String>,
        program: Program,
        want: Want,
    ) -> Self {
        let plan = Plan { index, ..chosen.plan() };
        let Chosen { backend, buffers, workers, strict, .. } = chosen;
        let task = Task { backend, buffers, program, want, strict };
        let (workers, error) = match Workers::start(task, jobs, workers) {
            Ok(workers) => (Some(workers), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            workers,
            plan,
            on_error,
            lines: LineCounter::default(),
            stats: Stats::default(),
            texts: VecDeque::new(),
            origin: Origin::default(),
            error,
            finished: false,
        }
    }

    /// What answers, and why.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What has been done of what has been given out; complete when the iterator has ended. The times are those of all
    /// workers so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let Some(workers) = &self.workers else { return self.stats };
        let (reading, answering) = workers.times();
        Stats { workers: workers.started(), reading, answering, ..self.stats }
    }

    /// How the backend was made, as far as it is; complete when the iterator has ended.
    #[must_use]
    pub fn setup(&self) -> Setup {
        let Some(workers) = &self.workers else { return Setup::default() };
        let backend = workers.backend();
        Setup { parts: backend.setup(), ready: backend.ready(), notes: backend.notes() }
    }

    /// Decompressed bytes read so far. Another thread may ask while this one waits.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.workers.as_ref().map_or(0, Workers::bytes_read)
    }

    /// Whether the next answers, or the end, are there without waiting.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.finished
            || !self.texts.is_empty()
            || self.error.is_some()
            || self.workers.as_ref().is_none_or(Workers::is_ready)
    }

    /// A batch of the answer to a text, which ends at a malformed record if that is what is asked for.
    fn batch(&mut self, text: Text, mut answer: Answer) -> Batch {
        let first_line = self.lines.of(&self.origin);
        let name = self.origin.name.clone();
        let fault = match self.on_error {
            OnError::Fail => batch::cut_at_fault(&mut answer, &name, first_line),
            OnError::Skip => None,
        };
        let lines = answer.pieces.iter().map(|piece| piece.lines as u64).sum::<u64>();
        self.lines.line += lines;
        let stats = &mut self.stats;
        stats.bytes += text.len() as u64;
        stats.lines += lines;
        stats.matches += answer.pieces.iter().flat_map(|piece| &piece.counts).sum::<u64>();
        stats.skipped += answer.pieces.iter().map(|piece| piece.faults.len() as u64).sum::<u64>();
        stats.partitions += 1;
        if let Some(fault) = &fault {
            self.texts.clear();
            self.error = Some(InputError::from(fault.clone()).into());
        }
        Batch::new(text, name, answer, first_line, fault)
    }
}

impl Iterator for Answers {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.finished {
            if let Some((text, answer)) = self.texts.pop_front() {
                return Some(Ok(self.batch(text, answer)));
            }
            if let Some(error) = self.error.take() {
                self.finished = true;
                if let Some(workers) = &self.workers {
                    workers.stop();
                }
                return Some(Err(self.lines.locate(&self.origin, error)));
            }
            match self.workers.as_ref().map_or(Next::End, Workers::next) {
                Next::Done(done) => {
                    (self.texts, self.error, self.origin) = (done.texts, done.error, done.origin);
                }
                Next::End => self.finished = true,
                Next::Died => {
                    self.error = Some(Error::Internal("a worker thread ended before its work did".into()));
                }
            }
        }
        None
    }
}
