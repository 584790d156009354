//! Instants in filters and predicates: `time($.created_at) >= "2026-01-01"`.
//!
//! Every comparison of `time(…)` with a constant is a test of one range of instants. A constant is a range,
//! too: a date is its whole day, and any other text or number is one nanosecond. So the test
//! `time($.at) <= "2026-01-31"` is true of all of the 31st of January, in UTC.
//!
//! ```text
//! t >= c    t in [start of c, …)          t == c    t in [start of c, end of c)
//! t >  c    t in [end of c, …)            t <  c    t in (…, start of c)
//! ```
//!
//! A program tests numbers by comparisons with literals. Texts are tested by the host: the range is a pattern
//! of [`TestKind::PatternAtRun`](warpath_shared::ir::TestKind) that no record can hold, because it is not
//! UTF-8.

use std::cell::RefCell;

use warpath_core::diagnostic::Span;
use warpath_core::time::{self, Format, Unit};

use crate::jsonpath::{
    Comparable, ComparableKind, Comparison, ComparisonOp, FunctionKind, Literal, LiteralKind, LogicalExpr,
    LogicalExprKind, Segment, SelectorKind, SingularQuery,
};

/// A range of instants: those from the first nanosecond on that are before the last one. Missing bounds are
/// no bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    from: Option<i128>,
    to: Option<i128>,
}

/// The byte that begins a range in a program's literals. It occurs in no UTF-8 text.
pub(crate) const MARK: u8 = 0xff;

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

    fn has(self, instant: i128) -> bool {
        self.from.is_none_or(|from| instant >= from) && self.to.is_none_or(|to| instant < to)
    }

    /// Returns the range and a format as the bytes of a literal: the mark, and the rest in ASCII, without a
    /// backslash.
    pub fn encode(self, format: Option<&Format>) -> Vec<u8> {
        let bound = |bound: Option<i128>| bound.map(|bound| bound.to_string()).unwrap_or_default();
        let mut text = format!("{}|{}|", bound(self.from), bound(self.to));
        for byte in format.map_or("", Format::text).bytes() {
            text.push_str(&format!("{byte:02x}"));
        }
        [&[MARK], text.as_bytes()].concat()
    }

    fn decode(text: &str) -> Option<(Self, String)> {
        let mut parts = text.split('|');
        let (from, to, format) = (parts.next()?, parts.next()?, parts.next()?);
        let bound = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
        let digits = format.as_bytes().chunks(2).map(|digits| std::str::from_utf8(digits).ok());
        let bytes = digits.map(|digits| u8::from_str_radix(digits?, 16).ok()).collect::<Option<Vec<u8>>>()?;
        Some((Self { from: bound(from)?, to: bound(to)? }, String::from_utf8(bytes).ok()?))
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

/// A range that was decoded, with its literal.
struct Decoded {
    literal: Vec<u8>,
    range: Range,
    format: Option<Format>,
}

thread_local! {
    /// The last range that this thread decoded.
    static LAST: RefCell<Option<Decoded>> = const { RefCell::new(None) };
}

/// Returns whether a text is in the range that a literal of a program holds. `None` if the literal is not a
/// range.
#[must_use]
pub fn text_is_in(range: &[u8], text: &[u8]) -> Option<bool> {
    if range.first() != Some(&MARK) {
        return None;
    }
    LAST.with_borrow_mut(|last| {
        if last.as_ref().is_none_or(|last| last.literal != range) {
            let (decoded, format) = Range::decode(std::str::from_utf8(&range[1..]).ok()?)?;
            let format = if format.is_empty() { None } else { Some(Format::new(&format).ok()?) };
            *last = Some(Decoded { literal: range.to_vec(), range: decoded, format });
        }
        let Decoded { range, format, .. } = last.as_ref()?;
        let Ok(text) = std::str::from_utf8(text) else { return Some(false) };
        let instant = match format {
            Some(format) => format.read(text),
            None => time::read(text),
        };
        Some(instant.is_some_and(|instant| range.has(instant.0)))
    })
}

/// Sets the format of all calls of `time` in an expression that have none.
pub(crate) fn set_format(expr: &mut LogicalExpr, format: &Format) {
    match &mut expr.kind {
        LogicalExprKind::Or(exprs) | LogicalExprKind::And(exprs) => {
            exprs.iter_mut().for_each(|expr| set_format(expr, format));
        }
        LogicalExprKind::Not(expr) => set_format(expr, format),
        LogicalExprKind::Comparison(test) => {
            set_format_of(&mut test.left, format);
            set_format_of(&mut test.right, format);
        }
        LogicalExprKind::Exists(query) => set_format_in(&mut query.segments, format),
        LogicalExprKind::Pattern(test) => {
            set_format_of(&mut test.subject, format);
            set_format_of(&mut test.pattern, format);
        }
        LogicalExprKind::Value(test) => set_format_of(&mut test.subject, format),
    }
}

/// Sets the format of all calls of `time` that have none, in the filters of segments.
pub(crate) fn set_format_in(segments: &mut [Segment], format: &Format) {
    for selector in segments.iter_mut().flat_map(|segment| &mut segment.selectors) {
        if let SelectorKind::Filter(expr) = &mut selector.kind {
            set_format(expr, format);
        }
    }
}

fn set_format_of(value: &mut Comparable, format: &Format) {
    if let ComparableKind::Function(call) = &mut value.kind {
        match &mut call.kind {
            FunctionKind::Length(value) => set_format_of(value, format),
            FunctionKind::Count(query) | FunctionKind::Value(query) => {
                set_format_in(&mut query.segments, format);
            }
            FunctionKind::Time(call) => {
                call.format.get_or_insert_with(|| format.clone());
            }
        }
    }
}

/// Returns the first nanosecond of a constant, and the first one after it. A constant is a date, an instant
/// of RFC 3339 with or without an offset, or a text or number of the format.
fn bounds(constant: &Literal, format: Option<&Format>) -> Option<(i128, i128)> {
    const DAY: i128 = 86_400_000_000_000;
    let instant = match &constant.kind {
        LiteralKind::String(text) => match time::date(text) {
            Some(day) => return Some((i128::from(day) * DAY, (i128::from(day) + 1) * DAY)),
            None => time::read(text).or_else(|| format?.read(text))?,
        },
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
        let span = self.span;
        let of = |kind| Comparable { kind, span };
        let left = of(ComparableKind::Query(self.path.clone()));
        let right = of(ComparableKind::Literal(Literal { kind: LiteralKind::Number(number), span }));
        let comparison = Comparison { left, op, op_span: span, right, span };
        LogicalExpr { kind: LogicalExprKind::Comparison(Box::new(comparison)), span }
    }

    fn all(&self, exprs: Vec<LogicalExpr>) -> LogicalExpr {
        LogicalExpr { kind: LogicalExprKind::And(exprs), span: self.span }
    }

    fn any(&self, exprs: Vec<LogicalExpr>) -> LogicalExpr {
        LogicalExpr { kind: LogicalExprKind::Or(exprs), span: self.span }
    }
}
