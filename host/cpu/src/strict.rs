//! Strict validation: every record must be one JSON text by the whole of RFC 8259, in UTF-8 (RFC 3629).
//!
//! A device validates on its own ([`warpath_shared::strict`]), and this module diagnoses only the lines that
//! the device suspects. For other backends, the worker that read a text validates it on the host before it
//! evaluates the text. Nearly always there is no fault, and the backend gets the unchanged text. Otherwise,
//! the backend evaluates two parts. Every faulty line of the second part is replaced with spaces, so that no
//! other line and no offset changes:
//!
//! ```text
//! text      |{"a":1}\n{"a":2}\n|{"a":03}\n{"a":4}\n{"a":nil}\n{"a":6}|
//! evaluated |{"a":1}\n{"a":2}\n|        \n{"a":4}\n         \n{"a":6}|
//!             before the first   the faults of these lines are added
//!             fault
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `record` | the first fault of one record |
//! | `cpu/valid.rs` | fast validation of many lines |

mod record;

use warpath_answer::answer::{Answer, LineFault, Piece, Want};
use warpath_core::error::Error;
use warpath_lang::program::Program;
use warpath_shared::check::{Fault, trim};
use warpath_shared::units::{LineIx, PartOffset};

use crate::{Valid, Validator};

pub use record::fault;

/// The faulty lines of a text, in order, as every backend finds them in strict mode. A text consists of whole
/// lines; the last line may lack its newline. A line of white space alone is no record and has no fault.
#[must_use]
pub fn faults(text: &[u8]) -> Vec<LineFault> {
    Checked::of(text).bad.iter().map(BadLine::line_fault).collect()
}

/// Evaluates a program strictly: checks a text on the host, and evaluates the checked text by `ask`, which
/// evaluates the program over a part, or over blanked text.
///
/// # Errors
/// The errors of `ask`.
pub fn answer(
    text: &[u8],
    program: &Program,
    want: Want,
    ask: impl FnMut(&[u8]) -> Result<Answer, Error>,
) -> Result<Answer, Error> {
    Checked::of(text).answer(text, program, want, ask)
}

/// The fault of a line that a device suspects, with or without its newline.
pub fn line_fault(line: &[u8]) -> Option<Fault> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    trim(0, line.len() as u32, |at| line[at as usize]).and_then(|_| fault(line))
}

/// The least number of bytes of lines that are checked together. They fit in a first-level cache, and are
/// cheap to read again if one of them is faulty.
const BLOCK_BYTES: usize = 16 << 10;

/// The end, newline included, of the line that contains the byte at `at`; the length of the text if `at` is
/// after it.
fn line_end(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(text.len(), |len| at + len + 1)
}

/// The lines, records and faults of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    lines: LineIx,
    /// The number of records without a fault, and the number of them before the first faulty line.
    records: u64,
    records_before_fault: u64,
    bad: Vec<BadLine>,
}

/// A faulty line, with its offsets in the text, without its newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BadLine {
    line: LineIx,
    start: usize,
    end: usize,
    fault: Fault,
}

impl BadLine {
    fn line_fault(&self) -> LineFault {
        LineFault { line: self.line, fault: self.fault }
    }
}

impl Checked {
    /// Checks a text.
    pub fn of(text: &[u8]) -> Self {
        let mut checked = Self::default();
        let mut validator = Validator::default();
        let mut at = 0;
        while at < text.len() {
            let end = line_end(text, at + BLOCK_BYTES);
            if !checked.skim(&text[at..end], &mut validator) {
                while at < end {
                    let next = line_end(text, at);
                    if !checked.skim(&text[at..next], &mut validator) {
                        checked.judge(text, at);
                    }
                    at = next;
                }
            }
            at = end;
        }
        if checked.bad.is_empty() {
            checked.records_before_fault = checked.records;
        }
        checked
    }

    /// Counts some lines if all are valid. Returns false if one may not be.
    fn skim(&mut self, lines: &[u8], validator: &mut Validator) -> bool {
        if simdutf8::basic::from_utf8(lines).is_err() {
            return false;
        }
        let Some(Valid { lines, records }) = validator.valid(lines) else { return false };
        self.lines += lines;
        self.records += records;
        true
    }

