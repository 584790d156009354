//! From what was found to what is copied back: dense lists of matches, and their text.

use cuda_std::bits::funnel_shift_right;
use cuda_std::kernel;
use cuda_std::shared::shared_array;
use cuda_std::thread::{block_idx_x, index_1d, sync_threads, thread_idx_x};
use cuda_std::warp::warp_vote_ballot;
use cuda_std::wide::{U32x4, load_readonly_8, load_readonly_16, load_readonly_64, store_global_16};
use warpath_shared::kernel::{
    Match, QueryBoundsArgs, SLOT_ROWS, SLOT_TILE, SlotCompactArgs, Span, TEXT_TILE, TextGatherArgs,
};
use warpath_shared::units::BLOCK_THREADS;
use warpath_shared::view::View;

use crate::coop::warp::ALL;
use crate::coop::{LANES, WARPS, lookback, search};

/// Turns slots into dense lists of matches, in one pass.
///
/// *Threads*: a block takes 1,024 slots, a warp 128 of them, in four rows of 32: a lane loads a slot of each row, so a load
/// is 256 bytes in a row. (Eight rows were not unrolled: their slots went to local memory.) *Order*: a ballot a row says which
/// lanes found something; the bits below a lane's own are its place in the row, the warps' counts are added in shared
/// memory, and the blocks' by look-back. *Overflow*: places are 64-bit; what lies beyond the room for matches is counted
/// and not written. *Cost*: 8 bytes read a slot, 12 written a match, and 16 a tile for look-back. Paths lie one after
/// the other, so all paths are one list, and the thread of the slot with which a path, or its cut, begins knows that bound.
///
/// # Safety
/// Launched as [`SlotCompact`](warpath_shared::kernel::SlotCompact) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn slot_compact(args: SlotCompactArgs<'_>) {
    let tile_shared = shared_array![u32; 1];
    let counts = shared_array![u32; WARPS];
    let before_shared = shared_array![u64; 1];
    let thread = thread_idx_x();
    let (warp, lane) = (thread / LANES, thread % LANES);
    if thread == 0 {
        // SAFETY: one writer, before the barrier.
        unsafe { tile_shared.write(lookback::take_ticket(&args.look_back)) };
    }
    sync_threads();
    // SAFETY: written before the barrier.
    let tile = unsafe { tile_shared.read() };
    let len = args.slots.len();
    let first = tile as usize * SLOT_TILE + warp as usize * (SLOT_ROWS * LANES as usize) + lane as usize;

    let spans: [Span; SLOT_ROWS] = core::array::from_fn(|row| {
        let at = first + row * LANES as usize;
        // SAFETY: `at` is checked, slots are 8-byte aligned, and this kernel does not write them.
        let slot = if at < len { unsafe { load_readonly_64(args.slots.at(at, 1).cast()) } } else { 0 };
        Span { start: slot as u32, end: (slot >> 32) as u32 }
    });
    // SAFETY: all lanes are here.
    let found = spans.map(|span| unsafe { warp_vote_ballot(ALL, span.end > span.start) });
    let count = found.iter().map(|row| row.count_ones()).sum();
    if lane == 0 {
        // SAFETY: one writer an element, before the barrier.
        unsafe { counts.add(warp as usize).write(count) };
    }
    sync_threads();
    let (mut in_warps_before, mut total) = (0, 0);
    let mut other = 0;
    while other < WARPS {
        // SAFETY: written before the barrier.
        let count = unsafe { counts.add(other).read() };
        in_warps_before += if other < warp as usize { count } else { 0 };
        total += count;
        other += 1;
    }
    if warp == 0 {
        // SAFETY: all lanes of the first warp are here, once; tickets are dealt in order.
        let before = unsafe { lookback::prefix(&args.look_back, tile, total as u64, lane) };
        if lane == 0 {
            // SAFETY: one writer, before the barrier.
            unsafe { before_shared.write(before) };
        }
    }
    sync_threads();
    // SAFETY: written before the barrier.
    let mut in_rows_before = unsafe { before_shared.read() } + in_warps_before as u64;

    let paths = args.bounds.len() / 2;
    let mut row = 0;
    while row < SLOT_ROWS {
        let at = first + row * LANES as usize;
        let place = in_rows_before + (found[row] & ((1 << lane) - 1)).count_ones() as u64;
        let here = found[row] >> lane & 1;
        if at < len {
            // Slots are fewer than 2³².
            let (path, line) = (at as u32 / args.lines, at as u32 % args.lines);
            // SAFETY: one writer an element: the slot is this thread's own, and so is its place.
            unsafe {
                if line == 0 {
                    args.bounds.set(path as usize, place);
                }
                if line == args.cut {
                    args.bounds.set(paths + 1 + path as usize, place);
                }
                if at + 1 == len {
                    args.bounds.set(paths, place + here as u64);
                }
                if here == 1 && place < args.matches.len() as u64 {
                    let Span { start, end } = spans[row];
                    args.matches.set(place as usize, Match { line, start, end });
                }
            }
        }
        in_rows_before += found[row].count_ones() as u64;
        row += 1;
    }
}

