//! Inputs that are in memory, as segments of leaves and compressed lines.

mod read;
mod text;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use warpath_core::stamp::Stamp;
use warpath_resident::{DeviceTable, Segment};
use warpath_shared::units::ByteOffset;
use warpath_store::schema::SchemaTree;

use super::sequence::Sequence;
use crate::store::schema_of_lines;

pub(crate) use read::{lines, slice_end};
pub(crate) use text::LoadedText;

/// One input in memory. Cheap to clone. [`Source::Loaded`](crate::input::Source::Loaded) reads it.
///
/// ```
/// use warpath::{Engine, LoadedInput, Query, Source};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().build()?;
/// let loaded = engine.load(vec![Source::Bytes("log".into(), "{\"a\":1}\n{\"a\":2}\n".into())])?;
/// let log: LoadedInput = loaded.inputs()[0].clone();
/// assert_eq!((log.name(), log.lines()), ("log", 2));
/// assert_eq!(engine.input(vec![Source::Loaded(log)]).count(&Query::compile("$.a")?)?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct LoadedInput(Arc<Contents>);

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
}

impl Contents {
    /// The number of lines.
    pub fn lines(&self) -> u64 {
        self.segments.iter().map(|placed| u64::from(placed.segment.rows())).sum()
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
    pub fn schema(&self, is_begin: bool) -> Option<Arc<SchemaTree>> {
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
    pub stamp: Stamp,
}

impl LoadedInput {
    /// The name: that of the source from which it was loaded.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The number of lines, blank and malformed ones too.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.0.lines()
    }

    /// Bytes of text.
    #[must_use]
    pub fn text_bytes(&self) -> u64 {
        let text = |segment: &Segment| segment.lines().text_len(0..segment.rows()) as u64;
        self.segments().map(text).sum()
    }

    /// Bytes of memory, without strings that inputs share.
    pub(crate) fn memory(&self) -> u64 {
        self.0.segments.iter().map(|placed| placed.segment.bytes()).sum()
    }

    /// All lines, read from start to end.
    pub(crate) fn into_sequence(self) -> Sequence {
        let (name, is_begin) = (self.0.name.clone(), !self.0.begins_within);
        Sequence::of_text(name, LoadedText::new(self.0)).with_mark(is_begin)
    }

    /// The file from which the input was loaded, with its size and the time of its last change then. `None`
    /// for other sources.
    #[must_use]
    pub fn file(&self) -> Option<(&Path, u64, SystemTime)> {
        let Identity { path, stamp } = self.0.identity.as_ref()?;
        Some((path, stamp.size(), stamp.modified()))
    }

    /// The leaves of all segments on a device, if they are on one.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn table(&self) -> Option<&DeviceTable> {
        self.0.table.as_ref()
    }

    /// The segments of leaves.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.0.segments.iter().map(|placed| &placed.segment)
    }

    pub(crate) fn new(contents: Contents) -> Self {
        Self(Arc::new(contents))
    }

    pub(crate) fn contents(&self) -> &Arc<Contents> {
        &self.0
    }
}