    /// Diagnoses the line that begins at `start`.
    fn judge(&mut self, text: &[u8], start: usize) {
        let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |len| start + len);
        let line = &text[start..end];
        if trim(0, line.len() as u32, |at| line[at as usize]).is_some() {
            match fault(line) {
                None => self.records += 1,
                Some(fault) => {
                    if self.bad.is_empty() {
                        self.records_before_fault = self.records;
                    }
                    self.bad.push(BadLine { line: self.lines, start, end, fault });
                }
            }
        }
        self.lines += 1;
    }

    /// The offset of the first faulty line, if there is one.
    pub fn first_fault(&self) -> Option<usize> {
        self.bad.first().map(|bad| bad.start)
    }

    /// Evaluates a program over the text that was checked. `ask` evaluates the program over a part, or over
    /// blanked text.
    pub fn answer(
        &self,
        text: &[u8],
        program: &Program,
        want: Want,
        mut ask: impl FnMut(&[u8]) -> Result<Answer, Error>,
    ) -> Result<Answer, Error> {
        // Such a program has exactly one match, the record itself, in each record without a fault.
        let asks_records = program.levels() == 0 && !program.needs_trees() && program.predicate().is_none();
        if asks_records && want.without_limit() == Want::default() {
            return Ok(self.counts(program));
        }
        let Some(first) = self.bad.first() else { return ask(text) };
        let before = match first.start {
            0 => Answer::default(),
            len => ask(&text[..len])?,
        };
        if lines(&before) < first.line {
            // The part before the first fault satisfied the limit.
            return Ok(before);
        }
        let mut behind = ask(&self.blanked(text))?;
        self.add_faults(&mut behind, program, want);
        let base = first.start as PartOffset;
        let behind = behind.pieces.into_iter().map(|piece| Piece { base: piece.base + base, ..piece });
        Ok(Answer { pieces: before.pieces.into_iter().chain(behind).collect() })
    }

    /// The result of a program that needs only the number of records.
    fn counts(&self, program: &Program) -> Answer {
        if self.lines == 0 {
            return Answer::default();
        }
        let of_paths = |count| vec![count; program.columns().len()];
        let before = (!self.bad.is_empty()).then(|| of_paths(self.records_before_fault));
        let faults = self.bad.iter().map(BadLine::line_fault).collect();
        let piece = Piece { lines: self.lines, counts: of_paths(self.records), faults, ..Piece::default() };
        Answer { pieces: vec![Piece { counts_before_fault: before, ..piece }] }
    }

    /// The text from the first faulty line on, with all faulty lines replaced with spaces; empty if there is
    /// no fault.
    pub fn blanked(&self, text: &[u8]) -> Vec<u8> {
        let Some(BadLine { start: first, .. }) = self.bad.first() else { return Vec::new() };
        let mut blanked = text[*first..].to_vec();
        for BadLine { start, end, .. } in &self.bad {
            blanked[start - first..end - first].fill(b' ');
        }
        blanked
    }

    /// Adds the faults to a result over [`blanked`](Self::blanked) text. That text begins with a faulty line,
    /// so nothing comes before the first fault.
    pub fn add_faults(&self, answer: &mut Answer, program: &Program, want: Want) {
        let mut first_line = self.bad.first().map_or(0, |bad| bad.line);
        let mut bad = self.bad.iter().peekable();
        for (number, piece) in answer.pieces.iter_mut().enumerate() {
            let end = first_line + piece.lines;
            while let Some(bad) = bad.next_if(|bad| bad.line < end) {
                let LineFault { line, fault } = bad.line_fault();
                piece.faults.push(LineFault { line: line - first_line, fault });
            }
            first_line = end;
            if number == 0 && !piece.faults.is_empty() {
                piece.counts_before_fault = Some(vec![0; program.columns().len()]);
                piece.texts_before_fault = want.text.map(|_| vec![0; program.columns().len()]);
                piece.rows_before_fault = want.rows.map(|_| 0);
                piece.columns_before_fault = want.columns.map(|_| 0);
            }
        }
    }
}

/// The number of lines of a result.
fn lines(answer: &Answer) -> LineIx {
    answer.pieces.iter().map(|piece| piece.lines).sum()
}
