//! Records as programs for [`twig`](super::twig): [`warpath_shared::twig::program`].
//!
//! *Threads*: one thread a line walks the line's tree, looks names and tested values up in one table, and
//! writes operations.
//! *Layout*: no stack, because nodes have upward links. A thread keeps the depth of the current level and,
//! one bit a level, whether `*` was reported.
//! *Overflow*: the offset of a line's operations is known in advance: each node has room for as many
//! operations as the host has found to be enough. A line that does not fit is listed as unfit.
//! *Cost*: the bytes of each name, and of each value that has a test, read twice, one at a time; those of a
//! name once more for each later member that may have the name.

use cuda_std::atomic::mid::atomic_fetch_add_u32_relaxed_device;
use cuda_std::kernel;
use cuda_std::thread::index_1d;
use warpath_shared::kernel::TwigOpsArgs;
use warpath_shared::query::tree::Trees as _;
use warpath_shared::twig::program::write;
use warpath_shared::twig::{Op, OpKind, Task};

use super::tree_query::{Records, root};

/// Writes the program of each line.
///
/// # Safety
/// Launched as [`TwigOps`](warpath_shared::kernel::TwigOps) says, with sizes that its check accepts.
#[kernel(launch_bounds(64, 8))]
pub unsafe fn twig_ops(args: TwigOpsArgs<'_>) {
    let (line, records) = (index_1d() as usize, Records(args.trees));
    if line >= args.trees.lines() {
        return;
    }
    let place = |line: usize| args.ops_a_node as usize * (args.trees.roots.get(line) as usize + line);
    let (begin, room) = (place(line), place(line + 1) - 1);
    let mut task = Task { begin: begin as u32, end: begin as u32 };
    if let Some(root) = root(&args.trees, line) {
        let mut end = begin;
        let fits = write(
            &args.dictionary,
            &records,
            |at| records.tape_node(at),
            root,
            |op: Op| {
                let fits = end < room;
                if fits {
                    // SAFETY: the operations from `begin` to `room` belong to this line alone, which has one
                    // thread.
                    unsafe { args.ops.set(end, op) };
                    end += 1;
                }
                fits
            },
        );
        if fits {
            // SAFETY: `end` is at most `room`, the last operation of this line, which was left free for this
            // one.
            unsafe { args.ops.set(end, Op::new(OpKind::Answer, line as u32)) };
            task.end = end as u32 + 1;
        } else {
            // SAFETY: `at` checks the index, and every access to the word during the launch is such an atomic
            // addition.
            let at = unsafe { atomic_fetch_add_u32_relaxed_device(args.unfit_count.at(0, 1), 1) } as usize;
            if at < args.unfit.len() {
                // SAFETY: the counter gives each thread an element of its own.
                unsafe { args.unfit.set(at, line as u32) };
            }
        }
    }
    // SAFETY: `line` is the thread's number in the grid, so each element has one writer.
    unsafe { args.tasks.set(line, task) };
}
