//! A device that is the emulator: every kernel runs, on a machine without a GPU.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuda_std::emulator::{self, Launch, Schedule};
use warpath::Error;
use warpath::backend::Buffer;
use warpath::device::{Accelerator, Plain};
use warpath_shared::for_each_kernel;
use warpath_shared::kernel::{self, Kernel};
use warpath_shared::units::BLOCK_THREADS;
use warpath_shared::view::{View, ViewMut};

/// Runs kernels in the emulator, each launch in another order of blocks and threads. Queues run at the same time, each in
/// the thread that asks it, and what is asked of them has been done when they return.
#[derive(Debug, Default)]
pub struct Emulated {
    /// Of all queues.
    launches: Arc<AtomicU64>,
    /// How many queues have been made of another.
    queues: Arc<AtomicU64>,
}

impl Emulated {
    /// How many queues there have been beside this one.
    #[must_use]
    pub fn queues(&self) -> u64 {
        self.queues.load(Ordering::Relaxed)
    }
}

impl Emulated {
    fn schedule(&self) -> Schedule {
        match self.launches.fetch_add(1, Ordering::Relaxed) {
            count if count % 3 == 0 => Schedule::InOrder,
            count if count % 3 == 1 => Schedule::Reverse,
            seed => Schedule::Shuffled { seed },
        }
    }
}

/// An array that stands for one in device memory: 16-byte aligned, poisoned before its first use.
#[derive(Debug)]
pub struct HostBuffer<T> {
    storage: Vec<u128>,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Plain> HostBuffer<T> {
    fn slice(&self) -> &[T] {
        // SAFETY: the storage holds `len` elements, initialised, and 16 bytes align every `Plain` type; every bit
        // pattern is a value of such a type.
        unsafe { std::slice::from_raw_parts(self.storage.as_ptr().cast(), self.len) }
    }

    fn slice_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `slice`, and the buffer is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.storage.as_mut_ptr().cast(), self.len) }
    }
}

impl Accelerator for Emulated {
    type Buffer<T: Plain> = HostBuffer<T>;

    fn queue(&self) -> Result<Self, Error> {
        self.queues.fetch_add(1, Ordering::Relaxed);
        Ok(Self { launches: self.launches.clone(), queues: self.queues.clone() })
    }

    fn host_buffer(&self, len: usize) -> Result<Buffer, Error> {
        // What a buffer held is not defined.
        Ok(Buffer::from(vec![0xa5; len]))
    }

    fn name(&self) -> String {
        "emulated".into()
    }

    fn free_memory(&self) -> Result<u64, Error> {
        Ok(1 << 30)
    }

    fn alloc<T: Plain>(&self, len: usize) -> Result<HostBuffer<T>, Error> {
        let len = len.max(1);
        let storage = vec![u128::from_ne_bytes([0xa5; 16]); (len * size_of::<T>()).div_ceil(16)];
        Ok(HostBuffer { storage, len, element: PhantomData })
    }

    fn zero<T: Plain>(&self, buffer: &mut HostBuffer<T>, from: usize, to: usize) -> Result<(), Error> {
        // `Default` of every `Plain` type is not all zeros (`LineSummary`), so bytes it is.
        let start = buffer.slice_mut()[from..to].as_mut_ptr();
        // SAFETY: the slice above has `to - from` elements, and zeros are a value of every `Plain` type.
        unsafe { start.write_bytes(0, to - from) };
        Ok(())
    }

    fn upload<T: Plain>(&self, buffer: &mut HostBuffer<T>, at: usize, from: &[T]) -> Result<(), Error> {
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
        Ok(())
    }

    fn download<T: Plain>(&self, buffer: &HostBuffer<T>, at: usize, to: &mut [T]) -> Result<(), Error> {
        to.copy_from_slice(&buffer.slice()[at..at + to.len()]);
        Ok(())
    }

    fn view<'a, T: Plain>(&self, buffer: &'a HostBuffer<T>, len: usize) -> View<'a, T> {
        View::from_slice(&buffer.slice()[..len])
    }

    fn view_mut<'a, T: Plain>(&self, buffer: &'a mut HostBuffer<T>, len: usize) -> ViewMut<'a, T> {
        let slice = &mut buffer.slice_mut()[..len];
        // SAFETY: the slice is borrowed alone for the view's lifetime.
        unsafe { ViewMut::from_raw(slice.as_mut_ptr(), slice.len()) }
    }

    unsafe fn launch<K: Kernel>(&self, args: &K::Args<'_>) -> Result<(), Error> {
        K::check(args).map_err(|error| Error::Internal(error.to_string()))?;
        let launch = Launch::new(K::blocks(args), BLOCK_THREADS as u32).schedule(self.schedule());
        let mut ran = false;
        macro_rules! run_it {
            ($(($kernel:ident, $function:ident, $module:ident)),* $(,)?) => {
                $(if K::NAME == kernel::$kernel::NAME {
                    let args: *const K::Args<'_> = args;
                    // SAFETY: names are unique, so `K` is this kernel and its arguments have this type.
                    let args = unsafe { args.cast::<<kernel::$kernel as Kernel>::Args<'_>>().read() };
                    ran = true;
                    // SAFETY: the sizes were checked; the emulator launches as the kernel's shape says.
                    let body = || unsafe { warpath_gpu::kernel::$function(args) };
                    emulator::launch(&launch, K::NAME, &body)
                        .map_err(|fault| Error::Internal(fault.to_string()))?;
                })*
            };
        }
        for_each_kernel!(run_it);
        if ran { Ok(()) } else { Err(Error::Internal(format!("no kernel `{}`", K::NAME))) }
    }
}
