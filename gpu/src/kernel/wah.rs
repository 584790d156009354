//! Decompression, union and compression of bitmaps, by the methods of Nelson, Sorenson, Myre, Sawin and Chiu,
//! "GPU Acceleration of Range Queries over Large Data Sets" (2019); and the binning that makes bitmaps.
//!
//! *Threads*: in *DecompressVector* (Andrzejewski and Wrembel, 2010), an exclusive scan of the atoms' lengths
//! gives the offset of each ([`decompress_scan`]). Then one thread makes each word ([`decompress_words`]).
//! All columns are one sequence, since all have the same length. *COA* ([`coa_level`]): one thread a pair of
//! words, level by level, all through global memory. *ROA*, *hybrid* and *ideal hybrid* ([`hybrid_tiles`]):
//! blocks of k × j threads over 2k columns and j rows of words, reduced in shared memory; neighbouring
//! threads have neighbouring rows. Any number of columns is allowed: if it is odd, the lower half is the
//! larger.
//!
//! *Compression* ([`compress_starts`], [`compress_atoms`]): a chunk begins an atom unless it continues a
//! fill. A scan numbers the chunks that begin atoms, and one thread makes each atom. *Binning*
//! ([`bin_words`]): one warp a chunk, in halves of 32 rows and 31. Lanes of one bin write their half of a
//! chunk together, so no addition is atomic.

use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, index_1d, sync_threads, thread_idx_x};
use cuda_std::warp::warp_match_any_32;
use warpath_shared::kernel::{
    BinWordsArgs, COA_WORDS, COMPRESS_CHUNKS, CoaLevelArgs, CompressAtomsArgs, CompressStartsArgs,
    DecompressScanArgs, DecompressWordsArgs, EXPAND_WORDS, HybridTilesArgs, MAX_THREADS, SCAN_ATOMS,
};
use warpath_shared::wah::{self, Atom, CHUNK_ROWS, chunks_for};

use super::scan::{Scratch, scan};
use crate::coop::warp::ALL;
use crate::coop::{LANES, WARPS};

const THREADS: usize = MAX_THREADS as usize;

/// Scans the chunk counts of atoms.
///
/// # Safety
/// Launched as [`DecompressScan`](warpath_shared::kernel::DecompressScan) says, with sizes that its check
/// accepts.
#[kernel]
pub unsafe fn decompress_scan(args: DecompressScanArgs<'_>) {
    let shared = Scratch {
        sums: shared_array![u64; WARPS],
        before: shared_array![u64; 1],
        tile: shared_array![u32; 1],
    };
    let len = args.atoms.len();
    let chunks = |at: usize| if at < len { Atom(args.atoms.get(at)).chunks() } else { 0 };
    let load = |thread: usize| (0..SCAN_ATOMS).map(|i| chunks(thread * SCAN_ATOMS + i)).sum::<u64>();
    // SAFETY: no branch comes before this call, so every thread of the block is here. The shared memory is
    // this scan's own.
    let element = unsafe { scan(&args.look_back, &shared, load) };
    let mut start = element.before;
    for i in 0..SCAN_ATOMS {
        let at = element.at * SCAN_ATOMS + i;
        if at >= len {
            break;
        }
        let end = (start + chunks(at)).min(args.words);
        // SAFETY: the scan gives each atom to one thread, so each has one writer.
        unsafe { args.starts.set(at, start as u32) };
        let mut tile = start.div_ceil(EXPAND_WORDS as u64);
        while tile * (EXPAND_WORDS as u64) < end {
            // SAFETY: the first word of each tile belongs to one atom, so each element has one writer.
            unsafe { args.firsts.set(tile as usize, at as u32) };
            tile += 1;
        }
        start = end;
    }
}

