//! Buffers that partitions are read into. They are in the memory that the backend reads best, and are used
//! again and again.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use warpath_answer::backend::{Backend, Buffer};
use warpath_core::error::Error;
use warpath_cpu::text_memory;
use warpath_shared::units::MAX_PARTITION_BYTES;

/// The longest buffer that is kept, as a multiple of the usual length. If every line is about as long as a
/// partition, a buffer has to hold two. Making it again for each partition took five times as long as reading
/// (records of 1 MB, 105 MB on two cores: 0.21 s of reading instead of 0.04).
const KEPT: usize = 4;

/// The pool of buffers.
pub struct Buffers {
    backend: Arc<dyn Backend>,
    free: Mutex<Vec<Buffer>>,
    /// The greatest length that a partition needs.
    usual: AtomicUsize,
    /// The most bytes of a buffer.
    most: usize,
    /// The most bytes of a record.
    longest: usize,
    use_of: BufferUse,
}

/// The use of buffers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BufferUse {
    /// Each has one text after the other.
    Again,
    /// Texts are kept in their buffers ([`Lent::into_buffer`]).
    Kept,
    /// The same, and parts of plain files are not read into any buffer.
    KeptUnread,
}

impl Buffers {
    pub fn new(backend: Arc<dyn Backend>) -> Arc<Self> {
        Self::limited(backend, usize::MAX)
    }

    /// Buffers of at most `most` bytes each.
    pub fn limited(backend: Arc<dyn Backend>, most: usize) -> Arc<Self> {
        Self::for_records(backend, most, MAX_PARTITION_BYTES)
    }

    /// Buffers of at most `most` bytes each, for records of at most `longest` bytes.
    pub fn for_records(backend: Arc<dyn Backend>, most: usize, longest: usize) -> Arc<Self> {
        Arc::new(Self::made(backend, most, longest, BufferUse::Again))
    }

    /// Buffers in which most texts are kept, with memory that suits that. With `unread`, parts of plain files
    /// become texts that are still to be read ([`Text::unread`](super::Text::unread)).
    pub fn to_keep(backend: Arc<dyn Backend>, unread: bool) -> Arc<Self> {
        let use_of = if unread { BufferUse::KeptUnread } else { BufferUse::Kept };
        Arc::new(Self::made(backend, usize::MAX, MAX_PARTITION_BYTES, use_of))
    }

    fn made(backend: Arc<dyn Backend>, most: usize, longest: usize, use_of: BufferUse) -> Self {
        Self { backend, free: Mutex::default(), usual: AtomicUsize::new(0), most, longest, use_of }
    }

    /// True if parts of plain files are not read into buffers.
    pub fn are_unread(&self) -> bool {
        self.use_of == BufferUse::KeptUnread
    }

    /// The backend that reads the buffers.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// The most bytes of a record that is read.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The most bytes of a buffer.
    pub fn most(&self) -> usize {
        self.most
    }

    /// The error of a text that is longer than a buffer.
    pub fn no_room(&self, len: usize) -> Error {
        let (wanted, limit) = (len as u64, self.most as u64);
        Error::Memory { what: "the text of a partition or a record", wanted, limit }
    }

    /// A new buffer of at least `len` bytes, and `wanted` bytes if there may be as many.
    fn make(&self, len: usize, wanted: usize) -> Result<Buffer, Error> {
        if len > self.most {
            return Err(self.no_room(len));
        }
        let wanted = wanted.min(self.most);
        match self.use_of {
            BufferUse::Again => self.backend.buffer(wanted),
            BufferUse::Kept | BufferUse::KeptUnread => text_memory(&*self.backend, wanted),
        }
    }

    /// A buffer of at least `len` bytes, with arbitrary contents. It is the one that was used last, because
    /// that is in a cache.
    ///
    /// # Errors
    /// [`Error::Device`] where memory is short, and [`Error::Memory`] beyond the memory budget.
    pub fn take(self: &Arc<Self>, len: usize) -> Result<Lent, Error> {
        self.usual.fetch_max(len, Ordering::Relaxed);
        self.take_long(len)
    }

    /// A buffer of at least `len` bytes, as with [`take`](Self::take), and with `more` bytes, as far as a
    /// buffer may be as long.
    pub fn take_with(self: &Arc<Self>, len: usize, more: usize) -> Result<Lent, Error> {
        self.take((len + more).min(self.most).max(len))
    }

    /// A buffer like that of [`take`](Self::take), for a line that is longer than a partition. A buffer of
    /// such a length is not kept.
    pub fn take_long(self: &Arc<Self>, len: usize) -> Result<Lent, Error> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let buffer = match free.filter(|buffer| buffer.len() >= len) {
            Some(buffer) => buffer,
            None => self.make(len, len)?,
        };
        Ok(Lent { buffer: Some(buffer), home: self.clone() })
    }
}

/// A buffer that returns to its pool when it is dropped.
pub struct Lent {
    /// Always `Some` before the drop.
    buffer: Option<Buffer>,
    home: Arc<Buffers>,
}

impl Lent {
    /// The buffer, which does not return to its pool.
    pub fn into_buffer(mut self) -> Buffer {
        self.buffer.take().unwrap_or_else(|| Vec::new().into())
    }

    /// The most bytes to which the buffer may grow.
    pub fn most(&self) -> usize {
        self.home.most
    }

    /// Makes the buffer at least `len` bytes long, and keeps the first `keep` bytes.
    pub fn grow(&mut self, len: usize, keep: usize) -> Result<(), Error> {
        if self.len() < len {
            // A line that grows is likely to grow again.
            let mut larger = self.home.make(len, len.max(2 * self.len()))?;
            larger[..keep].copy_from_slice(&self[..keep]);
            self.buffer = Some(larger);
        }
        Ok(())
    }
}

impl Deref for Lent {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.buffer.as_deref().unwrap_or_default()
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.buffer.as_deref_mut().unwrap_or_default()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let usual = self.home.usual.load(Ordering::Relaxed);
        // A buffer that has grown for a long line is not kept.
        if let Some(buffer) = self.buffer.take().filter(|buffer| buffer.len() <= KEPT * usual) {
            self.home.free.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        }
    }
}

impl std::fmt::Debug for Lent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.buffer.fmt(f)
    }
}
