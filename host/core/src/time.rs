//! Instants and dates: one parser for columns of bitmap indexes, for typed columns and for predicates.
//!
//! | function | accepts |
//! |---|---|
//! | [`instant`] | RFC 3339 alone, within 64 bits of nanoseconds |
//! | [`is_exact_instant`] | RFC 3339 alone, if 64 bits of nanoseconds lose nothing of it |
//! | [`quick`] | RFC 3339 in its usual form: UTC, with at most nine digits after the point |
//! | [`Format::read`], [`read`] | RFC 3339 with or without an offset, dates, or a format of `strftime` |
//! | [`read_range`] | the same as [`read`], also without seconds or the colon of the offset: for conditions |
//! | [`Format::of_number`], [`of_number`] | numbers of seconds, milliseconds, microseconds or nanoseconds since 1970 |
//! | [`date`] | the full-date of RFC 3339, as a number of days |
//!
//! [`Every`] cuts time into buckets, in the days of a [`Zone`].

mod every;

use std::cmp::Ordering;
use std::fmt::Write;
use std::ops::Range;

use chrono::format::{Fixed, Item, Parsed, StrftimeItems, parse};
use chrono::{DateTime, FixedOffset, NaiveDateTime};

use crate::decimal::Decimal;

pub use every::{Every, Zone};

/// Nanoseconds of a second.
const SECOND: i128 = 1_000_000_000;

/// The seconds and nanoseconds of an instant whose fields have as many digits as possible:
/// 2017-12-31T22:58:59.123456789Z.
const SAMPLE: (i64, u32) = (1_514_761_139, 123_456_789);

/// An instant: nanoseconds since 1970-01-01T00:00:00Z, without a limit that a text could reach.
///
/// Leap seconds have no numbers of their own: the second :60 is the first second of the next minute, as in
/// POSIX. A part finer than nanoseconds is cut off, towards the past.
///
/// ```
/// let at = warpath::time::Format::new("%Y-%m-%d").unwrap().read("1970-01-02").unwrap();
/// assert_eq!(at.nanoseconds(), Some(86_400 * 1_000_000_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub i128);

impl Instant {
    /// The nanoseconds since 1970-01-01T00:00:00Z, if 64 bits hold them: from
    /// 1677-09-21T00:12:43.145224192Z to 2262-04-11T23:47:16.854775807Z.
    #[must_use]
    pub fn nanoseconds(self) -> Option<i64> {
        i64::try_from(self.0).ok()
    }

    fn of_utc(time: NaiveDateTime) -> Self {
        let time = time.and_utc();
        Self(i128::from(time.timestamp()) * SECOND + i128::from(time.timestamp_subsec_nanos()))
    }
}

/// The unit of a number of time since 1970.
///
/// ```
/// use warpath::time::{Format, Unit};
///
/// assert_eq!(Format::new("ms").unwrap().unit(), Some(Unit::Millisecond));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// `s`
    Second,
    /// `ms`
    Millisecond,
    /// `us`
    Microsecond,
    /// `ns`
    Nanosecond,
}

impl Unit {
    /// All units, from the longest to the shortest.
    pub const ALL: [Self; 4] = [Self::Second, Self::Millisecond, Self::Microsecond, Self::Nanosecond];

    /// The name of the unit.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Second => "s",
            Self::Millisecond => "ms",
            Self::Microsecond => "us",
            Self::Nanosecond => "ns",
        }
    }

    /// The power of ten by which the unit is longer than a nanosecond.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub const fn power(self) -> u32 {
        match self {
            Self::Second => 9,
            Self::Millisecond => 6,
            Self::Microsecond => 3,
            Self::Nanosecond => 0,
        }
    }

    /// The power of ten below which a number has this unit, if its unit is not known. Numbers below 10¹¹ are
    /// seconds, numbers below 10¹⁴ milliseconds, numbers below 10¹⁷ microseconds. All of these are the
    /// instants between the years 1973 and 5138, and in seconds earlier ones, too.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub const fn guessed_below(self) -> Option<u32> {
        match self {
            Self::Second => Some(11),
            Self::Millisecond => Some(14),
            Self::Microsecond => Some(17),
            Self::Nanosecond => None,
        }
    }
}

