//! Other versions of stores, as they come.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Says when a store has another version.
#[derive(Default)]
pub struct Changes {
    count: Mutex<u64>,
    changed: Condvar,
}

impl Changes {
    /// Says that a store has another version.
    pub fn tell(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }

    /// The number of changes so far.
    pub fn count(&self) -> u64 {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change after this one, and no longer than a time: other programs change stores, too.
    pub fn wait(&self, after: u64, longest: Duration) {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(count, longest, |count| *count == after);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}
