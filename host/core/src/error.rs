//! Errors, by whose fault they are.

use std::iter;
use std::path::PathBuf;
use std::sync::Arc;

use warpath_shared::check::Fault;
use warpath_shared::tree::TreeFault;
use warpath_shared::units::Level;

use crate::diagnostic::QueryError;
use crate::foreign::Foreign;

/// The kind of a fault in a record ([`RecordError::kind`]).
///
/// ```
/// use warpath::{Engine, Error, FaultKind, InputError, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let input = Engine::builder().build()?.bytes("{\"a\":\"b}\n");
/// let Err(Error::Input(InputError::Record(error))) = input.count(&Query::compile("$.a")?) else { panic!() };
/// assert_eq!(error.kind, FaultKind::UnclosedString);
/// assert_eq!(error.kind.to_string(), "string is not closed by the end of the line");
/// # Ok(())
/// # }
/// ```
pub use warpath_shared::check::FaultKind;

/// The reason why a record is no tree ([`TreeError::kind`]).
///
/// ```
/// use warpath::TreeFaultKind;
///
/// assert_eq!(TreeFaultKind::NoColon.to_string(), "name without a `:` after it");
/// ```
pub use warpath_shared::tree::TreeFaultKind;

/// An error of another library, or of the system.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The message of an error and those of its sources, joined by colons.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let sources = iter::successors(error.source(), |&source| source.source());
    sources.fold(error.to_string(), |text, source| format!("{text}: {source}"))
}

