//! The threads that read and evaluate, and the order of their results.
//!
//! A worker takes the next part of the inputs with its number, reads it, evaluates it, and stores the result
//! under that number. Per worker, at most [`AHEAD`] parts are at work or wait for the caller. Memory is
//! therefore bounded.
//!
//! A thread is started when the thread before it has found a part, and more parts may follow.
//!
//! # Slow start
//! A caller who may stop soon gets parts that grow. At first no part is taken before the caller has used up
//! the part that it has. Once parts have grown, each used part allows one more part ahead. The work ahead is
//! therefore about as large as the work already used, and not larger:
//!
//! ```text
//! used, bytes     0    64 K  192 K  448 K  960 K   2 M    3 M   ...
//! parts ahead   64 K  128 K  256 K  512 K    1 M  2 × 1 M  3 × 1 M
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use warpath_core::error::Error;

use super::Stored;
use super::ask::Ask;
use super::jobs::{self, Feed, GROWTH, Job, Origin};
use crate::document::Note;
use crate::input::Text;

/// Parts for each worker that may be at work or wait for the caller.
const AHEAD: usize = 2;

/// Texts with their results.
pub(super) type Texts<A> = VecDeque<(Text, A)>;

/// The result of a part, and the input it belongs to.
pub(super) struct Done<A> {
    pub answered: Answered<A>,
    pub origin: Origin,
}

/// The result of a part.
pub(super) struct Answered<A> {
    /// The texts of the part, usually one, with their results.
    pub texts: Texts<A>,
    /// The input of each text, if each text is an input of its own.
    pub names: Vec<Arc<str>>,
    /// The error that ended the part.
    pub error: Option<Error>,
    /// A note on the part, if it is a part of a document.
    pub note: Option<Note>,
}

impl<A> Default for Answered<A> {
    fn default() -> Self {
        Self { texts: VecDeque::new(), names: Vec::new(), error: None, note: None }
    }
}

/// The next event for the caller.
pub(super) enum Next<A> {
    Done(Box<Done<A>>),
    /// The end of all parts.
    End,
    /// A worker panicked.
    Died,
}

struct Shared<K: Ask> {
    /// The task of the workers.
    task: K,
    most_workers: usize,
    slow_start: bool,
    jobs: Mutex<Queue>,
    order: Mutex<Order<K::Answer>>,
    /// Signals the caller that `order` has changed.
    ready: Condvar,
    /// Signals waiting workers that `order` has changed.
    room: Condvar,
    /// True if no more results are wanted.
    closing: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
    started: AtomicU64,
    /// Bytes read, and nanoseconds, summed over all workers.
    read: AtomicU64,
    reading: AtomicU64,
    answering: AtomicU64,
}

struct Queue {
    jobs: Feed,
    /// The number of the next job.
    next: u64,
}

struct Order<A> {
    done: BTreeMap<u64, Done<A>>,
    /// The number of the result that the caller gets next.
    next: u64,
    /// Jobs that are out, including permissions to look for one. In a slow start, the job that the caller
    /// holds counts too.
    out: usize,
    /// True if the caller holds a job.
    held: bool,
    /// The number of all jobs, once it is known.
    end: Option<u64>,
    /// The number of workers that wait.
    waiting: usize,
    /// True if the caller waits.
    called: bool,
    died: bool,
}

impl<A> Default for Order<A> {
    fn default() -> Self {
        let (done, end) = (BTreeMap::new(), None);
        Self { done, next: 0, out: 0, held: false, end, waiting: 0, called: false, died: false }
    }
}

