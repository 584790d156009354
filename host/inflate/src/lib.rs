//! Gzip data, decompressed by one thread or by several.
//!
//! | module | contents |
//! |---|---|
//! | `stream` | `GzipReader`: members read from start to end, in the thread that reads |
//! | `parallel`, `chunk`, `find` | `ParallelGzip`: chunks in the right order; one chunk; the search for its header |
//! | `text`, `raw` | text after an unknown window; the bytes of the file |
//! | `block`, `table` | blocks of DEFLATE, and the tables of their codes |
//! | `member` | headers, trailers and faults of members |

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
