//! Programs of the query machine over every record, by leveled bitmaps.
//!
//! *Threads*: one thread a line. The plain lines ([`warpath_shared::index::loose`]) come first, whose names
//! are found by their length. The loose lines follow, side by side, in a kernel of their own that runs only
//! if there are any. Plain lines have blocks of 64 threads. A multiprocessor has 12 such blocks in
//! `query_slots` and `query_fill`, with 80 registers a thread, and 8 in `query_count`, with 128. Threads that
//! leave a loop at different times run on alone while their next instructions differ. The code therefore
//! makes them join again within loops and after them ([`Text::any`]): without that, names took half as long
//! again. The thread of a record reads the white space around it one byte at a time.
//! *Layout*: frames of the interpreter in local memory, touched only by programs that branch.
//! *Overflow*: there is one slot for each path and line. Matches are counted, in 64 bits, by the interpreter
//! that writes them. The first two of each path and line are kept while they are counted, so the second pass
//! runs the program again only on lines that have more.
//! *Cost*: one memory transaction, at least 32 bytes, for every four bitmap words and for every candidate of
//! a name. The four words are read at once and a step ahead. Neighbouring threads read far apart, so at each
//! step one of a warp's threads misses the caches. The run time therefore depends on the number of steps.
//!
//! *Tried and lost*, over 842 MB of tweets (178,675 records of 4.7 kB) on an H200 unless something else is
//! said:
//!
//! * Names by all of their bytes, in one kernel for all lines: `$.user.lang` 0.26 ms, `$.lang` 0.35. By their
//!   length, a word at a time: 0.17 to 0.19 and 0.23 to 0.26; four words at a time: 0.11 and 0.18; four,
//!   loaded a step ahead: 0.11 and 0.13. Eight at a time: 0.18 and 0.23. All threads in lockstep: 0.13 and
//!   0.21; for filters on strings lockstep won, 0.31 in place of 0.37.
//! * A group of 8, 16 or 32 lanes a record. The lanes searched windows of 2 words each and compared four
//!   names at once: 1.20 ms and 1.09 ms with a warp; over products of 1.2 kB, 0.69 ms for `$.name` with 8
//!   lanes. Few of a record's words are read, and 32 lanes run the interpreter for them. The same search by
//!   one thread: 0.32 and 0.84 ms. A word of a level and two of text kept by each thread: 0.46 and 0.56 ms,
//!   because the kept words are in local memory.
//! * Candidates collected in shared memory and compared together: 0.47 and 0.39 ms with room for four, 0.38
//!   and 0.28 with room for eight; the same over sixteen words at a time: 0.15 and 0.21, but 0.83 for two
//!   filters.
//! * All names of a level at once, without regard to records: a warp reads 64 KiB's words of the level, four
//!   a lane. It queues the colons that are as far from a separator as a name is long, compares 32 at a time,
//!   and keeps each line's first. This took 0.06 to 0.10 ms a level for tweets and 0.2 for products, and 0.03
//!   to 0.08 ms to continue from the names found. `$.lang` took 0.09 to 0.13 ms, but `$.user.lang` 0.19, and
//!   `$.name`, which is early in a record, 0.30 in place of 0.10.
//! * Loose lines beside plain ones in the same warps: a few loose lines in a hundred made a filter take 1.72
//!   ms in place of 0.32.

use cuda_std::atomic::mid::atomic_fetch_add_u32_relaxed_shared;
use cuda_std::kernel;
use cuda_std::shared::{self, Shared, shared_array};
use cuda_std::thread::{index_1d, sync_threads, thread_idx_x};
use cuda_std::wide::{U64x2, load_readonly_16, load_readonly_32, load_readonly_64};
use warpath_shared::check::trim;
use warpath_shared::kernel::{Indexed, Match, QueryCountArgs, QueryFillArgs, QuerySlotsArgs, Span};
use warpath_shared::query::document::{Document, Node, Text, next_bit_in_words};
use warpath_shared::query::machine::{Machine, Sink};
use warpath_shared::units::{BLOCK_THREADS, Level, LineIx, PartOffset, PathIx};
use warpath_shared::view::{View, ViewMut};

use crate::text::PartText;

/// Words of a level that are read at once in the search for the end of a value.
const END_WORDS: usize = 4;

/// `N` words of a bitmap.
#[inline(always)]
fn words<const N: usize>(bitmap: View<'_, u64>, first: usize) -> [u64; N] {
    let mut words = [0; N];
    let mut i = 0;
    while i < N {
        // SAFETY: `at` checks the range; bitmaps are aligned, and no query kernel writes to one.
        let U64x2(two) = unsafe { load_readonly_16(bitmap.at(first + i, 2).cast()) }.into();
        [words[i], words[i + 1]] = two;
        i += 2;
    }
    words
}

