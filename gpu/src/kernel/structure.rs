//! The whole structural index, in one pass over the text.
//!
//! *Threads*: a warp a tile of 32 KiB, which it reads from start to end, 2 KiB at a time, a 64-byte word a lane. The state
//! in which the tile begins is known ([`super::line`]), so no warp waits for another: there is no barrier here.
//! Which level a byte belongs to comes from its depth, counted for a whole word at once ([`Sliced`]); only bracket kinds take
//! a walk from bracket to bracket. A word that is at fault somewhere, or deeper than 15, is walked for its levels as well.
//! *Memory*: 2 KiB of shared memory a warp, first to turn coalesced 16-byte loads into words; then, for words that are
//! walked, for up to eight levels, since registers cannot be indexed.
//! *Overflow*: how many lines end in a tile is not known before, so each tile has room for as many as the host guesses;
//! those beyond are counted and not written, and the host sees the count and makes room. *Cost*: the text read once; an
//! eighth of it written for the string bitmap and for each level; four bytes a line; four for every 2 KiB, a bit for each word that
//! has a backslash; 20 bytes a tile, and its room's bits.
//! That is 1 + (1 + levels) / 8 bytes moved a byte of text: 1.5 for three levels.

use cuda_std::atomic::mid::atomic_fetch_or_u32_relaxed_device;
use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, thread_idx_x};
use cuda_std::warp::{sync_warp, warp_reduce_or, warp_vote_any};
use cuda_std::wide::U32x4;
use warpath_shared::index::Monoid;
use warpath_shared::index::class::Classes;
use warpath_shared::index::level::{HalfWord, KindDelta, Sliced, walk_half};
use warpath_shared::index::string::prefix_xor;
use warpath_shared::kernel::{FAULTY_TILE, LOOSE_TILE, StructureWriteArgs, TileKinds};
use warpath_shared::units::{Depth, LineIx, PartOffset, STRETCH_BYTES, TILE_BYTES, WORD_BYTES};
use warpath_shared::view::ViewMut;

use crate::coop::stretch::{VECTORS, classify, load};
use crate::coop::warp::ALL;
use crate::coop::words::{Resolved, StringsAtLeft, Words};
use crate::coop::{LANES, WARPS, warp};

/// Stretches of a tile.
const STRETCHES: usize = TILE_BYTES / STRETCH_BYTES;
/// Levels whose words fit the shared memory that the text needed: 8 × 32 × 8 bytes are 2 KiB.
const LEVELS_AT_ONCE: u32 = (VECTORS * 16 / (LANES as usize * 8)) as u32;

