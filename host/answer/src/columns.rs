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
pub(crate) mod arrays;
#[cfg(feature = "arrow")]
mod arrow;
pub(crate) mod build;
mod items;
mod lost;
pub(crate) mod scalar;
pub(crate) mod tally;

#[cfg(feature = "arrow")]
pub use arrow::is_flat;
use warpath_core::error::Error;
pub use warpath_lang::column_type::{ColumnType, MAX_PRECISION, StructField, TypeError};
use warpath_lang::program::{Program, Query};

pub use items::{Items, OffsetWidth, Offsets, Values, truncate_bits};
pub use lost::{Lost, Refusal};
pub use tally::{ColumnTally, Occurrences, Tally};
pub use warpath_core::number::Reason;

use build::check_default;

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
    /// The number of rows of every column: one for each record.
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
