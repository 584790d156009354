//! The comparison of two values: numbers by their exact decimal values, strings by their code points.

use super::document::Text;
use super::value::{decode_escape, encode_utf8, push_exponent_digit};
use crate::ir::{Test, relation};
use crate::units::PartOffset;
use crate::view::View;

/// [`relation::EQUAL`] for equal values, else [`relation::UNRELATED`].
#[inline(always)]
pub const fn outcome_of(equal: bool) -> u32 {
    if equal { relation::EQUAL } else { relation::UNRELATED }
}

/// The source of a value's bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// In the text, spelt as JSON.
    Text,
    /// Among the literals: strings decoded, numbers as digits.
    Literals,
    /// The decimal digits of this number.
    Digits(u32),
}

/// Reads a value's bytes.
pub struct ValueBytes<'a, T> {
    text: &'a T,
    literals: View<'a, u8>,
    source: Source,
}

impl<T> Clone for ValueBytes<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for ValueBytes<'_, T> {}

impl<'a, T: Text> ValueBytes<'a, T> {
    /// A reader of a value in the text.
    #[inline(always)]
    pub const fn text(text: &'a T, literals: View<'a, u8>) -> Self {
        Self { text, literals, source: Source::Text }
    }

    /// A reader of a literal.
    #[inline(always)]
    pub const fn literal(text: &'a T, literals: View<'a, u8>) -> Self {
        Self { text, literals, source: Source::Literals }
    }

    #[inline(always)]
    fn byte(&self, at: u32) -> u8 {
        match self.source {
            Source::Text => self.text.byte(at),
            Source::Literals => self.literals.get(at as usize),
            // The first digit is at 0.
            Source::Digits(number) => {
                let mut left = digits_of(number) - 1 - at;
                let mut number = number;
                while left > 0 {
                    number /= 10;
                    left -= 1;
                }
                b'0' + (number % 10) as u8
            }
        }
    }

    /// A decoder of a string. In the text, `start..end` are the bytes between the quotes.
    #[inline(always)]
    pub const fn decode(self, start: PartOffset, end: PartOffset) -> Decoder<'a, T> {
        Decoder { reader: self, at: start, end, pending: 0 }
    }
}

/// The number of decimal digits of a number. Zero has none.
#[inline(always)]
const fn digits_of(mut number: u32) -> u32 {
    let mut digits = 0;
    while number > 0 {
        number /= 10;
        digits += 1;
    }
    digits
}

/// Iterates over the bytes of a string, decoded to UTF-8. A lone surrogate becomes the three bytes of its
/// UTF-8 form, so that the order of bytes is that of code points. A backslash that begins no escape, and
/// bytes that are not UTF-8, are kept as they are.
pub struct Decoder<'a, T> {
    reader: ValueBytes<'a, T>,
    at: u32,
    end: u32,
    /// The rest of the decoded bytes of the last escape, first byte lowest, with a bit set after the last
    /// byte.
    pending: u32,
}

impl<T: Text> Decoder<'_, T> {
    /// The next byte.
    #[inline(always)]
    pub fn next_byte(&mut self) -> Option<u8> {
        if self.pending > 1 {
            let byte = self.pending as u8;
            self.pending >>= 8;
            return Some(byte);
        }
        if self.at >= self.end {
            return None;
        }
        let byte = self.reader.byte(self.at);
        self.at += 1;
        if byte == b'\\'
            && self.reader.source == Source::Text
            && let Some((code_point, next)) = decode_escape(self.reader.text, self.at, self.end)
        {
            let (bytes, count) = encode_utf8(code_point);
            self.at = next;
            self.pending = ((bytes as u64 | 1 << (8 * count)) >> 8) as u32;
            return Some(bytes as u8);
        }
        Some(byte)
    }
}

/// Compares two strings. Returns a bit of [`relation`].
#[inline(always)]
pub fn relate_strings<T: Text>(mut left: Decoder<'_, T>, mut right: Decoder<'_, T>) -> u32 {
    loop {
        match (left.next_byte(), right.next_byte()) {
            (None, None) => return relation::EQUAL,
            (None, Some(_)) => return relation::LESS,
            (Some(_), None) => return relation::GREATER,
            (Some(left), Some(right)) if left < right => return relation::LESS,
            (Some(left), Some(right)) if left > right => return relation::GREATER,
            _ => {}
        }
    }
}

