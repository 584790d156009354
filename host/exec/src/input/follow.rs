//! Files that are followed as they grow, are replaced, or become shorter.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use memchr::memrchr;
use warpath_core::error::InputError;
use warpath_shared::units::ByteOffset;

use super::watch::Watch;

/// The position at which a followed file is first read.
///
/// ```
/// use warpath::{Engine, FollowEnd, FollowFrom, Query, Source};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tweets.ndjson");
/// # std::fs::write(&path, "{\"id\":1}\n{\"id\":2}\n")?;
/// # #[cfg(any())]
/// let path = PathBuf::from("tweets.ndjson");
/// let end = FollowEnd::default();
/// // The lines that the file has now are left out, and no line is added before the end.
/// let source = Source::Followed(path, FollowFrom::End, end.clone());
/// let mut hits = Engine::builder().build()?.input(vec![source]).query(&Query::compile("$.id")?)?;
/// end.end();
/// assert!(hits.next().is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FollowFrom {
    /// The start of the file.
    #[default]
    Start,
    /// The end that the file has when it is opened: only new lines are read. If its last line has not ended,
    /// the rest of this line is left out.
    End,
}

/// Ends followed inputs. Clones end the same inputs.
///
/// ```
/// use warpath::{Engine, FollowEnd, FollowFrom, Query, Source};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tweets.ndjson");
/// # std::fs::write(&path, "{\"id\":1}\n{\"id\":2}\n")?;
/// # #[cfg(any())]
/// let path = PathBuf::from("tweets.ndjson");
/// let end = FollowEnd::default();
/// let source = Source::Followed(path, FollowFrom::Start, end.clone());
/// let mut hits = Engine::builder().build()?.input(vec![source]).query(&Query::compile("$.id")?)?;
/// assert_eq!(hits.next().unwrap()?.text(), "1");
/// // Another thread could do this at any time.
/// end.end();
/// assert_eq!(hits.next().unwrap()?.text(), "2");
/// assert!(hits.next().is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct FollowEnd(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_set: AtomicBool,
    /// Wakes the readers that are still there.
    wakers: Mutex<Vec<Weak<SyncSender<()>>>>,
}

impl FollowEnd {
    /// Ends the inputs after the lines that are in their files now. A line that has not ended is left out.
    pub fn end(&self) {
        self.0.is_set.store(true, Ordering::Release);
        let wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        for waker in wakers.iter().filter_map(Weak::upgrade) {
            // A full channel wakes its reader, too.
            let _ = waker.try_send(());
        }
    }

    /// True once the inputs are to end.
    // Hidden: the server alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::Acquire)
    }

    /// Wakes a reader at the end, as long as the reader keeps its waker.
    pub(super) fn wakes(&self, waker: &Arc<SyncSender<()>>) {
        let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        wakers.retain(|waker| waker.strong_count() > 0);
        wakers.push(Arc::downgrade(waker));
    }
}

/// The time after which a file is looked at although the system has reported no change. Some file systems
/// report none that other machines make.
pub(super) const LOOK: Duration = Duration::from_secs(1);
/// The same, where no changes are reported: the system cannot, or the feature `notify` is off.
pub(super) const POLL: Duration = Duration::from_millis(100);
/// Bytes that are read at once.
const CHUNK_BYTES: usize = 256 << 10;

/// A position in a file that is followed.
#[derive(Clone)]
#[cfg_attr(not(feature = "store"), expect(dead_code, reason = "only stores remember positions"))]
pub(crate) struct FilePosition {
    pub file: Arc<File>,
    /// The path of the file without links, from the time when it was opened.
    pub target: PathBuf,
    /// The offset.
    pub end: ByteOffset,
}

/// The end of a file, after which reading begins at the start of a file.
#[cfg_attr(not(feature = "store"), expect(dead_code, reason = "only stores remember positions"))]
pub(crate) struct Turn {
    /// The end of what was read. A line that had not ended is in front of it.
    pub before: FilePosition,
    /// True if the file has become shorter. False if another file has taken its name.
    pub is_shorter: bool,
}