/// A format of instants: a unit of numbers since 1970, or a format of `strftime`.
///
/// ```
/// use std::sync::Arc;
///
/// use warpath::time::Format;
/// use warpath::{Find, Predicate};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let format = Arc::new(Format::new("%d.%m.%Y").map_err(warpath::Error::Usage)?);
/// let late = Predicate::parse("time($.at) >= '01.02.2026'")?.with_time_format(&format);
/// assert!(late.matches(br#"{"at": "28.02.2026"}"#)?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    text: String,
    notation: Notation,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Notation {
    Unit(Unit),
    Items(Vec<Item<'static>>),
}

impl Format {
    /// Parses a format: `s`, `ms`, `us` or `ns` for numbers since 1970, or a format of `strftime`, such as
    /// `%d/%b/%Y:%H:%M:%S %z`.
    ///
    /// # Errors
    /// The description of the mistake, without the format.
    pub fn new(text: &str) -> Result<Self, String> {
        let units = "`s`, `ms`, `us`, `ns` or a format of strftime such as `%Y-%m-%d %H:%M:%S`";
        if let Some(unit) = Unit::ALL.into_iter().find(|unit| unit.name() == text) {
            return Ok(Self { text: text.to_owned(), notation: Notation::Unit(unit) });
        }
        let items = StrftimeItems::new(text).parse_to_owned();
        let items = items.map_err(|_| format!("it has an unknown `%` specifier; expected {units}"))?;
        if !items.iter().any(|item| matches!(item, Item::Numeric(..) | Item::Fixed(_))) {
            return Err(format!("it has no `%` specifier of time; expected {units}"));
        }
        if items.contains(&Item::Fixed(Fixed::TimezoneName)) {
            return Err(
                "`%Z`, the name of a time zone, is not read; expected `%z`, an offset such as +0100, \
                        or the name as text, such as `GMT`"
                    .to_owned(),
            );
        }
        let format = Self { text: text.to_owned(), notation: Notation::Items(items) };
        if !format.reads_what_it_writes() {
            return Err("it does not give an instant; expected the year, month and day, with hours also \
                        minutes, and no two numbers of any length in a row"
                .to_owned());
        }
        Ok(format)
    }

    /// Returns true if an instant that is written in this format can be read. If not, no text can.
    fn reads_what_it_writes(&self) -> bool {
        // `%#z` reads what `%z` writes, and cannot be written.
        let Ok(items) = StrftimeItems::new(&self.text.replace("%#z", "%z")).parse_to_owned() else {
            return false;
        };
        let Some(instant) = DateTime::from_timestamp(SAMPLE.0, SAMPLE.1) else { return false };
        let mut written = String::new();
        let is_written = write!(written, "{}", instant.format_with_items(items.iter())).is_ok();
        is_written && Self { text: String::new(), notation: Notation::Items(items) }.read(&written).is_some()
    }

    /// The format as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The unit of numbers, unless this is a format of texts.
    #[must_use]
    pub fn unit(&self) -> Option<Unit> {
        match self.notation {
            Notation::Unit(unit) => Some(unit),
            Notation::Items(_) => None,
        }
    }

    /// Reads a text of this format. A format without an offset is of UTC; a format without a time of day
    /// gives the start of the day. A text of a [`Unit`] is a number.
    #[must_use]
    pub fn read(&self, text: &str) -> Option<Instant> {
        let items = match &self.notation {
            Notation::Unit(unit) => return number_in(text, *unit),
            Notation::Items(items) => items,
        };
        let mut parsed = Parsed::new();
        parse(&mut parsed, text, items.iter()).ok()?;
        if parsed.offset().is_some() || parsed.timestamp().is_some() {
            return parsed.to_datetime().ok().map(|time| Instant::of_utc(time.naive_utc()));
        }
        let time = match parsed.to_naive_datetime_with_offset(0) {
            Ok(time) => time,
            // There may be hours without minutes, which are no time of day: only a date alone is a day.
            Err(_) if parsed.hour_mod_12().is_none() => parsed.to_naive_date().ok()?.and_hms_opt(0, 0, 0)?,
            Err(_) => return None,
        };
        Some(Instant::of_utc(time))
    }

    /// Reads a JSON number. A format of texts has none.
    #[must_use]
    pub fn of_number(&self, number: &str) -> Option<Instant> {
        number_in(number, self.unit()?)
    }
}

/// Reads a text: an instant of RFC 3339, one without its offset, which is of UTC, or a date of UTC, which is
/// the start of the day.
#[must_use]
pub fn read(text: &str) -> Option<Instant> {
    if text.len() == 10 {
        return Some(Instant(i128::from(date(text)?) * 86_400 * SECOND));
    }
    let time = parsed(text).or_else(|| {
        let has_no_offset = text.len() >= 19 && text.ends_with(|last: char| last.is_ascii_digit());
        if has_no_offset { parsed(&[text, "Z"].concat()) } else { None }
    })?;
    Some(Instant::of_utc(time.naive_utc()))
}

/// Reads a text of a condition, as the range of instants that it names: a date, which is its day, or a date
/// and a time of day.
///
/// A time of day is that of RFC 3339, and the seconds, the offset, the colon of the offset and its minutes
/// may be left out. A space may be in place of the `T`, and before the sign of the offset. Without an offset,
/// a text is of UTC. A time of day without seconds is its minute, and any other one nanosecond.
// Hidden: the layers above need it.
#[doc(hidden)]
#[must_use]
pub fn read_range(text: &str) -> Option<Range<Instant>> {
    let range = |start: Instant, nanoseconds| start..Instant(start.0 + nanoseconds);
    if let Some(instant) = read(text) {
        return Some(range(instant, if text.len() == 10 { 86_400 * SECOND } else { 1 }));
    }
    let (text, nanoseconds) = in_full(text)?;
    Some(range(Instant::of_utc(parsed(&text)?.naive_utc()), nanoseconds))
}

/// Returns a date and a time of day with the seconds and the offset that RFC 3339 requires, and the number of
/// nanoseconds that the text names. If the text is not a date and a time of day, the result is not one
/// either.
fn in_full(text: &str) -> Option<(String, i128)> {
    let (minute, rest) = text.split_at_checked(16)?;
    let ends = |c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.');
    let (seconds, offset) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
    let (seconds, nanoseconds) = if seconds.is_empty() { (":00", 60 * SECOND) } else { (seconds, 1) };
    if matches!(offset, "" | "Z" | "z") {
        return Some(([minute, seconds, "Z"].concat(), nanoseconds));
    }
    let (hours, minutes) = offset.strip_prefix(' ').unwrap_or(offset).split_at_checked(3)?;
    let minutes = if minutes.is_empty() { "00" } else { minutes.strip_prefix(':').unwrap_or(minutes) };
    Some(([minute, seconds, hours, ":", minutes].concat(), nanoseconds))
}

/// Reads an instant in the usual form, `2026-01-31T12:00:00Z`, with at most nine digits after a point. `None`
/// for all other texts, also for those that [`read`] accepts.
#[must_use]
#[inline]
pub fn quick(text: &str) -> Option<Instant> {
    let bytes = text.as_bytes();
    let (head, tail) = bytes.split_first_chunk::<19>()?;
    let digit = |at: usize| u32::from(head[at].wrapping_sub(b'0'));
    let are_digits = [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18].iter().all(|at| digit(*at) < 10);
    let separators = [head[4], head[7], head[10], head[13], head[16]];
    if !are_digits || separators != *b"--T::" {
        return None;
    }
    let two = |at: usize| 10 * digit(at) + digit(at + 1);
    let (hour, minute, second) = (two(11), two(14), two(17));
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let nanoseconds = match tail {
        b"Z" => 0,
        [b'.', fraction @ .., b'Z'] if (1..=9).contains(&fraction.len()) => {
            let mut value = 0;
            for at in 0..9 {
                let digit = fraction.get(at).map_or(0, |byte| u32::from(byte.wrapping_sub(b'0')));
                if digit > 9 {
                    return None;
                }
                value = 10 * value + digit;
            }
            value
        }
        _ => return None,
    };
    let days = days(100 * two(0) + two(2), two(5), two(8))?;
    let seconds = i64::from(days) * 86_400 + i64::from(3600 * hour + 60 * minute + second);
    Some(Instant(i128::from(seconds) * SECOND + i128::from(nanoseconds)))
}

/// The days from 1970-01-01 to a date; `None` if there is no such date.
fn days(year: u32, month: u32, day: u32) -> Option<i32> {
    // Years begin in March, so that a leap day is the last day.
    const BEFORE: [u32; 12] = [306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275];
    const LENGTHS: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let at = (month as usize).wrapping_sub(1);
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    if day == 0 || day > *LENGTHS.get(at)? || month == 2 && day == 29 && !is_leap {
        return None;
    }
    // The year 0 would begin in March of the year before it.
    let year = year + 400 - u32::from(month < 3);
    let days = 365 * year + year / 4 - year / 100 + year / 400 + BEFORE[at] + day;
    const EPOCH: i32 = 865_566;
    Some(days.cast_signed() - EPOCH)
}

/// Returns true for an instant of RFC 3339 that nanoseconds in 64 bits hold exactly. Leap seconds are false,
/// because they have no number of their own. A space in place of the `T` is false, too.
#[must_use]
#[inline]
pub fn is_exact_instant(text: &[u8]) -> bool {
    let is_possible = text.len() >= 20 && matches!(text[10], b'T' | b't') && text.is_ascii();
    let Some(text) = std::str::from_utf8(text).ok().filter(|_| is_possible) else { return false };
    match quick(text) {
        Some(instant) => instant.nanoseconds().is_some(),
        None => text.as_bytes()[17..19] != *b"60" && instant(text).is_some(),
    }
}

/// Reads a JSON number since 1970, whose unit follows from its size ([`Unit::guessed_below`]).
#[must_use]
pub fn of_number(number: &str) -> Option<Instant> {
    let decimal = Decimal::read(number.as_bytes())?;
    let unit = Unit::ALL.into_iter().find(|unit| match unit.guessed_below() {
        Some(power) => decimal.exponent <= i64::from(power),
        None => true,
    })?;
    nanoseconds(&decimal, unit)
}

fn number_in(number: &str, unit: Unit) -> Option<Instant> {
    nanoseconds(&Decimal::read(number.as_bytes())?, unit)
}

/// The instant of a number; `None` beyond 10²⁷ nanoseconds.
fn nanoseconds(number: &Decimal, unit: Unit) -> Option<Instant> {
    let exponent = number.exponent + i64::from(unit.power());
    if exponent > 27 {
        return None;
    }
    let exponent = usize::try_from(exponent).unwrap_or(0);
    let digits = number.digits.iter().map(|digit| i128::from(digit - b'0'));
    let whole = digits.chain(std::iter::repeat(0)).take(exponent).fold(0, |whole, digit| 10 * whole + digit);
    let is_cut = number.digits.len() > exponent;
    Some(Instant(if number.negative { -whole - i128::from(is_cut) } else { whole }))
}

/// Reads a full-date of RFC 3339, `2026-01-31`, as days since 1970-01-01.
#[must_use]
pub fn date(text: &str) -> Option<i32> {
    let bytes: &[u8; 10] = text.as_bytes().try_into().ok()?;
    let number = |range: Range<usize>| {
        let digits = &bytes[range];
        let all = digits.iter().all(u8::is_ascii_digit);
        all.then(|| digits.iter().fold(0, |number, digit| 10 * number + u32::from(digit - b'0')))
    };
    if bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    days(number(0..4)?, number(5..7)?, number(8..10)?)
}

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
    let instant = parsed(text)?;
    let nanoseconds = i128::from(instant.timestamp()) * SECOND + i128::from(instant.timestamp_subsec_nanos());
    let next = nanoseconds + i128::from(is_finer(text));
    Some(i64::try_from(next).map_err(|_| next.cmp(&0)))
}

