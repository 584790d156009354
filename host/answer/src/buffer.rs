//! Host memory that partitions are read into.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Bytes in host memory, of the kind that a backend reads best.
pub struct Buffer(Box<dyn DerefMut<Target = [u8]> + Send + Sync>);

impl Buffer {
    /// Wraps memory of the caller as a buffer.
    #[must_use]
    pub fn new(memory: impl DerefMut<Target = [u8]> + Send + Sync + 'static) -> Self {
        Self(Box::new(memory))
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len())
    }
}
