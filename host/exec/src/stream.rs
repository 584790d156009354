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
//! | `flow` | the start of a task: by workers, or while the caller waits |
//! | `inline` | bytes in memory, and inputs of callers with threads, evaluated while the caller waits |
//! | `operator` | what becomes of the results of a task |
//! | `program` | the operator of programs: batches, matches, columns |
//! | `digest` | values that workers make of the results for a text |
//! | `leaves` | results for loaded inputs, from their leaves alone |
//! | `sampler` | some records of the input, for a look at them after the run |
//! | `batch`, `hits` | the results of a program for one partition; its matches, one by one |
//! | `batch/located` | the records of a partition, found by a line or a byte |
//! | `documents` | results for JSON documents, and the time at which they may be yielded |
//! | `polled` | results as an asynchronous stream |
//! | `twigs` | the operator of subscriptions |
//! | `values` | the operator that makes one value from each text |
//! | `indexes` | the operator that makes a structural index of each text |
//! | `schemas` | the operator that makes the schema of all texts |

mod batch;
mod digest;
mod documents;
mod flow;
mod hits;
mod indexes;
mod inline;
mod jobs;
#[cfg(feature = "store")]
mod leaves;
mod lines;
mod operator;
#[cfg(feature = "async")]
mod polled;
mod program;
mod report;
mod sampler;
mod schemas;
mod store;
mod task;
mod twigs;
mod values;
mod workers;

use std::collections::VecDeque;
use std::option;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use warpath_core::cancel::{CancelToken, Interrupt};
use warpath_core::error::{Error, InputError};

use crate::channel::Channel;
use crate::engine::Chosen;
use crate::input::Text;
use crate::trace::Span;

pub use batch::{Batch, LocatedRecord};
pub use digest::{Digest, PieceResults};
pub use hits::Hit;
pub use indexes::{IndexedPartition, Indexes};
pub(crate) use jobs::Origin;
#[cfg(feature = "store")]
pub use leaves::{DeviceResults, LeafResults};
#[cfg(all(feature = "async", feature = "arrow"))]
pub use polled::AsyncBatches;
#[cfg(feature = "async")]
pub use polled::AsyncResults;
#[cfg(feature = "arrow")]
pub use program::Nested;
pub use program::{Answers, Columns, Hits, Programs};
pub use report::{Early, Stats};
pub use sampler::Sampler;
pub use schemas::{InputSchema, SchemaPart, Schemas};
pub(crate) use store::{Rest, Store, Stored};
pub use twigs::{ExplainedTwigs, Filtered, Filtering, FoundDocument};
pub(crate) use twigs::{Matched, explain as explain_twigs};
pub(crate) use values::EachValue;
pub use warpath_answer::backend::Setup;
pub use warpath_plan::{Plan, Pruned, Reading, Unused};

use flow::Flow;
use lines::LineCounter;
use operator::{Conduct, JobOutcome, Operator, Taken, TextResult};
use task::Task;
use workers::{Done, FromWorkers, Texts, Workers, has_any};

/// The results of an operator over inputs, in order.
///
/// Workers read and evaluate in their own threads while the caller consumes. They wait when they are far
/// ahead of the caller. A drop starts no further partition, and waits until the workers have finished theirs.
///
/// ```
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut hits = Engine::builder().build()?.bytes("{\"a\":1}\n{\"a\":2}\n").query(&Query::compile("$.a")?)?;
/// assert!(hits.next().unwrap()?.line() == 1);
/// assert_eq!(hits.by_ref().count(), 1);
/// // The end of the results is the end of the statistics.
/// assert_eq!((hits.stats().matches, hits.stats().bytes, hits.bytes_read()), (2, 16, 16));
/// # Ok(())
/// # }
/// ```
pub struct Ordered<'a, O: Operator<'a>> {
    operator: O,
    running: Running<'a, O::Task>,
    lines: LineCounter,
    stats: Stats,
    /// Results of one job that came from the workers, and that the operator has not taken yet.
    texts: Texts<'a, <O::Task as Task>::Output>,
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
struct Running<'a, K: Task> {
    plan: Plan,
    flow: Option<Flow<'a, K>>,
    /// Starts workers one after the other, if inputs are documents.
    conduct: Option<Box<dyn Conduct<K>>>,
    /// The reasons for which the run ends before its time.
    interrupt: Interrupt,
    span: Span,
    /// Malformed records that were found before the results.
    early: Early,
}

impl<'a, K: Task> Running<'a, K> {
    /// A run over inputs for which `chosen` was chosen.
    fn new(plan: Plan, flow: Flow<'a, K>, chosen: &Chosen) -> Self {
        Self { flow: Some(flow), ..Self::without_flow(plan, chosen) }
    }