/// An error of Warpath.
///
/// `Display` gives the message of this error alone. The error beneath it, such as that of the operating
/// system, is its [`source`](std::error::Error::source). [`chain`](Self::chain) joins all messages.
///
/// ```
/// use warpath::{Engine, Error, InputError, Query};
///
/// let count = |query| Engine::builder().build()?.bytes("{\"a\":1}\n{\"a\"\n").count(&Query::compile(query)?);
/// assert!(matches!(count("$.a["), Err(Error::Query(_))));
/// match count("$.a") {
///     Err(Error::Input(InputError::Record(record))) => assert_eq!(record.line, 2),
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not a valid query. The caller's fault.
    #[error(transparent)]
    Query(QueryError),
    /// The query is valid, but Warpath does not run it yet.
    #[error(transparent)]
    Unsupported(QueryError),
    /// The text is not a valid expression over a bitmap index, or not over its columns. The caller's fault.
    #[error(transparent)]
    Expression(QueryError),
    /// A setting is invalid. The caller's fault.
    #[error("{0}")]
    Usage(String),
    /// No plan can serve the request. The caller's fault.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The input could not be read, or is malformed.
    #[error(transparent)]
    Input(#[from] InputError),
    /// An index cannot be made or used.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A column of compressed strings cannot be read, written or decoded.
    #[error(transparent)]
    Column(#[from] ColumnError),
    /// A store cannot be read or changed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An output file cannot be written.
    #[error("{name}: cannot be written")]
    Output {
        /// The name of the output.
        name: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A device is missing or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A [token](crate::cancel::CancelToken) cancelled the work.
    #[error("the work was cancelled")]
    Cancelled,
    /// The deadline passed before the work was done.
    #[error("the deadline passed before the work was done")]
    DeadlineExceeded,
    /// A record, or an index that is kept, is larger than the memory budget allows. The caller's fault, or
    /// the input's.
    #[error("{wanted} bytes of memory wanted for {what}; the memory budget allows {limit}")]
    Memory {
        /// The use of the memory.
        what: &'static str,
        /// The bytes that are needed.
        wanted: u64,
        /// The bytes that the budget allows for this use.
        limit: u64,
    },
    /// The operating system has no memory for a record or a partition of this many bytes.
    #[error("there is no memory for {bytes} bytes of text: a record, or a partition of records")]
    OutOfMemory {
        /// The bytes that are needed.
        bytes: u64,
    },
    /// The operating system started no thread.
    #[error("no thread could be started")]
    Thread(#[source] std::io::Error),
    /// Warpath's own fault. Please report it.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// The message of this error and those of its sources, joined by colons.
    ///
    /// ```
    /// use warpath::Engine;
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let error = Engine::builder().build()?.open("none.ndjson").err().unwrap();
    /// assert_eq!(error.to_string(), "none.ndjson: cannot be read or written");
    /// # #[cfg(unix)]
    /// let said = "none.ndjson: cannot be read or written: No such file or directory (os error 2)";
    /// # #[cfg(unix)]
    /// assert_eq!(error.chain(), said);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn chain(&self) -> String {
        chain(self)
    }
}

/// A store that cannot be read or changed.
///
/// ```
/// use std::path::Path;
///
/// use warpath::store::Store;
/// use warpath::{Error, StoreError};
///
/// let opened = Store::open(Path::new("none.wp"));
/// assert!(matches!(opened, Err(Error::Store(StoreError::Refused { .. }))));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refuses a file of the store.
    #[error("{name}: cannot be read or written")]
    Io {
        /// The file or folder.
        name: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The log or a part has other bytes than were written, or is missing.
    #[error("{name}: {reason}")]
    Damaged {
        /// The file or folder.
        name: String,
        /// The fault, and where it is.
        reason: String,
    },
    /// The request does not go with the store: there is none, another program wrote it, or it has changed
    /// meanwhile. The caller's fault.
    #[error("{name}: {reason}")]
    Refused {
        /// The file or folder.
        name: String,
        /// The reason.
        reason: String,
    },
}

/// A request that no plan can serve.
///
/// ```
/// use warpath::{DEFAULT_LEVELS, Engine, Error, Format};
///
/// # fn main() -> Result<(), Error> {
/// let engine = Engine::builder().format(Format::Json).build()?;
/// let Err(Error::Plan(error)) = engine.bytes("{}").index(DEFAULT_LEVELS) else { panic!() };
/// assert_eq!(error.requires(), "a resident index requires NDJSON input");
/// assert_eq!(error.found(), "this input is one JSON document");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{requires}; {found}")]
pub struct PlanError {
    requires: &'static str,
    found: String,
}

impl PlanError {
    /// An error that says what is required, and what was found.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn new(requires: &'static str, found: impl Into<String>) -> Self {
        Self { requires, found: found.into() }
    }

    /// The request, and what it requires.
    #[must_use]
    pub fn requires(&self) -> &str {
        self.requires
    }

    /// The fact that is in the way.
    #[must_use]
    pub fn found(&self) -> &str {
        &self.found
    }
}

/// An error of an input.
///
/// ```
/// use warpath::{Engine, Error, InputError, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let parquet = Engine::builder().build()?.bytes(b"PAR1....").named("events");
/// match parquet.count(&Query::compile("$.a")?) {
///     Err(Error::Input(InputError::Foreign { name, .. })) => assert_eq!(name, "events"),
///     other => panic!("{other:?}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The input cannot be opened or read.
    #[error("{name}: cannot be read or written")]
    Io {
        /// The file, or `<stdin>`.
        name: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The input is a folder.
    #[error("{}: is a directory", .0.display())]
    Directory(PathBuf),
    /// A folder, a pattern or a list means no file.
    #[error("{name}: {why}")]
    NoFiles {
        /// The folder, pattern or list.
        name: String,
        /// A description of what was looked for.
        why: &'static str,
    },
    /// The compressed data is damaged or ends early. The data before the damage was evaluated.
    #[error("{name}: {format} data is damaged or ends early")]
    Compressed {
        /// The file, or `<stdin>`.
        name: String,
        /// `gzip`, `zstd`, `bzip2`, `xz` or `lz4`.
        format: &'static str,
        /// The error of the decoder.
        source: std::io::Error,
    },
    /// The input has a format that this build of Warpath does not read, because a feature is off.
    #[error("{name}: is {format}, which this build of Warpath does not read: its feature `{feature}` is off")]
    NotBuilt {
        /// The file, or `<stdin>`.
        name: String,
        /// The format: `compressed by zstd`, for example, or `a Parquet file`.
        format: String,
        /// The feature of the crate `warpath` that reads the format.
        feature: &'static str,
    },
    /// The input is in a format that is not read as JSON.
    #[error("{name}: is {format}, not JSON in UTF-8")]
    Foreign {
        /// The file, or `<stdin>`.
        name: String,
        /// The format, recognised by the first bytes.
        format: Foreign,
    },
    /// The input is not an XML document.
    #[error("{name}:{line}:{byte}: {message}")]
    Xml {
        /// The file.
        name: String,
        /// The line, from 1 on.
        line: u64,
        /// The byte in the line, from 1 on.
        byte: u64,
        /// The parser's message.
        message: String,
    },
    /// A part of a store is damaged, or of a later version. The lines before the damage were evaluated.
    #[error("{name}: {reason}")]
    Part {
        /// The file.
        name: String,
        /// The fault, and where it is.
        reason: String,
    },
    /// A record is malformed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A record is not a tree, but passes all checks that are always made.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A file or a pipe is not a table, or not the wanted one.
    #[error("{name}: {what}")]
    Table {
        /// The file, or the name of the table.
        name: String,
        /// A description of the error.
        what: String,
    },
    /// The reader of Parquet or Arrow cannot read a table.
    #[error("{name}: cannot be read as a table")]
    Unreadable {
        /// The file, or the name of the table.
        name: String,
        /// The reader's error.
        source: Cause,
    },
    /// A column of a table has a type that Warpath does not support.
    #[error(
        "{name}: the column `{column}` has the type {found}; an index is made of integers, floats, strings, booleans, timestamps and dates"
    )]
    ColumnType {
        /// The file, or the name of the table.
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
///
/// ```
/// use warpath::{Engine, Error, InputError, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let input = Engine::builder().build()?.bytes("{}\n{\"a\":[1}\n").named("events");
/// let Err(Error::Input(InputError::Record(error))) = input.count(&Query::compile("$.a")?) else { panic!() };
/// assert_eq!((error.name.as_str(), error.line, error.byte), ("events", 2, 8));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}:{byte}: {kind}")]
pub struct RecordError {
    /// The file, or `<stdin>`.
    pub name: String,
    /// The line, counted from 1; blank lines count.
    pub line: u64,
    /// The byte within the line, counted from 1.
    pub byte: u64,
    /// The kind of fault.
    pub kind: FaultKind,
    /// The format of the input, if it is evidently not lines of JSON. Only the error of the first line has
    /// it.
    pub input: Option<Foreign>,
}

impl RecordError {
    /// The error, with the format that the input seems to have. `text` is the start of the input.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn in_text(self, text: &[u8]) -> Self {
        let blank = || text.iter().take_while(|byte| byte.is_ascii_whitespace());
        let is_first = blank().filter(|byte| **byte == b'\n').count() as u64 + 1 == self.line;
        let input = if is_first { Foreign::of_lines(text).map(|(_, format)| format) } else { None };
        Self { input, ..self }
    }
}

