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
//! A program tests numbers by comparisons with literals. Texts are tested by the host. The range is then a
//! pattern of [`TestKind::PatternAtRun`](warpath_shared::ir::TestKind), and the pattern is the number of a
//! range ([`Ranges`]). A pattern of a record may have any bytes. Therefore the number follows a key that each
//! process draws at random, which no record can know.
//!
//! ```text
//! literal   ff | key: 16 bytes from 80 to ff | number: 5 bytes from 80 to ff, 7 bits each
//! ```

use std::cell::RefCell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::OnceLock;

use warpath_core::diagnostic::Span;
use warpath_core::time::{self, Format, Instant, Unit};

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

/// The byte that begins a range in a program's literals. It occurs in no UTF-8 text.
pub(crate) const MARK: u8 = 0xff;

/// The bytes of the key in a literal.
const KEY_BYTES: usize = 16;
/// The bytes of a literal.
const LITERAL_BYTES: usize = 1 + KEY_BYTES + 5;

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

/// The ranges that a program tests texts for, by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranges(Vec<TextRange>);

#[derive(Clone, Debug, PartialEq)]
struct TextRange {
    range: Range,
    format: Option<Format>,
    /// The first range whose texts have the same format.
    first: usize,
}

/// Returns the seven bits of a number from bit `7 * at` on, as a byte that is neither ASCII nor special in a
/// string.
fn bits(number: u64, at: usize) -> u8 {
    0x80 | (number >> (7 * at)) as u8
}

/// Returns the bytes that begin each range in the literals of this process's programs.
fn head() -> &'static [u8; 1 + KEY_BYTES] {
    static HEAD: OnceLock<[u8; 1 + KEY_BYTES]> = OnceLock::new();
    HEAD.get_or_init(|| {
        let random = RandomState::new();
        let words = [random.hash_one(0), random.hash_one(1)];
        std::array::from_fn(|at| match at.checked_sub(1) {
            None => MARK,
            Some(at) => bits(words[at / 8], at % 8),
        })
    })
}

impl Ranges {
    /// Returns true if there is no range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a range. Returns the bytes of its literal.
    pub(crate) fn literal(&mut self, range: Range, format: Option<&Format>) -> Vec<u8> {
        let number = self.0.len();
        let first = self.0.iter().position(|other| other.format.as_ref() == format).unwrap_or(number);
        self.0.push(TextRange { range, format: format.cloned(), first });
        let number = (0..LITERAL_BYTES - 1 - KEY_BYTES).map(|at| bits(number as u64, at));
        head().iter().copied().chain(number).collect()
    }

    /// Returns the range of a literal; `None` if a pattern is no such literal.
    fn of(&self, pattern: &[u8]) -> Option<&TextRange> {
        if self.0.is_empty() || pattern.len() != LITERAL_BYTES {
            return None;
        }
        let number = pattern.strip_prefix(head())?;
        let number = number.iter().rev().fold(0, |number, byte| number << 7 | usize::from(byte & 0x7f));
        self.0.get(number)
    }
}

/// Tests texts for the ranges of a program.
pub struct InstantTests<'a> {
    ranges: &'a Ranges,
    memory: RefCell<InstantMemory>,
}

/// The memory of tests, which other programs may use again.
#[derive(Default)]
pub struct InstantMemory {
    last: Last,
    pattern: Vec<u8>,
    text: Vec<u8>,
}

/// The text that was read last. Several tests of a record often are about one text.
#[derive(Default)]
struct Last {
    text: Vec<u8>,
    /// The first range of the text's format; `None` before the first text.
    first: Option<usize>,
    instant: Option<Instant>,
}

impl<'a> InstantTests<'a> {
    /// Tests for the ranges of a program.
    #[must_use]
    pub fn new(ranges: &'a Ranges) -> Self {
        Self::using(ranges, InstantMemory::default())
    }

    /// Tests for the ranges of a program, with memory of earlier tests.
    #[must_use]
    pub fn using(ranges: &'a Ranges, mut memory: InstantMemory) -> Self {
        // The text may have been read in the format of another program.
        memory.last.first = None;
        Self { ranges, memory: RefCell::new(memory) }
    }

