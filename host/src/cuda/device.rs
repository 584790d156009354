//! One CUDA device: its context, its memory and typed launches.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::num::NonZero;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cust::CudaFlags;
use cust::context::{Context, ContextFlags, CurrentContext};
use cust::device::{Device, DeviceAttribute};
use cust::error::{CudaError, CudaResult};
use cust::event::{Event, EventFlags};
use cust::memory::{DeviceBuffer, mem_get_info};
use cust::module::{Module, ModuleJitOption};
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use warpath_shared::for_each_kernel;
use warpath_shared::kernel::Kernel;
use warpath_shared::units::BLOCK_THREADS;
use warpath_shared::view::{View, ViewMut};

use super::driver::{DriverError, driver_available};
use crate::backend::Buffer;
use crate::device::{Accelerator, Plain};
use crate::error::{DeviceError, Error};

/// The committed PTX, by the least compute capability that it needs, best first.
const PTX: [(i32, &str); 1] = [(75, include_str!("../../../gpu/ptx/warpath.sm_75.ptx"))];

macro_rules! names {
    ($(($kernel:ident, $function:ident)),* $(,)?) => {
        [$(<warpath_shared::kernel::$kernel as Kernel>::NAME),*]
    };
}

/// The names of all kernels: the entries that the PTX must have.
#[must_use]
pub fn kernels() -> Vec<&'static str> {
    for_each_kernel!(names).to_vec()
}

/// Kernels that are loaded together, as PTX.
#[derive(Clone, Copy, Debug)]
pub struct KernelModule {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub ptx: &'static str,
}

impl KernelModule {
    /// The names of its kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &'static str> {
        self.ptx.lines().filter_map(|line| line.strip_prefix(".visible .entry ")?.split('(').next())
    }
}

/// The modules that all kernels are in.
#[must_use]
pub fn modules() -> &'static [KernelModule] {
    const MODULES: &[KernelModule] = &[KernelModule { name: "warpath", ptx: PTX[0].1 }];
    MODULES
}

/// A CUDA device in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its number, from 0, as in `cuda:N`.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// Bytes of its memory.
    pub memory: u64,
    /// Its compute capability: major, minor.
    pub compute_capability: (i32, i32),
}

fn failed(call: &'static str) -> impl FnOnce(CudaError) -> Error {
    move |error| match error {
        CudaError::NoDevice => DeviceError::NoDevice { wanted: 0, found: 0 }.into(),
        error => DeviceError::Cuda { call, message: error.to_string() }.into(),
    }
}

/// Loads the driver and starts it.
fn start() -> Result<(), Error> {
    driver_available().map_err(|error| match error {
        DriverError::NotFound { .. } => DeviceError::NoDriver,
        // The stub library of a CUDA toolkit is no driver.
        DriverError::Init { code: 34, .. } => DeviceError::NoDriver,
        DriverError::Init { code: 100, .. } => DeviceError::NoDevice { wanted: 0, found: 0 },
        DriverError::Init { message, .. } => DeviceError::Cuda { call: "cuInit", message },
    })?;
    cust::init(CudaFlags::empty()).map_err(failed("cuInit"))
}

/// How threads wait for the device. One that spins knows sooner, and takes a core from one that reads.
fn scheduling(cores: usize) -> ContextFlags {
    if cores >= SPINNING_CORES { ContextFlags::SCHED_SPIN } else { ContextFlags::SCHED_BLOCKING_SYNC }
}

fn compute_capability(device: Device) -> CudaResult<(i32, i32)> {
    let major = device.get_attribute(DeviceAttribute::ComputeCapabilityMajor)?;
    Ok((major, device.get_attribute(DeviceAttribute::ComputeCapabilityMinor)?))
}

/// The CUDA devices of this machine.
///
/// # Errors
/// [`DeviceError::NoDriver`] without a driver, [`DeviceError::NoDevice`] with a driver and no device.
pub fn devices() -> Result<Vec<DeviceInfo>, Error> {
    start()?;
    let info = |(number, device): (usize, CudaResult<Device>)| {
        let device = device?;
        Ok(DeviceInfo {
            number,
            name: device.name()?,
            memory: device.total_memory()? as u64,
            compute_capability: compute_capability(device)?,
        })
    };
    Device::devices()
        .and_then(|devices| devices.enumerate().map(info).collect())
        .map_err(failed("device attributes"))
}

/// How long one launch took on the device, by events around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelTime {
    /// The kernel.
    pub name: &'static str,
    /// Milliseconds.
    pub milliseconds: f32,
}

