//! Errors of lines from and to groups.

/// The reason for which a group cannot be made or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// More text than offsets of 32 bits can address.
    #[error("{len} bytes of text for one row group; the limit is {limit}. Split the text at a line end")]
    TooLong {
        /// Bytes of the text.
        len: u64,
        /// Greatest number of bytes.
        limit: u64,
    },
    /// A group that does not give its text back, even with all lines in `_raw`. This is a fault of the
    /// program.
    #[error("row {row} of a row group differs from its text after the check; this is a fault of Warpath")]
    Inexact {
        /// The first row that differs.
        row: u32,
    },
    /// A group, a tree or a section that the shredder cannot have made.
    #[error("{place}: {what}. The part is damaged, or another program has changed it; verify or restore it")]
    Damaged {
        /// The section, or the part of the group.
        place: &'static str,
        /// The contradiction.
        what: String,
    },
    /// Rows that the group does not have.
    #[error("rows {begin} to {end} of a row group with {rows} rows")]
    NoSuchRows {
        /// The first row.
        begin: u32,
        /// The row after the last.
        end: u32,
        /// Rows of the group.
        rows: u32,
    },
}

/// The result of a conversion between lines and groups.
pub type Result<T> = std::result::Result<T, Error>;

/// An [`Error::Damaged`].
pub(super) fn damaged(place: &'static str, what: impl Into<String>) -> Error {
    Error::Damaged { place, what: what.into() }
}
