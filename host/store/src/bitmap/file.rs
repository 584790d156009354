//! The bytes of a bitmap index, mapped from its file or in memory, and how they get there.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;

use super::layout::{self, HEADER_BYTES, VERSION};
use warpath_core::error::IndexError;
use warpath_core::file::read_exact_at;
use warpath_core::plain::{self, Plain};
use warpath_core::temporary::{OutputMode, Temporary};

// Numbers are read where they stand.
#[cfg(target_endian = "big")]
compile_error!("bitmap indexes are little-endian, and are not turned round");

/// All bytes of an index.
pub enum Image {
    /// Of a file. A page is read when something on it is first looked at. To map the pages of a block of values at once (`MADV_POPULATE_READ`) took sixteen
    /// threads three times as long as that: 7.7 ms in place of 2.5 for 48 MB.
    Mapped(Mmap),
    /// In memory.
    Owned(Vec<u64>),
}

impl Image {
    /// All bytes of the index.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(words) => plain::bytes(words),
        }
    }

    /// Numbers in a place that [`layout`] gave: within the file, and aligned.
    pub fn numbers<T: Plain>(&self, place: &Range<usize>) -> &[T] {
        let bytes = self.bytes().get(place.clone()).unwrap_or_default();
        let numbers = plain::elements(bytes).unwrap_or_default();
        debug_assert_eq!(size_of_val(numbers), bytes.len(), "{place:?} is not aligned");
        numbers
    }

    /// Maps the index of this name, after a look at how it begins.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        let name = path.display().to_string();
        let failed = |source| IndexError::Io { name: name.clone(), source };
        let metadata = path.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        // To open a pipe is to wait until somebody writes to it.
        if !metadata.is_file() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "is no regular file")));
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
        // Another version may have another header: its checksum is nothing to go by.
        let found = layout::version(&head);
        if found != VERSION {
            return Err(IndexError::Version { name, found, known: VERSION });
        }
        // SAFETY: docs/bitmap-file.md says that nobody may write to an index while it is open; Warpath renames a new one into its place.
        // Whoever does it all the same gets wrong answers, or a signal where the file becomes shorter.
        Ok(Self::Mapped(unsafe { Mmap::map(&file) }.map_err(failed)?))
    }

    /// Writes it beside its place, and renames it.
    pub fn write(&self, path: &Path, mode: OutputMode) -> io::Result<()> {
        let (temporary, mut out) = Temporary::beside(path, mode)?;
        out.write_all(self.bytes())?;
        temporary.rename()
    }
}
