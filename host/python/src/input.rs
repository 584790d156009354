//! Inputs, and what is read from them.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use warpath::{Format, OnError, TableFormat, TextColumn};
use warpath_core::time::Format as TimeFormat;

use crate::border::{border, detached};
use crate::columns;
use crate::error::{raise, usage};
use crate::matches::Matches;
use crate::reading::{EngineSettings, Origin, PythonBytes, Reading};
use crate::rows::OnMismatch;
use crate::schema::{self, Schema};
use crate::selection::Selection;

/// Records to read: files, or bytes in memory. Nothing is read before results are.
///
/// An input may be read any number of times. ``where`` makes another one.
///
/// >>> tweets = warpath.open("tweets.ndjson")
/// >>> tweets
/// <warpath.Input tweets.ndjson>
/// >>> tweets.query("$.user.lang").count()
/// 3
#[pyclass(frozen, module = "warpath")]
pub struct Input(Reading);

/// The settings that ``open`` and ``from_bytes`` share.
struct Options {
    device: String,
    format: Format,
    column: Option<TextColumn>,
    on_error: String,
    strict: bool,
    time_format: Option<String>,
    workers: Option<usize>,
    partition_size: Option<usize>,
}

/// Chooses among words.
fn choose<T: Copy>(py: Python<'_>, name: &str, word: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let chosen = choices.iter().find(|(known, _)| *known == word).map(|(_, choice)| *choice);
    chosen.ok_or_else(|| {
        let known: Vec<String> = choices.iter().map(|(word, _)| format!("{word:?}")).collect();
        usage(py, format!("{name} is {word:?}; expected {}", known.join(" or ")))
    })
}