/// A launch, and the events before and after it.
type Launch = (&'static str, Event, Event);

/// Bytes of page-locked memory that a queue has for small copies to the device.
const STAGED_UPLOADS: usize = 16 << 10;
/// Bytes of page-locked memory that a queue has for copies back: at first, and at most. What is more comes in parts, since
/// the driver's own way to memory that is not page-locked is one for all queues.
const STAGED_DOWNLOADS: (usize, usize) = (64 << 10, 1 << 20);

/// From so many cores on, all workers of a device may spin and leave some for others. By that reasoning: on 16 cores with twelve
/// workers it did no harm (docs/performance.md), and the other way is not measured.
const SPINNING_CORES: usize = 16;

/// A queue on a CUDA device: a stream, which waits for no other, and none waits for it.
pub struct Cuda {
    // Fields are dropped in this order, and the context goes with the last that is used in it.
    timeline: Mutex<Option<Vec<Launch>>>,
    staging: Mutex<Staging>,
    stream: Stream,
    device: Arc<Opened>,
}

/// A CUDA device whose context and module all its queues use.
struct Opened {
    module: Module,
    name: String,
    setup: Vec<(&'static str, Duration)>,
    context: Arc<Context>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        // What is dropped next belongs to this context. If it cannot be entered, the driver is gone, and all with it.
        let _ = CurrentContext::set_current(&*self.context);
    }
}

impl Cuda {
    /// Opens the device of this number, loads the kernels, and makes a first queue.
    ///
    /// # Errors
    /// [`DeviceError::NoDriver`], [`DeviceError::NoDevice`], or what the driver says.
    pub fn new(number: usize) -> Result<Self, Error> {
        Self::with_registers(number, None)
    }

    /// As [`new`](Self::new), with kernels compiled to at most so many registers a thread: for benches, which try what
    /// more threads at once are worth.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn with_registers(number: usize, registers: Option<u32>) -> Result<Self, Error> {
        let mut setup = Vec::new();
        let mut since = Instant::now();
        let mut done = |part| {
            setup.push((part, since.elapsed()));
            since = Instant::now();
        };
        start()?;
        let found = Device::num_devices().map_err(failed("cuDeviceGetCount"))? as usize;
        if number >= found {
            return Err(DeviceError::NoDevice { wanted: number, found }.into());
        }
        let device = Device::get_device(number as u32).map_err(failed("cuDeviceGet"))?;
        let (major, minor) = compute_capability(device).map_err(failed("device attributes"))?;
        let fits = |(least, _): &&(i32, &str)| 10 * major + minor >= *least;
        let Some((_, ptx)) = PTX.iter().find(fits) else {
            return Err(DeviceError::TooOld { number, capability: (major, minor) }.into());
        };
        let options: Vec<ModuleJitOption> =
            registers.map(ModuleJitOption::MaxRegisters).into_iter().collect();
        done("driver");
        let flags = scheduling(thread::available_parallelism().map_or(1, NonZero::get)).bits();
        // Where the program around this one uses the device already, its choice stands: the result is not looked at.
        // SAFETY: the call takes no pointers.
        let _ = unsafe { sys::cuDevicePrimaryCtxSetFlags_v2(device.as_raw(), flags) };
        let context = Context::new(device).map_err(failed("cuDevicePrimaryCtxRetain"))?;
        CurrentContext::set_current(&context).map_err(failed("cuCtxSetCurrent"))?;
        done("context");
        let module = Module::from_ptx(ptx, &options).map_err(failed("cuModuleLoadDataEx"))?;
        done("kernels");
        let name = format!("cuda:{number} ({})", device.name().map_err(failed("cuDeviceGetName"))?);
        Self::on(Arc::new(Opened { module, name, setup, context: Arc::new(context) }))
    }

    /// A queue on an open device.
    fn on(device: Arc<Opened>) -> Result<Self, Error> {
        CurrentContext::set_current(&*device.context).map_err(failed("cuCtxSetCurrent"))?;
        // Only the default stream would make it wait, and nothing here uses that.
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).map_err(failed("cuStreamCreate"))?;
        Ok(Self { timeline: Mutex::default(), staging: Mutex::default(), stream, device })
    }

    /// Makes the device's context this thread's.
    fn enter(&self) -> Result<(), Error> {
        CurrentContext::set_current(&*self.device.context).map_err(failed("cuCtxSetCurrent"))
    }

    /// Waits for the stream. The context is this thread's.
    fn synchronize(&self) -> Result<(), Error> {
        self.stream.synchronize().map_err(failed("cuStreamSynchronize"))
    }

    /// Adds a copy to a device's memory to the stream.
    ///
    /// # Safety
    /// `to` has room for the bytes. They stay where they are, and as they are, until the stream has been waited for.
    unsafe fn copy_to(&self, to: u64, from: &[u8]) -> Result<(), Error> {
        let stream = self.stream.as_inner();
        // SAFETY: the slice is readable, and the caller vouches for the rest.
        let result = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), stream) };
        check("cuMemcpyHtoDAsync", result)
    }

    /// Copies from a device's memory, and waits for it.
    ///
    /// # Safety
    /// `from` has as many bytes as `to`.
    unsafe fn copy_from(&self, from: u64, to: &mut [u8]) -> Result<(), Error> {
        let stream = self.stream.as_inner();
        // SAFETY: the slice is writable, and borrowed alone until the copy is done; the caller vouches for the device's side.
        let result = unsafe { sys::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), stream) };
        check("cuMemcpyDtoHAsync", result)?;
        self.synchronize()
    }

    /// From now on, takes the time of every launch.
    pub fn start_timeline(&self) {
        *self.timeline.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
    }

    /// The launches since [`start_timeline`](Self::start_timeline), and the milliseconds from the start of the first
    /// to the end of the last. Waits for them, and stops taking times.
    ///
    /// # Errors
    /// [`Error::Device`] where a launch failed.
    pub fn take_timeline(&self) -> Result<(Vec<KernelTime>, f32), Error> {
        self.enter()?;
        let events = self.timeline.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
        let read = || {
            self.stream.synchronize()?;
            let times: CudaResult<Vec<_>> = events
                .iter()
                .map(|(name, start, end)| Ok(KernelTime { name, milliseconds: end.elapsed_time_f32(start)? }))
                .collect();
            let total = match (events.first(), events.last()) {
                (Some((_, start, _)), Some((_, _, end))) => end.elapsed_time_f32(start)?,
                _ => 0.0,
            };
            Ok((times?, total))
        };
        read().map_err(failed("events"))
    }

    fn staging(&self) -> MutexGuard<'_, Staging> {
        self.staging.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(&self) -> Result<Event, Error> {
        let event = Event::new(EventFlags::DEFAULT).map_err(failed("cuEventCreate"))?;
        event.record(&self.stream).map_err(failed("cuEventRecord"))?;
        Ok(event)
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // As for `Opened`. What is still in the stream may use what is dropped next; where it fails, nobody asks any more.
        let _ = self.enter();
        let _ = self.stream.synchronize();
    }
}

