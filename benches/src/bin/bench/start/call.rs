//! The driver's functions that this bench calls. Each reports its errors, and keeps nothing for later.

use std::ffi::{CString, c_void};
use std::ptr;

use anyhow::{Context as _, Result, ensure};
use cust::sys;

/// Returns an error if a call of the driver failed.
pub fn check(call: &str, result: sys::CUresult) -> Result<()> {
    ensure!(result == sys::CUresult::CUDA_SUCCESS, "{call}: {result:?}");
    Ok(())
}

/// A device's context. This process keeps it to its end.
#[derive(Clone, Copy)]
pub struct Context(sys::CUcontext);

// SAFETY: the driver allows any thread to use a context.
unsafe impl Send for Context {}
// SAFETY: likewise.
unsafe impl Sync for Context {}

impl Context {
    /// Starts the driver.
    pub fn init() -> Result<()> {
        // SAFETY: the call takes no pointers.
        check("cuInit", unsafe { sys::cuInit(0) })
    }

    /// The device with this number.
    pub fn device(number: usize) -> Result<sys::CUdevice> {
        let mut device = 0;
        // SAFETY: the call writes to a local variable, which outlives it.
        check("cuDeviceGet", unsafe { sys::cuDeviceGet(&mut device, number as i32) })?;
        Ok(device)
    }

    /// Retains the primary context of a device.
    pub fn retain(device: sys::CUdevice) -> Result<Self> {
        let mut context = ptr::null_mut();
        // SAFETY: the call writes to a local variable, which outlives it.
        check("cuDevicePrimaryCtxRetain", unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, device) })?;
        Ok(Self(context))
    }

    /// Starts the driver, and makes the context of a device current on this thread.
    pub fn make(number: usize) -> Result<Self> {
        Self::init()?;
        let context = Self::retain(Self::device(number)?)?;
        context.enter()?;
        Ok(context)
    }

    /// Makes the context current on this thread.
    pub fn enter(self) -> Result<()> {
        // SAFETY: the context is alive, because this process never releases it.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.0) })
    }
}

/// A device's compute capability: major, minor.
pub fn compute_capability(number: usize) -> Result<(i32, i32)> {
    let device = Context::device(number)?;
    let read = |attribute| {
        let mut value = 0;
        // SAFETY: the call writes to a local variable, which outlives it.
        check("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) })?;
        anyhow::Ok(value)
    };
    Ok((
        read(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        read(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    ))
}

/// Loads a module into this thread's context, and never unloads it.
pub fn load_module(ptx: &str) -> Result<sys::CUmodule> {
    let text = CString::new(ptx)?;
    // SAFETY: the text ends with a zero.
    unsafe { load(text.as_bytes_with_nul()) }
}

/// Loads a cubin, like [`load_module`].
pub fn load_cubin(image: &[u8]) -> Result<sys::CUmodule> {
    ensure!(image.starts_with(b"\x7fELF"), "this is no cubin");
    // SAFETY: the file has this format (checked above), and the user of this bench has built it.
    unsafe { load(image) }
}

/// # Safety
/// The image is text that ends with a zero, or a whole cubin.
unsafe fn load(image: &[u8]) -> Result<sys::CUmodule> {
    let mut module = ptr::null_mut();
    // SAFETY: the image lives through the call, and the caller guarantees its end. The call writes to
    // `module`, which lives, too.
    let result = unsafe {
        sys::cuModuleLoadDataEx(&mut module, image.as_ptr().cast(), 0, ptr::null_mut(), ptr::null_mut())
    };
    check("cuModuleLoadDataEx", result)?;
    Ok(module)
}

/// Returns a kernel of a module by its name.
pub fn function(module: sys::CUmodule, name: &str) -> Result<sys::CUfunction> {
    let text = CString::new(name)?;
    let mut function = ptr::null_mut();
    // SAFETY: modules are never unloaded, and the name is a C string. The call writes to a local variable.
    check(name, unsafe { sys::cuModuleGetFunction(&mut function, module, text.as_ptr()) })?;
    Ok(function)
}

/// Makes a stream that waits for no other stream.
pub fn stream() -> Result<sys::CUstream> {
    let mut stream = ptr::null_mut();
    let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
    // SAFETY: the call writes to a local variable, which outlives it.
    check("cuStreamCreate", unsafe { sys::cuStreamCreate(&mut stream, flags) })?;
    Ok(stream)
}

/// Waits for a stream.
pub fn synchronize(stream: sys::CUstream) -> Result<()> {
    // SAFETY: the stream is never destroyed.
    check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(stream) })
}

/// Allocates device memory, and never frees it.
pub fn device_memory(bytes: usize) -> Result<sys::CUdeviceptr> {
    let mut start = 0;
    // SAFETY: the call writes to a local variable, which outlives it.
    check("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&mut start, bytes) })?;
    Ok(start)
}

/// Allocates memory of the device's own pool, and never frees it.
pub fn pooled_memory(bytes: usize, stream: sys::CUstream) -> Result<sys::CUdeviceptr> {
    let mut start = 0;
    // SAFETY: the call writes to a local variable, which outlives it; and the stream is never destroyed.
    check("cuMemAllocAsync", unsafe { sys::cuMemAllocAsync(&mut start, bytes, stream) })?;
    Ok(start)
}

/// Makes the device's own pool keep all memory that it ever had.
pub fn keep_pool(device: sys::CUdevice) -> Result<()> {
    let mut pool = ptr::null_mut();
    // SAFETY: the call writes to a local variable, which outlives it.
    check("cuDeviceGetDefaultMemPool", unsafe { sys::cuDeviceGetDefaultMemPool(&mut pool, device) })?;
    let mut threshold = u64::MAX;
    let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the value of this attribute is a `u64`. It is a local variable, which outlives the call.
    let result =
        unsafe { sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut threshold).cast::<c_void>()) };
    check("cuMemPoolSetAttribute", result)
}

