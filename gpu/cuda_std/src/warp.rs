//! The collectives of the 32 lanes of a warp: votes, matches, shuffles and reductions.
//!
//! Each collective takes a `mask`, in which bit *i* names lane *i*.
//!
//! # Safety of the collectives
//!
//! All collectives have the same contract. Every lane that `mask` names must call the same function with the
//! same `mask`. None of these lanes may have exited, and the calling lane must be one of them. Otherwise the
//! card hangs or gives arbitrary values, and the emulator reports a fault.

mod reduce;
mod shuffle;

pub use reduce::{
    WarpReduceValue, warp_reduce_add, warp_reduce_and, warp_reduce_max, warp_reduce_min, warp_reduce_or,
    warp_reduce_xor,
};
pub use shuffle::{
    WarpShuffleMode, WarpShuffleValue, warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor,
};

#[cfg(target_arch = "nvptx64")]
use crate::device::intrinsics as device;
#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator::{self, WarpOp};

/// The mask that names every lane.
pub const FULL_MASK: u32 = u32::MAX;

/// The lane of this thread, 0 to 31. Threads are counted along x first, then y, then z.
#[inline(always)]
#[must_use]
pub fn lane_id() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return device::laneid();
    #[cfg(not(target_arch = "nvptx64"))]
    return emulator::lane_id();
}

/// The lanes that happen to run together with this lane at this moment, this lane included.
///
/// The result says nothing about the next instruction: do not use it as the mask of a collective that needs
/// certain lanes. The emulator runs lanes one at a time and returns only the calling lane.
#[inline(always)]
#[must_use]
pub fn activemask() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return device::activemask();
    #[cfg(not(target_arch = "nvptx64"))]
    return 1 << emulator::lane_id();
}

/// Waits for the lanes of `mask`. Afterwards each of them sees what any of them wrote to memory before.
///
/// # Safety
///
/// The contract of [all collectives](self#safety-of-the-collectives).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller guarantees the contract of all collectives for `mask`.
    #[cfg(target_arch = "nvptx64")]
    unsafe {
        device::bar_warp_sync(mask);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    emulator::warp_collective(WarpOp::Sync, mask, 0, 0);
}

/// Returns `true` if `predicate` holds in every lane of `mask`. The result is valid in each of them.
///
/// # Safety
///
/// The contract of [all collectives](self#safety-of-the-collectives).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller guarantees the contract of all collectives for `mask`.
    #[cfg(target_arch = "nvptx64")]
    return unsafe { device::vote_all(mask, predicate) };
    #[cfg(not(target_arch = "nvptx64"))]
    return emulator::warp_collective(WarpOp::All, mask, predicate.into(), 0).1;
}

/// Returns `true` if `predicate` holds in some lane of `mask`. The result is valid in each of them.
///
/// # Safety
///
/// The contract of [all collectives](self#safety-of-the-collectives).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller guarantees the contract of all collectives for `mask`.
    #[cfg(target_arch = "nvptx64")]
    return unsafe { device::vote_any(mask, predicate) };
    #[cfg(not(target_arch = "nvptx64"))]
    return emulator::warp_collective(WarpOp::Any, mask, predicate.into(), 0).1;
}

/// The lanes of `mask` in which `predicate` holds, as a mask. The result is valid in each of them.
///
/// # Safety
///
/// The contract of [all collectives](self#safety-of-the-collectives).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the caller guarantees the contract of all collectives for `mask`.
    #[cfg(target_arch = "nvptx64")]
    return unsafe { device::vote_ballot(mask, predicate) };
    #[cfg(not(target_arch = "nvptx64"))]
    return emulator::warp_collective(WarpOp::Ballot, mask, predicate.into(), 0).0 as u32;
}

/// The lanes of `mask` whose `value` equals this lane's value, as a mask. Each lane gets its own group.
///
/// # Safety
///
/// The contract of [all collectives](self#safety-of-the-collectives).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_match_any_32(mask: u32, value: u32) -> u32 {
    // SAFETY: the caller guarantees the contract of all collectives for `mask`.
    #[cfg(target_arch = "nvptx64")]
    return unsafe { device::match_any_32(mask, value) };
    #[cfg(not(target_arch = "nvptx64"))]
    return emulator::warp_collective(WarpOp::MatchAny32, mask, value.into(), 0).0 as u32;
}

/// [`warp_match_any_32`] for 64-bit values.
///
/// # Safety
///
/// The contract of [all collectives](self#safety-of-the-collectives).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_match_any_64(mask: u32, value: u64) -> u32 {
    // SAFETY: the caller guarantees the contract of all collectives for `mask`.
    #[cfg(target_arch = "nvptx64")]
    return unsafe { device::match_any_64(mask, value) };
    #[cfg(not(target_arch = "nvptx64"))]
    return emulator::warp_collective(WarpOp::MatchAny64, mask, value, 0).0 as u32;
}

/// Compares the `value` of all lanes of `mask`: returns `(mask, true)` in each of them if all are equal, else
/// `(0, false)`.
///
/// # Safety
///
/// The contract of [all collectives](self#safety-of-the-collectives).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_match_all_32(mask: u32, value: u32) -> (u32, bool) {
    // SAFETY: the caller guarantees the contract of all collectives for `mask`.
    #[cfg(target_arch = "nvptx64")]
    return unsafe { device::match_all_32(mask, value) };
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let (lanes, same) = emulator::warp_collective(WarpOp::MatchAll32, mask, value.into(), 0);
        (lanes as u32, same)
    }
}

/// [`warp_match_all_32`] for 64-bit values.
///
/// # Safety
///
/// The contract of [all collectives](self#safety-of-the-collectives).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_match_all_64(mask: u32, value: u64) -> (u32, bool) {
    // SAFETY: the caller guarantees the contract of all collectives for `mask`.
    #[cfg(target_arch = "nvptx64")]
    return unsafe { device::match_all_64(mask, value) };
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let (lanes, same) = emulator::warp_collective(WarpOp::MatchAll64, mask, value, 0);
        (lanes as u32, same)
    }
}
