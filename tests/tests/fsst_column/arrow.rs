//! Columns as Arrow arrays.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, Int64Array, LargeBinaryArray, LargeStringArray,
    StringArray, StringViewArray,
};
use arrow_schema::DataType;

use super::*;

#[test]
fn arrow_arrays_come_back() -> Result<()> {
    let texts = vec![Some("http://a/1"), None, Some(""), Some("ünï"), Some("http://a/2"), None, Some("x")];
    let bytes: Vec<Option<&[u8]>> = texts.iter().map(|text| text.map(str::as_bytes)).collect();
    let arrays: Vec<(ArrayRef, DataType)> = vec![
        (Arc::new(StringArray::from(texts.clone())), DataType::Utf8),
        (Arc::new(LargeStringArray::from(texts.clone())), DataType::LargeUtf8),
        (Arc::new(StringViewArray::from(texts.clone())), DataType::LargeUtf8),
        (Arc::new(BinaryArray::from(bytes.clone())), DataType::Binary),
        (Arc::new(LargeBinaryArray::from(bytes.clone())), DataType::LargeBinary),
        (Arc::new(BinaryViewArray::from(bytes)), DataType::Binary),
    ];
    for (array, data_type) in arrays {
        for from in 0..=texts.len() {
            for len in 0..=texts.len() - from {
                let slice = array.slice(from, len);
                let column = StringColumn::from_arrow(&*slice)?;
                ensure!(column.nulls() == slice.null_count() as u64);
                let back = column.to_arrow(&data_type)?;
                ensure!(back.to_data().validate_full().is_ok() && back.data_type() == &data_type);
                let text = column.to_arrow(&DataType::Utf8)?;
                let text = text.as_any().downcast_ref::<StringArray>().unwrap();
                ensure!(text.iter().eq(texts[from..from + len].iter().copied()));
                if slice.data_type() == &data_type {
                    ensure!(*back == *slice);
                }
                let is_text =
                    matches!(slice.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
                ensure!((column.kind() == StringKind::Utf8) == is_text);
            }
        }
    }
    ensure!(matches!(StringColumn::from_arrow(&Int64Array::from(vec![1])), Err(Error::Usage(_))));
    ensure!(matches!(column(&["a"]).to_arrow(&DataType::Int64), Err(Error::Usage(_))));
    // Not text: for the second alone.
    let column = StringColumn::compress(StringKind::Binary, "aé".as_bytes(), &[0, 2, 3], None)?;
    let error = column.to_arrow(&DataType::LargeUtf8).unwrap_err();
    ensure!(matches!(error, Error::Column(ColumnError::NotUtf8 { row: 0, .. })), "{error}");
    ensure!(column.to_arrow(&DataType::LargeBinary)?.len() == 2);
    Ok(())
}

#[test]
fn more_bytes_than_32_bits_reach_are_told_before_they_are_decoded() -> Result<()> {
    let table = table(&[vec![b'x'; 8]]);
    let codes = vec![0; 1 << 28];
    let column = StringColumn::from_codes(StringKind::Utf8, &table, codes, vec![0, 1 << 27, 1 << 28], None)?;
    let error = column.to_arrow(&DataType::Utf8).unwrap_err();
    ensure!(
        matches!(error, Error::Column(ColumnError::TooLong { bytes, .. }) if bytes == 1 << 31),
        "{error}"
    );
    Ok(())
}
