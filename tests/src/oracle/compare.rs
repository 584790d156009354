//! Comparisons of values (RFC 9535 section 2.3.5.2.2). `None` is `Nothing`.

use super::json::{Content, Value, member};
use super::syntax::Operator;

/// Returns true if the comparison holds.
pub fn holds(left: Option<&Content>, op: Operator, right: Option<&Content>) -> bool {
    match op {
        Operator::Equal => equal_or_nothing(left, right),
        Operator::NotEqual => !equal_or_nothing(left, right),
        Operator::Less => less(left, right),
        Operator::LessOrEqual => less(left, right) || equal_or_nothing(left, right),
        Operator::Greater => less(right, left),
        Operator::GreaterOrEqual => less(right, left) || equal_or_nothing(left, right),
    }
}

/// `==`: `Nothing` equals `Nothing`, and no value.
fn equal_or_nothing(left: Option<&Content>, right: Option<&Content>) -> bool {
    match (left, right) {
        (None, None) => true,
        (Some(left), Some(right)) => equal(left, right),
        _ => false,
    }
}

/// Returns true if two values are equal: numbers by value, strings by code points, arrays and objects deeply.
///
/// The RFC defines equal objects only if no name is repeated. If a name is repeated, only its first member
/// counts here, as for a member that is selected by name: `{"a":1,"a":2}` equals `{"a":1}`. So objects are
/// equal if every name selects equal values in both, and a value equals itself.
pub fn equal(left: &Content, right: &Content) -> bool {
    match (left, right) {
        (Content::Null, Content::Null) => true,
        (Content::Bool(left), Content::Bool(right)) => left == right,
        (Content::Number(left), Content::Number(right)) => left == right,
        (Content::String(left), Content::String(right)) => left == right,
        (Content::Array(left), Content::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| equal(&left.kind, &right.kind))
        }
        (Content::Object(left), Content::Object(right)) => {
            let same = |left: Option<&Value>, right: Option<&Value>| {
                equal_or_nothing(left.map(|value| &value.kind), right.map(|value| &value.kind))
            };
            left.iter().chain(right).all(|(name, _)| same(member(left, name), member(right, name)))
        }
        _ => false,
    }
}

/// `<`, of two numbers or two strings. No other value is less than any value. Strings are ordered by code
/// points, which is the order of their bytes in UTF-8.
fn less(left: Option<&Content>, right: Option<&Content>) -> bool {
    match (left, right) {
        (Some(Content::Number(left)), Some(Content::Number(right))) => left < right,
        (Some(Content::String(left)), Some(Content::String(right))) => left < right,
        _ => false,
    }
}
