//! Locations of stores: folders of this machine, and folders of other storages.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use warpath_core::error::{Error, InputError, StoreError};
use warpath_core::stamp::hash;
use warpath_core::temporary::{OutputMode, Temporary, is_temporary};
use warpath_folder::{Folder, FolderError, LOG, LocalStorage, Part, Storage};
use warpath_part::file::{Error as PartError, Reader};

use super::{of_io, of_part};
use crate::input::{PartText, Source, StoredFile, has_no_lines, is_store, why_foreign};

/// The times that a folder with parts and without a log is looked at, and the time between them.
const WAITS: u32 = 20;
const WAIT: Duration = Duration::from_millis(50);

/// The location of a store: a folder or one part, on a disk or in another storage.
///
/// ```
/// use std::path::Path;
/// use warpath::store::{Store, StoreLocation};
///
/// let location = StoreLocation::from(Path::new("none.wp"));
/// assert!(Store::open(location).is_err());
/// ```
#[derive(Clone)]
pub struct StoreLocation(Kind);

#[derive(Clone)]
enum Kind {
    /// A folder of this machine, or a part.
    Disk(PathBuf),
    /// A folder of another storage.
    Folder(Arc<dyn Storage>),
    /// A part in another storage.
    Object(StoredFile),
}

impl<P: AsRef<Path> + ?Sized> From<&P> for StoreLocation {
    /// A folder of this machine, or a part.
    fn from(path: &P) -> Self {
        Self(Kind::Disk(path.as_ref().to_owned()))
    }
}

impl From<PathBuf> for StoreLocation {
    /// A folder of this machine, or a part.
    fn from(path: PathBuf) -> Self {
        Self(Kind::Disk(path))
    }
}

