//! The atomics: one function for each instruction.
//!
//! Each table below gives, in columns: a function, its type, the register class, the conversion of a generic
//! pointer to the address that the instruction takes, and the instruction. For a generic `atom`, ptxas emits
//! a path for each kind of memory. So the pointer is converted where the kind is known.

#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator;

macro_rules! loads {
    ($($name:ident: $ty:ty, $class:ident, $space:literal $instruction:literal;)*) => {$(
        #[doc = concat!("Loads the word at `ptr`: `", $instruction, "`.")]
        ///
        /// In the emulator, other threads run first, so that a loop that waits for their store ends.
        ///
        /// # Safety
        ///
        /// The contract of [all accesses](super#safety-of-the-accesses).
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name(ptr: *const $ty) -> $ty {
            #[cfg(target_arch = "nvptx64")]
            {
                let value: $ty;
                // SAFETY: the caller guarantees that the pointer meets the contract of all accesses.
                unsafe {
                    core::arch::asm!(
                        concat!("{{ .reg .u64 p; ", $space, " p, {1}; ", $instruction, " {0}, [p]; }}"),
                        out($class) value, in(reg64) ptr,
                        options(nostack, preserves_flags),
                    );
                }
                value
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                emulator::before_atomic_load(stringify!($name), $space, ptr);
                // SAFETY: the caller guarantees the pointer. All threads of the emulator run on this OS
                // thread, so no other access is concurrent.
                let value = unsafe { ptr.read_volatile() };
                emulator::after_atomic_load(ptr, value);
                value
            }
        }
    )*};
}

loads! {
    atomic_load_32_relaxed_device: u32, reg32, "cvta.to.global.u64" "ld.relaxed.gpu.global.u32";
    atomic_load_32_acquire_device: u32, reg32, "cvta.to.global.u64" "ld.acquire.gpu.global.u32";
    atomic_load_32_relaxed_block: u32, reg32, "mov.u64" "ld.relaxed.cta.u32";
    atomic_load_32_relaxed_shared: u32, reg32, "cvta.to.shared.u64" "ld.relaxed.cta.shared.u32";
    atomic_load_32_acquire_block: u32, reg32, "mov.u64" "ld.acquire.cta.u32";
    atomic_load_64_relaxed_device: u64, reg64, "cvta.to.global.u64" "ld.relaxed.gpu.global.u64";
    atomic_load_64_acquire_device: u64, reg64, "cvta.to.global.u64" "ld.acquire.gpu.global.u64";
    atomic_load_64_relaxed_block: u64, reg64, "mov.u64" "ld.relaxed.cta.u64";
    atomic_load_64_relaxed_shared: u64, reg64, "cvta.to.shared.u64" "ld.relaxed.cta.shared.u64";
    atomic_load_64_acquire_block: u64, reg64, "mov.u64" "ld.acquire.cta.u64";
}

macro_rules! stores {
    ($($name:ident: $ty:ty, $class:ident, $space:literal $instruction:literal;)*) => {$(
        #[doc = concat!("Stores `value` at `ptr`: `", $instruction, "`.")]
        ///
        /// # Safety
        ///
        /// The contract of [all accesses](super#safety-of-the-accesses).
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name(ptr: *mut $ty, value: $ty) {
            // SAFETY: the caller guarantees that the pointer meets the contract of all accesses.
            #[cfg(target_arch = "nvptx64")]
            unsafe {
                core::arch::asm!(
                    concat!("{{ .reg .u64 p; ", $space, " p, {0}; ", $instruction, " [p], {1}; }}"),
                    in(reg64) ptr, in($class) value,
                    options(nostack, preserves_flags),
                );
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                emulator::before_atomic(stringify!($name), $space, ptr);
                // SAFETY: the caller guarantees the pointer. All threads of the emulator run on this OS
                // thread, so no other access is concurrent.
                let old = unsafe { ptr.read_volatile() };
                // SAFETY: the caller guarantees the pointer. All threads of the emulator run on this OS
                // thread, so no other access is concurrent.
                unsafe { ptr.write_volatile(value) };
                emulator::after_store(old, value);
            }
        }
    )*};
}

