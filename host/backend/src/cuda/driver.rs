//! The CUDA driver, loaded when it is first called instead of linked.
//!
//! `cust` calls the driver's functions by name and has the linker look for them in `libcuda`. Warpath defines them
//! itself, as forwards: the first call of any loads `libcuda.so.1` (`nvcuda.dll` on Windows), the first call of each
//! looks its function up under the same name, later calls cost an atomic load and an indirect call. So one binary
//! starts everywhere, and is built with no CUDA toolkit; `host/cuda-link` holds an empty archive for the linker to
//! find under the driver's name.
//!
//! Without a driver every forward returns `CUDA_ERROR_STUB_LIBRARY`, as the linking stub of a CUDA toolkit does.
//! `cust` has no name for that code and reports [`CudaError::UnknownError`](cust::error::CudaError::UnknownError);
//! its text is then "no CUDA driver found". [`driver_available`] tells the cases apart.
//!
//! The forwards are exported symbols, which rustc hands to the linker in every program, test and bench that uses
//! this crate, called or not. A program that calls `cust` and never names this crate has to say `use warpath as _;`.

use std::{
    error::Error,
    ffi::{CStr, c_char, c_int},
    iter, mem,
    ptr::NonNull,
    sync::OnceLock,
};

use cust::sys::{self, CUresult};
use libloading::Library;

/// The driver's library, by the name that the driver's installation gives it.
const LIBRARY: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// Why the GPU cannot be used at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The driver's library is not there, or cannot be loaded.
    #[error("no CUDA driver found")]
    NotFound {
        /// What the system's loader said.
        reason: String,
    },
    /// The driver is there and does not start: no device that it knows, most often, or one that it lost.
    #[error("the CUDA driver does not start: {message} (error {code})")]
    Init {
        /// What `cuInit` returned, a `CUresult`.
        code: i32,
        /// The driver's own text for it.
        message: String,
    },
}

/// Whether a CUDA driver is there and starts. Loads it if need be, and may be called any number of times, from any
/// thread. A driver that starts has at least one device.
///
/// # Errors
///
/// [`DriverError::NotFound`] without a driver, [`DriverError::Init`] with one that does not start.
pub fn driver_available() -> Result<(), DriverError> {
    library().map_err(|reason| DriverError::NotFound { reason: reason.to_owned() })?;
    // SAFETY: `cuInit` takes no pointers, and may be called at any time from any thread.
    let result = unsafe { sys::cuInit(0) };
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    Err(DriverError::Init { code: result as i32, message: error_string(result) })
}

