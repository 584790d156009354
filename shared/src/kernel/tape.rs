//! The kernels that make trees, whose nodes are in the order of the text ([`crate::tree::tape`]).

use super::index::FaultyLines;
use super::launch::{Kernel, SizeError, Sizes, blocks_for, blocks_for_tiles};
use super::line::STATUS_WORDS;
use crate::tree::brackets::{Closed, Top};
use crate::tree::outline::{FAN_OUT, GROUP_LEVELS, STRETCH_WORDS, StretchSum, TapeWord};
use crate::tree::tape::{TapeIx, TapeNode};
use crate::units::{BLOCK_THREADS, Depth, PartOffset, QUERY_THREADS, TILE_BYTES, WORD_BYTES};
use crate::view::{View, ViewMut};

/// Finds the tokens of each word, and the sum of each stretch. One warp per tile.
pub struct TapeWords;

/// Arguments of [`TapeWords`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TapeWordsArgs<'a> {
    /// See [`super::LineStatesArgs::text`].
    pub text: View<'a, u8>,
    /// See [`super::StructureWriteArgs::string`].
    pub string: View<'a, u64>,
    /// One element for every 64 bytes of `text`.
    pub words: ViewMut<'a, TapeWord>,
    /// One sum for every stretch of 2 KiB.
    pub sums: ViewMut<'a, StretchSum>,
    /// For each stretch, the least depth before one of its bytes, relative to the start of the stretch.
    pub least: ViewMut<'a, Depth>,
    /// See [`super::StructureWriteArgs::len`].
    pub len: PartOffset,
    /// Zero.
    pub reserved: u32,
}

// SAFETY: the entry in `gpu/src/kernel/tape.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for TapeWords {
    type Args<'a> = TapeWordsArgs<'a>;
    const NAME: &'static str = "tape_words";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for_tiles(args.text.len())
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        sizes.at_least("text ≥ a tile", args.text.len(), TILE_BYTES)?;
        sizes.equal("text = whole tiles", args.text.len() % TILE_BYTES, 0)?;
        sizes.at_least("text ≥ length + 1", args.text.len(), args.len as usize + 1)?;
        sizes.equal("64 × string words = text", args.string.len() * WORD_BYTES, args.text.len())?;
        sizes.equal("words = string words", args.words.len(), args.string.len())?;
        sizes.equal("32 × sums = words", args.sums.len() * STRETCH_WORDS, args.words.len())?;
        sizes.equal("least = sums", args.least.len(), args.sums.len())
    }
}

/// The number of groups of `len` stretches, or of `len` groups of the level before.
pub const fn tape_groups(len: usize) -> usize {
    len.div_ceil(FAN_OUT)
}

/// In the status of trees: not zero if some line is so long that it is cut into pieces.
pub const LONG_LINES: usize = 0;
/// The number of words of the status of trees. Zero before the first kernel.
pub const TAPE_STATUS_WORDS: usize = 1;

/// The words and sums of a text ([`crate::tree::outline::Outline`]).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TapeOutline<'a> {
    /// The words from [`TapeWords`].
    pub words: View<'a, TapeWord>,
    /// The scanned sums: one more than there are stretches.
    pub before: View<'a, StretchSum>,
    /// The least depths from [`TapeWords`].
    pub least: View<'a, Depth>,
    /// The least depths of groups, from [`TapeMinima`].
    pub groups: [View<'a, Depth>; GROUP_LEVELS],
}

impl TapeOutline<'_> {
    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        let sizes = Sizes(kernel);
        let stretches = self.least.len();
        let groups = tape_groups(stretches);
        sizes.at_least("stretches ≥ 1", stretches, 1)?;
        sizes.equal("words = 32 × stretches", self.words.len(), stretches * STRETCH_WORDS)?;
        sizes.equal("before = stretches + 1", self.before.len(), stretches + 1)?;
        sizes.equal("groups = stretches / 32", self.groups[0].len(), groups)?;
        sizes.equal("groups of groups = groups / 32", self.groups[1].len(), tape_groups(groups))
    }
}

/// The matching brackets, as many as there is room for. If there is too little room, nothing is written.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TapeBrackets<'a> {
    /// For each bracket, the innermost container after it.
    pub tops: ViewMut<'a, Top>,
    /// For each opening bracket, the bracket that closes it.
    pub closed: ViewMut<'a, Closed>,
}

impl TapeBrackets<'_> {
    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        Sizes(kernel).equal("closed = tops", self.closed.len(), self.tops.len())
    }
}

/// Matches the brackets of all lines that are short enough for one thread, and finds the first node of each
/// line. One thread per line.
pub struct TapeLines;

/// Arguments of [`TapeLines`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TapeLinesArgs<'a> {
    /// The words and sums of the text. The groups are not read.
    pub outline: TapeOutline<'a>,
    /// See [`super::Indexed::line_starts`].
    pub line_starts: View<'a, PartOffset>,
    /// The brackets to write.
    pub brackets: TapeBrackets<'a>,
    /// The first node of each line, and at the end the number of nodes.
    pub roots: ViewMut<'a, TapeIx>,
    /// The bitmap and the status that record faulty lines.
    pub faulty: FaultyLines<'a>,
    /// The status words, with [`LONG_LINES`].
    pub status: ViewMut<'a, u32>,
    /// The length of the longest line that one thread reads, in bytes with the newline.
    pub longest: u32,
    /// Zero.
    pub reserved: u32,
}

