//! Lines that are added to a store.

use std::fs::{self, File};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use warpath_core::error::{Error, StoreError};
use warpath_core::temporary::OutputMode;
use warpath_folder::{Change, Field, Folder, FolderError, Input, LOG, Part, Schema, Storage, Type};
use warpath_part::file::{Options, Writer};
use warpath_part::group::{Group, Layout, Node, NodeIx, Tree};
use warpath_part::text::{Names, Reserved, Shredder};
use warpath_resident::Segment;

use super::change::{GROUP_BYTES, Without};
use super::known::{Inputs, find_open_lines, identified};
use super::location::{NewPart, StoreFile, StoreLocation, new_name};
use super::resident;
use super::schema::{self, PartSchema};
use super::texts::{Lines, NextText, Texts};
use super::{Store, now, of_io, of_part};
use crate::input::{Source, WITHIN, begins_within};

/// Bytes of text of a row group by default.
const DEFAULT_GROUP_BYTES: usize = 64 << 20;
/// The longest time that a line of a followed input waits by default.
const DEFAULT_LATENCY: Duration = Duration::from_secs(10);
/// Bytes of text from which on another part begins.
pub(super) const PART_BYTES: u64 = 1 << 30;
/// The most times that files are read, if other programs add lines that they do not go with.
pub(super) const TRIES: u32 = 3;

/// Settings of [`Store::add`] and [`Store::follow`].
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
/// // A row group for each line. Small groups cost space, and less is read for one line.
/// Store::add(&path, vec![lines()], AddOptions::default().group_bytes(1), &mut |_| {})?;
/// assert_eq!(Store::open(&path)?.parts()?[0].groups, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AddOptions {
    /// Bytes of text of a row group. A group has more only if it is one longer line.
    pub group_bytes: usize,
    /// The longest time that a line of a followed input waits for the lines after it.
    pub max_latency: Duration,
    /// True if new parts have a resident form, too.
    pub resident: bool,
}

impl Default for AddOptions {
    fn default() -> Self {
        Self { group_bytes: DEFAULT_GROUP_BYTES, max_latency: DEFAULT_LATENCY, resident: false }
    }
}

impl AddOptions {
    /// Sets the bytes of text of a row group; at least one.
    #[must_use]
    pub fn group_bytes(self, bytes: usize) -> Self {
        Self { group_bytes: bytes.max(1), ..self }
    }

    /// Sets the longest time that a line of a followed input waits for the lines after it.
    #[must_use]
    pub fn max_latency(self, latency: Duration) -> Self {
        Self { max_latency: latency, ..self }
    }

    /// Sets whether new parts have a resident form, too: their lines and values as
    /// [`Engine::load`](crate::engine::Engine::load) has them in memory. Loading them then decodes nothing.
    /// The form takes about 0.6 of the bytes of the text, several times as much as the rest of a part.
    #[must_use]
    pub fn resident(self, resident: bool) -> Self {
        Self { resident, ..self }
    }
}

/// Totals of [`Store::add`] and [`Store::follow`].
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
/// let added = Store::add(&path, vec![lines()], AddOptions::default(), &mut |_| {})?;
/// assert_eq!((added.parts, added.lines, added.text_bytes), (1, 2, 18));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Added {
    /// New parts.
    pub parts: usize,
    /// Lines that were added.
    pub lines: u64,
    /// Bytes of text.
    pub text_bytes: u64,
    /// Bytes of the new parts.
    pub file_bytes: u64,
    /// The lines of them that are neither blank nor a record. Questions stop there, or skip them.
    pub malformed: u64,
    /// The files that the store had already.
    pub known: Vec<String>,
    /// The ones of them whose time has changed, and neither the size nor the samples of the bytes.
    pub touched: Vec<String>,
}

