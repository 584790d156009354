//! The inputs of a server, of which each question gets one version.
//!
//! All access to data goes through [`Loaded`]. A store is opened for each question. From its start to its
//! end, a question sees the version that was the last one at its start.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpath::store::Store;
use warpath::{Error, FolderFiles, FollowEnd, FollowFrom, InputError, Source};
use warpath_cli::{Inputs, why_none};

use crate::changes::Changes;
use crate::failure::Failure;
use crate::metrics::State;
use crate::resident::{LeftOut, Resident};
use crate::tail::Tail;

/// An input as the server was given it.
struct Entry {
    name: PathBuf,
    is_store: bool,
}

/// The inputs of a server.
pub struct Loaded {
    entries: Arc<[Entry]>,
    changes: Arc<Changes>,
    resident: Arc<Resident>,
}

/// The files of all inputs.
fn files_of(entries: &[Entry]) -> Vec<Source> {
    let sources = |entry: &Entry| Source::named(&entry.name, FolderFiles::Json).unwrap_or_default();
    entries.iter().flat_map(sources).collect()
}

/// The meaning of a name in a question.
enum Found<'a> {
    /// An input.
    Entry(&'a Entry),
    /// A file of a folder or of a pattern.
    File(PathBuf),
}

impl Loaded {
    /// Loads inputs. Files that have room stay in memory.
    ///
    /// # Errors
    /// For a name that means nothing, and for one that is given twice.
    pub fn new(names: Vec<PathBuf>, resident: Arc<Resident>) -> Result<Self, Failure> {
        let mut entries = Vec::new();
        let mut seen = HashSet::new();
        for name in names {
            let shown = name.display();
            if !seen.insert(name.clone()) {
                return Err(Failure::new(format!("{shown}: is given twice")));
            }
            let failed = |error: Error| {
                Failure::new(error.chain())
                    .with_help("name stores, folders, patterns and files of this machine")
            };
            let sources = Source::named(&name, FolderFiles::Json).map_err(|error| failed(error.into()))?;
            if let [Source::File(path)] = &sources[..]
                && let Err(source) = path.metadata()
            {
                return Err(failed(InputError::Io { name: shown.to_string(), source }.into()));
            }
            entries.push(Entry { is_store: Store::is_at(&name), name });
        }
        Ok(Self { entries: entries.into(), changes: Arc::default(), resident })
    }

    /// Loads the files of all inputs into memory. Returns those that could not be loaded.
    pub fn load(&self) -> Vec<LeftOut> {
        self.resident.load(files_of(&self.entries))
    }

    /// The inputs in memory.
    pub fn resident(&self) -> &Arc<Resident> {
        &self.resident
    }

    /// The same sources, from memory where that is possible.
    fn in_memory(&self, sources: Vec<Source>) -> Vec<Source> {
        let entries = self.entries.clone();
        self.resident.in_place_of(sources, move || files_of(&entries))
    }

    /// The changes of stores.
    pub fn changes(&self) -> &Arc<Changes> {
        &self.changes
    }

    /// The inputs that a name means: the input of this name, or those whose last part it is, or the files of
    /// this name in folders.
    fn all(&self, name: &Path) -> Vec<Found<'_>> {
        let is_end = |path: &Path| path.file_name() == Some(name.as_os_str());
        if let Some(entry) = self.entries.iter().find(|entry| entry.name == name) {
            return vec![Found::Entry(entry)];
        }
        let ends: Vec<_> = self.entries.iter().filter(|entry| is_end(&entry.name)).collect();
        if !ends.is_empty() {
            return ends.into_iter().map(Found::Entry).collect();
        }
        let others = self.entries.iter().filter(|entry| !entry.is_store);
        let files =
            others.filter_map(|entry| Source::named(&entry.name, FolderFiles::Documents).ok()).flatten();
        let files = files.filter_map(|source| match source {
            Source::File(path) => Some(path),
            _ => None,
        });
        let mut files: Vec<PathBuf> = files.filter(|file| file == name || is_end(file)).collect();
        files.dedup();
        if files.iter().any(|file| file == name) {
            files.retain(|file| file == name);
            files.truncate(1);
        }
        files.into_iter().map(Found::File).collect()
    }

    /// The input that a name means, if it is one.
    fn find(&self, name: &Path) -> Option<Found<'_>> {
        let mut all = self.all(name);
        if all.len() == 1 { all.pop() } else { None }
    }

    /// The path of the store of this name.
    pub fn store(&self, name: &Path) -> Option<&Path> {
        match self.find(name)? {
            Found::Entry(entry) => entry.is_store.then_some(&entry.name),
            Found::File(_) => None,
        }
    }

    /// The path that SQL reads for a name.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn location(&self, name: &str) -> Result<String, String> {
        let path = match self.find(Path::new(name)) {
            Some(Found::Entry(entry)) => entry.name.clone(),
            Some(Found::File(file)) => file,
            None => {
                let (message, help) = why_none(Path::new(name), self);
                return Err(format!("{message}; {help}"));
            }
        };
        path.into_os_string().into_string().map_err(|_| format!("{name}: its path is no UTF-8"))
    }

    /// The state of all inputs. Their bytes are those of the files, compressed or not.
    pub fn state(&self) -> State {
        let facts = self.entries.iter().map(|entry| self.facts(&entry.name));
        State {
            bytes: files_of(&self.entries).iter().filter_map(Source::size).sum(),
            unreadable: facts.filter(Result::is_err).count() as u64,
            resident: self.resident.current().memory(),
        }
    }

    /// Facts about an input, for people and monitors.
    ///
    /// # Errors
    /// Those of an input that is damaged, or gone.
    pub fn facts(&self, name: &Path) -> Result<Facts, Error> {
        if let Some(path) = self.store(name) {
            let store = Store::open(path)?;
            let parts = store.listed();
            return Ok(Facts {
                kind: "store",
                version: store.version(),
                lines: Some(parts.iter().map(|part| part.rows).sum()),
                bytes: parts.iter().map(|part| part.bytes).sum(),
            });
        }
        let sources = match self.find(name) {
            Some(Found::Entry(entry)) => Source::named(&entry.name, FolderFiles::Json)?,
            Some(Found::File(file)) => vec![Source::File(file)],
            None => Vec::new(),
        };
        let mut bytes = 0;
        for source in &sources {
            if let Source::File(path) = source {
                let metadata = path.metadata();
                let named = |source| InputError::Io { name: path.display().to_string(), source };
                bytes += metadata.map_err(named)?.len();
            }
        }
        Ok(Facts { kind: "files", version: None, lines: None, bytes })
    }
}

