//! Inputs: files, standard input and bytes, plain or compressed, as partitions of whole lines.

mod feed;
mod partition;
mod source;

pub(crate) use partition::{Partition, Partitions};
pub use source::Source;
