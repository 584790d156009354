//! Columns as arrays of the `arrow` crates. The arrays take over the vectors without copying.

use std::sync::Arc;

use arrow_array::{ArrayRef, GenericListArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema as ArrowSchema, SchemaRef};
use warpath_lang::column_type::ColumnType;

use super::arrays::ascending;
use super::{Column, ColumnBatch, OffsetWidth, Offsets, Schema};
use crate::nested;

impl Schema {
    /// The Arrow schema of all batches: a nullable field for each column, in order.
    ///
    /// | column | Arrow type | with [`OffsetWidth::Large`] |
    /// |---|---|---|
    /// | [`Boolean`](ColumnType::Boolean), [`Int64`](ColumnType::Int64), [`Float64`](ColumnType::Float64) | of the same name | |
    /// | [`Decimal`](ColumnType::Decimal) | `Decimal128` | |
    /// | [`Quoted`](ColumnType::Quoted) | that of its numbers | |
    /// | [`Time`](ColumnType::Time) | `Timestamp` of nanoseconds, UTC | |
    /// | [`Date`](ColumnType::Date) | `Date32` | |
    /// | [`Utf8`](ColumnType::Utf8), [`Text`](ColumnType::Text), [`Json`](ColumnType::Json) | `Utf8` | `LargeUtf8` |
    /// | [`List`](ColumnType::List), [`Struct`](ColumnType::Struct) | `List` of nullable fields called `item`, `Struct` of nullable fields; offsets have 32 bits | |
    /// | any, of a path that is not singular | `List` of nullable fields called `item` | `LargeList` |
    #[must_use]
    pub fn to_arrow(&self) -> SchemaRef {
        let large = self.width == OffsetWidth::Large;
        let field = |column: &warpath_lang::program::Column| {
            let items = match &column.values {
                ColumnType::Utf8 | ColumnType::Text | ColumnType::Json if large => DataType::LargeUtf8,
                // A schema has no other types than those of Arrow.
                values => nested::data_type(values).unwrap_or(DataType::Utf8),
            };
            let values = match (column.singular, large) {
                (true, _) => items,
                (false, true) => DataType::LargeList(Arc::new(Field::new_list_field(items, true))),
                (false, false) => DataType::List(Arc::new(Field::new_list_field(items, true))),
            };
            Field::new(&column.name, values, true)
        };
        Arc::new(ArrowSchema::new(self.program.columns().iter().map(field).collect::<Vec<_>>()))
    }
}

impl ColumnBatch {
    /// Converts the batch to Arrow. `schema` is [`Schema::to_arrow`] of the schema that made the batch.
    ///
    /// # Errors
    /// [`ArrowError`] if the batch is of another schema, or if the caller made a column inconsistent.
    pub fn into_arrow(self, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
        let arrays = self.columns.into_iter().map(Column::into_arrow).collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(schema.clone(), arrays, &options)
    }
}

impl Column {
    /// Converts the column to Arrow: an array of values, or of lists of values called `item`.
    ///
    /// # Errors
    /// [`ArrowError`] if the caller made the column inconsistent.
    pub fn into_arrow(self) -> Result<ArrayRef, ArrowError> {
        let items = self.items.into_arrow()?;
        match self.lists {
            None => Ok(items),
            Some(Offsets::Small(offsets)) => lists(offsets, items),
            Some(Offsets::Large(offsets)) => lists(offsets, items),
        }
    }
}

fn lists<O: OffsetSizeTrait>(offsets: Vec<O>, items: ArrayRef) -> Result<ArrayRef, ArrowError> {
    let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    Ok(Arc::new(GenericListArray::try_new(field, ascending(offsets)?, items, None)?))
}

/// Returns true if each column of a schema has values of a fixed width, or strings: no lists, structs or
/// dictionaries.
// Hidden: the encoders of tables alone need it.
#[doc(hidden)]
#[must_use]
pub fn is_flat(schema: &ArrowSchema) -> bool {
    let is_flat = |values: &DataType| {
        matches!(values, DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8)
            || values.primitive_width().is_some()
    };
    schema.fields().iter().all(|field| is_flat(field.data_type()))
}
