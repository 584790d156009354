//! The way from inputs to results, in order. Reading, evaluation and consumption overlap.
//!
//! ```text
//! jobs ─┬─► worker 0: reads and evaluates a partition ─┬─► in order ─► the caller
//!       ├─► worker 1: the same with the next one      ─┤                  │
//!       └─► ...                                       ─┘                  │
//!     buffers, used again ◄───────────────────────────────────────────────┘
//! ```
//!
//! One thread both reads and evaluates a partition; the work on different partitions overlaps. The line
//! numbers of a partition are known only when the partitions before it have been counted. Therefore the
//! consumer numbers the lines.
//!
//! | module | contents |
//! |---|---|
//! | `jobs` | the order of the parts of all inputs |
//! | `workers` | the threads that read and evaluate, and the order of their results |
//! | `ask` | the task of the workers |
//! | `batch` | the result for one partition |
//! | `documents` | results for JSON documents, and the time at which they may be yielded |
//! | `hits` | results match by match |
//! | `columns` | results as typed columns |
//! | `twigs` | documents and the subscriptions that they match |
//! | `indexes` | structural indexes alone |
//! | `each` | values that are made from each partition, to be kept |

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

use warpath_backend::answer::{Answer, Want};
use warpath_core::error::{Error, InputError};
use warpath_lang::program::Program;

use crate::document::Format;
use crate::engine::{Chosen, OnError};
use crate::input::Extract;
use crate::input::{Source, Text};
use crate::request::Request;

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
use workers::{Done, Workers, has_any};

/// The results of a program over inputs, a partition at a time and in order.
///
/// Workers read and evaluate in their own threads while the caller consumes. They wait when they are far
/// ahead of the caller. Dropping this lets the partitions at work finish, starts no other, and waits until
/// all workers have ended.
pub struct Answers {
    /// `None` if there is no backend.
    workers: Option<Workers<ProgramTask>>,
    plan: Plan,
    on_error: OnError,
    lines: LineCounter,
    stats: Stats,
    /// Results that were taken from the workers and not yet yielded, for one partition's worth of input.
    texts: VecDeque<(Text, Answer)>,
    origin: Origin,
    /// The error that is yielded after `texts`.
    error: Option<Error>,
    finished: bool,
    /// The conductor of documents, if inputs are documents. It continues the work when the workers are done.
    conductor: Option<Box<Conductor>>,
    /// Totals of the workers before the current ones.
    past: Past,
    /// True if no more is wanted of the current workers.
    surveyed: bool,
}

/// Totals of workers that have ended.
#[derive(Clone, Copy, Default)]
struct Past {
    bytes: u64,
    workers: usize,
    reading: Duration,
    answering: Duration,
}

impl Answers {
    pub(crate) fn start(input: Request, program: Program, want: Want) -> Self {
        let Request { engine, sources, index, selected, predicate } = input;
        let program = match predicate.map(|predicate| program.matching(&predicate, want.needs_records())) {
            Some(Err(error)) => return Self::failed(error),
            Some(Ok(program)) => program,
            None => program,
        };
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

    /// The results over a store. `index` describes it.
    pub(crate) fn over(
        settings: (Chosen, OnError),
        store: Arc<dyn Store>,
        index: String,
        program: Program,
        want: Want,
    ) -> Self {
        Self::of(settings, Feed::Store(store, 0), Some(index), program, want)
    }

    /// Yields one error, and nothing else.
    fn failed(error: Error) -> Self {
        Self { error: Some(error), ..Self::new() }
    }

    /// Yields nothing.
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
        // The host checks partitions that are indexed already, and programs that the host evaluates.
        let is_read = index.is_none() || matches!(jobs, Feed::Selected(_));
        let strict_on_device = plan.strict_on_device && is_read && !program.has_patterns_at_run();
        let plan = Plan { index, strict_on_device, ..plan };
        let Chosen { backend, buffers, workers, strict, .. } = chosen;
        let task = ProgramTask { backend, buffers, program, want, strict };
        let (workers, error) = match workers::start(task, jobs, workers) {
            Ok(workers) => (Some(workers), None),
            Err(error) => (None, Some(error)),
        };
        Self { workers, plan, on_error, error, ..Self::new() }
    }

    /// The backend and its settings, and the reason for the choice.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Statistics of the results yielded so far; complete when the iterator has ended. The times are of all
    /// workers so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let Past { workers, reading, answering, .. } = self.done();
        Stats { workers, reading, answering, ..self.stats }
    }

    /// Totals of all workers so far.
    fn done(&self) -> Past {
        let Some(workers) = &self.workers else { return self.past };
        let (reading, answering) = workers.work().times();
        Past {
            bytes: self.past.bytes + workers.work().bytes_read(),
            workers: self.past.workers.max(workers.started()),
            reading: self.past.reading + reading,
            answering: self.past.answering + answering,
        }
    }

    /// The setup of the backend, as far as it is done; complete when the iterator has ended.
    #[must_use]
    pub fn setup(&self) -> Setup {
        let Some(workers) = &self.workers else { return Setup::default() };
        let backend = &workers.work().task.backend;
        let mut notes = backend.notes();
        notes.extend(self.conductor.iter().flat_map(|conductor| conductor.notes().iter().cloned()));
        Setup { parts: backend.setup(), ready: backend.ready(), notes }
    }

    /// Decompressed bytes read so far. Another thread may call this while one waits for results.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.done().bytes
    }

    /// True if the next result, or the end, is available without waiting.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.finished
            || !self.texts.is_empty()
            || self.error.is_some()
            || match &self.workers {
                Some(workers) => workers.is_ready(has_any),
                None => self.conductor.is_none(),
            }
    }

    /// Replaces the workers, and keeps the totals of the old ones.
    fn go_on(&mut self, workers: Workers<ProgramTask>) {
        self.past = self.done();
        self.workers = Some(workers);
    }

    /// Takes the result of one job.
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

    /// A batch of the result for one text. If the engine fails at malformed records, the batch ends before
    /// the first of them.
    fn batch(&mut self, text: Text, mut answer: Answer) -> Batch {
        let first_line = match text.extract() {
            // Selected lines count in their text alone.
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
        // Elements of a document are not lines.
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
            match workers.and_then(Workers::next) {
                Some(Ok(done)) => self.take(done),
                Some(Err(error)) => self.error = Some(error),
                None => match self.conductor.as_mut().and_then(|conductor| conductor.advance()) {
                    Some(Ok(workers)) => self.go_on(workers),
                    Some(Err(error)) => self.error = Some(error),
                    None => self.finished = true,
                },
            }
        }
        None
    }
}
