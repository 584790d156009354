//! Progress of a statement, and signals that end it.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use warpath_terminal::options::When;
use warpath_terminal::progress::Progress;

use super::messages::Failure;
use crate::report::Report;

/// The time between two looks at what is read.
const INTERVAL: Duration = Duration::from_millis(100);

/// The display of a statement's progress, by a thread of its own. It ends when this value is dropped.
pub struct Watch {
    /// The bytes of all scans, once they are planned; 0 before.
    total: Arc<AtomicU64>,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Watch {
    /// Starts the display. `is_shown` is true if rows are printed on the terminal while the query runs.
    pub fn start(when: When, report: &Arc<Report>, is_shown: bool) -> Self {
        let total = Arc::new(AtomicU64::new(0));
        let is_visible = match when {
            When::Never => false,
            When::Always => true,
            When::Auto => io::stderr().is_terminal() && !is_shown,
        };
        // Without a thread, there is no display.
        let thread = is_visible.then(|| {
            let (sender, receiver) = channel();
            let (report, total) = (report.clone(), total.clone());
            let show = move || {
                let mut progress = Progress::new(when, None, is_shown);
                let planned = || Some(total.load(Ordering::Relaxed)).filter(|total| *total > 0);
                while receiver.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    progress.expect(planned());
                    progress.update(report.bytes_read());
                }
                progress.expect(planned());
                progress.finish(report.bytes_read());
            };
            Some((sender, thread::Builder::new().spawn(show).ok()?))
        });
        Self { total, thread: thread.flatten() }
    }

    /// Says that a plan runs now. What was read before was for the schemas of its files.
    pub fn runs(&self, plan: &Arc<dyn ExecutionPlan>, report: &Report) {
        self.total.store(report.bytes_read() + bytes(plan), Ordering::Relaxed);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.thread.take() {
            drop(sender);
            // A panic of the thread has been reported, and is no reason to lose the rows.
            let _ = thread.join();
        }
    }
}

/// The bytes of all files that the scans of a plan read.
fn bytes(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let config = plan.downcast_ref::<DataSourceExec>().map(DataSourceExec::data_source);
    let config = config.and_then(|source| source.downcast_ref::<FileScanConfig>());
    let files = config.into_iter().flat_map(|config| config.file_groups.iter().flat_map(FileGroup::iter));
    let of_file = |file: &datafusion::datasource::listing::PartitionedFile| {
        file.range.as_ref().map_or(file.object_meta.size, |range| (range.end - range.start).unsigned_abs())
    };
    files.map(of_file).sum::<u64>() + plan.children().into_iter().map(bytes).sum::<u64>()
}

/// Waits for a signal that ends a statement.
#[cfg(unix)]
pub async fn signal() -> Failure {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut hangup), Ok(mut terminate)) = (signal(SignalKind::hangup()), signal(SignalKind::terminate()))
    else {
        let _ = tokio::signal::ctrl_c().await;
        return Failure::signalled(130);
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => Failure::signalled(130),
        _ = hangup.recv() => Failure::signalled(129),
        _ = terminate.recv() => Failure::signalled(143),
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
pub async fn signal() -> Failure {
    let _ = tokio::signal::ctrl_c().await;
    Failure::signalled(130)
}
