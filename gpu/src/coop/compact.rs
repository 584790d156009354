//! Compaction over a whole grid in one pass: the position of each kept element in a dense list of the kept
//! elements.
//!
//! A block takes a tile of [`COMPACT_TILE`] elements. A warp takes 128 of them, in four rows of 32, and a
//! lane takes one element of each row. One ballot per row has a bit for each lane that keeps its element. The
//! bits below a lane's own give its position in the row. The warps' counts are added in shared memory, the
//! blocks' counts by look-back. (With eight rows, the compiler did not unroll the loops, and the elements
//! went to local memory.)

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

/// Takes the block's tile. Returns the first of this thread's elements; its other elements follow at
/// distances of 32.
///
/// # Safety
/// All threads of the block call it together, once, with shared memory that nothing else uses.
#[inline(always)]
pub unsafe fn first_element(look_back: &LookBack<'_, u64>, shared: &Scratch) -> usize {
    let thread = thread_idx_x();
    if thread == 0 {
        // SAFETY: thread 0 is the only writer. The barrier below separates this write from the reads.
        unsafe { shared.tile.write(lookback::take_ticket(look_back)) };
    }
    sync_threads();
    // SAFETY: `sync_threads` is between the write by thread 0 and this read, and nothing else uses the shared
    // memory.
    let tile = unsafe { shared.tile.read() } as usize;
    let row = LANES as usize;
    tile * COMPACT_TILE + thread as usize / row * (COMPACT_ROWS * row) + thread as usize % row
}

/// The number of kept elements before each of this thread's elements.
///
/// # Safety
/// All threads of the block call it together, once, after [`first_element`], with the look-back and the
/// shared memory of that call.
#[inline(always)]
pub unsafe fn places(
    keep: [bool; COMPACT_ROWS],
    look_back: &LookBack<'_, u64>,
    shared: &Scratch,
) -> [u64; COMPACT_ROWS] {
    let thread = thread_idx_x();
    let (warp, lane) = (thread / LANES, thread % LANES);
    // SAFETY: the caller's contract: all threads of the block call this function together. A block has whole
    // warps, and no branch above depends on the lane.
    let kept = keep.map(|keep| unsafe { warp_vote_ballot(ALL, keep) });
    if lane == 0 {
        let count = kept.iter().map(|row| row.count_ones()).sum();
        // SAFETY: lane 0 of each warp writes its own element, before the barrier; `warp` is below `WARPS`.
        unsafe { shared.counts.add(warp as usize).write(count) };
    }
    sync_threads();
    let (mut in_warps_before, mut total) = (0, 0);
    let mut other = 0;
    while other < WARPS {
        // SAFETY: each warp wrote its count before `sync_threads`, and there are `WARPS` counts.
        let count = unsafe { shared.counts.add(other).read() };
        in_warps_before += if other < warp as usize { count } else { 0 };
        total += count;
        other += 1;
    }
    if warp == 0 {
        // SAFETY: thread 0 wrote the tile in `first_element`, before two barriers.
        let tile = unsafe { shared.tile.read() };
        // SAFETY: the branch on `warp` is the same for all lanes, so all lanes of the first warp call it,
        // once. `take_ticket` gives tickets in order, so the ticket of every tile to the left has been taken.
        let before = unsafe { lookback::prefix(look_back, tile, total as u64, lane) };
        if lane == 0 {
            // SAFETY: thread 0 is the only writer. The barrier below separates this write from the reads.
            unsafe { shared.before.write(before) };
        }
    }
    sync_threads();
    // SAFETY: `sync_threads` is between the write by thread 0 and this read. Nothing else uses
    // `shared.before`.
    let mut in_rows_before = unsafe { shared.before.read() } + in_warps_before as u64;
    kept.map(|row| {
        let place = in_rows_before + (row & ((1 << lane) - 1)).count_ones() as u64;
        in_rows_before += row.count_ones() as u64;
        place
    })
}
