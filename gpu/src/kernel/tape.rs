//! Tokens and brackets of all lines of a partition, from which trees are made ([`warpath_shared::tree`]).
//!
//! [`tape_words`] finds the tokens of all words, and the sum of each stretch of 2 KiB. A scan of these sums
//! ([`tape_scan`]) gives the offset of each line's nodes. Then [`tape_lines`] matches the brackets of each
//! line, one after the other. Lines that are too long for one thread are cut, and [`tape_pieces`] reads all
//! pieces at the same time ([`warpath_shared::tree::brackets`]). All nodes are made from the results, side by
//! side ([`mod@super::tape_nodes`]).
//!
//! *Threads*: one warp a tile of 32 KiB, one word a lane; one thread a stretch in the scan; then one thread a
//! line, and one thread a piece. Threads of a warp take one bracket each, of any kind, and join again for the
//! next one.
//! *Layout*: 2 KiB of shared memory a warp for [`tape_words`]. The stack of open brackets is the output that
//! has been written; it needs no other memory.
//! *Overflow*: the number of brackets is not known in advance, so there is room for as many as the host
//! guesses. If there are more, nothing is written, and the last sum holds their number.
//! *Cost*, for a text of *n* bytes with *b* brackets: 9/8 *n* read; 3/4 *n* written for the words, and as
//! much read again for brackets; 36 bytes moved a stretch; 12 *b* written and 4 *b* read. 842 MB of tweets
//! with 8.8 million brackets move 2.4 GB: 0.8 ms on a card that moves 3.1 TB/s. A line of 100 million
//! brackets, 150 MB, moves 2.0 GB: 0.6 ms.
//! *Measured* on an H200 for those tweets: words 0.456, scan 0.021, lines 0.930, pieces 0.136 ms with no long
//! line, and [`tape_nodes`](super::tape_nodes) 0.977. Trees take 2.53 ms, 3.1 times the time of the bytes
//! that must be moved. For that line of brackets: pieces 7.28, nodes 1.39 ms.
//! *Tried and lost*: all tokens of a line taken here by one thread, one after the other: 5.6 ms for the
//! tweets in place of lines and nodes. The same in pieces of 0.5, 1, 2 and 4 KiB: 5.7, 5.8, 5.5 and 5.7 ms.
//! Brackets in pieces of 0.5, 1 and 4 KiB: 11.0, 10.0 and 9.5 ms.

use cuda_std::atomic::mid::atomic_store_32_relaxed_device;
use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, index_1d, thread_idx_x};
use cuda_std::warp::{warp_reduce_max, warp_reduce_min, warp_shuffle_idx, warp_shuffle_up};
use cuda_std::wide::{U32x4, U64x2, load_readonly_16};
use warpath_shared::index::class::is_whitespace;
use warpath_shared::index::line::IndexedWord;
use warpath_shared::kernel::{
    LONG_LINES, ScanArgs, TapeBrackets, TapeLinesArgs, TapeMinimaArgs, TapeOutline, TapePiecesArgs,
    TapeWordsArgs,
};
use warpath_shared::tree::brackets::{Closed, Store, Stretch, Top, part};
use warpath_shared::tree::outline::{
    BracketIx, CountsBefore, FAN_OUT, Outline, StretchSum, TapeWord, below, place,
};
use warpath_shared::tree::token::TokenCarry;
use warpath_shared::units::{Depth, LineIx, PartOffset, STRETCH_BYTES, TILE_BYTES, WORD_BYTES};
use warpath_shared::view::View;

use super::faulty::report;
use super::scan::{Scratch, offsets};
use crate::coop::stretch::{VECTORS, classify_tokens, load};
use crate::coop::warp::ALL;
use crate::coop::{LANES, WARPS};

/// Stretches of a tile.
const STRETCHES: usize = TILE_BYTES / STRETCH_BYTES;

