//! Integers, instants and dates as values of columns that the host makes.

use std::ops::Range;

use memchr::memchr2;
use warpath_core::decimal::short_integer;
use warpath_core::json::{Malformed, decode, inside};
use warpath_core::number::{Reason, is_number};
use warpath_core::time::{self, Format, Unit};
use warpath_shared::column;
use warpath_shared::units::PartOffset;

/// Returns a value of a text as an integer. An empty range is no integer.
#[inline(always)]
pub(super) fn int64(text: &[u8], value: &Range<PartOffset>) -> Option<i64> {
    if value.is_empty() {
        return None;
    }
    short_integer(text, value.start as usize, value.end as usize)
        .or_else(|| column::int64(value.start, value.end, |at| text[at as usize]))
}

/// An integer at the start of a text, with its length, if it is written in the usual way and has at most 18
/// digits.
#[cfg(feature = "arrow")]
#[inline(always)]
pub(crate) fn digits(text: &[u8]) -> (Option<i64>, usize) {
    let negative = text.first() == Some(&b'-');
    let begin = usize::from(negative);
    let (mut at, mut value) = (begin, 0_i64);
    while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        if at == begin + 18 {
            return (None, 0);
        }
        value = value * 10 + i64::from(digit);
        at += 1;
    }
    let is_usual = at > begin && (text[begin] != b'0' || at == begin + 1);
    let is_end = matches!(text.get(at), None | Some(b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'));
    let value = if negative { -value } else { value };
    ((is_usual && is_end).then_some(value), at)
}

/// Returns the instant of a string or a number, in a unit since 1970. What is finer than the unit is cut off.
/// Without a format, a string is of RFC 3339, and the unit of a number follows from its size. A format of
/// texts takes no numbers.
///
/// # Errors
/// The [`Reason`] for which a value is no such instant.
pub(crate) fn time(value: &[u8], format: Option<&Format>, unit: Unit) -> Result<i64, Reason> {
    let instant = if value.first() == Some(&b'"') {
        // No escape is in a text in the usual form.
        let usual = || time::quick(std::str::from_utf8(inside(value)?).ok()?);
        let read = |text: &str| format.map_or_else(|| time::read(text), |format| format.read(text));
        let usual = if format.is_none() { usual() } else { None };
        usual.or_else(|| with_string(value, read)).ok_or(Reason::Mismatch)
    } else {
        let takes_numbers = format.is_none_or(|format| format.unit().is_some());
        let number = std::str::from_utf8(value).ok().filter(|_| takes_numbers && is_number(value));
        let number = number.ok_or(Reason::Mismatch)?;
        let instant = format.map_or_else(|| time::of_number(number), |format| format.of_number(number));
        // A number beyond all instants is of the type, too.
        instant.ok_or(Reason::Overflow)
    }?;
    let units = match unit {
        Unit::Nanosecond => instant.nanoseconds(),
        _ => i64::try_from(instant.0.div_euclid(10_i128.pow(unit.power()))).ok(),
    };
    units.ok_or(Reason::Overflow)
}

/// Returns a string as a date, in days since 1970-01-01.
pub(super) fn date(value: &[u8]) -> Option<i32> {
    with_string(value, time::date)
}

/// Calls a function with the text of a value that is a string. A quote within the string refuses it.
fn with_string<T>(value: &[u8], read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let (mut text, mut decoded) = (inside(value)?, Vec::new());
    // The decoder refuses quotes.
    if memchr2(b'\\', b'"', text).is_some() {
        text = decode(text, Malformed::Refuse, &mut decoded).then_some(&decoded)?;
    }
    read(std::str::from_utf8(text).ok()?)
}
