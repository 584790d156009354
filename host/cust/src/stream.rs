//! Streams: queues of copies and launches, each of which runs in order.

use std::ffi::c_void;
use std::ptr;

use crate::error::CudaResult;
use crate::function::{BlockSize, Function, GridSize};
use crate::sys;

bitflags::bitflags! {
    /// Flags of a stream.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StreamFlags: u32 {
        /// The stream and the legacy default stream wait for each other.
        const DEFAULT = 0;
        /// The stream and the legacy default stream do not wait for each other.
        const NON_BLOCKING = 1;
    }
}

/// A stream of the context that was current when it was made.
#[derive(Debug)]
pub struct Stream {
    stream: sys::CUstream,
}

// SAFETY: the driver locks a stream during each call, and any thread may use it.
unsafe impl Send for Stream {}
// SAFETY: as for `Send`.
unsafe impl Sync for Stream {}

impl Stream {
    /// Makes a stream in this thread's context. Without a priority, it has that of the default stream, 0.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn new(flags: StreamFlags, priority: Option<i32>) -> CudaResult<Self> {
        let mut stream = ptr::null_mut();
        // SAFETY: `stream` is valid for the write of the call.
        unsafe { sys::cuStreamCreateWithPriority(&mut stream, flags.bits(), priority.unwrap_or(0)) }
            .result()?;
        Ok(Self { stream })
    }

    /// Waits until all work in the stream is done.
    ///
    /// # Errors
    ///
    /// The driver's, and those of the work.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the stream is alive until `self` is dropped.
        unsafe { sys::cuStreamSynchronize(self.stream) }.result()
    }

    /// Adds a launch to the stream.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Safety
    ///
    /// `arguments` points to one value for each parameter of the kernel, in order and of its type. The kernel
    /// accesses memory only as those values allow, and the memory stays valid until the kernel ends.
    pub unsafe fn launch<G, B>(
        &self,
        function: &Function<'_>,
        grid: G,
        block: B,
        shared_bytes: u32,
        arguments: &[*mut c_void],
    ) -> CudaResult<()>
    where
        G: Into<GridSize>,
        B: Into<BlockSize>,
    {
        let (grid, block): (GridSize, BlockSize) = (grid.into(), block.into());
        // SAFETY: stream and function are alive because they are borrowed. The caller guarantees the
        // arguments, which the driver reads during the call and never writes to.
        unsafe {
            sys::cuLaunchKernel(
                function.to_raw(),
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                shared_bytes,
                self.stream,
                arguments.as_ptr().cast_mut(),
                ptr::null_mut(),
            )
        }
        .result()
    }

    /// Returns the driver's handle, which is valid until the stream is dropped.
    #[must_use]
    pub fn as_inner(&self) -> sys::CUstream {
        self.stream
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: `new` made the stream, and this is its one destruction. The driver lets work that is under
        // way finish first, and reports the errors of that work here, where nobody is left to handle them.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.stream) };
    }
}
