//! The kernels of the project, with their arguments and launch shapes.
//!
//! Each kernel takes one `#[repr(C)]` struct by value and runs in a one-dimensional grid of blocks. Its
//! [`Kernel`] implementation states the number of threads of a block, the number of blocks that its arguments
//! need, and the sizes that must agree. The host checks these sizes before every launch, so that no kernel
//! has to check them.
//!
//! The stages of one partition, in order:
//!
//! | kernel | reads | writes |
//! |---|---|---|
//! | [`LineStates`] | text | the state at the start of each tile whose line begins near the tile |
//! | [`LineScan`] | the states of [`LineStates`] | the states of the other tiles |
//! | [`StructureWrite`] | text, states | bitmaps; each tile's newlines, faulty lines and bracket kinds |
//! | [`LineIndex`] | the tiles' newlines | the newline index |
//! | [`KindCheck`] | the tiles' kinds | lines whose brackets do not match across tiles |
//! | [`QuerySlots`], [`QuerySlotsLoose`] | text, index | one span per path and line (singular programs) |
//! | [`SlotCompact`] | spans | dense lists of matches, path by path, and their bounds |
//! | [`QueryCount`], [`QueryCountLoose`], [`CountScan`], [`QueryBounds`], [`QueryFill`] | text, index | every match: first counted, then written |
//! | [`TextScan`], [`TextGather`] | text, matches | the text of the matches, one line each |
//! | [`RecordCompact`], [`RecordRows`], [`ListOffsets`] | index, matches | the rows of columns |
//! | [`ColumnRead`], [`CountScan`], [`ColumnGather`], [`ColumnFinish`] | text, rows | columns in Arrow's layout |
//! | [`TapeWords`], [`TapeScan`] | text, string bitmap | the tokens of each word, and the sums before each stretch |
//! | [`TapeLines`] | words and sums of the tape, newline index | matching brackets of lines that are not long; more faulty lines |
//! | [`TapeMinima`], [`TapePieces`] | words and sums of the tape, newline index | matching brackets of long lines; more faulty lines |
//! | [`TapeNodes`] | words, sums and brackets of the tape, newline index | trees; more faulty lines |
//! | [`StrictCheck`] | text, string bitmap, newline index | lines whose strings and scalars are not strictly JSON |
//! | [`TreeCount`], [`CountScan`], [`TreeFill`] | text, trees, program | every match: first counted, then written |
//! | [`NamesCount`], [`CountScan`], [`NamesFill`] | text, trees, names | every match of paths `$..name`: first counted, then written |
//! | [`BitmapRange`] | compressed bitmaps, program | the chunks of results, and their numbers of rows |
//! | [`BinWords`] | the bin of each row | the chunks of bins |
//! | [`CompressStarts`], [`CompressAtoms`] | chunks of bitmaps | compressed bitmaps |
//! | [`FsstDecode`], [`FsstDecodeStrings`] | codes of strings, splits | the strings, and the offset of each |
//! | [`FsstMeasure`], [`CountScan`] | codes of strings without splits | their splits |
//! | [`FsstMatch`] | codes of strings, an automaton | the strings that match |
//! | [`TwigOps`] | text, trees, names and values of twigs | records as operations |
//! | [`XmlStates`], [`XmlEvents`] | text of XML | the starts and ends of tags, quotes and comments |
//! | [`XmlNodes`], [`XmlOps`] | text of XML, its events, names and values of twigs | documents of XML as operations |
//! | [`TwigMatch`] | documents as operations, twigs as bits | the twigs that match |

mod bitmap;
mod columns;
mod fsst;
mod fsst_match;
mod results;
mod rivals;
mod strict;
mod tape;
mod tree_query;
mod twig;
mod xml;

