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
//! | `Timestamp`, in UTC | strings that are instants, as in typed columns; what is finer than the unit is cut off |
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
//! | `column` | columns under construction, and their arrays |
//! | `plan` | columns made from Arrow's types |
//! | `read` | the pass over the text of a record |
//! | `tree` | the columns for all values of a schema tree |
//! | `types` | the types of columns as Arrow's types, and the reverse |

mod column;
mod plan;
mod read;
mod tree;
mod types;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use warpath_core::error::Error;
use warpath_core::simd::{Isa, Simd, Work};
use warpath_core::time::Format;
use warpath_lang::column_type::ColumnType;

use crate::columns::tally::{Tally, Within};
use column::{Column, Data};
use read::Reader;
#[doc(hidden)]
pub use types::column_type;
pub(crate) use types::data_type;

/// The name of Arrow's canonical extension type for JSON text.
pub const JSON_EXTENSION: &str = "arrow.json";
/// The key of a field's metadata under which Arrow keeps the name of an extension type.
const EXTENSION_KEY: &str = "ARROW:extension:name";

/// Marks a field of strings as JSON text.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_schema::{DataType, Field, Schema};
/// use warpath::Engine;
/// use warpath::columns::{NestedSchema, json_text};
///
/// # fn main() -> Result<(), warpath::Error> {
/// // Without the mark, the column would take strings alone.
/// let fields = vec![json_text(Field::new("any", DataType::Utf8, true))];
/// let schema = NestedSchema::new(Arc::new(Schema::new(fields)))?;
/// let text = "{\"any\":[1]}\n{\"any\":\"s\"}\n";
/// let batch = Engine::builder().build()?.bytes(text).nested(Arc::new(schema)).next().unwrap()?;
/// assert_eq!((batch.rows["any"].null_count(), batch.losses.lost()), (0, 0));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn json_text(field: Field) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(EXTENSION_KEY.to_owned(), JSON_EXTENSION.to_owned());
    field.with_metadata(metadata)
}

/// Returns true if a field has [`json_text`]'s mark.
#[must_use]
pub fn is_json_text(field: &Field) -> bool {
    field.metadata().get(EXTENSION_KEY).is_some_and(|name| name == JSON_EXTENSION)
}

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
    rows: Rows,
    /// The least number of bytes that a row takes in memory.
    row_bytes: usize,
}

/// The source of the rows.
#[derive(Clone, Debug)]
enum Rows {
    /// The fields of the schema are members of the records.
    Members,
    /// The only column has the records themselves.
    Whole,
    /// The only column has values of a type, and instants of a format.
    Values(ColumnType, Option<Arc<Format>>),
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
        Self::of(schema.into(), Rows::Members)
    }

    /// Makes a schema of one column, which has the records themselves: records that are not objects.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn of_whole_records(field: &Field) -> Result<Self, Error> {
        Self::of(Schema::new(plan::nullable(&vec![field.clone()].into())).into(), Rows::Whole)
    }

    /// Makes a schema of one column, which has values of a type. Instants are of a format, if there is one.
    ///
    /// # Errors
    /// [`Error::Usage`] for a type whose columns cannot be made.
    pub(crate) fn of_values(values: &ColumnType, format: Option<Arc<Format>>) -> Result<Self, Error> {
        let field = types::field("value", values)?;
        Self::of(Schema::new(vec![field]).into(), Rows::Values(values.clone(), format))
    }

    fn of(schema: SchemaRef, rows: Rows) -> Result<Self, Error> {
        let made = Self { schema, rows, row_bytes: 0 };
        let row_bytes = made.root()?.row_bytes();
        Ok(Self { row_bytes, ..made })
    }

    /// The column of all records, without a row.
    fn root(&self) -> Result<Column, Error> {
        let fields = self.schema.fields();
        Ok(Column::new(match &self.rows {
            Rows::Members => Data::Struct(plan::members(fields, "$", 0)?),
            Rows::Whole => plan::data(&fields[0], "$", 0)?,
            Rows::Values(values, format) => types::data(values, format.as_ref())?,
        }))
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
        let decode = |records| Isa::best().run(Decode { schema: self, text, records, refused: None });
        records.chunks(most).map(decode).collect()
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
        if let Rows::Members = self.rows {
            paths.push(("$".to_owned(), "struct".to_owned()));
            plan::paths(self.schema.fields(), "$", &mut paths);
        } else {
            plan::of_column(&self.schema.fields()[0], "$".to_owned(), &mut paths);
        }
        paths
    }

    /// Decodes values to the only column, all of them to one array. Also returns the values within them that
    /// the type does not take.
    ///
    /// # Errors
    /// [`Error::Internal`] if the array could not be made.
    pub(crate) fn decode_values(
        &self,
        text: &[u8],
        values: &[Range<usize>],
    ) -> Result<(ArrayRef, Vec<Within>), Error> {
        let mut refused = Vec::new();
        let work = Decode { schema: self, text, records: values, refused: Some(&mut refused) };
        let batch = Isa::best().run(work)?;
        Ok((batch.rows.column(0).clone(), refused))
    }
}

/// The decoding of some records, for one instruction set.
struct Decode<'a> {
    schema: &'a NestedSchema,
    text: &'a [u8],
    records: &'a [Range<usize>],
    /// The refused values, if the caller wants them.
    refused: Option<&'a mut Vec<Within>>,
}

impl Work for Decode<'_> {
    type Output = Result<NestedBatch, Error>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        let Self { schema, text, records, mut refused } = self;
        let mut root = schema.root()?;
        for (number, record) in records.iter().enumerate() {
            let refused = refused.as_deref_mut().map(|refused| (refused, number));
            Reader::new(simd, text, record.clone(), refused).record(&mut root);
        }
        let failed =
            |error: ArrowError| Error::Internal(format!("nested columns could not be made: {error}"));
        let rows = records.len();
        let mut losses = Tally { rows: rows as u64, columns: Vec::new() };
        let arrays = match schema.rows {
            Rows::Members => root.finish_members(&mut losses),
            _ => root.finish(rows, &|row| row, &mut losses).map(|array| vec![array]),
        };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let rows =
            RecordBatch::try_new_with_options(schema.schema.clone(), arrays.map_err(failed)?, &options)
                .map_err(failed)?;
        Ok(NestedBatch { rows, losses })
    }
}
