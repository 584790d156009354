//! CUDA devices, through `cust`. All `unsafe` that concerns a GPU is in this folder.

mod device;
mod driver;

pub use device::{Cuda, DeviceInfo, KernelModule, KernelTime, devices, kernels, modules};
pub use driver::{DriverError, driver_available};
