//! The check of strings and scalars in strict mode ([`warpath_shared::strict`]).
//!
//! *Threads*: one warp a tile of 32 KiB, one word a lane. The rule for a word has no branches. Only a lane
//! with a suspect byte diverges from the others, to look for its line.
//! *Layout*: 2 KiB of shared memory a warp.
//! *Cost*: the text and an eighth of it read, nothing written. 842 MB of tweets move 0.95 GB: 0.3 ms on a
//! card that moves 3.1 TB/s. The kernel is bound by arithmetic: 910 instructions for a warp's 2 KiB (`ptxas`
//! 13 for sm_90), 0.44 thousand million a gigabyte. A fifth of the instructions make bit planes. A third
//! compute the carry of each word, which a word needs before it has the carry of the word at its left. With
//! fewer than 128 registers the kernel spills. Measured on an H200: 0.709 ms. The kernel makes the byte sets
//! from the text again, because reading the words of tokens would move 3/4 of the text more.

use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, thread_idx_x};
use cuda_std::warp::warp_shuffle_idx;
use cuda_std::wide::U32x4;
use warpath_shared::kernel::StrictCheckArgs;
use warpath_shared::strict::{StrictCarry, StrictWord};
use warpath_shared::tree::outline::below;
use warpath_shared::units::{LineIx, STRETCH_BYTES, TILE_BYTES, WORD_BYTES};

use super::faulty::report;
use super::tape::line_of;
use crate::coop::stretch::{VECTORS, load, planes_of_lane, planes_of_word};
use crate::coop::warp::ALL;
use crate::coop::{LANES, WARPS};

/// Stretches of a tile.
const STRETCHES: usize = TILE_BYTES / STRETCH_BYTES;

/// The carry of the word before a tile, for the tile's first word.
#[inline(always)]
fn carry_of_tile(args: &StrictCheckArgs<'_>, start: usize) -> StrictCarry {
    if start == 0 {
        return StrictCarry::default();
    }
    let before = start - WORD_BYTES;
    StrictWord::of(&planes_of_word(args.text, before), args.string.get(before / WORD_BYTES), !0).carry()
}

/// Reports each line that has one of the suspect bytes of a word.
#[inline(always)]
fn report_lines(args: &StrictCheckArgs<'_>, word: usize, mut suspects: u64) {
    while suspects != 0 {
        let at = (word * WORD_BYTES) as u32 + suspects.trailing_zeros();
        let line = line_of(args.line_starts, at);
        report(&args.faulty, line as LineIx);
        suspects &= !below(args.line_starts.get(line + 1).max(at + 1), word);
    }
}

/// Reports lines in which a string or a scalar breaks RFC 8259, and lines that are not UTF-8.
///
/// # Safety
/// Launched as [`StrictCheck`](warpath_shared::kernel::StrictCheck) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn strict_check(args: StrictCheckArgs<'_>) {
    let staging = Shared::new(shared_array![U32x4; WARPS * VECTORS]);
    let (warp, lane) = (thread_idx_x() / LANES, thread_idx_x() % LANES);
    let tile = block_idx_x() as usize * WARPS + warp as usize;
    if tile >= args.text.len() / TILE_BYTES {
        return;
    }
    let staging = staging.offset(warp * VECTORS as u32);
    let at = |stretch: usize| tile * TILE_BYTES + stretch * STRETCH_BYTES;
    // In lane 31, the carry of the word before these; in other lanes, unused.
    let mut left = carry_of_tile(&args, at(0)).to_bits();
    let string_at = |start: usize| args.string.get(start / WORD_BYTES + lane as usize);
    let (mut next, mut next_string) = (load(args.text, at(0), lane), string_at(at(0)));
    // The counter is independent of the thread's index, as in `structure_write`.
    let mut stretch = 0;
    while stretch < STRETCHES {
        let word = at(stretch) / WORD_BYTES + lane as usize;
        let (loaded, string) = (next, next_string);
        stretch += 1;
        // This load arrives while the current stretch is worked on.
        let ahead = at(stretch.min(STRETCHES - 1));
        (next, next_string) = (load(args.text, ahead, lane), string_at(ahead));
        // SAFETY: blocks are whole warps, and `tile` and `stretch` are the same in all lanes, so all lanes
        // are here. The staging is this warp's own.
        let planes = unsafe { planes_of_lane(loaded, staging, lane) };
        let here = StrictWord::of(&planes, string, below(args.len, word));
        let own = here.carry().to_bits();
        let sent = if lane == LANES - 1 { left } else { own };
        // SAFETY: `tile` and `stretch` are the same in all lanes of a whole warp, so all lanes are here.
        let (at_left, _) = unsafe { warp_shuffle_idx(ALL, sent, (lane + LANES - 1) % LANES, LANES) };
        left = own;
        let suspects = here.suspects(StrictCarry::from_bits(at_left));
        if suspects != 0 {
            report_lines(&args, word, suspects);
        }
    }
}