stores! {
    atomic_store_32_relaxed_device: u32, reg32, "cvta.to.global.u64" "st.relaxed.gpu.global.u32";
    atomic_store_32_release_device: u32, reg32, "cvta.to.global.u64" "st.release.gpu.global.u32";
    atomic_store_32_relaxed_block: u32, reg32, "mov.u64" "st.relaxed.cta.u32";
    atomic_store_32_relaxed_shared: u32, reg32, "cvta.to.shared.u64" "st.relaxed.cta.shared.u32";
    atomic_store_32_release_block: u32, reg32, "mov.u64" "st.release.cta.u32";
    atomic_store_64_relaxed_device: u64, reg64, "cvta.to.global.u64" "st.relaxed.gpu.global.u64";
    atomic_store_64_release_device: u64, reg64, "cvta.to.global.u64" "st.release.gpu.global.u64";
    atomic_store_64_relaxed_block: u64, reg64, "mov.u64" "st.relaxed.cta.u64";
    atomic_store_64_relaxed_shared: u64, reg64, "cvta.to.shared.u64" "st.relaxed.cta.shared.u64";
    atomic_store_64_release_block: u64, reg64, "mov.u64" "st.release.cta.u64";
}

macro_rules! updates {
    ($($name:ident: $ty:ty, $class:ident, $space:literal $instruction:literal, $update:expr;)*) => {$(
        #[doc = concat!("Updates the word at `ptr` and returns what it was before: `", $instruction, "`.")]
        ///
        /// # Safety
        ///
        /// The contract of [all accesses](super#safety-of-the-accesses).
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name(ptr: *mut $ty, value: $ty) -> $ty {
            #[cfg(target_arch = "nvptx64")]
            {
                let old: $ty;
                // SAFETY: the caller guarantees that the pointer meets the contract of all accesses.
                unsafe {
                    core::arch::asm!(
                        concat!("{{ .reg .u64 p; ", $space, " p, {1}; ", $instruction, " {0}, [p], {2}; }}"),
                        out($class) old, in(reg64) ptr, in($class) value,
                        options(nostack, preserves_flags),
                    );
                }
                old
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let update: fn($ty, $ty) -> $ty = $update;
                emulator::before_atomic(stringify!($name), $space, ptr);
                // SAFETY: the caller guarantees the pointer. All threads of the emulator run on this OS
                // thread, so no other access is concurrent.
                let old = unsafe { ptr.read_volatile() };
                let new = update(old, value);
                // SAFETY: the caller guarantees the pointer. All threads of the emulator run on this OS
                // thread, so no other access is concurrent.
                unsafe { ptr.write_volatile(new) };
                emulator::after_atomic(ptr, old, new);
                old
            }
        }
    )*};
}