pub use bitmap::{
    BinWords, BinWordsArgs, BitmapRange, BitmapRangeArgs, COMPRESS_CHUNKS, Columns, CompressAtoms,
    CompressAtomsArgs, CompressStarts, CompressStartsArgs,
};
pub use columns::{
    ColumnBytesArgs, ColumnFinish, ColumnGather, ColumnRead, ColumnReadArgs, ListOffsets, ListOffsetsArgs,
    PathMatches, RecordCompact, RecordCompactArgs, RecordRows, RecordRowsArgs, Rows,
};
pub use fsst::{
    FSST_ESCAPE, FSST_FAR, FSST_SPLITS, FSST_THREAD_CODES, FSST_THREADS, FSST_UNKNOWN, FsstDecode,
    FsstDecodeArgs, FsstDecodeStrings, FsstMeasure, FsstMeasureArgs, block_splits,
};
pub use fsst_match::{FsstMatch, FsstMatchArgs, MATCH_STRINGS};
pub use results::{
    COMPACT_ROWS, COMPACT_TILE, GATHER_TILE, QueryBounds, QueryBoundsArgs, SlotCompact, SlotCompactArgs,
    TextGather, TextGatherArgs, bounds_for, compact_tiles,
};
pub use rivals::{
    COA_WORDS, CoaLevel, CoaLevelArgs, Copy16, Copy16Args, DecompressScan, DecompressScanArgs,
    DecompressTiles, DecompressTilesArgs, DecompressWords, DecompressWordsArgs, EXPAND_WORDS, FsstBuffered,
    FsstBytes, FsstLadderArgs, FsstLengths, FsstLengthsArgs, FsstShared, FsstWords, HybridTiles,
    HybridTilesArgs, MAX_THREADS, RIVALS, SCAN_ATOMS, TwigSeed, TwigSeedArgs,
};
pub use strict::{StrictCheck, StrictCheckArgs};
pub use tape::{
    LONG_LINES, TAPE_STATUS_WORDS, TapeBrackets, TapeLines, TapeLinesArgs, TapeMinima, TapeMinimaArgs,
    TapeNodes, TapeNodesArgs, TapeOutline, TapePieces, TapePiecesArgs, TapeWords, TapeWordsArgs, tape_groups,
};
pub use tree_query::{
    NAMES_TILE, NamesCount, NamesCountArgs, NamesFill, TreeCount, TreeCountArgs, TreeFill, TreeFillArgs,
    Trees,
};
pub use twig::{TWIG_OPS_THREADS, TWIG_WARPS, TwigGroups, TwigMatch, TwigMatchArgs, TwigOps, TwigOpsArgs};
pub use xml::{
    XML_OPS_THREADS, XmlBatch, XmlEvents, XmlEventsArgs, XmlNodes, XmlNodesArgs, XmlOps, XmlOpsArgs,
    XmlStates, XmlStatesArgs, fitness,
};

use crate::index::Monoid;
use crate::index::level::{KindReads, KindWrites};
use crate::index::line::LineSummary;
use crate::ir::Program;
use crate::tree::outline::StretchSum;
use crate::units::{BLOCK_THREADS, LineIx, PartOffset, QUERY_THREADS, SCAN_TILE, TILE_BYTES, WORD_BYTES};
use crate::view::{View, ViewMut};

/// Two sizes of a launch that must agree and do not. The host is at fault, never the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeError {
    /// The kernel.
    pub kernel: &'static str,
    /// The relation that does not hold.
    pub relation: &'static str,
    /// The left side of the relation.
    pub left: u64,
    /// The right side of the relation.
    pub right: u64,
}

impl core::fmt::Display for SizeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { kernel, relation, left, right } = self;
        write!(f, "launch of `{kernel}`: {relation} does not hold ({left} and {right})")
    }
}

impl core::error::Error for SizeError {}

