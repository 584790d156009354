//! Buckets of time: the hours, days or months that instants are in, in a time zone.

use std::str::FromStr;

use chrono::{Datelike, FixedOffset, MappedLocalTime, NaiveDate, NaiveDateTime, Offset, TimeZone};
use chrono_tz::Tz;

use super::{Instant, SECOND};

/// A time zone: UTC, a fixed offset, or a zone of the IANA database.
///
/// ```
/// use warpath::time::Zone;
///
/// let zone: Zone = "Europe/Amsterdam".parse().unwrap();
/// let at = warpath::time::Format::new("%Y-%m-%d").unwrap().read("2026-07-01").unwrap();
/// assert_eq!(zone.show(at), Some("2026-07-01T02:00:00+02:00".to_owned()));
/// assert_eq!(Zone::default().show(at), Some("2026-07-01T00:00:00Z".to_owned()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zone(Kind);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Utc,
    Fixed(FixedOffset),
    Named(Tz),
}

impl FromStr for Zone {
    type Err = String;

    /// Reads `UTC`, an offset such as `+01:00`, or the name of a zone such as `Europe/Amsterdam`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("utc") || text.eq_ignore_ascii_case("z") {
            return Ok(Self(Kind::Utc));
        }
        if text.starts_with(['+', '-'])
            && let Ok(offset) = text.parse()
        {
            return Ok(Self(Kind::Fixed(offset)));
        }
        if let Some(zone) = chrono_tz::TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(text))
        {
            return Ok(Self(Kind::Named(*zone)));
        }
        let city =
            |zone: &&Tz| zone.name().rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(text));
        let help = match chrono_tz::TZ_VARIANTS.iter().find(city) {
            Some(zone) => format!("; did you mean `{}`?", zone.name()),
            None => String::new(),
        };
        Err(format!("expected `UTC`, an offset such as `+01:00`, or a zone such as `Europe/Amsterdam`{help}"))
    }
}

impl Zone {
    /// The offset of local time at an instant, in seconds east of UTC.
    fn offset(self, utc: &NaiveDateTime) -> i32 {
        match self.0 {
            Kind::Utc => 0,
            Kind::Fixed(offset) => offset.local_minus_utc(),
            Kind::Named(zone) => zone.offset_from_utc_datetime(utc).fix().local_minus_utc(),
        }
    }

    /// The first instant of a day. `None` beyond the years of RFC 3339.
    fn start_of(self, day: NaiveDate) -> Option<i128> {
        let midnight = day.and_hms_opt(0, 0, 0)?;
        let seconds = match self.0 {
            Kind::Utc => midnight.and_utc().timestamp(),
            Kind::Fixed(offset) => midnight.and_utc().timestamp() - i64::from(offset.local_minus_utc()),
            Kind::Named(zone) => {
                // Clocks are set forward at midnight in some zones: the day then begins at 01:00.
                let starts = (0..24 * 4).filter_map(|quarters| {
                    match zone.from_local_datetime(&(midnight + chrono::TimeDelta::minutes(15 * quarters))) {
                        MappedLocalTime::Single(at) | MappedLocalTime::Ambiguous(at, _) => Some(at),
                        MappedLocalTime::None => None,
                    }
                });
                starts.map(|at| at.timestamp()).next()?
            }
        };
        Some(i128::from(seconds) * SECOND)
    }

    /// The text of an instant in this zone, by RFC 3339, with as many digits of a second as it has. `None`
    /// outside the years 0 to 9999.
    #[must_use]
    pub fn show(self, instant: Instant) -> Option<String> {
        let utc = naive(instant)?;
        let offset = FixedOffset::east_opt(self.offset(&utc))?;
        let local = offset.from_utc_datetime(&utc);
        if !(0..10_000).contains(&local.year()) {
            return None;
        }
        Some(local.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, self.0 == Kind::Utc))
    }
}

/// The time of an instant in UTC. `None` outside the years 0 to 9999.
fn naive(instant: Instant) -> Option<NaiveDateTime> {
    let seconds = i64::try_from(instant.0.div_euclid(SECOND)).ok()?;
    let time = chrono::DateTime::from_timestamp(seconds, instant.0.rem_euclid(SECOND) as u32)?.naive_utc();
    (0..10_000).contains(&time.year()).then_some(time)
}

