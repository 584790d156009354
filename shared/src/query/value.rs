//! The comparison of a value in the text with a literal of the program.

use super::compare::{Decimal, ValueBytes, outcome_of, relate_numbers, relate_strings};
use super::document::{Node, Text};
use crate::ir::{LiteralKind, Test, relation};
use crate::units::PartOffset;
use crate::view::View;

/// Returns whether the raw string between two quotes, `start..end`, decodes to `literal`.
///
/// The comparison decodes as it goes and stops at the first difference, so that a different name costs a byte
/// or two. A malformed escape or a lone surrogate equals nothing, because no literal contains one. Bytes
/// beyond ASCII are compared unchanged.
#[inline(always)]
pub fn string_equals<D: Text>(
    doc: &D,
    start: PartOffset,
    end: PartOffset,
    literal: View<'_, u8>,
    offset: u32,
    len: u32,
) -> bool {
    // Every escape is longer than its decoded form.
    if end - start < len {
        return false;
    }
    let (mut at, mut seen) = (start, 0);
    while at < end {
        let byte = doc.byte(at);
        if byte == b'\\' {
            let Some((decoded, next)) = decode_escape(doc, at + 1, end) else { return false };
            let (bytes, count) = encode_utf8(decoded);
            let mut i = 0;
            while i < count {
                if seen == len || literal.get((offset + seen) as usize) != (bytes >> (8 * i)) as u8 {
                    return false;
                }
                seen += 1;
                i += 1;
            }
            at = next;
        } else {
            if seen == len || literal.get((offset + seen) as usize) != byte {
                return false;
            }
            seen += 1;
            at += 1;
        }
    }
    seen == len
}

/// The code point of the escape whose backslash is before `at`, and the offset at which the text continues. A
/// surrogate without its pair is a code point of its own.
#[inline(never)]
pub(super) fn decode_escape<D: Text>(doc: &D, at: PartOffset, end: PartOffset) -> Option<(u32, PartOffset)> {
    if at >= end {
        return None;
    }
    let simple = match doc.byte(at) {
        b'"' => 0x22,
        b'\\' => 0x5c,
        b'/' => 0x2f,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => 0x0a,
        b'r' => 0x0d,
        b't' => 0x09,
        b'u' => {
            let high = hex4(at + 1, end, |at| doc.byte(at))?;
            if !(0xd800..0xe000).contains(&high) {
                return Some((high, at + 5));
            }
            let alone = Some((high, at + 5));
            if high >= 0xdc00 || at + 7 > end || doc.byte(at + 5) != b'\\' || doc.byte(at + 6) != b'u' {
                return alone;
            }
            let low = match hex4(at + 7, end, |at| doc.byte(at)) {
                Some(low) if (0xdc00..0xe000).contains(&low) => low,
                _ => return alone,
            };
            return Some((0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), at + 11));
        }
        _ => return None,
    };
    Some((simple, at + 1))
}

/// The number that the four hexadecimal digits at `at` represent.
#[inline(always)]
pub(crate) fn hex4(at: PartOffset, end: PartOffset, byte: impl Fn(PartOffset) -> u8) -> Option<u32> {
    if at + 4 > end {
        return None;
    }
    let mut value = 0;
    let mut i = 0;
    while i < 4 {
        let digit = match byte(at + i) {
            d @ b'0'..=b'9' => d - b'0',
            d @ b'a'..=b'f' => d - b'a' + 10,
            d @ b'A'..=b'F' => d - b'A' + 10,
            _ => return None,
        };
        value = value << 4 | digit as u32;
        i += 1;
    }
    Some(value)
}

/// The UTF-8 form of a code point, first byte lowest, and its length. For a surrogate, the three bytes of the
/// same scheme.
#[inline(always)]
pub(crate) fn encode_utf8(c: u32) -> (u32, u32) {
    let tail = |shift: u32| 0x80 | (c >> shift) & 0x3f;
    match c {
        0..0x80 => (c, 1),
        0x80..0x800 => (0xc0 | c >> 6 | tail(0) << 8, 2),
        0x800..0x10000 => (0xe0 | c >> 12 | tail(6) << 8 | tail(0) << 16, 3),
        _ => (0xf0 | c >> 18 | tail(12) << 8 | tail(6) << 16 | tail(0) << 24, 4),
    }
}

/// The largest exponent. Larger exponents are treated as equal to it.
pub const MAX_EXPONENT: i64 = 1 << 62;

/// Appends a digit, `0..=9`, to an exponent. The result is at most [`MAX_EXPONENT`]. The compiler of literals
/// reads exponents by the same rule.
#[inline(always)]
pub const fn push_exponent_digit(exponent: i64, digit: u8) -> i64 {
    if exponent > (MAX_EXPONENT - 9) / 10 { MAX_EXPONENT } else { exponent * 10 + digit as i64 }
}