/// The driver's text for an error.
fn error_string(error: CUresult) -> String {
    let mut text = std::ptr::null();
    // SAFETY: `text` lives through the call, which writes a pointer or leaves it null.
    let result = unsafe { sys::cuGetErrorString(error, &mut text) };
    if result != CUresult::CUDA_SUCCESS || text.is_null() {
        return "unknown error".to_owned();
    }
    // SAFETY: the pointer that the call wrote is to a static string that ends with a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The driver, loaded at the first call; else why it could not be.
fn library() -> Result<&'static Library, &'static str> {
    static DRIVER: OnceLock<Result<Library, String>> = OnceLock::new();
    let load = || {
        // SAFETY: the driver's initialisers are made to run in any process that links it, before `main` or later;
        // it is never unloaded.
        unsafe { Library::new(LIBRARY) }.map_err(|error| with_causes(&error))
    };
    DRIVER.get_or_init(load).as_ref().map_err(String::as_str)
}

/// The text of an error and of what caused it.
fn with_causes(error: &dyn Error) -> String {
    let causes = iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// The driver's function of this name; else what a call of it returns.
///
/// # Safety
///
/// `F` must be the type of a pointer to that function.
unsafe fn find<F: Copy>(name: &CStr) -> Result<F, CUresult> {
    let driver = library().map_err(|_| CUresult::CUDA_ERROR_STUB_LIBRARY)?;
    // SAFETY: the caller says that `F` is the symbol's type; `Option` makes of null, which a symbol may be, a `None`.
    let symbol = unsafe { driver.get::<Option<F>>(name) };
    // A driver too old for the function.
    symbol.ok().and_then(|symbol| *symbol).ok_or(CUresult::CUDA_ERROR_NOT_SUPPORTED)
}

/// What a driver's function returned, as the enum that `cust` knows. Newer drivers return codes that this enum does
/// not have, which must not become values of it: they are `CUDA_ERROR_UNKNOWN`.
fn known(code: c_int) -> CUresult {
    match code {
        0..=8
        | 34
        | 100..=102
        | 200..=202
        | 205..=224
        | 300..=304
        | 400..=401
        | 500
        | 600
        | 700..=705
        | 708..=720
        | 800..=809
        | 900..=911
        | 999 => {
            // SAFETY: `CUresult` is `repr(i32)`, and these are exactly its discriminants.
            unsafe { mem::transmute::<c_int, CUresult>(code) }
        }
        _ => CUresult::CUDA_ERROR_UNKNOWN,
    }
}

/// Defines, for each `name(argument: type, ..)`, the driver's function of that name as a forward.
macro_rules! forwards {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            /// # Safety
            ///
            /// As the driver's function of this name.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
                type Function = unsafe extern "C" fn($($type),*) -> c_int;
                static FUNCTION: OnceLock<Result<Function, CUresult>> = OnceLock::new();
                // SAFETY: this is the function's type: the line below the forward holds it equal to that of `cust`'s
                // declaration but for the result, an `i32` that `known` makes a `CUresult`.
                match *FUNCTION.get_or_init(|| unsafe { find(to_c_str(concat!(stringify!($name), "\0"))) }) {
                    // SAFETY: the arguments are the caller's, who keeps the function's contract.
                    Ok(function) => known(unsafe { function($($argument),*) }),
                    Err(code) => code,
                }
            }
            const _: unsafe extern "C" fn($($type),*) -> CUresult = sys::$name;
        )*

        /// The names of the forwards.
        #[cfg(test)]
        pub(super) const NAMES: &[&CStr] = &[$(to_c_str(concat!(stringify!($name), "\0"))),*];
    };
}

/// A name that ends with a zero.
const fn to_c_str(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("not a C string"),
    }
}

mod functions {
    use std::ffi::{c_uchar, c_uint, c_ulonglong, c_ushort, c_void};

    use cust::sys::*;

    use super::*;

