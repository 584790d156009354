//! The nodes of trees, all made at the same time, once brackets are matched
//! ([`warpath_shared::tree::follow`]).
//!
//! *Threads*: one warp a stretch of 2 KiB, one word a lane; then, for each node of the stretch, one lane.
//! *Layout*: a lane sketches the nodes of its word in shared memory, 8 bytes each, at the offsets that they
//! have among the stretch's nodes. Then lanes take neighbouring sketches, look up each node's container and
//! its closing bracket, and store neighbouring nodes. There is room for [`SKETCHES`] at a time: stretches
//! with more take more rounds. The mark before the stretch is at the offset in the stretch's sum. If the
//! stretch's last mark is a string or a colon, one or two marks after it are needed. The next stretch that
//! has marks is found by sums, 32 at a time. Where the last token ends in another stretch, that stretch
//! writes the end, and this one the other three words.
//! *Overflow*: if there is no room for all nodes or for all brackets, nothing is written.
//! *Cost*, for a text of *n* bytes with *m* nodes and *b* brackets: 3/4 *n* read, and some words of
//! neighbours twice; 16 *m* written; 16 *b* read. 842 MB of tweets with 46 million nodes and 8.8 million
//! brackets move 1.5 GB: 0.5 ms on a card that moves 3.1 TB/s. Counted by hand, a stretch takes some 1,400
//! instructions. They would take as long again, if the memory traffic did not hide them.
//! *Tried and lost*: one thread a line that takes all of its tokens, one after the other, with its own stream
//! of loads and stores: 5.6 ms for these tweets on an H200.

use cuda_std::kernel;
use cuda_std::shared::{Shared, shared_array};
use cuda_std::thread::{block_idx_x, thread_idx_x};
use cuda_std::warp::{sync_warp, warp_shuffle_idx, warp_vote_ballot};
use cuda_std::wide::{U32x4, store_global_16};
use warpath_shared::kernel::{TapeNodesArgs, TapeOutline};
use warpath_shared::tree::brackets::{Closed, Top};
use warpath_shared::tree::follow::{Inside, Mark, Roles, Sketch, colons_of_containers, faults};
use warpath_shared::tree::outline::{BracketIx, Outline, STRETCH_WORDS, TapeWord, below};
use warpath_shared::tree::tape::{TapeIx, TapeNode};
use warpath_shared::units::{LineIx, PartOffset, STRETCH_BYTES, WORD_BYTES};

use super::faulty::report;
use super::tape::{Loaded, all, line_of};
use crate::coop::warp::ALL;
use crate::coop::{LANES, WARPS};

/// Nodes of a stretch that are sketched at a time.
const SKETCHES: usize = 256;

/// Reads a value of another lane: 0 if there is no such lane.
///
/// # Safety
/// All lanes call it together.
#[inline(always)]
unsafe fn of_lane(value: u32, lane: u32) -> u32 {
    // SAFETY: the caller brings all lanes, and all lanes are in the mask.
    let (value, _) = unsafe { warp_shuffle_idx(ALL, value, lane % LANES, LANES) };
    if lane < LANES { value } else { 0 }
}

/// The last lane of a set before `lane`, or none: a number that is no lane's.
#[inline(always)]
fn before(set: u32, lane: u32) -> u32 {
    31u32.wrapping_sub((set & ((1 << lane) - 1)).leading_zeros())
}

/// The first lane of a set after `lane`, or none: 32.
#[inline(always)]
fn behind(set: u32, lane: u32) -> u32 {
    (set & (!1 << lane)).trailing_zeros()
}

/// The first mark of the text that is not before `at`, and its offset; no mark if there is none.
///
/// # Safety
/// All lanes call it together, with the same `at`.
#[inline(always)]
unsafe fn mark_from(outline: &TapeOutline<'_>, at: PartOffset, lane: u32) -> (Mark, PartOffset) {
    let stretches = outline.least.len();
    let mut stretch = at as usize / STRETCH_BYTES;
    while stretch < stretches {
        let word = stretch * STRETCH_WORDS + lane as usize;
        let here = Loaded(*outline).word(word);
        let marks = here.mark() & !below(at, word);
        // SAFETY: `at` is the same in all lanes, and so is `stretch`, so all lanes are here.
        let marked = unsafe { warp_vote_ballot(ALL, marks != 0) };
        if marked != 0 {
            let mark = Mark::at(&here, marks & marks.wrapping_neg());
            let place = (word * WORD_BYTES) as PartOffset + marks.trailing_zeros();
            let first = marked.trailing_zeros();
            // SAFETY: the vote is the same in all lanes, so all lanes are here.
            return unsafe { (Mark::from_bits(of_lane(mark.to_bits(), first)), of_lane(place, first)) };
        }
        // The next stretch whose sum has another last mark.
        stretch += 1;
        while stretch < stretches {
            let it = stretch + lane as usize;
            let any = it < stretches && outline.before.get(it).last != outline.before.get(it + 1).last;
            // SAFETY: the loop's bounds and the vote that ends it are the same in all lanes, so all lanes are
            // here.
            let any = unsafe { warp_vote_ballot(ALL, any) };
            if any != 0 {
                stretch += any.trailing_zeros() as usize;
                break;
            }
            stretch += LANES as usize;
        }
    }
    (Mark::NONE, 0)
}

