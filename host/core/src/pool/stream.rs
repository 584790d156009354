//! Results of several threads, in order, with bounded look-ahead.
//!
//! ```text
//! source ─┬─► thread 0: makes a result from a job  ─┬─► in order ─► the caller
//!         ├─► thread 1: the same with the next one ─┤
//!         └─► ...                                  ─┘
//! ```
//!
//! A thread takes the next job with its number, makes a result from it, and stores the result under that
//! number. At most [`Limits::jobs`] jobs are at work or wait for the caller. Memory is therefore bounded.
//! These threads may wait for an input. They are not the threads of [`map`](super::map()), so that waiting
//! never blocks those.

use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::{cores, lock};
use crate::cancel::{Interrupt, Stop, Wakes, Working};
use crate::error::Error;

/// The number of a job, and the number of the thread that makes its result, both from 0 on.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// The number of the thread.
    pub thread: usize,
    /// The number of the job.
    pub number: u64,
}

/// The work of a stream: jobs are taken one after the other, and made into results by any thread.
pub trait Work: Sync {
    /// The source of jobs. One thread at a time takes from it.
    type Source: Send;
    /// One job.
    type Job;
    /// The result of a job.
    type Made: Send;
    /// The state of one thread.
    type State<'a>: Default
    where
        Self: 'a;

    /// The next job; `None` at the end. `stop` is set as soon as no more results are wanted.
    fn next(&self, source: &mut Self::Source, stop: &Stop) -> Option<Self::Job>;

    /// True if there may be another job. Otherwise no other thread is started.
    fn may_go_on(&self, source: &Self::Source) -> bool;

    /// Makes the result of a job.
    fn make<'a>(&'a self, turn: Turn, state: &mut Self::State<'a>, job: Self::Job) -> Self::Made;
}

/// The limits of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most threads, at least one.
    pub threads: usize,
    /// The most jobs that are at work or wait for the caller, at least one. The caller may use one more.
    pub jobs: usize,
    /// Set for a slow start, which is for a caller who may stop soon: the number of first jobs that are
    /// short.
    ///
    /// At first there is only one job at a time: at work, waiting for the caller, or in use by the caller.
    /// Each job that the caller has used after the short ones allows one more job ahead, up to `jobs`. If
    /// each short job is twice as long as the one before, the work ahead is about as large as the work
    /// already used, and not larger:
    ///
    /// ```text
    /// used, bytes     0    64 K  192 K  448 K  960 K   2 M    3 M   ...
    /// jobs ahead    64 K  128 K  256 K  512 K    1 M  2 × 1 M  3 × 1 M
    /// ```
    pub slow_start: Option<u64>,
}

impl Limits {
    /// This number of threads, and two jobs for each.
    #[must_use]
    pub fn of(threads: usize) -> Self {
        Self { threads, jobs: 2 * threads.max(1), slow_start: None }
    }
}

struct Shared<W: Work> {
    work: W,
    limits: Limits,
    /// The source, and the number of the next job.
    source: Mutex<(W::Source, u64)>,
    order: Mutex<Order<W::Made>>,
    /// Signals the caller that `order` has changed.
    ready: Condvar,
    /// Signals waiting threads that `order` has changed.
    room: Condvar,
    /// Set if no more results are wanted.
    stop: Arc<Stop>,
}

struct Order<M> {
    /// The results from `next` on, as far as any has been made; `None` for those still at work.
    made: VecDeque<Option<M>>,
    /// The number of the result that the caller gets next.
    next: u64,
    /// The number of jobs that are at work or wait for the caller. A thread that looks for a job counts as
    /// one.
    out: usize,
    /// True if the caller uses a result.
    held: bool,
    /// The number of all jobs, once it is known.
    end: Option<u64>,
    /// The number of threads that wait.
    waiting: usize,
    /// True if the caller waits.
    called: bool,
    /// The task of a caller that polls, and has found no result.
    waker: Option<Waker>,
    died: bool,
}

impl<W: Work> Shared<W> {
    fn new(work: W, source: W::Source, limits: Limits, interrupt: Interrupt) -> Self {
        Self {
            work,
            limits: Limits { threads: limits.threads.max(1), jobs: limits.jobs.max(1), ..limits },
            source: Mutex::new((source, 0)),
            order: Mutex::new(Order {
                made: VecDeque::new(),
                next: 0,
                out: 0,
                held: false,
                end: None,
                waiting: 0,
                called: false,
                waker: None,
                died: false,
            }),
            ready: Condvar::new(),
            room: Condvar::new(),
            stop: Arc::new(Stop::new(interrupt)),
        }
    }

