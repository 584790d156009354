//! A run's report of itself: its plan, its setup and its statistics.

use std::time::Duration;

/// Statistics of the work done so far.
///
/// ```
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut hits = Engine::builder().build()?.bytes("{\"a\":1}\n\n{}\n").query(&Query::compile("$.a")?)?;
/// hits.by_ref().for_each(drop);
/// let stats = hits.stats();
/// assert_eq!((stats.matches, stats.lines, stats.bytes), (1, 3, 12));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Decompressed bytes of text that were evaluated.
    pub bytes: u64,
    /// Lines that were evaluated, blank ones too; documents, where inputs are documents.
    pub lines: u64,
    /// Matches of all paths.
    pub matches: u64,
    /// Malformed records that were skipped.
    pub skipped: u64,
    /// Partitions that have lines.
    pub partitions: u64,
    /// Workers that were started.
    pub workers: usize,
    /// Time spent reading and decompressing, including waits for a slow input; the sum over all workers.
    pub reading: Duration,
    /// Time spent in the backend and on strict checks; the sum over all workers.
    pub answering: Duration,
}

impl Stats {
    /// The statistics of this work and of other work: sums, and the greater number of workers.
    ///
    /// ```
    /// use warpath::{Engine, Query};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let mut hits = Engine::builder().build()?.bytes("{}\n").query(&Query::compile("$.a")?)?;
    /// hits.by_ref().for_each(drop);
    /// assert_eq!(hits.stats().and(hits.stats()).lines, 2);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            lines: self.lines + other.lines,
            matches: self.matches + other.matches,
            skipped: self.skipped + other.skipped,
            partitions: self.partitions + other.partitions,
            workers: self.workers.max(other.workers),
            reading: self.reading + other.reading,
            answering: self.answering + other.answering,
        }
    }
}

/// The backend and its settings, and the reason for the choice.
///
/// ```
/// use warpath::{DeviceChoice, Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().device(DeviceChoice::Cpu).workers(2).build()?;
/// let hits = engine.bytes("{\"a\":1}\n").query(&Query::compile("$.a")?)?;
/// let plan = hits.plan();
/// assert!(plan.backend.starts_with("cpu"));
/// assert_eq!((plan.workers, plan.reason.as_deref(), plan.strict), (2, None, false));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// A short name of the backend.
    pub backend: String,
    /// The reason for this backend, if the engine chose.
    pub reason: Option<String>,
    /// The most workers that may run.
    pub workers: usize,
    /// Bytes of a partition.
    pub partition_size: usize,
    /// True if records are checked by all of RFC 8259, and for UTF-8.
    pub strict: bool,
    /// True if the backend makes those checks. Otherwise the host makes them before the evaluation.
    pub strict_on_device: bool,
    /// The index that is used, and its purpose, if there is one.
    pub index: Option<String>,
}
