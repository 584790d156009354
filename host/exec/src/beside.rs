//! The index that lies beside an input.
//!
//! The index of `log.ndjson` is `.log.ndjson.warpath`. It is used only if it was made of the input as the
//! input is now, or of its first lines, and if the owner of the input, of this process or of the system owns
//! it: others could make an index that lies.

use std::path::Path;

#[cfg(feature = "store")]
use warpath_core::error::{Error, IndexError};
use warpath_plan::Unused;

use crate::index_file::CheckedIndex;
#[cfg(feature = "store")]
use crate::index_file::IndexFile;

/// Finds the index of a file. Adds one that does not fit to `unused`.
#[cfg(feature = "store")]
pub(crate) fn index(input: &Path, unused: &mut Vec<Unused>) -> Option<CheckedIndex> {
    let name = IndexFile::path_of(input);
    let fitting = fitting(&name, input, |name| CheckedIndex::open(name, input))?;
    let why = |why| format!("{why}; `warpath store index {}` renews it", input.display());
    fitting.map_err(|said| unused.push(Unused::new(name.display().to_string(), why(said), true))).ok()
}

/// No index: it is a part, which needs the feature `store`.
#[cfg(not(feature = "store"))]
pub(crate) fn index(_: &Path, _: &mut Vec<Unused>) -> Option<CheckedIndex> {
    None
}

/// Opens the index of this name if it is there and fits, or says why it does not.
#[cfg(feature = "store")]
fn fitting<I>(
    name: &Path,
    input: &Path,
    open: impl Fn(&Path) -> Result<I, Error>,
) -> Option<Result<I, String>> {
    if !name.is_file() || name == input {
        return None;
    }
    Some(match is_trusted(name, input) {
        true => open(name).map_err(|error| match error {
            Error::Index(IndexError::OtherInput { what, .. }) => {
                format!("it was made of another state of the input: {what}")
            }
            other => other.chain(),
        }),
        false => Err("another user owns it".into()),
    })
}

/// True if the owner of an index is that of its input, of this process, or of the system.
#[cfg(all(unix, feature = "store"))]
fn is_trusted(index: &Path, input: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &Path| path.metadata().ok().map(|metadata| metadata.uid());
    // A new file has the owner of this process; /proc has one for each process.
    let own = || owner(Path::new("/proc/self"));
    owner(index).is_some_and(|index| index == 0 || Some(index) == owner(input) || Some(index) == own())
}

/// True: this platform has no owners of files.
#[cfg(all(not(unix), feature = "store"))]
fn is_trusted(_: &Path, _: &Path) -> bool {
    true
}
