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
/// # Safety
/// All threads of a block of [`BLOCK_THREADS`](warpath_shared::units::BLOCK_THREADS) call it together.
/// `scratch` is [`WARPS`] elements of shared memory, the same for all threads, that nobody touches between
/// the barrier before the call and the one after it.
#[inline(always)]
pub unsafe fn exclusive_scan<T: Monoid + Shuffle>(value: T, scratch: *mut T) -> Scanned<T> {
    let thread = thread_idx_x();
    let (warp, lane) = ((thread / LANES) as usize, thread % LANES);
    // SAFETY: all threads of the block are here, so all lanes of each warp.
    let inclusive = unsafe { warp::inclusive_scan(value, lane) };
    if lane == LANES - 1 {
        // SAFETY: `warp` is below `WARPS`, and only this thread writes the element.
        unsafe { scratch.add(warp).write(inclusive) };
    }
    sync_threads();
    let (mut before, mut total) = (T::default(), T::default());
    let mut other = 0;
    while other < WARPS {
        if other == warp {
            before = total;
        }
        // SAFETY: written before the barrier, by each warp's last lane.
        total = total.combine(unsafe { scratch.add(other).read() });
        other += 1;
    }
    // SAFETY: as above.
    let left = unsafe { warp::up(inclusive, 1) };
    Scanned { before: if lane == 0 { before } else { before.combine(left) }, total }
}
