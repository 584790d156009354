//! Several files that are followed at the same time, and the files of folders.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use warpath_core::cancel::Stop;
use warpath_core::error::{Error, InputError};
use warpath_shared::units::{ByteOffset, MAX_PARTITION_BYTES};

use super::buffers::Buffers;
use super::folders::{FolderFiles, files_of_folder};
use super::follow::{
    FilePosition, FollowEnd, FollowFrom, Identity, LOOK, POLL, Tail, Turn, folder_of, identity,
};
use super::has_compressed_name;
use super::plain::PlainFile;
use super::text::{BYTE_ORDER_MARK, Text};
use super::watch::Watch;

/// The interval at which a reader that waits checks whether it should stop.
const STOP: Duration = Duration::from_millis(10);
/// The most chunks that wait to be taken.
const PIECES: usize = 32;
/// The most rounds over all files between two looks for new files.
const ROUNDS: usize = 64;

/// Files and folders that are followed together.
///
/// ```
/// use warpath::{Engine, FollowEnd, FollowFrom, FollowedFiles, Query, Source};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tweets.ndjson");
/// # std::fs::write(&path, "{\"id\":1}\n{\"id\":2}\n")?;
/// # #[cfg(any())]
/// let folder = Path::new("logs");
/// let end = FollowEnd::default();
/// # let folder = folder.path();
/// let files = FollowedFiles::new(Vec::new(), vec![folder.to_owned()], FollowFrom::Start, end.clone());
/// let input = Engine::builder().build()?.input(vec![Source::FollowedAll(files)]);
/// let mut hits = input.query(&Query::compile("$.id")?)?;
/// assert_eq!(hits.next().unwrap()?.text(), "1");
/// end.end();
/// assert_eq!(hits.count(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FollowedFiles {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    from: FollowFrom,
    end: FollowEnd,
}

impl FollowedFiles {
    /// Follows files, and the files of lines in folders ([`FolderFiles::Json`]), also those that come later.
    /// New files of folders are read from their start. Compressed files of folders are left out.
    #[must_use]
    pub fn new(files: Vec<PathBuf>, folders: Vec<PathBuf>, from: FollowFrom, end: FollowEnd) -> Self {
        Self { files, folders, from, end }
    }

    /// The files that were named, without those of folders.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The files that are followed at first, those of folders included.
    ///
    /// # Errors
    /// [`InputError::Io`] for a folder that cannot be read.
    pub fn all_files(&self) -> Result<Vec<PathBuf>, InputError> {
        let mut all = self.files.clone();
        for folder in &self.folders {
            files_of_folder(folder, FolderFiles::Json, &mut all)?;
        }
        Ok(all)
    }

    pub(super) fn open(self) -> Result<FollowedLines, InputError> {
        let (to_reader, chunks) = sync_channel(PIECES);
        let failed = |source| InputError::Io { name: "<followed files>".into(), source };
        let spawned = thread::Builder::new().name("warpath input".into()).spawn(move || {
            if let Err(error) = Following::start(self, to_reader.clone()).and_then(Following::run) {
                // If the receiver is gone, the caller needs no more.
                let _ = to_reader.send(Err(error));
            }
        });
        spawned.map_err(failed)?;
        Ok(FollowedLines { chunks, next: None })
    }
}

/// Whole lines of one file, or of a stream.
#[cfg_attr(not(feature = "store"), expect(dead_code, reason = "only stores remember positions"))]
pub(crate) struct Chunk {
    pub file: usize,
    pub name: Arc<str>,
    /// The offset of the lines in all that was read under the name of the file.
    offset: ByteOffset,
    /// The lines; none if the file only turned.
    pub lines: Vec<u8>,
    /// The end of the lines in their file. If it is the start of a file, they belong to the file before it.
    /// `None` for a stream.
    pub position: Option<FilePosition>,
    /// The turns since the chunk before.
    pub turns: Vec<Turn>,
}

#[cfg(feature = "store")]
impl Chunk {
    /// Lines of a stream.
    pub fn of_stream(file: usize, name: Arc<str>, offset: ByteOffset, lines: Vec<u8>) -> Self {
        Self { file, name, offset, lines, position: None, turns: Vec::new() }
    }

    /// True if the lines begin a file or a stream.
    pub fn is_begin(&self) -> bool {
        match &self.position {
            Some(position) => position.end == self.lines.len() as u64,
            None => self.offset == 0,
        }
    }
}

/// A partition of a followed file.
pub(crate) struct FollowedText {
    /// The number of the file, from 0 on.
    pub file: usize,
    pub name: Arc<str>,
    pub text: Text<'static>,
}

/// The lines of all files, as they come. The lines of one file keep their order.
pub(crate) struct FollowedLines {
    chunks: Receiver<Result<Chunk, InputError>>,
    next: Option<Result<Chunk, InputError>>,
}

