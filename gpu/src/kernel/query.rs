//! Running a program over every record.
//!
//! *Threads*: a thread a line, three blocks of 256 on a multiprocessor: 80 registers. Left to itself the assembler takes 81,
//! which leaves room for two and made `query_slots` of `$.user.lang` 30 % slower; 64 registers and four blocks were slower
//! too (docs/performance.md). *Memory*: frames of the interpreter in local memory, touched only by programs that
//! branch. *Overflow*: slots are one a path and line; matches are counted, in 64 bits, by the same interpreter that writes
//! them. White space around a record is walked a byte at a time by its thread.
//! *Cost*: 32 bytes, the least that the memory moves, for every four bitmap words stepped over and for every name looked
//! at. Neighbouring threads read far apart: a warp a record would read 2 KB of a record's level at once.

use cuda_std::kernel;
use cuda_std::thread::index_1d;
use cuda_std::wide::{load_readonly_8, load_readonly_64};
use warpath_shared::check::trim;
use warpath_shared::kernel::{Indexed, Match, QueryCountArgs, QueryFillArgs, QuerySlotsArgs, Span};
use warpath_shared::query::document::{Document, Node};
use warpath_shared::query::machine::{Machine, Sink};
use warpath_shared::units::{Level, LineIx, PartOffset, PathIx};
use warpath_shared::view::ViewMut;

/// The partition as the interpreter sees it.
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

/// The record on this thread's line, if there is one and it has no fault.
#[inline(always)]
fn record(indexed: &Indexed<'_>, line: usize) -> Option<Node> {
    if indexed.faulty.get(line / 32) >> (line % 32) & 1 == 1 {
        return None;
    }
    let text = Text(*indexed);
    let (start, end) =
        trim(indexed.line_starts.get(line), indexed.line_starts.get(line + 1), |at| text.byte(at))?;
    Some(Node { start, end, level: 0 })
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

struct SlotSink<'a> {
    column: Column,
    slots: ViewMut<'a, Span>,
}

impl Sink for SlotSink<'_> {
    #[inline(always)]
    fn emit(&mut self, path: PathIx, node: Node) {
        // SAFETY: the column is this thread's own.
        unsafe { self.slots.set(self.column.of(path), Span { start: node.start, end: node.end }) };
    }
}

/// Writes one span a path and line, empty where there is no match.
///
/// # Safety
/// Launched as [`QuerySlots`](warpath_shared::kernel::QuerySlots) says, with sizes that its check accepts.
#[kernel(launch_bounds(256, 3))]
pub unsafe fn query_slots(args: QuerySlotsArgs<'_>) {
    let (line, lines) = (index_1d() as usize, args.indexed.lines());
    if line >= lines {
        return;
    }
    let column = Column { line, lines };
    let mut path = 0;
    while path < args.program.paths {
        // SAFETY: the column is this thread's own.
        unsafe { args.slots.set(column.of(path), Span::default()) };
        path += 1;
    }
    let Some(root) = record(&args.indexed, line) else { return };
    let mut sink = SlotSink { column, slots: args.slots };
    Machine::default().run(&args.program, &Text(args.indexed), root, &mut sink);
}

struct CountSink<'a> {
    column: Column,
    counts: ViewMut<'a, u64>,
}

impl Sink for CountSink<'_> {
    #[inline(always)]
    fn emit(&mut self, path: PathIx, _: Node) {
        let at = self.column.of(path);
        // SAFETY: the column is this thread's own.
        unsafe { self.counts.set(at, self.counts.get(at) + 1) };
    }
}

/// Counts the matches of each path and line.
///
/// # Safety
/// Launched as [`QueryCount`](warpath_shared::kernel::QueryCount) says, with sizes that its check accepts.
#[kernel(launch_bounds(256, 3))]
pub unsafe fn query_count(args: QueryCountArgs<'_>) {
    let (line, lines) = (index_1d() as usize, args.indexed.lines());
    if line >= lines {
        return;
    }
    let Some(root) = record(&args.indexed, line) else { return };
    let mut sink = CountSink { column: Column { line, lines }, counts: args.counts };
    Machine::default().run(&args.program, &Text(args.indexed), root, &mut sink);
}

struct FillSink<'a> {
    column: Column,
    offsets: ViewMut<'a, u64>,
    matches: ViewMut<'a, Match>,
}

impl Sink for FillSink<'_> {
    #[inline(always)]
    fn emit(&mut self, path: PathIx, node: Node) {
        let at = self.column.of(path);
        let found = Match { line: self.column.line as LineIx, start: node.start, end: node.end };
        // SAFETY: the column is this thread's own, and so are the matches from its offset on, as many as were counted.
        unsafe {
            let offset = self.offsets.get(at);
            if (offset as usize) < self.matches.len() {
                self.matches.set(offset as usize, found);
            }
            self.offsets.set(at, offset + 1);
        }
    }
}

/// Writes the matches of each path and line.
///
/// # Safety
/// Launched as [`QueryFill`](warpath_shared::kernel::QueryFill) says, with sizes that its check accepts.
#[kernel(launch_bounds(256, 3))]
pub unsafe fn query_fill(args: QueryFillArgs<'_>) {
    let (line, lines) = (index_1d() as usize, args.indexed.lines());
    if line >= lines {
        return;
    }
    let Some(root) = record(&args.indexed, line) else { return };
    let mut sink = FillSink { column: Column { line, lines }, offsets: args.offsets, matches: args.matches };
    Machine::default().run(&args.program, &Text(args.indexed), root, &mut sink);
}
