//! Packed NDJSON: text whose bytes are kept as codes of FSST, and read where they are wanted. docs/packed-file.md has the format.
//!
//! ```no_run
//! use warpath::packed::{PackOptions, PackedFile, pack};
//!
//! # fn main() -> Result<(), warpath::Error> {
//! let stats = pack("tweets.ndjson".into(), std::path::Path::new("tweets.wpk"), PackOptions::default())?;
//! println!("{:.2} times as many bytes", stats.text_bytes as f64 / stats.file_bytes as f64);
//!
//! let packed = PackedFile::open("tweets.wpk")?;
//! let line = packed.lines(1_000_000..1_000_001)?;
//! # Ok(())
//! # }
//! ```
//!
//! | module | question it answers |
//! |---|---|
//! | `layout` | what stands where in the file? |
//! | `group` | what is a group of lines, and how is a part of its text read? |
//! | `write` | how is a file made? |
//! | `file` | how is any part of one read? |
//! | `stream` | and if it comes through a pipe? |
//! | `text` | what if it is decoded elsewhere? |

pub mod file;
pub mod group;
pub mod layout;
pub mod stream;
pub mod text;

pub use file::{PackedFile, PackedInfo};
pub use group::Group;
pub use layout::VERSION;
pub use text::PackedText;
