//! Arrays in a device's memory, and where they come from: the driver, one by one, or a pool.

use std::sync::Arc;

use cust::context::{Context, CurrentContext};
use cust::device::{Device, DeviceAttribute};
use cust::stream::Stream;
use cust::sys;

use super::device::{check, failed};
use warpath_core::error::{DeviceError, Error};

/// Device memory that is kept until its last array is gone. To take some of it costs no call into the system, and to give it
/// back waits for nothing: both are in the order of a stream.
pub(super) struct Pool {
    pool: sys::CUmemoryPool,
    context: Arc<Context>,
}

// SAFETY: the driver's pools may be used by any thread.
unsafe impl Send for Pool {}
// SAFETY: likewise.
unsafe impl Sync for Pool {}

impl Pool {
    /// A pool on a device, if it has them: some that are virtual do not. The context is this thread's.
    pub fn new(device: Device, context: &Arc<Context>) -> Result<Option<Self>, Error> {
        // A driver that does not know the question has no pools.
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
        // Nothing is given back to the system before the end.
        let mut threshold = u64::MAX;
        let kept = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: this attribute is a `u64`, which is read during the call.
        let result = unsafe { sys::cuMemPoolSetAttribute(pool, kept, (&raw mut threshold).cast()) };
        check("cuMemPoolSetAttribute", result)?;
        Ok(Some(made))
    }

    /// Gives back to the system what no array has. What streams that have not been waited for may still use, stays.
    pub fn trim(&self) -> Result<(), Error> {
        // SAFETY: the pool is alive.
        check("cuMemPoolTrimTo", unsafe { sys::cuMemPoolTrimTo(self.pool, 0) })
    }

    /// Bytes that the pool has, and no array.
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
        // SAFETY: every array that came from it holds it, so they are gone.
        let _ = unsafe { sys::cuMemPoolDestroy(self.pool) };
    }
}

/// Some of a device's memory.
pub(super) struct DeviceBytes {
    start: u64,
    /// The pool that it came from, and the stream in whose order it is used.
    of: Option<(Arc<Pool>, Arc<Stream>)>,
    context: Arc<Context>,
}

/// Why there is no memory.
pub(super) enum NoMemory {
    /// The device has not so much.
    Short,
    Failed(Error),
}

impl DeviceBytes {
    /// Memory of so many bytes, not none, with anything in it, for work on a stream. The context is this thread's.
    pub fn new(
        len: usize,
        pool: Option<&Arc<Pool>>,
        stream: &Arc<Stream>,
        context: &Arc<Context>,
    ) -> Result<Self, NoMemory> {
        let mut start = 0;
        let (call, result) = match pool {
            Some(pool) => {
                // SAFETY: the call writes to what lives through it; pool and stream are alive.
                let result =
                    unsafe { sys::cuMemAllocFromPoolAsync(&mut start, len, pool.pool, stream.as_inner()) };
                ("cuMemAllocFromPoolAsync", result)
            }
            // SAFETY: the call writes to what lives through it.
            None => ("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&mut start, len) }),
        };
        match result {
            sys::CUresult::CUDA_SUCCESS => {
                let of = pool.map(|pool| (pool.clone(), stream.clone()));
                Ok(Self { start, of, context: context.clone() })
            }
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Err(NoMemory::Short),
            other => {
                let failed = DeviceError::Cuda { call, message: format!("{other:?}") };
                Err(NoMemory::Failed(failed.into()))
            }
        }
    }

    /// The address of the first byte, on the device.
    pub fn start(&self) -> u64 {
        self.start
    }
}

impl Drop for DeviceBytes {
    fn drop(&mut self) {
        // The memory is given back in its own context, whichever thread drops it.
        let _ = CurrentContext::set_current(&self.context);
        let _ = match &self.of {
            // SAFETY: the memory came from a pool, on this stream, which alone uses it; and nobody asks for more of that.
            Some((_, stream)) => unsafe { sys::cuMemFreeAsync(self.start, stream.as_inner()) },
            // SAFETY: the memory came from `cuMemAlloc`. The call waits for what is at work on it.
            None => unsafe { sys::cuMemFree_v2(self.start) },
        };
    }
}

/// Bytes that the device has free, those among them that a pool has and no array. The context is this thread's.
pub(super) fn free(pool: Option<&Arc<Pool>>) -> Result<u64, Error> {
    let (free, _) = cust::memory::mem_get_info().map_err(failed("cuMemGetInfo"))?;
    Ok(free as u64 + pool.map_or(Ok(0), |pool| pool.unused())?)
}
