//! Statistics of a run.

use std::time::Duration;

use warpath_core::error::RecordError;

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
    /// Lines that were evaluated, blank ones too; documents, where inputs are documents. Lines of a store
    /// that its columns decide count, too. These are the lines of whole partitions, also if the caller needs
    /// no more results within the last one.
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
    /// The totals that the span of an operation records.
    pub(super) fn totals(&self) -> [(&'static str, u64); 4] {
        let Self { bytes, lines, matches, skipped, .. } = *self;
        [("bytes", bytes), ("lines", lines), ("matches", matches), ("skipped", skipped)]
    }

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

/// Malformed records that were found before the results: among lines that a bitmap index left undecided.
#[derive(Clone, Debug, Default)]
pub struct Early {
    /// The number of records that were skipped.
    pub skipped: u64,
    /// The first of them.
    pub first: Option<RecordError>,
    /// The record at which the results end, and its line.
    pub fault: Option<(RecordError, Vec<u8>)>,
}
