//! Programs of the query machine over trees.
//!
//! *Threads*: one thread a line runs the program by the links of the line's tree, as
//! [`query_count`](super::query_count) does by leveled bitmaps. Paths `$..name` have kernels of their own
//! ([`warpath_shared::query::names`]), with four nodes a thread, side by side. All loads of a warp are then
//! of consecutive nodes, and the matches are put in order line by line.
//! *Layout*: frames in local memory, except for the top one.
//! *Cost*: 16 bytes read of each node that is visited, which for `..` are all nodes of the record; and the
//! bytes of names that have the length of the wanted name. `$..id_str` over 842 MB of tweets, of 46 million
//! nodes, on an H200: 0.53 and 0.66 ms. Reading the nodes (730 MB) would take 0.24 ms at 3.1 TB/s.
//! *Tried and lost*: one thread a line that runs the program for `$..id_str`: 3.4 ms and, where two matches
//! of a line were kept, 3.4 ms again.

use cuda_std::atomic::mid::atomic_fetch_add_u64_relaxed_device;
use cuda_std::kernel;
use cuda_std::thread::{block_idx_x, index_1d, thread_idx_x};
use cuda_std::wide::{U32x4, load_readonly_16};
use warpath_shared::kernel::{NAMES_TILE, NamesCountArgs, Span, TreeCountArgs, TreeFillArgs, Trees};
use warpath_shared::query::document::Text;
use warpath_shared::query::machine::{Sink, TreeMachine};
use warpath_shared::query::names::{container, is_named};
use warpath_shared::query::navigate::Navigate;
use warpath_shared::query::tree::{Linked, Trees as Walk};
use warpath_shared::tree::tape::{TapeIx, TapeNode};
use warpath_shared::units::{BLOCK_THREADS, PartOffset};
use warpath_shared::view::View;

use super::query::{Column, CountSink, FillSink, is_set};
use crate::text::PartText;

/// The trees of a partition, from the view of one thread.
pub(super) struct Records<'a>(pub Trees<'a>);

impl Text for Records<'_> {
    #[inline(always)]
    fn byte(&self, at: PartOffset) -> u8 {
        PartText(self.0.text).byte(at)
    }

    #[inline(always)]
    fn together(&self) -> u32 {
        PartText(self.0.text).together()
    }

    #[inline(always)]
    fn any(&self, together: u32, holds: bool) -> bool {
        PartText(self.0.text).any(together, holds)
    }

    #[inline(always)]
    fn stands_at(&self, at: PartOffset, literals: View<'_, u8>, offset: u32, len: u32) -> bool {
        PartText(self.0.text).stands_at(at, literals, offset, len)
    }
}

impl Walk for Records<'_> {
    #[inline(always)]
    fn tape_node(&self, at: TapeIx) -> TapeNode {
        // SAFETY: `at` checks the index, and no query kernel writes to nodes.
        let U32x4(words) = unsafe { load_readonly_16(self.0.nodes.at(at as usize, 1).cast()) };
        TapeNode::from_words(words)
    }
}

/// The line of this thread.
#[inline(always)]
fn line(trees: &Trees<'_>) -> Option<usize> {
    let line = index_1d() as usize;
    (line < trees.lines()).then_some(line)
}

/// The root of the record on a line, if there is one and it has no fault.
#[inline(always)]
pub(super) fn root(trees: &Trees<'_>, line: usize) -> Option<TapeIx> {
    let (root, next) = (trees.roots.get(line), trees.roots.get(line + 1));
    (root != next && !is_set(trees.faulty, line)).then_some(root)
}

/// Counts the matches of each path and line.
///
/// # Safety
/// Launched as [`TreeCount`](warpath_shared::kernel::TreeCount) says, with sizes that its check accepts.
#[kernel(launch_bounds(64, 8))]
pub unsafe fn tree_count(args: TreeCountArgs<'_>) {
    let TreeCountArgs { trees, program, counts, kept } = args;
    if let Some(line) = line(&trees)
        && let Some(root) = root(&trees, line)
    {
        let column = Column { line, lines: trees.lines() };
        let mut sink = CountSink { column, counts, kept };
        TreeMachine::default().run(&program, &Records(trees), root, &mut sink);
    }
}

/// Writes the matches of each path and line.
///
/// # Safety
/// Launched as [`TreeFill`](warpath_shared::kernel::TreeFill) says, with sizes that its check accepts.
#[kernel(launch_bounds(64, 8))]
pub unsafe fn tree_fill(args: TreeFillArgs<'_>) {
    let TreeFillArgs { trees, program, counts, kept, offsets, matches } = args;
    if let Some(line) = line(&trees) {
        let column = Column { line, lines: trees.lines() };
        let mut sink = FillSink { column, counts, kept, offsets, matches };
        if sink.has_all(program.paths) {
            sink.copy(program.paths);
        } else if let Some(root) = root(&trees, line) {
            TreeMachine::default().run(&program, &Records(trees), root, &mut sink);
        }
    }
}