    /// True if another job may be taken.
    fn has_room(&self, order: &Order<W::Made>) -> bool {
        let Limits { jobs, slow_start, .. } = self.limits;
        let Some(short) = slow_start else { return order.out < jobs };
        let held = order.held;
        let long = (order.next - u64::from(held)).saturating_sub(short);
        order.out + usize::from(held) < jobs.min(1 + usize::try_from(long).unwrap_or(jobs))
    }

    /// The next job with its number, and true if another thread may find a job, too. Waits until there is
    /// room.
    fn take(&self) -> Option<(u64, W::Job, bool)> {
        let mut order = lock(&self.order);
        while !self.has_room(&order) && !self.stop.is_set() {
            order.waiting += 1;
            order = self.room.wait(order).unwrap_or_else(PoisonError::into_inner);
            order.waiting -= 1;
        }
        order.out += 1;
        let has_room = self.has_room(&order);
        drop(order);
        let mut source = lock(&self.source);
        let job = match self.stop.is_set() {
            true => None,
            false => self.work.next(&mut source.0, &self.stop),
        };
        let Some(job) = job else {
            let end = source.1;
            let mut order = lock(&self.order);
            order.out -= 1;
            order.end = Some(end);
            let waker = order.waker.take();
            drop(order);
            self.ready.notify_all();
            waker.into_iter().for_each(Waker::wake);
            return None;
        };
        source.1 += 1;
        Some((source.1 - 1, job, has_room && self.work.may_go_on(&source.0)))
    }