    forwards! {
        // What cust refers to.
        cuArray3DCreate_v2(handle: *mut CUarray, allocate_array: *const CUDA_ARRAY3D_DESCRIPTOR);
        cuArray3DGetDescriptor_v2(array_descriptor: *mut CUDA_ARRAY3D_DESCRIPTOR, array: CUarray);
        cuArrayDestroy(array: CUarray);
        cuCtxCreate_v2(pctx: *mut CUcontext, flags: c_uint, dev: CUdevice);
        cuCtxDestroy_v2(ctx: CUcontext);
        cuCtxGetApiVersion(ctx: CUcontext, version: *mut c_uint);
        cuCtxGetCacheConfig(pconfig: *mut CUfunc_cache);
        cuCtxGetCurrent(pctx: *mut CUcontext);
        cuCtxGetDevice(device: *mut CUdevice);
        cuCtxGetFlags(flags: *mut c_uint);
        cuCtxGetLimit(pvalue: *mut usize, limit: CUlimit);
        cuCtxGetSharedMemConfig(config: *mut CUsharedconfig);
        cuCtxGetStreamPriorityRange(least_priority: *mut c_int, greatest_priority: *mut c_int);
        cuCtxPopCurrent_v2(pctx: *mut CUcontext);
        cuCtxPushCurrent_v2(ctx: CUcontext);
        cuCtxSetCacheConfig(config: CUfunc_cache);
        cuCtxSetCurrent(ctx: CUcontext);
        cuCtxSetLimit(limit: CUlimit, value: usize);
        cuCtxSetSharedMemConfig(config: CUsharedconfig);
        cuCtxSynchronize();
        cuDestroyExternalMemory(ext_mem: CUexternalMemory);
        cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
        cuDeviceGetAttribute(pi: *mut c_int, attrib: CUdevice_attribute, dev: CUdevice);
        cuDeviceGetCount(count: *mut c_int);
        cuDeviceGetName(name: *mut c_char, len: c_int, dev: CUdevice);
        cuDevicePrimaryCtxRelease_v2(dev: CUdevice);
        cuDevicePrimaryCtxReset_v2(dev: CUdevice);
        cuDevicePrimaryCtxRetain(pctx: *mut CUcontext, dev: CUdevice);
        cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: c_uint);
        cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice);
        cuDriverGetVersion(driver_version: *mut c_int);
        cuEventCreate(event: *mut CUevent, flags: c_uint);
        cuEventDestroy_v2(event: CUevent);
        cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
        cuEventQuery(event: CUevent);
        cuEventRecord(event: CUevent, stream: CUstream);
        cuEventSynchronize(event: CUevent);
        cuExternalMemoryGetMappedBuffer(
            dev_ptr: *mut CUdeviceptr, ext_mem: CUexternalMemory,
            buffer_desc: *const CUDA_EXTERNAL_MEMORY_BUFFER_DESC
        );
        cuFuncGetAttribute(pi: *mut c_int, attrib: CUfunction_attribute, hfunc: CUfunction);
        cuFuncSetCacheConfig(hfunc: CUfunction, config: CUfunc_cache);
        cuFuncSetSharedMemConfig(hfunc: CUfunction, config: CUsharedconfig);
        cuGraphAddKernelNode(
            graph_node: *mut CUgraphNode, graph: CUgraph, dependencies: *const CUgraphNode,
            num_dependencies: usize, node_params: *const CUDA_KERNEL_NODE_PARAMS
        );
        cuGraphCreate(graph: *mut CUgraph, flags: c_uint);
        cuGraphDebugDotPrint(graph: CUgraph, path: *const c_char, flags: c_uint);
        cuGraphDestroy(graph: CUgraph);
        cuGraphGetEdges(graph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, num_edges: *mut usize);
        cuGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, num_nodes: *mut usize);
        cuGraphKernelNodeGetParams(node: CUgraphNode, node_params: *mut CUDA_KERNEL_NODE_PARAMS);
        cuGraphNodeGetType(node: CUgraphNode, kind: *mut CUgraphNodeType);
        cuImportExternalMemory(
            ext_mem_out: *mut CUexternalMemory, mem_handle_desc: *const CUDA_EXTERNAL_MEMORY_HANDLE_DESC
        );
        cuInit(flags: c_uint);
        cuLaunchHostFunc(stream: CUstream, function: CUhostFn, user_data: *mut c_void);
        cuLaunchKernel(
            f: CUfunction, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint, block_dim_x: c_uint,
            block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint, stream: CUstream,
            kernel_params: *mut *mut c_void, extra: *mut *mut c_void
        );
        cuLinkAddData_v2(
            state: CUlinkState, kind: CUjitInputType, data: *mut c_void, size: usize, name: *const c_char,
            num_options: c_uint, options: *mut CUjit_option, option_values: *mut *mut c_void
        );
        cuLinkComplete(state: CUlinkState, cubin_out: *mut *mut c_void, size_out: *mut usize);
        cuLinkCreate_v2(
            num_options: c_uint, options: *mut CUjit_option, option_values: *mut *mut c_void,
            state_out: *mut CUlinkState
        );
        cuLinkDestroy(state: CUlinkState);
        cuMemAdvise(dev_ptr: CUdeviceptr, count: usize, advice: CUmem_advise, device: CUdevice);
        cuMemAllocAsync(dptr: *mut CUdeviceptr, bytesize: usize, stream: CUstream);
        cuMemAllocHost_v2(pp: *mut *mut c_void, bytesize: usize);
        cuMemAllocManaged(dptr: *mut CUdeviceptr, bytesize: usize, flags: c_uint);
        cuMemAlloc_v2(dptr: *mut CUdeviceptr, bytesize: usize);
        cuMemFreeAsync(dptr: CUdeviceptr, stream: CUstream);
        cuMemFreeHost(p: *mut c_void);
        cuMemFree_v2(dptr: CUdeviceptr);
        cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
        cuMemPrefetchAsync(dev_ptr: CUdeviceptr, count: usize, dst_device: CUdevice, stream: CUstream);
        cuMemcpy2D_v2(copy: *const CUDA_MEMCPY2D);
        cuMemcpyAtoH_v2(dst_host: *mut c_void, src_array: CUarray, src_offset: usize, byte_count: usize);
        cuMemcpyDtoDAsync_v2(
            dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize, stream: CUstream
        );
        cuMemcpyDtoD_v2(dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize);
        cuMemcpyDtoHAsync_v2(
            dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize, stream: CUstream
        );
        cuMemcpyDtoH_v2(dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize);
        cuMemcpyHtoA_v2(dst_array: CUarray, dst_offset: usize, src_host: *const c_void, byte_count: usize);
        cuMemcpyHtoDAsync_v2(
            dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize, stream: CUstream
        );
        cuMemcpyHtoD_v2(dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize);
        cuMemsetD16Async(dst_device: CUdeviceptr, us: c_ushort, n: usize, stream: CUstream);
        cuMemsetD16_v2(dst_device: CUdeviceptr, us: c_ushort, n: usize);
        cuMemsetD32Async(dst_device: CUdeviceptr, ui: c_uint, n: usize, stream: CUstream);
        cuMemsetD32_v2(dst_device: CUdeviceptr, ui: c_uint, n: usize);
        cuMemsetD8Async(dst_device: CUdeviceptr, uc: c_uchar, n: usize, stream: CUstream);
        cuMemsetD8_v2(dst_device: CUdeviceptr, uc: c_uchar, n: usize);
        cuModuleGetFunction(hfunc: *mut CUfunction, hmod: CUmodule, name: *const c_char);
        cuModuleGetGlobal_v2(dptr: *mut CUdeviceptr, bytes: *mut usize, hmod: CUmodule, name: *const c_char);
        cuModuleLoad(module: *mut CUmodule, fname: *const c_char);
        cuModuleLoadData(module: *mut CUmodule, image: *const c_void);
        cuModuleLoadDataEx(
            module: *mut CUmodule, image: *const c_void, num_options: c_uint, options: *mut CUjit_option,
            option_values: *mut *mut c_void
        );
        cuModuleUnload(hmod: CUmodule);
        cuOccupancyAvailableDynamicSMemPerBlock(
            dynamic_smem_size: *mut usize, func: CUfunction, num_blocks: c_int, block_size: c_int
        );
        cuOccupancyMaxActiveBlocksPerMultiprocessor(
            num_blocks: *mut c_int, func: CUfunction, block_size: c_int, dynamic_s_mem_size: usize
        );
        cuOccupancyMaxPotentialBlockSize(
            min_grid_size: *mut c_int, block_size: *mut c_int, func: CUfunction,
            block_size_to_dynamic_s_mem_size: CUoccupancyB2DSize, dynamic_s_mem_size: usize,
            block_size_limit: c_int
        );
        cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int);
        cuStreamDestroy_v2(stream: CUstream);
        cuStreamGetFlags(stream: CUstream, flags: *mut c_uint);
        cuStreamGetPriority(stream: CUstream, priority: *mut c_int);
        cuStreamSynchronize(stream: CUstream);
        cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
        cuSurfObjectCreate(surf_object: *mut CUsurfObject, res_desc: *const CUDA_RESOURCE_DESC);
        cuSurfObjectDestroy(surf_object: CUsurfObject);
        cuSurfObjectGetResourceDesc(res_desc: *mut CUDA_RESOURCE_DESC, surf_object: CUsurfObject);
        cuTexObjectCreate(
            tex_object: *mut CUtexObject, res_desc: *const CUDA_RESOURCE_DESC,
            tex_desc: *const CUDA_TEXTURE_DESC, res_view_desc: *const CUDA_RESOURCE_VIEW_DESC
        );
        cuTexObjectDestroy(tex_object: CUtexObject);
        cuTexObjectGetResourceDesc(res_desc: *mut CUDA_RESOURCE_DESC, tex_object: CUtexObject);
        cuTexObjectGetResourceViewDesc(res_view_desc: *mut CUDA_RESOURCE_VIEW_DESC, tex_object: CUtexObject);
        // What cust has no wrapper for, and callers of `cust::sys` may want.
        cuCtxDisablePeerAccess(peer_context: CUcontext);
        cuCtxEnablePeerAccess(peer_context: CUcontext, flags: c_uint);
        cuDeviceCanAccessPeer(can_access_peer: *mut c_int, dev: CUdevice, peer_dev: CUdevice);
        cuDeviceGetByPCIBusId(dev: *mut CUdevice, pci_bus_id: *const c_char);
        cuDeviceGetDefaultMemPool(pool_out: *mut CUmemoryPool, dev: CUdevice);
        cuDeviceGetPCIBusId(pci_bus_id: *mut c_char, len: c_int, dev: CUdevice);
        cuDeviceGetUuid(uuid: *mut CUuuid, dev: CUdevice);
        cuDevicePrimaryCtxGetState(dev: CUdevice, flags: *mut c_uint, active: *mut c_int);
        cuEventRecordWithFlags(event: CUevent, stream: CUstream, flags: c_uint);
        cuFuncGetModule(hmod: *mut CUmodule, hfunc: CUfunction);
        cuFuncSetAttribute(hfunc: CUfunction, attrib: CUfunction_attribute, value: c_int);
        cuGraphExecDestroy(graph_exec: CUgraphExec);
        cuGraphInstantiateWithFlags(graph_exec: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong);
        cuGraphLaunch(graph_exec: CUgraphExec, stream: CUstream);
        cuLaunchCooperativeKernel(
            f: CUfunction, grid_dim_x: c_uint, grid_dim_y: c_uint, grid_dim_z: c_uint, block_dim_x: c_uint,
            block_dim_y: c_uint, block_dim_z: c_uint, shared_mem_bytes: c_uint, stream: CUstream,
            kernel_params: *mut *mut c_void
        );
        cuMemAllocFromPoolAsync(dptr: *mut CUdeviceptr, bytesize: usize, pool: CUmemoryPool, stream: CUstream);
        cuMemHostAlloc(pp: *mut *mut c_void, bytesize: usize, flags: c_uint);
        cuMemHostGetDevicePointer_v2(pdptr: *mut CUdeviceptr, p: *mut c_void, flags: c_uint);
        cuMemHostGetFlags(flags: *mut c_uint, p: *mut c_void);
        cuMemHostRegister_v2(p: *mut c_void, bytesize: usize, flags: c_uint);
        cuMemHostUnregister(p: *mut c_void);
        cuMemPoolCreate(pool: *mut CUmemoryPool, properties: *const CUmemPoolProps);
        cuMemPoolDestroy(pool: CUmemoryPool);
        cuMemPoolGetAttribute(pool: CUmemoryPool, attr: CUmemPool_attribute, value: *mut c_void);
        cuMemPoolSetAttribute(pool: CUmemoryPool, attr: CUmemPool_attribute, value: *mut c_void);
        cuMemPoolTrimTo(pool: CUmemoryPool, min_bytes_to_keep: usize);
        cuMemcpy(dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize);
        cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream);
        cuMemcpyAsync(dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize, stream: CUstream);
        cuMemcpyPeer(
            dst_device: CUdeviceptr, dst_context: CUcontext, src_device: CUdeviceptr, src_context: CUcontext,
            byte_count: usize
        );
        cuMemcpyPeerAsync(
            dst_device: CUdeviceptr, dst_context: CUcontext, src_device: CUdeviceptr, src_context: CUcontext,
            byte_count: usize, stream: CUstream
        );
        cuModuleLoadFatBinary(module: *mut CUmodule, fat_cubin: *const c_void);
        cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            num_blocks: *mut c_int, func: CUfunction, block_size: c_int, dynamic_s_mem_size: usize,
            flags: c_uint
        );
        cuOccupancyMaxPotentialBlockSizeWithFlags(
            min_grid_size: *mut c_int, block_size: *mut c_int, func: CUfunction,
            block_size_to_dynamic_s_mem_size: CUoccupancyB2DSize, dynamic_s_mem_size: usize,
            block_size_limit: c_int, flags: c_uint
        );
        cuPointerGetAttribute(data: *mut c_void, attribute: CUpointer_attribute, ptr: CUdeviceptr);
        cuProfilerStart();
        cuProfilerStop();
        cuStreamAddCallback(
            stream: CUstream, callback: CUstreamCallback, user_data: *mut c_void, flags: c_uint
        );
        cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode);
        cuStreamCreate(stream: *mut CUstream, flags: c_uint);
        cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph);
        cuStreamGetCtx(stream: CUstream, pctx: *mut CUcontext);
        cuStreamIsCapturing(stream: CUstream, capture_status: *mut CUstreamCaptureStatus);
        cuStreamQuery(stream: CUstream);
    }
}