/// The carry of the text before a tile, for the tile's first word.
#[inline(always)]
fn carry_of_tile(args: &TapeWordsArgs<'_>, start: usize) -> TokenCarry {
    if start == 0 {
        return TokenCarry::default();
    }
    let (byte, string) = (args.text.get(start - 1), args.string.get(start / WORD_BYTES - 1));
    let structure = matches!(byte, b'{' | b'}' | b'[' | b']' | b':' | b',');
    TokenCarry::of_bytes([string >> 62 & 1 == 1, string >> 63 == 1], structure, is_whitespace(byte))
}

/// Finds the tokens of each word, and the sum of each stretch.
///
/// # Safety
/// Launched as [`TapeWords`](warpath_shared::kernel::TapeWords) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn tape_words(args: TapeWordsArgs<'_>) {
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
        let start = at(stretch);
        let word = start / WORD_BYTES + lane as usize;
        let (loaded, string) = (next, next_string);
        stretch += 1;
        // This load arrives while the current stretch is worked on.
        let ahead = at(stretch.min(STRETCHES - 1));
        (next, next_string) = (load(args.text, ahead, lane), string_at(ahead));
        // SAFETY: blocks are whole warps, and `tile` and `stretch` are the same in all lanes, so all lanes
        // are here. The staging is this warp's own.
        let classes = unsafe { classify_tokens(loaded, staging, lane) };
        let indexed = IndexedWord {
            string,
            open: classes.open & !string,
            close: classes.close & !string,
            separator: classes.separator & !string,
            faults: 0,
        };
        // Bytes after the text are neither tokens nor newlines.
        let text = below(args.len, word);
        let space = classes.space | !text;
        let own = TokenCarry::behind(&indexed, space).to_bits();
        let sent = if lane == LANES - 1 { left } else { own };
        // SAFETY: `stretch` is the same in all lanes of a whole warp, so all lanes are here.
        let (at_left, _) = unsafe { warp_shuffle_idx(ALL, sent, (lane + LANES - 1) % LANES, LANES) };
        left = own;
        let spaces = [space, classes.newline & text];
        let mut here = TapeWord::of(&indexed, classes.brace, spaces, TokenCarry::from_bits(at_left));

        // Nodes and brackets, of which there are 2,048 each at most, and the change of depth, in one word.
        let counts = here.node.count_ones() | here.bracket.count_ones() << 16;
        let own = (counts as u64).wrapping_add((here.net() as u64) << 32);
        let mut sum = own;
        let mut delta = 1;
        while delta < LANES {
            // SAFETY: `delta` and `stretch` are the same in all lanes, so all lanes are here.
            let (left, there) = unsafe { warp_shuffle_up(ALL, sum, delta, LANES) };
            sum = if there { sum.wrapping_add(left) } else { sum };
            delta *= 2;
        }
        let before = sum.wrapping_sub(own);
        (here.nodes, here.brackets) = (before as u16, (before >> 16) as u16);
        here.depth = (before >> 32) as Depth;
        let last = match here.mark() {
            0 => 0,
            mark => (word * WORD_BYTES) as PartOffset + 64 - mark.leading_zeros(),
        };
        // SAFETY: the loop above has the same rounds in all lanes, so all lanes are here.
        let (sum, least, last) = unsafe {
            (
                warp_shuffle_idx(ALL, sum, LANES - 1, LANES).0,
                warp_reduce_min(ALL, here.depth + here.least()),
                warp_reduce_max(ALL, last),
            )
        };
        // SAFETY: the word is this lane's own, and only lane 0 writes the elements of its warp's stretch.
        unsafe {
            args.words.set(word, here);
            if lane == 0 {
                let (nodes, brackets) = (sum as u32 & 0xffff, (sum >> 16) as u32 & 0xffff);
                let sum = StretchSum { nodes, brackets, depth: (sum >> 32) as Depth, last };
                args.sums.set(start / STRETCH_BYTES, sum);
                args.least.set(start / STRETCH_BYTES, least);
            }
        }
    }
}

