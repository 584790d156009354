//! The kernels that evaluate questions on tables of leaves ([`crate::leaf::table`]).

use super::launch::{Kernel, SizeError, Sizes};
use crate::leaf::table::{Aggregate, FEW_NUMBERS, Instr, Key, Leaves, MOST_KEYS, SET_WORDS};
use crate::units::BLOCK_THREADS;
use crate::view::{View, ViewMut};

/// Warps of a block, each of which has a block of rows.
const WARPS: usize = BLOCK_THREADS / 32;
/// The most blocks of [`LeafGroup`] and [`LeafGroupFew`]. Each has a part of the rows, so that it adds its
/// own groups to all groups only once.
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
