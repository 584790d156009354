//! Gzip data, decompressed by one thread or by several.

mod block;
mod member;
mod stream;
mod table;

pub use stream::GzipReader;
