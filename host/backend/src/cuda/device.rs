//! One CUDA device: its context, its memory and typed launches.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cust::CudaFlags;
use cust::context::{Context, ContextFlags, CurrentContext};
use cust::device::{Device as SysDevice, DeviceAttribute};
use cust::error::{CudaError, CudaResult};
use cust::event::{Event, EventFlags};
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use cust::{DriverError, driver_available};
use warpath_shared::kernel::Kernel;
use warpath_shared::view::{View, ViewMut};

use super::memory::{DeviceBytes, NoMemory, Pool, free};
use super::modules::{LEAST_CAPABILITY, Loaded};
use super::pages::{Allocated, Pages, lock};
use crate::buffer::Buffer;
use crate::device::Accelerator;
use warpath_core::error::{DeviceError, Error};
use warpath_core::plain::{Plain, bytes, bytes_mut};

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

pub(super) fn failed(call: &'static str) -> impl FnOnce(CudaError) -> Error {
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
        other => DeviceError::Cuda { call: "cuInit", message: other.to_string() },
    })?;
    cust::init(CudaFlags::empty()).map_err(failed("cuInit"))
}

/// How threads wait for the device. One that spins knows sooner, and takes a core from one that reads.
fn scheduling(cores: usize) -> ContextFlags {
    if cores >= SPINNING_CORES { ContextFlags::SCHED_SPIN } else { ContextFlags::SCHED_BLOCKING_SYNC }
}

fn compute_capability(device: SysDevice) -> CudaResult<(i32, i32)> {
    let major = device.get_attribute(DeviceAttribute::ComputeCapabilityMajor)?;
    Ok((major, device.get_attribute(DeviceAttribute::ComputeCapabilityMinor)?))
}

/// The CUDA devices of this machine.
///
/// # Errors
/// [`DeviceError::NoDriver`] without a driver, [`DeviceError::NoDevice`] with a driver and no device.
pub fn devices() -> Result<Vec<DeviceInfo>, Error> {
    start()?;
    let info = |(number, device): (usize, CudaResult<SysDevice>)| {
        let device = device?;
        Ok(DeviceInfo {
            number,
            name: device.name()?,
            memory: device.total_memory()? as u64,
            compute_capability: compute_capability(device)?,
        })
    };
    SysDevice::devices()
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

/// Where arrays begin in that memory: at a multiple of this.
const STAGED_ALIGNMENT: usize = 64;

/// From so many cores on, all workers of a device may spin and leave some for others. By that reasoning: on 16 cores with twelve
/// workers it did no harm (docs/performance.md), and the other way is not measured.
const SPINNING_CORES: usize = 16;

/// Where the page-locked memory comes from that texts are read into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextMemory {
    /// It is this process's own, and is page-locked by the first copy from it: texts are read while the context is made. Where
    /// a device says that it cannot, as [`Allocated`](Self::Allocated). Where it says it can and fails, that text is copied as it
    /// is, more slowly; later ones are as [`Allocated`](Self::Allocated), if the driver has such memory; and
    /// `Setup::notes` says so.
    #[default]
    Registered,
    /// The driver makes it, once there is a context.
    Allocated,
}

/// Where the arrays on the device come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrayMemory {
    /// A pool that keeps what it has been given, where the device has such; else as [`Allocated`](Self::Allocated).
    #[default]
    Pooled,
    /// The driver makes each.
    Allocated,
}

/// How a device is used. What is set changes speed and memory, never an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Where texts are read into.
    pub texts: TextMemory,
    /// Where arrays are.
    pub arrays: ArrayMemory,
    /// Compiles kernels to at most so many registers a thread: for benches, which try what more threads at once are worth.
    pub registers: Option<u32>,
}

/// A queue on a CUDA device: a stream, which waits for no other, and none waits for it.
///
/// The device's context is made in a thread of its own, which takes longer than anything else before the first answer. The
/// first call that needs it waits for it, and is told if it could not be made.
pub struct Cuda {
    // Fields are dropped in this order, and the context goes with the last that is used in it.
    timeline: Mutex<Option<Vec<Launch>>>,
    staging: Mutex<Staging>,
    stream: OnceLock<Arc<Stream>>,
    device: Arc<Device>,
}

/// A CUDA device whose context and modules all its queues use.
struct Device {
    name: String,
    /// Bytes of its memory.
    memory: u64,
    /// How long it took to load the driver, and to see what the device is.
    driver: Duration,
    settings: Settings,
    /// Why some text could not be page-locked: the first time.
    unlocked: OnceLock<Error>,
    opened: OnceLock<Result<Opened, DeviceError>>,
    /// Who makes the context, until somebody waits for it.
    opening: Mutex<Option<JoinHandle<Result<Opened, Error>>>>,
}

