//! The kernels of bitmap indexes: programs over tiles of compressed bitmaps ([`crate::bitmap`]), and
//! compression.

use super::launch::{Kernel, SizeError, Sizes};
use super::scan::{LookBack, scan_tiles};
use crate::bitmap::{Instr, MAX_OUTPUTS, TileStart, tiles_for};
use crate::units::BLOCK_THREADS;
use crate::view::{View, ViewMut};

/// Threads of a block of [`BitmapRange`].
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