/// Facts about an input.
pub struct Facts {
    pub kind: &'static str,
    /// The version of a store.
    pub version: Option<u64>,
    /// The lines of a store.
    pub lines: Option<u64>,
    /// The bytes of its files.
    pub bytes: u64,
}

impl Inputs for Loaded {
    fn names(&self) -> Vec<PathBuf> {
        self.entries.iter().map(|entry| entry.name.clone()).collect()
    }

    fn has(&self, name: &Path) -> bool {
        self.find(name).is_some()
    }

    fn all_of(&self, name: &Path) -> Vec<PathBuf> {
        let path = |found: Found<'_>| match found {
            Found::Entry(entry) => entry.name.clone(),
            Found::File(file) => file,
        };
        self.all(name).into_iter().map(path).collect()
    }

    fn sources(&self, name: &Path, files: FolderFiles) -> Result<Option<Vec<Source>>, Error> {
        Ok(match self.find(name) {
            None => None,
            Some(Found::Entry(entry)) => {
                // A store that is gone is no folder of files.
                if entry.is_store && !Store::is_at(&entry.name) {
                    Store::open(&*entry.name)?;
                }
                Some(self.in_memory(Source::named(&entry.name, files)?))
            }
            Some(Found::File(file)) => Some(self.in_memory(vec![Source::File(file)])),
        })
    }

    fn path(&self, name: &Path) -> Option<PathBuf> {
        match self.find(name)? {
            Found::Entry(entry) => (!entry.is_store).then(|| entry.name.clone()),
            Found::File(file) => Some(file),
        }
    }

    fn tail(&self, name: &Path, from: FollowFrom, end: &FollowEnd) -> Result<Option<Source>, Error> {
        let Some(path) = self.store(name) else { return Ok(None) };
        let tail = Tail::new(path.to_owned(), from, end.clone(), self.changes.clone())?;
        Ok(Some(Source::Reader(path.display().to_string(), Box::new(tail))))
    }
}

#[cfg(test)]
mod tests {
    use warpath::DeviceChoice;

    use super::*;

    #[test]
    fn names_are_those_that_were_given_and_their_ends() {
        let folder = tempfile::tempdir().unwrap();
        let logs = folder.path().join("logs");
        std::fs::create_dir(&logs).unwrap();
        let secret = folder.path().join("secret.ndjson");
        for file in [logs.join("a.ndjson"), logs.join("b.ndjson"), folder.path().join("c.ndjson"), secret] {
            std::fs::write(file, "{}\n").unwrap();
        }
        let new = |names| Loaded::new(names, Arc::new(Resident::new(0, &DeviceChoice::Cpu).unwrap()));
        let loaded = new(vec![logs.clone(), folder.path().join("c.ndjson")]).ok().unwrap();
        let count =
            |name: &Path| loaded.sources(name, FolderFiles::Json).unwrap().map(|sources| sources.len());
        assert_eq!(count(&logs), Some(2));
        assert_eq!(count(Path::new("logs")), Some(2));
        assert_eq!(count(Path::new("c.ndjson")), Some(1));
        assert_eq!(count(&logs.join("a.ndjson")), Some(1));
        assert_eq!(count(Path::new("b.ndjson")), Some(1));
        for other in ["secret.ndjson", "logs/../secret.ndjson", "/etc/passwd", "", "-", "*.ndjson", "logs/c"]
        {
            assert_eq!(count(Path::new(other)), None, "{other}");
        }
        assert_eq!(count(&logs.join("../secret.ndjson")), None);
        assert!(new(vec!["nothing-here.ndjson".into()]).is_err());
        assert!(new(vec![logs.clone(), logs]).is_err());
    }
}
