//! What a run reports of itself: its plan, its setup and its statistics.

use std::time::{Duration, Instant};

/// What has been done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of text answered, decompressed.
    pub bytes: u64,
    /// Lines answered, blank ones too; documents, where inputs are documents.
    pub lines: u64,
    /// Matches found, of all paths.
    pub matches: u64,
    /// Malformed records left out.
    pub skipped: u64,
    /// Partitions that have lines.
    pub partitions: u64,
    /// Workers that have been at work.
    pub workers: usize,
    /// Time spent reading and decompressing, waiting for a slow input included: the sum over all workers.
    pub reading: Duration,
    /// Time spent in the backend, and on strict checks, likewise.
    pub answering: Duration,
}

/// How the backend was made, as far as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// How long each part took. Whoever uses the backend first pays; some of it goes on while the first partitions are read.
    pub parts: Vec<(&'static str, Duration)>,
    /// When it was ready to answer, if it had to be made.
    pub ready: Option<Instant>,
    /// What went otherwise than it should, and was made good: it may have cost time.
    pub notes: Vec<String>,
}

/// What answers, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The backend in a few words.
    pub backend: String,
    /// Why this one, where the engine chose.
    pub reason: Option<String>,
    /// How many workers there may be.
    pub workers: usize,
    /// Bytes of a partition.
    pub partition_size: usize,
    /// Whether records are checked by all of RFC 8259, and for UTF-8.
    pub strict: bool,
    /// Whether the backend does that; else the host does, before they are answered.
    pub strict_on_device: bool,
    /// Which index is used, and for what, where there is one.
    pub index: Option<String>,
}
