//! Buffers that partitions are read into, in the memory that the backend reads best, used again and again.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use warpath_backend::backend::{Backend, Buffer};
use warpath_core::error::Error;

/// How many times as long as a partition a buffer may be that is kept. Where every line is about as long as a partition, a
/// buffer has to hold two; to make it anew for each took five times as long as to read (records of 1 MB, 105 MB on two
/// cores: 0.21 s of reading in place of 0.04).
const KEPT: usize = 4;

/// Where buffers come from and go back to.
pub(crate) struct Buffers {
    backend: Arc<dyn Backend>,
    free: Mutex<Vec<Buffer>>,
    /// The longest that a partition needs.
    usual: AtomicUsize,
}

impl Buffers {
    pub fn new(backend: Arc<dyn Backend>) -> Arc<Self> {
        Arc::new(Self { backend, free: Mutex::default(), usual: AtomicUsize::new(0) })
    }

    /// A buffer of `len` bytes at least, with anything in it: the one that was used last, which is in some cache.
    pub fn take(self: &Arc<Self>, len: usize) -> Result<Lent, Error> {
        self.usual.fetch_max(len, Ordering::Relaxed);
        self.take_long(len)
    }

    /// As [`take`](Self::take), for a line that is longer than a partition: what is made for it is not kept.
    pub fn take_long(self: &Arc<Self>, len: usize) -> Result<Lent, Error> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let buffer = match free.filter(|buffer| buffer.len() >= len) {
            Some(buffer) => buffer,
            None => self.backend.buffer(len)?,
        };
        Ok(Lent { buffer: Some(buffer), home: self.clone() })
    }
}

/// A buffer that goes back when it is dropped.
pub(crate) struct Lent {
    /// Always there before the drop.
    buffer: Option<Buffer>,
    home: Arc<Buffers>,
}

impl Lent {
    /// Makes the buffer `len` bytes long at least, and keeps the first `keep` of them.
    pub fn grow(&mut self, len: usize, keep: usize) -> Result<(), Error> {
        if self.len() < len {
            // Lines that grow do so again.
            let mut larger = self.home.backend.buffer(len.max(2 * self.len()))?;
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
        // What has grown for a long line is not kept.
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
