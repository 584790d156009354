//! Device-wide scans of what tiles and lines amount to.
//!
//! *Threads*: a block for every 256 elements, a thread an element. *Cost*: the input read once, the output written
//! once, and a look-back over block sums ([`crate::coop::lookback`]). A text of 1 GiB has 32,768 tiles: 128 blocks.

use cuda_std::kernel;
use cuda_std::shared::shared_array;
use cuda_std::thread::{sync_threads, thread_idx_x};
use warpath_shared::index::Monoid;
use warpath_shared::kernel::{LookBack, Match, ScanArgs};
use warpath_shared::units::SCAN_TILE;

use crate::coop::warp::Shuffle;
use crate::coop::{LANES, WARPS, block, lookback};

/// Shared memory of one scan.
pub(super) struct Scratch<T> {
    /// [`WARPS`] elements.
    pub sums: *mut T,
    /// One element: the sum of everything before the tile.
    pub before: *mut T,
    /// One element.
    pub tile: *mut u32,
}

/// A thread's part of a device-wide scan.
pub(super) struct Element<T> {
    /// Which element is this thread's.
    pub at: usize,
    /// The element.
    pub value: T,
    /// The sum of all before it.
    pub before: T,
}

/// The sum of all elements before this thread's, and its element. `load` gives an element, the identity behind the last.
///
/// # Safety
/// All threads of the block call it together, once, with shared memory that nothing else uses.
#[inline(always)]
pub(super) unsafe fn scan<T: Monoid + Shuffle>(
    look_back: &LookBack<'_, T>,
    shared: &Scratch<T>,
    load: impl Fn(usize) -> T,
) -> Element<T> {
    let thread = thread_idx_x();
    if thread == 0 {
        // SAFETY: one writer, before the barrier.
        unsafe { shared.tile.write(lookback::take_ticket(look_back)) };
    }
    sync_threads();
    // SAFETY: written before the barrier.
    let tile = unsafe { shared.tile.read() };
    let at = tile as usize * SCAN_TILE + thread as usize;
    let value = load(at);
    // SAFETY: every thread of the block is here.
    let scanned = unsafe { block::exclusive_scan(value, shared.sums) };
    if thread < LANES {
        // SAFETY: all lanes of the first warp are here, once; tickets are dealt in order.
        let before = unsafe { lookback::prefix(look_back, tile, scanned.total, thread) };
        if thread == 0 {
            // SAFETY: one writer, before the barrier.
            unsafe { shared.before.write(before) };
        }
    }
    sync_threads();
    // SAFETY: written before the barrier.
    let before = unsafe { shared.before.read() }.combine(scanned.before);
    Element { at, value, before }
}

/// Scans what each element of the input comes to into offsets.
///
/// # Safety
/// As for [`scan`].
#[inline(always)]
pub(super) unsafe fn offsets<I: Copy, T: Monoid + Shuffle>(
    args: &ScanArgs<'_, I, T>,
    shared: &Scratch<T>,
    length: impl Fn(I) -> T,
) {
    let len = args.input.len();
    let load = |at| if at < len { length(args.input.get(at)) } else { T::default() };
    // SAFETY: the caller's contract is the same.
    let Element { at, value, before } = unsafe { scan(&args.look_back, shared, load) };
    if at < len {
        // SAFETY: each element has one writer.
        unsafe { args.output.set(at, before) };
    }
    if at + 1 == len {
        // SAFETY: as above: this is the thread of the last element.
        unsafe { args.output.set(len, before.combine(value)) };
    }
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
    // SAFETY: every thread of the block is here, and the shared memory is this scan's own.
    unsafe { offsets(&args, &shared, |count| count) };
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
    unsafe { offsets(&args, &shared, |found| (found.end - found.start) as u64 + 1) };
}
