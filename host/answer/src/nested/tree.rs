//! Nested columns for all values of a schema tree.

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use warpath_core::error::Error;
use warpath_store::schema::SchemaTree;
use warpath_store::schema::arrow::{self, ArrowOptions};

use super::{NestedSchema, json_text};

impl NestedSchema {
    /// Makes the schema that takes every value of the records of a tree. Records that are not objects become
    /// one column, `value`.
    ///
    /// Columns that many readers of Parquet do not know become JSON text: those without a value, and decimals
    /// of more than 38 digits.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no record.
    pub fn of_tree(tree: &SchemaTree) -> Result<Self, Error> {
        if tree.is_empty() {
            return Err(Error::Usage("there is no record, so no column has a type".into()));
        }
        let options = ArrowOptions::default().all_nullable(true);
        match arrow::data_type(tree.root(), options) {
            Some(DataType::Struct(fields)) => Self::new(Schema::new(readable(&fields)).into()),
            _ => Self::of_whole_records(&readable_field(&arrow::field("value", tree.root(), options))),
        }
    }
}

fn readable(fields: &Fields) -> Fields {
    fields.iter().map(|field| readable_field(field)).collect()
}

fn readable_field(field: &Field) -> Field {
    let inner = |field: &FieldRef| FieldRef::from(readable_field(field));
    let data_type = match field.data_type() {
        DataType::Null | DataType::Decimal256(..) => {
            return json_text(Field::new(field.name(), DataType::Utf8, true));
        }
        DataType::Struct(fields) => DataType::Struct(readable(fields)),
        DataType::List(element) => DataType::List(inner(element)),
        DataType::Map(entry, is_sorted) => DataType::Map(inner(entry), *is_sorted),
        other => other.clone(),
    };
    field.clone().with_data_type(data_type)
}
