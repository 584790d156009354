//! Decompressed bytes of an input, whose compression and foreign formats are recognised by content.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use warpath_core::error::InputError;
use warpath_core::foreign::Foreign;

use super::bytes::InputBytes;
#[cfg(any(feature = "lz4", feature = "zstd"))]
use super::frames::{ParallelFrames, sequential};
#[cfg(feature = "lz4")]
use super::lz4::Lz4;
use super::plain::{PlainFile, shorter};
#[cfg(feature = "zstd")]
use super::zstd::Zstd;

/// The compression of an input, recognised by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
    Bzip2,
    Xz,
    Lz4,
}

/// The first bytes of compressed data.
const BEGINNINGS: [(&[u8], Compression); 5] = [
    (b"\x1f\x8b", Compression::Gzip),
    (b"\x28\xb5\x2f\xfd", Compression::Zstd),
    (b"BZh", Compression::Bzip2),
    (b"\xfd7zXZ\0", Compression::Xz),
    (b"\x04\x22\x4d\x18", Compression::Lz4),
];

/// The most memory that the decoder of xz may take for its dictionary, in KiB: more than any preset of `xz`
/// needs, and less than a damaged header can say.
#[cfg(feature = "xz")]
const XZ_MEMORY_KIB: u32 = 2 << 20;

/// The fewest bytes that several threads decompress.
const SHARED_BYTES: u64 = 1 << 20;
/// The fewest threads that decompress gzip data together. In sum they take twice the time of one thread, and
/// other threads evaluate (docs/lab/inputs.md).
#[cfg(feature = "gzip")]
const FEWEST_GZIP_DECODERS: usize = 3;

/// Endings of names of compressed files. The compression itself is recognised by content.
pub(super) const ENDINGS: [&str; 6] = ["gz", "zst", "zstd", "bz2", "xz", "lz4"];

/// True if a file is longer than its metadata says, as far as its name shows.
pub(crate) fn has_compressed_name(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}

impl Compression {
    pub fn of(head: &[u8]) -> Self {
        let mut data = head;
        // Frames of zstd and lz4 may follow frames that are skipped. Without more bytes, those are zstd's.
        while let [0x50..=0x5f, 0x2a, 0x4d, 0x18, rest @ ..] = data {
            let [a, b, c, d, rest @ ..] = rest else { return Self::Zstd };
            match rest.get(u32::from_le_bytes([*a, *b, *c, *d]) as usize..) {
                Some(rest) if rest.len() >= 4 => data = rest,
                _ => return Self::Zstd,
            }
        }
        let found = BEGINNINGS.iter().find(|(beginning, _)| data.starts_with(beginning));
        match found {
            Some((_, found)) if data.len() == head.len() || *found == Self::Lz4 => *found,
            None if data.len() == head.len() => Self::None,
            _ => Self::Zstd,
        }
    }

    /// The compression of an input with a name. Data that ends within its first bytes is compressed if the
    /// name says so. Text is text all the same.
    pub fn of_input(data: &[u8], name: &str) -> Self {
        let found = Self::of(data);
        if found != Self::None || !has_compressed_name(Path::new(name)) {
            return found;
        }
        let is_text = data.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
        let cut = BEGINNINGS.iter().find(|(beginning, _)| beginning.starts_with(data) && !is_text);
        cut.map_or(Self::None, |(_, compression)| *compression)
    }

    /// True if more bytes are needed to recognise the compression of data that begins with these bytes.
    fn may_begin_with(head: &[u8]) -> bool {
        let begins = |beginning: &[u8]| head.len() < beginning.len() && beginning.starts_with(head);
        let skipped = |first: u8| begins(&[first, 0x2a, 0x4d, 0x18]);
        BEGINNINGS.iter().any(|(beginning, _)| begins(beginning)) || (0x50..=0x5f).any(skipped)
    }

    /// The name of the compression. If a feature of this crate is necessary to read it, the feature has the
    /// same name.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
            Self::Bzip2 => Some("bzip2"),
            Self::Xz => Some("xz"),
            Self::Lz4 => Some("lz4"),
        }
    }

    /// The decompressed bytes of all members, streams or frames. If there are several decoders, the data is
    /// read ahead, and must not wait.
    ///
    /// # Errors
    /// [`InputError::NotBuilt`], in an error of a reader, if the feature for the compression is off; else the
    /// errors of the decoder.
    #[cfg_attr(
        not(any(feature = "gzip", feature = "zstd", feature = "lz4")),
        expect(unused_variables, reason = "only gzip, zstd and LZ4 are decompressed by several threads")
    )]
    #[cfg_attr(
        all(feature = "gzip", feature = "zstd", feature = "bzip2", feature = "xz", feature = "lz4"),
        expect(unused_variables, reason = "an input is named if the feature for its compression is off")
    )]
    fn decoder(self, raw: Raw, name: &str, decoders: usize) -> io::Result<Raw> {
        Ok(match self {
            Self::None => raw,
            #[cfg(feature = "gzip")]
            Self::Gzip if decoders >= FEWEST_GZIP_DECODERS => {
                Box::new(warpath_inflate::ParallelGzip::new(raw, decoders)?)
            }
            #[cfg(feature = "gzip")]
            Self::Gzip => Box::new(warpath_inflate::GzipReader::new(raw)),
            #[cfg(feature = "zstd")]
            Self::Zstd if decoders > 1 => Box::new(ParallelFrames::<Zstd>::new(raw, decoders)),
            #[cfg(feature = "zstd")]
            Self::Zstd => sequential::<Zstd>(raw)?,
            #[cfg(feature = "bzip2")]
            Self::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered(raw))),
            #[cfg(feature = "xz")]
            Self::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(buffered(raw), true, XZ_MEMORY_KIB)),
            #[cfg(feature = "lz4")]
            Self::Lz4 if decoders > 1 => Box::new(ParallelFrames::<Lz4>::new(raw, decoders)),
            #[cfg(feature = "lz4")]
            Self::Lz4 => sequential::<Lz4>(raw)?,
            #[cfg(not(all(
                feature = "gzip",
                feature = "zstd",
                feature = "bzip2",
                feature = "xz",
                feature = "lz4"
            )))]
            missing => {
                let feature = missing.name().unwrap_or_default();
                let (name, format) = (name.to_owned(), format!("compressed by {feature}"));
                return Err(InputError::NotBuilt { name, format, feature }.into());
            }
        })
    }
}

