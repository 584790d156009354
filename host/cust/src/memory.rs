//! The size of a device's memory.

use crate::error::CudaResult;
use crate::sys;

/// Returns the free and the total bytes of the current context's device.
///
/// # Errors
///
/// The driver's.
pub fn mem_get_info() -> CudaResult<(usize, usize)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are valid for the writes of the call.
    unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) }.result()?;
    Ok((free, total))
}
