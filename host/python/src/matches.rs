//! The matches of a query, one by one.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use warpath::{Answers, Batch, Query};
use warpath_backend::answer::{Limit, Want};

use crate::error::raise;
use crate::reading::Reading;

/// The values that a path selects, in the order of the records. Iterating reads the input, each time anew.
///
/// >>> langs = warpath.open("tweets.ndjson").query("$.user.lang")
/// >>> list(langs)
/// ['"nl"', '"en"', '"fi"']
/// >>> langs.count()
/// 3
#[pyclass(frozen, module = "warpath")]
pub struct Matches {
    reading: Reading,
    query: Query,
}

/// The form in which a match is given to Python.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Bytes,
    Located,
}

impl Matches {
    pub fn new(reading: Reading, query: Query) -> Self {
        Self { reading, query }
    }

    fn iterate(&self, py: Python<'_>, form: Form) -> PyResult<MatchIterator> {
        // The caller takes matches one by one, and may stop at any of them.
        let want = Want::new().matches(true).limit(Limit::Matches(u64::MAX));
        let answers = py.detach(|| self.reading.answers(&self.query, want));
        let answers = answers.map_err(|error| raise(py, error))?;
        Ok(MatchIterator { form, state: Mutex::new(State { answers, batch: None, piece: 0, next: 0 }) })
    }
}

#[pymethods]
impl Matches {
    /// The JSON text of each value, as it is in the input. Bytes that are not UTF-8 become U+FFFD.
    fn __iter__(&self, py: Python<'_>) -> PyResult<MatchIterator> {
        self.iterate(py, Form::Text)
    }

    /// The JSON text of each value as bytes, unchanged.
    ///
    /// >>> next(warpath.open("tweets.ndjson").query("$.user").bytes())
    /// b'{"lang":"nl","followers":7}'
    fn bytes(&self, py: Python<'_>) -> PyResult<MatchIterator> {
        self.iterate(py, Form::Bytes)
    }

    /// Each value as ``json.loads`` makes it.
    ///
    /// >>> list(warpath.open("tweets.ndjson").query("$.user.lang").values())
    /// ['nl', 'en', 'fi']
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let loads = py.import("json")?.getattr("loads")?;
        py.import("builtins")?.getattr("map")?.call1((loads, self.bytes(py)?))
    }

    /// Each value with its location.
    ///
    /// >>> for match in warpath.open("tweets.ndjson").query("$.tags[*]").located():
    /// ...     print(match.source, match.line, match.path, match.text, match.start, match.end)
    /// tweets.ndjson 2 $['tags'][0] "a" 98 101
    /// tweets.ndjson 2 $['tags'][1] "b" 102 105
    fn located(&self, py: Python<'_>) -> PyResult<MatchIterator> {
        self.iterate(py, Form::Located)
    }

    /// The number of values. Faster than iterating.
    ///
    /// >>> warpath.open("tweets.ndjson").query("$.tags[*]").count()
    /// 2
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let failed = |error| raise(py, error);
        let mut answers = py.detach(|| self.reading.answers(&self.query, Want::default())).map_err(failed)?;
        let mut count = 0;
        while let Some(batch) = py.detach(|| answers.next()) {
            count += batch.map_err(failed)?.count(0);
            py.check_signals()?;
        }
        Ok(count)
    }

    fn __repr__(&self) -> String {
        format!("<warpath.Matches of {} in {}>", self.query.text(), self.reading.describe())
    }
}

/// The results that are read, and the next match.
struct State {
    answers: Answers<'static>,
    batch: Option<Batch<'static>>,
    /// The next match: its piece, and its number in the piece.
    piece: usize,
    next: usize,
}

/// An iterator over matches.
#[pyclass(module = "warpath")]
pub struct MatchIterator {
    form: Form,
    state: Mutex<State>,
}

#[pymethods]
impl MatchIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        // The only reference to the iterator is this one, so nobody waits for the lock.
        let state = self.state.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        loop {
            if let Some(batch) = &state.batch {
                while let Some(piece) = batch.piece(state.piece) {
                    if let Some(found) = piece.matches.first().and_then(|list| list.get(state.next)) {
                        state.next += 1;
                        let text = batch.match_text(piece, found);
                        return Ok(Some(match self.form {
                            Form::Text => PyString::new(py, &String::from_utf8_lossy(text)).into_any(),
                            Form::Bytes => PyBytes::new(py, text).into_any(),
                            Form::Located => {
                                Bound::new(py, Match::new(batch, state.piece, state.next - 1))?.into_any()
                            }
                        }));
                    }
                    (state.piece, state.next) = (state.piece + 1, 0);
                }
            }
            py.check_signals()?;
            let answers = &mut state.answers;
            // A batch keeps its buffer while it is there.
            state.batch = None;
            (state.piece, state.next) = (0, 0);
            match py.detach(|| answers.next()) {
                Some(batch) => state.batch = Some(batch.map_err(|error| raise(py, error))?),
                None => return Ok(None),
            }
        }
    }
}

/// A value with its location in the input.
///
/// >>> match = next(warpath.open("tweets.ndjson").query("$.tags[*]").located())
/// >>> match.text, match.line, match.path
/// ('"a"', 2, "$['tags'][0]")
#[pyclass(frozen, get_all, module = "warpath")]
pub struct Match {
    /// The JSON text of the value.
    text: String,
    /// The name of the file.
    source: String,
    /// The line of the value, counted from 1.
    line: u64,
    /// The normalised path of the value in its record (RFC 9535, section 2.7).
    path: String,
    /// The offset of the value's first byte in the decompressed input.
    start: u64,
    /// One past the offset of the value's last byte.
    end: u64,
}

impl Match {
    /// The match with a number in a piece of a batch. Both exist.
    fn new(batch: &Batch, piece: usize, number: usize) -> Self {
        let mut made = Self {
            text: String::new(),
            source: batch.source().to_owned(),
            line: 0,
            path: String::new(),
            start: 0,
            end: 0,
        };
        let Some((first, piece)) = batch.pieces().nth(piece) else { return made };
        let Some(found) = piece.matches.first().and_then(|list| list.get(number)) else { return made };
        made.text = String::from_utf8_lossy(batch.match_text(piece, found)).into_owned();
        made.line = batch.line_at(piece, first, found.line, found.start);
        let start = u64::from(piece.base) + u64::from(found.start);
        batch.paths().append(start as usize, &mut made.path);
        made.start = batch.offset_of(start);
        made.end = made.start + u64::from(found.end - found.start);
        made
    }
}

#[pymethods]
impl Match {
    fn __repr__(&self) -> String {
        format!("<warpath.Match {}:{} {} {}>", self.source, self.line, self.path, self.text)
    }
}
