//! Stores: folders of parts with a log, made from inputs, appended to, checked, changed, and given back as
//! text.

mod add;
mod change;
mod follow;
mod known;
mod location;
pub(crate) mod resident;
mod schema;
#[cfg(test)]
mod tests;
mod text;
mod texts;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use warpath_core::error::{Error, InputError, StoreError};
use warpath_core::temporary::OutputMode;
use warpath_folder::{Folder, Millis, Part};
use warpath_part::file::{Encoding, Error as PartError};
use warpath_store::schema::SchemaTree;

use crate::input::{PartText, Source, check_part, is_store};

pub use add::{AddOptions, Added};
pub use change::{CompactOptions, Rewritten, Vacuumed};
pub use follow::Followed;
use location::StoreFile;
pub use location::StoreLocation;
pub(crate) use schema::{has_schema, schema_of, schema_of_lines};
#[doc(hidden)]
pub use warpath_part::file::KEY;

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
#[derive(Clone)]
pub struct Store {
    location: StoreLocation,
    /// The log; `None` for one part alone.
    folder: Option<Folder>,
    /// The parts, in the order of their lines.
    files: Vec<StoreFile>,
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
    /// Bytes of the file that are its [resident form](AddOptions::resident); 0 without one.
    pub resident_bytes: u64,
    /// The row groups whose resident form this version reads.
    pub resident_groups: usize,
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
    /// Keeps the last version of each store of this machine that this process opens from now on, so that the
    /// next opening reads later versions alone. Damage of earlier versions is then not seen.
    // Hidden: the server alone needs it.
    #[doc(hidden)]
    pub fn remember_versions() {
        warpath_folder::remember();
    }

    /// True if the path is a folder with the log of a store.
    #[must_use]
    pub fn is_at(path: &Path) -> bool {
        is_store(path)
    }

    /// Opens a store at its last version, or one part.
    ///
    /// # Errors
    /// [`Error::Store`] if there is no store or part, for a log or a part that is damaged, and for a part in
    /// the folder of a store that does not have it any more.
    pub fn open(location: impl Into<StoreLocation>) -> Result<Self, Error> {
        let location = location.into();
        if let Some(file) = location.one_part() {
            if let StoreFile::Disk(path) = &file {
                check_part(path).map_err(|error| match error {
                    InputError::Part { name, reason } => StoreError::Refused { name, reason }.into(),
                    error => Error::from(error),
                })?;
            }
            file.open()?;
            return Ok(Self { location, folder: None, files: vec![file] });
        }
        let folder = location.open(OutputMode::default())?;
        Ok(Self::of(location, folder))
    }

    fn of(location: StoreLocation, folder: Folder) -> Self {
        let files = folder.snapshot().parts().map(|part| location.file(part)).collect();
        Self { location, folder: Some(folder), files }
    }

    /// The version after this one; `None` if there is none yet, and for one part alone.
    ///
    /// # Errors
    /// [`Error::Store`] for a log that is damaged or gone, or if another store is at its path now.
    // Hidden: the server alone needs it.
    #[doc(hidden)]
    pub fn next_version(&self) -> Result<Option<Self>, Error> {
        let Some(mut folder) = self.folder.clone() else { return Ok(None) };
        let is_next = folder.advance().map_err(|error| self.location.failed(error))?;
        Ok(is_next.then(|| Self::of(self.location.clone(), folder)))
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

    /// The parts as inputs, in the order of their lines.
    #[must_use]
    pub fn sources(&self) -> Vec<Source> {
        self.files.iter().map(StoreFile::source).collect()
    }

    /// The parts, in the order of their lines.
    ///
    /// # Errors
    /// [`Error::Store`] for a part that cannot be read or is damaged.
    pub fn parts(&self) -> Result<Vec<StorePart>, Error> {
        self.files.iter().map(part).collect()
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
        for file in &self.files {
            let reader = file.open()?;
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

    /// The parts as the log has them, in the order of their lines. None for one part alone.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn listed(&self) -> Vec<Part> {
        let snapshot = self.folder.as_ref().map(Folder::snapshot);
        snapshot.iter().flat_map(|snapshot| snapshot.parts().cloned()).collect()
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

    /// The schema of all lines, if each part has its own, without the parts that positions are in.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn known_schema(&self) -> Option<SchemaTree> {
        let mut all = SchemaTree::default();
        for file in &self.files {
            all.merge(&schema_of(&*file.open().ok()?).ok()??);
        }
        Some(all)
    }

    /// Checks every byte: the log, the checksums of all parts, the text that their columns give, and that
    /// their [resident form](AddOptions::resident) says the same.
    ///
    /// # Errors
    /// [`Error::Store`] for the first fault.
    pub fn verify(&self) -> Result<(), Error> {
        for file in &self.files {
            let (reader, name) = (file.open()?, file.shown());
            reader.verify().map_err(|error| of_part(&name, error))?;
            schema_of(&reader).map_err(|reason| StoreError::Damaged { name: name.clone(), reason })?;
            resident::verify(&reader, &name)?;
            let mut text = PartText::of(reader, &name, warpath_core::pool::cores())?;
            std::io::copy(&mut text, &mut std::io::sink()).map_err(|source| of_io(&name, source))?;
        }
        Ok(())
    }

    /// The mode of an output that is made from the store.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn output_mode(&self) -> OutputMode {
        self.files.iter().fold(OutputMode::default(), |mode, file| file.and_mode(mode))
    }
}

fn part(file: &StoreFile) -> Result<StorePart, Error> {
    let reader = file.open()?;
    let sizes = || (0..reader.groups()).filter_map(|group| reader.size(group));
    let resident = resident::size_of(&reader).map_err(|error| of_part(&file.shown(), error))?;
    Ok(StorePart {
        name: file.name(),
        lines: sizes().map(|size| u64::from(size.rows)).sum(),
        text_bytes: sizes().map(|size| size.text_len).sum(),
        file_bytes: file.size()?,
        groups: reader.groups(),
        resident_bytes: resident.bytes,
        resident_groups: resident.groups,
    })
}

/// The instant, in milliseconds since 1970.
fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The error for a file that its storage refuses.
fn of_io(name: &str, source: std::io::Error) -> Error {
    match source.downcast::<InputError>() {
        Ok(error) => error.into(),
        Err(source) => StoreError::Io { name: name.to_owned(), source }.into(),
    }
}

/// The error of a part.
fn of_part(name: &str, error: PartError) -> Error {
    match error {
        PartError::Io(source) => of_io(name, source),
        error @ (PartError::NotParquet | PartError::Foreign | PartError::Version { .. }) => {
            StoreError::Refused { name: name.to_owned(), reason: error.to_string() }.into()
        }
        error => StoreError::Damaged { name: name.to_owned(), reason: error.to_string() }.into(),
    }
}
