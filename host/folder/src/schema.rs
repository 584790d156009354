//! The fields of the table, and Delta's text of them.

use std::collections::HashSet;
use std::fmt::Write as _;

use warpath_core::json::encode;

use crate::error::FolderError;
use crate::json::Json;

/// The most containers in each other in the JSON text of a schema. `serde_json`, by which readers of Delta
/// parse it, refuses 128. A level of structs takes three, so 42 levels fit.
const MAX_JSON_DEPTH: usize = 127;

/// The fields of a table.
///
/// ```
/// use warpath_folder::{Field, Schema, Type};
///
/// let tags = Type::List(Box::new(Type::String));
/// let schema = Schema { fields: vec![Field::new("id", Type::Long), Field::new("tags", tags)] };
/// assert_eq!(Schema::parse(&schema.to_delta())?, schema);
/// # Ok::<(), warpath_folder::FolderError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// The fields, in their order.
    pub fields: Vec<Field>,
}

/// A field, which may be null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The type of its values.
    pub kind: Type,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// UTF-8 text.
    String,
    /// An integer of 64 bits.
    Long,
    /// A floating-point number of 64 bits.
    Double,
    /// True or false.
    Boolean,
    /// Bytes.
    Binary,
    /// Fields.
    Struct(Vec<Field>),
    /// Values of one type.
    List(Box<Self>),
}

impl Field {
    /// A field of this name and type.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Type) -> Self {
        Self { name: name.into(), kind }
    }
}

/// The types without fields, and Delta's names of them.
const SCALARS: [(&str, Type); 5] = [
    ("string", Type::String),
    ("long", Type::Long),
    ("double", Type::Double),
    ("boolean", Type::Boolean),
    ("binary", Type::Binary),
];

impl Schema {
    /// Checks that readers of Delta take the schema.
    ///
    /// # Errors
    /// [`FolderError::Schema`] for a name that is empty or repeats another (case does not count), and for
    /// fields that are too deep.
    pub fn check(&self) -> Result<(), FolderError> {
        check(&self.fields, 1, &mut Vec::new())
    }

    /// Delta's text of the schema. The schema must be [checked](Self::check).
    #[must_use]
    pub fn to_delta(&self) -> String {
        let mut out = String::new();
        write_struct(&self.fields, &mut out);
        out
    }

    /// The schema of Delta's text.
    ///
    /// # Errors
    /// [`FolderError::Schema`] for a text or a field that is not supported.
    pub fn parse(text: &str) -> Result<Self, FolderError> {
        let json = Json::parse(text.as_bytes()).map_err(|what| fault(&[], what))?;
        let schema = match read_type(&json, &mut Vec::new())? {
            Type::Struct(fields) => Self { fields },
            _ => return Err(fault(&[], "not a struct")),
        };
        schema.check()?;
        Ok(schema)
    }

    /// The fields of this schema, and after them those of the other schema that this one lacks.
    ///
    /// # Errors
    /// [`FolderError::Schema`] for a field whose type differs, or that differs by case only.
    pub fn merge(&self, other: &Self) -> Result<Self, FolderError> {
        let schema = Self { fields: merge(&self.fields, &other.fields, &mut Vec::new())? };
        schema.check()?;
        Ok(schema)
    }
}

fn fault(path: &[&str], what: impl Into<String>) -> FolderError {
    FolderError::Schema { path: path.join("."), what: what.into() }
}

fn check<'a>(fields: &'a [Field], depth: usize, path: &mut Vec<&'a str>) -> Result<(), FolderError> {
    let mut names = HashSet::with_capacity(fields.len());
    for field in fields {
        path.push(&field.name);
        if field.name.is_empty() {
            return Err(fault(path, "a name was expected"));
        }
        if !names.insert(field.name.to_lowercase()) {
            return Err(fault(path, "another field has this name; case does not count"));
        }
        // The list of fields and the field.
        check_type(&field.kind, depth + 3, path)?;
        path.pop();
    }
    Ok(())
}

/// Checks a type whose container, if it has one, is this many levels deep. The metadata of a field, an empty
/// object, is as deep.
fn check_type<'a>(kind: &'a Type, depth: usize, path: &mut Vec<&'a str>) -> Result<(), FolderError> {
    if depth > MAX_JSON_DEPTH {
        let what = "too deep: readers of Delta take 42 levels of structs; keep deeper values as one text";
        return Err(fault(path, what));
    }
    match kind {
        Type::Struct(fields) => check(fields, depth, path),
        Type::List(item) => check_type(item, depth + 1, path),
        _ => Ok(()),
    }
}

