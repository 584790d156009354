//! The files of folders.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;
use warpath_core::error::InputError;

use super::decoded::ENDINGS as COMPRESSED;
use super::stored::{Kind, LOG, foreign, kind_of};

/// The files that are read of a folder, by the endings of their names.
///
/// ```
/// use warpath::{FolderFiles, Source};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # std::fs::write(folder.path().join("tweets.ndjson"), "{}\n")?;
/// # std::fs::write(folder.path().join("notes.txt"), "no JSON")?;
/// # let folder = folder.path();
/// # #[cfg(any())]
/// let folder = Path::new("data");
/// let sources = Source::named(folder, FolderFiles::Json)?;
/// assert_eq!(sources.len(), 1);
/// assert_eq!(sources[0].name(), folder.join("tweets.ndjson").display().to_string());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FolderFiles {
    /// `.json`, `.ndjson`, `.jsonl`, `.jsonlines`, `.geojson`, `.geojsonl`, `.ndgeojson` and `.log`, also
    /// with the number or date of a rotated log (`.log.1`, `.log-20260131`), and before the ending of a
    /// compressed file such as `.gz`.
    #[default]
    Json,
    /// The files of [`Json`](Self::Json), and `.xml`.
    Documents,
    /// `.parquet`.
    Parquet,
    /// `.arrow`, `.arrows`, `.feather` and `.ipc`.
    Arrow,
}

/// The endings of files of JSON.
const JSON: [&str; 8] = ["json", "ndjson", "jsonl", "jsonlines", "geojson", "geojsonl", "ndgeojson", "log"];

/// True for the name of a log that was rotated: `.log`, then `.` or `-`, then digits, perhaps of a date.
fn is_rotated_log(name: &str) -> bool {
    let is_number = |rest: &str| {
        rest.strip_prefix(['.', '-']).is_some_and(|number| {
            number.starts_with(|first: char| first.is_ascii_digit())
                && number.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.'))
        })
    };
    name.rsplit_once(".log").is_some_and(|(_, rest)| is_number(rest))
}

impl FolderFiles {
    /// True if a file of this name is read.
    pub(super) fn has(self, name: &OsStr) -> bool {
        let name = name.to_string_lossy().to_ascii_lowercase();
        let ends = |name: &str, endings: &[&str]| {
            name.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
        };
        if self == Self::Parquet {
            return ends(&name, &["parquet"]);
        }
        if self == Self::Arrow {
            return ends(&name, &["arrow", "arrows", "feather", "ipc"]);
        }
        let inner =
            if ends(&name, &COMPRESSED) { name.rsplit_once('.').map(|(inner, _)| inner) } else { None };
        ends(inner.unwrap_or(&name), &JSON)
            || is_rotated_log(inner.unwrap_or(&name))
            || self == Self::Documents && ends(inner.unwrap_or(&name), &["xml"])
    }
}

/// Adds the files of a folder and of its folders, possibly none. A folder that is a store has its parts.
/// Returns true if there is a store, perhaps without lines.
///
/// # Errors
/// [`InputError::Part`] for a table of another program: if it is the folder itself, or has files that would
/// be read.
pub(super) fn files_of_folder(
    path: &Path,
    files: FolderFiles,
    found: &mut Vec<PathBuf>,
) -> Result<bool, InputError> {
    // Also where the path is a link to the store.
    if files != FolderFiles::Arrow {
        match kind_of(path)? {
            Kind::Plain => {}
            Kind::Foreign => return Err(foreign(path)),
            Kind::Store(parts) => {
                found.extend(parts);
                return Ok(true);
            }
        }
    }
    let mut has_store = false;
    let walk = WalkDir::new(path).sort_by_file_name().into_iter();
    let mut walk = walk.filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry.file_name()));
    while let Some(entry) = walk.next() {
        let entry = entry.map_err(unreadable)?;
        if entry.file_type().is_dir() {
            if entry.depth() > 0 && entry.file_name() == LOG {
                walk.skip_current_dir();
                continue;
            }
            match kind_of(entry.path())? {
                // Its log says which of the Parquet files the table has. Other files are no part of it.
                Kind::Foreign if files == FolderFiles::Parquet => return Err(foreign(entry.path())),
                Kind::Plain | Kind::Foreign => {}
                Kind::Store(parts) => {
                    walk.skip_current_dir();
                    if files != FolderFiles::Arrow {
                        found.extend(parts);
                        has_store = true;
                    }
                }
            }
            continue;
        }
        // The type of a link is not that of its target.
        if files.has(entry.file_name()) && entry.path().is_file() {
            found.push(entry.into_path());
        }
    }
    Ok(has_store)
}

/// True if shells match a name only by an explicit dot.
pub(super) fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// The error of a folder that cannot be read.
pub(super) fn unreadable(error: walkdir::Error) -> InputError {
    let name = error.path().unwrap_or_else(|| Path::new(".")).display().to_string();
    InputError::Io { name, source: error.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_of_files_in_folders() {
        for (name, json, documents) in [
            ("a.json", true, true),
            ("a.NDJSON.GZ", true, true),
            ("a.jsonl.lz4", true, true),
            ("a.log.xz", true, true),
            ("a.geojsonl", true, true),
            ("a.jsonlines", true, true),
            ("a.log.1", true, true),
            ("a.log.12.gz", true, true),
            ("a.log-20260131", true, true),
            ("a.log.2026-01-31.zst", true, true),
            ("a.log.old", false, false),
            ("a.log.", false, false),
            ("a.log-", false, false),
            ("a.1", false, false),
            ("a.xml", false, true),
            ("a.xml.bz2", false, true),
            ("a.gz", false, false),
            ("json", false, false),
            ("a.json.txt", false, false),
            ("a.parquet", false, false),
        ] {
            assert_eq!(FolderFiles::Json.has(name.as_ref()), json, "{name}");
            assert_eq!(FolderFiles::Documents.has(name.as_ref()), documents, "{name}");
        }
        assert!(
            FolderFiles::Parquet.has("a.parquet".as_ref()) && !FolderFiles::Parquet.has("a.json".as_ref())
        );
        assert!(FolderFiles::Arrow.has("a.feather".as_ref()) && !FolderFiles::Arrow.has("a.json".as_ref()));
    }
}
