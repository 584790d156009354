//! Loads and stores of a given width. A thread moves at most 16 bytes at once.
//!
//! The *readonly* loads use a cache path that may return stale data if anything writes the memory during the
//! launch. In return they need no coherence, and the data tend to stay cached. These functions involve no
//! other thread and work in any code.

/// Four words that one access moves.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct U32x4(pub [u32; 4]);

/// Two double words that one access moves.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct U64x2(pub [u64; 2]);

const _: () = assert!(size_of::<U32x4>() == 16 && align_of::<U32x4>() == 16);
const _: () = assert!(size_of::<U64x2>() == 16 && align_of::<U64x2>() == 16);

impl From<U64x2> for U32x4 {
    #[inline(always)]
    fn from(U64x2([a, b]): U64x2) -> Self {
        Self([a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32])
    }
}

impl From<U32x4> for U64x2 {
    #[inline(always)]
    fn from(U32x4([a, b, c, d]): U32x4) -> Self {
        Self([u64::from(b) << 32 | u64::from(a), u64::from(d) << 32 | u64::from(c)])
    }
}

#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn check<T>(pointer: *const T) {
    assert!(
        pointer.is_aligned(),
        "misaligned access: {pointer:p} is not aligned to {} bytes{}",
        align_of::<T>(),
        crate::emulator::in_current_thread(),
    );
}

/// Loads 16 bytes: `ld.global.v4.u32`.
///
/// # Safety
///
/// `ptr` is in global memory, valid for reads and aligned to 16 bytes. No other thread writes there
/// meanwhile.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_global_16(ptr: *const U32x4) -> U32x4 {
    #[cfg(target_arch = "nvptx64")]
    {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: the caller guarantees that the pointer meets the contract.
        unsafe {
            core::arch::asm!(
                "{{ .reg .u64 p; cvta.to.global.u64 p, {4}; ld.global.v4.u32 {{{0}, {1}, {2}, {3}}}, [p]; }}",
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) ptr,
                options(readonly, nostack, preserves_flags),
            );
        }
        U32x4([a, b, c, d])
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        check(ptr);
        // SAFETY: the caller guarantees that the pointer meets the contract.
        unsafe { ptr.read() }
    }
}

/// Loads 16 bytes that nothing writes during the launch: `ld.global.nc.v4.u32`.
///
/// # Safety
///
/// `ptr` is in global memory, valid for reads and aligned to 16 bytes. Nothing writes there during the whole
/// launch.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_readonly_16(ptr: *const U32x4) -> U32x4 {
    #[cfg(target_arch = "nvptx64")]
    {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: the caller guarantees that the pointer meets the contract.
        unsafe {
            core::arch::asm!(
                "{{ .reg .u64 p; cvta.to.global.u64 p, {4}; ld.global.nc.v4.u32 {{{0}, {1}, {2}, {3}}}, [p]; }}",
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) ptr,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        U32x4([a, b, c, d])
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        check(ptr);
        // SAFETY: the caller guarantees that the pointer meets the contract.
        unsafe { ptr.read() }
    }
}

macro_rules! load_readonly {
    ($($(#[$doc:meta])* $name:ident: $ty:ty, $instruction:literal, $class:ident as $register:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// `ptr` is in global memory, valid for reads and aligned for its type. Nothing writes there during
        /// the whole launch.
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name(ptr: *const $ty) -> $ty {
            #[cfg(target_arch = "nvptx64")]
            {
                let value: $register;
                // SAFETY: the caller guarantees that the pointer meets the contract.
                unsafe {
                    core::arch::asm!(
                        concat!("{{ .reg .u64 p; cvta.to.global.u64 p, {1}; ", $instruction, " {0}, [p]; }}"),
                        out($class) value, in(reg64) ptr,
                        options(pure, readonly, nostack, preserves_flags),
                    );
                }
                value as $ty
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                check(ptr);
                // SAFETY: the caller guarantees that the pointer meets the contract.
                unsafe { ptr.read() }
            }
        }
    )*};
}

load_readonly! {
    /// Loads 8 bytes that nothing writes during the launch: `ld.global.nc.u64`.
    load_readonly_64: u64, "ld.global.nc.u64", reg64 as u64;
    /// Loads 4 bytes that nothing writes during the launch: `ld.global.nc.u32`.
    load_readonly_32: u32, "ld.global.nc.u32", reg32 as u32;
    /// Loads 2 bytes that nothing writes during the launch: `ld.global.nc.u16`.
    load_readonly_u16: u16, "ld.global.nc.u16", reg16 as u16;
    /// Loads a byte that nothing writes during the launch: `ld.global.nc.u8`.
    load_readonly_8: u8, "ld.global.nc.u8", reg16 as u16;
}

/// Stores 16 bytes: `st.global.v4.u32`.
///
/// # Safety
///
/// `ptr` is in global memory, valid for writes and aligned to 16 bytes. No other thread accesses it
/// meanwhile.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn store_global_16(ptr: *mut U32x4, value: U32x4) {
    #[cfg(target_arch = "nvptx64")]
    {
        let [a, b, c, d] = value.0;
        // SAFETY: the caller guarantees that the pointer meets the contract.
        unsafe {
            core::arch::asm!(
                "{{ .reg .u64 p; cvta.to.global.u64 p, {0}; st.global.v4.u32 [p], {{{1}, {2}, {3}, {4}}}; }}",
                in(reg64) ptr, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
                options(nostack, preserves_flags),
            );
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        check(ptr);
        // SAFETY: the caller guarantees that the pointer meets the contract.
        unsafe { ptr.write(value) };
    }
}

/// Stores 8 bytes: `st.global.u64`.
///
/// # Safety
///
/// `ptr` is in global memory, valid for writes and aligned to 8 bytes. No other thread accesses it meanwhile.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn store_global_64(ptr: *mut u64, value: u64) {
    #[cfg(target_arch = "nvptx64")]
    {
        // SAFETY: the caller guarantees that the pointer meets the contract.
        unsafe {
            core::arch::asm!(
                "{{ .reg .u64 p; cvta.to.global.u64 p, {0}; st.global.u64 [p], {1}; }}",
                in(reg64) ptr, in(reg64) value,
                options(nostack, preserves_flags),
            );
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        check(ptr);
        // SAFETY: the caller guarantees that the pointer meets the contract.
        unsafe { ptr.write(value) };
    }
}
