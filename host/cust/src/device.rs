//! Devices.

use std::ffi::{CStr, c_int};
use std::ops::Range;

use crate::error::CudaResult;
use crate::sys::{self, CUdevice_attribute};

/// A CUDA device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    device: sys::CUdevice,
}

/// An attribute of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceAttribute {
    /// The major part of the compute capability.
    ComputeCapabilityMajor,
    /// The minor part of the compute capability.
    ComputeCapabilityMinor,
    /// 1 where the driver can pin memory of the process.
    HostRegisterSupported,
    /// 1 where the device has memory pools.
    MemoryPoolsSupported,
}

impl DeviceAttribute {
    fn raw(self) -> CUdevice_attribute {
        match self {
            Self::ComputeCapabilityMajor => CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            Self::ComputeCapabilityMinor => CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            Self::HostRegisterSupported => CUdevice_attribute::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED,
            Self::MemoryPoolsSupported => CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
        }
    }
}

impl Device {
    /// Returns the number of devices.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn num_devices() -> CudaResult<u32> {
        let mut count: c_int = 0;
        // SAFETY: `count` is valid for the write of the call.
        unsafe { sys::cuDeviceGetCount(&mut count) }.result()?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    /// Returns the device of a number, counted from 0.
    ///
    /// # Errors
    ///
    /// [`InvalidDevice`](crate::error::CudaError::InvalidDevice) where there are fewer devices.
    pub fn get_device(ordinal: u32) -> CudaResult<Self> {
        let mut device = 0;
        // A number that is no `int` is no device's, and neither is -1.
        let ordinal = c_int::try_from(ordinal).unwrap_or(-1);
        // SAFETY: `device` is valid for the write of the call.
        unsafe { sys::cuDeviceGet(&mut device, ordinal) }.result()?;
        Ok(Self { device })
    }

    /// Iterates over all devices.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn devices() -> CudaResult<Devices> {
        Ok(Devices { ordinals: 0..Self::num_devices()? })
    }

    /// Returns the size of the device's memory in bytes.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn total_memory(self) -> CudaResult<usize> {
        let mut bytes = 0;
        // SAFETY: `bytes` is valid for the write of the call, and the device came from `cuDeviceGet`.
        unsafe { sys::cuDeviceTotalMem_v2(&mut bytes, self.device) }.result()?;
        Ok(bytes)
    }

    /// Returns the device's name, without bytes that are not UTF-8.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn name(self) -> CudaResult<String> {
        // The driver cuts off what is longer.
        let mut name = [0u8; 256];
        let len = name.len() as c_int;
        // SAFETY: the call writes at most `len` bytes, which the array has. The device came from
        // `cuDeviceGet`.
        unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), len, self.device) }.result()?;
        Ok(CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned())
    }

    /// Returns the value of an attribute.
    ///
    /// # Errors
    ///
    /// [`InvalidValue`](crate::error::CudaError::InvalidValue) with a driver that does not know the
    /// attribute.
    pub fn get_attribute(self, attribute: DeviceAttribute) -> CudaResult<i32> {
        let mut value = 0;
        // SAFETY: `value` is valid for the write of the call, and the device came from `cuDeviceGet`.
        unsafe { sys::cuDeviceGetAttribute(&mut value, attribute.raw(), self.device) }.result()?;
        Ok(value)
    }

    /// Returns the driver's handle.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUdevice {
        self.device
    }
}

/// An iterator over all devices.
#[derive(Clone, Debug)]
pub struct Devices {
    ordinals: Range<u32>,
}

impl Iterator for Devices {
    type Item = CudaResult<Device>;

    fn next(&mut self) -> Option<Self::Item> {
        self.ordinals.next().map(Device::get_device)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ordinals.size_hint()
    }
}