/// Scans the sums of stretches.
///
/// # Safety
/// Launched as [`TapeScan`](warpath_shared::kernel::TapeScan) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn tape_scan(args: ScanArgs<'_, StretchSum, StretchSum>) {
    let shared = Scratch {
        sums: shared_array![StretchSum; WARPS],
        before: shared_array![StretchSum; 1],
        tile: shared_array![u32; 1],
    };
    // SAFETY: no branch comes before this call, so every thread of the block is here. The shared memory is
    // this scan's own.
    unsafe { offsets(&args, &shared, |sum| sum) };
}

/// The outline as kernels see it, which only read it.
#[derive(Clone, Copy)]
pub(super) struct Loaded<'a>(pub TapeOutline<'a>);

impl Outline for Loaded<'_> {
    #[inline(always)]
    fn words(&self) -> usize {
        self.0.words.len()
    }

    #[inline(always)]
    fn word(&self, word: usize) -> TapeWord {
        let from: *const U32x4 = self.0.words.at(word, 1).cast();
        let load = |i: usize| {
            // SAFETY: the index is checked; words are 48 bytes, 16-byte aligned, and nothing writes them
            // during the launch.
            let U64x2(two) = unsafe { load_readonly_16(from.wrapping_add(i)) }.into();
            two
        };
        let ([start, past], [node, bracket], [alt, before]) = (load(0), load(1), load(2));
        let (nodes, brackets, depth) = (before as u16, (before >> 16) as u16, (before >> 32) as Depth);
        TapeWord { start, past, node, bracket, alt, nodes, brackets, depth }
    }

    #[inline(always)]
    fn before(&self, stretch: usize) -> StretchSum {
        self.0.before.get(stretch)
    }

    #[inline(always)]
    fn least(&self, level: usize, group: usize) -> Depth {
        match level {
            0 => self.0.before.get(group).depth + self.0.least.get(group),
            1 => self.0.groups[0].get(group),
            _ => self.0.groups[1].get(group),
        }
    }
}

/// The numbers of nodes and of brackets in all lines.
#[inline(always)]
pub(super) fn all(outline: &TapeOutline<'_>) -> CountsBefore {
    let StretchSum { nodes, brackets, depth, .. } = outline.before.get(outline.before.len() - 1);
    CountsBefore { nodes, brackets, depth }
}

/// The results for brackets, of which this thread writes a part.
#[derive(Clone, Copy)]
struct BracketResults<'a>(TapeBrackets<'a>);

impl BracketResults<'_> {
    /// Returns whether there is room for the results of all brackets.
    #[inline(always)]
    fn has_room(&self, outline: &TapeOutline<'_>) -> bool {
        all(outline).brackets as usize <= self.0.tops.len()
    }
}

impl Store for BracketResults<'_> {
    #[inline(always)]
    fn top(&self, bracket: BracketIx) -> Top {
        // SAFETY: the matching reads only elements that this thread has written.
        unsafe { self.0.tops.get(bracket as usize) }
    }

    #[inline(always)]
    fn set_top(&mut self, bracket: BracketIx, top: Top) {
        // SAFETY: each bracket is in the part of one thread, so each element has one writer.
        unsafe { self.0.tops.set(bracket as usize, top) };
    }

    #[inline(always)]
    fn set_closed(&mut self, opener: BracketIx, closed: Closed) {
        // SAFETY: one bracket closes each opening bracket, so each element has one writer.
        unsafe { self.0.closed.set(opener as usize, closed) };
    }
}

