//! Columns whose values stay in the memory of a device.
//!
//! | part of a column | memory |
//! |---|---|
//! | values, strings and their offsets | the device |
//! | validity bits of columns with nulls, offsets of lists | the device, and a copy on the host |
//! | values that the type does not take | the host |
//!
//! The host needs its copies to count lost values, to cut batches and to join them. An array is freed when
//! its last user drops it, on its own device.

#[cfg(feature = "arrow")]
mod batch;
#[cfg(feature = "arrow")]
mod export;
mod join;

use std::any::Any;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use warpath_core::error::Error;
use warpath_core::plain::{Plain, bytes, bytes_mut};

use crate::columns::{Column, ColumnBatch, Items, Offsets, Values, truncate_bits};

#[cfg(feature = "arrow")]
pub use batch::{DeviceBatch, DeviceValues};
#[cfg(feature = "arrow")]
pub use export::ArrowDeviceArray;

/// A device, as Arrow's C device data interface names it.
///
/// ```
/// use warpath::columns::ArrowDevice;
///
/// assert_eq!(ArrowDevice::cuda(1), ArrowDevice { kind: 2, number: 1 });
/// assert_ne!(ArrowDevice::cuda(1), ArrowDevice::HOST);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrowDevice {
    /// The type of the device: one of the interface's constants `ARROW_DEVICE_`.
    pub kind: i32,
    /// The number of the device among those of its type, or −1 for the host.
    pub number: i64,
}

impl ArrowDevice {
    /// The memory of the host (`ARROW_DEVICE_CPU`).
    pub const HOST: Self = Self { kind: 1, number: -1 };

    /// A CUDA device (`ARROW_DEVICE_CUDA`) of a number.
    #[must_use]
    pub const fn cuda(number: i64) -> Self {
        Self { kind: 2, number }
    }
}

/// An event that a device reaches when the work before it is done.
#[doc(hidden)]
pub struct SyncEvent {
    /// The handle. It has an address of its own, because the interface points to it.
    handle: Box<usize>,
    /// The owner of the event.
    _owner: Box<dyn Any + Send + Sync>,
}

impl SyncEvent {
    /// Makes an event of the driver's handle and the owner that destroys it.
    #[must_use]
    pub fn new(handle: usize, owner: impl Any + Send + Sync) -> Self {
        Self { handle: Box::new(handle), _owner: Box::new(owner) }
    }

    /// The address of the handle.
    #[cfg(feature = "arrow")]
    pub fn address(&self) -> *const usize {
        &raw const *self.handle
    }
}

impl Debug for SyncEvent {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.debug_tuple("SyncEvent").field(&self.handle).finish()
    }
}

/// Bytes in the memory of a device. They are freed when they are dropped.
pub trait DeviceMemory: Send + Sync {
    /// The address of the first byte, for code outside Warpath. The memory is then freed only when all work
    /// of the device is done.
    fn address(&self) -> u64;

    /// Copies bytes to the host, from byte `at` on.
    fn read(&self, at: usize, to: &mut [u8]) -> Result<(), Error>;

    /// The memory as the type that its device knows.
    fn as_any(&self) -> &dyn Any;
}

