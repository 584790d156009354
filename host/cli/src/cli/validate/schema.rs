//! A JSON Schema, and the records that it refuses.

use std::any::Any;
use std::path::Path;

use jsonschema::error::ValidationErrorKind;
use jsonschema::json::{Array, Node, Object};
use jsonschema::{JsonType, ReferencingError, ValidationError, Validator};
use serde_json::{Map, Value};
use warpath::{Error, InputError, Source, Want};
use warpath_cpu::strict;
use warpath_exec::stream::{Digest, PieceResults};

use super::super::failure::Failure;
use super::super::schema::is_saved;
use super::super::written::Written;
use super::super::{files, run};
use super::deep::{on_large_stack, within_stack};
use super::describe::{self, Report};
use super::numbers;
use super::record::{Item, Records, Tree};
use super::{Invalid, Judged};
use warpath_terminal::streams::Streams;

/// The most levels of containers in a schema.
const MOST_LEVELS: usize = 1024;

/// The check of records against a schema, in the workers.
pub struct Checks {
    schema: Schema,
    /// True if the text of refused records is wanted.
    pub keeps_records: bool,
    /// True if only the first refused record of a text is wanted.
    pub is_first_only: bool,
}

impl Digest for Checks {
    fn want(&self) -> Want {
        Want::new().matches(true)
    }

    fn digest(&self, found: &[PieceResults<'_>]) -> Box<dyn Any + Send + Sync> {
        let judged: Judged = on_large_stack(|| self.invalid(found));
        Box::new(judged)
    }
}

impl Checks {
    fn invalid(&self, found: &[PieceResults<'_>]) -> Vec<Invalid> {
        let (mut tree, mut invalid) = (Tree::default(), Vec::new());
        'text: for (piece, results) in found.iter().enumerate() {
            for record in results.matches.iter().flat_map(|matches| matches.iter()) {
                let Some((at, text)) = self.schema.refuse(results.bytes(record), &mut tree) else { continue };
                let start = record.start as usize;
                let before = results.text.get(..start).unwrap_or_default();
                let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                let byte = (start - begin + at) as u64 + 1;
                let mut line: &[u8] = &[];
                if self.keeps_records {
                    let rest = results.text.get(begin..).unwrap_or_default();
                    line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
                }
                invalid.push(Invalid { piece, line: record.line, byte, text, record: line.to_vec() });
                if self.is_first_only {
                    break 'text;
                }
            }
        }
        invalid
    }
}

/// A JSON Schema that was read from a file.
pub struct Schema {
    validator: Validator<Records>,
    /// Its address, if it names one, without a fragment.
    base: String,
}

impl Schema {
    /// Reads a schema, which is none of the inputs and no file that is written.
    ///
    /// # Errors
    /// If the file cannot be read, or if it has no schema.
    pub fn read(path: &Path, written: Written<'_>, sources: &[Source]) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Err(Failure::usage("`--schema` names a file: standard input has the records"));
        }
        let path = &files::local(path, "a schema is read from a file")?;
        let name = path.display().to_string();
        written.refuse("the schema", path)?;
        Written::refuse_twice("the schema", path, sources)?;
        if let Some(client) = Streams::current().client() {
            let failed = |source| Error::from(InputError::Io { name: name.clone(), source });
            let text = client.read(path).map_err(failed)?;
            return on_large_stack(|| Self::of_text(&name, &text)).map_err(Error::Thread)?;
        }
        if path.is_dir() {
            return Err(Failure::usage(format!("{name}: is a folder; `--schema` names one file")));
        }
        files::file(path)?;
        if is_saved(path) {
            return Err(Failure::usage(format!(
                "{name}: is a schema for `warpath schema diff`, and no JSON Schema"
            ))
            .with_help("`warpath schema --format json-schema` writes a JSON Schema"));
        }
        let read = std::fs::read(path).map_err(|source| InputError::Io { name: name.clone(), source });
        let text = read.map_err(Error::from)?;
        on_large_stack(|| Self::of_text(&name, &text)).map_err(Error::Thread)?
    }

