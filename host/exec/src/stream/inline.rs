//! Inputs that are evaluated while the caller waits for results.
//!
//! * *Borrowed bytes.* Threads of a stream may outlive their iterator, if that is leaked. They can therefore
//!   not read borrowed bytes. Here no thread reads them after the call that began to: one partition is
//!   evaluated in the caller's thread, and more than one by all threads of the pool, which the call waits
//!   for.
//! * *Inputs of one partition.* To start a thread would take longer than their evaluation.
//! * *Parts of an input whose caller has a thread for each part*
//!   ([`in_caller`](crate::engine::EngineBuilder::in_caller)). They are read here, too. Threads between would
//!   cost more than they save: over 480 MB a count of each string took 259 + 119 ms of processor time (user
//!   and system) with a worker for each of two callers, and 187 + 106 ms without (AMD EPYC, two cores,
//!   2026-11-27).

use std::collections::VecDeque;
use std::sync::Arc;

use warpath_core::cancel::{Interrupt, Stop, Working};
use warpath_core::error::Error;
use warpath_core::pool;
use warpath_core::pool::stream::{Turn, Work as _};

use super::jobs::{Framing, GROWTH, Jobs, Origin};
use super::task::Task;
use super::workers::{Done, Evaluated, Run};
use crate::engine::Chosen;
use crate::input::{Cut, Held, HeldLines, Text, whole};

/// The most partitions that are evaluated in one call, for each thread.
const AHEAD: usize = 4;

/// An evaluation in the thread of the caller.
pub(super) struct Inline<'a, K: Task> {
    work: Run<K>,
    origin: Origin,
    feed: Feed<'a>,
    interrupt: Interrupt,
    /// Bytes of the next partition, and the limit of its growth.
    size: usize,
    most: usize,
    threads: usize,
    /// The most partitions that the next call evaluates.
    ahead: usize,
    /// The number of the next partition.
    number: u64,
    /// Results of the last call that have not been taken.
    made: VecDeque<Done<'a, K::Output>>,
    /// The most threads that a call has used.
    used: usize,
}

