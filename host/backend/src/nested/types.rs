//! The types of columns as Arrow's types.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use warpath_core::error::Error;
use warpath_core::json;
use warpath_core::time::Format;
use warpath_lang::column_type::{ColumnType, StructField};

use super::column::{Column, Data, Lists, Member, Members, Texts, plain};
use super::json_text;

/// The time zone of instants.
const UTC: &str = "UTC";

/// The Arrow type of a column type. Offsets have 32 bits.
pub(crate) fn data_type(values: &ColumnType) -> Result<DataType, Error> {
    Ok(match values {
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::Int64 => DataType::Int64,
        ColumnType::Float64 => DataType::Float64,
        ColumnType::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale as i8),
        ColumnType::Utf8 | ColumnType::Text | ColumnType::Json => DataType::Utf8,
        ColumnType::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
        ColumnType::Date => DataType::Date32,
        ColumnType::List(items) => DataType::List(Arc::new(field("item", items)?)),
        ColumnType::Struct(fields) => DataType::Struct(self::fields(fields)?),
        other => return Err(Error::Usage(format!("no columns of the type `{other}` can be made"))),
    })
}

/// The nullable field of a column type.
pub(super) fn field(name: &str, values: &ColumnType) -> Result<Field, Error> {
    let field = Field::new(name, data_type(values)?, true);
    Ok(if *values == ColumnType::Json { json_text(field) } else { field })
}

fn fields(fields: &[StructField]) -> Result<Fields, Error> {
    fields.iter().map(|StructField { name, values }| field(name, values)).collect()
}

/// The data of a column type. Instants are of a format, if there is one.
pub(super) fn data(values: &ColumnType, format: Option<&Arc<Format>>) -> Result<Data, Error> {
    match values {
        ColumnType::Text => Ok(Data::Text(Texts::default())),
        ColumnType::List(items) => {
            Ok(Data::List(Lists::new(field("item", items)?.into(), data(items, format)?)))
        }
        ColumnType::Struct(members) => {
            let member = |StructField { name, values }: &StructField| {
                let head = format!("{}:", json::encode(name)).into_bytes().into();
                Ok(Member { head, column: Column::new(data(values, format)?) })
            };
            let columns = members.iter().map(member).collect::<Result<_, Error>>()?;
            Ok(Data::Struct(Members::new(fields(members)?, columns)))
        }
        _ => {
            let mut made = plain(&data_type(values)?, *values == ColumnType::Json);
            if let Some(Data::Time(times)) = &mut made {
                times.format = format.cloned();
            }
            made.ok_or_else(|| Error::Internal(format!("the type `{values}` has no data")))
        }
    }
}
