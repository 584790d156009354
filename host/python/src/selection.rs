//! Columns of an input, given to libraries of Arrow without a copy.

use std::ffi::CStr;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi::to_ffi;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use warpath::columns::{Occurrences, Tally};
use warpath::{Answers, Error, Plan, Stats};

use crate::border::{Exclusive, border, detached, guarded, unlocked};
use crate::columns::SelectedColumns;
use crate::device::{self, DeviceBatch, DeviceBatchIterator, OnDevice};
use crate::error::{Stop, raise, usage};
use crate::interrupt;
use crate::reading::Reading;
use crate::rows::{OnMismatch, SelectedRows};
use crate::schema;

/// The names that the Arrow PyCapsule interface gives to capsules.
const STREAM_CAPSULE: &CStr = c"arrow_array_stream";
const ARRAY_CAPSULE: &CStr = c"arrow_array";

/// Columns of an input, with a row for each record. Nothing is read before a library takes the columns, or
/// before the batches are iterated. Each of them reads the input anew.
///
/// Libraries take the columns without a copy, by the Arrow PyCapsule interface: ``pyarrow.table(selection)``,
/// ``polars.DataFrame(selection)``, ``pandas.DataFrame.from_arrow(selection)``, and in DuckDB a variable of
/// this type is a table.
///
/// >>> rows = warpath.open("tweets.ndjson").select({"id": ("$.id", "int64")})
/// >>> polars.DataFrame(rows)["id"].sum()
/// 6
#[pyclass(frozen, module = "warpath")]
pub struct Selection {
    reading: Reading,
    columns: SelectedColumns,
    arrow: SchemaRef,
    limit: Option<u64>,
    on_mismatch: OnMismatch,
    /// The report of the read that began last; `None` before the first one.
    report: Mutex<Option<Arc<Mutex<Report>>>>,
}

/// A read's report of itself.
#[derive(Default)]
struct Report {
    rows: u64,
    counted: Vec<(String, String)>,
    losses: Tally,
    stats: Stats,
    plan: Plan,
}

impl Selection {
    /// Makes a selection of the first `limit` rows.
    pub fn new(
        reading: Reading,
        columns: SelectedColumns,
        limit: Option<u64>,
        on_mismatch: OnMismatch,
    ) -> Self {
        let arrow = columns.arrow();
        Self { reading, columns, arrow, limit, on_mismatch, report: Mutex::default() }
    }

    /// Begins to read to the host.
    fn read(&self, py: Python<'_>) -> PyResult<BatchReader<SelectedRows>> {
        let rows =
            detached(py, || SelectedRows::new(&self.columns, &self.reading, self.limit, self.on_mismatch))?;
        Ok(self.reader(rows))
    }

    /// Begins to read to a device.
    fn read_on_device(&self, py: Python<'_>) -> PyResult<BatchReader<OnDevice>> {
        let rows =
            detached(py, || OnDevice::new(&self.columns, &self.reading, self.limit, self.on_mismatch))?;
        Ok(self.reader(rows))
    }

    fn reader<B: Batches>(&self, batches: B) -> BatchReader<B> {
        let mut report = Report { counted: batches.counted().to_vec(), ..Report::default() };
        report.losses.clone_from(batches.losses());
        report.plan.clone_from(batches.answers().plan());
        let report = Arc::new(Mutex::new(report));
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = Some(report.clone());
        BatchReader { batches: Some(batches), report }
    }

    /// Reads something from the report of the latest read. `what` names it in messages.
    fn report<T>(&self, py: Python<'_>, what: &str, read: impl FnOnce(&Report) -> T) -> PyResult<T> {
        let report = self.report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let report = report.ok_or_else(|| {
            usage(
                py,
                format!(
                    "the selection has no {what} yet; expected a read before: `pyarrow.table(selection)`"
                ),
            )
        })?;
        let report = report.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(read(&report))
    }

    /// The values that columns did not take, as a dictionary.
    fn losses_by_name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let both = |report: &Report| (report.counted.clone(), report.losses.clone());
        let (counted, losses) = self.report(py, "losses", both)?;
        let made = PyDict::new(py);
        for ((name, values), tally) in counted.iter().zip(&losses.columns) {
            let of_column = PyDict::new(py);
            of_column.set_item("type", values)?;
            let counted = [&tally.missing, &tally.null, &tally.mismatch, &tally.overflow];
            for (values, kind) in counted.into_iter().zip(["missing", "null", "mismatch", "overflow"]) {
                of_column.set_item(kind, values.count)?;
                of_column.set_item(format!("first_{kind}"), place(values))?;
            }
            made.set_item(name, of_column)?;
        }
        Ok(made)
    }

    /// The statistics, as a dictionary.
    fn stats_by_name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = |report: &Report| (report.rows, report.stats, report.plan.clone());
        let (rows, stats, plan) = self.report(py, "stats", all)?;
        let made = PyDict::new(py);
        made.set_item("rows", rows)?;
        made.set_item("lines", stats.lines)?;
        made.set_item("bytes", stats.bytes)?;
        made.set_item("skipped", stats.skipped)?;
        made.set_item("workers", stats.workers)?;
        made.set_item("backend", plan.backend)?;
        made.set_item("reason", plan.reason)?;
        Ok(made)
    }
}

