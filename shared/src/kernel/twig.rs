//! The kernels that evaluate twigs over documents ([`crate::twig`]).

use super::launch::{Kernel, SizeError, Sizes};
use super::tree_query::Trees;
use crate::twig::dictionary::Dictionary;
use crate::twig::{FarBit, GROUP_WORDS, GroupPlace, Matched, Op, Task, mask};
use crate::view::{View, ViewMut};

/// Threads of a block of [`TwigOps`].
pub const TWIG_OPS_THREADS: usize = 64;

/// Makes programs of the records of a partition, from their trees. One thread per line.
pub struct TwigOps;

/// Arguments of [`TwigOps`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TwigOpsArgs<'a> {
    /// The records.
    pub trees: Trees<'a>,
    /// The names and values that twigs test.
    pub dictionary: Dictionary<'a>,
    /// The programs. If line *l* has its first node *n*, its program begins at [`Self::ops_a_node`] (*n* +
    /// *l*). Its room ends where the room of the next line begins.
    pub ops: ViewMut<'a, Op>,
    /// The program of each line. Empty if the line has no record, a faulty record, or one that does not fit.
    pub tasks: ViewMut<'a, Task>,
    /// The lines that do not fit, in no order. Such a line is deeper than the device supports, or passes more
    /// tests than there is room for. Lines without room in the list are only counted.
    pub unfit: ViewMut<'a, u32>,
    /// The number of lines that do not fit: one element. The kernel adds to it.
    pub unfit_count: ViewMut<'a, u32>,
    /// The room for operations, for each node and line.
    pub ops_a_node: u64,
}

// SAFETY: the entry in `gpu/src/kernel/twig_ops.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for TwigOps {
    type Args<'a> = TwigOpsArgs<'a>;
    const NAME: &'static str = "twig_ops";
    const THREADS: usize = TWIG_OPS_THREADS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        args.trees.lines().div_ceil(TWIG_OPS_THREADS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let (sizes, lines) = (Sizes(Self::NAME), args.trees.lines());
        sizes.at_least("text ≥ 4", args.trees.text.len(), 4)?;
        sizes.at_least("line starts ≥ 2", args.trees.line_starts.len(), 2)?;
        sizes.at_least("32 × faulty bits ≥ lines", 32 * args.trees.faulty.len(), lines)?;
        sizes.equal("roots = line starts", args.trees.roots.len(), args.trees.line_starts.len())?;
        let room = args.ops_a_node as usize;
        sizes.at_least("room ≥ 1", room, 1)?;
        let ops = room * (args.trees.nodes.len() + lines);
        sizes.at_least("operations ≥ room × (nodes + lines)", args.ops.len(), ops)?;
        sizes.at_least("2³² > operations", u32::MAX as usize, ops)?;
        sizes.equal("tasks = lines", args.tasks.len(), lines)?;
        args.dictionary.check(&sizes)?;
        sizes.equal("count = 1", args.unfit_count.len(), 1)
    }
}

impl Dictionary<'_> {
    pub(super) fn check(&self, sizes: &Sizes) -> Result<(), SizeError> {
        sizes.holds("entries = 2ⁿ", self.entries.len().is_power_of_two(), self.entries.len(), 0)?;
        sizes.at_least("names ≥ 2", self.tags.len(), 2)?;
        sizes.at_least("lists ≥ 2", self.lists.len(), 2)?;
        sizes.at_least("rows ≥ 2", self.rows.len(), 2)
    }
}

/// Warps of a block of [`TwigMatch`].
pub const TWIG_WARPS: usize = 4;

/// Twigs on a device, by groups.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TwigGroups<'a> {
    /// The groups.
    pub places: View<'a, GroupPlace>,
    /// [`mask::COUNT`] masks of 32 words, group by group.
    pub masks: View<'a, u64>,
    /// The moves, each of twice 32 words.
    pub moves: View<'a, u64>,
    /// The far moves.
    pub far: View<'a, FarBit>,
    /// For each group and row, the words for nodes without children: 0 for none, else their position among
    /// the words of the group, plus one. [`KEY`](crate::twig::KEY) is set if the row is a key of the group.
    pub leaves: View<'a, u16>,
    /// The words that apply to nodes with children, in the form of `leaves`.
    pub inner: View<'a, u16>,
    /// The words of rows, 32 each.
    pub words: View<'a, u64>,
    /// The number of rows.
    pub rows: u64,
}

/// Runs the programs of documents on groups of twigs. One warp per group and some tasks.
pub struct TwigMatch;

/// Arguments of [`TwigMatch`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TwigMatchArgs<'a> {
    /// The twigs to evaluate.
    pub groups: TwigGroups<'a>,
    /// The programs. No task enters more than [`crate::twig::MAX_LEVELS`] levels, or leaves more levels than
    /// it has entered.
    pub ops: View<'a, Op>,
    /// The parts of the programs.
    pub tasks: View<'a, Task>,
    /// The words that programs store and load, by number and group, 32 words each.
    pub kept: ViewMut<'a, u64>,
    /// The matches, in no order. Matches without room are only counted.
    pub matched: ViewMut<'a, Matched>,
    /// The number of matches: one element. The kernel adds to it.
    pub count: ViewMut<'a, u32>,
    /// The number of tasks of a warp.
    pub tasks_a_warp: u64,
    /// 1 if tasks are whole documents, and a group is evaluated only over the documents that pass one of its
    /// keys. 0 if every group is evaluated over all documents.
    pub by_keys: u64,
}

impl TwigMatchArgs<'_> {
    /// The number of blocks of each group.
    #[inline(always)]
    pub const fn blocks_a_group(&self) -> usize {
        self.tasks.len().div_ceil(self.tasks_a_warp as usize * TWIG_WARPS)
    }
}

// SAFETY: the entry in `gpu/src/kernel/twig.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for TwigMatch {
    type Args<'a> = TwigMatchArgs<'a>;
    const NAME: &'static str = "twig_match";
    const THREADS: usize = 32 * TWIG_WARPS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        (args.blocks_a_group() * args.groups.places.len()) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let (sizes, groups) = (Sizes(Self::NAME), args.groups.places.len());
        sizes.at_least("groups ≥ 1", groups, 1)?;
        sizes.at_least("tasks ≥ 1", args.tasks.len(), 1)?;
        sizes.at_least("tasks a warp ≥ 1", args.tasks_a_warp as usize, 1)?;
        sizes.at_least("2³¹ > blocks", (1 << 31) - 1, args.blocks_a_group() * groups)?;
        sizes.equal(
            "masks = 5 × 32 × groups",
            args.groups.masks.len(),
            mask::COUNT * GROUP_WORDS * groups,
        )?;
        let rows = args.groups.rows as usize;
        sizes.equal("leaves = rows × groups", args.groups.leaves.len(), rows * groups)?;
        sizes.equal("inner = rows × groups", args.groups.inner.len(), rows * groups)?;
        sizes.equal("words = whole rows", args.groups.words.len() % GROUP_WORDS, 0)?;
        sizes.equal("kept = whole groups", args.kept.len() % (GROUP_WORDS * groups), 0)?;
        sizes.equal("count = 1", args.count.len(), 1)
    }
}
