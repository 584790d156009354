//! The newline index, from the tiles' lists of their own lines.
//!
//! *Threads*: a thread a tile in the scan of how many lines end in each ([`super::scan`]), then a warp a tile, one after the
//! other, to copy its list. *Overflow*: lines beyond the arrays are counted and not written; the host makes room.
//! *Cost*: eight bytes a line and twelve a tile.

use cuda_std::atomic::mid::{atomic_fetch_max_u32_relaxed_device, atomic_store_32_relaxed_device};
use cuda_std::kernel;
use cuda_std::shared::shared_array;
use cuda_std::thread::thread_idx_x;
use cuda_std::warp::warp_vote_any;
use warpath_shared::kernel::{FAULTY_TILE, LINES, LineIndexArgs, MOST_LINES_OF_A_TILE};
use warpath_shared::units::LineIx;

use super::faulty::report;
use super::scan::{Element, Scratch, scan};
use crate::coop::warp::{self, ALL};
use crate::coop::{LANES, WARPS};

/// Writes the newline index and the faulty lines by their number.
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
    let load = |at| if at < tiles { (args.counts.get(at) & !FAULTY_TILE) as u64 } else { 0 };
    // SAFETY: every thread of the block is here, and the shared memory is this scan's own.
    let Element { at, value, before } = unsafe { scan(&args.look_back, &shared, load) };
    if at < tiles {
        // SAFETY: one writer an element.
        unsafe { args.first_lines.set(at, before as LineIx) };
        if value as u32 > args.room {
            // SAFETY: touched only atomically during the launch.
            unsafe {
                let most = args.faulty.status.at(MOST_LINES_OF_A_TILE, 1);
                atomic_fetch_max_u32_relaxed_device(most, value as u32);
            }
        }
    }
    if at == 0 {
        // SAFETY: one writer: every other line starts behind a newline.
        unsafe { args.line_starts.set(0, 0) };
    }
    if at + 1 == tiles {
        let lines = args.faulty.status.at(LINES, 1);
        // SAFETY: one writer; this word is touched by nothing else.
        unsafe { atomic_store_32_relaxed_device(lines, (before + value) as u32) };
    }
    let faulty = at < tiles && args.counts.get(at) & FAULTY_TILE != 0;
    // SAFETY: all lanes are here.
    let any_faulty = unsafe { warp_vote_any(ALL, faulty) };
    let mut other = 0;
    while other < LANES {
        // SAFETY: all lanes are here, with the same `other`.
        let (count, first) = unsafe { (warp::from_lane(value, other), warp::from_lane(before, other)) };
        let tile = at - lane as usize + other as usize;
        let mut i = lane as usize;
        while i < (count as usize).min(args.room as usize) {
            let to = first as usize + i + 1;
            if to < args.line_starts.len() {
                // SAFETY: one writer a line.
                unsafe { args.line_starts.set(to, args.ends.get(tile * args.room as usize + i)) };
            }
            i += LANES as usize;
        }
        if any_faulty && tile < tiles {
            let words = args.fault_words();
            let mut i = lane as usize;
            while i < words {
                let mut bits = args.faults.get(tile * words + i);
                while bits != 0 {
                    report(&args.faulty, first as LineIx + 32 * i as u32 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
                i += LANES as usize;
            }
        }
        other += 1;
    }
}