fn check(call: &'static str, result: sys::CUresult) -> Result<(), Error> {
    match result {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        other => Err(DeviceError::Cuda { call, message: format!("{other:?}") }.into()),
    }
}

/// Page-locked memory of the host: the device copies to and from it by itself.
struct Pinned {
    start: NonNull<u8>,
    len: usize,
    context: Arc<Context>,
}

// SAFETY: it is memory, which no thread owns more than another.
unsafe impl Send for Pinned {}
// SAFETY: shared, it can only be read.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// Memory that is page-locked for every device.
    fn new(context: &Arc<Context>, len: usize) -> Result<Self, Error> {
        CurrentContext::set_current(&**context).map_err(failed("cuCtxSetCurrent"))?;
        let len = len.max(1);
        let mut start = std::ptr::null_mut();
        // SAFETY: `start` lives through the call, which writes a pointer.
        let result = unsafe { sys::cuMemHostAlloc(&mut start, len, sys::CU_MEMHOSTALLOC_PORTABLE) };
        check("cuMemHostAlloc", result)?;
        let none = || DeviceError::Cuda { call: "cuMemHostAlloc", message: "no memory".into() };
        let start = NonNull::new(start.cast()).ok_or_else(none)?;
        Ok(Self { start, len, context: context.clone() })
    }
}

impl Deref for Pinned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the driver gave this many bytes of mapped pages, which hold some values, and they are freed by `drop` alone.
        // A copy to them that is under way borrows them alone.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Pinned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and the memory is borrowed alone. A copy from it that is under way borrows it.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = CurrentContext::set_current(&*self.context);
        // SAFETY: the memory came from `cuMemHostAlloc` and is not used after this; whoever gave it to a stream has waited.
        unsafe { sys::cuMemFreeHost(self.start.as_ptr().cast()) };
    }
}

/// Page-locked memory for copies, made when there is one.
#[derive(Default)]
struct Staging {
    uploads: Option<Pinned>,
    /// How much of that has been used since the stream was waited for.
    used: usize,
    downloads: Option<Pinned>,
}

