//! The values of a partition, each with its count.

use std::any::Any;
use std::collections::HashMap;

use foldhash::fast::FixedState;
use warpath_answer::answer::Want;
use warpath_core::error::Error;
use warpath_core::key;
use warpath_lang::program::Query;
use warpath_shared::kernel::Match;
use warpath_shared::units::LineIx;

use crate::stream::{Digest, PieceResults};

/// Ends each value of a combination. Neither values nor records contain it.
const END: u8 = b'\n';

/// Counts the values of one path, or the combinations of values of several paths, of each partition.
///
/// Each value that one path matches counts. Several paths match one value of a record at most, and each
/// record counts once; a record that lacks all values counts if missing values do.
pub struct Tally {
    paths: usize,
    missing: bool,
}

impl Tally {
    /// Counts values, and leaves out the records that lack all of them.
    ///
    /// # Errors
    /// [`Error::Usage`] for several paths of which one can match several values of a record.
    pub fn new(paths: &[Query]) -> Result<Self, Error> {
        if let (2.., Some(path)) = (paths.len(), paths.iter().find(|path| !path.is_singular())) {
            return Err(Error::Usage(format!(
                "`{}` can match several values of a record; with several paths, each must match at most one",
                path.text()
            )));
        }
        Ok(Self { paths: paths.len(), missing: false })
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
        let mut tallied = counts.tallied(key::encode);
        if missing > 0 {
            // Only counts of all records have missing values, and no line.
            tallied.push(missing, (0, 0), key::encode_missing);
        }
        tallied
    }

    /// Counts the combinations of values of several paths.
    fn of_paths(&self, found: &[PieceResults<'_>]) -> Tallied {
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        for (number, piece) in found.iter().enumerate() {
            let mut next = vec![0; self.paths];
            for line in piece.records {
                let begin = text.len();
                for (list, next) in piece.matches.iter().zip(&mut next) {
                    if let Some(found) = list.get(*next).filter(|found| found.line == *line) {
                        text.extend_from_slice(piece.bytes(found));
                        *next += 1;
                    }
                    text.push(END);
                }
                if text.len() - begin == self.paths && !self.missing {
                    text.truncate(begin);
                } else {
                    ends.push((text.len(), (number as u32, *line)));
                }
            }
        }
        let (mut counts, mut begin) = (Counts::default(), 0);
        for (end, first) in ends {
            counts.add(&text[begin..end], first);
            begin = end;
        }
        counts.tallied(|values, keys| {
            for value in values[..values.len() - 1].split(|byte| *byte == END) {
                if value.is_empty() { key::encode_missing(keys) } else { key::encode(value, keys) }
            }
        })
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
        Want::default().matches(true).records(self.missing || self.paths > 1).partial(true)
    }

    /// Makes a [`Tallied`].
    fn digest(&self, found: &[PieceResults<'_>]) -> Box<dyn Any + Send + Sync> {
        Box::new(if self.paths == 1 { self.of_path(found) } else { self.of_paths(found) })
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

    fn tallied(&self, encode: impl Fn(&[u8], &mut Vec<u8>)) -> Tallied {
        let mut tallied = Tallied::default();
        for (text, count, first) in &self.counts {
            tallied.push(*count, *first, |keys| encode(text, keys));
        }
        tallied
    }
}

/// The keys of a partition's values in the order in which they are first seen, with their counts. A key may
/// occur twice.
#[derive(Default)]
pub struct Tallied {
    keys: Vec<u8>,
    /// The end of each key, its count, and where it is first seen.
    counts: Vec<(usize, u64, PieceLine)>,
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
