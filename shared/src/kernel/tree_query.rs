//! Programs over trees.

use super::{Kernel, Match, SizeError, Sizes, Span, is_room_to_keep};
use crate::ir::Program;
use crate::tree::tape::{TapeIx, TapeNode};
use crate::units::{BLOCK_THREADS, PartOffset, TREE_QUERY_THREADS};
use crate::view::{View, ViewMut};

/// A partition's text and trees, as the query kernels read them.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Trees<'a> {
    /// As for [`LineStatesArgs::text`](super::LineStatesArgs::text).
    pub text: View<'a, u8>,
    /// The start of each line, and at the end the length of the text.
    pub line_starts: View<'a, PartOffset>,
    /// The faulty lines, a bit each: they match nothing.
    pub faulty: View<'a, u32>,
    /// The nodes of all lines.
    pub nodes: View<'a, TapeNode>,
    /// The first node of each line, and at the end how many there are.
    pub roots: View<'a, TapeIx>,
}

impl Trees<'_> {
    /// How many lines there are.
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

/// Counts a program's matches by trees. A thread a line.
pub struct TreeCount;

/// Arguments of [`TreeCount`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TreeCountArgs<'a> {
    /// What to ask.
    pub trees: Trees<'a>,
    /// What to ask it.
    pub program: Program<'a>,
    /// As for [`QueryCountArgs::counts`](super::QueryCountArgs::counts).
    pub counts: ViewMut<'a, u64>,
    /// As for [`QueryCountArgs::kept`](super::QueryCountArgs::kept).
    pub kept: ViewMut<'a, Span>,
}

// SAFETY: `gpu/src/kernel/tree_query.rs` defines the entry so.
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

/// Nodes that one block of [`NamesCount`] looks at: several a thread.
pub const NAMES_TILE: usize = 4 * BLOCK_THREADS;

/// Counts the matches of a program whose paths all are `$..name`, and keeps where they are. Several nodes a thread.
pub struct NamesCount;

/// Arguments of [`NamesCount`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct NamesCountArgs<'a> {
    /// What to ask.
    pub trees: Trees<'a>,
    /// What to ask it.
    pub program: Program<'a>,
    /// The instruction of each path that has its name.
    pub names: View<'a, u32>,
    /// As for [`QueryCountArgs::counts`](super::QueryCountArgs::counts).
    pub counts: ViewMut<'a, u64>,
    /// 1 if no line is loose ([`crate::index::loose`]): names have no escapes in them, and so are as long as they are known to be.
    pub exact: u32,
    /// Zero.
    pub reserved: u32,
    /// Laid out as [`QueryCountArgs::kept`](super::QueryCountArgs::kept); of each match, in no order, the nodes of its container and of
    /// its name.
    pub kept: ViewMut<'a, Span>,
}

// SAFETY: `gpu/src/kernel/tree_query.rs` defines the entry so.
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

/// Writes the matches that [`NamesCount`] counted, in order: those that it kept, or all that the program finds. A thread a line.
pub struct NamesFill;

// SAFETY: `gpu/src/kernel/tree_query.rs` defines the entry so.
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

/// Writes the matches that [`TreeCount`] counted: those that it kept, or all that it finds again. A thread a line.
pub struct TreeFill;

/// Arguments of [`TreeFill`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TreeFillArgs<'a> {
    /// What to ask.
    pub trees: Trees<'a>,
    /// What to ask it.
    pub program: Program<'a>,
    /// What [`TreeCount`] counted.
    pub counts: View<'a, u64>,
    /// What it kept.
    pub kept: View<'a, Span>,
    /// As for [`QueryFillArgs::offsets`](super::QueryFillArgs::offsets).
    pub offsets: ViewMut<'a, u64>,
    /// Path by path, in line order, all matches.
    pub matches: ViewMut<'a, Match>,
}

// SAFETY: `gpu/src/kernel/tree_query.rs` defines the entry so.
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
