//! Indexes that lie beside an input.
//!
//! The bitmap index of `log.ndjson` is `log.ndjson.wpb` or `log.wpb`, and its structural index is
//! `.log.ndjson.warpath`. An index is used only if it was made of the input as the input is now, and if the
//! owner of the input, of this process or of the system owns it: others could make an index that lies. The
//! structural index may be of the first lines of an input that has grown.

use std::path::{Path, PathBuf};

use warpath_core::error::{Error, IndexError};
use warpath_plan::Unused;
use warpath_store::bitmap::BitmapIndex;

use crate::index_file::CheckedIndex;
#[cfg(feature = "store")]
use crate::index_file::IndexFile;

/// Finds the bitmap index of a file. Adds those that do not fit to `unused`.
pub(crate) fn bitmap(input: &Path, unused: &mut Vec<Unused>) -> Option<BitmapIndex> {
    let mut whole = input.as_os_str().to_owned();
    whole.push(".wpb");
    let (whole, stem) = (PathBuf::from(whole), input.with_extension("wpb"));
    // Without an ending of the input, both names are one.
    let names = [Some(&whole), Some(&stem).filter(|stem| **stem != whole)];
    let open = |name: &Path| {
        let index = BitmapIndex::open(name)?;
        index.check(input)?;
        Ok(index)
    };
    names.into_iter().flatten().find_map(|name| {
        let why = match fitting(name, input, open)? {
            Ok(index) => return Some(index),
            Err(why) => why,
        };
        // An index of another file with the same stem is no concern of this one.
        let matters = *name == whole || !is_shared(&stem, input);
        unused.push(Unused::new(name.display().to_string(), why, matters));
        None
    })
}

/// Finds the structural index of a file. Adds one that does not fit to `unused`.
#[cfg(feature = "store")]
pub(crate) fn structural(input: &Path, unused: &mut Vec<Unused>) -> Option<CheckedIndex> {
    let name = IndexFile::path_of(input);
    let fitting = fitting(&name, input, |name| CheckedIndex::open(name, input))?;
    let why = |why| format!("{why}; `warpath store index {}` renews it", input.display());
    fitting.map_err(|said| unused.push(Unused::new(name.display().to_string(), why(said), true))).ok()
}

/// No structural index: it is a part, which needs the feature `store`.
#[cfg(not(feature = "store"))]
pub(crate) fn structural(_: &Path, _: &mut Vec<Unused>) -> Option<CheckedIndex> {
    None
}

/// Opens the index of this name if it is there and fits, or says why it does not.
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

/// True if other files than an input may have the index of this name: files of its folder with the same stem.
fn is_shared(index: &Path, input: &Path) -> bool {
    let folder = input.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(files) = folder.read_dir() else { return false };
    files.filter_map(|file| Some(PathBuf::from(file.ok()?.file_name()))).any(|file| {
        let is_index = file.extension().is_some_and(|ending| ending == "wpb");
        let has_stem = Some(file.as_os_str()) == index.file_stem() || file.file_stem() == index.file_stem();
        has_stem && !is_index && Some(file.as_os_str()) != input.file_name()
    })
}

/// True if the owner of an index is that of its input, of this process, or of the system.
#[cfg(unix)]
fn is_trusted(index: &Path, input: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &Path| path.metadata().ok().map(|metadata| metadata.uid());
    // A new file has the owner of this process; /proc has one for each process.
    let own = || owner(Path::new("/proc/self"));
    owner(index).is_some_and(|index| index == 0 || Some(index) == owner(input) || Some(index) == own())
}

/// True: this platform has no owners of files.
#[cfg(not(unix))]
fn is_trusted(_: &Path, _: &Path) -> bool {
    true
}
