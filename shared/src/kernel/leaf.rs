//! The kernels that evaluate questions on tables of leaves ([`crate::leaf::table`]).

use super::launch::{Kernel, SizeError, Sizes};
use crate::leaf::table::{Aggregate, FEW_NUMBERS, Instr, Key, Leaves, MOST_KEYS, Order, SET_WORDS};
use crate::units::BLOCK_THREADS;
use crate::view::{View, ViewMut};

/// Warps of a block, each of which has a block of rows.
const WARPS: usize = BLOCK_THREADS / 32;
/// The most blocks of kernels whose blocks add to shared memory first. Each has a part of the rows or of the
/// groups, so that it adds its own numbers to those of all blocks only once.
const MOST_BLOCKS: usize = 1056;

fn check_leaves(sizes: &Sizes, leaves: &Leaves<'_>) -> Result<(), SizeError> {
    sizes.at_least("blocks > 0", leaves.count as usize, 1)?;
    sizes.at_least("2³¹ > blocks", (1 << 31) - 1, leaves.count as usize)?;
    sizes.at_least("set words ≥ 32 × blocks", leaves.sets.len(), leaves.count as usize * SET_WORDS)?;
    sizes.equal("set words = whole sets", leaves.sets.len() % (leaves.count as usize * SET_WORDS), 0)
}

/// Evaluates a condition. One warp a block of rows.
pub struct LeafRows;

/// Arguments of [`LeafRows`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LeafRowsArgs<'a> {
    /// The table.
    pub leaves: Leaves<'a>,
    /// The condition. Its columns are those of the table, its sets of codes are in `codes`, and it pushes at
    /// most [`MOST_PUSHED`](crate::leaf::table::MOST_PUSHED) sets.
    pub program: View<'a, Instr>,
    /// Sets of codes.
    pub codes: View<'a, u32>,
    /// The rows of which the condition is true: [`SET_WORDS`] words for each block.
    pub rows: ViewMut<'a, u32>,
    /// The number of these rows of each block.
    pub counts: ViewMut<'a, u32>,
}

// SAFETY: the entry in `gpu/src/kernel/leaf.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts and for columns, blocks and instructions as `LeafRowsArgs` says.
unsafe impl Kernel for LeafRows {
    type Args<'a> = LeafRowsArgs<'a>;
    const NAME: &'static str = "leaf_rows";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        (args.leaves.count as usize).div_ceil(WARPS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        check_leaves(&sizes, &args.leaves)?;
        sizes.equal("row words = 32 × blocks", args.rows.len(), args.leaves.count as usize * SET_WORDS)?;
        sizes.equal("counts = blocks", args.counts.len(), args.leaves.count as usize)
    }
}

/// Adds rows to groups whose numbers are in global memory. One warp a block of rows, several blocks of rows
/// one after the other.
pub struct LeafGroup;

/// Adds rows to at most [`FEW_NUMBERS`] numbers of groups, first in shared memory.
pub struct LeafGroupFew;

/// Arguments of [`LeafGroup`] and [`LeafGroupFew`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LeafGroupArgs<'a> {
    /// The table.
    pub leaves: Leaves<'a>,
    /// The rows to be grouped: [`SET_WORDS`] words for each block.
    pub rows: View<'a, u32>,
    /// The columns by which they are grouped. The groups of all rows are below `groups`.
    pub keys: View<'a, Key>,
    /// The aggregates. Their numbers are within `numbers`, and their bits within `bits`.
    pub aggregates: View<'a, Aggregate>,
    /// The numbers of all aggregates.
    pub numbers: ViewMut<'a, u64>,
    /// The sets of all aggregates that have sets.
    pub bits: ViewMut<'a, u32>,
    /// The number of groups.
    pub groups: u64,
}

fn check_group(sizes: &Sizes, args: &LeafGroupArgs<'_>) -> Result<(), SizeError> {
    check_leaves(sizes, &args.leaves)?;
    sizes.equal("row words = 32 × blocks", args.rows.len(), args.leaves.count as usize * SET_WORDS)?;
    sizes.at_least("4 ≥ keys", MOST_KEYS, args.keys.len())?;
    sizes.at_least("groups > 0", args.groups as usize, 1)?;
    sizes.at_least("2³² > groups", u32::MAX as usize, args.groups as usize)?;
    sizes.equal("numbers = whole aggregates", args.numbers.len() % args.groups as usize, 0)
}

fn group_blocks(args: &LeafGroupArgs<'_>) -> u32 {
    (args.leaves.count as usize).div_ceil(WARPS).min(MOST_BLOCKS) as u32
}

// SAFETY: the entry in `gpu/src/kernel/leaf.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts and for columns, blocks, keys and aggregates as `LeafGroupArgs` says.
unsafe impl Kernel for LeafGroup {
    type Args<'a> = LeafGroupArgs<'a>;
    const NAME: &'static str = "leaf_group";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        group_blocks(args)
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        check_group(&Sizes(Self::NAME), args)
    }
}

// SAFETY: as for `LeafGroup`.
unsafe impl Kernel for LeafGroupFew {
    type Args<'a> = LeafGroupArgs<'a>;
    const NAME: &'static str = "leaf_group_few";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        group_blocks(args)
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        check_group(&sizes, args)?;
        sizes.at_least("4096 ≥ numbers", FEW_NUMBERS, args.numbers.len())
    }
}

/// Counts the bits of sets. One warp a set.
pub struct LeafDistinct;

/// Arguments of [`LeafDistinct`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LeafDistinctArgs<'a> {
    /// The sets, one after the other.
    pub bits: View<'a, u32>,
    /// The number of bits of each set.
    pub counts: ViewMut<'a, u64>,
    /// Words of each set.
    pub words: u64,
}

