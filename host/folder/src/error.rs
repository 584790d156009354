//! Errors of folders.

use std::io;

use crate::part::Known;

/// An error of a folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// The storage failed. If a version was being created, it may be there or not; open the folder to see.
    #[error("cannot {action} `{name}`")]
    Storage {
        /// The operation, as a verb.
        action: &'static str,
        /// The name within the folder.
        name: String,
        /// The error of the storage.
        source: io::Error,
    },
    /// There is no log.
    #[error("there is no `_delta_log` with a version here; create the store first, or check the path")]
    NoLog,
    /// There is a log already.
    #[error("there is a store here already; open it, or choose another path")]
    Exists,
    /// A file of the log was altered.
    #[error("{file}:{line}: {what}; the file was altered, so restore it from a copy")]
    Malformed {
        /// The file within the folder.
        file: String,
        /// The line, from 1 on.
        line: usize,
        /// The fault, and what was expected.
        what: String,
    },
    /// The log has what this crate does not read.
    #[error("{file}:{line}: {what} is not supported; only Warpath may write to a store")]
    Unsupported {
        /// The file within the folder.
        file: String,
        /// The line, from 1 on.
        line: usize,
        /// The feature.
        what: String,
    },
    /// The log lacks a version.
    #[error("`{missing}` is missing, but there are versions up to {last}; restore the file from a copy")]
    Gap {
        /// The file within the folder.
        missing: String,
        /// The last version.
        last: u64,
    },
    /// The log begins with a checkpoint.
    #[error(
        "the log begins with a checkpoint of another program, which is not supported; `{missing}` is missing"
    )]
    Checkpoint {
        /// The first file within the folder.
        missing: String,
    },
    /// A part is missing, or has another size.
    #[error("part `{name}` has {} in place of {expected} bytes; restore it from a copy", size(*.found))]
    Missing {
        /// The name of the part.
        name: String,
        /// The bytes that the log says.
        expected: u64,
        /// The bytes of the part; `None` if it is not there.
        found: Option<u64>,
    },
    /// A newer version by another writer does not go with this change. The folder is at that version.
    #[error("{what} (version {version} of the store); run the command again")]
    Conflict {
        /// The difference.
        what: String,
        /// The version that this change was checked against.
        version: u64,
    },
    /// An input of the change is known.
    #[error("input `{name}` {state}")]
    KnownInput {
        /// The name of the input.
        name: String,
        /// Its state.
        state: Known,
    },
    /// A schema is not valid, or does not go with the schema of the folder.
    #[error("field `{path}`: {what}")]
    Schema {
        /// The names from the root on, joined by dots.
        path: String,
        /// The fault, and what was expected.
        what: String,
    },
    /// A fact of the change is not valid.
    #[error("`{name}`: {what}")]
    Invalid {
        /// The name of the part or input.
        name: String,
        /// The fault, and what was expected.
        what: String,
    },
    /// Other writers were faster, each time.
    #[error("other writers created {attempts} versions meanwhile; try again")]
    Contention {
        /// The number of attempts.
        attempts: u32,
    },
}

fn size(found: Option<u64>) -> String {
    found.map_or_else(|| "no file".to_owned(), |bytes| format!("{bytes} bytes"))
}

impl FolderError {
    pub(crate) fn storage<'a>(action: &'static str, name: &'a str) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Storage { action, name: name.to_owned(), source }
    }

    pub(crate) fn invalid(name: &str, what: impl Into<String>) -> Self {
        Self::Invalid { name: name.to_owned(), what: what.into() }
    }
}
