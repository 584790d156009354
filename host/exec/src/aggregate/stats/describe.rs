//! Statistics of the values of paths in one text, made by the worker that evaluated the text.

use std::any::Any;

use warpath_answer::answer::Want;
use warpath_core::decimal;
use warpath_core::error::Error;
use warpath_core::json::{self, Malformed};
use warpath_core::key;
use warpath_shared::kernel::Match;

use super::super::grouping::{Grouped, Grouping, NO_GROUP, NoTimes};
use super::super::sum::{Scaled, short};
use super::super::tally::lines;
use super::super::values::ValueTable;
use super::Summary;
#[cfg(feature = "store")]
use crate::stream::LeafResults;
use crate::stream::{Digest, PieceResults};
#[cfg(feature = "store")]
use warpath_resident::coded::{Coded, MISSING};

/// Describes the values of some paths, path by path, in each group of records.
pub struct Describe {
    paths: usize,
    /// The paths of groups follow the paths of values.
    grouping: Grouping,
    distinct: bool,
}

impl Describe {
    /// Describes the values of this many paths.
    ///
    /// # Errors
    /// [`Error::Usage`] for a path of groups that can match several values of a record.
    pub fn new(paths: usize, grouping: Grouping) -> Result<Self, Error> {
        grouping.check()?;
        Ok(Self { paths, grouping, distinct: false })
    }

    /// Collects the different values, too.
    #[must_use]
    pub fn with_distinct(self, distinct: bool) -> Self {
        Self { distinct, ..self }
    }
}

impl Digest for Describe {
    fn want(&self) -> Want {
        Want::default().matches(true).records(true).partial(true)
    }

    /// Makes a [`Described`].
    #[cfg(feature = "store")]
    fn of_leaves(&self, results: &LeafResults<'_>) -> Option<Box<dyn Any + Send + Sync>> {
        let LeafResults { segment, members, rows } = results;
        let coded = members[..self.paths].iter().map(|member| Coded::of(segment, *member));
        let coded = coded.collect::<Option<Vec<_>>>()?;
        let mut described = Described::new(self.paths, self.distinct);
        let grouped = match self.grouping.is_empty() {
            true => None,
            false => Some(self.grouping.of_leaves(results, self.paths, true)?),
        };
        let mut key = Vec::new();
        match &grouped {
            None => described.add_group(&[], rows.count()),
            Some(grouped) => {
                for group in &grouped.groups {
                    key.clear();
                    grouped.key(group, &mut key);
                    described.add_group(&key, group.count);
                }
            }
        }
        for (path, coded) in coded.iter().enumerate() {
            for (at, row) in rows.ones().enumerate() {
                let group = grouped.as_ref().map_or(0, |grouped| grouped.of[at] as usize);
                let state = group * self.paths + path;
                match coded.rows[row as usize] {
                    MISSING => described.values[state].summary.missing += 1,
                    code => described.add(state, coded.text(code)),
                }
            }
        }
        described.no_times = grouped.map(|grouped| grouped.no_times).unwrap_or_default();
        let other_keys = described.others.as_ref().map(OtherKeys::of);
        Some(Box::new(Described { others: None, other_keys, ..described }))
    }

