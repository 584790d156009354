//! Questions about tables of leaves ([`warpath_shared::leaf::table`]).
//!
//! *Rows* ([`leaf_rows`]): one warp a block of 1,024 rows. A test reads the words of the block as they are
//! packed, 32 rows in each step, and the votes of the warp are the set of rows: lane *i* keeps the rows
//! 32 *i* ‥ 32 *i* + 31. A block whose least and greatest values decide a test is not read. The sets that a
//! program has pushed are in shared memory; each lane reads only what it wrote.
//!
//! *Groups* ([`leaf_group`], [`leaf_group_few`]): a row's group is a number, so that its counts are found
//! without a search. The numbers of few groups are kept in shared memory, where lanes with the same group
//! count together, and are added to those of all blocks at the end. Numbers of many groups are in global
//! memory: two rows of a warp seldom have the same. Least and greatest values, and bits of sets, are read
//! before they are changed, since most of them stay: an old value that is read makes the change only
//! superfluous, because values only rise, and bits are only set.
//!
//! *Cost*: the packed words of the columns of a question are read once, with 128 bytes a block and column for
//! the set of its rows. docs/lab/resident.md has what was measured.

use cuda_std::atomic::mid::{
    atomic_fetch_add_u64_relaxed_device, atomic_fetch_add_u64_relaxed_shared,
    atomic_fetch_max_u64_relaxed_device, atomic_fetch_max_u64_relaxed_shared,
    atomic_fetch_or_u32_relaxed_device, atomic_load_32_relaxed_device, atomic_load_64_relaxed_device,
    atomic_load_64_relaxed_shared,
};
use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, grid_dim_x, sync_threads, thread_idx_x};
use cuda_std::warp::{warp_match_any_32, warp_reduce_add, warp_shuffle_idx, warp_vote_any, warp_vote_ballot};
use warpath_shared::kernel::{LeafDistinctArgs, LeafGroupArgs, LeafRowsArgs};
use warpath_shared::leaf::Block;
use warpath_shared::leaf::table::{
    Aggregate, AggregateCode, FEW_NUMBERS, Instr, Leaves, MOST_PUSHED, OpCode, RECORDS, SET_WORDS,
};
use warpath_shared::view::View;

use crate::coop::warp::ALL;
use crate::coop::{LANES, WARPS};

/// The rows of a block that pass a test of their differences: this lane's word of the set.
///
/// # Safety
/// All lanes of a warp call it together, with the same block.
#[inline(always)]
unsafe fn passing(leaves: &Leaves<'_>, block: &Block, passes: impl Fn(u64) -> bool) -> u32 {
    let lane = thread_idx_x() % LANES;
    let mut mine = 0;
    for step in 0..SET_WORDS as u32 {
        let difference = leaves.difference(block, step * LANES + lane);
        // SAFETY: the loop has the same rounds in all lanes, and all lanes are here by the contract.
        let word = unsafe { warp_vote_ballot(ALL, passes(difference)) };
        if step == lane {
            mine = word;
        }
    }
    mine
}

/// The rows that a test adds: this lane's word of the set.
///
/// # Safety
/// All lanes of a warp call it together, with the same arguments.
#[inline(always)]
unsafe fn test(leaves: &Leaves<'_>, instr: &Instr, codes: &View<'_, u32>, at: usize) -> u32 {
    let column = leaves.columns.get(instr.column as usize);
    let here = leaves.set_word(column.here, at, thread_idx_x() % LANES);
    let block = leaves.block(column, at);
    match instr.op() {
        Some(OpCode::Within) => match block.within(instr.first, instr.last) {
            None => 0,
            Some((0, span)) if span == block.mask() => here,
            Some((first, span)) => {
                let is_in = |difference: u64| difference.wrapping_sub(first) <= span;
                // SAFETY: the block and the instruction are the same in all lanes, so all lanes are here.
                here & unsafe { passing(leaves, &block, is_in) }
            }
        },
        Some(OpCode::Codes) => {
            let is_in = |difference: u64| {
                let code = block.base.wrapping_add(difference);
                // Rows without a value may have any number.
                code < instr.last && codes.get((instr.first + code / 32) as usize) >> (code % 32) & 1 != 0
            };
            // SAFETY: as above.
            here & unsafe { passing(leaves, &block, is_in) }
        }
        _ => here,
    }
}

