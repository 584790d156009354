//! Columns that stay in the memory of a CUDA device, given to libraries of Arrow and of CUDA without a copy.

use std::ffi::CStr;

use arrow_schema::DataType;
use pyo3::exceptions::{PyKeyError, PyNotImplementedError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use warpath::columns::{ArrowDevice, DeviceBatch as Columns, DeviceBatches, DeviceValues, Reason, Tally};
use warpath::{Answers, Error};

use crate::border::{Exclusive, border, detached};
use crate::columns::SelectedColumns;
use crate::error::{Mismatch, Stop, raise, usage};
use crate::interrupt;
use crate::reading::Reading;
use crate::rows::OnMismatch;
use crate::schema;
use crate::selection::{Batch, BatchReader, Batches};

/// The name that the Arrow PyCapsule interface gives to capsules of arrays on devices.
const DEVICE_ARRAY_CAPSULE: &CStr = c"arrow_device_array";

/// The rows of one read on a device, up to a limit and a mismatch.
pub struct OnDevice {
    batches: DeviceBatches<'static>,
    /// The number of rows that are still wanted.
    left: u64,
    /// True if the read ends at a value that a column does not take.
    fails: bool,
    /// The value at which the read ends after the rows that were given out.
    stop: Option<Mismatch>,
}

impl OnDevice {
    /// Begins to read.
    pub fn new(
        columns: &SelectedColumns,
        reading: &Reading,
        limit: Option<u64>,
        on_mismatch: OnMismatch,
    ) -> Result<Self, Error> {
        if on_mismatch == OnMismatch::Skip {
            return Err(Error::Usage(
                "on_mismatch=\"skip\" leaves rows out on the host alone; expected \"null\", \"fail\" or \"string\" for \
                 rows on a device"
                    .into(),
            ));
        }
        let batches = columns.read_on_device(reading)?;
        let (left, fails) = (limit.unwrap_or(u64::MAX), on_mismatch == OnMismatch::Fail);
        Ok(Self { batches, left, fails, stop: None })
    }

    /// The wanted rows of a batch. The read ends before the first value that a column does not take.
    fn cut(&mut self, mut batch: Columns) -> Columns {
        batch.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= batch.num_rows() as u64;
        if self.fails
            && let Some(refused) = self.batches.refused()
            && refused.row < batch.num_rows()
        {
            batch.truncate(refused.row);
            self.stop = Some(Mismatch {
                place: refused.place.clone(),
                byte: None,
                column: self.batches.counted().get(refused.column).cloned().unwrap_or_default(),
                is_overflow: refused.reason == Reason::Overflow,
            });
            self.left = 0;
        }
        batch
    }
}

impl Batches for OnDevice {
    type Batch = Columns;

    fn advance(&mut self) -> Option<Result<Columns, Stop>> {
        if self.left > 0 {
            let batch = match interrupt::wait(|context| self.batches.poll(context)) {
                Ok(None) => return None,
                Ok(Some(Ok(batch))) => self.cut(batch),
                Ok(Some(Err(error))) => return Some(Err(error.into())),
                Err(raised) => return Some(Err(raised)),
            };
            if batch.num_rows() > 0 {
                return Some(Ok(batch));
            }
        }
        self.stop.take().map(|refused| Err(Stop::Mismatch(refused)))
    }

    fn rows(batch: &Columns) -> usize {
        batch.num_rows()
    }

    fn counted(&self) -> &[(String, String)] {
        self.batches.counted()
    }

    fn losses(&self) -> &Tally {
        self.batches.losses()
    }

    fn answers(&self) -> &Answers<'static> {
        self.batches.answers()
    }
}

/// Joins all batches of a read.
pub fn all(py: Python<'_>, mut reader: BatchReader<OnDevice>) -> PyResult<DeviceBatch> {
    let joined = detached(py, move || {
        let mut batches = Vec::new();
        while let Some(batch) = reader.next() {
            batches.push(batch?);
        }
        if batches.is_empty() {
            let message = "the selection has no rows; expected at least one row to keep on a device";
            return Err(Stop::from(Error::Usage(message.into())));
        }
        Columns::join(&batches).map_err(Stop::from)
    });
    joined.map(DeviceBatch)
}

/// An iterator over batches on a device.
#[pyclass(frozen, module = "warpath")]
pub struct DeviceBatchIterator(Exclusive<BatchReader<OnDevice>>);

impl DeviceBatchIterator {
    pub fn new(reader: BatchReader<OnDevice>) -> Self {
        Self(Exclusive::new(reader))
    }
}

#[pymethods]
impl DeviceBatchIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<DeviceBatch>> {
        border(py, || {
            self.0.with(py, |reader| Ok(detached(py, || reader.next().transpose())?.map(DeviceBatch)))
        })
    }
}

/// Rows of a selection in the memory of a CUDA device. Libraries take them without a copy: as a whole by the
/// Arrow PyCapsule interface for devices, and column by column by ``__cuda_array_interface__``.
///
/// The memory is freed when the batch, its columns and all arrays that libraries made of them are gone.
///
/// >>> tweets = warpath.open("tweets.ndjson", device="cuda:0")  # doctest: +SKIP
/// >>> rows = tweets.select({"id": ("$.id", "int64")})  # doctest: +SKIP
/// >>> cupy.asarray(rows.on_device()["id"]).sum()  # doctest: +SKIP
/// array(6)
#[pyclass(frozen, module = "warpath")]
pub struct DeviceBatch(Columns);

