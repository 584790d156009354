//! The lines of a store, and those of its later versions.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use warpath::store::Store;
use warpath::{CancelToken, Error, FollowFrom};

use crate::changes::Changes;

/// The time after which a store is looked at although this server has not changed it.
const LOOK: Duration = Duration::from_millis(200);

/// Texts that wait to be read.
const WAITING: usize = 4;

/// A reader of the lines of a store. At their end it waits for the next version, until it is cancelled.
///
/// Lines are counted: a version that has joined small parts has the same lines before the new ones. If lines
/// were removed, the reader goes on after the lines that are left.
pub struct Tail {
    store: PathBuf,
    cancel: CancelToken,
    changes: Arc<Changes>,
    /// The last version that was looked at.
    version: Option<u64>,
    /// The lines that were read or left out.
    lines: u64,
    /// The text of the lines that are read.
    texts: Option<Receiver<io::Result<Vec<u8>>>>,
    text: io::Cursor<Vec<u8>>,
}

impl Tail {
    /// The lines of a store: those that it has now and later, or only those that come later.
    ///
    /// # Errors
    /// Those of a store that cannot be opened.
    pub fn new(
        store: PathBuf,
        from: FollowFrom,
        cancel: CancelToken,
        changes: Arc<Changes>,
    ) -> Result<Self, Error> {
        let opened = Store::open(&*store)?;
        let mut tail = Self {
            store,
            cancel,
            changes,
            version: None,
            lines: 0,
            texts: None,
            text: io::Cursor::default(),
        };
        match from {
            FollowFrom::Start => tail.begin(opened),
            _ => (tail.version, tail.lines) = (opened.version(), lines_of(&opened)),
        }
        Ok(tail)
    }

    /// Begins to read the lines of a version that come after those before.
    fn begin(&mut self, store: Store) {
        let (before, lines) = (self.lines, lines_of(&store));
        (self.version, self.lines) = (store.version(), lines);
        if lines > before {
            self.texts = Some(texts(store, before..lines));
        }
    }
}

fn lines_of(store: &Store) -> u64 {
    store.listed().iter().map(|part| part.rows).sum()
}

/// The text of lines, made by a thread. The last line has an end, too.
fn texts(store: Store, lines: std::ops::Range<u64>) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = sync_channel(WAITING);
    let make = {
        let sender = sender.clone();
        move || {
            let mut is_whole = true;
            let made = store.text(lines, &mut |text| {
                is_whole = text.ends_with(b"\n");
                sender.send(Ok(text.to_vec())).is_ok()
            });
            // The reader may be gone.
            let _ = match made {
                Err(error) => sender.send(Err(io::Error::other(error.chain()))),
                Ok(()) if is_whole => Ok(()),
                Ok(()) => sender.send(Ok(b"\n".to_vec())),
            };
        }
    };
    if let Err(error) = thread::Builder::new().name("tail".to_owned()).spawn(make) {
        // Nothing else is in the channel.
        let _ = sender.send(Err(error));
    }
    receiver
}

impl Read for Tail {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.text.read(room)?;
            if read > 0 || room.is_empty() {
                return Ok(read);
            }
            if self.cancel.is_cancelled() {
                return Ok(0);
            }
            if let Some(texts) = &self.texts {
                match texts.recv() {
                    Ok(text) => self.text = io::Cursor::new(text?),
                    Err(_) => self.texts = None,
                }
                continue;
            }
            let count = self.changes.count();
            let store = Store::open(&*self.store).map_err(|error| io::Error::other(error.chain()))?;
            match store.version() == self.version {
                true => self.changes.wait(count, LOOK),
                false => self.begin(store),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use warpath::Source;
    use warpath::store::AddOptions;

    use super::*;

    #[test]
    fn lines_come_once_whatever_becomes_of_parts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs.wp");
        let add = |text: &'static [u8]| {
            let lines = Source::Reader("lines".into(), Box::new(text));
            Store::add(&*path, vec![lines], AddOptions::default(), &mut |_| {}).unwrap();
        };
        add(b"{\"n\":0}\n");
        let (cancel, changes) = (CancelToken::new(), Arc::new(Changes::default()));
        let tail = |from| Tail::new(path.clone(), from, cancel.clone(), changes.clone()).unwrap();
        let (mut all, mut later) = (tail(FollowFrom::Start), tail(FollowFrom::End));
        let expect = |tail: &mut Tail, text: &str| {
            let mut read = vec![0; text.len()];
            tail.read_exact(&mut read).unwrap();
            assert_eq!(String::from_utf8(read).unwrap(), text);
        };
        expect(&mut all, "{\"n\":0}\n");
        // A last line without an end.
        add(b"{\"n\":1}");
        expect(&mut all, "{\"n\":1}\n");
        // Parts that are joined before their lines are read.
        add(b"{\"n\":2}\n");
        Store::compact(&*path).unwrap();
        expect(&mut all, "{\"n\":2}\n");
        add(b"{\"n\":3}\n{\"n\":4}\n");
        for tail in [&mut all, &mut later] {
            let before = if tail.lines == 1 { "{\"n\":1}\n{\"n\":2}\n" } else { "" };
            expect(tail, &format!("{before}{{\"n\":3}}\n{{\"n\":4}}\n"));
        }
        cancel.cancel();
        assert_eq!(all.read(&mut [0; 8]).unwrap(), 0);
    }
}
