//! The bytes of an input, read directly, or by a thread where reads may wait.
//!
//! If opening or reading may wait, a thread of its own does both. The lines that a slow input has brought are
//! therefore not held back until more come. They are handed on when nothing has come for [`QUIET`], or when
//! the first of them has waited for the maximum latency. A reader that waits for more can also be stopped.
//! Then only that thread remains, and it owns nothing but the input.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use warpath_core::cancel::Stop;
use warpath_core::error::InputError;

use super::decoded::Decoded;

/// The time without new bytes after which an input counts as slow.
const QUIET: Duration = Duration::from_millis(2);
/// The default of the longest time that a line waits for the lines after it.
pub(crate) const MAX_LATENCY: Duration = Duration::from_millis(100);
/// The interval at which a thread that waits for an input checks whether it should stop.
const STOP: Duration = Duration::from_millis(10);
/// Bytes that are read at once from an input that may wait: more than a pipe holds.
const CHUNK_BYTES: usize = 256 << 10;
/// The most chunks that wait to be taken.
const CHUNKS: usize = 32;

/// The source of bytes.
pub(super) enum Feed {
    /// A file.
    Direct(Decoded),
    /// An input that may wait.
    Pumped(Pump),
}

/// The chunks that a thread has read, none of them empty. An empty chunk marks the end; an error may come
/// instead.
pub(super) struct Pump {
    name: String,
    chunks: Receiver<Result<Vec<u8>, InputError>>,
    /// The current chunk, and the number of its bytes that have been used.
    chunk: Vec<u8>,
    used: usize,
    /// The longest time that a line waits for the lines after it.
    pub latency: Duration,
    /// The clock.
    now: fn() -> Instant,
}

/// The reason why filling a buffer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filled {
    /// The buffer is full.
    Full,
    /// The input has ended.
    Ended,
    /// No bytes have come for a while, or the first line has waited long enough.
    Quiet,
    /// The caller set `stop`.
    Stopped,
}

impl Feed {
    /// Starts a thread that opens and reads an input.
    pub fn pumped(
        name: String,
        open: impl FnOnce() -> Result<Decoded, InputError> + Send + 'static,
    ) -> Result<Self, InputError> {
        let (to_reader, chunks) = sync_channel(CHUNKS);
        thread::Builder::new()
            .name("warpath input".into())
            .spawn(move || pump(open, &to_reader))
            .map_err(|source| InputError::Io { name: name.clone(), source })?;
        Ok(Self::Pumped(Pump::new(name, chunks)))
    }

    /// Reads until `buffer` is full, the input ends, or `stop` is set. Once a whole line is there, it also
    /// ends when the input is quiet, or when the first bytes have waited long enough.
    pub fn fill(&mut self, buffer: &mut [u8], filled: &mut usize, stop: &Stop) -> Result<Filled, InputError> {
        let mut line = false;
        let mut since = match self {
            Self::Pumped(pump) if *filled > 0 => Some((pump.now)()),
            _ => None,
        };
        while *filled < buffer.len() {
            if stop.is_set() {
                return Ok(Filled::Stopped);
            }
            let room = &mut buffer[*filled..];
            let count = match self {
                Self::Direct(decoded) => decoded.read(room)?,
                Self::Pumped(pump) => match pump.read(room, line, stop)? {
                    Ok(count) => count,
                    Err(reason) => return Ok(reason),
                },
            };
            if count == 0 {
                return Ok(Filled::Ended);
            }
            line = line || matches!(self, Self::Pumped(_)) && memchr::memchr(b'\n', &room[..count]).is_some();
            *filled += count;
            if let Self::Pumped(Pump { latency, now, .. }) = self {
                let first = *since.get_or_insert_with(*now);
                if line && now().duration_since(first) >= *latency {
                    return Ok(Filled::Quiet);
                }
            }
        }
        Ok(Filled::Full)
    }
}

