//! The inputs of a request, and the threads that may read them.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use warpath_core::error::Error;
use warpath_plan::{Bytes as Access, SMALL, Threads};

use super::bytes::InputBytes;
use super::held::is_plain;
use super::loaded::KeptInput;
use super::source::Source;

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

    /// The way in which the bytes come.
    pub fn access(&self) -> Access {
        match self {
            Self::Borrowed(name, bytes) => match is_plain(&InputBytes::borrowed(bytes), name) {
                Ok(true) => Access::Borrowed(bytes.len() as u64),
                _ => Access::Compressed,
            },
            Self::Sources(sources) => match &sources[..] {
                [] => Access::Unknown,
                [source] => source.access(),
                sources if sources.iter().any(|source| source.range().is_some()) => {
                    Access::Part(sources.iter().map(Source::plain_bytes).sum())
                }
                sources => Access::Several(sources.iter().map(Source::plain_bytes).sum()),
            },
        }
    }

    /// True if parts of a store may be among several inputs, by their names.
    pub fn may_have_parts(&self) -> bool {
        let is_named = |source: &Source| match source {
            Source::File(path) => path.extension().is_some_and(|ending| ending == "parquet"),
            #[cfg(feature = "store")]
            Source::Stored(_) => true,
            Source::Loaded(input) => input.levels().is_none(),
            _ => false,
        };
        self.sources().len() > 1 && self.sources().iter().any(is_named)
    }

    /// True if any input has leaves in memory.
    pub fn are_loaded(&self) -> bool {
        let has_leaves = |source: &Source| match source {
            Source::Loaded(input) => input.levels().is_none(),
            _ => false,
        };
        self.sources().iter().any(has_leaves)
    }

    /// The indexes in memory, if all inputs have one, of one backend.
    pub fn kept(&self) -> Option<Vec<Arc<KeptInput>>> {
        let of_source = |source: &Source| match source {
            Source::Loaded(input) => input.kept().cloned(),
            _ => None,
        };
        let all = self.sources().iter().map(of_source).collect::<Option<Vec<_>>>()?;
        let is_one = all.iter().all(|kept| Arc::ptr_eq(&kept.backend, &all[0].backend));
        (is_one && !all.is_empty()).then_some(all)
    }

    /// The name of each input.
    pub fn each_name(&self) -> Vec<String> {
        match self {
            Self::Sources(sources) => sources.iter().map(Source::name).collect(),
            Self::Borrowed(name, _) => vec![name.clone()],
        }
    }

    /// The names of the inputs.
    pub fn names(&self) -> String {
        self.each_name().join(" ")
    }

    /// The inputs, for the threads that evaluate them. Of the caller's text, at most a partition of `size`
    /// bytes is held in memory; borrowed text is held whatever its length. Borrowed bytes that workers
    /// evaluate, and those that are compressed, are copied.
    ///
    /// # Errors
    /// [`Error::Input`] for borrowed bytes in a known format that is not read.
    pub fn given(self, threads: Threads, size: usize) -> Result<Given<'a>, Error> {
        let by_caller = threads == Threads::Caller;
        Ok(match self {
            Self::Borrowed(name, bytes) => {
                let held = InputBytes::borrowed(bytes);
                if is_plain(&held, &name)? && by_caller {
                    Given::Held(Held { name: name.into(), bytes: held })
                } else {
                    Given::Sources(vec![Source::Bytes(name, bytes.to_vec().into())])
                }
            }
            Self::Sources(sources) => match &sources[..] {
                [Source::Bytes(name, bytes)]
                    if by_caller && bytes.len() <= size && is_plain(bytes, name).unwrap_or(false) =>
                {
                    Given::Held(Held { name: name.as_str().into(), bytes: bytes.clone() })
                }
                [source @ Source::File(path)] if by_caller => {
                    match small_file(path, SMALL.min(size as u64)) {
                        Some(bytes) => Given::Held(Held { name: source.name().into(), bytes }),
                        None => Given::Sources(sources),
                    }
                }
                _ => Given::Sources(sources),
            },
        })
    }
}

/// The bytes of a plain file of at most `most` bytes. `None` for every other file, and for one that cannot
/// be read: the job that opens the file reports why.
fn small_file(path: &Path, most: u64) -> Option<InputBytes<'static>> {
    let size = path.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    // Files of /proc have no size and yet bytes.
    if size == 0 || size > most {
        return None;
    }
    let mut bytes = Vec::with_capacity(size as usize + 1);
    File::open(path).ok()?.take(most + 1).read_to_end(&mut bytes).ok()?;
    let bytes = (bytes.len() as u64 <= most).then(|| InputBytes::from(bytes))?;
    is_plain(&bytes, &path.to_string_lossy()).unwrap_or(false).then_some(bytes)
}