/// What there is of a device once it has a context.
struct Opened {
    modules: Loaded,
    pool: Option<Arc<Pool>>,
    context: Arc<Context>,
    /// How long that took, and when it was done.
    took: Duration,
    ready: Instant,
}

impl Opened {
    /// Makes the context and the pool.
    fn new(device: SysDevice, settings: Settings) -> Result<Self, Error> {
        let since = Instant::now();
        let flags = scheduling(thread::available_parallelism().map_or(1, NonZero::get)).bits();
        // Where the program around this one uses the device already, its choice stands: the result is not looked at.
        // SAFETY: the call takes no pointers.
        let _ = unsafe { sys::cuDevicePrimaryCtxSetFlags_v2(device.as_raw(), flags) };
        let context = Arc::new(Context::new(device).map_err(failed("cuDevicePrimaryCtxRetain"))?);
        CurrentContext::set_current(&context).map_err(failed("cuCtxSetCurrent"))?;
        let pool = match settings.arrays {
            ArrayMemory::Pooled => Pool::new(device, &context)?.map(Arc::new),
            ArrayMemory::Allocated => None,
        };
        Ok(Self { modules: Loaded::default(), pool, context, took: since.elapsed(), ready: Instant::now() })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // What is dropped next belongs to this context. If it cannot be entered, the driver is gone, and all with it.
        let _ = CurrentContext::set_current(&self.context);
    }
}

impl Device {
    /// The device with its context. Waits until that is made.
    fn opened(&self) -> Result<&Opened, Error> {
        let opened = self.opened.get_or_init(|| {
            let thread = self.opening.lock().unwrap_or_else(PoisonError::into_inner).take();
            let message = || "the thread that makes the context ended before it had".to_owned();
            let died = || DeviceError::Cuda { call: "cuDevicePrimaryCtxRetain", message: message() };
            match thread.ok_or_else(died)?.join() {
                Ok(Ok(opened)) => Ok(opened),
                Ok(Err(Error::Device(error))) => Err(error),
                Ok(Err(other)) => {
                    Err(DeviceError::Cuda { call: "cuDevicePrimaryCtxRetain", message: other.to_string() })
                }
                Err(_) => Err(died()),
            }
        });
        opened.as_ref().map_err(|error| error.clone().into())
    }

    /// As [`opened`](Self::opened), and makes the context this thread's.
    fn enter(&self) -> Result<&Opened, Error> {
        let opened = self.opened()?;
        CurrentContext::set_current(&opened.context).map_err(failed("cuCtxSetCurrent"))?;
        Ok(opened)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // A process that ends while its context is made is the driver's to clean up, and it does not always like that.
        let _ = self.opened();
    }
}

impl Cuda {
    /// Opens the device of this number, begins to make its context, and makes a first queue.
    ///
    /// # Errors
    /// [`DeviceError::NoDriver`], [`DeviceError::NoDevice`], [`DeviceError::TooOld`], or what the driver says. Why a context
    /// cannot be made is told by the first call that needs it.
    pub fn new(number: usize) -> Result<Self, Error> {
        Self::with_settings(number, Settings::default())
    }

