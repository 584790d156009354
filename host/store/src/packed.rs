//! Packed NDJSON: text whose bytes are stored as FSST codes and decoded where a reader needs them.
//! docs/packed-file.md has the format.
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
//! | module | contents |
//! |---|---|
//! | `layout` | the offsets of a file, its header and its table |
//! | `group` | groups of lines, and the decoding of any part of a group's text |
//! | `file` | reads of any part of a file |
//! | `stream` | reads of a packed file that comes through a pipe |
//! | `text` | the text of a file for a decoder elsewhere, such as a GPU |

pub mod file;
pub mod group;
pub mod layout;
pub mod stream;
pub mod text;

pub use file::{PackedFile, PackedInfo};
pub use group::PackedGroup;
pub use layout::VERSION;
pub use text::PackedText;
