//! Sets: many values that one path may equal, by `in` or by comparisons joined by `||`.
//!
//! Values of one kind have an order, so the tests of a set are a search tree. Of 3,000 values, a record is
//! compared with about 14.
//!
//! ```text
//! $.a in (1, 3, 5, 7, …)        $.a < 5 ──then──────► $.a < 3 ── …
//!                                  └─────otherwise──► $.a < 7 ── …
//! ```

use std::collections::HashMap;

use warpath_shared::ir::relation;

use super::with_literal::WithLiteral;
use crate::jsonpath::{Literal, LiteralKind, LogicalExpr, LogicalExprKind, SingularQuery};

/// The least number of values that are searched. Fewer are compared one by one.
const LEAST: usize = 9;

/// The most values at a leaf of the tree, which are compared one by one.
pub(super) const LEAF: usize = 4;

/// The values that a path may equal.
pub(super) struct Set<'a> {
    pub path: &'a SingularQuery,
    literals: Vec<&'a Literal>,
}

/// Takes the sets out of expressions of which one suffices. The other expressions keep their order.
pub(super) fn of(exprs: &[LogicalExpr]) -> (Vec<Set<'_>>, Vec<&LogicalExpr>) {
    if exprs.len() < LEAST {
        return (Vec::new(), exprs.iter().collect());
    }
    let mut sets: Vec<Set<'_>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let set_of: Vec<Option<usize>> = exprs
        .iter()
        .map(|expr| {
            let LogicalExprKind::Comparison(comparison) = &expr.kind else { return None };
            let WithLiteral { path, relation: relation::EQUAL, literal } = WithLiteral::of(comparison)?
            else {
                return None;
            };
            let set = *known.entry(path.to_string()).or_insert_with(|| {
                sets.push(Set { path, literals: Vec::new() });
                sets.len() - 1
            });
            sets[set].literals.push(literal);
            Some(set)
        })
        .collect();
    let is_set = |set: &Option<usize>| set.is_some_and(|set| sets[set].literals.len() >= LEAST);
    let others = exprs.iter().zip(&set_of).filter(|(_, set)| !is_set(set)).map(|(expr, _)| expr).collect();
    sets.retain(|set| set.literals.len() >= LEAST);
    (sets, others)
}

impl<'a> Set<'a> {
    /// The values kind by kind, ascending, each once. Numbers are ordered by their exact values, and strings
    /// by code points.
    pub fn values(&self) -> [Vec<&'a Literal>; 3] {
        let (mut numbers, mut strings, mut words) = (Vec::new(), Vec::new(), Vec::new());
        for literal in &self.literals {
            match &literal.kind {
                LiteralKind::Number(text) => {
                    let mut key = Vec::new();
                    warpath_core::key::encode(text.as_bytes(), &mut key);
                    numbers.push((key, *literal));
                }
                LiteralKind::String(text) => strings.push((text.clone().into_bytes(), *literal)),
                LiteralKind::Bool(_) | LiteralKind::Null | LiteralKind::Now(_) => {
                    words.push((literal.to_string().into(), *literal));
                }
            }
        }
        [words, strings, numbers].map(|mut values: Vec<(Vec<u8>, &Literal)>| {
            values.sort_by(|a, b| a.0.cmp(&b.0));
            values.dedup_by(|a, b| a.0 == b.0);
            values.into_iter().map(|(_, literal)| literal).collect()
        })
    }
}
