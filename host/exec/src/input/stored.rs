//! Folders that are stores, and the parts that are read in place of each.

use std::path::{Path, PathBuf};

use warpath_core::error::InputError;
#[cfg(feature = "store")]
use warpath_folder::{Folder, FolderError, LocalStorage};

/// The folder of a store's log.
pub(super) const LOG: &str = "_delta_log";

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

/// Refuses a folder that is a store, because the feature `store` is off: the lines of its log are no records.
#[cfg(not(feature = "store"))]
pub(super) fn kind_of(path: &Path) -> Result<Kind, InputError> {
    if is_store(path) { Err(foreign(path)) } else { Ok(Kind::Plain) }
}
