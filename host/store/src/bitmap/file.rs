//! The bytes of a bitmap index, mapped from a file or in memory.

use std::fs::File;
use std::io;
use std::ops::Range;

use memmap2::{Mmap, MmapOptions};
use warpath_core::plain::{self, Plain};

use super::layout::ALIGN;

// Numbers are read in place.
#[cfg(target_endian = "big")]
compile_error!("bitmap indexes are little-endian; hosts of another order are not supported");

/// All bytes of an index.
pub enum Image {
    /// The bytes of a mapped range of a file. The first access to a page reads it. Mapping the pages of a
    /// block of values at once (`MADV_POPULATE_READ`) was slower: 7.7 ms instead of 2.5 for 48 MB, with
    /// sixteen threads.
    Mapped(Mmap),
    /// Bytes in memory.
    Owned(Vec<u64>),
}

impl Image {
    /// Returns all bytes of the index.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(words) => plain::bytes(words),
        }
    }

    /// Returns the numbers of a range that [`layout`](super::layout) computed: within the index, and aligned.
    pub fn numbers<T: Plain>(&self, place: &Range<usize>) -> &[T] {
        let bytes = self.bytes().get(place.clone()).unwrap_or_default();
        let numbers = plain::elements(bytes).unwrap_or_default();
        debug_assert_eq!(size_of_val(numbers), bytes.len(), "{place:?} is not aligned");
        numbers
    }

    /// Maps an index that is a range of a file.
    ///
    /// # Errors
    /// The errors of the file. A range that is not in the file, or is not aligned to 64 bytes, is
    /// [`io::ErrorKind::InvalidData`].
    pub fn map(file: &File, range: Range<u64>) -> io::Result<Self> {
        let odd = || io::Error::new(io::ErrorKind::InvalidData, "the section `bins` has no such bytes");
        let len = range.end.checked_sub(range.start).and_then(|len| usize::try_from(len).ok());
        let len = len.filter(|_| range.start.is_multiple_of(ALIGN as u64)).ok_or_else(odd)?;
        if range.end > file.metadata()?.len() {
            return Err(odd());
        }
        // SAFETY: docs/store.md forbids writes to an index while it is open, and Warpath itself renames
        // a new index over the old one. A process that writes nevertheless causes wrong results, or a signal
        // where the file becomes shorter.
        let map = unsafe { MmapOptions::new().offset(range.start).len(len).map(file) }?;
        Ok(Self::Mapped(map))
    }
}
