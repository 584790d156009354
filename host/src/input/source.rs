//! Where bytes come from.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::PathBuf;

use super::feed::Feed;
use crate::error::InputError;

/// An input that has not been opened yet.
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// Anything that can be read, with a name for messages.
    Reader(String, Box<dyn Read + Send>),
}

/// How the bytes of an input are compressed, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            // A frame, or a skippable frame before it.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// Whether some compressed data begins with these bytes.
    fn may_begin_with(head: &[u8]) -> bool {
        let magic = |wanted: &[u8]| head.iter().zip(wanted).all(|(have, want)| have == want);
        let skippable = matches!(head.first(), Some(0x50..=0x5f)) && {
            let rest = &head[1..];
            rest.iter().zip([0x2a, 0x4d, 0x18]).all(|(have, want)| *have == want)
        };
        magic(&[0x1f, 0x8b]) || magic(&[0x28, 0xb5, 0x2f, 0xfd]) || skippable
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
        }
    }
}

/// An input that is open: its bytes, decompressed.
pub(super) struct Open {
    pub name: String,
    pub feed: Feed,
    /// `gzip` or `zstd`.
    compression: Option<&'static str>,
}

impl Open {
    /// An error of [`Open::feed`], by whose fault it is.
    pub fn error(&self, source: io::Error) -> InputError {
        let name = self.name.clone();
        match self.compression {
            // What the operating system says is about the file, not about what is in it.
            Some(format) if source.raw_os_error().is_none() => {
                InputError::Compressed { name, format, source }
            }
            _ => InputError::Io { name, source },
        }
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

    /// The bytes that the operating system says there are, compressed or not; `None` where it does not know.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::File(path) => path.metadata().ok().filter(std::fs::Metadata::is_file).map(|m| m.len()),
            _ => None,
        }
    }

    pub(super) fn open(self) -> Result<Open, InputError> {
        let name = self.name();
        let failed = |source| InputError::Io { name: name.clone(), source };
        // Whether a read may wait for somebody to write.
        let mut waits = true;
        let raw: Box<dyn Read + Send> = match self {
            Self::File(path) => {
                let file = File::open(&path).map_err(failed)?;
                let kind = file.metadata().map_err(failed)?.file_type();
                if kind.is_dir() {
                    return Err(InputError::Directory(path));
                }
                waits = !kind.is_file();
                Box::new(file)
            }
            Self::Stdin => Box::new(io::stdin()),
            Self::Reader(_, reader) => reader,
        };
        let (head, raw) = peek(raw).map_err(failed)?;
        let compression = Compression::of(&head);
        let raw = Cursor::new(head).chain(raw);
        let reader: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(raw),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(raw))),
            Compression::Zstd => {
                Box::new(zstd::stream::read::Decoder::with_buffer(buffered(raw)).map_err(failed)?)
            }
        };
        let feed = if waits { Feed::pumped(reader).map_err(failed)? } else { Feed::Direct(reader) };
        Ok(Open { name, feed, compression: compression.name() })
    }
}

fn buffered(raw: impl Read) -> impl BufRead {
    BufReader::with_capacity(256 << 10, raw)
}

/// The first bytes, as many as it takes to know what they are, and the rest.
///
/// A pipe may have but a short line so far, so no more is waited for than has to be.
fn peek(mut raw: Box<dyn Read + Send>) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut head = Vec::with_capacity(4);
    while head.len() < 4 && Compression::may_begin_with(&head) {
        if raw.by_ref().take(1).read_to_end(&mut head)? == 0 {
            break;
        }
    }
    Ok((head, raw))
}
