//! The first record of each group, in the order of the records.
//!
//! Workers find the first record of each group in their partitions. The groups that are known are in memory.
//! When memory is full, no group is added any more: the first records of other groups are sorted by their
//! keys in temporary files, and at the end the first of each key follows, in the order of the records.

use std::any::Any;

use warpath_answer::answer::Want;
use warpath_core::error::Error;
use warpath_shared::units::LineIx;

use super::grouping::Grouping;
use super::sorter::{Sorted, Sorter};
use super::values::ValueTable;
use crate::stream::{Digest, PieceResults};

/// Finds the first record of each group in a partition. The paths of groups come first in the program, and
/// then the path of the record.
pub struct FindFirst {
    grouping: Grouping,
}

impl FindFirst {
    /// Finds the first record of each of these groups.
    ///
    /// # Errors
    /// [`Error::Usage`] for a path that can match several values of a record.
    pub fn new(grouping: Grouping) -> Result<Self, Error> {
        grouping.check()?;
        Ok(Self { grouping })
    }
}

impl Digest for FindFirst {
    fn want(&self) -> Want {
        Want::default().matches(true).records(true)
    }

    /// Makes [`FirstRecords`].
    fn digest(&self, found: &[PieceResults<'_>]) -> Box<dyn Any + Send + Sync> {
        let grouped = self.grouping.records(found, 0, true);
        let mut first = FirstRecords::default();
        for group in &grouped.groups {
            let (piece, line) = group.first;
            let results = &found[piece as usize];
            let matches = results.matches.last().copied().unwrap_or_default();
            let record = matches.binary_search_by_key(&line, |found| found.line).map(|at| &matches[at]);
            grouped.key(group, &mut first.bytes);
            let key = first.bytes.len();
            first.bytes.extend_from_slice(record.map(|found| results.bytes(found)).unwrap_or_default());
            first.records.push((key, first.bytes.len(), piece as usize, line));
        }
        Box::new(first)
    }
}

/// The first records of the groups of a partition.
#[derive(Default)]
pub struct FirstRecords {
    /// Keys, each followed by its record.
    bytes: Vec<u8>,
    /// The ends of each key and record, and the piece and the line of the record.
    records: Vec<(usize, usize, usize, LineIx)>,
}

/// The first record of a group in a partition.
#[derive(Clone, Copy, Debug)]
pub struct FirstRecord<'a> {
    /// The key of the group.
    pub key: &'a [u8],
    /// The text of the record.
    pub record: &'a [u8],
    /// The number of its piece, from 0 on.
    pub piece: usize,
    /// The line in that piece.
    pub line: LineIx,
}

impl FirstRecords {
    /// The records, in order.
    pub fn iter(&self) -> impl Iterator<Item = FirstRecord<'_>> {
        let mut begin = 0;
        self.records.iter().map(move |(key, end, piece, line)| {
            let (from, bytes) = (begin, &self.bytes);
            begin = *end;
            FirstRecord { key: &bytes[from..*key], record: &bytes[*key..*end], piece: *piece, line: *line }
        })
    }
}

/// Collects the first record of each group.
pub struct Firsts {
    memory: usize,
    groups: ValueTable,
    /// Records whose groups are not in `groups`, by their keys. A payload is the number of the record, and
    /// its text.
    others: Option<Sorter>,
    next: u64,
}

impl Firsts {
    /// Keeps about `memory` bytes in memory.
    #[must_use]
    pub fn new(memory: usize) -> Self {
        Self { memory, groups: ValueTable::default(), others: None, next: 0 }
    }

    /// Adds a record that is the first of its group in a partition. Returns true if it is known to be the
    /// first one of all.
    ///
    /// # Errors
    /// The errors of temporary files. [`Error::Usage`] for a key or a record of 4 GiB or more.
    pub fn add(&mut self, key: &[u8], record: &[u8]) -> Result<bool, Error> {
        let hash = match self.groups.find(key) {
            Ok(_) => return Ok(false),
            Err(hash) => hash,
        };
        if self.others.is_none() && self.groups.bytes_with(key) <= self.memory && self.groups.has_numbers() {
            self.groups.add(key, hash, (1, 0, true))?;
            return Ok(true);
        }
        self.next += 1;
        let payload = [&self.next.to_be_bytes()[..], record].concat();
        self.others.get_or_insert_with(|| Sorter::new(self.memory)).push(key, &payload)?;
        Ok(false)
    }

    /// The records that were not known to be first, in order.
    ///
    /// # Errors
    /// The errors of temporary files.
    pub fn rest(self) -> Result<RestOfFirsts, Error> {
        let Self { memory, groups, others, .. } = self;
        drop(groups);
        let (mut in_order, mut last) = (Sorter::new(memory), None::<Vec<u8>>);
        if let Some(others) = others {
            let (mut sorted, mut key, mut payload) = (others.finish()?, Vec::new(), Vec::new());
            while sorted.next(&mut key, &mut payload)? {
                if last.as_ref() != Some(&key) {
                    let (number, record) = payload.split_at(8);
                    in_order.push(number, record)?;
                    last = Some(std::mem::take(&mut key));
                }
            }
        }
        Ok(RestOfFirsts(in_order.finish()?))
    }
}

/// First records of groups, in order.
pub struct RestOfFirsts(Sorted);

impl Iterator for RestOfFirsts {
    type Item = Result<Vec<u8>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut key, mut record) = (Vec::new(), Vec::new());
        match self.0.next(&mut key, &mut record) {
            Ok(true) => Some(Ok(record)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}
