//! Reports about values that are not as a JSON Schema requires.

use std::borrow::Cow;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::json::{Array, Node};
use jsonschema::{JsonType, Uri, ValidationError};
use serde_json::Value;
use warpath_lang::jsonpath::ast::Quoted;

use super::record::Item;

/// The most characters of a value, and of the values that a schema allows.
const MOST_VALUE: usize = 40;
const MOST_ALLOWED: usize = 80;

/// A report about a value.
pub struct Report {
    /// The offset of the value in its text.
    pub at: usize,
    /// The normalised path of the value, the value that was expected, and the value itself.
    pub text: String,
    /// The location in the schema: `#` and a JSON pointer. In a schema within that of the file, its address
    /// comes first.
    location: String,
}

/// The first error in the order of the text, and the number of the others. `root` is the value that has
/// them, and `base` the address of the schema, if it has one.
pub fn first<'a>(
    errors: impl Iterator<Item = ValidationError<'a>>,
    root: Item<'_>,
    base: &str,
) -> Option<(usize, String)> {
    let mut reports: Vec<Report> = errors.map(|error| report(&error, root, base)).collect();
    let others = reports.len().checked_sub(1)?;
    let first = (0..reports.len()).min_by_key(|at| reports[*at].at)?;
    let Report { at, text, location } = reports.swap_remove(first);
    let others = match others {
        0 => String::new(),
        others => format!("; {} in this record", count(others as u64, "more error")),
    };
    Some((at, format!("{text} ({location}){others}")))
}

/// The report about an error, or about its one likely cause.
pub fn report(error: &ValidationError<'_>, root: Item<'_>, base: &str) -> Report {
    let error = narrowed(error);
    let Found { mut item, mut path, mut at } = find(root, error.instance_path().as_str());
    // A member that must not be there is shown itself.
    if let Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } =
        error.kind()
        && let Some((name, (value, begin))) =
            unexpected.first().and_then(|name| Some((name, item.member(name)?)))
    {
        path += &format!("[{}]", Quoted(name));
        (item, at) = (value, begin);
    }
    let found = match error.kind() {
        Kind::PropertyNames { error } => {
            format!("the name {}", cut(&error.instance().to_string(), MOST_VALUE))
        }
        _ => cut(item.spelt().0, MOST_VALUE).into_owned(),
    };
    let text = format!("{path}: expected {}, found {found}", expected(error.kind()));
    let location = match error.absolute_keyword_location().map(Uri::as_str) {
        Some(address) => {
            address.strip_prefix(base).filter(|rest| rest.starts_with('#')).unwrap_or(address).to_owned()
        }
        None => format!("#{}", error.schema_path()),
    };
    Report { at, text, location }
}

/// A value in a text.
pub struct Found<'a> {
    pub item: Item<'a>,
    /// Its normalised path.
    pub path: String,
    /// The offset of its first byte.
    pub at: usize,
}

/// The value that a JSON pointer leads to, or the last one on its way.
pub fn find<'a>(root: Item<'a>, pointer: &str) -> Found<'a> {
    let (mut item, mut path) = (root, String::from("$"));
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        let next = match item.as_array() {
            Some(array) => name.parse().ok().and_then(|index| array.elements().nth(index)),
            None => item.member(&name).map(|(value, _)| value),
        };
        let Some(next) = next else { break };
        path += &match item.as_array() {
            Some(_) => format!("[{name}]"),
            None => format!("[{}]", Quoted(&name)),
        };
        item = next;
    }
    Found { item, path, at: item.spelt().1 }
}

