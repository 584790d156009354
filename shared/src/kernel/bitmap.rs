//! The kernels of bitmap indexes: programs over tiles of compressed bitmaps ([`crate::bitmap`]), the methods
//! of Nelson et al. (2019) to compare with, and compression.

use super::launch::{Kernel, SizeError, Sizes};
use super::scan::{LookBack, scan_tiles};
use crate::bitmap::{Instr, MAX_OUTPUTS, TILE_CHUNKS, TileStart, tiles_for};
use crate::units::BLOCK_THREADS;
use crate::view::{View, ViewMut};

/// Threads of a block, for the kernels with one warp or four per tile.
const TILE_THREADS: usize = 128;

/// Compressed bitmaps on the device.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Columns<'a> {
    /// The atoms of all bitmaps.
    pub atoms: View<'a, u64>,
    /// The start of every tile, column by column. After the last tile of each column follows one more entry,
    /// for the end.
    pub tiles: View<'a, TileStart>,
    /// The offset of the first atom of each bitmap. The offset of its tile starts follows from the number of
    /// the column alone, so that both loads are issued at once.
    pub columns: View<'a, u64>,
}

/// Runs a program over tiles. One block of four warps per tile.
pub struct BitmapRange;

/// Arguments of [`BitmapRange`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct BitmapRangeArgs<'a> {
    /// The bitmaps that the program names. Each is canonical, has [`Self::chunks`] chunks, and its tile
    /// starts are correct.
    pub columns: Columns<'a>,
    /// A program that [`crate::bitmap::check`] accepts.
    pub program: View<'a, Instr>,
    /// The chunks of the results, one result after the other. Empty if the results are only counted.
    pub words: ViewMut<'a, u64>,
    /// The number of rows of each result. The kernel adds to these.
    pub counts: ViewMut<'a, u64>,
    /// The number of chunks of a bitmap.
    pub chunks: u64,
    /// The rows of the last chunk, as bits ([`crate::wah::last_chunk`]).
    pub last: u64,
}

fn blocks_for_warps(warps: u64) -> u32 {
    warps.div_ceil(TILE_THREADS as u64 / 32).max(1) as u32
}

// SAFETY: the entry in `gpu/src/kernel/bitmap.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for BitmapRange {
    type Args<'a> = BitmapRangeArgs<'a>;
    const NAME: &'static str = "bitmap_range";
    const THREADS: usize = TILE_THREADS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        tiles_for(args.chunks) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let (sizes, outputs) = (Sizes(Self::NAME), args.counts.len());
        sizes.at_least("2 ≥ results", MAX_OUTPUTS, outputs)?;
        sizes.at_least("chunks ≥ 1", args.chunks as usize, 1)?;
        sizes.at_least("2³² > chunks", u32::MAX as usize, args.chunks as usize)?;
        if !args.words.is_empty() {
            sizes.equal("words = results × chunks", args.words.len(), outputs * args.chunks as usize)?;
        }
        let starts = args.columns.columns.len() * (tiles_for(args.chunks) as usize + 1);
        sizes.equal("tile starts = columns × (tiles + 1)", args.columns.tiles.len(), starts)
    }
}

/// Decompresses tiles of columns, by the tile starts. One warp per column and tile.
pub struct DecompressTiles;

/// Arguments of [`DecompressTiles`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct DecompressTilesArgs<'a> {
    /// See [`BitmapRangeArgs::columns`].
    pub columns: Columns<'a>,
    /// The chunks of these tiles, column by column.
    pub words: ViewMut<'a, u64>,
    /// The number of chunks of a bitmap.
    pub chunks: u64,
    /// The first tile.
    pub first: u64,
    /// The number of chunks of each column to decompress, from that tile on: whole tiles, or all chunks up to
    /// the last.
    pub stripe: u64,
}