#[pymethods]
impl Selection {
    /// A stream of all batches in a capsule, for libraries of Arrow. Each call begins to read anew.
    ///
    /// The requested schema is not used: all batches have the schema of ``__arrow_c_schema__``.
    ///
    /// >>> rows = warpath.open("tweets.ndjson").select({"id": "$.id"})
    /// >>> pyarrow.RecordBatchReader.from_stream(rows).read_all().num_rows
    /// 3
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        border(py, || {
            let stream =
                FFI_ArrowArrayStream::new(Box::new(Stream(Some(self.read(py)?), self.arrow.clone())));
            PyCapsule::new_with_value(py, stream, STREAM_CAPSULE)
        })
    }

    /// The Arrow schema of all batches in a capsule, for libraries of Arrow.
    ///
    /// >>> pyarrow.schema(warpath.open("tweets.ndjson").select({"id": ("$.id", "int64")})).field("id").type
    /// DataType(int64)
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        border(py, || schema::capsule(py, &self.arrow))
    }

    /// The batches, one by one.
    ///
    /// >>> [len(batch) for batch in warpath.open("tweets.ndjson").select({"id": "$.id"})]
    /// [3]
    fn __iter__(&self, py: Python<'_>) -> PyResult<BatchIterator> {
        border(py, || Ok(BatchIterator(Exclusive::new(self.read(py)?))))
    }

    /// Reads all rows to columns that stay in the memory of the device. ``UsageError`` if the CPU evaluates
    /// the input, if a column is a list or a struct, or if there are no rows.
    ///
    /// The batches of several partitions are joined by copies on the device.
    ///
    /// >>> tweets = warpath.open("tweets.ndjson", device="cuda:0")  # doctest: +SKIP
    /// >>> rows = tweets.select({"id": ("$.id", "int64")})  # doctest: +SKIP
    /// >>> rows.on_device()  # doctest: +SKIP
    /// <warpath.DeviceBatch of 3 rows, 1 columns on cuda:0>
    fn on_device(&self, py: Python<'_>) -> PyResult<DeviceBatch> {
        border(py, || device::all(py, self.read_on_device(py)?))
    }

    /// The batches that stay in the memory of the device, one by one: one for each partition.
    ///
    /// >>> [len(batch) for batch in rows.device_batches()]  # doctest: +SKIP
    /// [3]
    fn device_batches(&self, py: Python<'_>) -> PyResult<DeviceBatchIterator> {
        border(py, || Ok(DeviceBatchIterator::new(self.read_on_device(py)?)))
    }

    /// The values that columns did not take, in the latest read: a dictionary for each column, with its type,
    /// the number of its rows that are missing, null, a mismatch or an overflow, and the location of the
    /// first of each. The counts are complete when the read has ended. ``UsageError`` before the first read.
    ///
    /// >>> rows = warpath.open("tweets.ndjson").select({"lang": ("$.user.lang", "int64")})
    /// >>> polars.DataFrame(rows)["lang"].to_list()
    /// [None, None, None]
    /// >>> rows.losses["lang"]["mismatch"], rows.losses["lang"]["first_mismatch"]
    /// (3, 'tweets.ndjson:1')
    #[getter]
    fn losses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        border(py, || self.losses_by_name(py))
    }

    /// Statistics of the latest read: rows, lines, bytes of text, malformed records that were skipped, the
    /// backend, and the reason for it. ``UsageError`` before the first read.
    ///
    /// >>> rows = warpath.open("tweets.ndjson", device="cpu").select({"id": "$.id"})
    /// >>> table = pyarrow.table(rows)
    /// >>> rows.stats["rows"], rows.stats["skipped"], rows.stats["backend"][:3]
    /// (3, 0, 'cpu')
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        border(py, || self.stats_by_name(py))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        border(py, || {
            let names: Vec<&str> = self.arrow.fields().iter().map(|field| field.name().as_str()).collect();
            Ok(format!("<warpath.Selection of {} from {}>", names.join(", "), self.reading.describe()))
        })
    }
}

