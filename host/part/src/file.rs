//! Groups from and to a Parquet file with sections, a directory and checksums.
//!
//! Every program that reads Parquet reads the columns. The rest lies in ranges of the same file that the
//! footer does not name: sections, and a directory with the checksums of everything. `docs/part-file.md`
//! draws the bytes.
//!
//! | module | question |
//! |---|---|
//! | `schema` | which schema of Parquet is a tree? |
//! | `levels` | which values and levels are a column, and which has a leaf before it is known? |
//! | `encode`, `decode` | how does a column become a chunk, and a chunk a column? |
//! | `pages`, `thrift` | do the pages of a chunk, and the footer, claim more than they have? |
//! | `index` | which bounds do the pages of a column have? |
//! | `bloom` | which columns have Bloom filters, and what do these exclude? |
//! | `table` | which pages have some rows? |
//! | `directory` | where is everything, and is it unchanged? |
//! | `write`, `read` | in which order do the ranges lie, and which are read for what? |
//! | `source` | how are few reads made of many ranges? |

mod bloom;
mod bounds;
mod decode;
mod directory;
mod encode;
mod error;
mod index;
mod levels;
mod pages;
mod read;
mod schema;
mod source;
mod table;
mod thrift;
mod write;

use warpath_core::pool;

pub use bloom::BloomFilter;
pub use bounds::{Bound, Bounds};
pub use directory::KEY;
pub use encode::Encoding;
pub use error::Error;
pub use read::{GroupSize, Reader, is_part};
pub use source::ReadAt;
pub use write::Writer;

use crate::group::NodeIx;

/// The section with the leaves of a group as they are in memory. It repeats what the columns say, so
/// [`Reader::group`] leaves it out, and [`RESIDENT_LINES`] too. Crate `warpath-resident` knows their bytes.
pub const RESIDENT: &str = "resident";
/// The section with the lines of a group as they are in memory.
pub const RESIDENT_LINES: &str = "resident-lines";

/// True for a section that is no part of a [`Group`](crate::group::Group), because it repeats what columns
/// and other sections say.
fn repeats(section: &str) -> bool {
    bloom::leaf(section).is_some() || section == RESIDENT || section == RESIDENT_LINES
}

/// Choices of a writer.
#[derive(Clone, Debug)]
pub struct Options {
    /// The level of zstd for columns of numbers and booleans.
    pub level: i32,
    /// The level of zstd for columns of text.
    pub text_level: i32,
    /// The level of zstd for sections; `None` for sections that stay as they are.
    pub section_level: Option<i32>,
    /// The number of bytes of which the offset of a group's first section is a multiple. Zeros are before it.
    pub section_align: u64,
    /// The most rows of a page.
    pub page_rows: usize,
    /// The bytes of values after which a page ends. Who reads one line reads a page of each column.
    pub page_bytes: usize,
    /// Entries of a leaf on which the encodings are tried.
    pub sample: usize,
    /// The column chunks that get a Bloom filter.
    pub filters: Filters,
    /// Threads that encode the columns of a group.
    pub workers: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            level: 1,
            text_level: 3,
            section_level: Some(3),
            section_align: 1,
            page_rows: 8192,
            page_bytes: 1 << 20,
            sample: 128 << 10,
            filters: Filters::default(),
            workers: pool::threads(),
        }
    }
}

/// The column chunks that get a Bloom filter, if their values are of the right kind.
#[derive(Clone, Copy, Debug)]
pub struct Filters {
    /// The fewest values of a chunk.
    pub values: usize,
    /// The fewest bytes of a chunk for each byte of its filter.
    pub chunk: usize,
    /// The fewest bytes of a group's chunks for each byte of its filters.
    pub group: usize,
}

impl Default for Filters {
    fn default() -> Self {
        Self { values: 1024, chunk: 4, group: 32 }
    }
}

/// A part that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Rows of all groups.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes of the text of all groups.
    pub text_bytes: u64,
    /// Number of groups.
    pub groups: usize,
    /// The leaves, in the order of the file's schema.
    pub leaves: Vec<LeafSummary>,
}

/// A leaf in the whole part, or in one group.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafSummary {
    /// The leaf.
    pub node: NodeIx,
    /// The encoding of its values.
    pub encoding: Encoding,
    /// Bytes in the file.
    pub compressed: u64,
    /// Bytes before compression.
    pub uncompressed: u64,
    /// Entries without a value.
    pub nulls: u64,
    /// Bounds of the values, if there are values.
    pub bounds: Option<Bounds>,
}
