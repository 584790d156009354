//! The values of a partition, each with its count.

use std::any::Any;
use std::collections::HashMap;

use foldhash::fast::FixedState;
use warpath_answer::answer::Want;
use warpath_core::error::Error;
use warpath_core::key;
#[cfg(feature = "store")]
use warpath_resident::{
    Class,
    aggregate::{Aggregate, Error as GroupError, GroupColumn, Numbers, group_on},
};
use warpath_shared::kernel::Match;
use warpath_shared::units::LineIx;

use super::grouping::{Grouping, NoTimes};
#[cfg(feature = "store")]
use crate::stream::{DeviceResults, LeafResults};
use crate::stream::{Digest, PieceResults};

/// Counts the values of one path, or the combinations of values of several paths, of each partition.
///
/// Each value that one path matches counts. Several paths match one value of a record at most, and each
/// record counts once; a record that lacks all values counts if missing values do.
pub struct Tally {
    /// The paths; `None` for one path, each value of which counts.
    grouping: Option<Grouping>,
    missing: bool,
}

impl Tally {
    /// Counts values, and leaves out the records that lack all of them.
    ///
    /// # Errors
    /// [`Error::Usage`] for several paths of which one can match several values of a record.
    pub fn new(grouping: Grouping) -> Result<Self, Error> {
        let grouping = (!grouping.is_value()).then_some(grouping);
        grouping.as_ref().map_or(Ok(()), Grouping::check)?;
        Ok(Self { grouping, missing: false })
    }

    /// Counts records that lack all values, too, as a missing value.
    #[must_use]
    pub fn with_missing(self) -> Self {
        Self { missing: true, ..self }
    }

