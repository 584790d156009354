//! In which state each tile begins.
//!
//! A newline ends everything, so a tile needs to know no more of the text at its left than goes back to the last newline.
//! [`line_states`] looks for that newline in the tile at its left and reads from there: on most texts a stretch or two, and
//! no tile waits for another. Where there is none in that whole tile, it has found what that tile does to the state at *its*
//! left; and a scan of what all have found gives all states. [`line_scan`] does that if some tile needs it, and else ends at
//! once. The host need not know.
//!
//! *Threads*: a warp a tile; in the scan, a thread a tile. *Cost*: 2 KiB read a tile for each stretch that is looked back
//! over.
//!
//! *Tried*: one pass in which tiles publish what they amount to and look back over one another (Merrill and Garland, as the
//! scans do). With tiles of 16 KiB, a block each, on an H200: 1.13 ms for 842 MB with windows of 32 tiles, half of it spent
//! waiting at the barrier behind the look-back; 1.43 ms with windows of 128 tiles and words that need no ordering. Some 500
//! blocks are in flight, and each waits for the slowest of those before it to have classified its text. Before that, two
//! passes of which the first summarised every tile: 1.56 ms.

use cuda_std::atomic::mid::atomic_store_32_relaxed_device;
use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, thread_idx_x};
use cuda_std::wide::U32x4;
use warpath_shared::index::Monoid;
use warpath_shared::index::line::LineSummary;
use warpath_shared::kernel::{FAR, LineScanArgs, LineStatesArgs};
use warpath_shared::units::{STRETCH_BYTES, TILE_BYTES};
use warpath_shared::view::View;

use super::scan::{Element, Scratch, scan};
use crate::coop::stretch::{VECTORS, classify, load};
use crate::coop::words::Words;
use crate::coop::{LANES, WARPS};

/// What the stretch that begins at byte `start` does to the state at its left. The same in every lane.
///
/// # Safety
/// As for [`classify`].
#[inline(always)]
unsafe fn summarise(text: View<'_, u8>, start: usize, staging: Shared<U32x4>, lane: u32) -> LineSummary {
    // SAFETY: all lanes are here.
    unsafe { Words::new(classify(load(text, start, lane), staging, lane), false, lane).summary() }
}

/// Finds the state at the start of each tile, if its line begins in the tile before it, and else what that tile does to the
/// state at its left.
///
/// # Safety
/// Launched as [`LineStates`](warpath_shared::kernel::LineStates) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn line_states(args: LineStatesArgs<'_>) {
    let staging = Shared::new(shared_array![U32x4; WARPS * VECTORS]);
    let (warp, lane) = (thread_idx_x() / LANES, thread_idx_x() % LANES);
    let tile = block_idx_x() as usize * WARPS + warp as usize;
    if tile >= args.states.len() {
        return;
    }
    let staging = staging.offset(warp * VECTORS as u32);
    let mut state = LineSummary::default();
    let mut start = tile * TILE_BYTES;
    let furthest = start.saturating_sub(TILE_BYTES);
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

/// Scans what was found into states, if some tile's line begins further away.
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
    let len = args.states.len();
    // SAFETY: each element is read, then written, by one thread.
    let load = |at| if at < len { unsafe { args.states.get(at) } } else { LineSummary::default() };
    // SAFETY: all threads of the grid read the same status, so every thread of the block is here; the shared memory is this
    // scan's own.
    let Element { at, before, value } = unsafe { scan(&args.look_back, &shared, load) };
    if at < len {
        // SAFETY: one writer an element.
        unsafe { args.states.set(at, before.combine(value)) };
    }
}
