//! Columns as arrays of the `arrow` crates. The arrays take over the vectors without copying.

use std::sync::Arc;

use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampNanosecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, GenericListArray, GenericStringArray, OffsetSizeTrait, PrimitiveArray,
    RecordBatch, RecordBatchOptions,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema as ArrowSchema, SchemaRef};
use warpath_lang::column_type::ColumnType;

use super::{Column, ColumnBatch, Items, OffsetWidth, Offsets, Schema, Values};
use crate::nested;

/// The time zone of instants.
const UTC: &str = "UTC";

impl Schema {
    /// The Arrow schema of all batches: a nullable field for each column, in order.
    ///
    /// | column | Arrow type | with [`OffsetWidth::Large`] |
    /// |---|---|---|
    /// | [`Boolean`](ColumnType::Boolean), [`Int64`](ColumnType::Int64), [`Float64`](ColumnType::Float64) | of the same name | |
    /// | [`Decimal`](ColumnType::Decimal) | `Decimal128` | |
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

impl Items {
    fn into_arrow(self) -> Result<ArrayRef, ArrowError> {
        let (len, has_nulls) = (self.len, self.nulls() > 0);
        let validity = bits(self.validity, len)?;
        let nulls = has_nulls.then(|| NullBuffer::new(validity));
        let array: ArrayRef = match self.values {
            Values::Boolean(truth) => Arc::new(BooleanArray::new(bits(truth, len)?, nulls)),
            Values::Int64(values) => {
                Arc::new(PrimitiveArray::<Int64Type>::try_new(ScalarBuffer::from(values), nulls)?)
            }
            Values::Float64(values) => {
                Arc::new(PrimitiveArray::<Float64Type>::try_new(ScalarBuffer::from(values), nulls)?)
            }
            Values::Decimal { precision, scale, units } => Arc::new(
                PrimitiveArray::<Decimal128Type>::try_new(ScalarBuffer::from(units), nulls)?
                    .with_precision_and_scale(precision, scale as i8)?,
            ),
            Values::Time(instants) => Arc::new(
                PrimitiveArray::<TimestampNanosecondType>::try_new(ScalarBuffer::from(instants), nulls)?
                    .with_timezone(UTC),
            ),
            Values::Date(days) => {
                Arc::new(PrimitiveArray::<Date32Type>::try_new(ScalarBuffer::from(days), nulls)?)
            }
            Values::Utf8(Offsets::Small(offsets), bytes) => strings(offsets, bytes, nulls)?,
            Values::Utf8(Offsets::Large(offsets), bytes) => strings(offsets, bytes, nulls)?,
            Values::Nested(array) => array,
        };
        if array.len() != len {
            return Err(ArrowError::InvalidArgumentError(format!("{} values for {len} items", array.len())));
        }
        Ok(array)
    }
}

/// Converts words to Arrow's bits, lowest first.
fn bits(words: Vec<u32>, len: usize) -> Result<BooleanBuffer, ArrowError> {
    if words.len() != len.div_ceil(32) {
        return Err(ArrowError::InvalidArgumentError(format!(
            "{} words of bits for {len} items",
            words.len()
        )));
    }
    // On a little-endian machine this leaves the words unchanged.
    let words: Vec<u32> = words.into_iter().map(u32::to_le).collect();
    Ok(BooleanBuffer::new(Buffer::from_vec(words), 0, len))
}

fn ascending<O: OffsetSizeTrait>(offsets: Vec<O>) -> Result<OffsetBuffer<O>, ArrowError> {
    // All pairs are compared, without a branch after each, so that the loop is made of vectors.
    let pairs = offsets.iter().zip(offsets.get(1..).unwrap_or_default());
    let ascends = pairs.fold(true, |ascends, (start, end)| ascends & (start <= end));
    if !ascends || offsets.first().is_none_or(|first| *first < O::default()) {
        return Err(ArrowError::InvalidArgumentError("offsets that do not ascend".into()));
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
}

/// Makes an array of strings. It is [`GenericStringArray::try_new`], whose check of UTF-8 takes several times
/// as long.
fn strings<O: OffsetSizeTrait>(
    offsets: Vec<O>,
    bytes: Vec<u8>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let offsets = ascending(offsets)?;
    let wrong = |what: &str| ArrowError::InvalidArgumentError(what.to_owned());
    let are_boundaries = if bytes.is_ascii() {
        // Each offset is a boundary, unless it is past the end.
        offsets[offsets.len() - 1].as_usize() <= bytes.len()
    } else {
        let text = simdutf8::basic::from_utf8(&bytes).map_err(|_| wrong("strings that are not UTF-8"))?;
        // No offset past the end is a boundary.
        offsets.iter().all(|offset| text.is_char_boundary(offset.as_usize()))
    };
    if !are_boundaries {
        return Err(wrong("offsets within a character, or past the end"));
    }
    if nulls.as_ref().is_some_and(|nulls| nulls.len() != offsets.len() - 1) {
        return Err(wrong("a number of nulls that is not that of the strings"));
    }
    // SAFETY: `try_new` would not fail, because the lines above have made its checks: the bytes are UTF-8,
    // the offsets ascend and are boundaries of characters, and each string has one bit of validity.
    Ok(Arc::new(unsafe { GenericStringArray::new_unchecked(offsets, Buffer::from_vec(bytes), nulls) }))
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