    fn put(&self, number: u64, made: W::Made) {
        let mut order = lock(&self.order);
        let at = (number - order.next) as usize;
        if order.made.len() <= at {
            order.made.resize_with(at + 1, || None);
        }
        order.made[at] = Some(made);
        if at != 0 {
            return;
        }
        // A notification is a system call, even if nobody waits.
        if order.called {
            self.ready.notify_all();
        }
        let waker = order.waker.take();
        drop(order);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Wakes threads that wait, after the caller made room.
    fn wake(&self, order: &Order<W::Made>) {
        match order.waiting {
            0 => {}
            // In a slow start, there may be room for more than one job.
            2.. if self.limits.slow_start.is_some() => self.room.notify_all(),
            _ => self.room.notify_one(),
        }
    }

    /// The loop of a thread. Calls `further` with each job, and with true if another thread may find one.
    fn run(&self, thread: usize, mut further: impl FnMut(bool)) {
        let _alive = Alive(self);
        let _working = Working::until(&self.stop);
        let mut state = W::State::default();
        while let Some((number, job, more)) = self.take() {
            further(more);
            let made = self.work.make(Turn { thread, number }, &mut state, job);
            self.put(number, made);
        }
    }

    /// The next result in order, if it is there, or `None` at the end. An interrupt comes before results.
    fn try_next(&self, order: &mut Order<W::Made>) -> Poll<Option<Result<W::Made, Error>>> {
        if let Some(reason) = self.stop.interrupt().reason() {
            return Poll::Ready(Some(Err(reason)));
        }
        if let Some(made) = order.made.pop_front_if(|first| first.is_some()).flatten() {
            order.next += 1;
            order.out -= 1;
            order.held = true;
            if self.limits.slow_start.is_none() {
                self.wake(order);
            }
            return Poll::Ready(Some(Ok(made)));
        }
        if order.died {
            let died = Error::Internal("a worker thread ended before its work did".into());
            return Poll::Ready(Some(Err(died)));
        }
        if order.end == Some(order.next) {
            return Poll::Ready(None);
        }
        Poll::Pending
    }

    /// Notes that the caller does not use its last result any more.
    fn release(&self, order: &mut Order<W::Made>) {
        if std::mem::take(&mut order.held) && self.limits.slow_start.is_some() {
            self.wake(order);
        }
    }

    /// The next result in order; `None` at the end. Waits for it, but not beyond the deadline.
    fn next(&self) -> Option<Result<W::Made, Error>> {
        let mut order = lock(&self.order);
        self.release(&mut order);
        loop {
            if let Poll::Ready(next) = self.try_next(&mut order) {
                return next;
            }
            order.called = true;
            order = match self.stop.interrupt().deadline() {
                None => self.ready.wait(order).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    self.ready.wait_timeout(order, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            order.called = false;
        }
    }

    /// The next result in order, if it is there. Otherwise the task of `context` is woken later: when the
    /// result is there, at the end, and at an interrupt.
    fn poll(&self, context: &Context<'_>) -> Poll<Option<Result<W::Made, Error>>> {
        let mut order = lock(&self.order);
        self.release(&mut order);
        let next = self.try_next(&mut order);
        order.waker = next.is_pending().then(|| context.waker().clone());
        next
    }

    fn stop(&self) {
        // The lock is held, so that no thread checks `stop` before the store and starts to wait after the
        // notification.
        let _order = lock(&self.order);
        self.stop.set();
        self.room.notify_all();
    }

    /// Wakes all threads and the caller, so that they look at the interrupt.
    fn wake_all(&self) {
        let waker = {
            let mut order = lock(&self.order);
            self.room.notify_all();
            self.ready.notify_all();
            order.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Notifies the caller when a thread panics.
struct Alive<'a, W: Work>(&'a Shared<W>);

impl<W: Work> Drop for Alive<'_, W> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.order).died = true;
            self.0.wake_all();
        }
    }
}

/// The name of a thread.
fn named(thread: usize) -> thread::Builder {
    thread::Builder::new().name(format!("warpath {thread}"))
}

/// Calls `make` for each item of a source, in several threads, and `take` for each result, in order. Each
/// thread has a state. Stops at the first error of `take`, and waits for all threads. If some threads cannot
/// be started, the others do their work.
///
/// # Errors
/// The first error of `take`. [`Error::Thread`] if no thread can be started.
pub fn each<S: Iterator + Send, T: Default, M: Send>(
    limits: Limits,
    source: S,
    make: impl Fn(&mut T, S::Item) -> M + Sync,
    mut take: impl FnMut(M) -> Result<(), Error>,
) -> Result<(), Error> {
    let each = Each { make, types: PhantomData };
    let shared = Shared::new(each, source, limits, Interrupt::default());
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for number in 0..shared.limits.threads {
            let shared = &shared;
            match named(number).spawn_scoped(scope, move || shared.run(number, |_| ())) {
                Ok(thread) => threads.push(thread),
                Err(error) if number == 0 => return Err(Error::Thread(error)),
                Err(_) => break,
            }
        }
        let mut taken = Ok(());
        while taken.is_ok()
            && let Some(made) = shared.next()
        {
            taken = made.and_then(&mut take);
        }
        shared.stop();
        for thread in threads {
            // The caller was already notified of a panic.
            let _ = thread.join();
        }
        taken
    })
}

/// Makes a value from each item of a source, on all cores. The results have the order of the source.
///
/// # Errors
/// The first error, in the order of the source. [`Error::Thread`] if no thread can be started.
pub fn collect<T, R: Send>(
    source: impl Iterator<Item = Result<T, Error>> + Send,
    make: impl Fn(T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let mut all = Vec::new();
    each(
        Limits::of(cores()),
        source,
        |(): &mut (), item: Result<T, Error>| item.and_then(&make),
        |made| {
            all.push(made?);
            Ok(())
        },
    )?;
    Ok(all)
}

/// The work of [`each`].
struct Each<F, S, T, M> {
    make: F,
    types: PhantomData<fn(S, T) -> M>,
}

impl<S: Iterator + Send, T: Default, M: Send, F: Fn(&mut T, S::Item) -> M + Sync> Work for Each<F, S, T, M> {
    type Source = S;
    type Job = S::Item;
    type Made = M;
    type State<'a>
        = T
    where
        Self: 'a;

    fn next(&self, source: &mut S, _: &Stop) -> Option<S::Item> {
        source.next()
    }

    fn may_go_on(&self, _: &S) -> bool {
        true
    }

    fn make(&self, _: Turn, state: &mut T, item: S::Item) -> M {
        (self.make)(state, item)
    }
}

/// The results of some work, which goes on in threads of its own. A thread is started when the thread before
/// it has found a job, and more jobs may follow.
pub struct Stream<W: Work>(Arc<Owned<W>>);

struct Owned<W: Work> {
    shared: Shared<W>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl<W: Work + Send + 'static> Stream<W> {
    /// Starts the first thread. An interrupt ends the work with its error.
    ///
    /// # Errors
    /// [`Error::Thread`] if it cannot be started. If a later thread cannot be started, the others do its
    /// work.
    pub fn start(work: W, source: W::Source, limits: Limits, interrupt: Interrupt) -> Result<Self, Error> {
        let shared = Shared::new(work, source, limits, interrupt);
        let owned = Arc::new(Owned { shared, threads: Mutex::default() });
        let weak = Arc::downgrade(&owned);
        let waiting: Weak<dyn Wakes> = weak;
        owned.shared.stop.interrupt().wakes(&waiting);
        spawn(&owned, 0).map_err(Error::Thread)?;
        Ok(Self(owned))
    }
}

impl<W: Work + Send + 'static> Wakes for Owned<W> {
    fn wake(&self) {
        self.shared.wake_all();
    }
}