// SAFETY: the entry in `gpu/src/kernel/leaf.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for LeafDistinct {
    type Args<'a> = LeafDistinctArgs<'a>;
    const NAME: &'static str = "leaf_distinct";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        args.counts.len().div_ceil(WARPS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        sizes.at_least("sets > 0", args.counts.len(), 1)?;
        sizes.at_least("2³² > sets", u32::MAX as usize, args.counts.len())?;
        sizes.equal("words = whole sets", args.bits.len(), args.counts.len() * args.words as usize)
    }
}

/// Ranges of ranks that [`LeafRankCounts`] counts.
pub const RANK_BINS: usize = 2048;
/// The rank of groups without rows. A group with rows may have it, too.
pub const NO_RANK: u64 = u64::MAX;

fn rank_blocks(ranks: usize) -> u32 {
    ranks.div_ceil(BLOCK_THREADS).min(MOST_BLOCKS) as u32
}

fn check_ranks(sizes: &Sizes, ranks: usize) -> Result<(), SizeError> {
    sizes.at_least("groups > 0", ranks, 1)?;
    sizes.at_least("2³² > groups", u32::MAX as usize, ranks)
}

/// Finds the ranks of groups. One thread a group, several groups one after the other.
pub struct LeafRanks;

/// Arguments of [`LeafRanks`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LeafRanksArgs<'a> {
    /// The numbers of all groups. The numbers of the order and of the rows are within it.
    pub numbers: View<'a, u64>,
    /// The order.
    pub order: Order,
    /// The first of the numbers of rows.
    pub rows: u64,
    /// The rank of each group; [`NO_RANK`] for a group without rows.
    pub ranks: ViewMut<'a, u64>,
    /// At first zeros. The greatest rank of groups with rows, and the complement of the least one.
    pub range: ViewMut<'a, u64>,
}

// SAFETY: the entry in `gpu/src/kernel/leaf_first.rs` takes one `Args` by value. It stays within its views
// for arguments that `check` accepts and for an order as `LeafRanksArgs` says.
unsafe impl Kernel for LeafRanks {
    type Args<'a> = LeafRanksArgs<'a>;
    const NAME: &'static str = "leaf_ranks";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        rank_blocks(args.ranks.len())
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        check_ranks(&sizes, args.ranks.len())?;
        sizes.equal("range = 2", args.range.len(), 2)
    }
}

/// Counts the groups of each of [`RANK_BINS`] ranges of ranks. One thread a group, several groups one after
/// the other.
pub struct LeafRankCounts;

/// Arguments of [`LeafRankCounts`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LeafRankCountsArgs<'a> {
    /// The ranks.
    pub ranks: View<'a, u64>,
    /// The first rank that is counted.
    pub first: u64,
    /// The last rank that is counted.
    pub last: u64,
    /// Two to this power is the number of ranks of a range.
    pub shift: u32,
    /// At first zeros. The number of groups in each range.
    pub counts: ViewMut<'a, u32>,
}

// SAFETY: the entry in `gpu/src/kernel/leaf_first.rs` takes one `Args` by value. It stays within its views
// for arguments that `check` accepts.
unsafe impl Kernel for LeafRankCounts {
    type Args<'a> = LeafRankCountsArgs<'a>;
    const NAME: &'static str = "leaf_rank_counts";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        rank_blocks(args.ranks.len())
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        check_ranks(&sizes, args.ranks.len())?;
        sizes.equal("counts = 2048", args.counts.len(), RANK_BINS)?;
        sizes.at_least("last ≥ first", args.last as usize, args.first as usize)?;
        sizes.at_least("63 ≥ shift", 63, args.shift as usize)?;
        let last = (args.last - args.first) >> args.shift;
        sizes.at_least("2048 > range of the last rank", RANK_BINS - 1, last as usize)
    }
}

/// Copies the numbers of the groups whose ranks are at most a bound. One thread a group.
pub struct LeafFirst;

/// Arguments of [`LeafFirst`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LeafFirstArgs<'a> {
    /// The ranks.
    pub ranks: View<'a, u64>,
    /// The bound, which is below [`NO_RANK`].
    pub last: u64,
    /// The numbers of groups: for each aggregate those of all groups.
    pub numbers: View<'a, u64>,
    /// More numbers of groups.
    pub sizes: View<'a, u64>,
    /// The groups that are found, in any order. Then for each aggregate of `numbers` and of `sizes` the
    /// numbers of these groups, in the same order.
    pub found: ViewMut<'a, u64>,
    /// The number of groups whose ranks are at most the bound.
    pub count: u64,
    /// At first a zero. The number of groups that are found.
    pub taken: ViewMut<'a, u32>,
}

// SAFETY: the entry in `gpu/src/kernel/leaf_first.rs` takes one `Args` by value. It stays within its views
// for arguments that `check` accepts, and for any number of groups with these ranks.
unsafe impl Kernel for LeafFirst {
    type Args<'a> = LeafFirstArgs<'a>;
    const NAME: &'static str = "leaf_first";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        args.ranks.len().div_ceil(BLOCK_THREADS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        let (groups, count) = (args.ranks.len(), args.count as usize);
        check_ranks(&sizes, groups)?;
        sizes.equal("numbers = whole aggregates", args.numbers.len() % groups, 0)?;
        sizes.equal("sizes = whole aggregates", args.sizes.len() % groups, 0)?;
        let aggregates = (args.numbers.len() + args.sizes.len()) / groups;
        sizes.at_least("count > 0", count, 1)?;
        sizes.equal("found = count × (1 + aggregates)", args.found.len(), count * (1 + aggregates))?;
        sizes.equal("taken = 1", args.taken.len(), 1)
    }
}
