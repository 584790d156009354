//! What a backend says of one partition.

mod columns;
pub mod path;
mod rows;
pub mod text;

use warpath_shared::check::Fault;
use warpath_shared::kernel::Match;
use warpath_shared::units::{LineIx, PartOffset};

use crate::columns::{ColumnBatch, OffsetWidth};
use warpath_core::error::Error;
use warpath_lang::program::Program;

pub use path::Paths;
pub use text::TextForm;

/// What is asked of a backend, beside counts and faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// The matches themselves.
    pub matches: bool,
    /// Which lines are records.
    pub records: bool,
    /// The matches as text, in this form.
    pub text: Option<TextForm>,
    /// The records as rows of text, with a cell for each path ([`Program::with_names`]), in this form.
    pub rows: Option<RowForm>,
    /// The records as typed columns ([`Program::with_types`]), with offsets of this width.
    pub columns: Option<OffsetWidth>,
    /// What is enough, if that is known. Then no more is read and answered than is likely to be needed: an answer may end
    /// behind the record with which it has this, and inputs are read little by little at first.
    pub limit: Option<Limit>,
}

/// How much of something is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many matches of each path.
    Matches(u64),
    /// So many records without a fault.
    Records(u64),
}

impl Want {
    /// What has to be found for it.
    pub(crate) fn to_find(self) -> Self {
        let all = self.rows.is_some() || self.columns.is_some();
        Self { matches: self.matches || self.text.is_some() || all, records: self.records || all, ..self }
    }
}

/// How a record is written as a row, with a newline behind it. A path that selects one value of a record at most has that
/// value there, or null; any other an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowForm {
    /// A JSON object, with a member for each path. Values are as they stand in the input.
    Ndjson,
    /// Fields separated by commas, in quotes where they have to be (RFC 4180): strings without their own quotes and with
    /// escapes resolved, null empty, other values and arrays as JSON.
    Csv,
}

/// The answer for one partition: pieces of whole lines, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The pieces. A backend cuts as it likes: the concatenation is what counts.
    pub pieces: Vec<Piece>,
}

impl Answer {
    /// The answer for one line, which is faulty.
    pub fn of_fault(paths: usize, fault: Fault, want: Want) -> Self {
        let none = || vec![0; paths];
        let piece = Piece {
            lines: 1,
            counts: none(),
            counts_before_fault: Some(none()),
            matches: vec![Vec::new(); if want.matches { paths } else { 0 }],
            texts: want.text.map_or_else(Vec::new, |_| vec![Vec::new(); paths]),
            texts_before_fault: want.text.map(|_| vec![0; paths]),
            rows_before_fault: want.rows.map(|_| 0),
            columns_before_fault: want.columns.map(|_| 0),
            faults: vec![LineFault { line: 0, fault }],
            ..Piece::default()
        };
        Self { pieces: vec![piece] }
    }
}

/// The answer for a run of lines. Positions and line numbers count from its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece {
    /// Where it starts in its partition.
    pub base: PartOffset,
    /// How many lines it has.
    pub lines: LineIx,
    /// Which of them are records without a fault, if wanted.
    pub records: Vec<LineIx>,
    /// Path by path, the number of matches.
    pub counts: Vec<u64>,
    /// Path by path, the number of matches before the first fault, if there is one. Here and below: of pieces behind the first one with
    /// a fault, perhaps not.
    pub counts_before_fault: Option<Vec<u64>>,
    /// Path by path, the matches, in record order and within a record in RFC 9535's order, if wanted.
    pub matches: Vec<Vec<Match>>,
    /// Path by path, the text of its matches, in the same order, if wanted.
    pub texts: Vec<Vec<u8>>,
    /// Path by path, how many bytes of the text are of matches before the first fault, if there is one and text is wanted.
    pub texts_before_fault: Option<Vec<usize>>,
    /// The rows of its records, each followed by a newline, if wanted.
    pub rows: Vec<u8>,
    /// How many bytes of the rows are of records before the first fault, if there is one and rows are wanted.
    pub rows_before_fault: Option<usize>,
    /// The columns of its records, a row each, if wanted.
    pub columns: ColumnBatch,
    /// How many rows of the columns are of records before the first fault, if there is one and columns are wanted.
    pub columns_before_fault: Option<usize>,
    /// The faulty lines, in order.
    pub faults: Vec<LineFault>,
}

impl Piece {
    /// Writes the texts from the matches. `text` is the partition's.
    pub(crate) fn write_texts(&mut self, text: &[u8], form: TextForm) {
        let text = &text[self.base as usize..];
        let fault = self.faults.first().map(|fault| fault.line);
        (self.texts, self.texts_before_fault) = text::of_paths(text, &self.matches, form, fault);
    }

    /// Writes the rows from the records and the matches. `text` is the partition's.
    pub(crate) fn write_rows(&mut self, text: &[u8], program: &Program, form: RowForm) {
        let (rows, before) = rows::of_records(&text[self.base as usize..], self, program, form);
        self.rows_before_fault = (!self.faults.is_empty()).then_some(before);
        self.rows = rows;
    }

    /// Makes the columns from the records and the matches. `text` is the partition's.
    pub(crate) fn make_columns(
        &mut self,
        text: &[u8],
        program: &Program,
        width: OffsetWidth,
    ) -> Result<(), Error> {
        self.columns = columns::of_records(&text[self.base as usize..], self, program, width)?;
        self.columns_before_fault = self.records_before_fault();
        Ok(())
    }

    /// How many records stand before the first fault, if there is one.
    pub(crate) fn records_before_fault(&self) -> Option<usize> {
        let fault = self.faults.first()?;
        Some(self.records.partition_point(|record| *record < fault.line))
    }

    /// Drops what was needed to make what is wanted, and is not wanted itself.
    pub(crate) fn keep(&mut self, want: Want) {
        if !want.matches {
            self.matches = Vec::new();
        }
        if !want.records {
            self.records = Vec::new();
        }
    }
}

/// A faulty line of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineFault {
    /// The line.
    pub line: LineIx,
    /// Its first fault.
    pub fault: Fault,
}
