//! Counts of the values that columns did not take.

use warpath_core::number::Reason;

/// A value within an item, which the item's type does not take. The item itself is no null.
#[derive(Clone, Copy, Debug)]
pub struct Within {
    /// The number of the item.
    pub item: usize,
    /// The offset of the value in the text of the item.
    pub at: usize,
    /// The reason for which the type does not take it.
    pub reason: Reason,
}

/// The values that each column of a run did not take.
///
/// ```
/// use warpath::columns::{ColumnType, Schema, Tally};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let batch = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":\"two\"}\n").columns(&schema).next().unwrap()?;
/// // Each record is a line, and each line has a row.
/// let mut tally = Tally::default();
/// tally.add(&batch, &[0, 1], |line| ("log".into(), u64::from(line) + 1));
/// assert_eq!((tally.rows, tally.columns[0].mismatch.count), (2, 1));
/// # Ok(())
/// # }
/// ```
///
/// `P` is the position of a value: the input and the line, counted from 1, or the row of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally<P = (String, u64)> {
    /// The number of rows.
    pub rows: u64,
    /// The counts of each column.
    pub columns: Vec<ColumnTally<P>>,
}

/// The values that one column did not take.
///
/// ```
/// use warpath::columns::{ColumnType, Schema, Tally};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let batch = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":\"two\"}\n").columns(&schema).next().unwrap()?;
/// // Each record is a line, and each line has a row.
/// let mut tally = Tally::default();
/// tally.add(&batch, &[0, 1], |line| ("log".into(), u64::from(line) + 1));
/// let id = &tally.columns[0];
/// let counts = [&id.missing, &id.null, &id.mismatch, &id.overflow].map(|values| values.count);
/// assert_eq!(counts, [0, 0, 1, 0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnTally<P = (String, u64)> {
    /// The rows in which the path selected no value; of nested columns, also such elements and members.
    pub missing: Occurrences<P>,
    /// The values that are JSON's `null`.
    pub null: Occurrences<P>,
    /// The values of another type.
    pub mismatch: Occurrences<P>,
    /// The numbers that the type does not hold.
    pub overflow: Occurrences<P>,
}

/// The number of values of one kind, and the position of the first.
///
/// ```
/// use warpath::columns::{ColumnType, Schema, Tally};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let batch = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":\"two\"}\n").columns(&schema).next().unwrap()?;
/// // Each record is a line, and each line has a row.
/// let mut tally = Tally::default();
/// tally.add(&batch, &[0, 1], |line| ("log".into(), u64::from(line) + 1));
/// let mismatch = &tally.columns[0].mismatch;
/// assert_eq!((mismatch.count, mismatch.first.clone()), (1, Some(("log".into(), 2))));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occurrences<P = (String, u64)> {
    /// The number of values.
    pub count: u64,
    /// The position of the first: the input and the line, counted from 1, or the row of a batch.
    pub first: Option<P>,
}

impl<P> Occurrences<P> {
    /// Counts later values. `first` gives the position of the first of them.
    #[inline]
    pub(crate) fn add(&mut self, count: u64, first: impl FnOnce() -> Option<P>) {
        self.count += count;
        if self.first.is_none() && count > 0 {
            self.first = first();
        }
    }
}

impl<P> ColumnTally<P> {
    /// The number of values that are in the text and not in the column: mismatches and overflows.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.mismatch.count + self.overflow.count
    }

    /// The refused values for a reason.
    pub(crate) fn refused(&mut self, reason: Reason) -> &mut Occurrences<P> {
        match reason {
            Reason::Mismatch => &mut self.mismatch,
            Reason::Overflow => &mut self.overflow,
        }
    }

    /// The counts of all causes.
    pub(crate) fn causes(&mut self) -> [&mut Occurrences<P>; 4] {
        let Self { missing, null, mismatch, overflow } = self;
        [missing, null, mismatch, overflow]
    }
}

impl<P> Tally<P> {
    /// The number of values that are in the text and in no column.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.columns.iter().map(ColumnTally::lost).sum()
    }
}

impl<P: Default> Tally<P> {
    /// Adds the tally of later rows. `place` converts their positions.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn join<Q: Clone>(&mut self, later: &Tally<Q>, place: impl Fn(Q) -> P) {
        self.rows += later.rows;
        self.columns.resize_with(self.columns.len().max(later.columns.len()), ColumnTally::default);
        for (column, later) in self.columns.iter_mut().zip(&later.columns) {
            let later = [&later.missing, &later.null, &later.mismatch, &later.overflow];
            for (values, later) in column.causes().into_iter().zip(later) {
                values.add(later.count, || later.first.clone().map(&place));
            }
        }
    }
}
