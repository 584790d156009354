//! Visits of all parts of an expression.

use warpath_core::diagnostic::Span;

use super::ast::{
    Comparable, ComparableKind, FilterQuery, FunctionKind, LogicalExpr, LogicalExprKind, PatternTest,
    QueryRoot, Segment, SelectorKind,
};

/// A part of an expression.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A path in the expression.
    Path {
        /// The value that it starts at.
        root: QueryRoot,
        /// The whole path.
        span: Span,
        /// The number of filters around it, within the expression. `@` is the tested value of the innermost
        /// one.
        depth: usize,
    },
    /// A call of `match` or `search`.
    Pattern(&'a PatternTest),
}

/// Calls `see` with each part of an expression, also of the filters in its paths.
pub fn visit<'a>(expr: &'a LogicalExpr, see: &mut dyn FnMut(Part<'a>)) {
    of_expr(expr, 0, see);
}

/// Calls `see` with each part of the filters of some segments.
pub fn visit_segments<'a>(segments: &'a [Segment], see: &mut dyn FnMut(Part<'a>)) {
    of_segments(segments, 0, see);
}

fn of_expr<'a>(expr: &'a LogicalExpr, depth: usize, see: &mut dyn FnMut(Part<'a>)) {
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
            see(Part::Pattern(test));
            of_value(&test.subject, depth, see);
            of_value(&test.pattern, depth, see);
        }
        LogicalExprKind::Value(test) => of_value(&test.subject, depth, see),
    }
}

fn of_value<'a>(value: &'a Comparable, depth: usize, see: &mut dyn FnMut(Part<'a>)) {
    match &value.kind {
        ComparableKind::Literal(_) | ComparableKind::Column(_) => {}
        ComparableKind::Query(query) => see(Part::Path { root: query.root, span: query.span, depth }),
        ComparableKind::Function(call) => match &call.kind {
            FunctionKind::Length(value) => of_value(value, depth, see),
            FunctionKind::Count(query) | FunctionKind::Value(query) => of_query(query, depth, see),
            FunctionKind::Time(call) => {
                see(Part::Path { root: call.path.root, span: call.path.span, depth });
            }
        },
    }
}

fn of_query<'a>(query: &'a FilterQuery, depth: usize, see: &mut dyn FnMut(Part<'a>)) {
    see(Part::Path { root: query.root, span: query.span, depth });
    of_segments(&query.segments, depth + 1, see);
}

fn of_segments<'a>(segments: &'a [Segment], depth: usize, see: &mut dyn FnMut(Part<'a>)) {
    for selector in segments.iter().flat_map(|segment| &segment.selectors) {
        if let SelectorKind::Filter(expr) = &selector.kind {
            of_expr(expr, depth, see);
        }
    }
}
