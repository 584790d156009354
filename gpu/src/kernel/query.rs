//! Running a program over every record.
//!
//! *Threads*: a thread a line ([`query_slots`] and so on), or a group of 8, 16 or 32 lanes a line ([`query_slots_8`] and so
//! on). All run the same interpreter over the same search ([together]), in which a thread is a group of one. Two blocks of
//! 256 on a multiprocessor at least: up to 128 registers. `query_slots` takes 90 and the groups' slots 104; with 80 they fit
//! a block more, but the assembler then waits for two of the search's four loads before it makes the others.
//! *Memory*: frames of the interpreter in local memory, touched only by programs that branch. *Overflow*: slots are one a
//! path and line; matches are counted, in 64 bits, by the same interpreter that writes them. The first two of each path and
//! line are kept while they are counted, so that the writing runs the program again on lines only that have more.
//! *Cost*: [together] says what is read. A group has more of it under way for one record, and agrees after each window: where
//! the groups of a warp run side by side, ptxas 13 compiles a vote of a part of the warp to some 35 instructions, and one of a
//! whole warp to 3. A thread agrees with nobody, but its neighbours read far apart and may take other branches.
//!
//! *Tried*: a thread that looked at one bit after the other, each byte asked for when the one before it was seen: 0.261 ms
//! for `query_slots` of `$.user.lang` over 178,675 records of 4.7 kB on an H200, at 80 registers; 0.345 at 81, which left room
//! for two blocks; 0.301 at 64 (docs/performance.md). The comparison of a name in a function of its own: 44 bytes of spills at
//! 80 registers in place of none.

mod together;

use cuda_std::kernel;
use cuda_std::thread::{block_dim_x, block_idx_x, index_1d, thread_idx_x};
use cuda_std::wide::{load_readonly_8, load_readonly_64};
use warpath_shared::ir::Program;
use warpath_shared::kernel::{Indexed, KEPT, Match, QueryCountArgs, QueryFillArgs, QuerySlotsArgs, Span};
use warpath_shared::query::document::{Document, Node};
use warpath_shared::query::machine::{Machine, Sink};
use warpath_shared::units::{Level, LineIx, PartOffset, PathIx};
use warpath_shared::view::{View, ViewMut};

use self::together::Together;
use crate::coop::group::Group;

/// The partition as one thread sees it.
#[derive(Clone, Copy)]
struct Text<'a>(Indexed<'a>);

impl Document for Text<'_> {
    #[inline(always)]
    fn byte(&self, at: PartOffset) -> u8 {
        // SAFETY: `at` is checked, and no query kernel writes to a text.
        unsafe { load_readonly_8(self.0.text.at(at as usize, 1)) }
    }

    #[inline(always)]
    fn level_word(&self, level: Level, word: u32) -> u64 {
        let index = level as usize * self.0.words() + word as usize;
        // SAFETY: the index is checked, and no query kernel writes to a bitmap.
        unsafe { load_readonly_64(self.0.levels.at(index, 1)) }
    }
}

/// The record on a line, if there is one and it has no fault.
#[inline(always)]
fn record(doc: &impl Document, indexed: &Indexed<'_>, line: usize) -> Option<Node> {
    if indexed.faulty.get(line / 32) >> (line % 32) & 1 == 1 {
        return None;
    }
    let (start, end) = doc.trim(indexed.line_starts.get(line), indexed.line_starts.get(line + 1))?;
    Some(Node { start, end, level: 0 })
}

/// Runs a program over the record on a line.
#[inline(always)]
fn run(doc: &impl Document, indexed: &Indexed<'_>, line: usize, program: &Program<'_>, sink: &mut impl Sink) {
    if let Some(root) = record(doc, indexed, line) {
        Machine::default().run(program, doc, root, sink);
    }
}

/// Runs a singular program over the record on a line.
#[inline(always)]
fn run_singular(
    doc: &impl Document,
    indexed: &Indexed<'_>,
    line: usize,
    program: &Program<'_>,
    sink: &mut impl Sink,
) {
    if let Some(root) = record(doc, indexed, line) {
        Machine::default().run_singular(program, doc, root, sink);
    }
}

/// The line of this lane's group of `N`.
#[inline(always)]
fn line_of_group<const N: u32>() -> usize {
    block_idx_x() as usize * (block_dim_x() / N) as usize + (thread_idx_x() / N) as usize
}

/// Where one line's matches of each path are kept: element `path * lines + line`.
#[derive(Clone, Copy)]
struct Column {
    line: usize,
    lines: usize,
}

