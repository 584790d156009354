//! Lines that are added to a store as they come: of files that are followed, and of streams.
//!
//! One thread reads all files, and each stream has one more. The caller's thread collects whole lines, and
//! adds them as one version. With its lines, a version has the state of each file: the offset at which they
//! end, and samples of the bytes before it. A command that is started again therefore goes on there.

use std::fs::{File, Metadata};
use std::io::{self, Cursor};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use memchr::memrchr;
use warpath_core::error::{Error, InputError, StoreError};
use warpath_core::stamp::Stamp;
use warpath_core::temporary::OutputMode;
use warpath_folder::{Folder, Input, Known, Snapshot};

use super::Store;
use super::add::{AddOptions, Added, TRIES, meanwhile, of_itself, write};
use super::known::{Growth, Inputs, growth, refused};
use super::location::StoreLocation;
use super::texts::Lines;
use crate::input::{Chunk, FilePosition, FollowEnd, FollowFrom, Source, Tail, follow_tails, plain_tail};

/// The interval at which waiting lines, and the end, are looked at.
const LOOK: Duration = Duration::from_millis(10);
/// The most chunks that wait to be taken.
const CHUNKS: usize = 32;
/// Bytes that are read at once from a stream.
const CHUNK_BYTES: usize = 256 << 10;

/// An event of [`Store::follow`].
///
/// ```
/// use warpath::store::{AddOptions, Followed, Store};
/// use warpath::{FollowEnd, Source};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("logs.wp");
/// # #[cfg(any())]
/// let path = Path::new("logs.wp");
/// let lines = Source::Reader("socket".into(), Box::new(&b"{\"id\":1}\n{\"id\":2}\n"[..]));
/// let mut last = None;
/// let mut report = |event: &Followed| last = Some(event.clone());
/// Store::follow(&path, vec![lines], AddOptions::default(), &FollowEnd::default(), &mut report)?;
/// assert_eq!(last, Some(Followed::Stored { version: 1, lines: 2 }));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Followed {
    /// The store has another version, with more of the lines that have come. These lines stay, whatever
    /// happens to this program.
    Stored {
        /// The number of the version.
        version: u64,
        /// The lines that have been added since the beginning of the call.
        lines: u64,
    },
    /// Another file has taken the name of this file. It is read from its start.
    Replaced(String),
    /// This file has become shorter. It is read from its start.
    Shortened(String),
    /// Another program has added lines of the followed files. Reading goes on where the store ends.
    Overtaken,
}

impl Store {
    /// Adds lines as they come, and makes the store if there is none. [Files](Source::File) are followed, as
    /// with [`Source::Followed`]; they begin where the store ends. Streams are read to their ends. Returns at
    /// the end of all inputs. That of files is [`FollowEnd::end`], which ends streams, too.
    ///
    /// Only whole lines are added, and the last line of a stream. Lines become a version of the store when
    /// they have the bytes of a row group, when one has waited for [`AddOptions::max_latency`], and at the
    /// end. Other programs may add lines meanwhile, also those of the same files.
    ///
    /// ```
    /// use warpath::store::{AddOptions, Store};
    /// use warpath::{FollowEnd, Source};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let (store, log) = (folder.path().join("logs.wp"), folder.path().join("log.ndjson"));
    /// # #[cfg(any())]
    /// let (store, log) = (Path::new("logs.wp"), PathBuf::from("log.ndjson"));
    /// std::fs::write(&log, "{\"id\":1}\n{\"id\":2}\n{\"i")?;
    /// let end = FollowEnd::default();
    /// // Another thread could do this at any time.
    /// end.end();
    /// let files = vec![Source::File(log)];
    /// let added = Store::follow(&store, files, AddOptions::default(), &end, &mut |_| {})?;
    /// assert_eq!(added.lines, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Input`] for an input that cannot be read, after the lines before have been added.
    /// [`Error::Store`] for a file that has changed since it was added, and for a store that is damaged.
    /// [`Error::Usage`] for inputs that are neither files nor streams.
    pub fn follow(
        location: impl Into<StoreLocation>,
        sources: Vec<Source>,
        options: AddOptions,
        end: &FollowEnd,
        report: &mut dyn FnMut(&Followed),
    ) -> Result<Added, Error> {
        let mut following = Following::start(location.into(), sources, options, end, report)?;
        following.run()?;
        Ok(mem::take(&mut following.added))
    }
}

