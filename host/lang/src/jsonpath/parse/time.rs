//! The functions `time` and `now`, which are Warpath's own: their arguments, and the comparisons that they
//! may be in.
//!
//! ```text
//! now    = "now(" S ")" *(S ("-" / "+") S amount)
//! amount = 1*DIGIT ("ms" / "s" / "m" / "h" / "d" / "w")
//! ```

use std::time::{SystemTime, UNIX_EPOCH};

use warpath_core::diagnostic::{Diagnostic, DiagnosticKind, Span};
use warpath_core::time::Instant;

use super::super::ast::{
    Comparable, ComparableKind, Comparison, FunctionKind, Literal, LiteralKind, Now, TimeCall, TimeFormat,
    ValueTest, ValueTestKind,
};
use super::super::function::Function;
use super::super::hint::{Context, NOW_HELP};
use super::super::words::{self, is_name_char, quotable, quote};
use super::filter::{Operand, ValueFor};
use super::{Parsed, Parser};

/// The units of amounts of time, in nanoseconds.
const UNITS: [(&str, i128); 6] = [
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
    ("w", 604_800_000_000_000),
];

/// The nanoseconds since 1970 of the first instant of the year 0, and of the first one after the year 9999.
const YEARS: std::ops::Range<i128> = -62_167_219_200_000_000_000..253_402_300_800_000_000_000;

impl<'q> Parser<'q> {
    /// Parses the rest of `now()`, whose name begins at `start`.
    #[inline(never)]
    pub(super) fn now(&mut self, start: usize) -> Parsed<Literal> {
        self.lexer.eat("(");
        self.lexer.blank();
        if !self.lexer.eat(")") {
            let error = self.unexpected(Context::Elsewhere, "`)`, because `now` takes no argument");
            return Err(error.with_help(NOW_HELP));
        }
        let mut at = *self.now.get_or_insert_with(now);
        let mut amounts = String::new();
        loop {
            let end = self.lexer.at();
            self.lexer.blank();
            let Some(sign) = ["-", "+"].into_iter().find(|sign| self.lexer.eat(sign)) else {
                self.lexer.rewind(end);
                let now = Now { at, amounts };
                return Ok(Literal { kind: LiteralKind::Now(now), span: self.lexer.span_from(start) });
            };
            self.lexer.blank();
            let (amount, nanoseconds) = self.amount(sign)?;
            let moved = nanoseconds.map(|by| if sign == "-" { at.0 - by } else { at.0 + by });
            let Some(moved) = moved.filter(|moved| YEARS.contains(moved)) else {
                let message = "expected an instant in the years 0 to 9999";
                return Err(Diagnostic::new(DiagnosticKind::Argument, self.lexer.span_from(start), message));
            };
            at = Instant(moved);
            amounts.extend([" ", sign, " ", amount]);
        }
    }

    /// Parses an amount of time after a sign. Returns its text and its nanoseconds; `None` beyond all years.
    fn amount(&mut self, sign: &str) -> Parsed<(&'q str, Option<i128>)> {
        let (rest, start) = (self.lexer.rest(), self.lexer.at());
        let is_part = |c: char| is_name_char(c) || c == '.';
        let amount = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        let digits = amount.find(|c: char| !c.is_ascii_digit()).unwrap_or(amount.len());
        let (number, unit) = amount.split_at(digits);
        let unit = UNITS.iter().find(|(name, _)| *name == unit).filter(|_| !number.is_empty());
        let Some((_, unit)) = unit else {
            let found = if amount.is_empty() { words::found(self.text, start).2 } else { quote(amount) };
            let message = format!("expected a whole number and a unit after `{sign}`, found {found}");
            let span = Span::new(start, start + amount.len());
            return Err(Diagnostic::new(DiagnosticKind::Argument, span, message)
                .with_help("the units are `ms`, `s`, `m`, `h`, `d` and `w`: `now() - 1d + 6h`"));
        };
        self.lexer.eat(amount);
        let number: Option<i128> = number.parse().ok();
        Ok((amount, number.and_then(|number| number.checked_mul(*unit)).filter(|by| *by < YEARS.end * 2)))
    }
}