impl Staging {
    /// The next `len` bytes for uploads, at most all.
    fn upload(&mut self, context: &Arc<Context>, len: usize) -> Result<&mut [u8], Error> {
        let used = self.used;
        self.used += len;
        Ok(&mut Self::at_least(&mut self.uploads, context, STAGED_UPLOADS)?[used..used + len])
    }

    /// Memory for the copy of `len` bytes, or for the largest part of it.
    fn download(&mut self, context: &Arc<Context>, len: usize) -> Result<&mut [u8], Error> {
        let (first, most) = STAGED_DOWNLOADS;
        Self::at_least(&mut self.downloads, context, len.next_power_of_two().clamp(first, most))
    }

    fn at_least<'a>(
        memory: &'a mut Option<Pinned>,
        context: &Arc<Context>,
        len: usize,
    ) -> Result<&'a mut [u8], Error> {
        let made = match memory.take().filter(|memory| memory.len >= len) {
            Some(memory) => memory,
            None => Pinned::new(context, len)?,
        };
        Ok(memory.insert(made))
    }
}

/// An array in a CUDA device's memory.
pub struct CudaBuffer<T> {
    bytes: DeviceBuffer<u8>,
    len: usize,
    element: PhantomData<T>,
    context: Arc<Context>,
}

impl<T> Drop for CudaBuffer<T> {
    fn drop(&mut self) {
        // The memory is given back in its own context, whichever thread drops it.
        let _ = CurrentContext::set_current(&*self.context);
    }
}

impl<T: Plain> CudaBuffer<T> {
    /// The byte range of elements `from..to`.
    fn range(&self, from: usize, to: usize) -> Result<std::ops::Range<usize>, Error> {
        if from > to || to > self.len {
            return Err(Error::Internal(format!("elements {from}..{to} of a device buffer of {}", self.len)));
        }
        Ok(from * size_of::<T>()..to * size_of::<T>())
    }
}

/// The bytes of a slice.
fn bytes<T: Plain>(slice: &[T]) -> &[u8] {
    // SAFETY: `Plain` types have no padding, so every byte is initialised; the lifetime is kept.
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), size_of_val(slice)) }
}

/// The bytes of a slice, to write.
fn bytes_mut<T: Plain>(slice: &mut [T]) -> &mut [u8] {
    // SAFETY: as for `bytes`; and every bit pattern is a value of a `Plain` type.
    unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), size_of_val(slice)) }
}

impl Accelerator for Cuda {
    type Buffer<T: Plain> = CudaBuffer<T>;

    fn queue(&self) -> Result<Self, Error> {
        Self::on(self.device.clone())
    }

    fn host_buffer(&self, len: usize) -> Result<Buffer, Error> {
        Ok(Buffer::new(Pinned::new(&self.device.context, len)?))
    }

    fn setup(&self) -> Vec<(&'static str, Duration)> {
        self.device.setup.clone()
    }

    fn name(&self) -> String {
        self.device.name.clone()
    }

    fn free_memory(&self) -> Result<u64, Error> {
        self.enter()?;
        mem_get_info().map(|(free, _)| free as u64).map_err(failed("cuMemGetInfo"))
    }

    fn alloc<T: Plain>(&self, len: usize) -> Result<CudaBuffer<T>, Error> {
        self.enter()?;
        let size = len.max(1) * size_of::<T>();
        // SAFETY: nothing reads the buffer before a copy or a kernel has written it, as `alloc` says.
        match unsafe { DeviceBuffer::uninitialized(size) } {
            Ok(bytes) => {
                let context = self.device.context.clone();
                Ok(CudaBuffer { bytes, len: len.max(1), element: PhantomData, context })
            }
            Err(CudaError::OutOfMemory) => {
                Err(DeviceError::OutOfMemory { wanted: size as u64, free: self.free_memory()? }.into())
            }
            Err(error) => Err(failed("cuMemAlloc")(error)),
        }
    }

    fn zero<T: Plain>(&self, buffer: &mut CudaBuffer<T>, from: usize, to: usize) -> Result<(), Error> {
        let range = buffer.range(from, to)?;
        if range.is_empty() {
            return Ok(());
        }
        self.enter()?;
        let start = buffer.bytes.as_device_ptr().as_raw() + range.start as u64;
        // SAFETY: `range` lies within the buffer, which is alive; and its memory is given back when the device is done with it.
        let result = unsafe { sys::cuMemsetD8Async(start, 0, range.len(), self.stream.as_inner()) };
        check("cuMemsetD8Async", result)
    }

