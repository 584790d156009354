//! The operations that a folder needs, and folders of this machine.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpath_core::file::read_exact_at;
use warpath_core::pool;
use warpath_core::temporary::{OutputMode, Temporary};

use crate::part::Millis;

/// A file or an object of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The name within the folder that was listed.
    pub name: String,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last change.
    pub modified: Millis,
}

/// The operations that a folder needs. Names are relative to the folder, with `/` after `_delta_log`.
///
/// An operation that returns `Ok` has lasting results: they are there after a crash of the machine.
pub trait Storage: Send + Sync {
    /// The path of the folder; `None` for a folder that is not on this machine.
    fn local_path(&self) -> Option<&Path> {
        None
    }

    /// The files directly in a folder: `""` or `_delta_log`, in any order. A folder that does not exist has
    /// none.
    ///
    /// # Errors
    /// The errors of the storage.
    fn list(&self, folder: &str) -> io::Result<Vec<Object>>;

    /// The bytes of a file.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], and the errors of the storage.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// The bytes of several files, in their order.
    fn read_many(&self, names: Vec<String>) -> Vec<io::Result<Vec<u8>>> {
        pool::map(names, |name| self.read(&name))
    }

    /// The bytes of a range of a file.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the file ends before the range does, [`io::ErrorKind::NotFound`],
    /// and the errors of the storage.
    fn read_range(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        let (start, end) = (usize::try_from(range.start).ok(), usize::try_from(range.end).ok());
        let bytes = self.read(name)?;
        let range = start.zip(end).and_then(|(start, end)| bytes.get(start..end));
        range.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Creates a file that has the bytes of a local file. It appears whole, under a name that no other writer
    /// has.
    ///
    /// # Errors
    /// The errors of the storage and of the local file. There is then no file of this name, unless the error
    /// came after the last byte.
    fn put_file(&self, name: &str, from: &Path) -> io::Result<()> {
        self.create(name, &fs::read(from)?)
    }

    /// The name of a file for messages: its path or its URL. The name of the folder itself for the name `""`.
    fn shown(&self, name: &str) -> String {
        name.to_owned()
    }

    /// Creates a file if it is absent, at once and whole. Of several writers, one succeeds.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`]; the file may be by an earlier attempt of this call. After any other
    /// error, the file may be there or not.
    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Makes a file lasting that the caller has written. Returns its size.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], and the errors of the storage.
    fn settle(&self, name: &str) -> io::Result<u64>;

    /// Removes a file. It is no error if there is none.
    ///
    /// # Errors
    /// The errors of the storage.
    fn delete(&self, name: &str) -> io::Result<()>;
}

impl<S: Storage + ?Sized> Storage for Arc<S> {
    fn local_path(&self) -> Option<&Path> {
        S::local_path(self)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<Object>> {
        S::list(self, folder)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        S::read(self, name)
    }

    fn read_many(&self, names: Vec<String>) -> Vec<io::Result<Vec<u8>>> {
        S::read_many(self, names)
    }

    fn read_range(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        S::read_range(self, name, range)
    }

    fn put_file(&self, name: &str, from: &Path) -> io::Result<()> {
        S::put_file(self, name, from)
    }

    fn shown(&self, name: &str) -> String {
        S::shown(self, name)
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        S::create(self, name, bytes)
    }

    fn settle(&self, name: &str) -> io::Result<u64> {
        S::settle(self, name)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        S::delete(self, name)
    }
}

/// A folder of this machine.
#[derive(Clone, Debug)]
pub struct LocalStorage {
    folder: PathBuf,
    mode: OutputMode,
}

impl LocalStorage {
    /// The folder at a path. It is made by the first file that is created in it.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), mode: OutputMode::default() }
    }

    /// Restricts the permissions of new files.
    #[must_use]
    pub fn with_mode(self, mode: OutputMode) -> Self {
        Self { mode, ..self }
    }

    /// The path of a file of the folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Begins a new file, which appears under its name after [`finish`](Self::finish).
    ///
    /// # Errors
    /// The errors of the operating system.
    pub fn begin(&self, name: &str) -> io::Result<(Temporary, File)> {
        let path = self.path(name);
        match Temporary::beside(&path, self.mode) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().unwrap_or(Path::new("."));
                fs::create_dir_all(folder)?;
                sync(folder.parent())?;
                sync(self.folder.parent())?;
                Temporary::beside(&path, self.mode)
            }
            made => made,
        }
    }

    /// Ends a new file: its bytes are made lasting, and it appears under its name, where nothing may be.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], and the errors of the operating system.
    pub fn finish(&self, name: &str, temporary: Temporary, file: &File) -> io::Result<()> {
        file.sync_all()?;
        let renamed = temporary.rename_new();
        // A file that is there already may be by a writer that has not done this yet.
        sync(self.path(name).parent())?;
        renamed
    }
}

impl Storage for LocalStorage {
    fn local_path(&self) -> Option<&Path> {
        Some(&self.folder)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<Object>> {
        let entries = match fs::read_dir(self.path(folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut objects = Vec::new();
        for entry in entries {
            let entry = entry?;
            // This crate writes no names that are not UTF-8.
            let Ok(name) = entry.file_name().into_string() else { continue };
            match fs::metadata(entry.path()) {
                Ok(metadata) if metadata.is_file() => {
                    let modified = metadata.modified()?.into();
                    objects.push(Object { name, size: metadata.len(), modified });
                }
                Ok(_) => {}
                // Removed meanwhile, or a link to nothing.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(objects)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.path(name))
    }

    fn read_range(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        let file = File::open(self.path(name))?;
        let len = range.end.saturating_sub(range.start);
        // Memory grows no further than the file.
        if range.end > file.metadata()?.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?];
        read_exact_at(&file, &mut bytes, range.start)?;
        Ok(bytes)
    }

    fn put_file(&self, name: &str, from: &Path) -> io::Result<()> {
        let (temporary, mut file) = self.begin(name)?;
        io::copy(&mut File::open(from)?, &mut file)?;
        self.finish(name, temporary, &file)
    }

    fn shown(&self, name: &str) -> String {
        let path = if name.is_empty() { self.folder.clone() } else { self.path(name) };
        path.display().to_string()
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (temporary, mut file) = self.begin(name)?;
        file.write_all(bytes)?;
        self.finish(name, temporary, &file)
    }

    fn settle(&self, name: &str) -> io::Result<u64> {
        let path = self.path(name);
        let file = File::open(&path)?;
        file.sync_all()?;
        sync(path.parent())?;
        Ok(file.metadata()?.len())
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.path(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}

/// Makes the names in a folder lasting.
#[cfg(unix)]
fn sync(folder: Option<&Path>) -> io::Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

/// Other systems do not open folders.
#[cfg(not(unix))]
fn sync(_: Option<&Path>) -> io::Result<()> {
    Ok(())
}
