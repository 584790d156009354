//! The whole structural index, in one pass over the text.
//!
//! *Threads*: a warp a tile of 16 KiB, which it reads from start to end, 2 KiB at a time, a 64-byte word a lane. The state
//! in which the tile begins is known ([`super::line`]), so no warp waits for another: there is no barrier here.
//! *Memory*: 2 KiB of shared memory a warp, first to turn coalesced 16-byte loads into words, then for the words of up to
//! eight levels, since which level a byte belongs to is known only at run time and registers cannot be indexed so.
//! *Overflow*: how many lines end in a tile is not known before, so each tile has room for as many as the host guesses;
//! those beyond are counted and not written, and the host sees the count and makes room. *Cost*: the text read once; an
//! eighth of it written for the string bitmap and for each level; four bytes a line; 20 bytes a tile, and its room's bits.
//! That is 1 + (1 + levels) / 8 bytes moved a byte of text: 1.5 for three levels.

use cuda_std::atomic::mid::atomic_fetch_or_u32_relaxed_device;
use cuda_std::kernel;
use cuda_std::shared::{self, shared_array};
use cuda_std::thread::{block_idx_x, thread_idx_x};
use cuda_std::warp::{sync_warp, warp_reduce_or, warp_vote_any};
use cuda_std::wide::U32x4;
use warpath_shared::index::Monoid;
use warpath_shared::index::class::Classes;
use warpath_shared::index::level::{HalfWord, KindDelta, walk_half};
use warpath_shared::kernel::{FAULTY_TILE, StructureWriteArgs, TileKinds};
use warpath_shared::units::{Depth, LineIx, PartOffset, STRETCH_BYTES, TILE_BYTES, WORD_BYTES};

use crate::coop::stretch::{VECTORS, classify};
use crate::coop::warp::ALL;
use crate::coop::words::{Resolved, Words};
use crate::coop::{LANES, WARPS, warp};

/// Levels whose words fit the shared memory that the text needed: 8 × 32 × 8 bytes are 2 KiB.
const LEVELS_AT_ONCE: u32 = (VECTORS * 16 / (LANES as usize * 8)) as u32;

/// Writes bitmaps, the tiles' newlines and bracket kinds, and marks faulty lines.
///
/// # Safety
/// Launched as [`StructureWrite`](warpath_shared::kernel::StructureWrite) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn structure_write(args: StructureWriteArgs<'_>) {
    let staging = shared_array![U32x4; WARPS * VECTORS];
    let (warp, lane) = (thread_idx_x() / LANES, thread_idx_x() % LANES);
    let tile = block_idx_x() as usize * WARPS + warp as usize;
    if tile >= args.states.len() {
        return;
    }
    let staging = staging.wrapping_add(warp as usize * VECTORS);
    let marks = Marks { args: &args, tile };
    marks.clear(lane);
    // SAFETY: all lanes are here. The warp's marks are cleared before one of its lanes makes one.
    unsafe { sync_warp(ALL) };

    let mut left = args.states.get(tile).state();
    let (mut lines, mut faulty) = (0, false);
    let mut kinds = KindDelta::default();
    let mut stretch = 0;
    while stretch < TILE_BYTES / STRETCH_BYTES {
        let start = tile * TILE_BYTES + stretch * STRETCH_BYTES;
        let word = start / WORD_BYTES + lane as usize;
        // SAFETY: all lanes are here, with the same arguments but for what is each lane's own; the staging is this warp's.
        let (classes, found) = unsafe {
            let classes = classify(args.text, start, staging, lane);
            (classes, Words::new(classes, left.escape, lane).resolve(left))
        };
        // SAFETY: one writer a word.
        unsafe { args.string.set(word, found.string) };
        marks.newlines(classes.newline, word, lines + found.before);

        let line = lines + found.before;
        // SAFETY: `classify` has returned, and the column of the staging is this lane's own.
        let (delta, mut faults) = unsafe {
            levels(&args, &classes, &found, staging.cast::<u32>().wrapping_add(lane as usize), word)
        };
        faulty |= faults != 0;
        while faults != 0 {
            let before = (faults & faults.wrapping_neg()) - 1;
            marks.fault(line + (classes.newline & before).count_ones());
            faults &= faults - 1;
        }

        // Bracket kinds: lanes against lanes and what the tile wrote before here, then tile against tile in `kind_check`.
        // SAFETY: all lanes are here.
        let (written, before) = unsafe {
            let written = warp::inclusive_scan(delta.writes, lane);
            (written, warp::up(written, 1))
        };
        let before = if lane == 0 { kinds.writes } else { kinds.writes.combine(before) };
        if before.contradicts(delta.reads.answered(before)) {
            faulty = true;
            marks.fault(line);
        }
        // Of all lanes, one at most has a read of a level that nothing before it in the tile wrote; but for roots, of which
        // all reads are the same.
        let open = delta.reads.unanswered(before);
        // SAFETY: all lanes are here, since the vote is the same in all.
        unsafe {
            if warp_vote_any(ALL, open.mask != 0) {
                kinds.reads.mask |= warp_reduce_or(ALL, open.mask);
                kinds.reads.value |= warp_reduce_or(ALL, open.value);
            }
            kinds.writes = kinds.writes.combine(warp::from_lane(written, LANES - 1));
        }
        lines += found.newlines;
        left = found.right;
        stretch += 1;
    }
    // SAFETY: all lanes are here.
    let faulty = unsafe { warp_vote_any(ALL, faulty) };
    if lane == 0 {
        let KindDelta { writes, reads } = kinds;
        // SAFETY: one writer an element.
        unsafe {
            args.kinds.set(tile, TileKinds { writes, reads });
            args.lines.counts.set(tile, if faulty { lines | FAULTY_TILE } else { lines });
        }
    }
}