/// A file that is followed.
struct OneFile {
    name: Arc<str>,
    /// The state that the store knows.
    known: Option<Input>,
    /// The end of the lines that have come.
    position: FilePosition,
    /// True if the store does not know this end yet.
    is_moved: bool,
    /// True if the file has turned since the store knows it.
    is_turned: bool,
    /// The beginning of the next line, which the store has as a line.
    open_line: Option<Vec<u8>>,
    /// The beginning of a line that the store has as a line, after the whole line has come.
    cut: Option<Vec<u8>>,
}

/// Lines of one input that wait.
struct Piece {
    /// The number of the input.
    input: usize,
    name: Arc<str>,
    lines: Arc<Vec<u8>>,
    /// True if the lines begin a text.
    is_begin: bool,
}

/// Bytes that are read while they are kept.
struct Kept(Arc<Vec<u8>>);

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The inputs, and their lines that wait.
struct Following<'a> {
    location: StoreLocation,
    options: AddOptions,
    end: &'a FollowEnd,
    report: &'a mut dyn FnMut(&Followed),
    folder: Folder,
    /// The mode of new parts. No file that was read has a narrower one.
    mode: OutputMode,
    paths: Vec<PathBuf>,
    files: Vec<OneFile>,
    /// The number of the first file. Streams have lower numbers, and so have files that were opened before.
    first: usize,
    /// The thread that reads the files, and its end.
    reader: Option<JoinHandle<()>>,
    reader_end: FollowEnd,
    /// The threads that read streams.
    streams: Vec<JoinHandle<()>>,
    to_self: SyncSender<Result<Chunk, InputError>>,
    chunks: Receiver<Result<Chunk, InputError>>,
    waiting: Vec<Piece>,
    bytes: usize,
    /// The time at which the first of the waiting lines came.
    since: Option<Instant>,
    added: Added,
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        self.reader_end.end();
    }
}

impl<'a> Following<'a> {
    fn start(
        location: StoreLocation,
        sources: Vec<Source>,
        options: AddOptions,
        end: &'a FollowEnd,
        report: &'a mut dyn FnMut(&Followed),
    ) -> Result<Self, Error> {
        let mode = Source::output_mode(&sources);
        let (mut paths, mut streams) = (Vec::new(), Vec::new());
        for source in sources {
            match source {
                Source::File(path) => paths.push(path),
                Source::Stdin | Source::Reader(..) | Source::Bytes(..) => streams.push(source),
                other => {
                    let what = format!("{}: only files and streams are added as they grow", other.name());
                    return Err(Error::Usage(what));
                }
            }
        }
        let folder = location.open_or_none(mode)?;
        let opened =
            open_files(&location, &folder.as_ref().map(Folder::snapshot).unwrap_or_default(), &paths)?;
        let folder = match folder {
            Some(folder) => folder,
            None => create(&location, mode, options)?,
        };
        let (to_self, chunks) = sync_channel(CHUNKS);
        let mut following = Self {
            location,
            options,
            end,
            report,
            folder,
            mode,
            paths,
            files: Vec::new(),
            first: streams.len(),
            reader: None,
            reader_end: FollowEnd::default(),
            streams: Vec::new(),
            to_self,
            chunks,
            waiting: Vec::new(),
            bytes: 0,
            since: None,
            added: Added::default(),
        };
        following.read_files(opened)?;
        for (number, stream) in streams.into_iter().enumerate() {
            let (end, to_reader) = (end.clone(), following.to_self.clone());
            let thread = thread::Builder::new().name("warpath input".into());
            let spawned = thread.spawn(move || read_stream(stream, number, &end, &to_reader));
            following.streams.push(spawned.map_err(Error::Thread)?);
        }
        Ok(following)
    }

    /// Starts the thread that reads the files.
    fn read_files(&mut self, opened: Vec<(Tail, OneFile)>) -> Result<(), Error> {
        let (tails, files): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
        self.first += self.files.len();
        self.files = files;
        self.mode = self.files.iter().fold(self.mode, |mode, file| mode.and_open(&file.position.file));
        self.reader_end = FollowEnd::default();
        self.reader = match tails.is_empty() {
            true => None,
            false => {
                let (end, to_reader) = (self.reader_end.clone(), self.to_self.clone());
                Some(follow_tails(tails, self.first, end, to_reader).map_err(Error::Thread)?)
            }
        };
        Ok(())
    }