// SAFETY: the entry in `gpu/src/kernel/tape.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for TapeLines {
    type Args<'a> = TapeLinesArgs<'a>;
    const NAME: &'static str = "tape_lines";
    const THREADS: usize = QUERY_THREADS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        (args.line_starts.len() - 1).div_ceil(Self::THREADS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        args.outline.check(Self::NAME)?;
        args.brackets.check(Self::NAME)?;
        let lines = args.line_starts.len();
        sizes.at_least("line starts ≥ 2", lines, 2)?;
        sizes.equal("roots = line starts", args.roots.len(), lines)?;
        sizes.at_least("32 × faulty bits ≥ lines", 32 * args.faulty.bits.len(), lines - 1)?;
        sizes.equal("status = 5", args.faulty.status.len(), STATUS_WORDS)?;
        sizes.equal("status of trees = 1", args.status.len(), TAPE_STATUS_WORDS)
    }
}

/// Finds the least depths of groups of stretches, if [`LONG_LINES`] is set. One warp per 1,024 stretches.
pub struct TapeMinima;

/// Arguments of [`TapeMinima`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TapeMinimaArgs<'a> {
    /// See [`TapeOutline::before`].
    pub before: View<'a, StretchSum>,
    /// See [`TapeOutline::least`].
    pub least: View<'a, Depth>,
    /// The least depth in each 32 stretches, and in each 1,024 stretches, counted from the start of the text.
    pub groups: [ViewMut<'a, Depth>; GROUP_LEVELS],
    /// The status words, with [`LONG_LINES`].
    pub status: View<'a, u32>,
}

// SAFETY: the entry in `gpu/src/kernel/tape.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for TapeMinima {
    type Args<'a> = TapeMinimaArgs<'a>;
    const NAME: &'static str = "tape_minima";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for(args.groups[1].len() * FAN_OUT)
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        let groups = tape_groups(args.least.len());
        sizes.at_least("stretches ≥ 1", args.least.len(), 1)?;
        sizes.equal("before = stretches + 1", args.before.len(), args.least.len() + 1)?;
        sizes.equal("groups = stretches / 32", args.groups[0].len(), groups)?;
        sizes.equal("groups of groups = groups / 32", args.groups[1].len(), tape_groups(groups))?;
        sizes.equal("status of trees = 1", args.status.len(), TAPE_STATUS_WORDS)
    }
}

/// Matches the brackets of the long lines, each line in pieces, if [`LONG_LINES`] is set. One thread per
/// piece.
pub struct TapePieces;

/// Arguments of [`TapePieces`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TapePiecesArgs<'a> {
    /// The words and sums of the text.
    pub outline: TapeOutline<'a>,
    /// See [`super::Indexed::line_starts`].
    pub line_starts: View<'a, PartOffset>,
    /// See [`TapeLinesArgs::brackets`].
    pub brackets: TapeBrackets<'a>,
    /// The bitmap and the status that record faulty lines.
    pub faulty: FaultyLines<'a>,
    /// The status words, with [`LONG_LINES`].
    pub status: View<'a, u32>,
    /// See [`TapeLinesArgs::longest`].
    pub longest: u32,
    /// The number of bytes of a piece: whole words.
    pub piece: u32,
}

// SAFETY: the entry in `gpu/src/kernel/tape.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for TapePieces {
    type Args<'a> = TapePiecesArgs<'a>;
    const NAME: &'static str = "tape_pieces";
    const THREADS: usize = QUERY_THREADS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        let pieces = (args.outline.words.len() * WORD_BYTES).div_ceil(args.piece as usize);
        pieces.div_ceil(Self::THREADS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        args.outline.check(Self::NAME)?;
        args.brackets.check(Self::NAME)?;
        let lines = args.line_starts.len();
        sizes.at_least("line starts ≥ 2", lines, 2)?;
        sizes.at_least("piece ≥ a word", args.piece as usize, WORD_BYTES)?;
        sizes.equal("piece = whole words", args.piece as usize % WORD_BYTES, 0)?;
        sizes.at_least("32 × faulty bits ≥ lines", 32 * args.faulty.bits.len(), lines - 1)?;
        sizes.equal("status = 5", args.faulty.status.len(), STATUS_WORDS)?;
        sizes.equal("status of trees = 1", args.status.len(), TAPE_STATUS_WORDS)
    }
}

/// Makes all nodes. One warp per stretch.
pub struct TapeNodes;

/// Arguments of [`TapeNodes`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TapeNodesArgs<'a> {
    /// The words and sums of the text. Depths and groups are not read.
    pub outline: TapeOutline<'a>,
    /// See [`super::Indexed::line_starts`].
    pub line_starts: View<'a, PartOffset>,
    /// For each bracket, the innermost container after it: as many as there was room for.
    pub tops: View<'a, Top>,
    /// For each opening bracket, the bracket that closes it.
    pub closed: View<'a, Closed>,
    /// The nodes of all lines, as many as there is room for. If there is too little room for nodes or for
    /// brackets, nothing is written.
    pub nodes: ViewMut<'a, TapeNode>,
    /// The bitmap and the status that record faulty lines.
    pub faulty: FaultyLines<'a>,
}

// SAFETY: the entry in `gpu/src/kernel/tape_nodes.rs` takes one `Args` by value. It stays within its views
// for arguments that `check` accepts.
unsafe impl Kernel for TapeNodes {
    type Args<'a> = TapeNodesArgs<'a>;
    const NAME: &'static str = "tape_nodes";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        (args.outline.words.len() as u64).div_ceil(BLOCK_THREADS as u64) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        args.outline.check(Self::NAME)?;
        let lines = args.line_starts.len();
        sizes.at_least("line starts ≥ 2", lines, 2)?;
        sizes.equal("closed = tops", args.closed.len(), args.tops.len())?;
        sizes.at_least("32 × faulty bits ≥ lines", 32 * args.faulty.bits.len(), lines - 1)?;
        sizes.equal("status = 5", args.faulty.status.len(), STATUS_WORDS)
    }
}