/// A record, from the view of one thread.
#[derive(Clone, Copy)]
struct Record<'a> {
    indexed: Indexed<'a>,
    plain: bool,
}

impl Text for Record<'_> {
    #[inline(always)]
    fn byte(&self, at: PartOffset) -> u8 {
        PartText(self.indexed.text).byte(at)
    }

    #[inline(always)]
    fn together(&self) -> u32 {
        PartText(self.indexed.text).together()
    }

    #[inline(always)]
    fn any(&self, together: u32, holds: bool) -> bool {
        PartText(self.indexed.text).any(together, holds)
    }

    #[inline(always)]
    fn stands_at(&self, at: PartOffset, literals: View<'_, u8>, offset: u32, len: u32) -> bool {
        PartText(self.indexed.text).stands_at(at, literals, offset, len)
    }
}

impl Document for Record<'_> {
    #[inline(always)]
    fn level_word(&self, level: Level, word: u32) -> u64 {
        let index = level as usize * self.indexed.words() + word as usize;
        // SAFETY: `at` checks the index, and no query kernel writes to a bitmap.
        unsafe { load_readonly_64(self.indexed.levels.at(index, 1)) }
    }

    #[inline(always)]
    fn level_words<const N: usize>(&self, level: Level, first: u32) -> [u64; N] {
        words(self.indexed.levels, level as usize * self.indexed.words() + first as usize)
    }

    #[inline(always)]
    fn string_words<const N: usize>(&self, first: u32) -> [u64; N] {
        words(self.indexed.string, first as usize)
    }

    #[inline(always)]
    fn words_with_escapes<const N: usize>(&self, first: u32) -> u32 {
        // SAFETY: `at` checks the index, and no query kernel writes to the escape words.
        let words = unsafe { load_readonly_32(self.indexed.escapes.at(first as usize / 32, 1)) };
        words >> (first % 32) & ((1 << N) - 1)
    }

    #[inline(always)]
    fn next_bit(&self, level: Level, from: PartOffset, end: PartOffset) -> PartOffset {
        next_bit_in_words::<END_WORDS, _>(self, level, from, end)
    }

    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.plain
    }
}

/// Returns whether a line's bit is set.
#[inline(always)]
pub(super) fn is_set(bits: View<'_, u32>, line: usize) -> bool {
    bits.get(line / 32) >> (line % 32) & 1 == 1
}

/// The record on a line, if there is one and it has no fault, and its root.
#[inline(always)]
fn record(indexed: Indexed<'_>, line: usize, plain: bool) -> Option<(Record<'_>, Node)> {
    if is_set(indexed.faulty, line) {
        return None;
    }
    let record = Record { indexed, plain };
    let (start, end) =
        trim(indexed.line_starts.get(line), indexed.line_starts.get(line + 1), |at| record.byte(at))?;
    Some((record, Node { start, end, level: 0 }))
}

/// The line of this thread, if it is plain.
#[inline(always)]
fn plain_line(indexed: &Indexed<'_>) -> Option<usize> {
    let line = index_1d() as usize;
    (line < indexed.lines() && !is_set(indexed.loose, line)).then_some(line)
}

/// One of the block's loose lines for each of the first threads. A warp takes as long as its slowest lane, so
/// where few lines are loose, one warp takes them all.
///
/// # Safety
/// All threads of the block call it together, with the same arguments. `lines` is shared memory of the block
/// with room for one line a thread, and `count` is shared memory for one number.
#[inline(always)]
unsafe fn loose_line(indexed: &Indexed<'_>, lines: Shared<u32>, count: *mut u32) -> Option<usize> {
    let (thread, line) = (thread_idx_x(), index_1d() as usize);
    if thread == 0 {
        // SAFETY: only thread 0 touches the count before the barrier.
        unsafe { shared::write(count, 0) };
    }
    sync_threads();
    if line < indexed.lines() && is_set(indexed.loose, line) {
        // SAFETY: between the barriers the count is touched only atomically, and gives each thread an element
        // of its own.
        unsafe {
            let place = atomic_fetch_add_u32_relaxed_shared(count, 1);
            lines.offset(place).write(line as u32);
        }
    }
    sync_threads();
    // SAFETY: the count and the lines were written before the barrier.
    unsafe { (thread < shared::read(count)).then(|| lines.offset(thread).read() as usize) }
}

