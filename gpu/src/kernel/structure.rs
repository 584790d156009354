//! The whole structural index in one pass over the text.
//!
//! *Threads*: a block a tile of 16 KiB, a thread a 64-byte word; tiles are dealt by a ticket. A warp says what its 2 KiB do
//! to the state at their left ([`crate::coop::words`]); the first warp scans those eight summaries, looks back over the
//! tiles to the left ([`crate::coop::lookback`]), and tells each warp the state that it begins in. *Memory*: 16 KiB of
//! shared memory, first to turn coalesced 16-byte loads into words, then for the words of up to eight levels, since which
//! level a byte belongs to is known only at run time and registers cannot be indexed so. *Overflow*: how many lines there
//! are is known only at the end. Line starts and faulty lines beyond their arrays are counted and not written; the host
//! sees the count, makes room and launches again. *Cost*: the text read once; an eighth of it written for the string bitmap
//! and for each level; four bytes a line; 32 bytes a tile
//! and 32 for every 2 KiB. That is 1 + (1 + levels) / 8 bytes moved a byte of text: 1.5
//! for three levels.

use cuda_std::atomic::mid::atomic_fetch_add_u64_relaxed_device;
use cuda_std::kernel;
use cuda_std::shared::{self, shared_array};
use cuda_std::thread::{sync_threads, thread_idx_x};
use cuda_std::warp::warp_reduce_or;
use cuda_std::wide::U32x4;
use warpath_shared::index::Monoid;
use warpath_shared::index::level::{HalfWord, KindDelta, KindReads, KindWrites, walk_half};
use warpath_shared::index::line::LineSummary;
use warpath_shared::kernel::{KindStretch, LINES, StructureWriteArgs};
use warpath_shared::units::{BLOCK_THREADS, Depth, PartOffset, WORD_BYTES};

use super::faulty::report;
use crate::coop::tile::VECTORS;
use crate::coop::warp::ALL;
use crate::coop::words::Words;
use crate::coop::{LANES, WARPS, block, lookback, tile, warp};

/// Levels whose words fit the shared memory that the text needed: 8 × 256 × 8 bytes are 16 KiB.
const LEVELS_AT_ONCE: u32 = (VECTORS * 16 / (BLOCK_THREADS * 8)) as u32;