/// The type of `cuGetErrorString` and `cuGetErrorName`, in the driver.
type Describe = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

/// The driver's function `cuGetErrorString`; without a driver it answers too, or errors could not be shown.
///
/// # Safety
///
/// `text` must be null or valid for a write.
// The code is no `CUresult` here: `cust` passes numbers that this enum might not have.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(error: c_int, text: *mut *const c_char) -> CUresult {
    static FUNCTION: OnceLock<Result<Describe, CUresult>> = OnceLock::new();
    // SAFETY: this is the function's type, an enum of the C language being an `int`.
    let function = *FUNCTION.get_or_init(|| unsafe { find(c"cuGetErrorString") });
    // SAFETY: the caller's promise is the same.
    unsafe { describe(function, error, text, without_driver) }
}

/// The driver's function `cuGetErrorName`; without a driver it answers too.
///
/// # Safety
///
/// `text` must be null or valid for a write.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(error: c_int, text: *mut *const c_char) -> CUresult {
    static FUNCTION: OnceLock<Result<Describe, CUresult>> = OnceLock::new();
    // SAFETY: this is the function's type, an enum of the C language being an `int`.
    let function = *FUNCTION.get_or_init(|| unsafe { find(c"cuGetErrorName") });
    // SAFETY: the caller's promise is the same.
    unsafe { describe(function, error, text, name_without_driver) }
}