impl Column {
    #[inline(always)]
    fn of(self, path: PathIx) -> usize {
        path as usize * self.lines + self.line
    }
}

/// What one lane of each group writes, for all of them.
struct Leader<S> {
    leads: bool,
    sink: S,
}

impl<S: Sink> Sink for Leader<S> {
    #[inline(always)]
    fn emit(&mut self, path: PathIx, node: Node) {
        if self.leads {
            self.sink.emit(path, node);
        }
    }
}

struct SlotSink<'a> {
    column: Column,
    slots: ViewMut<'a, Span>,
}

impl SlotSink<'_> {
    /// Empties the slots of every `step`th path from `first` on.
    #[inline(always)]
    fn clear(&mut self, paths: PathIx, first: PathIx, step: u32) {
        let mut path = first;
        while path < paths {
            self.emit(path, Node::default());
            path += step;
        }
    }
}

impl Sink for SlotSink<'_> {
    #[inline(always)]
    fn emit(&mut self, path: PathIx, node: Node) {
        // SAFETY: the column is this thread's own, or its group's, of which one lane writes.
        unsafe { self.slots.set(self.column.of(path), Span { start: node.start, end: node.end }) };
    }
}

struct CountSink<'a> {
    column: Column,
    counts: ViewMut<'a, u64>,
    kept: ViewMut<'a, Span>,
}

impl Sink for CountSink<'_> {
    #[inline(always)]
    fn emit(&mut self, path: PathIx, node: Node) {
        let at = self.column.of(path);
        // SAFETY: as for slots.
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

struct FillSink<'a> {
    column: Column,
    counts: View<'a, u64>,
    kept: View<'a, Span>,
    offsets: ViewMut<'a, u64>,
    matches: ViewMut<'a, Match>,
}

impl<'a> FillSink<'a> {
    #[inline(always)]
    fn new(args: &QueryFillArgs<'a>, line: usize) -> Self {
        let QueryFillArgs { counts, kept, offsets, matches, .. } = *args;
        Self { column: Column { line, lines: args.indexed.lines() }, counts, kept, offsets, matches }
    }

    /// Whether all matches of every `step`th path from `first` on were kept.
    #[inline(always)]
    fn has_all(&self, paths: PathIx, first: PathIx, step: u32) -> bool {
        let mut path = first;
        while path < paths {
            if self.counts.get(self.column.of(path)) > KEPT as u64 {
                return false;
            }
            path += step;
        }
        true
    }

    /// Writes the matches that were kept of every `step`th path from `first` on.
    #[inline(always)]
    fn copy(&mut self, paths: PathIx, first: PathIx, step: u32) {
        let mut path = first;
        while path < paths {
            let at = self.column.of(path);
            let count = self.counts.get(at) as usize;
            let mut i = 0;
            while i < count {
                let Span { start, end } = self.kept.get(i * self.counts.len() + at);
                self.emit(path, Node { start, end, level: 0 });
                i += 1;
            }
            path += step;
        }
    }
}

impl Sink for FillSink<'_> {
    #[inline(always)]
    fn emit(&mut self, path: PathIx, node: Node) {
        let at = self.column.of(path);
        let found = Match { line: self.column.line as LineIx, start: node.start, end: node.end };
        // SAFETY: as for slots; and so are the matches from the column's offset on, as many as were counted.
        unsafe {
            let offset = self.offsets.get(at);
            if (offset as usize) < self.matches.len() {
                self.matches.set(offset as usize, found);
            }
            self.offsets.set(at, offset + 1);
        }
    }
}

