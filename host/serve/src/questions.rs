//! The run of a command: its thread, its limits, its end.

use std::collections::HashMap;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use warpath::DeviceChoice;
use warpath_cli::{Limits, Served};
use warpath_sql::Names;
use warpath_sql::cli::Failure as SqlFailure;
use warpath_terminal::streams::{Client, Stream, Streams};

use crate::answer::{About, Form, HttpClient};
use crate::cancel::{Cancel, Guard};
use crate::loaded::Loaded;
use crate::metrics::Metrics;

/// Pieces of a body that wait to be sent.
const WAITING: usize = 8;

/// The exit code of a fault of the program.
const FAULT: u8 = 5;

/// The settings of questions.
pub struct Settings {
    /// Questions that run at the same time, and those that wait.
    pub most: usize,
    pub queue: usize,
    /// Questions that follow their inputs.
    pub tails: usize,
    pub time: Duration,
    /// The time that a client has to read the end of a question that has taken too long.
    pub idle: Duration,
    pub rows: u64,
    pub memory: usize,
    pub device: DeviceChoice,
    /// The most threads that a question may want.
    pub workers: usize,
}

/// The questions of a server.
pub struct Questions {
    settings: Settings,
    loaded: Arc<Loaded>,
    metrics: Arc<Metrics>,
    permits: Arc<Semaphore>,
    tails: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// The threads that evaluate SQL.
    sql: Arc<Runtime>,
    running: Arc<Running>,
}

/// The questions that run.
#[derive(Default)]
struct Running {
    next: AtomicU64,
    questions: Mutex<HashMap<u64, Cancel>>,
    ended: Notify,
}

impl Running {
    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Cancel>> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A response that comes.
pub struct Answer {
    bytes: mpsc::Receiver<Bytes>,
    code: oneshot::Receiver<u8>,
    ended: Option<u8>,
    /// Messages, if they are no frames.
    pub messages: Arc<Mutex<Vec<u8>>>,
    pub cancel: Cancel,
    _guard: Guard,
}

impl Answer {
    /// The next bytes of the body; `None` at its end.
    pub async fn next(&mut self) -> Option<Bytes> {
        if self.ended.is_none() {
            // Threads of a statement that was ended may hold the other side a little longer.
            tokio::select! {
                biased;
                bytes = self.bytes.recv() => if bytes.is_some() {
                    return bytes;
                },
                code = &mut self.code => self.ended = Some(code.unwrap_or(FAULT)),
            }
        }
        if self.ended.is_none() {
            self.ended = Some((&mut self.code).await.unwrap_or(FAULT));
        }
        self.bytes.try_recv().ok()
    }

    /// The exit code, once the body has ended.
    pub fn code(&self) -> u8 {
        self.ended.unwrap_or(FAULT)
    }
}

/// Too many questions run and wait.
pub struct TooMany;

/// Counts a question that waits.
struct Waits<'a>(&'a Questions);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
        self.0.metrics.waiting.dec();
    }
}

