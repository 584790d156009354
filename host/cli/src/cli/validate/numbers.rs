//! Numbers of JSON by their exact values, and the keywords of JSON Schema that compare numbers.
//!
//! The library compares numbers as 64-bit integers or as doubles. A number beyond both would be rounded, and
//! might pass a bound that it exceeds. The keywords here compare the digits in the text.

use std::cmp::Ordering;

use jsonschema::json::Node;
use jsonschema::paths::Location;
use jsonschema::{Keyword, ValidationError, ValidationOptions};
use serde_json::{Map, Value};
use warpath_core::decimal::Decimal;
use warpath_core::number;

use super::record::{Item, Records};

/// True if a number has a fraction or an exponent.
pub fn has_fraction(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}

fn decimal(text: &str) -> Decimal {
    Decimal::read(text.as_bytes()).unwrap_or_default()
}

/// True if a number is an integer by its value: `1.0` and `1e400`, too.
pub fn is_integer(text: &str) -> bool {
    !has_fraction(text) || is_whole(&decimal(text))
}

fn is_whole(number: &Decimal) -> bool {
    number.exponent >= number.digits.len() as i64
}

/// The value of a number, if it is an integer of 64 bits.
pub fn signed(text: &str) -> Option<i64> {
    if has_fraction(text) { decimal(text).integer() } else { text.parse().ok() }
}

/// The value of a number, if it is an integer of 64 bits that is not negative.
pub fn unsigned(text: &str) -> Option<u64> {
    if !has_fraction(text) {
        return text.parse().ok();
    }
    let Decimal { negative, digits, exponent } = decimal(text);
    // 20 digits are more than 64 bits hold.
    let zeros = usize::try_from(exponent).ok().filter(|len| *len <= 20)?.checked_sub(digits.len())?;
    let text = String::from_utf8(digits).ok().filter(|_| !negative)? + &"0".repeat(zeros);
    if text.is_empty() { Some(0) } else { text.parse().ok() }
}

/// The nearest double of a number, if its shortest form has the same value. So `0.1` has a double, and
/// `0.10000000000000000001` has none.
pub fn double(text: &str) -> Option<f64> {
    let nearest = number::nearest(text.as_bytes()).filter(|nearest| nearest.is_finite())?;
    are_equal(&format!("{nearest:e}"), text).then_some(nearest)
}

/// The number of the library that is nearest to a number.
pub fn nearest(text: &str) -> serde_json::Number {
    if let Some(integer) = signed(text).filter(|_| !has_fraction(text)) {
        return integer.into();
    }
    if let Some(integer) = unsigned(text).filter(|_| !has_fraction(text)) {
        return integer.into();
    }
    let double = number::nearest(text.as_bytes()).unwrap_or_default().clamp(f64::MIN, f64::MAX);
    serde_json::Number::from_f64(double).unwrap_or_else(|| 0.into())
}

/// True if the library has a number of exactly this value.
pub fn is_exact(text: &str) -> bool {
    signed(text).is_some() || unsigned(text).is_some() || double(text).is_some()
}

/// True if two numbers have the same value.
pub fn are_equal(one: &str, other: &str) -> bool {
    one == other || decimal(one) == decimal(other)
}

/// Bytes that are the same for numbers of the same value, and no others.
pub fn canonical(text: &str) -> Vec<u8> {
    let Decimal { negative, mut digits, exponent } = decimal(text);
    digits.extend_from_slice(&exponent.to_le_bytes());
    digits.push(u8::from(negative));
    digits
}

/// The order of two numbers.
fn compare(one: &Decimal, other: &Decimal) -> Ordering {
    let sign = |number: &Decimal| match number {
        Decimal { digits, .. } if digits.is_empty() => 0,
        Decimal { negative: true, .. } => -1,
        _ => 1,
    };
    let magnitude = || one.exponent.cmp(&other.exponent).then_with(|| one.digits.cmp(&other.digits));
    match (sign(one), sign(other)) {
        (1, 1) => magnitude(),
        (-1, -1) => magnitude().reverse(),
        (one, other) => one.cmp(&other),
    }
}

