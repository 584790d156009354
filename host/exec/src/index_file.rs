//! Index files: the structural index of a file that stays where it is. The index is a part without rows,
//! hidden beside the file. It is built once and then read instead of built again. docs/part-file.md has the
//! format.
//!
//! | module | contents |
//! |---|---|
//! | `layout` | the facts and the sections of the part |
//! | `lines` | the offsets of lines of which some are selected |
//! | `build` | the writer |
//! | `store` | partitions that are evaluated with an index file |
//! | `sparse` | texts of which most bytes need not be read |

mod build;
mod layout;
mod lines;
mod sparse;
mod store;

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use layout::{BEFORE_LEVELS, IndexFacts, NoFacts, PartitionEntry};
use store::FileStore;
use warpath_core::error::{Error, IndexError, InputError, PlanError};
use warpath_core::stamp::Stamp;
use warpath_cpu::host_index::HostIndex;
use warpath_cpu::twig::subscriptions::Subscriptions;
use warpath_part::file::{Error as PartError, Reader};
use warpath_plan::Structural;
use warpath_shared::units::Level;
use warpath_store::bitmap::BitmapIndex;

use crate::bitmap::build::ColumnSpec;
use crate::engine::Chosen;
use crate::input::PlainFile;
use crate::stream::{Rest, Store};

/// The version of parts that is read.
const PART_VERSION: u32 = 1;

/// An open index file. Its facts and lengths have been checked; the sections are checked when they are read.
/// Cheap to clone.
///
/// The index of `log.ndjson` is the hidden file `.log.ndjson.warpath` in the same folder. Queries over the
/// file find it there.
///
/// ```
/// use warpath::{DEFAULT_LEVELS, Engine, IndexFile, Query};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let input = folder.path().join("tweets.ndjson");
/// # std::fs::write(&input, "{\"id\":1}\n{\"id\":2}\n")?;
/// let engine = Engine::builder().build()?;
/// # #[cfg(any())]
/// let input = "tweets.ndjson";
/// IndexFile::build(&engine, &input, DEFAULT_LEVELS)?;
/// // In another process:
/// let index = IndexFile::open(IndexFile::path_of(&input))?;
/// assert_eq!(engine.open(&input)?.with_index(&index)?.count(&Query::compile("$.id")?)?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct IndexFile(Arc<OpenedIndex>);

struct OpenedIndex {
    name: String,
    bytes: u64,
    reader: Reader,
    facts: IndexFacts,
    table: Vec<PartitionEntry>,
    /// The section `bins`, if the index has columns.
    bins: Option<BitmapIndex>,
}

/// The contents of an index that will be made: levels, columns of values, and matches of subscriptions.
///
/// ```
/// use warpath::bitmap::ColumnSpec;
/// use warpath::{Engine, IndexFile, IndexSpec};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let input = folder.path().join("log.ndjson");
/// # std::fs::write(&input, "{\"status\":200}\n{\"status\":503}\n")?;
/// let engine = Engine::builder().build()?;
/// # #[cfg(any())]
/// let input = "log.ndjson";
/// let spec = IndexSpec::new(4).with_columns(vec![ColumnSpec::new("status", "$.status")]);
/// let index = IndexFile::build_as(&engine, &input, &spec)?;
/// assert_eq!(index.bins().unwrap().info().columns[0].bins, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct IndexSpec {
    levels: Level,
    columns: Vec<ColumnSpec>,
    subscriptions: Subscriptions,
}

impl IndexSpec {
    /// The structural characters of the first levels.
    #[must_use]
    pub fn new(levels: Level) -> Self {
        Self { levels, columns: Vec::new(), subscriptions: Subscriptions::default() }
    }

    /// Adds a column of values for each path.
    #[must_use]
    pub fn with_columns(mut self, columns: Vec<ColumnSpec>) -> Self {
        self.columns = columns;
        self
    }

    /// Adds a column of truth values for each subscription: the lines that it matches.
    #[must_use]
    pub fn with_subscriptions(mut self, subscriptions: Subscriptions) -> Self {
        self.subscriptions = subscriptions;
        self
    }
}

impl fmt::Debug for OpenedIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedIndex")
            .field("name", &self.name)
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

