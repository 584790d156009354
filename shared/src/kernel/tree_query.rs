//! The kernels that run programs over trees.

use super::launch::{Kernel, SizeError, Sizes};
use super::query::{Match, Span, is_room_to_keep};
use crate::ir::Program;
use crate::tree::tape::{TapeIx, TapeNode};
use crate::units::{BLOCK_THREADS, PartOffset, TREE_QUERY_THREADS};
use crate::view::{View, ViewMut};

/// A partition's text and trees, as the query kernels read them.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Trees<'a> {
    /// See [`LineStatesArgs::text`](super::LineStatesArgs::text).
    pub text: View<'a, u8>,
    /// The start of each line, and at the end the length of the text.
    pub line_starts: View<'a, PartOffset>,
    /// One bit per line, set for faulty lines: such a line matches nothing.
    pub faulty: View<'a, u32>,
    /// The nodes of all lines.
    pub nodes: View<'a, TapeNode>,
    /// The first node of each line, and at the end the number of nodes.
    pub roots: View<'a, TapeIx>,
}

impl Trees<'_> {
    /// The number of lines.
    #[inline(always)]
    pub const fn lines(&self) -> usize {
        self.line_starts.len() - 1
    }

    fn check(&self, sizes: &Sizes, program: &Program<'_>) -> Result<(), SizeError> {
        sizes.at_least("text ≥ 4", self.text.len(), 4)?;
        sizes.at_least("line starts ≥ 2", self.line_starts.len(), 2)?;
        sizes.at_least("32 × faulty bits ≥ lines", 32 * self.faulty.len(), self.lines())?;
        sizes.equal("roots = line starts", self.roots.len(), self.line_starts.len())?;
        sizes.at_least("program ≥ 1 instruction", program.instrs.len(), 1)
    }
}

/// Counts a program's matches by trees. One thread per line.
pub struct TreeCount;

/// Arguments of [`TreeCount`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TreeCountArgs<'a> {
    /// The records to evaluate.
    pub trees: Trees<'a>,
    /// The program to evaluate.
    pub program: Program<'a>,
    /// See [`QueryCountArgs::counts`](super::QueryCountArgs::counts).
    pub counts: ViewMut<'a, u64>,
    /// See [`QueryCountArgs::kept`](super::QueryCountArgs::kept).
    pub kept: ViewMut<'a, Span>,
}

// SAFETY: the entry in `gpu/src/kernel/tree_query.rs` takes one `Args` by value. It stays within its views
// for arguments that `check` accepts.
unsafe impl Kernel for TreeCount {
    type Args<'a> = TreeCountArgs<'a>;
    const NAME: &'static str = "tree_count";
    const THREADS: usize = TREE_QUERY_THREADS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        args.trees.lines().div_ceil(TREE_QUERY_THREADS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        args.trees.check(&sizes, &args.program)?;
        let counts = args.program.paths as usize * args.trees.lines();
        sizes.equal("counts = paths × lines", args.counts.len(), counts)?;
        let kept = args.kept.len();
        let fits = kept == 0 || is_room_to_keep(kept, counts);
        sizes.holds("kept = 0 or KEPT to MOST_KEPT × counts", fits, kept, counts)
    }
}

/// Nodes that one block of [`NamesCount`] reads: several per thread.
pub const NAMES_TILE: usize = 4 * BLOCK_THREADS;

/// Counts the matches of a program all of whose paths are `$..name`, and keeps the nodes of matches. Several
/// nodes per thread.
pub struct NamesCount;

/// Arguments of [`NamesCount`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct NamesCountArgs<'a> {
    /// The records to evaluate.
    pub trees: Trees<'a>,
    /// The program to evaluate.
    pub program: Program<'a>,
    /// For each path, the instruction that has its name.
    pub names: View<'a, u32>,
    /// See [`QueryCountArgs::counts`](super::QueryCountArgs::counts).
    pub counts: ViewMut<'a, u64>,
    /// 1 if no line is loose ([`crate::index::loose`]). Then no name has an escape, so that each matching
    /// name has the length of its literal.
    pub exact: u32,
    /// Zero.
    pub reserved: u32,
    /// The container and the name of each kept match, as nodes, in no order. Laid out as
    /// [`QueryCountArgs::kept`](super::QueryCountArgs::kept).
    pub kept: ViewMut<'a, Span>,
}

// SAFETY: the entry in `gpu/src/kernel/tree_query.rs` takes one `Args` by value. It stays within its views
// for arguments that `check` accepts.
unsafe impl Kernel for NamesCount {
    type Args<'a> = NamesCountArgs<'a>;
    const NAME: &'static str = "names_count";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        args.trees.nodes.len().div_ceil(NAMES_TILE).max(1) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        args.trees.check(&sizes, &args.program)?;
        sizes.equal("names = paths", args.names.len(), args.program.paths as usize)?;
        let counts = args.program.paths as usize * args.trees.lines();
        sizes.equal("counts = paths × lines", args.counts.len(), counts)?;
        let kept = args.kept.len();
        let fits = kept == 0 || is_room_to_keep(kept, counts);
        sizes.holds("kept = 0 or KEPT to MOST_KEPT × counts", fits, kept, counts)
    }
}

/// Writes the matches that [`NamesCount`] counted, in order: either the kept matches, or all that the program
/// finds. One thread per line.
pub struct NamesFill;

// SAFETY: the entry in `gpu/src/kernel/tree_query.rs` takes one `Args` by value. It stays within its views
// for arguments that `check` accepts.
unsafe impl Kernel for NamesFill {
    type Args<'a> = TreeFillArgs<'a>;
    const NAME: &'static str = "names_fill";
    const THREADS: usize = TREE_QUERY_THREADS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        TreeFill::blocks(args)
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        args.check(Self::NAME)
    }
}

/// Writes the matches that [`TreeCount`] counted: either the kept matches, or all that a second run finds.
/// One thread per line.
pub struct TreeFill;

/// Arguments of [`TreeFill`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TreeFillArgs<'a> {
    /// The records to evaluate.
    pub trees: Trees<'a>,
    /// The program to evaluate.
    pub program: Program<'a>,
    /// The counts from [`TreeCount`].
    pub counts: View<'a, u64>,
    /// The matches that [`TreeCount`] kept.
    pub kept: View<'a, Span>,
    /// See [`QueryFillArgs::offsets`](super::QueryFillArgs::offsets).
    pub offsets: ViewMut<'a, u64>,
    /// All matches, path by path, in line order.
    pub matches: ViewMut<'a, Match>,
}

// SAFETY: the entry in `gpu/src/kernel/tree_query.rs` takes one `Args` by value. It stays within its views
// for arguments that `check` accepts.
unsafe impl Kernel for TreeFill {
    type Args<'a> = TreeFillArgs<'a>;
    const NAME: &'static str = "tree_fill";
    const THREADS: usize = TREE_QUERY_THREADS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        args.trees.lines().div_ceil(TREE_QUERY_THREADS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        args.check(Self::NAME)
    }
}

impl TreeFillArgs<'_> {
    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        let (sizes, args) = (Sizes(kernel), self);
        args.trees.check(&sizes, &args.program)?;
        let counts = args.program.paths as usize * args.trees.lines();
        sizes.equal("counts = paths × lines", args.counts.len(), counts)?;
        let kept = args.kept.len();
        sizes.holds("kept = KEPT to MOST_KEPT × counts", is_room_to_keep(kept, counts), kept, counts)?;
        sizes.equal("offsets = paths × lines + 1", args.offsets.len(), counts + 1)
    }
}
