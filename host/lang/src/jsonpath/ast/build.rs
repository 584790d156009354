//! Expressions that programs make. Nobody wrote them, so they have no positions of their own: each part has
//! the span of the path that it is about, or none.

use warpath_core::diagnostic::Span;

use super::{
    Comparable, ComparableKind, Comparison, ComparisonOp, Literal, LiteralKind, LogicalExpr, LogicalExprKind,
    QueryRoot, SingularQuery, SingularStep, SingularStepKind, State, ValueTest, ValueTestKind,
};

impl SingularQuery {
    /// Returns the path of a member of a record, of a member of that member, and so on.
    pub fn of_names(names: impl IntoIterator<Item = String>) -> Self {
        let step = |name| SingularStep { kind: SingularStepKind::Name(name), span: Span::default() };
        let steps = names.into_iter().map(step).collect();
        Self { root: QueryRoot::Record, steps, span: Span::default() }
    }

    fn operand(self) -> Comparable {
        Comparable { span: self.span, kind: ComparableKind::Query(self) }
    }
}

impl LogicalExpr {
    /// Returns the comparison of the value of a path with a constant.
    #[must_use]
    pub fn compare(path: SingularQuery, op: ComparisonOp, constant: LiteralKind) -> Self {
        let span = path.span;
        let literal = ComparableKind::Literal(Literal { kind: constant, span });
        let right = Comparable { kind: literal, span };
        let comparison = Comparison { left: path.operand(), op, op_span: span, right, span };
        Self { kind: LogicalExprKind::Comparison(Box::new(comparison)), span }
    }

    /// Returns the test of a path for a state, [`State::Missing`] or [`State::Null`]. With `not`, returns its
    /// negation.
    #[must_use]
    pub fn is(path: SingularQuery, not: bool, state: State) -> Self {
        let span = path.span;
        let test = ValueTest { subject: path.operand(), not, kind: ValueTestKind::Is(state), span };
        Self { kind: LogicalExprKind::Value(Box::new(test)), span }
    }

    /// Returns the expression that is true where all of these are; `None` without any.
    #[must_use]
    pub fn all(exprs: Vec<Self>) -> Option<Self> {
        joined(exprs, LogicalExprKind::And, |kind| match kind {
            LogicalExprKind::And(exprs) => Ok(exprs),
            kind => Err(kind),
        })
    }

    /// Returns the expression that is true where any of these is; `None` without any.
    #[must_use]
    pub fn any(exprs: Vec<Self>) -> Option<Self> {
        joined(exprs, LogicalExprKind::Or, |kind| match kind {
            LogicalExprKind::Or(exprs) => Ok(exprs),
            kind => Err(kind),
        })
    }

    /// Returns the expression that is true where this one is not.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { span: self.span, kind: LogicalExprKind::Not(Box::new(self)) }
    }

    /// Returns the number of expressions around the innermost one, without filters in paths.
    #[must_use]
    pub fn depth(&self) -> usize {
        match &self.kind {
            LogicalExprKind::Or(exprs) | LogicalExprKind::And(exprs) => {
                1 + exprs.iter().map(Self::depth).max().unwrap_or(0)
            }
            LogicalExprKind::Not(expr) => 1 + expr.depth(),
            _ => 0,
        }
    }
}

/// Joins expressions. Expressions of the same kind, which `open` opens, are replaced by their own operands.
fn joined(
    mut exprs: Vec<LogicalExpr>,
    kind: fn(Vec<LogicalExpr>) -> LogicalExprKind,
    open: fn(LogicalExprKind) -> Result<Vec<LogicalExpr>, LogicalExprKind>,
) -> Option<LogicalExpr> {
    if exprs.len() < 2 {
        return exprs.pop();
    }
    let start = exprs.iter().map(|expr| expr.span.start).min()?;
    let end = exprs.iter().map(|expr| expr.span.end).max()?;
    let mut all = Vec::with_capacity(exprs.len());
    for LogicalExpr { kind, span } in exprs {
        match open(kind) {
            Ok(operands) => all.extend(operands),
            Err(kind) => all.push(LogicalExpr { kind, span }),
        }
    }
    Some(LogicalExpr { kind: kind(all), span: Span::new(start, end) })
}