/// The marks after a stretch that matter to its last one: the first mark, and whether it is a colon of a
/// container.
///
/// # Safety
/// All lanes call it together, with the same arguments.
#[inline(always)]
unsafe fn marks_behind(outline: &TapeOutline<'_>, (last, stretch): (Mark, usize), lane: u32) -> (Mark, bool) {
    if !last.is_string() && !last.is_colon() {
        return (Mark::NONE, false);
    }
    let (mut colon, mut from) = (Mark::NONE, ((stretch + 1) * STRETCH_BYTES) as PartOffset);
    loop {
        // SAFETY: the arguments and the marks found are the same in all lanes, so all lanes are here, with
        // the same `from`.
        let (mark, at) = unsafe { mark_from(outline, from, lane) };
        if colon.is_colon() {
            return (colon, mark.opens());
        }
        if !last.is_string() || !mark.is_colon() {
            return (mark, false);
        }
        (colon, from) = (mark, at + 1);
    }
}

/// Reports the lines with a fault at one of the bits of a word.
#[inline(always)]
fn report_all(args: &TapeNodesArgs<'_>, here: &TapeWord, word: usize, mut faults: u64) {
    while faults != 0 {
        let at = (word * WORD_BYTES) as PartOffset + faults.trailing_zeros();
        report(&args.faulty, line_of(args.line_starts, at) as LineIx);
        // Continues with the next line.
        let newline = here.newline() & !((faults & faults.wrapping_neg()) - 1);
        faults = if newline == 0 { 0 } else { faults & !(newline ^ (newline - 1)) };
    }
}

/// Writes a node that is complete, or complete but for its end.
#[inline(always)]
fn store(args: &TapeNodesArgs<'_>, at: TapeIx, node: TapeNode, whole: bool) {
    let (to, words) = (args.nodes.at(at as usize, 1), node.to_words());
    if whole {
        // SAFETY: the index is checked; nodes are 16 bytes and so aligned, and each has one writer.
        unsafe { store_global_16(to.cast(), U32x4(words)) };
        return;
    }
    let to: *mut u32 = to.cast();
    // SAFETY: the index is checked, and another thread writes only the second word, which this one leaves
    // out.
    unsafe {
        to.write(words[0]);
        to.wrapping_add(2).write(words[2]);
        to.wrapping_add(3).write(words[3]);
    }
}

