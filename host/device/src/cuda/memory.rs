//! Arrays in a device's memory. They come from the driver, one allocation each, or from a pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cust::context::{Context, CurrentContext};
use cust::device::{Device, DeviceAttribute};
use cust::stream::Stream;
use cust::sys;
use warpath_core::error::{DeviceError, Error};

use super::calls::{check, failed};

/// Device memory that is kept until its last array is dropped. Allocation needs no system call, and freeing
/// does not wait, because both happen in the order of a stream.
pub(super) struct Pool {
    pool: sys::CUmemoryPool,
    context: Arc<Context>,
}

// SAFETY: any thread may use the driver's pools.
unsafe impl Send for Pool {}
// SAFETY: any thread may use the driver's pools, also several at the same time.
unsafe impl Sync for Pool {}

impl Pool {
    /// Makes a pool on a device, or returns `None` if the device has no pools: some virtual devices have
    /// none. The context must be current on this thread.
    pub fn new(device: Device, context: &Arc<Context>) -> Result<Option<Self>, Error> {
        // A driver that does not know this attribute has no pools.
        if !matches!(device.get_attribute(DeviceAttribute::MemoryPoolsSupported), Ok(1..)) {
            return Ok(None);
        }
        let properties = sys::CUmemPoolProps {
            allocType: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: sys::CUmemLocation {
                type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: device.as_raw(),
            },
            win32SecurityAttributes: std::ptr::null_mut(),
            reserved: [0; 64],
        };
        let mut pool = std::ptr::null_mut();
        // SAFETY: the properties are read, and the pool is written, during the call.
        check("cuMemPoolCreate", unsafe { sys::cuMemPoolCreate(&mut pool, &properties) })?;
        let made = Self { pool, context: context.clone() };
        // The pool returns no memory to the system before it is destroyed or trimmed.
        let mut threshold = u64::MAX;
        let kept = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: this attribute is a `u64`, which is read during the call.
        let result = unsafe { sys::cuMemPoolSetAttribute(pool, kept, (&raw mut threshold).cast()) };
        check("cuMemPoolSetAttribute", result)?;
        Ok(Some(made))
    }

    /// Returns the memory that no array uses to the system. Keeps memory that streams may still use because
    /// nobody has waited for them.
    pub fn trim(&self) -> Result<(), Error> {
        // SAFETY: the pool is alive.
        check("cuMemPoolTrimTo", unsafe { sys::cuMemPoolTrimTo(self.pool, 0) })
    }

    /// Bytes that the pool holds and no array uses.
    pub fn unused(&self) -> Result<u64, Error> {
        let read = |attribute| {
            let mut value = 0u64;
            // SAFETY: these attributes are `u64`s, written during the call.
            let result = unsafe { sys::cuMemPoolGetAttribute(self.pool, attribute, (&raw mut value).cast()) };
            check("cuMemPoolGetAttribute", result).map(|()| value)
        };
        let reserved = read(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?;
        Ok(reserved.saturating_sub(read(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let _ = CurrentContext::set_current(&self.context);
        // SAFETY: every array of the pool holds a reference to it, so all arrays are gone.
        let _ = unsafe { sys::cuMemPoolDestroy(self.pool) };
    }
}

/// A block of a device's memory.
pub(super) struct DeviceBytes {
    start: u64,
    /// The pool that the memory came from, and the stream in whose order it is used.
    of: Option<(Arc<Pool>, Arc<Stream>)>,
    context: Arc<Context>,
    /// True if work that Warpath does not know of may use the memory.
    is_lent: AtomicBool,
}

/// The reason why an allocation failed.
pub(super) enum NoMemory {
    /// The device has less free memory than requested.
    Short,
    Failed(Error),
}

impl DeviceBytes {
    /// Allocates `len` bytes, at least one, with undefined contents, for work on a stream. The context must
    /// be current on this thread.
    pub fn new(
        len: usize,
        pool: Option<&Arc<Pool>>,
        stream: &Arc<Stream>,
        context: &Arc<Context>,
    ) -> Result<Self, NoMemory> {
        let mut start = 0;
        let (call, result) = match pool {
            Some(pool) => {
                // SAFETY: the call writes to `start`, which outlives it; pool and stream are alive.
                let result =
                    unsafe { sys::cuMemAllocFromPoolAsync(&mut start, len, pool.pool, stream.as_inner()) };
                ("cuMemAllocFromPoolAsync", result)
            }
            // SAFETY: the call writes to `start`, which outlives it.
            None => ("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&mut start, len) }),
        };
        match result {
            sys::CUresult::CUDA_SUCCESS => {
                let of = pool.map(|pool| (pool.clone(), stream.clone()));
                Ok(Self { start, of, context: context.clone(), is_lent: AtomicBool::new(false) })
            }
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Err(NoMemory::Short),
            other => {
                let failed = DeviceError::of_call(call, format!("{other:?}"));
                Err(NoMemory::Failed(failed.into()))
            }
        }
    }

    /// The address of the first byte, for work that Warpath does not know of. The memory is then freed only
    /// when all work of the context is done.
    pub fn lend(&self) -> u64 {
        self.is_lent.store(true, Ordering::Relaxed);
        self.start
    }

    /// The address of the first byte, on the device.
    pub fn start(&self) -> u64 {
        self.start
    }
}

impl Drop for DeviceBytes {
    fn drop(&mut self) {
        // The memory is freed in its own context, whichever thread drops it.
        let _ = CurrentContext::set_current(&self.context);
        if *self.is_lent.get_mut() {
            // The streams of other code are not known. A failed wait means that the context has failed, and
            // that nothing runs in it.
            // SAFETY: the call takes no arguments.
            let _ = unsafe { sys::cuCtxSynchronize() };
        }
        let _ = match &self.of {
            // SAFETY: the memory came from a pool on this stream. Other streams copy it only while they wait,
            // or were waited for above. The owner is being dropped, so no later work uses the memory.
            Some((_, stream)) => unsafe { sys::cuMemFreeAsync(self.start, stream.as_inner()) },
            // SAFETY: the memory came from `cuMemAlloc`. The call waits for the work that uses it.
            None => unsafe { sys::cuMemFree_v2(self.start) },
        };
    }
}

/// Bytes that are free on the device, including those that the pool holds and no array uses. The context must
/// be current on this thread.
pub(super) fn free(pool: Option<&Arc<Pool>>) -> Result<u64, Error> {
    let (free, _) = cust::memory::mem_get_info().map_err(failed("cuMemGetInfo"))?;
    Ok(free as u64 + pool.map_or(Ok(0), |pool| pool.unused())?)
}
