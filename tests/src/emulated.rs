//! The emulator as a device: every kernel runs on a machine without a GPU.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cuda_std::emulator::{self, Fault, Launch, Schedule};
use warpath::{DeviceError, Error};
use warpath_answer::backend::{Backend, Buffer};
use warpath_answer::on_device::{ArrowDevice, SyncEvent};
use warpath_device::Pipeline;
pub use warpath_device::{Accelerator, Plain};
use warpath_shared::kernel::{self, Kernel};
use warpath_shared::view::{View, ViewMut};
use warpath_shared::{for_each_bench_kernel, for_each_kernel};

/// Runs the kernel of a name with arguments in the emulator. Returns `None` if the table has no such kernel.
///
/// # Safety
/// The arguments are those of the kernel of this name, and its check accepts them. The launch has its shape.
pub type Table = unsafe fn(name: &'static str, args: *const (), launch: &Launch) -> Option<Result<(), Fault>>;

/// Runs kernels in the emulator, each launch in another order of blocks and threads. Queues run at the same
/// time, each in its caller's thread. Each operation of a queue has finished when its function returns.
#[derive(Clone, Debug, Default)]
pub struct Emulated(Arc<Device>);

/// The state that all queues share.
#[derive(Debug)]
struct Device {
    launches: AtomicU64,
    /// The number of queues that have been made from another queue.
    queues: AtomicU64,
    /// The kernels of all launches, in order.
    kernels: Mutex<Vec<&'static str>>,
    /// The size in bytes of the largest array that has been copied to the device.
    largest_upload: AtomicU64,
    /// The bytes that have been copied to the device.
    uploaded: AtomicU64,
    /// The number of copies to the device that will still succeed.
    uploads_left: AtomicU64,
    /// The number of waits for a queue.
    waits: AtomicU64,
    memory: u64,
    /// The bytes of all live arrays.
    used: AtomicU64,
    /// The kernels besides those of `warpath-gpu`.
    more_kernels: Option<Table>,
}

impl Default for Device {
    fn default() -> Self {
        Self {
            launches: AtomicU64::new(0),
            queues: AtomicU64::new(0),
            kernels: Mutex::default(),
            largest_upload: AtomicU64::new(0),
            uploaded: AtomicU64::new(0),
            uploads_left: AtomicU64::new(u64::MAX),
            waits: AtomicU64::new(0),
            memory: 1 << 30,
            used: AtomicU64::new(0),
            more_kernels: None,
        }
    }
}

impl Emulated {
    /// A device with `memory` bytes of memory.
    #[must_use]
    pub fn with_memory(memory: u64) -> Self {
        Self(Arc::new(Device { memory, ..Device::default() }))
    }

    /// A device that runs the kernels of a table, too.
    #[must_use]
    pub fn with_kernels(table: Table) -> Self {
        Self(Arc::new(Device { more_kernels: Some(table), ..Device::default() }))
    }

    /// The workers of this device.
    ///
    /// # Panics
    /// If the device cannot be opened, which always succeeds.
    #[must_use]
    pub fn pipeline(&self) -> Pipeline<Self> {
        Pipeline::new(self.clone()).expect("an emulated device can be opened")
    }

    /// [`pipeline`](Self::pipeline), as any backend. Because this function is here, the code of a device is
    /// compiled for this one in the library, and not again in each program of tests.
    #[must_use]
    pub fn backend(&self) -> Arc<dyn Backend> {
        Arc::new(self.pipeline())
    }

    /// Returns the number of launches of each kernel, and the size in bytes of the largest array that has
    /// been copied to the device. Both count from the previous call.
    ///
    /// # Panics
    /// If a launch has panicked.
    pub fn take_work(&self) -> (BTreeMap<&'static str, u64>, u64) {
        let mut kernels = BTreeMap::new();
        for kernel in self.take_launches() {
            *kernels.entry(kernel).or_default() += 1;
        }
        (kernels, self.0.largest_upload.swap(0, Ordering::Relaxed))
    }

    /// Returns the kernels that were launched since the previous call, in order.
    ///
    /// # Panics
    /// If a launch has panicked.
    #[must_use]
    pub fn take_launches(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.0.kernels.lock().unwrap())
    }

    /// Returns the bytes that have been copied to the device since the previous call.
    #[must_use]
    pub fn take_uploaded(&self) -> u64 {
        self.0.uploaded.swap(0, Ordering::Relaxed)
    }

    /// Lets the next `uploads` copies to the device succeed. Each copy after them fails.
    pub fn fail_uploads_after(&self, uploads: u64) {
        self.0.uploads_left.store(uploads, Ordering::Relaxed);
    }

    /// Returns the number of waits for a queue since the previous call. Downloads that are made together are
    /// one wait.
    #[must_use]
    pub fn take_waits(&self) -> u64 {
        self.0.waits.swap(0, Ordering::Relaxed)
    }

    /// The bytes of all live arrays.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }

    /// The number of queues beside the first.
    #[must_use]
    pub fn queues(&self) -> u64 {
        self.0.queues.load(Ordering::Relaxed)
    }
}

