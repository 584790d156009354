//! Visits of all parts of an expression.

use warpath_core::diagnostic::Span;

use super::ast::{
    Comparable, ComparableKind, FilterQuery, FunctionKind, LogicalExpr, LogicalExprKind, PatternTest,
    QueryRoot, Segment, SelectorKind, SingularQuery, SingularStep, TimeCall, ValueTestKind,
};

/// A part of an expression.
#[derive(Clone, Copy, Debug)]
pub enum Subexpression<'a> {
    /// A path in the expression.
    Path {
        /// The value that it starts at.
        root: QueryRoot,
        /// The whole path.
        span: Span,
        /// The steps from the root on.
        steps: PathSteps<'a>,
        /// The number of filters around it, within the expression. `@` is the tested value of the innermost
        /// one.
        depth: usize,
    },
    /// A call of `match` or `search`.
    Pattern(&'a PatternTest),
    /// A call of `time`. Its path is a part of its own.
    Time(&'a TimeCall),
}

/// The steps of a path in an expression.
#[derive(Clone, Copy, Debug)]
pub enum PathSteps<'a> {
    /// Names and indexes.
    Singular(&'a [SingularStep]),
    /// Any segments.
    Segments(&'a [Segment]),
}

/// Calls `see` with each part of an expression, also of the filters in its paths.
pub fn visit<'a>(expr: &'a LogicalExpr, see: &mut dyn FnMut(Subexpression<'a>)) {
    of_expr(expr, 0, see);
}

/// Calls `see` with each part of the filters of some segments.
pub fn visit_segments<'a>(segments: &'a [Segment], see: &mut dyn FnMut(Subexpression<'a>)) {
    of_segments(segments, 0, see);
}

fn of_expr<'a>(expr: &'a LogicalExpr, depth: usize, see: &mut dyn FnMut(Subexpression<'a>)) {
    match &expr.kind {
        LogicalExprKind::Or(exprs) | LogicalExprKind::And(exprs) => {
            exprs.iter().for_each(|expr| of_expr(expr, depth, see));
        }
        LogicalExprKind::Not(expr) => of_expr(expr, depth, see),
        LogicalExprKind::Comparison(test) => {
            of_value(&test.left, depth, see);
            of_value(&test.right, depth, see);
        }
        LogicalExprKind::Exists(query) => of_query(query, depth, see),
        LogicalExprKind::Pattern(test) => {
            see(Subexpression::Pattern(test));
            of_value(&test.subject, depth, see);
            of_value(&test.pattern, depth, see);
        }
        LogicalExprKind::String(test) => of_value(&test.subject, depth, see),
        LogicalExprKind::Value(test) => of_value(&test.subject, depth, see),
    }
}

fn of_value<'a>(value: &'a Comparable, depth: usize, see: &mut dyn FnMut(Subexpression<'a>)) {
    match &value.kind {
        ComparableKind::Literal(_) | ComparableKind::Column(_) => {}
        ComparableKind::Query(query) => {
            see(of_singular(query, depth));
        }
        ComparableKind::Function(call) => match &call.kind {
            FunctionKind::Length(value) => of_value(value, depth, see),
            FunctionKind::Count(query) | FunctionKind::Value(query) => of_query(query, depth, see),
            FunctionKind::Time(call) => {
                see(Subexpression::Time(call));
                see(of_singular(&call.path, depth));
            }
        },
    }
}

fn of_singular(query: &SingularQuery, depth: usize) -> Subexpression<'_> {
    let steps = PathSteps::Singular(&query.steps);
    Subexpression::Path { root: query.root, span: query.span, steps, depth }
}

fn of_query<'a>(query: &'a FilterQuery, depth: usize, see: &mut dyn FnMut(Subexpression<'a>)) {
    let steps = PathSteps::Segments(&query.segments);
    see(Subexpression::Path { root: query.root, span: query.span, steps, depth });
    of_segments(&query.segments, depth + 1, see);
}

fn of_segments<'a>(segments: &'a [Segment], depth: usize, see: &mut dyn FnMut(Subexpression<'a>)) {
    for selector in segments.iter().flat_map(|segment| &segment.selectors) {
        if let SelectorKind::Filter(expr) = &selector.kind {
            of_expr(expr, depth, see);
        }
    }
}

/// A part of an expression that may be changed.
#[derive(Debug)]
pub(crate) enum PartMut<'a> {
    /// The span of any part.
    Span(&'a mut Span),
    /// The arguments of a call of `time`.
    Time(&'a mut TimeCall),
}

/// Calls `change` with each part of an expression, also of the filters in its paths.
pub(crate) fn visit_mut(expr: &mut LogicalExpr, change: &mut dyn FnMut(PartMut<'_>)) {
    change(PartMut::Span(&mut expr.span));
    match &mut expr.kind {
        LogicalExprKind::Or(exprs) | LogicalExprKind::And(exprs) => {
            exprs.iter_mut().for_each(|expr| visit_mut(expr, change));
        }
        LogicalExprKind::Not(expr) => visit_mut(expr, change),
        LogicalExprKind::Comparison(test) => {
            change(PartMut::Span(&mut test.span));
            change(PartMut::Span(&mut test.op_span));
            value_mut(&mut test.left, change);
            value_mut(&mut test.right, change);
        }
        LogicalExprKind::Exists(query) => query_mut(query, change),
        LogicalExprKind::Pattern(test) => {
            change(PartMut::Span(&mut test.span));
            value_mut(&mut test.subject, change);
            value_mut(&mut test.pattern, change);
        }
        LogicalExprKind::String(test) => {
            change(PartMut::Span(&mut test.span));
            value_mut(&mut test.subject, change);
            let literals = test.kind.literals_mut();
            literals.iter_mut().for_each(|literal| change(PartMut::Span(&mut literal.span)));
        }
        LogicalExprKind::Value(test) => {
            change(PartMut::Span(&mut test.span));
            value_mut(&mut test.subject, change);
            match &mut test.kind {
                ValueTestKind::In(values) => {
                    values.iter_mut().for_each(|value| change(PartMut::Span(&mut value.span)));
                }
                ValueTestKind::Between(least, greatest) => {
                    change(PartMut::Span(&mut least.span));
                    change(PartMut::Span(&mut greatest.span));
                }
                ValueTestKind::Is(_) => {}
            }
        }
    }
}

/// Calls `change` with each part of some segments.
pub(crate) fn visit_segments_mut(segments: &mut [Segment], change: &mut dyn FnMut(PartMut<'_>)) {
    for segment in segments {
        change(PartMut::Span(&mut segment.span));
        for selector in &mut segment.selectors {
            change(PartMut::Span(&mut selector.span));
            if let SelectorKind::Filter(expr) = &mut selector.kind {
                visit_mut(expr, change);
            }
        }
    }
}

fn value_mut(value: &mut Comparable, change: &mut dyn FnMut(PartMut<'_>)) {
    change(PartMut::Span(&mut value.span));
    match &mut value.kind {
        ComparableKind::Literal(literal) => change(PartMut::Span(&mut literal.span)),
        ComparableKind::Column(column) => change(PartMut::Span(&mut column.span)),
        ComparableKind::Query(query) => singular_mut(query, change),
        ComparableKind::Function(call) => {
            change(PartMut::Span(&mut call.span));
            match &mut call.kind {
                FunctionKind::Length(value) => value_mut(value, change),
                FunctionKind::Count(query) | FunctionKind::Value(query) => query_mut(query, change),
                FunctionKind::Time(call) => {
                    singular_mut(&mut call.path, change);
                    change(PartMut::Time(call));
                }
            }
        }
    }
}

fn query_mut(query: &mut FilterQuery, change: &mut dyn FnMut(PartMut<'_>)) {
    change(PartMut::Span(&mut query.span));
    visit_segments_mut(&mut query.segments, change);
}

fn singular_mut(query: &mut SingularQuery, change: &mut dyn FnMut(PartMut<'_>)) {
    change(PartMut::Span(&mut query.span));
    query.steps.iter_mut().for_each(|step| change(PartMut::Span(&mut step.span)));
}
