//! Reductions over the lanes of a mask.
//!
//! A reduction is one instruction on sm_80 and later. On older cards the lanes read each other: in five
//! exchanges if the mask is full, else lane by lane.

#[cfg(target_arch = "nvptx64")]
use crate::device::intrinsics as device;
#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator::{self, WarpOp};

mod sealed {
    pub trait Sealed {}
}

/// `u32` or `i32`, the types that the hardware adds and compares across a warp.
pub trait WarpReduceValue: Copy + sealed::Sealed {
    #[doc(hidden)]
    unsafe fn sum(mask: u32, value: Self) -> Self;
    #[doc(hidden)]
    unsafe fn minimum(mask: u32, value: Self) -> Self;
    #[doc(hidden)]
    unsafe fn maximum(mask: u32, value: Self) -> Self;
}

/// Reduces by shuffles, for cards before sm_80.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn by_shuffles(mask: u32, value: u32, combine: impl Fn(u32, u32) -> u32) -> u32 {
    let mut total = value;
    if mask == u32::MAX {
        let mut distance = 16;
        while distance > 0 {
            // SAFETY: the caller guarantees the contract of all collectives for `mask`. The mask is full, so
            // it names every lane that is read.
            let (other, _) = unsafe { super::warp_shuffle_xor(mask, total, distance, 32) };
            total = combine(total, other);
            distance >>= 1;
        }
        return total;
    }
    let mut rest = mask;
    let mut started = false;
    while rest != 0 {
        // SAFETY: the lane that is read is in `mask`. All lanes of the mask have the same `mask`, so their
        // loops have the same number of rounds.
        let (other, _) = unsafe { super::warp_shuffle_idx(mask, value, rest.trailing_zeros(), 32) };
        total = if started { combine(total, other) } else { other };
        started = true;
        rest &= rest - 1;
    }
    total
}

macro_rules! reduction {
    ($mask:ident, $value:ident, $ty:ty, $redux:ident, $op:ident, $combine:expr) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            if cfg!(target_feature = "sm_80") {
                // SAFETY: the caller guarantees the contract of all collectives for `mask`. The target is
                // sm_80 or later, so it has the instruction.
                unsafe { device::$redux($value as _, $mask) as $ty }
            } else {
                let combine: fn($ty, $ty) -> $ty = $combine;
                // SAFETY: the caller guarantees the contract of all collectives for `mask`.
                unsafe { by_shuffles($mask, $value as u32, |a, b| combine(a as $ty, b as $ty) as u32) as $ty }
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            emulator::warp_collective(WarpOp::$op, $mask, u64::from($value as u32), 0).0 as u32 as $ty
        }
    }};
}

macro_rules! reduce_value {
    ($($ty:ty: $min:ident $min_op:ident, $max:ident $max_op:ident;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl WarpReduceValue for $ty {
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn sum(mask: u32, value: Self) -> Self {
                reduction!(mask, value, $ty, redux_add, ReduceAdd, <$ty>::wrapping_add)
            }
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn minimum(mask: u32, value: Self) -> Self {
                reduction!(mask, value, $ty, $min, $min_op, Ord::min)
            }
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn maximum(mask: u32, value: Self) -> Self {
                reduction!(mask, value, $ty, $max, $max_op, Ord::max)
            }
        }
    )*};
}

reduce_value! {
    u32: redux_min_u32 ReduceMinU32, redux_max_u32 ReduceMaxU32;
    i32: redux_min_i32 ReduceMinI32, redux_max_i32 ReduceMaxI32;
}

/// The sum of `value` over the lanes of `mask`, modulo 2³². The result is valid in each of them.
///
/// # Safety
///
/// The contract of [all collectives](super#safety-of-the-collectives).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_reduce_add<T: WarpReduceValue>(mask: u32, value: T) -> T {
    // SAFETY: the caller guarantees the contract of all collectives for `mask`.
    unsafe { T::sum(mask, value) }
}

/// The least `value` over the lanes of `mask`. The result is valid in each of them.
///
/// # Safety
///
/// The contract of [all collectives](super#safety-of-the-collectives).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_reduce_min<T: WarpReduceValue>(mask: u32, value: T) -> T {
    // SAFETY: the caller guarantees the contract of all collectives for `mask`.
    unsafe { T::minimum(mask, value) }
}

/// The greatest `value` over the lanes of `mask`. The result is valid in each of them.
///
/// # Safety
///
/// The contract of [all collectives](super#safety-of-the-collectives).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_reduce_max<T: WarpReduceValue>(mask: u32, value: T) -> T {
    // SAFETY: the caller guarantees the contract of all collectives for `mask`.
    unsafe { T::maximum(mask, value) }
}

/// The bitwise and of `value` over the lanes of `mask`. The result is valid in each of them.
///
/// # Safety
///
/// The contract of [all collectives](super#safety-of-the-collectives).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_reduce_and(mask: u32, value: u32) -> u32 {
    reduction!(mask, value, u32, redux_and, ReduceAnd, |a, b| a & b)
}

/// The bitwise or of `value` over the lanes of `mask`. The result is valid in each of them.
///
/// # Safety
///
/// The contract of [all collectives](super#safety-of-the-collectives).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_reduce_or(mask: u32, value: u32) -> u32 {
    reduction!(mask, value, u32, redux_or, ReduceOr, |a, b| a | b)
}

/// The bitwise exclusive or of `value` over the lanes of `mask`. The result is valid in each of them.
///
/// # Safety
///
/// The contract of [all collectives](super#safety-of-the-collectives).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_reduce_xor(mask: u32, value: u32) -> u32 {
    reduction!(mask, value, u32, redux_xor, ReduceXor, |a, b| a ^ b)
}
