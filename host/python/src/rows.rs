//! The rows of a read, up to a limit, and the action at values that columns do not take.

use std::collections::VecDeque;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use warpath::columns::{ColumnBatch, NestedBatch, NestedSchema, Reason, Tally};
use warpath::{Answers, Batch, Error};
use warpath_answer::answer::{Limit, Piece, Want};

use crate::columns::SelectedColumns;
use crate::error::{Mismatch, Stop};
use crate::interrupt;
use crate::reading::Reading;
use crate::selection::Batches;

/// The actions at a value that the type of its column does not take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OnMismatch {
    /// The cell is null.
    Null,
    /// The read ends after the rows before the value.
    Fail,
    /// Its record has no row.
    Skip,
    /// None: columns with types are text from the start.
    String,
}

/// The rows of one read.
pub struct SelectedRows {
    answers: Answers<'static>,
    columns: SelectedColumns,
    arrow: SchemaRef,
    /// The name and the type of each column whose values are counted.
    counted: Vec<(String, String)>,
    on_mismatch: OnMismatch,
    /// The number of rows that are still wanted.
    left: u64,
    /// The batches that were not given out yet.
    ready: VecDeque<RecordBatch>,
    /// The value at which the read ends after these batches.
    stop: Option<Mismatch>,
    losses: Tally,
}

impl SelectedRows {
    /// Begins to read.
    pub fn new(
        columns: &SelectedColumns,
        reading: &Reading,
        limit: Option<u64>,
        on_mismatch: OnMismatch,
    ) -> Result<Self, Error> {
        let counted = columns.counted();
        let mut want = Want::new().records(true);
        if on_mismatch != OnMismatch::Skip {
            want.limit = limit.map(Limit::Records);
        }
        let mut losses = Tally::default();
        losses.columns.resize_with(counted.len(), Default::default);
        Ok(Self {
            answers: columns.read(reading, want)?,
            columns: columns.clone(),
            arrow: columns.arrow(),
            counted,
            on_mismatch,
            left: limit.unwrap_or(u64::MAX),
            ready: VecDeque::new(),
            stop: None,
            losses,
        })
    }

    /// Takes the rows of a partition.
    fn take(&mut self, mut batch: Batch<'static>) -> Result<(), Stop> {
        if let SelectedColumns::Nested(schema) = &self.columns {
            let schema = schema.clone();
            let made = batch.take_nested();
            for (piece, nested) in batch.pieces().zip(made) {
                self.nested(&batch, piece, nested, &schema)?;
            }
        } else {
            let made = batch.take_columns();
            for (piece, columns) in batch.pieces().zip(made) {
                self.typed(&batch, piece, columns)?;
            }
        }
        Ok(())
    }

    /// Takes the rows of a piece with typed columns.
    fn typed(
        &mut self,
        batch: &Batch<'_>,
        (first, piece): (u64, &Piece),
        mut columns: ColumnBatch,
    ) -> Result<(), Stop> {
        if self.left == 0 {
            return Ok(());
        }
        let mut left_out = match self.on_mismatch {
            OnMismatch::Skip => columns.rows_refused(&piece.records),
            _ => Vec::new(),
        };
        columns.truncate(end_of(columns.rows, &left_out, self.left));
        if self.on_mismatch == OnMismatch::Fail
            && let Some((column, refusal)) = columns.refused().first()
        {
            let found = batch.record_at(piece, first, refusal.line, refusal.start);
            self.end_at(Mismatch {
                place: (batch.source().to_owned(), found.line),
                byte: Some(found.byte),
                column: self.counted.get(*column).cloned().unwrap_or_default(),
                is_overflow: refusal.reason == Reason::Overflow,
            });
            columns.truncate(refusal.row as usize);
        }
        left_out.retain(|row| (*row as usize) < columns.rows);
        self.left = self.left.saturating_sub((columns.rows - left_out.len()) as u64);
        let place = |line| (batch.source().to_owned(), batch.line_at(piece, first, line, 0));
        self.losses.add(&columns, &piece.records, place);
        let mut made = columns.into_arrow(&self.arrow)?;
        if !left_out.is_empty() {
            let mut kept = vec![true; made.num_rows()];
            left_out.iter().for_each(|row| kept[*row as usize] = false);
            made = filter_record_batch(&made, &BooleanArray::from(kept))?;
        }
        self.give(made);
        Ok(())
    }