/// The partition as a thread sees it that holds a record alone.
#[inline(always)]
fn alone(indexed: Indexed<'_>) -> Together<'_, 1> {
    // SAFETY: it is the group's only lane.
    Together::new(Text(indexed), unsafe { Group::of_this_lane() })
}

/// Writes one span a path and line, empty where there is no match.
///
/// # Safety
/// Launched as [`QuerySlots`](warpath_shared::kernel::QuerySlots) says, with sizes that its check accepts.
#[kernel(launch_bounds(256, 2))]
pub unsafe fn query_slots(args: QuerySlotsArgs<'_>) {
    let (line, lines) = (index_1d() as usize, args.indexed.lines());
    if line < lines {
        let mut sink = SlotSink { column: Column { line, lines }, slots: args.slots };
        sink.clear(args.program.paths, 0, 1);
        run_singular(&alone(args.indexed), &args.indexed, line, &args.program, &mut sink);
    }
}

/// Counts the matches of each path and line.
///
/// # Safety
/// Launched as [`QueryCount`](warpath_shared::kernel::QueryCount) says, with sizes that its check accepts.
#[kernel(launch_bounds(256, 2))]
pub unsafe fn query_count(args: QueryCountArgs<'_>) {
    let (line, lines) = (index_1d() as usize, args.indexed.lines());
    if line < lines {
        let QueryCountArgs { counts, kept, .. } = args;
        let mut sink = CountSink { column: Column { line, lines }, counts, kept };
        run(&alone(args.indexed), &args.indexed, line, &args.program, &mut sink);
    }
}

/// Writes the matches of each path and line.
///
/// # Safety
/// Launched as [`QueryFill`](warpath_shared::kernel::QueryFill) says, with sizes that its check accepts.
#[kernel(launch_bounds(256, 2))]
pub unsafe fn query_fill(args: QueryFillArgs<'_>) {
    let (line, lines) = (index_1d() as usize, args.indexed.lines());
    if line < lines {
        let mut sink = FillSink::new(&args, line);
        if sink.has_all(args.program.paths, 0, 1) {
            sink.copy(args.program.paths, 0, 1);
        } else {
            run(&alone(args.indexed), &args.indexed, line, &args.program, &mut sink);
        }
    }
}

macro_rules! groups {
    ($($lanes:literal: $slots:ident, $count:ident, $fill:ident;)*) => {$(
        #[doc = concat!("[`query_slots`] by groups of ", $lanes, " lanes.")]
        ///
        /// # Safety
        /// As for [`query_slots`].
        #[kernel(launch_bounds(256, 2))]
        pub unsafe fn $slots(args: QuerySlotsArgs<'_>) {
            let (line, lines) = (line_of_group::<$lanes>(), args.indexed.lines());
            // SAFETY: what follows depends on the line, which the group has in common, and is the interpreter, which
            // decides by what the lanes have agreed on.
            let group = unsafe { Group::<$lanes>::of_this_lane() };
            if line < lines {
                let mut sink = SlotSink { column: Column { line, lines }, slots: args.slots };
                sink.clear(args.program.paths, group.lane, $lanes);
                group.sync();
                let mut sink = Leader { leads: group.lane == 0, sink };
                let doc = Together::new(Text(args.indexed), group);
                run_singular(&doc, &args.indexed, line, &args.program, &mut sink);
            }
        }

        #[doc = concat!("[`query_count`] by groups of ", $lanes, " lanes.")]
        ///
        /// # Safety
        /// As for [`query_count`].
        #[kernel(launch_bounds(256, 2))]
        pub unsafe fn $count(args: QueryCountArgs<'_>) {
            let (line, lines) = (line_of_group::<$lanes>(), args.indexed.lines());
            // SAFETY: as for slots.
            let group = unsafe { Group::<$lanes>::of_this_lane() };
            if line < lines {
                let QueryCountArgs { counts, kept, .. } = args;
                let sink = CountSink { column: Column { line, lines }, counts, kept };
                let mut sink = Leader { leads: group.lane == 0, sink };
                let doc = Together::new(Text(args.indexed), group);
                run(&doc, &args.indexed, line, &args.program, &mut sink);
            }
        }

        #[doc = concat!("[`query_fill`] by groups of ", $lanes, " lanes.")]
        ///
        /// # Safety
        /// As for [`query_fill`].
        #[kernel(launch_bounds(256, 2))]
        pub unsafe fn $fill(args: QueryFillArgs<'_>) {
            let (line, lines) = (line_of_group::<$lanes>(), args.indexed.lines());
            // SAFETY: as for slots.
            let group = unsafe { Group::<$lanes>::of_this_lane() };
            if line < lines {
                let mut sink = FillSink::new(&args, line);
                if group.ballot(!sink.has_all(args.program.paths, group.lane, $lanes)) == 0 {
                    sink.copy(args.program.paths, group.lane, $lanes);
                } else {
                    let mut sink = Leader { leads: group.lane == 0, sink };
                    let doc = Together::new(Text(args.indexed), group);
                    run(&doc, &args.indexed, line, &args.program, &mut sink);
                }
            }
        }
    )*};
}

groups! {
    8: query_slots_8, query_count_8, query_fill_8;
    16: query_slots_16, query_count_16, query_fill_16;
    32: query_slots_32, query_count_32, query_fill_32;
}
