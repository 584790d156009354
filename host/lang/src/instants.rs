//! Instants in filters and predicates: `time($.created_at) >= "2026-01-01"`.
//!
//! Every comparison of `time(…)` with a constant is a test of one range of instants. A constant is a range,
//! too: a date is its whole day, a time without seconds its whole minute, and any other text or number is one
//! nanosecond. So the test `time($.at) <= "2026-01-31"` is true of all of the 31st of January, in UTC.
//!
//! ```text
//! t >= c    t in [start of c, …)          t == c    t in [start of c, end of c)
//! t >  c    t in [end of c, …)            t <  c    t in (…, start of c)
//! ```
//!
//! A program tests numbers by comparisons with literals. The host tests texts
//! ([`host_tests`](crate::host_tests)).

use warpath_core::diagnostic::Span;
use warpath_core::time::{self, Format, Unit};

use crate::jsonpath::visit::{PartMut, visit_mut, visit_segments_mut};
use crate::jsonpath::{
    ComparisonOp, Literal, LiteralKind, LogicalExpr, LogicalExprKind, Segment, SingularQuery,
};

/// A range of instants: those from the first nanosecond on that are before the last one. Missing bounds are
/// no bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    from: Option<i128>,
    to: Option<i128>,
}

/// The power of ten of nanoseconds below which numbers are instants.
const MOST: u32 = 27;

impl Range {
    /// The instants that have a relation to a constant. `None` if the constant is not an instant of the
    /// format. The range for `!=` is that for `==`.
    pub fn of(op: ComparisonOp, constant: &Literal, format: Option<&Format>) -> Option<Self> {
        let (start, end) = bounds(constant, format)?;
        let range = |from, to| Some(Self { from, to });
        match op {
            ComparisonOp::Eq | ComparisonOp::Ne => range(Some(start), Some(end)),
            ComparisonOp::Lt => range(None, Some(start)),
            ComparisonOp::Le => range(None, Some(end)),
            ComparisonOp::Gt => range(Some(end), None),
            ComparisonOp::Ge => range(Some(start), None),
        }
    }

    /// Returns true if an instant is in the range.
    pub fn has(self, instant: i128) -> bool {
        self.from.is_none_or(|from| instant >= from) && self.to.is_none_or(|to| instant < to)
    }

    /// Returns the expression that is true of numbers in the range. `None` if numbers are no instants.
    pub fn of_numbers(self, path: &SingularQuery, format: Option<&Format>) -> Option<LogicalExpr> {
        let numbers = Numbers { path, span: path.span };
        match format {
            Some(format) => Some(numbers.in_unit(self, format.unit()?)),
            None => {
                let mut least = None;
                let units = Unit::ALL.into_iter().map(|unit| {
                    let most = unit.guessed_below();
                    let own = numbers.in_unit(self, unit);
                    let larger = std::mem::replace(&mut least, most).map(|power| numbers.not_below(power));
                    let smaller = most.map(|power| numbers.below(power));
                    numbers.all(larger.into_iter().chain(smaller).chain([own]).collect())
                });
                Some(numbers.any(units.collect()))
            }
        }
    }
}

/// Sets the format of all calls of `time` that have none.
pub(crate) fn set_format(expr: &mut LogicalExpr, format: &Format) {
    visit_mut(expr, &mut |part| set_format_of(part, format));
}

/// Sets the format of all calls of `time` that have none, in the filters of segments.
pub(crate) fn set_format_in(segments: &mut [Segment], format: &Format) {
    visit_segments_mut(segments, &mut |part| set_format_of(part, format));
}

fn set_format_of(part: PartMut<'_>, format: &Format) {
    if let PartMut::Time(call) = part {
        call.format.get_or_insert_with(|| format.clone());
    }
}

/// Returns the first nanosecond of a constant, and the first one after it. A constant is a text that names a
/// range of instants ([`time::read_range`]), `now()`, or a text or number of the format.
fn bounds(constant: &Literal, format: Option<&Format>) -> Option<(i128, i128)> {
    let instant = match &constant.kind {
        LiteralKind::String(text) => match time::read_range(text) {
            Some(range) => return Some((range.start.0, range.end.0)),
            None => format?.read(text)?,
        },
        LiteralKind::Now(now) => now.at,
        LiteralKind::Number(number) => match format {
            Some(format) => format.of_number(number)?,
            None => time::of_number(number)?,
        },
        LiteralKind::Bool(_) | LiteralKind::Null => return None,
    };
    Some((instant.0, instant.0 + 1))
}

/// A path whose value is compared with numbers.
struct Numbers<'a> {
    path: &'a SingularQuery,
    span: Span,
}

impl Numbers<'_> {
    /// The numbers of a unit in a range.
    fn in_unit(&self, range: Range, unit: Unit) -> LogicalExpr {
        let spelt = |nanoseconds: i128| format!("{nanoseconds}e-{}", unit.power());
        let most = MOST - unit.power();
        let from = range.from.map(|from| self.compare(ComparisonOp::Ge, spelt(from)));
        let to = range.to.map(|to| self.compare(ComparisonOp::Lt, spelt(to)));
        self.all([self.below(most)].into_iter().chain(from).chain(to).collect())
    }

    /// The numbers whose magnitude is below a power of ten.
    fn below(&self, power: u32) -> LogicalExpr {
        self.all(vec![
            self.compare(ComparisonOp::Gt, format!("-1e{power}")),
            self.compare(ComparisonOp::Lt, format!("1e{power}")),
        ])
    }

    /// The numbers whose magnitude is not below a power of ten.
    fn not_below(&self, power: u32) -> LogicalExpr {
        self.any(vec![
            self.compare(ComparisonOp::Le, format!("-1e{power}")),
            self.compare(ComparisonOp::Ge, format!("1e{power}")),
        ])
    }

    fn compare(&self, op: ComparisonOp, number: String) -> LogicalExpr {
        LogicalExpr::compare(self.path.clone(), op, LiteralKind::Number(number))
    }

    fn all(&self, exprs: Vec<LogicalExpr>) -> LogicalExpr {
        LogicalExpr { kind: LogicalExprKind::And(exprs), span: self.span }
    }

    fn any(&self, exprs: Vec<LogicalExpr>) -> LogicalExpr {
        LogicalExpr { kind: LogicalExprKind::Or(exprs), span: self.span }
    }
}
