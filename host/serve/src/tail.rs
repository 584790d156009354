//! The lines of a store, and those of its later versions.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use warpath::store::Store;
use warpath::{Error, FollowEnd, FollowFrom};

use crate::changes::Changes;

/// The time after which a store is looked at although this server has not changed it.
const LOOK: Duration = Duration::from_millis(200);

/// Texts that wait to be read.
const WAITING: usize = 4;

/// A reader of the lines of a store. At their end it waits for the next version, until its end.
///
/// A version either has more lines than the one before, at the end, or lacks some, or has the same lines in
/// other parts. The reader goes from version to version. It reads new lines before those of a version that
/// removed some, so that a line which was removed soon is read, too, and none is taken for another.
pub struct Tail {
    /// The version that has been read, or is being read.
    store: Store,
    /// The reader ends after the lines that the store has then.
    end: FollowEnd,
    is_done: bool,
    changes: Arc<Changes>,
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
        end: FollowEnd,
        changes: Arc<Changes>,
    ) -> Result<Self, Error> {
        let store = Store::open(&*store)?;
        let lines = match from {
            FollowFrom::Start => lines_of(&store),
            _ => 0,
        };
        let (texts, text) = (None, io::Cursor::default());
        let mut tail = Self { store, end, is_done: false, changes, texts, text };
        tail.begin(lines);
        Ok(tail)
    }

    /// Begins to read this many lines at the end of the version.
    fn begin(&mut self, new: u64) {
        if new > 0 {
            let lines = lines_of(&self.store);
            self.texts = Some(texts(self.store.clone(), lines - new..lines));
        }
    }

    /// Goes to the last version, or to the last one before lines were removed of which some are to be read.
    /// Returns the number of lines to read.
    fn advance(&mut self) -> Result<u64, Error> {
        let (mut new, is_end) = (0, self.end.is_set());
        while let Some(next) = self.store.next_version()? {
            let (before, after) = (lines_of(&self.store), lines_of(&next));
            if after < before && new > 0 {
                return Ok(new);
            }
            new += after.saturating_sub(before);
            self.store = next;
        }
        self.is_done = is_end;
        Ok(new)
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
            if let Some(texts) = &self.texts {
                match texts.recv() {
                    Ok(text) => self.text = io::Cursor::new(text?),
                    Err(_) => self.texts = None,
                }
                continue;
            }
            if self.is_done {
                return Ok(0);
            }
            let count = self.changes.count();
            match self.advance().map_err(|error| io::Error::other(error.chain()))? {
                0 if !self.is_done => self.changes.wait(count, LOOK),
                new => self.begin(new),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use warpath::store::AddOptions;
    use warpath::{Engine, Predicate, Source};

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
        let (end, changes) = (FollowEnd::default(), Arc::new(Changes::default()));
        let tail = |from| Tail::new(path.clone(), from, end.clone(), changes.clone()).unwrap();
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
        expect(&mut later, "{\"n\":1}\n{\"n\":2}\n");
        add(b"{\"n\":3}\n{\"n\":4}\n");
        for tail in [&mut all, &mut later] {
            expect(tail, "{\"n\":3}\n{\"n\":4}\n");
        }
        // As many lines are removed as come, and one of them is removed before it is read.
        let drop = |condition| {
            let engine = Engine::builder().build().unwrap();
            Store::drop_matching(&*path, &engine, &Predicate::parse(condition).unwrap()).unwrap();
        };
        drop("$.n < 2");
        add(b"{\"n\":5}\n{\"n\":6}\n");
        drop("$.n == 2 || $.n == 5");
        add(b"{\"n\":7}\n");
        Store::compact(&*path).unwrap();
        for tail in [&mut all, &mut later] {
            expect(tail, "{\"n\":5}\n{\"n\":6}\n{\"n\":7}\n");
        }
        // The lines that are there at the end are read.
        add(b"{\"n\":8}\n");
        end.end();
        expect(&mut later, "{\"n\":8}\n");
        assert_eq!(later.read(&mut [0; 8]).unwrap(), 0);
        // Another store at the same path.
        let mut all = tail(FollowFrom::End);
        std::fs::remove_dir_all(&path).unwrap();
        add(b"{\"n\":9}\n");
        let error = all.read(&mut [0; 8]).unwrap_err().to_string();
        assert!(error.contains("another store is at this path now"), "{error}");
    }
}
