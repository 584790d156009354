//! A part of a store whose bytes are read by ranges, from a storage that is no disk.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use warpath_folder::Storage;
use warpath_part::file::{Error as PartError, ReadAt, Reader};

/// A part of a store in another storage than a disk, for example an object. Only the ranges of its bytes that
/// a command needs are read.
///
/// [`Store::sources`](crate::store::Store::sources) makes these inputs.
///
/// ```
/// use warpath::Source;
/// use warpath::store::StoredFile;
///
/// fn names(parts: &[StoredFile]) -> Vec<String> {
///     parts.iter().map(|part| Source::Stored(part.clone()).name()).collect()
/// }
///
/// assert!(names(&[]).is_empty());
/// ```
#[derive(Clone)]
pub struct StoredFile {
    name: Arc<str>,
    bytes: Arc<Ranges>,
    /// The part after it was opened. Copies of this value share it, so that its end is read once.
    opened: Arc<OnceLock<Arc<Reader>>>,
}

impl StoredFile {
    /// A file of a storage, of this size.
    pub(crate) fn new(storage: Arc<dyn Storage>, file: String, size: u64) -> Self {
        let name = storage.shown(&file).into();
        Self { name, bytes: Arc::new(Ranges { storage, file, size }), opened: Arc::default() }
    }

    /// The URL, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.bytes.size
    }

    /// The part, opened at most once.
    ///
    /// # Errors
    /// The errors of the part. The next call then tries again.
    pub(crate) fn open(&self) -> Result<Arc<Reader>, PartError> {
        if let Some(reader) = self.opened.get() {
            return Ok(reader.clone());
        }
        let reader = Arc::new(Reader::open_shared(self.bytes.clone())?);
        Ok(self.opened.get_or_init(|| reader).clone())
    }
}

/// The bytes of a file of a storage.
struct Ranges {
    storage: Arc<dyn Storage>,
    file: String,
    size: u64,
}

impl Ranges {
    fn read(&self, range: Range<u64>) -> std::io::Result<Vec<u8>> {
        let len = range.end.saturating_sub(range.start);
        let bytes = self.storage.read_range(&self.file, range)?;
        match bytes.len() as u64 == len {
            true => Ok(bytes),
            false => Err(std::io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn range(&self, offset: u64, len: usize) -> std::io::Result<Range<u64>> {
        let end = offset.checked_add(len as u64).filter(|end| *end <= self.size);
        end.map(|end| offset..end).ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
    }
}

impl ReadAt for Ranges {
    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        buffer.copy_from_slice(&self.read(self.range(offset, buffer.len())?)?);
        Ok(())
    }

    fn bytes_at(&self, offset: u64, len: usize) -> std::io::Result<Bytes> {
        Ok(self.read(self.range(offset, len)?)?.into())
    }

    fn is_far(&self) -> bool {
        true
    }
}
