//! The syntax tree of a JSONPath query.
//!
//! Every node has the [`Span`] of its query text. The tree holds well-typed queries only. Where RFC 9535
//! expects a value there is a [`Comparable`]; where it expects a node list there is a [`FilterQuery`]. So
//! readers of the tree need not handle typing mistakes.
//!
//! `Display` writes the canonical form. Every segment is in brackets, and names are as in a normalised path
//! (RFC 9535, section 2.7). The only white space is single spaces around operators, and all parentheses are
//! necessary. Parsing the canonical form gives the same tree with other spans.
//!
//! Predicates about a record are [`LogicalExpr`]s too. They have some forms that filters do not have.

mod build;
mod pattern_kind;
mod predicate;
mod strings;

use std::fmt::{self, Display, Formatter, Write as _};

use warpath_core::diagnostic::Span;
pub use warpath_core::time::Format as TimeFormat;
use warpath_core::time::Instant;

pub use super::words::Quoted;
pub use pattern_kind::PatternKind;
pub use predicate::{ColumnName, State, ValueTest, ValueTestKind};
pub use strings::{StringTest, StringTestKind, TextFunction, TextTest};

/// A whole query: `$` and its segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The segments, applied from left to right. A query without segments selects the record itself.
    pub segments: Vec<Segment>,
    /// The whole text.
    pub span: Span,
}

impl Query {
    /// Returns true if the query selects at most one node of any record. Then every segment is a child
    /// segment with one selector, a name or an index (RFC 9535, section 2.3.5.1).
    #[must_use]
    pub fn is_singular(&self) -> bool {
        self.segments.iter().all(Segment::is_singular)
    }
}

/// One step from a list of nodes to the next list: `.a`, `[0, 'b']`, `..*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The nodes to select from: children or all descendants.
    pub kind: SegmentKind,
    /// The selectors, in the order written; never empty.
    pub selectors: Vec<Selector>,
    /// From the first dot or the `[` to the end of the name or the `]`.
    pub span: Span,
}

impl Segment {
    /// Returns true if the segment selects at most one node of any node. Such a segment is a child segment
    /// with one selector, a name or an index.
    #[must_use]
    pub fn is_singular(&self) -> bool {
        self.kind == SegmentKind::Child
            && matches!(
                self.selectors.as_slice(),
                [Selector { kind: SelectorKind::Name(_) | SelectorKind::Index(_), .. }]
            )
    }
}

/// The nodes from which a segment's selectors select.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SegmentKind {
    /// `.a`, `[…]`: the children of each node.
    Child,
    /// `..a`, `..[…]`: the children of each node and of all its descendants.
    Descendant,
}

/// One selector of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The form of the selector.
    pub kind: SelectorKind,
    /// The selector alone: without brackets and commas, with its quotes or `?`.
    pub span: Span,
}

/// The forms of a [`Selector`], which selects from a node's children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorKind {
    /// `'a'` or `.a`: the member of this name, escapes decoded.
    Name(String),
    /// `*`: every child.
    Wildcard,
    /// `0`, `-1`: the element at this index; negative ones count from the end. At most [`super::MAX_INT`]
    /// in magnitude, as are the three numbers of a slice.
    Index(i64),
    /// `start:end:step`: a range of elements (RFC 9535, section 2.3.4). A missing step is 1; a step of 0
    /// selects nothing.
    Slice {
        /// First index, if written.
        start: Option<i64>,
        /// Index to stop before, if written.
        end: Option<i64>,
        /// Step, if written; may be negative or 0.
        step: Option<i64>,
    },
    /// `?expr`: the children for which the expression holds.
    Filter(LogicalExpr),
}

/// An expression that is true or false for the current node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogicalExpr {
    /// The form of the expression.
    pub kind: LogicalExprKind,
    /// The expression, with its parentheses if it has any.
    pub span: Span,
}

/// The forms of a [`LogicalExpr`]. Only the shape of the tree preserves parentheses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogicalExprKind {
    /// `a || b || …`, at least two.
    Or(Vec<LogicalExpr>),
    /// `a && b && …`, at least two.
    And(Vec<LogicalExpr>),
    /// `!a`.
    Not(Box<LogicalExpr>),
    /// `a == b` and the like.
    Comparison(Box<Comparison>),
    /// `@.a`: true if the query selects any node.
    Exists(FilterQuery),
    /// `match(…)` or `search(…)`.
    Pattern(Box<PatternTest>),
    /// `contains(…)` and the like, or `cidr(…)`.
    String(Box<StringTest>),
    /// `in`, `between` or `is`, in predicates only.
    Value(Box<ValueTest>),
}