impl FollowedLines {
    /// The next partition, of at most about `size` bytes; `None` at the end, or once `stop` is set.
    pub fn next(
        &mut self,
        size: usize,
        buffers: &Arc<Buffers>,
        stop: &Stop,
    ) -> Result<Option<FollowedText>, Error> {
        let Some(mut chunk) = self.wait(stop).transpose()? else { return Ok(None) };
        while chunk.lines.len() < size {
            match self.chunks.try_recv() {
                Ok(Ok(more)) if more.file == chunk.file || more.lines.is_empty() => {
                    chunk.lines.extend_from_slice(&more.lines);
                }
                Ok(other) => {
                    self.next = Some(other);
                    break;
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        let Chunk { file, name, offset, lines, .. } = chunk;
        if lines.len() > MAX_PARTITION_BYTES {
            // The caller counts lines and fills in the number.
            let (name, limit) = (name.to_string(), MAX_PARTITION_BYTES);
            return Err(InputError::RecordTooLong { name, line: 0, limit }.into());
        }
        let is_marked = offset == 0 && lines.starts_with(BYTE_ORDER_MARK);
        let start = if is_marked { BYTE_ORDER_MARK.len() } else { 0 };
        let mut buffer = buffers.take(lines.len())?;
        buffer[..lines.len()].copy_from_slice(&lines);
        let text = Text::lent(buffer, start..lines.len(), offset + start as u64);
        Ok(Some(FollowedText { file, name, text }))
    }

    fn wait(&mut self, stop: &Stop) -> Option<Result<Chunk, InputError>> {
        if let Some(next) = self.next.take() {
            return Some(next);
        }
        loop {
            match self.chunks.recv_timeout(STOP) {
                Ok(Ok(chunk)) if chunk.lines.is_empty() => {}
                Ok(chunk) => return Some(chunk),
                Err(RecvTimeoutError::Timeout) if !stop.is_set() => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

/// A file that is followed.
struct Followed {
    number: usize,
    name: Arc<str>,
    path: PathBuf,
    tail: Tail,
    offset: ByteOffset,
    /// True if the file was found in a folder.
    is_found: bool,
}

/// The reading thread.
struct Following {
    set: FollowedFiles,
    files: Vec<Followed>,
    /// The number of the next file.
    next: usize,
    /// Files that were read under another name, and may still be in a folder.
    replaced: HashSet<Identity>,
    /// Compressed files of folders.
    left_out: HashMap<PathBuf, Option<Identity>>,
    to_reader: SyncSender<Result<Chunk, InputError>>,
    wake: Receiver<()>,
    interval: Duration,
    /// Lets the end wake this reader.
    _waker: Arc<SyncSender<()>>,
    /// Reports changes as long as it lives.
    _watch: Option<Watch>,
}

impl Following {
    fn new(set: FollowedFiles, to_reader: SyncSender<Result<Chunk, InputError>>) -> Self {
        let (waker, wake) = sync_channel(1);
        let waker = Arc::new(waker);
        set.end.wakes(&waker);
        // A change after this is noticed, and a change before it is read.
        let watch = watch(&set, waker.clone());
        let interval = if watch.is_some() { LOOK } else { POLL };
        Self {
            files: Vec::new(),
            next: 0,
            replaced: HashSet::new(),
            left_out: HashMap::new(),
            to_reader,
            wake,
            interval,
            _waker: waker,
            _watch: watch,
            set,
        }
    }

    /// Opens the files that were named, and those that are in the folders now.
    fn start(
        set: FollowedFiles,
        to_reader: SyncSender<Result<Chunk, InputError>>,
    ) -> Result<Self, InputError> {
        let mut following = Self::new(set, to_reader);
        let (named, from) = (following.set.files.clone(), following.set.from);
        for path in named {
            following.add(plain_tail(&path, from)?, false);
        }
        following.look(from)?;
        Ok(following)
    }

    fn add(&mut self, tail: Tail, is_found: bool) {
        let path = tail.path().to_owned();
        let name = path.display().to_string().into();
        self.files.push(Followed { number: self.next, name, path, tail, offset: 0, is_found });
        self.next += 1;
    }

    /// Looks for new files in the folders.
    fn look(&mut self, from: FollowFrom) -> Result<(), InputError> {
        let mut found = Vec::new();
        for folder in &self.set.folders {
            match files_of_folder(folder, FolderFiles::Json, &mut found) {
                // A folder may be made again.
                Err(InputError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                other => drop(other?),
            }
        }
        let mut seen = HashSet::new();
        for path in found {
            let Ok(metadata) = path.metadata() else { continue };
            let id = identity(&metadata);
            seen.extend(id);
            let is_read = |file: &Followed| file.path == path || id.is_some() && file.tail.identity() == id;
            if self.files.iter().any(is_read)
                || id.is_some_and(|id| self.replaced.contains(&id))
                || self.left_out.get(&path).is_some_and(|left_out| *left_out == id)
            {
                continue;
            }
            match is_plain(&path) {
                Ok(true) => {}
                Ok(false) => {
                    self.left_out.insert(path, id);
                    continue;
                }
                Err(InputError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            }
            match Tail::new(&path, from) {
                Err(InputError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                tail => self.add(tail?, true),
            }
        }
        self.replaced.retain(|id| seen.contains(id));
        Ok(())
    }

    /// Reads until the end is set.
    fn run(mut self) -> Result<(), InputError> {
        loop {
            // What was in the files at the end is read, also in files that came just before.
            let is_last = self.set.end.is_set();
            if is_last {
                self.look(FollowFrom::Start)?;
            }
            let mut rounds = 0;
            let is_open = loop {
                let Some(any) = self.round(is_last)? else { return Ok(()) };
                rounds += 1;
                if !any || !is_last && rounds == ROUNDS {
                    break any;
                }
            };
            if is_last {
                return Ok(());
            }
            if !is_open {
                // A wake that came since the last round is in the channel.
                let _ = self.wake.recv_timeout(self.interval);
            }
            self.look(FollowFrom::Start)?;
        }
    }

    /// Reads from each file. Returns true if any file had lines; `None` if the receiver is gone.
    fn round(&mut self, is_last: bool) -> Result<Option<bool>, InputError> {
        let (mut any, mut at) = (false, 0);
        while at < self.files.len() {
            let file = &mut self.files[at];
            let mut lines = Vec::new();
            let failed = |source| InputError::Io { name: file.name.to_string(), source };
            let mut has_lines = file.tail.next_lines(&mut lines).map_err(failed)?;
            let mut is_gone = false;
            if !has_lines && !is_last && file.is_found && file.tail.end_if_deleted() {
                has_lines = file.tail.next_lines(&mut lines).map_err(failed)?;
                is_gone = true;
            }
            self.replaced.extend(file.tail.take_replaced());
            let turns = file.tail.take_turns();
            if has_lines || !turns.is_empty() {
                any = true;
                let (offset, len, position) = (file.offset, lines.len() as u64, Some(file.tail.position()));
                let chunk =
                    Chunk { file: file.number, name: file.name.clone(), offset, lines, position, turns };
                file.offset += len;
                if self.to_reader.send(Ok(chunk)).is_err() {
                    return Ok(None);
                }
            }
            if is_gone {
                self.files.remove(at);
            } else {
                at += 1;
            }
        }
        Ok(Some(any))
    }
}

/// Starts a thread that sends the lines of files as they come, until the end is set. The first file has the
/// number `first`.
#[cfg(feature = "store")]
pub(crate) fn follow_tails(
    tails: Vec<Tail>,
    first: usize,
    end: FollowEnd,
    to_reader: SyncSender<Result<Chunk, InputError>>,
) -> io::Result<thread::JoinHandle<()>> {
    let files = tails.iter().map(|tail| tail.path().to_owned()).collect();
    let set = FollowedFiles::new(files, Vec::new(), FollowFrom::Start, end);
    thread::Builder::new().name("warpath input".into()).spawn(move || {
        let mut following = Following { next: first, ..Following::new(set, to_reader.clone()) };
        tails.into_iter().for_each(|tail| following.add(tail, false));
        if let Err(error) = following.run() {
            // If the receiver is gone, the caller needs no more.
            let _ = to_reader.send(Err(error));
        }
    })
}

/// Opens a file that is to be followed.
///
/// # Errors
/// Those of [`is_plain`] and [`Tail::new`], and one for a compressed file.
pub(crate) fn plain_tail(path: &Path, from: FollowFrom) -> Result<Tail, InputError> {
    match is_plain(path)? {
        true => Tail::new(path, from),
        false => Err(compressed(path)),
    }
}

/// True if a file is not compressed.
///
/// # Errors
/// [`InputError::Foreign`] for other formats than text, and [`InputError::Io`].
fn is_plain(path: &Path) -> Result<bool, InputError> {
    if has_compressed_name(path) {
        return Ok(false);
    }
    let name = path.display().to_string();
    let file = File::open(path).map_err(|source| InputError::Io { name: name.clone(), source })?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        // The reader refuses it.
        return Ok(true);
    }
    Ok(PlainFile::of(file, &name)?.is_some())
}

/// The error for a compressed file that was named.
pub(super) fn compressed(path: &Path) -> InputError {
    let source = io::Error::new(
        io::ErrorKind::InvalidInput,
        "only a plain file can be followed, not a compressed one",
    );
    InputError::Io { name: path.display().to_string(), source }
}

/// Watches the folders of all files, and the folders with the folders in them.
fn watch(set: &FollowedFiles, waker: Arc<SyncSender<()>>) -> Option<Watch> {
    let mut parents = HashSet::new();
    for file in &set.files {
        parents.insert(folder_of(file).canonicalize().ok()?);
        // The target of a link.
        parents.insert(folder_of(&file.canonicalize().ok()?).to_owned());
    }
    let trees =
        set.folders.iter().map(|folder| folder.canonicalize().ok()).collect::<Option<HashSet<_>>>()?;
    let folders: Vec<&Path> = parents.difference(&trees).map(PathBuf::as_path).collect();
    let trees: Vec<&Path> = trees.iter().map(PathBuf::as_path).collect();
    Watch::new(&folders, &trees, move |_| {
        // A full channel wakes the reader, too.
        let _ = waker.try_send(());
    })
}
