//! Filter expressions (RFC 9535 section 2.3.5). Their types need no check: the parser gives well-typed trees only.

use std::borrow::Cow;

use warpath::jsonpath::{
    Comparable, ComparableKind, FilterQuery, FunctionKind, Literal, LiteralKind, LogicalExpr,
    LogicalExprKind, QueryRoot, SingularQuery, SingularStepKind,
};

use super::json::{Kind, Number, Value};
use super::{compare, functions, query};

/// A value of a node of the record, or one that was made; or `None`, which is RFC 9535's `Nothing` and the empty node list of a
/// singular query: the two compare alike, and as arguments they are the same.
pub type Operand<'a> = Option<Cow<'a, Kind>>;

/// Whether the expression holds of a node, `@`, in a record, `$`.
pub fn holds(expr: &LogicalExpr, root: &Value, current: &Value) -> bool {
    match &expr.kind {
        LogicalExprKind::Or(exprs) => exprs.iter().any(|expr| holds(expr, root, current)),
        LogicalExprKind::And(exprs) => exprs.iter().all(|expr| holds(expr, root, current)),
        LogicalExprKind::Not(expr) => !holds(expr, root, current),
        LogicalExprKind::Comparison(comparison) => {
            let left = operand(&comparison.left, root, current);
            let right = operand(&comparison.right, root, current);
            compare::holds(left.as_deref(), comparison.op, right.as_deref())
        }
        LogicalExprKind::Exists(query) => !nodes(query, root, current).is_empty(),
        LogicalExprKind::Pattern(test) => {
            let subject = operand(&test.subject, root, current);
            let pattern = operand(&test.pattern, root, current);
            functions::pattern(test.kind, subject.as_deref(), pattern.as_deref())
        }
    }
}

fn start<'a>(from: QueryRoot, root: &'a Value, current: &'a Value) -> &'a Value {
    match from {
        QueryRoot::Current => current,
        QueryRoot::Record => root,
    }
}

fn nodes<'a>(query: &FilterQuery, root: &'a Value, current: &'a Value) -> Vec<&'a Value> {
    query::select(&query.segments, root, start(query.root, root, current))
}

fn singular<'a>(query: &SingularQuery, root: &'a Value, current: &'a Value) -> Option<&'a Value> {
    let mut at = start(query.root, root, current);
    for step in &query.steps {
        at = match &step.kind {
            SingularStepKind::Name(name) => at.member(name.as_bytes())?,
            SingularStepKind::Index(index) => at.element(*index)?,
        };
    }
    Some(at)
}

fn operand<'a>(comparable: &Comparable, root: &'a Value, current: &'a Value) -> Operand<'a> {
    let borrowed = |value: &'a Value| Cow::Borrowed(&value.kind);
    match &comparable.kind {
        ComparableKind::Literal(literal) => Some(Cow::Owned(constant(literal))),
        ComparableKind::Query(query) => singular(query, root, current).map(borrowed),
        ComparableKind::Function(call) => match &call.kind {
            FunctionKind::Length(argument) => {
                functions::length(operand(argument, root, current).as_deref()).map(Cow::Owned)
            }
            FunctionKind::Count(query) => Some(Cow::Owned(functions::count(&nodes(query, root, current)))),
            FunctionKind::Value(query) => functions::value(&nodes(query, root, current)).map(borrowed),
        },
    }
}

fn constant(literal: &Literal) -> Kind {
    match &literal.kind {
        LiteralKind::Number(text) => Kind::Number(Number::parse(text)),
        LiteralKind::String(text) => Kind::String(text.clone().into_bytes()),
        LiteralKind::Bool(value) => Kind::Bool(*value),
        LiteralKind::Null => Kind::Null,
    }
}
