//! Records by groups: for each group of a partition, the texts of its records.

use std::any::Any;

use warpath_answer::answer::Want;
use warpath_core::error::Error;

use super::grouping::{Grouping, NO_GROUP, NoTimes};
use crate::stream::{Digest, PieceResults};

/// Splits the records of partitions by groups. The path of the records comes first in the program, then the
/// paths of the groups.
pub struct SplitRecords {
    grouping: Grouping,
}

impl SplitRecords {
    /// Splits by these groups.
    ///
    /// # Errors
    /// [`Error::Usage`] for a path that can match several values of a record.
    pub fn new(grouping: Grouping) -> Result<Self, Error> {
        grouping.check()?;
        Ok(Self { grouping })
    }
}

/// The records of a partition by groups.
#[derive(Default)]
pub struct GroupedText {
    /// The key of each group, and the texts of its records, each with a newline after it.
    pub groups: Vec<(Vec<u8>, Vec<u8>)>,
    /// The number of records.
    pub records: u64,
    /// Values that are no instants, although they should be.
    pub no_times: NoTimes,
}

impl Digest for SplitRecords {
    fn want(&self) -> Want {
        Want::default().matches(true).records(true)
    }

    /// Makes [`GroupedText`].
    fn digest(&self, found: &[PieceResults<'_>]) -> Box<dyn Any + Send + Sync> {
        let mut grouped = self.grouping.records(found, 1, true);
        let mut text = GroupedText::default();
        for group in &grouped.groups {
            let mut key = Vec::new();
            grouped.key(group, &mut key);
            text.groups.push((key, Vec::new()));
        }
        let mut first = 0;
        for piece in found {
            let of = &grouped.of[first..][..piece.records.len()];
            first += of.len();
            let mut matches = piece.matches.first().copied().unwrap_or_default().iter().peekable();
            for (line, group) in piece.records.iter().zip(of).filter(|(_, group)| **group != NO_GROUP) {
                while let Some(found) = matches.next_if(|found| found.line <= *line) {
                    if found.line == *line {
                        let records = &mut text.groups[*group as usize].1;
                        records.extend_from_slice(piece.bytes(found));
                        records.push(b'\n');
                        text.records += 1;
                    }
                }
            }
        }
        text.no_times = std::mem::take(&mut grouped.no_times);
        Box::new(text)
    }
}
