//! A copy at the full memory bandwidth of the card, as the baseline for other kernels.

use cuda_std::kernel;
use cuda_std::thread::{block_idx_x, thread_idx_x};
use cuda_std::wide::{load_readonly_16, store_global_16};
use warpath_shared::kernel::Copy16Args;
use warpath_shared::units::{BLOCK_THREADS, TILE_BYTES};

/// Copies one tile a block. Each thread copies eight vectors of 16 bytes and loads all of them before it
/// stores the first.
///
/// # Safety
/// Launched as [`Copy16`](warpath_shared::kernel::Copy16) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn copy_16(args: Copy16Args<'_>) {
    const EACH: usize = TILE_BYTES / 16 / BLOCK_THREADS;
    let base = block_idx_x() as usize * TILE_BYTES;
    let at = |i: usize| base + (i * BLOCK_THREADS + thread_idx_x() as usize) * 16;
    let vectors: [_; EACH] = core::array::from_fn(|i| {
        // SAFETY: `at` checks the range, and the launch's check requires texts that are 16-byte aligned.
        unsafe { load_readonly_16(args.from.at(at(i), 16).cast()) }
    });
    let mut i = 0;
    while i < EACH {
        // SAFETY: `at` checks the range, the output is 16-byte aligned, and each vector has one writer.
        unsafe { store_global_16(args.to.at(at(i), 16).cast(), vectors[i]) };
        i += 1;
    }
}
