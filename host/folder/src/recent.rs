//! The last versions of folders that this process has opened.
//!
//! The log of a folder has a file for each version, and an opening reads all of them. A process that opens
//! the same folders again and again asks for its versions to be kept ([`remember`]): then an opening reads
//! the later versions alone. Such a process does not see damage of earlier versions.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use crate::action::file_of;
use crate::snapshot::Snapshot;

/// The most folders whose versions are kept.
const MOST: usize = 256;

/// A version, and the state of its file: size and time.
type Version = (Arc<Snapshot>, (u64, SystemTime));

/// The versions by folders; `None` if no versions are kept.
static RECENT: Mutex<Option<HashMap<PathBuf, Version>>> = Mutex::new(None);

/// Keeps the last version of each folder of this machine that this process opens from now on.
pub fn remember() {
    RECENT.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// The version of a folder that was kept, if its file is still the same.
pub(crate) fn known(folder: &Path) -> Option<Arc<Snapshot>> {
    let recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    let (snapshot, state) = recent.as_ref()?.get(folder)?;
    (state_of(folder, snapshot)? == *state).then(|| snapshot.clone())
}

/// Keeps a version of a folder.
pub(crate) fn keep(folder: &Path, snapshot: &Arc<Snapshot>) {
    let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(recent) = &mut *recent else { return };
    if recent.get(folder).is_some_and(|(known, _)| Arc::ptr_eq(known, snapshot)) {
        return;
    }
    if recent.len() >= MOST {
        recent.clear();
    }
    match state_of(folder, snapshot) {
        Some(state) => recent.insert(folder.to_owned(), (snapshot.clone(), state)),
        None => recent.remove(folder),
    };
}

fn state_of(folder: &Path, snapshot: &Snapshot) -> Option<(u64, SystemTime)> {
    let metadata = fs::metadata(folder.join(file_of(snapshot.version()))).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

#[cfg(test)]
mod tests {
    use crate::{Folder, LocalStorage, Millis, Part, Schema};

    use super::*;

    #[test]
    fn a_folder_is_opened_at_its_last_version() {
        remember();
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("folder");
        let open = || Folder::open(LocalStorage::new(&path)).unwrap();
        let create = || Folder::create(LocalStorage::new(&path), Schema::default(), Millis(0)).unwrap();
        let add = |folder: &mut Folder, name: &str| {
            fs::write(path.join(name), "a part").unwrap();
            let part = Part { name: name.into(), bytes: 6, rows: 3, ..Part::default() };
            folder.append(vec![part], Vec::new(), Millis(1)).unwrap()
        };
        let mut writer = create();
        assert_eq!(open().version(), 0);
        for version in 1..5 {
            assert_eq!(add(&mut writer, &format!("part-{version}.parquet")), version);
            let folder = open();
            assert_eq!((folder.version(), folder.snapshot().rows()), (version, 3 * version));
            assert_eq!(*folder.snapshot(), *known(&path).unwrap());
        }
        // Earlier versions are not read again, and parts are checked all the same.
        fs::write(path.join(file_of(2)), "damaged").unwrap();
        assert_eq!(open().version(), 4);
        fs::remove_file(path.join("part-1.parquet")).unwrap();
        assert!(Folder::open(LocalStorage::new(&path)).is_err());
        // Another folder at the same path.
        fs::remove_dir_all(&path).unwrap();
        assert!(Folder::open(LocalStorage::new(&path)).is_err());
        let mut writer = create();
        add(&mut writer, "part-x.parquet");
        assert_eq!((open().version(), open().snapshot().rows()), (1, 3));
    }
}
