//! What strings and scalars consist of, in strict mode ([`warpath_shared::strict`]).
//!
//! *Threads*: a warp a tile of 32 KiB, a word a lane. *Memory*: 2 KiB of shared memory a warp.
//! *Convergence*: the rule for a word has no branches. Only a lane with a suspect leaves the others, to look for its line.
//! *Cost*: the text and an eighth of it read, nothing written: 842 MB of tweets move 0.95 GB, 0.3 ms on a card that moves 3.1 TB/s.
//! What bounds it is arithmetic: 910 instructions for a warp's 2 KiB (`ptxas` 13 for sm_90), 0.44 thousand million a gigabyte; a fifth of
//! them make planes, and a third is what a word says to the next one, which it has to find out before it is told by the one before. In less
//! than 128 registers it spills. Measured on an H200: 0.709 ms. The sets are made from the text again, since reading the words of tokens instead would move 3/4 of it more.

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

/// What the word before a tile says to its first one.
#[inline(always)]
fn carry_of_tile(args: &StrictCheckArgs<'_>, start: usize) -> StrictCarry {
    if start == 0 {
        return StrictCarry::default();
    }
    let before = start - WORD_BYTES;
    StrictWord::of(&planes_of_word(args.text, before), args.string.get(before / WORD_BYTES), !0).carry()
}

/// Reports each line that has one of some places of a word.
#[inline(always)]
fn report_lines(args: &StrictCheckArgs<'_>, word: usize, mut suspects: u64) {
    while suspects != 0 {
        let at = (word * WORD_BYTES) as u32 + suspects.trailing_zeros();
        let line = line_of(args.line_starts, at);
        report(&args.faulty, line as LineIx);
        suspects &= !below(args.line_starts.get(line + 1).max(at + 1), word);
    }
}

/// Suspects lines of which a string or a scalar is not what RFC 8259 says, or which are not UTF-8.
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
    // In lane 31, what the word before these says; in others, nothing.
    let mut left = carry_of_tile(&args, at(0)).to_bits();
    let string_at = |start: usize| args.string.get(start / WORD_BYTES + lane as usize);
    let (mut next, mut next_string) = (load(args.text, at(0), lane), string_at(at(0)));
    // As in `structure_write`: counted by a number that has nothing to do with the thread's.
    let mut stretch = 0;
    while stretch < STRETCHES {
        let word = at(stretch) / WORD_BYTES + lane as usize;
        let (loaded, string) = (next, next_string);
        stretch += 1;
        // It arrives while this stretch is worked on.
        let ahead = at(stretch.min(STRETCHES - 1));
        (next, next_string) = (load(args.text, ahead, lane), string_at(ahead));
        // SAFETY: all lanes are here; the staging is this warp's.
        let planes = unsafe { planes_of_lane(loaded, staging, lane) };
        let here = StrictWord::of(&planes, string, below(args.len, word));
        let own = here.carry().to_bits();
        let sent = if lane == LANES - 1 { left } else { own };
        // SAFETY: all lanes are here.
        let (at_left, _) = unsafe { warp_shuffle_idx(ALL, sent, (lane + LANES - 1) % LANES, LANES) };
        left = own;
        let suspects = here.suspects(StrictCarry::from_bits(at_left));
        if suspects != 0 {
            report_lines(&args, word, suspects);
        }
    }
}