// SAFETY: the entry in `gpu/src/kernel/bitmap.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for DecompressTiles {
    type Args<'a> = DecompressTilesArgs<'a>;
    const NAME: &'static str = "decompress_tiles";
    const THREADS: usize = TILE_THREADS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for_warps(tiles_for(args.stripe) * args.columns.columns.len() as u64)
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let (sizes, columns) = (Sizes(Self::NAME), args.columns.columns.len());
        sizes.at_least("columns ≥ 1", columns, 1)?;
        sizes.at_least("stripe ≥ 1", args.stripe as usize, 1)?;
        sizes.at_least("2³¹ ≥ tiles × columns", 1 << 31, columns * tiles_for(args.stripe) as usize)?;
        let before = args.first * TILE_CHUNKS as u64;
        sizes.at_least("chunks ≥ the last", args.chunks as usize, (before + args.stripe) as usize)?;
        let whole = args.stripe.is_multiple_of(TILE_CHUNKS as u64) || before + args.stripe == args.chunks;
        sizes.holds("stripe = whole tiles", whole, args.stripe as usize, args.chunks as usize)?;
        sizes.equal("words = columns × stripe", args.words.len(), columns * args.stripe as usize)?;
        let starts = columns * (tiles_for(args.chunks) as usize + 1);
        sizes.equal("tile starts = columns × (tiles + 1)", args.columns.tiles.len(), starts)
    }
}

/// Atoms that a thread of [`DecompressScan`] scans.
pub const SCAN_ATOMS: usize = 8;
/// Words that a block of [`DecompressWords`] writes, one per thread.
pub const EXPAND_WORDS: usize = 1024;

/// The scan of DecompressVector: finds the first chunk of each atom, over columns one after the other. One
/// thread per [`SCAN_ATOMS`] atoms.
pub struct DecompressScan;

/// Arguments of [`DecompressScan`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct DecompressScanArgs<'a> {
    /// The atoms of all columns, one after the other. 16-byte aligned.
    pub atoms: View<'a, u64>,
    /// The first chunk of each atom.
    pub starts: ViewMut<'a, u32>,
    /// For each run of [`EXPAND_WORDS`] chunks, the atom that contains the first chunk.
    pub firsts: ViewMut<'a, u32>,
    /// Scratch memory for as many elements as there are threads with an atom.
    pub look_back: LookBack<'a, u64>,
    /// The number of chunks of all columns.
    pub words: u64,
}

// SAFETY: the entry in `gpu/src/kernel/wah.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for DecompressScan {
    type Args<'a> = DecompressScanArgs<'a>;
    const NAME: &'static str = "decompress_scan";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        scan_tiles(args.atoms.len().div_ceil(SCAN_ATOMS)) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        sizes.at_least("atoms ≥ 1", args.atoms.len(), 1)?;
        sizes.at_least("words ≥ atoms", args.words as usize, args.atoms.len())?;
        sizes.at_least("2³² > words", u32::MAX as usize, args.words as usize)?;
        sizes.equal("starts = atoms", args.starts.len(), args.atoms.len())?;
        let firsts = (args.words as usize).div_ceil(EXPAND_WORDS);
        sizes.equal("1024 × firsts = words", args.firsts.len(), firsts)?;
        args.look_back.check(Self::NAME, args.atoms.len().div_ceil(SCAN_ATOMS))
    }
}

/// DecompressVector: one thread for each word of the decompressed columns.
pub struct DecompressWords;

/// Arguments of [`DecompressWords`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct DecompressWordsArgs<'a> {
    /// See [`DecompressScanArgs::atoms`].
    pub atoms: View<'a, u64>,
    /// See [`DecompressScanArgs::starts`].
    pub starts: View<'a, u32>,
    /// See [`DecompressScanArgs::firsts`].
    pub firsts: View<'a, u32>,
    /// The chunks of all columns.
    pub words: ViewMut<'a, u64>,
}

// SAFETY: the entry in `gpu/src/kernel/wah.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for DecompressWords {
    type Args<'a> = DecompressWordsArgs<'a>;
    const NAME: &'static str = "decompress_words";
    const THREADS: usize = EXPAND_WORDS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        args.words.len().div_ceil(EXPAND_WORDS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        sizes.at_least("words ≥ 1", args.words.len(), 1)?;
        sizes.equal("starts = atoms", args.starts.len(), args.atoms.len())?;
        sizes.equal("1024 × firsts = words", args.firsts.len(), args.words.len().div_ceil(EXPAND_WORDS))
    }
}