/// Makes each word of decompressed columns.
///
/// # Safety
/// Launched as [`DecompressWords`](warpath_shared::kernel::DecompressWords) says, with sizes that its check
/// accepts.
#[kernel]
pub unsafe fn decompress_words(args: DecompressWordsArgs<'_>) {
    let starts = Shared::new(shared_array![u32; EXPAND_WORDS]);
    let (thread, tile) = (thread_idx_x(), block_idx_x() as usize);
    let first = args.firsts.get(tile) as usize;
    let end =
        if tile + 1 < args.firsts.len() { args.firsts.get(tile + 1) as usize + 1 } else { args.atoms.len() };
    // Each of these atoms has a word of the tile at least, except the last, which may begin after it.
    let count = (end - first).min(EXPAND_WORDS);
    if (thread as usize) < count {
        // SAFETY: each element has one writer, and is read only after the barrier.
        unsafe { starts.offset(thread).write(args.starts.get(first + thread as usize)) };
    }
    sync_threads();
    let word = tile * EXPAND_WORDS + thread as usize;
    if word >= args.words.len() {
        return;
    }
    // The last atom that does not begin after the word.
    let (mut low, mut high) = (0, count as u32);
    while high - low > 1 {
        let middle = (low + high) / 2;
        // SAFETY: `middle` is below the count, and the element was written before the barrier.
        if unsafe { starts.offset(middle).read() } as usize <= word {
            low = middle;
        } else {
            high = middle;
        }
    }
    let atom = Atom(args.atoms.get(first + low as usize));
    // SAFETY: one thread makes each word, so it has one writer.
    unsafe { args.words.set(word, atom.chunk()) };
}

/// One level of the column-oriented reduction.
///
/// # Safety
/// Launched as [`CoaLevel`](warpath_shared::kernel::CoaLevel) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn coa_level(args: CoaLevelArgs<'_>) {
    let blocks = (args.chunks as usize).div_ceil(COA_WORDS);
    let (pair, block) = (block_idx_x() as usize / blocks, block_idx_x() as usize % blocks);
    let chunk = block * COA_WORDS + thread_idx_x() as usize;
    if chunk >= args.chunks as usize {
        return;
    }
    let low = pair * args.chunks as usize + chunk;
    let high = low + args.columns.div_ceil(2) as usize * args.chunks as usize;
    // SAFETY: each word of the lower half has one writer, and no thread writes the upper half.
    unsafe { args.words.set(low, args.words.get(low) | args.words.get(high)) };
}

/// Reduces tiles of k × j threads.
///
/// # Safety
/// Launched as [`HybridTiles`](warpath_shared::kernel::HybridTiles) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn hybrid_tiles(args: HybridTilesArgs<'_>) {
    let shared = Shared::new(shared_array![u64; THREADS]);
    let (thread, tiles) = (thread_idx_x(), args.tiles());
    let (row, column) = (thread % args.height, thread / args.height);
    let (tile, row) =
        (block_idx_x() % tiles, (block_idx_x() / tiles) as u64 * args.height as u64 + row as u64);
    let first = tile * 2 * args.width;
    let at = |column: u32| (column as u64 * args.stride as u64 * args.chunks + row) as usize;
    let load = |column: u32| {
        let there = column < args.columns && row < args.chunks;
        // SAFETY: only this block writes the words of its columns and rows, and only after all of its threads
        // have read them.
        if there { unsafe { args.words.get(at(column)) } } else { 0 }
    };
    let mut word = load(first + column) | load(first + args.width + column);
    // SAFETY: each element has one writer between barriers.
    unsafe { shared.offset(thread).write(word) };
    let mut left = args.width;
    while left > 1 {
        let half = left.div_ceil(2);
        sync_threads();
        if column < left - half {
            // SAFETY: the element was written before the barrier, and the upper half is not written any more.
            unsafe {
                word |= shared.offset(thread + half * args.height).read();
                shared.offset(thread).write(word);
            }
        }
        left = half;
    }
    if column == 0 && row < args.chunks {
        // SAFETY: only this block touches its first column, and every thread has read it before.
        unsafe { args.words.set(at(first), word) };
    }
}

