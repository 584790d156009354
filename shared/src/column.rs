//! The conversion of one value for a typed column, or for a line of text: the rules that kernels and the CPU
//! share.
//!
//! A value is the bytes of a match, `start..end`, without white space around it. The rules read a value
//! through a function from positions to bytes, so they work in any memory. Records are checked for their
//! structure only, so a value may have any bytes. A value that is not of the column's type becomes a null.
//!
//! | kind | takes | gives |
//! |---|---|---|
//! | [`Boolean`](Kind::Boolean) | `true`, `false` | a bit |
//! | [`Int64`](Kind::Int64) | JSON's integers without fraction and exponent, within the range | an `i64` |
//! | [`Float64`](Kind::Float64) | JSON's numbers | the nearest `f64`, as `str::parse` returns it: infinite beyond the range |
//! | [`Utf8`](Kind::Utf8) | strings | the decoded string; a surrogate without its partner becomes U+FFFD |
//! | [`Json`](Kind::Json) | anything but `null` | its text |
//! | [`Raw`](Kind::Raw) | anything | for strings the decoded string, as far as it can be decoded; for other values their text |
//!
//! In [`Utf8`](Kind::Utf8), each of these makes a null: an escape that JSON does not have, bytes that are not
//! UTF-8, and a quote within the string. In [`Json`](Kind::Json), bytes that are not UTF-8 make a null.
//! [`Raw`](Kind::Raw) is for printing, and leaves all of these bytes as they are.

use crate::query::value::{encode_utf8, hex4};
use crate::units::PartOffset;

/// The kind of a column: the values that it takes, and their form in the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// A bit.
    Boolean,
    /// Eight bytes.
    Int64,
    /// Eight bytes.
    Float64,
    /// A decoded string.
    Utf8,
    /// The text of a value.
    Json,
    /// A decoded string, or the text of another value.
    Raw,
}

/// Returns the value of `true` or `false`, and `None` for any other value.
#[inline(always)]
pub fn boolean(start: PartOffset, end: PartOffset, byte: impl Fn(PartOffset) -> u8) -> Option<bool> {
    let says = |word: &[u8]| {
        let mut i = 0;
        while i < word.len() && start + (i as u32) < end && byte(start + i as u32) == word[i] {
            i += 1;
        }
        i == word.len() && end - start == i as u32
    };
    if says(b"true") {
        Some(true)
    } else if says(b"false") {
        Some(false)
    } else {
        None
    }
}

/// Returns true if the value is `null`.
#[inline(always)]
pub fn is_null(start: PartOffset, end: PartOffset, byte: impl Fn(PartOffset) -> u8) -> bool {
    end - start == 4
        && byte(start) == b'n'
        && byte(start + 1) == b'u'
        && byte(start + 2) == b'l'
        && byte(start + 3) == b'l'
}

/// Returns a JSON integer (RFC 8259, section 6) that an `i64` holds, and `None` for any other value.
#[inline(always)]
pub fn int64(start: PartOffset, end: PartOffset, byte: impl Fn(PartOffset) -> u8) -> Option<i64> {
    let negative = byte(start) == b'-';
    let mut at = start + negative as u32;
    // 19 digits fit 64 bits, and 20 without leading zeros are beyond the range.
    if at == end || end - at > 19 || byte(at) == b'0' && end - at > 1 {
        return None;
    }
    let mut value = 0u64;
    while at < end {
        let digit = byte(at).wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + digit as u64;
        at += 1;
    }
    if value > i64::MAX as u64 + negative as u64 {
        return None;
    }
    Some(if negative { (value as i64).wrapping_neg() } else { value as i64 })
}

/// A number as an `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Float {
    /// The value is not a JSON number.
    None,
    /// The nearest `f64`.
    Exact(f64),
    /// The value is a number, but this module cannot round it. `str::parse` can.
    Unfinished,
}

/// The powers of ten that an `f64` holds exactly.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The powers of five that 64 bits hold.
const FIVES: [u64; 28] = {
    let mut fives = [1; 28];
    let mut i = 1;
    while i < fives.len() {
        fives[i] = fives[i - 1] * 5;
        i += 1;
    }
    fives
};