/// The lines of a file, and of the files that take its name.
///
/// Only whole lines are given out. A line that has not ended waits for its end. If the file is replaced or
/// becomes shorter first, the line ends there: the reader adds a newline.
pub(crate) struct Tail {
    path: PathBuf,
    file: Arc<File>,
    /// The path of the file without links.
    target: PathBuf,
    /// Bytes of the file that have been read.
    read: u64,
    /// Bytes that have been read, and not given out.
    lines: Vec<u8>,
    /// The number of those that belong to whole lines, and the number that have been given out.
    whole: usize,
    given: usize,
    /// True until the end of the line in which the reader began.
    in_line: bool,
    /// The file that was replaced last, until it is taken.
    replaced: Option<Identity>,
    /// The turns since they were taken last.
    turns: Vec<Turn>,
}

/// Opens the file that a path means. Returns its path without links, too.
fn open(path: &Path) -> io::Result<(Arc<File>, PathBuf)> {
    // A standard stream may be a file that has no name any more.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    Ok((Arc::new(File::open(&target)?), target))
}

impl Tail {
    /// Opens a file.
    ///
    /// # Errors
    /// [`InputError::Io`] if the file cannot be opened, or is no regular file.
    pub fn new(path: &Path, from: FollowFrom) -> Result<Self, InputError> {
        let failed = |source| InputError::Io { name: path.display().to_string(), source };
        let (file, target) = open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "only a regular file can be followed");
            return Err(failed(source));
        }
        let (mut read, mut in_line) = (0, false);
        if from == FollowFrom::End {
            read = (&*file).seek(SeekFrom::End(0)).map_err(failed)?;
            if read > 0 {
                let mut last = [0];
                (&*file).seek(SeekFrom::Start(read - 1)).map_err(failed)?;
                (&*file).read_exact(&mut last).map_err(failed)?;
                in_line = last != *b"\n";
            }
        }
        let (path, lines, turns) = (path.to_owned(), Vec::new(), Vec::new());
        Ok(Self { path, file, target, read, lines, whole: 0, given: 0, in_line, replaced: None, turns })
    }

    /// Begins at an offset of the file, before a byte is read.
    #[cfg(feature = "store")]
    pub fn begin_at(&mut self, offset: ByteOffset) -> io::Result<()> {
        self.read = (&*self.file).seek(SeekFrom::Start(offset))?;
        Ok(())
    }

    /// Begins with a file that had the path before, in place of the one that has it now. The latter is read
    /// after it, from its start.
    #[cfg(feature = "store")]
    pub fn resume(&mut self, before: File) {
        self.file = Arc::new(before);
    }

    /// The path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The end of the whole lines that have been read of the present file.
    pub fn position(&self) -> FilePosition {
        let open = (self.lines.len() - self.whole) as u64;
        // A line to which a newline was added belongs to the file before.
        let end = self.read.saturating_sub(open);
        FilePosition { file: self.file.clone(), target: self.target.clone(), end }
    }

    /// Takes the turns since the last time.
    pub fn take_turns(&mut self) -> Vec<Turn> {
        std::mem::take(&mut self.turns)
    }

    /// Appends whole lines that are in the file now, or in the file that has replaced it. Returns false if
    /// there is none.
    pub fn next_lines(&mut self, lines: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            if self.given < self.whole {
                lines.extend_from_slice(&self.lines[self.given..self.whole]);
                self.given = self.whole;
                return Ok(true);
            }
            if !self.read_on()? && self.given == self.whole && !self.turn()? {
                return Ok(false);
            }
        }
    }

    /// Ends the open line of a file that was deleted, if no other file has its name. Returns true if so.
    pub fn end_if_deleted(&mut self) -> bool {
        let is_deleted = self.path.symlink_metadata().is_err()
            && self.file.metadata().is_ok_and(|metadata| is_unnamed(&metadata));
        if is_deleted {
            self.end_line();
        }
        is_deleted
    }

    /// The identity of the file that is read.
    pub fn identity(&self) -> Option<Identity> {
        self.file.metadata().ok().and_then(|metadata| identity(&metadata))
    }

    /// Takes the identity of a file that was read before another took its name.
    pub fn take_replaced(&mut self) -> Option<Identity> {
        self.replaced.take()
    }

    /// Reads on in the file. Returns false at its end.
    fn read_on(&mut self) -> io::Result<bool> {
        self.lines.drain(..self.given);
        self.whole -= self.given;
        self.given = 0;
        let filled = self.lines.len();
        self.lines.resize(filled + CHUNK_BYTES, 0);
        let count = loop {
            match (&*self.file).read(&mut self.lines[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                count => break count,
            }
        };
        self.lines.truncate(filled + *count.as_ref().unwrap_or(&0));
        let count = count?;
        self.read += count as u64;
        if let Some(at) = memrchr(b'\n', &self.lines[filled..]) {
            self.whole = filled + at + 1;
        }
        if self.in_line
            && let Some(at) = memchr::memchr(b'\n', &self.lines)
        {
            self.lines.drain(..=at);
            self.whole -= at + 1;
            self.in_line = false;
        } else if self.in_line {
            self.lines.clear();
        }
        Ok(count > 0)
    }

    /// Ends the line that the file left open.
    fn end_line(&mut self) {
        if self.lines.len() > self.whole {
            self.lines.push(b'\n');
            self.whole = self.lines.len();
        }
        self.in_line = false;
    }

    /// Begins at the start of the file if it became shorter, or of the file that has replaced it. Returns
    /// true if there may be more to read.
    fn turn(&mut self) -> io::Result<bool> {
        let here = self.file.metadata()?;
        if here.len() < self.read {
            let before = FilePosition { end: self.read, ..self.position() };
            self.end_line();
            (&*self.file).seek(SeekFrom::Start(0))?;
            self.read = 0;
            self.turns.push(Turn { before, is_shorter: true });
            return Ok(true);
        }
        // Between two files of a name there may be none.
        let Ok(named) = self.path.metadata() else { return Ok(false) };
        if !named.is_file() || is_same(&named, &here) {
            return Ok(false);
        }
        // The old file may have grown before it was replaced.
        if self.read_on()? {
            return Ok(true);
        }
        match open(&self.path) {
            Ok((file, target)) => {
                let before = FilePosition { end: self.read, ..self.position() };
                self.turns.push(Turn { before, is_shorter: false });
                self.replaced = identity(&here);
                (self.file, self.target) = (file, target);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        }
        self.end_line();
        self.read = 0;
        Ok(true)
    }
}

/// A reader of the lines of a file, without end.
pub(super) struct Follower {
    tail: Tail,
    end: FollowEnd,
    wake: Receiver<()>,
    /// The longest time between two looks at the file.
    interval: Duration,
    /// Lets the end wake this reader.
    _waker: Arc<SyncSender<()>>,
    /// Reports changes as long as it lives.
    _watch: Option<Watch>,
}

impl Follower {
    /// Opens a file.
    ///
    /// # Errors
    /// The errors of [`Tail::new`].
    pub fn new(path: &Path, from: FollowFrom, end: FollowEnd) -> Result<Self, InputError> {
        let (waker, wake) = sync_channel(1);
        let waker = Arc::new(waker);
        end.wakes(&waker);
        // A change after this is noticed, and a change before it is read.
        let watch = watch(path, waker.clone());
        let interval = if watch.is_some() { LOOK } else { POLL };
        Ok(Self { tail: Tail::new(path, from)?, end, wake, interval, _waker: waker, _watch: watch })
    }
}

impl Read for Follower {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let Self { tail, end, wake, interval, .. } = self;
        loop {
            if tail.given < tail.whole {
                let count = room.len().min(tail.whole - tail.given);
                room[..count].copy_from_slice(&tail.lines[tail.given..tail.given + count]);
                tail.given += count;
                return Ok(count);
            }
            // Nobody takes the turns, and each keeps a file open.
            tail.turns.clear();
            // What was in the file at the end is read, also if the file was replaced just before.
            let is_last = end.is_set();
            if tail.read_on()? || tail.given < tail.whole || tail.turn()? {
                continue;
            }
            if is_last {
                return Ok(0);
            }
            // A wake that came since the last read is in the channel.
            let _ = wake.recv_timeout(*interval);
        }
    }
}

