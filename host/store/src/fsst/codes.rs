//! Compressed strings as arrays of codes, offsets and splits.

use warpath_shared::fsst::{Split, Table};

/// Strings that are compressed, as codes of one table.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    /// The table that decodes the codes.
    pub table: &'a Table,
    /// The codes of all strings, without separators.
    pub codes: &'a [u8],
    /// The text offset at every [`SPLIT_CODES`](warpath_shared::fsst::SPLIT_CODES) codes, and last the length
    /// of all strings together.
    pub splits: &'a [Split],
    /// For each split, the first string that begins at the split or after it. Empty if string boundaries do
    /// not matter.
    pub first_strings: &'a [u64],
    /// The start of each string in the codes, ascending from 0, and last the number of codes. Empty if string
    /// boundaries do not matter.
    pub offsets: &'a [u64],
    /// Length in bytes of all strings together, decoded.
    pub len: u64,
}