impl StoreLocation {
    /// A folder of a storage.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn of_storage(storage: Arc<dyn Storage>) -> Self {
        Self(Kind::Folder(storage))
    }

    /// One part, which has this name and this size in a folder of a storage.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn of_object(storage: Arc<dyn Storage>, name: String, size: u64) -> Self {
        Self(Kind::Object(StoredFile::new(storage, name, size)))
    }

    /// True for a part in another storage than a disk. False for another file there.
    ///
    /// # Errors
    /// The errors of the storage.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn is_stored_part(&self) -> Result<bool, Error> {
        let Kind::Object(part) = &self.0 else { return Ok(false) };
        match part.open() {
            Err(PartError::NotParquet | PartError::Foreign) => Ok(false),
            // What is wrong with a part is said when it is read.
            Err(PartError::Io(source)) => Err(InputError::Io { name: part.name().to_owned(), source }.into()),
            _ => Ok(true),
        }
    }

    /// The path or the URL, for messages.
    pub(super) fn shown(&self) -> String {
        match &self.0 {
            Kind::Disk(path) => path.display().to_string(),
            Kind::Folder(storage) => storage.shown(""),
            Kind::Object(part) => part.name().to_owned(),
        }
    }

    /// The path or the URL of a file of the folder, for messages.
    pub(super) fn within(&self, name: &str) -> String {
        match &self.0 {
            Kind::Disk(path) => path.join(name).display().to_string(),
            Kind::Folder(storage) => storage.shown(name),
            Kind::Object(part) => part.name().to_owned(),
        }
    }

    /// The path, without links; `None` for a location that is not on this machine, or where nothing is yet.
    pub(super) fn canonical(&self) -> Option<PathBuf> {
        match &self.0 {
            Kind::Disk(path) => path.canonicalize().ok(),
            Kind::Folder(_) | Kind::Object(_) => None,
        }
    }

    /// The part, if this is the location of one.
    pub(super) fn one_part(&self) -> Option<StoreFile> {
        match &self.0 {
            Kind::Disk(path) => path.is_file().then(|| StoreFile::Disk(path.clone())),
            Kind::Folder(_) => None,
            Kind::Object(part) => Some(StoreFile::Stored(part.clone())),
        }
    }

    /// The file of a part of the folder.
    pub(super) fn file(&self, part: &Part) -> StoreFile {
        match &self.0 {
            Kind::Disk(path) => StoreFile::Disk(path.join(&part.name)),
            Kind::Folder(storage) => {
                StoreFile::Stored(StoredFile::new(storage.clone(), part.name.clone(), part.bytes))
            }
            Kind::Object(part) => StoreFile::Stored(part.clone()),
        }
    }

    /// The folder as a storage. On a disk, new files have no wider permissions than the last file of its log,
    /// and than `mode`: the log has the names of members of all lines.
    pub(super) fn storage(&self, mode: OutputMode) -> Result<Arc<dyn Storage>, Error> {
        match &self.0 {
            Kind::Disk(path) => {
                let entries = path.join(LOG).read_dir().into_iter().flatten().flatten();
                let versions = entries.map(|entry| entry.path());
                let versions = versions.filter(|path| path.extension() == Some("json".as_ref()));
                let mode = versions.max().map_or(mode, |last| mode.and_file(last));
                Ok(Arc::new(LocalStorage::new(path).with_mode(mode)))
            }
            Kind::Folder(storage) => Ok(storage.clone()),
            Kind::Object(part) => {
                let reason = "is one object, and no store that can be changed; name the folder of a store";
                Err(StoreError::Refused { name: part.name().to_owned(), reason: reason.to_owned() }.into())
            }
        }
    }

    /// Opens the folder at its last version.
    pub(super) fn open(&self, mode: OutputMode) -> Result<Folder, Error> {
        Folder::open(self.storage(mode)?).map_err(|error| self.failed(error))
    }

    /// Opens the folder; `None` if there is none, and a store can be made here.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if something else is here.
    pub(super) fn open_or_none(&self, mode: OutputMode) -> Result<Option<Folder>, Error> {
        let refused = |reason: &str| {
            let (name, reason) = (self.shown(), reason.to_owned());
            Err(StoreError::Refused { name, reason }.into())
        };
        for _ in 0..WAITS {
            let storage = self.storage(mode)?;
            if self.has_log(&*storage)? {
                match Folder::open(storage.clone()) {
                    Err(FolderError::NoLog) if !Folder::is_foreign(&storage) => {}
                    opened => return opened.map(Some).map_err(|error| self.failed(error)),
                }
            }
            let Some(contents) = self.contents(&*storage)? else {
                return refused("is no folder; `store add` makes a folder of its own");
            };
            match contents {
                Contents::Nothing => return Ok(None),
                Contents::Others => return refused("is no store; `store add` makes a folder of its own"),
                // Another writer has complete parts, and is about to create the log.
                Contents::Unfinished => thread::sleep(WAIT),
            }
        }
        refused(
            "has parts and no log: another program adds the first lines, or did not end, or the log was \
             removed; try again, restore the log, or remove the parts",
        )
    }

    fn has_log(&self, storage: &dyn Storage) -> Result<bool, Error> {
        match &self.0 {
            Kind::Disk(path) => Ok(is_store(path)),
            Kind::Folder(_) | Kind::Object(_) => {
                let files = storage.list(LOG).map_err(|source| of_io(&self.shown(), source))?;
                Ok(!files.is_empty())
            }
        }
    }

    /// The contents of a folder without a log; `None` for a file that is no folder.
    fn contents(&self, storage: &dyn Storage) -> Result<Option<Contents>, Error> {
        let (is_empty, are_unfinished) = match &self.0 {
            Kind::Disk(path) if !path.exists() => (true, false),
            Kind::Disk(path) => {
                let Ok(entries) = path.read_dir() else { return Ok(None) };
                let paths = entries.flatten().map(|entry| entry.path());
                let paths: Vec<PathBuf> = paths.filter(|path| !is_of_no_store(path)).collect();
                (paths.is_empty(), paths.iter().all(|path| is_unfinished(path)))
            }
            Kind::Folder(_) | Kind::Object(_) => {
                let objects = storage.list("").map_err(|source| of_io(&self.shown(), source))?;
                (objects.is_empty(), objects.iter().all(|object| is_name_of_part(&object.name)))
            }
        };
        Ok(Some(match (is_empty, are_unfinished) {
            (true, _) => Contents::Nothing,
            (false, true) => Contents::Unfinished,
            (false, false) => Contents::Others,
        }))
    }

    /// True for a file that an addition has left which did not end. The log does not name it.
    pub(super) fn is_unfinished(&self, name: &str) -> bool {
        match &self.0 {
            Kind::Disk(path) => is_unfinished(&path.join(name)),
            // An upload is complete or absent, and has a name of its own.
            Kind::Folder(_) | Kind::Object(_) => is_name_of_part(name),
        }
    }

    /// The folder of this machine.
    pub(super) fn disk(&self) -> Option<&Path> {
        match &self.0 {
            Kind::Disk(path) => Some(path),
            Kind::Folder(_) | Kind::Object(_) => None,
        }
    }

    /// The error of the folder.
    pub(super) fn failed(&self, error: FolderError) -> Error {
        let name = self.shown();
        let is_foreign =
            || self.storage(OutputMode::default()).is_ok_and(|storage| Folder::is_foreign(&storage));
        match error {
            FolderError::Storage { source, name: within, .. } => of_io(&self.within(&within), source),
            _ if is_foreign() => {
                let reason = match &self.0 {
                    Kind::Disk(path) => why_foreign(path),
                    Kind::Folder(_) | Kind::Object(_) => {
                        "is a Delta table of another program, and no store; `warpath sql` reads its Parquet \
                         files: name each"
                            .to_owned()
                    }
                };
                StoreError::Refused { name, reason }.into()
            }
            error @ (FolderError::Malformed { .. }
            | FolderError::Gap { .. }
            | FolderError::Missing { .. }) => StoreError::Damaged { name, reason: error.to_string() }.into(),
            FolderError::NoLog => {
                let reason = "is no store: it has no `_delta_log`; `warpath store add` makes one".to_owned();
                StoreError::Refused { name, reason }.into()
            }
            error => StoreError::Refused { name, reason: error.to_string() }.into(),
        }
    }

    /// Begins a part. In another storage than a disk it is written to a temporary file at first, which only
    /// the user may read.
    pub(super) fn begin(&self, name: String, mode: OutputMode) -> Result<(NewPart, File), Error> {
        let (target, mode) = match &self.0 {
            Kind::Disk(path) => (path.join(&name), mode),
            Kind::Folder(_) | Kind::Object(_) => (std::env::temp_dir().join(&name), OutputMode::private()),
        };
        let failed = |source| Error::Output { name: target.display().to_string(), source };
        let (temporary, file) = Temporary::beside(&target, mode).map_err(failed)?;
        Ok((NewPart { shown: target.display().to_string(), name, temporary }, file))
    }

    /// Ends a part, whose bytes have been written. It appears in the folder. Returns the hash of its footer.
    pub(super) fn end(&self, part: NewPart) -> Result<u64, Error> {
        let NewPart { name, shown, temporary } = part;
        let hash = open(&StoreFile::Disk(temporary.path().to_owned()), &shown)?.footer_hash();
        let shown = self.within(&name);
        let done = match &self.0 {
            Kind::Disk(_) => temporary.rename(),
            Kind::Folder(storage) => storage.put_file(&name, temporary.path()),
            Kind::Object(_) => Err(std::io::ErrorKind::Unsupported.into()),
        };
        done.map(|()| hash).map_err(|source| Error::Output { name: shown, source })
    }

    /// Removes a part that no version of the store names. Nobody reads it, so it does no harm if it stays.
    pub(super) fn discard(&self, name: &str) {
        let _ = match &self.0 {
            Kind::Disk(path) => std::fs::remove_file(path.join(name)),
            Kind::Folder(storage) => storage.delete(name),
            Kind::Object(_) => Ok(()),
        };
    }
}