/// Locks, and ignores poison. A thread that panics may leave wrong state, but the caller gets [`Next::Died`]
/// and reads no more.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Ask> Shared<K> {
    /// The number of jobs that may be out.
    fn window(&self, order: &Order<K::Answer>) -> usize {
        let most = AHEAD * self.most_workers;
        if !self.slow_start {
            return most;
        }
        // `GROWTH` is a power of two, and its logarithm is the number of parts that are shorter than the
        // others.
        let long = order.next.saturating_sub(GROWTH.trailing_zeros() as u64 + order.held as u64);
        most.min(1 + usize::try_from(long).unwrap_or(most))
    }

    /// The next job with its number, and true if there may be one for another worker. Waits until the caller
    /// is near enough.
    fn take(&self) -> Option<(u64, Origin, Result<jobs::Next, Error>, bool)> {
        let mut order = lock(&self.order);
        while order.out >= self.window(&order) && !self.closing.load(Ordering::Relaxed) {
            order.waiting += 1;
            order = self.room.wait(order).unwrap_or_else(PoisonError::into_inner);
            order.waiting -= 1;
        }
        order.out += 1;
        let room = order.out < self.window(&order);
        drop(order);
        let mut queue = lock(&self.jobs);
        let since = Instant::now();
        let job = if self.closing.load(Ordering::Relaxed) {
            None
        } else {
            queue.jobs.next(self.task.buffers(), &self.closing)
        };
        add(&self.reading, since);
        let Some((origin, job)) = job else {
            let end = queue.next;
            let mut order = lock(&self.order);
            order.out -= 1;
            order.end = Some(end);
            self.ready.notify_all();
            return None;
        };
        queue.next += 1;
        Some((queue.next - 1, origin, job, room && queue.jobs.may_go_on()))
    }

    /// Reads and evaluates a job.
    fn answer<'a>(
        &'a self,
        number: usize,
        worker: &mut Option<K::Worker<'a>>,
        job: Job,
    ) -> Answered<K::Answer> {
        let since = Instant::now();
        // A surveyed part is only checked for faults.
        let surveyed = matches!(&job, Job::Elements(parts, _) if parts.is_surveyed());
        let mut cut = job.read(self.task.buffers());
        add(&self.reading, since);
        let bytes: usize = cut.texts.iter().map(Text::len).sum();
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        let since = Instant::now();
        let mut answers = Vec::with_capacity(cut.texts.len());
        let asked = self.task.ask_all((number, worker), &mut cut.texts, surveyed, &mut answers);
        add(&self.answering, since);
        let texts = cut.texts.into_iter().zip(answers).collect();
        Answered { texts, names: cut.names, error: asked.err().or(cut.error), note: cut.note }
    }

    /// Takes the result for a partition that was already indexed.
    fn take_stored(&self, stored: Result<Stored<K::Answer>, Error>) -> Answered<K::Answer> {
        match stored {
            Ok(Stored { text, answer, reading, answering }) => {
                self.read.fetch_add(text.len() as u64, Ordering::Relaxed);
                self.reading.fetch_add(reading.as_nanos() as u64, Ordering::Relaxed);
                self.answering.fetch_add(answering.as_nanos() as u64, Ordering::Relaxed);
                Answered { texts: VecDeque::from([(text, answer)]), ..Answered::default() }
            }
            Err(error) => Answered { error: Some(error), ..Answered::default() },
        }
    }

    fn put(&self, number: u64, done: Done<K::Answer>) {
        let mut order = lock(&self.order);
        order.done.insert(number, done);
        // A notification is a system call, even if nobody waits.
        if order.called && number == order.next {
            self.ready.notify_all();
        }
    }

    /// Records that the caller has used up its job.
    fn used(&self, order: &mut Order<K::Answer>) {
        order.out -= 1;
        match order.waiting {
            0 => {}
            // In a slow start, there may be room for more than one job.
            2.. if self.slow_start => self.room.notify_all(),
            _ => self.room.notify_one(),
        }
    }

    fn stop(&self) {
        // The lock is held, so that no worker checks `closing` before the store and starts to wait after the
        // notification.
        let _order = lock(&self.order);
        self.closing.store(true, Ordering::Relaxed);
        self.room.notify_all();
    }
}

fn add(total: &AtomicU64, since: Instant) {
    total.fetch_add(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
}

/// Notifies the caller when a worker panics.
struct Alive<'a, K: Ask>(&'a Shared<K>);

impl<K: Ask> Drop for Alive<'_, K> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.order).died = true;
            self.0.ready.notify_all();
        }
    }
}

/// Starts the thread of the worker with this number.
fn spawn<K: Ask>(shared: &Arc<Shared<K>>, number: usize) -> Result<(), Error> {
    let its = shared.clone();
    let thread = thread::Builder::new()
        .name(format!("warpath {number}"))
        .spawn(move || work(&its, number))
        .map_err(|error| Error::Internal(format!("no thread could be started: {error}")))?;
    shared.started.fetch_add(1, Ordering::Relaxed);
    lock(&shared.threads).push(thread);
    Ok(())
}