/// Evaluates a condition on each row.
///
/// # Safety
/// Launched as [`LeafRows`](warpath_shared::kernel::LeafRows) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn leaf_rows(args: LeafRowsArgs<'_>) {
    let stack = Shared::new(shared_array![u32; MOST_PUSHED * WARPS * LANES as usize]).offset(thread_idx_x());
    let place = |depth: u32| stack.offset(depth * WARPS as u32 * LANES);
    let leaves = &args.leaves;
    let lane = thread_idx_x() % LANES;
    let at = block_idx_x() as usize * WARPS + (thread_idx_x() / LANES) as usize;
    if at >= leaves.count as usize {
        return;
    }
    let records = leaves.set_word(RECORDS, at, lane);
    let (mut set, mut depth) = (0, 0);
    for number in 0..args.program.len() {
        let instr = args.program.get(number);
        match instr.op() {
            Some(OpCode::Push) => {
                // SAFETY: programs push at most `MOST_PUSHED` sets, and only this thread uses this element.
                unsafe { place(depth).write(set) };
                (depth, set) = (depth + 1, 0);
            }
            Some(op @ (OpCode::And | OpCode::Or)) => {
                depth -= 1;
                // SAFETY: this thread wrote the element when it pushed the set.
                let popped = unsafe { place(depth).read() };
                set = if op == OpCode::And { popped & set } else { popped | set };
            }
            Some(OpCode::Not) => set = records & !set,
            // SAFETY: the program is the same in all lanes, and the return above depends on the warp alone,
            // so all lanes are here.
            _ => set |= unsafe { test(leaves, &instr, &args.codes, at) },
        }
    }
    // SAFETY: each lane has its own word of its warp's block.
    unsafe { args.rows.set(at * SET_WORDS + lane as usize, set) };
    // SAFETY: as above, all lanes are here.
    let count = unsafe { warp_reduce_add(ALL, set.count_ones()) };
    if lane == 0 {
        // SAFETY: one lane of the block's warp writes it.
        unsafe { args.counts.set(at, count) };
    }
}

/// The group of a row.
#[inline(always)]
fn group_of(args: &LeafGroupArgs<'_>, at: usize, step: u32, lane: u32) -> u32 {
    let mut group = 0;
    for number in 0..args.keys.len() {
        let key = args.keys.get(number);
        let column = args.leaves.columns.get(key.column as usize);
        if args.leaves.set_word(column.here, at, step) >> lane & 1 != 0 {
            let block = args.leaves.block(column, at);
            let value = block.base + args.leaves.difference(&block, step * LANES + lane);
            group += key.digit(value) * key.stride;
        }
    }
    group as u32
}

/// The numbers of groups, in global or in shared memory.
trait Numbers {
    /// Adds to the number at an index.
    unsafe fn add(&self, at: u64, value: u64);
    /// Makes the number at an index at least a value.
    unsafe fn greatest(&self, at: u64, value: u64);
    /// True if many rows of a warp may have the same group.
    const IS_FEW: bool;
}

/// The numbers of all blocks.
struct InGlobal<'a>(&'a LeafGroupArgs<'a>);

impl Numbers for InGlobal<'_> {
    const IS_FEW: bool = false;

    #[inline(always)]
    unsafe fn add(&self, at: u64, value: u64) {
        // SAFETY: the number is within the view, and all threads change it by atomics.
        unsafe { atomic_fetch_add_u64_relaxed_device(self.0.numbers.at(at as usize, 1), value) };
    }

    #[inline(always)]
    unsafe fn greatest(&self, at: u64, value: u64) {
        let place = self.0.numbers.at(at as usize, 1);
        // SAFETY: as above.
        unsafe {
            if atomic_load_64_relaxed_device(place) < value {
                atomic_fetch_max_u64_relaxed_device(place, value);
            }
        }
    }
}

/// The numbers of a block.
struct InShared(*mut u64);