#[cfg(test)]
mod tests {
    use warpath_random::table::texts;

    use super::*;

    const CASES: &str = include_str!("time/cases.txt");

    /// The instant of a table, if there is one.
    fn expected(nanoseconds: &str) -> Option<Instant> {
        nanoseconds.parse().ok().map(Instant)
    }

    #[test]
    fn texts_without_a_format() {
        for [text, want] in texts(CASES, "texts") {
            assert_eq!(read(&text), expected(&want), "{text}");
            let nanoseconds = if text.len() == 10 { 86_400 * SECOND } else { 1 };
            let range = expected(&want).map(|start| start..Instant(start.0 + nanoseconds));
            assert_eq!(read_range(&text), range, "{text}");
        }
    }

    #[test]
    fn conditions_read_more_texts() {
        for [text, start, nanoseconds] in texts(CASES, "conditions") {
            let range = read_range(&text);
            assert_eq!(range.as_ref().map(|range| range.start), expected(&start), "{text}");
            assert_eq!(range.map(|range| range.end.0 - range.start.0), nanoseconds.parse().ok(), "{text}");
            assert_eq!((read(&text), instant(&text), quick(&text)), (None, None, None), "{text}");
            assert!(!is_exact_instant(text.as_bytes()) && next_instant(&text).is_none(), "{text}");
        }
    }

