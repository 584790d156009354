//! Inputs that are read from start to end, cut into partitions of whole lines.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use memchr::memrchr;
use warpath_core::cancel::Stop;
use warpath_core::error::{Error, InputError};
use warpath_shared::units::ByteOffset;

use super::buffers::Buffers;
use super::decoded::Decoded;
use super::feed::{Feed, Filled};
use super::text::{BYTE_ORDER_MARK, Text};

/// Reads one input, partition by partition.
pub(crate) struct Sequence {
    name: Arc<str>,
    feed: Feed,
    /// Bytes that were read after the end of the last partition: less than a line, except for a line that
    /// grows.
    carry: Vec<u8>,
    /// The offset at which the next partition begins.
    offset: ByteOffset,
    /// True if a byte order mark at the beginning is no part of the text.
    is_begin: bool,
    state: State,
}

enum State {
    Reading,
    /// An error that is reported after the lines before it.
    Failed(InputError),
    Done,
}

impl Sequence {
    /// Text that is read from start to end, and never waits.
    pub fn of_text(name: Arc<str>, reader: impl Read + Send + 'static) -> Self {
        let decoded = Decoded::plain(name.to_string(), reader);
        Self::new(name, Feed::Direct(decoded))
    }

    pub(super) fn new(name: Arc<str>, feed: Feed) -> Self {
        Self { name, feed, carry: Vec::new(), offset: 0, is_begin: true, state: State::Reading }
    }

    /// Sets whether the input begins a text. Otherwise a byte order mark is a part of its first line.
    pub fn with_mark(self, is_begin: bool) -> Self {
        Self { is_begin, ..self }
    }

    /// Sets the longest time that a line waits for the lines after it, if the input may wait.
    pub fn with_latency(mut self, latency: Duration) -> Self {
        if let Feed::Pumped(pump) = &mut self.feed {
            pump.latency = latency;
        }
        self
    }

