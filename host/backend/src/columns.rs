//! Answers as typed columns, in the layout of Apache Arrow: validity bits, offsets, values.
//!
//! A [`Schema`] says which paths are asked, what their values are to become, and how wide offsets are. Columns have a row
//! for each record: a line that is neither blank nor faulty. A singular path makes a column of values, any other a column of
//! lists. What a value becomes is said in [`warpath_shared::column`]: a value of another type than the column's is null,
//! as is a missing one and JSON's `null`. All batches of a schema are of the same types.
//!
//! ```
//! use warpath::columns::{ColumnType, Schema, Values};
//! use warpath::{Engine, Query};
//!
//! # fn main() -> Result<(), warpath::Error> {
//! let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
//! let engine = Engine::builder().build()?;
//! let text = std::io::Cursor::new("{\"id\":7}\n{\"id\":\"x\"}\n");
//! for batch in engine.reader("ids", text).columns(&schema) {
//!     let items = &batch?.columns[0].items;
//!     assert_eq!(items.values, Values::Int64(vec![7, 0]));
//!     assert_eq!(items.validity, [0b01]);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `arrow`, `Input::record_batches` gives the same as arrays of the `arrow` crates, without copying.

#[cfg(feature = "arrow")]
mod arrow;

use warpath_core::error::Error;
pub use warpath_lang::column_type::ColumnType;
use warpath_lang::program::{Program, Query};

/// How wide the offsets of lists and of strings are: of all columns of all batches alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OffsetWidth {
    /// 32 bits. They reach everything that a singular path finds in a partition. Where a path of lists finds 2³¹ values or bytes
    /// in one partition, which takes very large partitions or a path that selects the same again and again, that is an error.
    #[default]
    Small,
    /// 64 bits.
    Large,
}

impl OffsetWidth {
    /// Whether offsets up to `end` can be so wide.
    pub(crate) fn check(self, end: u64) -> Result<(), Error> {
        if self == Self::Small && i32::try_from(end).is_err() {
            return Err(Error::Usage(format!(
                "one partition gives a column {end} values or bytes, which is more than 32-bit offsets reach; smaller \
                 partitions give fewer, and 64-bit offsets reach all"
            )));
        }
        Ok(())
    }
}

/// Which columns are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    program: Program,
    width: OffsetWidth,
}

impl Schema {
    /// A column for each query, in their order, named as the query is written. Offsets have 32 bits.
    ///
    /// # Errors
    /// As for [`Program::new`].
    pub fn new(columns: &[(Query, ColumnType)]) -> Result<Self, Error> {
        let (queries, types): (Vec<Query>, Vec<ColumnType>) = columns.iter().cloned().unzip();
        Ok(Self { program: Program::new(&queries)?.with_types(&types)?, width: OffsetWidth::Small })
    }

    /// The same columns with other names.
    ///
    /// # Errors
    /// As for [`Program::with_names`].
    pub fn with_names(self, names: &[impl AsRef<str>]) -> Result<Self, Error> {
        Ok(Self { program: self.program.with_names(names)?, ..self })
    }

    /// Has offsets of this width.
    #[must_use]
    pub fn with_offsets(self, width: OffsetWidth) -> Self {
        Self { width, ..self }
    }

    /// The program that finds the values.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// How wide offsets are.
    #[must_use]
    pub fn width(&self) -> OffsetWidth {
        self.width
    }
}

/// Columns of the same number of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnBatch {
    /// How many rows every column has: one for each record.
    pub rows: usize,
    /// In the order of the schema.
    pub columns: Vec<Column>,
}

impl ColumnBatch {
    /// Keeps the first `rows` rows, if there are more.
    pub fn truncate(&mut self, rows: usize) {
        if rows < self.rows {
            self.rows = rows;
            self.columns.iter_mut().for_each(|column| column.truncate(rows));
        }
    }
}

