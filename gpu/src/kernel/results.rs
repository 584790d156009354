//! The results in the form in which they are copied to the host: dense lists of matches, and their text.

use cuda_std::kernel;
use cuda_std::shared::shared_array;
use cuda_std::thread::index_1d;
use cuda_std::wide::load_readonly_64;
use warpath_shared::kernel::{
    COMPACT_ROWS, GATHER_TILE, Match, QueryBoundsArgs, SlotCompactArgs, Span, TextGatherArgs,
};
use warpath_shared::units::BLOCK_THREADS;

use crate::coop::gather::Gather;
use crate::coop::{LANES, WARPS, compact};

/// Turns slots into dense lists of matches, in one pass.
///
/// *Threads*: see [`crate::coop::compact`]. A block takes 1,024 slots and a lane four of them; a warp reads
/// 256 consecutive bytes at a time.
/// *Layout*: paths follow one another, so the matches of all paths are one list. The thread of the slot with
/// which a path, or its cut, begins writes that bound.
/// *Overflow*: offsets are 64-bit. Matches beyond the room are counted and not written.
/// *Cost*: 8 bytes read a slot, 12 written a match, and 20 a tile for the look-back.
///
/// # Safety
/// Launched as [`SlotCompact`](warpath_shared::kernel::SlotCompact) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn slot_compact(args: SlotCompactArgs<'_>) {
    let shared = compact::Scratch {
        tile: shared_array![u32; 1],
        counts: shared_array![u32; WARPS],
        before: shared_array![u64; 1],
    };
    // SAFETY: no branch comes before this call, so every thread of the block is here. The shared memory is
    // this compaction's own.
    let first = unsafe { compact::first_element(&args.look_back, &shared) };
    let len = args.slots.len();
    let spans: [Span; COMPACT_ROWS] = core::array::from_fn(|row| {
        let at = first + row * LANES as usize;
        // SAFETY: `at` is checked, slots are 8-byte aligned, and this kernel does not write them.
        let slot = if at < len { unsafe { load_readonly_64(args.slots.at(at, 1).cast()) } } else { 0 };
        Span { start: slot as u32, end: (slot >> 32) as u32 }
    });
    let found = spans.map(|span| span.end > span.start);
    // SAFETY: no branch depends on the thread, so every thread of the block is here, once, after
    // `first_element`.
    let places = unsafe { compact::places(found, &args.look_back, &shared) };

    let paths = args.bounds.len() / 2;
    let mut row = 0;
    while row < COMPACT_ROWS {
        let (at, place) = (first + row * LANES as usize, places[row]);
        if at < len {
            // The number of slots is below 2³².
            let (path, line) = (at as u32 / args.lines, at as u32 % args.lines);
            // SAFETY: one writer an element: the slot is this thread's own, and the compaction gives its
            // offset to no other.
            unsafe {
                if line == 0 {
                    args.bounds.set(path as usize, place);
                }
                if line == args.cut {
                    args.bounds.set(paths + 1 + path as usize, place);
                }
                if at + 1 == len {
                    args.bounds.set(paths, place + found[row] as u64);
                }
                if found[row] && place < args.matches.len() as u64 {
                    let Span { start, end } = spans[row];
                    args.matches.set(place as usize, Match { line, start, end });
                }
            }
        }
        row += 1;
    }
}

/// Reads the bounds out of the scanned counts, so that one small copy brings them to the host.
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
    // SAFETY: `this` is the thread's number in the grid, so each element has one writer.
    unsafe { args.bounds.set(this, args.offsets.get(at)) };
}

/// Writes the text of every match, each followed by a newline.
///
/// *Threads*: see [`crate::coop::gather`]: four chunks of 16 bytes of output a thread.
/// *Overflow*: offsets are 64-bit and were scanned from the same matches. Text beyond the room is not
/// written, and `text_bounds` reports the full length.
/// *Cost*: the matched bytes read once and written once; 20 bytes a match.
///
/// # Safety
/// Launched as [`TextGather`](warpath_shared::kernel::TextGather) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn text_gather(args: TextGatherArgs<'_>) {
    let ends = shared_array![u64; 2];
    let mut bound = index_1d() as usize;
    while bound < args.bounds.len() {
        // SAFETY: threads of the grid take different bounds, so each element has one writer.
        unsafe { args.text_bounds.set(bound, args.offsets.get(args.bounds.get(bound) as usize)) };
        bound += args.out.len() / GATHER_TILE * BLOCK_THREADS;
    }
    let TextGatherArgs { text, matches, offsets, out, .. } = args;
    let gather = Gather { text, offsets, out, start: |index| matches.get(index).start, last: Some(b'\n') };
    // SAFETY: the loop above has ended in all threads, so every thread of the block is here. Nothing else
    // uses the shared memory.
    unsafe { gather.tile(ends) };
}