impl Numbers for InShared {
    const IS_FEW: bool = true;

    #[inline(always)]
    unsafe fn add(&self, at: u64, value: u64) {
        // SAFETY: the number is below `FEW_NUMBERS`, and threads change it by atomics.
        unsafe { atomic_fetch_add_u64_relaxed_shared(self.0.add(at as usize), value) };
    }

    #[inline(always)]
    unsafe fn greatest(&self, at: u64, value: u64) {
        // SAFETY: as above.
        unsafe {
            let place = self.0.add(at as usize);
            if atomic_load_64_relaxed_shared(place) < value {
                atomic_fetch_max_u64_relaxed_shared(place, value);
            }
        }
    }
}

/// Counts the rows of a step: one for each lane of `lanes`, in its group.
///
/// # Safety
/// All lanes of a warp call it together.
#[inline(always)]
unsafe fn count<N: Numbers>(numbers: &N, at: u64, group: u32, is_in: bool) {
    if !N::IS_FEW {
        if is_in {
            // SAFETY: the group is below the number of groups.
            unsafe { numbers.add(at + group as u64, 1) };
        }
        return;
    }
    // SAFETY: all lanes are here by the contract. No group has the number 2³² - 1.
    let same = unsafe { warp_match_any_32(ALL, if is_in { group } else { u32::MAX }) };
    if is_in && same.trailing_zeros() == thread_idx_x() % LANES {
        // SAFETY: as above.
        unsafe { numbers.add(at + group as u64, same.count_ones() as u64) };
    }
}

/// Adds a value of a row to its group.
///
/// # Safety
/// The group is below the number of groups, and the aggregate is one of `args`.
#[inline(always)]
unsafe fn add_value<N: Numbers>(
    args: &LeafGroupArgs<'_>,
    numbers: &N,
    aggregate: &Aggregate,
    group: u32,
    value: u64,
) {
    let at = aggregate.at + group as u64;
    // SAFETY: the number is within the numbers of all groups, and the bit within the bits.
    unsafe {
        match aggregate.op() {
            Some(AggregateCode::Least) => numbers.greatest(at, !value),
            Some(AggregateCode::Greatest) => numbers.greatest(at, value),
            Some(AggregateCode::LowSum) => numbers.add(at, value & u32::MAX as u64),
            Some(AggregateCode::HighSum) => numbers.add(at, value >> 32),
            Some(AggregateCode::Distinct) => {
                let word = aggregate.at + group as u64 * aggregate.words + value / 32;
                let (place, bit) = (args.bits.at(word as usize, 1), 1 << (value % 32));
                if atomic_load_32_relaxed_device(place) & bit == 0 {
                    atomic_fetch_or_u32_relaxed_device(place, bit);
                }
            }
            _ => {}
        }
    }
}

/// Groups the rows of all blocks of rows of this warp.
///
/// # Safety
/// All threads of the block call it together, with sizes that the check of the kernel accepts.
#[inline(always)]
unsafe fn group<N: Numbers>(args: &LeafGroupArgs<'_>, numbers: &N) {
    let (lane, leaves) = (thread_idx_x() % LANES, &args.leaves);
    let mut at = block_idx_x() as usize * WARPS + (thread_idx_x() / LANES) as usize;
    while at < leaves.count as usize {
        let mine = args.rows.get(at * SET_WORDS + lane as usize);
        // SAFETY: the loop depends on the warp alone, so all lanes are here.
        let any = unsafe { warp_vote_any(ALL, mine != 0) };
        let mut step = 0;
        while any && step < SET_WORDS as u32 {
            // SAFETY: as above.
            let word = unsafe { warp_shuffle_idx(ALL, mine, step, LANES).0 };
            if word != 0 {
                let is_in = word >> lane & 1 != 0;
                let group = if is_in { group_of(args, at, step, lane) } else { 0 };
                for number in 0..args.aggregates.len() {
                    let aggregate = args.aggregates.get(number);
                    let op = aggregate.op();
                    if op == Some(AggregateCode::Rows) {
                        // SAFETY: the word and the aggregate are the same in all lanes, so all are here.
                        unsafe { count(numbers, aggregate.at, group, is_in) };
                        continue;
                    }
                    let column = leaves.columns.get(aggregate.column as usize);
                    let is_here = is_in && leaves.set_word(column.here, at, step) >> lane & 1 != 0;
                    if op == Some(AggregateCode::Count) {
                        // SAFETY: as above.
                        unsafe { count(numbers, aggregate.at, group, is_here) };
                    } else if is_here {
                        let block = leaves.block(column, at);
                        let value = block.base + leaves.difference(&block, step * LANES + lane);
                        // SAFETY: groups of rows are below the number of groups.
                        unsafe { add_value(args, numbers, &aggregate, group, value) };
                    }
                }
            }
            step += 1;
        }
        at += grid_dim_x() as usize * WARPS;
    }
}

