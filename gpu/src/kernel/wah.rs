//! Compression of bitmaps, and the binning that makes them.
//!
//! *Compression* ([`compress_starts`], [`compress_atoms`]): a chunk begins an atom unless it continues a
//! fill. A scan numbers the chunks that begin atoms, and one thread makes each atom. *Binning*
//! ([`bin_words`]): one warp a chunk, in halves of 32 rows and 31. Lanes of one bin write their half of a
//! chunk together, so no addition is atomic.

use cuda_std::kernel;
use cuda_std::shared::shared_array;
use cuda_std::thread::{block_idx_x, index_1d, thread_idx_x};
use cuda_std::warp::warp_match_any_32;
use warpath_shared::kernel::{BinWordsArgs, COMPRESS_CHUNKS, CompressAtomsArgs, CompressStartsArgs};
use warpath_shared::wah::{self, Atom, CHUNK_ROWS, chunks_for};

use super::scan::{Scratch, scan};
use crate::coop::warp::ALL;
use crate::coop::{LANES, WARPS};

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
