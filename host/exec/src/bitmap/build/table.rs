//! Columns of tables: Arrow's record batches, and files of them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Schema, TimeUnit};
use warpath_core::error::{Error, InputError};
use warpath_core::pool::stream;
use warpath_cpu::bitmap::maker::BitmapMaker;
use warpath_store::bitmap::built::Built;
use warpath_store::bitmap::column::Kind;
use warpath_store::bitmap::value::Cell;
use warpath_store::bitmap::value::raw::Raw;

use super::{ColumnSpec, build_parts, check_names};

/// Builds columns of an Arrow table. All rows are records. A null is
/// [`Holds::Null`](warpath_store::bitmap::column::Holds::Null), and no row is missing. Messages name the
/// table `name`.
///
/// | type | default kind |
/// |---|---|
/// | integers of any width | [`Kind::Int`]; [`Kind::Float`] if some are past 63 bits, each as the nearest double |
/// | floats of any width | [`Kind::Float`] |
/// | `Utf8`, `LargeUtf8`, `Utf8View` | [`Kind::Text`] |
/// | `Boolean` | [`Kind::Bool`] |
/// | `Timestamp` of any unit | [`Kind::Time`]; one without a time zone is taken as UTC; one that does not fit in 64 bits of nanoseconds is [`Holds::Other`](warpath_store::bitmap::column::Holds::Other) |
/// | `Date32`, `Date64` | [`Kind::Time`]: midnight UTC, or the instant of a `Date64`; beyond 64 bits as for timestamps |
/// | `Dictionary` of one of these | that of its values |
/// | `Null` | [`Kind::Text`] |
///
/// If a column of floats is read as [`Kind::Int`], the integers within the range are its values. If a column
/// of texts is read as [`Kind::Time`], the instants of RFC 3339 are its values.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{Int64Array, RecordBatch, RecordBatchIterator};
/// use warpath::bitmap::{BitmapIndex, ColumnSpec, build_arrow};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let column = Arc::new(Int64Array::from(vec![5, 6, 7])) as _;
/// let batch = RecordBatch::try_from_iter([("n", column)])?;
/// let batches = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
/// let built = build_arrow("numbers", batches, &[ColumnSpec::new("n", "n")])?;
/// assert_eq!(BitmapIndex::from_built(built)?.rows(), 3);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// * [`Error::Usage`] for a column that the table does not have, for equal names, and for values that cannot
///   be cut as wanted.
/// * [`InputError::ColumnType`] for a column of another type.
/// * [`InputError::Table`] if the table cannot be read.
pub fn build_arrow(
    name: &str,
    batches: impl RecordBatchReader + Send,
    specs: &[ColumnSpec],
) -> Result<Built, Error> {
    build_arrow_by(&mut BitmapMaker::cpu(), name, batches, specs)
}

/// Builds columns of an Arrow table, with bitmaps by the given maker.
///
/// # Errors
/// The errors of [`build_arrow`]. [`Error::Device`] if the maker's device fails, or has not enough memory.
pub fn build_arrow_by(
    maker: &mut BitmapMaker,
    name: &str,
    batches: impl RecordBatchReader + Send,
    specs: &[ColumnSpec],
) -> Result<Built, Error> {
    check_names(specs)?;
    let schema = batches.schema();
    let fields = specs.iter().map(|spec| field(name, &schema, spec)).collect::<Result<Vec<_>, _>>()?;
    let without: Vec<Kind> =
        fields.iter().filter_map(|field| kind_of(schema.field(*field).data_type())).collect();
    let failed = |error| failed(name, error);
    let parts = stream::collect(batches.map(|batch| batch.map_err(failed)), |batch: RecordBatch| {
        let column = |(spec, field): (&ColumnSpec, &usize)| {
            let mut raw = Raw::new(spec.kind);
            let array = batch.column(*field);
            let cell = cells(array).ok_or_else(|| unknown(name, &spec.source, array.data_type()))?;
            (0..array.len()).for_each(|row| raw.push(cell(row)));
            Ok(raw)
        };
        let columns = specs.iter().zip(&fields).map(column).collect::<Result<Vec<_>, Error>>()?;
        Ok((batch.num_rows() as u64, columns))
    })?;
    let (rows, parts): (Vec<u64>, _) = parts.into_iter().unzip();
    let sources = specs.iter().map(|spec| spec.source.clone()).collect();
    let columns = build_parts(maker, specs, sources, &without, parts)?;
    Ok(Built { rows: rows.into_iter().sum(), columns, ..Built::default() })
}

