//! Results for lines of loaded inputs, from their leaves alone.

use std::any::Any;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use warpath_core::comparison::Condition;
use warpath_core::error::Error;
use warpath_core::rows::RowSet;
use warpath_plan::PartColumns;
use warpath_resident::{DeviceTable, Member, Question, Rows, Segment, SegmentRows};

use super::{Digest, Sampler};
use crate::input::{Contents, Counts, KnownLeaves};

/// The results of a program for the rows of a segment, as its leaves have them.
pub struct LeafResults<'a> {
    /// The segment.
    pub segment: &'a Segment,
    /// The member of each path; `None` if no record has it.
    pub members: Vec<Option<&'a Member>>,
    /// The records of which the predicate is true.
    pub rows: RowSet,
}

/// The results of a program for all rows of an input whose leaves are on a device.
pub struct DeviceResults<'a> {
    /// The leaves.
    pub table: &'a DeviceTable,
    /// The segments of the table.
    pub segments: &'a [&'a Segment],
    /// The members that the paths lead to.
    pub paths: &'a [Vec<Vec<u8>>],
    /// The predicate, if there is one.
    pub question: Option<&'a Question>,
}

/// The digest of an input that its device has made.
enum OfDevice {
    /// There is none: segments are digested one by one.
    None,
    /// The digest, until the first segment takes it.
    Made(Option<Box<dyn Any + Send + Sync>>),
}

/// The results of a run that leaves can have, and the lines that are read otherwise.
pub(super) struct ByLeaves {
    /// The condition by which lines are read. It may be true of more records than the predicate.
    reads: Option<Asked>,
    /// True if the results are the schemas of segments.
    pub schema: bool,
    /// The paths, and the condition that is the predicate, if leaves can have the results.
    answers: Option<Answers>,
    digest: Option<Arc<dyn Digest>>,
    sampler: Option<Arc<Sampler>>,
    /// For each input on a device, by its address: its digest.
    of_devices: Mutex<HashMap<usize, OfDevice>>,
}

struct Answers {
    paths: Vec<Vec<Vec<u8>>>,
    question: Option<Asked>,
}

/// A question about segments, and what devices have said to it.
struct Asked {
    question: Question,
    /// For each input on a device, by its address: the rows of its segments; `None` if the device does not
    /// decide.
    of_devices: Mutex<HashMap<usize, Option<Arc<[RowSet]>>>>,
}

impl Asked {
    fn new(condition: Condition) -> Self {
        Self { question: Question::new(condition), of_devices: Mutex::default() }
    }

    /// The rows of a segment of an input of which the condition is true. A device decides about all segments
    /// at once. `None` if leaves do not decide.
    fn rows(&self, contents: &Contents, at: usize) -> Result<Option<RowSet>, Error> {
        let placed = &contents.segments[at];
        let Some(table) = &contents.table else { return Ok(self.question.rows(&placed.segment)) };
        let mut known = self.of_devices.lock().unwrap_or_else(PoisonError::into_inner);
        let address = std::ptr::from_ref(contents) as usize;
        let of_device = match known.get(&address) {
            Some(of_device) => of_device.clone(),
            None => {
                let segments: Vec<_> = contents.segments.iter().map(|placed| &placed.segment).collect();
                let found = table.rows(Some(&self.question), &segments, true)?;
                let rows = |found: Vec<SegmentRows>| found.into_iter().filter_map(|of| of.rows);
                let of_device = found.map(|found| rows(found).collect());
                known.entry(address).or_insert(of_device).clone()
            }
        };
        drop(known);
        Ok(match of_device {
            Some(rows) => rows.get(at).cloned(),
            None => self.question.rows(&placed.segment),
        })
    }
}

impl ByLeaves {
    /// The results of a plan over loaded inputs.
    pub fn new(
        columns: &PartColumns,
        digest: Option<Arc<dyn Digest>>,
        sampler: Option<Arc<Sampler>>,
    ) -> Self {
        let answers = columns
            .leaves
            .clone()
            .map(|leaves| Answers { paths: leaves.paths, question: leaves.condition.map(Asked::new) });
        let reads = columns.condition.clone().map(Asked::new);
        Self { reads, schema: columns.schema, answers, digest, sampler, of_devices: Mutex::default() }
    }

    /// True if leaves may have the results.
    pub fn may_answer(&self) -> bool {
        self.answers.is_some()
    }

    /// True if lines are read by a condition.
    pub fn selects(&self) -> bool {
        self.reads.is_some()
    }

