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
    use warpath_random::table::texts;

    use super::*;

    const NUMBERS: &str = include_str!("numbers.txt");

    #[test]
    fn integers_are_told_by_value() {
        for [text, value] in texts(NUMBERS, "integers") {
            let value = value.parse().unwrap();
            assert_eq!(number(text.as_bytes()), Some(Number::Int(value)), "{text}");
            assert_eq!(ceiling(text.as_bytes()), Some(Ok(value)), "{text}");
        }
    }

    #[test]
    fn others_are_the_nearest_double() {
        for [text, value, above] in texts(NUMBERS, "doubles") {
            assert_eq!(number(text.as_bytes()), Some(Number::Float(value.parse().unwrap())), "{text}");
            let found = ceiling(text.as_bytes()).unwrap();
            let found = found.map_or_else(|order| format!("{order:?}"), |ceiling| ceiling.to_string());
            assert_eq!(found, above, "{text}");
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
