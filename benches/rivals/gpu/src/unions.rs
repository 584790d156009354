//! Decompression and union of bitmaps, by the methods of Nelson, Sorenson, Myre, Sawin and Chiu, "GPU
//! Acceleration of Range Queries over Large Data Sets" (2019).
//!
//! *Threads*: in *DecompressVector* (Andrzejewski and Wrembel, 2010), an exclusive scan of the atoms' lengths
//! gives the offset of each ([`decompress_scan`]). Then one thread makes each word ([`decompress_words`]).
//! All columns are one sequence, since all have the same length. *COA* ([`coa_level`]): one thread a pair of
//! words, level by level, all through global memory. *ROA*, *hybrid* and *ideal hybrid* ([`hybrid_tiles`]):
//! blocks of k × j threads over 2k columns and j rows of words, reduced in shared memory; neighbouring
//! threads have neighbouring rows. Any number of columns is allowed: if it is odd, the lower half is the
//! larger.
//!
//! [`decompress_tiles`] is not the paper's: one warp decompresses a tile, by the tile starts that
//! [`bitmap`](warpath_gpu::kernel::bitmap) reads. It shows what these starts are worth without the fused
//! program.

#![allow(
    clippy::needless_range_loop,
    reason = "an iterator over an array by value keeps it in memory, an index in registers"
)]

use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, sync_threads, thread_idx_x};
use cuda_std::warp::sync_warp;
use cuda_std::wide::U32x4;
use warpath_gpu::coop::warp::ALL;
use warpath_gpu::coop::{LANES, WARPS};
use warpath_gpu::kernel::bitmap::{self, NOTED, PARTS, Part, SCATTERED, Tile};
use warpath_gpu::kernel::scan::{Scratch, scan};
use warpath_shared::bitmap::{TILE_CHUNKS, tiles_for};
use warpath_shared::wah::{self, Atom};

use crate::args::{
    COA_WORDS, CoaLevelArgs, DecompressScanArgs, DecompressTilesArgs, DecompressWordsArgs, EXPAND_WORDS,
    HybridTilesArgs, MAX_THREADS, SCAN_ATOMS,
};

const THREADS: usize = MAX_THREADS as usize;

/// Decompresses tiles of columns.
///
/// # Safety
/// Launched as [`DecompressTiles`](crate::args::DecompressTiles) says, with sizes that its check
/// accepts.
#[kernel]
pub unsafe fn decompress_tiles(args: DecompressTilesArgs<'_>) {
    let scattered = Shared::new(shared_array![u64; SCATTERED]);
    let overlaps = Shared::new(shared_array![U32x4; NOTED]);
    let warp = block_idx_x() as u64 * bitmap::WARPS as u64 + (thread_idx_x() / LANES) as u64;
    let tiles = tiles_for(args.stripe);
    let column = (warp / tiles) as u32;
    if column as usize >= args.columns.columns.len() {
        return;
    }
    let within = warp % tiles;
    let tile = Tile::new(args.columns, args.first + within, (args.chunks, wah::ALL), scattered, overlaps);
    let mut part = Part::default();
    let overlap = tile.overlap(column);
    if overlap.0[2] == 1 {
        let chunk =
            Atom(bitmap::load(&args.columns, overlap.0[0] as u64 | (overlap.0[1] as u64) << 32)).chunk();
        for j in 0..PARTS {
            part[j] = chunk;
        }
    } else {
        for j in 0..PARTS {
            // SAFETY: the element is this lane's own before the barrier.
            unsafe { tile.scattered.offset(tile.chunk(j)).write(0) };
        }
        // SAFETY: blocks are whole warps, and `column` and `overlap` are the same in all lanes, so all lanes
        // are here.
        unsafe {
            sync_warp(ALL);
            tile.add(overlap, tile.atoms(overlap), &mut part);
            tile.gather(&mut part);
        }
    }
    for j in 0..PARTS {
        if tile.chunk(j) < tile.chunks {
            let at = column as u64 * args.stripe + within * TILE_CHUNKS as u64 + tile.chunk(j) as u64;
            // SAFETY: one warp stores each tile, and its lanes take different chunks, so each chunk has one
            // writer.
            unsafe { args.words.set(at as usize, part[j]) };
        }
    }
}

/// Scans the chunk counts of atoms.
///
/// # Safety
/// Launched as [`DecompressScan`](crate::args::DecompressScan) says, with sizes that its check
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
/// Launched as [`DecompressWords`](crate::args::DecompressWords) says, with sizes that its check
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
/// Launched as [`CoaLevel`](crate::args::CoaLevel) says, with sizes that its check accepts.
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
/// Launched as [`HybridTiles`](crate::args::HybridTiles) says, with sizes that its check accepts.
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
