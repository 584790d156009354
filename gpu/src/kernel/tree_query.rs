//! Programs over trees.
//!
//! *Threads*: a thread a line runs the program by the links of the line's tree, as [`query_count`](super::query_count) does by leveled
//! bitmaps. *Memory*: frames in local memory, but for the top one. *Cost*: 16 bytes read of each node that is looked at, which for
//! `..` are all of the record, and of names that are as long as is wanted the bytes.

use cuda_std::kernel;
use cuda_std::thread::index_1d;
use cuda_std::wide::{U32x4, load_readonly_16};
use warpath_shared::kernel::{TreeCountArgs, TreeFillArgs, Trees};
use warpath_shared::query::document::Text;
use warpath_shared::query::machine::TreeMachine;
use warpath_shared::query::tree::Trees as Walk;
use warpath_shared::tree::tape::{TapeIx, TapeNode};
use warpath_shared::units::PartOffset;
use warpath_shared::view::View;

use super::query::{Column, CountSink, FillSink, is_set};
use crate::text::PartText;

/// The trees of a partition as one thread sees them.
struct Records<'a>(Trees<'a>);

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
        // SAFETY: the index is checked, and no query kernel writes to nodes.
        let U32x4(words) = unsafe { load_readonly_16(self.0.nodes.at(at as usize, 1).cast()) };
        TapeNode::from_words(words)
    }
}

/// This thread's line.
#[inline(always)]
fn line(trees: &Trees<'_>) -> Option<usize> {
    let line = index_1d() as usize;
    (line < trees.lines()).then_some(line)
}

/// The root of the record on a line, if there is one and it has no fault.
#[inline(always)]
fn root(trees: &Trees<'_>, line: usize) -> Option<TapeIx> {
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