/// Watches the folder of a file, and the folder of its target if it is a link. The folders are watched,
/// because another file may take the name.
fn watch(path: &Path, waker: Arc<SyncSender<()>>) -> Option<Watch> {
    let target = path.canonicalize().ok()?;
    let names = [path.file_name().map(ToOwned::to_owned), target.file_name().map(ToOwned::to_owned)];
    let changed = move |paths: &[PathBuf]| {
        let is_named = |path: &PathBuf| names.iter().any(|name| path.file_name() == name.as_deref());
        if paths.is_empty() || paths.iter().any(is_named) {
            // A full channel wakes the reader, too.
            let _ = waker.try_send(());
        }
    };
    let (folder, of_target) = (folder_of(path), folder_of(&target));
    if folder.canonicalize().ok()? == of_target {
        Watch::new(&[folder], &[], changed)
    } else {
        Watch::new(&[folder, of_target], &[], changed)
    }
}

/// The folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The identity of a file, which is independent of its name: its device and its number there.
pub(super) type Identity = (u64, u64);

#[cfg(unix)]
pub(super) fn identity(metadata: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

/// This platform shows no identity.
#[cfg(not(unix))]
pub(super) fn identity(_: &Metadata) -> Option<Identity> {
    None
}

#[cfg(unix)]
fn is_unnamed(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.nlink() == 0
}

/// An open file has a name on this platform.
#[cfg(not(unix))]
fn is_unnamed(_: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// True if two files are the same, as far as this platform shows it: they were created at the same time.
#[cfg(not(unix))]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    matches!((a.created(), b.created()), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    /// The lines that are there now, from a reader whose input has been ended.
    fn rest(mut follower: Follower) -> String {
        follower.end.end();
        let mut text = String::new();
        follower.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn reading_begins_at_the_start_or_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        for (before, after, from_start, from_end) in [
            ("1\n2\n", "3\n", "1\n2\n3\n", "3\n"),
            ("1\n2", "3\n4\n5", "1\n23\n4\n", "4\n"),
            ("1\n2", "3", "1\n", ""),
            ("", "1\n", "1\n", "1\n"),
        ] {
            for (from, want) in [(FollowFrom::Start, from_start), (FollowFrom::End, from_end)] {
                fs::write(&path, before).unwrap();
                let follower = Follower::new(&path, from, FollowEnd::default()).unwrap();
                fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(after.as_bytes()).unwrap();
                assert_eq!(rest(follower), want, "{before:?} {after:?} {from:?}");
            }
        }
    }

    /// Lines of a file that takes the name just before the end are read.
    #[test]
    fn a_file_may_be_replaced_just_before_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let (path, old) = (folder.path().join("log"), folder.path().join("old"));
        for is_renamed in [false, true] {
            fs::write(&path, "1\n").unwrap();
            let mut follower = Follower::new(&path, FollowFrom::Start, FollowEnd::default()).unwrap();
            let mut next = [0; 2];
            follower.read_exact(&mut next).unwrap();
            if is_renamed {
                fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"2\n").unwrap();
                fs::rename(&path, &old).unwrap();
                fs::write(&path, "3\n").unwrap();
                assert_eq!(rest(follower), "2\n3\n");
            } else {
                fs::write(&path, "").unwrap();
                assert_eq!(rest(follower), "");
            }
        }
    }

    #[test]
    fn the_end_forgets_readers_that_are_gone() {
        let end = FollowEnd::default();
        let (kept, woken) = sync_channel(1);
        let kept = Arc::new(kept);
        end.wakes(&kept);
        for _ in 0..9 {
            end.wakes(&Arc::new(sync_channel(1).0));
        }
        assert_eq!(end.0.wakers.lock().unwrap().len(), 2);
        end.end();
        assert_eq!(woken.try_recv(), Ok(()));
    }

    #[test]
    fn lines_end_with_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let (path, old) = (folder.path().join("log"), folder.path().join("old"));
        let mut next = [0; 16];
        for is_renamed in [false, true] {
            fs::write(&path, "first\nopen").unwrap();
            let mut follower = Follower::new(&path, FollowFrom::Start, FollowEnd::default()).unwrap();
            let count = follower.read(&mut next).unwrap();
            assert_eq!(&next[..count], b"first\n");
            if is_renamed {
                fs::rename(&path, &old).unwrap();
            }
            fs::write(&path, "new\n").unwrap();
            let count = follower.read(&mut next).unwrap();
            assert_eq!(&next[..count], b"open\n");
            assert_eq!(rest(follower), "new\n");
        }
    }
}
