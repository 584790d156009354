//! A text of which only what is looked at is read: by an index, a record that is much longer than a page is passed over in steps.
//!
//! ```text
//! text     |{"id":1,"before":[...................................],"user":{"lang":"nl"},"after":[......|
//! pages    |  read  |        |        |        |        |        |  read  |        |        |  read  |
//! ```

use std::cell::{Cell, RefCell};

use warpath_shared::query::document::{Document, Text};
use warpath_shared::units::{Level, PartOffset, words_for};

use super::layout::Entry;
use crate::input::PlainFile;
use warpath_backend::answer::Answer;
use warpath_core::error::Error;

/// Bytes that are read at once where one is looked at: a page.
const PAGE_BYTES: usize = 4 << 10;
/// Pages that are read at once where many are wanted.
const MOST_PAGES: usize = 16;
/// Lines are passed over in steps where they are longer than this, on average. A system call for a page takes as long as to read
/// some 8 KiB beside others, and a program looks at several pages of a record.
const LONG: usize = 64 << 10;

/// Whether reading what is looked at takes less time than reading everything.
pub(super) fn pays(entry: &Entry) -> bool {
    entry.len as usize >= LONG * entry.lines as usize
}

/// A partition's text, partly read, with its leveled bitmaps.
pub(super) struct Sparse<'a> {
    file: &'a PlainFile,
    /// Where the text begins in the file.
    offset: u64,
    text: &'a [Cell<u8>],
    levels: &'a [u64],
    /// A bit for each page: whether it has been read.
    read: Vec<Cell<u64>>,
    /// The first error. What could not be read is seen as it stands in the buffer, and the answer is not given out.
    failed: RefCell<Option<Error>>,
}

impl<'a> Sparse<'a> {
    /// A text of which nothing has been read. What the buffer holds is never seen.
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

    /// Reads a stretch of the text, unless it has been read.
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

    /// Reads the matches of an answer, so that they may be shown.
    ///
    /// # Errors
    /// The first error there was, of reads before, too.
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
}

impl Document for Sparse<'_> {
    #[inline(always)]
    fn level_word(&self, level: Level, word: u32) -> u64 {
        self.levels[level as usize * words_for(self.text.len()) + word as usize]
    }
}
