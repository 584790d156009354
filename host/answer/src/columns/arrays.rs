//! Values as arrays of the `arrow` crates. The arrays take over the vectors without copying.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, BooleanArray, GenericStringArray, OffsetSizeTrait, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;

use super::{Items, Offsets, Values};

/// The time zone of instants.
pub(crate) const UTC: &str = "UTC";

impl Items {
    /// Converts the values to Arrow.
    pub(crate) fn into_arrow(self) -> Result<ArrayRef, ArrowError> {
        fn fixed<T: ArrowPrimitiveType>(
            values: Vec<T::Native>,
            nulls: Option<NullBuffer>,
        ) -> Result<PrimitiveArray<T>, ArrowError> {
            PrimitiveArray::try_new(ScalarBuffer::from(values), nulls)
        }

        let len = self.len;
        let nulls = nulls(self.validity, len)?;
        let array: ArrayRef = match self.values {
            Values::Boolean(truth) => Arc::new(BooleanArray::new(bits(truth, len)?, nulls)),
            Values::Int64(values) => Arc::new(fixed::<Int64Type>(values, nulls)?),
            Values::Float64(values) => Arc::new(fixed::<Float64Type>(values, nulls)?),
            Values::Decimal { precision, scale, units } => {
                let array = fixed::<Decimal128Type>(units, nulls)?;
                Arc::new(array.with_precision_and_scale(precision, scale as i8)?)
            }
            Values::Time(instants) => {
                Arc::new(fixed::<TimestampNanosecondType>(instants, nulls)?.with_timezone(UTC))
            }
            Values::Date(days) => Arc::new(fixed::<Date32Type>(days, nulls)?),
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

/// The nulls of `len` values; `None` if all are valid.
pub(crate) fn nulls(validity: Vec<u32>, len: usize) -> Result<Option<NullBuffer>, ArrowError> {
    Ok(Some(NullBuffer::new(bits(validity, len)?)).filter(|nulls| nulls.null_count() > 0))
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

/// Makes offsets, which have to ascend from 0 or more.
pub(crate) fn ascending<O: OffsetSizeTrait>(offsets: Vec<O>) -> Result<OffsetBuffer<O>, ArrowError> {
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