/// A kernel: the name of its entry, its arguments and its launch shape.
///
/// # Safety
/// The entry of this name takes one `Args` by value. It stays within its views when it is launched with the
/// grid of [`blocks`](Self::blocks) and with arguments that [`check`](Self::check) accepts.
pub unsafe trait Kernel {
    /// The argument struct.
    type Args<'a>: Copy;
    /// The name of the PTX entry, and of the function in the `gpu` crate.
    const NAME: &'static str;
    /// The largest number of threads of a block.
    const THREADS: usize = BLOCK_THREADS;
    /// The number of threads of a block in one launch: at most [`Self::THREADS`].
    fn threads(_args: &Self::Args<'_>) -> u32 {
        Self::THREADS as u32
    }
    /// The number of blocks. Never zero for arguments that [`check`](Self::check) accepts.
    fn blocks(args: &Self::Args<'_>) -> u32;
    /// Returns the first relation of sizes that does not hold, as an error.
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError>;
}

/// Calls a macro with every kernel of the product as `(Type, function, module)`. The kernels of a module are
/// loaded together, when the first of them is launched. [`for_each_rival!`](crate::for_each_rival) has those
/// of benches.
#[macro_export]
macro_rules! for_each_kernel {
    ($callback:ident) => {
        $callback! {
            (LineStates, line_states, index),
            (LineScan, line_scan, index),
            (StructureWrite, structure_write, index),
            (LineIndex, line_index, index),
            (KindCheck, kind_check, index),
            (QuerySlots, query_slots, slots),
            (QuerySlotsLoose, query_slots_loose, slots_loose),
            (SlotCompact, slot_compact, slots),
            (QueryCount, query_count, counts),
            (QueryCountLoose, query_count_loose, counts_loose),
            (CountScan, count_scan, results),
            (QueryBounds, query_bounds, counts),
            (QueryFill, query_fill, fill),
            (FilterCount, filter_count, filter_count),
            (FilterFill, filter_fill, filter_fill),
            (TextScan, text_scan, results),
            (TextGather, text_gather, results),
            (RecordCompact, record_compact, results),
            (RecordRows, record_rows, columns),
            (ListOffsets, list_offsets, columns),
            (ColumnRead, column_read, columns),
            (ColumnGather, column_gather, columns),
            (ColumnFinish, column_finish, columns),
            (TapeWords, tape_words, tape),
            (TapeScan, tape_scan, tape),
            (TapeLines, tape_lines, tape),
            (TapeMinima, tape_minima, tape),
            (TapePieces, tape_pieces, tape),
            (TapeNodes, tape_nodes, tape),
            (StrictCheck, strict_check, strict),
            (TreeCount, tree_count, tree_count),
            (TreeFill, tree_fill, tree_fill),
            (NamesCount, names_count, names),
            (NamesFill, names_fill, names),
            (BitmapRange, bitmap_range, bitmap),
            (BinWords, bin_words, wah),
            (CompressStarts, compress_starts, wah),
            (CompressAtoms, compress_atoms, wah),
            (FsstDecode, fsst_decode, fsst),
            (FsstDecodeStrings, fsst_decode_strings, fsst),
            (FsstMeasure, fsst_measure, fsst),
            (FsstMatch, fsst_match, fsst_match),
            (TwigOps, twig_ops, twig_ops),
            (XmlStates, xml_states, xml),
            (XmlEvents, xml_events, xml),
            (XmlNodes, xml_nodes, xml),
            (XmlOps, xml_ops, xml),
            (TwigMatch, twig_match, twig),
        }
    };
}

macro_rules! names_and_modules {
    ($(($kernel:ident, $function:ident, $module:ident)),* $(,)?) => {
        &[$(($kernel::NAME, stringify!($module))),*]
    };
}

use names_and_modules;

/// The name of every kernel of the product, and the module that contains it.
pub const KERNELS: &[(&str, &str)] = for_each_kernel!(names_and_modules);

struct Sizes(&'static str);

impl Sizes {
    fn holds(&self, relation: &'static str, holds: bool, left: usize, right: usize) -> Result<(), SizeError> {
        let (left, right) = (left as u64, right as u64);
        if holds { Ok(()) } else { Err(SizeError { kernel: self.0, relation, left, right }) }
    }

    fn equal(&self, relation: &'static str, left: usize, right: usize) -> Result<(), SizeError> {
        self.holds(relation, left == right, left, right)
    }

    fn at_least(&self, relation: &'static str, left: usize, right: usize) -> Result<(), SizeError> {
        self.holds(relation, left >= right, left, right)
    }
}

fn blocks_for(threads: usize) -> u32 {
    threads.div_ceil(BLOCK_THREADS).max(1) as u32
}

/// The number of blocks for one warp per tile.
fn blocks_for_tiles(text: usize) -> u32 {
    blocks_for(text / TILE_BYTES * 32)
}

/// Not zero if any line is marked faulty.
///
/// This and the next four constants are offsets in [`LineStatesArgs::status`], by which the kernels report on
/// a text as a whole. All kernels share these words, which are zero before the first kernel.
pub const ANY_FAULTY: usize = 0;
/// The number of lines of the text.
pub const LINES: usize = 1;
/// Not zero if the line of some tile begins further back than in the preceding tile.
pub const FAR: usize = 2;
/// The largest number of lines that end in one tile, if some tile has no room for its lines.
pub const MOST_LINES_OF_A_TILE: usize = 3;
/// Not zero if any line is marked loose.
pub const ANY_LOOSE: usize = 4;
/// The number of status words.
pub const STATUS_WORDS: usize = 5;

/// Finds the state at the start of each tile whose line begins near it. One warp per tile.
pub struct LineStates;

/// Arguments of [`LineStates`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LineStatesArgs<'a> {
    /// The text, terminated by a newline and padded with zeros to a whole number of tiles. 16-byte aligned.
    pub text: View<'a, u8>,
    /// For each tile, the summary of the text before it. The summary goes back to the nearest newline, to the
    /// start of the text, or to the start of the preceding tile.
    pub states: ViewMut<'a, LineSummary>,
    /// The status words, with [`FAR`].
    pub status: ViewMut<'a, u32>,
}

/// Checks the relations that hold for every kernel with one warp per tile.
fn check_tiles(kernel: &'static str, text: usize, tiles: usize, status: usize) -> Result<(), SizeError> {
    let sizes = Sizes(kernel);
    sizes.at_least("text ≥ a tile", text, TILE_BYTES)?;
    sizes.equal("text = tiles × tile size", text, tiles * TILE_BYTES)?;
    sizes.equal("status = 5", status, STATUS_WORDS)
}

// SAFETY: the entry in `gpu/src/kernel/line.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for LineStates {
    type Args<'a> = LineStatesArgs<'a>;
    const NAME: &'static str = "line_states";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for_tiles(args.text.len())
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        check_tiles(Self::NAME, args.text.len(), args.states.len(), args.status.len())
    }
}

