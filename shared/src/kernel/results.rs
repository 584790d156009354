//! The kernels that turn the matches of the query kernels into the form that the caller wants.

use super::launch::{Kernel, SizeError, Sizes, blocks_for};
use super::query::{Match, Span};
use super::scan::LookBack;
use crate::units::{BLOCK_THREADS, LineIx};
use crate::view::{View, ViewMut};

/// The number of *bounds* of the results of `paths` paths. The bounds are the position of each path's first
/// match, and one past the last match of all. Then follows, for each path, one past its last match on the
/// lines before the *cut*. The cut is the first faulty line, if there is one. The results before the cut are
/// valid, whatever the caller does about the fault.
///
/// ```text
/// matches   a a a a a b b b c c c c        path by path, in line order
/// bounds    0         1     2       3      begins, end
///                 4   5         6          cuts: no match of `b` is on a line before the faulty one
/// ```
pub const fn bounds_for(paths: usize) -> usize {
    2 * paths + 1
}

/// Elements that a thread of a compaction tests for whether they are kept.
pub const COMPACT_ROWS: usize = 4;
/// Elements that a block of a compaction takes.
pub const COMPACT_TILE: usize = BLOCK_THREADS * COMPACT_ROWS;

/// The number of tiles of a compaction of `len` elements.
pub const fn compact_tiles(len: usize) -> usize {
    len.div_ceil(COMPACT_TILE)
}

/// Turns slots, many of which may be empty, into dense lists of matches. One block per [`COMPACT_TILE`]
/// slots.
pub struct SlotCompact;

/// Arguments of [`SlotCompact`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct SlotCompactArgs<'a> {
    /// Path by path, one span for each line (from [`QuerySlots`](super::QuerySlots)). 8-byte aligned.
    pub slots: View<'a, Span>,
    /// The matches in the slots, path by path, in line order. Matches without room are not written; the
    /// bounds state the number of all.
    pub matches: ViewMut<'a, Match>,
    /// The bounds of the matches: [`bounds_for`] the paths.
    pub bounds: ViewMut<'a, u64>,
    /// Scratch memory for [`compact_tiles`] tiles.
    pub look_back: LookBack<'a, u64>,
    /// The number of lines.
    pub lines: LineIx,
    /// The cut. 0 if there is none.
    pub cut: LineIx,
}

// SAFETY: the entry in `gpu/src/kernel/results.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
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

/// Reads the bounds out of scanned counts. One thread per bound.
pub struct QueryBounds;

/// Arguments of [`QueryBounds`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct QueryBoundsArgs<'a> {
    /// Path by path, the offset of each line's matches, and at the end the number of matches (from
    /// [`CountScan`](super::CountScan)).
    pub offsets: View<'a, u64>,
    /// The bounds of the matches: [`bounds_for`] the paths.
    pub bounds: ViewMut<'a, u64>,
    /// The number of lines.
    pub lines: LineIx,
    /// The cut. 0 if there is none.
    pub cut: LineIx,
}

// SAFETY: the entry in `gpu/src/kernel/results.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
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

/// Bytes of output that a block of a gathering kernel writes: four times 16 per thread.
pub const GATHER_TILE: usize = BLOCK_THREADS * 64;

/// Writes the JSON text of every match, each with a newline after it. One block per [`GATHER_TILE`] bytes of
/// output.
pub struct TextGather;

/// Arguments of [`TextGather`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TextGatherArgs<'a> {
    /// See [`LineStatesArgs::text`](super::LineStatesArgs::text).
    pub text: View<'a, u8>,
    /// The matches.
    pub matches: View<'a, Match>,
    /// The offset of the text of each match, and at the end the length of all texts together (from
    /// [`TextScan`](super::TextScan)).
    pub offsets: View<'a, u64>,
    /// The bounds, in matches.
    pub bounds: View<'a, u64>,
    /// The bounds, as offsets in the output.
    pub text_bounds: ViewMut<'a, u64>,
    /// The text, as far as there is room. 16-byte aligned, a whole number of tiles. Up to 15 bytes after the
    /// end of the text are set to zero.
    pub out: ViewMut<'a, u8>,
}

// SAFETY: the entry in `gpu/src/kernel/results.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
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
