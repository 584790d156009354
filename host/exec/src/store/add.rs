//! Lines that are added to a store.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use warpath_core::error::{Error, InputError, StoreError};
use warpath_core::file::read_exact_at;
use warpath_core::stamp::{Stamp, hash};
use warpath_core::temporary::{OutputMode, Temporary};
use warpath_folder::{
    Change, Field, Folder, FolderError, Input, Known, LocalStorage, Millis, Part, Schema, Type,
};
use warpath_part::file::{Options, Writer};
use warpath_part::group::{Group, Layout, Node, NodeIx, Tree};
use warpath_part::text::{Names, Reserved, Shredder};

use super::{Store, of_folder, of_part, open_part};
use crate::input::{BYTE_ORDER_MARK, LineGroups, Source};

/// Bytes of text of a row group by default.
const DEFAULT_GROUP_BYTES: usize = 64 << 20;
/// Bytes of text from which on another part begins.
pub(super) const PART_BYTES: u64 = 1 << 30;

/// Settings of [`Store::add`].
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
}

impl Default for AddOptions {
    fn default() -> Self {
        Self { group_bytes: DEFAULT_GROUP_BYTES }
    }
}

impl AddOptions {
    /// Sets the bytes of text of a row group; at least one.
    #[must_use]
    pub fn group_bytes(self, bytes: usize) -> Self {
        Self { group_bytes: bytes.max(1) }
    }
}

/// Totals of [`Store::add`].
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
    /// The files that the store had already.
    pub known: Vec<String>,
}

