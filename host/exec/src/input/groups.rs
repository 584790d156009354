//! An input as groups of whole lines.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memrchr};
use warpath_core::error::{Error, InputError};
use warpath_shared::units::MAX_PARTITION_BYTES;

/// Reads an input as groups of whole lines.
pub(crate) struct LineGroups {
    name: String,
    reader: Box<dyn Read + Send>,
    /// Bytes that were read after the end of the last group.
    carry: Vec<u8>,
    is_ended: bool,
    /// The number of the next line, from 1 on.
    line: u64,
}

impl LineGroups {
    /// The lines of a reader.
    pub fn new(name: String, reader: Box<dyn Read + Send>) -> Self {
        Self { name, reader, carry: Vec::new(), is_ended: false, line: 1 }
    }

    /// The next lines, of at most `size` bytes; if the first line is longer, that line alone.
    pub fn next(&mut self, size: usize) -> Result<Option<Vec<u8>>, Error> {
        let mut text = std::mem::take(&mut self.carry);
        let (size, mut searched) = (size.max(1), 0);
        let mut target = size;
        loop {
            let missing = target.saturating_sub(text.len()) as u64;
            if !self.is_ended && missing > 0 {
                let read = self.reader.by_ref().take(missing).read_to_end(&mut text);
                let read = read.map_err(|source| self.failed(source))?;
                self.is_ended = (read as u64) < missing;
            }
            // A group ends at its last newline. If its first line is longer than `size`, it ends at its first
            // newline.
            let part = &text[searched..target.min(text.len())];
            let newline = if target > size { memchr(b'\n', part) } else { memrchr(b'\n', part) };
            let end = match newline {
                _ if target == size && self.is_ended && text.len() <= target => text.len(),
                Some(at) => searched + at + 1,
                None if self.is_ended && text.len() <= target => text.len(),
                None => 0,
            };
            if end > 0 || text.is_empty() {
                self.carry = text.split_off(end);
                self.line += memchr_iter(b'\n', &text).count() as u64;
                return Ok((!text.is_empty()).then_some(text));
            }
            // One line is longer than a group.
            searched = target.min(text.len());
            target = target.saturating_mul(2);
            if text.len() > MAX_PARTITION_BYTES {
                let (name, limit) = (self.name.clone(), MAX_PARTITION_BYTES);
                return Err(InputError::RecordTooLong { name, line: self.line, limit }.into());
            }
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        match source.downcast::<InputError>() {
            Ok(error) => error.into(),
            Err(source) => InputError::Io { name: self.name.clone(), source }.into(),
        }
    }
}
