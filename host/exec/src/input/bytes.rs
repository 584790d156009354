//! Bytes in memory, as an input: owned or borrowed, and never copied to be read as lines.

use std::fmt;
use std::sync::Arc;

use memchr::{memchr, memrchr};
use warpath_core::error::{Error, InputError};
use warpath_core::foreign::Foreign;
use warpath_shared::units::MAX_PARTITION_BYTES;

use super::decoded::Compression;
use super::text::{BYTE_ORDER_MARK, Text};

/// Bytes in memory that an engine reads ([`Engine::bytes`](crate::engine::Engine::bytes)).
///
/// Slices and texts are borrowed. Vectors, strings and shared slices are owned, and so is every other owner
/// of bytes ([`shared`](Self::shared)). A clone shares the bytes.
///
/// ```
/// use std::sync::Arc;
///
/// use warpath::{Engine, InputBytes, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let (engine, query) = (Engine::builder().build()?, Query::compile("$.id")?);
/// let text = "{\"id\":1}\n{\"id\":2}\n";
/// assert_eq!(engine.bytes(text).count(&query)?, 2);
/// assert_eq!(engine.bytes(text.as_bytes()).count(&query)?, 2);
/// assert_eq!(engine.bytes(text.to_owned()).count(&query)?, 2);
/// let shared: Arc<[u8]> = text.as_bytes().into();
/// assert_eq!(engine.bytes(shared).count(&query)?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct InputBytes<'a>(Form<'a>);

#[derive(Clone)]
enum Form<'a> {
    Borrowed(&'a [u8]),
    Shared(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

impl<'a> InputBytes<'a> {
    /// Borrowed bytes.
    ///
    /// ```
    /// let bytes = warpath::InputBytes::borrowed(b"{}\n");
    /// assert_eq!(bytes.len(), 3);
    /// ```
    #[must_use]
    pub fn borrowed(bytes: &'a [u8]) -> Self {
        Self(Form::Borrowed(bytes))
    }

    /// The bytes of any owner, such as `bytes::Bytes` or a memory map. They are not copied, and must not
    /// change while they are an input.
    ///
    /// ```
    /// use std::borrow::Cow;
    ///
    /// struct Message(Cow<'static, str>);
    ///
    /// impl AsRef<[u8]> for Message {
    ///     fn as_ref(&self) -> &[u8] {
    ///         self.0.as_bytes()
    ///     }
    /// }
    ///
    /// let bytes = warpath::InputBytes::shared(Message("{\"id\":1}".into()));
    /// assert_eq!(bytes.len(), 8);
    /// ```
    #[must_use]
    pub fn shared(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self(Form::Shared(Arc::new(owner)))
    }

    /// The bytes without their lifetime, if they are owned, or else the borrowed slice.
    pub(crate) fn into_shared(self) -> Result<InputBytes<'static>, &'a [u8]> {
        match self.0 {
            Form::Borrowed(bytes) => Err(bytes),
            Form::Shared(owner) => Ok(InputBytes(Form::Shared(owner))),
        }
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_ref().len()
    }

    /// True if there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if the bytes are text: neither compressed nor packed.
    ///
    /// # Errors
    /// [`InputError::Foreign`] if they are in another known format.
    pub(crate) fn is_plain(&self, name: &str) -> Result<bool, InputError> {
        let bytes = self.as_ref();
        let head = &bytes[..bytes.len().min(Foreign::HEAD_BYTES)];
        match (Compression::of(head), Foreign::of(head)) {
            (Compression::None, Some(format)) => Err(InputError::Foreign { name: name.to_owned(), format }),
            (compression, _) => Ok(compression == Compression::None),
        }
    }

    /// The number of bytes of text that is not compressed; otherwise 0.
    pub(crate) fn plain_bytes(&self) -> u64 {
        if self.is_plain("").unwrap_or(false) { self.len() as u64 } else { 0 }
    }

    /// All bytes after a byte order mark, as one text.
    pub(crate) fn whole(&self) -> Text<'a> {
        let begin = self.text_begin();
        Text::held(self.clone(), begin..self.len())
    }

    /// The offset at which the text begins: after a byte order mark, if there is one.
    fn text_begin(&self) -> usize {
        if self.as_ref().starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
    }
}

impl AsRef<[u8]> for InputBytes<'_> {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Form::Borrowed(bytes) => bytes,
            Form::Shared(owner) => (**owner).as_ref(),
        }
    }
}

impl fmt::Debug for InputBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InputBytes({} bytes)", self.len())
    }
}

impl<'a> From<&'a [u8]> for InputBytes<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::borrowed(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for InputBytes<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::borrowed(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for InputBytes<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::borrowed(bytes)
    }
}

impl<'a> From<&'a str> for InputBytes<'a> {
    fn from(text: &'a str) -> Self {
        Self::borrowed(text.as_bytes())
    }
}

impl<'a> From<&'a String> for InputBytes<'a> {
    fn from(text: &'a String) -> Self {
        Self::borrowed(text.as_bytes())
    }
}

impl From<Vec<u8>> for InputBytes<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::shared(bytes)
    }
}

impl From<String> for InputBytes<'_> {
    fn from(text: String) -> Self {
        Self::shared(text)
    }
}

impl From<Box<[u8]>> for InputBytes<'_> {
    fn from(bytes: Box<[u8]>) -> Self {
        Self::shared(bytes)
    }
}

impl From<Arc<[u8]>> for InputBytes<'_> {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self::shared(bytes)
    }
}

/// The lines of bytes in memory, one partition after the other.
pub(crate) struct HeldLines<'a> {
    name: Arc<str>,
    bytes: InputBytes<'a>,
    /// The offset at which the next partition begins.
    at: usize,
}

impl<'a> HeldLines<'a> {
    pub fn new(name: Arc<str>, bytes: InputBytes<'a>) -> Self {
        Self { name, at: bytes.text_begin(), bytes }
    }

    /// True if there may be another partition.
    pub fn may_go_on(&self) -> bool {
        self.at < self.bytes.len()
    }

    /// The next partition; `None` at the end. It has about `size` bytes, and more only if one line has.
    pub fn next(&mut self, size: usize) -> Result<Option<Text<'a>>, Error> {
        self.next_within(size, MAX_PARTITION_BYTES)
    }

    fn next_within(&mut self, size: usize, limit: usize) -> Result<Option<Text<'a>>, Error> {
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
        Ok((len > 0).then(|| Text::held(self.bytes.clone(), begin..begin + len)))
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
