//! Strict: every record is one JSON text by the whole of RFC 8259, in UTF-8 (RFC 3629).
//!
//! A device checks for itself ([`warpath_shared::strict`]), and only what it suspects is judged here. For other backends a text is checked
//! on the host, by the worker that read it, before it is answered. Nearly always nothing is wrong, and the backend is asked as if nothing
//! had been checked. Else it is asked of two parts, and every faulty line of the
//! second is blank in what it gets, which changes no other line and no place:
//!
//! ```text
//! text      |{"a":1}\n{"a":2}\n|{"a":03}\n{"a":4}\n{"a":nil}\n{"a":6}|
//! asked     |{"a":1}\n{"a":2}\n|        \n{"a":4}\n         \n{"a":6}|
//!             what is before     the faults of these lines are added
//!             the first fault
//! ```
//!
//! | module | question it answers |
//! |---|---|
//! | `record` | what is the first fault of one record? |
//! | `cpu/valid.rs` | are many lines good, at speed? |

mod record;

use warpath_shared::check::{Fault, trim};
use warpath_shared::units::{LineIx, PartOffset};

use crate::answer::{Answer, LineFault, Piece, Want};
use crate::cpu::{Valid, valid};
use warpath_core::error::Error;
use warpath_lang::program::Program;

pub use record::fault;

/// The faulty lines of a text, in order, as every backend finds them in strict mode. A text is whole lines, of which the last may
/// lack its newline; a line of white space alone is no record, and has no fault.
#[must_use]
pub fn faults(text: &[u8]) -> Vec<LineFault> {
    Checked::of(text).bad.iter().map(BadLine::line_fault).collect()
}

/// The fault of a line that a device suspects, its newline included or not.
pub(crate) fn line_fault(line: &[u8]) -> Option<Fault> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    trim(0, line.len() as u32, |at| line[at as usize]).and_then(|_| fault(line))
}

/// Lines that are checked together have at least so many bytes: few enough for a first cache, and to be read again where one of them
/// is faulty.
const BLOCK_BYTES: usize = 16 << 10;

/// Where the line ends, its newline included, in which a byte stands or would stand behind the text.
fn line_end(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(text.len(), |len| at + len + 1)
}

/// What has been found of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    lines: LineIx,
    /// Records without a fault, and how many of them stand before the first faulty line.
    records: u64,
    records_before_fault: u64,
    bad: Vec<BadLine>,
}

/// A faulty line: where it stands in its text, without its newline.
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
        let mut at = 0;
        while at < text.len() {
            let end = line_end(text, at + BLOCK_BYTES);
            if !checked.skim(&text[at..end]) {
                while at < end {
                    let next = line_end(text, at);
                    if !checked.skim(&text[at..next]) {
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

    /// Counts some lines, if they are seen to be good.
    fn skim(&mut self, lines: &[u8]) -> bool {
        if simdutf8::basic::from_utf8(lines).is_err() {
            return false;
        }
        let Some(Valid { lines, records }) = valid(lines) else { return false };
        self.lines += lines;
        self.records += records;
        true
    }

    /// Judges the line that begins at a place.
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

    /// Where the first faulty line begins, if there is one.
    pub fn first_fault(&self) -> Option<usize> {
        self.bad.first().map(|bad| bad.start)
    }

    /// The answer of a program over the text that was checked. `ask` answers other texts.
    pub fn answer(
        &self,
        text: &[u8],
        program: &Program,
        want: Want,
        mut ask: impl FnMut(&[u8]) -> Result<Answer, Error>,
    ) -> Result<Answer, Error> {
        // The record itself is found in each record without a fault.
        let asks_records = program.levels() == 0 && !program.needs_trees();
        if asks_records && (Want { limit: None, ..want }) == Want::default() {
            return Ok(self.counts(program));
        }
        let Some(first) = self.bad.first() else { return ask(text) };
        let before = match first.start {
            0 => Answer::default(),
            len => ask(&text[..len])?,
        };
        if lines(&before) < first.line {
            // So much was enough.
            return Ok(before);
        }
        let mut behind = ask(&self.blanked(text))?;
        self.add_faults(&mut behind, program, want);
        let base = first.start as PartOffset;
        let behind = behind.pieces.into_iter().map(|piece| Piece { base: piece.base + base, ..piece });
        Ok(Answer { pieces: before.pieces.into_iter().chain(behind).collect() })
    }

    /// The answer of a program that asks for nothing but records, and how many there are.
    fn counts(&self, program: &Program) -> Answer {
        if self.lines == 0 {
            return Answer::default();
        }
        let of_paths = |count| vec![count; program.paths()];
        let before = (!self.bad.is_empty()).then(|| of_paths(self.records_before_fault));
        let faults = self.bad.iter().map(BadLine::line_fault).collect();
        let piece = Piece { lines: self.lines, counts: of_paths(self.records), faults, ..Piece::default() };
        Answer { pieces: vec![Piece { counts_before_fault: before, ..piece }] }
    }

    /// The text from the first faulty line on, where there is one, with white space in place of all faulty ones.
    pub fn blanked(&self, text: &[u8]) -> Vec<u8> {
        let Some(BadLine { start: first, .. }) = self.bad.first() else { return Vec::new() };
        let mut blanked = text[*first..].to_vec();
        for BadLine { start, end, .. } in &self.bad {
            blanked[start - first..end - first].fill(b' ');
        }
        blanked
    }

    /// Adds the faults to an answer over what is [`blanked`](Self::blanked): it begins with one, so nothing stands before that.
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
                piece.counts_before_fault = Some(vec![0; program.paths()]);
                piece.texts_before_fault = want.text.map(|_| vec![0; program.paths()]);
                piece.rows_before_fault = want.rows.map(|_| 0);
                piece.columns_before_fault = want.columns.map(|_| 0);
            }
        }
    }
}

/// How many lines an answer is about.
fn lines(answer: &Answer) -> LineIx {
    answer.pieces.iter().map(|piece| piece.lines).sum()
}