/// Matches the brackets of lines that are not too long, and writes the offset of each line's nodes.
///
/// # Safety
/// Launched as [`TapeLines`](warpath_shared::kernel::TapeLines) says, with sizes that its check accepts.
#[kernel(launch_bounds(64, 20))]
pub unsafe fn tape_lines(args: TapeLinesArgs<'_>) {
    let (line, lines) = (index_1d() as usize, args.line_starts.len() - 1);
    if line >= lines {
        return;
    }
    let outline = Loaded(args.outline);
    let (from, to) = (args.line_starts.get(line), args.line_starts.get(line + 1));
    // SAFETY: `line` is this thread's own, and only the last line's thread writes the element after it.
    unsafe {
        args.roots.set(line, place(&outline, from).nodes);
        if line + 1 == lines {
            args.roots.set(lines, all(&args.outline).nodes);
        }
    }
    let found = BracketResults(args.brackets);
    if !found.has_room(&args.outline) {
        return;
    }
    if to - from > args.longest {
        // SAFETY: the word is touched only atomically during the launch, and all writers write the same
        // value.
        unsafe { atomic_store_32_relaxed_device(args.status.at(LONG_LINES, 1), 1) };
        return;
    }
    let bytes = Stretch { from, to };
    if part::<_, _, true>(&outline, found, bytes, bytes) {
        report(&args.faulty, line as LineIx);
    }
}

/// Finds the least depths of groups of stretches, if there are long lines.
///
/// # Safety
/// Launched as [`TapeMinima`](warpath_shared::kernel::TapeMinima) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn tape_minima(args: TapeMinimaArgs<'_>) {
    let group = index_1d() as usize;
    if args.status.get(LONG_LINES) == 0 || group / FAN_OUT >= args.groups[1].len() {
        return;
    }
    let mut least = Depth::MAX;
    let mut stretch = group * FAN_OUT;
    while stretch < args.least.len().min((group + 1) * FAN_OUT) {
        least = least.min(args.before.get(stretch).depth + args.least.get(stretch));
        stretch += 1;
    }
    // SAFETY: blocks are whole warps of `FAN_OUT` lanes. The return above depends on the status, the same for
    // all threads, and on `group / FAN_OUT`, the same for a whole warp. So all lanes are here.
    let of_all = unsafe { warp_reduce_min(ALL, least) };
    // SAFETY: `group` is this thread's own, and one thread in `FAN_OUT` writes the element of the second
    // level.
    unsafe {
        if group < args.groups[0].len() {
            args.groups[0].set(group, least);
        }
        if group.is_multiple_of(FAN_OUT) {
            args.groups[1].set(group / FAN_OUT, of_all);
        }
    }
}

/// The line that byte `at` is on: the last that begins at or before it.
#[inline(always)]
pub(super) fn line_of(line_starts: View<'_, PartOffset>, at: PartOffset) -> usize {
    let (mut low, mut high) = (0, line_starts.len() - 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if line_starts.get(middle) > at { high = middle } else { low = middle }
    }
    low
}

/// Matches the brackets of long lines, if there are any.
///
/// # Safety
/// Launched as [`TapePieces`](warpath_shared::kernel::TapePieces) says, with sizes that its check accepts.
#[kernel(launch_bounds(64, 8))]
pub unsafe fn tape_pieces(args: TapePiecesArgs<'_>) {
    let lines = args.line_starts.len() - 1;
    let from = index_1d() as u64 * args.piece as u64;
    let found = BracketResults(args.brackets);
    let long = args.status.get(LONG_LINES) != 0 && found.has_room(&args.outline);
    if !long || from >= args.line_starts.get(lines) as u64 {
        return;
    }
    let from = from as PartOffset;
    let window = Stretch { from, to: from + args.piece };
    let mut line = line_of(args.line_starts, from);
    let mut start = args.line_starts.get(line);
    while line < lines && start < window.to {
        let end = args.line_starts.get(line + 1);
        if end - start > args.longest {
            let bytes = Stretch { from: start, to: end };
            if part::<_, _, false>(&Loaded(args.outline), found, bytes, window) {
                report(&args.faulty, line as LineIx);
            }
        }
        start = end;
        line += 1;
    }
}
