//! Bytes in memory as the text of an input, which is not copied.

use std::sync::Arc;

use memchr::{memchr, memrchr};
use warpath_core::error::{Error, InputError};
use warpath_core::foreign::Foreign;
use warpath_shared::units::{ByteOffset, MAX_PARTITION_BYTES};

use super::bytes::InputBytes;
use super::decoded::Compression;
use super::text::{BYTE_ORDER_MARK, Text};

/// True if bytes are text, and not compressed.
///
/// # Errors
/// [`InputError::Foreign`] if they are in another known format.
pub(crate) fn is_plain(bytes: &InputBytes<'_>, name: &str) -> Result<bool, InputError> {
    let bytes = bytes.as_ref();
    let head = &bytes[..bytes.len().min(Foreign::HEAD_BYTES)];
    match (Compression::of_input(head, name), Foreign::of(head)) {
        (Compression::None, Some(format)) => Err(InputError::Foreign { name: name.to_owned(), format }),
        (compression, _) => Ok(compression == Compression::None),
    }
}

/// All bytes after a byte order mark, as one text.
pub(crate) fn whole<'a>(bytes: &InputBytes<'a>) -> Text<'a> {
    Text::held(bytes.clone(), text_begin(bytes)..bytes.len())
}

/// The offset at which the text begins: after a byte order mark, if there is one.
fn text_begin(bytes: &InputBytes<'_>) -> usize {
    if bytes.as_ref().starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}

/// The lines of bytes in memory, one partition after the other.
pub(crate) struct HeldLines<'a> {
    name: Arc<str>,
    bytes: InputBytes<'a>,
    /// The offset at which the next partition begins.
    at: usize,
    /// The offset of the bytes in the input.
    offset: ByteOffset,
}

impl<'a> HeldLines<'a> {
    pub fn new(name: Arc<str>, bytes: InputBytes<'a>) -> Self {
        Self { name, at: text_begin(&bytes), bytes, offset: 0 }
    }

    /// Lines that begin at an offset of the input. With `is_begin`, a byte order mark there is left out.
    #[cfg(feature = "store")]
    pub fn within(name: Arc<str>, bytes: InputBytes<'a>, offset: ByteOffset, is_begin: bool) -> Self {
        let at = if is_begin { text_begin(&bytes) } else { 0 };
        Self { name, at, bytes, offset }
    }

    /// Leaves out the lines that end before a byte.
    #[cfg(feature = "store")]
    pub fn skip_to(&mut self, byte: usize) {
        self.at = self.at.max(byte);
    }

    /// True if there may be another partition.
    pub fn may_go_on(&self) -> bool {
        self.at < self.bytes.len()
    }

    /// The next partition; `None` at the end. It has about `size` bytes, and more only if one line has.
    pub fn next(&mut self, size: usize) -> Result<Option<Text<'a>>, Error> {
        self.next_within(size, MAX_PARTITION_BYTES)
    }

    /// The next partition, as with [`next`](Self::next). A line of more than `limit` bytes is an error.
    pub fn next_within(&mut self, size: usize, limit: usize) -> Result<Option<Text<'a>>, Error> {
        let all = self.bytes.as_ref();
        let (begin, rest) = (self.at, all.get(self.at..).unwrap_or_default());
        let first = &rest[..rest.len().min(size)];
        let len = match memrchr(b'\n', first) {
            _ if first.len() == rest.len() => rest.len(),
            Some(newline) => newline + 1,
            None => {
                let most = &rest[..rest.len().min(limit)];
                match memchr(b'\n', &most[first.len()..]) {
                    Some(newline) => first.len() + newline + 1,
                    None if most.len() == rest.len() => rest.len(),
                    None => {
                        self.at = all.len();
                        // The caller counts lines and fills in the number.
                        let name = self.name.to_string();
                        return Err(InputError::RecordTooLong { name, line: 0, limit }.into());
                    }
                }
            }
        };
        self.at += len;
        Ok((len > 0).then(|| Text::held(self.bytes.clone(), begin..begin + len).after(self.offset)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partitions(text: &[u8], size: usize, limit: usize) -> (Vec<Vec<u8>>, Option<Error>) {
        let mut lines = HeldLines::new("test".into(), text.into());
        let mut all: Vec<Vec<u8>> = Vec::new();
        loop {
            match lines.next_within(size, limit) {
                Ok(Some(text)) => {
                    assert_eq!(text.offset(), all.iter().map(|part| part.len() as u64).sum::<u64>());
                    all.push(text.bytes().to_vec());
                }
                Ok(None) => return (all, None),
                Err(error) => return (all, Some(error)),
            }
        }
    }

    #[test]
    fn every_size_keeps_every_line_whole() {
        let text = b"one\ntwo\n\nthree is longer\nx\nlast without newline";
        for size in 1..=text.len() + 2 {
            let (all, error) = partitions(text, size, MAX_PARTITION_BYTES);
            assert!(error.is_none());
            assert_eq!(all.concat(), text, "size {size}");
            let (last, before) = all.split_last().unwrap();
            assert!(!last.is_empty());
            assert!(before.iter().all(|part| part.ends_with(b"\n")), "size {size}");
        }
        assert!(partitions(b"", 4, 9).0.is_empty());
    }

    #[test]
    fn a_line_beyond_the_limit_is_an_error_after_the_lines_before_it() {
        let (all, error) = partitions(b"one\n12345\n", 2, 5);
        assert_eq!(all, [b"one\n"]);
        assert!(matches!(error, Some(Error::Input(InputError::RecordTooLong { limit: 5, .. }))));
        assert_eq!(partitions(b"one\n1234\n", 2, 5).0.len(), 2);
        assert_eq!(partitions(b"one\n12345", 2, 5).0.len(), 2);
    }

    #[test]
    fn a_byte_order_mark_is_left_out() {
        let mut lines = HeldLines::new("test".into(), b"\xef\xbb\xbf1\n2\n".into());
        let text = lines.next(100).unwrap().unwrap();
        assert_eq!((text.bytes(), text.offset()), (&b"1\n2\n"[..], 3));
        assert!(lines.next(100).unwrap().is_none());
    }
}
