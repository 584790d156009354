//! The faults that a launch reports when a kernel breaks a rule.

use std::fmt;
use std::string::String;

use super::Dim3;

/// The rule that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// A barrier that not all threads of the block reach, or that some reach in another form.
    DivergentBarrier,
    /// A warp collective whose lanes do not agree, or that some lanes cannot reach.
    WarpCollective,
    /// A shuffle that has a bad width or distance, or that reads a lane outside its mask.
    Shuffle,
    /// No thread can run: each waits for another.
    Deadlock,
    /// Threads run, but for very long nothing has changed for which they could be waiting.
    Livelock,
    /// The kernel panicked.
    Panic,
    /// Shared memory was used outside its bounds.
    SharedMemory,
    /// The launch itself is not possible.
    Launch,
}

/// A rule that a kernel broke. The launch ended there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub kind: FaultKind,
    /// The kernel's name, as given to the launch.
    pub kernel: String,
    /// The block and thread that broke the rule, or the first of those that wait; `None` for a bad launch.
    pub at: Option<(Dim3, Dim3)>,
    /// The description of the fault, in words.
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
