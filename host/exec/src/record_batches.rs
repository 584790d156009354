//! Typed columns of inputs as Arrow's record batches.

#[cfg(feature = "async")]
use std::task::{Context, Poll};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use warpath_backend::columns::{ColumnBatch, Schema};
use warpath_core::error::Error;

use crate::channel::Channel;
use crate::stream::Columns;

/// Typed columns of inputs as Arrow's record batches, in order, all of one schema. See
/// [`Input::record_batches`](crate::operators::Input::record_batches).
///
/// An [`Error`](warpath_core::error::Error) comes as [`ArrowError::ExternalError`]; `downcast` returns the
/// original.
pub struct RecordBatches<'a> {
    columns: Columns<'a>,
    schema: SchemaRef,
}

impl<'a> RecordBatches<'a> {
    pub(crate) fn new(columns: Columns<'a>, schema: &Schema) -> Self {
        Self { columns, schema: schema.to_arrow() }
    }

    /// The batches in a bounded channel, as with
    /// [`Ordered::into_channel`](crate::stream::Ordered::into_channel).
    ///
    /// # Errors
    /// [`Error::Thread`](warpath_core::error::Error::Thread) if no thread can be started.
    pub fn into_channel(self, capacity: usize) -> Result<Channel<Result<RecordBatch, ArrowError>>, Error>
    where
        'a: 'static,
    {
        let token = self.columns.canceller();
        Channel::new(self, capacity, token)
    }

    fn converted(&self, next: Result<ColumnBatch, Error>) -> Result<RecordBatch, ArrowError> {
        match next {
            Ok(batch) => batch.into_arrow(&self.schema),
            Err(error) => Err(ArrowError::ExternalError(Box::new(error))),
        }
    }

    /// The next batch, if it is there. Otherwise the task of `context` is woken later.
    #[cfg(feature = "async")]
    pub(crate) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<RecordBatch, ArrowError>>> {
        self.columns.poll(context).map(|next| next.map(|next| self.converted(next)))
    }

    /// The underlying iterator, for its statistics and its plan.
    #[must_use]
    pub fn columns(&self) -> &Columns<'a> {
        &self.columns
    }
}

impl Iterator for RecordBatches<'_> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.columns.next()?;
        Some(self.converted(next))
    }
}

impl RecordBatchReader for RecordBatches<'_> {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
