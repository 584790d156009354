//! A schema as JSON Schema (draft 2020-12), which all records of the input satisfy.

use std::borrow::Cow;
use std::fmt::Write as _;

use warpath_core::json::{self, Malformed};
use warpath_core::key::write_string;

use super::json_type::JsonType;
use super::node::Step;
use super::tree::{SchemaNode, SchemaTree};

/// The JSON Schema of records, indented by two spaces, with a line feed at the end.
///
/// It says which types a value has, which members an object always has, and what the elements of arrays and
/// the values of maps are like. Bounds of values are not part of it, because the next input may exceed them.
///
/// ```
/// use warpath::Engine;
/// use warpath::schema::json_schema;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut parts = Engine::builder().build()?.bytes("{\"id\":1}\n{}\n").schema(None);
/// parts.by_ref().try_for_each(|part| part.map(drop))?;
/// let schema = parts.finish();
/// let text = json_schema(&schema.tree);
/// assert!(text.contains("\"type\": \"integer\"") && !text.contains("\"required\""), "{text}");
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn json_schema(tree: &SchemaTree) -> String {
    let mut out = String::from("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\"");
    Keywords { out: &mut out, depth: 1, any: true }.of(tree.root());
    out + "\n}\n"
}

/// The keywords of a schema, one on a line.
struct Keywords<'a> {
    out: &'a mut String,
    /// The depth of indentation.
    depth: usize,
    /// True after the first keyword.
    any: bool,
}

impl Keywords<'_> {
    /// Begins a keyword.
    fn begin(&mut self, keyword: &str) {
        self.out.push_str(if self.any { ",\n" } else { "\n" });
        self.any = true;
        self.line(self.depth);
        // Writing to a string cannot fail.
        let _ = write!(self.out, "\"{keyword}\": ");
    }

    fn line(&mut self, depth: usize) {
        self.out.extend(std::iter::repeat_n("  ", depth));
    }

    /// Adds the schema of a node as the value of a keyword at a depth of indentation.
    fn schema(&mut self, node: SchemaNode<'_>, depth: usize) {
        self.out.push('{');
        let mut inner = Keywords { out: &mut *self.out, depth: depth + 1, any: false };
        inner.of(node);
        if inner.any {
            self.out.push('\n');
            self.line(depth);
        }
        self.out.push('}');
    }

    fn name(&mut self, node: SchemaNode<'_>) {
        let mut name = Vec::new();
        if let Step::Name(bytes) = node.step() {
            write_string(bytes, &mut name);
        }
        self.out.push_str(&String::from_utf8_lossy(&name));
    }

    fn of(&mut self, node: SchemaNode<'_>) {
        let types = types(node);
        match &types[..] {
            [] => {}
            [one] => {
                self.begin("type");
                let _ = write!(self.out, "\"{one}\"");
            }
            several => {
                self.begin("type");
                let _ = write!(self.out, "[\"{}\"]", several.join("\", \""));
            }
        }
        // A format is about strings alone.
        let formats = [(JsonType::Time, "\"date-time\""), (JsonType::Date, "\"date\"")];
        if let Some((_, format)) = formats.iter().find(|(kind, _)| node.count(*kind) > 0) {
            self.begin("format");
            self.out.push_str(format);
        }
        let members = node.members();
        if !members.is_empty() {
            self.begin("properties");
            for (at, member) in members.iter().enumerate() {
                self.out.push_str(if at > 0 { ",\n" } else { "{\n" });
                self.line(self.depth + 1);
                self.name(*member);
                self.out.push_str(": ");
                self.schema(*member, self.depth + 1);
            }
            self.out.push('\n');
            self.line(self.depth);
            self.out.push('}');
        }
        let mut required = members.into_iter().filter(|member| member.missing() == 0).peekable();
        if required.peek().is_some() {
            self.begin("required");
            for (at, member) in required.enumerate() {
                self.out.push_str(if at > 0 { ", " } else { "[" });
                self.name(member);
            }
            self.out.push(']');
        }
        if let Some(values) = node.values() {
            self.begin("additionalProperties");
            self.schema(values, self.depth);
        }
        if let Some(elements) = node.elements() {
            self.begin("items");
            self.schema(elements, self.depth);
        }
        if let Some(example) = node.example().filter(|example| !example.cut)
            && let Some(text) = spelt(&example.bytes)
        {
            self.begin("examples");
            let _ = write!(self.out, "[{text}]");
        }
    }
}

/// A scalar as JSON has it. Only strict checks hold strings of records to the grammar. Control characters are
/// therefore escaped here, and a string with an escape that JSON does not have is `None`.
fn spelt(scalar: &[u8]) -> Option<Cow<'_, str>> {
    if let Some(inside) = json::inside(scalar) {
        let mut decoded = Vec::new();
        if !json::decode(inside, Malformed::Refuse, &mut decoded) {
            return None;
        }
        if inside.iter().any(u8::is_ascii_control) {
            return std::str::from_utf8(&decoded).ok().map(|text| Cow::Owned(json::encode(text)));
        }
    }
    std::str::from_utf8(scalar).ok().map(Cow::Borrowed)
}

/// The names of JSON Schema's types, without repetition.
fn types(node: SchemaNode<'_>) -> Vec<&'static str> {
    let kinds = node.kinds();
    let mut types = Vec::new();
    for kind in &kinds {
        let name = match kind {
            JsonType::Null => "null",
            JsonType::Bool => "boolean",
            JsonType::Float64 => "number",
            JsonType::Int64 | JsonType::BigInt if kinds.contains(&JsonType::Float64) => "number",
            JsonType::Int64 | JsonType::BigInt => "integer",
            JsonType::String | JsonType::Time | JsonType::Date => "string",
            JsonType::Object => "object",
            JsonType::Array => "array",
        };
        if !types.contains(&name) {
            types.push(name);
        }
    }
    types
}