impl Parser<'_> {
    /// Returns the call of `time` with one or two arguments.
    pub(super) fn time(&self, arguments: Vec<Operand>) -> Parsed<FunctionKind> {
        let mut arguments = arguments.into_iter();
        let path = match arguments.next() {
            Some(Operand::Query(query)) => self.singular(query, ValueFor::Argument(Function::Time))?,
            other => {
                let span = other.map_or_else(Span::default, |other| other.span());
                let message = "`time` takes the path of a value";
                let error = Diagnostic::new(DiagnosticKind::Argument, span, message);
                return Err(error.with_help("a constant needs no call: `time($.a) >= \"2026-01-31\"`"));
            }
        };
        let Some(format) = arguments.next() else {
            return Ok(FunctionKind::Time(TimeCall { path, format: None }));
        };
        let Operand::Literal(Literal { kind: LiteralKind::String(text), span }) = format else {
            let message = "the format of `time` is a string";
            return Err(Diagnostic::new(DiagnosticKind::Argument, format.span(), message)
                .with_help("such as `time($.a, 'ms')` or `time($.a, '%d/%b/%Y:%H:%M:%S %z')`"));
        };
        match TimeFormat::new(&text) {
            Ok(format) => Ok(FunctionKind::Time(TimeCall { path, format: Some(format) })),
            Err(error) => {
                let message = format!("this is not a format of time: {error}");
                Err(Diagnostic::new(DiagnosticKind::Argument, span, message))
            }
        }
    }

    /// Refuses a comparison of an instant with anything but a literal, and of `now()` with anything but an
    /// instant.
    pub(super) fn check_time(&self, comparison: &Comparison) -> Parsed<()> {
        let (left, right) = (&comparison.left, &comparison.right);
        let other = match (is_time(left), is_time(right)) {
            (true, _) => right,
            (false, true) => left,
            (false, false) => {
                return match (now_of(left), now_of(right)) {
                    (Some(now), _) => Err(self.now_without_time(now, right)),
                    (None, Some(now)) => Err(self.now_without_time(now, left)),
                    (None, None) => Ok(()),
                };
            }
        };
        if matches!(other.kind, ComparableKind::Literal(_)) {
            return Ok(());
        }
        let message = "`time` is compared with a constant";
        let error = Diagnostic::new(DiagnosticKind::Argument, other.span, message);
        Err(error.with_help(match &other.kind {
            ComparableKind::Column(column) if column.name.eq_ignore_ascii_case("now") => {
                "write `now()`: `time($.a) >= now() - 1h`"
            }
            _ => "such as `time($.a) >= \"2026-01-31\"` or `time($.a) >= now() - 1h`",
        }))
    }

    /// Refuses `now()` in the test of a value that is not an instant.
    pub(super) fn check_values(&self, test: &ValueTest) -> Parsed<()> {
        let values = match &test.kind {
            ValueTestKind::In(values) => values.iter().collect(),
            ValueTestKind::Between(least, greatest) => vec![least, greatest],
            ValueTestKind::Is(_) => Vec::new(),
        };
        let now = values.into_iter().find(|value| matches!(value.kind, LiteralKind::Now(_)));
        match now.filter(|_| !is_time(&test.subject)) {
            Some(now) => Err(self.now_without_time(now.span, &test.subject)),
            None => Ok(()),
        }
    }

    /// Returns the error for `now()` that is compared with a value.
    fn now_without_time(&self, now: Span, value: &Comparable) -> Diagnostic {
        let error = Diagnostic::new(DiagnosticKind::Argument, now, "`now()` is compared with `time(…)`");
        let path = &self.text[value.span.start..value.span.end];
        match &value.kind {
            ComparableKind::Query(_) if quotable(path) => {
                error.with_help(format!("such as `time({path}) >= now() - 1h`"))
            }
            _ => error.with_help(NOW_HELP),
        }
    }
}

fn is_time(of: &Comparable) -> bool {
    matches!(&of.kind, ComparableKind::Function(call) if matches!(call.kind, FunctionKind::Time(_)))
}

/// Returns the span of an operand that is `now()`.
fn now_of(of: &Comparable) -> Option<Span> {
    match &of.kind {
        ComparableKind::Literal(literal) if matches!(literal.kind, LiteralKind::Now(_)) => Some(literal.span),
        _ => None,
    }
}

/// The current instant. A clock before 1970 is at its start.
fn now() -> Instant {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Instant(i128::try_from(since_1970.as_nanos()).unwrap_or(0))
}
