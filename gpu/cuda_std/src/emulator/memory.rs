//! Shared memory: one array for each block and each position in the source. It is poisoned, with a guard
//! after its end.

use core::cell::RefCell;
use core::panic::Location;
use std::boxed::Box;
use std::format;
use std::string::String;
use std::vec;
use std::vec::Vec;

use super::FaultKind;
use super::state::current;

/// The content of fresh shared memory.
const POISON: u8 = 0xa5;
/// The bytes after an array's end. A changed byte shows a write out of bounds.
const GUARD: u8 = 0x5c;
const GUARD_BYTES: usize = 64;

/// A position in the source that declares a shared array.
#[doc(hidden)]
#[derive(Debug)]
pub struct SharedSite {
    what: &'static str,
    file: &'static str,
    line: u32,
}

impl SharedSite {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(what: &'static str, file: &'static str, line: u32) -> Self {
        Self { what, file, line }
    }
}

#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Chunk([u8; 16]);

struct Array {
    /// `None` for the dynamic part.
    site: Option<&'static SharedSite>,
    bytes: usize,
    /// A pointer from `Box::into_raw`. The kernel holds copies of the address.
    memory: *mut [Chunk],
}

impl Array {
    fn new(site: Option<&'static SharedSite>, bytes: usize) -> Self {
        let chunks = (bytes + GUARD_BYTES).div_ceil(size_of::<Chunk>());
        let memory = Box::into_raw(vec![Chunk([GUARD; 16]); chunks].into_boxed_slice());
        let array = Self { site, bytes, memory };
        array.poison();
        array
    }

    fn address(&self) -> *mut u8 {
        self.memory.cast()
    }

    fn poison(&self) {
        // SAFETY: `new` allocated at least `bytes` bytes, which live as long as `self`. The scheduler calls
        // this between blocks, or a fiber for its new array, so no other code uses the memory now.
        unsafe { self.address().write_bytes(POISON, self.bytes) };
    }

    /// The first overwritten byte after the array's end, counted from the array's start.
    fn overrun(&self) -> Option<usize> {
        // SAFETY: the memory lives as long as `self`, and `new` initialised all bytes of its chunks. The
        // scheduler calls this after all threads of the block have ended.
        let bytes =
            unsafe { core::slice::from_raw_parts(self.address(), self.memory.len() * size_of::<Chunk>()) };
        bytes[self.bytes..].iter().position(|&byte| byte != GUARD).map(|at| at + self.bytes)
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `Box::into_raw` in `new`, and only `drop` frees it, once.
        drop(unsafe { Box::from_raw(self.memory) });
    }
}

/// The shared memory of one block.
pub(super) struct SharedMemory {
    arrays: RefCell<Vec<Array>>,
    dynamic_bytes: usize,
}

impl SharedMemory {
    pub fn new(dynamic_bytes: usize) -> Self {
        Self { arrays: RefCell::default(), dynamic_bytes }
    }

    /// Poisons everything for the next block.
    pub fn reset(&self) {
        self.arrays.borrow().iter().for_each(Array::poison);
    }

    fn array(&self, site: Option<&'static SharedSite>, bytes: usize) -> *mut u8 {
        let same = |array: &&Array| match (array.site, site) {
            (Some(a), Some(b)) => core::ptr::eq(a, b),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if let Some(array) = self.arrays.borrow().iter().find(same) {
            return array.address();
        }
        let array = Array::new(site, bytes);
        let address = array.address();
        self.arrays.borrow_mut().push(array);
        address
    }

    /// Returns `true` if the address is in an array of this block.
    pub fn contains(&self, address: usize) -> bool {
        let within = |array: &Array| address.wrapping_sub(array.address() as usize) < array.bytes;
        self.arrays.borrow().iter().any(within)
    }

    /// The number of bytes that all static arrays take so far.
    fn static_bytes(&self) -> usize {
        let arrays = self.arrays.borrow();
        arrays.iter().filter(|array| array.site.is_some()).map(|array| array.bytes.next_multiple_of(16)).sum()
    }

    /// A message about the first array that was written after its end, if there is one.
    pub fn overrun(&self) -> Option<String> {
        let arrays = self.arrays.borrow();
        let (array, at) = arrays.iter().find_map(|array| array.overrun().map(|at| (array, at)))?;
        let what = match array.site {
            Some(site) => format!("shared_array![{}] at {}:{}", site.what, site.file, site.line),
            None => "the dynamic shared memory".into(),
        };
        Some(format!("byte {at} of {what}, which has only {} bytes, was written by the block", array.bytes))
    }
}

/// The array of this block for the position `site`.
#[doc(hidden)]
#[track_caller]
pub fn shared_array(site: &'static SharedSite, bytes: usize) -> *mut u8 {
    let position = current("shared_array!");
    let memory = &position.block.shared;
    let address = memory.array(Some(site), bytes);
    let total = memory.static_bytes();
    if total > crate::shared::STATIC_LIMIT_BYTES {
        let message = format!(
            "the kernel's shared arrays take {total} bytes, more than 48 KiB; use dynamic_shared_mem!"
        );
        position.raise(FaultKind::SharedMemory, message);
    }
    address
}

/// Reports a pointer that does not point to an aligned `T` in the block's shared memory.
#[track_caller]
pub(crate) fn check_shared<T>(what: &str, ptr: *const T) {
    let position = current(what);
    let memory = &position.block.shared;
    let last = (ptr as usize).wrapping_add(size_of::<T>() - 1);
    if !(ptr.is_aligned() && memory.contains(ptr as usize) && memory.contains(last)) {
        let place = Location::caller();
        let message = format!("{what} at {place}: pointer {ptr:p} is outside shared memory, or not aligned");
        position.raise(FaultKind::SharedMemory, message);
    }
}

/// The dynamic shared memory of this block.
#[doc(hidden)]
#[track_caller]
pub fn dynamic_shared_mem() -> *mut u8 {
    let position = current("dynamic_shared_mem!");
    let memory = &position.block.shared;
    if memory.dynamic_bytes == 0 {
        let message = "dynamic_shared_mem! is used, but the launch gave no dynamic shared memory".into();
        position.raise(FaultKind::SharedMemory, message);
    }
    memory.array(None, memory.dynamic_bytes)
}
