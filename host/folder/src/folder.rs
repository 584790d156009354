//! A folder: opened, changed, cleaned.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use warpath_core::pool;
use warpath_core::temporary::is_temporary;

use crate::action::{Action, Entry, Head, LOG, Table, file_of, is_own, is_version, read, render};
use crate::error::FolderError;
use crate::part::{Input, Known, Millis, Part, Position};
use crate::recent;
use crate::schema::Schema;
use crate::snapshot::Snapshot;
use crate::storage::{Object, Storage};

/// The most attempts to create a version before other writers do.
const ATTEMPTS: u32 = 1000;
/// A part of the names of checkpoints.
const CHECKPOINT: &str = ".checkpoint.";
/// The versions that are read at once.
const AT_ONCE: usize = 4096;

/// A folder of a store, at the version that was current when it was opened, refreshed or changed last.
///
/// ```
/// use warpath_folder::{Field, Folder, LocalStorage, Millis, Part, Schema, Type};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// let storage = LocalStorage::new(path);
/// let schema = Schema { fields: vec![Field::new("id", Type::Long)] };
/// let mut folder = Folder::create(storage, schema, Millis(0))?;
///
/// std::fs::write(path.join("part-0.parquet"), "a part")?;
/// let part = Part { name: "part-0.parquet".into(), bytes: 6, rows: 3, ..Part::default() };
/// assert_eq!(folder.append(vec![part], Vec::new(), Millis(1))?, 1);
/// assert_eq!(Folder::open(LocalStorage::new(path))?.snapshot().rows(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Folder {
    storage: Arc<dyn Storage>,
    snapshot: Arc<Snapshot>,
}

/// A change of a folder, which becomes one version.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// The name of the operation in the history of the table; `WRITE` if it is empty.
    pub operation: String,
    /// The names of parts to remove.
    pub removed: Vec<String>,
    /// The parts to add, whose files are there. They get the position of the first removed part, or the one
    /// after all others.
    pub added: Vec<Part>,
    /// Names of parts to remove, each with the parts that get its position, possibly none.
    pub replaced: Vec<(String, Vec<Part>)>,
    /// Inputs that become known.
    pub inputs: Vec<Input>,
    /// Inputs that have grown or changed: the state that is known, and the new one.
    pub grown: Vec<(Input, Input)>,
    /// Fields of the added parts. The folder gets the fields that it lacks.
    pub schema: Option<Schema>,
    /// True if the added parts have the rows of the removed ones.
    pub same_rows: bool,
}

impl Folder {
    /// Creates a folder without parts.
    ///
    /// # Errors
    /// [`FolderError::Exists`], [`FolderError::Schema`], and those of the storage.
    pub fn create(storage: impl Storage + 'static, schema: Schema, now: Millis) -> Result<Self, FolderError> {
        let operation = "CREATE TABLE".to_owned();
        Self::create_with(storage, Change { operation, schema: Some(schema), ..Change::default() }, now)
    }

    /// Creates a folder whose first version has a change. If this fails, there is no folder.
    ///
    /// # Errors
    /// [`FolderError::Exists`], and those of [`commit`](Self::commit).
    pub fn create_with(
        storage: impl Storage + 'static,
        change: Change,
        now: Millis,
    ) -> Result<Self, FolderError> {
        change.check()?;
        let schema = change.schema.clone().unwrap_or_default();
        let mut folder = Self { storage: Arc::new(storage), snapshot: Arc::default() };
        for part in change.all_added() {
            folder.settle(part)?;
        }
        let head = Head {
            version: 0,
            before: 0,
            at: now,
            operation: if change.operation.is_empty() { "WRITE" } else { &change.operation },
            changes_rows: true,
        };
        let mut actions = vec![Action::Protocol, Action::Table(Table::new(schema, now))];
        actions.extend(folder.actions(&Change { schema: None, ..change.clone() }, now)?);
        let bytes = render(&head, &actions);
        let snapshot = Snapshot::first(read(0, &bytes)?)?;
        let file = file_of(0);
        match folder.storage.create(&file, &bytes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(FolderError::Exists),
            created => created.map_err(FolderError::storage("create", &file))?,
        }
        folder.snapshot = Arc::new(snapshot);
        Ok(folder)
    }

