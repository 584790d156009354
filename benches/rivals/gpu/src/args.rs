//! The arguments and launch shapes of the kernels.

use warpath_shared::bitmap::{TILE_CHUNKS, tiles_for};
use warpath_shared::fsst::{SPLIT_CODES, TABLE_WORDS};
use warpath_shared::kernel::{Columns, Kernel, LookBack, SizeError, Sizes, scan_tiles};
use warpath_shared::view::{View, ViewMut};

use crate::seed::BLOCK;

/// Threads of a block of [`DecompressTiles`]: four warps.
const TILE_THREADS: usize = 128;

fn blocks_for_warps(warps: u64) -> u32 {
    warps.div_ceil(TILE_THREADS as u64 / 32).max(1) as u32
}

/// Decompresses tiles of columns, by the tile starts. One warp per column and tile.
pub struct DecompressTiles;

/// Arguments of [`DecompressTiles`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct DecompressTilesArgs<'a> {
    /// The bitmaps. Each is canonical, has [`Self::chunks`] chunks, and its tile starts are correct.
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

// SAFETY: the entry in `src/unions.rs` takes one `Args` by value. It stays within its views for arguments
// that `check` accepts.
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

// SAFETY: the entry in `src/unions.rs` takes one `Args` by value. It stays within its views for arguments
// that `check` accepts.
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

// SAFETY: the entry in `src/unions.rs` takes one `Args` by value. It stays within its views for arguments
// that `check` accepts.
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

// SAFETY: the entry in `src/unions.rs` takes one `Args` by value. It stays within its views for arguments
// that `check` accepts.
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

// SAFETY: the entry in `src/unions.rs` takes one `Args` by value. It stays within its views for arguments
// that `check` accepts.
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

/// Counts the bytes of each string: the first step of the ladder. One thread per string.
pub struct FsstLengths;

/// Arguments of [`FsstLengths`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FsstLengthsArgs<'a> {
    /// See [`FsstDecodeArgs::codes`](warpath_shared::kernel::FsstDecodeArgs::codes).
    pub codes: View<'a, u8>,
    /// The table ([`warpath_shared::fsst::Table::to_words`]).
    pub table: View<'a, u64>,
    /// See [`FsstDecodeArgs::code_offsets`](warpath_shared::kernel::FsstDecodeArgs::code_offsets).
    pub code_offsets: View<'a, u64>,
    /// The number of bytes of each string.
    pub lengths: ViewMut<'a, u64>,
}

/// The first step of the ladder that decodes: one thread per string, by single bytes.
///
/// The ladder is from an article about such kernels (docs/fsst.md), with one kernel per step.
/// [`FsstDecode`](warpath_shared::kernel::FsstDecode) is compared with it.
pub struct FsstBytes;
/// The step of the ladder that loads codes by 8 bytes.
pub struct FsstWords;
/// The step of the ladder that also has the table in shared memory.
pub struct FsstShared;
/// The last steps of the ladder: codes are loaded by 8 bytes; the output is gathered in registers, and stored
/// by 16 bytes. The very last step runs over stretches of equal length, found beforehand, in place of
/// strings.
pub struct FsstBuffered;

/// Arguments of the ladder.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FsstLadderArgs<'a> {
    /// See [`FsstDecodeArgs::codes`](warpath_shared::kernel::FsstDecodeArgs::codes).
    pub codes: View<'a, u8>,
    /// The table ([`warpath_shared::fsst::Table::to_words`]).
    pub table: View<'a, u64>,
    /// The offset in the codes at which each string or stretch begins, and at the end the number of codes.
    /// None begins after an escape.
    pub code_offsets: View<'a, u64>,
    /// The offset of each string or stretch in the output. The caller guarantees that the decoded strings
    /// have these lengths: the kernels do not check them.
    pub offsets: View<'a, u64>,
    /// The output: 16-byte aligned.
    pub out: ViewMut<'a, u8>,
}

