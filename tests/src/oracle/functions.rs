//! The functions of RFC 9535 (section 2.4). `None` is `Nothing`.

use super::json::{Content, Number, Value};
use super::regexp;

/// `length` (section 2.4.4): the code points of a string, the elements of an array, the members of an object.
///
/// A lone surrogate counts as one. In a string that is not UTF-8, each byte except continuation bytes
/// (`0x80..0xc0`) counts as one. Each member of a repeated name counts, as for `count(@.*)`.
pub fn length(value: Option<&Content>) -> Option<Content> {
    let length = match value? {
        Content::String(text) => text.iter().filter(|byte| !(0x80..0xc0).contains(*byte)).count(),
        Content::Array(elements) => elements.len(),
        Content::Object(members) => members.len(),
        Content::Null | Content::Bool(_) | Content::Number(_) => return None,
    };
    Some(number(length))
}

/// `count` (section 2.4.5): the length of the node list. A node counts as often as it is in the list.
pub fn count(nodes: &[&Value]) -> Content {
    number(nodes.len())
}

/// `value` (section 2.4.8): the value of the only node.
pub fn value<'a>(nodes: &[&'a Value]) -> Option<&'a Value> {
    match nodes {
        [node] => Some(node),
        _ => None,
    }
}

/// `match` (section 2.4.6): true if a pattern matches the whole of a string. False if either argument is not
/// a string, or the second is not an I-Regexp.
pub fn matches(subject: Option<&Content>, pattern: Option<&Content>) -> bool {
    strings(subject, pattern).is_some_and(|(subject, pattern)| regexp::matches(pattern, subject))
}

/// `search` (section 2.4.7): true if a pattern matches any part of a string. False in the cases of
/// [`matches()`].
pub fn search(subject: Option<&Content>, pattern: Option<&Content>) -> bool {
    strings(subject, pattern).is_some_and(|(subject, pattern)| regexp::finds(pattern, subject))
}

fn strings<'a>(subject: Option<&'a Content>, pattern: Option<&'a Content>) -> Option<(&'a [u8], &'a [u8])> {
    match (subject?, pattern?) {
        (Content::String(subject), Content::String(pattern)) => Some((subject, pattern)),
        _ => None,
    }
}

fn number(n: usize) -> Content {
    Content::Number(Number::parse(&n.to_string()))
}
