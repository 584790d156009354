//! Sources of bytes: files, standard input and readers.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpath_core::error::{InputError, RecordError};
use warpath_core::foreign::Foreign;
use warpath_core::pool::cores;
use warpath_core::temporary::OutputMode;
use warpath_plan::Bytes as Access;
use warpath_shared::units::MAX_PARTITION_BYTES;

use super::bytes::InputBytes;
use super::column::TextColumn;
use super::decoded::{Compression, Decoded, has_compressed_name};
use super::feed::Feed;
use super::follow::{FollowEnd, FollowFrom, Follower};
use super::follow_all::{FollowedFiles, FollowedLines, compressed};
use super::held::is_plain;
#[cfg(feature = "store")]
use super::loaded::Contents;
use super::loaded::LoadedInput;
#[cfg(feature = "store")]
use super::part::{PartText, StoredPart, text_bytes};
use super::plain::PlainFile;
#[cfg(feature = "store")]
use super::ranged::StoredFile;
use super::sequence::Sequence;
use super::values::{ValueLayout, ValueLines};

/// An input that has not been opened yet. Its bytes may be compressed by gzip, zstd, bzip2, xz or lz4; the
/// first bytes show it.
///
/// ```
/// use warpath::{Engine, Query, Source};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let first = Source::Bytes("memory".into(), "{\"a\":1}\n".into());
/// let second = Source::Reader("socket".into(), Box::new(&b"{\"a\":2}\n"[..]));
/// let mut hits = Engine::builder().build()?.input(vec![first, second]).query(&Query::compile("$.a")?)?;
/// assert_eq!(hits.next().unwrap()?.source(), "memory");
/// assert_eq!(hits.next().unwrap()?.source(), "socket");
/// # Ok(())
/// # }
/// ```
#[non_exhaustive]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// The lines that begin in a range of a plain file's bytes. The last of them may end after the range.
    /// Ranges that follow one another therefore have each line once, wherever they divide the file. Line
    /// numbers count from the first of these lines. A compressed file is refused, because bytes of its text
    /// are not bytes of the file.
    Part(PathBuf, Range<u64>),
    /// Standard input, from the current position of its descriptor. If it is a file, bytes that are in a
    /// buffer of this process are not read.
    Stdin,
    /// Any reader, with a name for messages.
    Reader(String, Box<dyn Read + Send>),
    /// Bytes in memory, with a name for messages.
    Bytes(String, InputBytes<'static>),
    /// A plain file that is followed: its lines, and those that are written to it later. The input ends when
    /// [`FollowEnd::end`] is called.
    ///
    /// Another file that takes the name is read from its start, after the rest of the file before it. A file
    /// that becomes shorter than what has been read of it is read from its start, too. Line numbers and
    /// offsets count on. A line that has not ended waits for its end.
    Followed(PathBuf, FollowFrom, FollowEnd),
    /// Several plain files, and the files of folders, that are followed at the same time, each as with
    /// [`Followed`](Self::Followed).
    ///
    /// The lines of one file keep their order; those of several come as they are written. Results have the
    /// names of their files, and each file counts its own lines.
    FollowedAll(FollowedFiles),
    /// A column of text in a table: each row is a line, and each value a record.
    ///
    /// A null and an empty string are blank lines, which are no records. Newlines outside strings become
    /// spaces, so that a value is one line; a newline in a string makes the record malformed. Line numbers
    /// are the numbers of rows, from 1 on. Offsets are those of the lines, and not of the file.
    Column(Box<Source>, TextColumn),
    /// JSON values of another layout than lines, which are read as lines: values one after the other on any
    /// number of lines, or the elements of arrays.
    ///
    /// Line numbers are those of the lines on which values begin, except after a line with several values.
    /// Offsets are those of the lines, and not of the file.
    ///
    /// ```
    /// use warpath::{Engine, Query, Source, ValueLayout};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let text = "[\n  {\"id\": 1},\n  {\n    \"id\": 2\n  }\n]\n".as_bytes();
    /// let array = Source::Bytes("array".into(), text.to_vec().into());
    /// let input = Engine::builder().build()?.input(vec![Source::Values(Box::new(array), ValueLayout::of(text, true))]);
    /// let hits = input.query(&Query::compile("$.id")?)?.collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(hits.iter().map(|hit| (hit.text(), hit.line())).collect::<Vec<_>>(), [("1".into(), 2), ("2".into(), 3)]);
    /// # Ok(())
    /// # }
    /// ```
    Values(Box<Source>, ValueLayout),
    /// The matches of a path in an input (`Records`), each a record.
    Records(Box<Source>, RecordLines),
    /// A part of a store in another storage than a disk, such as an object, of which ranges are read.
    #[cfg(feature = "store")]
    Stored(StoredFile),
    /// An input that is in memory.
    Loaded(LoadedInput),
}

