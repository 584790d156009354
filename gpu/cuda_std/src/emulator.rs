//! Runs a kernel on the host with one fiber for each thread of the grid, and checks how its threads meet.
//!
//! All fibers of a launch run on the calling OS thread, one at a time, in an order that [`Schedule`] fixes.
//! So two runs of the same launch are identical. Several blocks are in flight. When a block ends, the next in
//! index order starts, as on the card, so that a look-back to earlier blocks makes progress. A fiber gives
//! way at barriers, at warp collectives, at [`nanosleep`](crate::thread::nanosleep), and at atomics that may
//! be part of a waiting loop.
//!
//! ```
//! use cuda_std::emulator::{Launch, launch};
//! use cuda_std::thread;
//!
//! let mut squares = [0u32; 64];
//! let out = squares.as_mut_ptr();
//! launch(&Launch::new(2, 32), "squares", &|| {
//!     let i = thread::index_1d();
//!     // SAFETY: 64 threads, 64 elements, one each.
//!     unsafe { *out.add(i as usize) = i * i };
//! })?;
//! assert_eq!(squares[63], 63 * 63);
//! # Ok::<(), cuda_std::emulator::Fault>(())
//! ```
//!
//! # What is checked
//!
//! | check | [`FaultKind`] |
//! |---|---|
//! | a barrier that some thread of the block cannot reach, or reaches elsewhere | `DivergentBarrier` |
//! | a warp collective whose mask or function differs between lanes, or names a lane that cannot come | `WarpCollective` |
//! | a shuffle that reads a lane outside its mask | `Shuffle` |
//! | threads that wait for each other, or for a store that never comes | `Deadlock`, `Livelock` |
//! | a panic, an index out of bounds among them | `Panic` |
//! | bytes written next to a shared array, more dynamic shared memory than given | `SharedMemory` |
//! | a launch that no card would take, or inside another | `Launch` |
//!
//! Some errors are *not* checked:
//!
//! * data races on plain memory: run several [`Schedule::Shuffled`] seeds to find them;
//! * orders and scopes of atomics: all atomics are sequentially consistent here;
//! * stack overflow: a guard page ends the process.

mod barrier;
mod collective;
mod dim;
mod fault;
mod launch;
mod memory;
mod progress;
mod scheduler;
mod stack;
mod state;

pub use dim::Dim3;
pub use fault::{Fault, FaultKind};
pub use launch::{Launch, Schedule, Stats, launch, launch_with_stats};
#[doc(hidden)]
pub use memory::{SharedSite, dynamic_shared_mem, shared_array};

pub(crate) use barrier::{BarrierKind, barrier};
pub(crate) use collective::{WarpOp, warp_collective, warp_shuffle};
pub(crate) use memory::check_shared;
pub(crate) use progress::{
    after_atomic, after_atomic_load, after_store, before_atomic, before_atomic_load, nanosleep,
};

use state::current;
use std::format;
use std::string::String;

/// The position of the calling code, as in ``kernel `scan`, block (2, 0, 0), thread (31, 0, 0)``; `None`
/// outside a launch.
#[must_use]
pub fn current_thread_label() -> Option<String> {
    state::try_current().map(|position| position.label())
}

/// The end of a message: " in kernel ..., block ..., thread ...", or nothing outside a launch.
pub(crate) fn in_current_thread() -> String {
    current_thread_label().map(|label| format!(" in {label}")).unwrap_or_default()
}

#[inline]
#[track_caller]
pub(crate) fn thread_idx(what: &str) -> Dim3 {
    current(what).lane.thread
}

#[inline]
#[track_caller]
pub(crate) fn block_idx(what: &str) -> Dim3 {
    current(what).block.index.get()
}

#[inline]
#[track_caller]
pub(crate) fn block_dim(what: &str) -> Dim3 {
    current(what).machine.block
}

#[inline]
#[track_caller]
pub(crate) fn grid_dim(what: &str) -> Dim3 {
    current(what).machine.grid
}

#[inline]
#[track_caller]
pub(crate) fn lane_id() -> u32 {
    current("lane_id").lane.lane
}

/// Checks only that a kernel runs. A fence needs no action, because one thread runs at a time.
#[inline]
#[track_caller]
pub(crate) fn fence(what: &str) {
    current(what);
}
