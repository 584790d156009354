//! Results as typed columns, in the layout of Apache Arrow: validity bits, offsets, values.
//!
//! A [`Schema`] defines the paths, the types of their values, and the width of offsets. Columns have a row
//! for each record. A record is a line that is neither blank nor faulty. A singular path makes a column of
//! values; any other path makes a column of lists.
//!
//! [`warpath_shared::column`] defines the conversion of values. A value becomes null if its type is not the
//! column's; so do a missing value and JSON's `null`. [`Lost`] tells these apart, and [`Tally`] counts them.
//! All batches of a schema have the same types.
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
//! With the feature `arrow`, `Input::record_batches` gives the same data as arrays of the `arrow` crates,
//! without copying.

#[cfg(feature = "arrow")]
mod arrow;
pub(crate) mod build;
mod lost;
pub(crate) mod scalar;
pub(crate) mod tally;

#[cfg(feature = "arrow")]
pub use arrow::is_flat;
use warpath_core::error::Error;
pub use warpath_lang::column_type::{ColumnType, MAX_PRECISION, StructField, TypeError};
use warpath_lang::program::{Program, Query};

pub use lost::{Lost, Refusal};
pub use tally::{ColumnTally, Occurrences, Tally};
pub use warpath_core::number::Reason;

use build::check_default;

/// The width of the offsets of lists and strings, the same for all columns of all batches.
///
/// ```
/// use warpath::columns::{ColumnType, Schema, OffsetWidth, Offsets, Values};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Utf8)])?.with_offsets(OffsetWidth::Large);
/// let batch = Engine::builder().build()?.bytes("{\"id\":\"ab\"}\n").columns(&schema).next().unwrap()?;
/// let values = Values::Utf8(Offsets::Large(vec![0, 2]), b"ab".to_vec());
/// assert_eq!(batch.columns[0].items.values, values);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OffsetWidth {
    /// 32 bits. This is enough for everything that a singular path finds in a partition. It is an error if a
    /// path of lists finds 2³¹ values or bytes in one partition. For this the partition must be very large,
    /// or the path must select the same values repeatedly.
    #[default]
    Small,
    /// 64 bits.
    Large,
}

impl OffsetWidth {
    /// Checks that offsets up to `end` fit this width.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn check(self, end: u64) -> Result<(), Error> {
        if self == Self::Small && i32::try_from(end).is_err() {
            return Err(Error::Usage(format!(
                "one partition gives a column {end} values or bytes, more than 32-bit offsets can express; use smaller \
                 partitions, or 64-bit offsets"
            )));
        }
        Ok(())
    }
}

/// The columns of a query: their paths, types and names, and the width of their offsets.
///
/// ```
/// use warpath::columns::{ColumnType, Schema, Values};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let columns = [(Query::compile("$.id")?, ColumnType::Int64), (Query::compile("$.ok")?, ColumnType::Boolean)];
/// let schema = Schema::new(&columns)?.with_names(&["id", "ok"])?;
/// for batch in Engine::builder().build()?.bytes("{\"id\":7,\"ok\":true}").columns(&schema) {
///     assert_eq!(batch?.columns[0].items.values, Values::Int64(vec![7]));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    program: Program,
    width: OffsetWidth,
}

impl Schema {
    /// Makes a schema with a column for each query, in order. A column has the text of its query as name.
    /// Offsets have 32 bits.
    ///
    /// # Errors
    /// The errors of [`Program::new`]. [`Error::Usage`] for a type whose columns cannot be made.
    pub fn new(columns: &[(Query, ColumnType)]) -> Result<Self, Error> {
        let (queries, types): (Vec<Query>, Vec<ColumnType>) = columns.iter().cloned().unzip();
        Self::of_program(Program::new(&queries)?.with_types(&types)?)
    }

    /// Makes a schema of the columns of a program, with the program's types, names and defaults. Offsets have
    /// 32 bits.
    ///
    /// # Errors
    /// [`Error::Usage`] for a type whose columns cannot be made, and for a default that is not of its
    /// column's type.
    pub fn of_program(program: Program) -> Result<Self, Error> {
        program.columns().iter().try_for_each(check_default)?;
        Ok(Self { program, width: OffsetWidth::Small })
    }