/// The location of the first of some values.
fn place(values: &Occurrences) -> Option<String> {
    values.first.as_ref().map(|(name, line)| format!("{name}:{line}"))
}

/// Batches of rows, and the values that their columns did not take.
pub trait Batches {
    type Batch;

    /// The next batch. No result follows an error.
    fn advance(&mut self) -> Option<Result<Self::Batch, Stop>>;

    /// The number of rows of a batch.
    fn rows(batch: &Self::Batch) -> usize;

    /// The name and the type of each column whose values [`losses`](Self::losses) counts.
    fn counted(&self) -> &[(String, String)];

    /// The values that columns did not take, so far.
    fn losses(&self) -> &Tally;

    /// The results that are read.
    fn answers(&self) -> &Answers<'static>;
}

/// The batches of one read.
pub struct BatchReader<B> {
    /// `None` after the end.
    batches: Option<B>,
    report: Arc<Mutex<Report>>,
}

impl<B: Batches> BatchReader<B> {
    /// The next batch. No result follows an error, except that of a handler of a signal.
    pub fn next(&mut self) -> Option<Result<B::Batch, Stop>> {
        let made = guarded(|| self.advance()).unwrap_or_else(|panic| Some(Err(panic)));
        if !matches!(made, Some(Ok(_) | Err(Stop::Raised(_)))) {
            self.batches = None;
        }
        made
    }

    fn advance(&mut self) -> Option<Result<B::Batch, Stop>> {
        let batches = self.batches.as_mut()?;
        let made = batches.advance();
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Ok(batch)) = &made {
            report.rows += B::rows(batch) as u64;
        }
        report.losses.clone_from(batches.losses());
        report.stats = batches.answers().stats();
        report.plan.clone_from(batches.answers().plan());
        made
    }
}

/// The batches of one read, for a consumer that may hold Python's lock or not. The reader is `None` once the
/// stream is dropped.
struct Stream(Option<BatchReader<SelectedRows>>, SchemaRef);

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut made = None;
        unlocked(|| made = self.0.as_mut().and_then(BatchReader::next));
        if let Some(Err(Stop::Raised(raised))) = &made {
            // The consumer raises an exception of its own, with the text of this one.
            Python::try_attach(|py| interrupt::raise_later(py, raised.clone_ref(py)));
        }
        made.map(|made| made.map_err(ArrowError::from))
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        self.1.clone()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let reader = self.0.take();
        unlocked(|| drop(reader));
    }
}

/// An iterator over batches.
#[pyclass(frozen, module = "warpath")]
pub struct BatchIterator(Exclusive<BatchReader<SelectedRows>>);

#[pymethods]
impl BatchIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        border(py, || self.0.with(py, |reader| Ok(detached(py, || reader.next().transpose())?.map(Batch))))
    }
}

/// Some rows of a selection, which libraries of Arrow take without a copy: ``pyarrow.record_batch(batch)``.
///
/// >>> for batch in warpath.open("tweets.ndjson").select({"id": ("$.id", "int64")}):
/// ...     print(len(batch), pyarrow.record_batch(batch)["id"].to_pylist())
/// 3 [1, 2, 3]
#[pyclass(frozen, module = "warpath")]
pub struct Batch(RecordBatch);

impl Batch {
    pub fn new(rows: RecordBatch) -> Self {
        Self(rows)
    }
}

#[pymethods]
impl Batch {
    /// The rows in capsules of a schema and an array of structs, for libraries of Arrow. The requested schema
    /// is not used.
    ///
    /// >>> batch = next(iter(warpath.open("tweets.ndjson").select({"id": ("$.id", "int64")})))
    /// >>> schema, array = batch.__arrow_c_array__()
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        border(py, || {
            let data = StructArray::from(self.0.clone()).into_data();
            let (array, _) = to_ffi(&data).map_err(|error| raise(py, Error::Internal(error.to_string())))?;
            Ok((self.__arrow_c_schema__(py)?, PyCapsule::new_with_value(py, array, ARRAY_CAPSULE)?))
        })
    }

    /// The Arrow schema of the rows in a capsule, for libraries of Arrow.
    ///
    /// >>> batch = next(iter(warpath.open("tweets.ndjson").select({"id": ("$.id", "int64")})))
    /// >>> pyarrow.schema(batch).names
    /// ['id']
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        border(py, || schema::capsule(py, &self.0.schema()))
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        border(py, || {
            Ok(format!("<warpath.Batch of {} rows, {} columns>", self.0.num_rows(), self.0.num_columns()))
        })
    }
}
