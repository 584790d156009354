//! Records as typed columns, a batch at a time.

use std::vec;

use super::{Answers, Plan, Stats};
use warpath_backend::columns::ColumnBatch;
use warpath_core::error::Error;

/// The records of inputs as typed columns, in order. See [`Input::columns`](crate::operators::Input::columns).
///
/// A batch has at least one row, and at most those of a partition: [`EngineBuilder::partition_size`](crate::engine::EngineBuilder::partition_size)
/// decides how many those are. Workers make batches in threads of their own, as for [`Answers`].
pub struct Columns {
    answers: Answers,
    /// Of the partition at work.
    batches: vec::IntoIter<ColumnBatch>,
}

impl Columns {
    pub(crate) fn new(answers: Answers) -> Self {
        Self { answers, batches: Vec::new().into_iter() }
    }

    /// What has been done of the partitions seen so far; complete when the iterator has ended.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.answers.stats()
    }

    /// What answers, and why.
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