fn failed(name: &str, error: ArrowError) -> Error {
    match error {
        // The inner error has the message.
        ArrowError::ExternalError(error) => InputError::unreadable(name, error).into(),
        error => InputError::unreadable(name, error).into(),
    }
}

fn unknown(name: &str, column: &str, found: &DataType) -> Error {
    InputError::ColumnType { name: name.to_owned(), column: column.to_owned(), found: found.to_string() }
        .into()
}

/// The index of a column of the table. Its type has to be a known one.
fn field(name: &str, schema: &Schema, spec: &ColumnSpec) -> Result<usize, Error> {
    let names = || schema.fields().iter().map(|field| field.name().as_str());
    let Some(at) = names().position(|name| name == spec.source) else {
        let known: Vec<String> = names().map(|name| format!("`{name}`")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(Error::Usage(format!("{name}: has no column `{}`; it has {known}", spec.source)));
    };
    if names().filter(|name| *name == spec.source).count() > 1 {
        return Err(Error::Usage(format!("{name}: has several columns `{}`", spec.source)));
    }
    let found = schema.field(at).data_type();
    kind_of(found).map(|_| at).ok_or_else(|| unknown(name, &spec.source, found))
}

/// The kind of a type, for a column that has no value.
fn kind_of(data_type: &DataType) -> Option<Kind> {
    match data_type {
        DataType::Boolean => Some(Kind::Bool),
        data_type if data_type.is_integer() => Some(Kind::Int),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => Some(Kind::Float),
        DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Kind::Text),
        DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64 => Some(Kind::Time),
        DataType::Dictionary(_, values) => kind_of(values),
        _ => None,
    }
}

/// A function from a row to its cell.
type Cells<'a> = Box<dyn Fn(usize) -> Cell<'a> + 'a>;

/// Cells of an array that may contain nulls. `cell` converts the rows that are not null.
fn nullable<'a, A: Array>(array: &'a A, cell: impl Fn(&'a A, usize) -> Cell<'a> + 'a) -> Cells<'a> {
    Box::new(move |row| if array.is_null(row) { Cell::Null } else { cell(array, row) })
}

fn primitive<'a, T: ArrowPrimitiveType>(
    array: &'a dyn Array,
    cell: impl Fn(T::Native) -> Cell<'a> + 'a,
) -> Cells<'a> {
    nullable(array.as_primitive::<T>(), move |array, row| cell(array.value(row)))
}