impl Store {
    /// Adds the lines of inputs after all others, and makes the store if there is none. Files that the store
    /// has are passed over. Either all lines are added, or none. Calls `progress` now and then with the bytes
    /// of text that have been read.
    ///
    /// If another program adds lines meanwhile, and the new lines do not go with these, the inputs are read
    /// again, and `progress` begins again. Inputs that are not files cannot be read again.
    ///
    /// # Errors
    /// [`Error::Input`] for an input that cannot be read. [`Error::Store`] for a file that has changed since
    /// it was added, for a store that is damaged, and if other programs change the store each time.
    pub fn add(
        location: impl Into<StoreLocation>,
        sources: Vec<Source>,
        options: AddOptions,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Added, Error> {
        let location = &location.into();
        let fixed: Vec<_> =
            sources.iter().filter(|source| again(source).is_none()).map(Source::name).collect();
        let (mut next, mut tries) = (sources, 0);
        loop {
            let more = next.iter().filter_map(again).collect();
            tries += 1;
            match add(location, next, options, progress)? {
                Ok(added) => return Ok(added),
                // The lines have to be made columns by what the other program has added.
                Err(_) if tries < TRIES && fixed.is_empty() => next = more,
                Err(conflict) => return Err(meanwhile(location, conflict, &fixed)),
            }
        }
    }
}

/// A source that is read once more; `None` if it cannot be.
fn again(source: &Source) -> Option<Source> {
    match source {
        Source::File(path) if path.is_file() => Some(Source::File(path.clone())),
        Source::Stored(part) => Some(Source::Stored(part.clone())),
        _ => None,
    }
}

/// The error for inputs that do not go with what other programs added. `fixed` are those that cannot be read
/// once more.
pub(super) fn meanwhile(location: &StoreLocation, conflict: FolderError, fixed: &[String]) -> Error {
    let what = match conflict {
        FolderError::Schema { path, .. } => format!("they added `{path}` with values of another type"),
        FolderError::KnownInput { name, .. } => format!("they added {name}"),
        FolderError::Conflict { what, .. } => what,
        other => other.to_string(),
    };
    let why = match fixed {
        [] => format!("each of {TRIES} times"),
        fixed => format!("and {} cannot be read once more", fixed.join(", ")),
    };
    let reason = format!("other programs changed the store meanwhile, {why}; {what}; run the command again");
    StoreError::Refused { name: location.shown(), reason }.into()
}

/// Adds the lines of inputs to the last version of a store. The inner error is a conflict with another
/// program that has added lines since.
fn add(
    location: &StoreLocation,
    sources: Vec<Source>,
    options: AddOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<Result<Added, FolderError>, Error> {
    let identities = sources.iter().map(identified).collect::<Result<Vec<_>, _>>()?;
    if let Some(name) = of_itself(location, &sources, &identities) {
        let reason = "is in the store that it would be added to".to_owned();
        return Err(StoreError::Refused { name, reason }.into());
    }
    let mode = Source::output_mode(&sources);
    let mut folder = location.open_or_none(mode)?;
    let snapshot = folder.as_ref().map(Folder::snapshot).unwrap_or_default();
    let inputs = Inputs::new(sources, identities, &snapshot)?;
    write(location, folder.as_mut(), mode, inputs, options, progress)
}

/// Writes the lines of inputs as parts, and makes them one version of the store, or the first one. The inner
/// error is a conflict with another program.
pub(super) fn write(
    location: &StoreLocation,
    mut folder: Option<&mut Folder>,
    mode: OutputMode,
    mut inputs: Inputs,
    options: AddOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<Result<Added, FolderError>, Error> {
    let cut = match &folder {
        Some(folder) => find_open_lines(location, folder, &inputs.cut)?,
        None => Vec::new(),
    };
    let mode = cut.iter().fold(mode, |mode, (part, _)| location.file(part).and_mode(mode));
    // Removed after the parts in it, so before them here.
    let made = match location.disk().filter(|_| folder.is_none()) {
        Some(path) => Some(MadeFolder::at(path)?),
        None => None,
    };
    let mut writer = PartsWriter::new(location, folder.as_deref(), mode)?;
    let mut replaced = Vec::new();
    for (part, lines) in cut {
        let parts = writer.write_without(&location.file(&part), lines)?;
        replaced.push((part.name, parts));
    }
    let before = writer.parts.len();
    writer.malformed = 0;
    let texts = Texts::new(mem::take(&mut inputs.fresh), options.group_bytes).ending_parts();
    writer.write(texts, options.resident, progress)?;
    inputs.check()?;
    let parts = writer.parts[before..].to_vec();
    let sum = |of: fn(&Part) -> u64| parts.iter().map(of).sum();
    let added = Added {
        parts: parts.len(),
        lines: sum(|part| part.rows),
        text_bytes: sum(|part| part.text_bytes),
        file_bytes: sum(|part| part.bytes),
        malformed: writer.malformed,
        known: inputs.known,
        touched: inputs.touched,
    };
    if folder.is_some() && parts.is_empty() && inputs.new.is_empty() && inputs.grown.is_empty() {
        return Ok(Ok(added));
    }
    let change = Change {
        operation: "WRITE".to_owned(),
        replaced,
        added: parts,
        inputs: inputs.new,
        grown: inputs.grown,
        ..Change::default()
    };
    let done = match &mut folder {
        Some(folder) => writer.commit(folder, change),
        None => writer.create(&location.storage(mode)?, change),
    };
    match done {
        Ok(()) => {
            if let Some(made) = made {
                made.keep();
            }
            Ok(Ok(added))
        }
        Err(
            conflict @ (FolderError::Schema { .. }
            | FolderError::KnownInput { .. }
            | FolderError::Conflict { .. }),
        ) => Ok(Err(conflict)),
        Err(error) => Err(location.failed(error)),
    }
}

/// The name of an input that is in the store itself.
pub(super) fn of_itself(
    location: &StoreLocation,
    sources: &[Source],
    identities: &[Option<Input>],
) -> Option<String> {
    let store = location.canonical();
    let is_in =
        |input: &&Input| store.as_ref().is_some_and(|store| Path::new(&input.name).starts_with(store));
    if let Some(input) = identities.iter().flatten().find(is_in) {
        return Some(input.name.clone());
    }
    let folder = location.shown();
    let stored = sources.iter().filter_map(|source| match source {
        Source::Stored(part) => Some(part.name()),
        _ => None,
    });
    stored
        .map(str::to_owned)
        .find(|name| name.strip_prefix(&*folder).is_some_and(|rest| rest.starts_with('/')))
}

/// The folder of a new store. The folders that were made for it are removed again, unless it is
/// [kept](Self::keep). A folder that is not empty stays.
struct MadeFolder {
    path: PathBuf,
    /// The folders that were not there, the innermost first.
    made: Vec<PathBuf>,
}

impl MadeFolder {
    fn at(path: &Path) -> Result<Self, Error> {
        let missing = path.ancestors().filter(|folder| !folder.as_os_str().is_empty());
        let made = missing.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
        let folder = Self { path: path.to_owned(), made };
        fs::create_dir_all(path).map_err(|source| of_io(&path.display().to_string(), source))?;
        Ok(folder)
    }

    fn keep(mut self) {
        self.made.clear();
        self.path.clear();
    }
}

impl Drop for MadeFolder {
    fn drop(&mut self) {
        if self.path.as_os_str().is_empty() {
            return;
        }
        // Only empty folders are removed, so that nothing is lost that another program has put there.
        let log = self.path.join(LOG);
        let _ = fs::remove_dir(log);
        for folder in &self.made {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

/// Writes parts into the folder of a store. The files are removed again, unless a
/// [commit](Self::commit) names them.
pub(super) struct PartsWriter<'a> {
    location: &'a StoreLocation,
    mode: OutputMode,
    shredder: Shredder,
    /// The parts that are complete.
    pub parts: Vec<Part>,
    /// The columns of the parts.
    pub tree: Arc<Tree>,
    /// The lines that are neither blank nor a record.
    pub malformed: u64,
    is_kept: bool,
}

/// A step of the thread that writes parts.
enum Step {
    /// A group, and its resident form if the part has one.
    Group(Arc<Tree>, Box<Group>, Option<Box<Segment>>),
    /// The part is complete, but for the section with its schema.
    End(Arc<Tree>, Facts, Option<Vec<u8>>),
}

/// The facts of a part.
type Facts = Vec<(String, String)>;

impl<'a> PartsWriter<'a> {
    /// A writer whose columns have the names and types that they have in the store.
    pub fn new(
        location: &'a StoreLocation,
        folder: Option<&Folder>,
        mode: OutputMode,
    ) -> Result<Self, Error> {
        let reserved = folder.map_or_else(|| Ok(Reserved::new()), |folder| reserved(location, folder))?;
        let shredder = Shredder::resume(reserved);
        let tree = Arc::new(shredder.tree().clone());
        Ok(Self { location, mode, shredder, parts: Vec::new(), tree, malformed: 0, is_kept: false })
    }

    /// Makes a change with the columns of these parts one version of the folder. The files stay.
    ///
    /// # Errors
    /// The errors of [`Folder::commit`].
    pub fn commit(mut self, folder: &mut Folder, change: Change) -> Result<(), FolderError> {
        let change = Change { schema: Some(schema_of(&self.tree)), ..change };
        let done = folder.commit(change, now());
        // If the storage failed, the version may be there all the same, and name the files.
        self.is_kept = matches!(done, Ok(_) | Err(FolderError::Storage { .. }));
        done.map(drop)
    }

    /// Makes a change with the columns of these parts the first version of the folder, or the next one if
    /// another writer has created the folder meanwhile. The files stay.
    ///
    /// # Errors
    /// The errors of [`Folder::commit`].
    pub fn create(mut self, storage: &Arc<dyn Storage>, change: Change) -> Result<(), FolderError> {
        // Without lines there are no columns yet.
        let schema = if self.parts.is_empty() { Schema::default() } else { schema_of(&self.tree) };
        let first = Change { schema: Some(schema), ..change.clone() };
        match Folder::create_with(storage.clone(), first, now()) {
            Err(FolderError::Exists) => {
                let mut folder = Folder::open(storage.clone())?;
                self.commit(&mut folder, change)
            }
            Err(error) => {
                // The version may be there all the same, also if the storage does not say so now.
                self.is_kept = storage.list(LOG).map_or(true, |files| !files.is_empty());
                Err(error)
            }
            Ok(_) => {
                self.is_kept = true;
                Ok(())
            }
        }
    }

    /// Writes the parts of some texts, with a resident form if `resident` is set. One thread makes columns of
    /// text, another one makes files of columns.
    pub fn write(
        &mut self,
        mut texts: Texts,
        resident: bool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Error> {
        let (location, mode) = (self.location, self.mode);
        let (to_writer, steps) = sync_channel(1);
        let mut written = Vec::new();
        let result = thread::scope(|scope| {
            let files = thread::Builder::new()
                .name("warpath store".into())
                .spawn_scoped(scope, {
                    let written = &mut written;
                    move || write_parts(location, mode, &steps, written)
                })
                .map_err(Error::Thread)?;
            let made = self.shred(&mut texts, resident, progress, &mut |step| to_writer.send(step).is_ok());
            drop(to_writer);
            let files = files.join().unwrap_or_else(|_| Err(Error::Internal("the writer panicked".into())));
            // The writer's error is the reason why no more columns were taken.
            files.and(made)
        });
        self.parts.append(&mut written);
        result
    }

    /// Writes parts with the lines of a part, except some. Returns the parts, possibly none. They have a
    /// resident form if the part has one.
    pub fn write_without(&mut self, part: &StoreFile, lines: Vec<u64>) -> Result<Vec<Part>, Error> {
        let before = self.parts.len();
        let old = part.open()?;
        let is_begin = lines.first() != Some(&0) && !begins_within(&old);
        let resident = resident::is_in(&old).map_err(|error| of_part(&part.shown(), error))?;
        let (name, reader) = (part.shown(), Box::new(Without::new(part, lines)));
        let lines = Lines::Plain { name, reader, is_begin };
        self.write(Texts::new(vec![lines], GROUP_BYTES), resident, &mut |_| {})?;
        Ok(self.parts[before..].to_vec())
    }

    fn shred(
        &mut self,
        texts: &mut Texts,
        resident: bool,
        progress: &mut dyn FnMut(u64),
        send: &mut dyn FnMut(Step) -> bool,
    ) -> Result<(), Error> {
        let (mut part_bytes, mut all_bytes, mut facts) = (0, 0, Facts::new());
        let mut schema = PartSchema::default();
        while let Some(text) = texts.next()? {
            let len = text.bytes.len() as u64;
            if part_bytes > 0 && (text.begins_part || part_bytes + len > PART_BYTES) {
                part_bytes = 0;
                let schema = self.end_part(&mut schema);
                if !send(Step::End(self.tree.clone(), mem::take(&mut facts), schema)) {
                    return Ok(());
                }
            }
            if part_bytes == 0 && text.begins_within {
                facts.push((WITHIN.0.to_owned(), WITHIN.1.to_owned()));
            }
            let group = self.group(&text, &mut schema)?;
            if self.tree.nodes.len() != self.shredder.tree().nodes.len() {
                self.tree = Arc::new(self.shredder.tree().clone());
            }
            let form = match resident {
                true => Some(Box::new(resident::form_of(&self.tree, &group, &text.bytes)?)),
                false => None,
            };
            part_bytes += len;
            all_bytes += len;
            if !send(Step::Group(self.tree.clone(), Box::new(group), form)) {
                return Ok(());
            }
            progress(all_bytes);
        }
        if part_bytes > 0 {
            let schema = self.end_part(&mut schema);
            send(Step::End(self.tree.clone(), facts, schema));
        }
        Ok(())
    }

    /// Ends a part. Returns the section with its schema.
    fn end_part(&mut self, schema: &mut PartSchema) -> Option<Vec<u8>> {
        self.shredder.begin_part();
        self.malformed += schema.malformed();
        schema.end()
    }

    /// Makes a group of a text. Another thread adds the lines to the schema of the part.
    fn group(&mut self, text: &NextText, schema: &mut PartSchema) -> Result<Group, Error> {
        thread::scope(|scope| {
            let walk = thread::Builder::new()
                .name("warpath schema".into())
                .spawn_scoped(scope, || schema.add(&text.bytes, !text.begins_within))
                .map_err(Error::Thread)?;
            let group = self.shredder.shred(&text.bytes);
            let group = group.map_err(|error| Error::Internal(error.to_string()));
            walk.join().map_err(|_| Error::Internal("the thread of the schema panicked".into()))??;
            group
        })
    }
}

impl Drop for PartsWriter<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            for part in &self.parts {
                self.location.discard(&part.name);
            }
        }
    }
}

/// The columns of the parts of a store.
fn reserved(location: &StoreLocation, folder: &Folder) -> Result<Reserved, Error> {
    let (snapshot, mut reserved) = (folder.snapshot(), Reserved::new());
    let wanted = tree_of(snapshot.schema());
    // The last part has the columns of those before it, unless two programs added parts at the same time.
    for part in snapshot.parts().rev() {
        if reserved.has_all(&wanted) {
            break;
        }
        reserve(&location.file(part), &mut reserved)?;
    }
    // The schema keeps the columns of parts that were removed.
    reserved.add_unknown(&wanted);
    Ok(reserved)
}

/// Reserves the columns of a part, and those that the part has reserved.
fn reserve(part: &StoreFile, reserved: &mut Reserved) -> Result<(), Error> {
    let (reader, shown) = (part.open()?, part.shown());
    let last = reader.groups().saturating_sub(1);
    let Some(size) = reader.size(last) else { return Ok(()) };
    let section = |group, name| reader.section(group, name).map_err(|error| of_part(&shown, error));
    let names = section(last, Names::SECTION)?;
    let sections = names.into_iter().map(|bytes| (Names::SECTION.to_owned(), bytes)).collect();
    let group = Group { nodes: size.nodes, sections, ..Group::default() };
    let earlier = section(0, Reserved::SECTION)?;
    let names = Names::read(reader.tree(), &group);
    names
        .and_then(|names| reserved.add(reader.tree(), &names, earlier.as_deref()))
        .map_err(|error| StoreError::Damaged { name: shown.clone(), reason: error.to_string() }.into())
}

/// Writes files of columns, until no more come.
fn write_parts(
    location: &StoreLocation,
    mode: OutputMode,
    steps: &Receiver<Step>,
    parts: &mut Vec<Part>,
) -> Result<(), Error> {
    let mut open: Option<(NewPart, Writer<File>)> = None;
    while let Ok(step) = steps.recv() {
        match step {
            Step::Group(tree, group, form) => {
                let (part, writer) = match &mut open {
                    Some(open) => open,
                    None => {
                        let (part, file) = location.begin(new_name(), mode)?;
                        let writer = Writer::new(file, Options::default());
                        let writer = writer.map_err(|error| of_part(&part.shown, error))?;
                        open.insert((part, writer))
                    }
                };
                let written = writer.write(&tree, &group);
                let written = written.and_then(|()| form.map_or(Ok(()), |form| resident::add(writer, &form)));
                written.map_err(|error| of_part(&part.shown, error))?;
            }
            Step::End(tree, facts, section) => {
                let Some((part, mut writer)) = open.take() else { continue };
                let section = section.map_or(Ok(()), |bytes| writer.add_section(schema::SECTION, &bytes));
                let summary = section.and_then(|()| writer.finish(&tree, &facts));
                let summary = summary.map_err(|error| of_part(&part.shown, error))?;
                let name = part.name.clone();
                let hash = location.end(part)?;
                parts.push(Part {
                    name,
                    bytes: summary.bytes,
                    modified: now(),
                    rows: summary.rows,
                    text_bytes: summary.text_bytes,
                    hash,
                    ..Part::default()
                });
            }
        }
    }
    Ok(())
}

/// The schema of a tree in the terms of a folder.
fn schema_of(tree: &Tree) -> Schema {
    Schema { fields: fields_of(tree, 0) }
}

fn fields_of(tree: &Tree, parent: NodeIx) -> Vec<Field> {
    let children = (1..tree.nodes.len() as NodeIx).filter(|node| tree.nodes[*node as usize].parent == parent);
    children.map(|node| Field::new(tree.nodes[node as usize].name.clone(), type_of(tree, node))).collect()
}

fn type_of(tree: &Tree, node: NodeIx) -> Type {
    match tree.nodes[node as usize].layout {
        Layout::Struct => Type::Struct(fields_of(tree, node)),
        Layout::List => {
            let element = fields_of(tree, node).pop().map_or(Type::String, |element| element.kind);
            Type::List(Box::new(element))
        }
        Layout::Boolean => Type::Boolean,
        Layout::Int => Type::Long,
        Layout::Double => Type::Double,
        Layout::String | Layout::Json => Type::String,
        Layout::Bytes => Type::Binary,
    }
}

/// The tree of a folder's schema.
fn tree_of(schema: &Schema) -> Tree {
    let root = Node { parent: 0, name: String::new(), layout: Layout::Struct };
    let mut tree = Tree { nodes: vec![root] };
    schema.fields.iter().for_each(|field| push(&mut tree, 0, &field.name, &field.kind));
    tree
}

fn push(tree: &mut Tree, parent: NodeIx, name: &str, kind: &Type) {
    let number = tree.nodes.len() as NodeIx;
    let layout = match kind {
        Type::Struct(_) => Layout::Struct,
        Type::List(_) => Layout::List,
        Type::Boolean => Layout::Boolean,
        Type::Long => Layout::Int,
        Type::Double => Layout::Double,
        Type::String => Layout::String,
        Type::Binary => Layout::Bytes,
    };
    tree.nodes.push(Node { parent, name: name.to_owned(), layout });
    match kind {
        Type::Struct(fields) => fields.iter().for_each(|field| push(tree, number, &field.name, &field.kind)),
        Type::List(element) => push(tree, number, "element", element),
        _ => {}
    }
}
