//! Errors of writing and reading a part, by whose fault they are.

use std::io;

use parquet::errors::ParquetError;

/// A failure to write or to read a part.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The source or the output failed.
    #[error("input or output of the part failed: {0}")]
    Io(#[from] io::Error),
    /// The file does not end as a Parquet file does.
    #[error("not a Parquet file: its last 8 bytes are no footer length and `PAR1`; was the file cut?")]
    NotParquet,
    /// The file is a Parquet file that Warpath did not write, or that another program wrote again.
    #[error(
        "not a part: this Parquet file was written by another program; read it as an ordinary Parquet file"
    )]
    Foreign,
    /// The part has a format that this version does not know.
    #[error("part has format version {found}, but this program reads version 1: use a newer Warpath")]
    Version {
        /// The version that the footer states.
        found: u64,
    },
    /// Bytes of the file are not those that were written.
    #[error(
        "checksum mismatch in {what} ({len} bytes at offset {offset}): the file has changed since it was \
         written; restore it from a copy"
    )]
    Checksum {
        /// The name of the range.
        what: String,
        /// The offset of its first byte.
        offset: u64,
        /// Its length in bytes.
        len: u64,
    },
    /// A range has the right checksum, but contents that no writer of this version makes.
    #[error("invalid {what}: {why}; the file was not written by Warpath, restore it from a copy")]
    Invalid {
        /// The name of the range.
        what: String,
        /// The rule that its contents break.
        why: String,
    },
    /// The caller gave a tree or a group that cannot be written.
    #[error("cannot write {what}: {why}")]
    Unwritable {
        /// The tree, the group, or the column.
        what: String,
        /// The rule that it breaks.
        why: String,
    },
    /// The caller named a group, leaf or section that the part does not have.
    #[error("the part has no {0}")]
    Missing(String),
    /// The library for Parquet failed.
    #[error("Parquet: {0}")]
    Parquet(#[from] ParquetError),
}

impl Error {
    pub(super) fn invalid(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Invalid { what: what.into(), why: why.into() }
    }

    pub(super) fn unwritable(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Unwritable { what: what.into(), why: why.into() }
    }
}
