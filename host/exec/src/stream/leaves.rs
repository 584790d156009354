//! Results for lines of loaded inputs, from their leaves alone.

use std::sync::{Arc, Mutex};

use warpath_core::rows::RowSet;
use warpath_plan::PartColumns;
use warpath_resident::{Member, Question, Rows, Segment};

use super::{Digest, Sampler};
use crate::input::{Counts, KnownLeaves, Placed};

/// The results of a program for the rows of a segment, as its leaves have them.
pub struct LeafResults<'a> {
    /// The segment.
    pub segment: &'a Segment,
    /// The member of each path; `None` if no record has it.
    pub members: Vec<Option<&'a Member>>,
    /// The records of which the predicate is true.
    pub rows: RowSet,
}

/// The results of a run that leaves can have, and the lines that are read otherwise.
pub(super) struct ByLeaves {
    /// The condition by which lines are read. It may be true of more records than the predicate.
    pub reads: Option<Question>,
    /// True if the results are the schemas of segments.
    pub schema: bool,
    /// The paths, and the condition that is the predicate, if leaves can have the results.
    answers: Option<Answers>,
    digest: Option<Arc<dyn Digest>>,
    sampler: Option<Arc<Sampler>>,
}

struct Answers {
    paths: Vec<Vec<Vec<u8>>>,
    question: Option<Question>,
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
            .map(|leaves| Answers { paths: leaves.paths, question: leaves.condition.map(Question::new) });
        let reads = columns.condition.clone().map(Question::new);
        Self { reads, schema: columns.schema, answers, digest, sampler }
    }

    /// True if leaves may have the results.
    pub fn may_answer(&self) -> bool {
        self.answers.is_some()
    }

    /// The results for the lines of a segment. `None` if its leaves do not have them.
    pub fn known(&self, placed: &Placed) -> Option<KnownLeaves> {
        let (Placed { segment, .. }, Answers { paths, question }) = (placed, self.answers.as_ref()?);
        if !segment.is_whole() {
            return None;
        }
        let rows = match question {
            Some(question) => question.rows(segment)?,
            None => segment.records().clone(),
        };
        let members = paths.iter().filter(|path| !path.is_empty()).map(|path| segment.member(path));
        let members = members.collect::<Option<Vec<_>>>()?;
        let mut of_names = members.iter();
        let matches = paths.iter().map(|path| match path.is_empty() {
            true => rows.count(),
            false => of_names.next().copied().flatten().map_or(0, |member| present(segment, member, &rows)),
        });
        let matches = matches.collect();
        let digest = match &self.digest {
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
