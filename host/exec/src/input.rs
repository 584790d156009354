//! Inputs: files, standard input and bytes, plain or compressed, as partitions of whole lines.
//!
//! | module | question it answers |
//! |---|---|
//! | `source` | what is there to be read, and in which of two ways? |
//! | `plain` | how is a part of a plain file read, wherever it stands? |
//! | `sequence` | how is everything else read, from its start to its end? |
//! | `feed` | what if its bytes come slowly? |
//! | `selected` | and if only some lines of it are wanted? |
//! | `selection` | which lines a text consists of |
//! | `text` | the text of a partition |
//! | `buffers` | where do the bytes go? |

mod buffers;
mod feed;
mod plain;
mod selected;
mod selection;
mod sequence;
mod source;
mod text;

pub(crate) use buffers::Buffers;
pub(crate) use feed::MAX_LATENCY;
pub(crate) use plain::{Cut, PlainFile, Stretch};
pub(crate) use selected::Selection;
pub(crate) use sequence::Sequence;
pub(crate) use source::Opened;
pub use source::Source;
pub(crate) use text::{BYTE_ORDER_MARK, Extract, Text};