/// The records that a path finds in inputs.
// A trait, because an engine finds them, and engines read inputs.
#[doc(hidden)]
pub trait FindsRecords: Send + Sync {
    /// The path of the records.
    fn path(&self) -> &str;

    /// The lines of an input, each a record.
    fn read(self: Arc<Self>, source: Source) -> Box<dyn Read + Send>;

    /// The numbers of records that were found and skipped so far.
    fn tally(&self) -> RecordsTally;

    /// The same records with a tally of their own.
    fn apart(&self) -> Arc<dyn FindsRecords>;
}

/// The records of [`Source::Records`], and the engine that finds them.
///
/// ```
/// use warpath::{Engine, Query, RecordLines, Records, Source};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().build()?;
/// let records = Records::new(Query::compile("$[*]")?);
/// let Source::Records(inner, lines) = records.of(&engine, Source::Stdin) else { panic!() };
/// let again: RecordLines = lines.clone();
/// assert_eq!(Source::Records(inner, again).name(), "<stdin>");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RecordLines(pub(crate) Arc<dyn FindsRecords>);

impl RecordLines {
    /// The same records with a tally of their own, for an input that is read twice.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn apart(&self) -> Self {
        Self(self.0.apart())
    }
}

/// Numbers of records that were found and skipped while an input was searched for them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RecordsTally {
    /// The lines that were read; 0 if a predicate leaves lines out.
    pub lines: u64,
    /// The matches.
    pub found: u64,
    /// The malformed records that were skipped.
    pub skipped: u64,
    /// The first one of them.
    pub first: Option<RecordError>,
}

/// An input that is open.
pub(crate) enum OpenedSource {
    /// An input that can be read at any offset at any time.
    Plain(PlainFile),
    /// An input that is read from start to end.
    Sequence(Sequence),
    /// Text in memory.
    Held(InputBytes<'static>),
    /// A part of a store.
    #[cfg(feature = "store")]
    Stored(StoredPart),
    /// Leaves in memory.
    #[cfg(feature = "store")]
    Loaded(Arc<Contents>),
    /// Files that are followed together.
    Followed(FollowedLines),
}

impl From<PathBuf> for Source {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl From<&str> for Source {
    /// The file with this path.
    fn from(path: &str) -> Self {
        Self::File(path.into())
    }
}

impl Source {
    /// The file's path as it was given, or `<stdin>`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::File(path) | Self::Part(path, _) | Self::Followed(path, ..) => path.display().to_string(),
            Self::Stdin => "<stdin>".into(),
            Self::FollowedAll(_) => "<followed files>".into(),
            Self::Reader(name, _) | Self::Bytes(name, _) => name.clone(),
            Self::Column(inner, _) | Self::Values(inner, _) | Self::Records(inner, _) => inner.name(),
            #[cfg(feature = "store")]
            Self::Stored(part) => part.name().to_owned(),
            Self::Loaded(input) => input.name().to_owned(),
        }
    }

