//! Columns from Arrow's arrays of strings and of bytes, and back.

use std::sync::Arc;

use arrow_array::types::{ByteArrayType, ByteViewType, GenericBinaryType, GenericStringType};
use arrow_array::{Array, ArrayRef, GenericByteArray, GenericByteViewArray};
use arrow_array::{
    BinaryArray, BinaryViewArray, LargeBinaryArray, LargeStringArray, StringArray, StringViewArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use warpath_core::error::{ColumnError, Error};

use super::super::Offset;
use super::{StringColumn, StringKind, Strings};

/// Converts Arrow's validity; a slice may begin anywhere in a byte.
fn validity(array: &dyn Array) -> Option<Vec<u64>> {
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0)?;
    Some(nulls.inner().bit_chunks().iter_padded().collect())
}

fn of_bytes<T: ByteArrayType>(kind: StringKind, array: &GenericByteArray<T>) -> Result<StringColumn, Error>
where
    T::Offset: Offset,
{
    StringColumn::compress(kind, array.value_data(), array.value_offsets(), validity(array).as_deref())
}

fn of_views<T: ByteViewType>(kind: StringKind, array: &GenericByteViewArray<T>) -> Result<StringColumn, Error>
where
    T::Native: AsRef<[u8]>,
{
    let (mut values, mut offsets) = (Vec::new(), vec![0_u64]);
    for string in array.iter() {
        values.extend_from_slice(string.map_or(&[][..], AsRef::as_ref));
        offsets.push(values.len() as u64);
    }
    StringColumn::compress(kind, &values, &offsets, validity(array).as_deref())
}

impl StringColumn {
    /// Compresses an array of `Utf8`, `LargeUtf8` or `Utf8View`, or of `Binary`, `LargeBinary` or
    /// `BinaryView`, slices too. Nulls remain nulls.
    ///
    /// # Errors
    /// [`Error::Usage`] for an array of another type.
    pub fn from_arrow(array: &dyn Array) -> Result<Self, Error> {
        let any = array.as_any();
        if let Some(array) = any.downcast_ref::<StringArray>() {
            of_bytes(StringKind::Utf8, array)
        } else if let Some(array) = any.downcast_ref::<LargeStringArray>() {
            of_bytes(StringKind::Utf8, array)
        } else if let Some(array) = any.downcast_ref::<BinaryArray>() {
            of_bytes(StringKind::Binary, array)
        } else if let Some(array) = any.downcast_ref::<LargeBinaryArray>() {
            of_bytes(StringKind::Binary, array)
        } else if let Some(array) = any.downcast_ref::<StringViewArray>() {
            of_views(StringKind::Utf8, array)
        } else if let Some(array) = any.downcast_ref::<BinaryViewArray>() {
            of_views(StringKind::Binary, array)
        } else {
            Err(Error::Usage(format!("an array of {} is none of strings or of bytes", array.data_type())))
        }
    }

    /// Decodes all strings to an array of `Utf8`, `LargeUtf8`, `Binary` or `LargeBinary`, whatever the
    /// column's kind.
    ///
    /// # Errors
    /// Those of [`Self::decode`]. [`ColumnError::NotUtf8`] for an array of text where a string is not UTF-8.
    /// [`ColumnError::TooLong`] where 32-bit offsets do not suffice. [`Error::Usage`] for another type.
    pub fn to_arrow(&self, data_type: &DataType) -> Result<ArrayRef, Error> {
        let too_large = |width: u64| {
            let bytes = self.bytes();
            let fits = width == 64 || i32::try_from(bytes).is_ok();
            if fits { Ok(()) } else { Err(ColumnError::TooLong { bytes }) }
        };
        match data_type {
            DataType::Utf8 | DataType::Binary => too_large(32)?,
            DataType::LargeUtf8 | DataType::LargeBinary => too_large(64)?,
            other => return Err(Error::Usage(format!("strings do not become an array of {other}"))),
        }
        let strings = self.decode()?;
        if matches!(data_type, DataType::Utf8 | DataType::LargeUtf8) {
            self.check_utf8(&strings.values, &strings.offsets)?;
        }
        Ok(match data_type {
            DataType::Utf8 => array::<GenericStringType<i32>>(strings),
            DataType::LargeUtf8 => array::<GenericStringType<i64>>(strings),
            DataType::Binary => array::<GenericBinaryType<i32>>(strings),
            _ => array::<GenericBinaryType<i64>>(strings),
        })
    }
}

/// Converts decoded strings to an array. The strings are valid, fit its offsets, and are UTF-8 for an array
/// of text.
fn array<T: ByteArrayType>(strings: Strings) -> ArrayRef {
    let Strings { values, offsets, validity } = strings;
    let count = offsets.len() - 1;
    let offsets: Vec<T::Offset> =
        offsets.into_iter().map(|offset| T::Offset::usize_as(offset as usize)).collect();
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let nulls = validity.map(|words| {
        let bits = BooleanBuffer::new(ScalarBuffer::from(words).into_inner(), 0, count);
        NullBuffer::new(bits)
    });
    // SAFETY: `decode` returns offsets that ascend from 0 to the length of `values`, and one validity bit per
    // string, which make up `nulls`. For an array of text, `check_utf8` in the caller has found each string
    // to be UTF-8.
    Arc::new(unsafe { GenericByteArray::<T>::new_unchecked(offsets, Buffer::from_vec(values), nulls) })
}
