//! The text of a partition, and its position in the input.

use std::ops::Range;
use std::sync::Arc;
#[cfg(feature = "store")]
use std::{any::Any, sync::Mutex};

use warpath_answer::backend::Buffer;
use warpath_core::error::Error;
use warpath_shared::check::Fault;
use warpath_shared::units::ByteOffset;
#[cfg(feature = "store")]
use warpath_store::schema::SchemaTree;

use super::buffers::{Buffers, Lent};
use super::bytes::InputBytes;
use super::plain::PlainFile;
use super::selection::Selected;
use crate::document::whole::Whole;

/// UTF-8's byte order mark. At the start of an input it is not part of the text (RFC 8259 section 8.1).
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A text is kept in its buffer if the rest of the buffer is at most this fraction of the text. The last line
/// of a pipe's partition takes less, unless lines are longer than 8 MiB.
const LEAST_FULL: usize = 8;

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
    Shared(Arc<Buffer>),
    /// Bytes that are still to be read.
    Unread(Arc<PlainFile>),
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

    /// Lines of a file that are still to be read. They have no bytes here.
    pub(crate) fn unread(file: Arc<PlainFile>, range: Range<u64>) -> Self {
        let len = (range.end - range.start) as usize;
        Self { memory: Some(Memory::Unread(file)), start: 0, end: len, offset: range.start, extract: None }
    }

    /// Lines of this length that the receiver does not read.
    pub fn unseen(len: usize, offset: ByteOffset) -> Self {
        Self { memory: None, start: 0, end: len, offset, extract: None }
    }

    /// The file of a text that is still to be read.
    pub(crate) fn file(&self) -> Option<&Arc<PlainFile>> {
        match &self.memory {
            Some(Memory::Unread(file)) => Some(file),
            _ => None,
        }
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
            Some(Memory::Shared(buffer)) => &buffer[self.start..self.end],
            // An owner may return other bytes than before.
            Some(Memory::Held(bytes)) => bytes.as_ref().get(self.start..self.end).unwrap_or_default(),
            Some(Memory::Unread(_)) | None => &[],
        }
    }

    /// Bytes of the text, also after [`forget`](Self::forget).
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Takes the text to keep it for as long as anybody needs it. The text stays in its buffer, unless that
    /// is much longer, or belongs to the caller.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]. [`Error::Internal`] for a text that is still to be read.
    pub fn take_kept(&mut self) -> Result<KeptText, Error> {
        let (range, len) = (self.start..self.end, self.len());
        let is_full = |buffer: &Lent| buffer.len() - len <= len / LEAST_FULL;
        let (buffer, range) = match self.memory.take() {
            Some(Memory::Lent(buffer)) if is_full(&buffer) => (Arc::new(buffer.into_buffer()), range),
            Some(Memory::Shared(buffer)) => (buffer, range),
            Some(Memory::Unread(_)) => {
                return Err(Error::Internal("a text is kept before it is read".into()));
            }
            other => {
                self.memory = other;
                let mut copy = Vec::new();
                copy.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes: len as u64 })?;
                copy.extend_from_slice(self.bytes());
                self.forget();
                (Arc::new(copy.into()), 0..len)
            }
        };
        let memory = buffer.len() as u64;
        Ok(KeptText { buffer, range, offset: self.offset, memory })
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

/// A text in memory that is shared, for as long as anybody needs it.
#[derive(Clone, Debug)]
pub struct KeptText {
    buffer: Arc<Buffer>,
    range: Range<usize>,
    offset: ByteOffset,
    /// Bytes of memory for which this text is counted.
    memory: u64,
}

impl KeptText {
    /// A buffer's first `len` bytes. `offset` is their offset in the input.
    pub fn new(buffer: Buffer, len: usize, offset: ByteOffset) -> Self {
        let memory = buffer.len() as u64;
        Self { buffer: Arc::new(buffer), range: 0..len, offset, memory }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.range.clone()]
    }

    /// Bytes of the text.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    pub fn offset(&self) -> ByteOffset {
        self.offset
    }

    /// Bytes of memory that the text takes.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The text up to a byte, and the text from this byte on.
    pub fn split_at(self, at: usize) -> (Self, Self) {
        let Self { buffer, range, offset, memory } = self;
        let middle = range.start + at;
        let first = at as u64;
        let before = Self { buffer: buffer.clone(), range: range.start..middle, offset, memory: first };
        (before, Self { buffer, range: middle..range.end, offset: offset + first, memory: memory - first })
    }

    /// The text as one of an input.
    pub fn text(&self) -> Text<'static> {
        let Range { start, end } = self.range;
        let memory = Some(Memory::Shared(self.buffer.clone()));
        Text { memory, start, end, offset: self.offset, extract: None }
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
    pub tree: Option<Arc<SchemaTree>>,
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
