//! A column chunk as values and levels.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;

use super::levels::no_values;
use super::pages::{Held, Pages};
use crate::group::{Column, Layout, NodeIx, Strings, Values};

/// Rows that are decoded at once.
const BATCH: usize = 8192;

/// Runs the library for Parquet on bytes whose checksum is right. It panics on some inputs that no writer
/// makes.
pub(super) fn guarded<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    let panicked =
        |_| Err(ParquetError::General("the library for Parquet failed on invalid contents".into()));
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(panicked)
}

/// Decodes a chunk that begins at `offset`.
pub(super) fn column(
    chunk: &ColumnChunkMetaData,
    (leaf, layout): (NodeIx, Layout),
    (offset, bytes): (u64, Bytes),
    rows: u32,
) -> Result<Column> {
    guarded(|| {
        let pages = Pages::new(Held { offset, bytes }, chunk, rows)?;
        let mut column = Column { node: leaf, values: no_values(layout), ..Column::default() };
        match &mut column.values {
            Values::Boolean(values) => {
                *values =
                    numbers::<BoolType>(chunk, pages, &mut column.definitions, &mut column.repetitions)?;
            }
            Values::Int(values) => {
                *values =
                    numbers::<Int64Type>(chunk, pages, &mut column.definitions, &mut column.repetitions)?;
            }
            Values::Double(values) => {
                *values =
                    numbers::<DoubleType>(chunk, pages, &mut column.definitions, &mut column.repetitions)?;
            }
            Values::Bytes(strings) => {
                let mut is_long = false;
                let take = |batch: &mut Vec<ByteArray>| is_long |= take_strings(batch, strings).is_none();
                read::<ByteArrayType>(chunk, pages, &mut column.definitions, &mut column.repetitions, take)?;
                if is_long {
                    return Err(ParquetError::General("the strings of a column have more than 4 GiB".into()));
                }
            }
        }
        Ok(column)
    })
}

/// Moves strings of a batch to those before. `None` if they have 4 GiB or more together.
fn take_strings(batch: &mut Vec<ByteArray>, strings: &mut Strings) -> Option<()> {
    for value in batch.drain(..) {
        let end = strings.bytes.len().checked_add(value.len())?;
        strings.ends.push(u32::try_from(end).ok()?);
        strings.bytes.extend_from_slice(value.data());
    }
    Some(())
}

fn numbers<T: DataType>(
    chunk: &ColumnChunkMetaData,
    pages: Pages,
    definitions: &mut Vec<i16>,
    repetitions: &mut Vec<i16>,
) -> Result<Vec<T::T>> {
    let mut all = Vec::new();
    read::<T>(chunk, pages, definitions, repetitions, |batch| all.append(batch))?;
    Ok(all)
}

/// Reads all rows. `take` empties the values of each batch.
fn read<T: DataType>(
    chunk: &ColumnChunkMetaData,
    pages: Pages,
    definitions: &mut Vec<i16>,
    repetitions: &mut Vec<i16>,
    mut take: impl FnMut(&mut Vec<T::T>),
) -> Result<()> {
    let has_lists = chunk.column_descr().max_rep_level() > 0;
    let mut reader = ColumnReaderImpl::<T>::new(chunk.column_descr_ptr(), Box::new(pages));
    let mut batch = Vec::new();
    loop {
        let repetitions = has_lists.then_some(&mut *repetitions);
        let (rows, _, levels) = reader.read_records(BATCH, Some(definitions), repetitions, &mut batch)?;
        take(&mut batch);
        if rows == 0 && levels == 0 {
            return Ok(());
        }
    }
}
