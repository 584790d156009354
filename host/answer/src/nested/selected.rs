//! The types of the values that queries select.

use arrow_schema::{DataType, Field};
use warpath_lang::column_type::ColumnType;
use warpath_lang::jsonpath::ast::{Segment, SegmentKind, SelectorKind};
use warpath_lang::program::Query;

use super::{NestedSchema, column_type, is_json_text};

impl NestedSchema {
    /// The type of the values that a query selects from records of this schema. It is JSON text where values
    /// are of several types, or have a type that columns do not have: maps, and what is in JSON text. `None`
    /// if the schema has no such path.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn type_at(&self, query: &Query) -> Option<ColumnType> {
        let mut selected = SelectedFields { fields: vec![&self.root], in_json: false };
        for segment in &query.ast().segments {
            selected = selected.step(segment);
        }
        let mut types = selected.fields.iter().map(|field| column_type(field).unwrap_or(ColumnType::Json));
        match types.next() {
            Some(one) if !selected.in_json && types.all(|other| other == one) => Some(one),
            None if !selected.in_json => None,
            _ => Some(ColumnType::Json),
        }
    }
}

/// The fields that the first segments of a query select.
struct SelectedFields<'a> {
    fields: Vec<&'a Field>,
    /// True if values within JSON text may be selected.
    in_json: bool,
}

impl<'a> SelectedFields<'a> {
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
        DataType::Map(entry, _) => match entry.data_type() {
            DataType::Struct(fields) => fields.iter().skip(1).map(AsRef::as_ref).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
