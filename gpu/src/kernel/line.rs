//! The state in which each tile begins.
//!
//! A newline ends every string and every record. A tile therefore needs only the text between the last
//! newline and its own first byte. [`line_states`] looks for that newline in the tile at the left, one
//! stretch at a time, and reads from there on. In most texts one or two stretches are enough, and no tile
//! waits for another. If the whole tile at the left has no newline, [`line_states`] has computed the effect
//! of that tile on the state at *its* left. A scan of these effects gives all states. [`line_scan`] runs that
//! scan if some tile needs it and returns at once otherwise, so the host need not know which case holds.
//!
//! *Threads*: one warp a tile; in the scan, one thread a tile.
//! *Cost*: 2 KiB read a tile for each stretch that is looked back over.
//!
//! *Tried and lost*: one pass in which tiles publish their summaries and look back over one another (Merrill
//! and Garland), as the scans do. With tiles of 16 KiB, one block each, on an H200, 842 MB took 1.13 ms with
//! windows of 32 tiles. Half of that time was spent at the barrier after the look-back. With windows of 128
//! tiles and words that need no ordering it took 1.43 ms. Some 500 blocks are in flight, and each waits until
//! the slowest block before it has classified its text. Before that, two passes, of which the first
//! summarised every tile: 1.56 ms.

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

/// The effect of the stretch that begins at byte `start` on the state at its left. The same in every lane.
///
/// # Safety
/// See [`classify`].
#[inline(always)]
unsafe fn summarise(text: View<'_, u8>, start: usize, staging: Shared<U32x4>, lane: u32) -> LineSummary {
    // SAFETY: the caller upholds the contract of `classify`, which is the contract of `Words` as well: all
    // lanes of the warp call it together.
    unsafe { Words::new(classify(load(text, start, lane), staging, lane), false, lane).summary() }
}

/// Finds the state at the start of each tile if the tile's line begins in the tile before it. Otherwise finds
/// the effect of the tile before it on the state at that tile's left.
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
        // SAFETY: blocks are whole warps, and `tile`, `start` and `state` are the same in all lanes, so all
        // lanes are here. The staging is this warp's own.
        state = unsafe { summarise(args.text, start, staging, lane) }.combine(state);
    }
    if start == 0 {
        state = LineSummary::LINE_START.combine(state);
    }
    if lane == 0 {
        // SAFETY: one warp a tile, and only its lane 0 writes, so each element has one writer.
        unsafe { args.states.set(tile, state) };
        if !state.is_anchored() {
            // SAFETY: the word is touched only atomically during the launch, and all writers write the same
            // value.
            unsafe { atomic_store_32_relaxed_device(args.status.at(FAR, 1), 1) };
        }
    }
}

/// Scans the effects into states, if the line of some tile begins before the tile at its left.
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
    // SAFETY: each element is read and then written by the same thread, and by no other.
    let load = |at| if at < len { unsafe { args.states.get(at) } } else { LineSummary::default() };
    // SAFETY: all threads of the grid read the same status, which no thread of this launch writes, so every
    // thread of the block is here. The shared memory is this scan's own.
    let Element { at, before, value } = unsafe { scan(&args.look_back, &shared, load) };
    if at < len {
        // SAFETY: the scan gives each element to one thread, so each has one writer.
        unsafe { args.states.set(at, before.combine(value)) };
    }
}
