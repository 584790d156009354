//! Sources of bytes: files, standard input and readers.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;

use warpath_core::error::InputError;
use warpath_core::temporary::OutputMode;
use warpath_shared::units::MAX_PARTITION_BYTES;
use warpath_store::packed::file::PackedFile;
use warpath_store::packed::layout::is_packed;
use warpath_store::packed::stream::Unpacker;

use super::feed::Feed;
use super::plain::{PlainFile, shorter};
use super::sequence::Sequence;

/// An input that has not been opened yet.
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Standard input, from the current position of its descriptor. If it is a file, bytes that are in a
    /// buffer of this process are not read.
    Stdin,
    /// Any reader, with a name for messages.
    Reader(String, Box<dyn Read + Send>),
}

/// The compression of an input, recognised by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstd,
    /// Packed lines ([`crate::packed`]).
    Packed,
}

impl Compression {
    fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            head if is_packed(head) => Self::Packed,
            // A frame, or a skippable frame before it.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// True if some compressed data begins with these bytes.
    fn may_begin_with(head: &[u8]) -> bool {
        let magic = |wanted: &[u8]| head.iter().zip(wanted).all(|(have, want)| have == want);
        let skippable = matches!(head.first(), Some(0x50..=0x5f)) && {
            let rest = &head[1..];
            rest.iter().zip([0x2a, 0x4d, 0x18]).all(|(have, want)| *have == want)
        };
        let packed = b"\x89WPK";
        magic(&[0x1f, 0x8b]) || magic(&[0x28, 0xb5, 0x2f, 0xfd]) || magic(packed) || skippable
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Packed => Some("packed"),
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
        }
    }
}

/// An input that is open.
pub(crate) enum OpenedSource {
    /// An input that can be read at any offset at any time.
    Plain(PlainFile),
    /// An input that is read from start to end.
    Sequence(Sequence),
}

/// The bytes of an input, decompressed.
pub(super) struct Decoded {
    name: String,
    reader: Box<dyn Read + Send>,
    /// `gzip` or `zstd`, or `packed`.
    compression: Option<&'static str>,
    /// True if the input, or the data that was compressed, is packed.
    is_packed: bool,
}

/// A file that is read from its current position to its end. An end before the length that the file had is an
/// error.
struct FromFile {
    file: File,
    name: String,
    /// The bytes that must still come; 0 if the operating system does not know their number.
    missing: u64,
}

impl FromFile {
    fn new(mut file: File, name: &str) -> io::Result<Self> {
        let mut missing = 0;
        if file.metadata()?.is_file() {
            let base = file.stream_position()?;
            let plain = PlainFile::new(file, name.into(), base)?;
            if plain.len() > 0 && plain.is_as_long_as_said()? {
                missing = plain.len();
            }
            file = plain.into_file();
            // On some systems a positional read moves the file's position.
            file.seek(SeekFrom::Start(base))?;
        }
        Ok(Self { file, name: name.to_owned(), missing })
    }
}

impl Read for FromFile {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(room)?;
        if count == 0 && !room.is_empty() && self.missing > 0 {
            return Err(InputError::Io { name: self.name.clone(), source: shorter() }.into());
        }
        self.missing = self.missing.saturating_sub(count as u64);
        Ok(count)
    }
}

impl Decoded {
    /// The bytes of a file.
    fn of_file(name: String, file: File) -> Result<Self, InputError> {
        let file = FromFile::new(file, &name);
        let file = file.map_err(|source| InputError::Io { name: name.clone(), source })?;
        Self::new(name, file)
    }