/// Writes bitmaps, the tiles' newlines and bracket kinds, and marks faulty lines.
///
/// # Safety
/// Launched as [`StructureWrite`](warpath_shared::kernel::StructureWrite) says, with sizes that its check accepts.
#[kernel(launch_bounds(256, 3))]
pub unsafe fn structure_write(args: StructureWriteArgs<'_>) {
    let staging = Shared::new(shared_array![U32x4; WARPS * VECTORS]);
    let (warp, lane) = (thread_idx_x() / LANES, thread_idx_x() % LANES);
    let tile = block_idx_x() as usize * WARPS + warp as usize;
    if tile >= args.states.len() {
        return;
    }
    let staging = staging.offset(warp * VECTORS as u32);
    let marks = Marks { args: &args, tile };
    marks.clear(lane);
    // SAFETY: all lanes are here. The warp's marks are cleared before one of its lanes makes one.
    unsafe { sync_warp(ALL) };

    let mut left = args.states.get(tile).state();
    let (mut lines, mut faulty, mut loose) = (0, false, false);
    // SAFETY: all lanes are here, with the same arguments.
    let mut strings = unsafe { StringsAtLeft::of_tile(args.text, tile * TILE_BYTES, left, lane) };
    let mut kinds = KindDelta::default();
    // Counted by a number that has nothing to do with the thread's: else the assembler takes the loop for one that lanes leave
    // one by one, and writes it twice.
    let mut stretch = 0;
    let at = |stretch: usize| tile * TILE_BYTES + stretch * STRETCH_BYTES;
    let mut next = load(args.text, at(0), lane);
    while stretch < STRETCHES {
        let word = at(stretch) / WORD_BYTES + lane as usize;
        let loaded = next;
        stretch += 1;
        // It arrives while this stretch is worked on. The last is loaded once more: without a branch.
        next = load(args.text, at(stretch.min(STRETCHES - 1)), lane);
        // SAFETY: all lanes are here, with the same arguments but for what is each lane's own; the staging is this warp's.
        let (classes, found, loosely, escapes) = unsafe {
            let classes = classify(loaded, staging, lane);
            let words = Words::new(classes, left.escape, lane);
            let found = words.resolve(left);
            (classes, found, words.loose(found.string, &mut strings), words.with_backslashes())
        };
        // SAFETY: one writer a word.
        unsafe { args.string.set(word, found.string) };
        if lane == 0 {
            // SAFETY: one writer a word.
            unsafe { args.escapes.set(word / LANES as usize, escapes) };
        }
        marks.newlines(classes.newline, word, lines + found.before);

        let line = lines + found.before;
        loose |= loosely != 0;
        marks.loose(line, classes.newline, loosely);
        let outside = Brackets::outside(&classes, &found);
        let (mut delta, mut faults, holds) = sliced_levels(&args, &outside, &found, word);
        // SAFETY: all lanes are here.
        if unsafe { warp_vote_any(ALL, !holds) } && !holds {
            // SAFETY: `classify` has returned, and the column of the staging is this lane's own.
            (delta, faults) =
                unsafe { walked_levels(&args, &outside, &found, staging.cast::<u32>().offset(lane), word) };
        }
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
    }
    // SAFETY: all lanes are here.
    let (faulty, loose) = unsafe { (warp_vote_any(ALL, faulty), warp_vote_any(ALL, loose)) };
    if lane == 0 {
        let KindDelta { writes, reads } = kinds;
        // SAFETY: one writer an element.
        unsafe {
            args.kinds.set(tile, TileKinds { writes, reads });
            let flags = if faulty { FAULTY_TILE } else { 0 } | if loose { LOOSE_TILE } else { 0 };
            args.lines.counts.set(tile, lines | flags);
        }
    }
}

/// Where a tile's lines are marked.
struct Marks<'a> {
    args: &'a StructureWriteArgs<'a>,
    tile: usize,
}

impl Marks<'_> {
    /// Clears the marks of faulty and of loose lines.
    #[inline(always)]
    fn clear(&self, lane: u32) {
        let (words, mut i) = (self.args.lines.fault_words(), lane as usize);
        while i < words {
            // SAFETY: the words are this warp's own, and each has one writer.
            unsafe {
                self.args.lines.faulty.set(self.tile * words + i, 0);
                self.args.lines.loose.set(self.tile * words + i, 0);
            }
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
        self.mark(self.args.lines.faulty, line);
    }

    /// Marks lines as loose: those that a word has bytes of at which they are. `line` is the one at its left edge.
    #[inline(always)]
    fn loose(&self, line: LineIx, newline: u64, mut at: u64) {
        while at != 0 {
            let before = (at & at.wrapping_neg()) - 1;
            self.mark(self.args.lines.loose, line + (newline & before).count_ones());
            // All up to the next newline are of the same line.
            let next = newline & !before;
            at &= if next == 0 { 0 } else { !(next ^ (next - 1)) };
        }
    }

    #[inline(always)]
    fn mark(&self, bits: ViewMut<'_, u32>, line: LineIx) {
        if line <= self.args.lines.room {
            let word = self.tile * self.args.lines.fault_words() + line as usize / 32;
            // SAFETY: within the launch and after they were cleared, the words are only touched atomically.
            unsafe { atomic_fetch_or_u32_relaxed_device(bits.at(word, 1), 1 << (line % 32)) };
        }
    }
}

/// The structural bytes of a word, outside strings.
struct Brackets {
    open: u64,
    close: u64,
    separator: u64,
    newline: u64,
    brace: u64,
}

