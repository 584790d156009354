//! The whole structural index, in one pass over the text.
//!
//! *Threads*: one warp a tile of 32 KiB. The warp reads the tile from start to end, 2 KiB at a time, one
//! 64-byte word a lane. The state in which the tile begins is known ([`super::line`]), so no warp waits for
//! another and there is no barrier. The level of a byte comes from its depth, which is counted for a whole
//! word at once ([`Sliced`]). Only bracket kinds need a walk from bracket to bracket. A word with a fault, or
//! deeper than 15, is walked for its levels as well.
//! *Layout*: 2 KiB of shared memory a warp. It first turns coalesced 16-byte loads into words. Then it holds
//! up to eight levels of the words that are walked, since registers cannot be indexed.
//! *Overflow*: the number of lines that end in a tile is not known in advance, so each tile has room for as
//! many as the host guesses. Lines beyond that room are counted and not written; the host sees the count and
//! makes room.
//! *Cost*: the text read once; an eighth of it written for the string bitmap and for each level; four bytes a
//! line; four bytes for every 2 KiB, one bit for each word that has a backslash; 20 bytes a tile, and the
//! bits of its room. In total 1 + (1 + levels) / 8 bytes are moved for each byte of text: 1.5 for three
//! levels.

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
use warpath_shared::kernel::{FAULTY_TILE, LOOSE_TILE, ODD_TILE, StructureWriteArgs, TILE_FLAGS, TileKinds};
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
/// Launched as [`StructureWrite`](warpath_shared::kernel::StructureWrite) says, with sizes that its check
/// accepts.
#[kernel(launch_bounds(256, 3))]
pub unsafe fn structure_write(args: StructureWriteArgs<'_>) {
    let staging = Shared::new(shared_array![U32x4; WARPS * VECTORS]);
    let (warp, lane) = (thread_idx_x() / LANES, thread_idx_x() % LANES);
    let tile = block_idx_x() as usize * WARPS + warp as usize;
    if tile >= args.states.len() {
        return;
    }
    let staging = staging.offset(warp * VECTORS as u32);
    let flags = Flags::new(Shared::new(shared_array![u32; WARPS * Flags::COUNT as usize]), warp, lane);
    let marks = Marks { args: &args, tile };
    marks.clear(lane);
    // SAFETY: blocks are whole warps, and the return above depends on the warp alone, so all lanes are here.
    // The barrier orders the clearing of the warp's flags and marks before the first one that a lane sets.
    unsafe { sync_warp(ALL) };

    let mut left = args.states.get(tile).state();
    let mut lines = 0;
    // SAFETY: blocks are whole warps, and no branch above depends on the lane, so all lanes are here, with
    // the same arguments.
    let mut strings = unsafe { StringsAtLeft::of_tile(args.text, tile * TILE_BYTES, left, lane) };
    let mut kinds = KindDelta::default();
    // The counter is independent of the thread's index. Otherwise the assembler takes the loop for one that
    // lanes leave one by one, and emits it twice.
    let mut stretch = 0;
    let at = |stretch: usize| tile * TILE_BYTES + stretch * STRETCH_BYTES;
    let mut next = load(args.text, at(0), lane);
    while stretch < STRETCHES {
        let word = at(stretch) / WORD_BYTES + lane as usize;
        let loaded = next;
        stretch += 1;
        // This load arrives while the current stretch is worked on. The last stretch is loaded once more,
        // which needs no branch.
        next = load(args.text, at(stretch.min(STRETCHES - 1)), lane);
        // SAFETY: `stretch` is the same in all lanes, so all lanes are here, with the same arguments but for
        // each lane's own. The staging is this warp's.
        let (classes, found, (loosely, oddly), escapes) = unsafe {
            let classes = classify(loaded, staging, lane);
            let words = Words::new(classes, left.escape, lane);
            let found = words.resolve(left);
            (classes, found, words.loose(found.string, &mut strings), words.with_backslashes())
        };
        // SAFETY: a word belongs to one stretch and one lane, so it has one writer.
        unsafe { args.string.set(word, found.string) };
        if lane == 0 {
            // SAFETY: only lane 0 writes, and the element belongs to this warp's stretch.
            unsafe { args.escapes.set(word / LANES as usize, escapes) };
        }
        marks.newlines(classes.newline, word, lines + found.before);

        let line = lines + found.before;
        if loosely != 0 {
            flags.set(LOOSE_TILE);
        }
        if oddly | (classes.control & !found.string != 0) {
            flags.set(ODD_TILE);
        }
        marks.loose(line, classes.newline, loosely);
        let outside = Brackets::outside(&classes, &found);
        let (mut delta, mut faults, holds) = sliced_levels(&args, &outside, &found, word);
        // SAFETY: the branches and loops above have joined, and `stretch` is the same in all lanes, so all
        // lanes are here.
        if unsafe { warp_vote_any(ALL, !holds) } && !holds {
            // SAFETY: `classify` has returned, so the column of the staging is this lane's own.
            (delta, faults) =
                unsafe { walked_levels(&args, &outside, &found, staging.cast::<u32>().offset(lane), word) };
        }
        if faults != 0 {
            flags.set(FAULTY_TILE);
        }
        while faults != 0 {
            let before = (faults & faults.wrapping_neg()) - 1;
            marks.fault(line + (classes.newline & before).count_ones());
            faults &= faults - 1;
        }

        // Bracket kinds: each lane's reads are compared with the lanes at its left and with the tile's writes
        // before this stretch. `kind_check` then compares tile with tile.
        // SAFETY: the branches above have joined, and `stretch` is the same in all lanes, so all lanes are
        // here.
        let (written, before) = unsafe {
            let written = warp::inclusive_scan(delta.writes, lane);
            (written, warp::up(written, 1))
        };
        let before = if lane == 0 { kinds.writes } else { kinds.writes.combine(before) };
        if before.contradicts(delta.reads.answered(before)) {
            flags.set(FAULTY_TILE);
            marks.fault(line);
        }
        // At most one lane has a read of a level that nothing before it in the tile wrote. Roots are the
        // exception, but all reads of roots are the same.
        let open = delta.reads.unanswered(before);
        // SAFETY: the branch above has joined, and the vote is the same in all lanes, so all lanes are here
        // in both calls.
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
    // SAFETY: all lanes run the same number of stretches, so all lanes are here. The barrier orders the flags
    // that they set before lane 0 reads them.
    unsafe { sync_warp(ALL) };
    if lane == 0 {
        let KindDelta { writes, reads } = kinds;
        // SAFETY: one warp a tile, and only its lane 0 writes, so each element has one writer.
        unsafe {
            args.kinds.set(tile, TileKinds { writes, reads });
            args.lines.counts.set(tile, lines | flags.get());
        }
    }
}

/// The flags of a tile, in shared memory: registers are scarce here. Lanes seldom set one.
struct Flags(Shared<u32>);

impl Flags {
    /// The flags are the highest bits of a tile's count of lines.
    const COUNT: u32 = TILE_FLAGS.count_ones();

    /// The flags of a warp, cleared.
    #[inline(always)]
    fn new(all: Shared<u32>, warp: u32, lane: u32) -> Self {
        let own = all.offset(warp * Self::COUNT);
        if lane < Self::COUNT {
            // SAFETY: the elements are this warp's own, and each lane writes another.
            unsafe { own.offset(lane).write(0) };
        }
        Self(own)
    }

    #[inline(always)]
    fn set(&self, flag: u32) {
        // SAFETY: the elements are this warp's own. Lanes that write at the same time write the same.
        unsafe { self.0.offset(31 - flag.trailing_zeros()).write(1) };
    }

    /// All flags. The caller has a barrier of the warp before the call.
    #[inline(always)]
    fn get(&self) -> u32 {
        // SAFETY: the elements are this warp's own, and the barrier orders the writes before these reads.
        let read = |at: u32| unsafe { self.0.offset(at).read() };
        (0..Self::COUNT).fold(0, |flags, at| flags | read(at) << (31 - at))
    }
}

/// The bitmaps in which a tile's lines are marked.
struct Marks<'a> {
    args: &'a StructureWriteArgs<'a>,
    tile: usize,
}

