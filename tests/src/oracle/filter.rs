//! Filter expressions (RFC 9535 section 2.3.5). Types need no check, because the grammar yields well-typed
//! trees only.

use std::borrow::Cow;

use super::json::{Content, Number, Value};
use super::syntax::{Comparable, Logical, Query, Start};
use super::{compare, functions, query, strings};

/// The value of a node of the record, or a computed value. `None` is RFC 9535's `Nothing`, and the empty node
/// list of a singular query. Both compare alike, and as arguments they are the same.
pub type Operand<'a> = Option<Cow<'a, Content>>;

/// Returns true if the expression holds for a node, `@`, in a record, `$`.
pub fn holds(expr: &Logical, root: &Value, current: &Value) -> bool {
    let value = |comparable| operand(comparable, root, current);
    match expr {
        Logical::Or(exprs) => exprs.iter().any(|expr| holds(expr, root, current)),
        Logical::And(exprs) => exprs.iter().all(|expr| holds(expr, root, current)),
        Logical::Not(expr) => !holds(expr, root, current),
        Logical::Comparison(left, op, right) => {
            compare::holds(value(left).as_deref(), *op, value(right).as_deref())
        }
        Logical::Exists(query) => !nodes(query, root, current).is_empty(),
        Logical::Match(subject, pattern) => {
            functions::matches(value(subject).as_deref(), value(pattern).as_deref())
        }
        Logical::Search(subject, pattern) => {
            functions::search(value(subject).as_deref(), value(pattern).as_deref())
        }
        Logical::Text(name, subject, text) => strings::text(name, value(subject).as_deref(), text),
        Logical::Cidr(subject, blocks) => strings::cidr(value(subject).as_deref(), blocks),
    }
}

fn nodes<'a>(query: &Query, root: &'a Value, current: &'a Value) -> Vec<&'a Value> {
    let start = match query.start {
        Start::Root => root,
        Start::Current => current,
    };
    query::select(&query.segments, root, start)
}

fn operand<'a>(comparable: &Comparable, root: &'a Value, current: &'a Value) -> Operand<'a> {
    let borrowed = |value: &'a Value| Cow::Borrowed(&value.kind);
    match comparable {
        Comparable::Number(text) => Some(Cow::Owned(Content::Number(Number::parse(text)))),
        Comparable::String(text) => Some(Cow::Owned(Content::String(text.clone().into_bytes()))),
        Comparable::Bool(value) => Some(Cow::Owned(Content::Bool(*value))),
        Comparable::Null => Some(Cow::Owned(Content::Null)),
        Comparable::Singular(query) => nodes(query, root, current).into_iter().next().map(borrowed),
        Comparable::Length(argument) => {
            functions::length(operand(argument, root, current).as_deref()).map(Cow::Owned)
        }
        Comparable::Count(query) => Some(Cow::Owned(functions::count(&nodes(query, root, current)))),
        Comparable::Value(query) => functions::value(&nodes(query, root, current)).map(borrowed),
    }
}