    fn of_text(name: &str, bytes: &[u8]) -> Result<Self, Failure> {
        if bytes.trim_ascii().is_empty() {
            return Err(Failure::Schema {
                message: format!("{name}: is empty; a JSON Schema is an object, `true` or `false`"),
                place: None,
                excerpt: None,
                help: None,
            });
        }
        let refused = |at: usize, why: &str, help: Option<&str>| refused(name, bytes, at, why, help);
        if let Some(fault) = strict::line_fault(bytes) {
            return Err(refused(fault.at, &fault.kind.to_string(), None));
        }
        let mut tree = Tree::default();
        let root = std::str::from_utf8(bytes).ok().and_then(|text| tree.read(text));
        let Some(root) = root else { return Err(refused(0, "the schema is too long", None)) };
        let value = Part::Schema.value(root, MOST_LEVELS).map_err(|(at, why)| refused(at, &why, None))?;
        let options = jsonschema::options_for::<Records>().offline().should_validate_formats(true);
        let validator = numbers::with_exact_keywords(options).build(&value);
        let validator = validator.map_err(|error| {
            let (at, why, help) = fault(&error, root);
            refused(at, &why, help)
        })?;
        let id = ["$id", "id"].iter().find_map(|name| value.get(name)?.as_str());
        let base = id.unwrap_or_default().split('#').next().unwrap_or_default().to_owned();
        Ok(Self { validator, base })
    }

    /// The check of records against this schema.
    pub fn checks(self, keeps_records: bool, is_first_only: bool) -> Checks {
        Checks { schema: self, keeps_records, is_first_only }
    }

    /// The report about a record that the schema refuses, and the offset of the value that it is about.
    fn refuse(&self, record: &[u8], tree: &mut Tree) -> Option<(usize, String)> {
        let root = std::str::from_utf8(record).ok().and_then(|text| tree.read(text));
        let Some(root) = root else { return Some((0, "the record is not JSON".to_owned())) };
        let judged = within_stack(|| match self.validator.is_valid(root) {
            true => None,
            false => {
                let report = describe::first(self.validator.iter_errors(root), root, &self.base);
                Some(report.unwrap_or_else(|| (0, "the schema refuses the record".to_owned())))
            }
        });
        judged.unwrap_or_else(|| Some((0, "the record nests too deep for this schema".to_owned())))
    }
}

/// The failure for a schema with an error at an offset.
fn refused(name: &str, text: &[u8], at: usize, why: &str, help: Option<&str>) -> Failure {
    let before = text.get(..at).unwrap_or(text);
    let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (line, byte) =
        (before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1, (at - begin) as u64 + 1);
    let whole = text.get(begin..).unwrap_or_default().split(|byte| matches!(byte, b'\n' | b'\r')).next();
    Failure::Schema {
        message: format!("{name}:{line}:{byte}: {why}"),
        place: Some((name.to_owned(), line, byte)),
        excerpt: Some(run::excerpt(whole.unwrap_or_default(), at - begin)),
        help: help.map(str::to_owned),
    }
}

/// The offset of an error in a schema, its message, and a way to correct it.
fn fault(error: &ValidationError<'_>, root: Item<'_>) -> (usize, String, Option<&'static str>) {
    const INSIDE: &str = "put the other schema into this file, under `$defs` and with its `$id`";
    match error.kind() {
        ValidationErrorKind::Referencing(ReferencingError::Unretrievable { uri, .. }) => {
            let (at, reference) = reference(root, uri).unwrap_or((0, uri.clone()));
            let message =
                format!("`{reference}` is not in this schema: only references inside the schema are read");
            (at, message, Some(INSIDE))
        }
        ValidationErrorKind::Referencing(ReferencingError::UnknownSpecification { specification }) => {
            let (at, reference) = reference(root, specification).unwrap_or((0, specification.clone()));
            (at, format!("`{reference}` is no draft of JSON Schema from 4 to 2020-12"), None)
        }
        ValidationErrorKind::Referencing(other) => {
            let text = match other {
                ReferencingError::PointerToNowhere { pointer } => pointer.clone(),
                ReferencingError::NoSuchAnchor { anchor } => anchor.clone(),
                _ => String::new(),
            };
            let (at, reference) = reference(root, &text).unwrap_or((0, text));
            (at, format!("the reference `{reference}` leads nowhere"), None)
        }
        ValidationErrorKind::Format { format } if format == "regex" => {
            let pattern = error.instance().as_str().unwrap_or_default().to_owned();
            let (at, _) = text_of(root, &|text| text == pattern).unwrap_or((0, String::new()));
            (at, format!("`{}` is no regular expression", describe::cut(&pattern, 80)), None)
        }
        _ => {
            let Report { at, text, .. } = describe::report(error, root, "");
            (at, format!("this is no JSON Schema: {text}"), None)
        }
    }
}

