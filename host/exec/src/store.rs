//! Stores: folders of parts with a log, made from inputs, appended to, checked, changed, and given back as
//! text.

mod add;
mod change;
mod known;
#[cfg(test)]
mod tests;
mod text;

use std::fs::File;
use std::path::{Path, PathBuf};

use warpath_core::error::{Error, InputError, StoreError};
use warpath_core::temporary::OutputMode;
use warpath_folder::{Folder, FolderError, LocalStorage};
use warpath_part::file::{Encoding, Error as PartError, Reader};

use crate::input::{PartText, Source, has_no_lines, is_store, why_foreign};

pub use add::{AddOptions, Added};
pub use change::{Rewritten, Vacuumed};

/// A store: a folder of parts, which are Parquet files, and a log of Delta Lake; or one part alone.
///
/// Other programs read a store as one table. Every byte of every line comes back. A value is one version of
/// the store: it does not change when lines are added.
///
/// ```
/// use warpath::store::{AddOptions, Store};
/// use warpath::{Engine, Query, Source};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("logs.wp");
/// # #[cfg(any())]
/// let path = Path::new("logs.wp");
/// let text = "{\"user\":{\"lang\":\"en\"}}\n{\"user\":{\"lang\":\"nl\"},\"id\":1e0}\n";
/// let source = Source::Reader("log".into(), Box::new(text.as_bytes()));
/// Store::add(&path, vec![source], AddOptions::default(), &mut |_| {})?;
/// let store = Store::open(&path)?;
/// let langs = Engine::builder().build()?.input(store.sources()).count(&Query::compile("$.user.lang")?)?;
/// assert_eq!((store.lines()?, langs), (2, 2));
/// let mut back = Vec::new();
/// store.text(0..u64::MAX, &mut |text| {
///     back.extend_from_slice(text);
///     true
/// })?;
/// assert_eq!(back, text.as_bytes());
/// # Ok(())
/// # }
/// ```
pub struct Store {
    path: PathBuf,
    /// The log; `None` for one part alone.
    folder: Option<Folder>,
}

/// A part of a store.
///
/// ```
/// use warpath::Source;
/// use warpath::store::{AddOptions, Store};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("logs.wp");
/// # #[cfg(any())]
/// let path = Path::new("logs.wp");
/// let lines = || Source::Reader("log".into(), Box::new(&b"{\"id\":1}\n{\"id\":2}\n"[..]));
/// Store::add(&path, vec![lines()], AddOptions::default(), &mut |_| {})?;
/// let part = &Store::open(&path)?.parts()?[0];
/// assert_eq!((part.lines, part.text_bytes), (2, 18));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StorePart {
    /// The name of the file in the folder.
    pub name: String,
    /// Lines.
    pub lines: u64,
    /// Bytes of text.
    pub text_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Row groups.
    pub groups: usize,
}

/// A column of a store.
///
/// ```
/// use warpath::Source;
/// use warpath::store::{AddOptions, Store};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("logs.wp");
/// # #[cfg(any())]
/// let path = Path::new("logs.wp");
/// let lines = || Source::Reader("log".into(), Box::new(&b"{\"id\":1}\n{\"id\":2}\n"[..]));
/// Store::add(&path, vec![lines()], AddOptions::default(), &mut |_| {})?;
/// let columns = Store::open(&path)?.columns()?;
/// assert!(columns.iter().any(|column| column.path == "id" && column.kind == "int64"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreColumn {
    /// The names from the record on, as other readers of Parquet see them, joined by dots.
    pub path: String,
    /// The type of the values.
    pub kind: &'static str,
    /// The encoding that Parquet has for the values. Where parts differ, that of the last part.
    pub encoding: &'static str,
    /// Bytes in all files, compressed.
    pub file_bytes: u64,
}

impl Store {
    /// True if the path is a folder with the log of a store.
    #[must_use]
    pub fn is_at(path: &Path) -> bool {
        is_store(path)
    }