    /// A run whose workers are started later.
    fn without_flow(plan: Plan, chosen: &Chosen) -> Self {
        let (interrupt, span) = (chosen.interrupt.clone(), chosen.span.clone());
        Self { plan, flow: None, conduct: None, interrupt, span, early: Early::default() }
    }

    /// A run that has no results.
    fn nothing() -> Self {
        let (plan, interrupt, span) = (Plan::default(), Interrupt::default(), Span::default());
        Self { plan, flow: None, conduct: None, interrupt, span, early: Early::default() }
    }
}

/// Totals of workers that have ended.
#[derive(Clone, Copy, Default)]
struct Past {
    bytes: u64,
    workers: usize,
    reading: Duration,
    answering: Duration,
}

impl<'a, O: Operator<'a>> Ordered<'a, O> {
    /// The results of a task. If it could not be started, yields the error and nothing else.
    fn new(operator: O, running: Result<Running<'a, O::Task>, Error>) -> Self {
        let (running, error) = match running {
            Ok(running) => (running, None),
            Err(error) => (Running::nothing(), Some(error)),
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
        let skipped = self.stats.skipped + self.running.early.skipped;
        Stats { workers, reading, answering, skipped, ..self.stats }
    }

    /// Malformed records that were found before the results, among lines that a bitmap index left undecided.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn early(&self) -> &Early {
        &self.running.early
    }

    /// Totals of all workers so far.
    fn totals(&self) -> Past {
        let Some(flow) = &self.running.flow else { return self.past };
        let (reading, answering) = flow.work().times();
        Past {
            bytes: self.past.bytes + flow.work().bytes_read(),
            workers: self.past.workers.max(flow.threads()),
            reading: self.past.reading + reading,
            answering: self.past.answering + answering,
        }
    }

    /// The setup of the backend, as far as it is done; complete when the iterator has ended.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn setup(&self) -> Setup {
        let Running { flow: Some(flow), conduct, .. } = &self.running else { return Setup::default() };
        let mut setup = flow.work().task.buffers().backend().setup();
        setup.notes.extend(conduct.iter().flat_map(|conduct| conduct.notes().iter().cloned()));
        setup
    }

    /// Decompressed bytes read so far. Another thread may call this while one waits for results.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.totals().bytes
    }

    /// A token that cancels this run, and no other.
    ///
    /// ```
    /// use warpath::{Engine, Error, Query};
    ///
    /// # fn main() -> Result<(), Error> {
    /// let mut hits = Engine::builder().build()?.bytes("{\"a\":1}").query(&Query::compile("$.a")?)?;
    /// let token = hits.canceller();
    /// std::thread::spawn(move || token.cancel()).join().unwrap();
    /// assert!(matches!(hits.next(), Some(Err(Error::Cancelled))));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn canceller(&self) -> CancelToken {
        self.running.interrupt.token().clone()
    }

    /// Replaces the workers, and keeps the totals of the old ones.
    fn go_on(&mut self, workers: Workers<O::Task>) {
        self.past = self.totals();
        self.running.flow = Some(Flow::Workers(workers));
    }

    /// Takes the result of one job.
    fn take(&mut self, done: Done<'a, <O::Task as Task>::Output>) {
        (self.error, self.names, self.origin) =
            (done.evaluated.error, done.evaluated.names.into(), done.origin);
        self.texts = done.evaluated.texts;
    }

    /// Takes the result of one job of workers.
    fn take_from_workers(&mut self, mut done: Done<'static, <O::Task as Task>::Output>) {
        let Some(conduct) = &mut self.running.conduct else { return self.take(done) };
        let step = conduct.take(&mut done);
        (self.error, self.names, self.origin) =
            (done.evaluated.error, done.evaluated.names.into(), done.origin);
        match step {
            Ok(JobOutcome::Held) => {}
            Ok(JobOutcome::Given(texts)) => self.texts = texts,
            Ok(JobOutcome::Surveyed(texts, workers)) => {
                self.stats.lines += 1;
                self.texts = texts;
                match workers {
                    Some(workers) => self.go_on(workers),
                    None => self.surveyed = true,
                }
            }
            Ok(JobOutcome::Instead(workers)) => self.go_on(workers),
            Err(error) => self.error = Some(error),
        }
    }

    /// Hands the result for one text to the operator.
    fn operate(&mut self, text: Text<'a>, result: <O::Task as Task>::Output) {
        let (bytes, first_line) = (text.len() as u64, self.lines.of(&self.origin));
        let name = self.names.pop_front().unwrap_or_else(|| self.origin.name.clone());
        let origin = Origin { name, ..self.origin };
        let Taken { items, lines, counts, error } =
            self.operator.take(TextResult { text, result, origin, first_line });
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

impl<'a, I, O: Operator<'a, Items = option::IntoIter<I>>> Ordered<'a, O> {
    /// True if the next result, or the end, is available without waiting.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.finished
            || !self.texts.is_empty()
            || self.error.is_some()
            || match &self.running.flow {
                Some(Flow::Workers(workers)) => workers.is_ready(has_any),
                Some(Flow::Inline(inline)) => inline.is_ready(),
                None => self.running.conduct.is_none(),
            }
    }
}