    /// As [`new`](Self::new), used as the settings say.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn with_settings(number: usize, settings: Settings) -> Result<Self, Error> {
        let since = Instant::now();
        start()?;
        let found = SysDevice::num_devices().map_err(failed("cuDeviceGetCount"))? as usize;
        if number >= found {
            return Err(DeviceError::NoDevice { wanted: number, found }.into());
        }
        let device = SysDevice::get_device(number as u32).map_err(failed("cuDeviceGet"))?;
        let (major, minor) = compute_capability(device).map_err(failed("device attributes"))?;
        if 10 * major + minor < LEAST_CAPABILITY {
            return Err(DeviceError::TooOld { number, capability: (major, minor) }.into());
        }
        let registers = device.get_attribute(DeviceAttribute::HostRegisterSupported);
        let settings = match registers.map_err(failed("cuDeviceGetAttribute"))? {
            0 => Settings { texts: TextMemory::Allocated, ..settings },
            _ => settings,
        };
        let name = format!("cuda:{number} ({})", device.name().map_err(failed("cuDeviceGetName"))?);
        let memory = device.total_memory().map_err(failed("cuDeviceTotalMem"))? as u64;
        let driver = since.elapsed();
        let thread = thread::Builder::new()
            .name(format!("cuda:{number}"))
            .spawn(move || Opened::new(device, settings))
            .map_err(|error| Error::Internal(format!("no thread could be started: {error}")))?;
        let (unlocked, opened, opening) = (OnceLock::new(), OnceLock::new(), Mutex::new(Some(thread)));
        Ok(Self::on(Arc::new(Device { name, memory, driver, settings, unlocked, opened, opening })))
    }

    /// A queue on a device.
    fn on(device: Arc<Device>) -> Self {
        Self { timeline: Mutex::default(), staging: Mutex::default(), stream: OnceLock::new(), device }
    }

    /// Makes the device's context this thread's.
    fn enter(&self) -> Result<&Opened, Error> {
        self.device.enter()
    }

    /// The stream, which is made when something is to be done in it. The context is this thread's.
    fn stream(&self) -> Result<&Arc<Stream>, Error> {
        if let Some(stream) = self.stream.get() {
            return Ok(stream);
        }
        // Of these flags, it waits for the legacy default stream alone, and nothing here uses that.
        let stream = Stream::new(StreamFlags::DEFAULT, None).map_err(failed("cuStreamCreate"))?;
        // Of two that were made at the same time, one is used.
        Ok(self.stream.get_or_init(|| Arc::new(stream)))
    }

    /// Page-locks what is about to be copied, if it is in memory that is to be so and is not yet.
    fn lock(&self, context: &Arc<Context>, from: &[u8]) {
        if let Err(error) = lock(context, from) {
            // The driver copies from any memory. If it is the device that failed, the copy says so, too.
            let _ = self.device.unlocked.set(error);
        }
    }

    /// Waits for the stream. The context is this thread's.
    fn synchronize(&self) -> Result<(), Error> {
        self.stream()?.synchronize().map_err(failed("cuStreamSynchronize"))
    }

    /// Adds a copy to a device's memory to the stream.
    ///
    /// # Safety
    /// `to` has room for the bytes. They stay where they are, and as they are, until the stream has been waited for.
    unsafe fn copy_to(&self, to: u64, from: &[u8]) -> Result<(), Error> {
        let stream = self.stream()?.as_inner();
        // SAFETY: the slice is readable, and the caller vouches for the rest.
        let result = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), stream) };
        check("cuMemcpyHtoDAsync", result)
    }

    /// Adds a copy from a device's memory to the stream.
    ///
    /// # Safety
    /// `from` has as many bytes as `to`. They stay where they are, and nobody reads or writes them, until the stream has been
    /// waited for.
    unsafe fn copy_from(&self, from: u64, to: &mut [u8]) -> Result<(), Error> {
        let stream = self.stream()?.as_inner();
        // SAFETY: the slice is writable, and the caller vouches for the rest.
        let result = unsafe { sys::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), stream) };
        check("cuMemcpyDtoHAsync", result)
    }

    /// Copies arrays back through staging memory, one behind the other, and waits where that is full and at the end. When it
    /// returns without an error, no copy is under way.
    fn copy_all_from(&self, downloads: Vec<CudaDownload<'_>>, staged: &mut [u8]) -> Result<(), Error> {
        let (mut under_way, mut used) = (Vec::with_capacity(downloads.len()), 0);
        for CudaDownload { mut from, mut to } in downloads {
            while !to.is_empty() {
                if used >= staged.len() {
                    self.synchronize()?;
                    take_staged(&mut under_way, staged);
                    used = 0;
                }
                let (part, rest) = to.split_at_mut(to.len().min(staged.len() - used));
                // SAFETY: the array is borrowed and has these bytes, as `to_download` has found. This part of the staging memory
                // is touched next when the stream has been waited for: here, or by the caller after an error.
                unsafe { self.copy_from(from, &mut staged[used..used + part.len()]) }?;
                from += part.len() as u64;
                let begin = used;
                used += part.len().next_multiple_of(STAGED_ALIGNMENT);
                under_way.push((begin, part));
                to = rest;
            }
        }
        self.synchronize()?;
        take_staged(&mut under_way, staged);
        Ok(())
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
        self.synchronize()?;
        let read = || {
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
        event.record(self.stream()?).map_err(failed("cuEventRecord"))?;
        Ok(event)
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // What is still in the stream may use what is dropped next; where it fails, nobody asks any more.
        if let Some(stream) = self.stream.get() {
            let _ = self.enter();
            let _ = stream.synchronize();
        }
    }
}

pub(super) fn check(call: &'static str, result: sys::CUresult) -> Result<(), Error> {
    match result {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        other => Err(DeviceError::Cuda { call, message: format!("{other:?}") }.into()),
    }
}