/// Scans the summaries of [`LineStates`] into states, if [`FAR`] is set. One thread per tile.
pub struct LineScan;

/// Arguments of [`LineScan`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LineScanArgs<'a> {
    /// See [`LineStatesArgs::states`]. On return, all states are found.
    pub states: ViewMut<'a, LineSummary>,
    /// Scratch memory of the scan.
    pub look_back: LookBack<'a, LineSummary>,
    /// The status words, with [`FAR`].
    pub status: View<'a, u32>,
}

// SAFETY: the entry in `gpu/src/kernel/line.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for LineScan {
    type Args<'a> = LineScanArgs<'a>;
    const NAME: &'static str = "line_scan";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        scan_tiles(args.states.len()) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        sizes.at_least("states ≥ 1", args.states.len(), 1)?;
        sizes.equal("status = 5", args.status.len(), STATUS_WORDS)?;
        args.look_back.check(Self::NAME, args.states.len())
    }
}

/// The memory by which the blocks of a device-wide scan pass sums to the blocks at their right (decoupled
/// look-back: Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LookBack<'a, T> {
    /// A status for each scan tile, then one ticket counter. Zero before the launch.
    pub status: ViewMut<'a, u32>,
    /// The sum of each tile. Valid once the status of the tile says so.
    pub aggregate: ViewMut<'a, T>,
    /// The sum of everything up to the end of each tile. Valid once the status of the tile says so.
    pub inclusive: ViewMut<'a, T>,
}

/// Arguments of the scans. `output[i]` is the sum of `input[..i]`, and `output[input.len()]` is the sum of
/// all.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ScanArgs<'a, I, T> {
    /// The elements to scan.
    pub input: View<'a, I>,
    /// The sums: one more than `input` has elements.
    pub output: ViewMut<'a, T>,
    /// Scratch memory of the scan.
    pub look_back: LookBack<'a, T>,
}

/// The number of scan tiles that `len` elements need.
pub const fn scan_tiles(len: usize) -> usize {
    let tiles = len.div_ceil(SCAN_TILE);
    if tiles == 0 { 1 } else { tiles }
}

impl<I: Copy, T: Monoid> ScanArgs<'_, I, T> {
    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        let sizes = Sizes(kernel);
        sizes.at_least("input ≥ 1", self.input.len(), 1)?;
        sizes.equal("output = input + 1", self.output.len(), self.input.len() + 1)?;
        self.look_back.check(kernel, self.input.len())
    }
}

impl<T: Copy> LookBack<'_, T> {
    fn check(&self, kernel: &'static str, elements: usize) -> Result<(), SizeError> {
        let (sizes, tiles) = (Sizes(kernel), scan_tiles(elements));
        sizes.equal("status = scan tiles + 1", self.status.len(), tiles + 1)?;
        sizes.equal("aggregate = scan tiles", self.aggregate.len(), tiles)?;
        sizes.equal("inclusive = scan tiles", self.inclusive.len(), tiles)
    }
}

