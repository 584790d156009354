//! The matches of a query, one by one.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use warpath::{Answers, Batch, Query};
use warpath_answer::answer::{Limit, Piece, Want};

use crate::border::{Exclusive, border, detached};
use crate::error::Stop;
use crate::interrupt;
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

/// The representation of a match in Python.
enum Representation {
    Text,
    Bytes,
    /// The value that `json.loads` makes, which is this function.
    Value(Py<PyAny>),
    Located,
}

impl Matches {
    pub fn new(reading: Reading, query: Query) -> Self {
        Self { reading, query }
    }

    fn iterate(&self, py: Python<'_>, representation: Representation) -> PyResult<MatchIterator> {
        // The caller takes matches one by one, and may stop at any of them.
        let want = Want::new().matches(true).limit(Limit::Matches(u64::MAX));
        let answers = detached(py, || self.reading.answers(&self.query, want))?;
        Ok(MatchIterator {
            representation,
            state: Exclusive::new(State { answers, batch: None, piece: 0, next: 0 }),
        })
    }
}

#[pymethods]
impl Matches {
    /// The JSON text of each value, as it is in the input. Bytes that are not UTF-8 become U+FFFD.
    fn __iter__(&self, py: Python<'_>) -> PyResult<MatchIterator> {
        border(py, || self.iterate(py, Representation::Text))
    }

    /// The JSON text of each value as bytes, unchanged.
    ///
    /// >>> next(warpath.open("tweets.ndjson").query("$.user").bytes())
    /// b'{"lang":"nl","followers":7}'
    fn bytes(&self, py: Python<'_>) -> PyResult<MatchIterator> {
        border(py, || self.iterate(py, Representation::Bytes))
    }

    /// Each value as ``json.loads`` makes it. ``RecordError`` for a text that is not a value.
    ///
    /// >>> list(warpath.open("tweets.ndjson").query("$.user.lang").values())
    /// ['nl', 'en', 'fi']
    fn values(&self, py: Python<'_>) -> PyResult<MatchIterator> {
        border(py, || {
            let loads = py.import("json")?.getattr("loads")?;
            self.iterate(py, Representation::Value(loads.unbind()))
        })
    }

    /// Each value with its location.
    ///
    /// >>> for match in warpath.open("tweets.ndjson").query("$.tags[*]").located():
    /// ...     print(match.source, match.line, match.path, match.text, match.start, match.end)
    /// tweets.ndjson 2 $['tags'][0] "a" 98 101
    /// tweets.ndjson 2 $['tags'][1] "b" 102 105
    fn located(&self, py: Python<'_>) -> PyResult<MatchIterator> {
        border(py, || self.iterate(py, Representation::Located))
    }

    /// The number of values. Faster than iterating.
    ///
    /// >>> warpath.open("tweets.ndjson").query("$.tags[*]").count()
    /// 2
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let count = || {
            let mut answers = self.reading.answers(&self.query, Want::default())?;
            let mut count = 0;
            while let Some(batch) = interrupt::wait(|context| answers.poll(context))? {
                count += batch?.count(0);
            }
            Ok::<_, Stop>(count)
        };
        border(py, || detached(py, count))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        border(py, || {
            Ok(format!("<warpath.Matches of {} in {}>", self.query.text(), self.reading.describe()))
        })
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

impl State {
    /// The next match as Python gets it; `None` at the end.
    fn advance<'py>(
        &mut self,
        py: Python<'py>,
        representation: &Representation,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        loop {
            if let Some(batch) = &self.batch {
                while let Some(piece) = batch.piece(self.piece) {
                    if let Some(found) = piece.matches.first().and_then(|list| list.get(self.next)) {
                        self.next += 1;
                        let text = batch.match_text(piece, found);
                        let (number, line, start) = (self.piece, found.line, found.start);
                        return MatchView { batch, piece, number, text, line, start }
                            .give(py, representation)
                            .map(Some);
                    }
                    (self.piece, self.next) = (self.piece + 1, 0);
                }
            }
            // A batch keeps its buffer while it is there.
            (self.piece, self.next) = (0, 0);
            let (answers, before) = (&mut self.answers, self.batch.take());
            self.batch = detached(py, move || {
                drop(before);
                let next = interrupt::wait(|context| answers.poll(context))?;
                next.transpose().map_err(Stop::from)
            })?;
            if self.batch.is_none() {
                return Ok(None);
            }
        }
    }
}

/// A match of a batch.
struct MatchView<'a> {
    batch: &'a Batch<'static>,
    piece: &'a Piece,
    /// The number of the piece.
    number: usize,
    text: &'a [u8],
    /// The line in the piece.
    line: u32,
    /// The offset of the first byte in the piece.
    start: u32,
}

impl MatchView<'_> {
    /// The match as Python gets it.
    fn give<'py>(&self, py: Python<'py>, representation: &Representation) -> PyResult<Bound<'py, PyAny>> {
        Ok(match representation {
            Representation::Text => PyString::new(py, &String::from_utf8_lossy(self.text)).into_any(),
            Representation::Bytes => PyBytes::new(py, self.text).into_any(),
            Representation::Value(loads) => {
                let value = loads.bind(py).call1((PyBytes::new(py, self.text),));
                value.map_err(|raised| self.refused(py, raised))?
            }
            Representation::Located => Bound::new(py, self.located())?.into_any(),
        })
    }

    /// The first line of the piece.
    fn first_line(&self) -> u64 {
        self.batch.pieces().nth(self.number).map_or(0, |(first, _)| first)
    }

    /// The match with its location.
    fn located(&self) -> Match {
        let Self { batch, piece, text, .. } = self;
        let start = u64::from(piece.base) + u64::from(self.start);
        let mut path = String::new();
        batch.paths().append(start as usize, &mut path);
        let start = batch.offset_of(start);
        Match {
            text: String::from_utf8_lossy(text).into_owned(),
            source: batch.source().to_owned(),
            line: batch.line_at(piece, self.first_line(), self.line, self.start),
            path,
            start,
            end: start + text.len() as u64,
        }
    }

    /// The exception for a text of which `json.loads` makes no value. An exception for another reason stays
    /// as it is.
    fn refused(&self, py: Python<'_>, raised: PyErr) -> PyErr {
        if !raised.is_instance_of::<PyValueError>(py) {
            return raised;
        }
        let at = self.batch.record_at(self.piece, self.first_line(), self.line, self.start);
        let place = (self.batch.source().to_owned(), at.line, at.byte);
        let made = Stop::NoValue { place, why: raised.value(py).to_string() }.raise(py);
        made.set_cause(py, Some(raised));
        made
    }
}

/// An iterator over matches.
#[pyclass(frozen, module = "warpath")]
pub struct MatchIterator {
    representation: Representation,
    state: Exclusive<State>,
}

#[pymethods]
impl MatchIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        border(py, || self.state.with(py, |state| state.advance(py, &self.representation)))
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

#[pymethods]
impl Match {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        border(py, || {
            Ok(format!("<warpath.Match {}:{} {} {}>", self.source, self.line, self.path, self.text))
        })
    }
}
