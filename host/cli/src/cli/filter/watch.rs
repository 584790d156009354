//! Subscriptions that change while they are asked.

use std::fs::Metadata;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use warpath::twig::{FileChange, Standing};

use super::super::ui::Ui;
use super::{tell, text_of};

/// How often a file is looked at.
const INTERVAL: Duration = Duration::from_millis(100);

/// Reads a file of subscriptions again whenever it changes, until it is dropped.
pub struct Watch {
    /// Dropped first, which ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// `known` is from before it was read.
    pub fn start(path: &Path, mut known: Option<Stamp>, standing: &Standing, ui: &Ui) -> Self {
        let (stop, stopped) = channel();
        let (path, standing, ui) = (path.to_owned(), standing.clone(), ui.clone());
        let thread = thread::spawn(move || {
            // What is being written is read when it looks the same twice.
            let mut before = known;
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let now = Stamp::of(&path);
                if now.is_some() && now != known && now == before {
                    known = now;
                    read_again(&path, &standing, &ui);
                }
                before = now;
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop = None;
        // A panic has been told already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What changes when a file is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    modified: SystemTime,
    len: u64,
    /// Which file it is, and when anything about it changed: another may have been put in its place, with its time and length.
    identity: (u64, i64, i64),
}

impl Stamp {
    /// That of a file, if it is there.
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
    let FileChange { errors, added, removed } =
        standing.change(|subscriptions| subscriptions.update_file(&text));
    tell(path, &errors, ui);
    let count = standing.current().len();
    ui.note(format_args!("{}: {added} added, {removed} removed, {count} in all", path.display()));
}
