//! Records in groups: by the values of paths, and by buckets of time.
//!
//! The key of a group has a [`key`] for each path, in the order of the paths. A bucket is
//! the string of its first instant, in UTC: the order of such strings is the order of time.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use warpath_core::error::Error;
use warpath_core::json::{self, Malformed};
use warpath_core::key;
use warpath_core::time::{self, Every, Format, Instant, Unit, Zone};
use warpath_lang::program::Query;
use warpath_shared::units::LineIx;
#[cfg(feature = "store")]
use {
    warpath_core::rows::RowSet,
    warpath_resident::coded::{Coded, Groups},
};

use super::sum::short;
#[cfg(feature = "store")]
use crate::stream::LeafResults;
use crate::stream::PieceResults;

/// Ends each value of a combination. Neither values nor records contain it.
const END: u8 = b'\n';

/// The group of a record that is in none.
pub(super) const NO_GROUP: u32 = u32::MAX;

/// The buckets of a path's instants.
#[derive(Clone, Debug, PartialEq)]
pub struct Buckets {
    /// The lengths of buckets, and their time zone.
    pub every: Every,
    /// The format of instants; `None` for RFC 3339 and for numbers since 1970.
    pub format: Option<Format>,
}

/// The paths whose values the records of a group have in common.
///
/// ```
/// use warpath::aggregate::{DEFAULT_MEMORY, Grouping};
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = "{\"at\":\"2026-03-02T10:59:59Z\",\"ms\":7}\n{\"at\":\"2026-03-02T10:00:00Z\",\"ms\":9}\n";
/// let input = Engine::builder().build()?.bytes(text);
/// let hours = Grouping::default().with_time(Query::compile("$.at")?, "1h".parse()?, None);
/// let statistics = input.statistics_by(&[Query::compile("$.ms")?], hours, DEFAULT_MEMORY)?;
/// statistics.groups(&[], |group| -> Result<(), warpath::Error> {
///     assert_eq!(group.values(), [Some("\"2026-03-02T10:00:00Z\"".to_owned())]);
///     assert_eq!(group.paths[0].0.sum(), 16.0);
///     Ok(())
/// })?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Grouping {
    paths: Vec<Query>,
    parts: Vec<Option<Buckets>>,
}

impl Grouping {
    /// Groups by the values of paths.
    #[must_use]
    pub fn of_values(paths: &[Query]) -> Self {
        Self { paths: paths.to_vec(), parts: vec![None; paths.len()] }
    }

    /// Groups by the values of one path, whose text nobody reads.
    #[cfg(feature = "store")]
    pub(super) fn of_value() -> Self {
        Self { paths: Vec::new(), parts: vec![None] }
    }

    /// Adds a path: records with different values of it are in different groups.
    #[must_use]
    pub fn with_value(mut self, path: Query) -> Self {
        self.paths.push(path);
        self.parts.push(None);
        self
    }

    /// Adds a path of instants: records of different buckets are in different groups. Values that are not
    /// instants of the format count as missing.
    #[must_use]
    pub fn with_time(mut self, path: Query, every: Every, format: Option<Format>) -> Self {
        self.paths.push(path);
        self.parts.push(Some(Buckets { every, format }));
        self
    }

