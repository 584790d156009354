//! The types of columns as Arrow's types, and the reverse.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use warpath_core::error::Error;
use warpath_lang::column_type::{ColumnType, StructField};

use crate::columns::arrays::UTC;

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

/// The Arrow type of a column type. Offsets have 32 bits.
pub fn data_type(values: &ColumnType) -> Result<DataType, Error> {
    Ok(match values {
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::Int64 => DataType::Int64,
        ColumnType::Float64 => DataType::Float64,
        ColumnType::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale as i8),
        ColumnType::Utf8 | ColumnType::Text | ColumnType::Json => DataType::Utf8,
        ColumnType::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
        ColumnType::Date => DataType::Date32,
        ColumnType::Quoted(number) => data_type(number)?,
        ColumnType::List(items) => DataType::List(Arc::new(field("item", items)?)),
        ColumnType::Struct(fields) => DataType::Struct(self::fields(fields)?),
        other => return Err(Error::Usage(format!("no columns of the type `{other}` can be made"))),
    })
}

/// The nullable field of a column type.
fn field(name: &str, values: &ColumnType) -> Result<Field, Error> {
    let field = Field::new(name, data_type(values)?, true);
    Ok(if *values == ColumnType::Json { json_text(field) } else { field })
}

fn fields(fields: &[StructField]) -> Result<Fields, Error> {
    fields.iter().map(|StructField { name, values }| field(name, values)).collect()
}

/// The column type of an Arrow field; `None` if there is none: for maps, and for structs and lists that have
/// such parts.
// Hidden: the layers above need it.
#[doc(hidden)]
#[must_use]
pub fn column_type(field: &Field) -> Option<ColumnType> {
    Some(match field.data_type() {
        DataType::Boolean => ColumnType::Boolean,
        DataType::Int64 => ColumnType::Int64,
        DataType::Float64 => ColumnType::Float64,
        DataType::Decimal128(precision, scale) => {
            ColumnType::Decimal { precision: *precision, scale: u8::try_from(*scale).ok()? }
        }
        DataType::Utf8 if !is_json_text(field) => ColumnType::Utf8,
        DataType::Utf8 | DataType::Null => ColumnType::Json,
        DataType::Timestamp(..) => ColumnType::Time,
        DataType::Date32 => ColumnType::Date,
        DataType::List(items) => ColumnType::List(Box::new(column_type(items)?)),
        DataType::Struct(fields) => {
            let field = |field: &Arc<Field>| {
                Some(StructField { name: field.name().clone(), values: column_type(field)? })
            };
            ColumnType::Struct(fields.iter().map(field).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}