    fn upload<T: Plain>(&self, buffer: &mut CudaBuffer<T>, at: usize, from: &[T]) -> Result<(), Error> {
        let range = buffer.range(at, at + from.len())?;
        if range.is_empty() {
            return Ok(());
        }
        self.enter()?;
        let to = buffer.bytes.as_device_ptr().as_raw() + range.start as u64;
        let mut staging = self.staging();
        if range.len() > STAGED_UPLOADS {
            // SAFETY: `range` lies within the buffer, and the slice is borrowed until the stream has been waited for.
            unsafe { self.copy_to(to, bytes(from)) }?;
            self.synchronize()?;
            staging.used = 0;
            return Ok(());
        }
        if staging.used + range.len() > STAGED_UPLOADS {
            self.synchronize()?;
            staging.used = 0;
        }
        let staged = staging.upload(&self.device.context, range.len())?;
        staged.copy_from_slice(bytes(from));
        // SAFETY: `range` lies within the buffer. Nothing is written to this part of the staging memory before `used` is set
        // back, which is done where the stream is waited for; and `drop` waits for it, too.
        unsafe { self.copy_to(to, staged) }
    }

    unsafe fn upload_later<T: Plain>(
        &self,
        buffer: &mut CudaBuffer<T>,
        at: usize,
        from: &[T],
    ) -> Result<(), Error> {
        let range = buffer.range(at, at + from.len())?;
        if range.is_empty() {
            return Ok(());
        }
        self.enter()?;
        let to = buffer.bytes.as_device_ptr().as_raw() + range.start as u64;
        // SAFETY: `range` lies within the buffer, and the caller vouches for the slice.
        unsafe { self.copy_to(to, bytes(from)) }
    }

    fn wait(&self) -> Result<(), Error> {
        self.enter()?;
        let mut staging = self.staging();
        self.synchronize()?;
        staging.used = 0;
        Ok(())
    }

    fn download<T: Plain>(&self, buffer: &CudaBuffer<T>, at: usize, to: &mut [T]) -> Result<(), Error> {
        let range = buffer.range(at, at + to.len())?;
        if range.is_empty() {
            return Ok(());
        }
        self.enter()?;
        let from = buffer.bytes.as_device_ptr().as_raw() + range.start as u64;
        let mut staging = self.staging();
        let staged = staging.download(&self.device.context, range.len())?;
        let mut at = from;
        for part in bytes_mut(to).chunks_mut(staged.len()) {
            // SAFETY: `range` lies within the buffer, and all parts together are as long.
            unsafe { self.copy_from(at, &mut staged[..part.len()]) }?;
            part.copy_from_slice(&staged[..part.len()]);
            at += part.len() as u64;
        }
        staging.used = 0;
        Ok(())
    }

    fn view<'a, T: Plain>(&self, buffer: &'a CudaBuffer<T>, len: usize) -> View<'a, T> {
        assert!(len <= buffer.len, "a view of {len} elements of a device buffer of {}", buffer.len);
        // SAFETY: the buffer has `len` elements of device memory, and lives as long as the view. What kernels
        // write they reach through a `ViewMut`, which borrows the buffer alone.
        unsafe { View::from_raw(buffer.bytes.as_device_ptr().as_ptr().cast(), len) }
    }

    fn view_mut<'a, T: Plain>(&self, buffer: &'a mut CudaBuffer<T>, len: usize) -> ViewMut<'a, T> {
        assert!(len <= buffer.len, "a view of {len} elements of a device buffer of {}", buffer.len);
        // SAFETY: as for `view`, and the buffer is borrowed alone.
        unsafe { ViewMut::from_raw(buffer.bytes.as_device_ptr().as_mut_ptr().cast(), len) }
    }

    unsafe fn launch<K: Kernel>(&self, args: &K::Args<'_>) -> Result<(), Error> {
        K::check(args).map_err(|error| Error::Internal(error.to_string()))?;
        self.enter()?;
        let function = self.device.module.get_function(K::NAME).map_err(failed(K::NAME))?;
        let timed = self.timeline.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let start = timed.then(|| self.event()).transpose()?;
        let parameter: *const K::Args<'_> = args;
        // SAFETY: by `Kernel`'s contract the function of this name takes one `K::Args` by value, which the driver copies
        // during the call, and stays within its views, since `check` has found their sizes to agree. The caller vouches
        // for what they point to.
        unsafe {
            let parameters = [parameter.cast_mut().cast::<c_void>()];
            self.stream.launch(&function, K::blocks(args), BLOCK_THREADS as u32, 0, &parameters)
        }
        .map_err(failed(K::NAME))?;
        if let Some(start) = start {
            let end = self.event()?;
            if let Some(times) = &mut *self.timeline.lock().unwrap_or_else(PoisonError::into_inner) {
                times.push((K::NAME, start, end));
            }
        }
        Ok(())
    }
}
