//! Evaluation of a program over one record in memory.
//!
//! The text is a record on one line or on several. The choices that [`super::query`] makes for each text are
//! made once for each program, and all memory is used again. So a call allocates nothing.

use std::thread::LocalKey;

use warpath_answer::answer::Want;
use warpath_core::error::{Error, InputError};
use warpath_lang::program::Program;
use warpath_shared::check::{Fault, FaultKind, diagnose};
use warpath_shared::index::class::is_whitespace;
use warpath_shared::kernel::Match;
use warpath_shared::units::MAX_PARTITION_BYTES;

use super::cut::flatten;
use super::query::{self, Collector, Scratch};
use super::way::{Records, Way};
use crate::lease::{Pool, Reusable};

/// UTF-8's byte order mark. At the start of a record it is not part of the text (RFC 8259, section 8.1).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The name of a record in errors.
const NAME: &str = "<record>";

/// The length of records from which the memory of a call is not kept.
const LARGE: usize = 1 << 20;

/// The length of records from which streaming is not slower than an index. A record alone has the fixed cost
/// of both for itself, so the length is greater than for lines (`query.rs`). Times on a core of an AMD EPYC
/// with AVX-512, for `$.user.lang` by streaming and by an index: 365 and 180 ns for 200 bytes, 400 and 420
/// for 1,000, 660 and 1,270 for 4,500.
const STREAMED: usize = 1000;

/// A program with the choices that do not depend on the record.
pub struct Prepared {
    program: Program,
    /// The way for long records.
    way: Way,
}

/// The memory of one call.
#[derive(Default)]
pub(crate) struct RecordMemory {
    scratch: Scratch,
    sink: Collector,
    line: Line,
}

impl Reusable for RecordMemory {
    fn pool() -> &'static LocalKey<Pool<Self>> {
        thread_local! {
            static POOL: Pool<RecordMemory> = const { Pool::new() };
        }
        &POOL
    }

    fn is_small(&self) -> bool {
        self.line.is_small()
    }
}

impl RecordMemory {
    /// The matches of each path, in order. Their offsets count from the start of the text, which is
    /// [`base`](Self::base).
    #[inline]
    pub fn matches(&self) -> &[Vec<Match>] {
        &self.sink.piece.matches
    }

    /// The offset of the text in the record: after a byte order mark.
    #[inline]
    pub fn base(&self) -> usize {
        self.line.base
    }
}

impl Prepared {
    /// Makes the choices for a program.
    pub(crate) fn new(program: Program) -> Self {
        let way = Way::of(&program, Records::Single);
        Self { program, way }
    }

    /// The number of queries whose matches are results.
    #[inline]
    pub(crate) fn queries(&self) -> usize {
        self.program.columns().len()
    }

    /// Evaluates the program over a record, and leaves the matches in the memory. There are none in a blank
    /// record.
    ///
    /// # Errors
    /// [`Error::Input`] if the record is malformed or too long.
    pub(crate) fn evaluate(&self, record: &[u8], memory: &mut RecordMemory) -> Result<(), Error> {
        let RecordMemory { scratch, sink, line } = memory;
        sink.begin(&self.program, Want::new().matches(true));
        let text = line.of(record)?;
        if text.is_empty() {
            return Ok(());
        }
        match &self.way {
            Way::Names(_) if text.len() < STREAMED => {
                query::find(text, &self.program, &Way::Index, scratch, sink);
            }
            way => query::find(text, &self.program, way, scratch, sink),
        }
        match sink.piece.faults.first() {
            None => Ok(()),
            Some(fault) => Err(error_of(line.text_of(record), fault.fault)),
        }
    }
}

/// A record as the line that is evaluated.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// The text without newlines, if the record has some within.
    flat: Vec<u8>,
    base: usize,
    is_large: bool,
}

impl Line {
    /// Returns the text of a record without a byte order mark and without newlines. Newlines between tokens
    /// become spaces.
    ///
    /// # Errors
    /// [`Error::Input`] for a newline in a string, and for a record that is too long.
    pub fn of<'a>(&'a mut self, record: &'a [u8]) -> Result<&'a [u8], Error> {
        let text = record.strip_prefix(BYTE_ORDER_MARK).unwrap_or(record);
        (self.base, self.is_large) = (record.len() - text.len(), record.len() >= LARGE);
        if text.len() > MAX_PARTITION_BYTES {
            let name = NAME.to_owned();
            return Err(InputError::RecordTooLong { name, line: 1, limit: MAX_PARTITION_BYTES }.into());
        }
        let Some(newline) = memchr::memchr(b'\n', text) else { return Ok(text) };
        if text[newline..].iter().all(|byte| is_whitespace(*byte)) {
            return Ok(&text[..newline]);
        }
        self.flat.clear();
        self.flat.extend_from_slice(text);
        match flatten(&mut self.flat, &mut |_| {}) {
            Ok(()) => Ok(&self.flat),
            Err(at) => {
                // A string is open at this newline, so there is a fault, possibly an earlier one.
                let open = Fault { kind: FaultKind::UnclosedString, at };
                Err(error_of(text, diagnose(&self.flat[..at]).unwrap_or(open)))
            }
        }
    }

    /// The text of a record as it is, newlines included.
    pub fn text_of<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        &record[self.base..]
    }

    /// Returns false if the record was so long that the memory of the call is not kept.
    pub fn is_small(&self) -> bool {
        !self.is_large
    }
}

/// The error of a malformed record, whose text has the fault.
#[cold]
pub(crate) fn error_of(text: &[u8], fault: Fault) -> Error {
    let before = &text[..fault.at.min(text.len())];
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let line = memchr::memchr_iter(b'\n', before).count() as u64 + 1;
    InputError::of_fault(NAME, line, Fault { at: fault.at - start, ..fault }).into()
}
