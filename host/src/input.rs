//! Inputs: files, standard input and bytes, plain or compressed, as partitions of whole lines.
//!
//! | module | question it answers |
//! |---|---|
//! | [`source`] | what is there to be read, and in which of two ways? |
//! | [`plain`] | how is a part of a plain file read, wherever it stands? |
//! | [`sequence`] | how is everything else read, from its start to its end? |
//! | [`feed`] | what if its bytes come slowly? |
//! | [`buffers`] | where do the bytes go? |

mod buffers;
mod feed;
mod plain;
mod sequence;
mod source;

use warpath_shared::units::ByteOffset;

pub(crate) use buffers::Buffers;
pub(crate) use plain::{Cut, PlainFile};
pub(crate) use sequence::Sequence;
pub(crate) use source::Opened;
pub use source::Source;

use buffers::Lent;

/// UTF-8's byte order mark: no part of the text where an input begins with it (RFC 8259 section 8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of a partition: whole lines of one input, whose last line may lack its newline.
#[derive(Debug)]
pub(crate) struct Text {
    /// `None` once it has been given back.
    buffer: Option<Lent>,
    start: usize,
    end: usize,
    /// Its place in the input, in decompressed bytes.
    offset: ByteOffset,
}

impl Text {
    pub fn bytes(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], |buffer| &buffer[self.start..self.end])
    }

    /// How many bytes it has, or had.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Gives the bytes back before the text goes.
    pub fn forget(&mut self) {
        self.buffer = None;
    }

    pub fn offset(&self) -> ByteOffset {
        self.offset
    }
}
