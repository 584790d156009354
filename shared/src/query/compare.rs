//! How two values compare: numbers by their exact decimal values, strings by their code points.

use super::document::Text;
use super::value::{decode_escape, encode_utf8, push_exponent_digit};
use crate::ir::{Test, relation};
use crate::units::PartOffset;
use crate::view::View;

/// [`relation::EQUAL`], or that they are not.
#[inline(always)]
pub const fn outcome_of(equal: bool) -> u32 {
    if equal { relation::EQUAL } else { relation::UNRELATED }
}

/// Where the bytes of a value stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// In the text, spelt as JSON.
    Text,
    /// Among the literals: strings decoded, numbers as digits.
    Literals,
    /// They are the decimal digits of this number.
    Digits(u32),
}

/// Reads a value's bytes.
pub struct Reader<'a, T> {
    text: &'a T,
    literals: View<'a, u8>,
    source: Source,
}

impl<T> Clone for Reader<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Reader<'_, T> {}

impl<'a, T: Text> Reader<'a, T> {
    /// Of a value in the text.
    #[inline(always)]
    pub const fn text(text: &'a T, literals: View<'a, u8>) -> Self {
        Self { text, literals, source: Source::Text }
    }

    /// Of a literal.
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

    /// The bytes of a string, decoded: between the quotes where it is in the text.
    #[inline(always)]
    pub const fn decode(self, start: PartOffset, end: PartOffset) -> Decoder<'a, T> {
        Decoder { reader: self, at: start, end, pending: 0 }
    }
}

/// How many decimal digits a number has; none is of zero.
#[inline(always)]
const fn digits_of(mut number: u32) -> u32 {
    let mut digits = 0;
    while number > 0 {
        number /= 10;
        digits += 1;
    }
    digits
}

/// Goes through the bytes of a string, decoded to UTF-8. A lone surrogate is the three bytes that UTF-8 would have for it, so that
/// the order of bytes is that of code points; a backslash that begins no escape, and bytes that are not UTF-8, stay as they are.
pub struct Decoder<'a, T> {
    reader: Reader<'a, T>,
    at: u32,
    end: u32,
    /// The rest of what the last escape stands for, first byte lowest, with a bit set behind the last.
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

/// How two strings compare: a bit of [`relation`].
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

/// A number: ±0.*d₁d₂…* × 10^*scale*, the digits from the first that is not zero.
pub struct Decimal<'a, T> {
    reader: Reader<'a, T>,
    negative: bool,
    /// Where the first digit is that is not zero.
    at: u32,
    /// One past the last digit. The same, of zero.
    end: u32,
    scale: i64,
}

impl<'a, T: Text> Decimal<'a, T> {
    /// The number that stands in `start..end`, if it is one; leading zeros are not minded.
    #[inline(always)]
    pub fn read(reader: Reader<'a, T>, start: PartOffset, end: PartOffset) -> Option<Self> {
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
    pub const fn of_test(reader: Reader<'a, T>, test: &Test) -> Self {
        let negative = test.negative != 0;
        Self { reader, negative, at: test.offset, end: test.offset + test.len, scale: test.exponent }
    }

    /// A number that was counted.
    #[inline(always)]
    pub const fn of_count(reader: Reader<'a, T>, count: u32) -> Self {
        let end = digits_of(count);
        let reader = Reader { source: Source::Digits(count), ..reader };
        Self { reader, negative: false, at: 0, end, scale: end as i64 }
    }

    /// The digits from the first that is not zero to the last that is not, each told; then the sign and the power of ten: the same for numbers that
    /// are equal, and no others. Zero has no digits, no sign and no power.
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

    /// -1, 0 or 1.
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

    /// The next digit; zeros behind the last.
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

/// How two numbers compare: a bit of [`relation`].
#[inline(always)]
pub fn relate_numbers<T: Text>(mut left: Decimal<'_, T>, mut right: Decimal<'_, T>) -> u32 {
    let sign = left.sign();
    if sign != right.sign() {
        return if sign < right.sign() { relation::LESS } else { relation::GREATER };
    }
    if sign == 0 {
        return relation::EQUAL;
    }
    // Where both are negative, the one that is further from zero is less.
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
