//! Comparisons of a path with a literal.

use warpath_shared::ir::relation;

use crate::jsonpath::{ComparableKind, Comparison, ComparisonOp, Literal, SingularQuery};

/// A comparison of a singular path with a literal, the path on the left.
pub(super) struct WithLiteral<'a> {
    pub path: &'a SingularQuery,
    pub relation: u32,
    pub literal: &'a Literal,
}

impl<'a> WithLiteral<'a> {
    pub fn of(comparison: &'a Comparison) -> Option<Self> {
        let relation = relation_of(comparison.op);
        match (&comparison.left.kind, &comparison.right.kind) {
            (ComparableKind::Query(path), ComparableKind::Literal(literal)) => {
                Some(Self { path, relation, literal })
            }
            (ComparableKind::Literal(literal), ComparableKind::Query(path)) => {
                let order = relation & (relation::LESS | relation::GREATER);
                let turned = if order == relation::LESS || order == relation::GREATER {
                    relation ^ (relation::LESS | relation::GREATER)
                } else {
                    relation
                };
                Some(Self { path, relation: turned, literal })
            }
            _ => None,
        }
    }
}

/// Returns the relations for which a comparison is true.
pub(super) fn relation_of(op: ComparisonOp) -> u32 {
    match op {
        ComparisonOp::Eq => relation::EQUAL,
        ComparisonOp::Ne => relation::UNEQUAL,
        ComparisonOp::Lt => relation::LESS,
        ComparisonOp::Le => relation::LESS | relation::EQUAL,
        ComparisonOp::Gt => relation::GREATER,
        ComparisonOp::Ge => relation::GREATER | relation::EQUAL,
    }
}
