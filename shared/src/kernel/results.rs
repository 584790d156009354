//! The kernels that turn what the query kernels found into what a caller asked for.

use super::{Kernel, LookBack, Match, SizeError, Sizes, Span, blocks_for};
use crate::units::{BLOCK_THREADS, LineIx};
use crate::view::{View, ViewMut};

/// How many *bounds* the results of some paths have: where each path's begin, where the last one's end, and, a path each,
/// where those of lines before the *cut* end. The cut is the first faulty line, where there is one: what stands before it
/// can be answered, whatever is done about the fault.
///
/// ```text
/// matches   a a a a a b b b c c c c        path by path, in line order
/// bounds    0         1     2       3      begins, end
///                 4   5         6          cuts: no match of `b` is on a line before the faulty one
/// ```
pub const fn bounds_for(paths: usize) -> usize {
    2 * paths + 1
}

/// Elements of which a thread of a compaction says whether they are kept.
pub const COMPACT_ROWS: usize = 4;
/// Elements that a block of a compaction takes.
pub const COMPACT_TILE: usize = BLOCK_THREADS * COMPACT_ROWS;

/// Tiles that a compaction of `len` elements is cut into.
pub const fn compact_tiles(len: usize) -> usize {
    len.div_ceil(COMPACT_TILE)
}

/// Turns slots, of which many may be empty, into dense lists of matches. A block for every [`COMPACT_TILE`] slots.
pub struct SlotCompact;

/// Arguments of [`SlotCompact`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct SlotCompactArgs<'a> {
    /// Path by path, a span for each line (from [`QuerySlots`](super::QuerySlots)). 8-byte aligned.
    pub slots: View<'a, Span>,
    /// Path by path, in line order, what the slots hold: as many as there is room for. The bounds say how many there are.
    pub matches: ViewMut<'a, Match>,
    /// [`bounds_for`] the paths.
    pub bounds: ViewMut<'a, u64>,
    /// Scratch, for [`compact_tiles`] tiles.
    pub look_back: LookBack<'a, u64>,
    /// How many lines there are.
    pub lines: LineIx,
    /// The cut; 0 for none.
    pub cut: LineIx,
}

// SAFETY: `gpu/src/kernel/results.rs` defines the entry so.
unsafe impl Kernel for SlotCompact {
    type Args<'a> = SlotCompactArgs<'a>;
    const NAME: &'static str = "slot_compact";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        compact_tiles(args.slots.len()) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        let (lines, tiles) = (args.lines as usize, compact_tiles(args.slots.len()));
        sizes.at_least("lines ≥ 1", lines, 1)?;
        sizes.at_least("slots ≥ lines", args.slots.len(), lines)?;
        sizes.at_least("2³² - 1 ≥ slots", u32::MAX as usize, args.slots.len())?;
        sizes.equal("slots = paths × lines", args.slots.len() % lines, 0)?;
        let paths = args.slots.len() / lines;
        sizes.equal("bounds = 2 × paths + 1", args.bounds.len(), bounds_for(paths))?;
        sizes.at_least("lines > cut", lines, args.cut as usize + 1)?;
        sizes.equal("status = compaction tiles + 1", args.look_back.status.len(), tiles + 1)?;
        sizes.equal("aggregate = compaction tiles", args.look_back.aggregate.len(), tiles)?;
        sizes.equal("inclusive = compaction tiles", args.look_back.inclusive.len(), tiles)
    }
}

/// Reads the bounds out of scanned counts. A thread a bound.
pub struct QueryBounds;

/// Arguments of [`QueryBounds`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct QueryBoundsArgs<'a> {
    /// Path by path, where each line's matches go, and at the end how many there are (from [`CountScan`](super::CountScan)).
    pub offsets: View<'a, u64>,
    /// [`bounds_for`] the paths.
    pub bounds: ViewMut<'a, u64>,
    /// How many lines there are.
    pub lines: LineIx,
    /// The cut; 0 for none.
    pub cut: LineIx,
}

// SAFETY: `gpu/src/kernel/results.rs` defines the entry so.
unsafe impl Kernel for QueryBounds {
    type Args<'a> = QueryBoundsArgs<'a>;
    const NAME: &'static str = "query_bounds";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for(args.bounds.len())
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        let (lines, paths) = (args.lines as usize, args.bounds.len() / 2);
        sizes.at_least("lines > cut", lines, args.cut as usize + 1)?;
        sizes.equal("bounds = 2 × paths + 1", args.bounds.len(), bounds_for(paths))?;
        sizes.equal("offsets = paths × lines + 1", args.offsets.len(), paths * lines + 1)
    }
}

/// Bytes of output that a block of a gathering kernel writes: four times 16 a thread.
pub const GATHER_TILE: usize = BLOCK_THREADS * 64;

/// Writes the JSON text of every match, each with a newline behind it. A block for every [`GATHER_TILE`] bytes of output.
pub struct TextGather;

/// Arguments of [`TextGather`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TextGatherArgs<'a> {
    /// As for [`LineStatesArgs::text`](super::LineStatesArgs::text).
    pub text: View<'a, u8>,
    /// The matches.
    pub matches: View<'a, Match>,
    /// Where the text of each goes, and at the end how long it is all together (from [`TextScan`](super::TextScan)).
    pub offsets: View<'a, u64>,
    /// The bounds of the matches.
    pub bounds: View<'a, u64>,
    /// The same bounds, in bytes of output.
    pub text_bounds: ViewMut<'a, u64>,
    /// The text: as much of it as there is room for. 16-byte aligned, a whole number of tiles; behind the end of the text
    /// up to 15 bytes are zeroed.
    pub out: ViewMut<'a, u8>,
}

// SAFETY: `gpu/src/kernel/results.rs` defines the entry so.
unsafe impl Kernel for TextGather {
    type Args<'a> = TextGatherArgs<'a>;
    const NAME: &'static str = "text_gather";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        (args.out.len() / GATHER_TILE) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        sizes.at_least("matches ≥ 1", args.matches.len(), 1)?;
        sizes.equal("offsets = matches + 1", args.offsets.len(), args.matches.len() + 1)?;
        sizes.equal("text bounds = bounds", args.text_bounds.len(), args.bounds.len())?;
        sizes.at_least("out ≥ a tile", args.out.len(), GATHER_TILE)?;
        sizes.equal("out = whole tiles", args.out.len() % GATHER_TILE, 0)
    }
}