    /// The rows of a segment whose lines are read; `None` for all.
    ///
    /// # Errors
    /// The errors of a device that has the leaves.
    pub fn selected(&self, contents: &Contents, at: usize) -> Result<Option<RowSet>, Error> {
        self.reads.as_ref().map_or(Ok(None), |asked| asked.rows(contents, at))
    }

    /// The results for the lines of a segment. `None` if its leaves do not have them.
    ///
    /// # Errors
    /// The errors of a device that has the leaves.
    pub fn known(&self, contents: &Contents, at: usize) -> Result<Option<KnownLeaves>, Error> {
        let segment = &contents.segments[at].segment;
        let Some(Answers { question, .. }) = self.answers.as_ref().filter(|_| segment.is_whole()) else {
            return Ok(None);
        };
        let rows = match question {
            Some(asked) => asked.rows(contents, at)?,
            None => Some(segment.records().clone()),
        };
        let Some(rows) = rows else { return Ok(None) };
        let of_device = self.of_device(contents)?;
        Ok(self.of_rows(segment, rows, of_device))
    }

    /// The digest of an input that its device has made. Only one segment gets it, the others get nothing
    /// inside. `None` for a digest of the segment itself.
    fn of_device(&self, contents: &Contents) -> Result<Option<Option<Box<dyn Any + Send + Sync>>>, Error> {
        let (Some(digest), Some(table), Some(answers)) = (&self.digest, &contents.table, &self.answers)
        else {
            return Ok(None);
        };
        let mut known = self.of_devices.lock().unwrap_or_else(PoisonError::into_inner);
        let made = match known.entry(std::ptr::from_ref(contents) as usize) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let segments: Vec<_> = contents.segments.iter().map(|placed| &placed.segment).collect();
                let (paths, question) = (&answers.paths[..], answers.question.as_ref());
                let question = question.map(|asked| &asked.question);
                let results = DeviceResults { table, segments: &segments, paths, question };
                entry.insert(match digest.of_device(&results)? {
                    None => OfDevice::None,
                    made => OfDevice::Made(made),
                })
            }
        };
        Ok(match made {
            OfDevice::None => None,
            OfDevice::Made(made) => Some(made.take()),
        })
    }

    /// The results for some rows of a segment. `of_device` is their digest, if a device has made one.
    fn of_rows(
        &self,
        segment: &Segment,
        rows: RowSet,
        of_device: Option<Option<Box<dyn Any + Send + Sync>>>,
    ) -> Option<KnownLeaves> {
        let Answers { paths, .. } = self.answers.as_ref()?;
        let members = paths.iter().filter(|path| !path.is_empty()).map(|path| segment.member(path));
        let members = members.collect::<Option<Vec<_>>>()?;
        let mut of_names = members.iter();
        let matches = paths.iter().map(|path| match path.is_empty() {
            true => rows.count(),
            false => of_names.next().copied().flatten().map_or(0, |member| present(segment, member, &rows)),
        });
        let matches = matches.collect();
        let digest = match &self.digest {
            _ if let Some(of_device) = of_device => of_device,
            Some(_) if members.len() < paths.len() => return None,
            Some(digest) => Some(digest.of_leaves(&LeafResults { segment, members, rows })?),
            None => None,
        };
        let lines = segment.lines();
        let text = lines.text_len(0..segment.rows());
        let sample = self.sampler.as_ref().map_or_else(Vec::new, |sampler| {
            sampler.copy_of(text, |most| {
                let mut text = Vec::new();
                let end = lines.end_within(0, most);
                // Damage would be reported where the lines are read.
                let is_short = lines.text_len(0..end) <= most && lines.decode(0..end, &mut text).is_ok();
                if is_short { text } else { Vec::new() }
            })
        });
        let counts = Counts { lines: segment.rows(), matches };
        Some(KnownLeaves { counts, digest: Mutex::new(digest), sample })
    }
}

/// The number of rows of a set that have a member.
fn present(segment: &Segment, member: &Member, rows: &RowSet) -> u64 {
    let sets = member.kinds.iter().map(|kind| &kind.rows).chain([&member.nulls]);
    // The sets of one member have no row in common.
    let counts = sets.map(|set| match set {
        Rows::None => 0,
        Rows::All => rows.count(),
        set @ Rows::Some(_) => {
            let mut here = segment.set(set);
            here &= rows;
            here.count()
        }
    });
    counts.sum()
}