/// Buckets of equal length, or of days, weeks, months or years of a time zone.
///
/// Buckets that are shorter than a day are counted from the start of the day, and the last one of a day ends
/// with the day. Buckets of 24 hours or more are counted from 1970-01-01T00:00Z. Weeks begin on Monday.
///
/// ```
/// use warpath::time::{Every, Format};
///
/// let at = Format::new("%Y-%m-%d %H:%M").unwrap().read("2026-03-02 10:59").unwrap();
/// let hours: Every = "1h".parse().unwrap();
/// let (start, end) = hours.bucket(at).unwrap();
/// assert_eq!(hours.zone().show(start), Some("2026-03-02T10:00:00Z".to_owned()));
/// assert_eq!(hours.zone().show(end), Some("2026-03-02T11:00:00Z".to_owned()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Every {
    count: u32,
    period: Period,
    zone: Zone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Period {
    /// A number of nanoseconds.
    Fixed(i128),
    Day,
    Week,
    Month,
    Year,
}

const DAY: i128 = 86_400 * SECOND;

/// The names of periods, the shortest period first.
const PERIODS: [(&[&str], Period); 8] = [
    (&["ms", "millisecond", "milliseconds"], Period::Fixed(SECOND / 1000)),
    (&["s", "sec", "second", "seconds"], Period::Fixed(SECOND)),
    (&["m", "min", "minute", "minutes"], Period::Fixed(60 * SECOND)),
    (&["h", "hour", "hours"], Period::Fixed(3600 * SECOND)),
    (&["d", "day", "days"], Period::Day),
    (&["w", "week", "weeks"], Period::Week),
    (&["mo", "month", "months"], Period::Month),
    (&["y", "year", "years"], Period::Year),
];

impl FromStr for Every {
    type Err = String;

    /// Reads a number and a unit: `ms`, `s`, `m`, `h`, `d`, `w`, `mo` or `y`, or the word of a unit.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected a number and a unit, such as `30s`, `15m`, `1h`, `1d`, `1w`, `1mo` or `1y`";
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (count, unit) = text.split_at(digits);
        let unit = unit.trim_start();
        let named =
            PERIODS.iter().find(|(names, _)| names.iter().any(|name| name.eq_ignore_ascii_case(unit)));
        let (_, period) = named.ok_or(expected)?;
        let count = if count.is_empty() { Ok(1) } else { count.parse() };
        match count {
            // No calendar goes on for longer than this, and products stay small.
            Ok(count @ 1..=1_000_000_000) => Ok(Self { count, period: *period, zone: Zone::default() }),
            _ => Err(format!("a bucket has at least 1 and at most 1000000000 of a unit; {expected}")),
        }
    }
}

impl Every {
    /// The same buckets in another time zone.
    #[must_use]
    pub fn in_zone(self, zone: Zone) -> Self {
        Self { zone, ..self }
    }

    /// The time zone.
    #[must_use]
    pub fn zone(self) -> Zone {
        self.zone
    }

    /// The bucket of an instant: its first nanosecond, and the first one after it. `None` outside the years 0
    /// to 9999.
    #[must_use]
    pub fn bucket(self, instant: Instant) -> Option<(Instant, Instant)> {
        let local = i128::from(self.zone.offset(&naive(instant)?)) * SECOND + instant.0;
        let day = naive(Instant(local))?.date();
        let bucket = |start: i128, end: i128| naive(Instant(start)).map(|_| (Instant(start), Instant(end)));
        let Period::Fixed(nanoseconds) = self.period else {
            let (first, next) = self.days(day)?;
            return bucket(self.zone.start_of(first)?, self.zone.start_of(next)?);
        };
        let len = nanoseconds * i128::from(self.count);
        if len >= DAY {
            let start = instant.0.div_euclid(len) * len;
            return bucket(start, start + len);
        }
        let midnight = self.zone.start_of(day)?;
        let start = midnight + (instant.0 - midnight).div_euclid(len) * len;
        bucket(start, (start + len).min(self.zone.start_of(day.succ_opt()?)?))
    }