fn write_struct(fields: &[Field], out: &mut String) {
    out.push_str(r#"{"type":"struct","fields":["#);
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        // Writing to a string does not fail.
        let _ = write!(out, r#"{{"name":{},"type":"#, encode(&field.name));
        write_type(&field.kind, out);
        out.push_str(r#","nullable":true,"metadata":{}}"#);
    }
    out.push_str("]}");
}

fn write_type(kind: &Type, out: &mut String) {
    match kind {
        Type::Struct(fields) => write_struct(fields, out),
        Type::List(item) => {
            out.push_str(r#"{"type":"array","elementType":"#);
            write_type(item, out);
            out.push_str(r#","containsNull":true}"#);
        }
        scalar => {
            let name = SCALARS.iter().find(|(_, kind)| kind == scalar).map_or("string", |(name, _)| name);
            out.push_str(&encode(name));
        }
    }
}

fn read_type<'a>(json: &'a Json, path: &mut Vec<&'a str>) -> Result<Type, FolderError> {
    if let Some(name) = json.text() {
        let scalar = SCALARS.iter().find(|(one, _)| *one == name);
        let scalar = scalar.ok_or_else(|| fault(path, format!("type `{name}` is not supported")))?;
        return Ok(scalar.1.clone());
    }
    let yes = Some(&Json::Bool(true));
    match json.get("type").and_then(Json::text) {
        Some("struct") => {
            let fields = json.get("fields").and_then(Json::list);
            let fields = fields.ok_or_else(|| fault(path, "a struct without `fields`"))?;
            let mut out = Vec::with_capacity(fields.len());
            for field in fields {
                let name = field.get("name").and_then(Json::text);
                path.push(name.ok_or_else(|| fault(path, "a field without `name`"))?);
                if field.get("nullable") != yes {
                    return Err(fault(path, "a field that is not nullable is not supported"));
                }
                if !field.get("metadata").is_none_or(Json::is_empty) {
                    return Err(fault(path, "metadata, such as a column mapping, is not supported"));
                }
                let kind = field.get("type").ok_or_else(|| fault(path, "a field without `type`"))?;
                let kind = read_type(kind, path)?;
                path.pop();
                out.push(Field::new(name.unwrap_or_default(), kind));
            }
            Ok(Type::Struct(out))
        }
        Some("array") => {
            if json.get("containsNull") != yes {
                return Err(fault(path, "a list whose items are not nullable is not supported"));
            }
            let item = json.get("elementType").ok_or_else(|| fault(path, "a list without `elementType`"))?;
            Ok(Type::List(Box::new(read_type(item, path)?)))
        }
        Some(name) => Err(fault(path, format!("type `{name}` is not supported"))),
        None => Err(fault(path, "a type was expected")),
    }
}

fn merge<'a>(
    fields: &'a [Field],
    others: &'a [Field],
    path: &mut Vec<&'a str>,
) -> Result<Vec<Field>, FolderError> {
    let mut out = fields.to_vec();
    for other in others {
        path.push(&other.name);
        match out.iter_mut().zip(fields).find(|(_, field)| field.name == other.name) {
            Some((merged, field)) => merged.kind = merge_type(&field.kind, &other.kind, path)?,
            None => out.push(other.clone()),
        }
        path.pop();
    }
    Ok(out)
}

fn merge_type<'a>(kind: &'a Type, other: &'a Type, path: &mut Vec<&'a str>) -> Result<Type, FolderError> {
    match (kind, other) {
        (Type::Struct(fields), Type::Struct(others)) => Ok(Type::Struct(merge(fields, others, path)?)),
        (Type::List(item), Type::List(other)) => Ok(Type::List(Box::new(merge_type(item, other, path)?))),
        _ if kind == other => Ok(kind.clone()),
        _ => {
            let (mut old, mut new) = (String::new(), String::new());
            write_type(kind, &mut old);
            write_type(other, &mut new);
            Err(fault(path, format!("the type is {old} and must not become {new}; add a field")))
        }
    }
}
