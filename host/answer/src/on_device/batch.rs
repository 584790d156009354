//! Batches of columns on a device, with their schema.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Schema, SchemaRef};
use warpath_core::error::Error;

use super::{Array, ArrowDevice, ArrowDeviceArray, DeviceColumns, export};
use crate::columns::Values;

/// Rows of typed columns in the memory of a device.
///
/// The batch is complete: no work of Warpath on it is under way. A clone shares the memory, and so does all
/// that is made of the batch. The memory is freed when the last of them is dropped, in the context of its
/// device. If an address was given away, by [`export`](Self::export) or [`values`](Self::values), the memory
/// is freed after all work of the device that was started before, of every library.
///
/// ```no_run
/// use warpath::columns::{ColumnType, DeviceBatch, Schema};
/// use warpath::{DeviceChoice, Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let engine = Engine::builder().device(DeviceChoice::Cuda(0)).build()?;
/// let batches: Vec<DeviceBatch> = engine.open("tweets.ndjson")?.device_columns(&schema).collect::<Result<_, _>>()?;
/// let whole = DeviceBatch::join(&batches)?;
/// println!("{} identifiers on {:?}", whole.num_rows(), whole.device());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct DeviceBatch {
    columns: DeviceColumns,
    schema: SchemaRef,
}

impl DeviceBatch {
    /// Makes a batch of columns and their schema.
    #[doc(hidden)]
    #[must_use]
    pub fn new(columns: DeviceColumns, schema: SchemaRef) -> Self {
        Self { columns, schema }
    }

    /// The number of rows.
    ///
    /// ```
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// println!("{} rows", batch.num_rows());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn num_rows(&self) -> usize {
        self.columns.rows()
    }

    /// The schema of the columns on the host: that of [`to_host`](Self::to_host).
    ///
    /// ```
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// println!("{:?}", batch.schema().field(0).data_type());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The device.
    ///
    /// ```
    /// use warpath::columns::ArrowDevice;
    ///
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// assert_eq!(batch.device(), ArrowDevice::cuda(0));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn device(&self) -> ArrowDevice {
        self.columns.device()
    }

    /// The batch by Arrow's C device data interface: an array of structs with a field for each column, and
    /// its schema. Nothing is copied. The array has an event, which the device has reached.
    ///
    /// The consumer may release the array while its own work on it is under way.
    ///
    /// # Errors
    /// [`Error::Internal`] if the schema cannot be exported. [`Error::Device`] if the device has failed.
    ///
    /// ```
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// let (array, schema) = batch.export()?;
    /// let array = Box::into_raw(Box::new(array));
    /// println!("{array:p} is a `struct ArrowDeviceArray *` of format {}", schema.format());
    /// # Ok(())
    /// # }
    /// ```
    pub fn export(&self) -> Result<(ArrowDeviceArray, FFI_ArrowSchema), Error> {
        let schema: &Schema = &self.schema;
        let schema = FFI_ArrowSchema::try_from(schema).map_err(|error| Error::Internal(error.to_string()))?;
        Ok((export::array(Arc::new(self.columns.clone()))?, schema))
    }

    /// Copies the batch to the host.
    ///
    /// # Errors
    /// [`Error::Device`].
    ///
    /// ```
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// println!("{:?}", batch.to_host()?.column(0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn to_host(&self) -> Result<RecordBatch, Error> {
        let batch = self.columns.to_host()?.into_arrow(&self.schema);
        batch.map_err(|error| Error::Internal(error.to_string()))
    }

    /// Joins batches of one schema and one device, at least one, in order.
    ///
    /// Values and strings are copied on the device. The offsets of strings, validity bits and booleans go
    /// through the host.
    ///
    /// # Errors
    /// [`Error::Usage`] for no batch, for batches of different schemas or devices, and where a column has
    /// more bytes or values than its offsets can express. [`Error::Device`], also if memory is short.
    ///
    /// ```
    /// use warpath::columns::DeviceBatch;
    ///
    /// # fn example(one: warpath::columns::DeviceBatch, other: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// assert_eq!(DeviceBatch::join(&[one.clone(), other.clone()])?.num_rows(), one.num_rows() + other.num_rows());
    /// # Ok(())
    /// # }
    /// ```
    pub fn join(batches: &[Self]) -> Result<Self, Error> {
        if let [one] = batches {
            return Ok(one.clone());
        }
        if batches.iter().any(|batch| batch.schema != batches[0].schema) {
            return Err(Error::Usage("batches to join have different schemas; expected one schema".into()));
        }
        let columns: Vec<&DeviceColumns> = batches.iter().map(|batch| &batch.columns).collect();
        let columns = DeviceColumns::join(&columns)?;
        // The join of nothing is an error.
        Ok(Self { columns, schema: batches[0].schema.clone() })
    }

    /// Keeps the first `rows` rows, if there are more. The memory stays as it is.
    ///
    /// ```
    /// # fn example(mut batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// batch.truncate(10);
    /// assert!(batch.num_rows() <= 10);
    /// # Ok(())
    /// # }
    /// ```
    pub fn truncate(&mut self, rows: usize) {
        self.columns.truncate(rows);
    }

    /// The values of a column of numbers or times, one after the other.
    ///
    /// # Errors
    /// [`Error::Usage`] for a column that does not exist, and for booleans, strings and lists, whose values
    /// are not of one size.
    ///
    /// ```
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// let ids = batch.values(0)?;
    /// assert_eq!(ids.nulls(), 0);
    /// println!("{} values at {:#x}", ids.len(), ids.address());
    /// # Ok(())
    /// # }
    /// ```
    pub fn values(&self, column: usize) -> Result<DeviceValues, Error> {
        let Some(host) = self.columns.on_host().columns.get(column) else {
            let columns = self.columns.on_host().columns.len();
            return Err(Error::Usage(format!("no column {column}; the batch has {columns}")));
        };
        let field = self.schema.field(column);
        let is_fixed = !matches!(host.items.values, Values::Boolean(_) | Values::Utf8(..));
        if host.lists.is_some() || !is_fixed {
            return Err(Error::Usage(format!(
                "column `{}` is {}; expected numbers or times, one a row",
                field.name(),
                field.data_type()
            )));
        }
        Ok(DeviceValues {
            values: self.columns.arrays(column).values.clone(),
            len: host.items.len,
            nulls: host.items.nulls(),
            data_type: field.data_type().clone(),
            device: self.device(),
        })
    }
}