    /// The paths.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn paths(&self) -> &[Query] {
        &self.paths
    }

    /// Refuses paths that may find several values in a record.
    ///
    /// # Errors
    /// [`Error::Usage`] names the first such path.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), Error> {
        match self.paths.iter().find(|path| !path.is_singular()) {
            None => Ok(()),
            Some(path) => Err(Error::Usage(format!(
                "`{}` can match several values of a record; expected a path that matches at most one, because a \
                 record is in one group",
                path.text()
            ))),
        }
    }

    /// Appends the key of the group of a record. `found` has the JSON text of the value of each path; `None`
    /// if the record has none. Returns the number of the path whose value should be an instant and is not, if
    /// there is one. Such a value counts as missing.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    pub fn append_key<'a>(
        &self,
        found: impl Iterator<Item = Option<&'a str>>,
        key: &mut Vec<u8>,
    ) -> Option<usize> {
        let mut not_time = None;
        for (path, (value, part)) in found.zip(&self.parts).enumerate() {
            let mut cache = Cache::default();
            match (value.map(str::as_bytes), part) {
                (None, _) => key::encode_missing(key),
                (Some(value), None) => key::encode(value, key),
                (Some(value), Some(buckets)) if cache.find(value, buckets) => key::encode(&cache.bucket, key),
                (Some(_), Some(_)) => {
                    not_time = not_time.or(Some(path));
                    key::encode_missing(key);
                }
            }
        }
        not_time
    }

    /// True if a path has buckets of time.
    #[cfg(feature = "store")]
    pub(super) fn has_times(&self) -> bool {
        self.parts.iter().any(Option::is_some)
    }

    /// True if the groups are the values of one path.
    pub(super) fn is_value(&self) -> bool {
        matches!(self.parts[..], [None])
    }

    /// The number of paths.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// True if there is no path: all records are in one group.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Puts the records of a text in groups. The matches of the paths begin with the list `first` of each
    /// piece. Records that lack all values are in no group, unless `has_missing` is set.
    pub(super) fn records(&self, found: &[PieceResults<'_>], first: usize, has_missing: bool) -> Grouped {
        let mut grouped = Grouped::default();
        let mut ends = Vec::new();
        let mut caches: Vec<Cache> = self.parts.iter().map(|_| Cache::default()).collect();
        for (number, piece) in found.iter().enumerate() {
            let lists = &piece.matches[first..];
            let mut next = vec![0; lists.len()];
            for line in piece.records {
                let begin = grouped.text.len();
                for (((list, next), part), cache) in
                    lists.iter().zip(&mut next).zip(&self.parts).zip(&mut caches)
                {
                    if let Some(found) = list.get(*next).filter(|found| found.line == *line) {
                        *next += 1;
                        let value = piece.bytes(found);
                        match part {
                            None => grouped.text.extend_from_slice(value),
                            Some(buckets) if cache.find(value, buckets) => {
                                grouped.text.extend_from_slice(&cache.bucket);
                            }
                            Some(_) if value == b"null" => {}
                            Some(_) => grouped.no_times.add(number as u32, *line, value),
                        }
                    }
                    grouped.text.push(END);
                }
                let is_missing = grouped.text.len() - begin == lists.len() && !has_missing;
                if is_missing {
                    grouped.text.truncate(begin);
                }
                ends.push((
                    if is_missing { NO_GROUP as usize } else { grouped.text.len() },
                    number as u32,
                    *line,
                ));
            }
        }
        grouped.number(&ends);
        grouped
    }
}

#[cfg(feature = "store")]
impl Grouping {
    /// Puts the records of a segment in groups. The members of the paths begin with the member `first`. The
    /// groups of records are in the order of the rows of `results`. `None` if leaves do not have all values.
    pub(super) fn of_leaves(
        &self,
        results: &LeafResults<'_>,
        first: usize,
        has_missing: bool,
    ) -> Option<Grouped> {
        let LeafResults { segment, members, rows } = results;
        let mut grouped = Grouped::default();
        let coded = members[first..].iter().zip(&self.parts).map(|(member, part)| {
            let coded = Coded::of(segment, *member)?;
            Some(match part {
                None => coded,
                Some(buckets) => in_buckets(&coded, buckets, rows, &mut grouped.no_times),
            })
        });
        let coded = coded.collect::<Option<Vec<_>>>()?;
        let groups = Groups::of(&coded, rows, has_missing);
        for group in &groups.groups {
            let begin = grouped.text.len();
            for member in &coded {
                grouped.text.extend_from_slice(member.text(member.rows[group.first as usize]));
                grouped.text.push(END);
            }
            let (end, first) = (grouped.text.len(), (0, group.first));
            grouped.groups.push(Group { begin, end, count: group.count, first });
        }
        grouped.of.extend(rows.ones().map(|row| groups.rows[row as usize]));
        Some(grouped)
    }
}

/// The buckets of values, as values. Values that are no instants are missing, and are counted.
#[cfg(feature = "store")]
fn in_buckets(coded: &Coded, buckets: &Buckets, rows: &RowSet, no_times: &mut NoTimes) -> Coded {
    let mut cache = Cache::default();
    let mut is_no_time = vec![false; coded.codes()];
    let made = coded.mapped(|code, text, bucket| {
        if text.is_empty() {
            return;
        }
        if cache.find(text, buckets) {
            bucket.extend_from_slice(&cache.bucket);
        } else {
            is_no_time[code as usize] = text != b"null";
        }
    });
    if is_no_time.contains(&true) {
        for row in rows.ones() {
            let code = coded.rows[row as usize];
            if is_no_time[code as usize] {
                no_times.add(0, row as LineIx, coded.text(code));
            }
        }
    }
    made
}

/// The bucket of the last value, and the memory for reading values.
#[derive(Default)]
struct Cache {
    /// The JSON text of the first instant.
    bucket: Vec<u8>,
    range: Option<(Instant, Instant)>,
    text: Vec<u8>,
}

