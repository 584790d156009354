//! Errors, by whose fault they are.

use std::path::PathBuf;

use warpath_shared::check::{Fault, FaultKind};
use warpath_shared::fsst::CodeFault;
use warpath_shared::tree::{TreeFault, TreeFaultKind};
use warpath_shared::units::Level;

use crate::diagnostic::QueryError;

/// Why Warpath could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The query is not one. The caller's fault.
    #[error("{0}")]
    Query(QueryError),
    /// The query is valid, and Warpath does not run it yet.
    #[error("{0}")]
    Unsupported(QueryError),
    /// An expression over a bitmap index is not one, or not over its columns. The caller's fault.
    #[error("{0}")]
    Expression(QueryError),
    /// A setting makes no sense. The caller's fault.
    #[error("{0}")]
    Usage(String),
    /// The input could not be read, or is not what it should be.
    #[error(transparent)]
    Input(#[from] InputError),
    /// An index cannot be made or used.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A column of compressed strings cannot be read, written or decoded.
    #[error(transparent)]
    Column(#[from] ColumnError),
    /// A device is missing or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Warpath's own fault. Please report it.
    #[error("internal error: {0}")]
    Internal(String),
}

/// What is wrong with an input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// It cannot be opened or read.
    #[error("{name}: {source}")]
    Io {
        /// The file, or `<stdin>`.
        name: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// It is a folder.
    #[error("{}: is a directory", .0.display())]
    Directory(PathBuf),
    /// Its compressed form is damaged or ends early. What was read before was answered.
    #[error("{name}: {format} data is damaged or ends early: {source}")]
    Compressed {
        /// The file, or `<stdin>`.
        name: String,
        /// `gzip` or `zstd`.
        format: &'static str,
        /// What the decoder says.
        source: std::io::Error,
    },
    /// It is no XML document.
    #[error("{name}:{line}:{byte}: {message}")]
    Xml {
        /// The file.
        name: String,
        /// The line, from 1 on.
        line: u64,
        /// The byte of the line, from 1 on.
        byte: u64,
        /// What is wrong.
        message: String,
    },
    /// It does not begin as a packed file does.
    #[error("{name}: is no packed file")]
    NotPacked {
        /// The file, or `<stdin>`.
        name: String,
    },
    /// It is packed in a form that this version of Warpath does not read.
    #[error("{name}: is packed in version {found} of the format; this Warpath reads version {known}")]
    PackedVersion {
        /// The file, or `<stdin>`.
        name: String,
        /// Its version.
        found: u64,
        /// The version that is read.
        known: u32,
    },
    /// A packed file is not as it was written, or ends early. From a pipe, what is before the damage was answered.
    #[error("{name}: packed data is damaged: {what}")]
    Packed {
        /// The file, or `<stdin>`.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// A record is malformed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A record is no tree, though none of what is always checked is wrong with it.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A file of Parquet's or Arrow's cannot be read as a table.
    #[error("{name}: {what}")]
    Table {
        /// The file, or what the table is called.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// A column of a table is of a type that is none of Warpath's.
    #[error(
        "{name}: the column `{column}` has the type {found}; an index is made of integers, floats, strings, booleans, timestamps and dates"
    )]
    ColumnType {
        /// The file, or what the table is called.
        name: String,
        /// The column.
        column: String,
        /// Its type, as Arrow names it.
        found: String,
    },
    /// A record does not fit a partition of the largest size.
    #[error("{name}:{line}: record is longer than {limit} bytes")]
    RecordTooLong {
        /// The file, or `<stdin>`.
        name: String,
        /// Its line, counted from 1.
        line: u64,
        /// The most bytes that a record may have.
        limit: usize,
    },
}

/// A malformed record: `file:line:byte: reason`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}:{byte}: {kind}")]
pub struct RecordError {
    /// The file, or `<stdin>`.
    pub name: String,
    /// The line, counted from 1; blank lines count.
    pub line: u64,
    /// The byte within the line, counted from 1.
    pub byte: u64,
    /// What is wrong there.
    pub kind: FaultKind,
}

/// A record that is no tree: `file:line:byte: reason`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}:{byte}: {kind}")]
pub struct TreeError {
    /// The file, or `<stdin>`.
    pub name: String,
    /// The line, counted from 1; blank lines count.
    pub line: u64,
    /// The byte within the line, counted from 1.
    pub byte: u64,
    /// What is wrong there.
    pub kind: TreeFaultKind,
}

impl InputError {
    /// The error of a line, counted from 1, that is no record.
    #[must_use]
    pub fn of_fault(name: &str, line: u64, fault: Fault) -> Self {
        RecordError { name: name.to_owned(), line, byte: fault.at as u64 + 1, kind: fault.kind }.into()
    }

    /// The error of an XML document: `message` is about its byte `at`.
    #[must_use]
    pub fn of_xml(name: &str, text: &str, at: u64, message: String) -> Self {
        let at = text.len().min(usize::try_from(at).unwrap_or(usize::MAX));
        let before = &text.as_bytes()[..at];
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let line = memchr::memchr_iter(b'\n', before).count() as u64 + 1;
        Self::Xml { name: name.to_owned(), line, byte: (at - start) as u64 + 1, message }
    }

    /// The error of a line, counted from 1, whose text is no tree: the same [`Record`](Self::Record) as everywhere where it is one
    /// of the faults that are always looked for.
    #[must_use]
    pub fn of_tree(name: &str, line: u64, fault: TreeFault) -> Self {
        let (name, byte) = (name.to_owned(), fault.at as u64 + 1);
        match fault.kind {
            TreeFaultKind::Record(kind) => RecordError { name, line, byte, kind }.into(),
            kind => TreeError { name, line, byte, kind }.into(),
        }
    }
}

impl From<InputError> for std::io::Error {
    /// An error of the input behind a reader.
    fn from(error: InputError) -> Self {
        Self::other(error)
    }
}

/// A number of levels, in words.
fn levels(count: Level) -> String {
    format!("{count} level{}", if count == 1 { "" } else { "s" })
}

/// What is wrong with an index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// A program reads more levels than the index has.
    #[error("the index has {}, and the query reads {}", levels(*kept), levels(*needed))]
    TooFewLevels {
        /// How many there are.
        kept: Level,
        /// How many the program reads.
        needed: Level,
    },
    /// An index file cannot be read or written.
    #[error("{name}: {source}")]
    Io {
        /// The index file.
        name: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A file is no index.
    #[error("{name}: is no index of Warpath")]
    NotAnIndex {
        /// The file.
        name: String,
    },
    /// An index file has a form that this version of Warpath does not read.
    #[error("{name}: is an index of version {found}; this Warpath reads version {known}")]
    Version {
        /// The index file.
        name: String,
        /// Its version.
        found: u32,
        /// The version that is read.
        known: u32,
    },
    /// An index file is not as it was written.
    #[error("{name}: the index is damaged: {what}")]
    Damaged {
        /// The index file.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// An index file is of another input, or the input has changed.
    #[error("{name}: the index is not of {input} as it is: {what}")]
    OtherInput {
        /// The index file.
        name: String,
        /// The input.
        input: String,
        /// What differs.
        what: String,
    },
    /// An input has changed while its index was made.
    #[error("{input}: has changed while it was indexed")]
    Unsettled {
        /// The input.
        input: String,
    },
    /// An input is of a kind that has no index file.
    #[error("{input}: {why}, and an index file says where lines stand in a plain file, or a packed one")]
    NotPlain {
        /// The input.
        input: String,
        /// What it is.
        why: &'static str,
    },
}

/// What is wrong with a column of compressed strings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnError {
    /// Its file cannot be read or written.
    #[error("{name}: {source}")]
    Io {
        /// The file.
        name: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A file is no column.
    #[error("{name}: is no column of strings of Warpath")]
    NotAColumn {
        /// The file.
        name: String,
    },
    /// The file has a form that this version of Warpath does not read.
    #[error("{name}: is a column of version {found}; this Warpath reads version {known}")]
    Version {
        /// The file.
        name: String,
        /// Its version.
        found: u32,
        /// The version that is read.
        known: u32,
    },
    /// It is not as it was written, or was never a column.
    #[error("{name}: the column is damaged: {what}")]
    Damaged {
        /// The file, or what the column is called.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// The codes of a string are none.
    #[error("{name}: string {row}: {fault}")]
    Codes {
        /// The file, or what the column is called.
        name: String,
        /// The string, counted from 0.
        row: u64,
        /// What is wrong, by the place in the string's codes.
        fault: CodeFault,
    },
    /// A string is not as long as it is said to be.
    #[error("{name}: string {row} goes on to byte {found} of all strings where byte {said} is said to be")]
    Length {
        /// The file, or what the column is called.
        name: String,
        /// The string, counted from 0: that which goes on where it is noticed.
        row: u64,
        /// How many bytes the codes up to some place stand for.
        found: u64,
        /// How many they are said to stand for.
        said: u64,
    },
    /// A string is not UTF-8, and text is wanted.
    #[error("{name}: string {row} is not UTF-8")]
    NotUtf8 {
        /// The file, or what the column is called.
        name: String,
        /// The string, counted from 0.
        row: u64,
    },
    /// The strings are too long for 32-bit offsets.
    #[error(
        "{name}: the strings have {bytes} bytes, more than 32-bit offsets reach; 64-bit offsets reach all"
    )]
    TooLong {
        /// The file, or what the column is called.
        name: String,
        /// How many bytes they have together.
        bytes: u64,
    },
    /// There is no memory for what is wanted.
    #[error("{name}: there is no memory for {bytes} bytes")]
    Memory {
        /// The file, or what the column is called.
        name: String,
        /// How many bytes were wanted.
        bytes: u64,
    },
}

/// What is wrong with a device.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is no CUDA driver on this machine, or this build of Warpath does not use one.
    #[error("no CUDA driver found")]
    NoDriver,
    /// There is a driver, and no device, or fewer than were asked for.
    #[error("no CUDA device {wanted}: {found} found")]
    NoDevice {
        /// The number asked for, from 0.
        wanted: usize,
        /// How many there are.
        found: usize,
    },
    /// The device is of a kind that Warpath's kernels cannot run on.
    #[error("CUDA device {number} has compute capability {}.{}; 7.5 or newer is needed", .capability.0, .capability.1)]
    TooOld {
        /// Its number, from 0.
        number: usize,
        /// Its compute capability: major, minor.
        capability: (i32, i32),
    },
    /// The driver refused a call.
    #[error("CUDA: {call}: {message}")]
    Cuda {
        /// What was asked of it.
        call: &'static str,
        /// What it said.
        message: String,
    },
    /// The device has not enough memory for a partition.
    #[error("device memory: {wanted} bytes wanted, {free} free; try a smaller --partition-size")]
    OutOfMemory {
        /// What the partition needs.
        wanted: u64,
        /// What the device has.
        free: u64,
    },
    /// An index that is to be kept does not fit.
    #[error("device memory: an index that is kept there needs {needed} bytes, {free} are free")]
    IndexTooLarge {
        /// What text, index and scratch need, about.
        needed: u64,
        /// What the device has, or the devices together have.
        free: u64,
    },
}
