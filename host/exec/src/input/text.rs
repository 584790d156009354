//! The text of a partition, and its position in the input.

use std::ops::Range;
use std::sync::Arc;
#[cfg(feature = "store")]
use std::{any::Any, sync::Mutex};

use warpath_core::error::Error;
use warpath_shared::check::Fault;
use warpath_shared::units::ByteOffset;
#[cfg(feature = "store")]
use warpath_store::schema::SchemaTree;

use super::buffers::{Buffers, Lent};
use super::bytes::InputBytes;
use super::selection::Selected;
use crate::document::whole::Whole;

/// UTF-8's byte order mark. At the start of an input it is not part of the text (RFC 8259 section 8.1).
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of a partition: whole lines of one input. The last line may lack its newline.
#[derive(Debug)]
pub struct Text<'a> {
    /// `None` once the memory has been returned.
    memory: Option<Memory<'a>>,
    start: usize,
    end: usize,
    /// The offset in the input, in decompressed bytes.
    offset: ByteOffset,
    /// Set if the text is not a run of consecutive lines of the input.
    extract: Option<Extract>,
}

/// The memory of a text.
#[derive(Debug)]
enum Memory<'a> {
    Lent(Lent),
    Kept(Arc<[u8]>),
    /// Bytes of the caller's.
    Held(InputBytes<'a>),
}

impl<'a> Text<'a> {
    /// The bytes `range` of memory of the caller's, which is the input.
    pub fn held(bytes: InputBytes<'a>, range: Range<usize>) -> Self {
        let Range { start, end } = range;
        Self { memory: Some(Memory::Held(bytes)), start, end, offset: start as ByteOffset, extract: None }
    }

    /// The bytes `range` of a buffer. `offset` is their offset in the input.
    pub fn lent(buffer: Lent, range: Range<usize>, offset: ByteOffset) -> Self {
        let Range { start, end } = range;
        Self { memory: Some(Memory::Lent(buffer)), start, end, offset, extract: None }
    }

    /// A text that is shared.
    pub fn kept(bytes: Arc<[u8]>, offset: ByteOffset) -> Self {
        Self { start: 0, end: bytes.len(), memory: Some(Memory::Kept(bytes)), offset, extract: None }
    }

    /// The text of an input that has none.
    pub fn empty() -> Self {
        Self::kept(Arc::new([]), 0)
    }

    /// No text, but what is known of its lines. `offset` is their offset in the input.
    pub fn counted(counts: Counts, offset: ByteOffset) -> Self {
        Self::kept(Arc::new([]), offset).with_extract(Extract::Counts(Arc::new(counts)))
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.memory {
            Some(Memory::Lent(buffer)) => &buffer[self.start..self.end],
            Some(Memory::Kept(bytes)) => bytes,
            // An owner may return other bytes than before.
            Some(Memory::Held(bytes)) => bytes.as_ref().get(self.start..self.end).unwrap_or_default(),
            None => &[],
        }
    }

    /// Bytes of the text, also after [`forget`](Self::forget).
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Returns the memory before the text is dropped.
    pub fn forget(&mut self) {
        self.memory = None;
    }

    pub fn offset(&self) -> ByteOffset {
        self.offset
    }

    /// Moves the offset of the text by this many bytes.
    pub fn after(self, bytes: u64) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }

    /// Sets the relation of the text to its input.
    pub fn with_extract(self, extract: Extract) -> Self {
        Self { extract: Some(extract), ..self }
    }

    /// The relation of the text to its input; `None` for a run of consecutive lines.
    pub fn extract(&self) -> Option<&Extract> {
        self.extract.as_ref()
    }

    /// Turns a document into one line. Bytes of the caller's are copied if they have several lines.
    ///
    /// # Errors
    /// [`Error::Device`] and [`Error::Memory`] where memory is short.
    pub fn flattened(mut self, buffers: &Arc<Buffers>) -> Result<Self, Error> {
        if let Some(Memory::Held(_)) = &self.memory
            && memchr::memchr(b'\n', self.bytes()).is_some()
        {
            let mut buffer = buffers.take_long(self.len())?;
            buffer[..self.len()].copy_from_slice(self.bytes());
            (self.start, self.end) = (0, self.len());
            self.memory = Some(Memory::Lent(buffer));
        }
        let range = self.start..self.end;
        let bytes = match &mut self.memory {
            Some(Memory::Lent(buffer)) => &mut buffer[range],
            // A text without a newline is a line already.
            Some(Memory::Held(_)) => &mut [],
            _ if range.is_empty() => &mut [],
            _ => return Ok(self),
        };
        let (whole, len) = match bytes.is_empty() {
            true => (Whole::of(&mut []).0, self.len()),
            false => Whole::of(bytes),
        };
        self.end = self.start + len;
        self.extract = Some(Extract::Whole(Arc::new(whole)));
        Ok(self)
    }
}

/// The relation of a text to an input, if the text is not a run of consecutive lines.
#[derive(Clone, Debug)]
pub enum Extract {
    /// A whole document.
    Whole(Arc<Whole>),
    /// Elements of the array with this normalised path, one on each line.
    Elements(Arc<str>),
    /// Selected lines, which may lie apart.
    Lines(Arc<Selected>),
    /// No text: the numbers of lines and of matches are known without it.
    Counts(Arc<Counts>),
    /// No text: the schema of the lines is known without it.
    #[cfg(feature = "store")]
    Schema(Arc<KnownSchema>),
    /// No text: the results are known from the leaves of a loaded input.
    #[cfg(feature = "store")]
    Leaves(Arc<KnownLeaves>),
}

/// The results of a program for lines whose text is not decoded.
#[cfg(feature = "store")]
#[derive(Debug)]
pub struct KnownLeaves {
    /// The numbers of lines and of matches.
    pub counts: Counts,
    /// The digest of the results, until it is taken.
    pub digest: Mutex<Option<Box<dyn Any + Send + Sync>>>,
    /// The first lines, as many as the run's sampler copied.
    pub sample: Vec<u8>,
}

/// The schema of lines that are not read.
#[cfg(feature = "store")]
#[derive(Debug)]
pub struct KnownSchema {
    /// The number of lines.
    pub lines: u32,
    /// The schema of all lines of the part, if these lines are the first ones.
    pub tree: Option<SchemaTree>,
}

/// The results for lines that are not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of lines.
    pub lines: u32,
    /// Path by path, the number of matches; empty if no path matches.
    pub matches: Vec<u64>,
}

impl Extract {
    /// The fault of a document that did not become one line.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::Whole(whole) => whole.broken,
            _ => None,
        }
    }
}
