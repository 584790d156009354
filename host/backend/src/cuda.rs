//! CUDA devices, through `cust` (`host/cust`).

pub mod device;
mod memory;
mod modules;
mod pages;

pub use cust::{DriverError, driver_available};
pub use device::{ArrayMemory, Cuda, DeviceInfo, KernelTime, Settings, TextMemory, devices};
pub use modules::{KernelModule, MODULES};
