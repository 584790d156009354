//! Records of a batch, found by a line or by a byte, with their text.

use warpath_answer::answer::Piece;
use warpath_core::error::RecordError;
use warpath_shared::units::{LineIx, PartOffset};

use super::{Batch, in_input, record_error};
use crate::input::Extract;

/// A record of a batch, and a byte in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocatedRecord<'a> {
    /// The line in the input, counted from 1.
    pub line: u64,
    /// The byte in the line, counted from 1.
    pub byte: u64,
    /// The text of the record, without its newline. In a document, newlines outside strings are spaces.
    pub record: &'a [u8],
}

impl Batch<'_> {
    /// Returns the line in the input, counted from 1, of a line of a piece whose first line is `first`. `at`
    /// is the offset of a byte of that line in the piece.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn line_at(&self, piece: &Piece, first: u64, line: LineIx, at: PartOffset) -> u64 {
        match self.text.extract() {
            Some(Extract::Whole(whole)) => whole.place(piece.base as usize + at as usize).0,
            _ => self.line(first + u64::from(line)) + 1,
        }
    }

    /// Returns the record with a byte at offset `at` of a piece, which is in line `line` of the piece. The
    /// first line of the piece is `first`. The caller wanted records, so that the batch has its text.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn record_at(&self, piece: &Piece, first: u64, line: LineIx, at: PartOffset) -> LocatedRecord<'_> {
        let (text, at_text) = (self.text(), piece.base as usize + at as usize);
        if let Some(Extract::Whole(whole)) = self.text.extract() {
            let (line, before) = whole.place(at_text);
            return LocatedRecord { line, byte: before as u64 + 1, record: text };
        }
        let at_text = at_text.min(text.len());
        let start = memchr::memrchr(b'\n', &text[..at_text]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &text[at_text..]).map_or(text.len(), |len| at_text + len);
        LocatedRecord {
            line: self.line_at(piece, first, line, at),
            byte: (at_text - start) as u64 + 1,
            record: &text[start..end],
        }
    }

    /// Returns the malformed records that were skipped, in order, with their texts without newlines.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn skipped_records(&self) -> Vec<(RecordError, &[u8])> {
        let mut skipped = Vec::new();
        for (first, piece) in self.pieces() {
            let text = self.text().get(piece.base as usize..).unwrap_or_default();
            let (mut line, mut start) = (0, 0);
            for fault in &piece.faults {
                let newline = |start: usize| memchr::memchr(b'\n', text.get(start..).unwrap_or_default());
                while line < fault.line {
                    start = newline(start).map_or(text.len(), |len| start + len + 1);
                    line += 1;
                }
                let end = newline(start).map_or(text.len(), |len| start + len);
                let error = in_input(record_error(self.source(), first, fault), &self.text, self.first_line);
                let record = match self.text.extract() {
                    Some(Extract::Whole(_)) => self.text(),
                    _ => &text[start.min(end)..end],
                };
                skipped.push((error, record));
            }
        }
        skipped
    }
}
