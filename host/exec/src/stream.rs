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
//! | `jobs` | which part of which input comes next? |
//! | `workers` | who reads and answers it, and how do the answers come in order? |
//! | `ask` | what is asked of it? |
//! | `batch` | what is answered of a partition? |
//! | `documents` | and of documents, and when may it be given out? |
//! | `hits` | and match by match? |
//! | `columns` | and as typed columns? |
//! | `twigs` | which subscriptions do documents match? |
//! | `indexes` | what if only indexes are wanted? |
//! | `each` | and what if something is made of each partition, to be kept? |

mod ask;
mod batch;
mod columns;
mod documents;
mod each;
mod hits;
mod indexes;
mod jobs;
mod lines;
mod report;
mod store;
mod twigs;
mod workers;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::document::Format;
use crate::engine::{Chosen, OnError};
use crate::input::Extract;
use crate::input::{Source, Text};
use crate::request::Request;
use warpath_backend::answer::{Answer, Want};
use warpath_core::error::{Error, InputError};
use warpath_lang::program::Program;

pub use batch::Batch;
pub use columns::Columns;
pub(crate) use each::each_part;
pub use hits::{Hit, Hits};
pub use indexes::{IndexedPartition, Indexes};
use lines::LineCounter;
pub use report::{Plan, Setup, Stats};
pub(crate) use store::{Store, Stored};
pub use twigs::{Filtered, Filtering, FoundDocument};

use ask::ProgramTask;
use documents::{Conductor, Step};
pub(crate) use jobs::Origin;
use jobs::{Feed, Jobs, SelectedParts};
use workers::{Done, Next, Workers};

/// The answers of a program over inputs, a partition at a time and in order.
///
/// Workers read and answer in threads of their own while the caller consumes, and wait when they are far ahead of it.
/// Dropping it lets the partitions at work finish, starts no other, and waits until no worker is left.
pub struct Answers {
    /// `None` where there is no backend.
    workers: Option<Workers<ProgramTask>>,
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
    /// What goes on behind the workers, where inputs are documents.
    conductor: Option<Box<Conductor>>,
    /// What workers before these have done.
    past: Past,
    /// Whether nothing more is wanted of these workers.
    surveyed: bool,
}

/// What workers have done that are gone.
#[derive(Clone, Copy, Default)]
struct Past {
    bytes: u64,
    workers: usize,
    reading: Duration,
    answering: Duration,
}

impl Answers {
    pub(crate) fn start(input: Request, program: Program, want: Want) -> Self {
        let Request { engine, sources, index, selected } = input;
        let on_error = engine.on_error();
        let plain_bytes = match &selected {
            Some(selected) => selected.bytes(),
            None => sources.iter().map(Source::plain_bytes).sum(),
        };
        let chosen = match engine.choose_for(plain_bytes, &program) {
            Ok(chosen) => chosen,
            Err(error) => return Self::failed(error),
        };
        if let Some(selected) = selected {
            let said = selected.describe();
            let parts = Feed::Selected(Box::new(SelectedParts::new(selected, chosen.partition_size)));
            return Self::of((chosen, on_error), parts, Some(said), program, want);
        }
        if engine.format() == Format::Json {
            if index.is_some() {
                return Self::failed(Error::Usage(
                    "an index is of lines, and the input is a document".into(),
                ));
            }
            let plan = chosen.plan();
            let conductor = Conductor::new(sources, chosen, program, want);
            return Self { plan, on_error, error: None, conductor: Some(Box::new(conductor)), ..Self::new() };
        }
        let Some(index) = index else {
            let jobs = Feed::Jobs(Box::new(
                Jobs::new(sources, chosen.partition_size)
                    .with_latency(chosen.max_latency)
                    .with_packed(chosen.backend.answers_packed()),
            ));
            return Self::of((chosen, on_error), jobs, None, program, want);
        };
        match index.use_for(&chosen, &program) {
            Err(error) => Self::failed(error),
            Ok((Some(store), said)) => Self::over((chosen, on_error), store, said, program, want),
            Ok((None, said)) => {
                let jobs = Feed::Jobs(Box::new(
                    Jobs::new(sources, chosen.partition_size)
                        .with_latency(chosen.max_latency)
                        .with_packed(chosen.backend.answers_packed()),
                ));
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
        Self { error: Some(error), ..Self::new() }
    }

    /// Nothing.
    fn new() -> Self {
        Self {
            workers: None,
            plan: Plan::default(),
            on_error: OnError::default(),
            lines: LineCounter::default(),
            stats: Stats::default(),
            texts: VecDeque::new(),
            origin: Origin::default(),
            error: None,
            finished: false,
            conductor: None,
            past: Past::default(),
            surveyed: false,
        }
    }

    fn of(
        (chosen, on_error): (Chosen, OnError),
        jobs: Feed,
        index: Option<String>,
        program: Program,
        want: Want,
    ) -> Self {
        let plan = chosen.plan();
        // What is indexed already is checked by the host, and so is what the host answers.
        let is_read = index.is_none() || matches!(jobs, Feed::Selected(_));
        let strict_on_device = plan.strict_on_device && is_read && !program.has_patterns_at_run();
        let plan = Plan { index, strict_on_device, ..plan };
        let Chosen { backend, buffers, workers, strict, .. } = chosen;
        let task = ProgramTask { backend, buffers, program, want, strict };
        let (workers, error) = match Workers::start(task, jobs, workers) {
            Ok(workers) => (Some(workers), None),
            Err(error) => (None, Some(error)),
        };
        Self { workers, plan, on_error, error, ..Self::new() }
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
        let Past { workers, reading, answering, .. } = self.done();
        Stats { workers, reading, answering, ..self.stats }
    }

    /// What all workers have done so far.
    fn done(&self) -> Past {
        let Some(workers) = &self.workers else { return self.past };
        let (reading, answering) = workers.times();
        Past {
            bytes: self.past.bytes + workers.bytes_read(),
            workers: self.past.workers.max(workers.started()),
            reading: self.past.reading + reading,
            answering: self.past.answering + answering,
        }
    }

    /// How the backend was made, as far as it is; complete when the iterator has ended.
    #[must_use]
    pub fn setup(&self) -> Setup {
        let Some(workers) = &self.workers else { return Setup::default() };
        let backend = &workers.task().backend;
        let mut notes = backend.notes();
        notes.extend(self.conductor.iter().flat_map(|conductor| conductor.notes().iter().cloned()));
        Setup { parts: backend.setup(), ready: backend.ready(), notes }
    }

    /// Decompressed bytes read so far. Another thread may ask while this one waits.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.done().bytes
    }

    /// Whether the next answers, or the end, are there without waiting.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.finished
            || !self.texts.is_empty()
            || self.error.is_some()
            || match &self.workers {
                Some(workers) => workers.is_ready(),
                None => self.conductor.is_none(),
            }
    }