/// The elements in which one line's matches of each path are kept: element `path * lines + line`.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub line: usize,
    pub lines: usize,
}

impl Column {
    #[inline(always)]
    fn of(self, path: PathIx) -> usize {
        path as usize * self.lines + self.line
    }
}

struct SlotSink<'a> {
    column: Column,
    slots: ViewMut<'a, Span>,
}

impl SlotSink<'_> {
    /// Empties the slots of all paths.
    #[inline(always)]
    fn clear(&mut self, paths: PathIx) {
        let mut path = 0;
        while path < paths {
            self.emit(path, Node::default());
            path += 1;
        }
    }
}

impl Sink for SlotSink<'_> {
    #[inline(always)]
    fn emit(&mut self, path: PathIx, node: Node) {
        // SAFETY: the column belongs to this thread's line, and no other thread has that line.
        unsafe { self.slots.set(self.column.of(path), Span { start: node.start, end: node.end }) };
    }
}

pub(super) struct CountSink<'a> {
    pub column: Column,
    pub counts: ViewMut<'a, u64>,
    pub kept: ViewMut<'a, Span>,
}

impl Sink for CountSink<'_> {
    #[inline(always)]
    fn emit(&mut self, path: PathIx, node: Node) {
        let at = self.column.of(path);
        // SAFETY: the column belongs to this thread's line, and no other thread has that line. A match that
        // is kept goes to a row of its own in that column.
        unsafe {
            let count = self.counts.get(at);
            let keep_at = count as usize * self.counts.len() + at;
            if keep_at < self.kept.len() {
                self.kept.set(keep_at, Span { start: node.start, end: node.end });
            }
            self.counts.set(at, count + 1);
        }
    }
}

pub(super) struct FillSink<'a> {
    pub column: Column,
    pub counts: View<'a, u64>,
    pub kept: View<'a, Span>,
    pub offsets: ViewMut<'a, u64>,
    pub matches: ViewMut<'a, Match>,
}

impl FillSink<'_> {
    /// Returns whether all matches of all paths were kept.
    #[inline(always)]
    pub fn has_all(&self, paths: PathIx) -> bool {
        let most = self.kept.len() / self.counts.len();
        let mut path = 0;
        while path < paths {
            if self.counts.get(self.column.of(path)) > most as u64 {
                return false;
            }
            path += 1;
        }
        true
    }

    /// Writes the matches that were kept.
    #[inline(always)]
    pub fn copy(&mut self, paths: PathIx) {
        let mut path = 0;
        while path < paths {
            let at = self.column.of(path);
            let count = self.counts.get(at) as usize;
            let mut i = 0;
            while i < count {
                let Span { start, end } = self.kept.get(i * self.counts.len() + at);
                self.emit(path, Node { start, end, level: 0 });
                i += 1;
            }
            path += 1;
        }
    }
}

impl Sink for FillSink<'_> {
    #[inline(always)]
    fn emit(&mut self, path: PathIx, node: Node) {
        let at = self.column.of(path);
        let found = Match { line: self.column.line as LineIx, start: node.start, end: node.end };
        // SAFETY: the column belongs to this thread's line. The matches from its offset on, as many as were
        // counted, belong to it as well.
        unsafe {
            let offset = self.offsets.get(at);
            if (offset as usize) < self.matches.len() {
                self.matches.set(offset as usize, found);
            }
            self.offsets.set(at, offset + 1);
        }
    }
}

/// Writes one span a path for a line: empty if there is no match.
#[inline(always)]
fn slots(args: QuerySlotsArgs<'_>, line: usize, plain: bool) {
    let QuerySlotsArgs { indexed, program, slots } = args;
    let mut sink = SlotSink { column: Column { line, lines: indexed.lines() }, slots };
    sink.clear(program.paths);
    if let Some((record, root)) = record(indexed, line, plain) {
        Machine::default().run_singular(&program, &record, root, &mut sink);
    }
}

/// Writes one span a path and plain line.
///
/// # Safety
/// Launched as [`QuerySlots`](warpath_shared::kernel::QuerySlots) says, with sizes that its check accepts.
#[kernel(launch_bounds(64, 12))]
pub unsafe fn query_slots(args: QuerySlotsArgs<'_>) {
    if let Some(line) = plain_line(&args.indexed) {
        slots(args, line, true);
    }
}

