//! What the threads of a block do together. Every thread of the block must call each of these.

use cuda_std::thread::{sync_threads, thread_idx_x};
use warpath_shared::index::Monoid;

use super::warp::{self, Shuffle};
use super::{LANES, WARPS};

/// A thread's part of a scan over its block.
#[derive(Clone, Copy)]
pub struct Scanned<T> {
    /// The sum of the values of all threads before this one.
    pub before: T,
    /// The sum of all threads' values, the same in every thread.
    pub total: T,
}

/// Scans one value a thread.
///
/// Each warp scans its own values, then, each for itself, the eight warps' sums in its first eight lanes. (A thread that
/// folds all eight sums one after the other takes eight combinations for three.)
///
/// # Safety
/// All threads of a block of [`BLOCK_THREADS`](warpath_shared::units::BLOCK_THREADS) call it together.
/// `scratch` is [`WARPS`] elements of shared memory, the same for all threads, that nobody touches between
/// the barrier before the call and the one after it.
#[inline(always)]
pub unsafe fn exclusive_scan<T: Monoid + Shuffle>(value: T, scratch: *mut T) -> Scanned<T> {
    let thread = thread_idx_x();
    let (warp, lane) = (thread / LANES, thread % LANES);
    // SAFETY: all threads of the block are here, so all lanes of each warp.
    let inclusive = unsafe { warp_sums(value, scratch, warp, lane) };
    sync_threads();
    // SAFETY: the sums were written before the barrier, and all lanes are here.
    let sums = unsafe { scan_sums(scratch, lane) };
    // SAFETY: all lanes are here, and all of a warp ask the same lane.
    let (total, before, left) = unsafe {
        (
            warp::from_lane(sums, WARPS as u32 - 1),
            warp::from_lane(sums, warp.saturating_sub(1)),
            warp::up(inclusive, 1),
        )
    };
    let before = if warp == 0 { T::default() } else { before };
    Scanned { before: if lane == 0 { before } else { before.combine(left) }, total }
}

/// Scans each warp's values and leaves its sum in `scratch`.
///
/// # Safety
/// As for [`exclusive_scan`].
#[inline(always)]
unsafe fn warp_sums<T: Monoid + Shuffle>(value: T, scratch: *mut T, warp: u32, lane: u32) -> T {
    // SAFETY: all lanes are here.
    let inclusive = unsafe { warp::inclusive_scan(value, lane) };
    if lane == LANES - 1 {
        // SAFETY: `warp` is below `WARPS`, and only this thread writes the element.
        unsafe { scratch.add(warp as usize).write(inclusive) };
    }
    inclusive
}

/// Lane *i* gets the sum of the first *i* + 1 of [`WARPS`] values in shared memory, one a warp. Valid in lanes below
/// [`WARPS`].
///
/// # Safety
/// All lanes of a warp call it together, after a barrier behind the last write to `scratch`.
#[inline(always)]
pub unsafe fn scan_sums<T: Monoid + Shuffle>(scratch: *mut T, lane: u32) -> T {
    let mut sum = T::default();
    if lane < WARPS as u32 {
        // SAFETY: the element is there, and was written before the barrier.
        sum = unsafe { scratch.add(lane as usize).read() };
    }
    let mut delta = 1;
    while delta < WARPS as u32 {
        // SAFETY: all lanes are here.
        let left = unsafe { warp::up(sum, delta) };
        if lane >= delta {
            sum = left.combine(sum);
        }
        delta *= 2;
    }
    sum
}
