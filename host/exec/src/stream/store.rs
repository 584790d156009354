//! Partitions that are indexed already, whoever keeps them.

use std::time::Duration;

use warpath_backend::answer::{Answer, Want};
use warpath_core::error::Error;
use warpath_lang::program::Program;

use super::jobs::Origin;
use crate::input::Text;

/// Partitions that are indexed already.
pub(crate) trait Store: Send + Sync {
    /// Which input a partition is of; `None` behind the last.
    fn origin(&self, number: usize) -> Option<Origin>;

    /// Answers a program over a partition. It reads no more levels than there are.
    fn answer(&self, number: usize, program: &Program, want: Want) -> Result<Stored, Error>;
}

/// An answer over a partition that was indexed.
pub(crate) struct Stored<A = Answer> {
    pub text: Text,
    pub answer: A,
    /// Time spent reading.
    pub reading: Duration,
    /// Time spent in the backend.
    pub answering: Duration,
}