impl Marks<'_> {
    /// Clears the marks of faulty and loose lines.
    #[inline(always)]
    fn clear(&self, lane: u32) {
        let (words, mut i) = (self.args.lines.fault_words(), lane as usize);
        while i < words {
            // SAFETY: the words are this warp's own, and lanes take different words.
            unsafe {
                self.args.lines.faulty.set(self.tile * words + i, 0);
                self.args.lines.loose.set(self.tile * words + i, 0);
            }
            i += LANES as usize;
        }
    }

    /// Writes the end of each line whose newline is in a word. `before` newlines of the tile are at the left
    /// of the word.
    #[inline(always)]
    fn newlines(&self, mut newlines: u64, word: usize, before: LineIx) {
        let room = self.args.lines.room as usize;
        let mut line = before as usize;
        while newlines != 0 {
            let end = (word * WORD_BYTES) as PartOffset + newlines.trailing_zeros() + 1;
            if line < room {
                // SAFETY: each newline has one number in the tile, so each element has one writer. The
                // newline that terminates the text may be beyond the text's length.
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

    /// Marks as loose the lines that have one of the bytes `at` of a word. `line` is the line at the word's
    /// left edge.
    #[inline(always)]
    fn loose(&self, line: LineIx, newline: u64, mut at: u64) {
        while at != 0 {
            let before = (at & at.wrapping_neg()) - 1;
            self.mark(self.args.lines.loose, line + (newline & before).count_ones());
            // All bits up to the next newline are of the same line.
            let next = newline & !before;
            at &= if next == 0 { 0 } else { !(next ^ (next - 1)) };
        }
    }

    #[inline(always)]
    fn mark(&self, bits: ViewMut<'_, u32>, line: LineIx) {
        if line <= self.args.lines.room {
            let word = self.tile * self.args.lines.fault_words() + line as usize / 32;
            // SAFETY: `at` checks the index. After the warp has cleared the words, they are touched only
            // atomically.
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

/// Writes one word of each level by slicing. Returns the word's effect on bracket kinds, the bytes at which a
/// line is faulty, and whether slicing applies to the word. If it does not, the caller must call
/// [`walked_levels`].
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
        // SAFETY: this lane is the only writer of its word in each level's bitmap.
        unsafe { args.levels.set(to, sliced.level(level)) };
        level += 1;
        to += args.string.len();
    }
    (kinds, found.faults | seconds, holds & (low | high == 0))
}

/// Writes one word of each level, whatever the word contains. Returns the first two values of
/// [`sliced_levels`].
///
/// # Safety
/// `column` is the first of this lane's elements in shared memory, which nobody else touches. There is an
/// element `(2 * level + half) * 32` for [`LEVELS_AT_ONCE`] levels.
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
            // SAFETY: the caller gives this lane the column for itself.
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
                    // SAFETY: `level` is below `count`, so the element is in the column, which is this lane's
                    // own.
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
            // SAFETY: the column is this lane's own, and this lane is the only writer of its word in each
            // level's bitmap.
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