/// A record that is not a tree: `file:line:byte: reason`.
///
/// ```
/// use warpath::{InputError, TreeError, TreeFaultKind};
///
/// let error = TreeError { name: "events".into(), line: 2, byte: 11, kind: TreeFaultKind::NoColon };
/// assert!(InputError::from(error).to_string().starts_with("events:2:11: "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}:{byte}: {kind}")]
pub struct TreeError {
    /// The file, or `<stdin>`.
    pub name: String,
    /// The line, counted from 1; blank lines count.
    pub line: u64,
    /// The byte within the line, counted from 1.
    pub byte: u64,
    /// The kind of fault.
    pub kind: TreeFaultKind,
}

impl InputError {
    /// The error of a reader of tables.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn unreadable(name: &str, source: impl Into<Cause>) -> Self {
        Self::Unreadable { name: name.to_owned(), source: source.into() }
    }

    /// The error of a line, counted from 1, that is not a valid record.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn of_fault(name: &str, line: u64, fault: Fault) -> Self {
        let (byte, kind) = (fault.at as u64 + 1, fault.kind);
        RecordError { name: name.to_owned(), line, byte, kind, input: None }.into()
    }

    /// The error of an XML document. `message` is about its byte `at`.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn of_xml(name: &str, text: &str, at: u64, message: String) -> Self {
        let at = text.len().min(usize::try_from(at).unwrap_or(usize::MAX));
        let before = &text.as_bytes()[..at];
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let line = memchr::memchr_iter(b'\n', before).count() as u64 + 1;
        Self::Xml { name: name.to_owned(), line, byte: (at - start) as u64 + 1, message }
    }

    /// The error of a line, counted from 1, whose text is not a tree. It is a [`Record`](Self::Record) error
    /// if the fault is one of those that are always checked.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn of_tree(name: &str, line: u64, fault: TreeFault) -> Self {
        let (name, byte) = (name.to_owned(), fault.at as u64 + 1);
        match fault.kind {
            TreeFaultKind::Record(kind) => RecordError { name, line, byte, kind, input: None }.into(),
            kind => TreeError { name, line, byte, kind }.into(),
        }
    }
}

impl From<InputError> for std::io::Error {
    /// Wraps an error of the input that a reader reads.
    fn from(error: InputError) -> Self {
        Self::other(error)
    }
}

/// A number of levels, in words.
fn levels(count: Level) -> String {
    format!("{count} level{}", if count == 1 { "" } else { "s" })
}