    /// Takes the rows of a piece with nested columns.
    fn nested(
        &mut self,
        batch: &Batch<'_>,
        (first, piece): (u64, &Piece),
        mut nested: Vec<NestedBatch>,
        schema: &NestedSchema,
    ) -> Result<(), Stop> {
        if self.left == 0 {
            return Ok(());
        }
        let place = |row: usize| {
            let line = piece.records.get(row).copied().unwrap_or_default();
            (batch.source().to_owned(), batch.line_at(piece, first, line, 0))
        };
        let mut rows = piece.records.len();
        let end = end_of(rows, &[], self.left);
        if end < rows {
            nested = piece.decoded(batch.text(), schema, 0..end)?;
            rows = end;
        }
        if self.on_mismatch == OnMismatch::Fail
            && let Some((row, column, is_overflow)) = first_lost(&nested)
        {
            self.end_at(Mismatch {
                place: place(row),
                byte: None,
                column: self.counted.get(column).cloned().unwrap_or_default(),
                is_overflow,
            });
            nested = piece.decoded(batch.text(), schema, 0..row)?;
            rows = row;
        }
        self.left = self.left.saturating_sub(rows as u64);
        let mut before = 0;
        for made in nested {
            let count = made.rows.num_rows();
            self.losses.join(&made.losses, |row| place(before + row as usize));
            before += count;
            self.give(made.rows);
        }
        Ok(())
    }

    fn give(&mut self, batch: RecordBatch) {
        if batch.num_rows() > 0 {
            self.ready.push_back(batch);
        }
    }

    /// Ends the read at a value, after the rows before it.
    fn end_at(&mut self, refused: Mismatch) {
        self.stop = Some(refused);
        self.left = 0;
    }
}

impl Batches for SelectedRows {
    type Batch = RecordBatch;

    fn counted(&self) -> &[(String, String)] {
        &self.counted
    }

    fn losses(&self) -> &Tally {
        &self.losses
    }

    fn answers(&self) -> &Answers<'static> {
        &self.answers
    }

    fn advance(&mut self) -> Option<Result<RecordBatch, Stop>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Some(Ok(batch));
            }
            if let Some(refused) = self.stop.take() {
                return Some(Err(Stop::Mismatch(refused)));
            }
            if self.left == 0 {
                return None;
            }
            let taken = match interrupt::wait(|context| self.answers.poll(context)) {
                Ok(None) => return None,
                Ok(Some(Ok(batch))) => self.take(batch),
                Ok(Some(Err(error))) => Err(error.into()),
                Err(raised) => Err(raised),
            };
            if let Err(stop) = taken {
                return Some(Err(stop));
            }
        }
    }

    fn rows(batch: &RecordBatch) -> usize {
        batch.num_rows()
    }
}

/// The number of rows up to the limit, left-out rows included. `left` rows are wanted, at least one, and
/// `left_out` are ascending.
fn end_of(rows: usize, left_out: &[u32], left: u64) -> usize {
    let last = usize::try_from(left).ok().and_then(|left| left.checked_sub(1));
    let mut kept = (0..rows).filter(|row| left_out.binary_search(&(*row as u32)).is_err());
    last.and_then(|last| kept.nth(last)).map_or(rows, |row| row + 1)
}

/// The first value that nested columns do not take: the row, the column, and whether it is beyond the type.
fn first_lost(batches: &[NestedBatch]) -> Option<(usize, usize, bool)> {
    let mut before = 0;
    for batch in batches {
        let columns = batch.losses.columns.iter().enumerate();
        let lost = columns.flat_map(|(column, lost)| {
            [(lost.mismatch.first, column, false), (lost.overflow.first, column, true)]
        });
        let lost = lost.filter_map(|(row, column, is_overflow)| Some((row?, column, is_overflow)));
        if let Some((row, column, is_overflow)) = lost.min() {
            return Some((before + row as usize, column, is_overflow));
        }
        before += batch.rows.num_rows();
    }
    None
}