/// Returns whether the number in `node` has exactly the decimal value of the literal.
///
/// The text is read once. Leading zeros are skipped, significant digits are compared one by one, and zeros
/// after the literal's last digit are only counted. Exponents saturate at [`MAX_EXPONENT`], in the text and
/// in the literal.
#[inline(always)]
fn number_equals<D: Text>(doc: &D, node: Node, literals: View<'_, u8>, test: &Test) -> bool {
    let mut at = node.start;
    let negative = doc.byte(at) == b'-';
    at += negative as u32;
    // Value = 0.d₁d₂… × 10^scale.
    let (mut digits, mut scale, mut point, mut any) = (0u32, 0i64, false, false);
    while at < node.end {
        let byte = doc.byte(at);
        match byte {
            b'0'..=b'9' => {
                any = true;
                if digits > 0 || byte != b'0' {
                    let want =
                        if digits < test.len { literals.get((test.offset + digits) as usize) } else { b'0' };
                    if byte != want {
                        return false;
                    }
                    digits += 1;
                    scale += !point as i64;
                } else {
                    scale -= point as i64;
                }
            }
            b'.' if !point => point = true,
            b'e' | b'E' => break,
            _ => return false,
        }
        at += 1;
    }
    if !any {
        return false;
    }
    let mut exponent = 0i64;
    if at < node.end {
        at += 1;
        let mut down = false;
        if at < node.end && matches!(doc.byte(at), b'+' | b'-') {
            down = doc.byte(at) == b'-';
            at += 1;
        }
        if at == node.end {
            return false;
        }
        while at < node.end {
            let digit = doc.byte(at).wrapping_sub(b'0');
            if digit > 9 {
                return false;
            }
            exponent = push_exponent_digit(exponent, digit);
            at += 1;
        }
        exponent = if down { -exponent } else { exponent };
    }
    if digits == 0 || test.len == 0 {
        return digits == test.len;
    }
    digits >= test.len && scale + exponent == test.exponent && negative == (test.negative != 0)
}

/// Returns whether a value is a string, which is between quotes.
#[inline(always)]
pub fn is_string<D: Text>(doc: &D, node: Node) -> bool {
    node.end - node.start >= 2 && doc.byte(node.start) == b'"' && doc.byte(node.end - 1) == b'"'
}

/// Returns whether a value is spelled as `word`: `null`, `true` or `false`.
#[inline(always)]
pub fn is_word<D: Text>(doc: &D, node: Node, word: &[u8]) -> bool {
    let mut i = 0;
    while i < word.len() && node.start + (i as u32) < node.end && doc.byte(node.start + i as u32) == word[i] {
        i += 1;
    }
    i == word.len() && node.end - node.start == i as u32
}

const NULL: u32 = LiteralKind::Null as u32;
const FALSE: u32 = LiteralKind::False as u32;
const TRUE: u32 = LiteralKind::True as u32;
const NUMBER: u32 = LiteralKind::Number as u32;

/// Returns whether a value equals the literal of a test (RFC 9535 section 2.3.5.2.2).
#[inline(always)]
pub fn equals<D: Text>(doc: &D, node: Node, literals: View<'_, u8>, test: &Test) -> bool {
    match test.kind {
        NULL => is_word(doc, node, b"null"),
        FALSE => is_word(doc, node, b"false"),
        TRUE => is_word(doc, node, b"true"),
        NUMBER => number_equals(doc, node, literals, test),
        _ => {
            is_string(doc, node)
                && string_equals(doc, node.start + 1, node.end - 1, literals, test.offset, test.len)
        }
    }
}

/// Returns whether a value and the literal of a test have the relation of the test (RFC 9535 section
/// 2.3.5.2.2).
#[inline(always)]
pub fn compares<D: Text>(doc: &D, node: Node, literals: View<'_, u8>, test: &Test) -> bool {
    const ORDERED: u32 = relation::LESS | relation::GREATER;
    // With neither or both of less and greater, only equality matters.
    let order = test.relation & ORDERED;
    let outcome = if order == 0 || order == ORDERED {
        outcome_of(equals(doc, node, literals, test))
    } else {
        relate(doc, node, literals, test)
    };
    test.relation & outcome != 0
}

/// Compares a value with the literal of a test. Returns a bit of [`relation`].
#[inline(never)]
fn relate<D: Text>(doc: &D, node: Node, literals: View<'_, u8>, test: &Test) -> u32 {
    let literal = ValueBytes::literal(doc, literals);
    match test.kind {
        NULL | FALSE | TRUE => outcome_of(equals(doc, node, literals, test)),
        NUMBER => match Decimal::read(ValueBytes::text(doc, literals), node.start, node.end) {
            Some(number) => relate_numbers(number, Decimal::of_test(literal, test)),
            None => relation::UNRELATED,
        },
        _ if is_string(doc, node) => relate_strings(
            ValueBytes::text(doc, literals).decode(node.start + 1, node.end - 1),
            literal.decode(test.offset, test.offset + test.len),
        ),
        _ => relation::UNRELATED,
    }
}
