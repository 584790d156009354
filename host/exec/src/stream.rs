//! The way from inputs to results, in order. Reading, evaluation and consumption overlap.
//!
//! ```text
//! feed ─┬─► worker 0: reads and evaluates a partition ─┬─► in order ─► operator ─► the caller
//!       ├─► worker 1: the same with the next one      ─┤                  │
//!       └─► ...                                       ─┘                  │
//!     buffers, used again ◄───────────────────────────────────────────────┘
//! ```
//!
//! One thread both reads and evaluates a partition; the work on different partitions overlaps. The line
//! numbers of a partition are known only when the partitions before it have been counted. Therefore the
//! caller's thread numbers the lines.
//!
//! | module | contents |
//! |---|---|
//! | `jobs` | the order of the parts of all inputs |
//! | `task` | what workers evaluate on a text |
//! | `workers` | the threads that read and evaluate |
//! | `operator` | what becomes of the results of a task |
//! | `program` | the operator of programs: batches, matches, columns |
//! | `digest` | values that workers make of the results for a text |
//! | `batch`, `hits` | the results of a program for one partition; its matches, one by one |
//! | `documents` | results for JSON documents, and the time at which they may be yielded |
//! | `twigs` | the operator of subscriptions |
//! | `values` | the operator that makes one value from each text |
//! | `indexes` | the operator that makes a structural index of each text |
//! | `schemas` | the operator that makes the schema of all texts |

mod batch;
mod digest;
mod documents;
mod hits;
mod indexes;
mod jobs;
mod lines;
mod operator;
mod program;
mod report;
mod schemas;
mod store;
mod task;
mod twigs;
mod values;
mod workers;

use std::collections::VecDeque;
use std::option;
use std::sync::Arc;
use std::time::Duration;

use warpath_core::error::Error;

use crate::input::Text;

pub use batch::Batch;
pub use digest::{Digest, Found};
pub use hits::Hit;
pub use indexes::{IndexedPartition, Indexes};
pub(crate) use jobs::Origin;
#[cfg(feature = "arrow")]
pub use program::Nested;
pub use program::{Answers, Columns, Hits, Programs};
pub use report::{Plan, Stats};
pub use schemas::{InputSchema, SchemaPart, Schemas};
pub(crate) use store::{Store, Stored};
pub use twigs::{Filtered, Filtering, FoundDocument};
pub(crate) use values::Values;
pub use warpath_backend::backend::Setup;

use lines::LineCounter;
use operator::{Conduct, Operator, Part, Step, Taken};
use task::Task;
use workers::{Done, Texts, Workers, has_any};

/// The results of an operator over inputs, in order.
///
/// Workers read and evaluate in their own threads while the caller consumes. They wait when they are far
/// ahead of the caller. A drop starts no further partition, and waits until the workers have finished theirs.
pub struct Ordered<O: Operator> {
    operator: O,
    running: Running<O::Task>,
    lines: LineCounter,
    stats: Stats,
    /// Results of one job that came from the workers, and that the operator has not taken yet.
    texts: Texts<<O::Task as Task>::Output>,
    /// The input of each text, if each text is an input of its own.
    names: VecDeque<Arc<str>>,
    origin: Origin,
    /// The results that are yielded next.
    items: Option<O::Items>,
    /// The error that is yielded after `items` and `texts`.
    error: Option<Error>,
    finished: bool,
    /// Totals of the workers before the current ones.
    past: Past,
    /// True if no more results of the current workers are wanted.
    surveyed: bool,
}

/// A task that is being evaluated. With no field set, it has no results.
struct Running<K: Task> {
    plan: Plan,
    workers: Option<Workers<K>>,
    /// Starts workers one after the other, if inputs are documents.
    conduct: Option<Box<dyn Conduct<K>>>,
}

/// Totals of workers that have ended.
#[derive(Clone, Copy, Default)]
struct Past {
    bytes: u64,
    workers: usize,
    reading: Duration,
    answering: Duration,
}

