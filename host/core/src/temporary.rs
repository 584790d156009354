//! Output files: written under another name, renamed when they are complete, with permissions no wider than
//! their inputs'.
//!
//! A temporary file is created exclusively (`O_EXCL`), under a random name, in the folder of its final name.
//! A link or a pipe that somebody else has put into that folder is therefore neither followed nor opened.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, PathPersistError, TempPath};

/// The most permission bits that an output may have.
///
/// The mode of a new output is the intersection of:
///
/// 1. the bits of `rw-rw-rw-` that the umask leaves;
/// 2. the mode of each file that the output is made from, except the bits of its owner;
/// 3. the mode of the file that it replaces, if there is one.
///
/// Group and others therefore get no permission that they lack on one of these files. The bits of an input's
/// owner do not count, because the owner of an output is the user who makes it. The output of a read-only
/// input may therefore be writable.
///
/// Only regular files count, because the mode of a pipe or a terminal does not describe the text that comes
/// through it. Owner, group and access control lists are not copied. On systems without such modes (other
/// than Unix), there is no restriction.
///
/// ```
/// use warpath_core::temporary::OutputMode;
///
/// let mode = OutputMode::default().and_file("secrets.ndjson").and_file("words.txt");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputMode(u32);

impl Default for OutputMode {
    /// `rw-rw-rw-`: only the umask restricts it.
    fn default() -> Self {
        Self(0o666)
    }
}

impl OutputMode {
    /// `rw-------`: nobody but the owner reads the file.
    #[must_use]
    pub fn private() -> Self {
        Self(0o600)
    }

    /// Restricts the mode by the file at this path, from which the output is made too. A file that does not
    /// exist restricts nothing.
    #[must_use]
    pub fn and_file(self, path: impl AsRef<Path>) -> Self {
        fs::metadata(path).map_or(self, |metadata| self.and(&metadata, OWNER))
    }

    /// Restricts the mode by this file, from which the output is made too.
    #[must_use]
    pub fn and_open(self, file: &File) -> Self {
        file.metadata().map_or(self, |metadata| self.and(&metadata, OWNER))
    }

    /// Restricts the mode by the file at this path, which the output replaces.
    #[must_use]
    fn replacing(self, path: &Path) -> Self {
        fs::metadata(path).map_or(self, |metadata| self.and(&metadata, 0))
    }

    /// The intersection with the mode of a regular file, except for the bits of `without`.
    #[cfg(unix)]
    fn and(self, metadata: &fs::Metadata, without: u32) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        if metadata.is_file() { Self(self.0 & (metadata.mode() | without)) } else { self }
    }

    #[cfg(not(unix))]
    fn and(self, _: &fs::Metadata, _: u32) -> Self {
        self
    }

    /// Opens a file to write it from its start, in place. A new file gets this mode. An existing one keeps
    /// its mode and its links.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub fn create(self, path: impl AsRef<Path>) -> io::Result<File> {
        self.options().create(true).truncate(true).open(path)
    }

    /// Options that write a new file, whose mode is this one after the umask.
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

/// Opens a file without a name, in the folder for temporary files (`TMPDIR`), for data that does not fit in
/// memory. Only its owner may read it. The system removes it when it is closed, however the process ends.
///
/// # Errors
/// The errors of the operating system.
pub fn scratch() -> io::Result<File> {
    tempfile::tempfile()
}

/// Temporary files of this process that have not become outputs yet. Files are created, renamed and removed
/// under this lock, so that the list is correct whenever another thread holds it.
// A command may write many files at the same time.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // The list of paths is valid even if a thread panicked.
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of all outputs that this process has begun and not finished.
///
/// A program calls this when it is about to end during its work, for example because of a signal. The call
/// takes a lock and removes files. It therefore belongs in a thread that waits for signals, and never in a
/// signal handler.
///
/// No output is begun, finished or given up while the returned value exists; threads that try to do so wait.
/// Keep the value until the process has ended.
///
/// ```
/// use warpath::remove_unfinished;
///
/// // In a thread that waits for signals, before the process exits:
/// let unfinished = remove_unfinished();
/// # drop(unfinished);
/// ```
#[must_use = "threads that write outputs go on when this is dropped"]
pub fn remove_unfinished() -> Unfinished {
    let mut unfinished = unfinished();
    for path in std::mem::take(&mut *unfinished) {
        // The process ends whether this succeeds or not.
        let _ = fs::remove_file(path);
    }
    Unfinished { _lock: unfinished }
}

