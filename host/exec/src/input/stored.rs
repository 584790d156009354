//! Folders that are stores, and the parts that are read in place of each.

use std::path::{Path, PathBuf};
#[cfg(feature = "store")]
use std::{
    ffi::OsStr,
    fs::File,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use warpath_core::error::InputError;
#[cfg(feature = "store")]
use warpath_folder::{Folder, FolderError, LocalStorage, Snapshot};

#[cfg(feature = "store")]
use super::part::PartText;

/// The folder of a store's log.
pub(crate) const LOG: &str = "_delta_log";

/// True if the path is a folder with the log of a store.
pub(crate) fn is_store(path: &Path) -> bool {
    path.join(LOG).is_dir()
}

/// A folder, as far as its log shows.
#[cfg_attr(not(feature = "store"), expect(dead_code, reason = "no log is read"))]
pub(super) enum Kind {
    /// There is no log.
    Plain,
    /// The parts of a store, in the order of their lines.
    Store(Vec<PathBuf>),
    /// A table of another program.
    Foreign,
}

/// The kind of a folder. A path that is no folder is plain.
#[cfg(feature = "store")]
pub(super) fn kind_of(path: &Path) -> Result<Kind, InputError> {
    if !is_store(path) {
        return Ok(Kind::Plain);
    }
    let folder = match Folder::open(LocalStorage::new(path)) {
        Err(_) if Folder::is_foreign(&LocalStorage::new(path)) => return Ok(Kind::Foreign),
        folder => folder,
    };
    let folder = folder.map_err(|error| match error {
        FolderError::Storage { source, name, .. } => {
            InputError::Io { name: path.join(name).display().to_string(), source }
        }
        error => InputError::Part { name: path.display().to_string(), reason: error.to_string() },
    })?;
    Ok(Kind::Store(folder.snapshot().parts().map(|part| path.join(&part.name)).collect()))
}

/// Refuses a part that is in the folder of a store, and not in the last version of the store.
///
/// If the log is damaged, the part is read all the same, because it may be all that is left.
#[cfg(feature = "store")]
pub(crate) fn check_part(path: &Path) -> Result<(), InputError> {
    // The folder may be that of the name, or that of the file which it leads to.
    for path in [std::path::absolute(path), path.canonicalize()].into_iter().flatten() {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { continue };
        let is_part = || path.is_file() && File::open(&path).is_ok_and(|file| has_key(&file));
        if !is_store(folder) || !is_part() || has_part(folder, name).unwrap_or(true) {
            continue;
        }
        let reason = format!(
            "is not in the last version of the store `{}`: `compact` or `drop` replaced it, or an addition did \
             not end; name the store",
            folder.display()
        );
        return Err(InputError::Part { name: path.display().to_string(), reason });
    }
    Ok(())
}

#[cfg(feature = "store")]
fn has_key(file: &File) -> bool {
    PartText::is_in(file).unwrap_or(false)
}

/// The version of a store that was looked at last, and the time of the last change of its log's folder.
#[cfg(feature = "store")]
static LAST: Mutex<Option<(PathBuf, SystemTime, Arc<Snapshot>)>> = Mutex::new(None);

/// True if the last version of a store has a part. `None` if the log cannot be read.
#[cfg(feature = "store")]
fn has_part(folder: &Path, name: &OsStr) -> Option<bool> {
    let name = name.to_str().unwrap_or_default();
    let changed = folder.join(LOG).metadata().and_then(|log| log.modified()).ok()?;
    // Many parts of one store may be named.
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((path, time, snapshot)) = &*last
        && (path, *time) == (&folder.to_owned(), changed)
        && snapshot.part(name).is_some()
    {
        return Some(true);
    }
    let snapshot = Folder::open(LocalStorage::new(folder)).ok()?.snapshot();
    let has_part = snapshot.part(name).is_some();
    *last = Some((folder.to_owned(), changed, snapshot));
    Some(has_part)
}

/// The reason why a table of another program is no input, and what is.
#[cfg(feature = "store")]
pub(crate) fn why_foreign(path: &Path) -> String {
    format!(
        "is a Delta table of another program, and no store; `warpath sql` reads its files: \
         `SELECT * FROM '{}'`; a pattern names other files in it",
        path.join("*.parquet").display()
    )
}

/// The error for a table of another program.
#[cfg(feature = "store")]
pub(super) fn foreign(path: &Path) -> InputError {
    InputError::Part { name: path.display().to_string(), reason: why_foreign(path) }
}

/// The error for a table of another program.
#[cfg(not(feature = "store"))]
pub(super) fn foreign(path: &Path) -> InputError {
    let (name, format) = (path.display().to_string(), "a store".to_owned());
    InputError::NotBuilt { name, format, feature: "store" }
}

/// Parts are refused when they are read, because the feature `store` is off.
#[cfg(not(feature = "store"))]
pub(crate) fn check_part(_: &Path) -> Result<(), InputError> {
    Ok(())
}

/// Refuses a folder that is a store, because the feature `store` is off: the lines of its log are no records.
#[cfg(not(feature = "store"))]
pub(super) fn kind_of(path: &Path) -> Result<Kind, InputError> {
    if is_store(path) { Err(foreign(path)) } else { Ok(Kind::Plain) }
}