/// An error of an index.
///
/// ```
/// use warpath::{Engine, Error, IndexError, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().build()?;
/// let index = engine.bytes("{\"a\":{\"b\":1}}\n").index(1)?;
/// let error = index.input(&engine).count(&Query::compile("$.a.b")?).unwrap_err();
/// assert!(matches!(error, Error::Index(IndexError::TooFewLevels { kept: 1, needed: 2 })));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// A program reads more levels than the index has.
    #[error("the index has {}, and the query reads {}", levels(*kept), levels(*needed))]
    TooFewLevels {
        /// The levels of the index.
        kept: Level,
        /// The levels that the program reads.
        needed: Level,
    },
    /// An index file cannot be read or written.
    #[error("{name}: cannot be read or written")]
    Io {
        /// The index file.
        name: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file is not an index.
    #[error("{name}: is not an index of Warpath")]
    NotAnIndex {
        /// The file.
        name: String,
    },
    /// An index file has a version that this Warpath does not read.
    #[error("{name}: is an index of version {found}; this Warpath reads version {known}")]
    Version {
        /// The index file.
        name: String,
        /// Its version.
        found: u32,
        /// The version that is read.
        known: u32,
    },
    /// An index file is damaged.
    #[error("{name}: the index is damaged: {what}")]
    Damaged {
        /// The index file.
        name: String,
        /// A description of the damage.
        what: String,
    },
    /// An index file belongs to another input, or the input has changed.
    #[error("{name}: the index does not match {input}: {what}")]
    OtherInput {
        /// The index file.
        name: String,
        /// The input.
        input: String,
        /// The difference.
        what: String,
    },
    /// An input has changed while its index was made.
    #[error("{input}: has changed while it was indexed")]
    Unsettled {
        /// The input.
        input: String,
    },
    /// An input is of a kind that cannot have an index file.
    #[error("{input}: {why}; an index file holds the offsets of lines in a plain file")]
    NotPlain {
        /// The input.
        input: String,
        /// The kind of the input.
        why: &'static str,
    },
}

/// An error of a column of compressed strings.
///
/// ```
/// use warpath::{ColumnError, Error};
///
/// let error = Error::from(ColumnError::NotUtf8 { row: 3 });
/// assert_eq!(error.to_string(), "string 3 is not UTF-8");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnError {
    /// The parts of the column do not agree.
    #[error("the column is damaged: {what}")]
    Damaged {
        /// A description of the damage.
        what: String,
    },
    /// The codes of a string are invalid.
    #[error("string {row}: {fault}")]
    Codes {
        /// The string, counted from 0.
        row: u64,
        /// A description of the fault, with its offset in the string's codes.
        fault: String,
    },
    /// A string is not UTF-8, and the caller wants text.
    #[error("string {row} is not UTF-8")]
    NotUtf8 {
        /// The string, counted from 0.
        row: u64,
    },
    /// The strings are too long for 32-bit offsets.
    #[error("the strings have {bytes} bytes, more than 32-bit offsets can express; use 64-bit offsets")]
    TooLong {
        /// The bytes of all strings.
        bytes: u64,
    },
    /// Memory is not sufficient.
    #[error("there is no memory for {bytes} bytes")]
    Memory {
        /// The number of bytes that were needed.
        bytes: u64,
    },
}

/// An error of a device.
///
/// ```
/// use warpath::{DeviceChoice, DeviceError, Engine, Error};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = match Engine::builder().device(DeviceChoice::Cuda(7000)).build() {
///     Err(Error::Device(DeviceError::NoDriver | DeviceError::NotBuilt | DeviceError::NoDevice { .. })) => {
///         Engine::builder().device(DeviceChoice::Cpu).build()?
///     }
///     other => other?,
/// };
/// assert!(engine.backend_name().starts_with("cpu"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No CUDA driver is on this machine.
    #[error("no CUDA driver found")]
    NoDriver,
    /// This build of Warpath uses no CUDA devices, because its feature `cuda` is off.
    #[error("this build of Warpath uses no CUDA devices: its feature `cuda` is off")]
    NotBuilt,
    /// A driver exists, but no device with the wanted number.
    #[error("no CUDA device {wanted}: {found} found")]
    NoDevice {
        /// The wanted number, from 0.
        wanted: usize,
        /// The number of devices.
        found: usize,
    },
    /// The device cannot run Warpath's kernels.
    #[error("CUDA device {number} has compute capability {}.{}; 7.5 or newer is needed", .capability.0, .capability.1)]
    TooOld {
        /// Its number, from 0.
        number: usize,
        /// Its compute capability: major, minor.
        capability: (i32, i32),
    },
    /// A call of the driver failed.
    #[error("CUDA: {call}")]
    Cuda {
        /// The call.
        call: &'static str,
        /// The driver's error.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The device has not enough memory for a partition.
    #[error("device memory: {wanted} bytes wanted, {free} free; try a smaller --partition-size")]
    OutOfMemory {
        /// The bytes that the partition needs.
        wanted: u64,
        /// The free bytes of the device.
        free: u64,
    },
    /// A resident index does not fit.
    #[error("device memory: an index that is kept there needs {needed} bytes, {free} are free")]
    IndexTooLarge {
        /// The approximate number of bytes for text, index and scratch memory.
        needed: u64,
        /// The free bytes of the device, or of all devices together.
        free: u64,
    },
}

impl DeviceError {
    /// The error of a call of the driver.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn of_call(call: &'static str, source: impl Into<Cause>) -> Self {
        Self::Cuda { call, source: Arc::from(source.into()) }
    }
}
