//! In which state each tile begins.
//!
//! A newline ends everything, so a tile needs to know no more of the text at its left than goes back to the last newline.
//! [`line_states`] looks for that newline and reads from there: on most texts a stretch or two a tile, and no tile waits for
//! another. Where some tile begins further from its line's start than that, [`line_summaries`] and [`line_scan`] find all
//! states by scanning what tiles amount to; else they end at once. The host need not know which.
//!
//! *Threads*: a warp a tile; in the scan, a thread a tile. *Cost*: of [`line_states`], 2 KiB a tile for each stretch that it
//! looks back over; of the other two, the text read once.
//!
//! *Tried*: one pass in which tiles publish what they amount to and look back over one another (Merrill and Garland, as the
//! scans do). With tiles of 16 KiB, a block each, on an H200: 1.13 ms for 842 MB with windows of 32 tiles, half of it spent
//! waiting at the barrier behind the look-back; 1.43 ms with windows of 128 tiles and words that need no ordering. Some 500
//! blocks are in flight, and each waits for the slowest of those before it to have classified its text. Before that, two
//! passes of which the first summarised every tile: 1.56 ms.

use cuda_std::atomic::mid::atomic_store_32_relaxed_device;
use cuda_std::kernel;
use cuda_std::shared::shared_array;
use cuda_std::thread::{block_idx_x, thread_idx_x};
use cuda_std::wide::U32x4;
use warpath_shared::index::Monoid;
use warpath_shared::index::line::LineSummary;
use warpath_shared::kernel::{FAR, LineScanArgs, LineStatesArgs, LineSummariesArgs};
use warpath_shared::units::{STRETCH_BYTES, TILE_BYTES};
use warpath_shared::view::View;

use super::scan::{Element, Scratch, scan};
use crate::coop::stretch::{VECTORS, classify};
use crate::coop::words::Words;
use crate::coop::{LANES, WARPS};

/// Stretches at a tile's left in which its line's start is looked for.
const NEAR: usize = 8;

/// What the stretch that begins at byte `start` does to the state at its left. The same in every lane.
///
/// # Safety
/// As for [`classify`].
#[inline(always)]
unsafe fn summarise(text: View<'_, u8>, start: usize, staging: *mut U32x4, lane: u32) -> LineSummary {
    // SAFETY: all lanes are here.
    unsafe { Words::new(classify(text, start, staging, lane), false, lane).summary() }
}

/// Finds the state at the start of each tile, if the line's start is near.
///
/// # Safety
/// Launched as [`LineStates`](warpath_shared::kernel::LineStates) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn line_states(args: LineStatesArgs<'_>) {
    let staging = shared_array![U32x4; WARPS * VECTORS];
    let (warp, lane) = (thread_idx_x() / LANES, thread_idx_x() % LANES);
    let tile = block_idx_x() as usize * WARPS + warp as usize;
    if tile >= args.states.len() {
        return;
    }
    let staging = staging.wrapping_add(warp as usize * VECTORS);
    let mut state = LineSummary::default();
    let mut start = tile * TILE_BYTES;
    let furthest = start.saturating_sub(NEAR * STRETCH_BYTES);
    while start > furthest && !state.is_anchored() {
        start -= STRETCH_BYTES;
        // SAFETY: all lanes have the same `start` and the same `state`, so all are here; the staging is this warp's own.
        state = unsafe { summarise(args.text, start, staging, lane) }.combine(state);
    }
    if start == 0 {
        state = LineSummary::LINE_START.combine(state);
    }
    if lane == 0 {
        // SAFETY: one writer an element.
        unsafe { args.states.set(tile, state) };
        if !state.is_anchored() {
            // SAFETY: touched only atomically during the launch; all writers write the same.
            unsafe { atomic_store_32_relaxed_device(args.status.at(FAR, 1), 1) };
        }
    }
}

/// Summarises each tile, if some tile's state was not found.
///
/// # Safety
/// Launched as [`LineSummaries`](warpath_shared::kernel::LineSummaries) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn line_summaries(args: LineSummariesArgs<'_>) {
    let staging = shared_array![U32x4; WARPS * VECTORS];
    let (warp, lane) = (thread_idx_x() / LANES, thread_idx_x() % LANES);
    let tile = block_idx_x() as usize * WARPS + warp as usize;
    if tile >= args.summaries.len() || args.status.get(FAR) == 0 {
        return;
    }
    let staging = staging.wrapping_add(warp as usize * VECTORS);
    let mut all = LineSummary::default();
    let mut stretch = 0;
    while stretch < TILE_BYTES / STRETCH_BYTES {
        let start = tile * TILE_BYTES + stretch * STRETCH_BYTES;
        // SAFETY: all lanes are here; the staging is this warp's own.
        all = all.combine(unsafe { summarise(args.text, start, staging, lane) });
        stretch += 1;
    }
    if lane == 0 {
        // SAFETY: one writer an element.
        unsafe { args.summaries.set(tile, all) };
    }
}

/// Scans the summaries, if some tile's state was not found.
///
/// # Safety
/// Launched as [`LineScan`](warpath_shared::kernel::LineScan) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn line_scan(args: LineScanArgs<'_>) {
    let shared = Scratch {
        sums: shared_array![LineSummary; WARPS],
        before: shared_array![LineSummary; 1],
        tile: shared_array![u32; 1],
    };
    if args.status.get(FAR) == 0 {
        return;
    }
    let len = args.summaries.len();
    let load = |at| if at < len { args.summaries.get(at) } else { LineSummary::default() };
    // SAFETY: all threads of the grid read the same status, so every thread of the block is here; the shared memory is this
    // scan's own.
    let Element { at, before, .. } = unsafe { scan(&args.look_back, &shared, load) };
    if at < len {
        // SAFETY: one writer an element.
        unsafe { args.states.set(at, LineSummary::LINE_START.combine(before)) };
    }
}
