//! Fractions of a number of values, exact.

use std::fmt;
use std::str::FromStr;

/// The most digits after the point: the numerator times any 64-bit count then fits 128 bits.
const DIGITS: u32 = 18;

/// A decimal fraction from 0 to 1, such as `0.99`, as a quotient of integers.
///
/// ```
/// # use warpath::aggregate::Fraction;
/// let fraction: Fraction = "0.07".parse()?;
/// assert_eq!(fraction.of(100), 7);
/// assert_eq!(fraction.of(101), 8);
/// assert_eq!(fraction.percent(), "7");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fraction {
    numerator: u64,
    /// The power of ten that is the denominator. It is the least one, so that equal fractions are equal.
    power: u32,
}

impl Fraction {
    /// The least integer that is not below this fraction of `count`.
    #[must_use]
    pub fn of(self, count: u64) -> u64 {
        let product = u128::from(self.numerator) * u128::from(count);
        // A fraction is 1 at most, so this is `count` at most.
        product.div_ceil(10u128.pow(self.power)) as u64
    }

    /// The fraction as a percentage, without zeros at the end: `99.9`.
    #[must_use]
    pub fn percent(self) -> String {
        let power = self.power.max(2);
        let numerator = self.numerator * 10u64.pow(power - self.power);
        let unit = 10u64.pow(power - 2);
        let (whole, rest) = (numerator / unit, numerator % unit);
        if rest == 0 {
            return whole.to_string();
        }
        let digits = format!("{rest:0width$}", width = power as usize - 2);
        format!("{whole}.{}", digits.trim_end_matches('0'))
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10u64.pow(self.power);
        write!(f, "{}", self.numerator / unit)?;
        if self.power == 0 {
            return Ok(());
        }
        write!(f, ".{:0width$}", self.numerator % unit, width = self.power as usize)
    }
}

impl FromStr for Fraction {
    type Err = String;

    /// Parses a decimal number, with or without an exponent.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "quantiles are fractions from 0 to 1: 0.5, 0.99".to_owned();
        let (decimal, exponent) = match text.split_once(['e', 'E']) {
            Some((decimal, exponent)) => (decimal, exponent.parse::<i32>().map_err(|_| wrong())?),
            None => (text, 0),
        };
        let (whole, part) = decimal.split_once('.').unwrap_or((decimal, ""));
        let digits = [whole, part].concat();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let zeros = digits.len() - digits.trim_end_matches('0').len();
        let digits = digits.trim_matches('0');
        if digits.is_empty() {
            return Ok(Self { numerator: 0, power: 0 });
        }
        // The fraction is `digits`, divided by this power of ten.
        let power = part.len() as i64 - zeros as i64 - i64::from(exponent);
        if power < 0 || digits.len() as i64 > power + 1 || digits.len() as i64 == power + 1 && digits != "1" {
            return Err(wrong());
        }
        match (u32::try_from(power), digits.parse()) {
            (Ok(power @ 0..=DIGITS), Ok(numerator)) => Ok(Self { numerator, power }),
            _ => Err(format!("a quantile has at most {DIGITS} digits after the point")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_decimals() {
        for (text, shown, percent) in [
            ("0.5", "0.5", "50"),
            (".5", "0.5", "50"),
            ("0.500", "0.5", "50"),
            ("5e-1", "0.5", "50"),
            ("0", "0", "0"),
            ("0.000", "0", "0"),
            ("0e9", "0", "0"),
            ("1", "1", "100"),
            ("1.0", "1", "100"),
            ("10e-1", "1", "100"),
            ("0.999", "0.999", "99.9"),
            ("0.07", "0.07", "7"),
            ("0.005", "0.005", "0.5"),
            ("0.123456789012345678", "0.123456789012345678", "12.3456789012345678"),
        ] {
            let fraction: Fraction = text.parse().unwrap();
            assert_eq!((&*fraction.to_string(), &*fraction.percent()), (shown, percent), "{text}");
            assert_eq!(fraction, shown.parse().unwrap());
        }
        for wrong in ",.,x,-0.5,+0.5,1.1,50,2,1e1,0.5e1,nan,inf,0.5e,1e99999999999".split(',') {
            assert!(wrong.parse::<Fraction>().is_err(), "{wrong}");
        }
        assert!("0.1234567890123456789".parse::<Fraction>().unwrap_err().contains("18 digits"));
        assert!("1e-99".parse::<Fraction>().unwrap_err().contains("18 digits"));
    }

    #[test]
    fn parts_of_a_count_are_rounded_up() {
        for percent in 0..=100u64 {
            let fraction: Fraction = format!("{}.{:02}", percent / 100, percent % 100).parse().unwrap();
            for count in (0..2000).chain([u64::MAX - 1, u64::MAX]) {
                // The least integer with 100 × integer >= percent × count.
                let of = u128::from(fraction.of(count));
                let least = u128::from(percent) * u128::from(count);
                assert!(100 * of >= least && (of == 0 || 100 * (of - 1) < least), "{percent} {count} {of}");
            }
        }
    }
}