/// The first reference in a schema that leads to an address, and its offset.
fn reference(root: Item<'_>, address: &str) -> Option<(usize, String)> {
    let leads_there = |text: &str| {
        let named = text.trim_start_matches("./").trim_end_matches('#');
        !named.is_empty() && (address.ends_with(named) || text.ends_with(address))
    };
    let is_reference = |name: &str| matches!(name, "$ref" | "$dynamicRef" | "$recursiveRef" | "$schema");
    member_of(root, &|name, text| is_reference(name) && leads_there(text))
}

/// The first string of a schema that a test accepts, and its offset. Names of members count, too.
fn text_of(item: Item<'_>, accepts: &dyn Fn(&str) -> bool) -> Option<(usize, String)> {
    if let Some(text) = item.as_string().filter(|text| accepts(text)) {
        return Some((item.spelt().1, text.into_owned()));
    }
    if let Some(array) = item.as_array() {
        return array.elements().find_map(|element| text_of(element, accepts));
    }
    item.as_object()?.members().find_map(|(name, value)| match accepts(&name) {
        true => item.member(&name).map(|(_, at)| (at, name.into_owned())),
        false => text_of(value, accepts),
    })
}

/// The first member with a string that a test accepts: the string, and its offset.
fn member_of(item: Item<'_>, accepts: &dyn Fn(&str, &str) -> bool) -> Option<(usize, String)> {
    if let Some(array) = item.as_array() {
        return array.elements().find_map(|element| member_of(element, accepts));
    }
    item.as_object()?.members().find_map(|(name, value)| {
        match value.as_string().filter(|text| accepts(&name, text)) {
            Some(text) => Some((value.spelt().1, text.into_owned())),
            None => member_of(value, accepts),
        }
    })
}

/// The meaning of the members of an object in a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Keywords.
    Schema,
    /// Names, each with a schema.
    Schemas,
    /// A value that is no schema, and whose numbers count.
    Value,
    /// A value that no record is compared with.
    Example,
}

impl Part {
    /// Converts a value of this meaning to that of the library. It has at most `levels` levels of containers.
    ///
    /// # Errors
    /// The offset in the text, and the reason, of a value that the library does not hold.
    fn value(self, item: Item<'_>, levels: usize) -> Result<Value, (usize, String)> {
        let (spelt, at) = item.spelt();
        if let Some(number) = item.as_number() {
            // A number that the library would round must not decide about a record.
            if self != Self::Example && !numbers::is_exact(number.0) {
                let text = describe::cut(spelt, 40);
                return Err((at, format!("the number {text} has more digits than a double or 64 bits hold")));
            }
            return Ok(Value::Number(numbers::nearest(number.0)));
        }
        let inner = || {
            let levels = levels.checked_sub(1);
            levels.ok_or_else(|| (at, format!("containers of a schema nest at most {MOST_LEVELS} deep")))
        };
        if let Some(array) = item.as_array() {
            let levels = inner()?;
            let elements = array.elements().map(|element| self.value(element, levels));
            return elements.collect::<Result<_, _>>().map(Value::Array);
        }
        if let Some(object) = item.as_object() {
            let levels = inner()?;
            let mut members = Map::with_capacity(object.count());
            for (name, value) in object.members() {
                let value = self.of_member(&name).value(value, levels)?;
                members.insert(name.into_owned(), value);
            }
            return Ok(Value::Object(members));
        }
        Ok(match item.json_type() {
            JsonType::Boolean => Value::Bool(item.as_boolean() == Some(true)),
            JsonType::String => Value::String(item.as_string().unwrap_or_default().into_owned()),
            _ => Value::Null,
        })
    }

    /// The meaning of the value of a member.
    fn of_member(self, name: &str) -> Self {
        match self {
            Self::Schema => match name {
                "examples" | "default" => Self::Example,
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies" => Self::Schemas,
                "const" | "enum" => Self::Value,
                _ => Self::Schema,
            },
            Self::Schemas => Self::Schema,
            other => other,
        }
    }
}
