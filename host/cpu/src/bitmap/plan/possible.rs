//! Tests of paths, as far as columns of the same paths decide them.
//!
//! A column has the values that its path selects, so it bounds every test of this path. Some rows stay
//! undecided: rows whose value has another type than the column, and rows whose value the column rounds. A
//! test therefore has two choices. The *sure* one has only rows for which the test is true, the *possible*
//! one all of them:
//!
//! ```text
//! $.size >= 10      column of floats       …  9.9  10.0  10.1  …   missing  null  other
//!                   sure                               10.1  …
//!                   possible                     10.0  10.1  …                  other
//! ```
//!
//! 10.0 is only possible: 9.99999999999999999999 is rounded to it. A negation of a test exchanges the two and
//! takes complements. The text decides the rows that are possible.

use warpath_lang::jsonpath::{
    Comparable, ComparableKind, ComparisonOp, Literal, LiteralKind, LogicalExpr, LogicalExprKind,
};
use warpath_store::bitmap::column::{Column, Kind};

use super::formula::{Choice, Formula};
use super::literal::endpoints;
use super::ranges::{Endpoint, Point, Ranges, Side};

/// The longest string that is compared with a column of texts, in bytes.
const LONGEST_TEXT: usize = 1 << 10;

/// The rows for which a test of a path is surely true, and those for which it may be.
struct Bounds {
    sure: Choice,
    possible: Choice,
}

impl Formula {
    /// Makes the formula of all rows for which an expression about paths may be true. It is the constant
    /// `true` if no column decides anything about it.
    pub fn possible(expr: &LogicalExpr, columns: &[Column]) -> Self {
        match Self::of_paths(expr, columns, false) {
            Self::Leaf { column, choice } => Self::leaf(column, choice, columns),
            other => other,
        }
    }

    /// The rows for which an expression or its complement may be true.
    fn of_paths(expr: &LogicalExpr, columns: &[Column], complement: bool) -> Self {
        let (all, both) = match &expr.kind {
            LogicalExprKind::Not(of) => return Self::of_paths(of, columns, !complement),
            LogicalExprKind::And(all) => (all, !complement),
            LogicalExprKind::Or(all) => (all, complement),
            LogicalExprKind::Value(test) => {
                return Self::of_paths(&test.in_rfc_9535(), columns, complement);
            }
            _ => {
                let bounds = columns.iter().enumerate().filter_map(|(at, column)| {
                    let Bounds { sure, possible } = bounds(expr, column)?;
                    let choice = if complement { sure.complement() } else { possible };
                    Some(Self::Leaf { column: at, choice })
                });
                // Several columns of one path bound it together; without any, all rows are possible.
                return Self::joined(bounds.collect(), true, columns);
            }
        };
        let all = all.iter().map(|of| Self::of_paths(of, columns, complement)).collect();
        Self::joined(all, both, columns)
    }
}

/// The bounds that a column gives for a test; `None` if the column has other values than the test is about.
fn bounds(test: &LogicalExpr, column: &Column) -> Option<Bounds> {
    match &test.kind {
        LogicalExprKind::Exists(path) => (path.to_string() == column.source).then(|| {
            let there = Choice { values: Ranges::all(), states: [false, true, true, true] };
            Bounds { sure: there.clone(), possible: there }
        }),
        LogicalExprKind::Comparison(comparison) => {
            let (subject, op, literal) = match (&comparison.left, &comparison.right) {
                (path, Comparable { kind: ComparableKind::Literal(literal), .. }) => {
                    (path, comparison.op, literal)
                }
                (Comparable { kind: ComparableKind::Literal(literal), .. }, path) => {
                    (path, comparison.op.flipped(), literal)
                }
                _ => return None,
            };
            let ComparableKind::Query(path) = &subject.kind else { return None };
            (path.to_string() == column.source).then(|| comparison_bounds(op, literal, column))
        }
        _ => None,
    }
}

