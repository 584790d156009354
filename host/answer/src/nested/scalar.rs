//! Numbers and texts of a record.

use warpath_core::decimal::Decimal;
use warpath_core::float;
use warpath_core::json::{self, Malformed};
use warpath_shared::column::{self, Float};

use super::losses::Cause;

/// An integer at the start of a text, with its length, if it is written in the usual way and has at most 18
/// digits.
#[inline(always)]
pub fn digits(text: &[u8]) -> (Option<i64>, usize) {
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

/// An integer without fraction and exponent, within the range.
pub fn int64(token: &[u8]) -> Result<i64, Cause> {
    let byte = |at| token[at as usize];
    column::int64(0, token.len() as u32, byte).ok_or_else(|| {
        let unsigned = token.strip_prefix(b"-").unwrap_or(token);
        let is_integer =
            unsigned.iter().all(u8::is_ascii_digit) && !unsigned.starts_with(b"0") && !unsigned.is_empty();
        if is_integer { Cause::Overflow } else { Cause::Mismatch }
    })
}

/// The nearest double, if it is finite.
pub fn float64(token: &[u8]) -> Result<f64, Cause> {
    let value = match column::float64(0, token.len() as u32, |at| token[at as usize]) {
        Float::None => return Err(Cause::Mismatch),
        Float::Exact(value) => value,
        Float::Unfinished => float::finish(token).ok_or(Cause::Mismatch)?,
    };
    if value.is_finite() { Ok(value) } else { Err(Cause::Overflow) }
}

/// A decimal number, in units of its last digit.
pub fn decimal(token: &[u8], precision: u8, scale: i8) -> Result<i128, Cause> {
    // A number with a leading zero is none, and `Decimal` takes it.
    if column::float64(0, token.len() as u32, |at| token[at as usize]) == Float::None {
        return Err(Cause::Mismatch);
    }
    let Decimal { negative, digits, exponent } = Decimal::read(token).ok_or(Cause::Mismatch)?;
    // The number of digits of the value in units of the last digit.
    let units = exponent.saturating_add(i64::from(scale));
    if units > i64::from(precision) || units < digits.len() as i64 && !digits.is_empty() {
        return Err(Cause::Overflow);
    }
    let all = digits.iter().map(|digit| i128::from(digit - b'0')).chain(std::iter::repeat(0));
    let value = all.take(units.max(0) as usize).fold(0, |value, digit| value * 10 + digit);
    Ok(if negative { -value } else { value })
}

/// Returns true for a number of JSON.
pub fn is_number(token: &[u8]) -> bool {
    !token.is_empty() && column::float64(0, token.len() as u32, |at| token[at as usize]) != Float::None
}

/// Calls a function with the text of a string, whose escapes are resolved.
#[inline]
pub fn with_text<T>(
    inside: &[u8],
    escapes: bool,
    read: impl FnOnce(&str) -> Result<T, Cause>,
) -> Result<T, Cause> {
    let mut decoded = Vec::new();
    let mut text = inside;
    if escapes {
        if !json::decode(inside, Malformed::Refuse, &mut decoded) {
            return Err(Cause::Mismatch);
        }
        text = &decoded;
    }
    read(std::str::from_utf8(text).map_err(|_| Cause::Mismatch)?)
}