/// Adds the keywords that compare numbers, in place of those of the library.
pub fn with_exact_keywords<'i, R>(
    options: ValidationOptions<'i, R, Records>,
) -> ValidationOptions<'i, R, Records> {
    options
        .with_keyword("minimum", |parent, limit, _| bound(parent, limit, "exclusiveMinimum", true))
        .with_keyword("maximum", |parent, limit, _| bound(parent, limit, "exclusiveMaximum", false))
        .with_keyword("exclusiveMinimum", |_, limit, _| exclusive(limit, true))
        .with_keyword("exclusiveMaximum", |_, limit, _| exclusive(limit, false))
        .with_keyword("multipleOf", multiple_of)
}

type Made<'a> = Result<Box<dyn for<'i> Keyword<'i, Records>>, ValidationError<'a>>;

/// `minimum` or `maximum`. In draft 4 a Boolean beside it, of the name `exclusive`, excludes the limit.
fn bound<'a>(parent: &Map<String, Value>, limit: &Value, exclusive: &str, is_least: bool) -> Made<'a> {
    let includes = parent.get(exclusive) != Some(&Value::Bool(true));
    Ok(Box::new(Bound::new(limit, is_least, includes)))
}

/// `exclusiveMinimum` or `exclusiveMaximum`. A Boolean of draft 4 is read with the limit.
fn exclusive<'a>(limit: &Value, is_least: bool) -> Made<'a> {
    match limit {
        Value::Bool(_) => Ok(Box::new(Anything)),
        limit => Ok(Box::new(Bound::new(limit, is_least, false))),
    }
}

/// A keyword that all values satisfy.
struct Anything;

impl<'i> Keyword<'i, Records> for Anything {
    fn validate(&self, _: Item<'i>) -> Result<(), ValidationError<'i>> {
        Ok(())
    }

    fn is_valid(&self, _: Item<'i>) -> bool {
        true
    }
}

/// A limit of numbers.
struct Bound {
    text: String,
    limit: Decimal,
    /// The limit, if it is an integer of 64 bits.
    integer: Option<i64>,
    /// True for the least value, false for the greatest.
    is_least: bool,
    /// True if the limit itself is allowed.
    includes: bool,
}

impl Bound {
    fn new(limit: &Value, is_least: bool, includes: bool) -> Self {
        let text = limit.to_string();
        Self { limit: decimal(&text), integer: signed(&text), text, is_least, includes }
    }