/// Word pairs of a block of [`CoaLevel`], one per thread.
pub const COA_WORDS: usize = 1024;

/// One level of the column-oriented reduction (COA): combines the upper half of the columns into the lower
/// half.
pub struct CoaLevel;

/// Arguments of [`CoaLevel`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CoaLevelArgs<'a> {
    /// The chunks of all columns, column by column.
    pub words: ViewMut<'a, u64>,
    /// The number of chunks of a column.
    pub chunks: u64,
    /// The number of columns that are left, at least two. If the number is odd, the upper half is the smaller
    /// one.
    pub columns: u32,
    /// Zero.
    pub reserved: u32,
}

// SAFETY: the entry in `gpu/src/kernel/wah.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for CoaLevel {
    type Args<'a> = CoaLevelArgs<'a>;
    const NAME: &'static str = "coa_level";
    const THREADS: usize = COA_WORDS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        args.columns / 2 * (args.chunks as usize).div_ceil(COA_WORDS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        sizes.at_least("columns ≥ 2", args.columns as usize, 2)?;
        sizes.at_least("chunks ≥ 1", args.chunks as usize, 1)?;
        let words = args.columns as usize * args.chunks as usize;
        sizes.at_least("2³² > words", u32::MAX as usize, words)?;
        sizes.at_least("words ≥ columns × chunks", args.words.len(), words)
    }
}

/// The most threads of a block.
pub const MAX_THREADS: u32 = 1024;

/// Reduces tiles of columns and rows in shared memory: the hybrid method. With one row per block it is the
/// row-oriented method (ROA), and with all columns in one block the ideal hybrid. The first column of each
/// tile takes the result.
pub struct HybridTiles;

/// Arguments of [`HybridTiles`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct HybridTilesArgs<'a> {
    /// The chunks of all columns, column by column.
    pub words: ViewMut<'a, u64>,
    /// The number of chunks of a column.
    pub chunks: u64,
    /// The number of columns to reduce.
    pub columns: u32,
    /// The distance from one of these columns to the next: 1 in the first round, then 2*k* times the stride
    /// of the preceding round.
    pub stride: u32,
    /// *k*: the threads over columns. A block has twice as many columns.
    pub width: u32,
    /// *j*: the threads over rows of words.
    pub height: u32,
}

impl HybridTilesArgs<'_> {
    /// The number of tiles over the columns.
    #[inline]
    pub const fn tiles(&self) -> u32 {
        self.columns.div_ceil(2 * self.width)
    }
}

// SAFETY: the entry in `gpu/src/kernel/wah.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for HybridTiles {
    type Args<'a> = HybridTilesArgs<'a>;
    const NAME: &'static str = "hybrid_tiles";
    const THREADS: usize = MAX_THREADS as usize;
    fn threads(args: &Self::Args<'_>) -> u32 {
        args.width * args.height
    }
    fn blocks(args: &Self::Args<'_>) -> u32 {
        args.tiles() * args.chunks.div_ceil(args.height as u64) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        sizes.at_least("columns ≥ 1", args.columns as usize, 1)?;
        sizes.at_least("stride ≥ 1", args.stride as usize, 1)?;
        sizes.at_least("chunks ≥ 1", args.chunks as usize, 1)?;
        let (width, height) = (args.width as usize, args.height as usize);
        sizes.at_least("width × height ≥ 1", width.saturating_mul(height), 1)?;
        sizes.at_least("1024 ≥ width × height", MAX_THREADS as usize, width.saturating_mul(height))?;
        let last = (args.columns as usize - 1) * args.stride as usize + 1;
        let blocks = args.tiles() as usize * (args.chunks as usize).div_ceil(height);
        sizes.at_least("2³¹ > blocks", (1 << 31) - 1, blocks)?;
        sizes.at_least("words ≥ columns × chunks", args.words.len(), last * args.chunks as usize)
    }
}

