//! Columns of an input, given to libraries of Arrow without a copy.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi::to_ffi;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use warpath::columns::{Occurrences, Tally};
use warpath::{Answers, Error, Plan, Stats};

use crate::columns::Columns;
use crate::device::{self, DeviceBatch, DeviceBatchIterator, OnDevice};
use crate::error::{Stop, raise};
use crate::interrupt;
use crate::reading::Reading;
use crate::rows::{OnMismatch, Rows};
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
    columns: Columns,
    arrow: SchemaRef,
    limit: Option<u64>,
    on_mismatch: OnMismatch,
    /// The report of the read that began last.
    report: Mutex<Arc<Mutex<Report>>>,
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
    pub fn new(reading: Reading, columns: Columns, limit: Option<u64>, on_mismatch: OnMismatch) -> Self {
        let arrow = columns.arrow();
        Self { reading, columns, arrow, limit, on_mismatch, report: Mutex::default() }
    }

    /// Begins to read to the host.
    fn read(&self, py: Python<'_>) -> PyResult<Reader<Rows>> {
        let rows = py.detach(|| Rows::new(&self.columns, &self.reading, self.limit, self.on_mismatch));
        Ok(self.reader(rows.map_err(|error| raise(py, error))?))
    }

    /// Begins to read to a device.
    fn read_on_device(&self, py: Python<'_>) -> PyResult<Reader<OnDevice>> {
        let rows = py.detach(|| OnDevice::new(&self.columns, &self.reading, self.limit, self.on_mismatch));
        Ok(self.reader(rows.map_err(|error| raise(py, error))?))
    }

    fn reader<B: Batches>(&self, batches: B) -> Reader<B> {
        let report = Report { counted: batches.counted().to_vec(), ..Report::default() };
        let report = Arc::new(Mutex::new(report));
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = report.clone();
        Reader { batches: Some(batches), arrow: self.arrow.clone(), report }
    }

    /// Reads something from the report of the latest read.
    fn report<T>(&self, read: impl FnOnce(&Report) -> T) -> T {
        let report = self.report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let report = report.lock().unwrap_or_else(PoisonError::into_inner);
        read(&report)
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
        let stream = FFI_ArrowArrayStream::new(Box::new(Stream(self.read(py)?)));
        PyCapsule::new_with_value(py, stream, STREAM_CAPSULE)
    }

    /// The Arrow schema of all batches in a capsule, for libraries of Arrow.
    ///
    /// >>> pyarrow.schema(warpath.open("tweets.ndjson").select({"id": ("$.id", "int64")})).field("id").type
    /// DataType(int64)
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema::capsule(py, &self.arrow)
    }

    /// The batches, one by one.
    ///
    /// >>> [len(batch) for batch in warpath.open("tweets.ndjson").select({"id": "$.id"})]
    /// [3]
    fn __iter__(&self, py: Python<'_>) -> PyResult<BatchIterator> {
        Ok(BatchIterator(Mutex::new(self.read(py)?)))
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
        device::all(py, self.read_on_device(py)?)
    }

    /// The batches that stay in the memory of the device, one by one: one for each partition.
    ///
    /// >>> [len(batch) for batch in rows.device_batches()]  # doctest: +SKIP
    /// [3]
    fn device_batches(&self, py: Python<'_>) -> PyResult<DeviceBatchIterator> {
        Ok(DeviceBatchIterator::new(self.read_on_device(py)?))
    }

    /// The values that columns did not take, in the latest read: a dictionary for each column, with its type,
    /// the number of its rows that are missing, null, a mismatch or an overflow, and the location of the
    /// first of each. The counts are complete when the read has ended.
    ///
    /// >>> rows = warpath.open("tweets.ndjson").select({"lang": ("$.user.lang", "int64")})
    /// >>> polars.DataFrame(rows)["lang"].to_list()
    /// [None, None, None]
    /// >>> rows.losses["lang"]["mismatch"], rows.losses["lang"]["first_mismatch"]
    /// (3, 'tweets.ndjson:1')
    #[getter]
    fn losses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (counted, losses) = self.report(|report| (report.counted.clone(), report.losses.clone()));
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

    /// Statistics of the latest read: rows, lines, bytes of text, malformed records that were skipped, the
    /// backend, and the reason for it.
    ///
    /// >>> rows = warpath.open("tweets.ndjson", device="cpu").select({"id": "$.id"})
    /// >>> table = pyarrow.table(rows)
    /// >>> rows.stats["rows"], rows.stats["skipped"], rows.stats["backend"][:3]
    /// (3, 0, 'cpu')
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (rows, stats, plan) = self.report(|report| (report.rows, report.stats, report.plan.clone()));
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

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.arrow.fields().iter().map(|field| field.name().as_str()).collect();
        format!("<warpath.Selection of {} from {}>", names.join(", "), self.reading.describe())
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
pub struct Reader<B> {
    /// `None` after the end.
    batches: Option<B>,
    arrow: SchemaRef,
    report: Arc<Mutex<Report>>,
}

impl<B: Batches> Reader<B> {
    /// The next batch. No result follows an error.
    pub fn next(&mut self) -> Option<Result<B::Batch, Stop>> {
        // The workers are dropped after a panic, and nothing else is changed before its end.
        let made = catch_unwind(AssertUnwindSafe(|| self.advance()));
        let made = made.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Some(Err(Stop::Panic(text.unwrap_or_else(|| "a worker panicked".into()))))
        });
        if !matches!(made, Some(Ok(_))) {
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

/// The batches of one read, for a consumer that need not hold Python's lock.
struct Stream(Reader<Rows>);

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(stop) = interrupt::check() {
            self.0.batches = None;
            return Some(Err(stop.into()));
        }
        self.0.next().map(|made| made.map_err(ArrowError::from))
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        self.0.arrow.clone()
    }
}

/// An iterator over batches.
#[pyclass(module = "warpath")]
pub struct BatchIterator(Mutex<Reader<Rows>>);

#[pymethods]
impl BatchIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Batch>> {
        // The only reference to the iterator is this one, so nobody waits for the lock.
        let reader = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        py.check_signals()?;
        match py.detach(|| reader.next()) {
            Some(Ok(batch)) => Ok(Some(Batch(batch))),
            Some(Err(stop)) => Err(stop.raise(py)),
            None => Ok(None),
        }
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
        let data = StructArray::from(self.0.clone()).into_data();
        let (array, _) = to_ffi(&data).map_err(|error| raise(py, Error::Internal(error.to_string())))?;
        Ok((self.__arrow_c_schema__(py)?, PyCapsule::new_with_value(py, array, ARRAY_CAPSULE)?))
    }

    /// The Arrow schema of the rows in a capsule, for libraries of Arrow.
    ///
    /// >>> batch = next(iter(warpath.open("tweets.ndjson").select({"id": ("$.id", "int64")})))
    /// >>> pyarrow.schema(batch).names
    /// ['id']
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema::capsule(py, &self.0.schema())
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<warpath.Batch of {} rows, {} columns>", self.0.num_rows(), self.0.num_columns())
    }
}