    /// Opens the files again, where the store ends. Their lines that wait are read once more.
    fn reopen(&mut self) -> Result<(), Error> {
        self.reader_end.end();
        self.waiting.retain(|piece| piece.input < self.first);
        self.bytes = self.waiting.iter().map(|piece| piece.lines.len()).sum();
        self.since = self.since.filter(|_| self.bytes > 0);
        let opened = open_files(&self.location, &self.folder.snapshot(), &self.paths)?;
        self.read_files(opened)
    }

    /// Adds lines until the inputs end.
    fn run(&mut self) -> Result<(), Error> {
        loop {
            // Decided before the channel is read, which is then empty.
            let is_over = self.is_over();
            match self.chunks.recv_timeout(LOOK) {
                Ok(Ok(chunk)) => self.take(chunk)?,
                Ok(Err(error)) => {
                    self.commit(true)?;
                    return Err(error.into());
                }
                Err(RecvTimeoutError::Timeout) if is_over => {
                    if self.commit(true)? {
                        return self.join();
                    }
                }
                Err(_) => {}
            }
            let is_late = self.since.is_some_and(|since| since.elapsed() >= self.options.max_latency);
            // The file of a name is another one now. The store should know before the program is interrupted.
            let is_turned = self.files.iter().any(|file| file.is_turned);
            if is_late || is_turned || self.bytes >= self.options.group_bytes {
                self.commit(false)?;
            }
        }
    }

    /// True if the inputs have ended. Their last lines are in the channel then.
    fn is_over(&mut self) -> bool {
        let is_ended = self.end.is_set();
        if is_ended {
            self.reader_end.end();
        }
        self.reader.as_ref().is_none_or(JoinHandle::is_finished)
            && (is_ended || self.streams.iter().all(JoinHandle::is_finished))
    }

    /// Joins the threads that have ended. A stream may wait for bytes for ever.
    fn join(&mut self) -> Result<(), Error> {
        let streams = mem::take(&mut self.streams).into_iter().filter(JoinHandle::is_finished);
        for thread in streams.chain(self.reader.take()) {
            thread.join().map_err(|_| Error::Internal("a reader panicked".into()))?;
        }
        Ok(())
    }

    /// Takes lines of an input.
    fn take(&mut self, mut chunk: Chunk) -> Result<(), Error> {
        if self.bytes > 0 && self.bytes + chunk.lines.len() > self.options.group_bytes {
            self.commit(false)?;
        }
        let is_begin = chunk.is_begin();
        let Some(position) = chunk.position.clone() else {
            self.wait(&chunk, is_begin);
            return Ok(());
        };
        let Some(at) = chunk.file.checked_sub(self.first) else {
            // The file was opened again since.
            return Ok(());
        };
        for turn in mem::take(&mut chunk.turns) {
            let event = if turn.is_shorter { Followed::Shortened } else { Followed::Replaced };
            (self.report)(&event(chunk.name.to_string()));
            let file = &mut self.files[at];
            if file.position.target != position.target {
                return self.leave(at, turn.before, chunk);
            }
            (file.is_moved, file.is_turned) = (true, true);
            self.mode = self.mode.and_open(&position.file);
            if is_begin {
                file.open_line = None;
            }
        }
        let file = &mut self.files[at];
        let is_completed = file.complete(&mut chunk.lines);
        (file.position, file.is_moved) = (position, true);
        self.wait(&chunk, is_begin && !is_completed);
        Ok(())
    }

    /// Leaves a file whose link has another target. The store may know the new one.
    fn leave(&mut self, at: usize, before: FilePosition, mut chunk: Chunk) -> Result<(), Error> {
        let (is_begin, file) = (chunk.is_begin(), &mut self.files[at]);
        (file.position, file.is_moved) = (before, true);
        if !is_begin {
            file.complete(&mut chunk.lines);
            self.wait(&chunk, false);
        }
        match self.commit(true)? {
            true => self.reopen(),
            // They were opened again.
            false => Ok(()),
        }
    }

