//! Columns on a device by Arrow's C device data interface
//! (<https://arrow.apache.org/docs/format/CDeviceDataInterface.html>).

use std::ffi::c_void;
use std::fmt::{self, Debug, Formatter};
use std::ptr;
use std::sync::Arc;

use warpath_core::error::Error;

use super::{Array, ArrowDevice, DeviceColumns, SyncEvent};
use crate::columns::{Offsets, Values};

/// The structure `ArrowArray` of the C data interface.
#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// The structure `ArrowDeviceArray` of Arrow's C device data interface: an array in the memory of a device.
///
/// A consumer in C takes the structure by a pointer or by its bytes, and calls its `release` once. If the
/// structure is dropped in Rust, it is released.
///
/// ```no_run
/// use warpath::columns::{ArrowDeviceArray, ColumnType, Schema};
/// use warpath::{DeviceChoice, Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
/// let engine = Engine::builder().device(DeviceChoice::Cuda(0)).build()?;
/// for batch in engine.open("tweets.ndjson")?.device_columns(&schema) {
///     let (array, _schema) = batch?.export()?;
///     // For a consumer in C, which releases the array and leaves the box to its owner.
///     let array: *mut ArrowDeviceArray = Box::into_raw(Box::new(array));
/// }
/// # Ok(())
/// # }
/// ```
#[repr(C)]
pub struct ArrowDeviceArray {
    array: ArrowArray,
    device_id: i64,
    device_type: i32,
    sync_event: *const c_void,
    reserved: [i64; 3],
}

// The sizes that the interface gives the structures where pointers have 64 bits.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<ArrowArray>() == 80 && size_of::<ArrowDeviceArray>() == 128);

// SAFETY: the structure owns what its pointers point to: `Owned`, whose parts any thread may use and drop.
unsafe impl Send for ArrowDeviceArray {}
// SAFETY: a shared structure only copies numbers out.
unsafe impl Sync for ArrowDeviceArray {}

impl ArrowDeviceArray {
    /// The device.
    ///
    /// ```
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// assert_eq!(batch.export()?.0.device(), batch.device());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn device(&self) -> ArrowDevice {
        ArrowDevice { kind: self.device_type, number: self.device_id }
    }

    /// The number of rows.
    ///
    /// ```
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// assert_eq!(batch.export()?.0.len(), batch.num_rows());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.array.length as usize
    }

    /// True if there are no rows.
    ///
    /// ```
    /// # fn example(batch: warpath::columns::DeviceBatch) -> Result<(), warpath::Error> {
    /// assert!(!batch.export()?.0.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.array.length == 0
    }
}

impl Debug for ArrowDeviceArray {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (rows, columns) = (self.array.length, self.array.n_children);
        let mut out = out.debug_struct("ArrowDeviceArray");
        out.field("device", &self.device()).field("rows", &rows).field("columns", &columns).finish()
    }
}

impl Drop for ArrowDeviceArray {
    fn drop(&mut self) {
        if let Some(release) = self.array.release {
            // SAFETY: the structure has not been released, because `release` is set.
            unsafe { release(&raw mut self.array) };
        }
    }
}

/// The owner of everything that an `ArrowArray` points to.
struct Owned {
    buffers: Vec<*const c_void>,
    children: Vec<ArrowArray>,
    /// The addresses of the children.
    addresses: Vec<*mut ArrowArray>,
    /// Keeps the memory on the device.
    _columns: Arc<DeviceColumns>,
    /// The event that the structure of the whole array points to.
    _event: Option<SyncEvent>,
}

/// Releases an array, as the C data interface defines `release`.
///
/// # Safety
/// `array` is an array of [`node`] that has not been released.
unsafe extern "C" fn release(array: *mut ArrowArray) {
    // SAFETY: the caller guarantees that the array is alive. `node` made `private_data` of a box, and this is
    // the only code that takes the box back, once, because `release` is set to null.
    let mut owned = unsafe {
        (*array).release = None;
        Box::from_raw((*array).private_data.cast::<Owned>())
    };
    // A consumer may have moved a child out: then its `release` is null.
    for child in &mut owned.children {
        if let Some(release) = child.release {
            // SAFETY: the child has not been released, because `release` is set.
            unsafe { release(child) };
        }
    }
}

/// The address of an array on the device.
fn address(array: &Array) -> *const c_void {
    ptr::without_provenance(array.memory().address() as usize)
}

/// Makes an array of its buffers and children.
fn node(
    columns: &Arc<DeviceColumns>,
    (len, nulls): (usize, usize),
    buffers: Vec<*const c_void>,
    children: Vec<ArrowArray>,
    event: Option<SyncEvent>,
) -> ArrowArray {
    let (_columns, _event) = (columns.clone(), event);
    let mut owned = Box::new(Owned { buffers, children, addresses: Vec::new(), _columns, _event });
    owned.addresses = owned.children.iter_mut().map(ptr::from_mut).collect();
    ArrowArray {
        length: len as i64,
        null_count: nulls as i64,
        offset: 0,
        n_buffers: owned.buffers.len() as i64,
        n_children: owned.children.len() as i64,
        buffers: owned.buffers.as_mut_ptr(),
        children: owned.addresses.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release),
        private_data: Box::into_raw(owned).cast(),
    }
}

/// Makes the array of structs of some columns.
pub(super) fn array(columns: Arc<DeviceColumns>) -> Result<ArrowDeviceArray, Error> {
    let (rows, event) = (columns.rows(), columns.event()?);
    let fields = columns.on_host().columns.iter().enumerate().map(|(at, column)| {
        let (arrays, items) = (columns.arrays(at), &column.items);
        let mut buffers =
            vec![arrays.validity.as_ref().map_or(ptr::null(), address), address(&arrays.values)];
        if let Values::Utf8(..) = items.values {
            buffers.push(arrays.bytes.as_ref().map_or(ptr::null(), address));
        }
        let nulls = if arrays.validity.is_some() { items.nulls() } else { 0 };
        let values = node(&columns, (items.len, nulls), buffers, Vec::new(), None);
        match (&column.lists, &arrays.lists) {
            (Some(Offsets::Small(_) | Offsets::Large(_)), Some(lists)) => {
                node(&columns, (rows, 0), vec![ptr::null(), address(lists)], vec![values], None)
            }
            _ => values,
        }
    });
    let fields = fields.collect();
    let ArrowDevice { kind, number } = columns.device();
    let sync_event = event.as_ref().map_or(ptr::null(), |event| event.address().cast());
    Ok(ArrowDeviceArray {
        array: node(&columns, (rows, 0), vec![ptr::null()], fields, event),
        device_id: number,
        device_type: kind,
        sync_event,
        reserved: [0; 3],
    })
}
