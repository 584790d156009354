//! The files that are queried.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use super::process;
use crate::generate::{Generator, Shape, write_ndjson};

/// A file of generated data, by what makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Data {
    /// The shape of its records.
    pub shape: Shape,
    /// The least bytes that it has; it ends with the line that reaches them.
    pub bytes: u64,
}

/// The seed of all data.
const SEED: u64 = 1;

/// Bytes at the beginning of a file by which it is known.
const BEGINNING: u64 = 256 << 10;

/// The time limit for making a file or a reference.
pub const LONG: Duration = Duration::from_secs(900);

impl Data {
    /// Its shape, as text.
    pub fn shape_name(self) -> String {
        match self.shape {
            Shape::Sized(line_bytes) => format!("sized:{line_bytes}"),
            shape => shape.name().to_owned(),
        }
    }

    /// Its name in a folder.
    fn file_name(self) -> String {
        format!("{}-{}.ndjson", self.shape_name().replace(':', "-"), self.bytes)
    }

    /// Returns true if a file begins like this data. A file of another version of the generator does not.
    fn begins(self, path: &Path) -> io::Result<bool> {
        let mut wanted = Vec::new();
        let mut generator = Generator::new(self.shape, SEED);
        while wanted.len() < self.bytes.min(BEGINNING) as usize {
            generator.line(&mut wanted);
        }
        let mut found = Vec::new();
        File::open(path)?.take(wanted.len() as u64).read_to_end(&mut found)?;
        Ok(found == wanted)
    }

    /// Makes the file in a folder, unless it exists, and reads it once, so that it is in the page cache.
    /// Returns its path and length.
    ///
    /// # Errors
    ///
    /// An error of the file system.
    pub fn ensure(self, folder: &Path) -> Result<(PathBuf, u64)> {
        let path = folder.join(self.file_name());
        if !path.exists() || !self.begins(&path)? {
            fs::create_dir_all(folder)?;
            let text = |path: &Path| path.to_string_lossy().into_owned();
            let (this, bytes) = (std::env::current_exe()?, self.bytes.to_string());
            let command = [text(&this), "make-data".into(), self.shape_name(), text(&path), bytes];
            process::run(&command, LONG).map_err(|failure| anyhow!("{}: {failure}", path.display()))?;
        }
        let mut buffer = vec![0; 1 << 20];
        let mut file = File::open(&path).with_context(|| path.display().to_string())?;
        let mut bytes = 0;
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok((path, bytes)),
                read => bytes += read as u64,
            }
        }
    }
}

/// Writes a file, whole or not at all: what [`Data::ensure`] has a process of its own do.
///
/// # Errors
///
/// Those of the file system.
pub fn make(shape: Shape, path: &Path, bytes: u64) -> Result<()> {
    let new = path.with_extension("new");
    let write = || -> io::Result<()> {
        write_ndjson(shape, SEED, bytes, &mut File::create(&new)?)?;
        fs::rename(&new, path)
    };
    write().with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_made_whole() {
        let folder = tempfile::tempdir().unwrap();
        let data = Data { shape: Shape::Sized(500), bytes: 10_000 };
        let path = folder.path().join(data.file_name());
        assert!(path.ends_with("sized-500-10000.ndjson"));
        make(data.shape, &path, data.bytes).unwrap();
        assert_eq!(data.ensure(folder.path()).unwrap(), (path, 10_000));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn files_of_another_generator_are_known() {
        let folder = tempfile::tempdir().unwrap();
        for data in
            [Data { shape: Shape::Sized(500), bytes: 10_000 }, Data { shape: Shape::Twitter, bytes: 2 << 20 }]
        {
            let path = folder.path().join(data.file_name());
            make(data.shape, &path, data.bytes).unwrap();
            assert!(data.begins(&path).unwrap());
            let mut text = fs::read(&path).unwrap();
            text[5_000] ^= 1;
            fs::write(&path, &text).unwrap();
            assert!(!data.begins(&path).unwrap());
            fs::write(&path, &text[..4_000]).unwrap();
            assert!(!data.begins(&path).unwrap());
        }
    }
}
