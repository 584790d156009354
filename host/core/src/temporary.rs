//! Files that are written beside their place, and renamed when all of them is there.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that goes when it is left without a name.
pub struct Temporary {
    path: PathBuf,
    /// What it becomes: of a link that which it leads to.
    target: PathBuf,
    renamed: bool,
}

/// Whether something of this name is there that is no regular file: a device, a pipe, a folder. A file cannot be renamed into its place without ending what it is for others.
pub fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file())
}

impl Temporary {
    /// A new file beside the one that it will become.
    ///
    /// # Errors
    /// If it cannot be made, or if there is something else than a regular file where it ought to be ([`is_special`]).
    pub fn beside(output: &Path) -> io::Result<(Self, File)> {
        if is_special(output) {
            let kind = if output.is_dir() { "is a folder" } else { "is no regular file" };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, kind));
        }
        let target = output.canonicalize().unwrap_or_else(|_| output.to_owned());
        let mut name = target.file_name().unwrap_or_default().to_owned();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        name.push(format!(".{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let path = target.with_file_name(name);
        // What a process of this number has left behind is nobody's.
        let file = File::create(&path)?;
        Ok((Self { path, target, renamed: false }, file))
    }

    /// Gives it its name.
    pub fn rename(mut self) -> io::Result<()> {
        fs::rename(&self.path, &self.target)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // Nothing depends on it.
            let _ = fs::remove_file(&self.path);
        }
    }
}
