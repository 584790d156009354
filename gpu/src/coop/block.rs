//! Operations of the threads of a block. Every thread of the block must call each of them.

use cuda_std::thread::{sync_threads, thread_idx_x};
use warpath_shared::index::Monoid;

use super::warp::{self, Shuffle};
use super::{LANES, WARPS};

/// The result of a scan over a block, as one thread gets it.
#[derive(Clone, Copy)]
pub struct Scanned<T> {
    /// The sum of the values of all threads before this one.
    pub before: T,
    /// The sum of all threads' values, the same in every thread.
    pub total: T,
}

/// Scans one value per thread.
///
/// Each warp scans its own values. Then every warp scans the eight warps' sums in its first eight lanes, so
/// all warps do the same work there. This scan takes three combinations. A loop in which each thread folds
/// all eight sums would take eight.
///
/// # Safety
/// All threads of a block of [`BLOCK_THREADS`](warpath_shared::units::BLOCK_THREADS) call it together.
/// `scratch` is [`WARPS`] elements of shared memory, the same for all threads. Nothing else accesses
/// `scratch` between the last barrier before the call and the first barrier after it.
#[inline(always)]
pub unsafe fn exclusive_scan<T: Monoid + Shuffle>(value: T, scratch: *mut T) -> Scanned<T> {
    let thread = thread_idx_x();
    let (warp, lane) = (thread / LANES, thread % LANES);
    // SAFETY: the caller's contract: all threads of the block call this function together. A block of
    // `BLOCK_THREADS` threads has whole warps, and no branch above depends on the lane.
    let inclusive = unsafe { warp_sums(value, scratch, warp, lane) };
    sync_threads();
    // SAFETY: `sync_threads` is between the writes of `warp_sums` and this read. No branch above depends on
    // the lane, so all lanes of each warp call it.
    let sums = unsafe { scan_sums(scratch, lane) };
    // SAFETY: no branch above depends on the lane, so all 32 lanes of each warp call these functions. `warp`
    // is the same in all lanes of a warp, so all of them read the same lane.
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

/// Scans each warp's values and writes the warp's sum to `scratch`.
///
/// # Safety
/// The contract of [`exclusive_scan`].
#[inline(always)]
unsafe fn warp_sums<T: Monoid + Shuffle>(value: T, scratch: *mut T, warp: u32, lane: u32) -> T {
    // SAFETY: the caller's contract is that of `exclusive_scan`: all threads of the block call this function
    // together. The block has whole warps, and no branch above depends on the lane.
    let inclusive = unsafe { warp::inclusive_scan(value, lane) };
    if lane == LANES - 1 {
        // SAFETY: `warp` is below `WARPS`, because the block has `BLOCK_THREADS` threads. Only this thread
        // writes the element.
        unsafe { scratch.add(warp as usize).write(inclusive) };
    }
    inclusive
}

/// The sum of the first *i* + 1 of [`WARPS`] values in shared memory, in lane *i*. There is one value per
/// warp. Valid in lanes below [`WARPS`].
///
/// # Safety
/// All lanes of a warp call it together, after a barrier that follows the last write to `scratch`.
#[inline(always)]
pub unsafe fn scan_sums<T: Monoid + Shuffle>(scratch: *mut T, lane: u32) -> T {
    let mut sum = T::default();
    if lane < WARPS as u32 {
        // SAFETY: `lane` is below `WARPS`, the length of `scratch`. By the caller's contract, a barrier
        // separates the write from this read.
        sum = unsafe { scratch.add(lane as usize).read() };
    }
    let mut delta = 1;
    while delta < WARPS as u32 {
        // SAFETY: the caller's contract: all lanes of the warp call this function together. The loop runs the
        // same number of rounds in each lane, and the branch on `lane` above has ended.
        let left = unsafe { warp::up(sum, delta) };
        if lane >= delta {
            sum = left.combine(sum);
        }
        delta *= 2;
    }
    sum
}