impl Emulated {
    fn schedule(&self) -> Schedule {
        match self.0.launches.fetch_add(1, Ordering::Relaxed) {
            count if count % 3 == 0 => Schedule::InOrder,
            count if count % 3 == 1 => Schedule::Reverse,
            seed => Schedule::Shuffled { seed },
        }
    }
}

/// Elements of a [`HostBuffer`] and their destination, as bytes of any element type.
pub struct HostDownload<'a> {
    from: &'a [u8],
    to: &'a mut [u8],
}

/// An array in place of one in device memory: 16-byte aligned, poisoned before its first use.
#[derive(Debug)]
pub struct HostBuffer<T> {
    storage: Vec<u128>,
    len: usize,
    element: PhantomData<T>,
    device: Arc<Device>,
}

impl<T> Drop for HostBuffer<T> {
    fn drop(&mut self) {
        self.device.used.fetch_sub(size_of_val(&self.storage[..]) as u64, Ordering::Relaxed);
    }
}

impl<T: Plain> HostBuffer<T> {
    fn slice(&self) -> &[T] {
        // SAFETY: `alloc`, the only constructor, sizes and initialises the storage for `len` elements. 16
        // bytes align every `Plain` type, and every bit pattern is a value of such a type.
        unsafe { std::slice::from_raw_parts(self.storage.as_ptr().cast(), self.len) }
    }

    fn slice_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `slice`; `&mut self` makes the borrow exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.storage.as_mut_ptr().cast(), self.len) }
    }
}

impl Accelerator for Emulated {
    type Buffer<T: Plain> = HostBuffer<T>;
    type Download<'a> = HostDownload<'a>;

    fn queue(&self) -> Result<Self, Error> {
        self.0.queues.fetch_add(1, Ordering::Relaxed);
        Ok(self.clone())
    }

    fn host_buffer(&self, len: usize) -> Result<Buffer, Error> {
        // The contents of a new buffer are undefined, so they are poisoned here.
        Ok(Buffer::from(vec![0xa5; len]))
    }

    fn kept_memory(&self, len: usize) -> Result<Buffer, Error> {
        self.host_buffer(len)
    }

    fn name(&self) -> String {
        "emulated".into()
    }

    fn free_memory(&self) -> Result<u64, Error> {
        Ok(self.0.memory.saturating_sub(self.used()))
    }

    fn alloc<T: Plain>(&self, len: usize) -> Result<HostBuffer<T>, Error> {
        let len = len.max(1);
        let words = (len * size_of::<T>()).div_ceil(16);
        let wanted = 16 * words as u64;
        let used = self.0.used.fetch_add(wanted, Ordering::Relaxed);
        if used + wanted > self.0.memory {
            self.0.used.fetch_sub(wanted, Ordering::Relaxed);
            return Err(DeviceError::OutOfMemory { wanted, free: self.0.memory.saturating_sub(used) }.into());
        }
        let storage = vec![u128::from_ne_bytes([0xa5; 16]); words];
        Ok(HostBuffer { storage, len, element: PhantomData, device: self.0.clone() })
    }

    fn zero<T: Plain>(&self, buffer: &mut HostBuffer<T>, from: usize, to: usize) -> Result<(), Error> {
        // The `Default` of some `Plain` types is not all zeros (`LineSummary`), so bytes are written.
        let start = buffer.slice_mut()[from..to].as_mut_ptr();
        // SAFETY: the slice above has `to - from` elements, and zeros are a value of every `Plain` type.
        unsafe { start.write_bytes(0, to - from) };
        Ok(())
    }

    fn upload<T: Plain>(&self, buffer: &mut HostBuffer<T>, at: usize, from: &[T]) -> Result<(), Error> {
        let fewer = |left: u64| left.checked_sub(1);
        if self.0.uploads_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_err() {
            return Err(DeviceError::of_call("upload", "it was to fail").into());
        }
        self.0.largest_upload.fetch_max(size_of_val(from) as u64, Ordering::Relaxed);
        self.0.uploaded.fetch_add(size_of_val(from) as u64, Ordering::Relaxed);
        buffer.slice_mut()[at..at + from.len()].copy_from_slice(from);
        Ok(())
    }

