//! Arrays as kernels see them: a pointer and a length, with bounds checks off the device.

use core::marker::PhantomData;

/// A read-only array in device memory, or in host memory under the emulator. `#[repr(C)]`: 16 bytes.
#[repr(C)]
pub struct View<'a, T> {
    ptr: *const T,
    len: u64,
    lifetime: PhantomData<&'a [T]>,
}

/// An array that a kernel writes. Threads may share it. The kernel's contract says which thread writes which
/// element.
#[repr(C)]
pub struct ViewMut<'a, T> {
    ptr: *mut T,
    len: u64,
    lifetime: PhantomData<&'a mut [T]>,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for View<'_, T> {}
impl<T> Clone for ViewMut<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for ViewMut<'_, T> {}

/// Panics, off the device, for an access outside the view. The emulator reports the panic with the kernel,
/// block and thread. On the device a panic would poison the context for all its users, so nothing is checked
/// there. The emulator has run every kernel over every boundary.
#[inline(always)]
#[track_caller]
fn check(index: u64, count: u64, len: u64) {
    if cfg!(not(target_arch = "nvptx64")) && index.checked_add(count).is_none_or(|end| end > len) {
        out_of_bounds(index, count, len);
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn out_of_bounds(index: u64, count: u64, len: u64) -> ! {
    panic!("out of bounds: {count} element(s) at {index} of a view of {len}")
}

impl<'a, T: Copy> View<'a, T> {
    /// A view of `len` elements from `ptr`.
    ///
    /// # Safety
    /// For `'a`, `ptr` is valid for reads of `len` elements where the view is used. For a kernel on the
    /// device, that is device memory. Only a [`ViewMut`] of the same launch writes the elements.
    #[inline(always)]
    pub const unsafe fn from_raw(ptr: *const T, len: usize) -> Self {
        Self { ptr, len: len as u64, lifetime: PhantomData }
    }

    /// A view of a slice in this address space.
    #[inline(always)]
    pub const fn from_slice(slice: &'a [T]) -> Self {
        Self { ptr: slice.as_ptr(), len: slice.len() as u64, lifetime: PhantomData }
    }

    /// The number of elements.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if there are no elements.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements from `index` on.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn skip(&self, index: usize) -> Self {
        Self { ptr: self.at(index, 0), len: self.len - index as u64, lifetime: PhantomData }
    }

    /// Returns the address of element `index`. `count` elements from there on may be read.
    #[inline(always)]
    #[track_caller]
    pub fn at(&self, index: usize, count: usize) -> *const T {
        check(index as u64, count as u64, self.len);
        self.ptr.wrapping_add(index)
    }

    /// Element `index`.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self, index: usize) -> T {
        let at = self.at(index, 1);
        // SAFETY: the contract of `from_raw` makes `len` elements readable, and `at` checked the index. On
        // the device, the emulated run of the same kernel checked it.
        unsafe { at.read() }
    }
}

impl<'a, T: Copy> ViewMut<'a, T> {
    /// A view of `len` elements from `ptr`.
    ///
    /// # Safety
    /// For `'a`, `ptr` is valid for reads and writes of `len` elements where the view is used. Only the
    /// holders of this view and of its copies access the elements.
    #[inline(always)]
    pub const unsafe fn from_raw(ptr: *mut T, len: usize) -> Self {
        Self { ptr, len: len as u64, lifetime: PhantomData }
    }

    /// The number of elements.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if there are no elements.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the address of element `index`. `count` elements from there on may be read and written.
    #[inline(always)]
    #[track_caller]
    pub fn at(&self, index: usize, count: usize) -> *mut T {
        check(index as u64, count as u64, self.len);
        self.ptr.wrapping_add(index)
    }

    /// Reads element `index`.
    ///
    /// # Safety
    /// No other thread writes the element without a barrier or fence in between.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn get(&self, index: usize) -> T {
        let at = self.at(index, 1);
        // SAFETY: the contract of `from_raw` makes `len` elements readable, and `at` checked the index. The
        // caller guarantees that no other thread writes the element at the same time.
        unsafe { at.read() }
    }

    /// Writes element `index`.
    ///
    /// # Safety
    /// No other thread reads or writes the element without a barrier or fence in between.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set(&self, index: usize, value: T) {
        let at = self.at(index, 1);
        // SAFETY: the contract of `from_raw` makes `len` elements writable, and `at` checked the index. The
        // caller guarantees that no other thread accesses the element at the same time.
        unsafe { at.write(value) }
    }
}

const _: () = assert!(size_of::<View<'_, u8>>() == 16 && size_of::<ViewMut<'_, u64>>() == 16);
