//! The parts of predicates about a record that are not in RFC 9535: columns, `in`, `between` and `is`.

use std::fmt::{self, Display, Formatter, Write};

use warpath_core::diagnostic::Span;

use super::{
    Comparable, ComparableKind, Comparison, ComparisonOp, FilterQuery, Literal, LiteralKind, LogicalExpr,
    LogicalExprKind, Segment, SegmentKind, Selector, SelectorKind, SingularQuery, SingularStepKind,
    write_joined,
};
use crate::jsonpath::words::is_bare;

/// The name of a column of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnName {
    /// The name, without backticks.
    pub name: String,
    /// The span of the name.
    pub span: Span,
}

/// A test of a value by `in`, `between` or `is`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueTest {
    /// The value: a path, a function call or a column.
    pub subject: Comparable,
    /// True with `not` before the word, or after `is`.
    pub not: bool,
    /// The test.
    pub kind: ValueTestKind,
    /// The whole test.
    pub span: Span,
}

/// The forms of a [`ValueTest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueTestKind {
    /// `in`: equal to one of some values, at least one.
    In(Vec<Literal>),
    /// `between`: from the first value to the second, both included.
    Between(Literal, Literal),
    /// `is`: a test for a value, or for the reason why there is none. A path has two of the states: missing
    /// and null.
    Is(State),
}

/// The state of a row of a column: a value, or the reason why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum State {
    /// A value.
    Value,
    /// No value: the member is missing.
    Missing,
    /// A null.
    Null,
    /// A value of another kind than the column's.
    Other,
    /// A NaN, in a column of floats.
    NaN,
}

impl State {
    /// All states.
    pub(crate) const ALL: [Self; 5] = [Self::Missing, Self::Null, Self::Other, Self::NaN, Self::Value];

    /// Returns the state's name in predicates.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Missing => "missing",
            Self::Null => "null",
            Self::Other => "other",
            Self::NaN => "nan",
        }
    }
}

impl ValueTest {
    /// Returns the test of a path or a function in RFC 9535's terms. `in` becomes comparisons joined by `||`,
    /// `between` two comparisons, `is null` a comparison, and `is missing` a negated test of existence. `not`
    /// negates the test, so that it is true of a missing value.
    pub fn in_rfc_9535(&self) -> LogicalExpr {
        let Self { subject, not, kind, span } = self;
        let expr = |kind| LogicalExpr { kind, span: *span };
        let compare = |op, literal: &Literal| {
            let right = Comparable { kind: ComparableKind::Literal(literal.clone()), span: literal.span };
            let left = subject.clone();
            let comparison = Comparison { left, op, op_span: *span, right, span: *span };
            expr(LogicalExprKind::Comparison(Box::new(comparison)))
        };
        let negated = |of| expr(LogicalExprKind::Not(Box::new(of)));
        let test = match (kind, &subject.kind) {
            (ValueTestKind::In(values), _) => {
                let all = values.iter().map(|value| compare(ComparisonOp::Eq, value)).collect();
                expr(LogicalExprKind::Or(all))
            }
            (ValueTestKind::Between(least, greatest), _) => {
                let both = vec![compare(ComparisonOp::Ge, least), compare(ComparisonOp::Le, greatest)];
                expr(LogicalExprKind::And(both))
            }
            (ValueTestKind::Is(State::Missing), ComparableKind::Query(path)) => {
                negated(expr(LogicalExprKind::Exists(path.as_query())))
            }
            (ValueTestKind::Is(_), _) => {
                compare(ComparisonOp::Eq, &Literal { kind: LiteralKind::Null, span: *span })
            }
        };
        if *not { negated(test) } else { test }
    }
}

impl SingularQuery {
    /// Returns the path as a query that may be tested for existence.
    fn as_query(&self) -> FilterQuery {
        let segment = |step: &super::SingularStep| {
            let kind = match &step.kind {
                SingularStepKind::Name(name) => SelectorKind::Name(name.clone()),
                SingularStepKind::Index(index) => SelectorKind::Index(*index),
            };
            let selectors = vec![Selector { kind, span: step.span }];
            Segment { kind: SegmentKind::Child, selectors, span: step.span }
        };
        FilterQuery { root: self.root, segments: self.steps.iter().map(segment).collect(), span: self.span }
    }
}

impl Display for ValueTest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.subject.fmt(f)?;
        let not = if self.not { " not" } else { "" };
        match &self.kind {
            ValueTestKind::Between(least, greatest) => write!(f, "{not} between {least} and {greatest}"),
            ValueTestKind::In(values) => {
                write!(f, "{not} in (")?;
                write_joined(f, values, ", ")?;
                f.write_char(')')
            }
            ValueTestKind::Is(state) => write!(f, " is{not} {}", state.as_str()),
        }
    }
}

impl Display for ColumnName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_bare(&self.name) {
            f.write_str(&self.name)
        } else {
            write!(f, "`{}`", self.name.replace('`', "``"))
        }
    }
}
