//! Memory of the host: pinned memory, which the device reads and writes directly, and huge pages.
//!
//! Pinned memory has two sources. The driver can allocate it (`cuMemHostAlloc`), but only once there is a
//! context. Or the process allocates it, in huge pages if the system has them, and the first copy from it
//! pins it (`cuMemHostRegister`). With the second, texts can be read into the memory while the context is
//! still being made.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cust::context::{Context, CurrentContext};
use cust::sys;
use memmap2::{MmapMut, MmapOptions};
use warpath_core::error::{DeviceError, Error};

use super::calls::{check, failed};

/// Bytes of a huge page on most machines that have a CUDA device. On other machines the alignment has no
/// effect.
const HUGE_PAGE: usize = 2 << 20;
/// The unit of pinned memory, in bytes: one page of the system, or several.
const PAGE: usize = 64 << 10;

/// Memory that the driver allocated, pinned for every device.
pub(super) struct Allocated {
    start: NonNull<u8>,
    len: usize,
    context: Arc<Context>,
}

// SAFETY: the memory is not bound to the thread that allocated it.
unsafe impl Send for Allocated {}
// SAFETY: through a shared reference the memory can only be read.
unsafe impl Sync for Allocated {}

impl Allocated {
    pub fn new(context: &Arc<Context>, len: usize) -> Result<Self, Error> {
        CurrentContext::set_current(context).map_err(failed("cuCtxSetCurrent"))?;
        let len = len.max(1);
        let mut start = std::ptr::null_mut();
        // SAFETY: `start` outlives the call, which writes a pointer to it.
        let result = unsafe { sys::cuMemHostAlloc(&mut start, len, sys::CU_MEMHOSTALLOC_PORTABLE) };
        check("cuMemHostAlloc", result)?;
        let none = || DeviceError::of_call("cuMemHostAlloc", "no memory");
        let start = NonNull::new(start.cast()).ok_or_else(none)?;
        Ok(Self { start, len, context: context.clone() })
    }
}

impl Deref for Allocated {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the driver returned this many bytes of mapped, initialised pages. Only `drop` frees them. A
        // copy to them that is under way borrows them exclusively.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Allocated {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and the memory is borrowed exclusively. A copy from it that is under way
        // borrows it.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Allocated {
    fn drop(&mut self) {
        let _ = CurrentContext::set_current(&self.context);
        // SAFETY: the memory came from `cuMemHostAlloc` and is not used after this. Whoever gave it to a
        // stream has waited for the stream.
        let _ = unsafe { sys::cuMemFreeHost(self.start.as_ptr().cast()) };
    }
}

/// Memory of this process, in huge pages if the system has them.
pub(super) struct HugePages {
    mapping: MmapMut,
    /// The offset of the memory in the mapping, aligned to huge pages if the memory has one.
    from: usize,
    len: usize,
}

impl HugePages {
    pub fn new(len: usize) -> io::Result<Self> {
        let len = len.max(1);
        let whole = len.next_multiple_of(PAGE);
        let mapping = MmapOptions::new().len(whole + HUGE_PAGE).map_anon()?;
        let from = mapping.as_ptr().align_offset(HUGE_PAGE).min(HUGE_PAGE);
        // The last part of the memory is in small pages, because it would fill only a little of a huge one.
        #[cfg(target_os = "linux")]
        if whole >= HUGE_PAGE {
            // A system without huge pages uses small pages.
            let _ = mapping.advise_range(memmap2::Advice::HugePage, from, whole / HUGE_PAGE * HUGE_PAGE);
        }
        Ok(Self { mapping, from, len })
    }
}

impl Deref for HugePages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.mapping[self.from..self.from + self.len]
    }
}

impl DerefMut for HugePages {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.mapping[self.from..self.from + self.len]
    }
}

/// Memory of this process, which [`lock`] pins for every device.
pub(super) struct Pages {
    memory: HugePages,
    locking: Arc<Locking>,
}

/// The address range and the state of pinning of some [`Pages`].
struct Locking {
    /// The address of the first byte.
    from: usize,
    len: usize,
    /// The context in which the pages were pinned, or the error if they cannot be.
    context: OnceLock<Result<Arc<Context>, sys::CUresult>>,
}

/// Pages of the whole process that are not pinned yet. They are not kept by device, because pages made for
/// one device may be copied to another.
static WAITING: Mutex<Vec<Arc<Locking>>> = Mutex::new(Vec::new());
/// The number of entries of `WAITING`.
static WAITING_COUNT: AtomicUsize = AtomicUsize::new(0);

