//! Index files: the index of a plain or packed file. It is built once and then read instead of built again.
//! docs/index-file.md has the format.
//!
//! | module | contents |
//! |---|---|
//! | `layout` | the layout of the file |
//! | `build` | the writer |
//! | `store` | partitions that are evaluated with an index file |
//! | `sparse` | texts of which most bytes need not be read |

mod build;
mod layout;
mod sparse;
mod store;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use layout::{HEADER_BYTES, IndexHeader, PartitionEntry, Section};
use store::FileStore;
use warpath_core::error::{Error, IndexError, PlanError};
use warpath_core::file::read_exact_at;
use warpath_core::stamp::{Stamp, hash};
use warpath_cpu::host_index::HostIndex;
use warpath_plan::Structural;
use warpath_shared::units::Level;

use crate::engine::{Chosen, Engine};
use crate::input::{PlainFile, Source};
use crate::stream::Store;

pub use layout::VERSION;

/// Levels of an index file by default. A path reads one level for each of its segments, including those in
/// its filters. Deep bitmaps are mostly zeros, which are not stored.
///
/// ```
/// use warpath::{DEFAULT_LEVELS, Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().build()?;
/// let index = engine.bytes("{\"a\":{\"b\":1}}\n").index(DEFAULT_LEVELS)?;
/// assert_eq!(index.count(&Query::compile("$.a.b")?)?, 1);
/// # Ok(())
/// # }
/// ```
pub const DEFAULT_LEVELS: Level = 8;

/// An open index file. Its header and its table have been checked; the sections are checked when they are
/// read. Cheap to clone.
///
/// ```
/// use warpath::{DEFAULT_LEVELS, Engine, IndexFile, Query};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let input = folder.path().join("tweets.ndjson");
/// # std::fs::write(&input, "{\"id\":1}\n{\"id\":2}\n")?;
/// let engine = Engine::builder().build()?;
/// # let file = folder.path().join("tweets.wpi");
/// # #[cfg(any())]
/// let (input, file) = ("tweets.ndjson", "tweets.wpi");
/// IndexFile::build(&engine, &input, &file, DEFAULT_LEVELS)?;
/// // In another process:
/// let index = IndexFile::open(&file)?;
/// assert_eq!(engine.open(&input)?.with_index(&index, false)?.count(&Query::compile("$.id")?)?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct IndexFile(Arc<OpenedIndex>);

#[derive(Debug)]
struct OpenedIndex {
    name: String,
    file: File,
    header: IndexHeader,
    table: Vec<PartitionEntry>,
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
/// # let file = folder.path().join("tweets.wpi");
/// # #[cfg(any())]
/// let (input, file) = ("tweets.ndjson", "tweets.wpi");
/// let info = IndexFile::build(&engine, &input, &file, DEFAULT_LEVELS)?.info();
/// assert_eq!((info.lines, info.text_bytes, info.faulty), (2, 18, 0));
/// assert_eq!(info.level_bytes.len(), DEFAULT_LEVELS as usize);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexInfo {
    /// The version of its format.
    pub version: u32,
    /// Bytes of the input file that the index was made of, packed if the file is packed.
    pub input_bytes: u64,
    /// Bytes of the input's text. For a plain file this equals `input_bytes`; for a packed file it is the
    /// unpacked size. 0 if there is no line.
    pub text_bytes: u64,
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

/// An index file that was checked against its input and found to match.
#[derive(Debug)]
pub(crate) struct CheckedIndex {
    index: IndexFile,
    input: Arc<PlainFile>,
    input_name: Arc<str>,
}

impl OpenedIndex {
    fn failed(&self, source: io::Error) -> Error {
        IndexError::Io { name: self.name.clone(), source }.into()
    }

    fn damaged(&self, what: impl Into<String>) -> Error {
        IndexError::Damaged { name: self.name.clone(), what: what.into() }.into()
    }