/// Facts about an index file.
///
/// ```
/// use warpath::{DEFAULT_LEVELS, Engine, IndexFile};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let input = folder.path().join("tweets.ndjson");
/// # std::fs::write(&input, "{\"id\":1}\n{\"id\":2}\n")?;
/// let engine = Engine::builder().build()?;
/// # #[cfg(any())]
/// let input = "tweets.ndjson";
/// let info = IndexFile::build(&engine, &input, DEFAULT_LEVELS)?.info();
/// assert_eq!((info.lines, info.input_bytes, info.faulty), (2, 18, 0));
/// assert_eq!(info.level_bytes.len(), DEFAULT_LEVELS as usize);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexInfo {
    /// Bytes of the input file that the index was made of.
    pub input_bytes: u64,
    /// The time of the last write to the input.
    pub input_modified: SystemTime,
    /// Lines, blank ones too.
    pub lines: u64,
    /// Malformed records.
    pub faulty: u64,
    /// Partitions that have lines.
    pub partitions: u64,
    /// Bytes of text of the longest partition.
    pub longest_partition: u64,
    /// Bytes of the index file.
    pub bytes: u64,
    /// Bytes of the index file that are line starts.
    pub line_start_bytes: u64,
    /// Bytes of the bitmap of each level.
    pub level_bytes: Vec<u64>,
}

/// An index file that was compared with its input: the input is unchanged, or has grown.
#[derive(Debug)]
pub(crate) struct CheckedIndex {
    index: IndexFile,
    input: Arc<PlainFile>,
    input_name: Arc<str>,
    /// The number of partitions whose lines are still as they were: the first ones.
    partitions: usize,
    /// Bytes of the text of these partitions, from the start of the input on.
    covered: u64,
}

/// The error of an index file.
fn of_part(name: &str, error: PartError) -> Error {
    let name = name.to_owned();
    match error {
        PartError::Io(source) if source.kind() != io::ErrorKind::UnexpectedEof => {
            IndexError::Io { name, source }.into()
        }
        PartError::Foreign => IndexError::NotAnIndex { name }.into(),
        PartError::Version { found } => {
            let found = u32::try_from(found).unwrap_or(u32::MAX);
            IndexError::Version { name, found, known: PART_VERSION }.into()
        }
        error => {
            let what = match error {
                PartError::Io(_) => "it ends early".to_owned(),
                PartError::NotParquet => "its last bytes are not those of a part".to_owned(),
                PartError::Checksum { what, .. } => format!("checksum mismatch in {what}"),
                PartError::Invalid { what, why } => format!("invalid {what}: {why}"),
                error => error.to_string(),
            };
            IndexError::Damaged { name, what }.into()
        }
    }
}

impl OpenedIndex {
    fn damaged(&self, what: impl Into<String>) -> Error {
        IndexError::Damaged { name: self.name.clone(), what: what.into() }.into()
    }

    fn entry(&self, number: usize) -> Result<&PartitionEntry, Error> {
        self.table.get(number).ok_or_else(|| Error::Internal(format!("no partition {number} is indexed")))
    }

    /// Reads the first `levels` levels of a partition's index. `bytes` is scratch memory.
    fn read(
        &self,
        number: usize,
        levels: Level,
        bytes: &mut Vec<u8>,
        to: &mut HostIndex,
    ) -> Result<(), Error> {
        let entry = self.entry(number)?;
        let sections = self.reader.first_sections(number, BEFORE_LEVELS + levels as usize, bytes);
        let sections = sections.map_err(|error| of_part(&self.name, error))?;
        to.levels.clear();
        for (at, section) in sections.iter().enumerate() {
            let decoded = match at {
                0 => layout::decode_line_starts(section, entry, &mut to.line_starts),
                1 => layout::decode_faults(section, entry, &mut to.faults),
                _ => layout::decode_level(section, entry, &mut to.levels),
            };
            decoded.map_err(|what| self.damaged(format!("partition {number}: {what}")))?;
        }
        Ok(())
    }
}

impl IndexFile {
    /// The name of the index of a file: hidden, in the same folder.
    ///
    /// ```
    /// use std::path::Path;
    ///
    /// use warpath::IndexFile;
    ///
    /// assert_eq!(IndexFile::path_of("logs/a.ndjson"), Path::new("logs/.a.ndjson.warpath"));
    /// ```
    #[must_use]
    pub fn path_of(input: impl AsRef<Path>) -> PathBuf {
        let input = input.as_ref();
        let mut name = OsString::from(".");
        name.push(input.file_name().unwrap_or_default());
        name.push(".warpath");
        input.with_file_name(name)
    }

