//! Reports of scans: malformed records, and values that columns did not take.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use warpath::columns::Tally;

/// Counts of records and values that scans left out, in all queries of a session since the last
/// [`take`](Self::take).
///
/// ```
/// use std::sync::Arc;
///
/// use warpath_sql::Options;
/// use warpath_sql::report::Report;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let report = Arc::new(Report::default());
/// let context = Options::default().context_with(&report)?;
/// assert!(report.take().columns.is_empty());
/// # drop(context);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Report {
    left_out: Mutex<LeftOut>,
    bytes: AtomicU64,
}

/// Records and values that are in no result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The malformed records that were skipped, by file.
    pub skipped: BTreeMap<String, u64>,
    /// The values that a column did not take, by column: they are null instead.
    pub columns: BTreeMap<String, Refused>,
    /// Things that a user should know, such as a schema that could not be kept.
    pub notes: Vec<String>,
}

/// Values that a column did not take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// The number of values.
    pub count: u64,
    /// The file and the line of one of them.
    pub first: Option<(String, u64)>,
}

impl Report {
    /// Returns the counts, and begins anew.
    #[must_use]
    pub fn take(&self) -> LeftOut {
        self.bytes.store(0, Ordering::Relaxed);
        std::mem::take(&mut self.inner())
    }

    /// The bytes of text that schemas and scans have read since the last [`take`](Self::take). Another thread
    /// may call this while a query runs.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Adds the counts of another report.
    ///
    /// ```
    /// use warpath_sql::report::{LeftOut, Report};
    ///
    /// let (report, mut other) = (Report::default(), LeftOut::default());
    /// other.skipped.insert("log.ndjson".into(), 2);
    /// report.add_all(other.clone());
    /// report.add_all(other);
    /// assert_eq!(report.take().skipped["log.ndjson"], 4);
    /// ```
    pub fn add_all(&self, other: LeftOut) {
        let LeftOut { skipped, columns, notes } = other;
        for (file, records) in skipped {
            self.skipped(&file, records);
        }
        for (column, Refused { count, first }) in columns {
            let mut inner = self.inner();
            let refused = inner.columns.entry(column).or_default();
            refused.count += count;
            refused.first = refused.first.take().or(first);
        }
        for note in notes {
            self.note(note);
        }
    }

    fn inner(&self) -> MutexGuard<'_, LeftOut> {
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts bytes of text. `before` is their number at the last call for the same input.
    pub(crate) fn read(&self, now: u64, before: &mut u64) {
        let more = now.saturating_sub(std::mem::replace(before, now));
        self.bytes.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn note(&self, note: String) {
        let mut inner = self.inner();
        if !inner.notes.contains(&note) {
            inner.notes.push(note);
        }
    }

    pub(crate) fn skipped(&self, file: &str, records: u64) {
        *self.inner().skipped.entry(file.to_owned()).or_default() += records;
    }

    /// Adds the values that columns of these names did not take. Returns their number. `lines` is the number
    /// of lines before those that the tally has counted. It is called only for a column that has no line yet;
    /// `None` reports no line.
    pub(crate) fn add(&self, names: &[String], tally: &Tally, lines: impl Fn(&str) -> Option<u64>) -> u64 {
        let mut all = 0;
        for (name, column) in names.iter().zip(&tally.columns) {
            let count = column.mismatch.count + column.overflow.count;
            if count > 0 {
                all += count;
                let is_new = {
                    let mut inner = self.inner();
                    let refused = inner.columns.entry(name.clone()).or_default();
                    refused.count += count;
                    refused.first.is_none()
                };
                let first = [&column.mismatch, &column.overflow].into_iter().find_map(|it| it.first.clone());
                if is_new && let (Some((file, line)), Some(before)) = (first, lines(name)) {
                    // Another scan may have reported a line meanwhile: any will do.
                    self.inner().columns.entry(name.clone()).or_default().first = Some((file, before + line));
                }
            }
        }
        all
    }
}