/// A comparison of two values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The left operand.
    pub left: Comparable,
    /// The operator.
    pub op: ComparisonOp,
    /// The span of the operator.
    pub op_span: Span,
    /// The right operand.
    pub right: Comparable,
    /// The span from the left operand to the right one.
    pub span: Span,
}

/// A comparison operator (RFC 9535, section 2.3.5.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComparisonOp {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl ComparisonOp {
    /// Returns the operator's text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }

    /// Returns the operator for exchanged operands.
    #[must_use]
    pub const fn flipped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            same => same,
        }
    }
}

/// A value or nothing: an operand of a comparison, or an argument of `ValueType` (RFC 9535, section 2.4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparable {
    /// The source of the value.
    pub kind: ComparableKind,
    /// The operand alone.
    pub span: Span,
}

/// The source of the value of a [`Comparable`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComparableKind {
    /// A constant.
    Literal(Literal),
    /// The value of the one node that a query selects, or nothing.
    Query(SingularQuery),
    /// The result of a function.
    Function(FunctionCall),
    /// A column of an index, in predicates only.
    Column(ColumnName),
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Its value.
    pub kind: LiteralKind,
    /// The literal, with its quotes.
    pub span: Span,
}

/// The value of a [`Literal`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiteralKind {
    /// A number, exactly as written: `1`, `-0`, `1.50`, `2E+3`. It is also a JSON number.
    Number(String),
    /// A string, escapes decoded.
    String(String),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// `now()`. The parser allows it only where it is compared with `time(…)`.
    Now(Now),
}

/// The instant at which an expression was parsed, moved by some amounts of time: `now() - 1h`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Now {
    /// The instant.
    pub at: Instant,
    /// The amounts, each with its sign, as in ` - 1h`.
    pub amounts: String,
}

/// A query inside a filter, which may select any number of nodes: `@.a[*]`, `$..b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterQuery {
    /// The node at which the query starts.
    pub root: QueryRoot,
    /// Its segments.
    pub segments: Vec<Segment>,
    /// From the `@` or `$` to the end of the last segment.
    pub span: Span,
}

impl FilterQuery {
    /// Returns true if the query selects at most one node, like [`Query::is_singular`].
    #[must_use]
    pub fn is_singular(&self) -> bool {
        self.segments.iter().all(Segment::is_singular)
    }
}

/// The node from which a query inside a filter starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueryRoot {
    /// `@`: the child that the filter tests.
    Current,
    /// `$`: the record.
    Record,
}

/// A query inside a filter that selects at most one node: `@.a[0]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SingularQuery {
    /// The node at which the query starts.
    pub root: QueryRoot,
    /// Names and indexes, from left to right.
    pub steps: Vec<SingularStep>,
    /// From the `@` or `$` to the end of the last step.
    pub span: Span,
}

/// One step of a [`SingularQuery`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SingularStep {
    /// The target of the step.
    pub kind: SingularStepKind,
    /// The whole segment, with its dot or brackets.
    pub span: Span,
}

/// The target of a [`SingularStep`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SingularStepKind {
    /// The member of this name, escapes decoded.
    Name(String),
    /// The element at this index; negative ones count from the end.
    Index(i64),
}

/// A call of a function whose result is a value. Functions whose result is true or false are
/// [`PatternTest`]s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCall {
    /// The function and its argument.
    pub kind: FunctionKind,
    /// From the name to the `)`.
    pub span: Span,
}

/// The function of a [`FunctionCall`] and its argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// `length(value)`: the number of characters, elements or members; nothing for any other value (RFC 9535,
    /// section 2.4.4).
    Length(Box<Comparable>),
    /// `count(query)`: the number of nodes (section 2.4.5).
    Count(FilterQuery),
    /// `value(query)`: the value of the only node; nothing if there are none or several (section 2.4.8).
    Value(FilterQuery),
    /// `time(path)`, `time(path, format)`: the instant that a value is; nothing for any other value. It is
    /// compared with literals alone. This function is Warpath's own.
    Time(TimeCall),
}

/// The arguments of `time`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeCall {
    /// The path of the value.
    pub path: SingularQuery,
    /// The format of the value; without one, a date with or without a time, or a number of seconds and so on
    /// since 1970.
    pub format: Option<TimeFormat>,
}

/// `match(subject, pattern)` or `search(subject, pattern)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternTest {
    /// The function.
    pub kind: PatternKind,
    /// The string to test; the test is false for any other value.
    pub subject: Comparable,
    /// An I-Regexp (RFC 9485). The test is false if the pattern is not a string or not an I-Regexp; neither
    /// is an error.
    pub pattern: Comparable,
    /// From the name to the `)`.
    pub span: Span,
}

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('$')?;
        write_segments(f, &self.segments)
    }
}

