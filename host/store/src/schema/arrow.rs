//! The Arrow type that holds all values of a node.
//!
//! | values, apart from `null` | type |
//! |---|---|
//! | none | `Null` |
//! | booleans | `Boolean` |
//! | integers within `i64` | `Int64` |
//! | integers of at most 38, or at most 76, digits | `Decimal128(38, 0)`, `Decimal256(76, 0)` |
//! | floats, also with integers that a double holds exactly | `Float64` |
//! | strings | `Utf8` |
//! | strings that are all instants, or all dates | `Timestamp(ns, UTC)`, `Date32` |
//! | objects with members | `Struct` |
//! | objects that are maps | `Map` of `Utf8` to the values' type, or JSON |
//! | arrays | `List` |
//! | anything else: mixed kinds, larger numbers, objects that never have a member | JSON |
//!
//! JSON is a `Utf8` field with the JSON text of each value, marked by Arrow's canonical extension type
//! `arrow.json`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};

use super::json_type::JsonType;
use super::node::Step;
use super::tree::{SchemaNode, SchemaTree};

/// The name of the key under which a field names its extension type.
const EXTENSION: &str = "ARROW:extension:name";

/// Arrow's canonical extension type for JSON text.
const JSON: &str = "arrow.json";

/// The choices of a mapping.
///
/// ```
/// use warpath::Engine;
/// use warpath::schema::ArrowOptions;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut parts = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":\"x\"}\n").schema(None);
/// parts.by_ref().try_for_each(|part| part.map(drop))?;
/// let schema = parts.finish();
/// let fields = |options| schema.tree.to_arrow(options).fields().clone();
/// assert!(!fields(ArrowOptions::default())[0].is_nullable());
/// let mut options = ArrowOptions::default();
/// options.all_nullable = true;
/// assert!(fields(options)[0].is_nullable());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ArrowOptions {
    /// True if maps are JSON text, and not `Map`.
    pub maps_as_json: bool,
    /// True if every field is nullable. Otherwise, a field is nullable if a value was null or missing.
    pub all_nullable: bool,
}

impl ArrowOptions {
    /// Sets [`maps_as_json`](Self#structfield.maps_as_json).
    #[must_use]
    pub const fn maps_as_json(self, yes: bool) -> Self {
        Self { maps_as_json: yes, ..self }
    }

    /// Sets [`all_nullable`](Self#structfield.all_nullable).
    #[must_use]
    pub const fn all_nullable(self, yes: bool) -> Self {
        Self { all_nullable: yes, ..self }
    }
}

/// True if a field holds JSON text.
#[must_use]
pub fn is_json(field: &Field) -> bool {
    field.metadata().get(EXTENSION).is_some_and(|name| name == JSON)
}

impl SchemaTree {
    /// The Arrow schema of the records, a field for each member. Records that are not objects, or not all of
    /// them, are one field with the name `value`.
    #[must_use]
    pub fn to_arrow(&self, options: ArrowOptions) -> Schema {
        let root = self.root();
        match data_type(root, options) {
            Some(DataType::Struct(fields)) if !root.is_nullable() => Schema::new(fields),
            _ => Schema::new(vec![field("value", root, options)]),
        }
    }
}

/// The field of a node.
#[must_use]
pub fn field(name: &str, node: SchemaNode<'_>, options: ArrowOptions) -> Field {
    let nullable = options.all_nullable || node.is_nullable();
    match data_type(node, options) {
        Some(DataType::Null) => Field::new(name, DataType::Null, true),
        Some(data_type) => Field::new(name, data_type, nullable),
        None => Field::new(name, DataType::Utf8, nullable)
            .with_metadata(HashMap::from([(EXTENSION.into(), JSON.into())])),
    }
}

/// The deepest level of a type that has fields. Readers of Arrow and Parquet refuse types of 64 levels and
/// more.
const MOST_LEVELS: u32 = 48;

/// The type that holds all values of a node; `None` if only JSON text does.
#[must_use]
pub fn data_type(node: SchemaNode<'_>, options: ArrowOptions) -> Option<DataType> {
    let has = |kind| node.count(kind) > 0;
    let kinds: Vec<JsonType> =
        JsonType::ALL.into_iter().filter(|kind| *kind != JsonType::Null && has(*kind)).collect();
    match kinds[..] {
        [] => Some(DataType::Null),
        [JsonType::Bool] => Some(DataType::Boolean),
        [JsonType::Int64] => Some(DataType::Int64),
        [JsonType::BigInt] | [JsonType::Int64, JsonType::BigInt] => match node.big_digits() {
            ..=38 => Some(DataType::Decimal128(38, 0)),
            39..=76 => Some(DataType::Decimal256(76, 0)),
            _ => None,
        },
        [JsonType::Float64] => node.are_floats_finite().then_some(DataType::Float64),
        [JsonType::Int64, JsonType::Float64] => {
            const EXACT: i64 = 1 << 53;
            let (least, greatest) = node.integers()?;
            (-EXACT <= least && greatest <= EXACT && node.are_floats_finite()).then_some(DataType::Float64)
        }
        [JsonType::String] => Some(DataType::Utf8),
        [JsonType::Time] => Some(DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))),
        [JsonType::Date] => Some(DataType::Date32),
        // Text holds values of any depth.
        [JsonType::Object | JsonType::Array] if node.depth() >= MOST_LEVELS => None,
        [JsonType::Object] => object(node, options),
        [JsonType::Array] => {
            let element = match node.elements() {
                Some(elements) => field("item", elements, options),
                None => Field::new("item", DataType::Null, true),
            };
            Some(DataType::List(Arc::new(element)))
        }
        _ => None,
    }
}

fn object(node: SchemaNode<'_>, options: ArrowOptions) -> Option<DataType> {
    if let Some(values) = node.values() {
        if options.maps_as_json {
            return None;
        }
        let entries = [Field::new("key", DataType::Utf8, false), field("value", values, options)];
        let entries = Field::new("entries", DataType::Struct(Fields::from(entries.to_vec())), false);
        return Some(DataType::Map(Arc::new(entries), false));
    }
    // A name with a surrogate that has no partner is no name of a field.
    let name = |member: SchemaNode<'_>| match member.step() {
        Step::Name(name) => std::str::from_utf8(name).map(str::to_owned).ok(),
        _ => None,
    };
    let members = node.members().into_iter();
    let fields: Option<Vec<Field>> =
        members.map(|member| Some(field(&name(member)?, member, options))).collect();
    let fields = fields?;
    (!fields.is_empty()).then(|| DataType::Struct(fields.into()))
}
