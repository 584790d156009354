//! The parts of a predicate that compare members of the record with constants.

use std::sync::Arc;

use memchr::memmem::Finder;
use warpath_core::comparison::{Comparison, Condition, Constant, Pattern, Property, Test};

use super::Predicate;
use crate::addresses;
use crate::jsonpath::{
    Comparable, ComparableKind, ComparisonOp, FilterQuery, Literal, LiteralKind, LogicalExpr,
    LogicalExprKind, PatternTest, QueryRoot, SegmentKind, SelectorKind, SingularQuery, SingularStepKind,
    State, StringTest, StringTestKind, ValueTest, ValueTestKind,
};
use crate::like::Pattern as Strings;
use crate::pattern::{automaton_of, holds};

impl Predicate {
    /// A condition that is true of every record of which the predicate is true. There may be records of which
    /// it is true, and the predicate is not: parts that are no comparisons are left out. `None` if no part
    /// is known.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn condition(&self) -> Option<Condition> {
        if self.of_value { None } else { of(&self.expr, false, Completeness::Some) }
    }

    /// A condition that is true of exactly the records of which the predicate is true. `None` if some part is
    /// no comparison of a member with constants.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn exact_condition(&self) -> Option<Condition> {
        if self.of_value { None } else { of(&self.expr, false, Completeness::All) }
    }
}

/// The parts of a predicate that its condition has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Completeness {
    /// The parts that are comparisons.
    Some,
    /// All of them.
    All,
}

/// The condition for an expression to be true, or with `not` to be false.
fn of(expr: &LogicalExpr, not: bool, parts: Completeness) -> Option<Condition> {
    let each = |exprs: &[LogicalExpr]| exprs.iter().map(|expr| of(expr, not, parts)).collect::<Vec<_>>();
    match (&expr.kind, not) {
        (LogicalExprKind::And(exprs), false) | (LogicalExprKind::Or(exprs), true) => match parts {
            Completeness::Some => all(each(exprs).into_iter().flatten().collect()),
            Completeness::All => all(each(exprs).into_iter().collect::<Option<_>>()?),
        },
        // If one of them is unknown, so are all.
        (LogicalExprKind::Or(exprs), false) | (LogicalExprKind::And(exprs), true) => {
            each(exprs).into_iter().collect::<Option<Vec<_>>>().map(any)
        }
        (LogicalExprKind::Not(expr), _) => of(expr, !not, parts),
        (LogicalExprKind::Comparison(comparison), _) => {
            compare(&comparison.left, comparison.op, &comparison.right, not)
        }
        (LogicalExprKind::Exists(query), _) => exists(query, not, parts),
        (LogicalExprKind::Value(test), _) => value(test, not != test.not),
        (LogicalExprKind::Pattern(test), _) => pattern(test, not),
        (LogicalExprKind::String(test), _) => string(test, not),
    }
}

/// All of some conditions; `None` if there are none.
fn all(conditions: Vec<Condition>) -> Option<Condition> {
    let mut flat = Vec::with_capacity(conditions.len());
    for condition in conditions {
        match condition {
            Condition::All(inner) => flat.extend(inner),
            condition => flat.push(condition),
        }
    }
    if flat.len() > 1 { Some(Condition::All(flat)) } else { flat.pop() }
}

/// Any of some conditions. Values that one member may be equal to become one comparison.
fn any(conditions: Vec<Condition>) -> Condition {
    let mut flat: Vec<Condition> = Vec::with_capacity(conditions.len());
    let mut add = |condition| {
        if let Condition::Is(Comparison { path, test: Test::Equal(more) }) = &condition
            && let Some(Condition::Is(Comparison { path: before, test: Test::Equal(values) })) =
                flat.last_mut()
            && path == before
        {
            values.extend(more.iter().cloned());
        } else {
            flat.push(condition);
        }
    };
    for condition in conditions {
        match condition {
            Condition::Any(inner) => inner.into_iter().for_each(&mut add),
            condition => add(condition),
        }
    }
    match flat.pop() {
        Some(only) if flat.is_empty() => only,
        last => {
            flat.extend(last);
            Condition::Any(flat)
        }
    }
}

fn is(path: Vec<Vec<u8>>, test: Test, not: bool) -> Condition {
    Condition::Is(Comparison { path, test: if not { test.negated() } else { test } })
}

