//! The matches of one query, one at a time.

use std::borrow::Cow;
use std::sync::Arc;

use warpath_shared::kernel::Match;
use warpath_shared::units::ByteOffset;

use super::Batch;

/// Iterates over the matches of a batch.
pub struct Matches<'a> {
    batch: Arc<Batch<'a>>,
    /// The next match: its piece, its index in the piece, and the number of the piece's first line.
    piece: usize,
    next: usize,
    first_line: u64,
}

impl<'a> From<Batch<'a>> for Matches<'a> {
    fn from(batch: Batch<'a>) -> Self {
        Self { piece: 0, next: 0, first_line: batch.first_line(), batch: Arc::new(batch) }
    }
}

impl<'a> Iterator for Matches<'a> {
    type Item = Hit<'a>;

    fn next(&mut self) -> Option<Hit<'a>> {
        while let Some(piece) = self.batch.piece(self.piece) {
            if let Some(found) = piece.matches.first().and_then(|list| list.get(self.next)) {
                self.next += 1;
                let line = self.first_line + u64::from(found.line);
                return Some(Hit { base: piece.base, found: *found, line, batch: self.batch.clone() });
            }
            self.first_line += u64::from(piece.lines);
            (self.piece, self.next) = (self.piece + 1, 0);
        }
        None
    }
}

/// One match. Keeps its partition in memory while it lives.
///
/// ```
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let input = Engine::builder().build()?.bytes("{}\n{\"tags\":[\"a\",\"b\"]}\n").named("tweets");
/// let hit = input.query(&Query::compile("$.tags[1]")?)?.next().unwrap()?;
/// assert_eq!((hit.text().as_ref(), hit.path().as_str()), ("\"b\"", "$['tags'][1]"));
/// assert_eq!((hit.source(), hit.line(), hit.offsets()), ("tweets", 2, (16, 19)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Hit<'a> {
    batch: Arc<Batch<'a>>,
    base: u32,
    found: Match,
    line: u64,
}

impl Hit<'_> {
    /// The value's JSON text as in the input, except that newlines in it are spaces. Bytes that are not UTF-8
    /// become U+FFFD.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// The value's bytes as in the input, except that newlines in it are spaces.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        let (start, end) = (self.base + self.found.start, self.base + self.found.end);
        self.batch.text().get(start as usize..end as usize).unwrap_or_default()
    }

    /// The normalised path of the value in its record (RFC 9535, section 2.7). Walks the record up to the
    /// value. For the paths of many matches, [`Batch::paths`] walks each record only once.
    #[must_use]
    pub fn path(&self) -> String {
        let mut path = String::new();
        let start = self.base as usize + self.found.start as usize;
        self.batch.paths().append(start, &mut path);
        path
    }

    /// The input's name: a file's path, or `<stdin>`.
    #[must_use]
    pub fn source(&self) -> &str {
        self.batch.source()
    }

    /// The line of the record in its input, counted from 1; blank lines count. A document is one record with
    /// one number; [`offsets`](Self::offsets) gives the position of a value in it.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.batch.record(self.line)
    }

    /// The range of the value's bytes in its decompressed input: the start, and one past the end.
    #[must_use]
    pub fn offsets(&self) -> (ByteOffset, ByteOffset) {
        // A value is on one line, which is in one piece.
        let start = self.batch.offset_of(self.base as u64 + self.found.start as u64);
        (start, start + (self.found.end - self.found.start) as u64)
    }
}