/// The error of the one alternative that has the type of the value, in place of the error of all of them.
fn narrowed<'a, 'b>(error: &'b ValidationError<'a>) -> &'b ValidationError<'a>
where
    'a: 'b,
{
    let (Kind::AnyOf { context } | Kind::OneOfNotValid { context }) = error.kind() else { return error };
    let has_other_type = |inner: &ValidationError<'_>| {
        matches!(inner.kind(), Kind::Type { .. }) && inner.instance_path() == error.instance_path()
    };
    let mut near = context.iter().filter(|errors| !errors.iter().any(has_other_type));
    match (near.next().and_then(|errors| errors.first()), near.next()) {
        (Some(inner), None) => narrowed(inner),
        _ => error,
    }
}

/// A text of at most `most` characters, cut if it has more.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some(_) => {
            let end = text.char_indices().nth(most - 1).map_or(0, |(at, _)| at);
            Cow::Owned(format!("{}…", &text[..end]))
        }
        None => Cow::Borrowed(text),
    }
}

fn count(number: u64, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// The value that a schema requires, as it follows "expected".
fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Type { kind: TypeKind::Single(one) } => format!("the type {one}"),
        Kind::Type { kind: TypeKind::Multiple(types) } => {
            let names: Vec<&str> = types.iter().map(JsonType::as_str).collect();
            match &names[..] {
                [names @ .., last] if !names.is_empty() => format!("the type {} or {last}", names.join(", ")),
                names => format!("the type {}", names.join("")),
            }
        }
        Kind::Constant { expected_value } => cut(&expected_value.to_string(), MOST_ALLOWED).into_owned(),
        Kind::Enum { options } => match &**options {
            Value::Array(options) => {
                let all: Vec<String> = options.iter().map(Value::to_string).collect();
                format!("one of {}", cut(&all.join(", "), MOST_ALLOWED))
            }
            other => cut(&other.to_string(), MOST_ALLOWED).into_owned(),
        },
        Kind::Custom { message, .. } => message.clone(),
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("at least {}", count(*limit, "character")),
        Kind::MaxLength { limit } => format!("at most {}", count(*limit, "character")),
        Kind::MinItems { limit } => format!("at least {}", count(*limit, "element")),
        Kind::MaxItems { limit } => format!("at most {}", count(*limit, "element")),
        Kind::AdditionalItems { limit } => format!("at most {}", count(*limit as u64, "element")),
        Kind::MinProperties { limit } => format!("at least {}", count(*limit, "member")),
        Kind::MaxProperties { limit } => format!("at most {}", count(*limit, "member")),
        Kind::Pattern { pattern } => format!("a match of the pattern {}", cut(pattern, MOST_ALLOWED)),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "a match of the pattern, which takes too many steps".to_owned()
        }
        Kind::Format { format } => format!("the format {format}"),
        Kind::ContentEncoding { content_encoding } => format!("the encoding {content_encoding}"),
        Kind::FromUtf8 { .. } => "text in UTF-8".to_owned(),
        Kind::ContentMediaType { content_media_type } => format!("a text of the type {content_media_type}"),
        Kind::Required { property } => format!("the member {}", name_of(property)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let others: Vec<String> =
                unexpected.iter().skip(1).map(|name| format!(", nor {}", Quoted(name))).collect();
            format!("no member of this name{}", cut(&others.concat(), MOST_ALLOWED))
        }
        Kind::UnevaluatedItems { unexpected } => {
            format!("{} less", count(unexpected.len() as u64, "element"))
        }
        Kind::PropertyNames { error } => format!("{} as the name of a member", expected(error.kind())),
        Kind::UniqueItems => "distinct elements".to_owned(),
        Kind::Contains => "elements that the schema of `contains` accepts".to_owned(),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => {
            "a value that one of the schemas accepts".to_owned()
        }
        Kind::OneOfMultipleValid { .. } => "a value that only one of the schemas accepts".to_owned(),
        Kind::Not { .. } => "a value that this schema refuses".to_owned(),
        Kind::FalseSchema => "no value".to_owned(),
        Kind::Referencing(error) => error.to_string(),
    }
}

fn name_of(property: &Value) -> String {
    property.as_str().map_or_else(|| property.to_string(), |name| Quoted(name).to_string())
}