    /// Lets lines wait.
    fn wait(&mut self, chunk: &Chunk, is_begin: bool) {
        if chunk.lines.is_empty() {
            return;
        }
        self.since.get_or_insert_with(Instant::now);
        self.bytes += chunk.lines.len();
        let last = self.waiting.iter_mut().rfind(|piece| piece.input == chunk.file);
        match last.filter(|_| !is_begin) {
            Some(piece) => Arc::make_mut(&mut piece.lines).extend_from_slice(&chunk.lines),
            None => {
                let (input, name, lines) = (chunk.file, chunk.name.clone(), Arc::new(chunk.lines.clone()));
                self.waiting.push(Piece { input, name, lines, is_begin });
            }
        }
    }

    /// Makes the waiting lines a version of the store. Returns false if they still wait: a file has become
    /// shorter, which its reader will report; or the files were opened again.
    fn commit(&mut self, is_last: bool) -> Result<bool, Error> {
        let Some(states) = self.states(is_last)? else { return Ok(false) };
        if self.waiting.is_empty() && states.is_empty() {
            return Ok(true);
        }
        let mut tries = 0;
        loop {
            tries += 1;
            self.refresh()?;
            let inputs = self.inputs(&states);
            let (location, folder) = (&self.location, Some(&mut self.folder));
            match write(location, folder, self.mode, inputs, self.options, &mut |_| {})? {
                Ok(added) => {
                    self.stored(states, &added);
                    return Ok(true);
                }
                Err(_) if self.is_overtaken(&states) => {
                    self.reopen()?;
                    (self.report)(&Followed::Overtaken);
                    return Ok(false);
                }
                // New columns, for example, have other types in the lines of another program.
                Err(_) if tries < TRIES => {}
                Err(conflict) => return Err(meanwhile(&self.location, conflict, &[])),
            }
        }
    }

    /// True if another program has added lines of files that have new states.
    fn is_overtaken(&self, states: &[(usize, Input)]) -> bool {
        let snapshot = self.folder.snapshot();
        states.iter().any(|(at, state)| snapshot.input(&state.name) != self.files[*at].known.as_ref())
    }

    /// The new states of files, with the numbers of these. `None` if a file has become shorter since it was
    /// read. At the last time, such a file is then known from its start.
    fn states(&self, is_last: bool) -> Result<Option<Vec<(usize, Input)>>, Error> {
        let mut states = Vec::new();
        for (at, file) in self.files.iter().enumerate().filter(|(_, file)| file.is_moved) {
            let state = match file.state(file.position.end) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !is_last => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => file.state(0),
                state => state,
            };
            let failed = |source| InputError::Io { name: file.name.to_string(), source };
            match state.map_err(failed)? {
                Some(state) => states.push((at, state)),
                None => {
                    let reason = "was overwritten while it was followed; its new lines were not added";
                    return Err(refused(&[file.name.to_string()], reason));
                }
            }
        }
        Ok(Some(states))
    }

    /// Reads the versions of other programs.
    fn refresh(&mut self) -> Result<(), Error> {
        // The permissions of the last version are those of the next one.
        let storage = self.location.storage(self.mode)?;
        self.folder.set_storage(storage);
        self.folder.refresh().map_err(|error| self.location.failed(error))?;
        Ok(())
    }

    /// The waiting lines, with the new states of their files.
    fn inputs(&self, states: &[(usize, Input)]) -> Inputs {
        let mut inputs = Inputs::default();
        for Piece { name, lines, is_begin, .. } in &self.waiting {
            let reader = Box::new(Cursor::new(Kept(lines.clone())));
            inputs.fresh.push(Lines::Plain { name: name.to_string(), reader, is_begin: *is_begin });
        }
        for (at, after) in states {
            let file = &self.files[*at];
            match &file.known {
                Some(before) => inputs.grown.push((before.clone(), after.clone())),
                None => inputs.new.push(after.clone()),
            }
            inputs.cut.extend(file.cut.iter().map(|line| (file.name.to_string(), line.clone())));
        }
        inputs
    }

    /// Notes that the store has the lines.
    fn stored(&mut self, states: Vec<(usize, Input)>, added: &Added) {
        for (at, state) in states {
            let file = &mut self.files[at];
            (file.known, file.cut) = (Some(state), None);
            (file.is_moved, file.is_turned) = (false, false);
        }
        self.waiting.clear();
        (self.bytes, self.since) = (0, None);
        self.added.parts += added.parts;
        self.added.lines += added.lines;
        self.added.malformed += added.malformed;
        self.added.text_bytes += added.text_bytes;
        self.added.file_bytes += added.file_bytes;
        let (version, lines) = (self.folder.version(), self.added.lines);
        (self.report)(&Followed::Stored { version, lines });
    }
}