macro_rules! scan {
    ($(#[$doc:meta])* $kernel:ident, $name:literal, $input:ty, $sum:ty) => {
        $(#[$doc])*
        pub struct $kernel;
        // SAFETY: the entry in `gpu/src/kernel/scan.rs` takes one `Args` by value. It stays within its views
        // for arguments that `check` accepts.
        unsafe impl Kernel for $kernel {
            type Args<'a> = ScanArgs<'a, $input, $sum>;
            const NAME: &'static str = $name;
            fn blocks(args: &Self::Args<'_>) -> u32 {
                scan_tiles(args.input.len()) as u32
            }
            fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
                args.check(Self::NAME)
            }
        }
    };
}

scan!(
    /// Scans counts into offsets.
    CountScan, "count_scan", u64, u64
);
scan!(
    /// Scans the lengths of matches, each with one byte for a newline, into the offsets of their texts.
    TextScan, "text_scan", Match, u64
);
scan!(
    /// Scans the sums of stretches into the sums before each stretch.
    TapeScan, "tape_scan", StretchSum, StretchSum
);

/// Writes the bitmaps, and for each tile its lines and bracket kinds. One warp per tile.
pub struct StructureWrite;

/// Arguments of [`StructureWrite`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct StructureWriteArgs<'a> {
    /// See [`LineStatesArgs::text`].
    pub text: View<'a, u8>,
    /// See [`LineStatesArgs::states`]. All states are found.
    pub states: View<'a, LineSummary>,
    /// The string bitmap: one word for every 64 bytes of `text`.
    pub string: ViewMut<'a, u64>,
    /// The leveled bitmaps, one after the other, each as long as `string`.
    pub levels: ViewMut<'a, u64>,
    /// One bit for each word of 64 bytes, set if the word contains a backslash.
    pub escapes: ViewMut<'a, u32>,
    /// The lines of each tile.
    pub lines: TileLines<'a>,
    /// The bracket kinds of each tile.
    pub kinds: ViewMut<'a, TileKinds>,
    /// The length of the text, without the terminating newline and the padding.
    pub len: PartOffset,
    /// The number of leveled bitmaps.
    pub level_count: u32,
}

/// The bit of [`TileLines::counts`] that is set if some line of the tile is marked faulty.
pub const FAULTY_TILE: u32 = 1 << 31;
/// The bit of [`TileLines::counts`] that is set if some line of the tile is marked loose.
pub const LOOSE_TILE: u32 = 1 << 30;

/// The lines of each tile, counted from the line at the left edge of the tile.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TileLines<'a> {
    /// The number of lines that end in the tile, with [`FAULTY_TILE`] and [`LOOSE_TILE`].
    pub counts: ViewMut<'a, u32>,
    /// One past the newline of each line: `room` offsets for each tile. Lines without room are not listed.
    pub ends: ViewMut<'a, PartOffset>,
    /// One bit per line, set for faulty lines: `room / 32 + 1` words for each tile.
    pub faulty: ViewMut<'a, u32>,
    /// One bit per line, set for loose lines ([`crate::index::loose`]): as many words as `faulty` has.
    pub loose: ViewMut<'a, u32>,
    /// The number of lines for which each tile has room. A multiple of 32.
    pub room: LineIx,
    /// Zero.
    pub reserved: u32,
}

impl TileLines<'_> {
    /// The number of words of [`faulty`](Self::faulty) for each tile.
    #[inline(always)]
    pub const fn fault_words(&self) -> usize {
        tile_fault_words(self.room)
    }
}

/// The number of words of faulty lines for a tile with room for `room` lines. The line at the right edge of
/// the tile is one more.
#[inline(always)]
pub const fn tile_fault_words(room: LineIx) -> usize {
    room as usize / 32 + 1
}

/// The effect of a tile on bracket kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct TileKinds {
    /// The kinds that the tile wrote.
    pub writes: KindWrites,
    /// The kinds that the line at the left edge of the tile must already have.
    pub reads: KindReads,
}

const _: () = assert!(size_of::<TileKinds>() == 16);

