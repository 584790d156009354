//! Subscriptions as JSONPath, which become the same twigs.

use warpath_core::diagnostic::Span;

use super::value::{Literal, Operator, ValueTest};
use super::{Axis, NameTest, Twig, TwigError};
use crate::jsonpath;
use crate::jsonpath::ast::{
    Comparable, ComparableKind, Comparison, ComparisonOp, LiteralKind, LogicalExpr, LogicalExprKind,
    QueryRoot, Segment, SegmentKind, SelectorKind, SingularStepKind,
};

/// Parses a query, or a predicate about the document.
pub(super) fn parse(text: &str) -> Result<Twig, TwigError> {
    let mut twig = Twig { nodes: Vec::new() };
    match jsonpath::parse(text) {
        Ok(query) => segments(&mut twig, None, &query.segments).map(drop)?,
        Err(of_query) => {
            let predicate = jsonpath::parse_predicate(text).map_err(|of_predicate| {
                // The mistake is in the form that the text follows for longer.
                let error =
                    if of_predicate.span.start > of_query.span.start { of_predicate } else { of_query };
                TwigError::new(error.span.start, error.to_string())
            })?;
            holds(&mut twig, None, &predicate)?;
        }
    }
    Ok(twig)
}

fn unsupported(span: Span, what: &str) -> TwigError {
    TwigError::new(span.start, format!("a subscription does not support {what}"))
}

/// Adds the nodes of segments below another node. Returns the last node.
fn segments(
    twig: &mut Twig,
    mut parent: Option<usize>,
    segments: &[Segment],
) -> Result<Option<usize>, TwigError> {
    for segment in segments {
        let [selector] = &segment.selectors[..] else {
            return Err(unsupported(segment.span, "several selectors in one segment"));
        };
        let axis = match segment.kind {
            SegmentKind::Child => Axis::Child,
            SegmentKind::Descendant => Axis::Descendant,
        };
        let name = match &selector.kind {
            SelectorKind::Name(name) => NameTest::Name(name.clone()),
            SelectorKind::Wildcard | SelectorKind::Filter(_) => NameTest::Any,
            SelectorKind::Index(_) | SelectorKind::Slice { .. } => {
                return Err(unsupported(selector.span, "positions in arrays"));
            }
        };
        let node = twig.add(parent, axis, name);
        if let SelectorKind::Filter(filter) = &selector.kind {
            holds(twig, Some(node), filter)?;
        }
        parent = Some(node);
    }
    Ok(parent)
}

/// Adds the conditions of a filter on a node, and on the document, which is `$`.
fn holds(twig: &mut Twig, node: Option<usize>, filter: &LogicalExpr) -> Result<(), TwigError> {
    match &filter.kind {
        LogicalExprKind::And(all) => all.iter().try_for_each(|filter| holds(twig, node, filter)),
        LogicalExprKind::Exists(query) => {
            segments(twig, tested_from(node, query.root), &query.segments).map(drop)
        }
        LogicalExprKind::Comparison(comparison) => compares(twig, node, comparison),
        LogicalExprKind::Or(_) => Err(unsupported(filter.span, "`||`: make two subscriptions of it")),
        LogicalExprKind::Not(_) => Err(unsupported(filter.span, "`!`")),
        LogicalExprKind::Pattern(_) | LogicalExprKind::String(_) => Err(unsupported(filter.span, "patterns")),
        LogicalExprKind::Value(_) => Err(unsupported(filter.span, "`in`, `between` and `is`")),
    }
}

/// Returns the node from which a query within a filter begins; `None` for the document.
fn tested_from(node: Option<usize>, root: QueryRoot) -> Option<usize> {
    match root {
        QueryRoot::Current => node,
        QueryRoot::Record => None,
    }
}

fn compares(twig: &mut Twig, node: Option<usize>, comparison: &Comparison) -> Result<(), TwigError> {
    let operator = match comparison.op {
        ComparisonOp::Eq => Operator::Equal,
        ComparisonOp::Lt => Operator::Less,
        ComparisonOp::Le => Operator::LessOrEqual,
        ComparisonOp::Gt => Operator::Greater,
        ComparisonOp::Ge => Operator::GreaterOrEqual,
        // `!=` is also true where there is no such value.
        ComparisonOp::Ne => {
            return Err(unsupported(comparison.op_span, "`!=`, which is also true for missing values"));
        }
    };
    let (query, operator, literal) = match (&comparison.left, &comparison.right) {
        (
            Comparable { kind: ComparableKind::Query(query), .. },
            Comparable { kind: ComparableKind::Literal(literal), .. },
        ) => (query, operator, literal),
        (
            Comparable { kind: ComparableKind::Literal(literal), .. },
            Comparable { kind: ComparableKind::Query(query), .. },
        ) => (query, operator.turned(), literal),
        _ => {
            return Err(unsupported(
                comparison.span,
                "comparisons other than of a value in the document with a literal",
            ));
        }
    };
    let mut tested = tested_from(node, query.root);
    for step in &query.steps {
        let SingularStepKind::Name(name) = &step.kind else {
            return Err(unsupported(step.span, "positions in arrays"));
        };
        tested = Some(twig.add(tested, Axis::Child, NameTest::Name(name.clone())));
    }
    let Some(tested) = tested else {
        return Err(unsupported(query.span, "a comparison of the document itself"));
    };
    let literal_is_ordered = matches!(literal.kind, LiteralKind::Number(_) | LiteralKind::String(_));
    let literal = match &literal.kind {
        LiteralKind::Number(number) => Literal::Number(number.clone()),
        LiteralKind::String(string) => Literal::String(string.clone()),
        LiteralKind::Bool(value) => Literal::Bool(*value),
        LiteralKind::Null => Literal::Null,
        LiteralKind::Now(_) => return Err(unsupported(literal.span, "instants")),
    };
    // `<=` and `>=` are true for equal values of any kind; `<` and `>` are false for values without an order
    // (RFC 9535, section 2.3.5.2.2).
    let operator = match operator {
        Operator::LessOrEqual | Operator::GreaterOrEqual if !literal_is_ordered => Operator::Equal,
        Operator::Less | Operator::Greater if !literal_is_ordered => {
            return Err(unsupported(comparison.span, "a test that is never true"));
        }
        operator => operator,
    };
    twig.nodes[tested].values.push(ValueTest { operator, literal });
    Ok(())
}