/// Returns `digits` × 10 to the `scale`, rounded to the nearest `f64`, ties to even. `digits` is not zero.
/// The power of five with exponent |`scale`| is among [`FIVES`].
///
/// The product with a power of five has 128 bits at most. The quotient by a power of five is computed bit by
/// bit, as far as rounding needs it. It has 57 bits, of which the first two are not both zero. One more bit
/// says if there is a remainder.
///
/// ```text
/// quotient     b.bbbb…bbb      57 bits      digits / 5^n, both shifted up to their highest bits
/// significand  1.bbbb…b        53 bits, and at least two more to round by
/// ```
#[inline(always)]
fn round(digits: u64, scale: i64) -> f64 {
    let five = FIVES[scale.unsigned_abs() as usize];
    let (exact, mut exponent, rest) = if scale >= 0 {
        (digits as u128 * five as u128, scale, false)
    } else {
        let (up, up_five) = (digits.leading_zeros(), five.leading_zeros());
        let (mut left, five) = (digits << up, five << up_five);
        let (mut quotient, mut bit) = (0u64, 0);
        while bit < 57 {
            // The remainder is below twice the divisor: it has 65 bits. The highest bit is known from before
            // the shift.
            let carry = bit > 0 && left >> 63 == 1;
            left = if bit > 0 { left << 1 } else { left };
            let fits = carry || left >= five;
            left = if fits { left.wrapping_sub(five) } else { left };
            quotient = quotient << 1 | fits as u64;
            bit += 1;
        }
        (quotient as u128, scale - 56 + up_five as i64 - up as i64, left != 0)
    };
    let down = (128 - exact.leading_zeros()).saturating_sub(53);
    let mut significand = (exact >> down) as u64;
    if down > 0 {
        let half = 1u128 << (down - 1);
        let below = exact & (half * 2 - 1);
        significand += (below > half || below == half && (rest || significand & 1 == 1)) as u64;
    }
    exponent += down as i64;
    // Both factors and their product are exact, because the exponent is far within the range.
    significand as f64 * f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// Returns a JSON number (RFC 8259, section 6) as the nearest `f64`.
///
/// Sometimes the digits, as an integer, and the power of ten that scales them are both exact in an `f64`.
/// Then one multiplication or division rounds correctly (Clinger, "How to read floating point numbers
/// accurately", PLDI 1990). Otherwise up to 19 digits and powers up to 27 are rounded from their exact
/// product or quotient. The remaining numbers are rare. This method needs a table of 28 words, instead of
/// Eisel's and Lemire's 128-bit table of all powers, and no case is ambiguous.
#[inline(always)]
pub fn float64(start: PartOffset, end: PartOffset, byte: impl Fn(PartOffset) -> u8) -> Float {
    let digit_at = |at: PartOffset| {
        let digit = if at < end { byte(at).wrapping_sub(b'0') } else { 10 };
        (digit < 10).then_some(digit as u64)
    };
    let negative = byte(start) == b'-';
    let mut at = start + negative as u32;
    let Some(first) = digit_at(at) else { return Float::None };
    let (mut digits, mut significant, mut fraction) = (0u64, 0u32, 0u32);
    let mut push = |digit: u64| {
        significant += (significant > 0 || digit > 0) as u32;
        if significant < 20 {
            digits = digits * 10 + digit;
        }
    };
    push(first);
    at += 1;
    while let Some(digit) = digit_at(at) {
        if first == 0 {
            return Float::None;
        }
        push(digit);
        at += 1;
    }
    if at < end && byte(at) == b'.' {
        at += 1;
        let begin = at;
        while let Some(digit) = digit_at(at) {
            push(digit);
            at += 1;
        }
        fraction = at - begin;
        if fraction == 0 {
            return Float::None;
        }
    }
    let mut exponent = 0i64;
    if at < end && matches!(byte(at), b'e' | b'E') {
        at += 1;
        let down = at < end && byte(at) == b'-';
        at += (at < end && matches!(byte(at), b'+' | b'-')) as u32;
        let begin = at;
        while let Some(digit) = digit_at(at) {
            // Fewer than 2³² digits can compensate an exponent below this limit. Nothing compensates one
            // beyond it.
            exponent = if exponent < 1 << 33 { exponent * 10 + digit as i64 } else { exponent };
            at += 1;
        }
        if at == begin {
            return Float::None;
        }
        exponent = if down { -exponent } else { exponent };
    }
    if at < end {
        return Float::None;
    }
    let sign = if negative { -1.0 } else { 1.0 };
    let scale = exponent - fraction as i64;
    if significant == 0 {
        return Float::Exact(sign * 0.0);
    }
    if significant > 19 || !(-27..=27).contains(&scale) {
        return Float::Unfinished;
    }
    if digits > 1 << 53 || !(-22..=22).contains(&scale) {
        return Float::Exact(sign * round(digits, scale));
    }
    let ten = TENS[scale.unsigned_abs() as usize];
    let value = if scale < 0 { digits as f64 / ten } else { digits as f64 * ten };
    Float::Exact(sign * value)
}

/// Returns true if a value begins and ends with a quote.
#[inline(always)]
pub fn is_quoted(start: PartOffset, end: PartOffset, byte: impl Fn(PartOffset) -> u8) -> bool {
    end - start >= 2 && byte(start) == b'"' && byte(end - 1) == b'"'
}

/// The next decoded bytes of a string, four at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// The bytes, the first lowest.
    pub bytes: u32,
    /// The number of bytes.
    pub len: u32,
    /// The position in the text after the bytes that were decoded.
    pub next: PartOffset,
}

