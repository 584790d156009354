//! The values of columns that only the host makes.

use std::ops::Range;

use warpath_core::decimal::{Decimal, short_integer};
use warpath_core::json::say;
use warpath_core::time::{self, Format, Instant};
use warpath_shared::column::{self, Float, Kind};
use warpath_shared::units::PartOffset;

/// Returns true if a value is a JSON number (RFC 8259, section 6).
pub(super) fn is_number(value: &[u8]) -> bool {
    !value.is_empty() && column::float64(0, value.len() as PartOffset, |at| value[at as usize]) != Float::None
}

/// Returns true if a value is a JSON number without fraction and exponent.
pub(super) fn is_integer(value: &[u8]) -> bool {
    is_number(value) && value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
}

/// Returns a value of a text as an integer. An empty range is no integer.
#[inline(always)]
pub(super) fn int64(text: &[u8], value: &Range<PartOffset>) -> Option<i64> {
    if value.is_empty() {
        return None;
    }
    short_integer(text, value.start as usize, value.end as usize)
        .or_else(|| column::int64(value.start, value.end, |at| text[at as usize]))
}

/// Returns a JSON number as an integer of units of 10 to the −`scale`. `None` if it is no such integer, or
/// has more than `precision` digits.
pub(super) fn decimal(value: &[u8], precision: u8, scale: u8) -> Option<i128> {
    if !is_number(value) {
        return None;
    }
    // The number is ±0.digits × 10^exponent.
    let Decimal { negative, digits, exponent } = Decimal::read(value)?;
    let len = exponent.checked_add(i64::from(scale))?;
    if digits.is_empty() {
        return Some(0);
    }
    if len < digits.len() as i64 || len > i64::from(precision) {
        return None;
    }
    let digits = digits.iter().map(|digit| i128::from(digit - b'0')).chain(std::iter::repeat(0));
    let units = digits.take(len as usize).fold(0, |units, digit| 10 * units + digit);
    Some(if negative { -units } else { units })
}

/// Appends a string as its text, and any other value but `null` as its JSON text. Returns false if the value
/// is refused.
pub(super) fn text(value: &[u8], out: &mut Vec<u8>) -> bool {
    let kind = if value.first() == Some(&b'"') { Kind::Utf8 } else { Kind::Json };
    say(kind, value, out)
}

/// Returns the instant of a string or a number. Without a format, a string is of RFC 3339, and the unit of a
/// number follows from its size. A format of texts takes no numbers.
pub(super) fn time(value: &[u8], format: Option<&Format>) -> Option<Instant> {
    if value.first() != Some(&b'"') {
        let number = std::str::from_utf8(value).ok().filter(|_| is_number(value))?;
        return match format {
            None => time::of_number(number),
            Some(format) => format.of_number(number),
        };
    }
    with_string(value, |text| match format {
        None => time::read(text),
        Some(format) => format.read(text),
    })
}

/// Returns a string as a date, in days since 1970-01-01.
pub(super) fn date(value: &[u8]) -> Option<i32> {
    with_string(value, time::date)
}

/// Calls a function with the text of a string.
fn with_string<T>(value: &[u8], read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let inside = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if !inside.contains(&b'\\') {
        return read(std::str::from_utf8(inside).ok().filter(|text| !text.contains('"'))?);
    }
    let mut text = Vec::new();
    if say(Kind::Utf8, value, &mut text) { read(std::str::from_utf8(&text).ok()?) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let nines = "9".repeat(38);
        let greatest = nines.parse::<i128>().unwrap();
        for (value, precision, scale, units) in [
            ("0", 1, 0, Some(0)),
            ("-0.000", 1, 0, Some(0)),
            ("0e999", 1, 0, Some(0)),
            ("12.50", 4, 2, Some(1250)),
            ("12.5", 3, 1, Some(125)),
            ("12.5", 3, 0, None),
            ("12.50", 3, 2, None),
            ("1250e-2", 3, 1, Some(125)),
            ("1.25E+1", 3, 1, Some(125)),
            ("1e37", 38, 0, Some(10i128.pow(37))),
            ("1e38", 38, 0, None),
            (&nines, 38, 0, Some(greatest)),
            (&format!("-{nines}"), 38, 0, Some(-greatest)),
            (&format!("-0.{nines}"), 38, 38, Some(-greatest)),
            ("1e-38", 38, 38, Some(1)),
            ("1e-39", 38, 38, None),
            ("1", 38, 38, None),
            ("9223372036854775808", 38, 0, Some(1 << 63)),
            ("1e99999999999999999999", 38, 0, None),
            ("1e-99999999999999999999", 38, 0, None),
            ("007", 38, 0, None),
            ("\"7\"", 38, 0, None),
            ("+7", 38, 0, None),
            ("7.", 38, 0, None),
            ("", 38, 0, None),
            ("null", 38, 0, None),
        ] {
            assert_eq!(decimal(value.as_bytes(), precision, scale), units, "{value}");
        }
    }
}