/// Reads the bounds out of scanned counts, so that one small copy brings them to the host.
///
/// # Safety
/// Launched as [`QueryBounds`](warpath_shared::kernel::QueryBounds) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn query_bounds(args: QueryBoundsArgs<'_>) {
    let this = index_1d() as usize;
    if this >= args.bounds.len() {
        return;
    }
    let (paths, lines) = (args.bounds.len() / 2, args.lines as usize);
    let at = if this <= paths { this * lines } else { (this - paths - 1) * lines + args.cut as usize };
    // SAFETY: one writer an element.
    unsafe { args.bounds.set(this, args.offsets.get(at)) };
}

/// Bytes that a thread writes at once.
const CHUNK: usize = 16;

/// Writes the text of every match, each with a newline behind it.
///
/// *Threads*: the *output* is dealt to threads, not the matches: a block takes 16 KiB of it, a thread four chunks of 16
/// bytes that lie a block's width apart, so whatever lengths matches have, every thread writes the same, in whole vectors
/// that lie side by side. (A warp a match leaves 27 lanes idle where values are five bytes long, as `"en"` is with its
/// newline, and writes them unaligned; a thread a match waits for the longest of 32.) Which match a chunk begins in
/// is searched for: two warps search the ends of the block's tile, 32 offsets at a time, and each thread what lies between.
/// *A chunk within one match* is two aligned vectors of the text, shifted into one; its neighbours load the same vectors from
/// the first-level cache. *A chunk of several* is put together byte by byte.
/// *Overflow*: offsets are 64-bit and were scanned from the same matches; what lies beyond the room for text is not
/// written, and `text_bounds` says how long it is. *Cost*: the matched bytes read once and written once; 20 bytes a match.
///
/// # Safety
/// Launched as [`TextGather`](warpath_shared::kernel::TextGather) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn text_gather(args: TextGatherArgs<'_>) {
    let ends = shared_array![u64; 2];
    let thread = thread_idx_x();
    let (warp, lane) = (thread / LANES, thread % LANES);
    let mut bound = index_1d() as usize;
    while bound < args.bounds.len() {
        // SAFETY: one writer an element.
        unsafe { args.text_bounds.set(bound, args.offsets.get(args.bounds.get(bound) as usize)) };
        bound += args.out.len() / TEXT_TILE * BLOCK_THREADS;
    }
    let (first, total) = (block_idx_x() as usize * TEXT_TILE, args.offsets.get(args.matches.len()) as usize);
    if first >= total {
        return;
    }
    let end = total.min(first + TEXT_TILE);
    if warp < 2 {
        let place = if warp == 0 { first } else { end - 1 };
        // SAFETY: all lanes of the warp are here.
        let found = unsafe { search::by_warp(args.offsets, place as u64, lane) };
        if lane == 0 {
            // SAFETY: one writer an element, before the barrier.
            unsafe { ends.add(warp as usize).write(found as u64) };
        }
    }
    sync_threads();
    // SAFETY: written before the barrier.
    let (mut low, high) = unsafe { (ends.read() as usize, ends.add(1).read() as usize) };
    let mut at = first + thread as usize * CHUNK;
    while at < end {
        low = search::by_thread(args.offsets, at as u64, low, high);
        let chunk = chunk(&args, low, at, total);
        // SAFETY: the output is whole tiles, 16-byte aligned, and each chunk has one writer.
        unsafe { store_global_16(args.out.at(at, CHUNK).cast(), chunk) };
        at += BLOCK_THREADS * CHUNK;
    }
}