/// A number: ±0.*d₁d₂…* × 10^*scale*. The digits begin with the first that is not zero.
pub struct Decimal<'a, T> {
    reader: ValueBytes<'a, T>,
    negative: bool,
    /// The position of the first digit that is not zero.
    at: u32,
    /// One past the last digit. For zero, this equals `at`.
    end: u32,
    scale: i64,
}

impl<'a, T: Text> Decimal<'a, T> {
    /// Reads the number in `start..end`, or returns `None` if it is not one. Leading zeros are accepted.
    #[inline(always)]
    pub fn read(reader: ValueBytes<'a, T>, start: PartOffset, end: PartOffset) -> Option<Self> {
        let negative = start < end && reader.byte(start) == b'-';
        let mut at = start + negative as u32;
        let (mut first, mut scale, mut point, mut any) = (None, 0i64, false, false);
        while at < end {
            match reader.byte(at) {
                b'0' if first.is_none() => {
                    any = true;
                    scale -= point as i64;
                }
                b'0'..=b'9' => {
                    any = true;
                    scale += !point as i64;
                    first = Some(first.unwrap_or(at));
                }
                b'.' if !point => point = true,
                b'e' | b'E' => break,
                _ => return None,
            }
            at += 1;
        }
        let digits_end = at;
        if !any {
            return None;
        }
        if at < end {
            at += 1;
            let down = at < end && reader.byte(at) == b'-';
            if at < end && (down || reader.byte(at) == b'+') {
                at += 1;
            }
            if at == end {
                return None;
            }
            let mut exponent = 0i64;
            while at < end {
                let digit = reader.byte(at).wrapping_sub(b'0');
                if digit > 9 {
                    return None;
                }
                exponent = push_exponent_digit(exponent, digit);
                at += 1;
            }
            scale += if down { -exponent } else { exponent };
        }
        Some(Self { reader, negative, at: first.unwrap_or(digits_end), end: digits_end, scale })
    }

    /// The literal of a test.
    #[inline(always)]
    pub const fn of_test(reader: ValueBytes<'a, T>, test: &Test) -> Self {
        let negative = test.negative != 0;
        Self { reader, negative, at: test.offset, end: test.offset + test.len, scale: test.exponent }
    }

    /// A number that was counted.
    #[inline(always)]
    pub const fn of_count(reader: ValueBytes<'a, T>, count: u32) -> Self {
        let end = digits_of(count);
        let reader = ValueBytes { source: Source::Digits(count), ..reader };
        Self { reader, negative: false, at: 0, end, scale: end as i64 }
    }

    /// Passes the significant digits to `digit`: from the first to the last that is not zero. Returns whether
    /// the number is negative, and the power of ten. Two numbers have the same digits, sign and power if and
    /// only if they are equal. Zero has no digits, no sign and no power.
    #[inline(always)]
    pub fn canonical(mut self, mut digit: impl FnMut(u8)) -> (bool, i64) {
        let (sign, scale, mut zeros) = (self.sign(), self.scale, 0);
        while self.at < self.end {
            let byte = self.next_digit();
            if byte == b'0' {
                zeros += 1;
                continue;
            }
            while zeros > 0 {
                digit(b'0');
                zeros -= 1;
            }
            digit(byte);
        }
        (sign < 0, if sign == 0 { 0 } else { scale })
    }

    /// The sign: -1, 0 or 1.
    #[inline(always)]
    const fn sign(&self) -> i32 {
        if self.at == self.end {
            0
        } else if self.negative {
            -1
        } else {
            1
        }
    }

    /// The next digit. After the last digit, zeros.
    #[inline(always)]
    fn next_digit(&mut self) -> u8 {
        while self.at < self.end {
            let byte = self.reader.byte(self.at);
            self.at += 1;
            if byte != b'.' {
                return byte;
            }
        }
        b'0'
    }
}

/// Compares two numbers. Returns a bit of [`relation`].
#[inline(always)]
pub fn relate_numbers<T: Text>(mut left: Decimal<'_, T>, mut right: Decimal<'_, T>) -> u32 {
    let sign = left.sign();
    if sign != right.sign() {
        return if sign < right.sign() { relation::LESS } else { relation::GREATER };
    }
    if sign == 0 {
        return relation::EQUAL;
    }
    // If both are negative, the number further from zero is less.
    let further = |left: bool| if left == (sign > 0) { relation::GREATER } else { relation::LESS };
    if left.scale != right.scale {
        return further(left.scale > right.scale);
    }
    while left.at < left.end || right.at < right.end {
        let (a, b) = (left.next_digit(), right.next_digit());
        if a != b {
            return further(a > b);
        }
    }
    relation::EQUAL
}
