//! The results of one partition.

mod cells;
mod columns;
pub mod path;
mod rows;
pub mod text;

use std::mem::take;

use warpath_core::error::Error;
use warpath_lang::program::Program;
use warpath_shared::check::Fault;
use warpath_shared::kernel::Match;
use warpath_shared::units::{LineIx, PartOffset};

use cells::Cells;

use crate::columns::{ColumnBatch, OffsetWidth};
use crate::on_device::DeviceColumns;

pub use columns::{column as make_column, lost};
pub use path::Paths;
pub use rows::RowText;
pub use text::TextForm;

/// The results that a caller wants from a backend, besides counts and faults.
///
/// ```
/// use warpath::{Engine, Program, Query, Want};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let program = Program::new(&[Query::compile("$.a")?])?;
/// let want = Want::new().matches(true);
/// for batch in Engine::builder().build()?.bytes("{\"a\":7}\n").answers(program, want) {
///     let batch = batch?;
///     for (_, piece) in batch.pieces() {
///         assert_eq!(batch.match_text(piece, &piece.matches[0][0]), b"7");
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Want {
    /// The matches themselves.
    pub matches: bool,
    /// The numbers of the lines that are records, and match the program's predicate if it has one.
    pub records: bool,
    /// The matches as text, in this form.
    pub text: Option<TextForm>,
    /// The records as rows of text, with a cell for each path ([`Program::with_names`]), in this form.
    pub rows: Option<RowForm>,
    /// The records as typed columns ([`Program::with_types`]), with offsets of this width.
    pub columns: Option<OffsetWidth>,
    /// Leaves the columns in the memory of the device, in place of copying them to the host. Only backends of
    /// devices can do so ([`Abilities::keeps_columns`](crate::backend::Abilities::keeps_columns)).
    pub on_device: bool,
    /// True if the caller uses neither offsets nor the text of records. Of a part of a store, only those
    /// members of records are then read that the program reaches. Texts and offsets are those of partial
    /// records.
    pub partial: bool,
    /// True if the caller uses no offsets. Of a part of a store, records are then left out that the columns
    /// show to fail the predicate. Offsets are those among the others. [`partial`](Self#structfield.partial)
    /// implies this.
    pub sparse: bool,
    /// The amount of results that is enough, if known. Evaluation then does little more work than is likely
    /// to be needed: the results may end after the record that completes the amount, and inputs are read
    /// little by little at first.
    pub limit: Option<Limit>,
}

/// An amount of results that is enough.
///
/// ```
/// use warpath::{Engine, Limit, Program, Query, Want};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let program = Program::new(&[Query::compile("$.a")?])?;
/// let want = Want::new().matches(true).limit(Limit::Matches(1));
/// let input = Engine::builder().build()?.bytes("{\"a\":1}\n{\"a\":2}\n");
/// let batch = input.answers(program, want).next().unwrap()?;
/// // There may be more than is enough.
/// assert_eq!(batch.matches(0).next(), Some(&b"1"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// N matches of each path.
    Matches(u64),
    /// N records without a fault, which match the program's predicate if it has one.
    Records(u64),
}

