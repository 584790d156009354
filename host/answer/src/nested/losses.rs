//! Counts of the values that became null, for each cause, with the first row of each.

use warpath_core::number::Reason;

/// The counts of one column.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_schema::{DataType, Field, Schema};
/// use warpath::Engine;
/// use warpath::columns::NestedSchema;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let fields = vec![Field::new("id", DataType::Int64, true)];
/// let schema = Arc::new(NestedSchema::new(Arc::new(Schema::new(fields)))?);
/// let batch = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":2.5}\n").nested(schema.clone()).next().unwrap()?;
/// let id = batch.losses.columns[1];
/// assert_eq!((id.mismatch, id.lost()), (1, 1));
/// // The row of the first mismatch.
/// assert_eq!(id.first[2], Some(1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Rows, elements or members that have no value.
    pub missing: u64,
    /// Values that are `null`.
    pub null: u64,
    /// Values of another type.
    pub mismatch: u64,
    /// Numbers beyond the range of the type.
    pub overflow: u64,
    /// The row of the first missing value, `null`, mismatch and overflow.
    pub first: [Option<u64>; 4],
}

/// A cause for which a value becomes null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Missing,
    Null,
    Mismatch,
    Overflow,
}

impl From<Reason> for Cause {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Mismatch => Self::Mismatch,
            Reason::Overflow => Self::Overflow,
        }
    }
}

/// The position in the text of a value that a column did not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The offset of the value.
    pub at: usize,
    /// True for a number beyond the range of its type; false for a value of another type.
    pub is_overflow: bool,
}

impl Loss {
    /// Counts `count` values. The first of them is at `at`.
    #[inline]
    pub(super) fn add(&mut self, cause: Cause, count: u64, at: u64) {
        let total = match cause {
            Cause::Missing => &mut self.missing,
            Cause::Null => &mut self.null,
            Cause::Mismatch => &mut self.mismatch,
            Cause::Overflow => &mut self.overflow,
        };
        *total += count;
        self.first[cause as usize].get_or_insert(at);
    }

    /// The values that are in the text and not in the column: mismatches and overflows.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.mismatch + self.overflow
    }
}

/// The counts of all columns, nested ones included.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_schema::{DataType, Field, Schema};
/// use warpath::Engine;
/// use warpath::columns::NestedSchema;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let fields = vec![Field::new("id", DataType::Int64, true)];
/// let schema = Arc::new(NestedSchema::new(Arc::new(Schema::new(fields)))?);
/// let batch = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":2.5}\n").nested(schema.clone()).next().unwrap()?;
/// // The columns are those of `paths`: the records themselves, and their members.
/// assert_eq!(schema.paths(), ["$", "$.id"]);
/// assert_eq!((batch.losses.columns.len(), batch.losses.lost()), (2, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Losses {
    /// The counts, in the order of [`NestedSchema::paths`](super::NestedSchema::paths).
    pub columns: Vec<Loss>,
}

impl Losses {
    /// Adds the counts of a later batch of the same schema. `row` converts its rows to those of all batches.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn add(&mut self, later: &Self, row: impl Fn(u64) -> u64) {
        self.columns.resize(self.columns.len().max(later.columns.len()), Loss::default());
        for (total, loss) in self.columns.iter_mut().zip(&later.columns) {
            total.missing += loss.missing;
            total.null += loss.null;
            total.mismatch += loss.mismatch;
            total.overflow += loss.overflow;
            for (first, later) in total.first.iter_mut().zip(loss.first) {
                *first = first.or(later.map(&row));
            }
        }
    }

    /// The values that are in the text and in no column.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.columns.iter().map(Loss::lost).sum()
    }
}
