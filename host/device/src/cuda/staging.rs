//! Pinned memory of a queue, through which short copies go.

use std::sync::Arc;

use cust::context::Context;
use warpath_core::error::Error;

use super::pages::Allocated;

/// Bytes of pinned memory that a queue has for small copies to the device.
pub(super) const STAGED_UPLOADS: usize = 16 << 10;
/// Bytes of pinned memory that a queue has for copies back: at first, and at most. Larger copies are split
/// into parts, because all queues share the driver's own path to memory that is not pinned.
const STAGED_DOWNLOADS: (usize, usize) = (64 << 10, 1 << 20);

/// The alignment of arrays in the pinned memory.
pub(super) const STAGED_ALIGNMENT: usize = 64;

/// Pinned memory for copies, allocated at the first copy.
#[derive(Default)]
pub(super) struct Staging {
    /// Memory for uploads, followed by memory for small downloads.
    small: Option<Allocated>,
    /// Bytes used for uploads since the last wait for the stream.
    pub used: usize,
    /// Memory for larger downloads.
    large: Option<Allocated>,
}

impl Staging {
    /// Returns the next `len` bytes for uploads. The caller keeps the sum within the memory for uploads.
    pub fn upload(&mut self, context: &Arc<Context>, len: usize) -> Result<&mut [u8], Error> {
        let used = self.used;
        self.used += len;
        Ok(&mut self.small(context)?[used..used + len])
    }

    /// Returns memory for a copy of `len` bytes, or for its largest part.
    pub fn download(&mut self, context: &Arc<Context>, len: usize) -> Result<&mut [u8], Error> {
        let (first, most) = STAGED_DOWNLOADS;
        if len <= first {
            return Ok(&mut self.small(context)?[STAGED_UPLOADS..]);
        }
        Self::at_least(&mut self.large, context, len.next_power_of_two().min(most))
    }

    fn small(&mut self, context: &Arc<Context>) -> Result<&mut [u8], Error> {
        Self::at_least(&mut self.small, context, STAGED_UPLOADS + STAGED_DOWNLOADS.0)
    }

    fn at_least<'a>(
        memory: &'a mut Option<Allocated>,
        context: &Arc<Context>,
        len: usize,
    ) -> Result<&'a mut [u8], Error> {
        let made = match memory.take().filter(|memory| memory.len() >= len) {
            Some(memory) => memory,
            None => Allocated::new(context, len)?,
        };
        Ok(memory.insert(made))
    }
}

/// Copies from the staging memory to the targets. Each target has its offset in the staging memory.
pub(super) fn take_staged(under_way: &mut Vec<(usize, &mut [u8])>, staged: &[u8]) {
    for (begin, to) in under_way.drain(..) {
        to.copy_from_slice(&staged[begin..begin + to.len()]);
    }
}