    /// Opens a folder at its last version. Checks that its parts are there in their sizes.
    ///
    /// # Errors
    /// For a log that is malformed, has a gap or is not supported, and for parts that are missing.
    pub fn open(storage: impl Storage + 'static) -> Result<Self, FolderError> {
        let storage: Arc<dyn Storage> = Arc::new(storage);
        let path = storage.local_path().and_then(|path| std::path::absolute(path).ok());
        let known = path.as_deref().and_then(recent::known);
        let known = known.map(|snapshot| Self { storage: storage.clone(), snapshot });
        // What was kept is not trusted if the later versions do not fit.
        let known = known.and_then(|mut folder| folder.refresh().is_ok().then_some(folder));
        let mut folder = match known {
            Some(folder) => folder,
            None => Self::read(storage)?,
        };
        // Another writer may have removed a part meanwhile, and then its file.
        while let Err(error) = folder.check_parts() {
            if folder.version() == folder.refresh()? {
                return Err(error);
            }
        }
        if let Some(path) = &path {
            recent::keep(path, &folder.snapshot);
        }
        Ok(folder)
    }

    /// Reads all versions of a folder.
    fn read(storage: Arc<dyn Storage>) -> Result<Self, FolderError> {
        let versions = versions(&*storage)?;
        let mut snapshot = None;
        for from in (0..versions).step_by(AT_ONCE) {
            let to = versions.min(from.saturating_add(AT_ONCE as u64));
            for entry in entries(&*storage, from, to) {
                match &mut snapshot {
                    None => snapshot = Some(Snapshot::first(entry?)?),
                    Some(snapshot) => snapshot.apply(entry?)?,
                }
            }
        }
        let snapshot = snapshot.ok_or(FolderError::NoLog)?;
        Ok(Self { storage, snapshot: Arc::new(snapshot) })
    }

    /// Reaches the folder through another value from now on, for example one with other permissions for new
    /// files. Both must mean the same folder.
    pub fn set_storage(&mut self, storage: Arc<dyn Storage>) {
        self.storage = storage;
    }

    /// True if the folder is a table of another program: its first version is one of Delta Lake, and has
    /// nothing that Warpath writes. False if there is no log, or if the log cannot be read.
    pub fn is_foreign(storage: &impl Storage) -> bool {
        let names = |object: Object| object.name;
        let names: Vec<String> = storage.list(LOG).unwrap_or_default().into_iter().map(names).collect();
        match names.iter().filter_map(|name| version_of(name)).min() {
            Some(first) => {
                storage.read(&file_of(first)).is_ok_and(|bytes| is_version(&bytes) && !is_own(&bytes))
            }
            None => names.iter().any(|name| name.contains(CHECKPOINT)),
        }
    }