/// Takes an integer of an argument, which is at least `least`.
fn integer<T>(name: &str, value: Option<&Bound<'_, PyAny>>, least: u64) -> PyResult<Option<T>>
where
    T: TryFrom<u64>,
{
    let Some(value) = value else { return Ok(None) };
    let py = value.py();
    let taken = match value.extract::<u64>() {
        Ok(taken) => Some(taken),
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => None,
        Err(_) => {
            return Err(PyTypeError::new_err(format!("{name} is {value:?}; expected an integer or None")));
        }
    };
    match taken.filter(|taken| *taken >= least).and_then(|taken| T::try_from(taken).ok()) {
        Some(taken) => Ok(Some(taken)),
        None => {
            // Python refuses to show an integer of thousands of digits.
            let shown = value.str().map_or_else(|_| "too long to show".to_owned(), |text| text.to_string());
            Err(usage(py, format!("{name} is {shown}; expected an integer from {least} to {}", u64::MAX)))
        }
    }
}

impl Options {
    fn input(self, py: Python<'_>, origin: Origin) -> PyResult<Input> {
        let time_format = self.time_format.map(|text| {
            TimeFormat::new(&text)
                .map(Arc::new)
                .map_err(|why| usage(py, format!("time_format {text:?}: {why}")))
        });
        let settings = EngineSettings {
            device: self.device.parse().map_err(|error| raise(py, error))?,
            format: self.format,
            on_error: choose(
                py,
                "on_error",
                &self.on_error,
                &[("fail", OnError::Fail), ("skip", OnError::Skip)],
            )?,
            strict: self.strict,
            workers: self.workers,
            partition_size: self.partition_size,
        };
        // A device that is absent is an error now, and not when an input is read.
        detached(py, || settings.engine())?;
        Ok(Input(Reading {
            origin,
            column: self.column,
            settings,
            time_format: time_format.transpose()?,
            predicate: None,
            records: None,
        }))
    }
}

/// Opens files of newline-delimited JSON: ``paths`` is a name, or a list of names.
///
/// A name is that of a file, of a folder, or a pattern such as ``logs/**/*.ndjson.gz``. Files may be
/// compressed by gzip, zstd, bzip2, xz or lz4; their first bytes show it.
///
/// * ``device`` is ``"auto"``, ``"cpu"``, ``"cuda:0"``, ``"cuda:0,1"`` or ``"cuda:all"``.
/// * ``format`` is ``"ndjson"``, with a record on each line, or ``"json"``, with one document in each file.
///   With ``"parquet"`` or ``"arrow"``, the records are the values of ``column``, a column of text in each
///   file.
/// * ``on_error`` is ``"fail"`` or ``"skip"``: the action at a malformed record.
/// * ``strict`` checks all of RFC 8259, and UTF-8.
/// * ``time_format`` is the format of instants in columns and conditions, of ``strftime`` or ``"ms"``.
/// * ``workers`` and ``partition_size`` are the threads, and the bytes that each takes at once.
///
/// >>> warpath.open(["tweets.ndjson", "tweets.ndjson"]).query("$.id").count()
/// 6
#[pyfunction]
#[pyo3(signature = (paths, *, device="auto", format="ndjson", column=None, on_error="fail", strict=false,
    time_format=None, workers=None, partition_size=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords of a function of Python")]
pub fn open(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    device: &str,
    format: &str,
    column: Option<String>,
    on_error: &str,
    strict: bool,
    time_format: Option<String>,
    workers: Option<&Bound<'_, PyAny>>,
    partition_size: Option<&Bound<'_, PyAny>>,
) -> PyResult<Input> {
    border(py, || {
        let formats = [
            ("ndjson", (Format::Ndjson, None)),
            ("json", (Format::Json, None)),
            ("parquet", (Format::Ndjson, Some(TableFormat::Parquet))),
            ("arrow", (Format::Ndjson, Some(TableFormat::Arrow))),
        ];
        let (read, table) = choose(py, "format", format, &formats)?;
        let column = match (table, column) {
            (Some(format), Some(name)) => Some(TextColumn::new(format, name)),
            (None, None) => None,
            (Some(_), None) => {
                let expected = "requires the name of a column of JSON text: column=\"NAME\"";
                return Err(usage(py, format!("format {format:?} {expected}")));
            }
            (None, Some(name)) => {
                let expected = "requires format=\"parquet\" or format=\"arrow\"";
                return Err(usage(py, format!("column {name:?} {expected}")));
            }
        };
        let names: Vec<PathBuf> = match paths.extract::<PathBuf>() {
            Ok(one) => vec![one],
            Err(_) => {
                let paths = paths.try_iter().map_err(|_| {
                    PyTypeError::new_err(format!("paths is {paths:?}; expected a path, or several of them"))
                });
                paths?.map(|path| path?.extract()).collect::<PyResult<_>>()?
            }
        };
        let workers = integer("workers", workers, 1)?;
        let partition_size = integer("partition_size", partition_size, 1)?;
        let origin = detached(py, || Reading::files(&names, table))?;
        let (device, on_error) = (device.to_owned(), on_error.to_owned());
        Options { device, format: read, column, on_error, strict, time_format, workers, partition_size }
            .input(py, origin)
    })
}

/// Opens bytes in memory. ``bytes`` are not copied, and a ``bytearray`` is. ``name`` is the name of the input
/// in messages.
///
/// The other arguments are those of ``open``, without ``column``.
///
/// >>> list(warpath.from_bytes(b'{"n": 1}\n{"n": [2]}\n').query("$.n"))
/// ['1', '[2]']
#[pyfunction]
#[pyo3(signature = (data, *, name="<bytes>", device="auto", format="ndjson", on_error="fail", strict=false,
    time_format=None, workers=None, partition_size=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords of a function of Python")]
pub fn from_bytes(
    py: Python<'_>,
    data: PyBackedBytes,
    name: &str,
    device: &str,
    format: &str,
    on_error: &str,
    strict: bool,
    time_format: Option<String>,
    workers: Option<&Bound<'_, PyAny>>,
    partition_size: Option<&Bound<'_, PyAny>>,
) -> PyResult<Input> {
    border(py, || {
        let origin = Origin::Bytes(name.to_owned(), PythonBytes(Arc::new(data)));
        let format = choose(py, "format", format, &[("ndjson", Format::Ndjson), ("json", Format::Json)])?;
        let workers = integer("workers", workers, 1)?;
        let partition_size = integer("partition_size", partition_size, 1)?;
        let (device, on_error) = (device.to_owned(), on_error.to_owned());
        Options { device, format, column: None, on_error, strict, time_format, workers, partition_size }
            .input(py, origin)
    })
}

#[pymethods]
impl Input {
    /// Restricts the records to those for which a condition is true, beside earlier conditions.
    ///
    /// >>> tweets = warpath.open("tweets.ndjson").where("$.user.followers >= 1000")
    /// >>> list(tweets.where("$.user.lang in ('en', 'nl')").query("$.id"))
    /// ['2']
    fn r#where(&self, py: Python<'_>, expression: &str) -> PyResult<Self> {
        border(py, || self.0.and(expression).map(Self).map_err(|error| raise(py, error)))
    }

    /// Selects values by JSONPath (RFC 9535).
    ///
    /// >>> list(warpath.open("tweets.ndjson").query("$.tags[*]"))
    /// ['"a"', '"b"']
    fn query(&self, py: Python<'_>, path: &str) -> PyResult<Matches> {
        border(py, || {
            let query = self.0.query(path).map_err(|error| raise(py, error))?;
            Ok(Matches::new(self.0.clone(), query))
        })
    }

    /// Selects columns, with a row for each record.
    ///
    /// ``columns`` has a path for each name, or a pair of path and type, or a path, a type and a default.
    /// The types are ``bool``, ``int64``, ``float64``, ``decimal(P,S)``, ``string``, ``text``, ``json``,
    /// ``int64(string)`` and the like for numbers that may be strings,
    /// ``time``, ``date``, ``list<TYPE>``, ``struct<NAME:TYPE,...>`` and ``auto``. A column without a type is
    /// ``text``, which takes every value in UTF-8, or ``auto`` if there is a schema. Without ``columns``,
    /// each member of the records is a column, with lists, structs and maps.
    ///
    /// * ``schema`` is the result of ``schema()``, or an Arrow schema of any library. It has the types of
    ///   ``auto``, and the columns if none are given. Without it, all records are read once for the schema.
    /// * ``auto=True`` is the type ``auto`` for all columns without a type.
    /// * ``explode`` is the path of an array, whose elements are the rows. A path that begins with ``@`` is
    ///   one in the element. Other columns have values of the record around it.
    /// * ``limit`` is the most rows.
    /// * ``on_mismatch`` is the action at a value that a type does not take. ``"null"`` makes it null,
    ///   ``"fail"`` raises ``MismatchError`` after the rows before it, and ``"skip"`` leaves the rows of its
    ///   record out. With ``"string"``, all columns with types, except ``json``, are ``text``, which takes
    ///   every value. ``Selection.losses`` counts the values.
    ///
    /// >>> tweets = warpath.open("tweets.ndjson")
    /// >>> rows = tweets.select({"id": ("$.id", "int64"), "lang": ("$.user.lang", "text", "und")})
    /// >>> pyarrow.table(rows).to_pylist()
    /// [{'id': 1, 'lang': 'nl'}, {'id': 2, 'lang': 'en'}, {'id': 3, 'lang': 'fi'}]
    #[pyo3(signature = (columns=None, *, schema=None, auto=false, explode=None, limit=None,
        on_mismatch="null"))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords of a method of Python")]
    fn select(
        &self,
        py: Python<'_>,
        columns: Option<&Bound<'_, PyAny>>,
        schema: Option<&Bound<'_, PyAny>>,
        auto: bool,
        explode: Option<&str>,
        limit: Option<&Bound<'_, PyAny>>,
        on_mismatch: &str,
    ) -> PyResult<Selection> {
        border(py, || {
            let actions = [
                ("null", OnMismatch::Null),
                ("fail", OnMismatch::Fail),
                ("skip", OnMismatch::Skip),
                ("string", OnMismatch::String),
            ];
            let limit = integer("limit", limit, 0)?;
            let action = choose(py, "on_mismatch", on_mismatch, &actions)?;
            let known = schema.map(schema::of_object).transpose()?;
            let (columns, reading) = match columns {
                None => {
                    if explode.is_some() {
                        return Err(usage(py, "explode requires columns: `{\"sku\": \"@.sku\"}`"));
                    }
                    if matches!(action, OnMismatch::Skip | OnMismatch::String) {
                        let expected = "requires columns: `{\"id\": (\"$.id\", \"int64\")}`";
                        return Err(usage(py, format!("on_mismatch={on_mismatch:?} {expected}")));
                    }
                    (columns::nested(py, &self.0, known)?, self.0.clone())
                }
                Some(columns) => {
                    let specs = columns::specs(columns)?;
                    let auto = auto || known.is_some();
                    columns::typed(py, &self.0, &specs, known, auto, explode, action)?
                }
            };
            Ok(Selection::new(reading, columns, limit, action))
        })
    }

    /// The schema of the records: every path, with the kinds of its values. Reads all records, or the first
    /// ``limit``.
    ///
    /// >>> for row in warpath.open("tweets.ndjson").schema().rows():
    /// ...     print(row["path"], row["types"], row["missing"])
    /// $ {'object': 3} 0
    /// $.id {'int64': 3} 0
    /// $.user {'object': 3} 0
    /// $.user.lang {'string': 3} 0
    /// $.user.followers {'int64': 3} 0
    /// $.tags {'array': 1} 2
    /// $.tags[*] {'string': 2} 0
    #[pyo3(signature = (limit=None))]
    fn schema(&self, py: Python<'_>, limit: Option<&Bound<'_, PyAny>>) -> PyResult<Schema> {
        border(py, || schema::read(py, &self.0, integer("limit", limit, 0)?).map(Schema::new))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        border(py, || Ok(format!("<warpath.Input {}>", self.0.describe())))
    }
}
