//! Folders of executors for the results of tasks.
//!
//! A folder is removed when its executor ends. The folder of an executor that was killed stays. The next
//! executor with the same parent folder removes it: a killed process no longer locks a file in its folder.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::TempDir;

/// The beginning of the folders' names.
const PREFIX: &str = "warpath-executor-";
/// The file that an executor locks.
const LOCK: &str = "lock";

/// A folder, until this value is dropped.
pub struct Work {
    // The lock ends before the folder does.
    _lock: File,
    folder: TempDir,
}

impl Work {
    /// Makes a folder in a parent folder, and removes those of executors that were killed.
    ///
    /// # Errors
    /// A parent that cannot be written.
    pub fn within(parent: &Path) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        remove_left(parent);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = File::create(folder.path().join(LOCK))?;
        lock.lock()?;
        Ok(Self { _lock: lock, folder })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes folders that no process uses. Folders that cannot be removed stay.
fn remove_left(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for folder in folders.map(|entry| entry.path()) {
        if is_left(&folder) {
            // Another executor may remove it at the same time.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

fn is_left(folder: &Path) -> bool {
    File::open(folder.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_killed_executors_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let left = parent.path().join("warpath-executor-left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        let other = parent.path().join("other");
        fs::create_dir(&other).unwrap();
        let first = Work::within(parent.path()).unwrap();
        assert!(!left.exists() && other.exists());
        let second = Work::within(parent.path()).unwrap();
        assert!(first.path().exists() && second.path().exists());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}
