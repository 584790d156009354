//! Values made from each partition of inputs, by several threads, and taken in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use warpath_core::error::Error;

use super::LineCounter;
use super::jobs::{Jobs, Origin};
use crate::engine::Chosen;
use crate::input::{Buffers, Source, Text};

/// Makes a value from a partition. The first argument is the partition's number; numbers grow, with gaps.
pub(crate) type Make<'a, T> = &'a (dyn Fn(usize, &Origin, &Text) -> Result<T, Error> + Sync);
/// Takes the values in order. Returns the number of lines of each.
pub(crate) type Take<'a, T> = &'a mut (dyn FnMut(T) -> Result<u64, Error> + Send);

/// The values made from a part, and the error that ended it.
struct Made<T> {
    all: Vec<T>,
    error: Option<Error>,
    origin: Origin,
}

struct Order<'a, T> {
    made: BTreeMap<usize, Made<T>>,
    /// The number of the part that is taken next.
    next: usize,
    take: Take<'a, T>,
    lines: LineCounter,
    failed: Option<Error>,
}

impl<T> Order<'_, T> {
    /// Stores what was made, and takes all parts whose turn has come.
    fn put(&mut self, number: usize, made: Made<T>) {
        self.made.insert(number, made);
        while let Some(Made { all, error, origin }) = self.made.remove(&self.next) {
            self.next += 1;
            if self.failed.is_some() {
                continue;
            }
            self.lines.of(&origin);
            for one in all {
                match (self.take)(one) {
                    Ok(lines) => self.lines.line += lines,
                    Err(error) => {
                        self.failed = Some(error);
                        return;
                    }
                }
            }
            self.failed = error.map(|error| self.lines.locate(&origin, error));
        }
    }
}

/// Reads all inputs and makes a value from each partition, in as many threads as were chosen. The values are
/// taken in order. Ends at the first error, in the inputs' order.
pub(crate) fn each_part<T: Send>(
    sources: Vec<Source>,
    chosen: &Chosen,
    make: Make<'_, T>,
    take: Take<'_, T>,
) -> Result<(), Error> {
    // These buffers may have another size than the ones for streaming, and are of no use afterwards.
    let buffers = Buffers::new(chosen.backend.clone());
    let jobs = Mutex::new((Jobs::new(sources, chosen.partition_size), 0));
    let order = Mutex::new(Order {
        made: BTreeMap::new(),
        next: 0,
        take,
        lines: LineCounter::default(),
        failed: None,
    });
    let stop = AtomicBool::new(false);
    let work = || {
        loop {
            let (number, origin, job) = {
                let mut jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
                let Some((origin, job)) = jobs.0.next(&buffers, &stop) else { return };
                jobs.1 += 1;
                (jobs.1 - 1, origin, job)
            };
            let mut made = Made { all: Vec::new(), error: None, origin };
            match job {
                Err(error) => made.error = Some(error),
                Ok(job) => {
                    let cut = job.read(&buffers);
                    made.error = cut.error;
                    for text in cut.texts {
                        match make(number, &made.origin, &text) {
                            Ok(one) => made.all.push(one),
                            Err(error) => {
                                made.error = Some(error);
                                break;
                            }
                        }
                    }
                }
            }
            let mut order = order.lock().unwrap_or_else(PoisonError::into_inner);
            // Parts before this one are at work, and no part after it is needed.
            if made.error.is_some() {
                stop.store(true, Ordering::Relaxed);
            }
            order.put(number, made);
            if order.failed.is_some() {
                stop.store(true, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..chosen.workers {
            let spawned = thread::Builder::new().name("warpath index".into()).spawn_scoped(scope, work);
            if let Err(error) = spawned {
                stop.store(true, Ordering::Relaxed);
                return Err(Error::Internal(format!("no thread could be started: {error}")));
            }
        }
        work();
        Ok(())
    })?;
    let order = order.into_inner().unwrap_or_else(PoisonError::into_inner);
    order.failed.map_or(Ok(()), Err)
}
