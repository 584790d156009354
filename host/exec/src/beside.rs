//! Indexes that lie beside an input.
//!
//! The bitmap index of `log.ndjson` is `log.ndjson.wpb` or `log.wpb`, and its structural index is
//! `log.ndjson.wpi` or `log.wpi`. An index is used only if it was made of the input as the input is now, and
//! if the owner of the input, of this process or of the system owns it: others could make an index that lies.

use std::path::{Path, PathBuf};

use warpath_core::error::{Error, IndexError};
use warpath_plan::Unused;
use warpath_store::bitmap::BitmapIndex;

use crate::index_file::{CheckedIndex, IndexFile};
use crate::input::Source;

/// Finds the bitmap index of a file. Adds those that do not fit to `unused`.
pub(crate) fn bitmap(input: &Path, unused: &mut Vec<Unused>) -> Option<BitmapIndex> {
    find(input, "wpb", unused, |name| {
        let index = BitmapIndex::open(name)?;
        index.check(input)?;
        Ok(index)
    })
}

/// Finds the structural index of a file. Adds those that do not fit to `unused`.
pub(crate) fn structural(input: &Path, unused: &mut Vec<Unused>) -> Option<CheckedIndex> {
    find(input, "wpi", unused, |name| IndexFile::open(name)?.check(&[Source::File(input.to_owned())], false))
}

fn find<I>(
    input: &Path,
    ending: &str,
    unused: &mut Vec<Unused>,
    open: impl Fn(&Path) -> Result<I, Error>,
) -> Option<I> {
    let mut whole = input.as_os_str().to_owned();
    whole.push(".");
    whole.push(ending);
    let (whole, stem) = (PathBuf::from(whole), input.with_extension(ending));
    // Without an ending of the input, both names are one.
    let names = [Some(&whole), Some(&stem).filter(|stem| **stem != whole)];
    names.into_iter().flatten().find_map(|name| {
        if !name.is_file() || name == input {
            return None;
        }
        let opened = match is_trusted(name, input) {
            true => open(name).map_err(|error| match error {
                Error::Index(IndexError::OtherInput { what, .. }) => {
                    format!("it was made of another state of the input: {what}")
                }
                other => other.chain(),
            }),
            false => Err("another user owns it".into()),
        };
        // An index of another file with the same stem is no concern of this one.
        let matters = *name == whole || !is_shared(&stem, input);
        opened.map_err(|why| unused.push(Unused::new(name.display().to_string(), why, matters))).ok()
    })
}

/// True if other files than an input may have the index of this name: files of its folder with the same stem.
fn is_shared(index: &Path, input: &Path) -> bool {
    let folder = input.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(files) = folder.read_dir() else { return false };
    files.filter_map(|file| Some(PathBuf::from(file.ok()?.file_name()))).any(|file| {
        let is_index = file.extension().is_some_and(|ending| ending == "wpb" || ending == "wpi");
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
