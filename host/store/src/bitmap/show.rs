//! Values and bins as text.

use std::fmt::{self, Display, Formatter};

use warpath_core::json::encode;

use super::column::{Bin, Holds, Scalar};

impl Display for Scalar {
    /// Writes the value as in an expression: numbers in digits, texts in quotes, and instants by RFC 3339 in
    /// UTC, also in quotes.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            // The shortest digits that denote this double, with an exponent where there would be many zeros.
            Self::Float(value) if *value != 0.0 && !(1e-5..1e17).contains(&value.abs()) => {
                write!(f, "{value:e}")
            }
            Self::Float(value) => value.fmt(f),
            Self::Bool(value) => value.fmt(f),
            Self::Text(value) => f.write_str(&encode(value)),
            Self::Time(value) => write!(f, "\"{}\"", Instant(*value)),
        }
    }
}

/// Nanoseconds since 1970-01-01T00:00:00Z, shown by RFC 3339 with as many digits of a second as needed.
struct Instant(i64);

impl Display for Instant {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const SECOND: i64 = 1_000_000_000;
        const DAY: i64 = 86_400;
        let (seconds, nanoseconds) = (self.0.div_euclid(SECOND), self.0.rem_euclid(SECOND));
        let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        // Years begin with March here, so that a leap day is the last day of its year. 0000-03-01 is 719,468
        // days before 1970; an era has 400 years.
        const ERA: i64 = 146_097;
        let day = days + 719_468;
        let (era, day) = (day.div_euclid(ERA), day.rem_euclid(ERA));
        let year = (day - day / 1460 + day / 36_524 - day / (ERA - 1)) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day_of_month = day - (153 * month + 2) / 5 + 1;
        let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        let year = era * 400 + year + next;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{second:02}")?;
        if nanoseconds > 0 {
            write!(f, ".{}", format!("{nanoseconds:09}").trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

impl Display for Bin {
    /// Writes the contents of the bin: one value, the least and the greatest value, or the reason for no
    /// value.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.holds {
            Holds::Values { least, greatest } if least == greatest => least.fmt(f),
            Holds::Values { least, greatest } => write!(f, "{least} ..= {greatest}"),
            Holds::Missing => f.write_str("missing"),
            Holds::Null => f.write_str("null"),
            Holds::Other => f.write_str("other"),
            Holds::NaN => f.write_str("nan"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_shown_as_expressions_have_them() {
        for (scalar, shown) in [
            (Scalar::Int(i64::MIN), "-9223372036854775808"),
            (Scalar::Float(0.1), "0.1"),
            (Scalar::Float(-2.0), "-2"),
            (Scalar::Float(1.5e300), "1.5e300"),
            (Scalar::Float(5e-324), "5e-324"),
            (Scalar::Bool(true), "true"),
            (Scalar::Text("a\"\\\n\u{1}é".into()), r#""a\"\\\n\u0001é""#),
            (Scalar::Time(0), "\"1970-01-01T00:00:00Z\""),
            (Scalar::Time(-1), "\"1969-12-31T23:59:59.999999999Z\""),
            (Scalar::Time(951_825_600_500_000_000), "\"2000-02-29T12:00:00.5Z\""),
            (Scalar::Time(1_709_164_800_000_000_000), "\"2024-02-29T00:00:00Z\""),
            (Scalar::Time(1_735_689_599_000_000_000), "\"2024-12-31T23:59:59Z\""),
            (Scalar::Time(i64::MIN), "\"1677-09-21T00:12:43.145224192Z\""),
            (Scalar::Time(i64::MAX), "\"2262-04-11T23:47:16.854775807Z\""),
        ] {
            assert_eq!(scalar.to_string(), shown);
        }
    }
}