/// Decodes the first character or escape of the text of a string, `at..end` without its quotes. For malformed
/// text, returns `None`, or, if `lenient`, the text's bytes unchanged.
///
/// The decoded bytes are never longer than their text. They are shorter if and only if the text has an escape
/// that JSON has.
#[inline(always)]
pub fn say(
    at: PartOffset,
    end: PartOffset,
    byte: impl Fn(PartOffset) -> u8 + Copy,
    lenient: bool,
) -> Option<Said> {
    let first = byte(at);
    if first == b'\\' {
        return match escape(at, end, byte) {
            Some((code, next)) => {
                let (bytes, len) = encode_utf8(code);
                Some(Said { bytes, len, next })
            }
            None if !lenient => None,
            None if at + 1 < end => {
                Some(Said { bytes: first as u32 | (byte(at + 1) as u32) << 8, len: 2, next: at + 2 })
            }
            None => Some(Said { bytes: first as u32, len: 1, next: at + 1 }),
        };
    }
    let len = match first {
        _ if lenient => 1,
        b'"' => return None,
        _ => utf8_len(at, end, byte)?,
    };
    let mut bytes = first as u32;
    let mut i = 1;
    while i < len {
        bytes |= (byte(at + i) as u32) << (8 * i);
        i += 1;
    }
    Some(Said { bytes, len, next: at + len })
}

/// The number of bytes that a reader may find plain at once. Such a group begins at a multiple of this
/// number.
pub const PLAIN_BYTES: PartOffset = 16;

/// Returns true if four bytes of a value decode to themselves: all are ASCII, and in a string none is a quote
/// or a backslash.
///
/// ```text
/// word ^ \\\\    zero where there is a backslash
/// minus 01010101   borrows into the highest bit of the lowest zero byte
/// and not itself   drops those that had the bit before
/// ```
#[inline(always)]
pub const fn is_plain(word: u32, in_string: bool) -> bool {
    const ONES: u32 = 0x0101_0101;
    const HIGH: u32 = 0x8080_8080;
    const fn has_zero(word: u32) -> bool {
        word.wrapping_sub(ONES) & !word & HIGH != 0
    }
    let ascii = word & HIGH == 0;
    ascii && !(in_string && (has_zero(word ^ (ONES * b'\\' as u32)) || has_zero(word ^ (ONES * b'"' as u32))))
}

/// Returns the length of a decoded string, as [`say`] decodes it. `plain` may return true if the
/// [`PLAIN_BYTES`] from a position on are all plain.
#[inline(always)]
pub fn said_len(
    start: PartOffset,
    end: PartOffset,
    byte: impl Fn(PartOffset) -> u8 + Copy,
    plain: impl Fn(PartOffset) -> bool,
    lenient: bool,
) -> Option<u32> {
    let (mut at, mut len) = (start, 0);
    while at < end {
        if at.is_multiple_of(PLAIN_BYTES) && end - at >= PLAIN_BYTES && plain(at) {
            at += PLAIN_BYTES;
            len += PLAIN_BYTES;
        } else {
            let said = say(at, end, byte, lenient)?;
            len += said.len;
            at = said.next;
        }
    }
    Some(len)
}

/// Replaces the bytes of a word that lie outside `start..end` by plain ones. `at` is the offset of the word.
#[inline(always)]
pub const fn within(word: u32, at: PartOffset, start: PartOffset, end: PartOffset) -> u32 {
    const PLAIN: u32 = 0x2020_2020;
    let below = start.saturating_sub(at);
    let above = (at + 4).saturating_sub(end);
    let below = if below > 4 { 4 } else { below };
    let above = if above > 4 { 4 } else { above };
    let mask = ((1u64 << (8 * (4 - above))) - 1) as u32 & !(((1u64 << (8 * below)) - 1) as u32);
    word & mask | PLAIN & !mask
}

