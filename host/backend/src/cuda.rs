//! CUDA devices, through `cust`. All `unsafe` that concerns a GPU is in this folder.

pub mod device;
mod driver;
mod memory;
mod modules;
mod pages;

pub use device::{ArrayMemory, Cuda, DeviceInfo, KernelTime, Settings, TextMemory, devices};
pub use driver::{DriverError, driver_available};
pub use modules::{KernelModule, kernels, modules};