/// Writes bitmaps, newline index and bracket kinds, and reports faulty lines.
///
/// # Safety
/// Launched as [`StructureWrite`](warpath_shared::kernel::StructureWrite) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn structure_write(args: StructureWriteArgs<'_>) {
    let staging = shared_array![U32x4; VECTORS];
    let line_sums = shared_array![LineSummary; WARPS];
    let ticket = shared_array![u32; 1];
    let thread = thread_idx_x();
    let (warp, lane) = (thread as usize / LANES as usize, thread % LANES);
    if thread == 0 {
        let tickets = args.links.words.at(args.links.words.len() - 1, 1);
        // SAFETY: the last word is the ticket counter, which is touched by nothing else; one writer, before the barrier.
        unsafe { ticket.write(atomic_fetch_add_u64_relaxed_device(tickets, 1) as u32) };
    }
    sync_threads();
    // SAFETY: written before the barrier.
    let this = unsafe { ticket.read() } as usize;
    let word = this * BLOCK_THREADS + thread as usize;

    // SAFETY: every thread of the block is here, and the array is used by nothing else meanwhile.
    let classes = unsafe { tile::classify(args.text, this, staging) };
    // SAFETY: all lanes are here.
    let mut words = unsafe { Words::new(classes, lane) };
    // SAFETY: as above.
    let summary = unsafe { words.summary() };
    if lane == 0 {
        // SAFETY: one writer an element, before the barrier.
        unsafe { line_sums.add(warp).write(summary) };
    }
    sync_threads();
    if warp == 0 {
        // SAFETY: the sums were written before the barrier, and all lanes of the first warp are here.
        let sums = unsafe { block::scan_sums(line_sums, lane) };
        // SAFETY: as above; tickets are dealt in order.
        let before = unsafe {
            let total = warp::from_lane(sums, WARPS as u32 - 1);
            lookback::line_prefix(&args.links, this as u32, total, lane)
        };
        // SAFETY: all lanes are here.
        let left = unsafe { warp::up(sums, 1) };
        let before = if lane == 0 { before } else { before.combine(left) };
        if lane < WARPS as u32 {
            // SAFETY: one writer an element; its last reader was this warp.
            unsafe { line_sums.add(lane as usize).write(before) };
        }
        if lane == WARPS as u32 && (this + 1) * BLOCK_THREADS == args.string.len() {
            // SAFETY: one thread of one block writes the element. At the left of lane 8 are all eight warps.
            unsafe { args.faulty.status.set(LINES, before.newlines()) };
        }
    }
    sync_threads();
    // SAFETY: written before the barrier.
    let left = unsafe { line_sums.add(warp).read() };
    // SAFETY: all lanes are here, with the same summary.
    let found = unsafe { words.resolve(left.state(), left.newlines()) };
    // SAFETY: one writer a word.
    unsafe { args.string.set(word, found.string) };

    if word == 0 {
        // SAFETY: one writer: every other line starts behind a newline.
        unsafe { args.line_starts.set(0, 0) };
    }
    let mut newlines = classes.newline;
    let mut line = found.lines as usize;
    while newlines != 0 {
        line += 1;
        let next = (word * WORD_BYTES) as PartOffset + newlines.trailing_zeros() + 1;
        if line < args.line_starts.len() {
            // SAFETY: one writer a line. The newline that terminates the text may be beyond its length.
            unsafe { args.line_starts.set(line, next.min(args.len)) };
        }
        newlines &= newlines - 1;
    }

    let outside = !found.string;
    let (open, close, separator) =
        (classes.open & outside, classes.close & outside, classes.separator & outside);
    // Half words of a level, neighbours side by side: element `(2 * level + half) * BLOCK_THREADS + thread`.
    let column = staging.cast::<u32>().wrapping_add(thread as usize);
    let mut kinds = KindDelta::default();
    let mut faults = found.faults;
    let mut base = 0;
    loop {
        let count = (args.level_count - base).min(LEVELS_AT_ONCE);
        let end = column.wrapping_add(2 * count as usize * BLOCK_THREADS);
        let mut at = column;
        while at != end {
            // SAFETY: the column is this thread's own; the last words of text were read before the last barrier.
            unsafe {
                shared::write(at, 0);
                shared::write(at.add(BLOCK_THREADS), 0);
            }
            at = at.wrapping_add(2 * BLOCK_THREADS);
        }
        let mut depth = found.depth;
        let mut again = KindDelta::default();
        let mut walk = |shift: u32, depth: &mut Depth| {
            let half = HalfWord {
                open: (open >> shift) as u32,
                close: (close >> shift) as u32,
                separator: (separator >> shift) as u32,
                newline: (classes.newline >> shift) as u32,
                brace: (classes.brace >> shift) as u32,
            };
            let column = column.wrapping_add(shift as usize / 32 * BLOCK_THREADS);
            walk_half(half, depth, &mut again, |level, bits| {
                let level = level.wrapping_sub(base);
                if level < count {
                    // SAFETY: as above.
                    unsafe {
                        let at = column.add(2 * level as usize * BLOCK_THREADS);
                        shared::write(at, shared::read(at) | bits);
                    };
                }
            })
        };
        let (low, high) = (walk(0, &mut depth), walk(32, &mut depth));
        if base == 0 {
            let join = |low: u32, high: u32| low as u64 | (high as u64) << 32;
            faults |= join(low.faults, high.faults);
            faults |= again.one_root(join(low.roots, high.roots), classes.newline);
            kinds = again;
        }
        let mut at = column;
        let mut to = base as usize * args.string.len() + word;
        while at != end {
            // SAFETY: as above; and one writer a word of the bitmap.
            unsafe {
                let (low, high) = (shared::read(at), shared::read(at.add(BLOCK_THREADS)));
                args.levels.set(to, low as u64 | (high as u64) << 32);
            }
            at = at.wrapping_add(2 * BLOCK_THREADS);
            to += args.string.len();
        }
        base += count;
        if base >= args.level_count {
            break;
        }
    }
    while faults != 0 {
        let before = (faults & faults.wrapping_neg()) - 1;
        report(&args.faulty, found.lines + (classes.newline & before).count_ones());
        faults &= faults - 1;
    }

    // Bracket kinds: lanes against lanes of their warp here, then warp against warp in `kind_check`.
    // SAFETY: all lanes are here.
    let (written, before) = unsafe {
        let written = warp::inclusive_scan(kinds.writes, lane);
        (written, warp::up(written, 1))
    };
    let before = if lane == 0 { KindWrites::default() } else { before };
    if before.contradicts(kinds.reads.answered(before)) {
        report(&args.faulty, found.lines);
    }
    // Of all lanes, one at most has a read of a level that nothing before it in the warp wrote; but for roots, of which all
    // reads are the same.
    let open = kinds.reads.unanswered(before);
    // SAFETY: all lanes are here.
    let reads =
        unsafe { KindReads { mask: warp_reduce_or(ALL, open.mask), value: warp_reduce_or(ALL, open.value) } };
    if lane == LANES - 1 {
        let stretch = KindStretch { writes: written, reads, line: left.newlines(), reserved: [0; 3] };
        // SAFETY: one writer an element.
        unsafe { args.stretches.set(this * WARPS + warp, stretch) };
    }
}