/// Writes one span a path and loose line.
///
/// # Safety
/// Launched as [`QuerySlotsLoose`](warpath_shared::kernel::QuerySlotsLoose) says, with sizes that its check
/// accepts.
#[kernel(launch_bounds(256, 3))]
pub unsafe fn query_slots_loose(args: QuerySlotsArgs<'_>) {
    let (lines, count) = (shared_array![u32; BLOCK_THREADS], shared_array![u32; 1]);
    // SAFETY: no branch comes before this call, so all threads of the block are here. The shared memory is
    // this call's own.
    if let Some(line) = unsafe { loose_line(&args.indexed, Shared::new(lines), count) } {
        slots(args, line, false);
    }
}

/// Counts a line's matches of each path.
#[inline(always)]
fn count(args: QueryCountArgs<'_>, line: usize, plain: bool) {
    let QueryCountArgs { indexed, program, counts, kept } = args;
    let mut sink = CountSink { column: Column { line, lines: indexed.lines() }, counts, kept };
    if let Some((record, root)) = record(indexed, line, plain) {
        Machine::default().run_plain(&program, &record, root, &mut sink);
    }
}

/// Counts the matches of each path and plain line.
///
/// # Safety
/// Launched as [`QueryCount`](warpath_shared::kernel::QueryCount) says, with sizes that its check accepts.
#[kernel(launch_bounds(64, 8))]
pub unsafe fn query_count(args: QueryCountArgs<'_>) {
    if let Some(line) = plain_line(&args.indexed) {
        count(args, line, true);
    }
}

/// Counts the matches of each path and loose line.
///
/// # Safety
/// Launched as [`QueryCountLoose`](warpath_shared::kernel::QueryCountLoose) says, with sizes that its check
/// accepts.
#[kernel(launch_bounds(256, 3))]
pub unsafe fn query_count_loose(args: QueryCountArgs<'_>) {
    let (lines, matches) = (shared_array![u32; BLOCK_THREADS], shared_array![u32; 1]);
    // SAFETY: no branch comes before this call, so all threads of the block are here. The shared memory is
    // this call's own.
    if let Some(line) = unsafe { loose_line(&args.indexed, Shared::new(lines), matches) } {
        count(args, line, false);
    }
}

/// Writes the matches of each path and line.
///
/// # Safety
/// Launched as [`QueryFill`](warpath_shared::kernel::QueryFill) says, with sizes that its check accepts.
#[kernel(launch_bounds(64, 12))]
pub unsafe fn query_fill(args: QueryFillArgs<'_>) {
    let (line, lines) = (index_1d() as usize, args.indexed.lines());
    if line < lines {
        let QueryFillArgs { counts, kept, offsets, matches, .. } = args;
        let mut sink = FillSink { column: Column { line, lines }, counts, kept, offsets, matches };
        if sink.has_all(args.program.paths) {
            sink.copy(args.program.paths);
        } else {
            let plain = !is_set(args.indexed.loose, line);
            let Some((record, root)) = record(args.indexed, line, plain) else { return };
            Machine::default().run_plain(&args.program, &record, root, &mut sink);
        }
    }
}

/// Counts matches like [`query_count`], for programs with other filters, and over all lines.
///
/// # Safety
/// Launched as [`FilterCount`](warpath_shared::kernel::FilterCount) says, with sizes that its check accepts.
#[kernel(launch_bounds(64, 8))]
pub unsafe fn filter_count(args: QueryCountArgs<'_>) {
    let QueryCountArgs { indexed, program, counts, kept } = args;
    let (line, lines) = (index_1d() as usize, indexed.lines());
    if line < lines
        && let Some((record, root)) = record(indexed, line, !is_set(indexed.loose, line))
    {
        let mut sink = CountSink { column: Column { line, lines }, counts, kept };
        Machine::default().run(&program, &record, root, &mut sink);
    }
}

/// Writes matches like [`query_fill`], for programs with other filters.
///
/// # Safety
/// Launched as [`FilterFill`](warpath_shared::kernel::FilterFill) says, with sizes that its check accepts.
#[kernel(launch_bounds(64, 8))]
pub unsafe fn filter_fill(args: QueryFillArgs<'_>) {
    let QueryFillArgs { indexed, program, counts, kept, offsets, matches } = args;
    let (line, lines) = (index_1d() as usize, indexed.lines());
    if line < lines {
        let mut sink = FillSink { column: Column { line, lines }, counts, kept, offsets, matches };
        if sink.has_all(program.paths) {
            sink.copy(program.paths);
        } else if let Some((record, root)) = record(indexed, line, !is_set(indexed.loose, line)) {
            Machine::default().run(&program, &record, root, &mut sink);
        }
    }
}
