//! JSON numbers as values of typed columns: the rules that all columns share.

use warpath_shared::column::{self, Float};
use warpath_shared::units::PartOffset;

use crate::decimal::Decimal;
use crate::float;

/// The reason for which a column does not take a value.
///
/// ```
/// use warpath::columns::{ColumnType, Schema, Reason};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let batch = Engine::builder().build()?.bytes("{\"id\":\"two\"}\n{\"id\":9223372036854775808}\n").columns(&schema).next().unwrap()?;
/// let reasons: Vec<Reason> = batch.columns[0].lost.refused.iter().map(|refusal| refusal.reason).collect();
/// assert_eq!(reasons, [Reason::Mismatch, Reason::Overflow]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The value is of another type, or is malformed.
    Mismatch,
    /// The value is a number, but the type does not hold it: it is beyond the range, or has more digits.
    Overflow,
}

#[inline(always)]
fn double(value: &[u8]) -> Float {
    match value.len() {
        0 => Float::None,
        end => column::float64(0, end as PartOffset, |at| value[at as usize]),
    }
}

/// Returns true if a value is a JSON number (RFC 8259, section 6).
#[must_use]
pub fn is_number(value: &[u8]) -> bool {
    double(value) != Float::None
}

/// Returns true if a value is a JSON number without fraction and exponent.
#[must_use]
pub fn is_integer(value: &[u8]) -> bool {
    is_number(value) && value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
}

/// Returns the nearest double of a number, which is infinite beyond the range. `None` for a text that is not
/// a number.
#[must_use]
pub fn nearest(value: &[u8]) -> Option<f64> {
    match double(value) {
        Float::None => None,
        Float::Exact(nearest) => Some(nearest),
        Float::Unfinished => float::finish(value),
    }
}

/// Returns an integer without fraction and exponent, within 64 bits.
///
/// # Errors
/// The [`Reason`] for which a value is no such integer.
pub fn int64(value: &[u8]) -> Result<i64, Reason> {
    let integer = match value.len() {
        0 => None,
        end => column::int64(0, end as PartOffset, |at| value[at as usize]),
    };
    integer.ok_or_else(|| if is_integer(value) { Reason::Overflow } else { Reason::Mismatch })
}

/// Returns the nearest double of a number, if it is finite.
///
/// # Errors
/// The [`Reason`] for which there is none.
pub fn float64(value: &[u8]) -> Result<f64, Reason> {
    let nearest = nearest(value).ok_or(Reason::Mismatch)?;
    if nearest.is_finite() { Ok(nearest) } else { Err(Reason::Overflow) }
}

/// Returns a number in units of 10 to the −`scale`, if it is a whole number of them with at most `precision`
/// digits.
///
/// # Errors
/// The [`Reason`] for which it is not.
pub fn decimal(value: &[u8], precision: u8, scale: i8) -> Result<i128, Reason> {
    // A number with a leading zero is none, and `Decimal` takes it.
    if !is_number(value) {
        return Err(Reason::Mismatch);
    }
    // The number is ±0.digits × 10^exponent.
    let Decimal { negative, digits, exponent } = Decimal::read(value).ok_or(Reason::Mismatch)?;
    if digits.is_empty() {
        return Ok(0);
    }
    let len = exponent.saturating_add(i64::from(scale));
    if len < digits.len() as i64 || len > i64::from(precision) {
        return Err(Reason::Overflow);
    }
    let digits = digits.iter().map(|digit| i128::from(digit - b'0')).chain(std::iter::repeat(0));
    let units = digits.take(len as usize).fold(0, |units, digit| 10 * units + digit);
    Ok(if negative { -units } else { units })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let nines = "9".repeat(38);
        let greatest = nines.parse::<i128>().unwrap();
        for (value, precision, scale, units) in [
            ("0", 1, 0, Some(0)),
            ("-0.000", 1, 0, Some(0)),
            ("0e999", 1, 0, Some(0)),
            ("12.50", 4, 2, Some(1250)),
            ("12.5", 3, 1, Some(125)),
            ("12.5", 3, 0, None),
            ("12.50", 3, 2, None),
            ("1250e-2", 3, 1, Some(125)),
            ("1.25E+1", 3, 1, Some(125)),
            ("1e37", 38, 0, Some(10i128.pow(37))),
            ("1e38", 38, 0, None),
            (&nines, 38, 0, Some(greatest)),
            (&format!("-{nines}"), 38, 0, Some(-greatest)),
            (&format!("-0.{nines}"), 38, 38, Some(-greatest)),
            ("1e-38", 38, 38, Some(1)),
            ("1e-39", 38, 38, None),
            ("1", 38, 38, None),
            ("9223372036854775808", 38, 0, Some(1 << 63)),
            ("1e99999999999999999999", 38, 0, None),
            ("1e-99999999999999999999", 38, 0, None),
            ("007", 38, 0, None),
            ("\"7\"", 38, 0, None),
            ("+7", 38, 0, None),
            ("7.", 38, 0, None),
            ("", 38, 0, None),
            ("null", 38, 0, None),
        ] {
            assert_eq!(decimal(value.as_bytes(), precision, scale).ok(), units, "{value}");
        }
    }
}
