//! A launch's description, and its start.

use super::{Dim3, Fault, scheduler};

/// The order in which threads that could run do run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// Blocks, warps and lanes by rising index.
    #[default]
    InOrder,
    /// Blocks, warps and lanes by falling index.
    Reverse,
    /// By chance, the same for the same seed. Also gives way before some atomic stores and updates.
    Shuffled {
        /// What the chance starts from.
        seed: u64,
    },
}

/// How a kernel is launched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// How many blocks.
    pub grid: Dim3,
    /// How many threads a block has, at most 1024.
    pub block: Dim3,
    /// The size in bytes of what `dynamic_shared_mem!` gives. Default 0.
    pub dynamic_shared_bytes: usize,
    /// How many blocks are in flight. Default 4.
    pub resident_blocks: usize,
    /// The order in which threads run. Default [`Schedule::InOrder`].
    pub schedule: Schedule,
    /// The size in bytes of each thread's stack. Default 256 KiB, of which only what is touched takes memory.
    pub stack_bytes: usize,
    /// After how many turns of all threads without any change they are said to be in a livelock. Ten times as many are
    /// allowed if they do something, such as meeting at barriers, but never change an atomic or end. Default 50,000.
    pub livelock_rounds: u64,
}

impl Launch {
    /// A launch of `grid` blocks of `block` threads with the defaults for the rest.
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

/// What a launch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Stats {
    /// Barriers that a block passed, each counted once a block.
    pub barriers: u64,
    /// Warp collectives, each counted once for all its lanes; a shuffle of 64 bits counts once.
    pub warp_collectives: u64,
    /// Atomic loads, stores and updates, each counted once a thread.
    pub atomics: u64,
    /// How often a thread was given a turn.
    pub turns: u64,
}

/// Runs `body` once for each thread of the launch. `body` calls the kernel with its arguments.
///
/// `kernel_name` is for messages. The first call in a process adds a panic hook that notes where a kernel panicked and
/// then calls the hook before it.
///
/// # Errors
///
/// The first [`Fault`]. The kernel's threads are then unwound where they stand, and memory holds what they wrote so far.
pub fn launch(launch: &Launch, kernel_name: &str, body: &dyn Fn()) -> Result<(), Fault> {
    launch_with_stats(launch, kernel_name, body).map(|_| ())
}

/// [`launch`], and what it did.
///
/// # Errors
///
/// As for [`launch`].
pub fn launch_with_stats(launch: &Launch, kernel_name: &str, body: &dyn Fn()) -> Result<Stats, Fault> {
    scheduler::run(launch, kernel_name, body)
}