/// Has the driver's function write the text for `error`, or writes that of `otherwise`.
///
/// # Safety
///
/// `text` must be null or valid for a write.
unsafe fn describe(
    function: Result<Describe, CUresult>,
    error: c_int,
    text: *mut *const c_char,
    otherwise: fn(c_int) -> &'static CStr,
) -> CUresult {
    // Drivers write without looking.
    let Some(text) = NonNull::new(text) else { return CUresult::CUDA_ERROR_INVALID_VALUE };
    if let Ok(function) = function {
        // SAFETY: the driver's function takes any code, and a pointer that may be written to.
        return known(unsafe { function(error, text.as_ptr()) });
    }
    // SAFETY: it is not null, so the caller says that it may be written to.
    unsafe { text.write(otherwise(error).as_ptr()) };
    CUresult::CUDA_SUCCESS
}

/// The text for an error where no driver is: the one error there can be is that. It arrives here as 999 from `cust`,
/// which has no name for 34.
fn without_driver(error: c_int) -> &'static CStr {
    match error {
        0 => c"no error",
        34 | 999 => c"no CUDA driver found",
        _ => c"a CUDA error, which no driver is there to describe",
    }
}

fn name_without_driver(error: c_int) -> &'static CStr {
    match error {
        0 => c"CUDA_SUCCESS",
        34 => c"CUDA_ERROR_STUB_LIBRARY",
        _ => c"CUDA_ERROR_UNKNOWN",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_newer_drivers_are_unknown() {
        for code in
            [-1, 9, 33, 35, 103, 203, 204, 225, 305, 402, 501, 601, 706, 707, 721, 810, 912, 998, 1000]
        {
            assert_eq!(known(code), CUresult::CUDA_ERROR_UNKNOWN, "{code}");
        }
    }

    #[test]
    fn the_codes_that_cust_has_are_kept() {
        // The first and the last of each row of them.
        for result in [
            CUresult::CUDA_SUCCESS,
            CUresult::CUDA_ERROR_PROFILER_ALREADY_STOPPED,
            CUresult::CUDA_ERROR_STUB_LIBRARY,
            CUresult::CUDA_ERROR_NO_DEVICE,
            CUresult::CUDA_ERROR_DEVICE_NOT_LICENSED,
            CUresult::CUDA_ERROR_INVALID_IMAGE,
            CUresult::CUDA_ERROR_CONTEXT_ALREADY_CURRENT,
            CUresult::CUDA_ERROR_MAP_FAILED,
            CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
            CUresult::CUDA_ERROR_INVALID_SOURCE,
            CUresult::CUDA_ERROR_OPERATING_SYSTEM,
            CUresult::CUDA_ERROR_INVALID_HANDLE,
            CUresult::CUDA_ERROR_ILLEGAL_STATE,
            CUresult::CUDA_ERROR_NOT_FOUND,
            CUresult::CUDA_ERROR_NOT_READY,
            CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
            CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
            CUresult::CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
            CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
            CUresult::CUDA_ERROR_NOT_PERMITTED,
            CUresult::CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
            CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            CUresult::CUDA_ERROR_EXTERNAL_DEVICE,
            CUresult::CUDA_ERROR_UNKNOWN,
        ] {
            assert_eq!(known(result as c_int), result);
        }
    }

    #[test]
    fn names_are_sorted_within_their_two_groups_and_unique() {
        let descents = functions::NAMES.windows(2).filter(|pair| pair[0] >= pair[1]).count();
        assert_eq!(descents, 1);
        let mut names = functions::NAMES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), functions::NAMES.len());
    }

    #[test]
    fn errors_can_be_shown_with_or_without_a_driver() {
        use cust::error::CudaError;

        let shown = CudaError::UnknownError.to_string();
        match library() {
            Ok(_) => assert!(shown.contains("unknown"), "{shown}"),
            Err(_) => assert_eq!(shown, r#""no CUDA driver found""#),
        }
        assert!(!CudaError::OutOfMemory.to_string().is_empty());
        let mut name = std::ptr::null();
        // SAFETY: `name` lives through the call.
        let result = unsafe { sys::cuGetErrorName(CUresult::CUDA_SUCCESS, &mut name) };
        assert_eq!(result, CUresult::CUDA_SUCCESS);
        // SAFETY: a function that succeeds has written a pointer to a static string.
        assert_eq!(unsafe { CStr::from_ptr(name) }, c"CUDA_SUCCESS");
        // SAFETY: null is refused, not written to.
        let result = unsafe { sys::cuGetErrorString(CUresult::CUDA_SUCCESS, std::ptr::null_mut()) };
        assert_eq!(result, CUresult::CUDA_ERROR_INVALID_VALUE);
    }

    #[test]
    fn what_is_available_is_what_the_forwards_say() {
        let mut version = 0;
        // SAFETY: `version` lives through the call.
        let result = unsafe { sys::cuDriverGetVersion(&mut version) };
        match driver_available() {
            Err(error @ DriverError::NotFound { .. }) => {
                assert_eq!(result, CUresult::CUDA_ERROR_STUB_LIBRARY);
                assert_eq!(cust::init(cust::CudaFlags::empty()), Err(cust::error::CudaError::UnknownError));
                assert_eq!(error.to_string(), "no CUDA driver found");
                let DriverError::NotFound { reason } = error else { unreachable!() };
                assert!(reason.contains(LIBRARY), "{reason}");
            }
            Err(DriverError::Init { code, message }) => {
                assert_ne!(code, 0);
                assert!(!message.is_empty());
            }
            Ok(()) => assert!(version >= 11_000, "{version}"),
        }
    }

    #[test]
    #[ignore = "needs a CUDA driver"]
    fn the_driver_has_every_function() {
        driver_available().unwrap();
        for name in functions::NAMES {
            // SAFETY: the pointer is not called.
            let found = unsafe { find::<unsafe extern "C" fn()>(name) };
            assert!(found.is_ok(), "{name:?}");
        }
    }
}