/// The 16 bytes of output at `at`, the first of which belongs to match `index`.
#[inline(always)]
fn chunk(args: &TextGatherArgs<'_>, mut index: usize, at: usize, total: usize) -> U32x4 {
    let mut found = args.matches.get(index);
    // Where the match's text begins, and where its newline is.
    let mut begin = args.offsets.get(index) as usize;
    let mut newline = begin + (found.end - found.start) as usize;
    if at + CHUNK <= newline {
        return unaligned(args.text, found.start as usize + (at - begin));
    }
    let mut next = |at: usize| {
        if at >= total {
            return 0;
        }
        if at > newline {
            index += 1;
            found = args.matches.get(index);
            begin = at;
            newline = begin + (found.end - found.start) as usize;
        }
        if at == newline {
            return b'\n' as u32;
        }
        // SAFETY: the place is checked, and no kernel writes to a text meanwhile.
        unsafe { load_readonly_8(args.text.at(found.start as usize + (at - begin), 1)) as u32 }
    };
    let mut word = |word: usize| {
        let bytes = [0, 1, 2, 3].map(|byte| next(at + 4 * word + byte) << (8 * byte));
        bytes[0] | bytes[1] | bytes[2] | bytes[3]
    };
    U32x4([word(0), word(1), word(2), word(3)])
}

/// 16 bytes of text from any place: two aligned vectors, shifted by words, then by bytes.
///
/// ```text
/// text      ····abcd efghijkl mnop····        from = 4 bytes into the first vector
/// vectors   └──────16──────┘└──────16──────┘
/// ```
#[inline(always)]
fn unaligned(text: View<'_, u8>, from: usize) -> U32x4 {
    let (aligned, skip) = (from / CHUNK * CHUNK, (from % CHUNK) as u32);
    // SAFETY: the place is checked, texts are 16-byte aligned, and no kernel writes to one meanwhile.
    let load = |at: usize| unsafe { load_readonly_16(text.at(at, CHUNK).cast()) }.0;
    let [a, b, c, d] = load(aligned);
    if skip == 0 {
        return U32x4([a, b, c, d]);
    }
    // The last byte wanted is in the second vector, so that is in the text.
    let [e, f, g, h] = load(aligned + CHUNK);
    let by_two = |yes: bool, near: u32, far: u32| if yes { far } else { near };
    let two = skip & 8 != 0;
    let (a, b, c, d) = (by_two(two, a, c), by_two(two, b, d), by_two(two, c, e), by_two(two, d, f));
    let (e, f) = (by_two(two, e, g), by_two(two, f, h));
    let one = skip & 4 != 0;
    let words =
        [by_two(one, a, b), by_two(one, b, c), by_two(one, c, d), by_two(one, d, e), by_two(one, e, f)];
    let bits = skip % 4 * 8;
    U32x4([
        funnel_shift_right(words[0], words[1], bits),
        funnel_shift_right(words[1], words[2], bits),
        funnel_shift_right(words[2], words[3], bits),
        funnel_shift_right(words[3], words[4], bits),
    ])
}
