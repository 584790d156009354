//! One CUDA device: its queues, its arrays and typed launches.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cust::context::Context;
use cust::error::CudaResult;
use cust::event::{Event, EventFlags};
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use warpath_answer::backend::Setup;
use warpath_answer::buffer::Buffer;
use warpath_answer::on_device::{ArrowDevice, SyncEvent};
use warpath_core::error::{DeviceError, Error};
use warpath_core::plain::{Plain, bytes, bytes_mut};
use warpath_shared::kernel::Kernel;
use warpath_shared::view::{View, ViewMut};

use super::calls::{check, failed};
use super::context::{OneDevice, Opened, Settings, TextMemory};
use super::memory::{DeviceBytes, NoMemory, free};
use super::pages::{Allocated, HugePages, Pages, lock};
use super::staging::{STAGED_ALIGNMENT, STAGED_UPLOADS, Staging, take_staged};
use crate::Accelerator;

/// The duration of one launch on the device, measured by events around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelTime {
    /// The kernel.
    pub name: &'static str,
    /// Milliseconds.
    pub milliseconds: f32,
}

/// A launch: the kernel's name and the events before and after it.
type Launch = (&'static str, Event, Event);

/// A queue on a CUDA device: a stream that waits for no other stream, and that none waits for.
///
/// A separate thread makes the device's context, because this takes longer than any other step before the
/// first result. The first call that needs the context waits for it, and returns the error if it could not be
/// made.
pub struct Cuda {
    // Fields are dropped in this order. The context is dropped with its last user.
    timeline: Mutex<Option<Vec<Launch>>>,
    staging: Mutex<Staging>,
    stream: OnceLock<Arc<Stream>>,
    device: Arc<OneDevice>,
}

impl Cuda {
    /// [`Accelerator::launch`], once for all kernels.
    ///
    /// # Safety
    /// `argument` points to the only parameter of the kernel `name`, and the kernel may be launched with it.
    unsafe fn launch_named(
        &self,
        name: &'static str,
        blocks: u32,
        threads: u32,
        argument: *const c_void,
    ) -> Result<(), Error> {
        let function = self.enter()?.modules.function(name, self.device.settings.registers)?;
        let timed = self.timeline.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let start = timed.then(|| self.event()).transpose()?;
        // SAFETY: the caller upholds the contract of this function.
        unsafe { self.stream()?.launch(&function, blocks, threads, 0, &[argument.cast_mut()]) }
            .map_err(failed(name))?;
        if let Some(start) = start {
            let end = self.event()?;
            if let Some(times) = &mut *self.timeline.lock().unwrap_or_else(PoisonError::into_inner) {
                times.push((name, start, end));
            }
        }
        Ok(())
    }

    /// The memory of [`Accelerator::alloc`], once for all types.
    fn alloc_bytes(&self, size: usize) -> Result<DeviceBytes, Error> {
        let Opened { pool, context, .. } = self.enter()?;
        // The contents are undefined, as `alloc` documents: nothing reads the array before a copy or a kernel
        // has written it.
        let mut made = DeviceBytes::new(size, pool.as_ref(), self.stream()?, context);
        if let (Err(NoMemory::Short), Some(pool)) = (&made, pool) {
            // The pool may hold freed blocks that are too small for this array.
            self.synchronize()?;
            pool.trim()?;
            made = DeviceBytes::new(size, Some(pool), self.stream()?, context);
        }
        match made {
            Ok(bytes) => Ok(bytes),
            Err(NoMemory::Short) => {
                Err(DeviceError::OutOfMemory { wanted: size as u64, free: self.free_memory()? }.into())
            }
            Err(NoMemory::Failed(error)) => Err(error),
        }
    }

    /// Opens the device of this number, starts to make its context, and makes a first queue.
    ///
    /// # Errors
    /// [`DeviceError::NoDriver`], [`DeviceError::NoDevice`], [`DeviceError::TooOld`], or an error of the
    /// driver. If the context cannot be made, the first call that needs it returns the error.
    pub fn new(number: usize) -> Result<Self, Error> {
        Self::with_settings(number, Settings::default())
    }

    /// Does the same as [`new`](Self::new), with the given settings.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn with_settings(number: usize, settings: Settings) -> Result<Self, Error> {
        Ok(Self::on(Arc::new(OneDevice::open(number, settings)?)))
    }

    /// Makes a queue on a device.
    fn on(device: Arc<OneDevice>) -> Self {
        Self { timeline: Mutex::default(), staging: Mutex::default(), stream: OnceLock::new(), device }
    }

    /// Makes the device's context current on this thread.
    fn enter(&self) -> Result<&Opened, Error> {
        self.device.enter()
    }

    /// The stream, which the first use makes. The context must be current on this thread.
    fn stream(&self) -> Result<&Arc<Stream>, Error> {
        if let Some(stream) = self.stream.get() {
            return Ok(stream);
        }
        // A stream with these flags waits only for the legacy default stream, which nothing here uses.
        let stream = Stream::new(StreamFlags::DEFAULT, None).map_err(failed("cuStreamCreate"))?;
        // If two threads made a stream at the same time, one of the two is used.
        Ok(self.stream.get_or_init(|| Arc::new(stream)))
    }

    /// Pins the text that is about to be copied, if it is in memory that waits to be pinned.
    fn lock(&self, context: &Arc<Context>, from: &[u8]) {
        if let Err(error) = lock(context, from) {
            // The driver copies from any memory. If the device itself failed, the copy fails too and returns
            // that error.
            let _ = self.device.unlocked.set(error);
        }
    }

    /// Waits for the stream. The context must be current on this thread.
    fn synchronize(&self) -> Result<(), Error> {
        self.stream()?.synchronize().map_err(failed("cuStreamSynchronize"))
    }

    /// Adds a copy to a device's memory to the stream.
    ///
    /// # Safety
    /// `to` has room for the bytes. The bytes stay alive and unchanged until the stream has been waited for.
    unsafe fn copy_to(&self, to: u64, from: &[u8]) -> Result<(), Error> {
        let stream = self.stream()?.as_inner();
        // SAFETY: the slice is readable. The caller guarantees the rest.
        let result = unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), stream) };
        check("cuMemcpyHtoDAsync", result)
    }

    /// Adds a copy from a device's memory to the stream.
    ///
    /// # Safety
    /// `from` has as many bytes as `to`. The bytes of `to` stay alive, and nobody reads or writes them, until
    /// the stream has been waited for.
    unsafe fn copy_from(&self, from: u64, to: &mut [u8]) -> Result<(), Error> {
        let stream = self.stream()?.as_inner();
        // SAFETY: the slice is writable. The caller guarantees the rest.
        let result = unsafe { sys::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), stream) };
        check("cuMemcpyDtoHAsync", result)
    }

    /// Copies arrays back through staging memory, one after the other. Waits each time the staging memory is
    /// full, and at the end. If it returns without an error, no copy is under way.
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
                // SAFETY: the array is borrowed and has these bytes: `to_download` checked it. This part of
                // the staging memory is next touched after a wait for the stream: here, or by the caller
                // after an error.
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

    /// Starts to measure every launch.
    pub fn start_timeline(&self) {
        *self.timeline.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
    }

    /// Returns the launches since [`start_timeline`](Self::start_timeline), and the milliseconds from the
    /// start of the first to the end of the last. Waits for the launches, and stops the measurement.
    ///
    /// # Errors
    /// [`Error::Device`] if a launch failed.
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
        // Work in the stream may still use the fields that are dropped next. An error is ignored, since
        // nobody can receive it.
        if let Some(stream) = self.stream.get() {
            let _ = self.enter();
            let _ = stream.synchronize();
        }
    }
}

