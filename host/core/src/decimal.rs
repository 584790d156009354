//! Decimal numbers, exactly as they are spelt.
//!
//! Spelt numbers are read by the rule that kernels compare them by
//! ([`warpath_shared::query::compare::Decimal`]). That one stays beside this: it compares digits where they
//! are, in any memory, and a [`Decimal`] owns its digits. To round to the nearest double is left to
//! [`float`](crate::float).

use std::cmp::Ordering;

use warpath_shared::query::compare::{self, ValueBytes};
use warpath_shared::query::document::Text;
use warpath_shared::view::View;

/// Bytes as the text that shared rules read.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(pub &'a [u8]);

impl Text for Bytes<'_> {
    #[inline(always)]
    fn byte(&self, at: u32) -> u8 {
        self.0[at as usize]
    }
}

/// Reads a number, and appends its digits: from the first to the last that is not 0. Returns whether it is
/// negative, and the power of ten before the first digit. Both are the same for numbers that are equal, and
/// no others; zero has no digits, is not negative, and has power 0.
///
/// Returns `None` for what is no number, and then appends nothing. Zeros before the first digit may be any.
/// Exponents saturate at [`MAX_EXPONENT`](warpath_shared::query::value::MAX_EXPONENT).
#[inline]
pub fn canonical(spelt: &[u8], digits: &mut Vec<u8>) -> Option<(bool, i64)> {
    let end = u32::try_from(spelt.len()).ok()?;
    let text = Bytes(spelt);
    let number = compare::Decimal::read(ValueBytes::text(&text, View::from_slice(&[])), 0, end)?;
    Some(number.canonical(|digit| digits.push(digit)))
}

/// The value of a JSON integer of at most 16 digits, in the bytes of a text from `begin` to `end`. `None` for
/// every other value, and for an integer that begins less than 16 bytes before the end of the text.
///
/// # Panics
/// If `begin` is not in the text.
#[inline(always)]
#[must_use]
pub fn short_integer(text: &[u8], begin: usize, end: usize) -> Option<i64> {
    let is_negative = text[begin] == b'-';
    let first = begin + usize::from(is_negative);
    let len = end.checked_sub(first).filter(|len| (1..=16).contains(len))?;
    if text[first] == b'0' && len > 1 {
        return None;
    }
    let (words, _) = text[first..].first_chunk::<16>()?.as_chunks::<8>();
    let [low, high] = [words[0], words[1]].map(u64::from_le_bytes);
    let value = if len <= 8 {
        eight_digits(low << (64 - 8 * len), 64 - 8 * len as u32)?
    } else {
        // The last eight digits, and those before them.
        let over = 8 * (len as u32 - 8);
        let last = low.checked_shr(over).unwrap_or(0) | high << (64 - over);
        let shift = 64 - over;
        eight_digits(low << shift, shift)? * 100_000_000 + eight_digits(last, 0)?
    };
    // Sixteen digits are less than 2⁵⁴.
    Some(if is_negative { -(value as i64) } else { value as i64 })
}

/// The value of eight digits, of which the first is in the lowest byte. The lowest `shift` bits are zero and
/// stand for leading zeros.
///
/// ```text
/// "1234" shifted     00 00 00 00 31 32 33 34      lowest byte at the left
/// bytes to pairs      0     0    12    34         × 10, + 1
/// pairs to fours      0       1234                × 100, + 1
/// ```
#[inline(always)]
fn eight_digits(word: u64, shift: u32) -> Option<u64> {
    const LOW: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    let digits = word ^ 0x3030_3030_3030_3030 & u64::MAX << shift;
    if (digits | digits.wrapping_add(0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = ((digits & LOW).wrapping_mul(2561) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(6_553_601) >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(42_949_672_960_001) >> 32)
}

/// A decimal number: ±0.*digits* × 10^*exponent*, with no zero at either end of the digits, which are ASCII.
/// Zero has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decimal {
    /// True if the number is below zero.
    pub negative: bool,
    /// The digits.
    pub digits: Vec<u8>,
    /// The power of ten before the first digit; 0 of zero.
    pub exponent: i64,
}

impl Decimal {
    /// The number that a text is, if it is one, with nothing around it; see [`canonical`].
    #[must_use]
    pub fn read(spelt: &[u8]) -> Option<Self> {
        let mut digits = Vec::new();
        let (negative, exponent) = canonical(spelt, &mut digits)?;
        Some(Self { negative, digits, exponent })
    }

    /// The number, where it is an integer of 64 bits.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        let is_whole = self.exponent >= self.digits.len() as i64;
        if is_whole { self.whole().and_then(|whole| i64::try_from(whole).ok()) } else { None }
    }

    /// The least integer that is not less than the number; the side on which it is where 64 bits do not hold
    /// it.
    ///
    /// # Errors
    /// [`Ordering::Less`] and [`Ordering::Greater`]: the number is below or above all integers of 64 bits.
    pub fn ceiling(&self) -> Result<i64, Ordering> {
        let side = if self.negative { Ordering::Less } else { Ordering::Greater };
        let up = i128::from(self.exponent < self.digits.len() as i64 && !self.negative);
        i64::try_from(self.whole().ok_or(side)? + up).map_err(|_| side)
    }

    /// The number without its fraction, where it has no more than 19 digits.
    fn whole(&self) -> Option<i128> {
        if self.exponent > 19 {
            return None;
        }
        let digits = self.digits.iter().map(|digit| i128::from(digit - b'0')).chain(std::iter::repeat(0));
        let whole = digits.take(self.exponent.max(0) as usize).fold(0, |whole, digit| 10 * whole + digit);
        Some(if self.negative { -whole } else { whole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals() {
        let decimal =
            |negative, digits: &str, exponent| Some(Decimal { negative, digits: digits.into(), exponent });
        for (spelt, want) in [
            ("1", decimal(false, "1", 1)),
            ("10e-1", decimal(false, "1", 1)),
            ("-0.0250", decimal(true, "25", -1)),
            ("123.45E+2", decimal(false, "12345", 5)),
            ("100.050", decimal(false, "10005", 3)),
            ("-0", decimal(false, "", 0)),
            ("0e999999999999999999999", decimal(false, "", 0)),
            ("1e999999999999999999999", decimal(false, "1", (1 << 62) + 1)),
            ("0.01e-999999999999999999999", decimal(false, "1", -(1 << 62) - 1)),
            ("", None),
            ("-", None),
            ("1e", None),
            ("1x", None),
            ("1e5.0", None),
        ] {
            assert_eq!(Decimal::read(spelt.as_bytes()), want, "{spelt}");
        }
    }

    #[test]
    fn ceilings_and_integers() {
        use Ordering::{Greater, Less};
        for (spelt, integer, ceiling) in [
            ("-0.0", Some(0), Ok(0)),
            ("0.5", None, Ok(1)),
            ("-0.5", None, Ok(0)),
            ("1e-99999999999999999999", None, Ok(1)),
            ("12.50E1", Some(125), Ok(125)),
            ("9223372036854775807", Some(i64::MAX), Ok(i64::MAX)),
            ("9223372036854775807.5", None, Err(Greater)),
            ("-9223372036854775808.5", None, Ok(i64::MIN)),
            ("-9223372036854775809", None, Err(Less)),
            ("1e99999999999999999999", None, Err(Greater)),
            ("-1e19", None, Err(Less)),
        ] {
            let number = Decimal::read(spelt.as_bytes()).unwrap();
            assert_eq!((number.integer(), number.ceiling()), (integer, ceiling), "{spelt}");
        }
    }
}