#[pymethods]
impl DeviceBatch {
    /// The rows in capsules of a schema and of an array of structs on the device, for libraries of Arrow. The
    /// array has an event, which the device has reached. The requested schema is not used. Other arguments
    /// must be ``None``.
    ///
    /// >>> schema, array = rows.on_device().__arrow_c_device_array__()  # doctest: +SKIP
    #[pyo3(signature = (requested_schema=None, **kwargs))]
    fn __arrow_c_device_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        border(py, || {
            for (name, value) in kwargs.into_iter().flatten() {
                if !value.is_none() {
                    return Err(PyNotImplementedError::new_err(format!(
                        "{name} is not supported; expected None"
                    )));
                }
            }
            let (array, _) = self.0.export().map_err(|error| raise(py, error))?;
            let array = PyCapsule::new_with_value(py, array, DEVICE_ARRAY_CAPSULE)?;
            Ok((self.__arrow_c_schema__(py)?, array))
        })
    }

    /// The Arrow schema of the rows in a capsule, for libraries of Arrow.
    ///
    /// >>> pyarrow.schema(rows.on_device()).names  # doctest: +SKIP
    /// ['id']
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        border(py, || schema::capsule(py, self.0.schema()))
    }

    /// The names of the columns.
    ///
    /// >>> rows.on_device().names  # doctest: +SKIP
    /// ['id']
    #[getter]
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        border(py, || Ok(self.0.schema().fields().iter().map(|field| field.name().clone()).collect()))
    }

    /// The device, as ``open`` names it.
    ///
    /// >>> rows.on_device().device  # doctest: +SKIP
    /// 'cuda:0'
    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<String> {
        border(py, || Ok(name_of(self.0.device())))
    }

    /// Copies the rows to the host.
    ///
    /// >>> pyarrow.record_batch(rows.on_device().to_host())["id"].to_pylist()  # doctest: +SKIP
    /// [1, 2, 3]
    fn to_host(&self, py: Python<'_>) -> PyResult<Batch> {
        border(py, || detached(py, || self.0.to_host()).map(Batch::new))
    }

    /// The column of a name.
    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<DeviceColumn> {
        border(py, || {
            let at = self.0.schema().index_of(name).map_err(|_| PyKeyError::new_err(name.to_owned()))?;
            let values = self.0.values(at).map_err(|error| raise(py, error))?;
            Ok(DeviceColumn { name: name.to_owned(), values })
        })
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        border(py, || {
            let (rows, columns) = (self.0.num_rows(), self.0.schema().fields().len());
            let device = name_of(self.0.device());
            Ok(format!("<warpath.DeviceBatch of {rows} rows, {columns} columns on {device}>"))
        })
    }
}

/// A device, as `open` names it.
fn name_of(device: ArrowDevice) -> String {
    if device == ArrowDevice::cuda(device.number) { format!("cuda:{}", device.number) } else { "cpu".into() }
}

/// A column of numbers or times in the memory of a CUDA device. Libraries take it without a copy:
/// ``cupy.asarray(column)``, ``torch.as_tensor(column, device="cuda")``.
///
/// >>> torch.as_tensor(rows.on_device()["id"], device="cuda").max()  # doctest: +SKIP
/// tensor(3, device='cuda:0')
#[pyclass(frozen, module = "warpath")]
pub struct DeviceColumn {
    name: String,
    values: DeviceValues,
}

impl DeviceColumn {
    /// The column as the CUDA array interface describes it.
    fn interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Self { name, values } = self;
        let refused = |why: String| Err(usage(py, format!("column {name:?} {why}")));
        let data_type = values.data_type();
        let code = match data_type {
            DataType::Int64 | DataType::Timestamp(..) => "<i8",
            DataType::Float64 => "<f8",
            DataType::Date32 => "<i4",
            other => return refused(format!("is {other}, which the CUDA array interface has no type for")),
        };
        if values.nulls() > 0 {
            return refused(format!(
                "has {} nulls, which arrays of CUDA do not have; give the column a default, or take it by \
                 `__arrow_c_device_array__`",
                values.nulls()
            ));
        }
        if values.device() != ArrowDevice::cuda(values.device().number) {
            return refused("is not in the memory of a CUDA device".into());
        }
        // By the interface, the address of an array without elements is 0.
        let address = if values.is_empty() { 0 } else { values.address() };
        let made = PyDict::new(py);
        made.set_item("shape", PyTuple::new(py, [values.len()])?)?;
        made.set_item("typestr", code)?;
        made.set_item("data", (address, false))?;
        made.set_item("version", 3)?;
        made.set_item("strides", py.None())?;
        made.set_item("stream", py.None())?;
        Ok(made)
    }
}

#[pymethods]
impl DeviceColumn {
    /// The column as version 3 of the CUDA array interface describes it. Instants are nanoseconds since 1970,
    /// and dates are days. No stream has to be waited for.
    ///
    /// ``UsageError`` for a column that has nulls, because libraries do not take the mask of the interface. A
    /// default, such as ``("$.id", "int64", 0)``, leaves no null for a missing value.
    ///
    /// >>> rows.on_device()["id"].__cuda_array_interface__["shape"]  # doctest: +SKIP
    /// (3,)
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        border(py, || self.interface(py))
    }

    /// The number of nulls.
    ///
    /// >>> rows.on_device()["id"].nulls  # doctest: +SKIP
    /// 0
    #[getter]
    fn nulls(&self) -> usize {
        self.values.nulls()
    }

    fn __len__(&self) -> usize {
        self.values.len()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Self { name, values } = self;
        border(py, || Ok(format!("<warpath.DeviceColumn {name} of {} {}>", values.len(), values.data_type())))
    }
}
