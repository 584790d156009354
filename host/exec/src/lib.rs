//! TODO

pub mod auto;
pub mod bitmap;
pub mod document;
pub mod dump;
pub mod engine;
pub mod index_file;
pub mod input;
pub mod pack;
#[cfg(feature = "arrow")]
pub mod record_batches;
pub mod resident;
pub mod stream;
pub mod unpack;
