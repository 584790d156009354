//! Records that a run leaves out: written to a file as they are, and counted up to a limit.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use warpath::{Batch, InputError};
use warpath_core::temporary::OutputMode;

use super::args::{OutputArgs, RejectArgs};
use super::failure::Failure;
use super::out::Out;
use super::run::Flow;

/// A record that was left out.
pub struct Reject {
    /// The line in its input, and the byte of the fault or of the refused value in the line, counted from 1.
    pub line: u64,
    pub byte: u64,
    pub reason: String,
    /// The column whose type does not take a value of the record.
    pub column: Option<String>,
    /// The text of the record, without its newline.
    pub record: Vec<u8>,
}

/// The writer and the limit of records that are left out.
pub struct Rejects {
    out: Option<Out>,
    most: Option<u64>,
    count: u64,
    /// True once the file is open.
    open: bool,
}

impl Rejects {
    /// Checks the options. `skips` is true if the run leaves records out and goes on. `mode` has the
    /// permissions of a new file.
    pub fn new(args: &RejectArgs, skips: bool, mode: OutputMode) -> Result<Self, Failure> {
        let given = match args {
            RejectArgs { rejects: Some(_), .. } => Some("--rejects"),
            RejectArgs { max_errors: Some(_), .. } => Some("--max-errors"),
            _ => None,
        };
        if let (Some(given), false) = (given, skips) {
            return Err(Failure::usage(format!(
                "`{given}` is about records that are left out, and none are"
            ))
            .with_help("add `--on-error skip`"));
        }
        let out =
            args.rejects.clone().map(|path| Out::new(&OutputArgs { output: Some(path) }).made_from(mode));
        Ok(Self { out, most: args.max_errors, count: 0, open: false })
    }

    /// Returns true if the records themselves are wanted.
    pub fn wants_records(&self) -> bool {
        self.out.is_some()
    }

    /// Opens the file, which may stay empty.
    pub fn open(&mut self) -> Result<(), Failure> {
        self.open = true;
        self.out.as_mut().map_or(Ok(()), Out::open)
    }

    /// Adds the records that were left out of a batch: the malformed ones up to the end of the results, of
    /// which there are `malformed`, and the refused ones.
    pub fn add_batch(&mut self, batch: &Batch, malformed: u64, refused: Vec<Reject>) -> Result<(), Failure> {
        if !self.wants_records() {
            self.count += malformed + refused.len() as u64;
            return Ok(());
        }
        let mut all = refused;
        if malformed > 0 {
            all.extend(batch.skipped_records().into_iter().take(malformed as usize).map(
                |(error, record)| Reject {
                    line: error.line,
                    byte: error.byte,
                    reason: error.kind.to_string(),
                    column: None,
                    record: record.to_vec(),
                },
            ));
            all.sort_by_key(|reject| reject.line);
        }
        all.iter().try_for_each(|reject| self.add(batch.source(), reject))
    }

    /// Adds one record.
    pub fn add(&mut self, file: &str, reject: &Reject) -> Result<(), Failure> {
        self.count += 1;
        let Some(out) = &mut self.out else { return Ok(()) };
        out.buffer.extend_from_slice(line_of(file, reject).as_bytes());
        out.line_end()
    }

    /// The failure if more records were left out than the limit allows.
    pub fn failure(&self) -> Option<Failure> {
        let most = self.most.filter(|most| self.count > *most)?;
        let records = if most == 1 { "record was" } else { "records were" };
        let kept = match &self.out {
            Some(_) => "the file of `--rejects` has them",
            None => "`--rejects FILE` keeps them",
        };
        Some(Failure::Data {
            message: format!("more than {most} {records} left out"),
            place: None,
            excerpt: None,
            help: format!("{kept}; a greater `--max-errors` lets the run go on"),
        })
    }

    /// Writes the records so far, because the next ones may take time.
    pub fn pause(&mut self) -> Result<(), Failure> {
        self.out.as_mut().map_or(Ok(()), Out::pause)
    }

    /// Writes the rest, if the file is open.
    pub fn finish(&mut self) -> Result<(), Failure> {
        match &mut self.out {
            Some(out) if self.open => out.finish(),
            _ => Ok(()),
        }
    }
}

/// The number of malformed records of a batch, up to the end of the results.
pub fn malformed(batch: &Batch, flow: Flow) -> u64 {
    let of_piece = |(at, (_, piece)): (usize, (u64, &warpath_answer::answer::Piece))| match flow {
        Flow::Stop { piece: last, .. } if at > last => 0,
        Flow::Stop { piece: last, line } if at == last => {
            piece.faults.partition_point(|fault| fault.line < line) as u64
        }
        _ => piece.faults.len() as u64,
    };
    batch.pieces().enumerate().map(of_piece).sum()
}

/// A malformed document of `filter`, and its text.
pub fn of_document(error: &InputError, record: &[u8]) -> Reject {
    let (line, byte, reason) = match error {
        InputError::Record(error) => (error.line, error.byte, error.kind.to_string()),
        other => (1, 1, other.to_string()),
    };
    Reject { line, byte, reason, column: None, record: record.to_vec() }
}

/// A record that was left out, as a line of JSON. A record that is not UTF-8 is in Base64 (RFC 4648), under
/// another name.
fn line_of(file: &str, reject: &Reject) -> String {
    let mut line = format!("{{\"file\":{},\"line\":{},\"byte\":{}", quoted(file), reject.line, reject.byte);
    if let Some(column) = &reject.column {
        // Writing to a string cannot fail.
        let _ = write!(line, ",\"column\":{}", quoted(column));
    }
    let _ = write!(line, ",\"reason\":{}", quoted(&reject.reason));
    let _ = match std::str::from_utf8(&reject.record) {
        Ok(record) => writeln!(line, ",\"record\":{}}}", quoted(record)),
        Err(_) => writeln!(line, ",\"record_base64\":\"{}\"}}", STANDARD.encode(&reject.record)),
    };
    line
}

/// A text as a string of JSON.
pub fn quoted(text: &str) -> String {
    warpath_core::json::encode(text)
}