impl Want {
    /// Counts and faults alone.
    ///
    /// ```
    /// assert_eq!(warpath_answer::answer::Want::new(), warpath_answer::answer::Want::default());
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self {
            matches: false,
            records: false,
            text: None,
            rows: None,
            columns: None,
            on_device: false,
            partial: false,
            sparse: false,
            limit: None,
        }
    }

    /// True for numbers of matches alone, of all records.
    ///
    /// ```
    /// use warpath_answer::answer::Want;
    ///
    /// assert!(Want::new().partial(true).is_count() && !Want::new().records(true).is_count());
    /// ```
    #[must_use]
    pub fn is_count(&self) -> bool {
        let Self { matches, records, text, rows, columns, on_device, limit, partial: _, sparse: _ } = self;
        !(*matches || *records || *on_device)
            && text.is_none()
            && rows.is_none()
            && columns.is_none()
            && limit.is_none()
    }

    /// Sets [`matches`](Self#structfield.matches).
    ///
    /// ```
    /// assert!(warpath_answer::answer::Want::new().matches(true).matches);
    /// ```
    #[must_use]
    pub const fn matches(self, yes: bool) -> Self {
        Self { matches: yes, ..self }
    }

    /// Sets [`records`](Self#structfield.records).
    ///
    /// ```
    /// assert!(warpath_answer::answer::Want::new().records(true).records);
    /// ```
    #[must_use]
    pub const fn records(self, yes: bool) -> Self {
        Self { records: yes, ..self }
    }

    /// Adds the matches as text in a form.
    ///
    /// ```
    /// use warpath::{TextForm, Want};
    ///
    /// assert_eq!(Want::new().text(TextForm::Raw).text, Some(TextForm::Raw));
    /// ```
    #[must_use]
    pub const fn text(self, form: TextForm) -> Self {
        Self { text: Some(form), ..self }
    }

    /// Adds the records as rows in a form.
    ///
    /// ```
    /// use warpath::{RowForm, Want};
    ///
    /// assert_eq!(Want::new().rows(RowForm::Csv).rows, Some(RowForm::Csv));
    /// ```
    #[must_use]
    pub const fn rows(self, form: RowForm) -> Self {
        Self { rows: Some(form), ..self }
    }

    /// Adds the records as typed columns, with offsets of a width.
    ///
    /// ```
    /// use warpath::columns::{ColumnType, Schema};
    /// use warpath::{Query, Want};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let schema = Schema::new(&[(Query::compile("$.a")?, ColumnType::Int64)])?;
    /// assert!(Want::new().columns(schema.width()).columns.is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn columns(self, width: OffsetWidth) -> Self {
        Self { columns: Some(width), ..self }
    }

    /// Sets [`on_device`](Self#structfield.on_device).
    ///
    /// ```
    /// assert!(warpath::Want::new().on_device(true).on_device);
    /// ```
    #[must_use]
    pub const fn on_device(self, yes: bool) -> Self {
        Self { on_device: yes, ..self }
    }

    /// Sets [`partial`](Self#structfield.partial).
    ///
    /// ```
    /// assert!(warpath::Want::new().partial(true).partial);
    /// ```
    #[must_use]
    pub const fn partial(self, yes: bool) -> Self {
        Self { partial: yes, ..self }
    }

    /// Sets [`sparse`](Self#structfield.sparse).
    ///
    /// ```
    /// assert!(warpath::Want::new().sparse(true).sparse);
    /// ```
    #[must_use]
    pub const fn sparse(self, yes: bool) -> Self {
        Self { sparse: yes, ..self }
    }

    /// Sets the amount of results that is enough.
    ///
    /// ```
    /// use warpath::{Limit, Want};
    ///
    /// assert_eq!(Want::new().limit(Limit::Records(10)).limit, Some(Limit::Records(10)));
    /// ```
    #[must_use]
    pub const fn limit(self, limit: Limit) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Removes the limit.
    ///
    /// ```
    /// use warpath::{Limit, Want};
    ///
    /// assert_eq!(Want::new().limit(Limit::Matches(1)).without_limit(), Want::new());
    /// ```
    #[must_use]
    pub const fn without_limit(self) -> Self {
        Self { limit: None, ..self }
    }

    /// The data that must be found to make these results.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn to_find(self, program: &Program) -> Self {
        let all = self.rows.is_some() || self.columns.is_some();
        let matches = self.matches || self.text.is_some() || all || program.marks_records();
        Self { matches, records: self.records || all, ..self }
    }

    /// Returns whether these results depend on which lines are records, so that a predicate's program has to
    /// mark its records ([`Program::matching`]).
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn needs_records(self) -> bool {
        self.records || self.rows.is_some() || self.columns.is_some()
    }
}

/// The form in which a record is written as a row. A newline follows each row.
///
/// The cell of a path that selects at most one value of a record is that value, or null. The cell of any
/// other path is an array.
///
/// ```
/// use warpath::{Engine, Program, Query, RowForm, Want};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let paths = [Query::compile("$.id")?, Query::compile("$.tags[*]")?];
/// let program = Program::new(&paths)?.with_names(&["id", "tags"])?;
/// let input = Engine::builder().build()?.bytes("{\"id\":7,\"tags\":[\"a\",\"b\"]}\n");
/// let batch = input.answers(program, Want::new().rows(RowForm::Ndjson)).next().unwrap()?;
/// let rows: Vec<u8> = batch.rows().flatten().copied().collect();
/// assert_eq!(rows, b"{\"id\":7,\"tags\":[\"a\",\"b\"]}\n");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowForm {
    /// A JSON object, with a member for each path. Values are copied from the input unchanged.
    Ndjson,
    /// The same without the members of paths that select no value.
    Sparse,
    /// Fields separated by commas, in quotes where necessary (RFC 4180). Strings are without their own quotes
    /// and with escapes resolved, null is empty, and other values and arrays are JSON.
    Csv,
    /// Fields separated by tabs, with values as in [`Csv`](Self::Csv). In a field, a tab is written `\t`, a
    /// line feed `\n`, a carriage return `\r`, and a backslash `\\`.
    Tsv,
}

/// The results of one partition: pieces of whole lines, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The pieces. The backend chooses where to cut; only the concatenation is defined.
    pub pieces: Vec<Piece>,
}