impl<O: Operator> Ordered<O> {
    /// The results of a task. If it could not be started, yields the error and nothing else.
    fn new(operator: O, running: Result<Running<O::Task>, Error>) -> Self {
        let nothing = || Running { plan: Plan::default(), workers: None, conduct: None };
        let (running, error) = match running {
            Ok(running) => (running, None),
            Err(error) => (nothing(), Some(error)),
        };
        Self {
            operator,
            running,
            lines: LineCounter::default(),
            stats: Stats::default(),
            texts: VecDeque::new(),
            names: VecDeque::new(),
            origin: Origin::default(),
            items: None,
            error,
            finished: false,
            past: Past::default(),
            surveyed: false,
        }
    }

    /// The backend and its settings, and the reason for the choice.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.running.plan
    }

    /// Statistics of the partitions seen so far; complete when the iterator has ended. The times are of all
    /// workers so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let Past { workers, reading, answering, .. } = self.totals();
        Stats { workers, reading, answering, ..self.stats }
    }

    /// Totals of all workers so far.
    fn totals(&self) -> Past {
        let Some(workers) = &self.running.workers else { return self.past };
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
        let Running { workers: Some(workers), conduct, .. } = &self.running else { return Setup::default() };
        let mut setup = workers.work().task.backend().setup();
        setup.notes.extend(conduct.iter().flat_map(|conduct| conduct.notes().iter().cloned()));
        setup
    }

    /// Decompressed bytes read so far. Another thread may call this while one waits for results.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.totals().bytes
    }

    /// Replaces the workers, and keeps the totals of the old ones.
    fn go_on(&mut self, workers: Workers<O::Task>) {
        self.past = self.totals();
        self.running.workers = Some(workers);
    }

    /// Takes the result of one job.
    fn take(&mut self, mut done: Done<<O::Task as Task>::Output>) {
        let step = match &mut self.running.conduct {
            None => Ok(Step::Given(std::mem::take(&mut done.evaluated.texts))),
            Some(conduct) => conduct.take(&mut done),
        };
        (self.error, self.names, self.origin) =
            (done.evaluated.error, done.evaluated.names.into(), done.origin);
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

    /// Hands the result for one text to the operator.
    fn operate(&mut self, text: Text, result: <O::Task as Task>::Output) {
        let (bytes, first_line) = (text.len() as u64, self.lines.of(&self.origin));
        let name = self.names.pop_front().unwrap_or_else(|| self.origin.name.clone());
        let origin = Origin { name, ..self.origin };
        let Taken { items, lines, counts, error } =
            self.operator.take(Part { text, result, origin, first_line });
        self.lines.line += lines;
        self.stats.bytes += bytes;
        self.stats.lines += counts.lines;
        self.stats.matches += counts.matches;
        self.stats.skipped += counts.skipped;
        self.stats.partitions += 1;
        self.items = Some(items);
        if error.is_some() {
            self.texts.clear();
            self.error = error;
        }
    }
}

impl<I, O: Operator<Items = option::IntoIter<I>>> Ordered<O> {
    /// True if the next result, or the end, is available without waiting.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.finished
            || !self.texts.is_empty()
            || self.error.is_some()
            || match &self.running.workers {
                Some(workers) => workers.is_ready(has_any),
                None => self.running.conduct.is_none(),
            }
    }
}

impl<O: Operator> Iterator for Ordered<O> {
    type Item = Result<<O::Items as Iterator>::Item, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.finished {
            if let Some(item) = self.items.as_mut().and_then(Iterator::next) {
                return Some(Ok(item));
            }
            // A batch keeps its buffer while there are items of it.
            self.items = None;
            if let Some((text, result)) = self.texts.pop_front() {
                self.operate(text, result);
                continue;
            }
            if let Some(error) = self.error.take() {
                self.finished = true;
                if let Some(workers) = &self.running.workers {
                    workers.stop();
                }
                return Some(Err(self.lines.locate(&self.origin, error)));
            }
            let workers = self.running.workers.as_ref().filter(|_| !std::mem::take(&mut self.surveyed));
            match workers.and_then(Workers::next) {
                Some(Ok(done)) => self.take(done),
                Some(Err(error)) => self.error = Some(error),
                None => match self.running.conduct.as_mut().and_then(|conduct| conduct.advance()) {
                    Some(Ok(workers)) => self.go_on(workers),
                    Some(Err(error)) => self.error = Some(error),
                    None => self.finished = true,
                },
            }
        }
        None
    }
}
