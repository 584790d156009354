//! Columns of inputs as Arrow's record batches, with the values that the columns did not take.

use std::collections::VecDeque;
use std::sync::Arc;

#[cfg(feature = "async")]
use std::task::{Context, Poll};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use warpath_answer::columns::{Schema, Tally};
use warpath_answer::nested::NestedSchema;
use warpath_core::error::Error;

use crate::channel::Channel;
use crate::stream::{Answers, Batch};

/// Columns of inputs as Arrow's record batches, in order, all of one schema. See
/// [`Input::record_batches`](crate::operators::Input::record_batches) and
/// [`Input::nested_record_batches`](crate::operators::Input::nested_record_batches).
///
/// An [`Error`] comes as [`ArrowError::ExternalError`]; `downcast` returns the
/// original.
///
/// ```
/// use warpath::columns::{ColumnType, Schema};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let text = "{\"id\":1}\n{\"id\":\"two\"}\n{}\n";
/// let mut batches = Engine::builder().build()?.reader("text", text.as_bytes()).record_batches(&schema);
/// for batch in &mut batches {
///     assert_eq!(batch?.num_rows(), 3);
/// }
/// let losses = &batches.losses().columns[0];
/// assert_eq!((losses.missing.count, losses.mismatch.count), (1, 1));
/// assert_eq!(losses.mismatch.first, Some(("text".into(), 2)));
/// # Ok(())
/// # }
/// ```
pub struct RecordBatches<'a> {
    answers: Answers<'a>,
    schema: SchemaRef,
    columns: BatchSchema,
    /// The batches of the last partition that were not yielded yet.
    ready: VecDeque<RecordBatch>,
    losses: Tally,
}

/// The schema of the columns of a partition.
enum BatchSchema {
    Typed(Box<Schema>),
    Nested(Arc<NestedSchema>),
}

impl<'a> RecordBatches<'a> {
    /// Makes the batches of results that have the columns of a schema.
    pub(crate) fn typed(answers: Answers<'a>, schema: &Schema) -> Self {
        Self::new(answers, schema.to_arrow(), BatchSchema::Typed(Box::new(schema.clone())))
    }

    /// Makes the batches of results that are decoded to a schema.
    pub(crate) fn nested(answers: Answers<'a>, schema: Arc<NestedSchema>) -> Self {
        Self::new(answers, schema.schema().clone(), BatchSchema::Nested(schema))
    }

    fn new(answers: Answers<'a>, schema: SchemaRef, columns: BatchSchema) -> Self {
        let mut batches = Self { answers, schema, columns, ready: VecDeque::new(), losses: Tally::default() };
        batches.losses.columns.resize_with(batches.counted().len(), Default::default);
        batches
    }

    /// The batches in a bounded channel, as with
    /// [`Ordered::into_channel`](crate::stream::Ordered::into_channel).
    ///
    /// # Errors
    /// [`Error::Thread`] if no thread can be started.
    pub fn into_channel(self, capacity: usize) -> Result<Channel<Result<RecordBatch, ArrowError>>, Error>
    where
        'a: 'static,
    {
        let token = self.answers.canceller();
        Channel::new(self, capacity, token)
    }

    fn taken(&mut self, next: Result<Batch<'_>, Error>) -> Result<(), ArrowError> {
        match next {
            Ok(batch) => self.take(batch),
            Err(error) => Err(ArrowError::ExternalError(Box::new(error))),
        }
    }

    /// The next batch, if it is there. Otherwise the task of `context` is woken later.
    #[cfg(feature = "async")]
    pub(crate) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<RecordBatch, ArrowError>>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(batch)));
            }
            let Some(next) = std::task::ready!(self.answers.poll(context)) else { return Poll::Ready(None) };
            if let Err(error) = self.taken(next) {
                return Poll::Ready(Some(Err(error)));
            }
            if self.ready.is_empty() {
                // The partition may have been evaluated here. Other tasks have their turn.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    /// The underlying iterator, for its statistics and its plan.
    #[must_use]
    pub fn answers(&self) -> &Answers<'a> {
        &self.answers
    }

    /// The values that columns did not take, in the partitions so far; complete when the iterator has ended.
    /// [`counted`](Self::counted) has the names of its columns.
    #[must_use]
    pub fn losses(&self) -> &Tally {
        &self.losses
    }

    /// The name and the type of each column whose values [`losses`](Self::losses) counts. Nested columns are
    /// counted one by one, and have their paths as names.
    #[must_use]
    pub fn counted(&self) -> Vec<(String, String)> {
        match &self.columns {
            BatchSchema::Typed(schema) => {
                let columns = schema.program().columns().iter();
                columns.map(|column| (column.name.clone(), column.values.to_string())).collect()
            }
            BatchSchema::Nested(schema) => schema.typed_paths(),
        }
    }

    /// Takes the batches of a partition.
    fn take(&mut self, mut batch: Batch<'_>) -> Result<(), ArrowError> {
        match &self.columns {
            BatchSchema::Typed(_) => {
                let made = batch.take_columns();
                for ((first, piece), columns) in batch.pieces().zip(made) {
                    let place = |line| (batch.source().to_owned(), batch.line_at(piece, first, line, 0));
                    self.losses.add(&columns, &piece.records, place);
                    if columns.rows > 0 {
                        self.ready.push_back(columns.into_arrow(&self.schema)?);
                    }
                }
            }
            BatchSchema::Nested(_) => {
                let made = batch.take_nested();
                for ((first, piece), nested) in batch.pieces().zip(made) {
                    let mut before = 0;
                    for made in nested {
                        let place = |row: u64| {
                            let line = piece.records.get(before + row as usize).copied().unwrap_or_default();
                            (batch.source().to_owned(), batch.line_at(piece, first, line, 0))
                        };
                        self.losses.join(&made.losses, place);
                        before += made.rows.num_rows();
                        self.ready.push_back(made.rows);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Iterator for RecordBatches<'_> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Some(Ok(batch));
            }
            let next = self.answers.next()?;
            if let Err(error) = self.taken(next) {
                return Some(Err(error));
            }
        }
    }
}

impl RecordBatchReader for RecordBatches<'_> {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