/// Bytes of an array in a CUDA device's memory, and their target on the host. Borrows the array until the
/// copy.
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
            // If the driver failed to pin memory, it may fail to allocate pinned memory too.
            TextMemory::Registered => allocated().or_else(|_: Error| Ok(Buffer::new(Pages::new(len)?))),
            TextMemory::Allocated => allocated(),
        }
    }

    fn kept_memory(&self, len: usize) -> Result<Buffer, Error> {
        let pages = HugePages::new(len).map_err(|_| Error::OutOfMemory { bytes: len as u64 })?;
        Ok(Buffer::new(pages))
    }

    fn setup(&self) -> Setup {
        let mut setup = Setup { parts: vec![("driver", self.device.driver)], ..Setup::default() };
        if let Some(Ok(opened)) = self.device.opened.get() {
            setup.parts.push(("context", opened.took));
            setup.parts.extend(opened.modules.times());
            setup.ready = Some(opened.ready);
        }
        let said = |error: &Error| {
            let name = &self.device.name;
            format!("{name}: some text was copied from memory that is not pinned: {}", error.chain())
        };
        setup.notes.extend(self.device.unlocked.get().map(said));
        setup
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
        let bytes = self.alloc_bytes(len.max(1) * size_of::<T>())?;
        Ok(CudaBuffer { bytes, len: len.max(1), element: PhantomData })
    }

    fn zero<T: Plain>(&self, buffer: &mut CudaBuffer<T>, from: usize, to: usize) -> Result<(), Error> {
        let range = buffer.range(from, to)?;
        if range.is_empty() {
            return Ok(());
        }
        self.enter()?;
        let start = buffer.bytes.start() + range.start as u64;
        // SAFETY: `range` lies within the buffer, which is alive. Its memory is freed in the order of this
        // stream.
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
            // SAFETY: `range` lies within the buffer, and the slice is borrowed until the stream has been
            // waited for.
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
        // SAFETY: `range` lies within the buffer. This part of the staging memory is not written again before
        // `used` is reset, which happens only after a wait for the stream. `drop` waits for the stream, too.
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
        // SAFETY: `range` lies within the buffer. The caller guarantees that the slice stays alive and
        // unchanged.
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
            // A copy to staging memory that is used again may still be under way. If this wait fails too, the
            // first error is the more useful one.
            let _ = self.synchronize();
        }
        staging.used = 0;
        copied
    }

    fn view<'a, T: Plain>(&self, buffer: &'a CudaBuffer<T>, len: usize) -> View<'a, T> {
        assert!(len <= buffer.len, "a view of {len} elements of a device buffer of {}", buffer.len);
        // SAFETY: the buffer has `len` elements of device memory, and lives as long as the view. Kernels
        // write only through a `ViewMut`, which borrows the buffer exclusively.
        unsafe { View::from_raw(buffer.bytes.start() as *const T, len) }
    }

    fn view_mut<'a, T: Plain>(&self, buffer: &'a mut CudaBuffer<T>, len: usize) -> ViewMut<'a, T> {
        assert!(len <= buffer.len, "a view of {len} elements of a device buffer of {}", buffer.len);
        // SAFETY: as for `view`. In addition, the buffer is borrowed exclusively.
        unsafe { ViewMut::from_raw(buffer.bytes.start() as *mut T, len) }
    }

    fn prepare(&self, kernel: &'static str) -> Result<(), Error> {
        self.enter()?.modules.function(kernel, self.device.settings.registers).map(drop)
    }

    fn bytes_of<T: Plain>(&self, buffer: CudaBuffer<T>) -> CudaBuffer<u8> {
        let CudaBuffer { bytes, len, element: _ } = buffer;
        CudaBuffer { bytes, len: len * size_of::<T>(), element: PhantomData }
    }

    fn copy(
        &self,
        to: &mut CudaBuffer<u8>,
        at: usize,
        from: &CudaBuffer<u8>,
        len: usize,
    ) -> Result<(), Error> {
        let (to_range, from_range) = (to.range(at, at + len)?, from.range(0, len)?);
        if from_range.is_empty() {
            return Ok(());
        }
        self.enter()?;
        let (start, source) = (to.bytes.start() + to_range.start as u64, from.bytes.start());
        // SAFETY: both ranges lie within their buffers, which are alive. The work of the queue that made
        // `from` has been waited for, as the trait requires.
        let result = unsafe { sys::cuMemcpyDtoDAsync_v2(start, source, len, self.stream()?.as_inner()) };
        check("cuMemcpyDtoDAsync", result)
    }

    fn address(&self, buffer: &CudaBuffer<u8>) -> u64 {
        buffer.bytes.lend()
    }

    fn arrow_device(&self) -> ArrowDevice {
        ArrowDevice::cuda(self.device.number as i64)
    }

    fn sync_event(&self) -> Result<Option<SyncEvent>, Error> {
        let context = self.enter()?.context.clone();
        let event = Event::new(EventFlags::DISABLE_TIMING).map_err(failed("cuEventCreate"))?;
        event.record(self.stream()?).map_err(failed("cuEventRecord"))?;
        // The event is dropped before the context.
        Ok(Some(SyncEvent::new(event.as_inner() as usize, (event, context))))
    }

    unsafe fn launch<K: Kernel>(&self, args: &K::Args<'_>) -> Result<(), Error> {
        K::check(args).map_err(|error| Error::Internal(error.to_string()))?;
        let parameter: *const K::Args<'_> = args;
        // SAFETY: by `Kernel`'s contract, the function of this name takes one `K::Args` by value. The driver
        // copies the argument during the call. The kernel stays within its views, because `check` found their
        // sizes to agree. The caller guarantees that the views point to valid memory.
        unsafe { self.launch_named(K::NAME, K::blocks(args), K::threads(args), parameter.cast()) }
    }
}