    /// Reads the first bytes to recognise the compression. The first decompressed bytes are read too, because
    /// compressed data may be packed.
    fn new(name: String, raw: impl Read + Send + 'static) -> Result<Self, InputError> {
        let failed = |source| InputError::Io { name: name.clone(), source };
        let (head, raw) = peek(raw).map_err(failed)?;
        let compression = Compression::of(&head);
        let raw = Cursor::new(head).chain(raw);
        let reader: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(raw),
            Compression::Packed => Box::new(Unpacker::new(buffered(raw), name.clone())),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(raw))),
            Compression::Zstd => {
                Box::new(zstd::stream::read::Decoder::with_buffer(buffered(raw)).map_err(failed)?)
            }
        };
        let compressed = compression.name();
        let mut decoded =
            Self { name, reader, compression: compressed, is_packed: compression == Compression::Packed };
        if matches!(compression, Compression::Gzip | Compression::Zstd) {
            let reader = std::mem::replace(&mut decoded.reader, Box::new(io::empty()));
            let (head, rest) = peek(reader).map_err(|source| decoded.error(source))?;
            decoded.is_packed = is_packed(&head);
            let name = decoded.name.clone();
            let reader = Cursor::new(head).chain(rest);
            decoded.reader = if decoded.is_packed {
                Box::new(Unpacker::new(buffered(reader), name))
            } else {
                Box::new(reader)
            };
        }
        Ok(decoded)
    }

    /// Reads some bytes; 0 at the end.
    pub fn read(&mut self, room: &mut [u8]) -> Result<usize, InputError> {
        loop {
            match self.reader.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.error(error)),
                Ok(count) => return Ok(count),
            }
        }
    }

    /// Classifies an error of the reader: the compressed data, or the file.
    fn error(&self, source: io::Error) -> InputError {
        let source = match source.downcast::<InputError>() {
            Ok(error) => return error,
            Err(source) => source,
        };
        let name = self.name.clone();
        match self.compression {
            // An error of the operating system is about the file, not about its contents.
            Some(format) if source.raw_os_error().is_none() => {
                InputError::Compressed { name, format, source }
            }
            _ => InputError::Io { name, source },
        }
    }
}

impl Read for Decoded {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        Self::read(self, room).map_err(io::Error::from)
    }
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
            Self::File(path) => path.display().to_string(),
            Self::Stdin => "<stdin>".into(),
            Self::Reader(name, _) => name.clone(),
        }
    }

    /// The size in bytes that the operating system reports, compressed or not; `None` if it is unknown.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::File(path) => path.metadata().ok().filter(std::fs::Metadata::is_file).map(|m| m.len()),
            _ => None,
        }
    }

    /// The size of a plain file that the operating system reports; 0 for a source that is not a file, is
    /// compressed, or cannot be read.
    pub(crate) fn plain_bytes(&self) -> u64 {
        let file = match self {
            // A source that may wait is not opened.
            Self::File(path) if path.is_file() => File::open(path).ok(),
            Self::Stdin => stdin_file(),
            _ => None,
        };
        let plain = file.and_then(|file| plain_file(file, &self.name()).ok());
        match plain {
            Some(Regular::Plain(file)) => file.len(),
            _ => 0,
        }
    }

    /// The mode of an output that is made from these inputs. An input without a file restricts nothing.
    ///
    /// ```
    /// use warpath_exec::input::Source;
    ///
    /// let mode = Source::output_mode(&[Source::File("secrets.ndjson".into()), Source::Stdin]);
    /// ```
    #[must_use]
    pub fn output_mode<'a>(sources: impl IntoIterator<Item = &'a Self>) -> OutputMode {
        sources.into_iter().fold(OutputMode::default(), |mode, source| match source {
            Self::File(path) => mode.and_file(path),
            Self::Stdin => stdin_file().map_or(mode, |file| mode.and_open(&file)),
            Self::Reader(..) => mode,
        })
    }

    /// The decompressed bytes of the input, from start to end. Packed input is refused, because only `pack`
    /// calls this.
    pub(crate) fn into_reader(self) -> Result<Box<dyn Read + Send>, InputError> {
        let name = self.name();
        let decoded = self.decoded()?;
        if decoded.is_packed {
            let failed = |source| InputError::Io { name, source };
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "is packed already")));
        }
        Ok(Box::new(decoded))
    }

    /// All bytes of the input, decompressed and unpacked: a document that is read whole.
    ///
    /// # Errors
    /// [`InputError::Io`], [`InputError::Directory`], and the errors of compressed or packed data.
    /// [`InputError::RecordTooLong`] beyond 2 GiB.
    pub fn read_whole(self) -> Result<Vec<u8>, InputError> {
        let name = self.name();
        let mut bytes = Vec::new();
        let read = self.decoded()?.take(MAX_PARTITION_BYTES as u64 + 1).read_to_end(&mut bytes);
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

    fn decoded(self) -> Result<Decoded, InputError> {
        let name = self.name();
        let failed = |source| InputError::Io { name: name.clone(), source };
        match self {
            Self::File(path) if path.is_dir() => Err(InputError::Directory(path)),
            Self::File(path) => Decoded::of_file(name.clone(), File::open(path).map_err(failed)?),
            Self::Stdin => match stdin_file() {
                Some(file) => Decoded::of_file(name, file),
                None => Decoded::new(name, io::stdin()),
            },
            Self::Reader(_, reader) => Decoded::new(name, reader),
        }
    }

    pub(crate) fn open(self) -> Result<OpenedSource, InputError> {
        let name = self.name();
        let failed = |source| InputError::Io { name: name.clone(), source };
        let regular = match &self {
            Self::File(path) => {
                let kind = path.metadata().map_err(failed)?.file_type();
                if kind.is_dir() {
                    return Err(InputError::Directory(path.clone()));
                }
                // A source that is not a file may wait when it is opened, too.
                if kind.is_file() { Some(File::open(path).map_err(failed)?) } else { None }
            }
            Self::Stdin => stdin_file(),
            Self::Reader(..) => None,
        };
        let failed = |source: io::Error| match source.downcast::<InputError>() {
            Ok(error) => error,
            Err(source) => failed(source),
        };
        let feed = match regular.map(|file| plain_file(file, &name)).transpose().map_err(failed)? {
            Some(Regular::Plain(file)) => return Ok(OpenedSource::Plain(file)),
            Some(Regular::Other(file)) => Feed::Direct(Decoded::of_file(name.clone(), file)?),
            None => {
                let to_open = name.clone();
                Feed::pumped(name.clone(), move || match self {
                    Self::File(path) => {
                        let file = File::open(&path)
                            .map_err(|source| InputError::Io { name: to_open.clone(), source })?;
                        Decoded::new(to_open, file)
                    }
                    Self::Stdin => Decoded::new(to_open, io::stdin()),
                    Self::Reader(_, reader) => Decoded::new(to_open, reader),
                })?
            }
        };
        Ok(OpenedSource::Sequence(Sequence::new(name.into(), feed)))
    }
}