impl Cache {
    /// Finds the bucket of a value. Returns false if the value is not an instant of a bucket.
    fn find(&mut self, value: &[u8], buckets: &Buckets) -> bool {
        let Some(instant) = instant(value, buckets.format.as_ref(), &mut self.text) else { return false };
        if self.range.is_some_and(|(start, end)| start <= instant && instant < end) {
            return true;
        }
        self.range = buckets.every.bucket(instant);
        let Some(text) = self.range.and_then(|(start, _)| Zone::default().show(start)) else { return false };
        self.bucket.clear();
        self.bucket.push(b'"');
        self.bucket.extend_from_slice(text.as_bytes());
        self.bucket.push(b'"');
        true
    }
}

/// Reads a JSON value as an instant.
fn instant(value: &[u8], format: Option<&Format>, buffer: &mut Vec<u8>) -> Option<Instant> {
    let Some(inside) = json::inside(value) else {
        return match format {
            Some(format) => format.of_number(std::str::from_utf8(value).ok()?),
            None => number(value),
        };
    };
    let text = if memchr::memchr(b'\\', inside).is_none() {
        inside
    } else {
        buffer.clear();
        json::decode(inside, Malformed::Order, buffer);
        buffer
    };
    let text = std::str::from_utf8(text).ok()?;
    match format {
        Some(format) => format.read(text),
        None => time::quick(text).or_else(|| time::read(text)),
    }
}

/// Reads a JSON number since 1970, whose unit follows from its size.
fn number(value: &[u8]) -> Option<Instant> {
    let Some((integer, 0)) = short(value) else { return time::of_number(std::str::from_utf8(value).ok()?) };
    let below =
        |unit: &Unit| unit.guessed_below().is_none_or(|power| integer.unsigned_abs() < 10_u64.pow(power));
    let unit = Unit::ALL.into_iter().find(below)?;
    Some(Instant(i128::from(integer) * 10_i128.pow(unit.power())))
}

/// Values that should be instants and are not.
#[derive(Default)]
pub struct NoTimes {
    /// The number of these values.
    pub count: u64,
    /// The piece, the line and the text of the first one.
    pub first: Option<(u32, LineIx, Vec<u8>)>,
}

impl NoTimes {
    fn add(&mut self, piece: u32, line: LineIx, value: &[u8]) {
        /// The most bytes of a value that are shown.
        const SHOWN: usize = 60;
        self.count += 1;
        if self.first.is_none() {
            self.first = Some((piece, line, value[..value.len().min(SHOWN)].to_vec()));
        }
    }
}

/// The records of a text, in groups.
#[derive(Default)]
pub(super) struct Grouped {
    text: Vec<u8>,
    /// The groups, in the order in which they are first seen.
    pub groups: Vec<Group>,
    /// The group of each record, piece after piece; [`NO_GROUP`] for none.
    pub of: Vec<u32>,
    pub no_times: NoTimes,
}

/// A group of records of a text.
pub(super) struct Group {
    /// Its values in the text, each with its end.
    begin: usize,
    end: usize,
    /// The number of its records.
    pub count: u64,
    /// The piece and the line of its first record.
    pub first: (u32, LineIx),
}

impl Grouped {
    /// Numbers the groups of records, whose texts have these ends.
    fn number(&mut self, ends: &[(usize, u32, LineIx)]) {
        let mut numbers: HashMap<&[u8], u32, FixedState> = HashMap::default();
        let (mut begin, mut last) = (0, (&[][..], NO_GROUP));
        self.of.reserve(ends.len());
        for (end, piece, line) in ends {
            if *end == NO_GROUP as usize {
                self.of.push(NO_GROUP);
                continue;
            }
            let text = &self.text[begin..*end];
            // Neighbours often are of one group.
            if last.1 == NO_GROUP || last.0 != text {
                let next = self.groups.len() as u32;
                last = (text, *numbers.entry(text).or_insert(next));
                if last.1 == next {
                    self.groups.push(Group { begin, end: *end, count: 0, first: (*piece, *line) });
                }
            }
            self.groups[last.1 as usize].count += 1;
            self.of.push(last.1);
            begin = *end;
        }
    }

    /// True if the records of a group lack all values.
    #[cfg(feature = "store")]
    pub fn is_missing(&self, group: &Group) -> bool {
        self.text[group.begin..group.end].iter().all(|byte| *byte == END)
    }

    /// Appends the key of a group.
    pub fn key(&self, group: &Group, keys: &mut Vec<u8>) {
        let values = &self.text[group.begin..group.end];
        for value in values[..values.len() - 1].split(|byte| *byte == END) {
            if value.is_empty() { key::encode_missing(keys) } else { key::encode(value, keys) }
        }
    }
}