/// Finds the chunks at which atoms begin.
///
/// # Safety
/// Launched as [`CompressStarts`](warpath_shared::kernel::CompressStarts) says, with sizes that its check
/// accepts.
#[kernel]
pub unsafe fn compress_starts(args: CompressStartsArgs<'_>) {
    let shared = Scratch {
        sums: shared_array![u64; WARPS],
        before: shared_array![u64; 1],
        tile: shared_array![u32; 1],
    };
    let len = args.words.len();
    let begins = |at: usize| {
        let word = args.words.get(at);
        let goes_on = (word == 0 || word == wah::ALL)
            && !(at as u64).is_multiple_of(args.chunks)
            && args.words.get(at - 1) == word;
        !goes_on
    };
    let of = |thread: usize| {
        let mut mask = 0_u32;
        for i in 0..COMPRESS_CHUNKS {
            let at = thread * COMPRESS_CHUNKS + i;
            if at < len && begins(at) {
                mask |= 1 << i;
            }
        }
        mask
    };
    // SAFETY: no branch comes before this call, so every thread of the block is here. The shared memory is
    // this scan's own.
    let element = unsafe { scan(&args.look_back, &shared, |thread| of(thread).count_ones() as u64) };
    let (mask, mut atom) = (of(element.at), element.before as usize);
    for i in 0..COMPRESS_CHUNKS {
        let at = element.at * COMPRESS_CHUNKS + i;
        if at >= len {
            break;
        }
        if (at as u64).is_multiple_of(args.chunks) {
            // SAFETY: one thread has the first chunk of each column, so each element has one writer.
            unsafe { args.columns.set(at / args.chunks as usize, atom as u32) };
        }
        if mask >> i & 1 != 0 {
            // SAFETY: the scan gives each atom one number, so each element has one writer.
            unsafe { args.starts.set(atom, at as u32) };
            atom += 1;
        }
        if at + 1 == len {
            // SAFETY: only the thread of the last chunk is here, and no atom has these indices.
            unsafe {
                args.starts.set(atom, len as u32);
                args.columns.set(args.columns.len() - 1, atom as u32);
            }
        }
    }
}

/// Makes each atom from the chunk at which it begins.
///
/// # Safety
/// Launched as [`CompressAtoms`](warpath_shared::kernel::CompressAtoms) says, with sizes that its check
/// accepts.
#[kernel]
pub unsafe fn compress_atoms(args: CompressAtomsArgs<'_>) {
    let at = index_1d() as usize;
    if at >= args.atoms.len() {
        return;
    }
    let (start, end) = (args.starts.get(at), args.starts.get(at + 1));
    let word = args.words.get(start as usize);
    let atom = match word {
        0 => Atom::fill(false, (end - start) as u64),
        wah::ALL => Atom::fill(true, (end - start) as u64),
        literal => Atom::literal(literal),
    };
    // SAFETY: one thread makes each atom, so it has one writer.
    unsafe { args.atoms.set(at, atom.0) };
}

/// Sets each row's bit in the chunks of its bin.
///
/// # Safety
/// Launched as [`BinWords`](warpath_shared::kernel::BinWords) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn bin_words(args: BinWordsArgs<'_>) {
    let lane = thread_idx_x() % LANES;
    let chunk = block_idx_x() as usize * WARPS + (thread_idx_x() / LANES) as usize;
    let chunks = chunks_for(args.bins.len() as u64) as usize;
    if chunk >= chunks {
        return;
    }
    for half in 0..2 {
        let row = chunk * CHUNK_ROWS as usize + (half * LANES + lane) as usize;
        let there = row < args.bins.len() && half * LANES + lane < CHUNK_ROWS;
        let bin = if there { args.bins.get(row).wrapping_sub(args.first) } else { u32::MAX };
        // SAFETY: blocks are whole warps, and the return above depends on the warp alone, so all lanes are
        // here.
        let same = unsafe { warp_match_any_32(ALL, bin) };
        if bin < args.count && same.trailing_zeros() == lane {
            let word = args.words.at(bin as usize * chunks + chunk, 1).cast::<u32>();
            // SAFETY: each half of a bin's chunk, the lower one first, has one writer: the first lane that
            // has the bin.
            unsafe { word.add(half as usize).write(same) };
        }
    }
}