    /// Reads the first `levels` levels of a partition's index. `bytes` is scratch memory.
    fn read(
        &self,
        number: usize,
        levels: Level,
        bytes: &mut Vec<u8>,
        to: &mut HostIndex,
    ) -> Result<(), Error> {
        let entry = &self.table[number];
        let sections = &entry.sections[..2 + levels as usize];
        bytes.clear();
        bytes.resize(sections.iter().map(|section| section.len as usize).sum(), 0);
        read_exact_at(&self.file, bytes, entry.place).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged("it ends early"),
            _ => self.failed(error),
        })?;
        let said = |what: &str| self.damaged(format!("partition {number}: {what}"));
        let mut rest = &bytes[..];
        to.levels.clear();
        for (at, Section { len, checksum }) in sections.iter().enumerate() {
            let (section, behind) = rest.split_at(*len as usize);
            rest = behind;
            if hash(section) != *checksum {
                return Err(said(&format!("checksum mismatch in {}", layout::name(at))));
            }
            let decoded = match at {
                0 => layout::decode_line_starts(section, entry, &mut to.line_starts),
                1 => layout::decode_faults(section, entry, &mut to.faults),
                _ => layout::decode_level(section, entry, &mut to.levels),
            };
            decoded.map_err(said)?;
        }
        Ok(())
    }
}

impl IndexFile {
    /// Makes the index file of a plain or packed file, with `levels` levels, and opens it. It is written to a
    /// temporary file beside `output`, and renamed when it is complete.
    ///
    /// # Errors
    /// * The errors of the input, except malformed records.
    /// * [`Error::Index`] if the output cannot be written, or if the input is compressed, is not a file, or
    ///   has changed meanwhile.
    pub fn build(
        engine: &Engine,
        input: impl AsRef<Path>,
        output: impl AsRef<Path>,
        levels: Level,
    ) -> Result<Self, Error> {
        Self::build_watched(engine, input, output, levels, &mut |_| {})
    }

