//! A schema as JSON Schema (draft 2020-12), which all records of the input satisfy.

use std::fmt::Write as _;

use warpath_core::json::encode;

use super::kind::Kind;
use super::tree::{SchemaNode, SchemaTree};

/// The JSON Schema of records, indented by two spaces, with a line feed at the end.
///
/// It says which types a value has, which members an object always has, and what the elements of arrays and
/// the values of maps are like. Bounds of values are not part of it, because the next input may exceed them.
#[must_use]
pub fn json_schema(tree: &SchemaTree) -> String {
    let mut out = String::from("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\"");
    let body = keywords(tree.root(), 1);
    if !body.is_empty() {
        out.push_str(",\n");
        out.push_str(&body);
    }
    out + "\n}\n"
}

/// The keywords of a node's schema, one on a line, at this depth of indentation.
fn keywords(node: SchemaNode<'_>, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let mut all = Vec::new();
    let types = types(node);
    match &types[..] {
        [] => {}
        [one] => all.push(format!("\"type\": \"{one}\"")),
        several => all.push(format!("\"type\": [\"{}\"]", several.join("\", \""))),
    }
    // A format is about strings alone.
    if node.count(Kind::Time) > 0 {
        all.push("\"format\": \"date-time\"".into());
    } else if node.count(Kind::Date) > 0 {
        all.push("\"format\": \"date\"".into());
    }
    let members = node.members();
    if !members.is_empty() {
        let properties: Vec<String> = members
            .iter()
            .map(|member| {
                let name = encode(&member.name().unwrap_or_default());
                format!("{indent}  {name}: {}", schema(*member, depth + 1))
            })
            .collect();
        all.push(format!("\"properties\": {{\n{}\n{indent}}}", properties.join(",\n")));
        let required = members.iter().filter(|member| member.missing() == 0);
        let required: Vec<String> =
            required.map(|member| encode(&member.name().unwrap_or_default())).collect();
        if !required.is_empty() {
            all.push(format!("\"required\": [{}]", required.join(", ")));
        }
    }
    if let Some(values) = node.values() {
        all.push(format!("\"additionalProperties\": {}", schema(values, depth)));
    }
    if let Some(elements) = node.elements() {
        all.push(format!("\"items\": {}", schema(elements, depth)));
    }
    let example = node.example().filter(|example| !example.cut);
    if let Some(example) = example
        && std::str::from_utf8(&example.bytes).is_ok()
    {
        all.push(format!("\"examples\": [{}]", example.text()));
    }
    let mut out = String::new();
    for (at, keyword) in all.iter().enumerate() {
        let comma = if at > 0 { ",\n" } else { "" };
        let _ = write!(out, "{comma}{indent}{keyword}");
    }
    out
}

fn schema(node: SchemaNode<'_>, depth: usize) -> String {
    match keywords(node, depth + 1) {
        body if body.is_empty() => "{}".into(),
        body => format!("{{\n{body}\n{}}}", "  ".repeat(depth)),
    }
}

/// The names of JSON Schema's types, without repetition.
fn types(node: SchemaNode<'_>) -> Vec<&'static str> {
    let kinds = node.kinds();
    let mut types = Vec::new();
    for kind in &kinds {
        let name = match kind {
            Kind::Null => "null",
            Kind::Bool => "boolean",
            Kind::Float64 => "number",
            Kind::Int64 | Kind::BigInt if kinds.contains(&Kind::Float64) => "number",
            Kind::Int64 | Kind::BigInt => "integer",
            Kind::String | Kind::Time | Kind::Date => "string",
            Kind::Object => "object",
            Kind::Array => "array",
        };
        if !types.contains(&name) {
            types.push(name);
        }
    }
    types
}