    /// Gives the columns other names.
    ///
    /// # Errors
    /// The errors of [`Program::with_names`].
    pub fn with_names(self, names: &[impl AsRef<str>]) -> Result<Self, Error> {
        Ok(Self { program: self.program.with_names(names)?, ..self })
    }

    /// Sets the width of offsets.
    #[must_use]
    pub fn with_offsets(self, width: OffsetWidth) -> Self {
        Self { width, ..self }
    }

    /// The program that finds the values.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The width of offsets.
    #[must_use]
    pub fn width(&self) -> OffsetWidth {
        self.width
    }
}

/// Columns with the same number of rows.
///
/// ```
/// use warpath::columns::{ColumnType, Schema};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let batch = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":\"two\"}\n").columns(&schema).next().unwrap()?;
/// assert_eq!((batch.rows, batch.columns.len()), (2, 1));
/// // The rows before the first value that a column does not take.
/// let mut before = batch.clone();
/// before.truncate(batch.refused().first().map_or(batch.rows, |(_, refusal)| refusal.row as usize));
/// assert_eq!(before.rows, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ColumnBatch {
    /// The number of rows of every column: one for each record, or for each element ([`Program::exploding`]).
    pub rows: usize,
    /// The columns, in the order of the schema.
    pub columns: Vec<Column>,
}

impl ColumnBatch {
    /// Columns of a number of rows.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn new(rows: usize, columns: Vec<Column>) -> Self {
        Self { rows, columns }
    }

    /// Keeps the first `rows` rows, if there are more.
    pub fn truncate(&mut self, rows: usize) {
        if rows < self.rows {
            self.rows = rows;
            self.columns.iter_mut().for_each(|column| column.truncate(rows));
        }
    }
}

/// A column: one value a row, or one list of values a row.
///
/// ```
/// use warpath::columns::{ColumnType, Schema, Offsets, Values};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id[*]")?, ColumnType::Int64)])?;
/// let batch = Engine::builder().build()?.bytes("{\"id\":[1,2]}\n{\"id\":[3]}\n").columns(&schema).next().unwrap()?;
/// // A path that can match several values gives a list for each row.
/// let ids = &batch.columns[0];
/// assert_eq!(ids.lists, Some(Offsets::Small(vec![0, 2, 3])));
/// assert_eq!(ids.items.values, Values::Int64(vec![1, 2, 3]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Column {
    /// For a column of lists, the index of each row's first item, followed by the number of items. No list is
    /// null.
    pub lists: Option<Offsets>,
    /// The values.
    pub items: Items,
    /// The values that the column does not have as they are.
    pub lost: Lost,
}

impl Column {
    /// A column that lost nothing.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn new(lists: Option<Offsets>, items: Items) -> Self {
        Self { lists, items, lost: Lost::default() }
    }

    /// Keeps the first `rows` rows, if there are more.
    pub fn truncate(&mut self, rows: usize) {
        let items = match &mut self.lists {
            Some(lists) => lists.truncate(rows),
            None => rows,
        };
        self.items.truncate(items);
        self.lost.truncate(items);
    }
}

/// Values, some of which may be null.
///
/// ```
/// use warpath::columns::{ColumnType, Schema};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let batch = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":\"two\"}\n").columns(&schema).next().unwrap()?;
/// let items = &batch.columns[0].items;
/// assert_eq!((items.len, items.nulls()), (2, 1));
/// assert_eq!((items.is_valid(0), items.is_valid(1), items.validity[0]), (true, false, 0b01));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Items {
    /// The number of values, nulls included.
    pub len: usize,
    /// One bit a value, lowest first: 1 for a value, 0 for a null. Bits past the end are 0.
    pub validity: Vec<u32>,
    /// The values. A null is stored as zero, or as an empty string.
    pub values: Values,
}