    /// Returns the memory, for other tests.
    #[must_use]
    pub fn into_memory(self) -> InstantMemory {
        self.memory.into_inner()
    }

    /// Returns whether a text is in the range that a pattern names. If the pattern is no range, `otherwise`
    /// decides about the pattern and the text.
    pub fn holds(
        &self,
        pattern: impl Iterator<Item = u8>,
        text: impl Iterator<Item = u8>,
        otherwise: impl FnOnce(&[u8], &[u8]) -> bool,
    ) -> bool {
        let InstantMemory { last, pattern: pattern_bytes, text: text_bytes } = &mut *self.memory.borrow_mut();
        pattern_bytes.clear();
        pattern_bytes.extend(pattern);
        text_bytes.clear();
        text_bytes.extend(text);
        let is_in = self.is_in(last, pattern_bytes, text_bytes);
        is_in.unwrap_or_else(|| otherwise(pattern_bytes, text_bytes))
    }

    /// Returns whether a text is in the range that a pattern names. `None` if the pattern is no range.
    #[must_use]
    pub fn text_is_in(&self, pattern: &[u8], text: &[u8]) -> Option<bool> {
        self.is_in(&mut self.memory.borrow_mut().last, pattern, text)
    }

    fn is_in(&self, last: &mut Last, pattern: &[u8], text: &[u8]) -> Option<bool> {
        let TextRange { range, format, first } = self.ranges.of(pattern)?;
        if last.first != Some(*first) || last.text != text {
            last.first = Some(*first);
            last.text.clear();
            last.text.extend_from_slice(text);
            last.instant = std::str::from_utf8(text).ok().and_then(|text| match format {
                Some(format) => format.read(text),
                None => time::read(text),
            });
        }
        Some(last.instant.is_some_and(|instant| range.has(instant.0)))
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
        LogicalExpr::compare(self.path.clone(), op, LiteralKind::Number(number))
    }

    fn all(&self, exprs: Vec<LogicalExpr>) -> LogicalExpr {
        LogicalExpr { kind: LogicalExprKind::And(exprs), span: self.span }
    }

    fn any(&self, exprs: Vec<LogicalExpr>) -> LogicalExpr {
        LogicalExpr { kind: LogicalExprKind::Or(exprs), span: self.span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_literals_of_a_program_are_ranges() {
        let range = |from| Range { from: Some(from), to: None };
        let format = Format::new("%d.%m.%Y").unwrap();
        let mut ranges = Ranges::default();
        let literals: Vec<Vec<u8>> = (0..300)
            .map(|from| ranges.literal(range(from * 1_000_000_000), (from % 2 == 1).then_some(&format)))
            .collect();
        let tests = InstantTests::new(&ranges);
        for (number, literal) in literals.iter().enumerate() {
            assert!(literal.iter().all(|byte| *byte >= 0x80));
            for second in [0, 1, 127, 128, 299] {
                let text = format!("1970-01-01T00:{:02}:{:02}Z", second / 60, second % 60);
                let is_in = number % 2 == 0 && second >= number;
                assert_eq!(tests.text_is_in(literal, text.as_bytes()), Some(is_in), "{number} {text}");
            }
            assert_eq!(tests.text_is_in(literal, b"02.01.1970"), Some(number % 2 == 1));
            assert_eq!(tests.text_is_in(literal, b"\xff"), Some(false));
            assert_eq!(tests.text_is_in(&literal[1..], b""), None);
            assert_eq!(InstantTests::new(&Ranges::default()).text_is_in(literal, b""), None);
        }
        let mut beyond = literals[0].clone();
        beyond[LITERAL_BYTES - 1] = 0xff;
        assert_eq!(tests.text_is_in(&beyond, b""), None);
        for pattern in [&b"\xff0|99999999999999999999|"[..], b"", b"\xff", &[0xff; LITERAL_BYTES]] {
            assert_eq!(tests.text_is_in(pattern, b"2020-01-01"), None);
        }
    }
}