/// The loop of a worker's thread.
fn work<K: Ask>(shared: &Arc<Shared<K>>, number: usize) {
    let _alive = Alive(shared);
    let mut worker = None;
    let mut alone = true;
    while let Some((at, origin, job, more)) = shared.take() {
        let mut trouble = None;
        if alone && more && number + 1 < shared.most_workers {
            alone = false;
            trouble = spawn(shared, number + 1).err();
        }
        let mut answered = match job {
            Ok(jobs::Next::Job(job)) => shared.answer(number, &mut worker, job),
            Ok(jobs::Next::Stored(store, at)) => shared.take_stored(shared.task.ask_stored(&*store, at)),
            Err(error) => Answered { error: Some(error), ..Answered::default() },
        };
        answered.error = answered.error.or(trouble);
        shared.put(at, Done { answered, origin });
    }
}

/// The caller's handle to the workers on some inputs.
pub(super) struct Workers<K: Ask>(Arc<Shared<K>>);

impl<K: Ask> Workers<K> {
    /// Starts the first of at most `most_workers` workers.
    pub fn start(task: K, jobs: Feed, most_workers: usize) -> Result<Self, Error> {
        let slow_start = task.starts_slowly();
        let jobs = if slow_start { jobs.growing() } else { jobs };
        let shared = Arc::new(Shared {
            task,
            most_workers: most_workers.max(1),
            slow_start,
            jobs: Mutex::new(Queue { jobs, next: 0 }),
            order: Mutex::default(),
            ready: Condvar::new(),
            room: Condvar::new(),
            closing: AtomicBool::new(false),
            threads: Mutex::default(),
            started: AtomicU64::new(0),
            read: AtomicU64::new(0),
            reading: AtomicU64::new(0),
            answering: AtomicU64::new(0),
        });
        spawn(&shared, 0)?;
        Ok(Self(shared))
    }

    /// The next result in order. Waits for it.
    pub fn next(&self) -> Next<K::Answer> {
        let mut order = lock(&self.0.order);
        if std::mem::take(&mut order.held) {
            self.0.used(&mut order);
        }
        loop {
            let at = order.next;
            if let Some(done) = order.done.remove(&at) {
                order.next += 1;
                if self.0.slow_start {
                    order.held = true;
                } else {
                    self.0.used(&mut order);
                }
                return Next::Done(Box::new(done));
            }
            if order.died {
                return Next::Died;
            }
            if order.end == Some(at) {
                return Next::End;
            }
            order.called = true;
            order = self.0.ready.wait(order).unwrap_or_else(PoisonError::into_inner);
            order.called = false;
        }
    }

    /// True if [`next`](Self::next) would not wait, and if the next part is not empty. After an empty part,
    /// the caller would have to wait for the part after it.
    pub fn is_ready(&self) -> bool {
        let order = lock(&self.0.order);
        let has_any =
            |done: &Done<K::Answer>| !done.answered.texts.is_empty() || done.answered.error.is_some();
        order.died || order.end == Some(order.next) || order.done.get(&order.next).is_some_and(has_any)
    }

    /// Makes the workers end after their current jobs.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Bytes read.
    pub fn bytes_read(&self) -> u64 {
        self.0.read.load(Ordering::Relaxed)
    }

    /// The task of the workers.
    pub fn task(&self) -> &K {
        &self.0.task
    }

    /// The number of workers that have been started.
    pub fn started(&self) -> usize {
        self.0.started.load(Ordering::Relaxed) as usize
    }

    /// The time for reading, and for evaluation, summed over all workers.
    pub fn times(&self) -> (Duration, Duration) {
        let time = |total: &AtomicU64| Duration::from_nanos(total.load(Ordering::Relaxed));
        (time(&self.0.reading), time(&self.0.answering))
    }
}

impl<K: Ask> Drop for Workers<K> {
    /// Waits for all threads. If a process ended while a device is at work, the driver would have to clean
    /// up, which does not always succeed. No thread waits long for an input.
    fn drop(&mut self) {
        self.stop();
        // One thread may have started another before it ended.
        loop {
            let Some(thread) = lock(&self.0.threads).pop() else { return };
            // The caller was already notified of a panic.
            let _ = thread.join();
        }
    }
}