/// Allocates pinned memory of the host by the driver, and never frees it.
pub fn host_memory(bytes: usize) -> Result<()> {
    let mut start = ptr::null_mut();
    // SAFETY: the call writes to a local variable, which outlives it.
    let result = unsafe { sys::cuMemHostAlloc(&mut start, bytes, sys::CU_MEMHOSTALLOC_PORTABLE) };
    check("cuMemHostAlloc", result)
}

/// The number of bytes of a huge page.
const HUGE: usize = 2 << 20;

/// Memory of this process in whole pages of one size, if the system has them. It is never unmapped.
pub struct Mapping {
    start: *mut u8,
    bytes: usize,
}

impl Mapping {
    /// Maps memory in huge pages, or in small ones. The system assigns its pages later.
    pub fn new(bytes: usize, huge: bool) -> Result<Self> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the mapping is new, and at an address that the system chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes + HUGE, protection, flags, -1, 0) };
        ensure!(start != libc::MAP_FAILED, "mmap: {}", std::io::Error::last_os_error());
        let start: *mut u8 = start.cast();
        // SAFETY: the mapping has `HUGE` bytes more than needed, and the alignment adds fewer.
        let start = unsafe { start.add(start.align_offset(HUGE)) };
        let advice = if huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: the range lies within the mapping, which is `bytes + HUGE` bytes long.
        let result = unsafe { libc::madvise(start.cast(), bytes, advice) };
        ensure!(result == 0, "madvise: {}", std::io::Error::last_os_error());
        Ok(Self { start, bytes })
    }

    /// Writes to each page, so that the system assigns it.
    pub fn touch(&mut self) {
        for at in (0..self.bytes).step_by(4096) {
            // SAFETY: `at` is less than `bytes`, so the byte lies within the mapping.
            unsafe { self.start.add(at).write_volatile(1) };
        }
    }

    /// Pins the memory.
    pub fn register(&mut self) -> Result<()> {
        // SAFETY: the range lies within the mapping, which is never unmapped.
        let result = unsafe {
            sys::cuMemHostRegister_v2(self.start.cast(), self.bytes, sys::CU_MEMHOSTREGISTER_PORTABLE)
        };
        check("cuMemHostRegister", result)
    }

    /// Copies the first bytes to the device, and waits for the copy.
    pub fn copy_to(&self, to: sys::CUdeviceptr, bytes: usize, stream: sys::CUstream) -> Result<()> {
        ensure!(bytes <= self.bytes, "a copy of {bytes} bytes out of {}", self.bytes);
        // SAFETY: the mapping has the bytes, by the check above. Callers pass device memory of `bytes` bytes.
        check("cuMemcpyHtoDAsync", unsafe {
            sys::cuMemcpyHtoDAsync_v2(to, self.start.cast(), bytes, stream)
        })?;
        synchronize(stream)
    }
}

/// Runs `work` in `threads` threads at once, each with the context.
pub fn at_once(context: Context, threads: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    std::thread::scope(|scope| {
        let work = &work;
        let run = move |number| {
            context.enter()?;
            work(number)
        };
        let all: Vec<_> = (0..threads).map(|number| scope.spawn(move || run(number))).collect();
        all.into_iter().try_for_each(|thread| thread.join().ok().context("a thread panicked")?)
    })
}
