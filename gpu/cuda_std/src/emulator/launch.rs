//! The description of a launch, and its start.

use super::{Dim3, Fault, scheduler};

/// The order in which runnable threads run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// Blocks, warps and lanes by ascending index.
    #[default]
    InOrder,
    /// Blocks, warps and lanes by descending index.
    Reverse,
    /// A random order, the same for the same seed. Threads also give way before some atomic stores and
    /// updates.
    Shuffled {
        /// The seed of the random numbers.
        seed: u64,
    },
}

/// The parameters of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// The number of blocks.
    pub grid: Dim3,
    /// The number of threads of a block, at most 1024.
    pub block: Dim3,
    /// The size in bytes of the memory that `dynamic_shared_mem!` gives. Default 0.
    pub dynamic_shared_bytes: usize,
    /// The number of blocks in flight. Default 4.
    pub resident_blocks: usize,
    /// The order in which threads run. Default [`Schedule::InOrder`].
    pub schedule: Schedule,
    /// The size in bytes of each thread's stack. Default 256 KiB; only touched pages take memory.
    pub stack_bytes: usize,
    /// The number of turns of all threads without any change after which a livelock is reported. The limit is
    /// ten times as high if threads act, such as by meeting at barriers, but never change an atomic or end.
    /// Default 50,000.
    pub livelock_rounds: u64,
}

impl Launch {
    /// A launch of `grid` blocks of `block` threads, with defaults for the other parameters.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self {
            grid: grid.into(),
            block: block.into(),
            dynamic_shared_bytes: 0,
            resident_blocks: 4,
            schedule: Schedule::InOrder,
            stack_bytes: 256 * 1024,
            livelock_rounds: 50_000,
        }
    }

    /// Sets [`dynamic_shared_bytes`](Self::dynamic_shared_bytes).
    #[must_use]
    pub fn dynamic_shared_bytes(mut self, bytes: usize) -> Self {
        self.dynamic_shared_bytes = bytes;
        self
    }

    /// Sets [`resident_blocks`](Self::resident_blocks).
    #[must_use]
    pub fn resident_blocks(mut self, blocks: usize) -> Self {
        self.resident_blocks = blocks;
        self
    }

    /// Sets [`schedule`](Self::schedule).
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// Sets [`stack_bytes`](Self::stack_bytes).
    #[must_use]
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// Sets [`livelock_rounds`](Self::livelock_rounds).
    #[must_use]
    pub fn livelock_rounds(mut self, rounds: u64) -> Self {
        self.livelock_rounds = rounds;
        self
    }
}

/// The counters of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Stats {
    /// The barriers that blocks passed, each counted once per block.
    pub barriers: u64,
    /// The warp collectives, each counted once for all its lanes; a shuffle of 64 bits counts once.
    pub warp_collectives: u64,
    /// The atomic loads, stores and updates, each counted once per thread.
    pub atomics: u64,
    /// The number of turns that threads got.
    pub turns: u64,
}

/// Runs `body` once for each thread of the launch. `body` calls the kernel with its arguments.
///
/// `kernel_name` is used in messages. The first call in a process adds a panic hook. The hook records where a
/// kernel panicked and then calls the previous hook.
///
/// # Errors
///
/// The first [`Fault`]. The kernel's threads are then unwound where they are, and memory holds what they
/// wrote before.
pub fn launch(launch: &Launch, kernel_name: &str, body: &dyn Fn()) -> Result<(), Fault> {
    launch_with_stats(launch, kernel_name, body).map(|_| ())
}

/// Does [`launch`] and returns its counters.
///
/// # Errors
///
/// The errors of [`launch`].
pub fn launch_with_stats(launch: &Launch, kernel_name: &str, body: &dyn Fn()) -> Result<Stats, Fault> {
    scheduler::run(launch, kernel_name, body)
}
