//! Names of inputs as arguments and lists give them: files, folders and patterns.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};
use walkdir::WalkDir;
use warpath_core::braces;
use warpath_core::error::InputError;

use super::folders::{FolderFiles, files_of_folder, is_hidden, unreadable};
use super::source::Source;
use super::stored::{Kind, LOG, check_part, is_store, kind_of};
use super::text::BYTE_ORDER_MARK;

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
    ///   once, whatever their endings. `folder/**` means all files in the folder and in its folders. Links
    ///   are as in folders: one to a folder is entered only if the pattern names it.
    ///
    /// A name that is neither of them is a file that does not exist. Its error comes when it is read. Stores
    /// without lines are one input without bytes. A part in the folder of a store, which the last version of
    /// the store does not have, is an error.
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
    /// that cannot be read. [`InputError::Part`] for a store that is damaged, and for a part that a store
    /// does not have any more.
    pub fn named(name: &Path, files: FolderFiles) -> Result<Vec<Self>, InputError> {
        let (paths, has_store) = match pattern(name) {
            _ if name.is_dir() => folder(name, files)?,
            Some(pattern) => matching(pattern)?,
            None => return Ok(vec![Self::exactly(name)?]),
        };
        match paths.is_empty() && has_store {
            true => Ok(vec![Self::Bytes(name.display().to_string(), Vec::new().into())]),
            false => Ok(paths.into_iter().map(Self::File).collect()),
        }
    }

    /// The file with exactly this name.
    ///
    /// # Errors
    /// [`InputError::Part`] for a part that a store does not have any more.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn exactly(path: &Path) -> Result<Self, InputError> {
        check_part(path)?;
        Ok(Self::File(path.to_owned()))
    }

    /// The Parquet files that match a pattern. Of files in stores, these are the parts of the last version.
    /// True if the pattern matches a store or files in it.
    ///
    /// # Errors
    /// [`InputError::NoFiles`], [`InputError::Io`] and [`InputError::Part`], as for [`named`](Self::named).
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn tables(pattern: &str) -> Result<(Vec<PathBuf>, bool), InputError> {
        matching(pattern)
    }

    /// The files that match a pattern, if no file has exactly its name; else the name itself.
    ///
    /// # Errors
    /// [`InputError::NoFiles`] and [`InputError::Io`], as for [`named`](Self::named).
    pub fn paths(name: &Path) -> Result<Vec<PathBuf>, InputError> {
        match pattern(name) {
            Some(pattern) => Ok(matching(pattern)?.0),
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
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
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

impl Source {
    /// True if the name of a file ends as the names of some inputs do.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn has_ending(path: &Path) -> bool {
        let kinds = [FolderFiles::Documents, FolderFiles::Parquet, FolderFiles::Arrow];
        path.file_name().is_some_and(|name| kinds.into_iter().any(|kind| kind.has(name)))
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

/// The files of a folder. True if there are none because its stores have no lines.
fn folder(path: &Path, files: FolderFiles) -> Result<(Vec<PathBuf>, bool), InputError> {
    let mut found = Vec::new();
    let has_store = files_of_folder(path, files, &mut found)?;
    if found.is_empty() {
        if has_store {
            return Ok((found, true));
        }
        let why = match files {
            FolderFiles::Json => {
                "no file in this folder ends as files of JSON do (.json, .ndjson, .jsonl, .log and others)"
            }
            FolderFiles::Documents => {
                "no file in this folder ends as documents do (.json, .ndjson, .jsonl, .log, .xml and others)"
            }
            FolderFiles::Parquet => "no file in this folder ends in .parquet",
            FolderFiles::Arrow => "no file in this folder ends in .arrow, .arrows, .feather or .ipc",
        };
        return Err(no_files(&path.display().to_string(), why));
    }
    Ok((found, false))
}

/// The name as a pattern, if it is one and no file has this name.
fn pattern(name: &Path) -> Option<&str> {
    let text = name.to_str()?;
    (text.contains(['*', '?', '[', '{']) && name.symlink_metadata().is_err()).then_some(text)
}

/// The files that match a pattern, and the parts of stores that do, without other folders. True if there is a
/// store among them, perhaps without lines.
fn matching(pattern: &str) -> Result<(Vec<PathBuf>, bool), InputError> {
    let none = || no_files(pattern, "no file has this name or matches this pattern");
    let patterns = braces::expanded(pattern).map_err(|error| no_files(pattern, error))?;
    let mut files = Vec::new();
    for pattern in &patterns {
        // A `**` at the end matches folders, and the files in them are meant.
        let at_end = pattern == "**" || pattern.ends_with("/**");
        let pattern = if at_end { &format!("{pattern}/*") } else { pattern };
        // An invalid pattern was meant as a name.
        walk(pattern, &mut files).map_err(|error| error.unwrap_or_else(none))?;
    }
    files.sort();
    files.dedup();
    let (mut all, mut has_store) = (Vec::with_capacity(files.len()), false);
    let mut stores: HashMap<PathBuf, Option<Vec<PathBuf>>> = HashMap::new();
    for file in &files {
        if let Some(folder) = file.parent() {
            // A name without a folder is in this one.
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            // The lines of a log are no records, unless they are meant.
            let is_log = folder.file_name() == Some(OsStr::new(LOG)) && folder.parent().is_some_and(is_store);
            if is_log && !pattern.contains(LOG) {
                continue;
            }
            // Of the files in a store, only the parts of its last version are read, and each once.
            let parts = match stores.get(folder) {
                Some(parts) => parts,
                None => stores.entry(folder.to_owned()).or_insert(parts_of(folder)?),
            };
            let is_folder_named = || files.iter().any(|other| other == folder);
            let has_file =
                |parts: &Vec<PathBuf>| parts.iter().any(|part| part.file_name() == file.file_name());
            has_store |= parts.is_some();
            if parts.as_ref().is_some_and(|parts| is_folder_named() || !has_file(parts)) {
                continue;
            }
        }
        match parts_of(file)? {
            Some(parts) => {
                all.extend(parts);
                has_store = true;
            }
            None if file.is_dir() => {}
            None => all.push(file.clone()),
        }
    }
    match all.is_empty() {
        true if !has_store => Err(none()),
        _ => Ok((all, has_store)),
    }
}

/// The parts of a store; `None` for another folder or file.
fn parts_of(path: &Path) -> Result<Option<Vec<PathBuf>>, InputError> {
    match kind_of(path)? {
        Kind::Store(parts) => Ok(Some(parts)),
        Kind::Plain | Kind::Foreign => Ok(None),
    }
}

/// Adds the files that match a pattern without braces. Names that are not UTF-8 match by their characters, of
/// which each invalid sequence is one.
///
/// # Errors
/// `None` for an invalid pattern. [`InputError::Io`] for a folder that cannot be read.
fn walk(pattern: &str, files: &mut Vec<PathBuf>) -> Result<(), Option<InputError>> {
    let parts: Vec<&str> = pattern.split('/').collect();
    // The folder that the pattern names, and the parts of the pattern below it.
    let fixed = parts.iter().take_while(|part| !part.contains(['*', '?', '['])).count().min(parts.len() - 1);
    let (root, parts) = parts.split_at(fixed);
    let is_here = root.is_empty();
    let root = match root {
        [] => ".".to_owned(),
        [""] => "/".to_owned(),
        root => root.join("/"),
    };
    let deep = parts.iter().position(|part| *part == "**");
    let of_parts = |len: usize| Pattern::new(&parts[..len].join("/")).map_err(|_| None);
    // Folders above the first `**` match the start of the pattern.
    let folders = (1..deep.map_or(parts.len(), |at| at + 1)).map(of_parts).collect::<Result<Vec<_>, _>>()?;
    let whole = of_parts(parts.len())?;
    let is_hidden_named = parts.iter().any(|part| part.starts_with('.'));
    let matches = |pattern: &Pattern, path: &Path| {
        let below = path.strip_prefix(&root).unwrap_or(path);
        pattern.matches_with(&below.to_string_lossy(), AS_SHELLS_DO)
    };
    let walk = WalkDir::new(&root).max_depth(deep.map_or(parts.len(), |_| usize::MAX)).into_iter();
    let entered = walk.filter_entry(|entry| match (entry.depth(), entry.file_type().is_dir()) {
        (0, _) | (_, false) => true,
        (depth, true) => match folders.get(depth - 1) {
            Some(folder) => matches(folder, entry.path()),
            None => is_hidden_named || !is_hidden(entry.file_name()),
        },
    });
    for entry in entered {
        let entry = match entry {
            // There is no such folder, or it is gone by now.
            Err(error) if error.io_error().is_some_and(|it| it.kind() == io::ErrorKind::NotFound) => continue,
            entry => entry.map_err(|error| Some(unreadable(error)))?,
        };
        if entry.depth() > 0 && matches(&whole, entry.path()) {
            let path = entry.into_path();
            files.push(if is_here {
                path.strip_prefix(&root).map(Path::to_owned).unwrap_or(path)
            } else {
                path
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn patterns_name_files_as_shells_do() {
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::fs::symlink;

        use warpath_random::table::texts;

        let folder = tempfile::tempdir().unwrap();
        let at = |name: &[u8]| folder.path().join(OsStr::from_bytes(name));
        for name in [
            &b"a/x.json"[..],
            b"a/b/x.json",
            b"a/b/c/y.json",
            b"a/.h/x.json",
            b".h/x.json",
            b"a/.x.json",
            b"\xff/x.json",
            b"a/\xfe.json",
            b"[a]/x.json",
            b"a/b.d/x.json",
        ] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "{}").unwrap();
        }
        symlink("..", at(b"a/b/up")).unwrap();
        symlink("b", at(b"a/latest")).unwrap();
        symlink("../a/x.json", at(b"a/b/link.json")).unwrap();
        let root = folder.path().to_str().unwrap();
        let found = |pattern: &str| {
            let files = matching(&format!("{root}/{pattern}")).unwrap_or_default().0;
            let below = |file: &PathBuf| file.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            files.iter().map(below).collect::<Vec<_>>().join(" ")
        };
        for [pattern, want] in texts(include_str!("patterns.txt"), "patterns") {
            assert_eq!(found(&pattern), want, "{pattern}");
        }
    }

    #[test]
    fn lists_are_read_by_lines_or_zeros() {
        let listed = |list: &[u8]| Source::listed("list", list).map_err(|error| error.to_string());
        let paths = |names: &[(u64, &str)]| -> Vec<(u64, PathBuf)> {
            names.iter().map(|(number, name)| (*number, PathBuf::from(name))).collect()
        };
        assert_eq!(listed(b"a b\n\nc\r\nd"), Ok(paths(&[(1, "a b"), (3, "c"), (4, "d")])));
        assert_eq!(listed(b"a\nb\0c\r\0"), Ok(paths(&[(1, "a\nb"), (2, "c\r")])));
        assert_eq!(listed(b"\xef\xbb\xbfa\nb"), Ok(paths(&[(1, "a"), (2, "b")])));
        assert_eq!(listed(b"\n\n"), Err("list: the list has no names".into()));
    }
}
