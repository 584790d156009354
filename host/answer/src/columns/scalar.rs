//! Integers, strings and instants as values of columns that the host makes.

use std::ops::Range;

use warpath_core::decimal::short_integer;
use warpath_core::json::{JsonString, Malformed, inside, say};
use warpath_core::number::is_number;
use warpath_core::time::{self, Format, Instant};
use warpath_shared::column::{self, Kind};
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
    with_string(value, |text| instant(text, format))
}

/// Returns the instant of a text: of RFC 3339 without a format.
#[inline]
pub(crate) fn instant(text: &str, format: Option<&Format>) -> Option<Instant> {
    match format {
        None => time::quick(text).or_else(|| time::read(text)),
        Some(format) => format.read(text),
    }
}

/// Returns a string as a date, in days since 1970-01-01.
pub(super) fn date(value: &[u8]) -> Option<i32> {
    with_string(value, time::date)
}

/// Calls a function with the text of a value that is a string. A quote within the string refuses it.
fn with_string<T>(value: &[u8], read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let inside = inside(value)?;
    // The decoder refuses quotes.
    let has_escapes = inside.iter().any(|byte| matches!(byte, b'\\' | b'"'));
    with_text(JsonString { inside, has_escapes }, read)?
}

/// Calls a function with the text of a string, whose escapes are resolved. `None` if the string has no text.
#[inline]
pub(crate) fn with_text<T>(string: JsonString<'_>, read: impl FnOnce(&str) -> T) -> Option<T> {
    let mut decoded = Vec::new();
    let text = string.text(Malformed::Refuse, &mut decoded)?;
    std::str::from_utf8(text).ok().map(read)
}
