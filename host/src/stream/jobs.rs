//! Which part of which input comes next.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warpath_shared::units::MAX_PARTITION_BYTES;

use super::Store;
use crate::error::Error;
use crate::input::{Buffers, Cut, Opened, PlainFile, Source, Text};

/// Which input something is of.
#[derive(Clone, Default)]
pub(crate) struct Origin {
    /// Its name.
    pub name: Arc<str>,
    /// Its number, from 1 on.
    pub input: usize,
}

/// A part of an input.
pub(super) enum Job {
    /// To be read: so many bytes from there on.
    Part { file: Arc<PlainFile>, begin: u64, size: usize },
    /// Read already: of an input that is read in order.
    Text(Text),
}

impl Job {
    /// Its lines.
    pub fn read(self, buffers: &Arc<Buffers>) -> Cut {
        match self {
            Self::Part { file, begin, size } => file.read(begin, size, MAX_PARTITION_BYTES, buffers),
            Self::Text(text) => Cut { texts: vec![text], error: None },
        }
    }
}

/// What is to be answered next.
pub(super) enum Next {
    /// To be read, indexed and answered.
    Job(Job),
    /// Indexed already: a partition of a store, by its number.
    Stored(Arc<dyn Store>, usize),
}

/// Where partitions to answer come from.
pub(super) enum Feed {
    /// Inputs.
    Jobs(Box<Jobs>),
    /// A store, from this partition on.
    Store(Arc<dyn Store>, usize),
}

impl Feed {
    /// As for [`Jobs::next`].
    pub fn next(
        &mut self,
        buffers: &Arc<Buffers>,
        stop: &AtomicBool,
    ) -> Option<(Origin, Result<Next, Error>)> {
        match self {
            Self::Jobs(jobs) => {
                let (origin, job) = jobs.next(buffers, stop)?;
                Some((origin, job.map(Next::Job)))
            }
            Self::Store(store, next) => {
                let origin = store.origin(*next).filter(|_| !stop.load(Ordering::Relaxed))?;
                *next += 1;
                Some((origin, Ok(Next::Stored(store.clone(), *next - 1))))
            }
        }
    }

    /// As for [`Jobs::growing`]. The partitions of a store are as they are.
    pub fn growing(self) -> Self {
        match self {
            Self::Jobs(jobs) => Self::Jobs(Box::new(jobs.growing())),
            store @ Self::Store(..) => store,
        }
    }

    /// As for [`Jobs::may_go_on`].
    pub fn may_go_on(&self) -> bool {
        match self {
            Self::Jobs(jobs) => jobs.may_go_on(),
            Self::Store(store, next) => store.origin(*next).is_some(),
        }
    }
}
/// How many times shorter the first part is where parts grow, a power of two: 64 KiB where they become 1 MiB, which are read
/// and answered while a thread starts.
pub(super) const GROWTH: usize = 16;

/// Goes through inputs, one after the other. Each is opened when its turn comes.
pub(super) struct Jobs {
    sources: std::vec::IntoIter<Source>,
    open: Option<Parts>,
    origin: Origin,
    /// Bytes of the next part, and how many they may become.
    size: usize,
    most: usize,
    failed: bool,
}

enum Parts {
    Plain { file: Arc<PlainFile>, next: u64 },
    Sequence(crate::input::Sequence),
}

impl Jobs {
    /// Parts of about `size` bytes.
    pub fn new(sources: Vec<Source>, size: usize) -> Self {
        let sources = sources.into_iter();
        Self { sources, open: None, origin: Origin::default(), size, most: size, failed: false }
    }

    /// The first part is [`GROWTH`] times shorter than the others, and each is twice as long as the one before until they are as
    /// long as those.
    pub fn growing(self) -> Self {
        Self { size: (self.most / GROWTH).max(1), ..self }
    }

    /// The next part, or why there is none; `None` at the end, behind an error, and once `stop` is set.
    ///
    /// What is no plain file is read here, so that one reads while others answer.
    pub fn next(
        &mut self,
        buffers: &Arc<Buffers>,
        stop: &AtomicBool,
    ) -> Option<(Origin, Result<Job, Error>)> {
        // A sequence that was stopped looks as if it had ended: nothing behind it is to be opened.
        while !self.failed && !stop.load(Ordering::Relaxed) {
            let next = match &mut self.open {
                None => {
                    let source = self.sources.next()?;
                    self.origin = Origin { name: source.name().into(), input: self.origin.input + 1 };
                    match source.open() {
                        Ok(Opened::Plain(file)) => {
                            self.open = Some(Parts::Plain { file: Arc::new(file), next: 0 });
                            continue;
                        }
                        Ok(Opened::Sequence(sequence)) => {
                            self.open = Some(Parts::Sequence(sequence));
                            continue;
                        }
                        Err(error) => Err(error.into()),
                    }
                }
                Some(Parts::Plain { file, next }) if *next < file.len() => {
                    let (begin, size) = (*next, self.size);
                    *next += size as u64;
                    Ok(Some(Job::Part { file: file.clone(), begin, size }))
                }
                Some(Parts::Plain { .. }) => Ok(None),
                Some(Parts::Sequence(sequence)) => {
                    sequence.next(self.size, buffers, stop).map(|text| text.map(Job::Text))
                }
            };
            let job = match next {
                Ok(None) => {
                    self.open = None;
                    continue;
                }
                Ok(Some(job)) => {
                    self.size = (2 * self.size).min(self.most);
                    Ok(job)
                }
                Err(error) => {
                    self.failed = true;
                    Err(error)
                }
            };
            return Some((self.origin.clone(), job));
        }
        None
    }

    /// Whether there may be another part.
    pub fn may_go_on(&self) -> bool {
        let open = match &self.open {
            Some(Parts::Plain { file, next }) => *next < file.len(),
            Some(Parts::Sequence(_)) => true,
            None => false,
        };
        !self.failed && (open || self.sources.len() > 0)
    }
}
