//! The types of columns as Arrow's types, and the reverse.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use warpath_core::error::Error;
use warpath_core::json;
use warpath_core::time::Format;
use warpath_lang::column_type::{ColumnType, StructField};
use warpath_lang::jsonpath::ast::{Segment, SegmentKind, SelectorKind};
use warpath_lang::program::Query;

use super::column::{Column, Data, Lists, Member, Members, Texts, plain};
use super::{NestedSchema, Rows, is_json_text, json_text};

/// The time zone of instants.
const UTC: &str = "UTC";

/// The Arrow type of a column type. Offsets have 32 bits.
pub fn data_type(values: &ColumnType) -> Result<DataType, Error> {
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

impl NestedSchema {
    /// The type of the values that a query selects from records of this schema. It is JSON text where values
    /// are of several types, or have a type that columns do not have: maps, and what is in JSON text. `None`
    /// if the schema has no such path.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn type_at(&self, query: &Query) -> Option<ColumnType> {
        let root = match self.rows {
            Rows::Members => Field::new("$", DataType::Struct(self.schema.fields().clone()), true),
            _ => self.schema.fields().first()?.as_ref().clone(),
        };
        let mut found = Found { fields: vec![&root], in_json: false };
        for segment in &query.ast().segments {
            found = found.step(segment);
        }
        let mut types = found.fields.iter().map(|field| column_type(field).unwrap_or(ColumnType::Json));
        match types.next() {
            Some(one) if !found.in_json && types.all(|other| other == one) => Some(one),
            None if !found.in_json => None,
            _ => Some(ColumnType::Json),
        }
    }
}

/// The fields that the first segments of a query select.
struct Found<'a> {
    fields: Vec<&'a Field>,
    /// True if values within JSON text may be selected.
    in_json: bool,
}

impl<'a> Found<'a> {
    fn step(self, segment: &Segment) -> Self {
        let mut next = Self { fields: Vec::new(), in_json: self.in_json };
        let mut from = self.fields;
        if segment.kind == SegmentKind::Descendant {
            let mut at = 0;
            while let Some(field) = from.get(at).copied() {
                from.extend(children(field));
                at += 1;
            }
        }
        for field in from {
            next.in_json |= is_json_text(field) || *field.data_type() == DataType::Null;
            for selector in &segment.selectors {
                let is_list = matches!(field.data_type(), DataType::List(_));
                let is_map = matches!(field.data_type(), DataType::Map(..));
                let fields = children(field).into_iter().filter(|child| match &selector.kind {
                    SelectorKind::Wildcard | SelectorKind::Filter(_) => true,
                    SelectorKind::Name(name) => is_map || !is_list && child.name() == name,
                    SelectorKind::Index(_) | SelectorKind::Slice { .. } => is_list,
                });
                next.fields.extend(fields);
            }
        }
        next
    }
}

/// The fields of members, elements, or values of a map.
fn children(field: &Field) -> Vec<&Field> {
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().map(AsRef::as_ref).collect(),
        DataType::List(element) => vec![element],
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => fields.iter().skip(1).map(AsRef::as_ref).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The column type of an Arrow field; `None` if there is none: for maps, and for structs and lists that have
/// such parts.
// Hidden: the layers above need it.
#[doc(hidden)]
#[must_use]
pub fn column_type(field: &Field) -> Option<ColumnType> {
    Some(match field.data_type() {
        DataType::Boolean => ColumnType::Boolean,
        DataType::Int64 => ColumnType::Int64,
        DataType::Float64 => ColumnType::Float64,
        DataType::Decimal128(precision, scale) => {
            ColumnType::Decimal { precision: *precision, scale: u8::try_from(*scale).ok()? }
        }
        DataType::Utf8 if !is_json_text(field) => ColumnType::Utf8,
        DataType::Utf8 | DataType::Null => ColumnType::Json,
        DataType::Timestamp(..) => ColumnType::Time,
        DataType::Date32 => ColumnType::Date,
        DataType::List(items) => ColumnType::List(Box::new(column_type(items)?)),
        DataType::Struct(fields) => {
            let field = |field: &Arc<Field>| {
                Some(StructField { name: field.name().clone(), values: column_type(field)? })
            };
            ColumnType::Struct(fields.iter().map(field).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}