enum Feed<'a> {
    Lines(HeldLines<'a>),
    Document(Text<'a>, Framing),
    /// Inputs that are read in the caller's thread.
    Jobs(Box<Jobs>, Arc<Stop>),
    Ended,
}

impl<'a, K: Task> Inline<'a, K> {
    /// The lines of some bytes.
    pub fn lines(task: K, held: Held<'a>, chosen: &Chosen) -> Self {
        let feed = Feed::Lines(HeldLines::new(held.name.clone(), held.bytes));
        Self::new(task, held.name, feed, chosen)
    }

    /// Some bytes as one document. Bytes without any text are no document, unless `with_empty` is set.
    pub fn document(task: K, held: Held<'a>, framing: Framing, with_empty: bool, chosen: &Chosen) -> Self {
        let text = whole(&held.bytes);
        let feed = if text.len() > 0 || with_empty { Feed::Document(text, framing) } else { Feed::Ended };
        Self::new(task, held.name, feed, chosen)
    }

    /// Inputs that are read in the caller's thread.
    pub fn jobs(task: K, jobs: Jobs, chosen: &Chosen) -> Self {
        let jobs = if task.starts_slowly() { jobs.growing() } else { jobs };
        let feed = Feed::Jobs(Box::new(jobs), Arc::new(Stop::new(chosen.interrupt.clone())));
        Self::new(task, Arc::default(), feed, chosen)
    }

    /// `name` is that of the input, unless the feed has names.
    fn new(task: K, name: Arc<str>, feed: Feed<'a>, chosen: &Chosen) -> Self {
        let Chosen { partition_size: size, workers: threads, .. } = *chosen;
        let first = if task.starts_slowly() { (size / GROWTH).max(1) } else { size };
        Self {
            work: Run::new(task, chosen.span.clone()),
            origin: Origin { name, input: 1, returns: false },
            feed,
            interrupt: chosen.interrupt.clone(),
            size: first,
            most: size,
            threads,
            ahead: 1,
            number: 0,
            made: VecDeque::new(),
            used: 0,
        }
    }

    /// The work and its totals.
    pub fn work(&self) -> &Run<K> {
        &self.work
    }

    /// The number of threads that have been used.
    pub fn used(&self) -> usize {
        self.used
    }

    /// True if a result is there.
    pub fn is_ready(&self) -> bool {
        !self.made.is_empty() || matches!(self.feed, Feed::Ended)
    }

    /// Makes the next results the last ones.
    pub fn stop(&mut self) {
        self.feed = Feed::Ended;
        self.made.clear();
    }

    /// The result of the next partition; `None` at the end.
    pub fn next(&mut self) -> Option<Done<'a, K::Output>> {
        if self.made.is_empty() {
            match &self.feed {
                Feed::Jobs(..) => self.read_and_make(),
                Feed::Lines(_) | Feed::Document(..) => self.make(),
                Feed::Ended => {}
            }
        }
        self.made.pop_front()
    }

    /// Reads the next parts, and evaluates them. The state of a thread serves all of them.
    fn read_and_make(&mut self) {
        let Feed::Jobs(jobs, stop) = &mut self.feed else { return };
        let _working = Working::until(stop);
        self.used = 1;
        let mut worker = None;
        while self.made.len() < self.ahead {
            let Some(job) = self.work.next(jobs, stop) else {
                self.feed = Feed::Ended;
                // An interrupt ends the jobs, too, and the results are then no whole.
                if let Err(error) = self.interrupt.check() {
                    let evaluated = Evaluated { error: Some(error), ..Evaluated::default() };
                    self.made.push_back(Done { evaluated, origin: self.origin.clone() });
                }
                break;
            };
            let turn = Turn { thread: 0, number: self.number };
            self.made.push_back(self.work.make(turn, &mut worker, job));
            self.number += 1;
        }
        self.ahead = (2 * self.ahead).min(AHEAD);
    }

    /// Evaluates the next partitions of bytes in memory.
    fn make(&mut self) {
        let mut parts = Vec::new();
        while parts.len() < self.ahead
            && let Some(part) = self.part()
        {
            parts.push((self.number, part));
            self.number += 1;
        }
        self.ahead = (2 * self.ahead).min(AHEAD * self.threads);
        let threads = self.threads.min(parts.len());
        self.used = self.used.max(threads);
        let (work, interrupt, origin) = (&self.work, &self.interrupt, &self.origin);
        let stop = Arc::new(Stop::new(interrupt.clone()));
        let make_all = |thread: usize, parts: Vec<(u64, Result<Text<'a>, Error>)>| {
            let _working = Working::until(&stop);
            let mut worker = None;
            let make = |(number, part)| {
                let part = interrupt.check().and(part);
                make(work, Turn { thread, number }, &mut worker, part, origin)
            };
            parts.into_iter().map(make).collect::<Vec<_>>()
        };
        let made = if threads < 2 {
            make_all(0, parts)
        } else {
            let (len, mut chunks) = (parts.len().div_ceil(threads), Vec::with_capacity(threads));
            let mut parts = parts.into_iter().peekable();
            while parts.peek().is_some() {
                chunks.push((chunks.len(), parts.by_ref().take(len).collect::<Vec<_>>()));
            }
            pool::map_in(threads, chunks, |(thread, chunk)| make_all(thread, chunk))
                .into_iter()
                .flatten()
                .collect()
        };
        self.made = made.into();
    }

    /// The next partition, or an error, which is the last.
    fn part(&mut self) -> Option<Result<Text<'a>, Error>> {
        match &mut self.feed {
            Feed::Lines(lines) => {
                let part = lines.next(self.size).transpose();
                self.size = (2 * self.size).min(self.most);
                if !matches!(part, Some(Ok(_))) {
                    self.feed = Feed::Ended;
                }
                part
            }
            Feed::Document(..) => match std::mem::replace(&mut self.feed, Feed::Ended) {
                Feed::Document(text, framing) => Some(framing.of(text, self.work.task.buffers())),
                Feed::Lines(_) | Feed::Jobs(..) | Feed::Ended => None,
            },
            Feed::Jobs(..) | Feed::Ended => None,
        }
    }
}

/// Evaluates a partition, or hands its error on.
fn make<'a, 'w, K: Task>(
    work: &'w Run<K>,
    turn: Turn,
    worker: &mut Option<K::Worker<'w>>,
    part: Result<Text<'a>, Error>,
    origin: &Origin,
) -> Done<'a, K::Output> {
    let evaluated = match part {
        Ok(text) => work.evaluate_cut(turn, worker, Cut::of(Ok(text)), false),
        Err(error) => Evaluated { error: Some(error), ..Evaluated::default() },
    };
    Done { evaluated, origin: origin.clone() }
}
