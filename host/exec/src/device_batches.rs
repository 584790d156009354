//! Columns of inputs that stay on a device, with the values that the columns did not take.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use arrow_schema::SchemaRef;
use warpath_answer::columns::{Reason, Schema, Tally};
use warpath_answer::on_device::DeviceBatch;
use warpath_core::error::Error;

use crate::stream::{Answers, Batch};

/// Columns of inputs that stay on a device, in order, all of one schema. See
/// [`Input::device_columns`](crate::operators::Input::device_columns).
///
/// ```no_run
/// use warpath::columns::{ColumnType, Schema};
/// use warpath::{DeviceChoice, Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let engine = Engine::builder().device(DeviceChoice::Cuda(0)).build()?;
/// let mut batches = engine.open("tweets.ndjson")?.device_columns(&schema);
/// println!("{} from {}", batches.schema(), batches.answers().plan().backend);
/// for batch in &mut batches {
///     println!("{} rows", batch?.num_rows());
/// }
/// for ((name, values), lost) in batches.counted().iter().zip(&batches.losses().columns) {
///     println!("{} values of `{name}` are no {values}", lost.mismatch.count);
/// }
/// # Ok(())
/// # }
/// ```
pub struct DeviceBatches<'a> {
    answers: Answers<'a>,
    schema: SchemaRef,
    /// The name and the type of each column.
    counted: Vec<(String, String)>,
    /// The batches of the last partition that were not yielded yet.
    ready: VecDeque<(DeviceBatch, Option<RefusedRow>)>,
    /// The first value of the last batch that a column did not take.
    refused: Option<RefusedRow>,
    losses: Tally,
}

/// A value that a column did not take.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRow {
    /// The row in its batch, counted from 0.
    pub row: usize,
    /// The number of the column.
    pub column: usize,
    /// The reason.
    pub reason: Reason,
    /// The input, and the line counted from 1.
    pub place: (String, u64),
}

impl<'a> DeviceBatches<'a> {
    /// Makes the batches of results that have the columns of a schema.
    pub(crate) fn new(answers: Answers<'a>, schema: &Schema) -> Self {
        let columns = schema.program().columns().iter();
        let counted = columns.map(|column| (column.name.clone(), column.values.to_string()));
        let counted: Vec<_> = counted.collect();
        let mut losses = Tally::default();
        losses.columns.resize_with(counted.len(), Default::default);
        Self { answers, schema: schema.to_arrow(), counted, ready: VecDeque::new(), refused: None, losses }
    }

    /// The schema of all batches.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The underlying iterator, for its statistics and its plan.
    #[must_use]
    pub fn answers(&self) -> &Answers<'a> {
        &self.answers
    }

    /// The values that columns did not take, in the partitions so far; complete when the iterator has ended.
    #[must_use]
    pub fn losses(&self) -> &Tally {
        &self.losses
    }

    /// The name and the type of each column whose values [`losses`](Self::losses) counts.
    #[must_use]
    pub fn counted(&self) -> &[(String, String)] {
        &self.counted
    }

    /// The next batch, if it is there. Otherwise the task of `context` is woken later.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn poll(&mut self, context: &Context<'_>) -> Poll<Option<Result<DeviceBatch, Error>>> {
        loop {
            if let Some(batch) = self.given() {
                return Poll::Ready(Some(Ok(batch)));
            }
            match std::task::ready!(self.answers.poll(context)) {
                Some(Ok(batch)) => self.take(batch),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }

    /// The first value of the last batch that a column did not take.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn refused(&self) -> Option<&RefusedRow> {
        self.refused.as_ref()
    }

    /// Yields a batch of the last partition.
    fn given(&mut self) -> Option<DeviceBatch> {
        let (batch, refused) = self.ready.pop_front()?;
        self.refused = refused;
        Some(batch)
    }

    /// Takes the columns of a partition.
    fn take(&mut self, mut batch: Batch<'_>) {
        let made = batch.take_on_device();
        for ((first, piece), columns) in batch.pieces().zip(made) {
            let Some(columns) = columns else { continue };
            let place = |line| (batch.source().to_owned(), batch.line_at(piece, first, line, 0));
            self.losses.add(columns.on_host(), &piece.records, place);
            if columns.rows() > 0 {
                let refused = columns.on_host().refused().first().map(|(column, refusal)| RefusedRow {
                    row: refusal.row as usize,
                    column: *column,
                    reason: refusal.reason,
                    place: place(refusal.line),
                });
                self.ready.push_back((DeviceBatch::new(columns, self.schema.clone()), refused));
            }
        }
    }
}

impl Iterator for DeviceBatches<'_> {
    type Item = Result<DeviceBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.given() {
                return Some(Ok(batch));
            }
            match self.answers.next()? {
                Ok(batch) => self.take(batch),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