    unsafe fn upload_later<T: Plain>(
        &self,
        buffer: &mut HostBuffer<T>,
        at: usize,
        from: &[T],
    ) -> Result<(), Error> {
        self.upload(buffer, at, from)
    }

    fn wait(&self) -> Result<(), Error> {
        self.0.waits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn to_download<'a, T: Plain>(
        &self,
        buffer: &'a HostBuffer<T>,
        at: usize,
        to: &'a mut [T],
    ) -> Result<HostDownload<'a>, Error> {
        let (from, len) = (&buffer.slice()[at..at + to.len()], size_of_val(to));
        // SAFETY: both slices have `len` bytes and are borrowed for `'a`. `Plain` types have no padding, and
        // every bit pattern is a value of one.
        let (from, to) = unsafe {
            let from = std::slice::from_raw_parts(from.as_ptr().cast(), len);
            (from, std::slice::from_raw_parts_mut(to.as_mut_ptr().cast(), len))
        };
        Ok(HostDownload { from, to })
    }

    fn download_all(&self, downloads: Vec<HostDownload<'_>>) -> Result<(), Error> {
        for HostDownload { from, to } in downloads {
            to.copy_from_slice(from);
        }
        self.wait()
    }

    fn view<'a, T: Plain>(&self, buffer: &'a HostBuffer<T>, len: usize) -> View<'a, T> {
        View::from_slice(&buffer.slice()[..len])
    }

    fn view_mut<'a, T: Plain>(&self, buffer: &'a mut HostBuffer<T>, len: usize) -> ViewMut<'a, T> {
        let slice = &mut buffer.slice_mut()[..len];
        // SAFETY: `&mut buffer` borrows the slice exclusively for the view's lifetime.
        unsafe { ViewMut::from_raw(slice.as_mut_ptr(), slice.len()) }
    }

    fn bytes_of<T: Plain>(&self, mut buffer: HostBuffer<T>) -> HostBuffer<u8> {
        HostBuffer {
            storage: std::mem::take(&mut buffer.storage),
            len: buffer.len * size_of::<T>(),
            element: PhantomData,
            device: buffer.device.clone(),
        }
    }

    fn copy(
        &self,
        to: &mut HostBuffer<u8>,
        at: usize,
        from: &HostBuffer<u8>,
        len: usize,
    ) -> Result<(), Error> {
        to.slice_mut()[at..at + len].copy_from_slice(&from.slice()[..len]);
        Ok(())
    }

    fn address(&self, buffer: &HostBuffer<u8>) -> u64 {
        buffer.storage.as_ptr().addr() as u64
    }

    fn arrow_device(&self) -> ArrowDevice {
        ArrowDevice::HOST
    }

    fn sync_event(&self) -> Result<Option<SyncEvent>, Error> {
        Ok(None)
    }

    unsafe fn launch<K: Kernel>(&self, args: &K::Args<'_>) -> Result<(), Error> {
        K::check(args).map_err(|error| Error::Internal(error.to_string()))?;
        let mut kernels = self.0.kernels.lock().map_err(|_| Error::Internal("a launch panicked".into()))?;
        kernels.push(K::NAME);
        drop(kernels);
        let launch = Launch::new(K::blocks(args), K::threads(args)).schedule(self.schedule());
        let args = ptr::from_ref(args).cast();
        let more = self.0.more_kernels.iter();
        for table in [warpath_kernels as Table].iter().chain(more) {
            // SAFETY: names are unique, so the arguments are those of the kernel of this name. `K::check`
            // accepted them.
            if let Some(ran) = unsafe { table(K::NAME, args, &launch) } {
                return ran.map_err(|fault| Error::Internal(fault.to_string()));
            }
        }
        Err(Error::Internal(format!("no kernel `{}`", K::NAME)))
    }
}

/// The kernels of `warpath-gpu`.
unsafe fn warpath_kernels(name: &'static str, args: *const (), launch: &Launch) -> Option<Result<(), Fault>> {
    macro_rules! run_it {
        ($($module:ident: $(($kernel:ident, $function:ident)),+;)*) => {
            $($(if name == kernel::$kernel::NAME {
                // SAFETY: by the caller's contract the arguments have this type.
                let args = unsafe { args.cast::<<kernel::$kernel as Kernel>::Args<'_>>().read() };
                // SAFETY: by the caller's contract the sizes agree, and the launch has the kernel's own
                // shape.
                let body = || unsafe { warpath_gpu::kernel::$function(args) };
                return Some(emulator::launch(launch, name, &body));
            })+)*
        };
    }
    for_each_kernel!(run_it);
    for_each_bench_kernel!(run_it);
    None
}