impl Pump {
    fn new(name: String, chunks: Receiver<Result<Vec<u8>, InputError>>) -> Self {
        Self { name, chunks, chunk: Vec::new(), used: 0, latency: MAX_LATENCY, now: Instant::now }
    }

    /// Reads some bytes; 0 at the end. `Err` inside means no bytes yet: the caller has a line that should not
    /// wait, or has to stop.
    fn read(
        &mut self,
        room: &mut [u8],
        line: bool,
        stop: &Stop,
    ) -> Result<Result<usize, Filled>, InputError> {
        while self.used == self.chunk.len() {
            self.chunk = match self.chunks.recv_timeout(if line { QUIET } else { STOP }) {
                Ok(chunk) => chunk?,
                Err(RecvTimeoutError::Timeout) if line => return Ok(Err(Filled::Quiet)),
                Err(RecvTimeoutError::Timeout) if stop.is_set() => {
                    return Ok(Err(Filled::Stopped));
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => {
                    let source = io::Error::other("the thread that reads it ended before the input did");
                    return Err(InputError::Io { name: self.name.clone(), source });
                }
            };
            self.used = 0;
            if self.chunk.is_empty() {
                return Ok(Ok(0));
            }
        }
        let count = room.len().min(self.chunk.len() - self.used);
        room[..count].copy_from_slice(&self.chunk[self.used..self.used + count]);
        self.used += count;
        Ok(Ok(count))
    }
}

/// The loop of the reading thread.
fn pump(
    open: impl FnOnce() -> Result<Decoded, InputError>,
    to_reader: &SyncSender<Result<Vec<u8>, InputError>>,
) {
    let mut decoded = match open() {
        Ok(decoded) => decoded,
        Err(error) => {
            let _ = to_reader.send(Err(error));
            return;
        }
    };
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let read = decoded.read(&mut buffer);
        let ended = !matches!(read, Ok(1..));
        // If the receiver is gone, the caller needs no more.
        if to_reader.send(read.map(|count| buffer[..count].to_vec())).is_err() || ended {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A clock that advances by a millisecond each time it is read.
    fn ticking() -> Instant {
        thread_local! {
            static TIME: Cell<Instant> = Cell::new(Instant::now());
        }
        TIME.set(TIME.get() + Duration::from_millis(1));
        TIME.get()
    }

    /// An input that is never quiet is handed on when its first line has waited long enough.
    #[test]
    fn a_line_does_not_wait_for_ever() {
        for (latency, lines) in [(0, 1), (1, 1), (2, 2), (5, 5)] {
            let (to_reader, chunks) = sync_channel(CHUNKS);
            (0..CHUNKS).for_each(|_| to_reader.send(Ok(b"1\n".to_vec())).unwrap());
            let pump = Pump::new("test".into(), chunks);
            let mut feed =
                Feed::Pumped(Pump { latency: Duration::from_millis(latency), now: ticking, ..pump });
            let mut filled = 0;
            let reason = feed.fill(&mut [0; 1000], &mut filled, &Stop::default()).unwrap();
            assert_eq!((reason, filled), (Filled::Quiet, 2 * lines), "{latency} ms");
        }
    }

    /// A line that has not ended waits for its end without limit.
    #[test]
    fn a_part_of_a_line_waits() {
        let (to_reader, chunks) = sync_channel(CHUNKS);
        for chunk in [&b"1"[..], b"2", b"3\n4", b"5\n"] {
            to_reader.send(Ok(chunk.to_vec())).unwrap();
        }
        let pump = Pump::new("test".into(), chunks);
        let mut feed = Feed::Pumped(Pump { latency: Duration::ZERO, now: ticking, ..pump });
        let mut filled = 0;
        let reason = feed.fill(&mut [0; 1000], &mut filled, &Stop::default()).unwrap();
        assert_eq!((reason, filled), (Filled::Quiet, b"123\n4".len()));
    }
}
