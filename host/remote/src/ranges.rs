//! A range of an object, fetched in parts at the same time.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};

use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use crate::fetch::{Fetch, Message, room, room_of};
use crate::reader::{Object, runtime};
use crate::settings::StoreSettings;

/// A part of a range, which a task fetches. The task ends when this is dropped.
struct Piece {
    messages: Receiver<Message>,
    room: Arc<Semaphore>,
    task: AbortHandle,
    len: u64,
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Piece {
    fn begin(object: &Object, settings: &StoreSettings, range: Range<u64>) -> io::Result<Self> {
        let (sender, messages) = mpsc::channel();
        let space = Arc::new(Semaphore::new(room(settings) as usize));
        let fetch = Fetch {
            object: object.clone(),
            settings: settings.clone(),
            known: None,
            at: range.start,
            end: range.end,
            is_alone: true,
            is_whole: false,
            sender,
            room: space.clone(),
        };
        let task = runtime()?.spawn(fetch.run()).abort_handle();
        Ok(Self { messages, room: space, task, len: range.end - range.start })
    }

    /// Appends the bytes of the piece.
    fn take(self, settings: &StoreSettings, out: &mut Vec<u8>) -> io::Result<()> {
        let mut left = self.len;
        while left > 0 {
            match self.messages.recv() {
                Ok(Message::Begins(..)) => {}
                Ok(Message::Bytes(bytes)) => {
                    left = left.saturating_sub(bytes.len() as u64);
                    self.room.add_permits(room_of(&bytes, settings) as usize);
                    out.extend_from_slice(&bytes);
                }
                Ok(Message::Fails(fault)) => return Err(fault.into_io()),
                // The object is shorter than the range.
                Err(mpsc::RecvError) => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        Ok(())
    }
}

/// The bytes of a range of an object. The calling thread waits. It must not be a thread of a runtime.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] if the object ends before the range does, and the errors of the store.
pub fn read(object: &Object, settings: &StoreSettings, range: Range<u64>) -> io::Result<Vec<u8>> {
    let step = settings.part_bytes.max(1);
    let mut starts = (range.start..range.end).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    let (mut pieces, mut out) = (VecDeque::new(), Vec::new());
    loop {
        while pieces.len() < settings.parts.max(1)
            && let Some(start) = starts.next()
        {
            let end = range.end.min(start.saturating_add(step));
            pieces.push_back(Piece::begin(object, settings, start..end)?);
        }
        let Some(piece) = pieces.pop_front() else { return Ok(out) };
        piece.take(settings, &mut out)?;
    }
}