/// Page-locked memory for copies, made when there is one.
#[derive(Default)]
struct Staging {
    /// For uploads, and behind that for small downloads.
    small: Option<Allocated>,
    /// How much has been used for uploads since the stream was waited for.
    used: usize,
    /// For downloads that are larger.
    large: Option<Allocated>,
}

impl Staging {
    /// The next `len` bytes for uploads, at most all.
    fn upload(&mut self, context: &Arc<Context>, len: usize) -> Result<&mut [u8], Error> {
        let used = self.used;
        self.used += len;
        Ok(&mut self.small(context)?[used..used + len])
    }

    /// Memory for the copy of `len` bytes, or for the largest part of it.
    fn download(&mut self, context: &Arc<Context>, len: usize) -> Result<&mut [u8], Error> {
        let (first, most) = STAGED_DOWNLOADS;
        if len <= first {
            return Ok(&mut self.small(context)?[STAGED_UPLOADS..]);
        }
        Self::at_least(&mut self.large, context, len.next_power_of_two().min(most))
    }

    fn small(&mut self, context: &Arc<Context>) -> Result<&mut [u8], Error> {
        Self::at_least(&mut self.small, context, STAGED_UPLOADS + STAGED_DOWNLOADS.0)
    }

    fn at_least<'a>(
        memory: &'a mut Option<Allocated>,
        context: &Arc<Context>,
        len: usize,
    ) -> Result<&'a mut [u8], Error> {
        let made = match memory.take().filter(|memory| memory.len() >= len) {
            Some(memory) => memory,
            None => Allocated::new(context, len)?,
        };
        Ok(memory.insert(made))
    }
}

/// Gives out what has been copied to the staging memory: from where each begins there.
fn take_staged(under_way: &mut Vec<(usize, &mut [u8])>, staged: &[u8]) {
    for (begin, to) in under_way.drain(..) {
        to.copy_from_slice(&staged[begin..begin + to.len()]);
    }
}

/// Bytes of an array in a CUDA device's memory, which is borrowed as long as they are to go to the host.
pub struct CudaDownload<'a> {
    from: u64,
    to: &'a mut [u8],
}

/// An array in a CUDA device's memory.
pub struct CudaBuffer<T> {
    bytes: DeviceBytes,
    len: usize,
    element: PhantomData<T>,
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

impl Accelerator for Cuda {
    type Buffer<T: Plain> = CudaBuffer<T>;
    type Download<'a> = CudaDownload<'a>;

    fn queue(&self) -> Result<Self, Error> {
        Ok(Self::on(self.device.clone()))
    }

