//! Gzip data, decompressed by one thread or by several.

mod block;
mod chunk;
mod find;
mod member;
mod parallel;
mod raw;
mod stream;
mod table;
#[cfg(test)]
mod tests;
mod text;

pub use parallel::ParallelGzip;
pub use stream::GzipReader;