/// Bytes of the longest escape, `\uXXXX`. The two escapes of a pair of surrogates count one by one.
pub const LONGEST_ESCAPE: PartOffset = 6;

/// Decodes the escape at `at` for a reader that comes to each escape of a string by itself. `follows` says if
/// another escape begins [`LONGEST_ESCAPE`] bytes before.
///
/// The result is that of [`say`], except for the second escape of a pair of surrogates: it has no bytes,
/// because the first one has those of both.
#[inline(always)]
pub fn said_at(
    at: PartOffset,
    end: PartOffset,
    byte: impl Fn(PartOffset) -> u8 + Copy,
    lenient: bool,
    follows: bool,
) -> Option<Said> {
    let said = say(at, end, byte, lenient)?;
    if follows
        && matches!(code_unit(at, end, byte), Some(0xdc00..0xe000))
        && matches!(code_unit(at - LONGEST_ESCAPE, end, byte), Some(0xd800..0xdc00))
    {
        return Some(Said { bytes: 0, len: 0, next: at + LONGEST_ESCAPE });
    }
    Some(said)
}

/// Returns the number of continuation bytes that the byte at `at`, which is not ASCII, promises: for a lead
/// byte of a valid sequence those that follow, and −1, modulo 2³², for a continuation byte. `None` for any
/// other byte.
///
/// A text is UTF-8 if each of its bytes beyond ASCII has a number, and their sum is 0: the continuation bytes
/// of valid sequences are then all there are.
#[inline(always)]
pub fn utf8_promise(at: PartOffset, end: PartOffset, byte: impl Fn(PartOffset) -> u8) -> Option<u32> {
    if byte(at) & 0xc0 == 0x80 { Some(u32::MAX) } else { Some(utf8_len(at, end, byte)? - 1) }
}

/// Returns the length of the UTF-8 sequence at `at` (the Unicode Standard, table 3-7), or `None` for no valid
/// sequence before `end`.
#[inline(always)]
fn utf8_len(at: PartOffset, end: PartOffset, byte: impl Fn(PartOffset) -> u8) -> Option<u32> {
    let (len, low, high) = match byte(at) {
        0..0x80 => return Some(1),
        0xc2..=0xdf => (2, 0x80, 0xbf),
        0xe0 => (3, 0xa0, 0xbf),
        0xed => (3, 0x80, 0x9f),
        0xe1..=0xef => (3, 0x80, 0xbf),
        0xf0 => (4, 0x90, 0xbf),
        0xf1..=0xf3 => (4, 0x80, 0xbf),
        0xf4 => (4, 0x80, 0x8f),
        _ => return None,
    };
    if len > end - at || !(low..=high).contains(&byte(at + 1)) {
        return None;
    }
    let mut i = 2;
    while i < len {
        if byte(at + i) & 0xc0 != 0x80 {
            return None;
        }
        i += 1;
    }
    Some(len)
}

/// Returns the code point of the escape at `at`, and the position after it. A surrogate without its partner
/// is U+FFFD.
#[inline(always)]
fn escape(
    at: PartOffset,
    end: PartOffset,
    byte: impl Fn(PartOffset) -> u8 + Copy,
) -> Option<(u32, PartOffset)> {
    if at + 1 >= end {
        return None;
    }
    let simple = match byte(at + 1) {
        c @ (b'"' | b'\\' | b'/') => c as u32,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => 0x0a,
        b'r' => 0x0d,
        b't' => 0x09,
        b'u' => {
            let unit = code_unit(at, end, byte)?;
            return Some(match unit {
                0xd800..0xdc00 => match code_unit(at + 6, end, byte) {
                    Some(low @ 0xdc00..0xe000) => {
                        (0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00), at + 12)
                    }
                    _ => (0xfffd, at + 6),
                },
                0xdc00..0xe000 => (0xfffd, at + 6),
                _ => (unit, at + 6),
            });
        }
        _ => return None,
    };
    Some((simple, at + 2))
}

/// Returns the UTF-16 code unit of a `\uXXXX` at `at`.
#[inline(always)]
fn code_unit(at: PartOffset, end: PartOffset, byte: impl Fn(PartOffset) -> u8) -> Option<u32> {
    if at + 6 > end || byte(at) != b'\\' || byte(at + 1) != b'u' {
        return None;
    }
    hex4(at + 2, end, byte)
}

#[cfg(test)]
mod tests;
