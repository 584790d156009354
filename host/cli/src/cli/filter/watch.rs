//! Subscriptions that change while documents are read.

use std::fs::Metadata;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, SystemTime};

use warpath::Error;
use warpath::twig::{FileChange, Standing};
use warpath_terminal::messages::Ui;

use super::{tell, text_of};

/// The time between two looks at a file.
const INTERVAL: Duration = Duration::from_millis(100);

/// A thread that reads a file of subscriptions again whenever the file changes. The thread ends when this
/// value is dropped.
pub struct Watch {
    /// The sender's drop ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts the thread. `known` is the file's stamp from before the file was first read.
    ///
    /// # Errors
    /// [`Error::Thread`] if the system has no thread left.
    pub fn start(path: &Path, mut known: Option<Stamp>, standing: &Standing, ui: &Ui) -> Result<Self, Error> {
        let (stop, stopped) = channel();
        let (path, standing, ui) = (path.to_owned(), standing.clone(), ui.clone());
        let work = move || {
            // A file that is being written is read only when two successive stamps are equal.
            let mut before = known;
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let now = Stamp::of(&path);
                if now.is_some() && now != known && now == before {
                    known = now;
                    read_again(&path, &standing, &ui);
                }
                before = now;
            }
        };
        let thread = Builder::new().name("warpath watch".into()).spawn(work).map_err(Error::Thread)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop = None;
        // A panic of the thread has been reported already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The properties of a file that change when it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    modified: SystemTime,
    len: u64,
    /// The file's inode and the time of its last status change. They differ even if another file of the same
    /// length and modification time has replaced it.
    identity: (u64, i64, i64),
}

impl Stamp {
    /// The stamp of a file. `None` if the file cannot be read.
    pub fn of(path: &Path) -> Option<Self> {
        let metadata = path.metadata().ok()?;
        let (modified, len) = (metadata.modified().ok()?, metadata.len());
        Some(Self { modified, len, identity: identity(&metadata) })
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> (u64, i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, i64, i64) {
    (0, 0, 0)
}

fn read_again(path: &Path, standing: &Standing, ui: &Ui) {
    let text = match text_of(path) {
        Ok(text) => text,
        Err(failure) => return failure.report(ui),
    };
    let FileChange { errors, added, removed, .. } =
        standing.change(|subscriptions| subscriptions.update_file(&text));
    tell(path, &errors, ui);
    let count = standing.current().len();
    ui.note(format_args!("{}: {added} added, {removed} removed, {count} in all", path.display()));
}