impl Store {
    /// Adds the lines of inputs after all others, and makes the store if there is none. Files that the store
    /// has are passed over. Either all lines are added, or none. Calls `progress` now and then with the bytes
    /// of text that have been read.
    ///
    /// # Errors
    /// [`Error::Input`] for an input that cannot be read. [`Error::Store`] for a file that has changed since
    /// it was added, for a store that is damaged, and if another writer added the same file meanwhile.
    pub fn add(
        path: &Path,
        sources: Vec<Source>,
        options: AddOptions,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Added, Error> {
        // A file that is not there must not leave an empty store.
        let identities = sources.iter().map(identified).collect::<Result<Vec<_>, _>>()?;
        let of_itself =
            |input: &&Input| path.canonicalize().is_ok_and(|store| Path::new(&input.name).starts_with(store));
        if let Some(input) = identities.iter().flatten().find(of_itself) {
            let reason = "is in the store that it would be added to".to_owned();
            return Err(StoreError::Refused { name: input.name.clone(), reason }.into());
        }
        let mode = Source::output_mode(&sources);
        let mut folder = open_or_create(path)?;
        let mut added = Added::default();
        let mut change = Change { operation: "WRITE".to_owned(), ..Change::default() };
        let (mut fresh, mut compressed, mut plain) = (Vec::new(), Vec::new(), Vec::new());
        for (source, input) in sources.into_iter().zip(identities) {
            let Some(input) = input else {
                fresh.push(source);
                continue;
            };
            let taken = change.inputs.iter().chain(change.grown.iter().map(|(_, after)| after));
            // The same file may be named twice.
            if taken.into_iter().any(|other| other.name == input.name) {
                added.known.push(source.name());
                continue;
            }
            match folder.snapshot().known(&input) {
                Known::Same => added.known.push(source.name()),
                Known::New if source.has_parts() => {
                    plain.push((source.name(), input.clone()));
                    fresh.push(lines_of(&source, 0..input.size)?);
                    change.inputs.push(input);
                }
                Known::New => {
                    compressed.push((source.name(), input.clone()));
                    fresh.push(source);
                    change.inputs.push(input);
                }
                state => {
                    let before = folder.snapshot().input(&input.name).cloned();
                    let before = before.filter(|_| state == Known::Grown && source.has_parts());
                    match before {
                        Some(before) if continues(&source, &before)? => {
                            plain.push((source.name(), input.clone()));
                            fresh.push(lines_of(&source, before.size..input.size)?);
                            change.grown.push((before, input));
                        }
                        _ => {
                            let (name, reason) = (source.name(), Known::Changed.to_string());
                            return Err(StoreError::Refused { name, reason }.into());
                        }
                    }
                }
            }
        }
        let texts = Texts::new(fresh, options.group_bytes);
        let mut writer = PartsWriter::new(path, &folder, mode)?;
        writer.write(texts, progress)?;
        let parts = &writer.parts;
        added.parts = parts.len();
        added.lines = parts.iter().map(|part| part.rows).sum();
        added.text_bytes = parts.iter().map(|part| part.text_bytes).sum();
        added.file_bytes = parts.iter().map(|part| part.bytes).sum();
        let changed = |name| {
            let reason = "changed while it was read; add it while nothing writes to it".to_owned();
            StoreError::Refused { name, reason }
        };
        for (name, before) in compressed {
            let source = Source::File(PathBuf::from(&before.name));
            if identified(&source)?.as_ref() != Some(&before) {
                return Err(changed(name).into());
            }
        }
        // A plain file may have grown, but the bytes that were read have to be there.
        for (name, before) in plain {
            let file = File::open(&before.name).ok();
            let stamp = file.and_then(|file| Stamp::of_first(&file, before.size).ok());
            let stamp = stamp.map(|stamp| Input::new(before.name.clone(), &stamp));
            if !stamp.is_some_and(|stamp| stamp.has_samples_of(&before)) {
                return Err(changed(name).into());
            }
        }
        if parts.is_empty() && change.inputs.is_empty() && change.grown.is_empty() {
            return Ok(added);
        }
        change.added.clone_from(parts);
        writer.commit(&mut folder, change)?;
        Ok(added)
    }
}

/// Opens the folder of a store, and makes it if there is none.
fn open_or_create(path: &Path) -> Result<Folder, Error> {
    if path.exists() && !Store::is_at(path) {
        let is_empty = path.read_dir().is_ok_and(|mut entries| entries.next().is_none());
        if !is_empty {
            let reason = "is no store; `store add` makes a folder of its own".to_owned();
            return Err(StoreError::Refused { name: path.display().to_string(), reason }.into());
        }
    }
    let storage = || LocalStorage::new(path);
    if Store::is_at(path) {
        match Folder::open(storage()) {
            // Another writer is about to create the log.
            Err(FolderError::NoLog) => {}
            opened => return opened.map_err(|error| of_folder(path, error)),
        }
    }
    let created = match Folder::create(storage(), Schema::default(), now()) {
        // Another writer has created it meanwhile.
        Err(FolderError::Exists) => Folder::open(storage()),
        created => created,
    };
    created.map_err(|error| of_folder(path, error))
}

/// The identity of a file; `None` for an input that is no file.
fn identified(source: &Source) -> Result<Option<Input>, Error> {
    let Source::File(path) = source else { return Ok(None) };
    let failed = |error| Error::from(InputError::Io { name: source.name(), source: error });
    let file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Ok(None);
    }
    let stamp = Stamp::of(&file).map_err(failed)?;
    // A name that is not UTF-8 has no form in the log, so such a file is added each time.
    let path = path.canonicalize().map_err(failed)?;
    Ok(path.to_str().map(|name| Input::new(name, &stamp)))
}

/// The lines in a range of a plain file's bytes. The file may grow meanwhile.
fn lines_of(source: &Source, range: Range<u64>) -> Result<Source, Error> {
    let (name, path) = file_of(source);
    let failed = |error| Error::from(InputError::Io { name: name.clone(), source: error });
    let path = path.canonicalize().map_err(failed)?;
    Ok(Source::Reader(name, Box::new(Exactly { path, file: None, range })))
}