fn exists(query: &FilterQuery, not: bool, parts: Completeness) -> Option<Condition> {
    let names = query.segments.iter().map(|segment| match segment.selectors.as_slice() {
        [one] if segment.kind == SegmentKind::Child => match &one.kind {
            SelectorKind::Name(name) => Some(name.clone().into_bytes()),
            _ => None,
        },
        _ => None,
    });
    // What exists below the first names exists in them. What does not may lack there alone.
    let path: Vec<_> = names.map_while(|name| name).collect();
    let is_whole = path.len() == query.segments.len();
    let is_known = !path.is_empty() && (is_whole || !not && parts == Completeness::Some);
    (is_known && query.root == QueryRoot::Record).then(|| is(path, Test::Exists, not))
}

fn value(test: &ValueTest, not: bool) -> Option<Condition> {
    let ComparableKind::Query(query) = &test.subject.kind else { return None };
    let path = path(query)?;
    Some(match &test.kind {
        ValueTestKind::In(values) => is(path, Test::Equal(values.iter().map(constant).collect()), not),
        ValueTestKind::Between(least, greatest) => {
            let least = is(path.clone(), Test::AtLeast(constant(least)), not);
            let both = vec![least, is(path, Test::AtMost(constant(greatest)), not)];
            if not { Condition::Any(both) } else { Condition::All(both) }
        }
        ValueTestKind::Is(State::Missing) => is(path, Test::Exists, !not),
        ValueTestKind::Is(State::Null) => is(path, Test::Equal(vec![Constant::Null]), not),
        ValueTestKind::Is(_) => return None,
    })
}

fn pattern(test: &PatternTest, not: bool) -> Option<Condition> {
    let (ComparableKind::Query(query), ComparableKind::Literal(literal)) =
        (&test.subject.kind, &test.pattern.kind)
    else {
        return None;
    };
    let LiteralKind::String(text) = &literal.kind else { return None };
    let (kind, regexp) = (test.kind, text.clone().into_bytes());
    let name = format!("{kind:?}({text})");
    let holds = Arc::new(move |subject: &[u8]| holds(&regexp, kind, subject));
    Some(is(path(query)?, Test::Matches(Pattern { name, holds }), not))
}

fn string(test: &StringTest, not: bool) -> Option<Condition> {
    let ComparableKind::Query(query) = &test.subject.kind else { return None };
    let path = path(query)?;
    let literals: Vec<String> = test.kind.literals().iter().map(ToString::to_string).collect();
    let name = format!("{}({})", test.kind.name(), literals.join(", "));
    let holds = property(&test.kind)?;
    Some(is(path, Test::Matches(Pattern { name, holds }), not))
}

/// The property of strings for which a test is true. `None` if its automaton is too large; no program has
/// such a test.
fn property(test: &StringTestKind) -> Option<Arc<Property>> {
    let text = match test {
        StringTestKind::Cidr { blocks, .. } => {
            let blocks = blocks.clone();
            return Some(Arc::new(move |subject| addresses::are_of(&blocks, subject)));
        }
        StringTestKind::Text(text) => text,
    };
    Some(match &text.pattern {
        Strings::Contains(bytes) if !text.ignores_case => {
            let finder = Finder::new(bytes).into_owned();
            Arc::new(move |subject| finder.find(subject).is_some())
        }
        pattern @ (Strings::StartsWith(_) | Strings::EndsWith(_)) if !text.ignores_case => {
            let pattern = pattern.clone();
            Arc::new(move |subject| pattern.matches(subject))
        }
        pattern => {
            let automaton = automaton_of(pattern, text.ignores_case).ok()?;
            Arc::new(move |subject| automaton.accepts(subject))
        }
    })
}

