//! The newline index, made from each tile's list of its own lines.
//!
//! *Threads*: one thread a tile in the scan of the tiles' line counts ([`super::scan`]). Then one lane for
//! each line of a warp's 32 tiles, to copy their lists.
//! *Overflow*: lines beyond the arrays are counted and not written; the host makes room and launches again.
//! *Cost*: eight bytes a line and twelve a tile.

use cuda_std::atomic::mid::{atomic_fetch_max_u32_relaxed_device, atomic_store_32_relaxed_device};
use cuda_std::kernel;
use cuda_std::shared::shared_array;
use cuda_std::thread::thread_idx_x;
use cuda_std::warp::warp_shuffle_idx;
use warpath_shared::kernel::{
    ANY_LOOSE, FAULTY_TILE, LINES, LOOSE_TILE, LineIndexArgs, MOST_LINES_OF_A_TILE, TILE_FLAGS,
};
use warpath_shared::units::LineIx;
use warpath_shared::view::View;

use super::faulty::{mark, report};
use super::scan::{Element, Scratch, scan};
use crate::coop::warp::{self, ALL};
use crate::coop::{LANES, WARPS};

/// Writes the newline index, and marks the faulty lines by their numbers.
///
/// # Safety
/// Launched as [`LineIndex`](warpath_shared::kernel::LineIndex) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn line_index(args: LineIndexArgs<'_>) {
    let shared = Scratch {
        sums: shared_array![u64; WARPS],
        before: shared_array![u64; 1],
        tile: shared_array![u32; 1],
    };
    let lane = thread_idx_x() % LANES;
    let tiles = args.counts.len();
    let load = |at| if at < tiles { (args.counts.get(at) & !TILE_FLAGS) as u64 } else { 0 };
    // SAFETY: no branch comes before this call, so every thread of the block is here. The shared memory is
    // this scan's own.
    let Element { at, value, before } = unsafe { scan(&args.look_back, &shared, load) };
    if at < tiles {
        // SAFETY: the scan gives each tile to one thread, so each element has one writer.
        unsafe { args.first_lines.set(at, before as LineIx) };
        if value as u32 > args.room {
            // SAFETY: `at` checks the index, and the word is touched only atomically during the launch.
            unsafe {
                let most = args.faulty.status.at(MOST_LINES_OF_A_TILE, 1);
                atomic_fetch_max_u32_relaxed_device(most, value as u32);
            }
        }
    }
    if at == 0 {
        // SAFETY: only the thread of tile 0 is here, and every other line begins after a newline, at an index
        // above 0.
        unsafe { args.line_starts.set(0, 0) };
    }
    if at + 1 == tiles {
        let lines = args.faulty.status.at(LINES, 1);
        // SAFETY: only the thread of the last tile is here, and nothing else touches this word.
        unsafe { atomic_store_32_relaxed_device(lines, (before + value) as u32) };
    }
    let flags = if at < tiles { args.counts.get(at) } else { 0 };
    // The lines of all of the warp's tiles, in order, one lane each. The tile of line `i` is the last tile
    // that begins at or before it.
    // SAFETY: blocks are whole warps, and the branches above have joined, so all lanes are here.
    let (first, all) = unsafe {
        let first = warp::from_lane(before, 0);
        (first, warp::from_lane(before + value, LANES - 1) - first)
    };
    let begin = before - first;
    let mut base = 0;
    while base < all {
        let line = base + lane as u64;
        let (mut tile, mut step) = (0, LANES / 2);
        while step > 0 {
            // SAFETY: `base`, `all` and `step` are the same in all lanes, and blocks are whole warps, so all
            // lanes are here.
            let (candidate, _) = unsafe { warp_shuffle_idx(ALL, begin as u32, tile + step, LANES) };
            if candidate as u64 <= line {
                tile += step;
            }
            step /= 2;
        }
        // SAFETY: `base` and `all` are the same in all lanes, so all lanes are here.
        let (begin, _) = unsafe { warp_shuffle_idx(ALL, begin as u32, tile, LANES) };
        let within = line as u32 - begin;
        let to = (first + line + 1) as usize;
        if line < all && within < args.room && to < args.line_starts.len() {
            let from = (at - lane as usize + tile as usize) * args.room as usize + within as usize;
            // SAFETY: each line of the text has one number, and one lane copies it.
            unsafe { args.line_starts.set(to, args.ends.get(from)) };
        }
        base += LANES as u64;
    }
    // One thread for each tile that has faulty or loose lines: there are few faulty ones.
    if flags & FAULTY_TILE != 0 {
        each_bit(&args, args.faults, at, |line| report(&args.faulty, before as LineIx + line));
    }
    if flags & LOOSE_TILE != 0 {
        // SAFETY: the word is touched only atomically during the launch, and all writers write the same
        // value.
        unsafe { atomic_store_32_relaxed_device(args.faulty.status.at(ANY_LOOSE, 1), 1) };
        each_bit(&args, args.tile_loose, at, |line| mark(args.loose, before as LineIx + line));
    }
}

/// Calls `on` with the number of each bit that is set in a tile's words.
#[inline(always)]
fn each_bit(args: &LineIndexArgs<'_>, bits: View<'_, u32>, tile: usize, mut on: impl FnMut(LineIx)) {
    let words = args.fault_words();
    let mut i = 0;
    while i < words {
        let mut left = bits.get(tile * words + i);
        while left != 0 {
            on(32 * i as u32 + left.trailing_zeros());
            left &= left - 1;
        }
        i += 1;
    }
}