    /// The number of the version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.snapshot.version()
    }

    /// The version. It stays as it is when the folder changes.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot)
    }

    /// Reads the versions that other writers have created meanwhile. Returns the number of the last one.
    ///
    /// # Errors
    /// For a log that is malformed or not supported, and those of the storage.
    pub fn refresh(&mut self) -> Result<u64, FolderError> {
        loop {
            let next = self.next()?;
            match entry(next, self.storage.read(&file_of(next))) {
                Err(FolderError::Gap { .. }) => return Ok(self.version()),
                entry => Arc::make_mut(&mut self.snapshot).apply(entry?)?,
            }
        }
    }

    /// Becomes the version after this one. Returns false if there is none yet.
    ///
    /// # Errors
    /// For a log that is malformed or not supported, [`FolderError::Conflict`] if another folder is at its
    /// path now, and those of the storage.
    pub fn advance(&mut self) -> Result<bool, FolderError> {
        let next = self.next()?;
        match entry(next, self.storage.read(&file_of(next))) {
            Err(FolderError::Gap { .. }) => {
                let file = file_of(self.version());
                let is_same = match self.storage.read(&file) {
                    Ok(bytes) => read(self.version(), &bytes)?.hash == self.snapshot.hash(),
                    Err(error) if self.storage.read(&file_of(0)).is_err() => {
                        return Err(FolderError::storage("read", &file)(error));
                    }
                    Err(_) => false,
                };
                match is_same {
                    true => Ok(false),
                    false => Err(self.conflict("another store is at this path now")),
                }
            }
            entry => {
                Arc::make_mut(&mut self.snapshot).apply(entry?)?;
                Ok(true)
            }
        }
    }

    /// Adds parts after all others, and the inputs that they are made from.
    ///
    /// # Errors
    /// [`FolderError::KnownInput`], and those of [`commit`](Self::commit).
    pub fn append(&mut self, parts: Vec<Part>, inputs: Vec<Input>, now: Millis) -> Result<u64, FolderError> {
        let change = Change { added: parts, inputs, ..Change::default() };
        self.commit(change, now)
    }

    /// Replaces parts by others that have the same rows, or by parts with fewer rows.
    ///
    /// # Errors
    /// [`FolderError::Conflict`] if another writer has removed one of the parts, and those of
    /// [`commit`](Self::commit).
    pub fn replace(
        &mut self,
        removed: Vec<String>,
        added: Vec<Part>,
        same_rows: bool,
        now: Millis,
    ) -> Result<u64, FolderError> {
        let operation = if same_rows { "OPTIMIZE" } else { "DELETE" }.to_owned();
        self.commit(Change { operation, removed, added, same_rows, ..Change::default() }, now)
    }

    /// Creates a version by a change. Returns its number; a change that changes nothing creates none.
    ///
    /// If other writers create versions meanwhile, the change is checked against the last of them. After an
    /// error, the folder may be at a newer version, which is without this change; see
    /// [`FolderError::Storage`] for the exception. The same change can be tried again.
    ///
    /// # Errors
    /// For facts that are not valid, parts that are not there, conflicts, and those of the storage.
    pub fn commit(&mut self, change: Change, now: Millis) -> Result<u64, FolderError> {
        change.check()?;
        for part in change.all_added() {
            self.settle(part)?;
        }
        for _ in 0..ATTEMPTS {
            let actions = self.actions(&change, now)?;
            if actions.is_empty() {
                return Ok(self.version());
            }
            let version = self.next()?;
            let head = Head {
                version,
                before: self.snapshot.hash(),
                at: now,
                operation: if change.operation.is_empty() { "WRITE" } else { &change.operation },
                changes_rows: !change.same_rows,
            };
            let bytes = render(&head, &actions);
            // No version is created that would not be read.
            let entry = read(version, &bytes)?;
            let file = file_of(version);
            match self.storage.create(&file, &bytes) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    // An earlier attempt of the storage may have created it, before its reply was lost.
                    let theirs = self.storage.read(&file).map_err(FolderError::storage("read", &file))?;
                    if theirs != bytes {
                        self.refresh()?;
                        continue;
                    }
                }
                Err(error) => return Err(FolderError::storage("create", &file)(error)),
            }
            Arc::make_mut(&mut self.snapshot).apply(entry)?;
            return Ok(version);
        }
        Err(FolderError::Contention { attempts: ATTEMPTS })
    }

    /// The files that no version since an instant has: parts that were removed before it, and temporary files
    /// and parts that no version names and that were written before it. Of files that no version names,
    /// `is_part` says which ones are parts, by their names. Others belong to somebody else.
    ///
    /// The instant must be earlier than the begin of every read and write that has not ended.
    ///
    /// # Errors
    /// For a log that is malformed, and those of the storage.
    pub fn unneeded(
        &mut self,
        before: Millis,
        is_part: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<Object>, FolderError> {
        self.refresh()?;
        let mut objects = Vec::new();
        for (folder, prefix) in [("", String::new()), (LOG, format!("{LOG}/"))] {
            for object in list(&*self.storage, folder)? {
                let name = object.name.as_str();
                let unneeded = if is_temporary(name) {
                    object.modified < before
                } else if folder == LOG || self.snapshot.part(name).is_some() {
                    false
                } else if let Some(removed) = self.snapshot.removed(name) {
                    removed < before
                } else {
                    object.modified < before && is_part(name)
                };
                if unneeded {
                    objects.push(Object { name: format!("{prefix}{name}"), ..object });
                }
            }
        }
        objects.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(objects)
    }

    /// Removes the files that are [`unneeded`](Self::unneeded), and returns them. Versions before the instant
    /// can no longer be read as tables.
    ///
    /// # Errors
    /// Those of [`unneeded`](Self::unneeded).
    pub fn vacuum(
        &mut self,
        before: Millis,
        is_part: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<Object>, FolderError> {
        let mut objects = self.unneeded(before, is_part)?;
        let mut kept = Vec::new();
        for object in &objects {
            // Another writer may have added the part since the files were listed.
            self.refresh()?;
            if self.snapshot.part(&object.name).is_some() {
                kept.push(object.name.clone());
                continue;
            }
            self.storage.delete(&object.name).map_err(FolderError::storage("remove", &object.name))?;
        }
        objects.retain(|object| !kept.contains(&object.name));
        Ok(objects)
    }

    /// Checks that all parts are there in their sizes.
    ///
    /// # Errors
    /// [`FolderError::Missing`] for the first that is not, and those of the storage.
    pub fn check_parts(&self) -> Result<(), FolderError> {
        if let Some(folder) = self.storage.local_path() {
            // The folder may have many files that are parts of earlier versions alone.
            for part in self.snapshot.parts() {
                let size = match std::fs::metadata(folder.join(&part.name)) {
                    Ok(metadata) => metadata.is_file().then_some(metadata.len()),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                    Err(error) => return Err(FolderError::storage("read", &part.name)(error)),
                };
                if size != Some(part.bytes) {
                    return Err(missing_part(part, size));
                }
            }
            return Ok(());
        }
        let objects = list(&*self.storage, "")?;
        let sizes: HashMap<_, _> = objects.iter().map(|object| (object.name.as_str(), object.size)).collect();
        let missing = self.snapshot.parts().find(|part| sizes.get(part.name.as_str()) != Some(&part.bytes));
        missing.map_or(Ok(()), |part| Err(missing_part(part, sizes.get(part.name.as_str()).copied())))
    }

    /// Makes the file of a new part lasting.
    fn settle(&self, part: &Part) -> Result<(), FolderError> {
        match self.storage.settle(&part.name) {
            Ok(size) if size == part.bytes => Ok(()),
            Ok(size) => Err(missing_part(part, Some(size))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing_part(part, None)),
            Err(error) => Err(FolderError::storage("write", &part.name)(error)),
        }
    }

    /// The number of the next version.
    fn next(&self) -> Result<u64, FolderError> {
        self.version().checked_add(1).ok_or_else(|| self.conflict("there are 2^64 versions"))
    }

    fn conflict(&self, what: impl Into<String>) -> FolderError {
        FolderError::Conflict { what: what.into(), version: self.version() }
    }

    /// The actions of a change upon this version.
    fn actions(&self, change: &Change, now: Millis) -> Result<Vec<Action>, FolderError> {
        let mut actions = Vec::new();
        if let Some(schema) = &change.schema {
            let merged = self.snapshot.schema().merge(schema)?;
            if merged != *self.snapshot.schema() {
                actions.push(Action::Table(Table { schema: merged, ..self.snapshot.table.clone() }));
            }
        }
        for input in &change.inputs {
            let state = self.snapshot.known(input);
            if state != Known::New {
                return Err(FolderError::KnownInput { name: input.name.clone(), state });
            }
            actions.push(Action::Input(input.clone()));
        }
        for (before, after) in &change.grown {
            if self.snapshot.input(&before.name) != Some(before) {
                return Err(
                    self.conflict(format!("another program added lines of `{}` meanwhile", before.name))
                );
            }
            actions.push(Action::Input(after.clone()));
        }
        let mut position: Option<&Position> = None;
        let mut places = Vec::new();
        for name in change.all_removed() {
            actions.push(Action::Remove { name: name.clone(), at: now });
        }
        for name in &change.removed {
            let own = &self.there(name)?.position;
            position = Some(position.map_or(own, |position| position.min(own)));
        }
        for (name, parts) in &change.replaced {
            places.push((self.there(name)?.position.split(parts.len()), parts));
        }
        let positions = match position {
            Some(position) => position.split(change.added.len()),
            None => self.ends(change.added.len()),
        };
        places.push((positions, &change.added));
        let mut positioned = Vec::new();
        for (positions, parts) in places {
            let full = || self.conflict("there is no position left for a part; compact the store");
            positioned.extend(parts.iter().zip(positions.ok_or_else(full)?));
        }
        for (part, position) in positioned {
            if self.snapshot.part(&part.name).is_some() {
                return Err(self.conflict(format!("part `{}` is there already", part.name)));
            }
            actions.push(Action::Add(Part { position, ..part.clone() }));
        }
        Ok(actions)
    }

    /// A part that is to be removed.
    fn there(&self, name: &str) -> Result<&Part, FolderError> {
        self.snapshot.part(name).ok_or_else(|| {
            self.conflict(match self.snapshot.removed(name) {
                Some(_) => format!("another program removed part `{name}` meanwhile"),
                None => format!("part `{name}` is not there"),
            })
        })
    }

    /// The positions for parts after all others.
    fn ends(&self, parts: usize) -> Option<Vec<Position>> {
        let mut position = self.snapshot.end();
        let mut all = Vec::with_capacity(parts);
        for _ in 0..parts {
            let one = position?;
            position = Position::next(Some(&one));
            all.push(one);
        }
        Some(all)
    }
}

impl Change {
    fn all_added(&self) -> impl Iterator<Item = &Part> {
        self.replaced.iter().flat_map(|(_, parts)| parts).chain(&self.added)
    }

    fn all_removed(&self) -> impl Iterator<Item = &String> {
        self.replaced.iter().map(|(name, _)| name).chain(&self.removed)
    }

    /// Checks the facts.
    fn check(&self) -> Result<(), FolderError> {
        self.all_added().try_for_each(Part::check)?;
        self.schema.as_ref().map_or(Ok(()), Schema::check)?;
        for (before, after) in &self.grown {
            if before.name != after.name {
                return Err(FolderError::invalid(&after.name, "an input that grew must keep its name"));
            }
        }
        let inputs = || self.inputs.iter().chain(self.grown.iter().map(|(_, after)| after));
        inputs().try_for_each(Input::check)?;
        unique(self.all_added().map(|part| &*part.name))?;
        unique(self.all_removed().map(|name| &**name))?;
        unique(inputs().map(|input| &*input.name))
    }
}

fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), FolderError> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    twice.map_or(Ok(()), |pair| Err(FolderError::invalid(pair[0], "named twice in one change")))
}

