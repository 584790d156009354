//! Numbers of JSON as values: integers exactly, others as the nearest double.

use std::cmp::Ordering;

use warpath_core::decimal::Decimal;
use warpath_core::number::nearest;
use warpath_shared::column;
use warpath_shared::units::PartOffset;

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
    let value = nearest(text)?;
    // If a number is an integer, so is its nearest double.
    let integer = if value.fract() == 0.0 { Decimal::read(text)?.integer() } else { None };
    Some(integer.map_or(Number::Float(value), Number::Int))
}

/// The least integer that is not less than a number. An error is the side on which the number is out of
/// range. Returns `None` if the text is no number.
pub fn ceiling(text: &[u8]) -> Option<Result<i64, Ordering>> {
    Some(match number(text)? {
        Number::Int(integer) => Ok(integer),
        Number::Float(_) => Decimal::read(text)?.ceiling(),
    })
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