impl Brackets {
    #[inline(always)]
    fn outside(classes: &Classes, found: &Resolved) -> Self {
        let outside = !found.string;
        let Classes { open, close, separator, newline, brace, .. } = *classes;
        Self { open: open & outside, close: close & outside, separator: separator & outside, newline, brace }
    }
}

#[inline(always)]
const fn join(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

/// Writes one word of each level by slicing. Returns what the word does to bracket kinds, the bytes at which a line is
/// faulty, and whether all of that holds: if not, [`walked_levels`] has to do it.
#[inline(always)]
fn sliced_levels(
    args: &StructureWriteArgs<'_>,
    word: &Brackets,
    found: &Resolved,
    index: usize,
) -> (KindDelta, u64, bool) {
    let Brackets { open, close, separator, newline, brace } = *word;
    let (sliced, holds) = Sliced::new((open, close, separator), newline, found.depth, prefix_xor);
    let mut kinds = KindDelta::default();
    let mut at = 1u32.wrapping_shl(found.depth as u32);
    let low = kinds.brackets(open as u32, close as u32, brace as u32, &mut at);
    let high = kinds.brackets((open >> 32) as u32, (close >> 32) as u32, (brace >> 32) as u32, &mut at);
    let seconds = kinds.one_root(sliced.level(0) & open, newline);
    let (mut level, mut to) = (0, index);
    while level < args.level_count {
        // SAFETY: one writer a word of the bitmap.
        unsafe { args.levels.set(to, sliced.level(level)) };
        level += 1;
        to += args.string.len();
    }
    (kinds, found.faults | seconds, holds & (low | high == 0))
}

/// Writes one word of each level, whatever is in it. Returns what [`sliced_levels`] does.
///
/// # Safety
/// `column` is the first of this lane's elements in shared memory, which nobody else touches: element
/// `(2 * level + half) * 32`, for [`LEVELS_AT_ONCE`] levels.
#[inline(always)]
unsafe fn walked_levels(
    args: &StructureWriteArgs<'_>,
    word: &Brackets,
    found: &Resolved,
    column: Shared<u32>,
    index: usize,
) -> (KindDelta, u64) {
    const ROW: u32 = LANES;
    let Brackets { open, close, separator, newline, brace } = *word;
    let mut base = 0;
    let (mut kinds, mut faults) = (KindDelta::default(), found.faults);
    loop {
        let count = (args.level_count - base).min(LEVELS_AT_ONCE);
        let end = column.offset(2 * count * ROW);
        let mut at = column;
        while at != end {
            // SAFETY: the column is this lane's own.
            unsafe {
                at.write(0);
                at.offset(ROW).write(0);
            }
            at = at.offset(2 * ROW);
        }
        let mut depth = found.depth;
        let mut again = KindDelta::default();
        let mut walk = |shift: u32, depth: &mut Depth| {
            let half = HalfWord {
                open: (open >> shift) as u32,
                close: (close >> shift) as u32,
                separator: (separator >> shift) as u32,
                newline: (newline >> shift) as u32,
                brace: (brace >> shift) as u32,
            };
            let column = column.offset(shift / 32 * ROW);
            walk_half(half, depth, &mut again, |level, bits| {
                let level = level.wrapping_sub(base);
                if level < count {
                    // SAFETY: as above.
                    unsafe {
                        let at = column.offset(2 * level * ROW);
                        at.write(at.read() | bits);
                    };
                }
            })
        };
        let (low, high) = (walk(0, &mut depth), walk(32, &mut depth));
        if base == 0 {
            faults |= join(low.faults, high.faults);
            faults |= again.one_root(join(low.roots, high.roots), newline);
            kinds = again;
        }
        let mut at = column;
        let mut to = base as usize * args.string.len() + index;
        while at != end {
            // SAFETY: as above; and one writer a word of the bitmap.
            unsafe {
                let (low, high) = (at.read(), at.offset(ROW).read());
                args.levels.set(to, join(low, high));
            }
            at = at.offset(2 * ROW);
            to += args.string.len();
        }
        base += count;
        if base >= args.level_count {
            break;
        }
    }
    (kinds, faults)
}