// SAFETY: the entry in `gpu/src/kernel/structure.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for StructureWrite {
    type Args<'a> = StructureWriteArgs<'a>;
    const NAME: &'static str = "structure_write";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for_tiles(args.text.len())
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        let (tiles, room) = (args.states.len(), args.lines.room);
        check_tiles(Self::NAME, args.text.len(), tiles, STATUS_WORDS)?;
        sizes.at_least("text ≥ length + 1", args.text.len(), args.len as usize + 1)?;
        sizes.equal("64 × string words = text", args.string.len() * WORD_BYTES, args.text.len())?;
        sizes.equal("32 × escape words = string words", args.escapes.len() * 32, args.string.len())?;
        sizes.equal(
            "levels = count × string",
            args.levels.len(),
            args.level_count as usize * args.string.len(),
        )?;
        sizes.equal("room = a multiple of 32", room as usize % 32, 0)?;
        sizes.equal("counts = tiles", args.lines.counts.len(), tiles)?;
        sizes.equal("ends = tiles × room", args.lines.ends.len(), tiles * room as usize)?;
        sizes.equal(
            "faults = tiles × (room / 32 + 1)",
            args.lines.faulty.len(),
            tiles * tile_fault_words(room),
        )?;
        sizes.equal("loose = faults", args.lines.loose.len(), args.lines.faulty.len())?;
        sizes.equal("kinds = tiles", args.kinds.len(), tiles)
    }
}

/// Writes the newline index from the lists of the tiles. One thread per tile; then each warp copies the lists
/// of its 32 tiles.
pub struct LineIndex;

/// Arguments of [`LineIndex`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LineIndexArgs<'a> {
    /// See [`TileLines::counts`].
    pub counts: View<'a, u32>,
    /// See [`TileLines::ends`].
    pub ends: View<'a, PartOffset>,
    /// See [`TileLines::faulty`].
    pub faults: View<'a, u32>,
    /// See [`TileLines::loose`].
    pub tile_loose: View<'a, u32>,
    /// The number of the line at each tile's left edge.
    pub first_lines: ViewMut<'a, LineIx>,
    /// The start of each line, and at the end the length of the text. Lines without room are not listed.
    pub line_starts: ViewMut<'a, PartOffset>,
    /// Scratch memory of the scan.
    pub look_back: LookBack<'a, u64>,
    /// The bitmap and the status that record faulty lines.
    pub faulty: FaultyLines<'a>,
    /// One bit per loose line, laid out as [`FaultyLines::bits`].
    pub loose: ViewMut<'a, u32>,
    /// See [`TileLines::room`].
    pub room: LineIx,
    /// Zero.
    pub reserved: u32,
}

impl LineIndexArgs<'_> {
    /// See [`TileLines::fault_words`].
    #[inline(always)]
    pub const fn fault_words(&self) -> usize {
        tile_fault_words(self.room)
    }
}

/// The lines that are found or suspected to be faulty.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FaultyLines<'a> {
    /// One bit per line, in 32-bit words. Lines without room are left out. Zero before the first kernel.
    pub bits: ViewMut<'a, u32>,
    /// See [`LineStatesArgs::status`].
    pub status: ViewMut<'a, u32>,
}

/// The number of 32-bit words that hold one bit per line.
pub const fn line_words(lines: usize) -> usize {
    lines.div_ceil(32)
}

// SAFETY: the entry in `gpu/src/kernel/index.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for LineIndex {
    type Args<'a> = LineIndexArgs<'a>;
    const NAME: &'static str = "line_index";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        scan_tiles(args.counts.len()) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        let tiles = args.counts.len();
        sizes.at_least("counts ≥ 1", tiles, 1)?;
        sizes.equal("ends = counts × room", args.ends.len(), tiles * args.room as usize)?;
        sizes.equal("faults = counts × (room / 32 + 1)", args.faults.len(), tiles * args.fault_words())?;
        sizes.equal("loose of tiles = faults", args.tile_loose.len(), args.faults.len())?;
        sizes.equal("loose = faulty", args.loose.len(), args.faulty.bits.len())?;
        sizes.equal("first lines = counts", args.first_lines.len(), tiles)?;
        sizes.at_least("line starts ≥ 1", args.line_starts.len(), 1)?;
        sizes.equal("status = 5", args.faulty.status.len(), STATUS_WORDS)?;
        args.look_back.check(Self::NAME, tiles)
    }
}

/// Compares the bracket kinds that each tile expects with the kinds that the preceding tiles wrote. One
/// thread per tile.
pub struct KindCheck;

/// Arguments of [`KindCheck`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct KindCheckArgs<'a> {
    /// The kinds from [`StructureWrite`].
    pub kinds: View<'a, TileKinds>,
    /// The first lines from [`LineIndex`].
    pub first_lines: View<'a, LineIx>,
    /// Scratch memory of the scan.
    pub look_back: LookBack<'a, KindWrites>,
    /// The bitmap and the status that record faulty lines.
    pub faulty: FaultyLines<'a>,
}

