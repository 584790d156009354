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
/// Parts that were appended have greater positions than all others. Parts that replace others, because lines
/// were removed or small parts were joined, have the positions of these, and their lines are not read again.
pub struct Tail {
    store: PathBuf,
    cancel: CancelToken,
    changes: Arc<Changes>,
    /// The first number of the position of the last part that was read or left out.
    last: Option<u64>,
    /// The text of the parts of a version.
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
        let mut tail = Self { store, cancel, changes, last: None, texts: None, text: io::Cursor::default() };
        let new = tail.new_parts()?;
        if from == FollowFrom::Start {
            tail.texts = Some(texts(new));
        }
        Ok(tail)
    }

    /// The files of the parts that were appended since the last call.
    fn new_parts(&mut self) -> Result<Vec<PathBuf>, Error> {
        let parts = Store::open(&*self.store)?.listed();
        let numbered = parts.into_iter().filter_map(|part| Some((first_number(&part.position)?, part.name)));
        // If the last parts were removed, the next one gets the number of the first of them.
        let (last, mut new) = (self.last.take(), Vec::new());
        for (number, name) in numbered {
            if last.is_none_or(|last| number > last) {
                new.push(self.store.join(name));
            }
            self.last = self.last.max(Some(number));
        }
        Ok(new)
    }
}

/// The first number of a position, which appended parts differ in.
fn first_number(position: &impl ToString) -> Option<u64> {
    position.to_string().split('.').next()?.parse().ok()
}

/// The text of parts, made by a thread.
fn texts(parts: Vec<PathBuf>) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = sync_channel(WAITING);
    let make = move || {
        for part in parts {
            let mut is_wanted = true;
            let made = Store::open(&*part).and_then(|part| {
                part.text(0..u64::MAX, &mut |text| {
                    is_wanted = sender.send(Ok(text.to_vec())).is_ok();
                    is_wanted
                })
            });
            if let Err(error) = made {
                is_wanted = sender.send(Err(io::Error::other(error.chain()))).is_ok();
            }
            if !is_wanted {
                return;
            }
        }
    };
    if let Err(error) = thread::Builder::new().name("tail".to_owned()).spawn(make) {
        let (sender, receiver) = sync_channel(1);
        let _ = sender.send(Err(error));
        return receiver;
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
            let new = self.new_parts().map_err(|error| io::Error::other(error.chain()))?;
            if new.is_empty() {
                self.changes.wait(count, LOOK);
            } else {
                self.texts = Some(texts(new));
            }
        }
    }
}