/// Any reader. Decoders get this type alone, because each type that they are compiled for costs seconds of a
/// build.
type Raw = Box<dyn Read + Send>;

/// The bytes of an input, decompressed.
pub(super) struct Decoded {
    name: String,
    reader: Raw,
    /// The name of the compression.
    compression: Option<&'static str>,
    /// The format of the decompressed bytes, if it is none that is read.
    foreign: Option<Foreign>,
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
    /// The bytes of a file, decompressed by at most `decoders` threads.
    pub fn of_file(name: String, file: File, decoders: usize) -> Result<Self, InputError> {
        let file = FromFile::new(file, &name);
        let file = file.map_err(|source| InputError::Io { name: name.clone(), source })?;
        let decoders = decoders_of(file.missing, decoders);
        Self::with(name, Box::new(file), decoders)
    }

    /// Bytes in memory, decompressed by at most `decoders` threads.
    pub fn of_bytes(name: String, bytes: InputBytes<'static>, decoders: usize) -> Result<Self, InputError> {
        let decoders = decoders_of(bytes.len() as u64, decoders);
        Self::with(name, Box::new(Cursor::new(bytes)), decoders)
    }

    /// The bytes of an input that may wait.
    pub fn new(name: String, raw: impl Read + Send + 'static) -> Result<Self, InputError> {
        Self::with(name, Box::new(raw), 1)
    }

    /// Reads the first bytes to recognise the compression. The first decompressed bytes are read too, because
    /// they may be in a foreign format.
    fn with(name: String, raw: Raw, decoders: usize) -> Result<Self, InputError> {
        let failed = |source| InputError::Io { name: name.clone(), source };
        let (head, raw) = peek(raw).map_err(failed)?;
        let compression = Compression::of_input(&head, &name);
        let mut decoded = Self {
            reader: Box::new(io::empty()),
            compression: compression.name(),
            foreign: if compression == Compression::None { Foreign::of(&head) } else { None },
            name,
        };
        let raw = Box::new(Cursor::new(head).chain(raw));
        let reader = compression.decoder(raw, &decoded.name, decoders);
        decoded.reader = reader.map_err(|source| decoded.error(source))?;
        if compression != Compression::None {
            let reader = std::mem::replace(&mut decoded.reader, Box::new(io::empty()));
            let (head, rest) = peek(reader).map_err(|source| decoded.error(source))?;
            decoded.foreign = match Compression::of(&head) {
                Compression::None => Foreign::of(&head),
                _ => Some(Foreign::CompressedTwice),
            };
            decoded.reader = Box::new(Cursor::new(head).chain(rest));
        }
        Ok(decoded)
    }

    /// Bytes that are text, whatever they begin with.
    pub fn plain(name: String, reader: impl Read + Send + 'static) -> Self {
        Self { name, reader: Box::new(reader), compression: None, foreign: None }
    }

    /// Refuses bytes that are in a known format, and not text in UTF-8.
    pub fn checked(self) -> Result<Self, InputError> {
        match self.foreign {
            Some(format) => Err(InputError::Foreign { name: self.name, format }),
            None => Ok(self),
        }
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

/// The number of threads that decompress `len` bytes.
fn decoders_of(len: u64, most: usize) -> usize {
    if len < SHARED_BYTES { 1 } else { most }
}

#[cfg(any(feature = "bzip2", feature = "xz"))]
fn buffered(raw: Raw) -> io::BufReader<Raw> {
    io::BufReader::with_capacity(256 << 10, raw)
}

/// The first bytes, as many as are needed to recognise compressed data and foreign formats, and the rest.
///
/// A pipe may contain only a short line so far, so this waits for no more bytes than necessary. Some files
/// that the system generates return no bytes to a second read. Therefore the first read has a large buffer.
fn peek(mut raw: Raw) -> io::Result<(Vec<u8>, Raw)> {
    let mut head = vec![0; 64 << 10];
    let mut filled = 0;
    while Compression::may_begin_with(&head[..filled]) || Foreign::may_begin_with(&head[..filled]) {
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
