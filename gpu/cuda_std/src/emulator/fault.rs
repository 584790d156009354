//! What a launch reports when a kernel breaks a rule.

use std::fmt;
use std::string::String;

use super::Dim3;

/// Which rule was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// A barrier that not all threads of the block reach, or not all in the same form.
    DivergentBarrier,
    /// A warp collective whose lanes do not agree, or cannot all come.
    WarpCollective,
    /// A shuffle with a bad width or distance, or that reads a lane outside its mask.
    Shuffle,
    /// No thread can run: each waits for another.
    Deadlock,
    /// Threads run, but for very long nothing has changed that they could be waiting for.
    Livelock,
    /// The kernel panicked.
    Panic,
    /// Shared memory was used outside its bounds.
    SharedMemory,
    /// The launch itself is not possible.
    Launch,
}

/// A kernel broke a rule; the launch ended there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which rule.
    pub kind: FaultKind,
    /// The name given to the launch.
    pub kernel: String,
    /// The block and thread that broke it, or the first of those that wait; `None` for a bad launch.
    pub at: Option<(Dim3, Dim3)>,
    /// What happened, in words.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`", self.kernel)?;
        if let Some((block, thread)) = self.at {
            write!(f, ", block {block}, thread {thread}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for Fault {}