/// Chunks that a thread of [`CompressStarts`] reads.
pub const COMPRESS_CHUNKS: usize = 4;

/// Finds the first chunk of each atom in chunks of columns. One thread per [`COMPRESS_CHUNKS`] chunks.
pub struct CompressStarts;

/// Arguments of [`CompressStarts`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CompressStartsArgs<'a> {
    /// The chunks of all columns, column by column.
    pub words: View<'a, u64>,
    /// The first chunk of each atom, among all chunks, and at the end the number of chunks. Room for as many
    /// atoms as chunks.
    pub starts: ViewMut<'a, u32>,
    /// The first atom of each column, and at the end the number of atoms.
    pub columns: ViewMut<'a, u32>,
    /// Scratch memory for as many elements as there are threads with a chunk.
    pub look_back: LookBack<'a, u64>,
    /// The number of chunks of a column.
    pub chunks: u64,
}

// SAFETY: the entry in `gpu/src/kernel/wah.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for CompressStarts {
    type Args<'a> = CompressStartsArgs<'a>;
    const NAME: &'static str = "compress_starts";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        scan_tiles(args.words.len().div_ceil(COMPRESS_CHUNKS)) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let (sizes, words) = (Sizes(Self::NAME), args.words.len());
        sizes.at_least("chunks ≥ 1", args.chunks as usize, 1)?;
        sizes.at_least("columns ≥ 1", args.columns.len(), 2)?;
        sizes.equal("words = columns × chunks", words, (args.columns.len() - 1) * args.chunks as usize)?;
        sizes.at_least("2³² > words", u32::MAX as usize, words)?;
        sizes.equal("starts = words + 1", args.starts.len(), words + 1)?;
        args.look_back.check(Self::NAME, words.div_ceil(COMPRESS_CHUNKS))
    }
}

/// Writes the atoms that [`CompressStarts`] found. One thread per atom.
pub struct CompressAtoms;

/// Arguments of [`CompressAtoms`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CompressAtomsArgs<'a> {
    /// See [`CompressStartsArgs::words`].
    pub words: View<'a, u64>,
    /// See [`CompressStartsArgs::starts`]. Only the entries of the atoms found.
    pub starts: View<'a, u32>,
    /// The atoms.
    pub atoms: ViewMut<'a, u64>,
}

// SAFETY: the entry in `gpu/src/kernel/wah.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for CompressAtoms {
    type Args<'a> = CompressAtomsArgs<'a>;
    const NAME: &'static str = "compress_atoms";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        args.atoms.len().div_ceil(BLOCK_THREADS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        sizes.at_least("atoms ≥ 1", args.atoms.len(), 1)?;
        sizes.at_least("words ≥ atoms", args.words.len(), args.atoms.len())?;
        sizes.equal("starts = atoms + 1", args.starts.len(), args.atoms.len() + 1)
    }
}

/// Sets the bit of each row in the chunks of its bin. One warp per chunk.
pub struct BinWords;

/// Arguments of [`BinWords`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct BinWordsArgs<'a> {
    /// The bin of each row. Rows of other bins than `first` to `first + count - 1` are left out.
    pub bins: View<'a, u32>,
    /// The chunks of these bins, bin by bin. Zero before the launch.
    pub words: ViewMut<'a, u64>,
    /// The first bin.
    pub first: u32,
    /// The number of bins.
    pub count: u32,
}

// SAFETY: the entry in `gpu/src/kernel/wah.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for BinWords {
    type Args<'a> = BinWordsArgs<'a>;
    const NAME: &'static str = "bin_words";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        let chunks = crate::wah::chunks_for(args.bins.len() as u64);
        chunks.div_ceil(BLOCK_THREADS as u64 / 32) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        let chunks = crate::wah::chunks_for(args.bins.len() as u64) as usize;
        sizes.at_least("rows ≥ 1", args.bins.len(), 1)?;
        sizes.at_least("bins ≥ 1", args.count as usize, 1)?;
        sizes.equal("words = bins × chunks", args.words.len(), args.count as usize * chunks)
    }
}