impl Answer {
    /// The result of a program for one line, which is faulty.
    pub fn of_fault(program: &Program, fault: Fault, want: Want) -> Self {
        let paths = program.columns().len();
        let none = || vec![0; paths];
        let piece = Piece {
            counts_before_fault: Some(none()),
            texts_before_fault: want.text.map(|_| vec![0; paths]),
            rows_before_fault: want.rows.map(|_| 0),
            columns_before_fault: want.columns.map(|_| 0),
            faults: vec![LineFault { line: 0, fault }],
            ..Piece::without_text(program, 1, want)
        };
        Self { pieces: vec![piece] }
    }

    /// The result for lines whose numbers of matches are known without their text. Without a number for each
    /// path, no path matches.
    #[must_use]
    pub fn of_counts(program: &Program, lines: LineIx, matches: &[u64], want: Want) -> Self {
        let mut piece = Piece::without_text(program, lines, want);
        piece.counts.iter_mut().zip(matches).for_each(|(count, known)| *count = *known);
        Self { pieces: vec![piece] }
    }
}

/// The results of a run of lines. Positions and line numbers count from its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece {
    /// The offset of its start in the partition.
    pub base: PartOffset,
    /// The number of its lines.
    pub lines: LineIx,
    /// The lines that are records without a fault, and match the program's predicate if it has one; if
    /// wanted.
    pub records: Vec<LineIx>,
    /// Path by path, the number of matches.
    pub counts: Vec<u64>,
    /// Path by path, the number of matches before the first fault, if there is one. This field and the other
    /// `_before_fault` fields may be `None` in pieces after the first piece with a fault.
    pub counts_before_fault: Option<Vec<u64>>,
    /// Path by path, the matches, in record order and within a record in RFC 9535's order, if wanted.
    pub matches: Vec<Vec<Match>>,
    /// Path by path, the text of its matches, in the same order, if wanted.
    pub texts: Vec<Vec<u8>>,
    /// Path by path, the number of bytes of the text that come before the first fault, if there is one and
    /// text is wanted.
    pub texts_before_fault: Option<Vec<usize>>,
    /// The rows of its records, each followed by a newline, if wanted.
    pub rows: Vec<u8>,
    /// The number of bytes of the rows that come before the first fault, if there is one and rows are wanted.
    pub rows_before_fault: Option<usize>,
    /// The columns of its records, one row a record, if wanted.
    pub columns: ColumnBatch,
    /// The columns of its records in the memory of a device, if wanted there. `columns` is then empty. If an
    /// item is null, the records are listed too.
    pub on_device: Option<DeviceColumns>,
    /// The number of rows of the columns that come before the first fault, if there is one and columns are
    /// wanted.
    pub columns_before_fault: Option<usize>,
    /// The nested columns of its records, one row a record, if the caller decodes records.
    #[cfg(feature = "arrow")]
    pub nested: Vec<crate::nested::NestedBatch>,
    /// The faulty lines, in order.
    pub faults: Vec<LineFault>,
}

impl Piece {
    /// Lines without a match and without a record.
    fn without_text(program: &Program, lines: LineIx, want: Want) -> Self {
        let paths = program.columns().len();
        Self {
            lines,
            counts: vec![0; paths],
            matches: vec![Vec::new(); if want.matches { paths } else { 0 }],
            texts: want.text.map_or_else(Vec::new, |_| vec![Vec::new(); paths]),
            ..Self::default()
        }
    }

    /// Makes the records from the matches of the path that marks them, if there is one, and removes that
    /// path.
    pub fn take_marks(&mut self, program: &Program) {
        if !program.marks_records() {
            return;
        }
        let paths = program.paths() - 1;
        self.records = self.matches.drain(paths..).flatten().map(|found| found.line).collect();
        self.counts.truncate(paths);
        self.texts.truncate(paths);
        if let Some(counts) = &mut self.counts_before_fault {
            counts.truncate(paths);
        }
        if let Some(texts) = &mut self.texts_before_fault {
            texts.truncate(paths);
        }
    }

    /// The matches of a path; none for a path that was not found.
    fn matches_of(&self, path: usize) -> &[Match] {
        self.matches.get(path).map_or(&[], Vec::as_slice)
    }

