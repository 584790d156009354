//! Inputs: files, standard input and bytes, plain or compressed, as partitions of whole lines.
//!
//! | module | question it answers |
//! |---|---|
//! | [`source`] | what is there to be read, and in which of two ways? |
//! | [`plain`] | how is a part of a plain file read, wherever it stands? |
//! | [`sequence`] | how is everything else read, from its start to its end? |
//! | [`feed`] | what if its bytes come slowly? |
//! | [`selected`] | and if only some lines of it are wanted? |
//! | [`buffers`] | where do the bytes go? |

mod buffers;
mod feed;
mod plain;
mod selected;
mod sequence;
mod source;

use std::sync::Arc;

use warpath_shared::units::ByteOffset;

use crate::document::{Extract, Whole};

pub(crate) use buffers::{Buffers, Lent};
pub(crate) use plain::{Cut, PlainFile, Stretch, read_exact_at};
pub(crate) use selected::{Selected, Selection};
pub(crate) use sequence::Sequence;
pub(crate) use source::Opened;
pub use source::Source;

/// UTF-8's byte order mark: no part of the text where an input begins with it (RFC 8259 section 8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of a partition: whole lines of one input, whose last line may lack its newline.
#[derive(Debug)]
pub(crate) struct Text {
    /// `None` once it has been given back.
    memory: Option<Memory>,
    start: usize,
    end: usize,
    /// Its place in the input, in decompressed bytes.
    offset: ByteOffset,
    /// What it is of the input, if it is not its lines as they follow each other there.
    extract: Option<Extract>,
}

/// Where a text is.
#[derive(Debug)]
enum Memory {
    Lent(Lent),
    Kept(Arc<[u8]>),
}

impl Text {
    /// What stands in `start..end` of a buffer. `offset` is its place in the input.
    pub fn lent(buffer: Lent, (start, end): (usize, usize), offset: ByteOffset) -> Self {
        Self { memory: Some(Memory::Lent(buffer)), start, end, offset, extract: None }
    }

    /// A text that others have, too.
    pub fn kept(bytes: Arc<[u8]>, offset: ByteOffset) -> Self {
        Self { start: 0, end: bytes.len(), memory: Some(Memory::Kept(bytes)), offset, extract: None }
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.memory {
            Some(Memory::Lent(buffer)) => &buffer[self.start..self.end],
            Some(Memory::Kept(bytes)) => bytes,
            None => &[],
        }
    }

    /// How many bytes it has, or had.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Gives the bytes back before the text goes.
    pub fn forget(&mut self) {
        self.memory = None;
    }

    pub fn offset(&self) -> ByteOffset {
        self.offset
    }

    /// The same text, which is this of the input.
    pub fn with_extract(self, extract: Extract) -> Self {
        Self { extract: Some(extract), ..self }
    }

    /// What it is of the input, if it is not its lines as they follow each other there.
    pub fn extract(&self) -> Option<&Extract> {
        self.extract.as_ref()
    }

    /// Makes one line of a document.
    pub fn flattened(mut self) -> Self {
        let range = self.start..self.end;
        if let Some(Memory::Lent(buffer)) = &mut self.memory {
            let (whole, len) = Whole::of(&mut buffer[range]);
            self.end = self.start + len;
            self.extract = Some(Extract::Whole(Arc::new(whole)));
        }
        self
    }
}
