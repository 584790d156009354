//! Answers as typed columns, in the layout of Apache Arrow: validity bits, offsets, values.
//!
//! A [`Schema`] says which paths are asked, and what their values are to become. A batch of columns has a row for each
//! record: a line that is neither blank nor faulty. A singular path makes a column of values, any other a column of
//! lists. What a value becomes is said in [`warpath_shared::column`]: a value of another type than the column's is null,
//! as is a missing one and JSON's `null`.
//!
//! ```
//! use warpath::columns::{ColumnType, Columnar, Schema, Values};
//! use warpath::{Cpu, Query};
//!
//! # fn main() -> Result<(), warpath::Error> {
//! let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
//! let batches = Cpu.columns(b"{\"id\":7}\n{\"id\":\"x\"}\n", &schema)?;
//! let items = &batches[0].columns[0].items;
//! assert_eq!(items.values, Values::Int64(vec![7, 0]));
//! assert_eq!(items.validity, [0b01]);
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "arrow")]
mod arrow;
mod cpu;
pub(crate) mod float;

use warpath_shared::column::Kind;
use warpath_shared::units::{LineIx, PartOffset};

use crate::answer::LineFault;
use crate::backend::Backend;
use crate::error::Error;
use crate::program::{Program, Query};

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ColumnType {
    /// `true` and `false`.
    Boolean,
    /// Integers without fraction and exponent, within the range.
    Int64,
    /// Numbers, to the nearest `f64`, as `str::parse` has it; those beyond the range are infinite.
    Float64,
    /// Strings, as they say: a surrogate without its partner becomes U+FFFD. Strings with an escape that JSON does not have,
    /// or with bytes that are not UTF-8, are null.
    Utf8,
    /// The JSON text of any value but `null`. A value with bytes that are not UTF-8 is null.
    Json,
}

impl ColumnType {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Boolean => Kind::Boolean,
            Self::Int64 => Kind::Int64,
            Self::Float64 => Kind::Float64,
            Self::Utf8 => Kind::Utf8,
            Self::Json => Kind::Json,
        }
    }
}

/// Which columns are asked for.
#[derive(Clone, Debug)]
pub struct Schema {
    program: Program,
    columns: Vec<Asked>,
    large: bool,
}

/// One column that is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub values: ColumnType,
    pub lists: bool,
}

impl Schema {
    /// A column for each query, in their order.
    ///
    /// # Errors
    /// As for [`Program::new`].
    pub fn new(columns: &[(Query, ColumnType)]) -> Result<Self, Error> {
        let queries: Vec<Query> = columns.iter().map(|(query, _)| query.clone()).collect();
        let asked =
            |(query, values): &(Query, ColumnType)| Asked { values: *values, lists: !query.is_singular() };
        let columns = columns.iter().map(asked).collect();
        Ok(Self { program: Program::new(&queries)?, columns, large: false })
    }

    /// Has all offsets in 64 bits, so that every batch is of the same types. Otherwise those are that exceed 2³¹ - 1.
    #[must_use]
    pub fn large(mut self) -> Self {
        self.large = true;
        self
    }

    /// The program that finds the values.
    pub fn program(&self) -> &Program {
        &self.program
    }

    pub(crate) fn columns(&self) -> &[Asked] {
        &self.columns
    }

    /// Whether offsets that end so are to have 64 bits.
    pub(crate) fn is_large(&self, end: u64) -> bool {
        self.large || i32::try_from(end).is_err()
    }
}

/// Columns of the records of a part of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnBatch {
    /// Where the part begins in its text.
    pub base: PartOffset,
    /// How many lines it has.
    pub lines: LineIx,
    /// How many of them are records without a fault: the rows of every column.
    pub rows: usize,
    /// The faulty lines, in order.
    pub faults: Vec<LineFault>,
    /// In the order of the schema.
    pub columns: Vec<Column>,
}

/// A column: a value a row, or a list of values a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// For lists, where each row's begins among the items, and at the end how many items there are. No list is null.
    pub lists: Option<Offsets>,
    /// The values.
    pub items: Items,
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
    pub fn nulls(&self) -> usize {
        self.len - self.validity.iter().map(|word| word.count_ones() as usize).sum::<usize>()
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

/// A backend that makes columns.
pub trait Columnar: Backend {
    /// Makes the columns of a text, in batches of whole lines, in order.
    ///
    /// # Errors
    /// As for [`Backend::answer`].
    fn columns(&self, text: &[u8], schema: &Schema) -> Result<Vec<ColumnBatch>, Error>;
}
