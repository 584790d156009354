//! The limits of a run: cancellation, time and memory.

use std::time::{Duration, Instant};

use warpath_core::cancel::{CancelToken, Interrupt};

/// The limits of the runs of an engine, or of one input.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunLimits {
    interrupt: Interrupt,
    timeout: Option<Duration>,
    memory: Option<usize>,
    record: Option<usize>,
}

/// The sizes of a run that stays in its memory budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    pub partition_size: usize,
    pub workers: usize,
    /// The most bytes of one text.
    pub text: usize,
}

impl RunLimits {
    pub fn add_token(&mut self, token: &CancelToken) {
        self.interrupt.add_token(token);
    }

    pub fn add_deadline(&mut self, deadline: Instant) {
        self.interrupt.add_deadline(deadline);
    }

    pub fn add_timeout(&mut self, timeout: Duration) {
        self.timeout = Some(self.timeout.map_or(timeout, |before| before.min(timeout)));
    }

    pub fn add_memory(&mut self, memory: usize) {
        self.memory = Some(self.memory.map_or(memory, |before| before.min(memory)));
    }

    pub fn add_record(&mut self, bytes: usize) {
        self.record = Some(self.record.map_or(bytes, |before| before.min(bytes)));
    }

    /// The most bytes of a record.
    pub fn record(&self) -> Option<usize> {
        self.record
    }

    /// The memory budget, in bytes.
    pub fn memory(&self) -> Option<usize> {
        self.memory
    }

    /// The interrupt of a run that begins now.
    pub fn begin(&self) -> Interrupt {
        let mut interrupt = self.interrupt.for_other_work();
        // A time beyond the clock is no deadline.
        if let Some(deadline) = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout)) {
            interrupt.add_deadline(deadline);
        }
        interrupt
    }

    /// The sizes that keep a run in the budget, at most these. `None` without a budget.
    ///
    /// At most two texts for each worker are in memory, and one that the caller uses. Each of them takes one
    /// share, and its index and results are counted as another one.
    pub fn shares(&self, partition_size: usize, workers: usize) -> Option<Shares> {
        let memory = self.memory?;
        let share = |workers: usize| memory / (2 * (2 * workers + 1));
        // Fewer workers come before shorter partitions. A buffer grows to twice its length for a long line.
        let workers = (1..=workers).rev().find(|workers| share(*workers) >= 2 * partition_size).unwrap_or(1);
        let text = share(workers).max(1);
        Some(Shares { partition_size: partition_size.min(text / 2).max(1), workers, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_a_run_stay_in_the_budget() {
        for partition_size in [1, 1000, 1 << 20, 1 << 26] {
            for workers in [1, 2, 7, 64] {
                let mut limits = RunLimits::default();
                assert_eq!(limits.shares(partition_size, workers), None);
                limits.add_memory(usize::MAX / 4);
                let all = Shares { partition_size, workers, text: usize::MAX / 4 / (4 * workers + 2) };
                assert_eq!(limits.shares(partition_size, workers), Some(all));
                for memory in [12, 1000, 1 << 16, 1 << 20, 1 << 24, 1 << 30] {
                    limits.add_memory(memory);
                    let shares = limits.shares(partition_size, workers).unwrap();
                    assert!(shares.text * 2 * (2 * shares.workers + 1) <= memory, "{shares:?}");
                    assert!((1..=workers).contains(&shares.workers));
                    assert!((1..=partition_size).contains(&shares.partition_size));
                    assert!(2 * shares.partition_size <= shares.text || shares.partition_size == 1);
                    limits = RunLimits::default();
                }
            }
        }
    }
}
