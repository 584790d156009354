//! A column chunk as values and levels.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;

use super::levels::no_values;
use super::pages::Pages;
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

/// Decodes the pages of a chunk, all or some of them: all rows, or some.
pub(super) fn column(
    chunk: &ColumnChunkMetaData,
    (leaf, layout): (NodeIx, Layout),
    pages: Bytes,
    some: Option<Range<u32>>,
) -> Result<Column> {
    guarded(|| {
        let pages = Pages::new(pages, chunk)?;
        // All rows are as many as there are: callers compare them.
        let rows = some.map_or(0..usize::MAX, |rows| rows.start as usize..rows.end as usize);
        let mut column = Column { node: leaf, values: no_values(layout), ..Column::default() };
        let levels = (&mut column.definitions, &mut column.repetitions);
        match &mut column.values {
            Values::Boolean(values) => {
                *values = numbers::<BoolType>(chunk, pages, rows, levels)?;
            }
            Values::Int(values) => {
                *values = numbers::<Int64Type>(chunk, pages, rows, levels)?;
            }
            Values::Double(values) => {
                *values = numbers::<DoubleType>(chunk, pages, rows, levels)?;
            }
            Values::Bytes(strings) => {
                let mut is_long = false;
                let take = |batch: &mut Vec<ByteArray>| is_long |= take_strings(batch, strings).is_none();
                read::<ByteArrayType>(chunk, pages, rows, levels, take)?;
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
    rows: Range<usize>,
    levels: Levels<'_>,
) -> Result<Vec<T::T>> {
    let mut all = Vec::new();
    read::<T>(chunk, pages, rows, levels, |batch| all.append(batch))?;
    Ok(all)
}

/// Definition and repetition levels.
type Levels<'a> = (&'a mut Vec<i16>, &'a mut Vec<i16>);

/// Reads rows. `take` empties the values of each batch.
fn read<T: DataType>(
    chunk: &ColumnChunkMetaData,
    pages: Pages,
    rows: Range<usize>,
    (definitions, repetitions): Levels<'_>,
    mut take: impl FnMut(&mut Vec<T::T>),
) -> Result<()> {
    let has_lists = chunk.column_descr().max_rep_level() > 0;
    let mut reader = ColumnReaderImpl::<T>::new(chunk.column_descr_ptr(), Box::new(pages));
    let mut batch = Vec::new();
    let mut left = rows.len();
    if reader.skip_records(rows.start)? < rows.start {
        return Ok(());
    }
    // A row of a list ends where the next one begins, which the reader looks for.
    while left > 0 {
        let repetitions = has_lists.then_some(&mut *repetitions);
        let (read, _, entries) =
            reader.read_records(left.min(BATCH), Some(definitions), repetitions, &mut batch)?;
        take(&mut batch);
        if read == 0 && entries == 0 {
            break;
        }
        left = left.saturating_sub(read);
    }
    Ok(())
}