    /// The size in bytes that the operating system reports, compressed or not; `None` if it is unknown.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::File(path) => path.metadata().ok().filter(std::fs::Metadata::is_file).map(|m| m.len()),
            Self::Part(path, range) => {
                let len = path.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
                Some(range.end.min(len).saturating_sub(range.start))
            }
            Self::Bytes(_, bytes) => Some(bytes.len() as u64),
            #[cfg(feature = "store")]
            Self::Stored(part) => Some(part.size()),
            Self::Loaded(input) => Some(input.text_bytes()),
            _ => None,
        }
    }

    /// Bytes of the text, as far as they are known before it is read: those of a plain file. `None` if they
    /// are unknown, or if the name has the ending of a compressed file.
    #[must_use]
    pub fn text_bytes(&self) -> Option<u64> {
        match self {
            Self::File(path) if has_compressed_name(path) => None,
            #[cfg(feature = "store")]
            Self::Stored(_) => None,
            Self::Bytes(name, bytes) => {
                is_plain(bytes, name).is_ok_and(|plain| plain).then_some(bytes.len() as u64)
            }
            _ => self.size(),
        }
    }

    /// The way in which the bytes come. A source that may wait is not opened.
    pub(crate) fn access(&self) -> Access {
        let open = |file: Option<File>| file.and_then(|file| plain_file(file, &self.name()).ok());
        match self {
            Self::File(path) if path.is_file() => match open(File::open(path).ok()) {
                Some(Regular::Plain(file)) => Access::Plain(file.len()),
                // Without a byte there is no compression.
                Some(Regular::Other(file)) if file.metadata().is_ok_and(|metadata| metadata.len() == 0) => {
                    Access::Plain(0)
                }
                Some(Regular::Other(_)) => Access::Compressed,
                #[cfg(feature = "store")]
                Some(Regular::Part(file)) => Access::Stored(PartText::bytes(&file)),
                None => Access::Stream,
            },
            Self::Stdin => match open(stdin_file()) {
                Some(Regular::Plain(file)) => Access::Stdin(file.len()),
                _ => Access::Stream,
            },
            Self::Bytes(_, bytes) if is_plain(bytes, "").unwrap_or(false) => {
                Access::Memory(bytes.len() as u64)
            }
            Self::Bytes(..) => Access::Compressed,
            Self::Part(..) => Access::Part(self.size().unwrap_or(0)),
            Self::File(_) | Self::Reader(..) => Access::Stream,
            Self::Followed(..) | Self::FollowedAll(_) => Access::Followed,
            Self::Column(..) => Access::Table,
            Self::Values(..) | Self::Records(..) => Access::Stream,
            #[cfg(feature = "store")]
            Self::Stored(part) => Access::Stored(part.open().map_or(0, |reader| text_bytes(&reader))),
            Self::Loaded(input) if input.levels().is_some() => Access::Kept(input.text_bytes()),
            Self::Loaded(input) => Access::Loaded(input.text_bytes()),
        }
    }

    /// The size of a plain file that the operating system reports; 0 for a source that is not a file, is
    /// compressed, or cannot be read.
    pub(crate) fn plain_bytes(&self) -> u64 {
        match self {
            // It need not be opened.
            #[cfg(feature = "store")]
            Self::Stored(_) => 0,
            _ => self.access().plain(),
        }
    }

    /// The mode of an output that is made from these inputs. An input without a file restricts nothing.
    ///
    /// ```
    /// use warpath_exec::input::Source;
    ///
    /// let mode = Source::output_mode(&[Source::File("secrets.ndjson".into()), Source::Stdin]);
    /// ```
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn output_mode<'a>(sources: impl IntoIterator<Item = &'a Self>) -> OutputMode {
        sources.into_iter().fold(OutputMode::default(), Self::mode_after)
    }

    fn mode_after(mode: OutputMode, source: &Self) -> OutputMode {
        match source {
            Self::File(path) | Self::Part(path, _) | Self::Followed(path, ..) => mode.and_file(path),
            Self::Stdin => stdin_file().map_or(mode, |file| mode.and_open(&file)),
            Self::Reader(..) | Self::Bytes(..) | Self::Loaded(_) => mode,
            #[cfg(feature = "store")]
            Self::Stored(_) => mode,
            Self::FollowedAll(all) => {
                let files = all.all_files().unwrap_or_default();
                files.iter().fold(mode, OutputMode::and_file)
            }
            Self::Column(inner, _) | Self::Values(inner, _) | Self::Records(inner, _) => {
                Self::mode_after(mode, inner)
            }
        }
    }

    /// True for a file of which [parts](Self::Part) can be read: one that is not compressed.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn has_parts(&self) -> bool {
        let file = match self {
            Self::File(path) if path.is_file() => File::open(path).ok(),
            _ => None,
        };
        let plain = file.and_then(|file| plain_file(file, &self.name()).ok());
        matches!(plain, Some(Regular::Plain(_)))
    }

    /// The range of a part; `None` for other inputs.
    pub(crate) fn range(&self) -> Option<Range<u64>> {
        match self {
            Self::Part(_, range) => Some(range.clone()),
            _ => None,
        }
    }

    /// True for a part of a store.
    #[cfg(feature = "store")]
    pub(crate) fn is_stored(&self) -> bool {
        matches!(self.access(), Access::Stored(_))
    }

    /// The lines of the input, from start to end, decompressed; and true if they begin within a text.
    ///
    /// # Errors
    /// Those of the input, also if it is in a known format that is not read.
    #[cfg(feature = "store")]
    pub(crate) fn into_lines(self) -> Result<(Box<dyn Read + Send>, bool), InputError> {
        if let Self::File(path) = &self
            && path.is_file()
        {
            let name = self.name();
            let failed = |source| InputError::Io { name: name.clone(), source };
            let file = File::open(path).map_err(failed)?;
            if PartText::is_in(&file).map_err(failed)? {
                let text = PartText::of_file(file, &name, cores())?;
                let begins_within = text.begins_within;
                return Ok((Box::new(text), begins_within));
            }
        }
        if let Self::Loaded(input) = self {
            return Ok(input.into_text());
        }
        if let Self::Stored(part) = &self {
            let text = StoredPart::of_stored(part)?.into_text(cores())?;
            let begins_within = text.begins_within;
            return Ok((Box::new(text), begins_within));
        }
        Ok((Box::new(self.decoded(cores())?.checked()?), false))
    }

    /// All bytes of the input, decompressed: a document that is read whole.
    ///
    /// # Errors
    /// [`InputError::Io`], [`InputError::Directory`], and the errors of compressed data.
    /// [`InputError::RecordTooLong`] beyond 2 GiB.
    pub fn read_whole(self) -> Result<Vec<u8>, InputError> {
        let name = self.name();
        let mut bytes = Vec::new();
        let read =
            self.decoded(cores())?.checked()?.take(MAX_PARTITION_BYTES as u64 + 1).read_to_end(&mut bytes);
        match read {
            Ok(_) if bytes.len() > MAX_PARTITION_BYTES => {
                Err(InputError::RecordTooLong { name, line: 1, limit: MAX_PARTITION_BYTES })
            }
            Ok(_) => Ok(bytes),
            Err(source) => Err(match source.downcast::<InputError>() {
                Ok(error) => error,
                Err(source) => InputError::Io { name, source },
            }),
        }
    }

    fn decoded(self, decoders: usize) -> Result<Decoded, InputError> {
        let name = self.name();
        let failed = |source| InputError::Io { name: name.clone(), source };
        match self {
            Self::File(path) if path.is_dir() => Err(InputError::Directory(path)),
            Self::File(path) => {
                let file = File::open(path).map_err(failed)?;
                #[cfg(feature = "store")]
                if file.metadata().is_ok_and(|metadata| metadata.is_file())
                    && PartText::is_in(&file).map_err(failed)?
                {
                    let text = PartText::of_file(file, &name, decoders)?;
                    return Ok(Decoded::plain(name.clone(), text));
                }
                Decoded::of_file(name.clone(), file, decoders)
            }
            Self::Stdin => match stdin_file() {
                Some(file) => Decoded::of_file(name, file, decoders),
                None => Decoded::new(name, io::stdin()),
            },
            Self::Reader(_, reader) => Decoded::new(name, reader),
            Self::Bytes(_, bytes) => Decoded::of_bytes(name, bytes, decoders),
            Self::Followed(path, from, end) => followed(name, &path, from, end),
            Self::FollowedAll(_) | Self::Part(..) => Err(whole(name)),
            Self::Column(table, column) => column.open(*table),
            Self::Values(inner, layout) => {
                Ok(Decoded::plain(name, ValueLines::new(inner.decoded(decoders)?.checked()?, layout)))
            }
            Self::Records(inner, lines) => Ok(Decoded::plain(name, lines.0.read(*inner))),
            #[cfg(feature = "store")]
            Self::Stored(part) => StoredPart::of_stored(&part)?.into_decoded(decoders),
            Self::Loaded(input) => Ok(Decoded::plain(name, input.into_text().0)),
        }
    }

    /// Opens the input. At most `decoders` threads decompress it.
    pub(crate) fn open(self, decoders: usize) -> Result<OpenedSource, InputError> {
        let name = self.name();
        let failed = |source| InputError::Io { name: name.clone(), source };
        let this = match self {
            Self::FollowedAll(all) => return all.open().map(OpenedSource::Followed),
            Self::Bytes(name, bytes) if is_plain(&bytes, &name)? => return Ok(OpenedSource::Held(bytes)),
            Self::Part(path, _) => return part(&name, &path).map(OpenedSource::Plain),
            #[cfg(feature = "store")]
            Self::Stored(part) => return StoredPart::of_stored(&part).map(OpenedSource::Stored),
            #[cfg(feature = "store")]
            Self::Loaded(ref input) if let Some(contents) = input.contents() => {
                return Ok(OpenedSource::Loaded(contents.clone()));
            }
            Self::Loaded(input) => return Ok(OpenedSource::Sequence(input.into_sequence())),
            // Compressed bytes are read at once, because these reads do not wait.
            Self::Bytes(_, bytes) => {
                let feed = Feed::Direct(Decoded::of_bytes(name.clone(), bytes, decoders)?.checked()?);
                return Ok(OpenedSource::Sequence(Sequence::new(name.into(), feed)));
            }
            other => other,
        };
        let regular = match &this {
            Self::File(path) => {
                let kind = path.metadata().map_err(failed)?.file_type();
                if kind.is_dir() {
                    return Err(InputError::Directory(path.clone()));
                }
                // A source that is not a file may wait when it is opened, too.
                if kind.is_file() { Some(File::open(path).map_err(failed)?) } else { None }
            }
            Self::Stdin => stdin_file(),
            _ => None,
        };
        let failed = |source: io::Error| match source.downcast::<InputError>() {
            Ok(error) => error,
            Err(source) => failed(source),
        };
        let feed = match regular.map(|file| plain_file(file, &name)).transpose().map_err(failed)? {
            Some(Regular::Plain(file)) => return Ok(OpenedSource::Plain(file)),
            #[cfg(feature = "store")]
            Some(Regular::Part(file)) => return StoredPart::open(file, &name).map(OpenedSource::Stored),
            Some(Regular::Other(file)) => {
                Feed::Direct(Decoded::of_file(name.clone(), file, decoders)?.checked()?)
            }
            None => {
                let to_open = name.clone();
                Feed::pumped(name.clone(), move || match this {
                    Self::File(path) => {
                        let file = File::open(&path)
                            .map_err(|source| InputError::Io { name: to_open.clone(), source })?;
                        Decoded::new(to_open, file)?.checked()
                    }
                    Self::Stdin => Decoded::new(to_open, io::stdin())?.checked(),
                    Self::Reader(_, reader) => Decoded::new(to_open, reader)?.checked(),
                    Self::Followed(path, from, end) => followed(to_open, &path, from, end),
                    Self::Column(table, column) => column.open(*table),
                    other @ (Self::Values(..) | Self::Records(..)) => other.decoded(decoders),
                    #[cfg(feature = "store")]
                    Self::Stored(_) => Err(whole(to_open)),
                    // These are opened above.
                    Self::FollowedAll(_) | Self::Bytes(..) | Self::Part(..) | Self::Loaded(_) => {
                        Err(whole(to_open))
                    }
                })?
            }
        };
        Ok(OpenedSource::Sequence(Sequence::new(name.into(), feed)))
    }
}

