//! The values of columns that only the host makes.

use std::ops::Range;

use warpath_core::decimal::short_integer;
use warpath_core::json::say;
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
