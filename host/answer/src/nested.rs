//! Records decoded to nested columns: structs, lists and maps of Arrow.
//!
//! A [`NestedSchema`] is made from an Arrow schema. [`NestedSchema::decode`] reads each record once and
//! writes every member of it to the column of that member. A record is an object whose members are the
//! columns.
//!
//! | Arrow type | takes |
//! |---|---|
//! | `Boolean`, `Int64`, `Float64`, `Utf8` | the values that typed columns of that type take ([`crate::columns`]) |
//! | `Utf8` of a field with the extension type [`JSON_EXTENSION`] | any value but `null`, as its JSON text |
//! | `Timestamp`, in UTC | strings and numbers that are instants, as in typed columns; what is finer than the unit is cut off |
//! | `Date32` | strings that are dates, as in typed columns |
//! | `Decimal128` | numbers that have no more digits than the type, before and after the decimal point |
//! | `Struct` | objects; the fields are members, by name |
//! | `List` | arrays |
//! | `Map` with keys of `Utf8` | objects; each member is an entry |
//! | `Null` | nothing |
//!
//! A value of any other type becomes null, and so do a missing value and JSON's `null`. Nothing is lost
//! silently: [`Tally`] counts these four causes for each column, with the first row of each. If an object
//! has two members of one name, the first one counts, as in queries. Members that no field has are skipped.
//!
//! Records have passed the check of their structure, so brackets match and strings are closed. What else RFC
//! 8259 demands is not certain: a member may lack its colon. Such a record keeps the values before that
//! member. It counts as a mismatch of the whole record.
//!
//! ```text
//! text     {"id":7,"user":{"name":"a\nb"},"tags":["x","y"]}
//!          ├─────┤predicted: the bytes `"id":` are compared before any name is looked up
//! id       7                    Int64
//! user     └ name  "a⏎b"        Struct, Utf8
//! tags     └ [0,2) x y          List, Utf8
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `column` | lists, maps and structs under construction, and their arrays |
//! | `plan` | columns made from Arrow's types |
//! | `read` | the pass over the text of a record |
//! | `selected` | the types of the values that queries select |
//! | `tree` | the columns for all values of a schema tree |
//! | `types` | the types of columns as Arrow's types, and the reverse |

pub(crate) mod column;
mod plan;
pub(crate) mod read;
mod selected;
mod tree;
mod types;

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use warpath_core::error::Error;

use crate::columns::tally::Tally;
#[doc(hidden)]
pub use types::column_type;
pub(crate) use types::data_type;
pub use types::{JSON_EXTENSION, is_json_text, json_text};

/// The schema of nested columns, ready for decoding.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_schema::{DataType, Field, Schema};
/// use warpath::columns::NestedSchema;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let user = DataType::Struct(vec![Field::new("name", DataType::Utf8, false)].into());
/// let fields = vec![Field::new("id", DataType::Int64, true), Field::new("user", user, true)];
/// let schema = NestedSchema::new(Arc::new(Schema::new(fields)))?;
/// assert_eq!(schema.paths(), ["$", "$.id", "$.user", "$.user.name"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct NestedSchema {
    schema: SchemaRef,
    /// The records: structs of the fields of the schema, or values of its only field.
    root: Field,
    /// True if the only column has the records themselves.
    whole: bool,
    /// The least number of bytes that a row takes in memory.
    row_bytes: usize,
}

/// Rows of nested columns.
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
/// // A value that the type does not take is null, and counted.
/// assert_eq!((batch.rows.num_rows(), batch.rows["id"].null_count(), batch.losses.lost()), (2, 1, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NestedBatch {
    /// The rows, one for each record.
    pub rows: RecordBatch,
    /// The values that became null, in the order of [`NestedSchema::paths`]. Rows count from the start of
    /// this batch.
    pub losses: Tally<u64>,
}

/// The bytes that the fixed part of a batch may take. A sparse schema of many columns takes much memory for
/// each row, also where the text of the row is short.
const BATCH_BYTES: usize = 16 << 20;

impl NestedSchema {
    /// Makes a schema from Arrow's, whose fields are members of the records. All fields become nullable,
    /// apart from the keys of maps.
    ///
    /// # Errors
    /// [`Error::Usage`] for a field of a type that is not in the table of the [module](self).
    pub fn new(schema: SchemaRef) -> Result<Self, Error> {
        let fields = plan::nullable(schema.fields());
        let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        let root = Field::new("$", DataType::Struct(schema.fields().clone()), true);
        Self::of(schema, root, false)
    }

    /// Makes a schema of one column, which has the records themselves: records that are not objects.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn of_whole_records(field: &Field) -> Result<Self, Error> {
        let fields = plan::nullable(&vec![field.clone()].into());
        let root = Field::clone(&fields[0]);
        Self::of(Schema::new(fields), root, true)
    }

    fn of(schema: Schema, root: Field, whole: bool) -> Result<Self, Error> {
        let row_bytes = plan::builder(&root, "$", 0)?.row_bytes();
        Ok(Self { schema: schema.into(), root, whole, row_bytes })
    }

    /// The Arrow schema of all batches.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Decodes records, which are ranges of a text, in order. An empty range is a missing record. Each batch
    /// but the last has the same number of rows. There is no batch without a row.
    ///
    /// # Errors
    /// [`Error::Internal`] if arrays could not be made.
    pub fn decode(&self, text: &[u8], records: &[Range<usize>]) -> Result<Vec<NestedBatch>, Error> {
        let most = (BATCH_BYTES / self.row_bytes.max(1)).clamp(64, 1 << 16);
        records.chunks(most).map(|records| self.batch(text, records)).collect()
    }

    fn batch(&self, text: &[u8], records: &[Range<usize>]) -> Result<NestedBatch, Error> {
        let (mut root, rows) = (plan::builder(&self.root, "$", 0)?, records.len());
        read::push(&mut root, text, records.iter().cloned(), false);
        let mut losses = Tally { rows: rows as u64, columns: Vec::new() };
        let array = root.array(self.root.data_type(), rows, &|row| row, &mut losses)?;
        let arrays = if self.whole { vec![array] } else { array.as_struct().columns().to_vec() };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let rows = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options);
        Ok(NestedBatch { rows: rows.map_err(column::failed)?, losses })
    }

    /// The names of all columns with counted values, in the order of [`Tally::columns`]: paths such as
    /// `$.user.name`, with `[*]` for the elements of a list and `.*` for the values of a map.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.typed_paths().into_iter().map(|(path, _)| path).collect()
    }

    /// The paths of all columns, as in [`paths`](Self::paths), each with the name of its type: `int64`,
    /// `struct`.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn typed_paths(&self) -> Vec<(String, String)> {
        let mut paths = Vec::new();
        plan::of_column(&self.root, "$".to_owned(), &mut paths);
        paths
    }
}