/// The line that a node belongs to: the last line whose first node is not after it.
#[inline(always)]
fn line_of(trees: &Trees<'_>, node: TapeIx) -> usize {
    let (mut first, mut lines) = (0, trees.lines());
    while lines > 1 {
        let half = lines / 2;
        if trees.roots.get(first + half) <= node {
            first += half;
            lines -= half;
        } else {
            lines = half;
        }
    }
    first
}

/// Counts the matches of each path `$..name` and line, and keeps the positions of the first ones that arrive.
///
/// # Safety
/// Launched as [`NamesCount`](warpath_shared::kernel::NamesCount) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn names_count(args: NamesCountArgs<'_>) {
    let NamesCountArgs { trees, program, names, counts, kept, exact, .. } = args;
    let (records, nodes) = (Records(trees), trees.nodes.len());
    let linked = Linked(&records);
    let first = block_idx_x() as usize * NAMES_TILE + thread_idx_x() as usize;
    // All nodes are loaded before the first is examined.
    let members: [u32; NAMES_TILE / BLOCK_THREADS] = core::array::from_fn(|i| {
        let at = first + i * BLOCK_THREADS;
        let node = if at < nodes { records.tape_node(at as TapeIx) } else { TapeNode::default() };
        if node.is_name() { node.end.wrapping_sub(node.start()) } else { 0 }
    });
    let mut path = 0;
    while path < names.len() {
        let name = program.instrs.get(names.get(path) as usize);
        // The length includes the quotes. Where names may be spelt with escapes, they may be longer.
        let least = name.quoted().1.saturating_sub(1);
        let longest = if exact != 0 { least } else { u32::MAX };
        let mut left = 0;
        let mut i = 0;
        while i < members.len() {
            let may_be = members[i] > 0 && members[i] >= least && members[i] <= longest;
            left |= (may_be as u32) << i;
            i += 1;
        }
        while left != 0 {
            let at = (first + left.trailing_zeros() as usize * BLOCK_THREADS) as TapeIx;
            left &= left - 1;
            let node = records.tape_node(at);
            if !is_named(&linked, &program, &name, &node, trees.text.len()) {
                continue;
            }
            let line = line_of(&trees, at);
            if is_set(trees.faulty, line) {
                continue;
            }
            if let Some(container) = container(&linked, &program, &name, (at, &node)) {
                let cell = path * trees.lines() + line;
                // SAFETY: counts are touched only by this atomic addition, and it gives each thread an
                // element of its own.
                unsafe {
                    let before = atomic_fetch_add_u64_relaxed_device(counts.at(cell, 1), 1);
                    let place = before as usize * counts.len() + cell;
                    if place < kept.len() {
                        kept.set(place, Span { start: container, end: at });
                    }
                }
            }
        }
        path += 1;
    }
}

/// Writes the matches of each path `$..name` and line.
///
/// # Safety
/// Launched as [`NamesFill`](warpath_shared::kernel::NamesFill) says, with sizes that its check accepts.
#[kernel(launch_bounds(64, 8))]
pub unsafe fn names_fill(args: TreeFillArgs<'_>) {
    let TreeFillArgs { trees, program, counts, kept, offsets, matches } = args;
    let Some(line) = line(&trees) else { return };
    let (column, records) = (Column { line, lines: trees.lines() }, Records(trees));
    let mut sink = FillSink { column, counts, kept, offsets, matches };
    if !sink.has_all(program.paths) {
        if let Some(root) = root(&trees, line) {
            TreeMachine::default().run(&program, &records, root, &mut sink);
        }
        return;
    }
    let mut path = 0;
    while path < program.paths {
        let cell = path as usize * column.lines + line;
        let count = counts.get(cell) as usize;
        // The next in the order of containers, repeated for each match. There are few.
        let (mut written, mut last) = (0, 0u64);
        while written < count {
            let (mut next, mut i) = (u64::MAX, 0);
            while i < count {
                let Span { start: container, end: name } = kept.get(i * counts.len() + cell);
                let key = (container as u64) << 32 | name as u64;
                next = if key > last && key < next { key } else { next };
                i += 1;
            }
            last = next;
            sink.emit(path, Linked(&records).node(next as TapeIx + 1));
            written += 1;
        }
        path += 1;
    }
}
