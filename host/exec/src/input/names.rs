//! Names of inputs as arguments and lists give them: files, folders and patterns.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use glob::{MatchOptions, glob_with};
use warpath_core::braces;
use warpath_core::error::InputError;

use super::folders::{FolderFiles, files_of_folder};
use super::source::Source;

/// Matches as shells do: `*` does not match a `/`, and a pattern matches hidden files only by an explicit
/// dot.
const AS_SHELLS_DO: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

impl Source {
    /// The files that a name means: the file of this name; the files of a folder; or those that match a
    /// pattern, if no file has exactly this name.
    ///
    /// * A *folder* means the files in it, and in its folders, whose names end as `files` says. Hidden
    ///   files and folders are left out. Links to files are read; links to folders are not entered. The order
    ///   is that of the names in each folder.
    /// * A *pattern* has `*`, `?`, `[a-z]`, `**` and `{a,b}`. It means the files that match, sorted, each
    ///   once, whatever their endings. `folder/**` means all files in the folder and in its folders.
    ///
    /// A name that is neither of them is a file that does not exist. Its error comes when it is read.
    ///
    /// ```
    /// use std::path::Path;
    /// use warpath_exec::input::{FolderFiles, Source};
    ///
    /// let sources = Source::named(Path::new("tweets.ndjson"), FolderFiles::Json).unwrap();
    /// assert_eq!(sources.len(), 1);
    /// assert!(Source::named(Path::new("nothing-here-*.{json,log}"), FolderFiles::Json).is_err());
    /// ```
    ///
    /// # Errors
    /// [`InputError::NoFiles`] if a folder or a pattern means no file. [`InputError::Io`] for a folder
    /// that cannot be read.
    pub fn named(name: &Path, files: FolderFiles) -> Result<Vec<Self>, InputError> {
        let paths = if name.is_dir() { folder(name, files)? } else { Self::paths(name)? };
        Ok(paths.into_iter().map(Self::File).collect())
    }

    /// The files that match a pattern, if no file has exactly its name; else the name itself.
    ///
    /// # Errors
    /// [`InputError::NoFiles`] and [`InputError::Io`], as for [`named`](Self::named).
    pub fn paths(name: &Path) -> Result<Vec<PathBuf>, InputError> {
        match pattern(name) {
            Some(pattern) => matching(pattern),
            None => Ok(vec![name.to_owned()]),
        }
    }

    /// The names in a list of files, such as `find` prints, each with its number in the list, counted from 1:
    /// the number of its line, if newlines end the names. If the list contains a zero byte, zero bytes end
    /// the names (`find -print0`). Otherwise newlines do, with or without a carriage return. Empty names are
    /// left out.
    ///
    /// # Errors
    /// [`InputError::Io`] if the list cannot be read, and [`InputError::NoFiles`] if it has no names. `name`
    /// is the name of the list.
    pub fn listed(name: &str, mut list: impl Read) -> Result<Vec<(u64, PathBuf)>, InputError> {
        let failed = |source| InputError::Io { name: name.to_owned(), source };
        let mut text = Vec::new();
        list.read_to_end(&mut text).map_err(failed)?;
        let by_zeros = text.contains(&0);
        let names = text.split(|byte| *byte == if by_zeros { 0 } else { b'\n' });
        let trimmed =
            names.map(|name| if by_zeros { name } else { name.strip_suffix(b"\r").unwrap_or(name) });
        let paths = (1..)
            .zip(trimmed)
            .filter(|(_, name)| !name.is_empty())
            .map(|(number, name)| Ok((number, path_of(name)?)))
            .collect::<Result<Vec<_>, _>>();
        match paths.map_err(failed)? {
            paths if paths.is_empty() => Err(no_files(name, "the list has no names")),
            paths => Ok(paths),
        }
    }
}

fn no_files(name: &str, why: &'static str) -> InputError {
    InputError::NoFiles { name: name.to_owned(), why }
}

#[cfg(unix)]
fn path_of(name: &[u8]) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Ok(OsStr::from_bytes(name).into())
}

#[cfg(not(unix))]
fn path_of(name: &[u8]) -> io::Result<PathBuf> {
    let name = std::str::from_utf8(name);
    Ok(name.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?.into())
}

/// The files of a folder.
fn folder(path: &Path, files: FolderFiles) -> Result<Vec<PathBuf>, InputError> {
    let mut found = Vec::new();
    files_of_folder(path, files, &mut found)?;
    if found.is_empty() {
        let why = match files {
            FolderFiles::Json => {
                "no file in this folder ends in .json, .ndjson, .jsonl or .log, compressed or not, or in .wpk"
            }
            FolderFiles::Documents => {
                "no file in this folder ends in .json, .ndjson, .jsonl, .log or .xml, compressed or not, or in .wpk"
            }
            FolderFiles::Parquet => "no file in this folder ends in .parquet",
            FolderFiles::Arrow => "no file in this folder ends in .arrow, .arrows, .feather or .ipc",
        };
        return Err(no_files(&path.display().to_string(), why));
    }
    Ok(found)
}

/// The name as a pattern, if it is one and no file has this name.
fn pattern(name: &Path) -> Option<&str> {
    let text = name.to_str()?;
    (text.contains(['*', '?', '[', '{']) && name.symlink_metadata().is_err()).then_some(text)
}

/// The files that match a pattern, without folders.
fn matching(pattern: &str) -> Result<Vec<PathBuf>, InputError> {
    let none = || no_files(pattern, "no file has this name or matches this pattern");
    let patterns = braces::expanded(pattern).map_err(|error| no_files(pattern, error))?;
    let mut files = Vec::new();
    for pattern in &patterns {
        // A `**` at the end matches folders, and the files in them are meant.
        let at_end = pattern == "**" || pattern.ends_with("/**");
        let pattern = if at_end { &format!("{pattern}/*") } else { pattern };
        // An invalid pattern was meant as a name.
        for path in glob_with(pattern, AS_SHELLS_DO).map_err(|_| none())? {
            let path = path.map_err(|error| {
                let source = io::Error::from(error.error().kind());
                InputError::Io { name: error.path().display().to_string(), source }
            })?;
            if !path.is_dir() {
                files.push(path);
            }
        }
    }
    files.sort();
    files.dedup();
    if files.is_empty() { Err(none()) } else { Ok(files) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_by_lines_or_zeros() {
        let listed = |list: &[u8]| Source::listed("list", list).map_err(|error| error.to_string());
        let paths = |names: &[(u64, &str)]| -> Vec<(u64, PathBuf)> {
            names.iter().map(|(number, name)| (*number, PathBuf::from(name))).collect()
        };
        assert_eq!(listed(b"a b\n\nc\r\nd"), Ok(paths(&[(1, "a b"), (3, "c"), (4, "d")])));
        assert_eq!(listed(b"a\nb\0c\r\0"), Ok(paths(&[(1, "a\nb"), (2, "c\r")])));
        assert_eq!(listed(b"\n\n"), Err("list: the list has no names".into()));
    }
}
