//! Integers and texts of a record.

use warpath_core::json::{JsonString, Malformed};

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

/// Calls a function with the text of a string, whose escapes are resolved.
#[inline]
pub fn with_text<T>(string: JsonString<'_>, read: impl FnOnce(&str) -> Result<T, Cause>) -> Result<T, Cause> {
    let mut decoded = Vec::new();
    let text = string.text(Malformed::Refuse, &mut decoded).ok_or(Cause::Mismatch)?;
    read(std::str::from_utf8(text).map_err(|_| Cause::Mismatch)?)
}
