//! Rows of text, and the limit of rows.

use warpath::Batch;
use warpath::answer::{Limit, Piece, RowForm, Want};
use warpath_shared::units::LineIx;

use super::super::failure::Failure;
use super::super::formats;
use super::super::grid::Grid;
use super::super::look::{self, Look};
use super::super::out::Out;
use super::super::run::{Consumer, Flow};

/// The number of rows written so far, and the largest number wanted.
pub struct Rest {
    rows: u64,
    most: Option<u64>,
    /// True if each record gives one row.
    is_by_records: bool,
}

/// The end of the rows that are wanted of a piece.
#[derive(Clone, Copy)]
pub struct Cut {
    /// The number of its rows up to the limit, left-out rows included.
    pub rows: usize,
    /// The line of the last one.
    pub line: LineIx,
}

impl Rest {
    pub fn new(most: Option<u64>, is_by_records: bool) -> Self {
        Self { rows: 0, most, is_by_records }
    }

    /// Adds the limit to `want`. With a limit, the caller must know which lines are rows.
    pub fn of(&self, want: Want) -> Want {
        let limit = self.most.map(Limit::Records).filter(|_| self.is_by_records);
        Want { records: want.records || self.most.is_some(), limit, ..want }
    }

    pub fn is_reached(&self) -> bool {
        self.most.is_some_and(|most| self.rows >= most)
    }

    /// Counts a piece's rows, without those that are left out, which are ascending. If the limit is reached
    /// in this piece, returns where.
    pub fn count(&mut self, piece: &Piece, rows: usize, left_out: &[u32]) -> Option<Cut> {
        let left = self.most.map(|most| most - self.rows).and_then(|left| usize::try_from(left).ok());
        let last = left.and_then(|left| {
            let is_kept = |row: &usize| left_out.binary_search(&(*row as u32)).is_err();
            let row = match left_out {
                [] => left.checked_sub(1)?,
                _ => (0..rows).filter(is_kept).nth(left.checked_sub(1)?)?,
            };
            Some((left, Cut { rows: row + 1, line: *piece.records.get(row)? }))
        });
        self.rows += last.map_or(rows - left_out.len(), |(left, _)| left) as u64;
        last.map(|(_, cut)| cut)
    }
}

/// A consumer that prints rows of text, up to a limit.
pub struct Rows {
    pub form: RowForm,
    pub header: Vec<u8>,
    pub print: Print,
    pub limit: Rest,
}

/// The way from the rows that the workers made to those that are printed.
pub enum Print {
    AsMade,
    /// Rows of NDJSON, with indentation or colours.
    Styled(Look),
    /// Rows of NDJSON, as a table.
    Table(Grid),
}

impl Rows {
    fn print(&mut self, rows: &[u8], out: &mut Out) -> Result<(), Failure> {
        if matches!(self.print, Print::AsMade) {
            return out.lines(rows);
        }
        let mut cells = Vec::new();
        for row in rows.split_inclusive(|byte| *byte == b'\n') {
            match &mut self.print {
                Print::AsMade => out.buffer.extend_from_slice(row),
                Print::Styled(look) => formats::styled(row, *look, &mut out.buffer),
                Print::Table(grid) => {
                    look::cells(row, &mut cells);
                    grid.row(cells.iter().copied(), &mut out.buffer);
                }
            }
            out.line_end()?;
        }
        Ok(())
    }
}

impl Consumer for Rows {
    fn want(&self) -> Want {
        self.limit.of(Want { rows: Some(self.form), ..Want::default() })
    }

    fn is_done(&self) -> bool {
        self.limit.is_reached()
    }

    fn start(&mut self, out: &mut Out) -> Result<(), Failure> {
        out.buffer.extend_from_slice(&self.header);
        Ok(())
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out) -> Result<Flow, Failure> {
        for (at, (_, piece)) in batch.pieces().enumerate() {
            if let Some(Cut { rows, line }) = self.limit.count(piece, piece.records.len(), &[]) {
                self.print(&piece.rows[..self.form.end_of(&piece.rows, rows)], out)?;
                return Ok(Flow::Stop { piece: at, line });
            }
            self.print(&piece.rows, out)?;
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        if let Print::Table(grid) = &mut self.print {
            grid.end(&mut out.buffer);
        }
        Ok(())
    }
}
