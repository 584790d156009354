//! Inputs: files, standard input and bytes, plain or compressed, as partitions of whole lines.

mod partition;
mod source;

pub(crate) use partition::{Partition, Partitions};
pub use source::Source;
