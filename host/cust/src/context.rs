//! Contexts: the primary context of each device, which the CUDA runtime uses, too.

use std::ptr;

use crate::device::Device;
use crate::error::CudaResult;
use crate::sys;

bitflags::bitflags! {
    /// Flags of a context.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ContextFlags: u32 {
        /// The driver chooses how threads wait for the device.
        const SCHED_AUTO = 0;
        /// Threads that wait for the device spin.
        const SCHED_SPIN = 1;
        /// Threads that wait for the device yield to others.
        const SCHED_YIELD = 2;
        /// Threads that wait for the device sleep.
        const SCHED_BLOCKING_SYNC = 4;
    }
}

/// A reference to a device's primary context, which lives until the last of them is dropped.
#[derive(Debug)]
pub struct Context {
    context: sys::CUcontext,
    device: Device,
}

// SAFETY: the driver counts references under a lock of its own, and any thread may use a context.
unsafe impl Send for Context {}
// SAFETY: a shared `Context` gives out its handle alone, which any thread may use.
unsafe impl Sync for Context {}

impl Context {
    /// Retains the device's primary context, which the first call makes, and makes it current in this thread.
    ///
    /// # Errors
    ///
    /// The driver's. No reference stays retained.
    pub fn new(device: Device) -> CudaResult<Self> {
        let mut context = ptr::null_mut();
        // SAFETY: `context` is valid for the write of the call, and the device came from `cuDeviceGet`.
        unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, device.as_raw()) }.result()?;
        // The reference is owned from here on: a failure below releases it.
        let made = Self { context, device };
        CurrentContext::set_current(&made)?;
        Ok(made)
    }

    /// Returns the driver's handle.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUcontext {
        self.context
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: `new` retained the context once, and this is the one release of that reference. The driver
        // fails where it has already shut down, and then holds nothing any more.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device.as_raw()) };
    }
}

/// The context that is current in this thread.
#[derive(Debug)]
pub struct CurrentContext;

impl CurrentContext {
    /// Makes a context current in this thread.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn set_current(context: &Context) -> CudaResult<()> {
        // SAFETY: the reference that `context` owns keeps the driver's context alive during the call. A
        // thread may keep a context current that is gone later: calls then return an error.
        unsafe { sys::cuCtxSetCurrent(context.as_raw()) }.result()
    }
}
