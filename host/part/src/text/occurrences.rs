//! The section `occurrences`: how many occurrences of each node come before some rows of a group.
//!
//! Sections number the objects, arrays and values of a node through the whole group. A reader of some rows
//! has only their columns. It begins at a *mark*, a row whose numbers the section has.
//!
//! The section is the distance of the marks; then, for each node but the root, the occurrences from each mark
//! to the next one, or to the end of the group. The first mark is row 0. A node without occurrences between
//! the marks around some rows needs no column.

use std::ops::Range;

use super::bytes::{Reader, put};
use super::error::{Result, damaged};
use super::levels::Filled;
use crate::group::{Layout, NodeIx, Tree};

pub(crate) const OCCURRENCES: &str = "occurrences";

/// The least distance of marks. Rows between a mark and the wanted row are decoded in vain.
const LEAST: u32 = if cfg!(test) { 8 } else { 256 };
/// The most numbers of a section, for groups of many rows and nodes. They are all read for a line.
const MOST_NUMBERS: u64 = 1 << 16;

/// The numbers of the occurrences of each node before a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The row.
    pub(crate) row: u32,
    /// The occurrences of each node before it. The record occurs in each row.
    before: Vec<u32>,
    /// True for the nodes that occur before the first mark after the rows.
    occurs: Vec<bool>,
}

impl Mark {
    /// The occurrences of a node before the mark.
    pub(super) fn before(&self, node: NodeIx) -> u32 {
        self.before.get(node as usize).copied().unwrap_or(0)
    }

    /// The mark of a group without the section: row 0.
    pub(crate) fn begin(nodes: u32) -> Self {
        Self { row: 0, before: Vec::new(), occurs: vec![true; nodes as usize] }
    }

    /// Returns false if a node does not occur in the rows.
    pub(super) fn occurs(&self, node: NodeIx) -> bool {
        node == 0 || self.occurs.get(node as usize) == Some(&true)
    }

    /// The last mark at or before the first of some rows, in a group with this many rows and nodes.
    pub(crate) fn find(section: &[u8], some: &Range<u32>, rows: u32, nodes: u32) -> Result<Self> {
        let mut reader = Reader::new(section, OCCURRENCES);
        let distance = reader.below(u32::MAX as usize, "the distance of marks")? as u32;
        if distance == 0 {
            return Err(reader.error("marks have no distance"));
        }
        let (marks, first, end) =
            (rows.div_ceil(distance), some.start / distance, some.end.div_ceil(distance));
        let row = first.saturating_mul(distance);
        let (mut before, mut occurs) = (vec![row], vec![true]);
        for _ in 1..nodes {
            let (mut count, mut here) = (0_u32, false);
            for mark in 0..marks {
                let more = reader.below(u32::MAX as usize, "a number of occurrences")? as u32;
                if mark < first {
                    let sum = count.checked_add(more);
                    count = sum.ok_or_else(|| reader.error("a node has 2^32 occurrences"))?;
                } else {
                    here |= mark < end && more > 0;
                }
            }
            before.push(count);
            occurs.push(here);
        }
        if !reader.is_empty() {
            return Err(damaged(OCCURRENCES, "it has other marks than the group"));
        }
        Ok(Self { row, before, occurs })
    }
}

/// Writes the section of a group.
pub(super) fn write(tree: &Tree, filled: &[Filled], rows: u32) -> Vec<u8> {
    let numbers = u64::from(rows) * filled.len() as u64;
    let least = u32::try_from(numbers / MOST_NUMBERS).unwrap_or(u32::MAX);
    let distance = least.clamp(LEAST, 1 << 30).next_power_of_two();
    let mut out = Vec::new();
    put(&mut out, u64::from(distance));
    // For each node, the slots of its children before each mark and the end: occurrences, or elements.
    let ends = (1..=rows.div_ceil(distance)).map(|mark| mark.saturating_mul(distance).min(rows));
    let mut slots: Vec<Vec<u32>> = vec![ends.collect()];
    for (node, filled) in tree.nodes.iter().zip(filled).skip(1) {
        let above = slots.get(node.parent as usize).map_or(&[][..], Vec::as_slice);
        let counts = above.iter().map(|slot| filled.at.partition_point(|at| at < slot) as u32);
        let counts: Vec<u32> = counts.collect();
        let mut last = 0;
        for count in &counts {
            put(&mut out, u64::from(count - last));
            last = *count;
        }
        slots.push(match node.layout {
            Layout::List => elements(&filled.lengths, &counts),
            _ => counts,
        });
    }
    out
}

/// The elements of the first lists, for several ascending numbers of lists.
fn elements(lengths: &[u32], counts: &[u32]) -> Vec<u32> {
    let (mut elements, mut lists) = (0, 0);
    let before = |count: &u32| {
        let more = lengths.get(lists..*count as usize).unwrap_or_default();
        elements += more.iter().sum::<u32>();
        lists = *count as usize;
        elements
    };
    counts.iter().map(before).collect()
}
