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
