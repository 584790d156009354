//! How bytes come: as fast as they are asked for, or when somebody writes them.
//!
//! Where a read may wait, a thread of its own does the reading. So the lines that a slow input has brought are not kept
//! back until it brings more: they are given out once nothing has come for [`QUIET`].

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// How long nothing must have come before an input counts as slow.
const QUIET: Duration = Duration::from_millis(2);
/// Bytes that are read at once from an input that may wait: more than a pipe holds.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks that may wait for whoever wants them.
const CHUNKS: usize = 32;

/// Where bytes come from.
pub(super) enum Feed {
    /// A file.
    Direct(Box<dyn Read + Send>),
    /// Anything that may wait.
    Pumped(Pump),
}

/// What a thread has read: chunks, none of them empty; then an empty one, for the end, or an error.
pub(super) struct Pump {
    chunks: Receiver<io::Result<Vec<u8>>>,
    /// The chunk at hand, and how much of it has been used.
    chunk: Vec<u8>,
    used: usize,
}

/// Why a buffer was not filled any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filled {
    /// It is full.
    Full,
    /// The input has ended.
    Ended,
    /// Nothing more has come for a while.
    Quiet,
}

impl Feed {
    /// Starts a thread that reads.
    pub fn pumped(reader: Box<dyn Read + Send>) -> io::Result<Self> {
        let (to_reader, chunks) = sync_channel(CHUNKS);
        thread::Builder::new().name("warpath input".into()).spawn(move || pump(reader, &to_reader))?;
        Ok(Self::Pumped(Pump { chunks, chunk: Vec::new(), used: 0 }))
    }

    /// Reads until `buffer` is full or the input ends; or, once it holds a whole line, until the input is quiet.
    pub fn fill(&mut self, buffer: &mut [u8], filled: &mut usize) -> io::Result<Filled> {
        let mut line = false;
        while *filled < buffer.len() {
            let room = &mut buffer[*filled..];
            let count = match self {
                Self::Direct(reader) => match reader.read(room) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read?,
                },
                Self::Pumped(pump) => match pump.read(room, line)? {
                    Some(count) => count,
                    None => return Ok(Filled::Quiet),
                },
            };
            if count == 0 {
                return Ok(Filled::Ended);
            }
            line = line || matches!(self, Self::Pumped(_)) && memchr::memchr(b'\n', &room[..count]).is_some();
            *filled += count;
        }
        Ok(Filled::Full)
    }
}

impl Pump {
    /// Some bytes; none at the end; `None` if there are none yet, and the caller has a line that should not wait.
    fn read(&mut self, room: &mut [u8], line: bool) -> io::Result<Option<usize>> {
        if self.used == self.chunk.len() {
            let died = || io::Error::other("the thread that reads it ended before the input did");
            self.chunk = if line {
                match self.chunks.recv_timeout(QUIET) {
                    Ok(chunk) => chunk?,
                    Err(RecvTimeoutError::Timeout) => return Ok(None),
                    Err(RecvTimeoutError::Disconnected) => return Err(died()),
                }
            } else {
                self.chunks.recv().map_err(|_| died())??
            };
            self.used = 0;
        }
        let count = room.len().min(self.chunk.len() - self.used);
        room[..count].copy_from_slice(&self.chunk[self.used..self.used + count]);
        self.used += count;
        Ok(Some(count))
    }
}

/// The thread that reads.
fn pump(mut reader: Box<dyn Read + Send>, to_reader: &SyncSender<io::Result<Vec<u8>>>) {
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let read = match reader.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read,
        };
        let ended = !matches!(read, Ok(1..));
        // Where nobody listens any more, the caller has seen enough.
        if to_reader.send(read.map(|count| buffer[..count].to_vec())).is_err() || ended {
            return;
        }
    }
}
