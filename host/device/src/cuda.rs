//! CUDA devices, through `cust` (`host/cust`).

mod calls;
mod context;
mod device;
mod memory;
mod modules;
mod pages;
mod staging;

pub use context::{ArrayMemory, DeviceInfo, Settings, TextMemory, devices};
pub use cust::{DriverError, driver_available};
pub use device::{Cuda, CudaBuffer, CudaDownload, KernelTime};
pub use modules::{KernelModule, MODULES};

use std::sync::Arc;

use warpath_answer::backend::Backend;
use warpath_core::error::Error;

use crate::pipeline::Pipeline;

/// The backend of one CUDA device. The kernels' host code is compiled in this crate, once, and not again in
/// each crate that opens a device.
///
/// # Errors
/// The errors of [`Cuda::new`].
pub fn backend(number: usize) -> Result<Arc<dyn Backend>, Error> {
    Ok(Arc::new(Pipeline::new(Cuda::new(number)?)?))
}