/// A column: a value a row, or a list of values a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// For lists, where each row's begins among the items, and at the end how many items there are. No list is null.
    pub lists: Option<Offsets>,
    /// The values.
    pub items: Items,
}

impl Column {
    /// Keeps the first `rows` rows, if there are more.
    pub fn truncate(&mut self, rows: usize) {
        let items = match &mut self.lists {
            Some(lists) => lists.truncate(rows),
            None => rows,
        };
        self.items.truncate(items);
    }
}

/// Values, of which some are null.
#[derive(Clone, Debug, PartialEq)]
pub struct Items {
    /// How many there are, with nulls.
    pub len: usize,
    /// A bit for each, lowest first: 1 for a value, 0 for a null. Bits past the end are 0.
    pub validity: Vec<u32>,
    /// The values. A null is zero, or empty.
    pub values: Values,
}

impl Items {
    /// How many nulls there are.
    #[must_use]
    pub fn nulls(&self) -> usize {
        self.len - self.validity.iter().map(|word| word.count_ones() as usize).sum::<usize>()
    }

    /// Keeps the first `len` items, if there are more.
    fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        self.len = len;
        truncate_bits(&mut self.validity, len);
        match &mut self.values {
            Values::Boolean(bits) => truncate_bits(bits, len),
            Values::Int64(values) => values.truncate(len),
            Values::Float64(values) => values.truncate(len),
            Values::Utf8(offsets, bytes) => {
                let end = offsets.truncate(len);
                bytes.truncate(end);
            }
        }
    }
}

/// Keeps the first `len` of some bits; the others are 0.
fn truncate_bits(words: &mut Vec<u32>, len: usize) {
    words.truncate(len.div_ceil(32));
    if let Some(last) = words.get_mut(len / 32) {
        *last &= (1 << (len % 32)) - 1;
    }
}

/// Values one after the other.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// A bit each, as in [`Items::validity`].
    Boolean(Vec<u32>),
    /// One each.
    Int64(Vec<i64>),
    /// One each.
    Float64(Vec<f64>),
    /// The bytes of all, which are UTF-8, and where each one's begin and the last one's end.
    Utf8(Offsets, Vec<u8>),
}

/// Where things begin, and where the last one ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offsets {
    /// In 32 bits, if they fit.
    Small(Vec<i32>),
    /// In 64 bits.
    Large(Vec<i64>),
}

impl Offsets {
    /// Offsets that are as wide as asked for.
    pub(crate) fn new(offsets: Vec<i64>, width: OffsetWidth) -> Result<Self, Error> {
        width.check(offsets.last().copied().unwrap_or(0) as u64)?;
        Ok(match width {
            OffsetWidth::Large => Self::Large(offsets),
            OffsetWidth::Small => Self::Small(offsets.into_iter().map(|offset| offset as i32).collect()),
        })
    }

    /// Keeps the offsets of the first `len` things, and says where the last of them ends.
    fn truncate(&mut self, len: usize) -> usize {
        match self {
            Self::Small(offsets) => {
                offsets.truncate(len + 1);
                offsets.last().map_or(0, |end| *end as usize)
            }
            Self::Large(offsets) => {
                offsets.truncate(len + 1);
                offsets.last().map_or(0, |end| *end as usize)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_as_wide_as_asked_for() {
        let small = |end| Offsets::new(vec![0, end], OffsetWidth::Small);
        assert_eq!(small(7).unwrap(), Offsets::Small(vec![0, 7]));
        assert_eq!(small(i64::from(i32::MAX)).unwrap(), Offsets::Small(vec![0, i32::MAX]));
        assert!(
            matches!(small(1 << 31), Err(Error::Usage(said)) if said.contains(" 2147483648 values or bytes"))
        );
        let large = |end| Offsets::new(vec![0, end], OffsetWidth::Large).unwrap();
        assert_eq!(large(7), Offsets::Large(vec![0, 7]));
        assert_eq!(large(1 << 31), Offsets::Large(vec![0, 1 << 31]));
    }
}
