//! Files that are written beside their place, and renamed when all of them is there.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that goes when it is left without a name.
pub(crate) struct Temporary {
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    /// A new file beside the one that it will become.
    pub fn beside(output: &Path) -> io::Result<(Self, File)> {
        let mut name = output.file_name().unwrap_or_default().to_owned();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        name.push(format!(".{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let path = output.with_file_name(name);
        // What a process of this number has left behind is nobody's.
        let file = File::create(&path)?;
        Ok((Self { path, renamed: false }, file))
    }

    /// Gives it its name.
    pub fn rename(mut self, output: &Path) -> io::Result<()> {
        fs::rename(&self.path, output)?;
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