/// The comparison of two operands, if one is a path of names and the other a constant.
fn compare(left: &Comparable, op: ComparisonOp, right: &Comparable, not: bool) -> Option<Condition> {
    let (query, op, literal) = match (&left.kind, &right.kind) {
        (ComparableKind::Query(query), ComparableKind::Literal(literal)) => (query, op, literal),
        (ComparableKind::Literal(literal), ComparableKind::Query(query)) => (query, op.flipped(), literal),
        _ => return None,
    };
    let (constant, path) = (constant(literal), path(query)?);
    Some(match op {
        ComparisonOp::Eq => is(path, Test::Equal(vec![constant]), not),
        ComparisonOp::Ne => is(path, Test::Equal(vec![constant]), !not),
        ComparisonOp::Lt => is(path, Test::Less(constant), not),
        ComparisonOp::Le => is(path, Test::AtMost(constant), not),
        ComparisonOp::Gt => is(path, Test::Greater(constant), not),
        ComparisonOp::Ge => is(path, Test::AtLeast(constant), not),
    })
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
        // It is compared with instants, which are no members.
        LiteralKind::Now(_) => Constant::String(literal.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(condition: &Condition) -> String {
        let joined = |all: &[Condition], word| all.iter().map(text).collect::<Vec<_>>().join(word);
        match condition {
            Condition::Is(Comparison { path, test }) => {
                let names: Vec<_> = path.iter().map(|name| String::from_utf8_lossy(name)).collect();
                format!("{} {test:?}", names.join(".")).replace("Number(\"", "(").replace("\")", ")")
            }
            Condition::All(all) => joined(all, " & "),
            Condition::Any(any) => format!("({})", joined(any, " | ")),
        }
    }

    #[test]
    fn exact_conditions_have_all_parts() {
        for (predicate, want) in [
            ("$.a == 1 and $.b", "a Equal([(1)]) & b Exists"),
            (
                "$.a == 1 or not ($.b > 2 and $.c is null)",
                "(a Equal([(1)]) | b Not(Greater((2))) | c Not(Equal([Null])))",
            ),
            ("$.a not between 1 and 2", "(a Not(AtLeast((1))) | a Not(AtMost((2))))"),
            ("$.a == 1 and count($.b[*]) > 2", ""),
            ("not ($.a == 1 or count($.b[*]) > 2)", ""),
            ("$.a.b[0]", ""),
            ("$.a == $.b", ""),
            ("time($.a) > now()", ""),
        ] {
            let found = Predicate::parse(predicate).expect(predicate).exact_condition();
            assert_eq!(found.as_ref().map_or(String::new(), text), want, "{predicate}");
        }
    }

    #[test]
    fn parts_that_are_comparisons_are_known() {
        for (predicate, want) in [
            ("$.a == 1", "a Equal([(1)])"),
            ("1.50 < $.a.b", "a.b Greater((1.50))"),
            ("$.a in ('x', null)", "a Equal([String(\"x), Null])"),
            ("$.a not in (true, 2)", "a Not(Equal([Bool(true), (2)]))"),
            ("$.a between 1 and 2", "a AtLeast((1)) & a AtMost((2))"),
            ("$.a not between 1 and 2", "(a Not(AtLeast((1))) | a Not(AtMost((2))))"),
            ("$.a is not missing and $.b and $.c is null", "a Exists & b Exists & c Equal([Null])"),
            ("$.a is missing and $.b is not null", "a Not(Exists) & b Not(Equal([Null]))"),
            ("$.a.b[0].c && $.d[*]", "a.b Exists & d Exists"),
            ("!$.a.b[0].c && !$.d.e", "d.e Not(Exists)"),
            (
                "!($.a == 'x') and not ($.b != 'y') and not ($.c < 1)",
                "a Not(Equal([String(\"x)])) & b Equal([String(\"y)]) & c Not(Less((1)))",
            ),
            ("($.a > 1 && ($.b >= 2 && $.c <= 3))", "a Greater((1)) & b AtLeast((2)) & c AtMost((3))"),
            ("$.a == 1 or $.b == 2", "(a Equal([(1)]) | b Equal([(2)]))"),
            ("$.a == 1 or $.a in (2, 3) or $.b > 2", "(a Equal([(1), (2), (3)]) | b Greater((2)))"),
            ("$.a == 1 or $.a == 2", "a Equal([(1), (2)])"),
            ("$.c == 1 and ($.a == 1 or count($.b[*]) > 2)", "c Equal([(1)])"),
            ("not ($.a == 1 or count($.b[*]) > 2)", "a Not(Equal([(1)]))"),
            ("not ($.a == 1 and $.b > 2)", "(a Not(Equal([(1)])) | b Not(Greater((2))))"),
            ("not ($.a == 1 and count($.b[*]) > 2)", ""),
            ("match($.d, 'x') and !search($.d, 'y')", "d Matches(Match(x)) & d Not(Matches(Search(y)))"),
            ("match($.d, $.e) or $.a == 1", ""),
            (
                "contains($.d, 'x') and !ilike($.d, 'y')",
                "d Matches(contains('x')) & d Not(Matches(ilike('y')))",
            ),
            ("cidr($.d, '10.0.0.0/8', '::1')", "d Matches(cidr('10.0.0.0/8', '::1'))"),
            ("contains($.d[0], 'x') and time($.e) >= now()", ""),
            ("$.a == $.b and n == 1 and $.c[0] == 1 and match($.d[0], 'x') and length($.e) > 1", ""),
            ("$..a", ""),
        ] {
            let found = Predicate::parse(predicate).expect(predicate).condition();
            assert_eq!(found.as_ref().map_or(String::new(), text), want, "{predicate}");
        }
        assert_eq!(Predicate::of_value("@.a == 1 && $.b == 2").unwrap().condition(), None);
    }
}
