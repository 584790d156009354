//! The second pass over the text: the whole structural index, written once.
//!
//! *Threads*: a block a tile, a thread a 64-byte word. *Memory*: 16 KiB of shared memory, first to turn coalesced
//! 16-byte loads into words, then for the words of up to eight levels, since which level a byte belongs to is known
//! only at run time and registers cannot be indexed so. *Overflow*: line starts are as many as the scan of the first
//! pass counted, and this pass finds the same newlines. *Cost*: the text read once more; an eighth of it written for the
//! string bitmap and for each level; four bytes a line; 32 bytes a tile. With the first pass that is
//! 2 + (1 + levels) / 8 bytes moved a byte of text: 2.5 for three levels.

use cuda_std::atomic::mid::atomic_fetch_or_u64_relaxed_shared;
use cuda_std::kernel;
use cuda_std::shared::{self, shared_array};
use cuda_std::thread::{block_idx_x, index_1d, sync_threads, thread_idx_x};
use cuda_std::wide::U32x4;
use warpath_shared::index::Monoid;
use warpath_shared::index::level::{KindDelta, KindReads, KindWrites, walk};
use warpath_shared::index::line::{LineSummary, index_word};
use warpath_shared::index::string::prefix_xor;
use warpath_shared::kernel::{KindCheckArgs, StructureWriteArgs};
use warpath_shared::units::{BLOCK_THREADS, PartOffset, WORD_BYTES};

use super::faulty::report;
use crate::coop::tile::VECTORS;
use crate::coop::{WARPS, block, tile};

/// Levels whose words fit the shared memory that the text needed: 8 × 256 × 8 bytes are 16 KiB.
const LEVELS_AT_ONCE: u32 = (VECTORS * 16 / (BLOCK_THREADS * 8)) as u32;

/// Writes bitmaps, newline index and bracket kinds, and reports faulty lines.
///
/// # Safety
/// Launched as [`StructureWrite`](warpath_shared::kernel::StructureWrite) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn structure_write(args: StructureWriteArgs<'_>) {
    let staging = shared_array![U32x4; VECTORS];
    let line_scratch = shared_array![LineSummary; WARPS];
    let kind_scratch = shared_array![KindWrites; WARPS];
    let tile_reads = shared_array![u64; 2];
    let thread = thread_idx_x() as usize;
    let this = block_idx_x() as usize;
    let word = this * BLOCK_THREADS + thread;
    if thread < 2 {
        // SAFETY: one writer an element; the barriers of the scans stand before its next use.
        unsafe { tile_reads.add(thread).write(0) };
    }

    // SAFETY: every thread of the block is here, and the arrays are used by nothing else meanwhile.
    let classes = unsafe { tile::classify(args.text, this, staging) };
    // SAFETY: as above.
    let scanned = unsafe { block::exclusive_scan(LineSummary::of_word(&classes), line_scratch) };
    let left = LineSummary::LINE_START.combine(args.carries.get(this)).combine(scanned.before);
    let lines_before = left.newlines();
    let mut state = left.state();
    let indexed = index_word(&classes, &mut state, prefix_xor);
    // SAFETY: one writer a word.
    unsafe { args.string.set(word, indexed.string) };

    let mut newlines = classes.newline;
    let mut line = lines_before;
    if word == 0 {
        // SAFETY: one writer: every other line starts behind a newline.
        unsafe { args.line_starts.set(0, 0) };
    }
    while newlines != 0 {
        line += 1;
        let next = (word * WORD_BYTES) as PartOffset + newlines.trailing_zeros() + 1;
        // SAFETY: one writer a line. The newline that terminates the text may be beyond its length.
        unsafe { args.line_starts.set(line as usize, next.min(args.len)) };
        newlines &= newlines - 1;
    }

    let column = staging.cast::<u64>().wrapping_add(thread);
    let words = args.string.len();
    let masks = (indexed.open, indexed.close, indexed.separator);
    let mut kinds = KindDelta::default();
    let mut faults = indexed.faults;
    let mut base = 0;
    loop {
        let count = (args.level_count - base).min(LEVELS_AT_ONCE);
        // The last words of text, or of the levels before, have been read by now.
        sync_threads();
        let mut level = 0;
        while level < count {
            // SAFETY: the column is this thread's own: element `level * BLOCK_THREADS + thread`.
            unsafe { shared::write(column.add(level as usize * BLOCK_THREADS), 0) };
            level += 1;
        }
        let mut depth = state.depth;
        let mut again = KindDelta::default();
        let found = walk(masks, classes.brace, classes.newline, &mut depth, &mut again, |level, bits| {
            let level = level.wrapping_sub(base);
            if level < count {
                // SAFETY: as above.
                unsafe {
                    let at = column.add(level as usize * BLOCK_THREADS);
                    shared::write(at, shared::read(at) | bits);
                };
            }
        });
        if base == 0 {
            (kinds, faults) = (again, faults | found);
        }
        level = 0;
        while level < count {
            // SAFETY: as above; and one writer a word of the bitmap.
            unsafe {
                let bits = shared::read(column.add(level as usize * BLOCK_THREADS));
                args.levels.set((base + level) as usize * words + word, bits);
            }
            level += 1;
        }
        base += count;
        if base >= args.level_count {
            break;
        }
    }
    while faults != 0 {
        let before = (faults & faults.wrapping_neg()) - 1;
        report(&args.faulty, lines_before + (classes.newline & before).count_ones());
        faults &= faults - 1;
    }

    // SAFETY: every thread of the block is here, and the array is used by nothing else.
    let scanned = unsafe { block::exclusive_scan(kinds.writes, kind_scratch) };
    if scanned.before.contradicts(kinds.reads.answered(scanned.before)) {
        report(&args.faulty, lines_before);
    }
    let open = kinds.reads.unanswered(scanned.before);
    if open.mask != 0 {
        // Of all threads of the block, one at most has a read of a level that nothing before it in the tile wrote.
        // SAFETY: touched only atomically between two barriers.
        unsafe {
            atomic_fetch_or_u64_relaxed_shared(tile_reads, open.mask);
            atomic_fetch_or_u64_relaxed_shared(tile_reads.add(1), open.value);
        }
    }
    sync_threads();
    if thread == 0 {
        // SAFETY: one writer an element; the words were last touched before the barrier.
        unsafe {
            args.kind_writes.set(this, scanned.total);
            args.kind_reads.set(this, KindReads { mask: tile_reads.read(), value: tile_reads.add(1).read() });
        }
    }
}

/// Holds what each tile must find at its left against what is there. A thread a tile.
///
/// # Safety
/// Launched as [`KindCheck`](warpath_shared::kernel::KindCheck) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn kind_check(args: KindCheckArgs<'_>) {
    let this = index_1d() as usize;
    if this < args.reads.len() && args.kinds.get(this).contradicts(args.reads.get(this)) {
        report(&args.faulty, args.carries.get(this).newlines());
    }
}