/// True if a file begins with the bytes that the store has of it, as far as samples show, and these end with
/// a line.
fn continues(source: &Source, before: &Input) -> Result<bool, Error> {
    let (name, path) = file_of(source);
    let failed = |error| Error::from(InputError::Io { name: name.clone(), source: error });
    let file = File::open(path).map_err(failed)?;
    let mut last = [0];
    if before.size > 0 {
        read_exact_at(&file, &mut last, before.size - 1).map_err(failed)?;
    }
    let stamp = Stamp::of_first(&file, before.size).map_err(failed)?;
    let is_same = Input::new(before.name.clone(), &stamp).has_samples_of(before);
    Ok(is_same && (before.size == 0 || last == *b"\n"))
}

fn file_of(source: &Source) -> (String, &Path) {
    match source {
        Source::File(path) => (source.name(), path),
        _ => (source.name(), Path::new("")),
    }
}

/// A range of a file's bytes. The file is open only while it is read, because there may be many. An end
/// before all of the bytes is an error.
struct Exactly {
    path: PathBuf,
    file: Option<File>,
    range: Range<u64>,
}

impl Read for Exactly {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let left = self.range.end - self.range.start;
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(room.len());
        if left == 0 {
            self.file = None;
            return Ok(0);
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let mut file = File::open(&self.path)?;
                file.seek(SeekFrom::Start(self.range.start))?;
                self.file.insert(file)
            }
        };
        let count = file.read(&mut room[..most])?;
        if count == 0 && most > 0 {
            return Err(io::Error::other("the file became shorter while it was read"));
        }
        self.range.start += count as u64;
        Ok(count)
    }
}

/// The instant, in milliseconds since 1970.
fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The lines of some inputs, as texts of about the same size. A line is never cut. A line that ends an input
/// and lacks its newline gets one, if more lines follow.
pub(super) struct Texts {
    sources: std::vec::IntoIter<Source>,
    lines: Option<LineGroups>,
    size: usize,
    /// The beginning of the next text.
    next: Option<NextText>,
}

/// A text of [`Texts`].
pub(super) struct NextText {
    pub bytes: Vec<u8>,
    /// True if the text has to be the first of a part, because it begins with a byte order mark.
    pub begins_part: bool,
}

impl Texts {
    pub fn new(sources: Vec<Source>, size: usize) -> Self {
        Self { sources: sources.into_iter(), lines: None, size: size.max(1), next: None }
    }

    /// The next text; `None` at the end.
    pub fn next(&mut self) -> Result<Option<NextText>, Error> {
        let mut text = self.next.take().unwrap_or(NextText { bytes: Vec::new(), begins_part: false });
        let bytes = &mut text.bytes;
        // Only the end of an input has no newline.
        while bytes.len() < self.size || bytes.last() != Some(&b'\n') {
            if let Some(lines) = &mut self.lines {
                match lines.next(self.size.saturating_sub(bytes.len()).max(1))? {
                    Some(more) => bytes.extend_from_slice(&more),
                    None => self.lines = None,
                }
                continue;
            }
            let Some(first) = self.first()? else { break };
            if bytes.last().is_some_and(|last| *last != b'\n') {
                bytes.push(b'\n');
            }
            let begins_part = first.starts_with(BYTE_ORDER_MARK);
            if bytes.is_empty() {
                text = NextText { bytes: first, begins_part };
                return self.complete(text);
            }
            if begins_part || bytes.len() + first.len() > self.size {
                self.next = Some(NextText { bytes: first, begins_part });
                break;
            }
            bytes.extend_from_slice(&first);
        }
        Ok((!text.bytes.is_empty()).then_some(text))
    }

    /// A text that has begun, with what follows it.
    fn complete(&mut self, text: NextText) -> Result<Option<NextText>, Error> {
        self.next = Some(text);
        self.next()
    }

