//! Numbers of JSON as values: integers exactly, others as the nearest double.

use std::cmp::Ordering;

use warpath_shared::column::{self, Float};
use warpath_shared::units::PartOffset;

use warpath_core::float;

/// A number of JSON (RFC 8259, section 6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer within the range, by its value and not by how it is written: `1.0` and `1e3` are.
    Int(i64),
    /// Any other: the nearest double, which is infinite beyond the range.
    Float(f64),
}

/// The number that a text is, if it is one, with nothing around it.
#[must_use]
pub fn number(text: &[u8]) -> Option<Number> {
    let end = PartOffset::try_from(text.len()).ok().filter(|end| *end > 0)?;
    let byte = |at: PartOffset| text[at as usize];
    if let Some(integer) = column::int64(0, end, byte) {
        return Some(Number::Int(integer));
    }
    let value = match column::float64(0, end, byte) {
        Float::None => return None,
        Float::Exact(value) => value,
        Float::Unfinished => float::finish(text)?,
    };
    // The nearest double of an integer is one.
    let integer = if value.fract() == 0.0 { Decimal::of(text).integer() } else { None };
    Some(integer.map_or(Number::Float(value), Number::Int))
}

/// The least integer that is not less than a number: `None` where it is beyond the range, with the side on which it is.
pub fn ceiling(text: &[u8]) -> Option<Result<i64, Ordering>> {
    Some(match number(text)? {
        Number::Int(integer) => Ok(integer),
        Number::Float(_) => Decimal::of(text).ceiling(),
    })
}

/// The digits of a number, from the first to the last that is not 0, and the power of ten of the last.
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    scale: i64,
}

impl Decimal {
    /// Of a text that is a number.
    fn of(text: &[u8]) -> Self {
        /// No text is so long that it makes good so much.
        const FAR: i64 = 1 << 40;
        let (negative, text) = text.strip_prefix(b"-").map_or((false, text), |rest| (true, rest));
        let mut parts = text.splitn(2, |byte| matches!(byte, b'e' | b'E'));
        let (mantissa, exponent) = (parts.next().unwrap_or_default(), parts.next().unwrap_or(b"0"));
        let exponent = std::str::from_utf8(exponent).unwrap_or_default();
        let exponent = exponent.parse::<i64>().unwrap_or(if exponent.starts_with('-') { -FAR } else { FAR });
        let point = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
        let fraction = mantissa.len().saturating_sub(point + 1);
        let mut digits: Vec<u8> = mantissa.iter().copied().filter(u8::is_ascii_digit).collect();
        let mut scale = exponent.clamp(-FAR, FAR) - fraction as i64;
        while digits.pop_if(|digit| *digit == b'0').is_some() {
            scale += 1;
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..zeros);
        Self { negative, digits, scale }
    }

    /// The number, where it is an integer within the range.
    fn integer(&self) -> Option<i64> {
        if self.digits.is_empty() {
            return Some(0);
        }
        if self.scale < 0 { None } else { self.whole().and_then(|whole| i64::try_from(whole).ok()) }
    }

    /// The number without its fraction, where it has no more than 19 digits.
    fn whole(&self) -> Option<i128> {
        let count = self.digits.len() as i64 + self.scale;
        if count > 19 {
            return None;
        }
        let digits = self.digits.iter().map(|digit| i128::from(digit - b'0')).chain(std::iter::repeat(0));
        let whole = digits.take(count.max(0) as usize).fold(0, |whole, digit| 10 * whole + digit);
        Some(if self.negative { -whole } else { whole })
    }

    fn ceiling(&self) -> Result<i64, Ordering> {
        let side = if self.negative { Ordering::Less } else { Ordering::Greater };
        let up = i128::from(self.scale < 0 && !self.negative && !self.digits.is_empty());
        i64::try_from(self.whole().ok_or(side)? + up).map_err(|_| side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_told_by_value() {
        for (text, value) in [
            ("0", 0),
            ("-0", 0),
            ("-0.0", 0),
            ("0e99999999999999999999", 0),
            ("1.0", 1),
            ("1e3", 1000),
            ("-12.50E1", -125),
            ("1200e-2", 12),
            ("9007199254740993", (1 << 53) + 1),
            ("9007199254740993.0", (1 << 53) + 1),
            ("0.9007199254740993e16", (1 << 53) + 1),
            ("9223372036854775807", i64::MAX),
            ("9223372036854775807.000", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("-9223372036854775808e0", i64::MIN),
            ("0.000000000000000000000001e24", 1),
        ] {
            assert_eq!(number(text.as_bytes()), Some(Number::Int(value)), "{text}");
            assert_eq!(ceiling(text.as_bytes()), Some(Ok(value)), "{text}");
        }
    }

    #[test]
    fn others_are_the_nearest_double() {
        for (text, value, above) in [
            ("0.5", 0.5, Ok(1)),
            ("-0.5", -0.5, Ok(0)),
            ("1e-400", 0.0, Ok(1)),
            ("-1e-400", -0.0, Ok(0)),
            ("9223372036854775808", 9_223_372_036_854_775_808.0, Err(Ordering::Greater)),
            ("9223372036854775807.5", 9_223_372_036_854_775_808.0, Err(Ordering::Greater)),
            ("-9223372036854775809", -9_223_372_036_854_775_808.0, Err(Ordering::Less)),
            ("-9223372036854775808.5", -9_223_372_036_854_775_808.0, Ok(i64::MIN)),
            ("9007199254740993.5", 9_007_199_254_740_994.0, Ok((1 << 53) + 2)),
            ("-9007199254740993.5", -9_007_199_254_740_994.0, Ok(-(1 << 53) - 1)),
            ("1e300", 1e300, Err(Ordering::Greater)),
            ("1e999", f64::INFINITY, Err(Ordering::Greater)),
            ("-1e999", f64::NEG_INFINITY, Err(Ordering::Less)),
            ("1e99999999999999999999", f64::INFINITY, Err(Ordering::Greater)),
        ] {
            assert_eq!(number(text.as_bytes()), Some(Number::Float(value)), "{text}");
            assert_eq!(ceiling(text.as_bytes()), Some(above), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_of_json_is_none() {
        for text in
            ["", "-", "01", "+1", "1.", ".5", "1e", "0x1", "NaN", "1 ", "1,0", "\"1\"", "--1", "1e5.0"]
        {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }
}