    /// Opens an index file, and checks its facts and the lengths of its sections.
    ///
    /// # Errors
    /// [`Error::Index`] if the file cannot be read, is not an index, is damaged, or has another version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let name = path.as_ref().display().to_string();
        let failed = |source| IndexError::Io { name: name.clone(), source };
        let file = File::open(path.as_ref()).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)).into());
        }
        let mapped = file.try_clone().map_err(failed)?;
        let reader = Reader::open(file).map_err(|error| of_part(&name, error))?;
        let damaged = |what: String| IndexError::Damaged { name: name.clone(), what };
        let facts = IndexFacts::decode(reader.facts()).map_err(|error| match error {
            NoFacts::NotAnIndex => IndexError::NotAnIndex { name: name.clone() },
            NoFacts::Version(found) => {
                IndexError::Version { name: name.clone(), found, known: layout::VERSION }
            }
            NoFacts::Invalid(fact) => damaged(format!("invalid fact `{fact}`")),
        })?;
        let table = layout::partitions(&reader, &facts).map_err(damaged)?;
        let mut bins = None;
        if facts.columns > 0 {
            let range = reader.section_range(table.len(), layout::BINS);
            let range = range.ok_or_else(|| damaged("it has no section `bins`".into()))?;
            let opened = BitmapIndex::in_file(&name, &mapped, range)?;
            if (opened.rows(), opened.columns().len() as u64) != (facts.lines, facts.columns) {
                return Err(damaged("its facts and its section `bins` disagree".into()).into());
            }
            bins = Some(opened);
        }
        Ok(Self(Arc::new(OpenedIndex { name, bytes: metadata.len(), reader, facts, table, bins })))
    }

    /// The columns of the index; `None` if it has none.
    #[must_use]
    pub fn bins(&self) -> Option<&BitmapIndex> {
        self.0.bins.as_ref()
    }

    /// The number of levels of the index. Programs that read more are evaluated without it.
    #[must_use]
    pub fn levels(&self) -> Level {
        self.0.facts.levels
    }

    /// The name of the file, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The end of the last partition in the text; `None` if there is no partition.
    fn text_bytes(&self) -> Option<u64> {
        self.0.table.last().map(PartitionEntry::end)
    }

    /// Facts from the directory of the index.
    #[must_use]
    pub fn info(&self) -> IndexInfo {
        let OpenedIndex { bytes, reader, facts, table, .. } = &*self.0;
        let mut sections = vec![0; BEFORE_LEVELS + facts.levels as usize];
        for partition in 0..table.len() {
            let lens = reader.sections(partition).map(|(_, len)| len);
            sections.iter_mut().zip(lens).for_each(|(sum, len)| *sum += len);
        }
        let level_bytes = sections.split_off(BEFORE_LEVELS);
        IndexInfo {
            input_bytes: facts.stamp.size,
            input_modified: facts.stamp.modified(),
            lines: facts.lines,
            faulty: facts.faulty,
            partitions: table.len() as u64,
            longest_partition: table.iter().map(|entry| u64::from(entry.len)).max().unwrap_or(0),
            bytes: *bytes,
            line_start_bytes: sections[0],
            level_bytes,
        }
    }

    /// Compares every byte of the index with its checksum, and all indexed text of its input. Returns the
    /// bytes of text that the index covers, and all of them: an input that has grown has more.
    ///
    /// # Errors
    /// [`Error::Index`] if a checksum does not match, and if the input has changed.
    pub fn verify(&self, input: impl AsRef<Path>) -> Result<(u64, u64), Error> {
        let checked = self.check(input.as_ref())?;
        self.0.reader.verify().map_err(|error| of_part(&self.0.name, error))?;
        self.bins().map_or(Ok(()), BitmapIndex::verify)?;
        let (mut bytes, mut index) = (Vec::new(), HostIndex::default());
        (0..self.0.table.len()).try_for_each(|at| self.0.read(at, self.levels(), &mut bytes, &mut index))?;
        let changed = |entry: &PartitionEntry| {
            let what = format!("bytes {}..{} have changed", entry.offset, entry.end());
            self.of_other(input.as_ref(), what)
        };
        store::check_texts(&checked.input, &self.0.table, changed)?;
        Ok((checked.covered, checked.input.len()))
    }

    fn of_other(&self, input: &Path, what: String) -> Error {
        IndexError::OtherInput { name: self.0.name.clone(), input: input.display().to_string(), what }.into()
    }

    /// Checks that an input is the one that the index was made of, and that it is unchanged or has grown.
    pub(crate) fn check(&self, path: &Path) -> Result<CheckedIndex, Error> {
        let name = path.display().to_string();
        let failed = |source| InputError::Io { name: name.clone(), source };
        if path.metadata().map_err(failed)?.is_dir() {
            return Err(InputError::Directory(path.to_owned()).into());
        }
        let file = File::open(path).map_err(failed)?;
        let indexed = &self.0.facts.stamp;
        let stamp = Stamp::of(&file).map_err(failed)?;
        let grown = match stamp.differs_from(indexed) {
            None => false,
            // The time is another one. The samples are of the bytes that were there.
            Some(_) if stamp.size > indexed.size => {
                let first = Stamp::of_first(&file, indexed.size).map_err(failed)?;
                if first.samples != indexed.samples {
                    return Err(self.of_other(path, "its first bytes have changed".into()));
                }
                true
            }
            Some(what) => return Err(self.of_other(path, what)),
        };
        let Some(file) = PlainFile::of(file, &name)? else {
            return Err(self.of_other(path, "it is compressed".into()));
        };
        let len = file.len();
        // Without a partition, there was no more than a byte order mark.
        let indexed = self.text_bytes().unwrap_or(if grown { 0 } else { len.min(3) });
        let partitions = match grown {
            false if indexed == len => self.0.table.len(),
            true if indexed < len => self.whole_partitions(&file)?,
            _ => {
                let what = format!("it has {len} bytes of text in place of {indexed}");
                return Err(self.of_other(path, what));
            }
        };
        let last = partitions.checked_sub(1).and_then(|last| self.0.table.get(last));
        // An input without a partition is covered if it is no longer than a byte order mark.
        let covered = last.map_or(if grown { 0 } else { len }, PartitionEntry::end);
        let (index, input) = (self.clone(), Arc::new(file));
        Ok(CheckedIndex { index, input, input_name: name.into(), partitions, covered })
    }

    /// The number of partitions of an input that has grown, without the last one if its last line had not
    /// ended when it was indexed: that line may have grown, too.
    fn whole_partitions(&self, input: &PlainFile) -> Result<usize, Error> {
        let partitions = self.0.table.len();
        let Some(last) = self.text_bytes().and_then(|end| end.checked_sub(1)) else { return Ok(partitions) };
        let mut byte = [0];
        input.read_exact(&mut byte, last)?;
        Ok(if byte == *b"\n" { partitions } else { partitions - 1 })
    }
}

