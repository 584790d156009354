//! The size of a response, and the most that it may be.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cancel::Cancel;
use crate::metrics::Metrics;

/// The most of a response.
#[derive(Clone, Copy)]
pub struct Most {
    /// Lines of text, or rows of Flight SQL.
    pub rows: u64,
    pub bytes: u64,
}

/// The size of a response so far. A response that becomes too large ends its question.
pub struct Size {
    most: Most,
    rows: AtomicU64,
    bytes: AtomicU64,
    cancel: Cancel,
    metrics: Arc<Metrics>,
}

impl Size {
    pub fn new(most: Most, cancel: Cancel, metrics: Arc<Metrics>) -> Self {
        Self { most, rows: AtomicU64::new(0), bytes: AtomicU64::new(0), cancel, metrics }
    }

    /// Counts rows of the response.
    ///
    /// # Errors
    /// The response has too many.
    pub fn rows(&self, more: u64) -> io::Result<()> {
        self.metrics.rows.inc_by(more);
        self.up_to(&self.rows, more, self.most.rows, "lines")
    }

    /// Counts bytes of the response.
    ///
    /// # Errors
    /// The response has too many.
    pub fn bytes(&self, more: u64) -> io::Result<()> {
        self.metrics.bytes.inc_by(more);
        self.up_to(&self.bytes, more, self.most.bytes, "bytes")
    }

    fn up_to(&self, so_far: &AtomicU64, more: u64, most: u64, of: &str) -> io::Result<()> {
        if so_far.fetch_add(more, Ordering::Relaxed).saturating_add(more) <= most {
            return Ok(());
        }
        let why = format!("the response has more than {most} {of}, the most that this server gives");
        self.cancel.because(&why);
        Err(io::Error::other(why))
    }
}
