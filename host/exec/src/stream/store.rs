//! Partitions that are indexed already, in memory or in a file.

use std::sync::Arc;
use std::time::Duration;

use warpath_answer::answer::{Answer, Want};
use warpath_core::error::Error;
use warpath_lang::program::Program;

use super::jobs::Origin;
use crate::input::{PlainFile, Text};

/// Partitions that are indexed already.
pub trait Store: Send + Sync {
    /// The input that a partition belongs to; `None` after the last partition.
    fn origin(&self, number: usize) -> Option<Origin>;

    /// Evaluates a program over a partition. The program reads at most the levels that the index has.
    fn answer(&self, number: usize, program: &Program, want: Want) -> Result<Stored, Error>;
}

/// A result over a partition that was already indexed.
pub struct Stored<A = Answer> {
    pub text: Text<'static>,
    pub answer: A,
    /// Time spent reading.
    pub reading: Duration,
    /// Time spent in the backend.
    pub answering: Duration,
}

/// Lines of a file that are after those of a store.
pub struct Rest {
    pub file: Arc<PlainFile>,
    pub name: Arc<str>,
    /// The offset at which they begin.
    pub from: u64,
}