impl OneFile {
    /// Completes a line of which the store has the beginning, with the first lines that come. Returns true if
    /// the line was complete: these bytes are left out then.
    fn complete(&mut self, lines: &mut Vec<u8>) -> bool {
        let Some(open) = self.open_line.take_if(|_| !lines.is_empty()) else { return false };
        match lines.strip_prefix(&open[..]) {
            Some([b'\n', ..]) => {
                lines.drain(..=open.len());
                true
            }
            Some(_) => {
                self.cut = Some(open);
                false
            }
            // The file was overwritten. The samples show this.
            None => false,
        }
    }

    /// The state of the first bytes of the file. `None` if the bytes that the store knows are others.
    fn state(&self, end: u64) -> io::Result<Option<Input>> {
        let FilePosition { file, target, .. } = &self.position;
        let first = |size| Stamp::of_first(file, size).map(|stamp| Input::new(name_of(target), &stamp));
        if let Some(known) = self.known.as_ref().filter(|known| !self.is_turned && known.size <= end)
            && !first(known.size)?.has_samples_of(known)
        {
            return Ok(None);
        }
        first(end).map(Some)
    }
}

/// The name of a file in the log. The path is UTF-8, which is checked when the file is opened.
fn name_of(target: &Path) -> String {
    target.to_string_lossy().into_owned()
}

/// Makes a store without lines.
fn create(location: &StoreLocation, mode: OutputMode, options: AddOptions) -> Result<Folder, Error> {
    if let Err(conflict) = write(location, None, mode, Inputs::default(), options, &mut |_| {})? {
        return Err(location.failed(conflict));
    }
    location.open(mode)
}

/// Opens files where the store ends, each once.
///
/// # Errors
/// Those of the files, and [`StoreError::Refused`] with the names of all files that have changed.
fn open_files(
    location: &StoreLocation,
    snapshot: &Snapshot,
    paths: &[PathBuf],
) -> Result<Vec<(Tail, OneFile)>, Error> {
    let (mut opened, mut changed): (Vec<(Tail, OneFile)>, _) = (Vec::new(), Vec::new());
    for path in paths {
        let tail = plain_tail(path, FollowFrom::Start)?;
        let target = tail.position().target;
        if opened.iter().any(|(_, other)| other.position.target == target) {
            continue;
        }
        match open_file(tail, snapshot)? {
            Some(file) => opened.push(file),
            None => changed.push(path.display().to_string()),
        }
    }
    let named = |(_, file): &(Tail, OneFile)| {
        Some(Input { name: name_of(&file.position.target), size: 0, stamp: String::new() })
    };
    if let Some(name) = of_itself(location, &[], &opened.iter().map(named).collect::<Vec<_>>()) {
        let reason = "is in the store that it would be added to".to_owned();
        return Err(StoreError::Refused { name, reason }.into());
    }
    match changed.is_empty() {
        true => Ok(opened),
        false => Err(refused(&changed, &Known::Changed.to_string())),
    }
}

/// Begins a file where the store ends. `None` if the store has other bytes.
fn open_file(mut tail: Tail, snapshot: &Snapshot) -> Result<Option<(Tail, OneFile)>, Error> {
    let (name, position) = (tail.path().display().to_string(), tail.position());
    let failed = |source| Error::from(InputError::Io { name: name.clone(), source });
    if position.target.to_str().is_none() {
        let reason = "has a path that is not UTF-8; a store cannot know how much of it was added";
        return Err(refused(&[name], reason));
    }
    let known = snapshot.input(&name_of(&position.target)).cloned();
    let begin = match &known {
        None => Some((0, None)),
        Some(before) => match begin_of(&name, &position.file, before)? {
            Some(begin) => Some(begin),
            // The file may have another name since, and is read to its end under that.
            None => match renamed(&position.target, before) {
                Some(file) => {
                    let begin = begin_of(&name, &file, before)?;
                    tail.resume(file);
                    begin
                }
                None => None,
            },
        },
    };
    let Some((begin, open_line)) = begin else { return Ok(None) };
    tail.begin_at(begin).map_err(failed)?;
    let file = OneFile {
        name: name.into(),
        known,
        position: tail.position(),
        is_moved: false,
        is_turned: false,
        open_line,
        cut: None,
    };
    Ok(Some((tail, file)))
}