    /// The first lines of the next input that has any.
    fn first(&mut self) -> Result<Option<Vec<u8>>, Error> {
        for source in self.sources.by_ref() {
            let mut lines = LineGroups::new(source.name(), source.into_lines()?);
            if let Some(first) = lines.next(self.size)? {
                self.lines = Some(lines);
                return Ok(Some(first));
            }
        }
        Ok(None)
    }
}

/// Writes parts into the folder of a store. The files are removed again, unless a
/// [commit](Self::commit) names them.
pub(super) struct PartsWriter<'a> {
    path: &'a Path,
    mode: OutputMode,
    shredder: Shredder,
    /// The parts that are complete.
    pub parts: Vec<Part>,
    /// The columns of the parts.
    pub tree: Arc<Tree>,
    is_kept: bool,
}

/// A step of the thread that writes parts.
enum Step {
    Group(Arc<Tree>, Box<Group>),
    /// The part is complete.
    End(Arc<Tree>),
}

impl<'a> PartsWriter<'a> {
    /// A writer whose columns have the names and types that they have in the store.
    pub fn new(path: &'a Path, folder: &Folder, mode: OutputMode) -> Result<Self, Error> {
        let shredder = Shredder::resume(reserved(path, folder)?);
        let tree = Arc::new(shredder.tree().clone());
        Ok(Self { path, mode, shredder, parts: Vec::new(), tree, is_kept: false })
    }

    /// Makes a change with the columns of these parts one version of the folder. The files stay.
    ///
    /// # Errors
    /// [`Error::Store`] if the change conflicts with another writer's, and for a log that cannot be written.
    pub fn commit(mut self, folder: &mut Folder, change: Change) -> Result<(), Error> {
        let change = Change { schema: Some(schema_of(&self.tree)), ..change };
        let done = folder.commit(change, now());
        // If the storage failed, the version may be there all the same, and name the files.
        self.is_kept = matches!(done, Ok(_) | Err(FolderError::Storage { .. }));
        done.map(drop).map_err(|error| of_folder(self.path, error))
    }

    /// Writes the parts of some texts. One thread makes columns of text, another one makes files of columns.
    pub fn write(&mut self, mut texts: Texts, progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
        let (path, mode) = (self.path, self.mode);
        let (to_writer, steps) = sync_channel(1);
        let mut written = Vec::new();
        let result = thread::scope(|scope| {
            let files = thread::Builder::new()
                .name("warpath store".into())
                .spawn_scoped(scope, {
                    let written = &mut written;
                    move || write_parts(path, mode, &steps, written)
                })
                .map_err(Error::Thread)?;
            let made = self.shred(&mut texts, progress, &mut |step| to_writer.send(step).is_ok());
            drop(to_writer);
            let files = files.join().unwrap_or_else(|_| Err(Error::Internal("the writer panicked".into())));
            // The writer's error is the reason why no more columns were taken.
            files.and(made)
        });
        self.parts.append(&mut written);
        result
    }

    fn shred(
        &mut self,
        texts: &mut Texts,
        progress: &mut dyn FnMut(u64),
        send: &mut dyn FnMut(Step) -> bool,
    ) -> Result<(), Error> {
        let (mut part_bytes, mut all_bytes) = (0, 0);
        while let Some(text) = texts.next()? {
            let len = text.bytes.len() as u64;
            if part_bytes > 0 && (text.begins_part || part_bytes + len > PART_BYTES) {
                part_bytes = 0;
                self.shredder.begin_part();
                if !send(Step::End(self.tree.clone())) {
                    return Ok(());
                }
            }
            let group =
                self.shredder.shred(&text.bytes).map_err(|error| Error::Internal(error.to_string()))?;
            if self.tree.nodes.len() != self.shredder.tree().nodes.len() {
                self.tree = Arc::new(self.shredder.tree().clone());
            }
            part_bytes += len;
            all_bytes += len;
            if !send(Step::Group(self.tree.clone(), Box::new(group))) {
                return Ok(());
            }
            progress(all_bytes);
        }
        if part_bytes > 0 {
            send(Step::End(self.tree.clone()));
        }
        Ok(())
    }
}