/// The bounds of a comparison of the column's path with a literal (RFC 9535, section 2.3.5.2.2).
fn comparison_bounds(op: ComparisonOp, literal: &Literal, column: &Column) -> Bounds {
    let is_null = literal.kind == LiteralKind::Null;
    let with_equal = matches!(op, ComparisonOp::Eq | ComparisonOp::Le | ComparisonOp::Ge);
    // Nothing, and a value of another type, differs from a literal, and is neither before nor after it.
    let missing = op == ComparisonOp::Ne;
    let null = if is_null { with_equal } else { missing };
    let choice = |values, unknown| Choice { values, states: [missing, null, unknown, unknown] };
    let (sure, possible) = value_bounds(op, literal, column);
    Bounds { sure: choice(sure, false), possible: choice(possible, true) }
}

/// The values of a column for which a comparison is surely true, and those for which it may be.
fn value_bounds(op: ComparisonOp, literal: &Literal, column: &Column) -> (Ranges, Ranges) {
    let same = |ranges: Ranges| (ranges.clone(), ranges);
    let unknown = (Ranges::none(), Ranges::all());
    let comparable = match (column.kind, &literal.kind) {
        (Kind::Int | Kind::Float, LiteralKind::Number(_)) | (Kind::Bool, LiteralKind::Bool(_)) => true,
        (Kind::Text, LiteralKind::String(text)) => {
            if text.len() > LONGEST_TEXT {
                return unknown;
            }
            true
        }
        // The column has the instants that the strings mean, and not their order as strings.
        (Kind::Time, LiteralKind::String(_)) => return unknown,
        _ => false,
    };
    if !comparable {
        return same(if op == ComparisonOp::Ne { Ranges::all() } else { Ranges::none() });
    }
    let Ok((before, behind)) = endpoints(literal, column.kind, &column.name) else { return unknown };
    let less = || (Endpoint::Start, before.clone());
    let equal = || (before.clone(), behind.clone());
    let greater = || (behind.clone(), Endpoint::End);
    let exact = |op| {
        Ranges::new(match op {
            ComparisonOp::Eq => vec![equal()],
            ComparisonOp::Ne => vec![less(), greater()],
            ComparisonOp::Lt => vec![less()],
            ComparisonOp::Le => vec![less(), equal()],
            ComparisonOp::Gt => vec![greater()],
            ComparisonOp::Ge => vec![equal(), greater()],
        })
    };
    match (column.kind, &literal.kind) {
        // Truth values have no order.
        (Kind::Bool, _) => same(match op {
            ComparisonOp::Lt | ComparisonOp::Gt => Ranges::none(),
            ComparisonOp::Le | ComparisonOp::Ge => exact(ComparisonOp::Eq),
            op => exact(op),
        }),
        // A rounded value that equals the rounded literal may be on either side of it.
        (Kind::Float, _) => rounded(&exact(op), &Ranges::new(vec![equal()])),
        (Kind::Text, LiteralKind::String(text)) => rounded(&exact(op), &replaced(text)),
        _ => same(exact(op)),
    }
}

/// The bounds of a set of values of which some are rounded, so that they may or may not be in the set.
fn rounded(exact: &Ranges, unknown: &Ranges) -> (Ranges, Ranges) {
    let known = unknown.complement();
    (Ranges::joined([exact, &known].into_iter(), true), Ranges::joined([exact, unknown].into_iter(), false))
}

/// The texts whose order beside `text` is not that of their strings. A column has U+FFFD in place of a
/// surrogate without its partner, and of bytes that are not UTF-8. The order is changed only where all
/// characters before U+FFFD are those of `text`:
///
/// ```text
/// text   n l - 1            U+FFFD…   nU+FFFD…   nlU+FFFD…   nl-U+FFFD…   nl-1U+FFFD…
/// ```
fn replaced(text: &str) -> Ranges {
    const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;
    const NEXT: char = '\u{fffe}';
    let at = |prefix: &str, next: char| {
        let mut text = prefix.to_owned();
        text.push(next);
        Endpoint::At(Point::Text(text.into()), Side::Before)
    };
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    Ranges::new(ends.map(|end| (at(&text[..end], REPLACEMENT), at(&text[..end], NEXT))).collect())
}