/// The contents of a folder without a log.
enum Contents {
    Nothing,
    /// Parts, and what else additions leave that have not ended.
    Unfinished,
    Others,
}

/// True for what a first addition leaves that was interrupted before a part was complete: a temporary file,
/// or the folder of the log.
fn is_of_no_store(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    is_temporary(name) || name == LOG && path.is_dir()
}

/// True for a file that an addition has left which did not end: one under a temporary name, or a part under
/// a name as they have.
fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    is_temporary(name)
        || is_name_of_part(name)
            && path.is_file()
            && File::open(path).is_ok_and(|file| PartText::is_in(&file).unwrap_or(false))
}

/// A name that no other part has: the instant, and a number that other writers do not make.
pub(super) fn new_name() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let unique = format!("{} {} {number}", since.as_nanos(), process::id());
    format!("part-{:013}-{:016x}.parquet", since.as_millis(), hash(unique.as_bytes()))
}

/// True for a name as [`new_name`] makes them.
fn is_name_of_part(name: &str) -> bool {
    let between = name.strip_prefix("part-").and_then(|name| name.strip_suffix(".parquet"));
    between.and_then(|between| between.split_once('-')).is_some_and(|(millis, number)| {
        millis.len() >= 13
            && millis.bytes().all(|byte| byte.is_ascii_digit())
            && number.len() == 16
            && number.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// A part that is written.
pub(super) struct NewPart {
    /// The name in the folder.
    pub name: String,
    /// The path at which it is written, for messages. In another storage, that of the temporary file.
    pub shown: String,
    temporary: Temporary,
}

/// The file of a part.
#[derive(Clone)]
pub(super) enum StoreFile {
    /// A file of this machine.
    Disk(PathBuf),
    /// A file of another storage. Copies of this value open it once.
    Stored(StoredFile),
}

impl StoreFile {
    /// The path or the URL, for messages.
    pub fn shown(&self) -> String {
        match self {
            Self::Disk(path) => path.display().to_string(),
            Self::Stored(part) => part.name().to_owned(),
        }
    }

    /// The name in the folder.
    pub fn name(&self) -> String {
        match self {
            Self::Disk(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            Self::Stored(part) => part.name().rsplit('/').next().unwrap_or_default().to_owned(),
        }
    }

    /// The part as an input.
    pub fn source(&self) -> Source {
        match self {
            Self::Disk(path) => Source::File(path.clone()),
            Self::Stored(part) => Source::Stored(part.clone()),
        }
    }

    /// The bytes of the file.
    pub fn size(&self) -> Result<u64, Error> {
        match self {
            Self::Disk(path) => {
                Ok(path.metadata().map_err(|source| of_io(&path.display().to_string(), source))?.len())
            }
            Self::Stored(part) => Ok(part.size()),
        }
    }

    /// The mode of an output that is made from the part too.
    pub fn and_mode(&self, mode: OutputMode) -> OutputMode {
        match self {
            Self::Disk(path) => mode.and_file(path),
            Self::Stored(_) => mode,
        }
    }

    /// Opens the part.
    pub fn open(&self) -> Result<Arc<Reader>, Error> {
        open(self, &self.shown())
    }
}

/// Opens a part, whose name in messages is `shown`.
fn open(file: &StoreFile, shown: &str) -> Result<Arc<Reader>, Error> {
    let reader = match file {
        StoreFile::Disk(path) => File::open(path).map_err(PartError::Io).and_then(Reader::open).map(Arc::new),
        StoreFile::Stored(part) => part.open(),
    };
    let reader = reader.map_err(|error| of_part(shown, error))?;
    match has_no_lines(&reader) {
        Some(reason) => Err(StoreError::Refused { name: shown.to_owned(), reason: reason.to_owned() }.into()),
        None => Ok(reader),
    }
}