    /// Makes the index file of a plain or packed file, as [`build`](Self::build) does. Calls `progress` now
    /// and then with the bytes of text that have been indexed.
    ///
    /// # Errors
    /// The same as for [`build`](Self::build).
    pub fn build_watched(
        engine: &Engine,
        input: impl AsRef<Path>,
        output: impl AsRef<Path>,
        levels: Level,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self, Error> {
        build::build(engine, input.as_ref(), output.as_ref(), levels, progress)?;
        Self::open(output)
    }

    /// Opens an index file, and checks its header and its table.
    ///
    /// # Errors
    /// [`Error::Index`] if the file cannot be read, is not an index, is damaged, or has another version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let name = path.as_ref().display().to_string();
        let failed = |source| IndexError::Io { name: name.clone(), source };
        let damaged = |what: &str| IndexError::Damaged { name: name.clone(), what: what.to_owned() };
        if path.as_ref().metadata().map_err(failed)?.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)).into());
        }
        let file = File::open(path.as_ref()).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        let mut head = [0; HEADER_BYTES];
        let there = HEADER_BYTES.min(usize::try_from(len).unwrap_or(HEADER_BYTES));
        read_exact_at(&file, &mut head[..there], 0).map_err(failed)?;
        if !layout::is_index(&head[..there]) {
            return Err(IndexError::NotAnIndex { name }.into());
        }
        if there < HEADER_BYTES {
            return Err(damaged("it ends in its header").into());
        }
        // Another version may have another header, so its checksum cannot be checked here.
        let found = layout::version(&head);
        if found != VERSION {
            return Err(IndexError::Version { name, found, known: VERSION }.into());
        }
        let header = IndexHeader::decode(&head).map_err(damaged)?;
        if len != header.file_bytes {
            return Err(damaged(&format!("it has {len} bytes in place of {}", header.file_bytes)).into());
        }
        let table_bytes = header.table_bytes().ok_or_else(|| damaged("its table has an impossible size"))?;
        if len.checked_sub(header.table_place) != Some(table_bytes) {
            return Err(damaged("its table does not end at the end of the file").into());
        }
        let mut table = vec![0; usize::try_from(table_bytes).map_err(|_| damaged("its table is too large"))?];
        read_exact_at(&file, &mut table, header.table_place).map_err(failed)?;
        if hash(&table) != header.table_checksum {
            return Err(damaged("table checksum mismatch").into());
        }
        let table = header.decode_table(&table).map_err(damaged)?;
        Ok(Self(Arc::new(OpenedIndex { name, file, header, table })))
    }

    /// The number of levels of the index. Programs that read more are refused.
    #[must_use]
    pub fn levels(&self) -> Level {
        self.0.header.levels
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

    /// Facts from the header and the table.
    #[must_use]
    pub fn info(&self) -> IndexInfo {
        let OpenedIndex { header, table, .. } = &*self.0;
        let total = |section: usize| table.iter().map(|entry| entry.sections[section].len).sum();
        IndexInfo {
            version: VERSION,
            input_bytes: header.stamp.size,
            text_bytes: self.text_bytes().unwrap_or(0),
            input_modified: header.stamp.modified(),
            lines: header.lines,
            faulty: header.faulty,
            partitions: table.len() as u64,
            longest_partition: table.iter().map(|entry| u64::from(entry.len)).max().unwrap_or(0),
            bytes: header.file_bytes,
            line_start_bytes: total(0),
            level_bytes: (0..header.levels as usize).map(|level| total(2 + level)).collect(),
        }
    }

    /// Reads the whole file, and checks every byte.
    ///
    /// # Errors
    /// [`Error::Index`] if a checksum does not match.
    pub fn verify(&self) -> Result<(), Error> {
        let (mut bytes, mut index) = (Vec::new(), HostIndex::default());
        (0..self.0.table.len()).try_for_each(|at| self.0.read(at, self.levels(), &mut bytes, &mut index))
    }

    /// Checks that an input is the one that the index was made of, and unchanged.
    pub(crate) fn check(&self, sources: &[Source], verify: bool) -> Result<CheckedIndex, Error> {
        let [Source::File(path)] = sources else {
            let found = "this input is another";
            return Err(PlanError::new("an index file requires one plain or packed file", found).into());
        };
        let name = path.display().to_string();
        let failed = |source| warpath_core::error::InputError::Io { name: name.clone(), source };
        if path.metadata().map_err(failed)?.is_dir() {
            return Err(warpath_core::error::InputError::Directory(path.clone()).into());
        }
        let file = File::open(path).map_err(failed)?;
        let other =
            |what: String| IndexError::OtherInput { name: self.0.name.clone(), input: name.clone(), what };
        let stamp = Stamp::of(&file).map_err(failed)?;
        if let Some(what) = stamp.differs_from(&self.0.header.stamp) {
            return Err(other(what).into());
        }
        let Some(file) = PlainFile::of(file, &name)? else {
            return Err(other("it is compressed".into()).into());
        };
        let (indexed, len) = (self.text_bytes().unwrap_or(file.len().min(3)), file.len());
        if indexed != len {
            return Err(other(format!("it has {len} bytes of text in place of {indexed}")).into());
        }
        if verify {
            let changed =
                |entry: &PartitionEntry| format!("bytes {}..{} have changed", entry.offset, entry.end());
            store::check_texts(&file, &self.0.table, |entry| other(changed(entry)).into())?;
        }
        Ok(CheckedIndex { index: self.clone(), input: Arc::new(file), input_name: name.into() })
    }
}

impl CheckedIndex {
    /// Facts about the index, for the plan.
    pub fn facts(&self) -> Structural {
        Structural { name: self.index.0.name.clone(), levels: self.index.levels(), is_named: false }
    }

    /// The store that evaluates a program with this index.
    ///
    /// An index that nobody named may be damaged: the text of a partition decides where its part is.
    pub fn store(&self, chosen: &Chosen, is_named: bool) -> Arc<dyn Store> {
        Arc::new(FileStore::new(self, chosen, is_named))
    }
}
