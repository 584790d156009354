//! The schema of the lines of a part, as one of its sections.

use warpath_answer::answer::Want;
use warpath_core::error::Error;
use warpath_cpu::{Cpu, strict};
use warpath_lang::program::{Program, Query};
use warpath_part::file::{Error as PartError, Reader};
use warpath_store::schema::{Position, SchemaTree, WalkOptions, Walker};

use crate::input::BYTE_ORDER_MARK;

/// The section of the last group that has the schema of all lines of the part.
pub(super) const SECTION: &str = "schema";

/// The most nodes of a schema that a part has. A node with many different values has more than 2 KiB, and a
/// schema with more nodes has names that are data.
const MOST_NODES: usize = 4096;

/// The schema of the lines of a part while it is made.
#[derive(Default)]
pub(super) struct PartSchema {
    tree: SchemaTree,
    walker: Walker,
    /// The number of lines before each group.
    before: Vec<u64>,
    lines: u64,
    /// True if the part gets no schema: a line is malformed, and who reads it has to get the error; or there
    /// are too many nodes.
    is_without: bool,
    /// The lines that are neither blank nor a record.
    malformed: u64,
}

impl PartSchema {
    /// Adds the lines of the next group. With `is_begin`, a byte order mark before them is no part of a line.
    ///
    /// # Errors
    /// The errors of the evaluation that counts malformed lines.
    pub fn add(&mut self, text: &[u8], is_begin: bool) -> Result<(), Error> {
        let text = text.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_begin).unwrap_or(text);
        if !strict::faults(text).is_empty() {
            self.is_without = true;
            self.malformed += malformed(text)?;
        }
        if self.is_without {
            return Ok(());
        }
        let number = self.before.len() as u64;
        let options = WalkOptions { text: number, most_records: u64::MAX, skips: false, without: &[] };
        let walked = self.walker.walk(&mut self.tree, text, options);
        self.before.push(self.lines);
        self.lines += walked.lines;
        self.is_without = !walked.suspects.is_empty() || self.tree.len() > MOST_NODES;
        Ok(())
    }

    /// The lines so far of the part that are neither blank nor a record: questions stop there, or skip them.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// The section for the groups so far; `None` if the part gets none. The next group begins another part.
    pub fn end(&mut self) -> Option<Vec<u8>> {
        self.end_tree()?.to_bytes()
    }

    fn end_tree(&mut self) -> Option<SchemaTree> {
        let Self { mut tree, before, is_without, .. } = std::mem::take(self);
        if is_without {
            return None;
        }
        let line = |position: Position| before[position.text as usize] + position.line;
        tree.relocate(|position| Position { text: 0, line: line(position), ..position });
        Some(tree)
    }
}

/// The lines that are neither blank nor a record. Not all lines with a fault of RFC 8259 are.
fn malformed(text: &[u8]) -> Result<u64, Error> {
    let record = Program::new(&[Query::compile("$")?])?;
    let answer = Cpu.answer(text, &record, Want::new())?;
    Ok(answer.pieces.iter().map(|piece| piece.faults.len() as u64).sum())
}

/// The schema of some lines, with the text 0 in all positions; `None` if a line is malformed, or there are
/// too many nodes. With `is_begin`, a byte order mark before them is no part of a line.
pub(crate) fn schema_of_lines(text: &[u8], is_begin: bool) -> Option<SchemaTree> {
    let mut schema = PartSchema::default();
    schema.add(text, is_begin).ok()?;
    schema.end_tree()
}

/// True if a part has the schema of its lines.
pub(crate) fn has_schema(part: &Reader) -> bool {
    last(part).is_some_and(|last| part.sections(last).any(|(name, _)| name == SECTION))
}

/// The schema of the lines of a part, with the text 0 in all positions; `None` if the part has none.
///
/// # Errors
/// The reason why the section cannot be read.
pub(crate) fn schema_of(part: &Reader) -> Result<Option<SchemaTree>, String> {
    let section = last(part).map(|last| part.section(last, SECTION)).transpose();
    let bytes = section.map_err(|error: PartError| error.to_string())?.flatten();
    let tree = |bytes: Vec<u8>| {
        SchemaTree::of_bytes(&bytes).ok_or_else(|| format!("section `{SECTION}` is not as Warpath writes it"))
    };
    bytes.map(tree).transpose()
}

fn last(part: &Reader) -> Option<usize> {
    part.groups().checked_sub(1)
}