/// Removes the same files, unless another thread is beginning or finishing an output. It waits for nothing,
/// and allocates nothing if paths are short, so that it can be called where memory is short.
pub fn remove_if_free() {
    if let Ok(unfinished) = UNFINISHED.try_lock() {
        for path in unfinished.iter() {
            let _ = fs::remove_file(path);
        }
    }
}

/// Blocks outputs from being begun and finished. See [`remove_unfinished`].
///
/// ```
/// use warpath::{Unfinished, remove_unfinished};
///
/// /// Ends the process, and leaves no temporary file.
/// fn end(code: i32) -> ! {
///     let _unfinished: Unfinished = remove_unfinished();
///     std::process::exit(code)
/// }
/// # let _ = end;
/// ```
pub struct Unfinished {
    _lock: MutexGuard<'static, BTreeSet<PathBuf>>,
}

/// A temporary file. It is removed when this is dropped without [`rename`](Self::rename).
pub struct Temporary {
    /// `Some` until it is renamed or removed.
    path: Option<TempPath>,
    /// The final path; if that is a link, the path that it leads to.
    target: PathBuf,
}

/// The names of temporary files: letters and digits between these.
const PREFIX: &str = ".warpath-";
const SUFFIX: &str = ".tmp";
/// The number of letters and digits.
const RANDOM_BYTES: usize = 12;

/// True for the name of a temporary file, without its folder.
#[must_use]
pub fn is_temporary(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
    random.is_some_and(|random| {
        random.len() == RANDOM_BYTES && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// True if this path exists and is not a regular file, but a device, a pipe or a folder. A rename to this
/// path would destroy it for its other users.
pub fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file())
}

impl Temporary {
    /// A new file beside the final one. Its mode is restricted by `mode` and by the file that it replaces.
    ///
    /// # Errors
    /// If the file cannot be created, or if its final path exists and is not a regular file ([`is_special`]).
    pub fn beside(output: &Path, mode: OutputMode) -> io::Result<(Self, File)> {
        if is_special(output) {
            let kind = if output.is_dir() { "is a folder" } else { "is not a regular file" };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, kind));
        }
        let target = output.canonicalize().unwrap_or_else(|_| output.to_owned());
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut options = mode.replacing(&target).options();
        options.create_new(true);
        let mut unfinished = unfinished();
        // The name is short, because the output's name may be as long as names can be.
        let made = Builder::new()
            .prefix(PREFIX)
            .rand_bytes(RANDOM_BYTES)
            .suffix(SUFFIX)
            .make_in(folder.unwrap_or(Path::new(".")), |path| options.open(path))?;
        let (file, path) = made.into_parts();
        unfinished.insert(path.to_path_buf());
        Ok((Self { path: Some(path), target }, file))
    }

    /// The path of the file while it is written.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(&self.target)
    }

    /// The final path.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Renames the file to its final path, and replaces what is there.
    ///
    /// # Errors
    /// The errors of the operating system. The file is then removed.
    pub fn rename(self) -> io::Result<()> {
        self.persist(|path, target| path.persist(target))
    }

    /// Renames the file to its final path, where nothing may be. Of several processes that do so at once, one
    /// succeeds.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], and the errors of the operating system. The file is then removed.
    pub fn rename_new(self) -> io::Result<()> {
        self.persist(|path, target| path.persist_noclobber(target))
    }

    fn persist(mut self, by: impl FnOnce(TempPath, &Path) -> Result<(), PathPersistError>) -> io::Result<()> {
        let Some(path) = self.path.take() else { return Ok(()) };
        let mut unfinished = unfinished();
        forget(&mut unfinished, &path);
        // If this fails, the file is removed with the error.
        by(path, &self.target).map_err(|error| error.error)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let mut unfinished = unfinished();
            forget(&mut unfinished, &path);
            // Nothing depends on the success of this.
            let _ = path.close();
        }
    }
}

fn forget(unfinished: &mut BTreeSet<PathBuf>, path: &TempPath) {
    unfinished.remove::<Path>(path);
}
