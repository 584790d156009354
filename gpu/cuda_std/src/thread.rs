//! A thread's position in its grid, and the barriers where the threads of a block meet.

#[cfg(target_arch = "nvptx64")]
use crate::device::intrinsics as device;
#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator::{self, BarrierKind};

macro_rules! special_register {
    ($($(#[$doc:meta])* $name:ident = $intrinsic:ident, $launch:ident . $axis:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[must_use]
        pub fn $name() -> u32 {
            #[cfg(target_arch = "nvptx64")]
            return device::$intrinsic();
            #[cfg(not(target_arch = "nvptx64"))]
            return emulator::$launch(stringify!($name)).$axis;
        }
    )*};
}

special_register! {
    /// The x index of this thread in its block.
    thread_idx_x = tid_x, thread_idx.x;
    /// The y index of this thread in its block.
    thread_idx_y = tid_y, thread_idx.y;
    /// The z index of this thread in its block.
    thread_idx_z = tid_z, thread_idx.z;
    /// The x index of this block in the grid.
    block_idx_x = ctaid_x, block_idx.x;
    /// The y index of this block in the grid.
    block_idx_y = ctaid_y, block_idx.y;
    /// The z index of this block in the grid.
    block_idx_z = ctaid_z, block_idx.z;
    /// The number of threads of a block along x.
    block_dim_x = ntid_x, block_dim.x;
    /// The number of threads of a block along y.
    block_dim_y = ntid_y, block_dim.y;
    /// The number of threads of a block along z.
    block_dim_z = ntid_z, block_dim.z;
    /// The number of blocks of the grid along x.
    grid_dim_x = nctaid_x, grid_dim.x;
    /// The number of blocks of the grid along y.
    grid_dim_y = nctaid_y, grid_dim.y;
    /// The number of blocks of the grid along z.
    grid_dim_z = nctaid_z, grid_dim.z;
}

/// The x index of this thread in the whole grid, modulo 2³².
#[inline(always)]
#[must_use]
pub fn index_1d() -> u32 {
    block_idx_x().wrapping_mul(block_dim_x()).wrapping_add(thread_idx_x())
}

/// Returns `true` in thread (0, 0, 0) of block (0, 0, 0).
#[inline(always)]
#[must_use]
pub fn first() -> bool {
    (block_idx_x() | block_idx_y() | block_idx_z() | thread_idx_x() | thread_idx_y() | thread_idx_z()) == 0
}

/// The number of lanes of a warp: 32.
#[inline(always)]
#[must_use]
pub const fn warp_size() -> u32 {
    32
}

/// Waits for all threads of the block. After the barrier, every thread sees all writes to shared and global
/// memory that any of them made before it.
///
/// Collective: every thread of the block must call it, and the lanes of a warp must call it from the same
/// line of code. A thread that has returned never arrives: the card may hang, and the emulator reports a
/// divergent barrier.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_threads() {
    // SAFETY: barrier 0 always exists. Threads that never meet wait forever, which breaks no memory.
    #[cfg(target_arch = "nvptx64")]
    unsafe {
        device::barrier(0);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    emulator::barrier(BarrierKind::Sync, false);
}

/// Does [`sync_threads`] and counts the threads whose `predicate` is not zero. The result is valid in every
/// thread.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    // SAFETY: barrier 0 always exists. Threads that never meet wait forever, which breaks no memory.
    #[cfg(target_arch = "nvptx64")]
    return unsafe { device::barrier_popc(0, predicate != 0) };
    #[cfg(not(target_arch = "nvptx64"))]
    return emulator::barrier(BarrierKind::Count, predicate != 0);
}

/// Does [`sync_threads`] and returns, in all threads, a non-zero value if every thread's `predicate` is not
/// zero, else 0.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    // SAFETY: barrier 0 always exists. Threads that never meet wait forever, which breaks no memory.
    #[cfg(target_arch = "nvptx64")]
    return u32::from(unsafe { device::barrier_and(0, predicate != 0) });
    #[cfg(not(target_arch = "nvptx64"))]
    return emulator::barrier(BarrierKind::And, predicate != 0);
}

/// Does [`sync_threads`] and returns, in all threads, a non-zero value if some thread's `predicate` is not
/// zero, else 0.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    // SAFETY: barrier 0 always exists. Threads that never meet wait forever, which breaks no memory.
    #[cfg(target_arch = "nvptx64")]
    return u32::from(unsafe { device::barrier_or(0, predicate != 0) });
    #[cfg(not(target_arch = "nvptx64"))]
    return emulator::barrier(BarrierKind::Or, predicate != 0);
}

/// Lets this thread sleep for about `nanoseconds`, at most a millisecond, so that others can proceed.
///
/// Use it in the body of a loop that waits for another thread's store. It orders no memory.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn nanosleep(nanoseconds: u32) {
    #[cfg(target_arch = "nvptx64")]
    device::nanosleep(nanoseconds);
    #[cfg(not(target_arch = "nvptx64"))]
    emulator::nanosleep(nanoseconds);
}

/// Orders this thread's memory accesses before the fence ahead of those after it, as every thread of the
/// device sees them.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn device_fence() {
    #[cfg(target_arch = "nvptx64")]
    device::membar_device();
    #[cfg(not(target_arch = "nvptx64"))]
    emulator::fence("device_fence");
}

/// Orders this thread's memory accesses before the fence ahead of those after it, as every thread of its
/// block sees them.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn block_fence() {
    #[cfg(target_arch = "nvptx64")]
    device::membar_block();
    #[cfg(not(target_arch = "nvptx64"))]
    emulator::fence("block_fence");
}

/// Orders this thread's memory accesses before the fence ahead of those after it, as every device and the
/// host see them.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn system_fence() {
    #[cfg(target_arch = "nvptx64")]
    device::membar_system();
    #[cfg(not(target_arch = "nvptx64"))]
    emulator::fence("system_fence");
}
