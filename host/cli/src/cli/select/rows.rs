//! Rows of text, and the limit of rows.

use std::sync::Arc;

use warpath::{Batch, Limit, RowForm, Want};
use warpath_answer::answer::Piece;
use warpath_shared::units::LineIx;
use warpath_terminal::json::{self, Look};

use super::super::failure::Failure;
use super::super::formats;
use super::super::grid::Grid;
use super::super::out::Out;
use super::super::run::{Flow, Needs, Refused, Sink};
use super::super::sort::{Origins, Sortable};
use super::named::NamePrefix;

/// The number of rows so far, and the largest number wanted. Both include skipped rows.
pub struct Rest {
    rows: u64,
    most: Option<u64>,
    /// True if rows are skipped, and the number of those that are still to be skipped.
    skips: bool,
    skip: u64,
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
    /// Skips `skip` rows, and ends after `limit` rows that follow.
    pub fn new(limit: Option<u64>, skip: u64, is_by_records: bool) -> Self {
        // Without rows, none is skipped.
        let most = limit.map(|limit| if limit == 0 { 0 } else { limit.saturating_add(skip) });
        Self { rows: 0, most, skips: skip > 0, skip, is_by_records }
    }

    /// Skips rows of a piece, which has `rows` rows. `left_out` are as for [`count`](Self::count). Returns
    /// the number of the first row that is not skipped.
    pub fn skip(&mut self, rows: usize, left_out: &[u32]) -> usize {
        let kept = rows - left_out.len();
        let skipped = usize::try_from(self.skip).map_or(kept, |skip| skip.min(kept));
        self.skip -= skipped as u64;
        if skipped == kept {
            return rows;
        }
        let is_kept = |row: &usize| left_out.binary_search(&(*row as u32)).is_err();
        match left_out {
            [] => skipped,
            _ => (0..rows).filter(is_kept).nth(skipped).unwrap_or(rows),
        }
    }

    /// Adds the limit to `want`. With a limit, the caller must know which lines are rows.
    pub fn of(&self, mut want: Want) -> Want {
        want.limit = self.most.map(Limit::Records).filter(|_| self.is_by_records);
        want.records(want.records || self.most.is_some() || self.skips)
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

/// A sink that prints rows of text, up to a limit.
pub struct Rows {
    pub form: RowForm,
    pub header: Vec<u8>,
    pub print: Print,
    pub limit: Rest,
    /// The column of file names, if there is one.
    pub names: Option<NamePrefix>,
    /// The files and lines of the rows, if they are sorted.
    pub origins: Option<Origins>,
    /// True if the rows of a table are printed when the next ones may take time. How wide its columns are
    /// then depends on time.
    pub is_followed: bool,
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
                    json::cells(row, &mut cells);
                    grid.row(cells.iter().copied(), &mut out.buffer);
                }
            }
            out.line_end()?;
        }
        Ok(())
    }

    /// Prints the rows of a piece from one number to another.
    fn piece(
        &mut self,
        piece: &Piece,
        from: usize,
        to: usize,
        source: &str,
        out: &mut Out,
    ) -> Result<(), Failure> {
        let Self { form, names, origins, .. } = self;
        let begin = form.end_of(&piece.rows, from);
        let end = if to == piece.records.len() { piece.rows.len() } else { form.end_of(&piece.rows, to) };
        let rows = &piece.rows[begin..end.max(begin)];
        let Some(names) = names else {
            return self.print(rows, out);
        };
        let mut named = Vec::with_capacity(rows.len());
        match origins {
            None => names.append(rows, |_| source, &mut named),
            Some(origins) => {
                let places = origins.take(piece.records.len());
                let name = |row: usize| places.get(from + row).map_or(source, |(name, _)| &**name);
                names.append(rows, name, &mut named);
            }
        }
        self.print(&named, out)
    }
}

impl Rows {
    fn want(&self) -> Want {
        let want = self.limit.of(Want::default().rows(self.form).partial(true));
        // Each row of a piece has its own file if rows are sorted.
        want.records(want.records || self.names.is_some())
    }
}

impl Sink for Rows {
    fn needs(&self) -> Needs {
        Needs { is_done: self.limit.is_reached(), ..Needs::new(self.want()) }
    }

    fn start(&mut self, out: &mut Out) -> Result<(), Failure> {
        out.buffer.extend_from_slice(&self.header);
        Ok(())
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        let source: Arc<str> = batch.source().into();
        for (at, (_, piece)) in batch.pieces().enumerate() {
            if !self.want().records {
                self.print(&piece.rows, out)?;
                continue;
            }
            let count = piece.records.len();
            let from = self.limit.skip(count, &[]);
            let cut = self.limit.count(piece, count, &[]);
            self.piece(piece, from, cut.map_or(count, |cut| cut.rows), &source, out)?;
            if let Some(Cut { line, .. }) = cut {
                return Ok(Flow::Stop { piece: at, line });
            }
        }
        Ok(Flow::Continue)
    }

    fn pause(&mut self, out: &mut Out) -> Result<(), Failure> {
        if let (Print::Table(grid), true) = (&mut self.print, self.is_followed) {
            grid.pause(&mut out.buffer);
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        if let Print::Table(grid) = &mut self.print {
            grid.end(&mut out.buffer);
        }
        Ok(())
    }
}

impl Sortable for Rows {
    fn set_origins(&mut self, origins: Origins) {
        self.origins = Some(origins);
    }
}
