//! The first pass over the text: what each tile does to the state at its left.
//!
//! *Threads*: a block a tile, a thread a 64-byte word. *Memory*: 16 KiB of shared memory to turn coalesced
//! 16-byte loads into words ([`crate::coop::tile`]), then 128 bytes for the scan. *Cost*: the text read once,
//! 16 bytes written a tile.

use cuda_std::kernel;
use cuda_std::shared::shared_array;
use cuda_std::thread::{block_idx_x, thread_idx_x};
use cuda_std::wide::U32x4;
use warpath_shared::index::line::LineSummary;
use warpath_shared::kernel::LineSummariesArgs;

use crate::coop::tile::VECTORS;
use crate::coop::{WARPS, block, tile};

/// Summarises each tile.
///
/// # Safety
/// Launched as [`LineSummaries`](warpath_shared::kernel::LineSummaries) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn line_summaries(args: LineSummariesArgs<'_>) {
    let staging = shared_array![U32x4; VECTORS];
    let scratch = shared_array![LineSummary; WARPS];
    let this = block_idx_x() as usize;
    // SAFETY: every thread of the block is here, and the arrays are used by nothing else.
    let classes = unsafe { tile::classify(args.text, this, staging) };
    // SAFETY: as above.
    let total = unsafe { block::reduce(LineSummary::of_word(&classes), scratch) };
    if thread_idx_x() == 0 {
        // SAFETY: one thread of one block writes the element.
        unsafe { args.summaries.set(this, total) };
    }
}
