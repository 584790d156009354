//! Facts about inputs and their indexes, known before the inputs are read.

use warpath_shared::units::Level;

/// The longest file that the caller's thread reads and evaluates, in bytes. A thread takes longer to start
/// than these bytes take to evaluate, and so does a search for indexes.
pub const SMALL: u64 = 64 << 10;

/// The format of an input.
///
/// ```
/// use warpath::{Engine, Format, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let document = "[\n  {\"id\": 1},\n  {\"id\": 2}\n]\n";
/// let engine = Engine::builder().format(Format::Json).build()?;
/// assert_eq!(engine.bytes(document).count(&Query::compile("$[*].id")?)?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// One record on each line.
    #[default]
    Ndjson,
    /// One record in total, on one line or several: a JSON document.
    Json,
}

/// The way in which the bytes of an input come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// Nothing is known: no input is named.
    Unknown,
    /// Text in memory: its length.
    Memory(u64),
    /// Text in memory that threads cannot read, because the caller lends it: its length.
    Borrowed(u64),
    /// A plain file: the length of its text.
    Plain(u64),
    /// A range of a plain file: its length.
    Part(u64),
    /// Standard input that is a plain file: the length of its text.
    Stdin(u64),
    /// A compressed file, or compressed bytes.
    Compressed,
    /// A pipe, a socket or a reader, which is read once, in order.
    Stream,
    /// A file that is followed while it grows.
    Followed,
    /// A column of text in a table.
    Table,
    /// A part of a store: the length of its text.
    Stored(u64),
    /// An input whose leaves are in memory: the length of its text.
    Loaded(u64),
    /// An input whose text and structural index are in memory: the length of its text.
    Kept(u64),
    /// Several inputs: the length of their plain text.
    Several(u64),
}

impl Bytes {
    /// The length of the text that a backend can read as fast as it wants.
    #[must_use]
    pub fn plain(self) -> u64 {
        match self {
            Self::Memory(bytes)
            | Self::Borrowed(bytes)
            | Self::Plain(bytes)
            | Self::Part(bytes)
            | Self::Stdin(bytes)
            | Self::Several(bytes) => bytes,
            Self::Stored(_) | Self::Loaded(_) | Self::Kept(_) => 0,
            Self::Unknown | Self::Compressed | Self::Stream | Self::Followed | Self::Table => 0,
        }
    }

    /// The reason why no index can be of this input; `None` for a plain file and for a part of one.
    #[must_use]
    pub fn has_no_index(self) -> Option<&'static str> {
        Some(match self {
            Self::Unknown | Self::Plain(_) | Self::Part(_) => return None,
            Self::Memory(_) | Self::Borrowed(_) => "the input is text in memory",
            Self::Stdin(_) => "the input is standard input",
            Self::Compressed => "the input is compressed",
            Self::Stream => "the input is not a file",
            Self::Followed => "the input is followed",
            Self::Table => "the input is a column of a table",
            Self::Stored(_) => "the input is a part of a store",
            Self::Loaded(_) | Self::Kept(_) => "the input is loaded",
            Self::Several(_) => "there are several inputs",
        })
    }
}

/// A structural index of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structural {
    /// The name of the index, for messages.
    pub name: String,
    /// The number of its levels.
    pub levels: Level,
    /// True if the caller named the index. Otherwise the index is beside the input.
    pub is_named: bool,
    /// Bytes of text that the index has, and of all text. An input that has grown has more than its index.
    pub text: (u64, u64),
}

/// Lines that are read without the others.
///
/// ```
/// use warpath::bitmap::ColumnSpec;
/// use warpath::{Engine, IndexFile, IndexSpec, Predicate, Query};
/// use warpath::plan::Reading;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let log = folder.path().join("log.ndjson");
/// # std::fs::write(&log, "{\"status\":200}\n{\"status\":503}\n")?;
/// # #[cfg(any())]
/// let log = Path::new("log.ndjson");
/// let engine = Engine::builder().build()?;
/// let spec = IndexSpec::new(4).with_columns(vec![ColumnSpec::new("code", "$.status")]);
/// let index = IndexFile::build_as(&engine, &log, &spec)?;
/// let input = engine.open(&log)?.with_index(&index)?.matching(&Predicate::parse("$.status > 500")?);
/// let hits = input.query(&Query::compile("$.status")?)?;
/// let Reading::Selected(selected) = &hits.plan().reading else { panic!() };
/// assert_eq!((selected.lines, selected.blocks), ((1, 2), (1, 1)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selected {
    /// The name of the index that knows where the lines are.
    pub index: String,
    /// The number of selected lines, and of all lines.
    pub lines: (u64, u64),
    /// The number of blocks of 64 lines that have selected lines, and of all blocks.
    pub blocks: (u64, u64),
    /// Bytes of these blocks.
    pub bytes: u64,
}

impl Selected {
    /// Lines that an index of this name selects.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn new(index: String, lines: (u64, u64), blocks: (u64, u64), bytes: u64) -> Self {
        Self { index, lines, blocks, bytes }
    }
}

/// Facts about the inputs of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The way in which the bytes come.
    pub bytes: Bytes,
    /// The format of the inputs.
    pub format: Format,
    /// The structural index of the input.
    pub structural: Option<Structural>,
    /// The lines that are read; `None` for all lines.
    pub selected: Option<Selected>,
    /// True if parts of a store are among the inputs.
    pub has_parts: bool,
    /// True if inputs have leaves in memory: all of them, or some.
    pub is_loaded: bool,
    /// The levels of the structural indexes in memory that serve the request.
    pub in_memory: Option<Level>,
}

impl Facts {
    /// Inputs without indexes.
    #[must_use]
    pub fn new(bytes: Bytes, format: Format) -> Self {
        let has_parts = matches!(bytes, Bytes::Stored(_) | Bytes::Loaded(_));
        let is_loaded = matches!(bytes, Bytes::Loaded(_));
        Self { bytes, format, structural: None, selected: None, has_parts, is_loaded, in_memory: None }
    }
}
