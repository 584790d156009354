//! Typed columns of inputs as Arrow's record batches.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use warpath_backend::columns::Schema;

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

    /// The underlying iterator, for its statistics and its plan.
    #[must_use]
    pub fn columns(&self) -> &Columns<'a> {
        &self.columns
    }
}

impl Iterator for RecordBatches<'_> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(match self.columns.next()? {
            Ok(batch) => batch.into_arrow(&self.schema),
            Err(error) => Err(ArrowError::ExternalError(Box::new(error))),
        })
    }
}

impl RecordBatchReader for RecordBatches<'_> {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
