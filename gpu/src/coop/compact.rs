//! Which place each of some elements takes in a dense list of those that are kept: over a whole grid, in one pass.
//!
//! A block takes a tile of [`COMPACT_TILE`] elements, a warp 128 of them, in four rows of 32, a lane one of each row. A ballot a row says which
//! lanes keep theirs; the bits below a lane's own are its place in the row, the warps' counts are added in shared memory,
//! and the blocks' by look-back. (Eight rows were not unrolled, and their elements went to local memory.)

use cuda_std::thread::{sync_threads, thread_idx_x};
use cuda_std::warp::warp_vote_ballot;
use warpath_shared::kernel::{COMPACT_ROWS, COMPACT_TILE, LookBack};

use super::warp::ALL;
use super::{LANES, WARPS, lookback};

/// Shared memory of one compaction.
pub struct Scratch {
    /// One element.
    pub tile: *mut u32,
    /// [`WARPS`] elements.
    pub counts: *mut u32,
    /// One element.
    pub before: *mut u64,
}

/// The first of this thread's elements; the others follow 32 apart. Takes the block's tile.
///
/// # Safety
/// All threads of the block call it together, once, with shared memory that nothing else uses.
#[inline(always)]
pub unsafe fn first_element(look_back: &LookBack<'_, u64>, shared: &Scratch) -> usize {
    let thread = thread_idx_x();
    if thread == 0 {
        // SAFETY: one writer, before the barrier.
        unsafe { shared.tile.write(lookback::take_ticket(look_back)) };
    }
    sync_threads();
    // SAFETY: written before the barrier.
    let tile = unsafe { shared.tile.read() } as usize;
    let row = LANES as usize;
    tile * COMPACT_TILE + thread as usize / row * (COMPACT_ROWS * row) + thread as usize % row
}

/// How many elements are kept before each of this thread's.
///
/// # Safety
/// All threads of the block call it together, once, after [`first_element`], with the same look-back and shared memory.
#[inline(always)]
pub unsafe fn places(
    keep: [bool; COMPACT_ROWS],
    look_back: &LookBack<'_, u64>,
    shared: &Scratch,
) -> [u64; COMPACT_ROWS] {
    let thread = thread_idx_x();
    let (warp, lane) = (thread / LANES, thread % LANES);
    // SAFETY: all lanes are here.
    let kept = keep.map(|keep| unsafe { warp_vote_ballot(ALL, keep) });
    if lane == 0 {
        let count = kept.iter().map(|row| row.count_ones()).sum();
        // SAFETY: one writer an element, before the barrier.
        unsafe { shared.counts.add(warp as usize).write(count) };
    }
    sync_threads();
    let (mut in_warps_before, mut total) = (0, 0);
    let mut other = 0;
    while other < WARPS {
        // SAFETY: written before the barrier.
        let count = unsafe { shared.counts.add(other).read() };
        in_warps_before += if other < warp as usize { count } else { 0 };
        total += count;
        other += 1;
    }
    if warp == 0 {
        // SAFETY: written before the barriers.
        let tile = unsafe { shared.tile.read() };
        // SAFETY: all lanes of the first warp are here, once; tickets are dealt in order.
        let before = unsafe { lookback::prefix(look_back, tile, total as u64, lane) };
        if lane == 0 {
            // SAFETY: one writer, before the barrier.
            unsafe { shared.before.write(before) };
        }
    }
    sync_threads();
    // SAFETY: written before the barrier.
    let mut in_rows_before = unsafe { shared.before.read() } + in_warps_before as u64;
    kept.map(|row| {
        let place = in_rows_before + (row & ((1 << lane) - 1)).count_ones() as u64;
        in_rows_before += row.count_ones() as u64;
        place
    })
}