    /// The matches of a path, record by record.
    fn cells(&self, path: usize) -> Cells<'_> {
        Cells::new(self.matches_of(path))
    }

    /// Writes the texts from the matches. `text` is the text of the partition.
    pub fn write_texts(&mut self, text: &[u8], form: TextForm) {
        let text = &text[self.base as usize..];
        let fault = self.faults.first().map(|fault| fault.line);
        (self.texts, self.texts_before_fault) = text::of_paths(text, &self.matches, form, fault);
    }

    /// Writes the rows from the records and the matches. `text` is the text of the partition.
    pub fn write_rows(&mut self, text: &[u8], program: &Program, form: RowForm) {
        let (rows, before) = rows::of_rows(&text[self.base as usize..], self, program, form);
        self.rows_before_fault = (!self.faults.is_empty()).then_some(before);
        self.rows = rows;
    }

    /// Makes the columns from the rows and the matches. `text` is the text of the partition.
    pub fn make_columns(&mut self, text: &[u8], program: &Program, width: OffsetWidth) -> Result<(), Error> {
        self.columns = columns::of_rows(&text[self.base as usize..], self, program, width)?;
        self.columns_before_fault = self.records_before_fault();
        Ok(())
    }

    /// Decodes the records to nested columns. `text` is the text of the partition. No batch has records both
    /// before and after the first fault.
    ///
    /// # Errors
    /// The errors of [`NestedSchema::decode`](crate::nested::NestedSchema::decode).
    #[cfg(feature = "arrow")]
    pub fn decode(&mut self, text: &[u8], schema: &crate::nested::NestedSchema) -> Result<(), Error> {
        let before = self.records_before_fault().unwrap_or(self.records.len());
        self.nested = self.decoded(text, schema, 0..before)?;
        self.nested.extend(self.decoded(text, schema, before..self.records.len())?);
        Ok(())
    }

    /// Decodes some of the records, by their numbers in the piece. `text` is the text of the partition.
    ///
    /// # Errors
    /// The errors of [`NestedSchema::decode`](crate::nested::NestedSchema::decode).
    #[cfg(feature = "arrow")]
    pub fn decoded(
        &self,
        text: &[u8],
        schema: &crate::nested::NestedSchema,
        records: std::ops::Range<usize>,
    ) -> Result<Vec<crate::nested::NestedBatch>, Error> {
        let records = self.records.get(records).unwrap_or_default();
        let text = text.get(self.base as usize..).unwrap_or_default();
        let mut ranges = Vec::with_capacity(records.len());
        let (mut line, mut start) = (0, 0);
        let mut ends = memchr::memchr_iter(b'\n', text);
        for record in records {
            let mut end = ends.next().unwrap_or(text.len());
            while line < *record {
                (line, start) = (line + 1, end + 1);
                end = ends.next().unwrap_or(text.len());
            }
            ranges.push(start..end);
            (line, start) = (line + 1, end + 1);
        }
        schema.decode(text, &ranges)
    }

    /// Drops the nested columns of the records that were removed.
    #[cfg(feature = "arrow")]
    pub fn cut_nested(&mut self) {
        let mut left = self.records.len();
        self.nested.retain(|batch| {
            let stays = batch.rows.num_rows() <= left;
            left = left.saturating_sub(batch.rows.num_rows());
            stays
        });
    }

    /// The number of records before the first fault, if there is one.
    pub fn records_before_fault(&self) -> Option<usize> {
        let fault = self.faults.first()?;
        Some(self.records.partition_point(|record| *record < fault.line))
    }

    /// Takes out matches and records that were needed only to make other results. Their memory may be used
    /// again.
    pub fn keep(&mut self, want: Want) -> Spare {
        let mut spare = Spare::default();
        if !want.matches {
            spare.matches = take(&mut self.matches);
        }
        // The lines of values that were lost are found by the records.
        let of_lost = self.on_device.as_ref().is_some_and(DeviceColumns::has_nulls);
        if !want.records && !of_lost {
            spare.records = take(&mut self.records);
        }
        spare
    }
}

/// Memory of matches and records that are no longer needed.
#[derive(Debug, Default)]
pub struct Spare {
    /// The memory of matches, for each path.
    pub matches: Vec<Vec<Match>>,
    /// The memory of records.
    pub records: Vec<LineIx>,
}

/// A faulty line of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineFault {
    /// The line.
    pub line: LineIx,
    /// Its first fault.
    pub fault: Fault,
}

/// Makes the texts, rows and columns that are wanted from records and matches.
///
/// # Errors
/// [`Error::Usage`] where columns are too long for their offsets.
pub fn finish(answer: Answer, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
    finish_with(answer, text, program, want, &mut Spare::default())
}

/// [`finish`]. Memory of matches and records that are not wanted is in `spare` afterwards.
pub fn finish_with(
    mut answer: Answer,
    text: &[u8],
    program: &Program,
    want: Want,
    spare: &mut Spare,
) -> Result<Answer, Error> {
    for piece in &mut answer.pieces {
        piece.take_marks(program);
        if let Some(form) = want.text {
            piece.write_texts(text, form);
        }
        if let Some(form) = want.rows {
            piece.write_rows(text, program, form);
        }
        if let Some(width) = want.columns {
            piece.make_columns(text, program, width)?;
        }
        *spare = piece.keep(want);
    }
    Ok(answer)
}