    /// Counts the values of the only path.
    fn of_path(&self, found: &[PieceResults<'_>]) -> Tallied {
        let (mut counts, mut missing) = (Counts::default(), 0);
        for (number, piece) in found.iter().enumerate() {
            let matches = piece.matches.first().copied().unwrap_or_default();
            for found in matches {
                counts.add(piece.bytes(found), (number as u32, found.line));
            }
            if self.missing {
                missing += (piece.records.len() - lines(matches)) as u64;
            }
        }
        let mut tallied = Tallied::default();
        for (text, count, first) in &counts.counts {
            tallied.push(*count, *first, |keys| key::encode(text, keys));
        }
        if missing > 0 {
            // Only counts of all records have missing values, and no line.
            tallied.push(missing, (0, 0), key::encode_missing);
        }
        tallied
    }

    /// Counts the records of groups.
    fn of_groups(&self, grouping: &Grouping, found: &[PieceResults<'_>]) -> Tallied {
        let grouped = grouping.records(found, 0, self.missing);
        let mut tallied = Tallied::default();
        for group in &grouped.groups {
            tallied.push(group.count, group.first, |keys| grouped.key(group, keys));
        }
        Tallied { no_times: grouped.no_times, ..tallied }
    }
}

/// The number of lines that matches are in.
pub(crate) fn lines(matches: &[Match]) -> usize {
    let mut last: Option<LineIx> = None;
    matches.iter().filter(|found| last.replace(found.line) != Some(found.line)).count()
}

impl Digest for Tally {
    fn want(&self) -> Want {
        // Records are needed only to know which ones lack a value.
        Want::default().matches(true).records(self.missing || self.grouping.is_some()).partial(true)
    }

    /// Makes a [`Tallied`].
    #[cfg(feature = "store")]
    fn of_leaves(&self, results: &LeafResults<'_>) -> Option<Box<dyn Any + Send + Sync>> {
        let mut tallied = Tallied::default();
        let of_value = Grouping::of_value();
        let is_value = self.grouping.is_none();
        let grouping = self.grouping.as_ref().unwrap_or(&of_value);
        let grouped = grouping.of_leaves(results, 0, self.missing)?;
        let mut missing = None;
        for group in &grouped.groups {
            if is_value && grouped.is_missing(group) {
                missing = Some(group.count);
            } else {
                tallied.push(group.count, group.first, |keys| grouped.key(group, keys));
            }
        }
        if let Some(count) = missing {
            // Only counts of all records have missing values, and no line.
            tallied.push(count, (0, 0), key::encode_missing);
        }
        Some(Box::new(Tallied { no_times: grouped.no_times, ..tallied }))
    }

    /// Makes a [`Tallied`] of counts whose order does not matter.
    #[cfg(feature = "store")]
    fn of_device(&self, results: &DeviceResults<'_>) -> Result<Option<Box<dyn Any + Send + Sync>>, Error> {
        let DeviceResults { table, segments, paths, question } = results;
        let has_times = self.grouping.as_ref().is_some_and(Grouping::has_times);
        // On a device, a null is as a missing value.
        let has_nulls = paths.iter().any(|path| table.table().column(path, Class::Nulls).is_some());
        let has_records = paths.iter().any(Vec::is_empty);
        if !self.missing || has_times || has_nulls || has_records {
            return Ok(None);
        }
        let column = |path: &Vec<Vec<u8>>| GroupColumn { path: path.clone(), derive: None, unit: None };
        let columns: Vec<GroupColumn> = paths.iter().map(column).collect();
        let grouped = match group_on(&[(table, segments)], *question, &columns, &[Aggregate::Rows], None) {
            Ok(grouped) => grouped,
            Err(GroupError::Device(error)) => return Err(error),
            // The host reports it, if it fails there, too.
            Err(_) => None,
        };
        let Some(grouped) = grouped else { return Ok(None) };
        let Some(Numbers::Counts(counts)) = grouped.numbers.first() else { return Ok(None) };
        let (mut tallied, mut text) = (Tallied::default(), Vec::new());
        for (group, count) in counts.iter().enumerate() {
            tallied.push(*count, (0, 0), |keys| {
                for values in &grouped.columns {
                    text.clear();
                    values.write_json(group, &mut text);
                    if text.is_empty() { key::encode_missing(keys) } else { key::encode(&text, keys) }
                }
            });
        }
        Ok(Some(Box::new(tallied)))
    }

    /// Makes a [`Tallied`].
    fn digest(&self, found: &[PieceResults<'_>]) -> Box<dyn Any + Send + Sync> {
        Box::new(match &self.grouping {
            None => self.of_path(found),
            Some(grouping) => self.of_groups(grouping, found),
        })
    }
}

/// The number of a piece of a partition, and a line in the piece.
type PieceLine = (u32, LineIx);

/// The texts of a partition, in the order in which they are first seen, with their counts and first lines.
#[derive(Default)]
struct Counts<'a> {
    numbers: HashMap<&'a [u8], usize, FixedState>,
    counts: Vec<(&'a [u8], u64, PieceLine)>,
}

impl<'a> Counts<'a> {
    fn add(&mut self, text: &'a [u8], line: PieceLine) {
        let next = self.counts.len();
        let number = *self.numbers.entry(text).or_insert(next);
        match self.counts.get_mut(number) {
            Some((_, count, _)) => *count += 1,
            None => self.counts.push((text, 1, line)),
        }
    }
}

/// The keys of a partition's values in the order in which they are first seen, with their counts. A key may
/// occur twice.
#[derive(Default)]
pub struct Tallied {
    keys: Vec<u8>,
    /// The end of each key, its count, and where it is first seen.
    counts: Vec<(usize, u64, PieceLine)>,
    /// Values that are no instants, although they should be.
    pub no_times: NoTimes,
}

/// A value of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TalliedValue<'a> {
    /// The key of the value.
    pub key: &'a [u8],
    /// The number of times that it is there.
    pub count: u64,
    /// The number of the piece of the partition in which it is first seen, from 0 on; 0 for a missing value.
    pub piece: usize,
    /// The line in that piece; 0 for a missing value.
    pub line: LineIx,
}

impl Tallied {
    fn push(&mut self, count: u64, first: PieceLine, encode: impl FnOnce(&mut Vec<u8>)) {
        encode(&mut self.keys);
        self.counts.push((self.keys.len(), count, first));
    }

    /// The values with their counts.
    pub fn iter(&self) -> impl Iterator<Item = TalliedValue<'_>> {
        let mut begin = 0;
        self.counts.iter().map(move |(end, count, (piece, line))| {
            let key = &self.keys[begin..*end];
            begin = *end;
            TalliedValue { key, count: *count, piece: *piece as usize, line: *line }
        })
    }
}
