//! Cached schemas: that of a file beside it, and those of objects in a folder.
//!
//! The schema of `events.ndjson` is kept in `.events.ndjson.schema`: a line with the size, the time and a
//! hash of samples of the file, and then the rows of `warpath schema --format ndjson`. When one of the three
//! differs, all records are read again.
//!
//! The schema of an object is kept in a file whose name is a hash of the object's URL. Its first line has the
//! URL, the size, and the tag that the store gives, or the time if it gives no tag. The schema of an object
//! with neither is not kept.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use object_store::ObjectMeta;
use serde_json::{Value, json};
use warpath::schema::{SchemaTree, rows};
use warpath::{InputBytes, Source};
use warpath_core::stamp::{Stamp, hash};
use warpath_core::temporary::{OutputMode, Temporary};
use warpath_exec::saved_schema;

/// The version of the kept form.
const VERSION: u64 = 1;

/// The location at which the schema of an input is kept, and the input as it is now.
pub struct CachedSchema {
    file: PathBuf,
    header: Value,
    /// The mode of the file: it shows no more than its input does.
    mode: OutputMode,
}

impl CachedSchema {
    /// The location for a local file.
    ///
    /// # Errors
    /// The errors of the operating system for a file that cannot be read.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let Stamp { size, seconds, nanoseconds, samples } = Stamp::of(&File::open(path)?)?;
        let header = json!({
            "warpath_schema": VERSION, "size": size, "seconds": seconds, "nanoseconds": nanoseconds,
            "samples": samples,
        });
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let file = path.with_file_name(format!(".{name}.schema"));
        Ok(Self { file, header, mode: OutputMode::default().and_file(path) })
    }

    /// The location for an object with a URL, in a folder. `None` for an object of which the store says
    /// neither a tag nor a time.
    pub fn of_object(folder: &Path, url: &str, object: &ObjectMeta) -> Option<Self> {
        let ObjectMeta { size, e_tag, last_modified, .. } = object;
        // A listing may give a time with more digits than the object itself, and the start of 1970 is none.
        let seconds = Some(last_modified.timestamp()).filter(|seconds| *seconds != 0);
        let version = match (e_tag, seconds) {
            (Some(tag), _) => json!({ "tag": tag }),
            (None, Some(seconds)) => json!({ "seconds": seconds }),
            (None, None) => return None,
        };
        let header = json!({ "warpath_schema": VERSION, "url": url, "size": size, "version": version });
        let file = folder.join(format!("{:016x}.schema", hash(url.as_bytes())));
        Some(Self { file, header, mode: OutputMode::private() })
    }

    /// The file that keeps the schema.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The kept schema; `None` if there is none, or the input has changed since.
    pub fn read(&self) -> Option<SchemaTree> {
        let text = fs::read_to_string(&self.file).ok()?;
        let (first, rows) = text.split_once('\n')?;
        if serde_json::from_str::<Value>(first).ok()? != self.header {
            return None;
        }
        let bytes = InputBytes::from(rows.to_owned());
        let source = Source::Bytes(self.file.display().to_string(), bytes);
        SchemaTree::of_rows(&saved_schema::rows(source).ok()?).ok()
    }

    /// Keeps a schema. A missing folder is made.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub fn write(&self, tree: &SchemaTree) -> io::Result<()> {
        if let Some(folder) = self.file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        let (temporary, mut file) = Temporary::beside(&self.file, self.mode)?;
        let mut text = format!("{}\n", self.header);
        for row in rows(tree, &|position| format!("{}", position.line)) {
            text.push_str(&warpath_store::schema::ndjson(&row));
            text.push('\n');
        }
        file.write_all(text.as_bytes())?;
        temporary.rename()
    }
}

/// True for a file that keeps the schema of another one. It is no part of a table, whose folder it may be in.
pub fn is_kept(object: &ObjectMeta) -> bool {
    object.location.filename().is_some_and(|name| name.starts_with('.') && name.ends_with(".schema"))
}