    fn allows(&self, number: &str) -> bool {
        let order = match self.integer {
            Some(limit)
                if !has_fraction(number)
                    && let Ok(number) = number.parse::<i64>() =>
            {
                number.cmp(&limit)
            }
            _ => compare(&decimal(number), &self.limit),
        };
        match order {
            Ordering::Equal => self.includes,
            Ordering::Less => !self.is_least,
            Ordering::Greater => self.is_least,
        }
    }
}

impl<'i> Keyword<'i, Records> for Bound {
    fn validate(&self, item: Item<'i>) -> Result<(), ValidationError<'i>> {
        let words = match (self.is_least, self.includes) {
            (true, true) => "at least",
            (true, false) => "more than",
            (false, true) => "at most",
            (false, false) => "less than",
        };
        match self.is_valid(item) {
            true => Ok(()),
            false => Err(ValidationError::custom(format!("{words} {}", self.text))),
        }
    }

    fn is_valid(&self, item: Item<'i>) -> bool {
        item.as_number().is_none_or(|number| self.allows(number.0))
    }
}

fn multiple_of<'a>(_: &'a Map<String, Value>, divisor: &'a Value, _: Location) -> Made<'a> {
    let text = divisor.to_string();
    let Decimal { digits, exponent, .. } = decimal(&text);
    let exponent = exponent - digits.len() as i64;
    let mantissa = String::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
    Ok(Box::new(MultipleOf { integer: unsigned(&text), mantissa: mantissa.unwrap_or(1), exponent, text }))
}

/// A divisor of numbers: *mantissa* × 10^*exponent*.
struct MultipleOf {
    text: String,
    /// The divisor, if it is an integer of 64 bits.
    integer: Option<u64>,
    mantissa: u64,
    exponent: i64,
}

impl MultipleOf {
    fn divides(&self, number: &str) -> bool {
        if let (Some(divisor), Ok(number)) = (self.integer, number.parse::<i64>()) {
            return number.unsigned_abs().is_multiple_of(divisor);
        }
        let Decimal { digits, exponent, .. } = decimal(number);
        // The last digit is not 0, so a finer number is no multiple.
        let Ok(tens) = u64::try_from(exponent - digits.len() as i64 - self.exponent) else {
            return digits.is_empty();
        };
        let modulus = u128::from(self.mantissa);
        let rest = digits.iter().fold(0, |rest, digit| (rest * 10 + u128::from(digit - b'0')) % modulus);
        (rest * power(10, tens, modulus)).is_multiple_of(modulus)
    }
}

/// The power of a number, modulo a number of 64 bits.
fn power(base: u128, mut exponent: u64, modulus: u128) -> u128 {
    let (mut result, mut base) = (1 % modulus, base % modulus);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        exponent /= 2;
    }
    result
}

impl<'i> Keyword<'i, Records> for MultipleOf {
    fn validate(&self, item: Item<'i>) -> Result<(), ValidationError<'i>> {
        match self.is_valid(item) {
            true => Ok(()),
            false => Err(ValidationError::custom(format!("a multiple of {}", self.text))),
        }
    }

    fn is_valid(&self, item: Item<'i>) -> bool {
        item.as_number().is_none_or(|number| self.divides(number.0))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_have_their_exact_values() {
        for (text, wanted) in [
            ("0", (Some(0), Some(0), true)),
            ("-0.0", (Some(0), Some(0), true)),
            ("1e2", (Some(100), Some(100), true)),
            ("9223372036854775807", (Some(i64::MAX), Some(i64::MAX as u64), true)),
            ("18446744073709551615.0", (None, Some(u64::MAX), true)),
            ("18446744073709551616", (None, None, true)),
            ("-9223372036854775808", (Some(i64::MIN), None, true)),
            ("1e400", (None, None, true)),
            ("0.5", (None, None, false)),
            ("12345678901234567890123.5", (None, None, false)),
        ] {
            assert_eq!((signed(text), unsigned(text), is_integer(text)), wanted, "{text}");
        }
        for (text, wanted) in [
            ("0.1", Some(0.1)),
            ("1e23", Some(1e23)),
            ("100000000000000000000000", Some(1e23)),
            ("0.10000000000000000001", None),
            ("12345678901234567890123", None),
            ("1e400", None),
        ] {
            assert_eq!(double(text), wanted, "{text}");
        }
    }

    #[test]
    fn bounds_compare_all_digits() {
        let allows = |limit: Value, is_least, includes, number: &str| {
            Bound::new(&limit, is_least, includes).allows(number)
        };
        let big = json!(1e23);
        for (number, least, more, most, less) in [
            ("99999999999999999999999", false, false, true, true),
            ("100000000000000000000000", true, false, true, false),
            ("100000000000000000000000.0", true, false, true, false),
            ("100000000000000000000001", true, true, false, false),
            ("-100000000000000000000001", false, false, true, true),
            ("1e400", true, true, false, false),
            ("-1e400", false, false, true, true),
        ] {
            let found = [(true, true), (true, false), (false, true), (false, false)]
                .map(|(is_least, includes)| allows(big.clone(), is_least, includes, number));
            assert_eq!(found, [least, more, most, less], "{number}");
        }
        assert!(allows(json!(-1.5), true, true, "-1.5") && !allows(json!(-1.5), true, true, "-1.50001"));
        assert!(allows(json!(0), true, true, "-0") && !allows(json!(0), true, false, "0e9"));
        assert!(allows(json!(i64::MAX), false, true, "9223372036854775807"));
        assert!(!allows(json!(i64::MAX), false, true, "9223372036854775808"));
    }

    #[test]
    fn multiples_are_exact() {
        let divides = |divisor: Value, number: &str| {
            let keyword = multiple_of(&Map::new(), &divisor, Location::new()).unwrap();
            let mut tree = super::super::record::Tree::default();
            keyword.is_valid(tree.read(number).unwrap())
        };
        for (divisor, number, wanted) in [
            (json!(3), "12345678901234567890123", true),
            (json!(3), "12345678901234567890124", false),
            (json!(0.01), "19.99", true),
            (json!(0.01), "19.999", false),
            (json!(0.01), "4.35", true),
            (json!(0.1), "1e400", true),
            (json!(7), "1e400", false),
            (json!(2.5), "7.5", true),
            (json!(2.5), "7", false),
            (json!(100), "1e2", true),
            (json!(100), "10", false),
            (json!(u64::MAX), "18446744073709551615", true),
            (json!(u64::MAX), "36893488147419103230", true),
            (json!(u64::MAX), "36893488147419103231", false),
            (json!(5), "-15", true),
            (json!(5), "0.0", true),
        ] {
            assert_eq!(divides(divisor.clone(), number), wanted, "{number} by {divisor}");
        }
    }
}