fn missing_part(part: &Part, found: Option<u64>) -> FolderError {
    FolderError::Missing { name: part.name.clone(), expected: part.bytes, found }
}

fn list(storage: &dyn Storage, folder: &str) -> Result<Vec<Object>, FolderError> {
    let name = if folder.is_empty() { "." } else { folder };
    storage.list(folder).map_err(FolderError::storage("list", name))
}

/// The number of versions, which is 0 if there is no log.
fn versions(storage: &dyn Storage) -> Result<u64, FolderError> {
    // A list that is made while versions are created may lack one, and have the next.
    let mut attempts = 3;
    loop {
        attempts -= 1;
        let objects = list(storage, LOG)?;
        let mut versions: Vec<u64> = objects.iter().filter_map(|object| version_of(&object.name)).collect();
        versions.sort_unstable();
        let gap = (0..).zip(&versions).find(|(expected, version)| expected != *version);
        let (Some((missing, _)), Some(last)) = (gap, versions.last()) else {
            return Ok(versions.len() as u64);
        };
        if attempts == 0 {
            let missing = file_of(missing);
            let has_checkpoint = objects.iter().any(|object| object.name.contains(CHECKPOINT));
            return Err(if has_checkpoint && missing == file_of(0) {
                FolderError::Checkpoint { missing }
            } else {
                FolderError::Gap { missing, last: *last }
            });
        }
    }
}

/// The version whose file has this name.
fn version_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json").filter(|digits| digits.len() == 20)?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// The versions of a range.
fn entries(storage: &dyn Storage, from: u64, to: u64) -> Vec<Result<Entry, FolderError>> {
    let files = storage.read_many((from..to).map(file_of).collect());
    pool::map((from..to).zip(files).collect(), |(version, bytes)| entry(version, bytes))
}

/// A version from the bytes of its file.
fn entry(version: u64, bytes: io::Result<Vec<u8>>) -> Result<Entry, FolderError> {
    let missing = file_of(version);
    match bytes {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(FolderError::Gap { missing, last: version })
        }
        Err(error) => Err(FolderError::storage("read", &missing)(error)),
        Ok(bytes) => read(version, &bytes),
    }
}
