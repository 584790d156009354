//! The parts of a predicate that compare members of the record with constants.

use warpath_core::comparison::{Comparison, Constant, Test};

use super::Predicate;
use crate::jsonpath::{
    Comparable, ComparableKind, ComparisonOp, Literal, LiteralKind, LogicalExpr, LogicalExprKind, QueryRoot,
    SegmentKind, SelectorKind, SingularQuery, SingularStepKind, State, ValueTest, ValueTestKind,
};

impl Predicate {
    /// Comparisons that are true of every record of which the predicate is true. There may be records of
    /// which all are true, and the predicate is not: parts of it that are no comparisons are left out.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn comparisons(&self) -> Vec<Comparison> {
        let mut all = Vec::new();
        if !self.of_value {
            add(&self.expr, &mut all);
        }
        all
    }
}

/// Adds the comparisons of an expression.
fn add(expr: &LogicalExpr, all: &mut Vec<Comparison>) {
    match &expr.kind {
        LogicalExprKind::And(exprs) => exprs.iter().for_each(|expr| add(expr, all)),
        // Only these two are the opposite of each other: the others are all false of a missing value.
        LogicalExprKind::Not(of) => match &of.kind {
            LogicalExprKind::Comparison(comparison) if comparison.op == ComparisonOp::Eq => {
                all.extend(compare(&comparison.left, ComparisonOp::Ne, &comparison.right));
            }
            LogicalExprKind::Comparison(comparison) if comparison.op == ComparisonOp::Ne => {
                all.extend(compare(&comparison.left, ComparisonOp::Eq, &comparison.right));
            }
            _ => {}
        },
        LogicalExprKind::Comparison(comparison) => {
            all.extend(compare(&comparison.left, comparison.op, &comparison.right));
        }
        LogicalExprKind::Exists(query) if query.root == QueryRoot::Record => {
            let names = query.segments.iter().map(|segment| match segment.selectors.as_slice() {
                [one] if segment.kind == SegmentKind::Child => match &one.kind {
                    SelectorKind::Name(name) => Some(name.clone().into_bytes()),
                    _ => None,
                },
                _ => None,
            });
            // What exists below the first names exists in them.
            let path: Vec<_> = names.map_while(|name| name).collect();
            all.extend((!path.is_empty()).then_some(Comparison { path, test: Test::Exists }));
        }
        LogicalExprKind::Value(test) => add_test(test, all),
        LogicalExprKind::Or(_) | LogicalExprKind::Exists(_) | LogicalExprKind::Pattern(_) => {}
    }
}

fn add_test(test: &ValueTest, all: &mut Vec<Comparison>) {
    let ComparableKind::Query(query) = &test.subject.kind else { return };
    let Some(path) = path(query) else { return };
    let mut push = |test| all.push(Comparison { path: path.clone(), test });
    match (&test.kind, test.not) {
        (ValueTestKind::In(values), false) => push(Test::Equal(values.iter().map(constant).collect())),
        (ValueTestKind::In(values), true) => {
            values.iter().for_each(|value| push(Test::NotEqual(constant(value))));
        }
        (ValueTestKind::Between(least, greatest), false) => {
            push(Test::AtLeast(constant(least)));
            push(Test::AtMost(constant(greatest)));
        }
        (ValueTestKind::Is(State::Missing), true) => push(Test::Exists),
        (ValueTestKind::Is(State::Null), false) => push(Test::Equal(vec![Constant::Null])),
        (ValueTestKind::Is(State::Null), true) => push(Test::NotEqual(Constant::Null)),
        (ValueTestKind::Between(..) | ValueTestKind::Is(_), _) => {}
    }
}

/// The comparison of two operands, if one is a path of names and the other a constant.
fn compare(left: &Comparable, op: ComparisonOp, right: &Comparable) -> Option<Comparison> {
    let (query, op, literal) = match (&left.kind, &right.kind) {
        (ComparableKind::Query(query), ComparableKind::Literal(literal)) => (query, op, literal),
        (ComparableKind::Literal(literal), ComparableKind::Query(query)) => (query, op.flipped(), literal),
        _ => return None,
    };
    let constant = constant(literal);
    let test = match op {
        ComparisonOp::Eq => Test::Equal(vec![constant]),
        ComparisonOp::Ne => Test::NotEqual(constant),
        ComparisonOp::Lt => Test::Less(constant),
        ComparisonOp::Le => Test::AtMost(constant),
        ComparisonOp::Gt => Test::Greater(constant),
        ComparisonOp::Ge => Test::AtLeast(constant),
    };
    Some(Comparison { path: path(query)?, test })
}

/// The names of a path from the record that has only names.
fn path(query: &SingularQuery) -> Option<Vec<Vec<u8>>> {
    if query.root != QueryRoot::Record || query.steps.is_empty() {
        return None;
    }
    let names = query.steps.iter().map(|step| match &step.kind {
        SingularStepKind::Name(name) => Some(name.clone().into_bytes()),
        SingularStepKind::Index(_) => None,
    });
    names.collect()
}

fn constant(literal: &Literal) -> Constant {
    match &literal.kind {
        LiteralKind::Null => Constant::Null,
        LiteralKind::Bool(value) => Constant::Bool(*value),
        LiteralKind::Number(text) => Constant::Number(text.clone()),
        LiteralKind::String(text) => Constant::String(text.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(comparison: &Comparison) -> String {
        let names: Vec<_> = comparison.path.iter().map(|name| String::from_utf8_lossy(name)).collect();
        format!("{} {:?}", names.join("."), comparison.test)
    }

    #[test]
    fn conjuncts_are_comparisons() {
        for (predicate, want) in [
            ("$.a == 1", &["a Equal([Number(\"1\")])"][..]),
            ("1.50 < $.a.b", &["a.b Greater(Number(\"1.50\"))"]),
            ("$.a in ('x', null)", &["a Equal([String(\"x\"), Null])"]),
            ("$.a not in (true, 2)", &["a NotEqual(Bool(true))", "a NotEqual(Number(\"2\"))"]),
            ("$.a between 1 and 2", &["a AtLeast(Number(\"1\"))", "a AtMost(Number(\"2\"))"]),
            ("$.a not between 1 and 2", &[]),
            ("$.a is not missing and $.b and $.c is null", &["a Exists", "b Exists", "c Equal([Null])"]),
            ("$.a is missing and $.b is not null", &["b NotEqual(Null)"]),
            ("$.a.b[0].c && $.d[*]", &["a.b Exists", "d Exists"]),
            (
                "!($.a == 'x') and not ($.b != 'y') and not ($.c < 1)",
                &["a NotEqual(String(\"x\"))", "b Equal([String(\"y\")])"],
            ),
            (
                "($.a > 1 && ($.b >= 2 && $.c <= 3))",
                &["a Greater(Number(\"1\"))", "b AtLeast(Number(\"2\"))", "c AtMost(Number(\"3\"))"],
            ),
            ("$.a == 1 or $.b == 2", &[]),
            ("$.a == $.b and n == 1 and $.c[0] == 1 and match($.d, 'x') and length($.e) > 1", &[]),
            ("$..a", &[]),
        ] {
            let found = Predicate::parse(predicate).expect(predicate).comparisons();
            assert_eq!(found.iter().map(text).collect::<Vec<_>>(), want, "{predicate}");
        }
        assert!(Predicate::of_value("@.a == 1 && $.b == 2").unwrap().comparisons().is_empty());
    }
}