/// The error for parts of files and several followed files, where one input is read to its end.
fn whole(name: String) -> InputError {
    let what = "parts of files, and followed files, are read as lines only";
    let source = io::Error::new(io::ErrorKind::InvalidInput, what);
    InputError::Io { name, source }
}

/// The file that a part belongs to.
fn part(name: &str, path: &Path) -> Result<PlainFile, InputError> {
    let failed = |source| InputError::Io { name: name.to_owned(), source };
    let file = PlainFile::of(File::open(path).map_err(failed)?, name)?;
    file.ok_or_else(|| {
        let what = "a part of a compressed file cannot be read; read the whole file";
        failed(io::Error::new(io::ErrorKind::InvalidInput, what))
    })
}

/// The lines of a file that is followed.
fn followed(name: String, path: &Path, from: FollowFrom, end: FollowEnd) -> Result<Decoded, InputError> {
    // The first bytes show the format, also if reading begins at the end.
    let file = File::open(path).map_err(|source| InputError::Io { name: name.clone(), source })?;
    if file.metadata().is_ok_and(|metadata| metadata.is_file()) && PlainFile::of(file, &name)?.is_none() {
        return Err(compressed(path));
    }
    Ok(Decoded::plain(name, Follower::new(path, from, end)?))
}

impl PlainFile {
    /// A regular file that can be read at any offset. `None` if it is compressed.
    ///
    /// # Errors
    /// [`InputError::Io`] and [`InputError::Foreign`].
    pub fn of(file: File, name: &str) -> Result<Option<Self>, InputError> {
        let failed = |source| InputError::Io { name: name.to_owned(), source };
        let file = Self::new(file, name.into(), 0).map_err(failed)?;
        let head = file.head().map_err(failed)?;
        match Compression::of_input(&head, name) {
            Compression::None => match Foreign::of(&head) {
                Some(format) => Err(InputError::Foreign { name: name.to_owned(), format }),
                None => Ok(Some(file)),
            },
            _ => Ok(None),
        }
    }
}