impl PlainFile {
    /// A regular file that can be read at any offset: a plain one, or a packed one. `None` if it is
    /// compressed in another way.
    ///
    /// # Errors
    /// [`InputError::Io`], and the errors of a packed file that cannot be read.
    pub fn of(file: File, name: &str) -> Result<Option<Self>, InputError> {
        let failed = |source| InputError::Io { name: name.to_owned(), source };
        let file = Self::new(file, name.into(), 0).map_err(failed)?;
        match Compression::of(&file.head().map_err(failed)?) {
            Compression::None => Ok(Some(file)),
            Compression::Packed => {
                Ok(Some(Self::packed(PackedFile::of_file(&file.into_file(), name.into())?)))
            }
            Compression::Gzip | Compression::Zstd => Ok(None),
        }
    }
}

/// A regular file.
enum Regular {
    Plain(PlainFile),
    /// A compressed file, or one whose length is not the one that the operating system reports, possibly 0.
    Other(File),
}

fn plain_file(mut file: File, name: &str) -> io::Result<Regular> {
    let base = file.stream_position()?;
    if file.metadata()?.len() <= base {
        return Ok(Regular::Other(file));
    }
    let file = PlainFile::new(file, name.into(), base)?;
    let compression = Compression::of(&file.head()?);
    if compression == Compression::None && file.is_as_long_as_said()? {
        return Ok(Regular::Plain(file));
    }
    let mut file = file.into_file();
    // If the packed data does not begin at the start of the file, its offsets are not those of the file.
    if compression == Compression::Packed && base == 0 {
        let packed = PackedFile::of_file(&file, name.into())?;
        return Ok(Regular::Plain(PlainFile::packed(packed)));
    }
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

fn buffered(raw: impl Read) -> impl BufRead {
    BufReader::with_capacity(256 << 10, raw)
}

/// The first bytes, as many as are needed to recognise the compression, and the rest.
///
/// A pipe may contain only a short line so far, so this waits for no more bytes than necessary. Some files
/// that the system generates return no bytes to a second read. Therefore the first read has a large buffer.
fn peek<R: Read>(mut raw: R) -> io::Result<(Vec<u8>, R)> {
    let mut head = vec![0; 64 << 10];
    let mut filled = 0;
    while filled < 4 && Compression::may_begin_with(&head[..filled]) {
        match raw.read(&mut head[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    head.truncate(filled);
    Ok((head, raw))
}