fn waiting() -> std::sync::MutexGuard<'static, Vec<Arc<Locking>>> {
    // A thread that panics leaves a valid list of pages.
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pages {
    pub fn new(len: usize) -> Result<Self, Error> {
        let failed = |error: io::Error| {
            let message = format!("{len} bytes of memory: {error}");
            Error::from(DeviceError::of_call("page-locked memory", message))
        };
        let memory = HugePages::new(len).map_err(failed)?;
        let (from, whole) = (memory.as_ptr() as usize, memory.len().next_multiple_of(PAGE));
        let locking = Arc::new(Locking { from, len: whole, context: OnceLock::new() });
        let mut waiting = waiting();
        waiting.push(locking.clone());
        WAITING_COUNT.store(waiting.len(), Ordering::Release);
        drop(waiting);
        Ok(Self { memory, locking })
    }
}

/// Pins the memory that the text is in, if it is [`Pages`] and pinning has not been tried yet. The context
/// must be current on this thread. If pinning fails, the memory stays usable as ordinary memory, and pinning
/// is not tried again.
pub(super) fn lock(context: &Arc<Context>, text: &[u8]) -> Result<(), Error> {
    lock_by(text, |from, len| {
        // SAFETY: the range is whole mapped pages. They contain the text, which is borrowed.
        match unsafe { sys::cuMemHostRegister_v2(from, len, sys::CU_MEMHOSTREGISTER_PORTABLE) } {
            sys::CUresult::CUDA_SUCCESS => Ok(context.clone()),
            other => Err(other),
        }
    })
}

/// Does the work of [`lock`], with a function that pins whole mapped pages.
fn lock_by(
    text: &[u8],
    register: impl FnOnce(*mut std::ffi::c_void, usize) -> Result<Arc<Context>, sys::CUresult>,
) -> Result<(), Error> {
    if WAITING_COUNT.load(Ordering::Acquire) == 0 {
        return Ok(());
    }
    let at = text.as_ptr() as usize;
    let mut waiting = waiting();
    let Some(found) = waiting.iter().position(|one| (one.from..one.from + one.len).contains(&at)) else {
        return Ok(());
    };
    let pages = waiting.swap_remove(found);
    WAITING_COUNT.store(waiting.len(), Ordering::Release);
    // Other threads can pin their pages meanwhile.
    drop(waiting);
    let locked = pages.context.get_or_init(|| register(pages.from as *mut std::ffi::c_void, pages.len));
    locked.as_ref().map_or_else(|error| check("cuMemHostRegister", *error), |_| Ok(()))
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        match self.locking.context.get() {
            Some(Ok(context)) => {
                let _ = CurrentContext::set_current(context);
                // SAFETY: these pages were registered and are still mapped. Whoever gave them to a stream has
                // waited for the stream.
                let _ = unsafe { sys::cuMemHostUnregister(self.locking.from as *mut std::ffi::c_void) };
            }
            Some(Err(_)) => {}
            None => {
                let mut waiting = waiting();
                waiting.retain(|one| !Arc::ptr_eq(one, &self.locking));
                WAITING_COUNT.store(waiting.len(), Ordering::Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_aligned_writable_and_forgotten() {
        for len in [0, 1, 4096, PAGE + 1, HUGE_PAGE - 1, HUGE_PAGE, 8 * HUGE_PAGE + 4097] {
            let mut pages = Pages::new(len).unwrap();
            assert_eq!(pages.len(), len.max(1));
            assert_eq!(pages.as_ptr() as usize % HUGE_PAGE, 0);
            assert_eq!(pages.as_ptr() as usize, pages.locking.from);
            assert!(pages.locking.len >= pages.len() && pages.locking.len.is_multiple_of(PAGE));
            pages.fill(7);
            assert!(pages.iter().all(|byte| *byte == 7));
            let locking = pages.locking.clone();
            assert!(waiting().iter().any(|one| Arc::ptr_eq(one, &locking)));
            drop(pages);
            assert!(!waiting().iter().any(|one| Arc::ptr_eq(one, &locking)));
        }
    }

    #[test]
    fn what_cannot_be_locked_is_told_once() {
        let mut pages = Pages::new(PAGE).unwrap();
        let short = |_, _| Err(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        let said = lock_by(&pages[7..9], short).unwrap_err().chain();
        assert!(said.contains("cuMemHostRegister") && said.contains("OUT_OF_MEMORY"), "{said}");
        lock_by(&pages[7..9], |_, _| panic!("tried again")).unwrap();
        // The memory is usable all the same.
        pages.fill(7);
        assert!(pages.iter().all(|byte| *byte == 7));
    }
}
