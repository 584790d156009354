//! Rounding of the numbers that the rule of [`warpath_shared::column`] does not round itself.

use crate::decimal::Decimal;

/// The nearest `f64` of a JSON number. It is infinite beyond the range.
///
/// `str::parse` rounds any number of digits. However, it reads exponents exactly only up to 655,359, and many
/// digits may compensate for a larger exponent. For a long exponent, the decimal point is therefore moved
/// first.
pub fn finish(number: &[u8]) -> Option<f64> {
    /// The greatest length of an exponent, in bytes, that `str::parse` always reads exactly.
    const SMALL: usize = 5;
    let text = std::str::from_utf8(number).ok()?;
    match text.split_once(['e', 'E']) {
        Some((_, exponent)) if exponent.len() > SMALL => normalised(text)?.parse().ok(),
        _ => text.parse().ok(),
    }
}

/// The number without leading zeros, and with an exponent that gives its whole magnitude.
fn normalised(number: &str) -> Option<String> {
    let Decimal { digits, exponent, .. } = Decimal::read(number.as_bytes())?;
    // Zero keeps its sign.
    let sign = if number.starts_with('-') { "-" } else { "" };
    let digits = String::from_utf8(digits).ok()?;
    // Exponents beyond these bounds give infinity or zero in any case.
    Some(format!("{sign}0.{digits}0e{}", exponent.clamp(-1000, 1000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_standard_library_where_it_is_right() {
        for number in ["1", "-0", "123456789012345678901234567890", "1.5e300", "-2.5E-308", "1e999", "5e-324"]
        {
            let want = number.parse::<f64>().unwrap();
            assert_eq!(finish(number.as_bytes()).map(f64::to_bits), Some(want.to_bits()), "{number}");
            for exponent in ["e000000", "e+000000", "E-000000"] {
                let (mantissa, own) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
                let long = match own.strip_prefix('-') {
                    Some(digits) => format!("{mantissa}e-000000{digits}"),
                    None if own == "0" => format!("{mantissa}{exponent}"),
                    None => format!("{mantissa}e+000000{own}"),
                };
                assert_eq!(finish(long.as_bytes()).map(f64::to_bits), Some(want.to_bits()), "{long}");
            }
        }
    }

    #[test]
    fn digits_make_exponents_good() {
        for zeros in [10, 600_000, 700_000, 3_000_000] {
            let zero = "0".repeat(zeros);
            for (number, want) in [
                (format!("0.{zero}1e{}", zeros + 1), 1.0),
                (format!("-0.{zero}15e{}", zeros + 3), -150.0),
                (format!("1{zero}e-{zeros}"), 1.0),
                (format!("-25{zero}.0e-{zeros:07}"), -25.0),
                (format!("0.{zero}1e{zeros}00"), f64::INFINITY),
                (format!("1{zero}e-{zeros}00000000000000000000"), 0.0),
                (format!("0.{zero}e999999999999999999999"), 0.0),
            ] {
                assert_eq!(finish(number.as_bytes()), Some(want), "{}…, {zeros} zeros", &number[..5]);
            }
        }
    }
}