/// Makes the nodes of all lines, and reports the lines that have a token where the grammar allows none.
///
/// # Safety
/// Launched as [`TapeNodes`](warpath_shared::kernel::TapeNodes) says, with sizes that its check accepts.
#[kernel(launch_bounds(256, 4))]
pub unsafe fn tape_nodes(args: TapeNodesArgs<'_>) {
    let staging = Shared::new(shared_array![u64; WARPS * SKETCHES]);
    let (warp, lane) = (thread_idx_x() / LANES, thread_idx_x() % LANES);
    let staging = staging.offset(warp * SKETCHES as u32);
    let stretch = block_idx_x() as usize * WARPS + warp as usize;
    let total = all(&args.outline);
    let room = total.nodes as usize <= args.nodes.len() && total.brackets as usize <= args.tops.len();
    if stretch >= args.outline.least.len() || !room {
        return;
    }
    let outline = Loaded(args.outline);
    let (sum, word) = (outline.before(stretch), stretch * STRETCH_WORDS + lane as usize);
    let here = outline.word(word);
    let base = (word * WORD_BYTES) as PartOffset;
    let place_of = |bits: u64| if bits == 0 { 0 } else { base + bits.trailing_zeros() };
    let before_all = match sum.last {
        0 => Mark::NONE,
        last => {
            let (word, bit) = ((last - 1) as usize / WORD_BYTES, (last - 1) as usize % WORD_BYTES);
            Mark::at(&outline.word(word), 1 << bit)
        }
    };

    // SAFETY: blocks are whole warps, and the return above depends on the warp and the arguments alone, so
    // all lanes are here.
    let (started, passed) =
        unsafe { (warp_vote_ballot(ALL, here.start != 0), warp_vote_ballot(ALL, here.past != 0)) };
    // The end of a token that starts before the stretch. No other token starts before it has ended.
    let ends = passed != 0 && lane == passed.trailing_zeros() && lane <= started.trailing_zeros();
    if ends && before_all.is_scalar() && here.past.trailing_zeros() <= here.start.trailing_zeros() {
        let node: *mut u32 = args.nodes.at(sum.nodes as usize - 1, 1).cast();
        // SAFETY: the index is checked, nodes are four words, and the thread that writes the others leaves
        // this one out.
        unsafe { node.wrapping_add(1).write(place_of(here.past)) };
    }

    // SAFETY: the branch above has joined, and no other depends on the lane, so all lanes are here.
    let marked = unsafe { warp_vote_ballot(ALL, here.mark() != 0) };
    if marked == 0 {
        return;
    }
    let (first, last) = (Mark::first(&here), Mark::last(&here));
    let (at_left, at_right) = (before(marked, lane), behind(marked, lane));
    // SAFETY: `marked` is the same in all lanes, so all lanes are here, with the same last mark and stretch.
    let (left, right, past_ahead, behind_all) = unsafe {
        let last_of_all = Mark::from_bits(of_lane(last.to_bits(), 31 - marked.leading_zeros()));
        (
            Mark::from_bits(of_lane(last.to_bits(), at_left)),
            Mark::from_bits(of_lane(first.to_bits(), at_right)),
            of_lane(place_of(here.past), behind(passed, lane)),
            marks_behind(&args.outline, (last_of_all, stretch), lane),
        )
    };
    let left = if at_left < LANES { left } else { before_all };
    let right = if at_right < LANES { right } else { behind_all.0 };
    let colons = colons_of_containers(&here, right);
    let first_bit = here.mark() & here.mark().wrapping_neg();
    // SAFETY: no branch since the vote on marks depends on the lane, so all lanes are here.
    let of_container = unsafe { of_lane((colons & first_bit != 0) as u32, at_right) != 0 };
    let of_container = if at_right < LANES { of_container } else { behind_all.1 };
    let roles = Roles::of(&here, colons, [left, right], of_container);

    let top_at = |bracket: BracketIx| {
        if bracket == 0 { Top::NONE } else { args.tops.get(bracket as usize - 1) }
    };
    let bracket = sum.brackets + here.brackets as u32;
    if here.mark() != 0 {
        let inside = Inside::of(&here, top_at(bracket), |i| top_at(bracket + i + 1));
        report_all(&args, &here, word, faults(&here, left, &roles, &inside));
    }

    let (mut unsketched, mut next) = (here.node, here.nodes as u32);
    // SAFETY: the branch above has joined, so all lanes are here.
    let nodes = unsafe { of_lane(next + here.node.count_ones(), LANES - 1) };
    let mut round = 0;
    while round < nodes {
        while unsketched != 0 && next < round + SKETCHES as u32 {
            let bit = unsketched & unsketched.wrapping_neg();
            unsketched ^= bit;
            let behind = here.past & !(bit | (bit - 1));
            let end = if behind == 0 { past_ahead } else { place_of(behind) };
            let place = lane * WORD_BYTES as u32 + bit.trailing_zeros();
            let brackets = here.brackets as u32 + (here.bracket & (bit - 1)).count_ones();
            let sketch = Sketch::of(&here, &roles, bit, (place, brackets), end);
            // SAFETY: each node belongs to one lane, and `next - round` is below `SKETCHES`.
            unsafe { staging.offset(next - round).write(sketch.to_bits()) };
            next += 1;
        }
        // SAFETY: `round` and `nodes` are the same in all lanes, and the loop above has joined, so all lanes
        // are here.
        unsafe { sync_warp(ALL) };
        let sketched = (nodes - round).min(SKETCHES as u32);
        let mut i = lane;
        while i < sketched {
            // SAFETY: the sketch was written before the warp was synchronised.
            let sketch = Sketch::from_bits(unsafe { staging.offset(i).read() });
            let bracket = sum.brackets + sketch.brackets();
            let top = if sketch.is_valued() { 0 } else { top_at(bracket).node() };
            let closed =
                if sketch.has_container() { args.closed.get(bracket as usize) } else { Closed::default() };
            let at = sum.nodes + round + i;
            let node = sketch.node(at, (stretch * STRETCH_BYTES) as PartOffset, top, closed);
            store(&args, at, node, sketch.is_whole());
            i += LANES;
        }
        // SAFETY: `round` and `nodes` are the same in all lanes, and the loop above has joined, so all lanes
        // are here.
        unsafe { sync_warp(ALL) };
        round += SKETCHES as u32;
    }
}
