//! Instants.

use std::cmp::Ordering;

use chrono::{DateTime, FixedOffset};

/// Parses an RFC 3339 text to nanoseconds since 1970-01-01T00:00:00Z. `None` for other texts, and for
/// instants outside 64 bits: from 1677-09-21T00:12:43.145224192Z to 2262-04-11T23:47:16.854775807Z.
///
/// A space may replace the `T`; `t` and `z` are also valid. An offset is subtracted, so that comparisons are
/// between instants, and not between times of day; `-00:00` is UTC. The second :60 is the first second of the
/// next minute, as in POSIX: leap seconds have no numbers of their own. An instant with a part finer than
/// nanoseconds is refused.
#[must_use]
pub fn instant(text: &str) -> Option<i64> {
    if is_finer(text) { None } else { parsed(text)?.timestamp_nanos_opt() }
}

/// Parses an instant, without the part that is finer than nanoseconds.
fn parsed(text: &str) -> Option<DateTime<FixedOffset>> {
    // The library also accepts a minus sign outside ASCII.
    if text.is_ascii() { DateTime::parse_from_rfc3339(text).ok() } else { None }
}

/// Returns true if an instant is finer than nanoseconds.
fn is_finer(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = bytes.get(20..).filter(|_| bytes[19] == b'.').unwrap_or_default();
    digits.iter().take_while(|byte| byte.is_ascii_digit()).skip(9).any(|digit| *digit != b'0')
}

/// Returns the first nanosecond that is not before an instant of any precision. If 64 bits do not hold that
/// nanosecond, the error is the side on which it is.
pub fn next_instant(text: &str) -> Option<Result<i64, Ordering>> {
    const SECOND: i128 = 1_000_000_000;
    let instant = parsed(text)?;
    let nanoseconds = i128::from(instant.timestamp()) * SECOND + i128::from(instant.timestamp_subsec_nanos());
    let next = nanoseconds + i128::from(is_finer(text));
    Some(i64::try_from(next).map_err(|_| next.cmp(&0)))
}

#[cfg(test)]
mod tests {
    use super::instant;

    #[test]
    fn instants_are_those_of_rfc_3339() {
        const SECOND: i64 = 1_000_000_000;
        for (text, nanoseconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01t00:00:00z", 0),
            ("1970-01-01 00:00:00Z", 0),
            ("1970-01-01T00:00:00-00:00", 0),
            ("1969-12-31T23:59:59.999999999Z", -1),
            ("1985-04-12T23:20:50.52Z", 482_196_050 * SECOND + 520_000_000),
            ("1996-12-19T16:39:57-08:00", 851_042_397 * SECOND),
            ("1990-12-31T23:59:60Z", 662_688_000 * SECOND),
            ("1990-12-31T15:59:60.5-08:00", 662_688_000 * SECOND + SECOND / 2),
            ("1937-01-01T12:00:27.87+00:20", -1_041_337_172 * SECOND - 130_000_000),
            ("2000-02-29T00:00:00.000000001000Z", 951_782_400 * SECOND + 1),
            ("1677-09-21T00:12:43.145224192Z", i64::MIN),
            ("2262-04-11T23:47:16.854775807Z", i64::MAX),
            ("2262-04-12T00:47:16.854775807+01:00", i64::MAX),
        ] {
            assert_eq!(instant(text), Some(nanoseconds), "{text}");
        }
        for text in [
            "",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-01-01T00:00Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00,5Z",
            "1970-1-1T00:00:00Z",
            "1970-02-29T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:00:61Z",
            "1970-01-01T00:00:00+0100",
            "1970-01-01T00:00:00+24:00",
            "1970-01-01T00:00:00 Z",
            "1970-01-01T00:00:00Z ",
            "1970-01-01T00:00:00\u{2212}01:00",
            "+1970-01-01T00:00:00Z",
            "1970-01-01T00:00:00.0000000001Z",
            "1677-09-21T00:12:43.145224191Z",
            "2262-04-11T23:47:16.854775808Z",
            "9999-12-31T23:59:59Z",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
    }
}