/// A part of a new array.
pub enum ArrayPart<'a> {
    /// Bytes of the host.
    Host(&'a [u8]),
    /// The first bytes of another array of the same device.
    Device(&'a Array, usize),
}

/// A device that makes arrays, which outlive the partition that they are made of.
pub trait Holder: Send + Sync {
    /// The device.
    fn device(&self) -> ArrowDevice;

    /// Makes an array of some parts, one after the other, and waits until it is complete.
    fn array(&self, parts: &[ArrayPart<'_>]) -> Result<Array, Error>;

    /// An event that the device has reached, or reaches at once.
    #[cfg(feature = "arrow")]
    fn event(&self) -> Result<Option<SyncEvent>, Error>;
}

/// An array in the memory of a device, with any number of users.
#[derive(Clone)]
pub struct Array(Arc<dyn DeviceMemory>);

impl Array {
    /// An array in the memory of a device.
    pub fn new(memory: impl DeviceMemory + 'static) -> Self {
        Self(Arc::new(memory))
    }

    /// The memory of the array.
    pub fn memory(&self) -> &dyn DeviceMemory {
        &*self.0
    }

    /// The first elements, copied to the host.
    fn read<T: Plain>(&self, len: usize) -> Result<Vec<T>, Error> {
        let mut elements = vec![T::default(); len];
        self.0.read(0, bytes_mut(&mut elements))?;
        Ok(elements)
    }
}

/// The arrays of a column.
#[derive(Clone)]
pub struct Arrays {
    /// The offsets of lists.
    pub lists: Option<Array>,
    /// The validity bits. `None` if no item is null.
    pub validity: Option<Array>,
    /// The values, or the offsets of strings.
    pub values: Array,
    /// The bytes of strings.
    pub bytes: Option<Array>,
}

/// The columns of a run of lines, in the memory of a device. A clone shares the arrays.
#[doc(hidden)]
#[derive(Clone)]
pub struct DeviceColumns {
    /// The columns without their values.
    host: ColumnBatch,
    arrays: Vec<Arrays>,
    holder: Arc<dyn Holder>,
}

impl DeviceColumns {
    /// Joins the parts on the host and on the device.
    pub fn new(rows: usize, columns: Vec<(Column, Arrays)>, holder: Arc<dyn Holder>) -> Self {
        let (columns, arrays) = columns.into_iter().unzip();
        Self { host: ColumnBatch { rows, columns }, arrays, holder }
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.host.rows
    }

    /// The columns without their values: lengths, validity, offsets of lists, and values that were lost.
    #[must_use]
    pub fn on_host(&self) -> &ColumnBatch {
        &self.host
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> ArrowDevice {
        self.holder.device()
    }

    /// An event that the device has reached, because the columns are complete.
    #[cfg(feature = "arrow")]
    pub fn event(&self) -> Result<Option<SyncEvent>, Error> {
        self.holder.event()
    }

    /// The arrays of a column.
    #[cfg(feature = "arrow")]
    pub fn arrays(&self, column: usize) -> &Arrays {
        &self.arrays[column]
    }

    /// Returns true if some item of a column is null.
    pub fn has_nulls(&self) -> bool {
        self.host.columns.iter().any(|column| column.items.nulls() > 0)
    }

    /// Keeps the first `rows` rows, if there are more.
    pub fn truncate(&mut self, rows: usize) {
        self.host.truncate(rows);
    }

    /// Copies the columns to the host.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn to_host(&self) -> Result<ColumnBatch, Error> {
        let columns = self.host.columns.iter().zip(&self.arrays);
        let columns = columns.map(|(column, arrays)| {
            let values = read(&column.items, arrays)?;
            Ok(Column { items: Items { values, ..column.items.clone() }, ..column.clone() })
        });
        Ok(ColumnBatch { rows: self.host.rows, columns: columns.collect::<Result<_, Error>>()? })
    }
}

impl Debug for DeviceColumns {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { host, holder, .. } = self;
        out.debug_struct("DeviceColumns").field("host", host).field("device", &holder.device()).finish()
    }
}

/// Equal columns are the same arrays.
impl PartialEq for DeviceColumns {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&Arrays, &Arrays)| Arc::ptr_eq(&a.values.0, &b.values.0);
        self.host == other.host
            && self.arrays.len() == other.arrays.len()
            && self.arrays.iter().zip(&other.arrays).all(same)
    }
}

