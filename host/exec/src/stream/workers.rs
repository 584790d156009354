//! The work of the threads that read and evaluate. Their order and look-ahead are those of a [`Stream`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use warpath_core::cancel::Stop;
use warpath_core::error::Error;
use warpath_core::pool::stream::{Limits, Stream, Turn, Work};

use super::Stored;
use super::jobs::{self, GROWTH, Job, Jobs, Origin};
use super::task::Task;
use crate::document::Note;
use crate::engine::Chosen;
use crate::input::{Cut, Text};
use crate::trace::Span;

/// Texts with their results.
pub(super) type Texts<'a, A> = VecDeque<(Text<'a>, A)>;

/// The result of a part, and the input it belongs to.
pub(super) struct Done<'a, A> {
    pub evaluated: Evaluated<'a, A>,
    pub origin: Origin,
}

/// The result of a part.
pub(super) struct Evaluated<'a, A> {
    /// The texts of the part, usually one, with their results.
    pub texts: Texts<'a, A>,
    /// The input of each text, if each text is an input of its own.
    pub names: Vec<Arc<str>>,
    /// The error that ended the part.
    pub error: Option<Error>,
    /// A note on the part, if it is a part of a document.
    pub note: Option<Note>,
}

impl<A> Default for Evaluated<'_, A> {
    fn default() -> Self {
        Self { texts: VecDeque::new(), names: Vec::new(), error: None, note: None }
    }
}

/// The threads that read and evaluate, and their results in order.
pub(super) type Workers<K> = Stream<Run<K>>;

/// A result of workers.
pub(super) type FromWorkers<K> = Result<Done<'static, <K as Task>::Output>, Error>;

/// A task that is evaluated on all parts of some inputs, and totals of that.
pub(super) struct Run<K> {
    pub task: K,
    span: Span,
    /// Bytes read, and nanoseconds, summed over all workers.
    read: AtomicU64,
    reading: AtomicU64,
    answering: AtomicU64,
}

/// Starts the first of the workers that were chosen.
pub(super) fn start<K: Task>(task: K, feed: Jobs, chosen: &Chosen) -> Result<Workers<K>, Error> {
    let starts_slowly = task.starts_slowly();
    let feed = feed.with_decoders(chosen.decoders);
    let feed = if starts_slowly { feed.growing() } else { feed };
    // `GROWTH` is a power of two, and its logarithm is the number of parts that are shorter than the others.
    let slow_start = starts_slowly.then_some(GROWTH.trailing_zeros().into());
    let limits = Limits { slow_start, ..Limits::of(chosen.workers) };
    let reading = Run::new(task, chosen.span.clone());
    Stream::start(reading, feed, limits, chosen.interrupt.clone())
}

impl<K: Task> Work for Run<K> {
    type Source = Jobs;
    type Job = (Origin, Result<jobs::Next, Error>);
    type Made = Done<'static, K::Output>;
    type State<'a> = Option<K::Worker<'a>>;

    fn next(&self, feed: &mut Jobs, stop: &Stop) -> Option<Self::Job> {
        let since = Instant::now();
        let job = feed.next(self.task.buffers(), stop);
        add(&self.reading, since.elapsed());
        job
    }

    fn may_go_on(&self, feed: &Jobs) -> bool {
        feed.may_go_on()
    }

    fn make<'a>(
        &'a self,
        turn: Turn,
        worker: &mut Option<K::Worker<'a>>,
        (origin, job): Self::Job,
    ) -> Self::Made {
        let evaluated = match job {
            Ok(jobs::Next::Job(job)) => self.evaluate(turn, worker, job),
            Ok(jobs::Next::Stored(store, at)) => self.take_stored(self.task.evaluate_stored(&*store, at)),
            Err(error) => Evaluated { error: Some(error), ..Evaluated::default() },
        };
        Done { evaluated, origin }
    }
}

impl<K: Task> Run<K> {
    /// A task that has been evaluated on nothing.
    pub fn new(task: K, span: Span) -> Self {
        let (read, reading, answering) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Self { task, span, read, reading, answering }
    }

    /// Reads and evaluates a job.
    fn evaluate<'a>(
        &'a self,
        turn: Turn,
        worker: &mut Option<K::Worker<'a>>,
        job: Job,
    ) -> Evaluated<'static, K::Output> {
        let since = Instant::now();
        // A surveyed part is only checked for faults.
        let surveyed = matches!(&job, Job::Elements(parts, _) if parts.is_surveyed());
        let cut = job.read(self.task.buffers());
        add(&self.reading, since.elapsed());
        self.evaluate_cut(turn, worker, cut, surveyed)
    }

    /// Evaluates the texts of a part. With `surveyed`, only faults are looked for.
    pub fn evaluate_cut<'a, 't>(
        &'a self,
        turn: Turn,
        worker: &mut Option<K::Worker<'a>>,
        mut cut: Cut<'t>,
        surveyed: bool,
    ) -> Evaluated<'t, K::Output> {
        let bytes: usize = cut.texts.iter().map(Text::len).sum();
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        let since = Instant::now();
        let mut results = Vec::with_capacity(cut.texts.len());
        let ended = self.task.evaluate_all(turn, worker, &mut cut.texts, surveyed, &mut results);
        let time = since.elapsed();
        add(&self.answering, time);
        self.span.partition(turn, bytes, time);
        let texts = cut.texts.into_iter().zip(results).collect();
        Evaluated { texts, names: cut.names, error: ended.err().or(cut.error), note: cut.note }
    }

    /// Takes the result for a partition that was already indexed.
    fn take_stored(&self, stored: Result<Stored<K::Output>, Error>) -> Evaluated<'static, K::Output> {
        match stored {
            Ok(Stored { text, answer, reading, answering }) => {
                self.read.fetch_add(text.len() as u64, Ordering::Relaxed);
                add(&self.reading, reading);
                add(&self.answering, answering);
                Evaluated { texts: VecDeque::from([(text, answer)]), ..Evaluated::default() }
            }
            Err(error) => Evaluated { error: Some(error), ..Evaluated::default() },
        }
    }

    /// Bytes read.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// The time for reading, and for evaluation, summed over all workers.
    pub fn times(&self) -> (Duration, Duration) {
        let time = |total: &AtomicU64| Duration::from_nanos(total.load(Ordering::Relaxed));
        (time(&self.reading), time(&self.answering))
    }
}

fn add(total: &AtomicU64, time: Duration) {
    total.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
}

/// True if a part is not empty. After an empty part, the caller would have to wait for the part after it.
pub(super) fn has_any<A>(done: &Done<'_, A>) -> bool {
    !done.evaluated.texts.is_empty() || done.evaluated.error.is_some()
}
