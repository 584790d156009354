//! The inputs of a request, and the threads that may read them.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use warpath_core::error::Error;

use super::bytes::InputBytes;
use super::held::{is_plain, plain_bytes};
use super::source::Source;

/// The longest file that is read and evaluated while the caller waits. A thread takes longer to start than
/// these bytes to evaluate.
const SMALL: usize = 64 << 10;

/// The inputs of a request.
pub(crate) enum Inputs<'a> {
    /// Inputs that threads may read.
    Sources(Vec<Source>),
    /// Borrowed bytes, with their name.
    Borrowed(String, &'a [u8]),
}

/// Inputs, by the threads that evaluate them.
pub(crate) enum Given<'a> {
    /// Inputs that threads read.
    Sources(Vec<Source>),
    /// Bytes that are evaluated while the caller waits.
    Held(Held<'a>),
}

/// Text in memory, with its name.
pub(crate) struct Held<'a> {
    pub name: Arc<str>,
    pub bytes: InputBytes<'a>,
}

impl<'a> Inputs<'a> {
    /// The sources; none for borrowed bytes.
    pub fn sources(&self) -> &[Source] {
        match self {
            Self::Sources(sources) => sources,
            Self::Borrowed(..) => &[],
        }
    }

    /// The bytes of plain files, and of text in memory.
    pub fn plain_bytes(&self) -> u64 {
        match self {
            Self::Sources(sources) => sources.iter().map(Source::plain_bytes).sum(),
            Self::Borrowed(_, bytes) => plain_bytes(&InputBytes::borrowed(bytes)),
        }
    }

    /// The names of the inputs.
    pub fn names(&self) -> String {
        match self {
            Self::Sources(sources) => sources.iter().map(Source::name).collect::<Vec<_>>().join(" "),
            Self::Borrowed(name, _) => name.clone(),
        }
    }

    /// The inputs as lines, in partitions of `size` bytes.
    ///
    /// # Errors
    /// [`Error::Input`] for borrowed bytes in a known format that is not read.
    pub fn lines(self, size: usize) -> Result<Given<'a>, Error> {
        self.given(size, usize::MAX)
    }

    /// The inputs as documents. Bytes of more than `size` bytes are read by threads.
    ///
    /// # Errors
    /// The errors of [`lines`](Self::lines), and [`Error::Usage`] for a part of a file.
    pub fn documents(self, size: usize) -> Result<Given<'a>, Error> {
        if let Some(part) = self.sources().iter().find(|source| source.range().is_some()) {
            let name = part.name();
            return Err(Error::Usage(format!(
                "{name}: a part of a file is read as lines, not as a document"
            )));
        }
        self.given(size, size)
    }

    /// The inputs. A small plain file is evaluated while the caller waits, and also bytes in memory: at most
    /// `owned` bytes that are owned, and at most `borrowed` that are borrowed. Longer borrowed bytes, and
    /// compressed ones, are copied for the threads that read them.
    fn given(self, owned: usize, borrowed: usize) -> Result<Given<'a>, Error> {
        Ok(match self {
            Self::Borrowed(name, bytes) => {
                let held = InputBytes::borrowed(bytes);
                if is_plain(&held, &name)? && bytes.len() <= borrowed {
                    Given::Held(Held { name: name.into(), bytes: held })
                } else {
                    Given::Sources(vec![Source::Bytes(name, bytes.to_vec().into())])
                }
            }
            Self::Sources(sources) => match &sources[..] {
                [Source::Bytes(name, bytes)]
                    if bytes.len() <= owned && is_plain(bytes, name).unwrap_or(false) =>
                {
                    Given::Held(Held { name: name.as_str().into(), bytes: bytes.clone() })
                }
                [source @ Source::File(path)] => match small_file(path, SMALL.min(owned)) {
                    Some(bytes) => Given::Held(Held { name: source.name().into(), bytes }),
                    None => Given::Sources(sources),
                },
                _ => Given::Sources(sources),
            },
        })
    }
}

/// The bytes of a plain file of at most `most` bytes. `None` for every other file, and for one that cannot be
/// read: threads read it, and report why they cannot.
fn small_file(path: &Path, most: usize) -> Option<InputBytes<'static>> {
    let size = path.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    // Files of /proc have no size and yet bytes.
    if size == 0 || size > most as u64 {
        return None;
    }
    let mut bytes = Vec::with_capacity(size as usize + 1);
    File::open(path).ok()?.take(most as u64 + 1).read_to_end(&mut bytes).ok()?;
    let bytes = (bytes.len() <= most).then(|| InputBytes::from(bytes))?;
    is_plain(&bytes, &path.to_string_lossy()).unwrap_or(false).then_some(bytes)
}