/// A regular file.
enum Regular {
    Plain(PlainFile),
    /// A part of a store.
    #[cfg(feature = "store")]
    Part(File),
    /// A compressed file, or one whose length is not the one that the operating system reports, possibly 0.
    Other(File),
}

fn plain_file(mut file: File, name: &str) -> io::Result<Regular> {
    let base = file.stream_position()?;
    if file.metadata()?.len() <= base {
        return Ok(Regular::Other(file));
    }
    let file = PlainFile::new(file, name.into(), base)?;
    let head = file.head()?;
    let compression = Compression::of_input(&head, name);
    if compression == Compression::None
        && let Some(format) = Foreign::of(&head)
    {
        #[cfg(feature = "store")]
        if format == Foreign::Parquet && base == 0 {
            let file = file.into_file();
            if PartText::is_in(&file)? {
                return Ok(Regular::Part(file));
            }
        }
        return Err(InputError::Foreign { name: name.to_owned(), format }.into());
    }
    if compression == Compression::None && file.is_as_long_as_said()? {
        return Ok(Regular::Plain(file));
    }
    let mut file = file.into_file();
    // On some systems a positional read moves the file's position.
    file.seek(SeekFrom::Start(base))?;
    Ok(Regular::Other(file))
}

/// Standard input, if it is a regular file.
#[cfg(unix)]
pub(crate) fn stdin_file() -> Option<File> {
    use std::os::fd::AsFd;
    let file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
}

/// Standard input, if it is a regular file. This is not checked on this platform.
#[cfg(not(unix))]
pub(crate) fn stdin_file() -> Option<File> {
    None
}