// SAFETY: the entry in `gpu/src/kernel/kind.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for KindCheck {
    type Args<'a> = KindCheckArgs<'a>;
    const NAME: &'static str = "kind_check";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        scan_tiles(args.kinds.len()) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        sizes.at_least("kinds ≥ 1", args.kinds.len(), 1)?;
        sizes.equal("first lines = kinds", args.first_lines.len(), args.kinds.len())?;
        sizes.equal("status = 5", args.faulty.status.len(), STATUS_WORDS)?;
        args.look_back.check(Self::NAME, args.kinds.len())
    }
}

/// A match in a partition: its line, and the bytes of its value. 12 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(C)]
pub struct Match {
    /// The line of the match.
    pub line: LineIx,
    /// The first byte of the value.
    pub start: PartOffset,
    /// One past the last byte of the value.
    pub end: PartOffset,
}

/// The bytes of a value in a partition. Empty if there is no value. 8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Span {
    /// The first byte.
    pub start: PartOffset,
    /// One past the last byte.
    pub end: PartOffset,
}

/// A partition's text and index, as the query kernels read them.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Indexed<'a> {
    /// See [`LineStatesArgs::text`].
    pub text: View<'a, u8>,
    /// See [`StructureWriteArgs::string`].
    pub string: View<'a, u64>,
    /// See [`StructureWriteArgs::levels`].
    pub levels: View<'a, u64>,
    /// See [`StructureWriteArgs::escapes`].
    pub escapes: View<'a, u32>,
    /// The start of each line, and at the end the length of the text.
    pub line_starts: View<'a, PartOffset>,
    /// One bit per line, set for faulty lines: such a line matches nothing.
    pub faulty: View<'a, u32>,
    /// One bit per line, set for loose lines ([`crate::index::loose`]).
    pub loose: View<'a, u32>,
}

impl Indexed<'_> {
    /// The number of lines.
    #[inline(always)]
    pub const fn lines(&self) -> usize {
        self.line_starts.len() - 1
    }

    /// The number of words of one leveled bitmap.
    #[inline(always)]
    pub const fn words(&self) -> usize {
        self.text.len() / WORD_BYTES
    }

    fn check(&self, kernel: &'static str, program: &Program<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(kernel);
        sizes.at_least("text ≥ a tile", self.text.len(), TILE_BYTES)?;
        sizes.equal("text = whole tiles", self.text.len() % TILE_BYTES, 0)?;
        sizes.equal("string = a bit a byte", self.string.len(), self.words())?;
        sizes.equal("escapes = a bit a word", 32 * self.escapes.len(), self.words())?;
        sizes.at_least("line starts ≥ 2", self.line_starts.len(), 2)?;
        sizes.at_least("32 × faulty bits ≥ lines", 32 * self.faulty.len(), self.lines())?;
        sizes.equal("loose bits = faulty bits", self.loose.len(), self.faulty.len())?;
        sizes.at_least("program ≥ 1 instruction", program.instrs.len(), 1)?;
        sizes.at_least("levels ≥ those read", self.levels.len(), program.levels as usize * self.words())
    }
}

/// Arguments of [`QuerySlots`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct QuerySlotsArgs<'a> {
    /// The records to evaluate.
    pub indexed: Indexed<'a>,
    /// The program to evaluate.
    pub program: Program<'a>,
    /// Path by path, one span for each line.
    pub slots: ViewMut<'a, Span>,
}

impl QuerySlotsArgs<'_> {
    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        self.indexed.check(kernel, &self.program)?;
        let slots = self.program.paths as usize * self.indexed.lines();
        Sizes(kernel).equal("slots = paths × lines", self.slots.len(), slots)
    }
}

/// Arguments of [`QueryCount`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct QueryCountArgs<'a> {
    /// The records to evaluate.
    pub indexed: Indexed<'a>,
    /// The program to evaluate.
    pub program: Program<'a>,
    /// Path by path, one count for each line. Zero before the launch.
    pub counts: ViewMut<'a, u64>,
    /// The first matches of each path and line, [`KEPT`] to [`MOST_KEPT`] of them, kept for [`QueryFill`].
    /// All first matches come first, laid out as the counts are, then all second matches, and so on. Empty if
    /// only counts are wanted.
    pub kept: ViewMut<'a, Span>,
}

