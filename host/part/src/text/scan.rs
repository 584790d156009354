//! Tokens of one line, checked by the grammar of RFC 8259.
//!
//! Functions take the text up to the end of the line, and offsets in this text.

use warpath_core::json::Escape;
use warpath_shared::index::class::is_whitespace;
use warpath_shared::units::MAX_DEPTH;

use super::piece;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte that is 0. Bytes after the first such byte may be wrong.
#[inline(always)]
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGH
}

/// The high bit of each byte that is `byte`; see [`zeros`].
#[inline(always)]
pub(super) fn equal(word: u64, byte: u8) -> u64 {
    zeros(word ^ ONES.wrapping_mul(u64::from(byte)))
}

/// The high bit of each byte that may not be in a string as it is: quotes, backslashes, control characters.
/// Bytes after the first such byte may be wrong.
#[inline(always)]
pub(super) fn special(word: u64) -> u64 {
    let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
    equal(word, b'"') | equal(word, b'\\') | control
}

/// The high bit of each byte above 0x7f.
#[inline(always)]
pub(super) fn high(word: u64) -> u64 {
    word & HIGH
}

/// A string between its quotes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scanned {
    /// The offset of the closing quote.
    pub(super) end: usize,
    /// True if the string has a backslash.
    pub(super) escapes: bool,
    /// True if the string has a byte above 0x7f.
    pub(super) high: bool,
    /// True if the string has a `/`.
    pub(super) slash: bool,
}

/// Finds the end of the string that begins at `at`, after its quote. `None` if a control character or the end
/// of the line comes first. Escapes are not checked.
#[inline]
pub(super) fn string(line: &[u8], mut at: usize) -> Option<Scanned> {
    let (mut highs, mut slashes, mut escapes) = (0, 0, false);
    loop {
        // Zeros after the end of the line are control characters.
        let word = piece::word(line.get(at..)?);
        let found = special(word);
        let before = (found & found.wrapping_neg()).wrapping_sub(1);
        highs |= word & HIGH & before;
        slashes |= equal(word, b'/') & before;
        if found == 0 {
            at += 8;
            while let Some(piece) = line.get(at..).and_then(|rest| rest.first_chunk()) {
                let classes = piece::classes(piece);
                if classes.special {
                    break;
                }
                highs |= u64::from(classes.high);
                slashes |= u64::from(classes.slash);
                at += piece::LONG;
            }
            continue;
        }
        at += found.trailing_zeros() as usize / 8;
        match line.get(at)? {
            b'"' => return Some(Scanned { end: at, escapes, high: highs != 0, slash: slashes != 0 }),
            b'\\' => {
                escapes = true;
                at += 2;
            }
            _ => return None,
        }
    }
}

/// A number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// The offset after the number.
    pub(super) end: usize,
    /// True if the number has neither fraction nor exponent.
    pub(super) whole: bool,
    /// The value of a whole number of at most 18 digits.
    pub(super) short: Option<i64>,
}

/// Reads the number that begins at `at`.
#[inline]
pub(super) fn number(line: &[u8], at: usize) -> Option<Number> {
    let negative = line.get(at) == Some(&b'-');
    let first = at + usize::from(negative);
    let (mut end, mut value) = (first, 0_u64);
    while let Some(byte @ b'0'..=b'9') = line.get(end) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        end += 1;
    }
    let len = end - first;
    if len == 0 || len > 1 && line[first] == b'0' {
        return None;
    }
    let value = value as i64;
    let short = (len <= 18).then_some(if negative { value.wrapping_neg() } else { value });
    if !matches!(line.get(end), Some(b'.' | b'e' | b'E')) {
        return Some(Number { end, whole: true, short });
    }
    if line[end] == b'.' {
        end = digits(line, end + 1)?;
    }
    if let Some(b'e' | b'E') = line.get(end) {
        end += 1 + usize::from(matches!(line.get(end + 1), Some(b'+' | b'-')));
        end = digits(line, end)?;
    }
    Some(Number { end, whole: false, short: None })
}

/// The offset after at least one digit.
fn digits(line: &[u8], begin: usize) -> Option<usize> {
    let rest = line.get(begin..)?;
    let len = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    (len > 0).then_some(begin + len)
}

/// The offset after white space.
#[inline(always)]
pub(super) fn space(line: &[u8], mut at: usize) -> usize {
    while line.get(at).copied().is_some_and(is_whitespace) {
        at += 1;
    }
    at
}

/// True if white space is at an offset.
#[inline(always)]
pub(super) fn is_space(line: &[u8], at: usize) -> bool {
    line.get(at).copied().is_some_and(is_whitespace)
}

/// The offset after a separator and white space, both of which are optional around it: white space, the byte,
/// white space.
#[inline]
pub(super) fn separator(line: &[u8], at: usize, byte: u8) -> Option<usize> {
    let at = space(line, at);
    (line.get(at) == Some(&byte)).then(|| space(line, at + 1))
}

/// The offset after a literal.
#[inline]
pub(super) fn literal(line: &[u8], at: usize, literal: &[u8]) -> Option<usize> {
    line.get(at..)?.starts_with(literal).then_some(at + literal.len())
}

/// The offset after the string whose quote is at `at`. Escapes are checked.
pub(super) fn whole_string(line: &[u8], at: usize) -> Option<usize> {
    let found = string(line, literal(line, at, b"\"")?)?;
    if found.escapes {
        let mut rest = line.get(at + 1..found.end)?;
        while let Some(next) = memchr::memchr(b'\\', rest) {
            rest = &rest[next..];
            rest = &rest[Escape::read(rest)?.len()..];
        }
    }
    Some(found.end + 1)
}

/// The offset after the value that begins at `at`, in `depth` open containers.
pub(super) fn value(line: &[u8], at: usize, depth: usize) -> Option<usize> {
    match line.get(at)? {
        b'"' => whole_string(line, at),
        b'-' | b'0'..=b'9' => number(line, at).map(|number| number.end),
        b't' => literal(line, at, b"true"),
        b'f' => literal(line, at, b"false"),
        b'n' => literal(line, at, b"null"),
        b'{' | b'[' if depth < MAX_DEPTH => container(line, at, depth),
        _ => None,
    }
}

fn container(line: &[u8], open: usize, depth: usize) -> Option<usize> {
    let object = line[open] == b'{';
    let close = if object { b'}' } else { b']' };
    let mut at = space(line, open + 1);
    if line.get(at) == Some(&close) {
        return Some(at + 1);
    }
    loop {
        if object {
            at = separator(line, whole_string(line, at)?, b':')?;
        }
        at = space(line, value(line, at, depth + 1)?);
        match line.get(at)? {
            b',' => at = space(line, at + 1),
            byte if *byte == close => return Some(at + 1),
            _ => return None,
        }
    }
}