    /// Opens a store at its last version, or one part.
    ///
    /// # Errors
    /// [`Error::Store`] if there is no store or part, and for a log or a part that is damaged.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if path.is_file() {
            let store = Self { path: path.to_owned(), folder: None };
            store.reader(path)?;
            return Ok(store);
        }
        let folder = Folder::open(LocalStorage::new(path)).map_err(|error| of_folder(path, error))?;
        Ok(Self { path: path.to_owned(), folder: Some(folder) })
    }

    /// The number of the version; `None` for one part alone.
    #[must_use]
    pub fn version(&self) -> Option<u64> {
        self.folder.as_ref().map(Folder::version)
    }

    /// The names of the files that were added.
    #[must_use]
    pub fn inputs(&self) -> Vec<String> {
        let inputs = self.folder.iter().flat_map(|folder| {
            let names: Vec<_> = folder.snapshot().inputs().map(|input| input.name.clone()).collect();
            names
        });
        inputs.collect()
    }

    /// The paths of the parts, in the order of their lines.
    fn paths(&self) -> Vec<PathBuf> {
        match &self.folder {
            Some(folder) => folder.snapshot().parts().map(|part| self.path.join(&part.name)).collect(),
            None => vec![self.path.clone()],
        }
    }

    /// The parts as inputs, in the order of their lines.
    #[must_use]
    pub fn sources(&self) -> Vec<Source> {
        self.paths().into_iter().map(Source::File).collect()
    }

    /// The parts, in the order of their lines.
    ///
    /// # Errors
    /// [`Error::Store`] for a part that cannot be read or is damaged.
    pub fn parts(&self) -> Result<Vec<StorePart>, Error> {
        self.paths().iter().map(|path| self.part(path)).collect()
    }

    fn part(&self, path: &Path) -> Result<StorePart, Error> {
        let reader = self.reader(path)?;
        let file_bytes = path.metadata().map_err(|source| of_io(path, source))?.len();
        let sizes = || (0..reader.groups()).filter_map(|group| reader.size(group));
        Ok(StorePart {
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            lines: sizes().map(|size| u64::from(size.rows)).sum(),
            text_bytes: sizes().map(|size| size.text_len).sum(),
            file_bytes,
            groups: reader.groups(),
        })
    }

    /// The number of lines.
    ///
    /// # Errors
    /// Those of [`parts`](Self::parts).
    pub fn lines(&self) -> Result<u64, Error> {
        Ok(self.parts()?.iter().map(|part| part.lines).sum())
    }

    /// The columns, in the order of the schema.
    ///
    /// # Errors
    /// Those of [`parts`](Self::parts).
    pub fn columns(&self) -> Result<Vec<StoreColumn>, Error> {
        let mut all: Vec<StoreColumn> = Vec::new();
        for path in self.paths() {
            let reader = self.reader(&path)?;
            let tree = reader.tree();
            for leaf in tree.leaves(tree.nodes.len() as u32) {
                let groups = (0..reader.groups()).filter_map(|group| reader.leaf(group, leaf));
                let bytes = groups.map(|leaf| leaf.compressed).sum();
                let encoding = reader.encoding(leaf).map_or("", Encoding::name);
                let (path, kind) = text::described(tree, leaf);
                match all.iter_mut().find(|column| column.path == path && column.kind == kind) {
                    Some(column) => {
                        column.file_bytes += bytes;
                        column.encoding = encoding;
                    }
                    None => all.push(StoreColumn { path, kind, encoding, file_bytes: bytes }),
                }
            }
        }
        Ok(all)
    }

    /// The columns as the log has them, also those whose lines were removed. None for one part alone.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn schema(&self) -> arrow_schema::Schema {
        let fields = self.folder.as_ref().map(|folder| folder.snapshot().schema().fields.clone());
        arrow_schema::Schema::new(
            fields.unwrap_or_default().iter().map(text::arrow_field).collect::<Vec<_>>(),
        )
    }

    /// Checks every byte: the log, the checksums of all parts, and the text that their columns give.
    ///
    /// # Errors
    /// [`Error::Store`] for the first fault.
    pub fn verify(&self) -> Result<(), Error> {
        for path in self.paths() {
            let reader = self.reader(&path)?;
            reader.verify().map_err(|error| of_part(&path, error))?;
            let mut text = PartText::of(reader, &path.display().to_string(), warpath_core::pool::cores())?;
            std::io::copy(&mut text, &mut std::io::sink()).map_err(|source| of_io(&path, source))?;
        }
        Ok(())
    }

    /// The mode of an output that is made from the store.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn output_mode(&self) -> OutputMode {
        self.paths().iter().fold(OutputMode::default(), OutputMode::and_file)
    }

    fn reader(&self, path: &Path) -> Result<Reader, Error> {
        open_part(path)
    }
}

/// A folder whose new files have no wider permissions than the last file of its log, and than `mode`: the log
/// has the names of members of all lines.
fn storage(path: &Path, mode: OutputMode) -> LocalStorage {
    let entries = path.join("_delta_log").read_dir().into_iter().flatten().flatten();
    let versions = entries.map(|entry| entry.path()).filter(|path| path.extension() == Some("json".as_ref()));
    let mode = versions.max().map_or(mode, |last| mode.and_file(last));
    LocalStorage::new(path).with_mode(mode)
}

/// Opens a part.
fn open_part(path: &Path) -> Result<Reader, Error> {
    let file = File::open(path).map_err(|source| of_io(path, source))?;
    let reader = Reader::open(file).map_err(|error| of_part(path, error))?;
    match has_no_lines(&reader) {
        Some(reason) => {
            let name = path.display().to_string();
            Err(StoreError::Refused { name, reason: reason.to_owned() }.into())
        }
        None => Ok(reader),
    }
}

/// The error for a file that the operating system refuses.
fn of_io(path: &Path, source: std::io::Error) -> Error {
    let name = path.display().to_string();
    match source.downcast::<InputError>() {
        Ok(error) => error.into(),
        Err(source) => StoreError::Io { name, source }.into(),
    }
}

/// The error of a part.
fn of_part(path: &Path, error: PartError) -> Error {
    match error {
        PartError::Io(source) => of_io(path, source),
        error @ (PartError::NotParquet | PartError::Foreign | PartError::Version { .. }) => {
            StoreError::Refused { name: path.display().to_string(), reason: error.to_string() }.into()
        }
        error => StoreError::Damaged { name: path.display().to_string(), reason: error.to_string() }.into(),
    }
}

/// The error of a folder.
fn of_folder(path: &Path, error: FolderError) -> Error {
    let name = path.display().to_string();
    match error {
        FolderError::Storage { source, name: within, .. } => of_io(&path.join(within), source),
        _ if Folder::is_foreign(&LocalStorage::new(path)) => {
            StoreError::Refused { name, reason: why_foreign(path) }.into()
        }
        error @ (FolderError::Malformed { .. } | FolderError::Gap { .. } | FolderError::Missing { .. }) => {
            StoreError::Damaged { name, reason: error.to_string() }.into()
        }
        FolderError::NoLog => {
            let reason = "is no store: it has no `_delta_log`; `warpath store add` makes one".to_owned();
            StoreError::Refused { name, reason }.into()
        }
        error => StoreError::Refused { name, reason: error.to_string() }.into(),
    }
}
