//! The result for one partition.

mod located;

use std::any::Any;
use std::sync::Arc;

use warpath_answer::answer::path::Paths;
use warpath_answer::answer::{Answer, LineFault, Piece};
use warpath_answer::columns::ColumnBatch;
#[cfg(feature = "arrow")]
use warpath_answer::nested::NestedBatch;
#[cfg(feature = "arrow")]
use warpath_answer::on_device::DeviceColumns;
use warpath_core::error::RecordError;
use warpath_shared::check::Fault;
use warpath_shared::kernel::Match;
use warpath_shared::units::{ByteOffset, LineIx};

use super::sampler;
use crate::input::{Extract, Text};

pub use located::LocatedRecord;

/// The result for one partition.
///
/// ```
/// use warpath::{Engine, Program, Query, Want};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let program = Program::new(&[Query::compile("$.id")?, Query::compile("$.tags[*]")?])?;
/// let input = Engine::builder().build()?.bytes("{\"id\":7,\"tags\":[\"a\",\"b\"]}\n");
/// let batch = input.answers(program, Want::new().matches(true)).next().unwrap()?;
/// assert_eq!(batch.matches(0).collect::<Vec<_>>(), [b"7"]);
/// assert_eq!(batch.matches(1).collect::<Vec<_>>(), [b"\"a\"", b"\"b\""]);
/// # Ok(())
/// # }
/// ```
pub struct Batch<'a> {
    text: Text<'a>,
    source: Arc<str>,
    answer: Answer,
    first_line: u64,
    fault: Option<RecordError>,
    digest: Option<Box<dyn Any + Send + Sync>>,
    sample: Vec<u8>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(
        text: Text<'a>,
        source: Arc<str>,
        answer: Answer,
        first_line: u64,
        fault: Option<RecordError>,
    ) -> Self {
        Self { text, source, answer, first_line, fault, digest: None, sample: Vec::new() }
    }

    pub(super) fn with_digest(self, digest: Option<Box<dyn Any + Send + Sync>>) -> Self {
        Self { digest, ..self }
    }

    pub(super) fn with_sample(self, sample: Vec<u8>) -> Self {
        Self { sample, ..self }
    }

    /// Takes out the records that the worker copied ([`Input::sampling`](crate::operators::Input::sampling)):
    /// whole lines, and each document on one line.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    pub fn take_sample(&mut self) -> Vec<u8> {
        let sample = std::mem::take(&mut self.sample);
        match self.text.extract() {
            Some(Extract::Elements(array)) => sampler::within(array, &sample),
            _ => sample,
        }
    }

    /// Takes out what the worker made of the results
    /// ([`Input::digesting`](crate::operators::Input::digesting)). `None` if the input has no digest, if its
    /// value is not a `T`, and at a second call.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn take_digest<T: 'static>(&mut self) -> Option<T> {
        self.digest.take()?.downcast().ok().map(|made| *made)
    }

    /// The number of the first line in its input, counted from 0.
    pub(super) fn first_line(&self) -> u64 {
        self.first_line
    }

    /// The piece with this number.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn piece(&self, number: usize) -> Option<&Piece> {
        self.answer.pieces.get(number)
    }

    /// The input's name: a file's path, or `<stdin>`.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The partition's text. In documents, newlines outside strings are replaced
    /// ([`Format::Json`](crate::document::Format::Json)).
    ///
    /// The text is empty if neither matches nor records are wanted and no record is malformed. In that case
    /// the worker has read the next partition into its buffer.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.text.bytes()
    }

    /// Bytes of the partition's text, also if [`text`](Self::text) is empty.
    #[must_use]
    pub fn text_bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// The offset of the partition in its input, in decompressed bytes.
    #[must_use]
    pub fn offset(&self) -> ByteOffset {
        self.text.offset()
    }

    /// Converts an offset in the partition's text to an offset in its input, in decompressed bytes. This is
    /// `at` after [`offset`](Self::offset), except for selected lines
    /// ([`Input::only`](crate::operators::Input::only)), which may lie apart.
    #[must_use]
    pub fn offset_of(&self, at: u64) -> ByteOffset {
        match self.text.extract() {
            Some(Extract::Lines(selected)) => selected.offset(at),
            _ => self.text.offset() + at,
        }
    }

    /// Converts a line as [`pieces`](Self::pieces) counts it to the line of the input, counted from 0. The
    /// two differ only for selected lines.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn line(&self, line: u64) -> u64 {
        match self.text.extract() {
            Some(Extract::Lines(selected)) => selected.line(line),
            _ => line,
        }
    }

    /// The pieces of the result, each with the number of its first line in its input, counted from 0. If a
    /// document is evaluated by the elements of an array, the elements are its lines. Selected lines
    /// ([`Input::only`](crate::operators::Input::only)) count in their batch alone; [`line`](Self::line)
    /// converts their numbers.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn pieces(&self) -> impl Iterator<Item = (u64, &Piece)> {
        let mut line = self.first_line;
        self.answer.pieces.iter().map(move |piece| {
            let this = line;
            line += piece.lines as u64;
            (this, piece)
        })
    }

    /// The number of matches of a path in this batch; 0 for a path that does not exist.
    #[must_use]
    pub fn count(&self, path: usize) -> u64 {
        self.answer.pieces.iter().filter_map(|piece| piece.counts.get(path)).sum()
    }

    /// The matches of a path, in order, if the caller wants matches ([`Want::matches`]). A path that does not
    /// exist has none.
    ///
    /// [`Want::matches`]: warpath_answer::answer::Want::matches
    pub fn matches(&self, path: usize) -> impl Iterator<Item = &[u8]> {
        self.answer.pieces.iter().flat_map(move |piece| {
            let found = piece.matches.get(path).into_iter().flatten();
            found.map(move |found| self.match_text(piece, found))
        })
    }

    /// The matches of a path as text, if the caller wants text ([`Want::text`]): some matches at a time.
    /// A newline follows each match.
    ///
    /// [`Want::text`]: warpath_answer::answer::Want::text
    pub fn texts(&self, path: usize) -> impl Iterator<Item = &[u8]> {
        self.answer.pieces.iter().filter_map(move |piece| piece.texts.get(path).map(Vec::as_slice))
    }

    /// The records as rows of text, if the caller wants rows ([`Want::rows`]): some whole rows at a time. A
    /// newline follows each row.
    ///
    /// [`Want::rows`]: warpath_answer::answer::Want::rows
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.answer.pieces.iter().map(|piece| piece.rows.as_slice())
    }

    /// Takes the columns out, if the caller wanted columns: one batch for each piece, possibly without a row.
    /// A second call returns empty batches.
    pub fn take_columns(&mut self) -> Vec<ColumnBatch> {
        self.answer.pieces.iter_mut().map(|piece| std::mem::take(&mut piece.columns)).collect()
    }

    /// Takes the columns on the device out, if the caller wanted columns there: those of each piece. A second
    /// call returns `None` for each.
    #[cfg(feature = "arrow")]
    pub(crate) fn take_on_device(&mut self) -> Vec<Option<DeviceColumns>> {
        self.answer.pieces.iter_mut().map(|piece| piece.on_device.take()).collect()
    }

    /// Takes the nested columns out, if records are decoded
    /// ([`Input::decoding`](crate::operators::Input::decoding)): the columns of each piece. A second call
    /// returns none.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[cfg(feature = "arrow")]
    pub fn take_nested(&mut self) -> Vec<Vec<NestedBatch>> {
        self.answer.pieces.iter_mut().map(|piece| std::mem::take(&mut piece.nested)).collect()
    }

    /// The malformed records that were skipped.
    pub fn skipped(&self) -> impl Iterator<Item = RecordError> {
        let name = self.source();
        self.pieces().flat_map(move |(line, piece)| {
            let error = move |fault| in_input(record_error(name, line, fault), &self.text, self.first_line);
            piece.faults.iter().map(error)
        })
    }

    /// The malformed record at which the results end, under [`OnError::Fail`](crate::engine::OnError::Fail).
    /// The error follows this batch.
    #[must_use]
    pub fn fault(&self) -> Option<&RecordError> {
        self.fault.as_ref()
    }

    /// The line in which an error of this batch is, without its newline. Counts lines to find it.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn line_of(&self, error: &RecordError) -> &[u8] {
        if let Some(Extract::Whole(whole)) = self.text.extract() {
            return self.text().get(whole.line(error.line, self.text().len())).unwrap_or_default();
        }
        // Lines count from 1 in errors.
        let mut line = error.line.saturating_sub(1);
        if let Some(Extract::Lines(selected)) = self.text.extract() {
            line = selected.line_in_text(line);
        }
        let (first, base) = self
            .pieces()
            .take_while(|(first, _)| *first <= line)
            .last()
            .map_or((self.first_line, 0), |(first, piece)| (first, piece.base as usize));
        let text = self.text().get(base..).unwrap_or_default();
        text.split(|byte| *byte == b'\n').nth((line.saturating_sub(first)) as usize).unwrap_or_default()
    }

    /// Finds the normalised paths of values of this batch, from their start offsets in [`text`](Self::text).
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn paths(&self) -> Paths<'_> {
        let paths = Paths::new(self.text());
        match self.text.extract() {
            Some(Extract::Elements(array)) => paths.of_elements(array, self.first_line),
            _ => paths,
        }
    }

    /// The number of a record of this batch in its input, counted from 1. This is the number of its line,
    /// blank lines counted. A document is one record.
    pub(super) fn record(&self, line: u64) -> u64 {
        match self.text.extract() {
            Some(Extract::Whole(_) | Extract::Elements(_)) => 1,
            _ => self.line(line) + 1,
        }
    }

    /// The bytes of a match of a piece.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn match_text(&self, piece: &Piece, found: &Match) -> &[u8] {
        let base = piece.base as usize;
        self.text().get(base + found.start as usize..base + found.end as usize).unwrap_or_default()
    }
}
pub(super) fn record_error(name: &str, first_line: u64, fault: &LineFault) -> RecordError {
    let Fault { kind, at } = fault.fault;
    let (line, byte) = (first_line + fault.line as u64 + 1, at as u64 + 1);
    RecordError { name: name.to_owned(), line, byte, kind, input: None }
}