impl Questions {
    /// Questions about inputs. `sql` evaluates statements.
    pub fn new(settings: Settings, loaded: Arc<Loaded>, metrics: Arc<Metrics>, sql: Arc<Runtime>) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(settings.most)),
            tails: Arc::new(Semaphore::new(settings.tails)),
            settings,
            loaded,
            metrics,
            waiting: AtomicUsize::new(0),
            sql,
            running: Arc::default(),
        }
    }

    /// Waits until a question may run.
    async fn permit(&self, is_tail: bool) -> Result<OwnedSemaphorePermit, TooMany> {
        if is_tail {
            return self.tails.clone().try_acquire_owned().map_err(|_| TooMany);
        }
        if let Ok(permit) = self.permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        self.metrics.waiting.inc();
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waits = Waits(self);
        if before >= self.settings.queue {
            return Err(TooMany);
        }
        self.permits.clone().acquire_owned().await.map_err(|_| TooMany)
    }

    /// Runs a command. The question ends early if the response is dropped.
    ///
    /// # Errors
    /// [`TooMany`] if too many other questions run and wait.
    pub async fn ask(&self, about: About, form: Form) -> Result<Answer, TooMany> {
        let is_tail = about.arguments.iter().any(|word| {
            word.to_str().is_some_and(|word| word == "--follow" || word.starts_with("--follow="))
        });
        let permit = self.permit(is_tail).await?;
        let (cancel, ends, closed) = Cancel::new(is_tail);
        let (sender, bytes) = mpsc::channel(WAITING);
        let (code, received) = oneshot::channel();
        let messages = Arc::default();
        let command = name_of(&about.arguments);
        let client = HttpClient {
            form,
            sender,
            closed,
            handle: Handle::current(),
            messages: Arc::clone(&messages),
            cancel: cancel.clone(),
            most_rows: self.settings.rows,
            rows: AtomicU64::new(0),
            files: Arc::default(),
            metrics: self.metrics.clone(),
            about,
        };
        let number = self.running.next.fetch_add(1, Ordering::Relaxed);
        self.running.all().insert(number, cancel.clone());
        let question = Question {
            client: Arc::new(client),
            loaded: self.loaded.clone(),
            limits: Limits {
                cancel: cancel.token.clone(),
                reason: cancel.reason.clone(),
                memory: Some(self.settings.memory),
                workers: Some(self.settings.workers),
                device: self.settings.device.clone(),
            },
            device: self.settings.device.clone(),
            sql: self.sql.clone(),
            ends,
        };
        let timer = (!is_tail).then(|| tokio::spawn(end_late(cancel.clone(), &self.settings)));
        let (metrics, running, ended) = (self.metrics.clone(), self.running.clone(), cancel.clone());
        metrics.running.inc();
        tokio::task::spawn_blocking(move || {
            let started = Instant::now();
            let client = question.client.clone();
            let number_of_end = question.run();
            if let Some(timer) = timer {
                timer.abort();
            }
            let status = match (ended.reason(), ended.is_closed(), number_of_end) {
                (Some(_), ..) => "limit",
                (None, true, _) => "cancelled",
                (None, false, 0 | 1) => "ok",
                (None, false, _) => "error",
            };
            metrics.ended(command, status, started.elapsed());
            metrics.running.dec();
            client.end(number_of_end);
            running.all().remove(&number);
            drop(permit);
            running.ended.notify_waiters();
            // The receiver may be gone.
            let _ = code.send(number_of_end);
        });
        let guard = Guard(cancel.clone());
        Ok(Answer { bytes, code: received, ended: None, messages, cancel, _guard: guard })
    }

    /// Ends the questions that follow their inputs, which would not end.
    pub fn end_tails(&self) {
        let all: Vec<Cancel> = self.running.all().values().cloned().collect();
        for question in all.iter().filter(|question| question.is_tail) {
            question.because("the server ends");
            question.cancel();
        }
    }

    /// Ends all questions.
    pub fn end_all(&self) {
        let all: Vec<Cancel> = self.running.all().values().cloned().collect();
        for question in &all {
            question.because("the server ends");
            question.close();
        }
    }

    /// Waits until no question runs.
    pub async fn ended(&self) {
        loop {
            let ended = self.running.ended.notified();
            if self.running.all().is_empty() {
                return;
            }
            ended.await;
        }
    }
}

/// Ends a question after the longest time that it may take.
fn end_late(cancel: Cancel, settings: &Settings) -> impl Future<Output = ()> + Send + use<> {
    let (time, idle) = (settings.time, settings.idle);
    async move {
        tokio::time::sleep(time).await;
        let seconds = time.as_secs_f64();
        cancel
            .because(&format!("the question took longer than {seconds} s, the most that this server allows"));
        cancel.cancel();
        tokio::time::sleep(idle).await;
        // The client does not read.
        cancel.close();
    }
}

/// The name of a command, for metrics.
fn name_of(arguments: &[OsString]) -> &'static str {
    let names = [
        "query", "select", "count-by", "distinct", "stats", "head", "sample", "validate", "schema", "filter",
        "explain", "sql",
    ];
    let name = arguments.first().and_then(|name| name.to_str()).unwrap_or_default();
    names.into_iter().find(|known| *known == name).unwrap_or("other")
}

/// A command that runs.
struct Question {
    client: Arc<HttpClient>,
    loaded: Arc<Loaded>,
    limits: Limits,
    device: DeviceChoice,
    sql: Arc<Runtime>,
    ends: UnboundedReceiver<SqlFailure>,
}

impl Question {
    /// Runs the command, and returns its exit code.
    fn run(self) -> u8 {
        let client = self.client.clone();
        catch_unwind(AssertUnwindSafe(|| self.unprotected())).unwrap_or_else(|_| {
            let text: &[u8] = match client.form {
                Form::Frames => b"error: a fault of the server ended the command\n",
                Form::Output | Form::File => {
                    b"{\"kind\":\"error\",\"message\":\"a fault of the server ended the command\"}\n"
                }
            };
            // A client that is gone misses nothing.
            let _ = client.write(Stream::Error, text);
            FAULT
        })
    }

    fn unprotected(self) -> u8 {
        let arguments = self.client.about.arguments.clone();
        if arguments.first().is_some_and(|first| first == "sql") {
            return self.sql(&arguments[1..]);
        }
        let served = Served { client: self.client, inputs: self.loaded, limits: self.limits };
        served.run(&arguments)
    }

    fn sql(self, arguments: &[OsString]) -> u8 {
        let Self { client, loaded, limits, device, sql, ends } = self;
        let open = |mut options: warpath_sql::Options, report: &Arc<_>| {
            options.device = device;
            options.workers = options.workers.min(limits.workers.unwrap_or(usize::MAX));
            options.memory = options.memory.min(limits.memory).or(limits.memory);
            let resident = loaded.resident().clone();
            options.names = Some(Names::new(move |name| loaded.location(name)));
            let current = Arc::new(move || resident.current());
            options.context_over(report, current).map_err(|error| SqlFailure::of_query(error, ""))
        };
        Streams::of(client).run(|| warpath_sql::cli::served::run(arguments, sql, ends, open))
    }
}
