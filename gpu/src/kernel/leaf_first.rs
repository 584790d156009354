//! The first of the groups that [`leaf_group`](super::leaf_group) has counted, by an
//! [order](warpath_shared::leaf::table::Order).
//!
//! [`leaf_ranks`] finds the rank of each group, and the least and the greatest of them. The host then divides
//! this range by 2,048, and [`leaf_rank_counts`] counts the groups of each part. The part with the last group
//! that is wanted is divided again, until the groups at or before it are few:
//!
//! ```text
//! 3 are wanted     parts    0 ‥ 9   10 ‥ 19   20 ‥ 29        10   11   12 ‥ 13 …
//!                  groups   1       57        4              0    1    5
//!                           1      58 ≥ 3                    1    2    7 ≥ 3: ranks to 13 are copied
//! ```
//!
//! [`leaf_first`] copies the numbers of these groups. The host chooses exactly.
//!
//! *Cost*: the numbers of the order and the rows of each group are read once, and its rank, 8 bytes, is
//! written once and read two to four times. docs/lab/resident.md has what was measured.

use cuda_std::atomic::mid::{
    atomic_fetch_add_u32_relaxed_device, atomic_fetch_add_u32_relaxed_shared,
    atomic_fetch_max_u64_relaxed_device, atomic_fetch_max_u64_relaxed_shared,
};
use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, grid_dim_x, sync_threads, thread_idx_x};
use warpath_shared::kernel::{LeafFirstArgs, LeafRankCountsArgs, LeafRanksArgs, NO_RANK, RANK_BINS};
use warpath_shared::leaf::table::Order;

use crate::coop::{LANES, WARPS};

/// Threads of a block.
const THREADS: u32 = WARPS as u32 * LANES;

/// The first group of this thread, and the distance to its next one.
#[inline(always)]
fn groups_of_thread() -> (usize, usize) {
    let first = block_idx_x() as usize * THREADS as usize + thread_idx_x() as usize;
    (first, grid_dim_x() as usize * THREADS as usize)
}

/// Finds the rank of each group.
///
/// # Safety
/// Launched as [`LeafRanks`](warpath_shared::kernel::LeafRanks) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn leaf_ranks(args: LeafRanksArgs<'_>) {
    let own = shared_array![u64; 2];
    let shared = Shared::new(own);
    if thread_idx_x() < 2 {
        // SAFETY: this thread alone writes the element before the barrier.
        unsafe { shared.offset(thread_idx_x()).write(0) };
    }
    sync_threads();
    let order = &args.order;
    let (mut group, step) = groups_of_thread();
    let (mut greatest, mut not_least) = (0, 0);
    while group < args.ranks.len() {
        let mut rank = NO_RANK;
        if args.numbers.get(args.rows as usize + group) > 0 {
            let minus = match order.minus {
                Order::NOTHING => 0,
                minus => args.numbers.get(minus as usize + group),
            };
            rank = order.rank(args.numbers.get(order.value as usize + group), minus);
            greatest = rank.max(greatest);
            not_least = (!rank).max(not_least);
        }
        // SAFETY: each group has one thread.
        unsafe { args.ranks.set(group, rank) };
        group += step;
    }
    // SAFETY: both elements are within the array, and all threads change them by atomics.
    unsafe {
        atomic_fetch_max_u64_relaxed_shared(own, greatest);
        atomic_fetch_max_u64_relaxed_shared(own.add(1), not_least);
    }
    sync_threads();
    if thread_idx_x() < 2 {
        // SAFETY: after the barrier nobody changes the elements. The range has two numbers, which all blocks
        // change by atomics.
        unsafe {
            let value = shared.offset(thread_idx_x()).read();
            atomic_fetch_max_u64_relaxed_device(args.range.at(thread_idx_x() as usize, 1), value);
        }
    }
}

/// Counts the groups of ranges of ranks.
///
/// # Safety
/// Launched as [`LeafRankCounts`](warpath_shared::kernel::LeafRankCounts) says, with sizes that its check
/// accepts.
#[kernel]
pub unsafe fn leaf_rank_counts(args: LeafRankCountsArgs<'_>) {
    let own = shared_array![u32; RANK_BINS];
    let shared = Shared::new(own);
    let mut bin = thread_idx_x();
    while bin < RANK_BINS as u32 {
        // SAFETY: this thread alone writes the element before the barrier.
        unsafe { shared.offset(bin).write(0) };
        bin += THREADS;
    }
    sync_threads();
    let (mut group, step) = groups_of_thread();
    while group < args.ranks.len() {
        let rank = args.ranks.get(group);
        if args.first <= rank && rank <= args.last {
            let bin = (rank - args.first) >> args.shift;
            // SAFETY: the bin of the last rank is within the array, and all threads change it by atomics.
            unsafe { atomic_fetch_add_u32_relaxed_shared(own.add(bin as usize), 1) };
        }
        group += step;
    }
    sync_threads();
    let mut bin = thread_idx_x();
    while bin < RANK_BINS as u32 {
        // SAFETY: after the barrier nobody changes the elements. All blocks change the counts by atomics.
        unsafe {
            let count = shared.offset(bin).read();
            if count > 0 {
                atomic_fetch_add_u32_relaxed_device(args.counts.at(bin as usize, 1), count);
            }
        }
        bin += THREADS;
    }
}

/// Copies the numbers of the first groups.
///
/// # Safety
/// Launched as [`LeafFirst`](warpath_shared::kernel::LeafFirst) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn leaf_first(args: LeafFirstArgs<'_>) {
    let (group, _) = groups_of_thread();
    let groups = args.ranks.len();
    if group >= groups || args.ranks.get(group) > args.last {
        return;
    }
    // SAFETY: the number is within the view, and all threads change it by atomics.
    let at = unsafe { atomic_fetch_add_u32_relaxed_device(args.taken.at(0, 1), 1) } as usize;
    let count = args.count as usize;
    if at >= count {
        return;
    }
    // SAFETY: this thread alone has the position, and each list of `found` has an element there.
    unsafe { args.found.set(at, group as u64) };
    let (numbers, sizes) = (args.numbers.len() / groups, args.sizes.len() / groups);
    for number in 0..numbers + sizes {
        let value = if number < numbers {
            args.numbers.get(number * groups + group)
        } else {
            args.sizes.get((number - numbers) * groups + group)
        };
        // SAFETY: as above.
        unsafe { args.found.set((1 + number) * count + at, value) };
    }
}