    fn host_buffer(&self, len: usize) -> Result<Buffer, Error> {
        let allocated = || Ok(Buffer::new(Allocated::new(&self.device.opened()?.context, len)?));
        match self.device.settings.texts {
            TextMemory::Registered if self.device.unlocked.get().is_none() => {
                Ok(Buffer::new(Pages::new(len)?))
            }
            // What the driver cannot page-lock it may not have, either.
            TextMemory::Registered => allocated().or_else(|_: Error| Ok(Buffer::new(Pages::new(len)?))),
            TextMemory::Allocated => allocated(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let said = |error| {
            format!("{}: some text was copied from memory that is not page-locked: {error}", self.device.name)
        };
        self.device.unlocked.get().map(said).into_iter().collect()
    }

    fn setup(&self) -> Vec<(&'static str, Duration)> {
        let mut parts = vec![("driver", self.device.driver)];
        if let Some(Ok(opened)) = self.device.opened.get() {
            parts.push(("context", opened.took));
            parts.extend(opened.modules.times());
        }
        parts
    }

    fn ready(&self) -> Option<Instant> {
        self.device.opened.get()?.as_ref().ok().map(|opened| opened.ready)
    }

    fn memory(&self) -> Result<u64, Error> {
        Ok(self.device.memory)
    }

    fn name(&self) -> String {
        self.device.name.clone()
    }

    fn free_memory(&self) -> Result<u64, Error> {
        free(self.enter()?.pool.as_ref())
    }

    fn alloc<T: Plain>(&self, len: usize) -> Result<CudaBuffer<T>, Error> {
        let Opened { pool, context, .. } = self.enter()?;
        let size = len.max(1) * size_of::<T>();
        // Nothing reads the array before a copy or a kernel has written it, as `alloc` says.
        let mut made = DeviceBytes::new(size, pool.as_ref(), self.stream()?, context);
        if let (Err(NoMemory::Short), Some(pool)) = (&made, pool) {
            // The pool may have an array's memory that is too short for this one.
            self.synchronize()?;
            pool.trim()?;
            made = DeviceBytes::new(size, Some(pool), self.stream()?, context);
        }
        match made {
            Ok(bytes) => Ok(CudaBuffer { bytes, len: len.max(1), element: PhantomData }),
            Err(NoMemory::Short) => {
                Err(DeviceError::OutOfMemory { wanted: size as u64, free: self.free_memory()? }.into())
            }
            Err(NoMemory::Failed(error)) => Err(error),
        }
    }

    fn zero<T: Plain>(&self, buffer: &mut CudaBuffer<T>, from: usize, to: usize) -> Result<(), Error> {
        let range = buffer.range(from, to)?;
        if range.is_empty() {
            return Ok(());
        }
        self.enter()?;
        let start = buffer.bytes.start() + range.start as u64;
        // SAFETY: `range` lies within the buffer, which is alive; and its memory is given back when the device is done with it.
        let result = unsafe { sys::cuMemsetD8Async(start, 0, range.len(), self.stream()?.as_inner()) };
        check("cuMemsetD8Async", result)
    }

    fn upload<T: Plain>(&self, buffer: &mut CudaBuffer<T>, at: usize, from: &[T]) -> Result<(), Error> {
        let range = buffer.range(at, at + from.len())?;
        if range.is_empty() {
            return Ok(());
        }
        let context = &self.enter()?.context;
        let to = buffer.bytes.start() + range.start as u64;
        let mut staging = self.staging();
        if range.len() > STAGED_UPLOADS {
            self.lock(context, bytes(from));
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
        let staged = staging.upload(context, range.len())?;
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
        self.lock(&self.enter()?.context, bytes(from));
        let to = buffer.bytes.start() + range.start as u64;
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

    fn to_download<'a, T: Plain>(
        &self,
        buffer: &'a CudaBuffer<T>,
        at: usize,
        to: &'a mut [T],
    ) -> Result<CudaDownload<'a>, Error> {
        let range = buffer.range(at, at + to.len())?;
        Ok(CudaDownload { from: buffer.bytes.start() + range.start as u64, to: bytes_mut(to) })
    }

    fn download_all(&self, downloads: Vec<CudaDownload<'_>>) -> Result<(), Error> {
        let len = downloads.iter().map(|one| one.to.len().next_multiple_of(STAGED_ALIGNMENT)).sum();
        if len == 0 {
            return Ok(());
        }
        let context = &self.enter()?.context;
        let mut staging = self.staging();
        let copied = self.copy_all_from(downloads, staging.download(context, len)?);
        if copied.is_err() {
            // A copy may be under way to memory that is used again. If that fails too, the first error says more.
            let _ = self.synchronize();
        }
        staging.used = 0;
        copied
    }

    fn view<'a, T: Plain>(&self, buffer: &'a CudaBuffer<T>, len: usize) -> View<'a, T> {
        assert!(len <= buffer.len, "a view of {len} elements of a device buffer of {}", buffer.len);
        // SAFETY: the buffer has `len` elements of device memory, and lives as long as the view. What kernels
        // write they reach through a `ViewMut`, which borrows the buffer alone.
        unsafe { View::from_raw(buffer.bytes.start() as *const T, len) }
    }

    fn view_mut<'a, T: Plain>(&self, buffer: &'a mut CudaBuffer<T>, len: usize) -> ViewMut<'a, T> {
        assert!(len <= buffer.len, "a view of {len} elements of a device buffer of {}", buffer.len);
        // SAFETY: as for `view`, and the buffer is borrowed alone.
        unsafe { ViewMut::from_raw(buffer.bytes.start() as *mut T, len) }
    }

    fn prepare<K: Kernel>(&self) -> Result<(), Error> {
        self.enter()?.modules.function(K::NAME, self.device.settings.registers).map(drop)
    }

    unsafe fn launch<K: Kernel>(&self, args: &K::Args<'_>) -> Result<(), Error> {
        K::check(args).map_err(|error| Error::Internal(error.to_string()))?;
        let function = self.enter()?.modules.function(K::NAME, self.device.settings.registers)?;
        let timed = self.timeline.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let start = timed.then(|| self.event()).transpose()?;
        let parameter: *const K::Args<'_> = args;
        // SAFETY: by `Kernel`'s contract the function of this name takes one `K::Args` by value, which the driver copies
        // during the call, and stays within its views, since `check` has found their sizes to agree. The caller vouches
        // for what they point to.
        unsafe {
            let parameters = [parameter.cast_mut().cast::<c_void>()];
            self.stream()?.launch(&function, K::blocks(args), K::threads(args), 0, &parameters)
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
