//! Events: points in a stream, with the time at which the device reached them.

use std::ptr;

use crate::error::CudaResult;
use crate::stream::Stream;
use crate::sys;

bitflags::bitflags! {
    /// Flags of an event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct EventFlags: u32 {
        /// The event has a time, and threads that wait for it spin.
        const DEFAULT = 0;
        /// The event has no time, and costs less.
        const DISABLE_TIMING = 2;
    }
}

/// An event of the context that was current when it was made.
#[derive(Debug)]
pub struct Event {
    event: sys::CUevent,
}

// SAFETY: the driver locks an event during each call, and any thread may use it.
unsafe impl Send for Event {}
// SAFETY: as for `Send`.
unsafe impl Sync for Event {}

impl Event {
    /// Makes an event in this thread's context.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn new(flags: EventFlags) -> CudaResult<Self> {
        let mut event = ptr::null_mut();
        // SAFETY: `event` is valid for the write of the call.
        unsafe { sys::cuEventCreate(&mut event, flags.bits()) }.result()?;
        Ok(Self { event })
    }

    /// Adds the event to a stream.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn record(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: event and stream are alive because they are borrowed.
        unsafe { sys::cuEventRecord(self.event, stream.as_inner()) }.result()
    }

    /// Returns the driver's handle, which is valid as long as the event.
    #[must_use]
    pub fn as_inner(&self) -> sys::CUevent {
        self.event
    }

    /// Returns the milliseconds from another event to this one.
    ///
    /// # Errors
    ///
    /// [`NotReady`](crate::error::CudaError::NotReady) before the device has reached both.
    pub fn elapsed_time_f32(&self, start: &Self) -> CudaResult<f32> {
        let mut milliseconds = 0.0;
        // SAFETY: `milliseconds` is valid for the write of the call. Both events are alive because they are
        // borrowed.
        unsafe { sys::cuEventElapsedTime(&mut milliseconds, start.event, self.event) }.result()?;
        Ok(milliseconds)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: `new` made the event, and this is its one destruction. A stream that still has it keeps its
        // own record. The one error there can be is a driver that has shut down, and the event with it.
        let _ = unsafe { sys::cuEventDestroy_v2(self.event) };
    }
}