/// The error of a record of a text, with its position in the input, and with the format that the input seems
/// to have if that is not lines of JSON. `first_line` is the number of the text's first line.
pub(super) fn in_input(error: RecordError, text: &Text<'_>, first_line: u64) -> RecordError {
    match text.extract() {
        None if first_line == 0 => error.in_text(text.bytes()),
        extract => located(error, extract),
    }
}

/// Converts the line and byte of an error to positions in the input.
pub(super) fn located(error: RecordError, extract: Option<&Extract>) -> RecordError {
    match extract {
        Some(Extract::Whole(whole)) => {
            let (line, before) = whole.place(error.byte as usize - 1);
            RecordError { line, byte: before as u64 + 1, ..error }
        }
        Some(Extract::Lines(selected)) => RecordError { line: selected.line(error.line - 1) + 1, ..error },
        _ => error,
    }
}

/// Removes everything from the first faulty record on from a result, and returns that record's error.
pub(super) fn cut_at_fault(answer: &mut Answer, name: &str, mut first_line: u64) -> Option<RecordError> {
    let at = answer.pieces.iter().position(|piece| !piece.faults.is_empty())?;
    first_line += answer.pieces[..at].iter().map(|piece| piece.lines as u64).sum::<u64>();
    answer.pieces.truncate(at + 1);
    let piece = answer.pieces.last_mut()?;
    let fault = std::mem::take(&mut piece.faults).into_iter().next()?;
    let before = |line: &LineIx| *line < fault.line;
    piece.lines = fault.line;
    piece.records.truncate(piece.records.partition_point(before));
    #[cfg(feature = "arrow")]
    piece.cut_nested();
    for list in &mut piece.matches {
        list.truncate(list.partition_point(|found| before(&found.line)));
    }
    if let Some(counts) = piece.counts_before_fault.take() {
        piece.counts = counts;
    }
    for (text, len) in piece.texts.iter_mut().zip(piece.texts_before_fault.take().unwrap_or_default()) {
        text.truncate(len);
    }
    if let Some(len) = piece.rows_before_fault.take() {
        piece.rows.truncate(len);
    }
    if let Some(rows) = piece.columns_before_fault.take() {
        piece.columns.truncate(rows);
        if let Some(columns) = &mut piece.on_device {
            columns.truncate(rows);
        }
    }
    Some(record_error(name, first_line, &fault))
}
