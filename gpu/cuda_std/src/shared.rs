//! Shared memory: bytes that the threads of one block have in common, and that exist as long as the block.
//!
//! The contents are arbitrary at the start (the emulator fills them with 0xA5). A thread sees another
//! thread's write after a barrier that both threads passed.

use core::marker::PhantomData;

#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator;
use crate::wide::U32x4;

/// An array in shared memory: `shared_array![T; N]` is a `*mut T` to `N` elements, aligned to 16 bytes.
///
/// Each occurrence in the source is one array, the same for all threads of a block. The arrays of different
/// occurrences never overlap. `T` and `N` are constant expressions of names that are visible in the
/// surrounding *module*. They cannot use types or constants that the function declares, or its generic
/// parameters.
///
/// The pointer may be offset and used up to `N` elements. A barrier must separate one thread's write from
/// another thread's read.
///
/// On the device, the macro needs `#![feature(asm_experimental_arch)]`. It must be expanded in the crate that
/// is compiled to PTX (a macro in another crate can do so, a function cannot), because PTX contains only that
/// crate's module-level assembly.
///
/// # Errors
///
/// The macro does not compile if the array is over 48 KiB or if `T` needs more than 16-byte alignment.
#[macro_export]
macro_rules! shared_array {
    ($element:ty; $len:expr) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            $crate::__macros::device_shared_array!($element; $len)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            #[allow(unused_imports, reason = "an element type and length may need no names")]
            mod shared_array_size {
                use super::*;
                pub(super) const BYTES: usize = $crate::shared::array_bytes::<$element>($len);
            }
            const _: () = assert!(shared_array_size::BYTES == $crate::shared::array_bytes::<$element>($len));
            static SITE: $crate::emulator::SharedSite = $crate::emulator::SharedSite::new(
                stringify!($element; $len),
                file!(),
                line!(),
            );
            $crate::emulator::shared_array(&SITE, shared_array_size::BYTES).cast::<$element>()
        }
    }};
}

/// The shared memory whose size the launch gives: `dynamic_shared_mem!(T)` is a `*mut T` to it, aligned to 16
/// bytes.
///
/// Every use in a kernel gives the same address. The requirements and limits are those of [`shared_array!`].
#[macro_export]
macro_rules! dynamic_shared_mem {
    ($element:ty) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            $crate::__macros::device_dynamic_shared_mem!($element)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            const _: () = $crate::shared::assert_alignment::<$element>();
            $crate::emulator::dynamic_shared_mem().cast::<$element>()
        }
    }};
}

pub use crate::{dynamic_shared_mem, shared_array};

/// The most bytes of static shared memory that a kernel may declare.
pub const STATIC_LIMIT_BYTES: usize = 48 * 1024;

/// The size of a shared array in bytes, after a check of its alignment and size.
#[doc(hidden)]
#[must_use]
pub const fn array_bytes<T>(len: usize) -> usize {
    assert_alignment::<T>();
    let bytes = len * size_of::<T>();
    assert!(bytes > 0, "a shared array cannot be empty");
    assert!(bytes <= STATIC_LIMIT_BYTES, "a shared array cannot exceed 48 KiB; use dynamic_shared_mem!");
    bytes
}

#[doc(hidden)]
pub const fn assert_alignment<T>() {
    assert!(align_of::<T>() <= 16, "shared memory is aligned to 16 bytes only");
}

mod sealed {
    pub trait Sealed {}
}

/// A pointer into shared memory: 32 bits on the device, where a generic pointer takes 64.
///
/// Convert a [`shared_array!`] once and offset the result. Loads and stores then have their offset in the
/// instruction, and no registers are needed for addresses.
#[derive(Debug)]
pub struct Shared<T> {
    #[cfg(target_arch = "nvptx64")]
    address: u32,
    #[cfg(not(target_arch = "nvptx64"))]
    address: *mut T,
    element: PhantomData<*mut T>,
}

impl<T> Clone for Shared<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}

impl<T> PartialEq for Shared<T> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}
impl<T> Eq for Shared<T> {}

impl<T> Shared<T> {
    /// Converts a pointer. `ptr` must be in shared memory; otherwise the result is unusable.
    #[inline(always)]
    #[must_use]
    pub fn new(ptr: *mut T) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let address: u64;
            // SAFETY: the instruction reads and writes registers only.
            unsafe {
                core::arch::asm!(
                    "cvta.to.shared.u64 {}, {};", out(reg64) address, in(reg64) ptr,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            Self { address: address as u32, element: PhantomData }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        Self { address: ptr, element: PhantomData }
    }

    /// The pointer that is `count` elements further.
    #[inline(always)]
    #[must_use]
    pub fn offset(self, count: u32) -> Self {
        #[cfg(target_arch = "nvptx64")]
        let address = self.address.wrapping_add(count * size_of::<T>() as u32);
        #[cfg(not(target_arch = "nvptx64"))]
        let address = self.address.wrapping_add(count as usize);
        Self { address, element: PhantomData }
    }

    /// The pointer to the next element, as `offset(1)` gives it, by an addition that the compiler does not
    /// move. For pointers that are reached by branches, the compiler would otherwise keep two pointers, this
    /// one and the next, and advance both.
    #[inline(always)]
    #[must_use]
    pub fn next(self) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let address: u32;
            // SAFETY: the instruction reads and writes registers only.
            unsafe {
                core::arch::asm!(
                    "add.u32 {}, {}, {};", out(reg32) address, in(reg32) self.address, const size_of::<T>(),
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            Self { address, element: PhantomData }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        self.offset(1)
    }

    /// A pointer of another type to the same address.
    #[inline(always)]
    #[must_use]
    pub fn cast<U>(self) -> Shared<U> {
        #[cfg(target_arch = "nvptx64")]
        let address = self.address;
        #[cfg(not(target_arch = "nvptx64"))]
        let address = self.address.cast();
        Shared { address, element: PhantomData }
    }
}

impl<T: SharedValue> Shared<T> {
    /// Reads the element by `ld.shared`.
    ///
    /// # Safety
    ///
    /// The contract of [`read`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn read(self) -> T {
        #[cfg(not(target_arch = "nvptx64"))]
        emulator::check_shared("shared::read", self.address);
        // SAFETY: the caller guarantees that the pointer meets the contract.
        unsafe { T::read(self) }
    }

    /// Writes the element by `st.shared`.
    ///
    /// # Safety
    ///
    /// The contract of [`write()`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn write(self, value: T) {
        #[cfg(not(target_arch = "nvptx64"))]
        emulator::check_shared("shared::write", self.address);
        // SAFETY: the caller guarantees that the pointer meets the contract.
        unsafe { T::write(self, value) }
    }
}

