//! Sources that are read at an offset: files, memory, object stores.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use warpath_core::file::read_exact_at;

/// Bytes between two ranges that cost less than a request to an object store.
const GAP: u64 = 256 << 10;
/// Bytes between two ranges that cost less than a read of a file.
const NEAR_GAP: u64 = 16 << 10;
/// The most bytes that one read of several ranges has.
const MERGED: u64 = 64 << 20;

/// A source of bytes that is read at an offset, from any thread.
pub trait ReadAt: Send + Sync {
    /// The length in bytes.
    fn len(&self) -> u64;

    /// True if the source has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if each read is a request to another computer, which costs more than some more bytes.
    fn is_far(&self) -> bool {
        false
    }

    /// Fills a buffer with the bytes from `offset` on.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if the source ends before the buffer is full, and the errors of the
    /// source.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// The bytes of a range. A source in memory gives them without a copy.
    ///
    /// # Errors
    /// See [`ReadAt::read_at`].
    fn bytes_at(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let mut buffer = vec![0; len];
        self.read_at(offset, &mut buffer)?;
        Ok(buffer.into())
    }
}

/// The range as indices of memory of `size` bytes.
fn within(offset: u64, len: usize, size: usize) -> io::Result<Range<usize>> {
    let start = usize::try_from(offset).ok();
    let range = start.and_then(|start| Some(start..start.checked_add(len)?));
    range.filter(|range| range.end <= size).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

impl ReadAt for File {
    fn len(&self) -> u64 {
        self.metadata().map_or(0, |metadata| metadata.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        read_exact_at(self, buffer, offset)
    }
}

impl ReadAt for [u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        buffer.copy_from_slice(&self[within(offset, buffer.len(), <[u8]>::len(self))?]);
        Ok(())
    }
}

impl ReadAt for Vec<u8> {
    fn len(&self) -> u64 {
        ReadAt::len(self.as_slice())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        ReadAt::read_at(self.as_slice(), offset, buffer)
    }
}

impl ReadAt for Bytes {
    fn len(&self) -> u64 {
        ReadAt::len(self.as_ref())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        ReadAt::read_at(self.as_ref(), offset, buffer)
    }

    fn bytes_at(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        Ok(self.slice(within(offset, len, Bytes::len(self))?))
    }
}

impl<S: ReadAt + ?Sized> ReadAt for &S {
    fn len(&self) -> u64 {
        S::len(self)
    }

    fn is_far(&self) -> bool {
        S::is_far(self)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        S::read_at(self, offset, buffer)
    }

    fn bytes_at(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        S::bytes_at(self, offset, len)
    }
}

impl<S: ReadAt + ?Sized> ReadAt for Arc<S> {
    fn len(&self) -> u64 {
        S::len(self)
    }

    fn is_far(&self) -> bool {
        S::is_far(self)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        S::read_at(self, offset, buffer)
    }

    fn bytes_at(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        S::bytes_at(self, offset, len)
    }
}

/// The bytes of each range, in the order of `ranges`. Near ranges are read at once.
pub(super) fn fetch(source: &dyn ReadAt, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_unstable_by_key(|index| ranges[*index].start);
    let mut all = vec![Bytes::new(); ranges.len()];
    let (mut rest, gap) = (order.as_slice(), if source.is_far() { GAP } else { NEAR_GAP });
    while let Some(first) = rest.first() {
        let start = ranges[*first].start;
        let mut end = ranges[*first].end;
        let mut count = 1;
        for index in &rest[1..] {
            let range = &ranges[*index];
            if range.start > end.saturating_add(gap) || range.end.saturating_sub(start) > MERGED {
                break;
            }
            end = end.max(range.end);
            count += 1;
        }
        let len = usize::try_from(end.saturating_sub(start)).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let merged = source.bytes_at(start, len)?;
        let (now, later) = rest.split_at(count);
        for index in now {
            let range = &ranges[*index];
            // No overflow: the range lies between `start` and `end`.
            all[*index] = merged.slice((range.start - start) as usize..(range.end - start) as usize);
        }
        rest = later;
    }
    Ok(all)
}
