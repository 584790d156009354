//! The rows of a piece, and the matches in the cells of a path.

use warpath_shared::kernel::Match;
use warpath_shared::units::{LineIx, PartOffset};

/// A row: a record, or an element of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The line of the record.
    pub line: LineIx,
    /// The range of the element; everything for a record.
    start: PartOffset,
    end: PartOffset,
}

/// Returns the rows: the records, whose lines are `records`, or the elements, whose lines these are.
pub(super) fn rows<'a>(
    records: &'a [LineIx],
    elements: Option<&'a [Match]>,
) -> impl Iterator<Item = Row> + use<'a> {
    records.iter().enumerate().map(move |(at, line)| match elements {
        None => Row { line: *line, start: 0, end: PartOffset::MAX },
        Some(elements) => Row { line: *line, start: elements[at].start, end: elements[at].end },
    })
}

/// The matches of one path, row by row.
pub(super) struct Cells<'a> {
    matches: &'a [Match],
    of_element: bool,
    /// The range of the matches of the last row.
    begin: usize,
    end: usize,
    /// The line of the last row.
    line: Option<LineIx>,
}

impl<'a> Cells<'a> {
    /// `of_element` is true if a row has the matches in its element.
    pub fn new(matches: &'a [Match], of_element: bool) -> Self {
        Self { matches, of_element, begin: 0, end: 0, line: None }
    }

    /// Returns the matches in the cell of a row. Rows are passed in order.
    #[inline]
    pub fn of_row(&mut self, row: Row) -> &'a [Match] {
        if !self.of_element && self.line == Some(row.line) {
            return &self.matches[self.begin..self.end];
        }
        self.line = Some(row.line);
        let mut at = self.end;
        // Records without elements have no row, but may have matches.
        while self.matches.get(at).is_some_and(|found| found.line < row.line) {
            at += 1;
        }
        self.begin = at;
        while self.matches.get(at).is_some_and(|found| found.line == row.line && self.is_inside(found, row)) {
            at += 1;
        }
        self.end = at;
        &self.matches[self.begin..at]
    }

    #[inline]
    fn is_inside(&self, found: &Match, row: Row) -> bool {
        !self.of_element || found.start >= row.start && found.end <= row.end
    }
}