/// The offset at which the new lines of a file begin, and the beginning of a line that the store has as a
/// line.
type Begin = (u64, Option<Vec<u8>>);

/// The begin of the new lines of a file. `None` if the store has other bytes.
fn begin_of(name: &str, file: &File, before: &Input) -> Result<Option<Begin>, Error> {
    let stamp = Stamp::of(file).map_err(|source| InputError::Io { name: name.to_owned(), source })?;
    let now = Input::new(before.name.clone(), &stamp);
    if matches!(now.known(Some(before)), Known::New | Known::Changed) {
        return Ok(None);
    }
    Ok(match growth(name, file, before, &now)? {
        Growth::From(from) => Some((from, None)),
        Growth::LineEnd => Some((before.size + 1, None)),
        Growth::Cut(from, line) => Some((from, Some(line))),
        Growth::Changed => None,
    })
}

/// The file that had a name before, and has a longer one in the same folder since, such as `log.1` or
/// `log-20261129`. Only the newest of such files is one: the others were replaced before it.
fn renamed(target: &Path, before: &Input) -> Option<File> {
    let name = target.file_name()?.as_encoded_bytes();
    let entries = target.parent()?.read_dir().ok()?.flatten();
    let longer = entries.filter(|entry| {
        let other = entry.file_name();
        other.len() > name.len() && other.as_encoded_bytes().starts_with(name)
    });
    let dated = longer.filter_map(|entry| {
        let metadata = entry.metadata().ok().filter(Metadata::is_file)?;
        Some((metadata.modified().ok()?, entry.path()))
    });
    let file = File::open(dated.max()?.1).ok()?;
    let stamp = Stamp::of_first(&file, before.size).ok()?;
    Input::new(before.name.clone(), &stamp).has_samples_of(before).then_some(file)
}

/// Sends the lines of a stream as they come, until it ends, or until the end is set.
fn read_stream(
    source: Source,
    number: usize,
    end: &FollowEnd,
    to_reader: &SyncSender<Result<Chunk, InputError>>,
) {
    let (name, mut offset): (Arc<str>, _) = (source.name().into(), 0);
    let mut send = |lines: Vec<u8>| {
        let from = offset;
        offset += lines.len() as u64;
        to_reader.send(Ok(Chunk::of_stream(number, name.clone(), from, lines))).is_ok()
    };
    if let Err(error) = send_lines(source, end, &mut send) {
        // If the receiver is gone, the caller needs no more.
        let _ = to_reader.send(Err(error));
    }
}

/// Sends the lines of a stream. `send` returns false if no more are needed.
fn send_lines(
    source: Source,
    end: &FollowEnd,
    send: &mut dyn FnMut(Vec<u8>) -> bool,
) -> Result<(), InputError> {
    let name = source.name();
    let (mut reader, _) = source.into_lines()?;
    let mut lines = Vec::new();
    loop {
        let filled = lines.len();
        lines.resize(filled + CHUNK_BYTES, 0);
        let count = loop {
            match reader.read(&mut lines[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                count => break count,
            }
        };
        let count = count.map_err(|source| match source.downcast::<InputError>() {
            Ok(error) => error,
            Err(source) => InputError::Io { name: name.clone(), source },
        })?;
        lines.truncate(filled + count);
        if count == 0 {
            // The last line may lack its newline.
            send(lines);
            return Ok(());
        }
        if let Some(at) = memrchr(b'\n', &lines[filled..]) {
            let rest = lines.split_off(filled + at + 1);
            if !send(mem::replace(&mut lines, rest)) {
                return Ok(());
            }
        }
        if end.is_set() {
            return Ok(());
        }
    }
}