/// Threads of a block of the ladder.
const LADDER_THREADS: usize = 128;

macro_rules! ladder {
    ($($kernel:ident, $name:literal;)*) => {$(
        // SAFETY: the entry in `src/fsst_ladder.rs` takes one `Args` by value. It stays within its views for
        // arguments that `check` accepts.
        unsafe impl Kernel for $kernel {
            type Args<'a> = FsstLadderArgs<'a>;
            const NAME: &'static str = $name;
            const THREADS: usize = LADDER_THREADS;
            fn blocks(args: &Self::Args<'_>) -> u32 {
                (args.code_offsets.len() - 1).div_ceil(LADDER_THREADS) as u32
            }
            fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
                let sizes = Sizes(Self::NAME);
                sizes.at_least("code offsets ≥ 2", args.code_offsets.len(), 2)?;
                sizes.equal("offsets = code offsets", args.offsets.len(), args.code_offsets.len())?;
                sizes.equal("table", args.table.len(), TABLE_WORDS)?;
                sizes.equal("codes = whole splits", args.codes.len() % SPLIT_CODES, 0)
            }
        }
    )*};
}

ladder! {
    FsstBytes, "fsst_bytes";
    FsstWords, "fsst_words";
    FsstShared, "fsst_shared";
    FsstBuffered, "fsst_buffered";
}

// SAFETY: the entry in `src/fsst_ladder.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for FsstLengths {
    type Args<'a> = FsstLengthsArgs<'a>;
    const NAME: &'static str = "fsst_lengths";
    const THREADS: usize = LADDER_THREADS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        args.lengths.len().div_ceil(LADDER_THREADS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        sizes.at_least("lengths ≥ 1", args.lengths.len(), 1)?;
        sizes.equal("code offsets = lengths + 1", args.code_offsets.len(), args.lengths.len() + 1)?;
        sizes.equal("table", args.table.len(), TABLE_WORDS)?;
        sizes.equal("codes = whole splits", args.codes.len() % SPLIT_CODES, 0)
    }
}

/// The kernel of Absalyamov, Moussalli, Tsotras and Najjar, "High-Performance Holistic XML Twig Filtering
/// Using GPUs" (EDBT 2013).
///
/// One block per 256 query nodes, with one thread for each node, over all events of one document after the
/// other.
pub struct TwigSeed;

/// Arguments of [`TwigSeed`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TwigSeedArgs<'a> {
    /// The query nodes, [`BLOCK`] per block, each the word of a
    /// [`Personality`](crate::seed::Personality). A thread without a query node has a root without
    /// children.
    pub personalities: View<'a, u32>,
    /// The events of all documents. A document has at most [`crate::seed::LEVELS`] − 1 levels.
    pub events: View<'a, u8>,
    /// The offset of each document's first event, and at the end one past the last event.
    pub documents: View<'a, u32>,
    /// One byte for each document and query node, set if the node is a root and matches.
    pub matches: ViewMut<'a, u8>,
}

// SAFETY: the entry in `src/twig_seed.rs` takes one `Args` by value. It stays within its views for arguments
// that `check` accepts.
unsafe impl Kernel for TwigSeed {
    type Args<'a> = TwigSeedArgs<'a>;
    const NAME: &'static str = "twig_seed";
    const THREADS: usize = BLOCK;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        (args.personalities.len() / BLOCK * (args.documents.len() - 1)) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let (sizes, nodes) = (Sizes(Self::NAME), args.personalities.len());
        sizes.at_least("query nodes ≥ 256", nodes, BLOCK)?;
        sizes.equal("query nodes = whole blocks", nodes % BLOCK, 0)?;
        sizes.at_least("documents ≥ 1", args.documents.len(), 2)?;
        let documents = args.documents.len() - 1;
        sizes.at_least("2³¹ > blocks", (1 << 31) - 1, nodes / BLOCK * documents)?;
        sizes.equal("matches = query nodes × documents", args.matches.len(), nodes * documents)
    }
}
