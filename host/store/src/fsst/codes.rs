//! Compressed strings as arrays of codes, offsets and splits.

use warpath_shared::fsst::{Split, Table};

/// Strings that are compressed, as codes of one table.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    /// What the codes stand for.
    pub table: &'a Table,
    /// The codes of all strings, one behind the other.
    pub codes: &'a [u8],
    /// Where the output of every [`SPLIT_CODES`](warpath_shared::fsst::SPLIT_CODES) codes begins, and at the end how long all strings are together; or nothing, where that is not known.
    pub splits: &'a [Split],
    /// For each split the first string that begins in it or behind it. Nothing, if strings do not matter, or there are no splits.
    pub first_strings: &'a [u64],
    /// Where in the codes each string begins, ascending from 0, and at the end how many codes there are. Nothing, if strings do not matter.
    pub offsets: &'a [u64],
    /// How many bytes all strings have together.
    pub len: u64,
}
