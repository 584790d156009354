//! The text of a partition, and which part of its input it is.

use std::sync::Arc;

use warpath_core::error::Error;
use warpath_shared::check::Fault;
use warpath_shared::units::ByteOffset;
use warpath_store::packed::text::PackedText;

use super::buffers::{Buffers, Lent};
use super::selection::Selected;
use crate::document::whole::Whole;

/// UTF-8's byte order mark: no part of the text where an input begins with it (RFC 8259 section 8.1).
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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
    /// So many bytes of a group of this file, as they stand there.
    Packed(Lent, usize, Arc<str>),
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

    /// What stands in a group of a packed file of this name: its bytes are the first of a buffer, and its text is so long. It has no bytes before it is
    /// [unpacked](Self::unpack).
    pub fn packed((buffer, len): (Lent, usize), name: Arc<str>, text: usize, offset: ByteOffset) -> Self {
        Self { memory: Some(Memory::Packed(buffer, len, name)), start: 0, end: text, offset, extract: None }
    }

    /// The text as it is packed, if it is.
    ///
    /// # Errors
    /// [`Error::Input`] if it is damaged.
    pub fn as_packed(&self) -> Result<Option<PackedText<'_>>, Error> {
        match &self.memory {
            Some(Memory::Packed(buffer, len, name)) => PackedText::new(&buffer[..*len], name).map(Some),
            _ => Ok(None),
        }
    }

    /// Decodes the text, if it is packed.
    ///
    /// # Errors
    /// [`Error::Input`] if it is damaged. [`Error::Device`] where memory is short.
    pub fn unpack(&mut self, buffers: &Arc<Buffers>) -> Result<(), Error> {
        if let Some(packed) = self.as_packed()? {
            let mut buffer = buffers.take_long(self.len().next_multiple_of(1 << 20))?;
            packed.decode(&mut buffer[..self.end])?;
            self.memory = Some(Memory::Lent(buffer));
        }
        Ok(())
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.memory {
            Some(Memory::Lent(buffer)) => &buffer[self.start..self.end],
            Some(Memory::Kept(bytes)) => bytes,
            Some(Memory::Packed(..)) | None => &[],
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

/// What a text is, of an input whose lines it is not, or not all of them.
#[derive(Clone, Debug)]
pub(crate) enum Extract {
    /// All of a document.
    Whole(Arc<Whole>),
    /// Elements of the array with this normalised path, a line each.
    Elements(Arc<str>),
    /// Some lines, which may stand apart.
    Lines(Arc<Selected>),
}

impl Extract {
    /// What is wrong with a document that did not become one line.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::Whole(whole) => whole.broken,
            Self::Elements(_) | Self::Lines(_) => None,
        }
    }
}