impl Items {
    /// Values with their validity.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn new(len: usize, validity: Vec<u32>, values: Values) -> Self {
        Self { len, validity, values }
    }

    /// The number of nulls.
    #[must_use]
    pub fn nulls(&self) -> usize {
        self.len - self.validity.iter().map(|word| word.count_ones() as usize).sum::<usize>()
    }

    /// Returns true if an item is a value, and not a null.
    #[must_use]
    pub fn is_valid(&self, item: usize) -> bool {
        self.validity.get(item / 32).is_some_and(|word| word >> (item % 32) & 1 == 1)
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
            Values::Decimal { units, .. } => units.truncate(len),
            Values::Time(instants) => instants.truncate(len),
            Values::Date(days) => days.truncate(len),
            #[cfg(feature = "arrow")]
            Values::Nested(array) => *array = array.slice(0, len),
            Values::Utf8(offsets, bytes) => {
                let end = offsets.truncate(len);
                bytes.truncate(end);
            }
        }
    }
}

/// Keeps the first `len` bits, and sets the rest of the last word to 0.
pub fn truncate_bits(words: &mut Vec<u32>, len: usize) {
    words.truncate(len.div_ceil(32));
    if let Some(last) = words.get_mut(len / 32) {
        *last &= (1 << (len % 32)) - 1;
    }
}

/// The values of a column, one after another.
///
/// ```
/// use warpath::columns::{ColumnType, Schema, Offsets, Values};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Utf8)])?;
/// let batch = Engine::builder().build()?.bytes("{\"id\":\"ab\"}\n{\"id\":\"c\"}\n").columns(&schema).next().unwrap()?;
/// let Values::Utf8(Offsets::Small(offsets), bytes) = &batch.columns[0].items.values else {
///     panic!("no strings with 32-bit offsets")
/// };
/// let strings: Vec<&[u8]> =
///     offsets.windows(2).map(|ends| &bytes[ends[0] as usize..ends[1] as usize]).collect();
/// assert_eq!(strings, [&b"ab"[..], b"c"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// One bit a value, as in [`Items::validity`].
    Boolean(Vec<u32>),
    /// One integer a value.
    Int64(Vec<i64>),
    /// One double a value.
    Float64(Vec<f64>),
    /// One integer a value, in units of 10 to the −`scale`.
    Decimal {
        /// The most digits of a value.
        precision: u8,
        /// The number of digits after the point.
        scale: u8,
        /// The values.
        units: Vec<i128>,
    },
    /// One instant a value, in nanoseconds since 1970-01-01T00:00:00Z.
    Time(Vec<i64>),
    /// One date a value, in days since 1970-01-01.
    Date(Vec<i32>),
    /// The start of each value in the bytes, followed by the end of the last; and the bytes of all values,
    /// which are UTF-8.
    Utf8(Offsets, Vec<u8>),
    /// An array of lists or structs. Its offsets have 32 bits.
    #[cfg(feature = "arrow")]
    Nested(arrow_array::ArrayRef),
}

/// The start of each item, followed by the end of the last.
///
/// ```
/// use warpath::columns::{ColumnType, Schema, Offsets};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id[*]")?, ColumnType::Int64)])?;
/// let batch = Engine::builder().build()?.bytes("{\"id\":[1,2]}\n{}\n{\"id\":[3]}\n").columns(&schema).next().unwrap()?;
/// // The lists of the three rows have two items, none and one.
/// assert_eq!(batch.columns[0].lists, Some(Offsets::Small(vec![0, 2, 2, 3])));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offsets {
    /// Offsets of 32 bits.
    Small(Vec<i32>),
    /// Offsets of 64 bits.
    Large(Vec<i64>),
}

impl Offsets {
    /// Makes offsets of the given width. Returns an error if they do not fit.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn new(offsets: Vec<i64>, width: OffsetWidth) -> Result<Self, Error> {
        width.check(offsets.last().copied().unwrap_or(0) as u64)?;
        Ok(match width {
            OffsetWidth::Large => Self::Large(offsets),
            OffsetWidth::Small => Self::Small(offsets.into_iter().map(|offset| offset as i32).collect()),
        })
    }

    /// The number of the list that has an item.
    fn list_of(&self, item: usize) -> usize {
        match self {
            Self::Small(offsets) => offsets.partition_point(|start| *start as usize <= item) - 1,
            Self::Large(offsets) => offsets.partition_point(|start| *start as usize <= item) - 1,
        }
    }

    /// Keeps the offsets of the first `len` items, and returns the end of the last of these.
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