fn spawn<W: Work + Send + 'static>(owned: &Arc<Owned<W>>, number: usize) -> io::Result<()> {
    let its = owned.clone();
    let thread = named(number).spawn(move || {
        let mut may_start = number + 1 < its.shared.limits.threads;
        its.shared.run(number, |more| {
            if more && may_start {
                may_start = false;
                // If the thread cannot be started, the others do its work.
                let _ = spawn(&its, number + 1);
            }
        });
    })?;
    lock(&owned.threads).push(thread);
    Ok(())
}

impl<W: Work> Stream<W> {
    /// The next result in order; `None` at the end. Waits for it.
    ///
    /// # Errors
    /// [`Error::Internal`] if a thread panicked; [`Error::Cancelled`] and [`Error::DeadlineExceeded`].
    pub fn next(&self) -> Option<Result<W::Made, Error>> {
        self.0.shared.next()
    }

    /// The next result in order, as in [`next`](Self::next), for a caller that must not wait. If the result
    /// is not there, the task of `context` is woken when it is. A deadline wakes it only with the worker that
    /// notices the deadline.
    ///
    /// # Errors
    /// The errors of [`next`](Self::next).
    pub fn poll(&self, context: &Context<'_>) -> Poll<Option<Result<W::Made, Error>>> {
        self.0.shared.poll(context)
    }

    /// True if [`next`](Self::next) would not wait, and `is_any` is true for the result that it would return.
    pub fn is_ready(&self, is_any: impl Fn(&W::Made) -> bool) -> bool {
        let order = lock(&self.0.shared.order);
        order.died
            || order.end == Some(order.next)
            || self.0.shared.stop.interrupt().reason().is_some()
            || order.made.front().and_then(Option::as_ref).is_some_and(is_any)
    }

    /// Makes the threads end after their current jobs.
    pub fn stop(&self) {
        self.0.shared.stop();
    }

    /// The work of the threads.
    pub fn work(&self) -> &W {
        &self.0.shared.work
    }

    /// The number of threads that have been started.
    pub fn started(&self) -> usize {
        lock(&self.0.threads).len()
    }
}

impl<W: Work> Drop for Stream<W> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Squares of the numbers below 1000, up to the first that fails.
    fn squares(threads: usize, jobs: usize, fails: Option<u64>) -> (Vec<u64>, Result<(), Error>) {
        let (mut taken, limits) = (Vec::new(), Limits { threads, jobs, slow_start: None });
        let square =
            |(): &mut (), i| if fails == Some(i) { Err(Error::Usage(i.to_string())) } else { Ok(i * i) };
        let ended = each(limits, 0..1000, square, |made: Result<u64, Error>| made.map(|one| taken.push(one)));
        (taken, ended)
    }

    #[test]
    fn results_have_the_order_of_the_source() {
        for (threads, jobs) in [(1, 1), (1, 3), (7, 1), (7, 20)] {
            let (taken, ended) = squares(threads, jobs, None);
            assert!(ended.is_ok() && taken == (0..1000).map(|i| i * i).collect::<Vec<_>>());
            let (taken, ended) = squares(threads, jobs, Some(500));
            assert!(matches!(ended, Err(Error::Usage(what)) if what == "500"));
            assert_eq!(taken.len(), 500);
        }
    }

    #[test]
    fn a_panic_is_an_error() {
        let limits = Limits { threads: 3, jobs: 4, slow_start: None };
        let ended = each(limits, 0..9, |(): &mut (), i| assert_ne!(i, 5), |()| Ok(()));
        assert!(matches!(ended, Err(Error::Internal(_))));
    }
}
