//! Columns made from Arrow's types.

use arrow_schema::{DataType, Field, Fields};
use warpath_core::error::Error;
use warpath_core::json;

use super::column::{Column, Data, Lists, Maps, Member, Members, plain};
use super::is_json_text;

/// The deepest nesting of columns. Readers of Arrow and Parquet take less than 64 levels. Each level takes a
/// call while a record is decoded, on the stack of a worker.
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

/// The columns of fields. `path` is the path of the object that has them, and `depth` its depth.
pub fn members(fields: &Fields, path: &str, depth: usize) -> Result<Members, Error> {
    let member = |field: &Field| {
        let name = json::encode(field.name());
        let data = data(field, &format!("{path}.{}", field.name()), depth)?;
        Ok(Member { head: format!("{name}:").into_bytes().into(), column: Column::new(data) })
    };
    let columns = fields.iter().map(|field| member(field)).collect::<Result<_, Error>>()?;
    Ok(Members::new(fields.clone(), columns))
}

/// The data of a field with a path, at a depth.
pub fn data(field: &Field, path: &str, depth: usize) -> Result<Data, Error> {
    if let Some(data) = plain(field.data_type(), is_json_text(field)) {
        return Ok(data);
    }
    if depth == MAX_DEPTH {
        return Err(Error::Usage(format!("{path}: columns nest deeper than {MAX_DEPTH} levels")));
    }
    let depth = depth + 1;
    match field.data_type() {
        DataType::Struct(fields) => members(fields, path, depth).map(Data::Struct),
        DataType::List(element) => {
            Ok(Data::List(Lists::new(element.clone(), data(element, &format!("{path}[*]"), depth)?)))
        }
        DataType::Map(entry, false) => match entry.data_type() {
            DataType::Struct(fields)
                if fields.len() == 2
                    && *fields[0].data_type() == DataType::Utf8
                    && !fields[0].is_nullable() =>
            {
                let values = data(&fields[1], &format!("{path}.*"), depth)?;
                Ok(Data::Map(Box::new(Maps::new(entry.clone(), fields.clone(), values))))
            }
            _ => Err(unknown(field, path)),
        },
        _ => Err(unknown(field, path)),
    }
}

fn unknown(field: &Field, path: &str) -> Error {
    Error::Usage(format!(
        "{path}: records cannot be decoded to the type {}; use Boolean, Int64, Float64, Decimal128, Utf8, \
         Timestamp, Date32, Null, or Struct, List and Map of these",
        field.data_type()
    ))
}

/// Appends the paths and the types of all columns of fields, nested ones after the column that has them.
pub fn paths(fields: &Fields, path: &str, paths: &mut Vec<(String, String)>) {
    for field in fields {
        of_column(field, format!("{path}.{}", field.name()), paths);
    }
}

/// Appends the path and the type of a column, and those of the columns in it.
pub fn of_column(field: &Field, path: String, all: &mut Vec<(String, String)>) {
    all.push((path.clone(), type_name(field)));
    match field.data_type() {
        DataType::Struct(fields) => paths(fields, &path, all),
        DataType::List(element) => of_column(element, format!("{path}[*]"), all),
        DataType::Map(entry, _) => {
            if let DataType::Struct(fields) = entry.data_type()
                && let Some(values) = fields.get(1)
            {
                of_column(values, format!("{path}.*"), all);
            }
        }
        _ => {}
    }
}

/// The name of a column's type, without the types of the columns in it.
fn type_name(field: &Field) -> String {
    let name = match field.data_type() {
        DataType::Boolean => "bool",
        DataType::Int64 => "int64",
        DataType::Float64 => "float64",
        DataType::Decimal128(precision, scale) => return format!("decimal({precision},{scale})"),
        DataType::Utf8 if is_json_text(field) => "json",
        DataType::Utf8 => "string",
        DataType::Timestamp(..) => "time",
        DataType::Date32 => "date",
        DataType::Struct(_) => "struct",
        DataType::List(_) => "list",
        DataType::Map(..) => "map",
        DataType::Null => "null",
        other => return other.to_string(),
    };
    name.to_owned()
}
