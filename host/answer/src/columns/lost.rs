//! The values that a column's type did not take.

use warpath_core::number::Reason;
use warpath_shared::units::{LineIx, PartOffset};

use super::tally::{ColumnTally, Tally};
use super::{Column, ColumnBatch};

/// The values that the path of a column selected, and that the column does not have as they are.
///
/// ```
/// use warpath::columns::{ColumnType, Schema};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let batch = Engine::builder().build()?.bytes("{\"id\":null}\n{\"id\":\"two\"}\n{}\n").columns(&schema).next().unwrap()?;
/// let column = &batch.columns[0];
/// // Three nulls, each for another reason.
/// assert_eq!((column.lost.nulls.len(), column.lost.refused.len(), column.missing()), (1, 1, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The items whose value is JSON's `null`, in order.
    pub nulls: Vec<u32>,
    /// The refused values, in the order of their items: items that are null therefore, and values within a
    /// list or a struct.
    pub refused: Vec<Refusal>,
}

impl Lost {
    /// Keeps the items before `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        self.nulls.truncate(self.nulls.partition_point(|item| (*item as usize) < len));
        self.refused.truncate(self.refused.partition_point(|refusal| (refusal.item as usize) < len));
    }
}

/// A value that became null.
///
/// ```
/// use warpath::columns::{ColumnType, Schema, Reason};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let batch = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":\"two\"}\n").columns(&schema).next().unwrap()?;
/// let refusal = batch.columns[0].lost.refused[0];
/// assert_eq!((refusal.row, refusal.line, refusal.reason), (1, 1, Reason::Mismatch));
/// // The offset of `"two"`, after the nine bytes of the first line.
/// assert_eq!(refusal.start, 9 + 6);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The number of the item in its column.
    pub item: u32,
    /// The number of its row.
    pub row: u32,
    /// The line of its record in the piece.
    pub line: LineIx,
    /// The offset of the value in the piece.
    pub start: PartOffset,
    /// The reason.
    pub reason: Reason,
}

impl Column {
    /// Returns the number of rows in which the path selected no value. It is 0 for a column of lists, where
    /// such a row has an empty list.
    #[must_use]
    pub fn missing(&self) -> usize {
        // Values are also refused within items that are not null.
        let is_null = |refusal: &&Refusal| !self.items.is_valid(refusal.item as usize);
        let told = self.lost.nulls.len() + self.lost.refused.iter().filter(is_null).count();
        if self.lists.is_some() { 0 } else { self.items.nulls().saturating_sub(told) }
    }
}

impl Column {
    /// Returns the first row in which the path selected no value, if [`missing`](Self::missing) is not 0.
    fn first_missing(&self) -> Option<u32> {
        if self.missing() == 0 {
            return None;
        }
        let mut nulls = self.lost.nulls.iter().peekable();
        let mut refused = self.lost.refused.iter().map(|refusal| refusal.item).peekable();
        (0..self.items.len as u32).find(|row| {
            while nulls.next_if(|null| *null < row).is_some() {}
            while refused.next_if(|item| item < row).is_some() {}
            !self.items.is_valid(*row as usize) && nulls.peek() != Some(&row) && refused.peek() != Some(row)
        })
    }

    /// Returns the row of the first value that is JSON's `null`.
    fn first_null(&self) -> Option<u32> {
        let item = *self.lost.nulls.first()?;
        Some(match &self.lists {
            None => item,
            Some(lists) => lists.list_of(item as usize) as u32,
        })
    }
}

impl ColumnBatch {
    /// Returns the first refused value of each record that has one, with the number of its column, in the
    /// order of the records.
    #[must_use]
    pub fn refused(&self) -> Vec<(usize, Refusal)> {
        let of_column = |(number, column): (usize, &Column)| {
            column.lost.refused.iter().map(move |refusal| (number, *refusal)).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = self.columns.iter().enumerate().flat_map(of_column).collect();
        all.sort_by_key(|(number, refusal)| (refusal.row, *number, refusal.item));
        all.dedup_by_key(|(_, refusal)| refusal.line);
        all
    }

    /// Returns the rows of the records that have a refused value, in order. `lines` has the line of each row.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn rows_refused(&self, lines: &[LineIx]) -> Vec<u32> {
        let refused: Vec<LineIx> = self.refused().iter().map(|(_, refusal)| refusal.line).collect();
        let is_refused = |(_, line): &(u32, &LineIx)| refused.binary_search(line).is_ok();
        if refused.is_empty() {
            return Vec::new();
        }
        (0..).zip(lines).filter(is_refused).map(|(row, _)| row).collect()
    }
}

impl Tally {
    /// Adds the next batch. `lines` has the line of each row. `place` gives the input and the line of a line
    /// of the batch, counted from 1.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn add(&mut self, batch: &ColumnBatch, lines: &[LineIx], place: impl Fn(LineIx) -> (String, u64)) {
        let of_row = |row: u32| lines.get(row as usize).map(|line| place(*line));
        self.rows += batch.rows as u64;
        self.columns.resize_with(self.columns.len().max(batch.columns.len()), ColumnTally::default);
        for (tally, column) in self.columns.iter_mut().zip(&batch.columns) {
            tally.missing.add(column.missing() as u64, || column.first_missing().and_then(of_row));
            tally.null.add(column.lost.nulls.len() as u64, || column.first_null().and_then(of_row));
            for refusal in &column.lost.refused {
                tally.refused(refusal.reason).add(1, || Some(place(refusal.line)));
            }
        }
    }
}