/// The cells of an array, if its type is known.
fn cells(array: &dyn Array) -> Option<Cells<'_>> {
    fn int<'a>(value: impl Into<i64>) -> Cell<'a> {
        Cell::Int(value.into())
    }
    fn time<'a>(value: i64, nanoseconds: i64) -> Cell<'a> {
        value.checked_mul(nanoseconds).map_or(Cell::Other, Cell::Time)
    }
    Some(match array.data_type() {
        DataType::Null => Box::new(|_| Cell::Null),
        DataType::Boolean => nullable(array.as_boolean(), |array, row| Cell::Bool(array.value(row))),
        DataType::Int8 => primitive::<Int8Type>(array, int),
        DataType::Int16 => primitive::<Int16Type>(array, int),
        DataType::Int32 => primitive::<Int32Type>(array, int),
        DataType::Int64 => primitive::<Int64Type>(array, int),
        DataType::UInt8 => primitive::<UInt8Type>(array, int),
        DataType::UInt16 => primitive::<UInt16Type>(array, int),
        DataType::UInt32 => primitive::<UInt32Type>(array, int),
        DataType::UInt64 => primitive::<UInt64Type>(array, |value| {
            i64::try_from(value).map_or(Cell::Float(value as f64), Cell::Int)
        }),
        DataType::Float16 => primitive::<Float16Type>(array, |value| Cell::Float(value.to_f64())),
        DataType::Float32 => primitive::<Float32Type>(array, |value| Cell::Float(value.into())),
        DataType::Float64 => primitive::<Float64Type>(array, Cell::Float),
        DataType::Utf8 => nullable(array.as_string::<i32>(), |array, row| Cell::Text(array.value(row))),
        DataType::LargeUtf8 => nullable(array.as_string::<i64>(), |array, row| Cell::Text(array.value(row))),
        DataType::Utf8View => nullable(array.as_string_view(), |array, row| Cell::Text(array.value(row))),
        DataType::Timestamp(TimeUnit::Second, _) => {
            primitive::<TimestampSecondType>(array, |value| time(value, 1_000_000_000))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            primitive::<TimestampMillisecondType>(array, |value| time(value, 1_000_000))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            primitive::<TimestampMicrosecondType>(array, |value| time(value, 1_000))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            primitive::<TimestampNanosecondType>(array, Cell::Time)
        }
        DataType::Date32 => primitive::<Date32Type>(array, |days| time(days.into(), 86_400_000_000_000)),
        DataType::Date64 => primitive::<Date64Type>(array, |value| time(value, 1_000_000)),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary_opt()?;
            if dictionary.values().is_empty() {
                return Some(Box::new(|_| Cell::Null));
            }
            let (keys, value) = (dictionary.normalized_keys(), cells(dictionary.values().as_ref())?);
            Box::new(move |row| if array.is_null(row) { Cell::Null } else { value(keys[row]) })
        }
        _ => return None,
    })
}

#[cfg(feature = "arrow-ipc")]
pub use file::build_table;

/// Files of tables.
#[cfg(feature = "arrow-ipc")]
mod file {
    use std::path::Path;

    use arrow_schema::Schema;
    use warpath_core::error::{Error, InputError};
    use warpath_cpu::bitmap::maker::BitmapMaker;
    use warpath_store::bitmap::built::Built;

    use super::super::Opened;
    use super::{ColumnSpec, build_arrow_by};
    use crate::table;

    /// Builds columns of a file that is a table: a Parquet file, an Arrow file or an Arrow stream, recognised
    /// by its first bytes. Only the columns of `specs` are read. `maker` makes the bitmaps.
    ///
    /// # Errors
    /// * The errors of [`build_arrow`](super::build_arrow), and those of the file.
    /// * [`Error::Usage`] for a file that is not a table. [`InputError::NotBuilt`] for a Parquet file, if the
    ///   feature `parquet` is off.
    /// * [`Error::Device`] if the maker's device fails, or has not enough memory.
    pub fn build_table(maker: &mut BitmapMaker, path: &Path, specs: &[ColumnSpec]) -> Result<Built, Error> {
        let opened = Opened::new(path)?;
        let Some(form) = opened.table()? else {
            return Err(Error::Usage(format!("{}: is not a Parquet or Arrow table", opened.name)));
        };
        let file = opened.file.try_clone();
        let file = file.map_err(|source| InputError::Io { name: opened.name.clone(), source })?;
        let batches = table::of_file(file, form, &opened.name, BATCH_ROWS, &|schema| wanted(schema, specs))?;
        let built = build_arrow_by(maker, &opened.name, batches, specs)?;
        Ok(Built { stamp: Some(opened.settled()?), ..built })
    }

    /// The most rows of a batch. One thread processes a batch.
    const BATCH_ROWS: usize = 1 << 16;

    /// The wanted columns, in order. If a wanted column does not exist, all columns, so that the error can
    /// list their names.
    fn wanted(schema: &Schema, specs: &[ColumnSpec]) -> Vec<usize> {
        let known = |name: &str| specs.iter().any(|spec| spec.source == name);
        let every = 0..schema.fields().len();
        let all_known = specs.iter().all(|spec| schema.fields().find(&spec.source).is_some());
        every.filter(|at| !all_known || known(schema.field(*at).name())).collect()
    }
}