/// A value that [`read`] and [`write()`] move at once: an unsigned integer, or 16 bytes.
pub trait SharedValue: Copy + sealed::Sealed {
    #[doc(hidden)]
    unsafe fn read(at: Shared<Self>) -> Self;
    #[doc(hidden)]
    unsafe fn write(at: Shared<Self>, value: Self);
}

macro_rules! shared_values {
    ($($ty:ty: $class:ident $register:ty, $suffix:literal;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl SharedValue for $ty {
            #[inline(always)]
            unsafe fn read(at: Shared<Self>) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    let value: $register;
                    // SAFETY: the caller guarantees that the pointer meets the contract.
                    unsafe {
                        core::arch::asm!(
                            concat!("ld.shared.", $suffix, " {0}, [{1}];"), out($class) value, in(reg32) at.address,
                            options(readonly, nostack, preserves_flags),
                        );
                    }
                    value as $ty
                }
                // SAFETY: the caller guarantees that the pointer meets the contract.
                #[cfg(not(target_arch = "nvptx64"))]
                unsafe { at.address.read() }
            }
            #[inline(always)]
            unsafe fn write(at: Shared<Self>, value: Self) {
                // SAFETY: the caller guarantees that the pointer meets the contract.
                #[cfg(target_arch = "nvptx64")]
                unsafe {
                    core::arch::asm!(
                        concat!("st.shared.", $suffix, " [{0}], {1};"), in(reg32) at.address, in($class) value as $register,
                        options(nostack, preserves_flags),
                    );
                }
                // SAFETY: the caller guarantees that the pointer meets the contract.
                #[cfg(not(target_arch = "nvptx64"))]
                unsafe { at.address.write(value) };
            }
        }
    )*};
}

shared_values! {
    u8: reg16 u16, "u8";
    u16: reg16 u16, "u16";
    u32: reg32 u32, "u32";
    u64: reg64 u64, "u64";
}

impl sealed::Sealed for U32x4 {}

impl SharedValue for U32x4 {
    #[inline(always)]
    unsafe fn read(at: Shared<Self>) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let (a, b, c, d): (u32, u32, u32, u32);
            // SAFETY: the caller guarantees that the pointer meets the contract.
            unsafe {
                core::arch::asm!(
                    "ld.shared.v4.u32 {{{0}, {1}, {2}, {3}}}, [{4}];",
                    out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) at.address,
                    options(readonly, nostack, preserves_flags),
                );
            }
            Self([a, b, c, d])
        }
        // SAFETY: the caller guarantees that the pointer meets the contract.
        #[cfg(not(target_arch = "nvptx64"))]
        unsafe {
            at.address.read()
        }
    }

    #[inline(always)]
    unsafe fn write(at: Shared<Self>, value: Self) {
        // SAFETY: the caller guarantees that the pointer meets the contract.
        #[cfg(target_arch = "nvptx64")]
        unsafe {
            let [a, b, c, d] = value.0;
            core::arch::asm!(
                "st.shared.v4.u32 [{0}], {{{1}, {2}, {3}, {4}}};",
                in(reg32) at.address, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
                options(nostack, preserves_flags),
            );
        }
        // SAFETY: the caller guarantees that the pointer meets the contract.
        #[cfg(not(target_arch = "nvptx64"))]
        unsafe {
            at.address.write(value);
        }
    }
}

/// Reads shared memory by `ld.shared`.
///
/// `*ptr` reads the same value by a generic load, which must first find out what kind of memory it reads.
///
/// # Safety
///
/// `ptr` is in shared memory of this block, valid for reads and aligned. No other thread writes there
/// meanwhile.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn read<T: SharedValue>(ptr: *const T) -> T {
    // SAFETY: the caller guarantees that the pointer meets the contract.
    unsafe { Shared::new(ptr.cast_mut()).read() }
}

/// Writes shared memory by `st.shared`; see [`read`].
///
/// # Safety
///
/// `ptr` is in shared memory of this block, valid for writes and aligned. No other thread accesses it
/// meanwhile.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn write<T: SharedValue>(ptr: *mut T, value: T) {
    // SAFETY: the caller guarantees that the pointer meets the contract.
    unsafe { Shared::new(ptr).write(value) }
}
