//! Folders that are stores, and the parts that are read in place of each.

use std::path::{Path, PathBuf};

use warpath_core::error::InputError;
#[cfg(feature = "store")]
use warpath_folder::{Folder, FolderError, LocalStorage};

/// The folder of a store's log.
const LOG: &str = "_delta_log";

/// True if the path is a folder with the log of a store.
pub(crate) fn is_store(path: &Path) -> bool {
    path.join(LOG).is_dir()
}

/// The parts of a folder that is a store, in the order of their lines; `None` for another folder.
#[cfg(feature = "store")]
pub(super) fn parts_of_store(path: &Path) -> Result<Option<Vec<PathBuf>>, InputError> {
    if !is_store(path) {
        return Ok(None);
    }
    let folder = Folder::open(LocalStorage::new(path)).map_err(|error| match error {
        FolderError::Storage { source, name, .. } => {
            InputError::Io { name: path.join(name).display().to_string(), source }
        }
        error => InputError::Part { name: path.display().to_string(), reason: error.to_string() },
    })?;
    Ok(Some(folder.snapshot().parts().map(|part| path.join(&part.name)).collect()))
}

/// Refuses a folder that is a store, because the feature `store` is off: the lines of its log are no records.
#[cfg(not(feature = "store"))]
pub(super) fn parts_of_store(path: &Path) -> Result<Option<Vec<PathBuf>>, InputError> {
    if !is_store(path) {
        return Ok(None);
    }
    let (name, format) = (path.display().to_string(), "a store".to_owned());
    Err(InputError::NotBuilt { name, format, feature: "store" })
}