updates! {
    atomic_fetch_add_u32_relaxed_device: u32, reg32, "cvta.to.global.u64" "atom.relaxed.gpu.global.add.u32", u32::wrapping_add;
    atomic_fetch_add_u32_acqrel_device: u32, reg32, "cvta.to.global.u64" "atom.acq_rel.gpu.global.add.u32", u32::wrapping_add;
    atomic_fetch_add_u32_relaxed_block: u32, reg32, "mov.u64" "atom.relaxed.cta.add.u32", u32::wrapping_add;
    atomic_fetch_add_u32_relaxed_shared: u32, reg32, "cvta.to.shared.u64" "atom.relaxed.cta.shared.add.u32", u32::wrapping_add;
    atomic_fetch_add_u32_acqrel_block: u32, reg32, "mov.u64" "atom.acq_rel.cta.add.u32", u32::wrapping_add;
    atomic_fetch_add_u64_relaxed_device: u64, reg64, "cvta.to.global.u64" "atom.relaxed.gpu.global.add.u64", u64::wrapping_add;
    atomic_fetch_add_u64_acqrel_device: u64, reg64, "cvta.to.global.u64" "atom.acq_rel.gpu.global.add.u64", u64::wrapping_add;
    atomic_fetch_add_u64_relaxed_block: u64, reg64, "mov.u64" "atom.relaxed.cta.add.u64", u64::wrapping_add;
    atomic_fetch_add_u64_relaxed_shared: u64, reg64, "cvta.to.shared.u64" "atom.relaxed.cta.shared.add.u64", u64::wrapping_add;
    atomic_fetch_add_u64_acqrel_block: u64, reg64, "mov.u64" "atom.acq_rel.cta.add.u64", u64::wrapping_add;
    atomic_fetch_min_u32_relaxed_device: u32, reg32, "cvta.to.global.u64" "atom.relaxed.gpu.global.min.u32", Ord::min;
    atomic_fetch_min_u32_acqrel_device: u32, reg32, "cvta.to.global.u64" "atom.acq_rel.gpu.global.min.u32", Ord::min;
    atomic_fetch_min_u32_relaxed_block: u32, reg32, "mov.u64" "atom.relaxed.cta.min.u32", Ord::min;
    atomic_fetch_min_u32_relaxed_shared: u32, reg32, "cvta.to.shared.u64" "atom.relaxed.cta.shared.min.u32", Ord::min;
    atomic_fetch_min_u32_acqrel_block: u32, reg32, "mov.u64" "atom.acq_rel.cta.min.u32", Ord::min;
    atomic_fetch_min_u64_relaxed_device: u64, reg64, "cvta.to.global.u64" "atom.relaxed.gpu.global.min.u64", Ord::min;
    atomic_fetch_min_u64_acqrel_device: u64, reg64, "cvta.to.global.u64" "atom.acq_rel.gpu.global.min.u64", Ord::min;
    atomic_fetch_min_u64_relaxed_block: u64, reg64, "mov.u64" "atom.relaxed.cta.min.u64", Ord::min;
    atomic_fetch_min_u64_relaxed_shared: u64, reg64, "cvta.to.shared.u64" "atom.relaxed.cta.shared.min.u64", Ord::min;
    atomic_fetch_min_u64_acqrel_block: u64, reg64, "mov.u64" "atom.acq_rel.cta.min.u64", Ord::min;
    atomic_fetch_max_u32_relaxed_device: u32, reg32, "cvta.to.global.u64" "atom.relaxed.gpu.global.max.u32", Ord::max;
    atomic_fetch_max_u32_acqrel_device: u32, reg32, "cvta.to.global.u64" "atom.acq_rel.gpu.global.max.u32", Ord::max;
    atomic_fetch_max_u32_relaxed_block: u32, reg32, "mov.u64" "atom.relaxed.cta.max.u32", Ord::max;
    atomic_fetch_max_u32_relaxed_shared: u32, reg32, "cvta.to.shared.u64" "atom.relaxed.cta.shared.max.u32", Ord::max;
    atomic_fetch_max_u32_acqrel_block: u32, reg32, "mov.u64" "atom.acq_rel.cta.max.u32", Ord::max;
    atomic_fetch_max_u64_relaxed_device: u64, reg64, "cvta.to.global.u64" "atom.relaxed.gpu.global.max.u64", Ord::max;
    atomic_fetch_max_u64_acqrel_device: u64, reg64, "cvta.to.global.u64" "atom.acq_rel.gpu.global.max.u64", Ord::max;
    atomic_fetch_max_u64_relaxed_block: u64, reg64, "mov.u64" "atom.relaxed.cta.max.u64", Ord::max;
    atomic_fetch_max_u64_relaxed_shared: u64, reg64, "cvta.to.shared.u64" "atom.relaxed.cta.shared.max.u64", Ord::max;
    atomic_fetch_max_u64_acqrel_block: u64, reg64, "mov.u64" "atom.acq_rel.cta.max.u64", Ord::max;
    atomic_fetch_and_u32_relaxed_device: u32, reg32, "cvta.to.global.u64" "atom.relaxed.gpu.global.and.b32", |old, value| old & value;
    atomic_fetch_and_u32_acqrel_device: u32, reg32, "cvta.to.global.u64" "atom.acq_rel.gpu.global.and.b32", |old, value| old & value;
    atomic_fetch_and_u32_relaxed_block: u32, reg32, "mov.u64" "atom.relaxed.cta.and.b32", |old, value| old & value;
    atomic_fetch_and_u32_relaxed_shared: u32, reg32, "cvta.to.shared.u64" "atom.relaxed.cta.shared.and.b32", |old, value| old & value;
    atomic_fetch_and_u32_acqrel_block: u32, reg32, "mov.u64" "atom.acq_rel.cta.and.b32", |old, value| old & value;
    atomic_fetch_and_u64_relaxed_device: u64, reg64, "cvta.to.global.u64" "atom.relaxed.gpu.global.and.b64", |old, value| old & value;
    atomic_fetch_and_u64_acqrel_device: u64, reg64, "cvta.to.global.u64" "atom.acq_rel.gpu.global.and.b64", |old, value| old & value;
    atomic_fetch_and_u64_relaxed_block: u64, reg64, "mov.u64" "atom.relaxed.cta.and.b64", |old, value| old & value;
    atomic_fetch_and_u64_relaxed_shared: u64, reg64, "cvta.to.shared.u64" "atom.relaxed.cta.shared.and.b64", |old, value| old & value;
    atomic_fetch_and_u64_acqrel_block: u64, reg64, "mov.u64" "atom.acq_rel.cta.and.b64", |old, value| old & value;
    atomic_fetch_or_u32_relaxed_device: u32, reg32, "cvta.to.global.u64" "atom.relaxed.gpu.global.or.b32", |old, value| old | value;
    atomic_fetch_or_u32_acqrel_device: u32, reg32, "cvta.to.global.u64" "atom.acq_rel.gpu.global.or.b32", |old, value| old | value;
    atomic_fetch_or_u32_relaxed_block: u32, reg32, "mov.u64" "atom.relaxed.cta.or.b32", |old, value| old | value;
    atomic_fetch_or_u32_relaxed_shared: u32, reg32, "cvta.to.shared.u64" "atom.relaxed.cta.shared.or.b32", |old, value| old | value;
    atomic_fetch_or_u32_acqrel_block: u32, reg32, "mov.u64" "atom.acq_rel.cta.or.b32", |old, value| old | value;
    atomic_fetch_or_u64_relaxed_device: u64, reg64, "cvta.to.global.u64" "atom.relaxed.gpu.global.or.b64", |old, value| old | value;
    atomic_fetch_or_u64_acqrel_device: u64, reg64, "cvta.to.global.u64" "atom.acq_rel.gpu.global.or.b64", |old, value| old | value;
    atomic_fetch_or_u64_relaxed_block: u64, reg64, "mov.u64" "atom.relaxed.cta.or.b64", |old, value| old | value;
    atomic_fetch_or_u64_relaxed_shared: u64, reg64, "cvta.to.shared.u64" "atom.relaxed.cta.shared.or.b64", |old, value| old | value;
    atomic_fetch_or_u64_acqrel_block: u64, reg64, "mov.u64" "atom.acq_rel.cta.or.b64", |old, value| old | value;
    atomic_fetch_xor_u32_relaxed_device: u32, reg32, "cvta.to.global.u64" "atom.relaxed.gpu.global.xor.b32", |old, value| old ^ value;
    atomic_fetch_xor_u32_acqrel_device: u32, reg32, "cvta.to.global.u64" "atom.acq_rel.gpu.global.xor.b32", |old, value| old ^ value;
    atomic_fetch_xor_u32_relaxed_block: u32, reg32, "mov.u64" "atom.relaxed.cta.xor.b32", |old, value| old ^ value;
    atomic_fetch_xor_u32_relaxed_shared: u32, reg32, "cvta.to.shared.u64" "atom.relaxed.cta.shared.xor.b32", |old, value| old ^ value;
    atomic_fetch_xor_u32_acqrel_block: u32, reg32, "mov.u64" "atom.acq_rel.cta.xor.b32", |old, value| old ^ value;
    atomic_fetch_xor_u64_relaxed_device: u64, reg64, "cvta.to.global.u64" "atom.relaxed.gpu.global.xor.b64", |old, value| old ^ value;
    atomic_fetch_xor_u64_acqrel_device: u64, reg64, "cvta.to.global.u64" "atom.acq_rel.gpu.global.xor.b64", |old, value| old ^ value;
    atomic_fetch_xor_u64_relaxed_block: u64, reg64, "mov.u64" "atom.relaxed.cta.xor.b64", |old, value| old ^ value;
    atomic_fetch_xor_u64_relaxed_shared: u64, reg64, "cvta.to.shared.u64" "atom.relaxed.cta.shared.xor.b64", |old, value| old ^ value;
    atomic_fetch_xor_u64_acqrel_block: u64, reg64, "mov.u64" "atom.acq_rel.cta.xor.b64", |old, value| old ^ value;
    atomic_exch_32_relaxed_device: u32, reg32, "cvta.to.global.u64" "atom.relaxed.gpu.global.exch.b32", |_, value| value;
    atomic_exch_32_acquire_device: u32, reg32, "cvta.to.global.u64" "atom.acquire.gpu.global.exch.b32", |_, value| value;
    atomic_exch_32_release_device: u32, reg32, "cvta.to.global.u64" "atom.release.gpu.global.exch.b32", |_, value| value;
    atomic_exch_32_acqrel_device: u32, reg32, "cvta.to.global.u64" "atom.acq_rel.gpu.global.exch.b32", |_, value| value;
    atomic_exch_32_relaxed_block: u32, reg32, "mov.u64" "atom.relaxed.cta.exch.b32", |_, value| value;
    atomic_exch_32_relaxed_shared: u32, reg32, "cvta.to.shared.u64" "atom.relaxed.cta.shared.exch.b32", |_, value| value;
    atomic_exch_32_acquire_block: u32, reg32, "mov.u64" "atom.acquire.cta.exch.b32", |_, value| value;
    atomic_exch_32_release_block: u32, reg32, "mov.u64" "atom.release.cta.exch.b32", |_, value| value;
    atomic_exch_32_acqrel_block: u32, reg32, "mov.u64" "atom.acq_rel.cta.exch.b32", |_, value| value;
    atomic_exch_64_relaxed_device: u64, reg64, "cvta.to.global.u64" "atom.relaxed.gpu.global.exch.b64", |_, value| value;
    atomic_exch_64_acquire_device: u64, reg64, "cvta.to.global.u64" "atom.acquire.gpu.global.exch.b64", |_, value| value;
    atomic_exch_64_release_device: u64, reg64, "cvta.to.global.u64" "atom.release.gpu.global.exch.b64", |_, value| value;
    atomic_exch_64_acqrel_device: u64, reg64, "cvta.to.global.u64" "atom.acq_rel.gpu.global.exch.b64", |_, value| value;
    atomic_exch_64_relaxed_block: u64, reg64, "mov.u64" "atom.relaxed.cta.exch.b64", |_, value| value;
    atomic_exch_64_relaxed_shared: u64, reg64, "cvta.to.shared.u64" "atom.relaxed.cta.shared.exch.b64", |_, value| value;
    atomic_exch_64_acquire_block: u64, reg64, "mov.u64" "atom.acquire.cta.exch.b64", |_, value| value;
    atomic_exch_64_release_block: u64, reg64, "mov.u64" "atom.release.cta.exch.b64", |_, value| value;
    atomic_exch_64_acqrel_block: u64, reg64, "mov.u64" "atom.acq_rel.cta.exch.b64", |_, value| value;
}