    /// The first day of the bucket of a day, and the first day after it.
    fn days(self, day: NaiveDate) -> Option<(NaiveDate, NaiveDate)> {
        let count = i64::from(self.count);
        let of_days = |len: i64, first: i64| {
            let number = i64::from(day.num_days_from_ce()) - first;
            let start = number.div_euclid(len) * len + first;
            let date = |number: i64| NaiveDate::from_num_days_from_ce_opt(i32::try_from(number).ok()?);
            Some((date(start)?, date(start + len).unwrap_or(NaiveDate::MAX)))
        };
        let of_months = |len: i64| {
            let number = i64::from(day.year()) * 12 + i64::from(day.month0());
            let start = number.div_euclid(len) * len;
            let date = |number: i64| {
                let year = i32::try_from(number.div_euclid(12)).ok()?;
                NaiveDate::from_ymd_opt(year, number.rem_euclid(12) as u32 + 1, 1)
            };
            Some((date(start)?, date(start + len).unwrap_or(NaiveDate::MAX)))
        };
        match self.period {
            // 1970-01-01, and the Monday before it.
            Period::Day => of_days(count, 719_163),
            Period::Week => of_days(7 * count, 719_163 - 3),
            Period::Month => of_months(count),
            Period::Year => of_months(12 * count),
            Period::Fixed(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::read;

    fn bucket(every: &str, zone: &str, at: &str) -> Option<String> {
        let every: Every = every.parse().unwrap();
        let every = every.in_zone(zone.parse().unwrap());
        every.zone().show(every.bucket(read(at).unwrap())?.0)
    }

    #[test]
    fn buckets_begin_at_round_times() {
        for (every, zone, at, want) in [
            ("1h", "UTC", "2026-03-02T10:59:59.999Z", "2026-03-02T10:00:00Z"),
            ("15m", "UTC", "2026-03-02T10:59:59Z", "2026-03-02T10:45:00Z"),
            ("250ms", "UTC", "2026-03-02T10:59:59.999Z", "2026-03-02T10:59:59.750Z"),
            ("1h", "+05:30", "2026-03-02T10:10:00Z", "2026-03-02T15:00:00+05:30"),
            ("1d", "UTC", "1969-12-31T23:59:59Z", "1969-12-31T00:00:00Z"),
            ("1d", "Europe/Amsterdam", "2026-07-01T23:00:00Z", "2026-07-02T00:00:00+02:00"),
            ("day", "America/New_York", "2026-03-08T12:00:00Z", "2026-03-08T00:00:00-05:00"),
            ("1w", "UTC", "2026-11-29T12:00:00Z", "2026-11-23T00:00:00Z"),
            ("1mo", "UTC", "2024-02-29T12:00:00Z", "2024-02-01T00:00:00Z"),
            ("3 months", "UTC", "2026-11-29T12:00:00Z", "2026-10-01T00:00:00Z"),
            ("1y", "Asia/Tokyo", "2025-12-31T15:00:00Z", "2026-01-01T00:00:00+09:00"),
            ("10y", "UTC", "2026-11-29T12:00:00Z", "2020-01-01T00:00:00Z"),
            // Clocks are set back: two hours have the same local time.
            ("1h", "Europe/Amsterdam", "2026-10-25T00:30:00Z", "2026-10-25T02:00:00+02:00"),
            ("1h", "Europe/Amsterdam", "2026-10-25T01:30:00Z", "2026-10-25T02:00:00+01:00"),
            // A day that begins at 01:00.
            ("1d", "America/Havana", "2026-03-08T12:00:00Z", "2026-03-08T01:00:00-04:00"),
        ] {
            assert_eq!(bucket(every, zone, at).as_deref(), Some(want), "{every} {zone} {at}");
        }
    }

    #[test]
    fn a_bucket_has_exactly_the_instants_from_its_start_to_its_end() {
        for zone in ["UTC", "-03:30", "Europe/Amsterdam", "America/Havana", "Australia/Lord_Howe"] {
            for every in ["1s", "7m", "1h", "5h", "1d", "3d", "1w", "1mo", "1y"] {
                let every: Every = every.parse().unwrap();
                let every = every.in_zone(zone.parse().unwrap());
                let mut at = read("2026-01-01T00:00:00Z").unwrap();
                for step in 0..3000_i128 {
                    let (start, end) = every.bucket(at).unwrap();
                    assert!(start <= at && at < end, "{zone} {every:?} {at:?}");
                    assert_eq!(every.bucket(start).unwrap().0, start, "{zone} {every:?} {at:?}");
                    let last = Instant(end.0 - 1);
                    assert_eq!(every.bucket(last).unwrap().0, start, "{zone} {every:?} {at:?}");
                    assert_ne!(every.bucket(end).unwrap().0, start, "{zone} {every:?} {at:?}");
                    at.0 += (4 * 3600 + 977 * step % 3600) * SECOND;
                }
            }
        }
    }

    #[test]
    fn wrong_lengths_and_zones_are_refused() {
        for wrong in ["", "1", "h1", "0h", "-1h", "1.5h", "99999999999h", "1 fortnight"] {
            assert!(wrong.parse::<Every>().is_err(), "{wrong}");
        }
        for wrong in ["", "Amsterdam", "+25:00", "CET+1"] {
            assert!(wrong.parse::<Zone>().is_err(), "{wrong}");
        }
        assert!("amsterdam".parse::<Zone>().unwrap_err().contains("`Europe/Amsterdam`"));
        let far = "1d".parse::<Every>().unwrap();
        assert_eq!(far.bucket(Instant(10_i128.pow(27))), None);
        assert_eq!(far.bucket(Instant(-10_i128.pow(27))), None);
    }
}