/// The least number of matches that are kept for a path and line while they are counted, of 8 bytes each. If
/// a line has more matches of any path than are kept, the program runs over it again.
pub const KEPT: usize = 2;
/// The largest number of matches that are kept for a path and line. See [`KEPT`].
pub const MOST_KEPT: usize = 16;

/// Returns whether `kept` spans are [`KEPT`] to [`MOST_KEPT`] for each of `counts` counts, all the same
/// number.
const fn is_room_to_keep(kept: usize, counts: usize) -> bool {
    kept.is_multiple_of(counts) && kept / counts >= KEPT && kept / counts <= MOST_KEPT
}

impl QueryCountArgs<'_> {
    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        self.indexed.check(kernel, &self.program)?;
        let counts = self.program.paths as usize * self.indexed.lines();
        let sizes = Sizes(kernel);
        sizes.equal("counts = paths × lines", self.counts.len(), counts)?;
        let kept = self.kept.len();
        let fits = kept == 0 || is_room_to_keep(kept, counts);
        sizes.holds("kept = 0 or KEPT to MOST_KEPT × counts", fits, kept, counts)
    }
}

/// Arguments of [`QueryFill`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct QueryFillArgs<'a> {
    /// The records to evaluate.
    pub indexed: Indexed<'a>,
    /// The program to evaluate.
    pub program: Program<'a>,
    /// The counts from [`QueryCount`].
    pub counts: View<'a, u64>,
    /// The matches that [`QueryCount`] kept.
    pub kept: View<'a, Span>,
    /// Path by path, the offset of the matches of each line, and at the end the number of matches. The kernel
    /// moves each offset to that of the next line while it writes.
    pub offsets: ViewMut<'a, u64>,
    /// All matches, path by path, in line order.
    pub matches: ViewMut<'a, Match>,
}

impl QueryFillArgs<'_> {
    fn check(&self, kernel: &'static str) -> Result<(), SizeError> {
        self.indexed.check(kernel, &self.program)?;
        let counts = self.program.paths as usize * self.indexed.lines();
        let sizes = Sizes(kernel);
        sizes.equal("counts = paths × lines", self.counts.len(), counts)?;
        let kept = self.kept.len();
        sizes.holds("kept = KEPT to MOST_KEPT × counts", is_room_to_keep(kept, counts), kept, counts)?;
        sizes.equal("offsets = paths × lines + 1", self.offsets.len(), counts + 1)
    }
}

macro_rules! query {
    ($($(#[$doc:meta])* $kernel:ident, $name:literal, $args:ident, $threads:ident;)*) => {$(
        $(#[$doc])*
        pub struct $kernel;
        // SAFETY: the entry in `gpu/src/kernel/query.rs` takes one `Args` by value. It stays within its views
        // for arguments that `check` accepts.
        unsafe impl Kernel for $kernel {
            type Args<'a> = $args<'a>;
            const NAME: &'static str = $name;
            const THREADS: usize = $threads;
            fn blocks(args: &Self::Args<'_>) -> u32 {
                args.indexed.lines().div_ceil($threads) as u32
            }
            fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
                args.check(Self::NAME)
            }
        }
    )*};
}

query! {
    /// Runs a singular program over plain lines: at most one match per path and line. One thread per line.
    QuerySlots, "query_slots", QuerySlotsArgs, QUERY_THREADS;
    /// Runs a singular program over loose lines: at most one match per path and line. One thread per line.
    QuerySlotsLoose, "query_slots_loose", QuerySlotsArgs, BLOCK_THREADS;
    /// Counts a program's matches in plain lines. One thread per line.
    QueryCount, "query_count", QueryCountArgs, QUERY_THREADS;
    /// Counts a program's matches in loose lines. One thread per line.
    QueryCountLoose, "query_count_loose", QueryCountArgs, BLOCK_THREADS;
    /// Writes the matches that [`QueryCount`] counted: either the kept matches, or those that a second run
    /// finds. One thread per line.
    QueryFill, "query_fill", QueryFillArgs, QUERY_THREADS;
    /// Counts the matches in all lines, as [`QueryCount`] does, of a program with filters that test more than
    /// whether a value equals a literal.
    FilterCount, "filter_count", QueryCountArgs, QUERY_THREADS;
    /// Writes the matches that [`FilterCount`] counted, as [`QueryFill`] does.
    FilterFill, "filter_fill", QueryFillArgs, QUERY_THREADS;
}