    /// The whole input as one text; `None` if it is empty, or once `stop` is set. No part may have been read
    /// before.
    pub fn read_all(
        &mut self,
        size: usize,
        buffers: &Arc<Buffers>,
        stop: &Stop,
    ) -> Result<Option<Text<'static>>, Error> {
        self.state = State::Done;
        let longest = buffers.longest();
        let (mut target, mut filled) = (size, 0);
        let mut buffer = buffers.take(target)?;
        loop {
            match self.feed.fill(&mut buffer[..target], &mut filled, stop)? {
                Filled::Stopped => return Ok(None),
                Filled::Ended => break,
                Filled::Full if target == longest => match self.feed.fill(&mut [0], &mut 0, stop)? {
                    Filled::Ended => break,
                    Filled::Stopped => return Ok(None),
                    Filled::Full | Filled::Quiet => {
                        let (name, limit) = (self.name.to_string(), longest);
                        return Err(InputError::RecordTooLong { name, line: 0, limit }.into());
                    }
                },
                Filled::Full => {
                    target = (2 * target).min(longest);
                    buffer.grow(target, filled)?;
                }
                Filled::Quiet => {}
            }
        }
        let marked = self.is_begin && buffer[..filled].starts_with(BYTE_ORDER_MARK);
        let start = if marked { BYTE_ORDER_MARK.len() } else { 0 };
        Ok((start < filled).then(|| Text::lent(buffer, start..filled, start as ByteOffset)))
    }

    /// The next partition; `None` at the end, or once `stop` is set. It has about `size` bytes. It has more
    /// only if one line has. It may have fewer if the input may wait, and brought whole lines and then
    /// nothing for a while, or brought them slowly.
    ///
    /// A read that fails loses nothing before it: the whole lines that were read come first, then the error.
    pub fn next(
        &mut self,
        size: usize,
        buffers: &Arc<Buffers>,
        stop: &Stop,
    ) -> Result<Option<Text<'static>>, Error> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Reading => {}
            State::Failed(error) => return Err(error.into()),
            State::Done => return Ok(None),
        }
        let mut filled = self.carry.len();
        let longest = buffers.longest();
        let mut target = size.max(filled);
        // Bytes of the buffer that are known to contain no newline.
        let mut searched = 0;
        let mut buffer = buffers.take(target)?;
        buffer[..filled].copy_from_slice(&self.carry);
        self.carry.clear();
        let end = loop {
            let ended = match self.feed.fill(&mut buffer[..target], &mut filled, stop) {
                Ok(Filled::Stopped) => return Ok(None),
                Ok(reason) => reason == Filled::Ended,
                Err(error) => {
                    self.state = State::Failed(error);
                    // The last line may be cut at any byte. Only lines that end with a newline are evaluated.
                    break memrchr(b'\n', &buffer[..filled]).map_or(0, |at| at + 1);
                }
            };
            if ended {
                break filled;
            }
            if let Some(at) = memrchr(b'\n', &buffer[searched..filled]) {
                let end = searched + at + 1;
                self.carry.extend_from_slice(&buffer[end..filled]);
                self.state = State::Reading;
                break end;
            }
            // One line is longer than a partition. The partition grows to hold it.
            if filled < target {
                continue;
            }
            if target == longest {
                match self.feed.fill(&mut [0], &mut 0, stop)? {
                    Filled::Ended => break filled,
                    Filled::Stopped => return Ok(None),
                    Filled::Full | Filled::Quiet => {}
                }
                // The caller counts lines and fills in the number.
                let name = self.name.to_string();
                return Err(InputError::RecordTooLong { name, line: 0, limit: longest }.into());
            }
            searched = filled;
            target = (2 * target).min(longest);
            buffer.grow(target, filled)?;
        };
        let marked = self.is_begin && self.offset == 0 && buffer[..end].starts_with(BYTE_ORDER_MARK);
        let start = if marked { BYTE_ORDER_MARK.len() } else { 0 };
        let offset = self.offset + start as u64;
        self.offset += end as u64;
        if start < end {
            return Ok(Some(Text::lent(buffer, start..end, offset)));
        }
        match std::mem::replace(&mut self.state, State::Done) {
            State::Failed(error) => Err(error.into()),
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::super::source::OpenedSource;
    use super::*;
    use crate::input::source::Source;
    use warpath_cpu::Cpu;

    fn open(reader: Box<dyn Read + Send>) -> Sequence {
        match Source::Reader("test".into(), reader).open(1).unwrap() {
            OpenedSource::Sequence(sequence) => sequence,
            _ => panic!("a reader is no file"),
        }
    }

    fn partitions(text: &[u8], size: usize) -> Vec<Vec<u8>> {
        let mut sequence = open(Box::new(io::Cursor::new(text.to_vec())));
        let (buffers, stop) = (Buffers::new(Arc::new(Cpu)), Stop::default());
        let mut all = Vec::new();
        while let Some(text) = sequence.next(size, &buffers, &stop).unwrap() {
            assert_eq!(text.offset(), all.iter().map(|part: &Vec<u8>| part.len() as u64).sum::<u64>());
            all.push(text.bytes().to_vec());
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

    /// An input that never ends and is never quiet is handed on nevertheless. (`feed` has the test of longer
    /// waits.)
    #[test]
    fn a_line_does_not_wait_for_ever() {
        struct Endless;
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                buffer[..2].copy_from_slice(b"1\n");
                Ok(2)
            }
        }
        let (buffers, stop) = (Buffers::new(Arc::new(Cpu)), Stop::default());
        let mut sequence = open(Box::new(Endless)).with_latency(Duration::ZERO);
        let text = sequence.next(1 << 30, &buffers, &stop).unwrap().unwrap();
        assert_eq!(text.bytes(), b"1\n");
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
        let mut sequence = open(Box::new(Failing(io::Cursor::new(b"1\n22\n333".to_vec()))));
        let (buffers, stop) = (Buffers::new(Arc::new(Cpu)), Stop::default());
        assert_eq!(sequence.next(100, &buffers, &stop).unwrap().unwrap().bytes(), b"1\n22\n");
        assert!(matches!(sequence.next(100, &buffers, &stop), Err(Error::Input(InputError::Io { .. }))));
        assert!(sequence.next(100, &buffers, &stop).unwrap().is_none());
    }

    #[test]
    fn an_input_that_nobody_wants_is_not_waited_for() {
        struct Silent;
        impl Read for Silent {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                loop {
                    std::thread::park();
                }
            }
        }
        let mut sequence = open(Box::new(Silent));
        let (buffers, stop) = (Buffers::new(Arc::new(Cpu)), Stop::default());
        stop.set();
        assert!(sequence.next(100, &buffers, &stop).unwrap().is_none());
    }
}
