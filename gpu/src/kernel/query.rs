//! Running a program over every record.
//!
//! *Threads*: a thread a line, three blocks of 256 on a multiprocessor: 80 registers. With 81, which leave room for two blocks,
//! `query_slots` of `$.user.lang` was 30 % slower; with 64 and four blocks it was slower, too (docs/performance.md).
//! *Memory*: frames of the interpreter in local memory, touched only by programs that branch. *Overflow*: slots are one a
//! path and line; matches are counted, in 64 bits, by the same interpreter that writes them. The first two of each path and
//! line are kept while they are counted, so that the writing runs the program again on lines only that have more.
//! White space around a record is walked a byte at a time by its thread.
//! *Cost*: 32 bytes, the least that the memory moves, for every four bitmap words stepped over and for every name looked
//! at. Neighbouring threads read far apart.
//!
//! *Tried*: a group of 8, 16 or 32 lanes a record, which searched windows of 2 words a lane together and looked at four names
//! at once: over 178,675 records of 4.7 kB on an H200, 1.20 ms for `$.user.lang` and 1.09 ms for `$.lang` with a warp, in place
//! of 0.26 and 0.35; over products of 1.2 kB, 0.69 ms for `$.name` with 8 lanes. Few of a record's words are looked at,
//! and 32 lanes run the interpreter to do it. The same search by one thread: 0.32 and 0.84 ms; 0.42 ms for
//! `$.user[?@ == "nl"]`, in place of 0.56. A word of a level and two of text kept by each thread, so that a byte that is looked
//! at again is not loaded again: 0.46 and 0.56 ms, since what is kept is in local memory, which has its price, too.

use cuda_std::kernel;
use cuda_std::thread::index_1d;
use cuda_std::wide::{load_readonly_8, load_readonly_64};
use warpath_shared::check::trim;
use warpath_shared::ir::Program;
use warpath_shared::kernel::{Indexed, KEPT, Match, QueryCountArgs, QueryFillArgs, QuerySlotsArgs, Span};
use warpath_shared::query::document::{Document, Node};
use warpath_shared::query::machine::{Machine, Sink};
use warpath_shared::units::{Level, LineIx, PartOffset, PathIx};
use warpath_shared::view::{View, ViewMut};

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
fn record(doc: &Text<'_>, indexed: &Indexed<'_>, line: usize) -> Option<Node> {
    if indexed.faulty.get(line / 32) >> (line % 32) & 1 == 1 {
        return None;
    }
    let (start, end) =
        trim(indexed.line_starts.get(line), indexed.line_starts.get(line + 1), |at| doc.byte(at))?;
    Some(Node { start, end, level: 0 })
}

/// Runs a program over the record on a line.
#[inline(always)]
fn run(doc: &Text<'_>, indexed: &Indexed<'_>, line: usize, program: &Program<'_>, sink: &mut impl Sink) {
    if let Some(root) = record(doc, indexed, line) {
        Machine::default().run(program, doc, root, sink);
    }
}

/// Runs a singular program over the record on a line.
#[inline(always)]
fn run_singular(
    doc: &Text<'_>,
    indexed: &Indexed<'_>,
    line: usize,
    program: &Program<'_>,
    sink: &mut impl Sink,
) {
    if let Some(root) = record(doc, indexed, line) {
        Machine::default().run_singular(program, doc, root, sink);
    }
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
        // SAFETY: the column is this thread's own.
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

    /// Whether all matches of all paths were kept.
    #[inline(always)]
    fn has_all(&self, paths: PathIx) -> bool {
        let mut path = 0;
        while path < paths {
            if self.counts.get(self.column.of(path)) > KEPT as u64 {
                return false;
            }
            path += 1;
        }
        true
    }

    /// Writes the matches that were kept.
    #[inline(always)]
    fn copy(&mut self, paths: PathIx) {
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

/// Writes one span a path and line, empty where there is no match.
///
/// # Safety
/// Launched as [`QuerySlots`](warpath_shared::kernel::QuerySlots) says, with sizes that its check accepts.
#[kernel(launch_bounds(256, 3))]
pub unsafe fn query_slots(args: QuerySlotsArgs<'_>) {
    let (line, lines) = (index_1d() as usize, args.indexed.lines());
    if line < lines {
        let mut sink = SlotSink { column: Column { line, lines }, slots: args.slots };
        sink.clear(args.program.paths);
        run_singular(&Text(args.indexed), &args.indexed, line, &args.program, &mut sink);
    }
}

/// Counts the matches of each path and line.
///
/// # Safety
/// Launched as [`QueryCount`](warpath_shared::kernel::QueryCount) says, with sizes that its check accepts.
#[kernel(launch_bounds(256, 3))]
pub unsafe fn query_count(args: QueryCountArgs<'_>) {
    let (line, lines) = (index_1d() as usize, args.indexed.lines());
    if line < lines {
        let QueryCountArgs { counts, kept, .. } = args;
        let mut sink = CountSink { column: Column { line, lines }, counts, kept };
        run(&Text(args.indexed), &args.indexed, line, &args.program, &mut sink);
    }
}

/// Writes the matches of each path and line.
///
/// # Safety
/// Launched as [`QueryFill`](warpath_shared::kernel::QueryFill) says, with sizes that its check accepts.
#[kernel(launch_bounds(256, 3))]
pub unsafe fn query_fill(args: QueryFillArgs<'_>) {
    let (line, lines) = (index_1d() as usize, args.indexed.lines());
    if line < lines {
        let mut sink = FillSink::new(&args, line);
        if sink.has_all(args.program.paths) {
            sink.copy(args.program.paths);
        } else {
            run(&Text(args.indexed), &args.indexed, line, &args.program, &mut sink);
        }
    }
}
