//! Output files: written under another name, renamed when they are complete, and no more open than their inputs.
//!
//! A temporary file is created exclusively (`O_EXCL`), under a random name, in the folder of the file that it
//! becomes. So a link or a pipe that somebody else has put into that folder is neither followed nor opened.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, TempPath};

/// The permission bits that an output may have at most.
///
/// The mode of a new output is the intersection of:
///
/// 1. what the umask leaves of `rw-rw-rw-`;
/// 2. the mode of each file that the output is made from, but for the bits of its owner;
/// 3. the mode of the file that it replaces, if there is one.
///
/// So group and others get no permission that they lack on one of these files. The bits of an input's owner do not count, because the
/// owner of an output is whoever made it: from a file that is read-only comes one that may be written again. Only regular files count:
/// the mode of a pipe or a terminal says nothing about the text that comes through it. Owner, group and access control lists
/// are not copied. Where there are no such modes (not on Unix), there is no restriction.
///
/// ```
/// use warpath_core::temporary::OutputMode;
///
/// let mode = OutputMode::default().and_file("secrets.ndjson").and_file("words.txt");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputMode(u32);

impl Default for OutputMode {
    /// `rw-rw-rw-`: nothing restricts it but the umask.
    fn default() -> Self {
        Self(0o666)
    }
}

impl OutputMode {
    /// The mode of an output that is made from the file of this path, too. A file that is not there restricts nothing.
    #[must_use]
    pub fn and_file(self, path: impl AsRef<Path>) -> Self {
        fs::metadata(path).map_or(self, |metadata| self.and(&metadata, OWNER))
    }

    /// The mode of an output that is made from this file, too.
    #[must_use]
    pub fn and_open(self, file: &File) -> Self {
        file.metadata().map_or(self, |metadata| self.and(&metadata, OWNER))
    }

    /// The mode of an output that replaces the file of this path.
    #[must_use]
    fn replacing(self, path: &Path) -> Self {
        fs::metadata(path).map_or(self, |metadata| self.and(&metadata, 0))
    }

    /// The intersection with the mode of a regular file, but for the bits of `without`.
    #[cfg(unix)]
    fn and(self, metadata: &fs::Metadata, without: u32) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        if metadata.is_file() { Self(self.0 & (metadata.mode() | without)) } else { self }
    }

    #[cfg(not(unix))]
    fn and(self, _: &fs::Metadata, _: u32) -> Self {
        self
    }

    /// Opens a file to write it from its start, where it is. A new file gets this mode; one that is there keeps its own, as do its links.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn create(self, path: impl AsRef<Path>) -> io::Result<File> {
        self.options().create(true).truncate(true).open(path)
    }

    /// Writes a new file, which gets what the umask leaves of this mode.
    #[cfg(unix)]
    fn options(self) -> OpenOptions {
        use std::os::unix::fs::OpenOptionsExt as _;
        let mut options = OpenOptions::new();
        options.write(true).mode(self.0);
        options
    }

    #[cfg(not(unix))]
    fn options(self) -> OpenOptions {
        let mut options = OpenOptions::new();
        options.write(true);
        options
    }
}

/// The bits of a file's owner.
const OWNER: u32 = 0o700;

/// Temporary files of this process that have not become outputs yet. Files are created, renamed and removed under this lock, so that
/// the list is right whenever somebody else has it.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is in order whatever panicked.
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of all outputs that this process has begun and not finished.
///
/// A program calls this when it is about to end in the middle of its work, because of a signal for instance. The call takes a lock and
/// removes files, so it belongs in a thread that waits for signals, and never in a signal handler.
///
/// No output is begun, finished or given up while the returned value exists: threads that want to do so wait. Keep the value until the
/// process has ended.
#[must_use = "threads that write outputs go on when this is dropped"]
pub fn remove_unfinished() -> Unfinished {
    let mut unfinished = unfinished();
    for path in unfinished.drain(..) {
        // The process ends whether this succeeds or not.
        let _ = fs::remove_file(path);
    }
    Unfinished { _lock: unfinished }
}

/// Keeps outputs from being begun and finished. See [`remove_unfinished`].
pub struct Unfinished {
    _lock: MutexGuard<'static, Vec<PathBuf>>,
}

/// A temporary file. It is removed when this is dropped without [`rename`](Self::rename).
pub struct Temporary {
    /// There until it is renamed or removed.
    path: Option<TempPath>,
    /// What it becomes: of a link that which it leads to.
    target: PathBuf,
}

/// Whether something of this name is there that is no regular file: a device, a pipe, a folder. A file cannot be renamed into its place without ending what it is for others.
pub fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file())
}

impl Temporary {
    /// A new file beside the one that it will become, with `mode` and that of the file that it replaces.
    ///
    /// # Errors
    /// If it cannot be made, or if there is something else than a regular file where it ought to be ([`is_special`]).
    pub fn beside(output: &Path, mode: OutputMode) -> io::Result<(Self, File)> {
        if is_special(output) {
            let kind = if output.is_dir() { "is a folder" } else { "is no regular file" };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, kind));
        }
        let target = output.canonicalize().unwrap_or_else(|_| output.to_owned());
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut options = mode.replacing(&target).options();
        options.create_new(true);
        let mut unfinished = unfinished();
        // The name is short whatever the output's is, which may be as long as names can be.
        let made = Builder::new()
            .prefix(".warpath-")
            .rand_bytes(12)
            .suffix(".tmp")
            .make_in(folder.unwrap_or(Path::new(".")), |path| options.open(path))?;
        let (file, path) = made.into_parts();
        unfinished.push(path.to_path_buf());
        Ok((Self { path: Some(path), target }, file))
    }

    /// Gives it its name.
    pub fn rename(mut self) -> io::Result<()> {
        let Some(path) = self.path.take() else { return Ok(()) };
        let mut unfinished = unfinished();
        forget(&mut unfinished, &path);
        // Where that fails, the file is removed with the error.
        path.persist(&self.target).map_err(|error| error.error)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let mut unfinished = unfinished();
            forget(&mut unfinished, &path);
            // Nothing depends on it.
            let _ = path.close();
        }
    }
}

fn forget(unfinished: &mut Vec<PathBuf>, path: &TempPath) {
    unfinished.retain(|one| one != &**path);
}
