//! Inputs cut into partitions of whole lines.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

use warpath_shared::units::MAX_PARTITION_BYTES;

use super::feed::Filled;
use super::source::{Open, Source};
use crate::error::InputError;

/// UTF-8's byte order mark: no part of the text where an input begins with it (RFC 8259 section 8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A run of whole lines of one input; the input's last line may lack its newline.
///
/// The buffer goes back to the reader when the partition is dropped.
pub(crate) struct Partition {
    buffer: Vec<u8>,
    start: usize,
    len: usize,
    recycle: Sender<Vec<u8>>,
}

impl Partition {
    pub fn text(&self) -> &[u8] {
        &self.buffer[self.start..self.len]
    }

    /// Bytes before the text that are no part of it.
    pub fn skipped(&self) -> u64 {
        self.start as u64
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        // Nobody may be reading any more.
        let _ = self.recycle.send(std::mem::take(&mut self.buffer));
    }
}

/// Reads one input, partition by partition.
pub(crate) struct Partitions {
    input: Open,
    size: usize,
    /// What was read beyond the last partition's end: less than a line, but for a line that grows.
    carry: Vec<u8>,
    state: State,
    /// No partition has been given out yet.
    first: bool,
    recycle: (Sender<Vec<u8>>, Receiver<Vec<u8>>),
}

enum State {
    Reading,
    /// To be reported once the lines before it have been.
    Failed(io::Error),
    Done,
}

impl Partitions {
    /// Opens an input. Partitions have about `size` bytes; more only where one line has; and fewer where an input that
    /// may wait has brought whole lines and then nothing for a while.
    pub fn open(source: Source, size: usize) -> Result<Self, InputError> {
        let size = size.clamp(1, MAX_PARTITION_BYTES);
        let input = source.open()?;
        Ok(Self { input, size, carry: Vec::new(), state: State::Reading, first: true, recycle: channel() })
    }

    /// The next partition, or `None` at the end.
    ///
    /// A read that fails loses nothing before it: the whole lines that were read come first, then the error.
    pub fn next(&mut self) -> Result<Option<Partition>, InputError> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Reading => {}
            State::Failed(error) => return Err(self.input.error(error)),
            State::Done => return Ok(None),
        }
        let mut buffer = self.recycle.1.try_recv().unwrap_or_default();
        let mut filled = self.carry.len();
        let mut target = self.size.max(filled);
        // Bytes of the buffer that are known to hold no newline.
        let mut searched = 0;
        if buffer.len() < target {
            // Zeroed pages come from the operating system when they are first written: what a short input does not
            // fill, it does not cost.
            buffer = vec![0; target];
        }
        buffer[..filled].copy_from_slice(&self.carry);
        self.carry.clear();
        let len = loop {
            let ended = match self.input.feed.fill(&mut buffer[..target], &mut filled) {
                Ok(reason) => reason == Filled::Ended,
                Err(error) => {
                    self.state = State::Failed(error);
                    // The last line may be cut anywhere: only what a newline ended is answered.
                    break memchr::memrchr(b'\n', &buffer[..filled]).map_or(0, |at| at + 1);
                }
            };
            if ended {
                break filled;
            }
            if let Some(at) = memchr::memrchr(b'\n', &buffer[searched..filled]) {
                let len = searched + at + 1;
                self.carry.extend_from_slice(&buffer[len..filled]);
                self.state = State::Reading;
                break len;
            }
            // One line is longer than a partition: the partition grows to hold it.
            if filled < target {
                continue;
            }
            if target == MAX_PARTITION_BYTES {
                match self.input.feed.fill(&mut [0], &mut 0) {
                    Ok(Filled::Ended) => break filled,
                    Ok(Filled::Full | Filled::Quiet) => {}
                    Err(error) => return Err(self.input.error(error)),
                }
                // Who counts lines fills in this one's number.
                let name = self.input.name.clone();
                return Err(InputError::RecordTooLong { name, line: 0, limit: MAX_PARTITION_BYTES });
            }
            searched = filled;
            target = (2 * target).min(MAX_PARTITION_BYTES);
            if buffer.len() < target {
                buffer.resize(target, 0);
            }
        };
        if len == 0 {
            return match std::mem::replace(&mut self.state, State::Done) {
                State::Failed(error) => Err(self.input.error(error)),
                _ => Ok(None),
            };
        }
        let marked = std::mem::take(&mut self.first) && buffer[..len].starts_with(BYTE_ORDER_MARK);
        let start = if marked { BYTE_ORDER_MARK.len() } else { 0 };
        Ok(Some(Partition { buffer, start, len, recycle: self.recycle.0.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn open(reader: Box<dyn Read + Send>, size: usize) -> Partitions {
        Partitions::open(Source::Reader("test".into(), reader), size).unwrap()
    }

    fn partitions(text: &[u8], size: usize) -> Vec<Vec<u8>> {
        let reader = Box::new(io::Cursor::new(text.to_vec()));
        let mut partitions = open(reader, size);
        let mut all = Vec::new();
        while let Some(partition) = partitions.next().unwrap() {
            all.push(partition.text().to_vec());
        }
        all
    }

    #[test]
    fn every_size_keeps_every_line_whole() {
        let text = b"one\ntwo\n\nthree is longer\nx\nlast without newline";
        for size in 1..=text.len() + 2 {
            let all = partitions(text, size);
            assert_eq!(all.concat(), text, "size {size}");
            let (last, before) = all.split_last().unwrap();
            assert!(!last.is_empty());
            assert!(before.iter().all(|part| part.ends_with(b"\n")), "size {size}");
        }
        assert!(partitions(b"", 4).is_empty());
    }

    #[test]
    fn what_came_before_a_failing_read_is_given_out() {
        struct Failing(io::Cursor<Vec<u8>>);
        impl Read for Failing {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                match self.0.read(buffer)? {
                    0 => Err(io::Error::other("gone")),
                    count => Ok(count),
                }
            }
        }
        let reader = Box::new(Failing(io::Cursor::new(b"1\n22\n333".to_vec())));
        let mut partitions = open(reader, 100);
        assert_eq!(partitions.next().unwrap().unwrap().text(), b"1\n22\n");
        assert!(matches!(partitions.next(), Err(InputError::Io { .. })));
        assert!(partitions.next().unwrap().is_none());
    }
}
