//! The matches of one query, one at a time.

use std::borrow::Cow;
use std::sync::Arc;

use warpath_core::error::Error;
use warpath_shared::kernel::Match;
use warpath_shared::units::ByteOffset;

use super::{Answers, Batch, Plan, Setup, Stats};

/// The matches of one query, one at a time. See [`Input::query`](crate::operators::Input::query).
pub struct Hits {
    answers: Answers,
    batch: Option<Arc<Batch>>,
    /// The next match: its piece, its index in the piece, and the number of the piece's first line.
    piece: usize,
    next: usize,
    first_line: u64,
}

impl Hits {
    pub(crate) fn new(answers: Answers) -> Self {
        Self { answers, batch: None, piece: 0, next: 0, first_line: 0 }
    }

    /// Statistics of the partitions seen so far; complete when the iterator has ended.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.answers.stats()
    }

    /// The backend and its settings, and the reason for the choice.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.answers.plan()
    }

    /// The setup of the backend, as far as it is done; complete when the iterator has ended.
    #[must_use]
    pub fn setup(&self) -> Setup {
        self.answers.setup()
    }
}

impl Iterator for Hits {
    type Item = Result<Hit, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = &self.batch {
                while let Some(piece) = batch.piece(self.piece) {
                    if let Some(found) = piece.matches.first().and_then(|list| list.get(self.next)) {
                        self.next += 1;
                        let line = self.first_line + found.line as u64;
                        return Some(Ok(Hit { base: piece.base, found: *found, line, batch: batch.clone() }));
                    }
                    self.first_line += piece.lines as u64;
                    (self.piece, self.next) = (self.piece + 1, 0);
                }
            }
            match self.answers.next()? {
                Ok(batch) => {
                    (self.piece, self.next, self.first_line) = (0, 0, batch.first_line());
                    self.batch = Some(Arc::new(batch));
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// One match. Keeps its partition in memory while it lives.
#[derive(Clone)]
pub struct Hit {
    batch: Arc<Batch>,
    base: u32,
    found: Match,
    line: u64,
}

impl Hit {
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
