//! The driver's functions and types, under the names that the CUDA driver API gives them.
//!
//! Each function here forwards its arguments to the driver's function of the same name. It returns
//! [`CUresult::CUDA_ERROR_STUB_LIBRARY`] without a driver, and
//! [`CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER`] with a driver that lacks the function.
#![expect(non_camel_case_types, non_snake_case, reason = "these are the driver's own names")]

use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};

use crate::driver::Symbol;

/// The code that a call of the driver returns. Any value may arrive here, so that it is no Rust enum.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
#[must_use]
pub struct CUresult(pub c_int);

/// A device's handle.
pub type CUdevice = c_int;
/// An address in a device's memory.
pub type CUdeviceptr = u64;

/// Defines types of which the driver hands out pointers, and those pointers.
macro_rules! handles {
    ($($(#[$doc:meta])* $pointer:ident = *mut $opaque:ident;)*) => {
        $(
            #[doc = concat!("The object that a [`", stringify!($pointer), "`] points to.")]
            #[repr(C)]
            #[derive(Debug)]
            pub struct $opaque {
                _private: [u8; 0],
            }

            $(#[$doc])*
            pub type $pointer = *mut $opaque;
        )*
    };
}

handles! {
    /// A context's handle.
    CUcontext = *mut CUctx_st;
    /// A stream's handle.
    CUstream = *mut CUstream_st;
    /// An event's handle.
    CUevent = *mut CUevent_st;
    /// The handle of a module of kernels.
    CUmodule = *mut CUmod_st;
    /// A kernel's handle.
    CUfunction = *mut CUfunc_st;
    /// The handle of a pool of device memory.
    CUmemoryPool = *mut CUmemPoolHandle_st;
}

/// Defines enums that are only passed to the driver, with the values that Warpath passes.
macro_rules! enums {
    ($($(#[$doc:meta])* $name:ident { $($value:ident = $number:literal),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[repr(i32)]
            pub enum $name {
                $(
                    #[doc = concat!("`", stringify!($value), "`.")]
                    $value = $number,
                )*
            }
        )*
    };
}

enums! {
    /// An attribute of a device.
    CUdevice_attribute {
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
        CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
        CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
    }
    /// An option of the driver's compiler.
    CUjit_option {
        CU_JIT_MAX_REGISTERS = 0,
    }
    /// A flag of `cuStreamCreate`.
    CUstream_flags {
        CU_STREAM_DEFAULT = 0,
        CU_STREAM_NON_BLOCKING = 1,
    }
    /// An attribute of a memory pool. Each of these is a `u64`.
    CUmemPool_attribute {
        CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
        CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
    }
    /// The kind of memory in a pool.
    CUmemAllocationType {
        CU_MEM_ALLOCATION_TYPE_PINNED = 1,
    }
    /// The way in which a pool's memory is shared with other processes.
    CUmemAllocationHandleType {
        CU_MEM_HANDLE_TYPE_NONE = 0,
    }
    /// The kind of location of a pool's memory.
    CUmemLocationType {
        CU_MEM_LOCATION_TYPE_DEVICE = 1,
    }
}

/// Pinned memory is portable between contexts: a flag of `cuMemHostAlloc`.
pub const CU_MEMHOSTALLOC_PORTABLE: c_uint = 1;
/// Pinned memory is portable between contexts: a flag of `cuMemHostRegister`.
pub const CU_MEMHOSTREGISTER_PORTABLE: c_uint = 1;

/// The location of a pool's memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUmemLocation {
    /// The kind of location.
    pub type_: CUmemLocationType,
    /// The device.
    pub id: c_int,
}

/// The properties of a memory pool.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUmemPoolProps {
    /// The kind of memory.
    pub allocType: CUmemAllocationType,
    /// The way in which the memory is shared with other processes.
    pub handleTypes: CUmemAllocationHandleType,
    /// The location of the memory.
    pub location: CUmemLocation,
    /// Windows' security attributes of shared memory, or null.
    pub win32SecurityAttributes: *mut c_void,
    /// Zeros: newer drivers read properties here.
    pub reserved: [c_uchar; 64],
}

// The size that CUDA's headers give it.
const _: () = assert!(size_of::<CUmemPoolProps>() == 80 + size_of::<*mut c_void>());

/// Defines each `name(argument: type, ..)` as a forward to the driver's function of that name.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        $(
            #[doc = concat!("The driver's `", stringify!($name), "`.")]
            ///
            /// # Safety
            ///
            /// The CUDA driver API's conditions for this function hold: each pointer is valid for what the
            /// function reads or writes there, for as long as it does. Each handle is alive.
            #[expect(clippy::allow_attributes, reason = "only some functions have too many arguments")]
            #[allow(clippy::too_many_arguments, reason = "the driver's functions have them")]
            pub unsafe fn $name($($argument: $type),*) -> CUresult {
                type Function = unsafe extern "system" fn($($type),*) -> CUresult;
                const NAME: &CStr = c_name(concat!(stringify!($name), "\0"));
                // SAFETY: the argument types are those of CUDA's headers, and `CUresult` is a C `int`, as an
                // enum is.
                static FUNCTION: Symbol<Function> = unsafe { Symbol::new(NAME) };
                match FUNCTION.get() {
                    // SAFETY: the caller upholds the conditions of the driver's function.
                    Ok(function) => unsafe { function($($argument),*) },
                    Err(code) => code,
                }
            }
        )*

        /// The names of all functions.
        #[cfg(test)]
        pub(crate) const NAMES: &[&CStr] = &[$(c_name(concat!(stringify!($name), "\0"))),*];
    };
}

/// Turns a literal that ends with a zero into a C string.
const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("not a C string"),
    }
}

functions! {
    cuCtxSetCurrent(context: CUcontext);
    cuCtxSynchronize();
    cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, device: CUdevice);
    cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice);
    cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint);
    cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    cuDriverGetVersion(version: *mut c_int);
    cuEventCreate(event: *mut CUevent, flags: c_uint);
    cuEventDestroy_v2(event: CUevent);
    cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
    cuEventRecord(event: CUevent, stream: CUstream);
    cuGetErrorString(error: CUresult, text: *mut *const c_char);
    cuInit(flags: c_uint);
    cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: CUstream,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    );
    cuMemAllocAsync(start: *mut CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemAllocFromPoolAsync(start: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream);
    cuMemAlloc_v2(start: *mut CUdeviceptr, bytes: usize);
    cuMemFreeAsync(start: CUdeviceptr, stream: CUstream);
    cuMemFreeHost(start: *mut c_void);
    cuMemFree_v2(start: CUdeviceptr);
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemHostAlloc(start: *mut *mut c_void, bytes: usize, flags: c_uint);
    cuMemHostRegister_v2(start: *mut c_void, bytes: usize, flags: c_uint);
    cuMemHostUnregister(start: *mut c_void);
    cuMemPoolCreate(pool: *mut CUmemoryPool, properties: *const CUmemPoolProps);
    cuMemPoolDestroy(pool: CUmemoryPool);
    cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void);
    cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void);
    cuMemPoolTrimTo(pool: CUmemoryPool, bytes_to_keep: usize);
    cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    cuMemsetD8Async(start: CUdeviceptr, value: c_uchar, bytes: usize, stream: CUstream);
    cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        options_len: c_uint,
        options: *mut CUjit_option,
        values: *mut *mut c_void,
    );
    cuModuleUnload(module: CUmodule);
    cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int);
    cuStreamDestroy_v2(stream: CUstream);
    cuStreamSynchronize(stream: CUstream);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(NAMES.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