impl<'a, O: Operator<'a>> Ordered<'a, O> {
    /// The next item, if it is there. Otherwise the task of `context` is woken later. Nothing is lost if the
    /// caller stops to wait, and goes on later.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn poll(
        &mut self,
        context: &Context<'_>,
    ) -> Poll<Option<Result<<O::Items as Iterator>::Item, Error>>> {
        // What is evaluated here takes its time. After it, other tasks have their turn.
        let mut has_evaluated = false;
        let pause = || {
            if std::mem::replace(&mut has_evaluated, true) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        };
        self.advance(|workers| workers.poll(context), pause)
    }

    /// The next item. `next` takes the next result from workers, and may find none yet. `pause` is called
    /// before an evaluation in this thread, and may put it off.
    fn advance(
        &mut self,
        mut next: impl FnMut(&Workers<O::Task>) -> Poll<Option<FromWorkers<O::Task>>>,
        mut pause: impl FnMut() -> Poll<()>,
    ) -> Poll<Option<Result<<O::Items as Iterator>::Item, Error>>> {
        while !self.finished {
            if self.running.interrupt.is_cancelled() {
                return Poll::Ready(Some(Err(self.end(Error::Cancelled))));
            }
            if let Some(item) = self.items.as_mut().and_then(Iterator::next) {
                return Poll::Ready(Some(Ok(item)));
            }
            // A batch keeps its buffer while there are items of it.
            self.items = None;
            if self.error.is_none() && self.operator.is_done() {
                self.stop();
                break;
            }
            if let Some(reason) = self.running.interrupt.reason() {
                return Poll::Ready(Some(Err(self.end(reason))));
            }
            if let Some((text, result)) = self.texts.pop_front() {
                self.operate(text, result);
                continue;
            }
            if let Some(error) = self.error.take() {
                let error = self.lines.locate(&self.origin, error);
                return Poll::Ready(Some(Err(self.end(error))));
            }
            let surveyed = std::mem::take(&mut self.surveyed);
            let made = match &mut self.running.flow {
                Some(Flow::Workers(workers)) if !surveyed => match next(workers) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(made)) => Some(made.map(|done| self.take_from_workers(done))),
                    Poll::Ready(None) => None,
                },
                Some(Flow::Inline(inline)) => {
                    if !inline.is_ready() && pause().is_pending() {
                        return Poll::Pending;
                    }
                    inline.next().map(|done| {
                        self.take(done);
                        Ok(())
                    })
                }
                _ => None,
            };
            match made {
                Some(Ok(())) => {}
                Some(Err(error)) => self.error = Some(error),
                None => match self.running.conduct.as_mut().and_then(|conduct| conduct.advance()) {
                    Some(Ok(workers)) => self.go_on(workers),
                    Some(Err(error)) => self.error = Some(error),
                    None => {
                        if let Some((fault, _)) = &self.running.early.fault {
                            let error = InputError::Record(fault.clone()).into();
                            return Poll::Ready(Some(Err(self.end(error))));
                        }
                        self.finished = true;
                        self.running.span.end(self.stats.totals());
                    }
                },
            }
        }
        Poll::Ready(None)
    }

    /// Ends the results with an error.
    fn end(&mut self, error: Error) -> Error {
        self.running.span.failed(&error);
        self.stop();
        error
    }

    /// Ends the results.
    fn stop(&mut self) {
        self.finished = true;
        self.running.span.end(self.stats.totals());
        self.items = None;
        self.texts.clear();
        match &mut self.running.flow {
            Some(Flow::Workers(workers)) => workers.stop(),
            Some(Flow::Inline(inline)) => inline.stop(),
            None => {}
        }
    }
}

impl<'a, O: Operator<'a>> Iterator for Ordered<'a, O> {
    type Item = Result<<O::Items as Iterator>::Item, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.advance(|workers| Poll::Ready(workers.next()), || Poll::Ready(())) {
            Poll::Ready(next) => next,
            // The workers are waited for.
            Poll::Pending => None,
        }
    }
}

impl<O: Operator<'static> + 'static> Ordered<'static, O>
where
    Self: Send,
    <Self as Iterator>::Item: Send,
{
    /// The results in a channel that holds at most `capacity` of them. A thread takes them from this
    /// iterator. [`Channel`] has an example.
    ///
    /// # Errors
    /// [`Error::Thread`] if no thread can be started.
    pub fn into_channel(self, capacity: usize) -> Result<Channel<<Self as Iterator>::Item>, Error>
    where
        <Self as Iterator>::Item: 'static,
    {
        let token = self.canceller();
        Channel::new(self, capacity, token)
    }
}
