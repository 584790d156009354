//! Device-wide scans of what tiles and lines amount to.
//!
//! *Threads*: a block for every 256 elements, a thread an element. *Cost*: the input read once, the output written
//! once, and a look-back over block sums ([`crate::coop::lookback`]). A text of 1 GiB has 65,536 tiles: 256 blocks.

use cuda_std::kernel;
use cuda_std::shared::shared_array;
use cuda_std::thread::{sync_threads, thread_idx_x};
use warpath_shared::index::Monoid;
use warpath_shared::index::level::KindWrites;
use warpath_shared::index::line::LineSummary;
use warpath_shared::kernel::{Match, ScanArgs};
use warpath_shared::units::SCAN_TILE;

use crate::coop::warp::Shuffle;
use crate::coop::{LANES, WARPS, block, lookback};

/// Shared memory of one scan.
struct Scratch<T> {
    /// [`WARPS`] elements.
    sums: *mut T,
    /// One element: the sum of everything before the tile.
    before: *mut T,
    /// One element.
    tile: *mut u32,
}

/// # Safety
/// All threads of the block call it together, with shared memory that nothing else uses.
#[inline(always)]
unsafe fn scan<I: Copy, T: Monoid + Shuffle>(
    args: &ScanArgs<'_, I, T>,
    shared: &Scratch<T>,
    load: impl Fn(I) -> T,
) {
    let thread = thread_idx_x();
    if thread == 0 {
        // SAFETY: one writer, before the barrier.
        unsafe { shared.tile.write(lookback::take_ticket(&args.look_back)) };
    }
    sync_threads();
    // SAFETY: written before the barrier.
    let tile = unsafe { shared.tile.read() };
    let (at, len) = (tile as usize * SCAN_TILE + thread as usize, args.input.len());
    let value = if at < len { load(args.input.get(at)) } else { T::default() };
    // SAFETY: every thread of the block is here.
    let scanned = unsafe { block::exclusive_scan(value, shared.sums) };
    if thread < LANES {
        // SAFETY: all lanes of the first warp are here, once; tickets are dealt in order.
        let before = unsafe { lookback::prefix(&args.look_back, tile, scanned.total, thread) };
        if thread == 0 {
            // SAFETY: one writer, before the barrier.
            unsafe { shared.before.write(before) };
        }
    }
    sync_threads();
    // SAFETY: written before the barrier.
    let before = unsafe { shared.before.read() }.combine(scanned.before);
    if at < len {
        // SAFETY: each element has one writer.
        unsafe { args.output.set(at, before) };
    }
    if at + 1 == len {
        // SAFETY: as above: this is the thread of the last element.
        unsafe { args.output.set(len, before.combine(value)) };
    }
}

/// Scans line summaries.
///
/// # Safety
/// Launched as [`LineScan`](warpath_shared::kernel::LineScan) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn line_scan(args: ScanArgs<'_, LineSummary, LineSummary>) {
    let shared = Scratch {
        sums: shared_array![LineSummary; WARPS],
        before: shared_array![LineSummary; 1],
        tile: shared_array![u32; 1],
    };
    // SAFETY: every thread of the block is here, and the shared memory is this scan's own.
    unsafe { scan(&args, &shared, |summary| summary) };
}

/// Scans bracket kinds.
///
/// # Safety
/// Launched as [`KindScan`](warpath_shared::kernel::KindScan) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn kind_scan(args: ScanArgs<'_, KindWrites, KindWrites>) {
    let shared = Scratch {
        sums: shared_array![KindWrites; WARPS],
        before: shared_array![KindWrites; 1],
        tile: shared_array![u32; 1],
    };
    // SAFETY: as above.
    unsafe { scan(&args, &shared, |kinds| kinds) };
}

/// Scans counts into offsets.
///
/// # Safety
/// Launched as [`CountScan`](warpath_shared::kernel::CountScan) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn count_scan(args: ScanArgs<'_, u64, u64>) {
    let shared = Scratch {
        sums: shared_array![u64; WARPS],
        before: shared_array![u64; 1],
        tile: shared_array![u32; 1],
    };
    // SAFETY: as above.
    unsafe { scan(&args, &shared, |count| count) };
}

/// Scans the lengths of matches, each with a newline behind it.
///
/// # Safety
/// Launched as [`TextScan`](warpath_shared::kernel::TextScan) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn text_scan(args: ScanArgs<'_, Match, u64>) {
    let shared = Scratch {
        sums: shared_array![u64; WARPS],
        before: shared_array![u64; 1],
        tile: shared_array![u32; 1],
    };
    // SAFETY: as above.
    unsafe { scan(&args, &shared, |found| (found.end - found.start) as u64 + 1) };
}