macro_rules! compare_and_swaps {
    ($($name:ident: $ty:ty, $class:ident, $space:literal $instruction:literal;)*) => {$(
        #[doc = concat!("Stores `new` at `ptr` if `current` is there, and returns what was there: `", $instruction, "`.")]
        ///
        /// In the emulator, if the word was not `current`, other threads run before the function returns.
        ///
        /// # Safety
        ///
        /// The contract of [all accesses](super#safety-of-the-accesses).
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name(ptr: *mut $ty, current: $ty, new: $ty) -> $ty {
            #[cfg(target_arch = "nvptx64")]
            {
                let old: $ty;
                // SAFETY: the caller guarantees that the pointer meets the contract of all accesses.
                unsafe {
                    core::arch::asm!(
                        concat!("{{ .reg .u64 p; ", $space, " p, {1}; ", $instruction, " {0}, [p], {2}, {3}; }}"),
                        out($class) old, in(reg64) ptr, in($class) current, in($class) new,
                        options(nostack, preserves_flags),
                    );
                }
                old
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                emulator::before_atomic(stringify!($name), $space, ptr);
                // SAFETY: the caller guarantees the pointer. All threads of the emulator run on this OS
                // thread, so no other access is concurrent.
                let old = unsafe { ptr.read_volatile() };
                let stored = if old == current { new } else { old };
                // SAFETY: the caller guarantees the pointer. All threads of the emulator run on this OS
                // thread, so no other access is concurrent.
                unsafe { ptr.write_volatile(stored) };
                emulator::after_atomic(ptr, old, stored);
                old
            }
        }
    )*};
}