    /// Other workers go on.
    fn go_on(&mut self, workers: Workers<ProgramTask>) {
        self.past = self.done();
        self.workers = Some(workers);
    }

    /// Takes what workers have done.
    fn take(&mut self, mut done: Done<Answer>) {
        let step = match &mut self.conductor {
            None => Ok(Step::Given(std::mem::take(&mut done.answered.texts))),
            Some(conductor) => conductor.take(&mut done),
        };
        (self.error, self.origin) = (done.answered.error, done.origin);
        match step {
            Ok(Step::Held) => {}
            Ok(Step::Given(texts)) => self.texts = texts,
            Ok(Step::Surveyed(texts, workers)) => {
                self.stats.lines += 1;
                self.texts = texts;
                match workers {
                    Some(workers) => self.go_on(workers),
                    None => self.surveyed = true,
                }
            }
            Ok(Step::Instead(workers)) => self.go_on(workers),
            Err(error) => self.error = Some(error),
        }
    }

    /// A batch of the answer to a text, which ends at a malformed record if that is what is asked for.
    fn batch(&mut self, text: Text, mut answer: Answer) -> Batch {
        let first_line = match text.extract() {
            // Such lines count in their text alone.
            Some(Extract::Lines(_)) => 0,
            _ => self.lines.of(&self.origin),
        };
        let name = self.origin.name.clone();
        let fault = match self.on_error {
            OnError::Fail => batch::cut_at_fault(&mut answer, &name, first_line),
            OnError::Skip => None,
        };
        let fault = fault.map(|fault| batch::located(fault, text.extract()));
        let lines = answer.pieces.iter().map(|piece| piece.lines as u64).sum::<u64>();
        self.lines.line += lines;
        let stats = &mut self.stats;
        stats.bytes += text.len() as u64;
        // The elements of a document are none.
        stats.lines += if let Some(Extract::Elements(_)) = text.extract() { 0 } else { lines };
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
            let workers = self.workers.as_ref().filter(|_| !std::mem::take(&mut self.surveyed));
            match workers.map_or(Next::End, Workers::next) {
                Next::Done(done) => self.take(*done),
                Next::End => match self.conductor.as_mut().and_then(|conductor| conductor.advance()) {
                    Some(Ok(workers)) => self.go_on(workers),
                    Some(Err(error)) => self.error = Some(error),
                    None => self.finished = true,
                },
                Next::Died => {
                    self.error = Some(Error::Internal("a worker thread ended before its work did".into()));
                }
            }
        }
        None
    }
}
