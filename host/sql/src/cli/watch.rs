//! Progress of a statement, and signals that end it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use warpath_terminal::options::When;
use warpath_terminal::progress::Progress;
use warpath_terminal::streams::{Stream, Streams};

use super::messages::Failure;
use crate::report::Report;

/// The time between two looks at what is read.
const INTERVAL: Duration = Duration::from_millis(100);

/// The bytes of all scans of a statement, once they are planned; 0 before.
#[derive(Clone, Default)]
pub struct Total(Arc<AtomicU64>);

impl Total {
    /// Says that a plan runs now. What was read before was for the schemas of its files.
    pub fn expect(&self, plan: &Arc<dyn ExecutionPlan>, report: &Report) {
        self.0.store(report.bytes_read() + bytes(plan), Ordering::Relaxed);
    }
}

/// The display of a statement's progress, by a thread of its own. It ends when this value is dropped.
pub struct Watch {
    total: Total,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Watch {
    /// Starts the display. `is_shown` is true if rows are printed on the terminal while the query runs.
    pub fn start(when: When, report: &Arc<Report>, is_shown: bool) -> Self {
        let (total, streams) = (Total::default(), Streams::current());
        let is_visible = match when {
            When::Never => false,
            When::Always => true,
            When::Auto => streams.client().is_none() && streams.is_terminal(Stream::Error) && !is_shown,
        };
        // Without a thread, there is no display.
        let thread = is_visible.then(|| {
            let (sender, receiver) = channel();
            let (report, total) = (report.clone(), total.clone());
            let show = move || {
                let mut progress = Progress::new(when, None, is_shown);
                let planned = || Some(total.0.load(Ordering::Relaxed)).filter(|total| *total > 0);
                while receiver.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    progress.expect(planned());
                    progress.update(report.bytes_read());
                }
                progress.expect(planned());
                progress.finish(report.bytes_read());
            };
            Some((sender, thread::Builder::new().spawn(|| streams.run(show)).ok()?))
        });
        Self { total, thread: thread.flatten() }
    }

    /// The bytes that are expected.
    pub fn total(&self) -> Total {
        self.total.clone()
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

/// The signals that end a statement. A thread waits for them, because those that evaluate may be busy for
/// long, and no other one then looks at signals.
pub struct Signals {
    received: UnboundedReceiver<Failure>,
    is_running: Arc<AtomicBool>,
}

impl Signals {
    /// Begins to wait.
    ///
    /// # Errors
    /// The system has no thread or no descriptor left.
    pub fn wait() -> io::Result<Self> {
        let (sender, received) = unbounded_channel();
        let is_running = Arc::new(AtomicBool::new(false));
        let running = is_running.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || forward(&sender, &running))?;
        Ok(Self { received, is_running })
    }

    /// Failures that another part of the process sends, in place of signals.
    pub fn of(received: UnboundedReceiver<Failure>) -> Self {
        Self { received, is_running: Arc::default() }
    }

    /// The failure of a statement that a signal ends. While this is awaited, the first signal ends it; every
    /// other signal ends the process.
    pub async fn next(&mut self) -> Failure {
        self.is_running.store(true, Ordering::SeqCst);
        match self.received.recv().await {
            Some(failure) => failure,
            None => std::future::pending().await,
        }
    }

    /// Says that no statement runs.
    pub fn end(&self) {
        self.is_running.store(false, Ordering::SeqCst);
    }
}

/// Hands signals on while a statement runs.
#[cfg(unix)]
fn forward(sender: &UnboundedSender<Failure>, is_running: &AtomicBool) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level;

    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else { return };
    for signal in signals.forever() {
        let code = 128 + signal;
        if !is_running.swap(false, Ordering::SeqCst) || sender.send(Failure::signalled(code as u8)).is_err() {
            // No output is begun or finished from now on.
            let _unfinished = warpath::remove_unfinished();
            low_level::exit(code);
        }
    }
}

/// The system ends the process itself.
#[cfg(not(unix))]
fn forward(_: &UnboundedSender<Failure>, _: &AtomicBool) {}