    /// Makes a [`Described`].
    fn digest(&self, found: &[PieceResults<'_>]) -> Box<dyn Any + Send + Sync> {
        let described = if self.grouping.is_empty() {
            let mut described = Described::new(self.paths, self.distinct);
            described.add_group(&[], found.iter().map(|piece| piece.records.len() as u64).sum());
            for piece in found {
                for (path, matches) in piece.matches.iter().enumerate() {
                    described.add_all(path, piece, matches);
                }
            }
            described
        } else {
            let grouped = self.grouping.records(found, self.paths, true);
            self.of_groups(grouped, found)
        };
        let other_keys = described.others.as_ref().map(OtherKeys::of);
        Box::new(Described { others: None, other_keys, ..described })
    }
}

impl Describe {
    fn of_groups(&self, mut grouped: Grouped, found: &[PieceResults<'_>]) -> Described {
        let mut described = Described::new(self.paths, self.distinct);
        let mut key = Vec::new();
        for group in &grouped.groups {
            key.clear();
            grouped.key(group, &mut key);
            described.add_group(&key, group.count);
        }
        let mut first = 0;
        for piece in found {
            let of = &grouped.of[first..][..piece.records.len()];
            first += of.len();
            for (path, matches) in piece.matches[..self.paths].iter().enumerate() {
                let mut rest = *matches;
                for (line, group) in piece.records.iter().zip(of).filter(|(_, group)| **group != NO_GROUP) {
                    let count = rest.iter().take_while(|found| found.line == *line).count();
                    let found;
                    (found, rest) = rest.split_at(count);
                    let state = *group as usize * self.paths + path;
                    described.values[state].summary.missing += u64::from(found.is_empty());
                    found.iter().for_each(|found| described.add(state, piece.bytes(found)));
                }
            }
        }
        described.no_times = std::mem::take(&mut grouped.no_times);
        described
    }
}

/// The values of a text, described group by group and path by path.
pub struct Described {
    /// The keys of the groups, each with its end and the number of its records.
    keys: Vec<u8>,
    groups: Vec<(usize, u64)>,
    /// The values of each path of each group.
    pub(super) values: Vec<PathValues>,
    paths: usize,
    /// Values that are no instants, although they should be.
    pub no_times: NoTimes,
    /// The different values that are not in `numbers`, if they are wanted.
    others: Option<Others>,
    /// Their keys, when all are there. A key may occur twice.
    pub(super) other_keys: Option<OtherKeys>,
}

/// Different values: the number of their path and group, and their texts.
#[derive(Default)]
pub(super) struct Others {
    /// The number in four bytes, and the text, of each.
    texts: ValueTable,
    buffer: Vec<u8>,
}

impl Others {
    fn add(&mut self, state: u32, value: &[u8]) {
        self.buffer.clear();
        self.buffer.extend(state.to_be_bytes());
        self.buffer.extend_from_slice(value);
        if let Err(hash) = self.texts.find(&self.buffer) {
            // No text has 4 GiB: partitions are shorter.
            let _ = self.texts.add(&self.buffer, hash, (1, 0, false));
        }
    }

    /// The number of the path and group, and the text, of each.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let ValueTable { bytes, entries, .. } = &self.texts;
        entries.iter().filter_map(|entry| {
            let (state, text) = entry.key(bytes).split_first_chunk()?;
            Some((u32::from_be_bytes(*state), text))
        })
    }
}

/// Keys of different values: the number of their path and group, and the end of each key.
#[derive(Default)]
pub(super) struct OtherKeys {
    keys: Vec<u8>,
    ends: Vec<(usize, u32)>,
}

impl OtherKeys {
    /// The keys of texts. Texts of one value have one key.
    fn of(others: &Others) -> Self {
        let mut keys = Self::default();
        for (state, text) in others.iter() {
            key::encode(text, &mut keys.keys);
            keys.ends.push((keys.keys.len(), state));
        }
        keys
    }

    /// The number of the path and group, and the key, of each.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let mut begin = 0;
        self.ends.iter().map(move |(end, state)| {
            let key = &self.keys[begin..*end];
            begin = *end;
            (*state, key)
        })
    }
}

/// The values of one path in a group of a text.
#[derive(Default)]
pub(super) struct PathValues {
    pub summary: Summary,
    /// The numbers that are different as doubles if they are different.
    pub numbers: Vec<f64>,
    /// The other numbers, rounded.
    pub rounded: Vec<f64>,
}

/// Numbers below this have at most 15 digits. Different ones are different as doubles.
const FIFTEEN_DIGITS: u64 = 1_000_000_000_000_000;

/// Integers up to this are doubles.
const GREATEST_INTEGER: u64 = 1 << 53;

/// The powers of ten that are doubles.
const POWERS: [f64; 19] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];

/// The nearest double of a number, if no other number that this function takes has it.
#[inline]
fn distinct_double((mantissa, power): Scaled) -> Option<f64> {
    let digits = mantissa.unsigned_abs();
    // Both are doubles, so that the quotient is rounded once (Clinger 1990).
    let is_exact = digits < FIFTEEN_DIGITS || power == 0 && digits <= GREATEST_INTEGER;
    is_exact.then(|| mantissa as f64 / POWERS[-power as usize])
}

impl Described {
    fn new(paths: usize, distinct: bool) -> Self {
        Self {
            keys: Vec::new(),
            groups: Vec::new(),
            values: Vec::new(),
            paths,
            no_times: NoTimes::default(),
            others: distinct.then(Others::default),
            other_keys: None,
        }
    }

    fn add_group(&mut self, key: &[u8], records: u64) {
        self.keys.extend_from_slice(key);
        self.groups.push((self.keys.len(), records));
        for _ in 0..self.paths {
            let mut values = PathValues::default();
            values.summary.records = records;
            self.values.push(values);
        }
    }