impl CheckedIndex {
    /// Opens the index at `name`, and compares it with its input.
    pub fn open(name: &Path, input: &Path) -> Result<Self, Error> {
        IndexFile::open(name)?.check(input)
    }

    /// Facts about the index, for the plan.
    pub fn facts(&self) -> Structural {
        Structural {
            name: self.index.0.name.clone(),
            levels: self.index.levels(),
            is_named: false,
            text: (self.covered, self.input.len()),
        }
    }

    /// The name of the index.
    pub fn name(&self) -> &str {
        self.index.name()
    }

    /// The columns of the index.
    pub fn bins(&self) -> Option<&BitmapIndex> {
        self.index.bins()
    }

    /// Bytes of text that follow those of the index.
    pub fn grown_by(&self) -> u64 {
        self.input.len().saturating_sub(self.covered)
    }

    /// Refuses an input that has grown since the index was made. `requires` says in the message what requires
    /// an index of the whole file.
    ///
    /// # Errors
    /// [`Error::Plan`].
    pub fn check_whole(&self, requires: &'static str) -> Result<(), Error> {
        match self.grown_by() {
            0 => Ok(()),
            more => {
                let found = format!(
                    "{} lacks the last {more} bytes of the file; `warpath store index FILE` renews it",
                    self.name()
                );
                Err(PlanError::new(requires, found).into())
            }
        }
    }

    /// The store that evaluates a program with this index.
    ///
    /// An index that nobody named may be damaged: the text of a partition decides where its part is.
    pub fn store(&self, chosen: &Chosen, is_named: bool) -> Arc<dyn Store> {
        Arc::new(FileStore::new(self, chosen, is_named))
    }

    /// The text after the partitions of the index, if the input has grown.
    pub fn rest(&self) -> Option<Rest> {
        let Self { input, input_name, covered, .. } = self;
        let rest = || Rest { file: input.clone(), name: input_name.clone(), from: *covered };
        (*covered < input.len()).then(rest)
    }
}