/// Copies the values of items from a device.
fn read(items: &Items, arrays: &Arrays) -> Result<Values, Error> {
    let (len, values) = (items.len, &arrays.values);
    let words = |array: &Array| {
        let mut words = array.read::<u32>(len.div_ceil(32))?;
        truncate_bits(&mut words, len);
        Ok::<_, Error>(words)
    };
    Ok(match &items.values {
        Values::Boolean(_) => Values::Boolean(words(values)?),
        Values::Int64(_) => Values::Int64(values.read(len)?),
        Values::Float64(_) => Values::Float64(values.read(len)?),
        Values::Decimal { precision, scale, .. } => {
            Values::Decimal { precision: *precision, scale: *scale, units: values.read(len)? }
        }
        Values::Time(_) => Values::Time(values.read(len)?),
        Values::Date(_) => Values::Date(values.read(len)?),
        Values::Utf8(offsets, _) => {
            let (offsets, end) = match offsets {
                Offsets::Small(_) => {
                    let offsets: Vec<i32> = values.read(len + 1)?;
                    let end = offsets[len] as usize;
                    (Offsets::Small(offsets), end)
                }
                Offsets::Large(_) => {
                    let offsets: Vec<i64> = values.read(len + 1)?;
                    let end = offsets[len] as usize;
                    (Offsets::Large(offsets), end)
                }
            };
            let bytes = arrays.bytes.as_ref().map_or_else(|| Ok(Vec::new()), |bytes| bytes.read(end))?;
            Values::Utf8(offsets, bytes)
        }
        #[cfg(feature = "arrow")]
        Values::Nested(_) => return Err(nested("a nested column")),
    })
}

/// The error for lists and structs, which stay on no device.
#[cfg(feature = "arrow")]
pub fn nested(what: &str) -> Error {
    Error::Usage(format!(
        "{what} cannot stay on a device; expected no column of a type `list<>` or `struct<>`: select it to the \
         host"
    ))
}

/// Values of the same type, none of them.
pub fn none_of(values: &Values) -> Values {
    let offsets = |offsets: &Offsets| match offsets {
        Offsets::Small(_) => Offsets::Small(Vec::new()),
        Offsets::Large(_) => Offsets::Large(Vec::new()),
    };
    match values {
        Values::Boolean(_) => Values::Boolean(Vec::new()),
        Values::Int64(_) => Values::Int64(Vec::new()),
        Values::Float64(_) => Values::Float64(Vec::new()),
        Values::Decimal { precision, scale, .. } => {
            Values::Decimal { precision: *precision, scale: *scale, units: Vec::new() }
        }
        Values::Time(_) => Values::Time(Vec::new()),
        Values::Date(_) => Values::Date(Vec::new()),
        Values::Utf8(starts, _) => Values::Utf8(offsets(starts), Vec::new()),
        #[cfg(feature = "arrow")]
        Values::Nested(array) => Values::Nested(array.slice(0, 0)),
    }
}

/// Copies a column that the host made to a device. The column that is returned has no values.
pub fn upload(holder: &dyn Holder, mut column: Column) -> Result<(Column, Arrays), Error> {
    let array = |bytes: &[u8]| holder.array(&[ArrayPart::Host(bytes)]);
    let none = none_of(&column.items.values);
    let (values, text) = match std::mem::replace(&mut column.items.values, none) {
        Values::Boolean(bits) => (array(bytes(&bits))?, None),
        Values::Int64(values) | Values::Time(values) => (array(bytes(&values))?, None),
        Values::Float64(values) => (array(bytes(&values))?, None),
        Values::Decimal { units, .. } => (array(bytes(&units))?, None),
        Values::Date(days) => (array(bytes(&days))?, None),
        Values::Utf8(offsets, text) => (array(offsets.bytes())?, Some(array(&text)?)),
        #[cfg(feature = "arrow")]
        Values::Nested(_) => return Err(nested("a nested column")),
    };
    let lists = column.lists.as_ref().map(|lists| array(lists.bytes())).transpose()?;
    let has_nulls = column.items.nulls() > 0;
    let validity = has_nulls.then(|| array(bytes(&column.items.validity))).transpose()?;
    Ok((column, Arrays { lists, validity, values, bytes: text }))
}

impl Offsets {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Small(offsets) => bytes(offsets),
            Self::Large(offsets) => bytes(offsets),
        }
    }
}