    /// The key of each group with the number of its records, and the number of its first path in `values`.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&[u8], u64, usize)> {
        let mut begin = 0;
        self.groups.iter().enumerate().map(move |(number, (end, records))| {
            let key = &self.keys[begin..*end];
            begin = *end;
            (key, *records, number * self.paths)
        })
    }

    /// Adds all matches of a piece to the only group.
    fn add_all(&mut self, path: usize, piece: &PieceResults<'_>, matches: &[Match]) {
        self.values[path].summary.missing += (piece.records.len() - lines(matches)) as u64;
        matches.iter().for_each(|found| self.add(path, piece.bytes(found)));
    }

    fn add(&mut self, state: usize, value: &[u8]) {
        let values = &mut self.values[state];
        let kinds = &mut values.summary.kinds;
        match value.first() {
            Some(b'"') => {
                kinds.strings += 1;
                values.add_string(value);
            }
            Some(b'n') => kinds.nulls += 1,
            Some(b't' | b'f') => kinds.booleans += 1,
            Some(b'[') => kinds.arrays += 1,
            Some(b'{') => kinds.objects += 1,
            _ => {
                if values.add_number(value) {
                    return;
                }
            }
        }
        if let Some(others) = &mut self.others
            && value != b"null"
        {
            others.add(state as u32, value);
        }
    }
}

impl PathValues {
    fn add_string(&mut self, value: &[u8]) {
        let inside = json::inside(value).unwrap_or_default();
        let strings = &mut self.summary.strings;
        if memchr::memchr(b'\\', inside).is_none() {
            strings.add(inside);
        } else {
            let mut decoded = Vec::new();
            json::decode(inside, Malformed::Order, &mut decoded);
            strings.add(&decoded);
        }
    }

    /// Adds a number. Returns false if other numbers may have its double, and for text that is not a number.
    #[inline]
    fn add_number(&mut self, value: &[u8]) -> bool {
        let summary = &mut self.summary;
        let scaled = short(value);
        if let Some((scaled, number)) = scaled.and_then(|scaled| Some((scaled, distinct_double(scaled)?))) {
            summary.kinds.numbers += 1;
            summary.sum.add(scaled);
            self.numbers.push(number);
            return true;
        }
        let Some(number) = number_of(value) else {
            summary.kinds.others += 1;
            return false;
        };
        summary.kinds.numbers += 1;
        match scaled {
            Some(scaled) => summary.sum.add(scaled),
            None => summary.sum.add_long(value),
        }
        if is_distinct_double(value) {
            self.numbers.push(number);
            return true;
        }
        self.rounded.push(number);
        let mut key = Vec::new();
        key::encode(value, &mut key);
        summary.numbers.add(&key);
        false
    }
}

/// Returns true for a number that [`distinct_double`] takes in another spelling.
fn is_distinct_double(value: &[u8]) -> bool {
    let mut digits = Vec::new();
    let Some((_, power)) = decimal::canonical(value, &mut digits) else { return false };
    let is_short = digits.len() <= 15 && power.abs() < 300;
    is_short || digits.len() <= 16 && power == 16 && digits[..] <= b"9007199254740992"[..]
}

/// Returns the double that is nearest to a JSON number; `None` for any other text, such as `Infinity`.
fn number_of(value: &[u8]) -> Option<f64> {
    Some(warpath_core::number::nearest(value)?.clamp(f64::MIN, f64::MAX))
}

#[cfg(test)]
mod tests {
    use warpath_random::Rng;

    use super::*;

    #[test]
    fn only_numbers_of_json_are_numbers() {
        for (value, number) in [
            ("0", 0.0),
            ("-1.5e2", -150.0),
            ("1e999", f64::MAX),
            ("-1e999", f64::MIN),
            ("123456789012345678901234567890", 123_456_789_012_345_678_901_234_567_890.0),
        ] {
            assert_eq!(number_of(value.as_bytes()), Some(number), "{value}");
        }
        for value in
            ["", "Infinity", "-Infinity", "inf", "NaN", "+1", ".5", "1.", "-", "01", "1e", "0x1", "x"]
        {
            assert_eq!(number_of(value.as_bytes()), None, "{value}");
            assert_eq!(short(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn doubles_of_short_numbers_are_the_nearest() {
        let mut rng = Rng::new(4);
        let mut found = 0;
        for _ in 0..100_000 {
            let mantissa = (rng.next_u64() as i64) >> rng.below(64);
            let number = match rng.below(2) {
                0 => mantissa.to_string(),
                _ => format!("{}.{:0width$}", mantissa >> 20, rng.below(100), width = 1 + rng.below(18)),
            };
            if let Some(double) = short(number.as_bytes()).and_then(distinct_double) {
                assert_eq!(double, number.parse::<f64>().unwrap(), "{number}");
                found += 1;
            }
        }
        assert!(found > 30_000);
    }
}
