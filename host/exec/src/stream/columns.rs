//! Records as typed columns, one batch at a time.

use std::vec;

use warpath_backend::columns::ColumnBatch;
use warpath_core::error::Error;

use super::{Answers, Plan, Stats};

/// The records of inputs as typed columns, in order. See
/// [`Input::columns`](crate::operators::Input::columns).
///
/// A batch has at least one row, and at most as many as a partition has; see
/// [`EngineBuilder::partition_size`](crate::engine::EngineBuilder::partition_size). Workers make batches in
/// their own threads, as for [`Answers`].
pub struct Columns {
    answers: Answers,
    /// The batches of the current partition.
    batches: vec::IntoIter<ColumnBatch>,
}

impl Columns {
    pub(crate) fn new(answers: Answers) -> Self {
        Self { answers, batches: Vec::new().into_iter() }
    }

    /// Statistics of the partitions seen so far; complete when the iterator has ended.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.answers.stats()
    }

    /// The backend and its settings, and the reason for the choice.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.answers.plan()
    }
}

impl Iterator for Columns {
    type Item = Result<ColumnBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.batches.find(|batch| batch.rows > 0) {
                return Some(Ok(batch));
            }
            match self.answers.next()? {
                Ok(mut batch) => self.batches = batch.take_columns().into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