compare_and_swaps! {
    atomic_cas_32_relaxed_device: u32, reg32, "cvta.to.global.u64" "atom.relaxed.gpu.global.cas.b32";
    atomic_cas_32_acquire_device: u32, reg32, "cvta.to.global.u64" "atom.acquire.gpu.global.cas.b32";
    atomic_cas_32_release_device: u32, reg32, "cvta.to.global.u64" "atom.release.gpu.global.cas.b32";
    atomic_cas_32_acqrel_device: u32, reg32, "cvta.to.global.u64" "atom.acq_rel.gpu.global.cas.b32";
    atomic_cas_32_relaxed_block: u32, reg32, "mov.u64" "atom.relaxed.cta.cas.b32";
    atomic_cas_32_relaxed_shared: u32, reg32, "cvta.to.shared.u64" "atom.relaxed.cta.shared.cas.b32";
    atomic_cas_32_acquire_block: u32, reg32, "mov.u64" "atom.acquire.cta.cas.b32";
    atomic_cas_32_release_block: u32, reg32, "mov.u64" "atom.release.cta.cas.b32";
    atomic_cas_32_acqrel_block: u32, reg32, "mov.u64" "atom.acq_rel.cta.cas.b32";
    atomic_cas_64_relaxed_device: u64, reg64, "cvta.to.global.u64" "atom.relaxed.gpu.global.cas.b64";
    atomic_cas_64_acquire_device: u64, reg64, "cvta.to.global.u64" "atom.acquire.gpu.global.cas.b64";
    atomic_cas_64_release_device: u64, reg64, "cvta.to.global.u64" "atom.release.gpu.global.cas.b64";
    atomic_cas_64_acqrel_device: u64, reg64, "cvta.to.global.u64" "atom.acq_rel.gpu.global.cas.b64";
    atomic_cas_64_relaxed_block: u64, reg64, "mov.u64" "atom.relaxed.cta.cas.b64";
    atomic_cas_64_relaxed_shared: u64, reg64, "cvta.to.shared.u64" "atom.relaxed.cta.shared.cas.b64";
    atomic_cas_64_acquire_block: u64, reg64, "mov.u64" "atom.acquire.cta.cas.b64";
    atomic_cas_64_release_block: u64, reg64, "mov.u64" "atom.release.cta.cas.b64";
    atomic_cas_64_acqrel_block: u64, reg64, "mov.u64" "atom.acq_rel.cta.cas.b64";
}

macro_rules! fences {
    ($($(#[$doc:meta])* $name:ident: $instruction:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn $name() {
            // SAFETY: a fence only orders this thread's accesses.
            #[cfg(target_arch = "nvptx64")]
            unsafe {
                core::arch::asm!($instruction, options(nostack, preserves_flags));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            emulator::fence(stringify!($name));
        }
    )*};
}

fences! {
    /// Orders this thread's accesses before the fence ahead of those after it, for the device:
    /// `fence.acq_rel.gpu`.
    ///
    /// Between a relaxed load and later reads, the fence makes the load an acquire load. Between writes and a
    /// relaxed store, it makes the store a release store.
    fence_acqrel_device: "fence.acq_rel.gpu;";
    /// [`fence_acqrel_device`] for the threads of the block: `fence.acq_rel.cta`.
    fence_acqrel_block: "fence.acq_rel.cta;";
    /// [`fence_acqrel_device`], with one order for all such fences of the device: `fence.sc.gpu`.
    fence_sc_device: "fence.sc.gpu;";
    /// [`fence_sc_device`] for the threads of the block: `fence.sc.cta`.
    fence_sc_block: "fence.sc.cta;";
}
