//! The bytes of a bitmap index, mapped from a file or in memory, and their transfer to a file.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;
use warpath_core::error::IndexError;
use warpath_core::file::read_exact_at;
use warpath_core::plain::{self, Plain};
use warpath_core::temporary::{OutputMode, Temporary};

use super::layout::{self, HEADER_BYTES, VERSION};

// Numbers are read in place.
#[cfg(target_endian = "big")]
compile_error!("bitmap indexes are little-endian; hosts of another order are not supported");

/// All bytes of an index.
pub enum Image {
    /// The bytes of a mapped file. The first access to a page reads it. Mapping the pages of a block of
    /// values at once (`MADV_POPULATE_READ`) was slower: 7.7 ms instead of 2.5 for 48 MB, with sixteen
    /// threads.
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

    /// Returns the numbers of a range that [`layout`] computed: within the file, and aligned.
    pub fn numbers<T: Plain>(&self, place: &Range<usize>) -> &[T] {
        let bytes = self.bytes().get(place.clone()).unwrap_or_default();
        let numbers = plain::elements(bytes).unwrap_or_default();
        debug_assert_eq!(size_of_val(numbers), bytes.len(), "{place:?} is not aligned");
        numbers
    }

    /// Maps the index of this name, after a check of its first bytes.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        let name = path.display().to_string();
        let failed = |source| IndexError::Io { name: name.clone(), source };
        let metadata = path.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        // Opening a pipe would wait until another process writes to it.
        if !metadata.is_file() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file")));
        }
        let file = File::open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        let mut head = [0; HEADER_BYTES];
        let there = HEADER_BYTES.min(usize::try_from(len).unwrap_or(HEADER_BYTES));
        read_exact_at(&file, &mut head[..there], 0).map_err(failed)?;
        if !layout::is_index(&head[..there]) {
            return Err(IndexError::NotAnIndex { name });
        }
        if there < HEADER_BYTES {
            return Err(IndexError::Damaged { name, what: "it ends in its header".into() });
        }
        // Another version may have another header, so the version is compared before the checksum.
        let found = layout::version(&head);
        if found != VERSION {
            return Err(IndexError::Version { name, found, known: VERSION });
        }
        // SAFETY: docs/bitmap-file.md forbids writes to an index while it is open, and Warpath itself renames
        // a new index over the old one. A process that writes nevertheless causes wrong results, or a signal
        // where the file becomes shorter.
        Ok(Self::Mapped(unsafe { Mmap::map(&file) }.map_err(failed)?))
    }

    /// Writes the bytes to a temporary file beside `path`, and renames that file.
    pub fn write(&self, path: &Path, mode: OutputMode) -> io::Result<()> {
        let (temporary, mut out) = Temporary::beside(path, mode)?;
        out.write_all(self.bytes())?;
        temporary.rename()
    }
}