impl Drop for PartsWriter<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            for part in &self.parts {
                // Without the log nobody reads the file, so it does no harm if it stays.
                let _ = std::fs::remove_file(self.path.join(&part.name));
            }
        }
    }
}

/// The columns of the parts of a store.
fn reserved(path: &Path, folder: &Folder) -> Result<Reserved, Error> {
    let (snapshot, mut reserved) = (folder.snapshot(), Reserved::new());
    let wanted = tree_of(snapshot.schema());
    // The last part has the columns of those before it, unless two programs added parts at the same time.
    for part in snapshot.parts().rev() {
        if reserved.has_all(&wanted) {
            break;
        }
        reserve(&path.join(&part.name), &mut reserved)?;
    }
    // The schema keeps the columns of parts that were removed.
    reserved.add_unknown(&wanted);
    Ok(reserved)
}

/// Reserves the columns of a part, and those that the part has reserved.
fn reserve(path: &Path, reserved: &mut Reserved) -> Result<(), Error> {
    let reader = open_part(path)?;
    let last = reader.groups().saturating_sub(1);
    let Some(size) = reader.size(last) else { return Ok(()) };
    let section = |group, name| reader.section(group, name).map_err(|error| of_part(path, error));
    let names = section(last, Names::SECTION)?;
    let sections = names.into_iter().map(|bytes| (Names::SECTION.to_owned(), bytes)).collect();
    let group = Group { nodes: size.nodes, sections, ..Group::default() };
    let earlier = section(0, Reserved::SECTION)?;
    let names = Names::read(reader.tree(), &group);
    names.and_then(|names| reserved.add(reader.tree(), &names, earlier.as_deref())).map_err(|error| {
        let (name, reason) = (path.display().to_string(), error.to_string());
        StoreError::Damaged { name, reason }.into()
    })
}

/// Writes files of columns, until no more come.
fn write_parts(
    path: &Path,
    mode: OutputMode,
    steps: &Receiver<Step>,
    parts: &mut Vec<Part>,
) -> Result<(), Error> {
    let mut open: Option<(Temporary, PathBuf, Writer<File>)> = None;
    while let Ok(step) = steps.recv() {
        match step {
            Step::Group(tree, group) => {
                let (_, part, writer) = match &mut open {
                    Some(open) => open,
                    None => {
                        let part = path.join(new_name());
                        let failed = |source| of_output(&part, source);
                        let (temporary, file) = Temporary::beside(&part, mode).map_err(failed)?;
                        let writer =
                            Writer::new(file, Options::default()).map_err(|error| of_part(&part, error))?;
                        open.insert((temporary, part, writer))
                    }
                };
                writer.write(&tree, &group).map_err(|error| of_part(part, error))?;
            }
            Step::End(tree) => {
                let Some((temporary, part, writer)) = open.take() else { continue };
                let summary = writer.finish(&tree, &[]).map_err(|error| of_part(&part, error))?;
                temporary.rename().map_err(|source| of_output(&part, source))?;
                parts.push(Part {
                    name: part.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                    bytes: summary.bytes,
                    modified: now(),
                    rows: summary.rows,
                    text_bytes: summary.text_bytes,
                    hash: open_part(&part)?.footer_hash(),
                    ..Part::default()
                });
            }
        }
    }
    Ok(())
}

fn of_output(path: &Path, source: io::Error) -> Error {
    Error::Output { name: path.display().to_string(), source }
}

/// A name that no other part has: the instant, and a number that other writers do not make.
fn new_name() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let unique = format!("{} {} {number}", since.as_nanos(), process::id());
    format!("part-{:013}-{:016x}.parquet", since.as_millis(), hash(unique.as_bytes()))
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
