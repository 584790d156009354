//! The bitmaps, the newline index and the bracket kinds of a text.

use super::launch::{Kernel, SizeError, Sizes, blocks_for_tiles};
use super::line::{STATUS_WORDS, check_tiles};
use super::scan::{LookBack, scan_tiles};
use crate::index::level::{KindReads, KindWrites};
use crate::index::line::LineSummary;
use crate::units::{LineIx, PartOffset, WORD_BYTES};
use crate::view::{View, ViewMut};

/// Writes the bitmaps, and for each tile its lines and bracket kinds. One warp per tile.
pub struct StructureWrite;

/// Arguments of [`StructureWrite`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct StructureWriteArgs<'a> {
    /// See [`super::LineStatesArgs::text`].
    pub text: View<'a, u8>,
    /// See [`super::LineStatesArgs::states`]. All states are found.
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

/// The bit of [`TileLines::counts`] that is set if [`OddCheck`] has to look at bytes of the tile.
pub const ODD_TILE: u32 = 1 << 29;
/// The bits of [`TileLines::counts`] that are flags.
pub const TILE_FLAGS: u32 = FAULTY_TILE | LOOSE_TILE | ODD_TILE;

/// The lines of each tile, counted from the line at the left edge of the tile.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TileLines<'a> {
    /// The number of lines that end in the tile, with [`TILE_FLAGS`].
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
    /// See [`super::LineStatesArgs::status`].
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

/// Looks at the bytes by which lines are not usual: where a line begins or ends with no bracket, a colon that
/// no quote precedes at once, and bytes below 0x20 outside strings. Reports the lines that may be faulty. One
/// warp per tile; nearly all tiles have no such bytes.
pub struct OddCheck;

/// Arguments of [`OddCheck`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct OddCheckArgs<'a> {
    /// See [`super::LineStatesArgs::text`].
    pub text: View<'a, u8>,
    /// See [`StructureWriteArgs::string`].
    pub string: View<'a, u64>,
    /// See [`TileLines::counts`].
    pub counts: View<'a, u32>,
    /// See [`TileLines::ends`].
    pub ends: View<'a, PartOffset>,
    /// The first lines from [`LineIndex`].
    pub first_lines: View<'a, LineIx>,
    /// The bitmap and the status that record faulty lines.
    pub faulty: FaultyLines<'a>,
    /// See [`TileLines::room`].
    pub room: LineIx,
    /// See [`StructureWriteArgs::len`].
    pub len: PartOffset,
}

// SAFETY: the entry in `gpu/src/kernel/odd.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for OddCheck {
    type Args<'a> = OddCheckArgs<'a>;
    const NAME: &'static str = "odd_check";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for_tiles(args.text.len())
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        let tiles = args.counts.len();
        check_tiles(Self::NAME, args.text.len(), tiles, args.faulty.status.len())?;
        sizes.at_least("text ≥ length + 1", args.text.len(), args.len as usize + 1)?;
        sizes.equal("64 × string words = text", args.string.len() * WORD_BYTES, args.text.len())?;
        sizes.equal("ends = tiles × room", args.ends.len(), tiles * args.room as usize)?;
        sizes.equal("first lines = tiles", args.first_lines.len(), tiles)
    }
}
