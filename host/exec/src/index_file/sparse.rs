//! A text of which only the needed pages are read. With an index, a record that is much longer than a page is
//! skipped in steps.
//!
//! ```text
//! text     |{"id":1,"before":[...................................],"user":{"lang":"nl"},"after":[......|
//! pages    |  read  |        |        |        |        |        |  read  |        |        |  read  |
//! ```

use std::cell::{Cell, RefCell};

use warpath_answer::answer::Answer;
use warpath_core::cancel::is_stopped;
use warpath_core::error::Error;
use warpath_shared::query::document::{Document, Text};
use warpath_shared::units::{Level, PartOffset, words_for};

use super::layout::PartitionEntry;
use crate::input::PlainFile;

/// Bytes that are read at once when one of them is needed: a page.
const PAGE_BYTES: usize = 4 << 10;
/// The most pages that are read at once, when many are needed.
const MOST_PAGES: usize = 16;
/// The average length of lines above which they are skipped in steps. A system call for a page costs as much
/// as reading about 8 KiB in a larger read. A program needs several pages of a record.
const LONG: usize = 64 << 10;

/// True if reading only the needed pages takes less time than reading the whole text.
pub(super) fn pays(entry: &PartitionEntry) -> bool {
    entry.len as usize >= LONG * entry.lines as usize
}

/// A partition's text, partly read, with its leveled bitmaps.
pub(super) struct Sparse<'a> {
    file: &'a PlainFile,
    /// The offset of the text in the file.
    offset: u64,
    text: &'a [Cell<u8>],
    levels: &'a [u64],
    /// One bit for each page, set if the page has been read.
    read: Vec<Cell<u64>>,
    /// The first error. A page that could not be read keeps the old bytes of the buffer, and the result is
    /// not yielded.
    failed: RefCell<Option<Error>>,
}

impl<'a> Sparse<'a> {
    /// A text of which no page has been read. The old bytes of the buffer are never used.
    pub fn new(file: &'a PlainFile, offset: u64, buffer: &'a mut [u8], levels: &'a [u64]) -> Self {
        let pages = buffer.len().div_ceil(PAGE_BYTES);
        let read = vec![Cell::new(0); pages.div_ceil(64)];
        let text = Cell::from_mut(buffer).as_slice_of_cells();
        Self { file, offset, text, levels, read, failed: RefCell::default() }
    }

    fn is_read(&self, page: usize) -> bool {
        self.read[page / 64].get() >> (page % 64) & 1 == 1
    }

    /// Reads pages `first..end`.
    #[cold]
    fn load(&self, first: usize, end: usize) {
        let (from, to) = (first * PAGE_BYTES, (end * PAGE_BYTES).min(self.text.len()));
        let mut bytes = [0; MOST_PAGES * PAGE_BYTES];
        let bytes = &mut bytes[..to - from];
        match self.file.read_exact(bytes, self.offset + from as u64) {
            Ok(()) => self.text[from..to].iter().zip(bytes).for_each(|(cell, byte)| cell.set(*byte)),
            Err(error) => drop(self.failed.borrow_mut().get_or_insert(error)),
        }
        for page in first..end {
            let word = &self.read[page / 64];
            word.set(word.get() | 1 << (page % 64));
        }
    }

    /// Reads the pages of a range of the text, unless they have been read.
    fn want(&self, start: usize, end: usize) {
        let (mut page, end) = (start / PAGE_BYTES, end.div_ceil(PAGE_BYTES));
        while page < end {
            let unread = (page..end).take(MOST_PAGES).take_while(|page| !self.is_read(*page)).count();
            if unread > 0 {
                self.load(page, page + unread);
            }
            page += unread.max(1);
        }
    }

    /// Reads the matches of a result, so that they may be shown.
    ///
    /// # Errors
    /// The first error of this read or of any earlier one.
    pub fn read_matches(self, answer: &Answer) -> Result<(), Error> {
        for piece in &answer.pieces {
            for found in piece.matches.iter().flatten() {
                self.want((piece.base + found.start) as usize, (piece.base + found.end) as usize);
            }
        }
        self.failed.into_inner().map_or(Ok(()), Err)
    }
}

impl Text for Sparse<'_> {
    #[inline(always)]
    fn byte(&self, at: PartOffset) -> u8 {
        let page = at as usize / PAGE_BYTES;
        if !self.is_read(page) {
            self.load(page, page + 1);
        }
        self.text[at as usize].get()
    }

    fn is_stopped(&self) -> bool {
        is_stopped()
    }
}

impl Document for Sparse<'_> {
    #[inline(always)]
    fn level_word(&self, level: Level, word: u32) -> u64 {
        self.levels[level as usize * words_for(self.text.len()) + word as usize]
    }
}