/// Where a tile's lines are marked.
struct Marks<'a> {
    args: &'a StructureWriteArgs<'a>,
    tile: usize,
}

impl Marks<'_> {
    /// Clears the marks of faulty lines.
    #[inline(always)]
    fn clear(&self, lane: u32) {
        let (words, mut i) = (self.args.lines.fault_words(), lane as usize);
        while i < words {
            // SAFETY: the words are this warp's own, and each has one writer.
            unsafe { self.args.lines.faulty.set(self.tile * words + i, 0) };
            i += LANES as usize;
        }
    }

    /// Writes where the lines end whose newlines are in a word, of which `before` newlines of the tile lie to the left.
    #[inline(always)]
    fn newlines(&self, mut newlines: u64, word: usize, before: LineIx) {
        let room = self.args.lines.room as usize;
        let mut line = before as usize;
        while newlines != 0 {
            let end = (word * WORD_BYTES) as PartOffset + newlines.trailing_zeros() + 1;
            if line < room {
                // SAFETY: one writer a line. The newline that terminates the text may be beyond its length.
                unsafe { self.args.lines.ends.set(self.tile * room + line, end.min(self.args.len)) };
            }
            line += 1;
            newlines &= newlines - 1;
        }
    }

    /// Marks a line, counted from the tile's first, as faulty.
    #[inline(always)]
    fn fault(&self, line: LineIx) {
        if line <= self.args.lines.room {
            let word = self.tile * self.args.lines.fault_words() + line as usize / 32;
            // SAFETY: within the launch and after they were cleared, the words are only touched atomically.
            unsafe {
                atomic_fetch_or_u32_relaxed_device(self.args.lines.faulty.at(word, 1), 1 << (line % 32))
            };
        }
    }
}

/// Writes one word of each level. Returns what the word does to bracket kinds, and the bytes at which a line is faulty.
///
/// # Safety
/// `column` is the first of this lane's elements in shared memory, which nobody else touches: element
/// `(2 * level + half) * 32`, for [`LEVELS_AT_ONCE`] levels.
#[inline(always)]
unsafe fn levels(
    args: &StructureWriteArgs<'_>,
    classes: &Classes,
    found: &Resolved,
    column: *mut u32,
    word: usize,
) -> (KindDelta, u64) {
    const ROW: usize = LANES as usize;
    let outside = !found.string;
    let (open, close, separator) =
        (classes.open & outside, classes.close & outside, classes.separator & outside);
    let mut base = 0;
    let (mut kinds, mut faults) = (KindDelta::default(), found.faults);
    loop {
        let count = (args.level_count - base).min(LEVELS_AT_ONCE);
        let end = column.wrapping_add(2 * count as usize * ROW);
        let mut at = column;
        while at != end {
            // SAFETY: the column is this lane's own.
            unsafe {
                shared::write(at, 0);
                shared::write(at.add(ROW), 0);
            }
            at = at.wrapping_add(2 * ROW);
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
            let column = column.wrapping_add(shift as usize / 32 * ROW);
            walk_half(half, depth, &mut again, |level, bits| {
                let level = level.wrapping_sub(base);
                if level < count {
                    // SAFETY: as above.
                    unsafe {
                        let at = column.add(2 * level as usize * ROW);
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
                let (low, high) = (shared::read(at), shared::read(at.add(ROW)));
                args.levels.set(to, low as u64 | (high as u64) << 32);
            }
            at = at.wrapping_add(2 * ROW);
            to += args.string.len();
        }
        base += count;
        if base >= args.level_count {
            break;
        }
    }
    (kinds, faults)
}