/// Adds the rows to their groups in global memory.
///
/// # Safety
/// Launched as [`LeafGroup`](warpath_shared::kernel::LeafGroup) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn leaf_group(args: LeafGroupArgs<'_>) {
    // SAFETY: no branch comes before, so all threads are here.
    unsafe { group(&args, &InGlobal(&args)) };
}

/// Adds the rows to few groups: in shared memory first, and then to the numbers of all blocks.
///
/// # Safety
/// Launched as [`LeafGroupFew`](warpath_shared::kernel::LeafGroupFew) says, with sizes that its check
/// accepts.
#[kernel]
pub unsafe fn leaf_group_few(args: LeafGroupArgs<'_>) {
    let own = shared_array![u64; FEW_NUMBERS];
    let (numbers, groups) = (args.numbers.len() as u32, args.groups as u32);
    // The aggregate that has a number: each has one for each group.
    let with_number = |at: u32| {
        let mut found = Aggregate::default();
        for number in 0..args.aggregates.len() {
            let aggregate = args.aggregates.get(number);
            let is_set = aggregate.op() == Some(AggregateCode::Distinct);
            if !is_set && aggregate.at == (at / groups * groups) as u64 {
                found = aggregate;
            }
        }
        found
    };
    let shared = Shared::new(own);
    let mut at = thread_idx_x();
    while at < numbers {
        // SAFETY: the number is below `FEW_NUMBERS`, and one thread writes it before the barrier.
        unsafe { shared.offset(at).write(0) };
        at += WARPS as u32 * LANES;
    }
    sync_threads();
    // SAFETY: no branch comes before, so all threads are here.
    unsafe { group(&args, &InShared(own)) };
    sync_threads();
    let all = InGlobal(&args);
    let mut at = thread_idx_x();
    while at < numbers {
        let aggregate = with_number(at);
        // SAFETY: after the barrier nobody changes the numbers of this block.
        let value = unsafe { shared.offset(at).read() };
        if value != 0 {
            // SAFETY: the number is one of all numbers.
            unsafe {
                match aggregate.op() {
                    Some(AggregateCode::Least | AggregateCode::Greatest) => {
                        all.greatest(at as u64, value);
                    }
                    _ => all.add(at as u64, value),
                }
            }
        }
        at += WARPS as u32 * LANES;
    }
}

/// Counts the bits of each set.
///
/// # Safety
/// Launched as [`LeafDistinct`](warpath_shared::kernel::LeafDistinct) says, with sizes that its check
/// accepts.
#[kernel]
pub unsafe fn leaf_distinct(args: LeafDistinctArgs<'_>) {
    let lane = thread_idx_x() % LANES;
    let set = block_idx_x() as usize * WARPS + (thread_idx_x() / LANES) as usize;
    if set >= args.counts.len() {
        return;
    }
    let (begin, words) = (set * args.words as usize, args.words as usize);
    let (mut at, mut count) = (lane as usize, 0_u32);
    while at < words {
        count += args.bits.get(begin + at).count_ones();
        at += LANES as usize;
    }
    // SAFETY: the return above depends on the warp alone, so all lanes are here. A set has fewer than 2³²
    // bits.
    let count = unsafe { warp_reduce_add(ALL, count) };
    if lane == 0 {
        // SAFETY: one lane of the set's warp writes it.
        unsafe { args.counts.set(set, count as u64) };
    }
}