    #[test]
    fn days_are_those_of_chrono() {
        use chrono::{Datelike, NaiveDate};
        for year in 0..10_000_u32 {
            for month in 0..14 {
                for day in [0, 1, 15, 28, 29, 30, 31, 32] {
                    let want = NaiveDate::from_ymd_opt(year.cast_signed(), month, day);
                    let want = want.map(|date| date.num_days_from_ce() - 719_163);
                    assert_eq!(days(year, month, day), want, "{year}-{month}-{day}");
                }
            }
        }
    }

    #[test]
    fn usual_instants_are_read_quickly() {
        for [text] in texts(CASES, "quick") {
            assert!(quick(&text).is_some(), "{text}");
            assert_eq!(quick(&text), read(&text), "{text}");
        }
        for [text] in texts(CASES, "slow") {
            assert_eq!(quick(&text), None, "{text}");
        }
    }

    #[test]
    fn exact_instants() {
        for [text, want] in texts(CASES, "exact") {
            assert_eq!(is_exact_instant(text.as_bytes()).to_string(), want, "{text}");
        }
        assert!(!is_exact_instant(b"2026-01-31T12:00:0\xe9Z"));
    }

    #[test]
    fn formats_of_texts() {
        for [format, text, want] in texts(CASES, "formats") {
            let read = Format::new(&format).unwrap().read(&text);
            assert_eq!(read, expected(&want), "{format} {text}");
        }
        for wrong in ["", "x", "%!", "%", "100%%"] {
            assert!(Format::new(wrong).is_err(), "{wrong}");
        }
        let mistake = |format| Format::new(format).unwrap_err();
        for wrong in ["%H:%M", "%Y", "%Y-%m", "%d.%m.", "%a", "%z", "%d.%m.%Y %I", "%d.%m.%Y %H", "%s%3f"] {
            assert!(mistake(wrong).contains("does not give an instant"), "{wrong}");
        }
        assert!(mistake("%Y-%m-%d %H:%M:%S %Z").contains("expected `%z`"));
    }

    #[test]
    fn numbers_since_1970() {
        for [format, number, want] in texts(CASES, "numbers with units") {
            let read = Format::new(&format).unwrap().of_number(&number);
            assert_eq!(read, expected(&want), "{format} {number}");
        }
        for [number, want] in texts(CASES, "numbers") {
            assert_eq!(of_number(&number), expected(&want), "{number}");
        }
    }

    #[test]
    fn instants_are_those_of_rfc_3339() {
        for [text, want] in texts(CASES, "RFC 3339") {
            assert_eq!(instant(&text), want.parse().ok(), "{text}");
        }
    }
}