/// The values of a column in the memory of a device, which shares the memory with its batch.
///
/// ```no_run
/// use warpath::columns::{ColumnType, DeviceValues, Schema};
/// use warpath::{DeviceChoice, Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let engine = Engine::builder().device(DeviceChoice::Cuda(0)).build()?;
/// for batch in engine.open("tweets.ndjson")?.device_columns(&schema) {
///     let identifiers: DeviceValues = batch?.values(0)?;
///     println!("{} values from {:#x} on", identifiers.len(), identifiers.address());
/// }
/// # Ok(())
/// # }
/// ```
pub struct DeviceValues {
    values: Array,
    len: usize,
    nulls: usize,
    data_type: DataType,
    device: ArrowDevice,
}

impl DeviceValues {
    /// The address of the first value, on the device. The memory is valid until this value and its batch are
    /// dropped.
    ///
    /// ```
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// println!("{:#x}", batch.values(0)?.address());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn address(&self) -> u64 {
        self.values.memory().address()
    }

    /// The number of values, nulls included.
    ///
    /// ```
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// assert_eq!(batch.values(0)?.len(), batch.num_rows());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no values.
    ///
    /// ```
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// assert!(!batch.values(0)?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of nulls. The value of a null is 0.
    ///
    /// ```
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// assert_eq!(batch.values(0)?.nulls(), 0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn nulls(&self) -> usize {
        self.nulls
    }

    /// The type of the values.
    ///
    /// ```
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// println!("{}", batch.values(0)?.data_type());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// The device.
    ///
    /// ```
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// assert_eq!(batch.values(0)?.device(), batch.device());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn device(&self) -> ArrowDevice {
        self.device
    }
}
