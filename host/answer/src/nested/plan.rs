//! Columns made from Arrow's types.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use warpath_core::error::Error;
use warpath_core::time::Unit;
use warpath_lang::column_type::ColumnType;

use super::column::{Lists, Members, Nested, entries_of};
use super::types::column_type;
use crate::columns::OffsetWidth;
use crate::columns::build::{Builder, Data, Leaf};

/// The deepest nesting of columns in a record. Readers of Arrow and Parquet take less than 64 levels. Each
/// level takes a call while a record is decoded, on the stack of a worker.
const MAX_DEPTH: usize = 128;

/// The fields, all of them nullable but the keys of maps.
pub fn nullable(fields: &Fields) -> Fields {
    fields.iter().map(|field| nullable_field(field)).collect()
}

fn nullable_field(field: &Field) -> Field {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(nullable(fields)),
        DataType::List(element) => DataType::List(nullable_field(element).into()),
        DataType::Map(entry, is_sorted) => match entry.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                let fields = [fields[0].clone(), nullable_field(&fields[1]).into()];
                let entry = Field::new(entry.name(), DataType::Struct(fields.into_iter().collect()), false);
                DataType::Map(entry.into(), *is_sorted)
            }
            _ => field.data_type().clone(),
        },
        other => other.clone(),
    };
    field.clone().with_data_type(data_type).with_nullable(true)
}

/// The column of a field with a path, at a depth. The records themselves are at depth 0.
pub fn builder(field: &Field, path: &str, depth: usize) -> Result<Builder, Error> {
    if depth > MAX_DEPTH && field.data_type().is_nested() {
        return Err(Error::Usage(format!("{path}: columns nest deeper than {MAX_DEPTH} levels")));
    }
    let leaf = |values: &ColumnType| Leaf::new(values, None, OffsetWidth::Small);
    let inner = |field: &Field, step: &str| builder(field, &format!("{path}{step}"), depth + 1);
    Ok(Builder::of(match field.data_type() {
        DataType::Null => Data::Nested(Nested::Null),
        DataType::Decimal128(precision, scale) => {
            // The array has the same bits as its scale, which may be negative.
            Data::Leaf(leaf(&ColumnType::Decimal { precision: *precision, scale: *scale as u8 })?)
        }
        DataType::Timestamp(unit, _) => {
            let unit = match unit {
                TimeUnit::Second => Unit::Second,
                TimeUnit::Millisecond => Unit::Millisecond,
                TimeUnit::Microsecond => Unit::Microsecond,
                TimeUnit::Nanosecond => Unit::Nanosecond,
            };
            Data::Leaf(Leaf { unit, ..leaf(&ColumnType::Time)? })
        }
        DataType::Struct(fields) => {
            let member = |field: &'_ Arc<Field>| inner(field, &format!(".{}", field.name()));
            let members = fields.iter().map(|field| Ok((field.name().as_str(), member(field)?)));
            Data::Nested(Nested::Struct(Members::new(members)?))
        }
        DataType::List(element) => Data::Nested(Nested::List(Lists::new(inner(element, "[*]")?))),
        DataType::Map(entry, false) => match &*entries_of(entry) {
            [names, values] if *names.data_type() == DataType::Utf8 && !names.is_nullable() => {
                let values = Lists::new(inner(values, ".*")?);
                Data::Nested(Nested::Map(leaf(&ColumnType::Utf8)?, values))
            }
            _ => return Err(unknown(field, path)),
        },
        _ => match column_type(field) {
            Some(values) => Data::Leaf(leaf(&values)?),
            None => return Err(unknown(field, path)),
        },
    }))
}

fn unknown(field: &Field, path: &str) -> Error {
    Error::Usage(format!(
        "{path}: records cannot be decoded to the type {}; use Boolean, Int64, Float64, Decimal128, Utf8, \
         Timestamp, Date32, Null, or Struct, List and Map of these",
        field.data_type()
    ))
}

/// Appends the path and the type of a column, and those of the columns in it.
pub fn of_column(field: &Field, path: String, all: &mut Vec<(String, String)>) {
    all.push((path.clone(), type_name(field)));
    match field.data_type() {
        DataType::Struct(fields) => {
            fields.iter().for_each(|field| of_column(field, format!("{path}.{}", field.name()), all));
        }
        DataType::List(element) => of_column(element, format!("{path}[*]"), all),
        DataType::Map(entry, _) => {
            entries_of(entry).get(1).iter().for_each(|values| of_column(values, format!("{path}.*"), all));
        }
        _ => {}
    }
}

/// The name of a column's type, without the types of the columns in it.
fn type_name(field: &Field) -> String {
    match field.data_type() {
        DataType::Decimal128(precision, scale) => format!("decimal({precision},{scale})"),
        DataType::Struct(_) => "struct".to_owned(),
        DataType::List(_) => "list".to_owned(),
        DataType::Map(..) => "map".to_owned(),
        DataType::Null => "null".to_owned(),
        other => column_type(field).map_or_else(|| other.to_string(), |values| values.to_string()),
    }
}
