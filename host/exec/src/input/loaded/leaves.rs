//! An input as segments of leaves and compressed lines.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use warpath_core::stamp::{FileState, Stamp};
use warpath_resident::{DeviceTable, Segment};
use warpath_shared::units::ByteOffset;
use warpath_store::schema::SchemaTree;

use crate::input::KnownSchema;
use crate::store::schema_of_lines;

/// The contents of an input.
#[derive(Debug)]
pub(crate) struct Contents {
    pub name: Arc<str>,
    pub identity: Option<Identity>,
    pub segments: Vec<Arc<Placed>>,
    /// The leaves of all segments on a device.
    pub table: Option<DeviceTable>,
    /// True if the first line is not the first one of a text: a byte order mark before it is a part of it.
    pub begins_within: bool,
    /// The schema of all lines, with the text 0 in all positions, if their part has it.
    pub schema: Option<Arc<SchemaTree>>,
}

impl Contents {
    /// The schema of some segment's lines: that of all lines comes with the first segment, if it is known.
    /// `None` if there is none.
    pub fn schema_of(&self, segment: usize) -> Option<KnownSchema> {
        let placed = self.segments.get(segment)?;
        let lines = placed.segment.rows();
        match &self.schema {
            Some(tree) => Some(KnownSchema { lines, tree: (segment == 0).then(|| tree.clone()) }),
            None => {
                let tree = placed.schema(segment == 0 && !self.begins_within)?;
                Some(KnownSchema { lines, tree: Some(tree) })
            }
        }
    }

    /// The number of lines.
    pub fn lines(&self) -> u64 {
        self.segments.iter().map(|placed| u64::from(placed.segment.rows())).sum()
    }

    /// Bytes of text.
    pub fn text_bytes(&self) -> u64 {
        let text = |placed: &Arc<Placed>| {
            let segment = &placed.segment;
            segment.lines().text_len(0..segment.rows()) as u64
        };
        self.segments.iter().map(text).sum()
    }

    /// Bytes of host memory, without strings that inputs share.
    pub fn memory(&self) -> u64 {
        self.segments.iter().map(|placed| placed.segment.bytes()).sum()
    }

    /// True if the last line is whole, or there is none.
    pub fn ends_with_newline(&self) -> bool {
        let Some(placed) = self.segments.last() else { return true };
        let rows = placed.segment.rows();
        let mut last = Vec::new();
        let decoded = placed.segment.lines().decode(rows.saturating_sub(1)..rows, &mut last);
        decoded.is_ok() && last.last().is_none_or(|byte| *byte == b'\n')
    }
}

/// A segment, and its position in its input.
#[derive(Debug)]
pub(crate) struct Placed {
    pub segment: Segment,
    /// The offset of its text.
    pub offset: ByteOffset,
    /// The number of its first line, from 0 on.
    pub first: u64,
    /// The schema of its lines, once somebody has asked for it; `None` inside if it is not kept.
    schema: OnceLock<Option<Arc<SchemaTree>>>,
}

impl Placed {
    pub fn new(segment: Segment, offset: ByteOffset, first: u64) -> Self {
        Self { segment, offset, first, schema: OnceLock::new() }
    }

    /// The schema of the lines. It is made once, and then kept. `None` if a line is malformed, or there are
    /// too many names. With `is_begin`, a byte order mark before the first line is no part of it.
    fn schema(&self, is_begin: bool) -> Option<Arc<SchemaTree>> {
        let make = || {
            let (lines, mut text) = (self.segment.lines(), Vec::new());
            // Damage is reported where the lines are read.
            lines.decode(0..self.segment.rows(), &mut text).ok()?;
            schema_of_lines(&text, is_begin).map(Arc::new)
        };
        self.schema.get_or_init(make).clone()
    }
}

/// A file in the state in which it was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub path: PathBuf,
    pub state: FileState,
    pub stamp: Stamp,
}
