//! The threads that read and answer, and the order of what they answer.
//!
//! A worker takes the next part of the inputs and its number, reads it, answers it, and puts the answer where its number says.
//! No worker takes a part that is [`AHEAD`] parts a worker ahead of the caller, so memory is bounded.
//!
//! A thread is started when the one before it has found a part, and something may come behind it.
//!
//! # Slow start
//! A caller who may stop soon gets parts that grow, and no part is taken before the one that it has is used up; once parts
//! have grown, one more may be taken ahead with each that it uses. So about as much is ahead as has been used, and no more:
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

use super::Stored;
use super::ask::Ask;
use super::jobs::{self, Feed, GROWTH, Job, Origin};
use crate::document::Note;
use crate::input::Text;
use warpath_core::error::Error;

/// Parts for each worker that may be at work or wait for the caller.
const AHEAD: usize = 2;

/// Texts with their answers.
pub(super) type Texts<A> = VecDeque<(Text, A)>;

/// What became of a part.
pub(super) struct Done<A> {
    pub answered: Answered<A>,
    pub origin: Origin,
}

/// What was answered of a part.
pub(super) struct Answered<A> {
    /// Its texts, most often one, with their answers.
    pub texts: Texts<A>,
    /// Of which inputs these are, if each is one of its own.
    pub names: Vec<Arc<str>>,
    /// Why there is no more.
    pub error: Option<Error>,
    /// What there is to say of it as a part of a document, if it is one.
    pub note: Option<Note>,
}

impl<A> Default for Answered<A> {
    fn default() -> Self {
        Self { texts: VecDeque::new(), names: Vec::new(), error: None, note: None }
    }
}

/// What the caller gets.
pub(super) enum Next<A> {
    Done(Box<Done<A>>),
    /// There is nothing more.
    End,
    /// A worker panicked.
    Died,
}

struct Shared<K: Ask> {
    /// What the workers are to do.
    task: K,
    most_workers: usize,
    slow_start: bool,
    jobs: Mutex<Queue>,
    order: Mutex<Order<K::Answer>>,
    /// Something of `order` has changed that the caller waits for.
    ready: Condvar,
    /// Something of `order` has changed that workers wait for.
    room: Condvar,
    /// Nobody wants more answers.
    closing: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
    started: AtomicU64,
    /// Bytes, and nanoseconds of all workers.
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
    /// The number of what the caller gets next.
    next: u64,
    /// Jobs, or leaves to look for one, that are out; in a slow start what the caller has is one, too.
    out: usize,
    /// Whether it has one.
    held: bool,
    /// How many jobs there are, once that is known.
    end: Option<u64>,
    /// How many workers wait.
    waiting: usize,
    /// Whether the caller waits.
    called: bool,
    died: bool,
}

impl<A> Default for Order<A> {
    fn default() -> Self {
        let (done, end) = (BTreeMap::new(), None);
        Self { done, next: 0, out: 0, held: false, end, waiting: 0, called: false, died: false }
    }
}

/// What a thread that panics leaves is not looked at: the caller is told of it, and asks no more.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Ask> Shared<K> {
    /// How many jobs may be out.
    fn window(&self, order: &Order<K::Answer>) -> usize {
        let most = AHEAD * self.most_workers;
        if !self.slow_start {
            return most;
        }
        // `GROWTH` is a power of two, and so many parts are shorter than the others.
        let long = order.next.saturating_sub(GROWTH.trailing_zeros() as u64 + order.held as u64);
        most.min(1 + usize::try_from(long).unwrap_or(most))
    }

    /// The next job, with its number, and whether there may be one for another worker. Waits until the caller is near enough.
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

    /// Reads and answers a job.
    fn answer<'a>(
        &'a self,
        number: usize,
        worker: &mut Option<K::Worker<'a>>,
        job: Job,
    ) -> Answered<K::Answer> {
        let since = Instant::now();
        // Perhaps it is only to be found out whether anything is wrong.
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

    /// Takes the answer to a partition that is indexed.
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
        // Telling nobody is a system call, too.
        if order.called && number == order.next {
            self.ready.notify_all();
        }
    }

    /// The caller has used up what it had.
    fn used(&self, order: &mut Order<K::Answer>) {
        order.out -= 1;
        match order.waiting {
            0 => {}
            // There may be room for one more than that.
            2.. if self.slow_start => self.room.notify_all(),
            _ => self.room.notify_one(),
        }
    }

    fn stop(&self) {
        // Under the lock, so that nobody looks before and waits after.
        let _order = lock(&self.order);
        self.closing.store(true, Ordering::Relaxed);
        self.room.notify_all();
    }
}

fn add(total: &AtomicU64, since: Instant) {
    total.fetch_add(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
}

/// Tells the caller of a worker that panics.
struct Alive<'a, K: Ask>(&'a Shared<K>);

impl<K: Ask> Drop for Alive<'_, K> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.order).died = true;
            self.0.ready.notify_all();
        }
    }
}

/// Starts a thread for the worker of this number.
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

/// What a worker's thread does.
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

/// The workers on some inputs, seen by the caller.
pub(super) struct Workers<K: Ask>(Arc<Shared<K>>);

impl<K: Ask> Workers<K> {
    /// Starts the first of at most so many workers.
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

    /// What comes next, in order. Waits for it.
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

    /// Whether [`next`](Self::next) would not wait, and nor would who looks for what is behind a part that has nothing.
    pub fn is_ready(&self) -> bool {
        let order = lock(&self.0.order);
        let has_any =
            |done: &Done<K::Answer>| !done.answered.texts.is_empty() || done.answered.error.is_some();
        order.died || order.end == Some(order.next) || order.done.get(&order.next).is_some_and(has_any)
    }

    /// Asks the workers to end.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Bytes read.
    pub fn bytes_read(&self) -> u64 {
        self.0.read.load(Ordering::Relaxed)
    }

    /// What they do.
    pub fn task(&self) -> &K {
        &self.0.task
    }

    /// How many workers have been started.
    pub fn started(&self) -> usize {
        self.0.started.load(Ordering::Relaxed) as usize
    }

    /// Time spent reading, and answering, by all workers together.
    pub fn times(&self) -> (Duration, Duration) {
        let time = |total: &AtomicU64| Duration::from_nanos(total.load(Ordering::Relaxed));
        (time(&self.0.reading), time(&self.0.answering))
    }
}

impl<K: Ask> Drop for Workers<K> {
    /// A process that ends while a device is at work is the driver's to clean up, and it does not always like that: so all
    /// threads are waited for. None of them waits for an input for long.
    fn drop(&mut self) {
        self.stop();
        // One thread may have started another before it ended.
        loop {
            let Some(thread) = lock(&self.0.threads).pop() else { return };
            // A panic has been told already.
            let _ = thread.join();
        }
    }
}