impl Display for Segment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.kind == SegmentKind::Descendant {
            f.write_str("..")?;
        }
        f.write_char('[')?;
        write_joined(f, &self.selectors, ", ")?;
        f.write_char(']')
    }
}

impl Display for Selector {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            SelectorKind::Name(name) => Quoted(name).fmt(f),
            SelectorKind::Wildcard => f.write_char('*'),
            SelectorKind::Index(index) => index.fmt(f),
            SelectorKind::Slice { start, end, step } => {
                write_optional(f, *start)?;
                f.write_char(':')?;
                write_optional(f, *end)?;
                if step.is_some() {
                    f.write_char(':')?;
                }
                write_optional(f, *step)
            }
            SelectorKind::Filter(expr) => write!(f, "?{expr}"),
        }
    }
}

impl Display for LogicalExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            LogicalExprKind::Or(exprs) => write_operands(f, exprs, " || "),
            LogicalExprKind::And(exprs) => write_operands(f, exprs, " && "),
            LogicalExprKind::Not(expr) => match expr.kind {
                LogicalExprKind::Exists(_) | LogicalExprKind::Pattern(_) | LogicalExprKind::String(_) => {
                    write!(f, "!{expr}")
                }
                _ => write!(f, "!({expr})"),
            },
            LogicalExprKind::Comparison(comparison) => comparison.fmt(f),
            LogicalExprKind::Exists(query) => query.fmt(f),
            LogicalExprKind::Pattern(test) => test.fmt(f),
            LogicalExprKind::String(test) => test.fmt(f),
            LogicalExprKind::Value(test) => test.fmt(f),
        }
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.left, self.op, self.right)
    }
}

impl Display for ComparisonOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Display for Comparable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ComparableKind::Literal(literal) => literal.fmt(f),
            ComparableKind::Query(query) => query.fmt(f),
            ComparableKind::Function(call) => call.fmt(f),
            ComparableKind::Column(column) => column.fmt(f),
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            LiteralKind::Number(text) => f.write_str(text),
            LiteralKind::String(text) => Quoted(text).fmt(f),
            LiteralKind::Bool(value) => value.fmt(f),
            LiteralKind::Null => f.write_str("null"),
            LiteralKind::Now(Now { amounts, .. }) => write!(f, "now(){amounts}"),
        }
    }
}

impl Display for FilterQuery {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)?;
        write_segments(f, &self.segments)
    }
}

impl Display for QueryRoot {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char(match self {
            Self::Current => '@',
            Self::Record => '$',
        })
    }
}

impl Display for SingularQuery {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)?;
        self.steps.iter().try_for_each(|step| step.fmt(f))
    }
}

impl Display for SingularStep {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            SingularStepKind::Name(name) => write!(f, "[{}]", Quoted(name)),
            SingularStepKind::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl Display for FunctionCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FunctionKind::Length(value) => write!(f, "length({value})"),
            FunctionKind::Count(query) => write!(f, "count({query})"),
            FunctionKind::Value(query) => write!(f, "value({query})"),
            FunctionKind::Time(TimeCall { path, format: None }) => write!(f, "time({path})"),
            FunctionKind::Time(TimeCall { path, format: Some(format) }) => {
                write!(f, "time({path}, {})", Quoted(format.text()))
            }
        }
    }
}

impl Display for PatternTest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}, {})", self.kind, self.subject, self.pattern)
    }
}

fn write_segments(f: &mut Formatter<'_>, segments: &[Segment]) -> fmt::Result {
    segments.iter().try_for_each(|segment| segment.fmt(f))
}

fn write_optional(f: &mut Formatter<'_>, number: Option<i64>) -> fmt::Result {
    number.map_or(Ok(()), |number| number.fmt(f))
}

fn write_joined<T: Display>(f: &mut Formatter<'_>, items: &[T], separator: &str) -> fmt::Result {
    items.iter().enumerate().try_for_each(|(i, item)| {
        if i > 0 {
            f.write_str(separator)?;
        }
        item.fmt(f)
    })
}

/// Writes the operands of `||` or `&&`, with the parentheses that parsing needs to restore the same tree. An
/// `&&` under `||` needs none.
fn write_operands(f: &mut Formatter<'_>, exprs: &[LogicalExpr], operator: &str) -> fmt::Result {
    exprs.iter().enumerate().try_for_each(|(i, expr)| {
        if i > 0 {
            f.write_str(operator)?;
        }
        match expr.kind {
            LogicalExprKind::Or(_) => write!(f, "({expr})"),
            LogicalExprKind::And(_) if operator == " && " => write!(f, "({expr})"),
            _ => expr.fmt(f),
        }
    })
}

#[cfg(test)]
mod tests;
