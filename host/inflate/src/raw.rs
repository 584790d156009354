//! The bytes of a file, read once, and kept while threads decode them.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of the first part. Each part is twice as long as the one before, up to the full length.
const FIRST_BYTES: usize = 64 << 10;
/// The shortest and the longest full length of a part.
const FULL_BYTES: [u64; 2] = [64 << 10, 1 << 20];
/// Bytes of text that a part of full length should have.
const TEXT_BYTES: u64 = 4 << 20;

/// The parts of a file, read in order.
pub struct Raw {
    parts: Mutex<Parts>,
}

struct Parts {
    reader: Box<dyn Read + Send>,
    kept: VecDeque<Part>,
    /// The number of the first part that is kept.
    first: usize,
    /// The offset of the next part.
    offset: u64,
    /// Bytes of the next part, if all of them are there; and the most.
    bytes: usize,
    most: usize,
    /// Bytes of data and of text that were decoded.
    decoded: [u64; 2],
    ended: bool,
    error: Option<io::Error>,
}

/// Some bytes of a file.
#[derive(Clone)]
pub struct Part {
    pub offset: u64,
    pub bytes: Arc<Vec<u8>>,
}

impl Part {
    /// The offset of the first byte after the part.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

impl Raw {
    /// The parts of a file. With `bytes`, all have this length.
    pub fn new(reader: Box<dyn Read + Send>, bytes: Option<usize>) -> Self {
        let parts = Parts {
            reader,
            kept: VecDeque::new(),
            first: 0,
            offset: 0,
            bytes: bytes.unwrap_or(FIRST_BYTES),
            most: bytes.unwrap_or(FULL_BYTES[1] as usize),
            decoded: [0; 2],
            ended: false,
            error: None,
        };
        Self { parts: Mutex::new(parts) }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Parts) -> T) -> T {
        work(&mut self.parts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A part, by its number; `None` after the end. A part that was released must not be read again.
    pub fn part(&self, number: usize) -> Option<Part> {
        self.with(|parts| {
            while number >= parts.first + parts.kept.len() && parts.read() {}
            parts.kept.get(number.checked_sub(parts.first)?).cloned()
        })
    }

    /// Releases the parts before a number.
    pub fn release(&self, number: usize) {
        self.with(|parts| {
            while parts.first < number && parts.kept.pop_front().is_some() {
                parts.first += 1;
            }
        });
    }

    /// Counts bytes that were decoded, and their text. The lengths of parts follow.
    pub fn count(&self, bytes: u64, text: u64) {
        self.with(|parts| {
            parts.decoded[0] += bytes;
            parts.decoded[1] += text;
            let [bytes, text] = parts.decoded;
            if parts.most >= FULL_BYTES[0] as usize && text > 0 {
                let [least, most] = FULL_BYTES;
                parts.most = (TEXT_BYTES * bytes / text).clamp(least, most) as usize;
            }
        });
    }

    /// The error that ended the file, if it was not its end.
    pub fn take_error(&self) -> Option<io::Error> {
        self.with(|parts| parts.error.take())
    }
}

impl Parts {
    /// Reads another part. Returns false at the end.
    fn read(&mut self) -> bool {
        let wanted = self.bytes.min(self.most);
        let mut bytes = vec![0; wanted];
        let mut filled = 0;
        while filled < wanted && !self.ended {
            match self.reader.read(&mut bytes[filled..]) {
                Ok(0) => self.ended = true,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => (self.ended, self.error) = (true, Some(error)),
            }
        }
        bytes.truncate(filled);
        if filled > 0 {
            self.kept.push_back(Part { offset: self.offset, bytes: Arc::new(bytes) });
            self.offset += filled as u64;
            self.bytes = (2 * self.bytes).min(self.most.max(self.bytes));
        }
        filled > 0
    }
}
