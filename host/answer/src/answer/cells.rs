//! The matches in the cells of a path.

use warpath_shared::kernel::Match;
use warpath_shared::units::LineIx;

/// The matches of one path, record by record.
pub(super) struct Cells<'a> {
    matches: &'a [Match],
    /// The end of the matches of the last record.
    end: usize,
}

impl<'a> Cells<'a> {
    pub fn new(matches: &'a [Match]) -> Self {
        Self { matches, end: 0 }
    }

    /// Returns the matches in the cell of the record at a line. Records are passed in order, each once.
    #[inline]
    pub fn of_record(&mut self, line: LineIx) -> &'a [Match] {
        let mut at = self.end;
        // Lines that are no rows, such as malformed ones, may have matches.
        while self.matches.get(at).is_some_and(|found| found.line < line) {
            at += 1;
        }
        let begin = at;
        while self.matches.get(at).is_some_and(|found| found.line == line) {
            at += 1;
        }
        self.end = at;
        &self.matches[begin..at]
    }
}
