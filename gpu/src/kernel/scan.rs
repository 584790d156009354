//! Device-wide scans over the values of tiles and lines.
//!
//! *Threads*: one block for every 256 elements, one thread an element.
//! *Cost*: the input read once, the output written once, and a look-back over block sums
//! ([`crate::coop::lookback`]). A text of 1 GiB has 32,768 tiles: 128 blocks.

use cuda_std::kernel;
use cuda_std::shared::shared_array;
use cuda_std::thread::{sync_threads, thread_idx_x};
use warpath_shared::index::Monoid;
use warpath_shared::kernel::{LookBack, Match, ScanArgs};
use warpath_shared::units::SCAN_TILE;

use crate::coop::warp::Shuffle;
use crate::coop::{LANES, WARPS, block, lookback};

/// Shared memory of one scan.
pub struct Scratch<T> {
    /// [`WARPS`] elements.
    pub sums: *mut T,
    /// One element: the sum of everything before the tile.
    pub before: *mut T,
    /// One element.
    pub tile: *mut u32,
}

/// A thread's part of a device-wide scan.
pub struct Element<T> {
    /// The index of this thread's element.
    pub at: usize,
    /// The element at this index.
    pub value: T,
    /// The sum of all elements before it.
    pub before: T,
}

/// Returns this thread's element and the sum of all elements before it. `load` returns the element at an
/// index, and the identity at an index after the last.
///
/// # Safety
/// All threads of the block call it together, once, with shared memory that nothing else uses.
#[inline(always)]
pub unsafe fn scan<T: Monoid + Shuffle>(
    look_back: &LookBack<'_, T>,
    shared: &Scratch<T>,
    load: impl Fn(usize) -> T,
) -> Element<T> {
    let thread = thread_idx_x();
    if thread == 0 {
        // SAFETY: only thread 0 writes, and the others read after the barrier.
        unsafe { shared.tile.write(lookback::take_ticket(look_back)) };
    }
    sync_threads();
    // SAFETY: thread 0 wrote the ticket before the barrier.
    let tile = unsafe { shared.tile.read() };
    let at = tile as usize * SCAN_TILE + thread as usize;
    let value = load(at);
    // SAFETY: the caller brings every thread of the block, and no branch around this call depends on the
    // thread.
    let scanned = unsafe { block::exclusive_scan(value, shared.sums) };
    if thread < LANES {
        // SAFETY: `thread < LANES` holds for the whole first warp and no other, so all its lanes are here,
        // once. Tickets are dealt in order.
        let before = unsafe { lookback::prefix(look_back, tile, scanned.total, thread) };
        if thread == 0 {
            // SAFETY: only thread 0 writes, and the others read after the barrier.
            unsafe { shared.before.write(before) };
        }
    }
    sync_threads();
    // SAFETY: thread 0 wrote the sum before the barrier.
    let before = unsafe { shared.before.read() }.combine(scanned.before);
    Element { at, value, before }
}

/// Scans the lengths of the input's elements into offsets.
///
/// # Safety
/// See [`scan`].
#[inline(always)]
pub unsafe fn offsets<I: Copy, T: Monoid + Shuffle>(
    args: &ScanArgs<'_, I, T>,
    shared: &Scratch<T>,
    length: impl Fn(I) -> T,
) {
    let len = args.input.len();
    let load = |at| if at < len { length(args.input.get(at)) } else { T::default() };
    // SAFETY: the caller upholds the contract of `scan`, which is the contract of this function.
    let Element { at, value, before } = unsafe { scan(&args.look_back, shared, load) };
    if at < len {
        // SAFETY: the scan gives each element to one thread, so each has one writer.
        unsafe { args.output.set(at, before) };
    }
    if at + 1 == len {
        // SAFETY: only the thread of the last element is here, and no element has the index `len`.
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
    // SAFETY: no branch comes before this call, so every thread of the block is here. The shared memory is
    // this scan's own.
    unsafe { offsets(&args, &shared, |count| count) };
}

/// Scans the lengths of matches, each with the newline that follows it.
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
    // SAFETY: no branch comes before this call, so every thread of the block is here. The shared memory is
    // this scan's own.
    unsafe { offsets(&args, &shared, |found| (found.end - found.start) as u64 + 1) };
}
