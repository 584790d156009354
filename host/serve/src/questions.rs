//! The run of a command: its thread, its limits, its end.

use std::collections::HashMap;
use std::ffi::OsString;
use std::hash::{BuildHasher as _, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use datafusion::prelude::SessionContext;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::JoinHandle;
use warpath::{CancelToken, DeviceChoice};
use warpath_cli::{Inputs as _, Limits, Served};
use warpath_sql::cli::Failure as SqlFailure;
use warpath_sql::cli::served::Left;
use warpath_sql::report::Report;
use warpath_sql::{KnownParts, Names, Options};
use warpath_terminal::streams::{Client, Stream, Streams};

use crate::answer::{About, Form, HttpClient};
use crate::cancel::{Cancel, Guard};
use crate::loaded::Loaded;
use crate::metrics::Metrics;
use crate::size::{Most, Size};

/// Pieces of a body that wait to be sent.
const WAITING: usize = 8;

/// Items of a statement that wait to be sent.
const AHEAD: usize = 4;

/// The exit code of a fault of the program.
const FAULT: u8 = 5;

/// The message about a fault of the program.
const FAULTY: &str = "a fault of the server ended the command";

/// The settings of questions.
pub struct Settings {
    /// Questions that run at the same time, and those that wait.
    pub running: usize,
    pub queue: usize,
    /// Questions that follow their inputs.
    pub tails: usize,
    pub time: Duration,
    /// The time that a client has to read the end of a question that has taken too long.
    pub idle: Duration,
    pub most: Most,
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
    /// The footers of stores.
    known: KnownParts,
    running: Arc<Running>,
    /// Makes keys of the numbers of questions.
    keys: RandomState,
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

/// A question that runs, until this value is dropped.
struct Started {
    number: u64,
    command: &'static str,
    cancel: Cancel,
    /// The exit code, and whether the client was gone before the end.
    code: u8,
    is_closed: bool,
    since: Instant,
    timer: Option<JoinHandle<()>>,
    metrics: Arc<Metrics>,
    running: Arc<Running>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Started {
    /// Keeps how the question ended, before its client hears of it.
    fn end(&mut self, code: u8) {
        (self.code, self.is_closed) = (code, self.cancel.is_closed());
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.abort();
        }
        let status = match (self.cancel.reason(), self.is_closed, self.code) {
            (Some(_), ..) => "limit",
            (None, true, _) => "cancelled",
            (None, false, 0 | 1) => "ok",
            (None, false, _) => "error",
        };
        self.metrics.running.dec();
        self.metrics.ended(self.command, status, self.since.elapsed());
        self.running.all().remove(&self.number);
        drop(self.permit.take());
        self.running.ended.notify_waiters();
    }
}

/// The items of a statement, which come one after the other. The statement ends early if this value is
/// dropped.
pub struct Coming<T> {
    items: mpsc::Receiver<Result<T, SqlFailure>>,
    pub size: Arc<Size>,
    pub cancel: Cancel,
    _guard: Guard,
}

impl<T> Coming<T> {
    /// The next item, or the failure of the statement; `None` at its end.
    pub async fn next(&mut self) -> Option<Result<T, SqlFailure>> {
        self.items.recv().await
    }
}

/// The sender of the items of a statement.
pub struct Items<T> {
    sender: mpsc::Sender<Result<T, SqlFailure>>,
    size: Arc<Size>,
}

impl<T> Items<T> {
    /// Sends an item that has rows. Waits for a client that reads slowly.
    ///
    /// # Errors
    /// The response has too many rows, or the client is gone.
    pub async fn send(&self, item: T, rows: usize) -> Result<(), SqlFailure> {
        self.size.rows(rows as u64).map_err(SqlFailure::of_system)?;
        self.sender.send(Ok(item)).await.map_err(|_| SqlFailure::usage("the client is gone"))
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
    /// Ends the inputs that the question follows.
    pub key: u64,
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
            permits: Arc::new(Semaphore::new(settings.running)),
            tails: Arc::new(Semaphore::new(settings.tails)),
            settings,
            loaded,
            metrics,
            waiting: AtomicUsize::new(0),
            sql,
            known: KnownParts::default(),
            running: Arc::default(),
            keys: RandomState::new(),
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
        let is_tail = about.is_tail();
        let (mut started, ends, closed) = self.start(name_of(&about.arguments), is_tail).await?;
        let (cancel, key) = (started.cancel.clone(), self.key(started.number));
        let (sender, bytes) = mpsc::channel(WAITING);
        let (code, received) = oneshot::channel();
        let messages = Arc::default();
        let client = HttpClient {
            form,
            sender,
            closed,
            handle: Handle::current(),
            messages: Arc::clone(&messages),
            files: Arc::default(),
            size: self.size(&cancel),
            is_arrow: OnceLock::new(),
            about,
        };
        let question = Question {
            client: Arc::new(client),
            limits: Limits {
                cancel: cancel.token.clone(),
                end: cancel.end.clone(),
                reason: cancel.reason.clone(),
                memory: Some(self.settings.memory),
                workers: Some(self.settings.workers),
                device: self.settings.device.clone(),
            },
            sessions: self.sessions(&cancel),
            sql: self.sql.clone(),
            ends,
        };
        tokio::task::spawn_blocking(move || {
            let client = question.client.clone();
            let (number, left) = question.run();
            started.end(number);
            client.end(number);
            match left {
                None => {
                    drop(started);
                    // The receiver may be gone.
                    let _ = code.send(number);
                }
                Some(left) => {
                    // The client need not wait. The next question does.
                    let _ = code.send(number);
                    left.wait();
                    drop(started);
                }
            }
        });
        let guard = Guard(cancel.clone());
        Ok(Answer { bytes, code: received, ended: None, messages, cancel, key, _guard: guard })
    }

    /// Runs a statement of SQL: `work` gets a session, and sends items. It runs in threads of its own, and
    /// ends early if the items are dropped.
    ///
    /// # Errors
    /// [`TooMany`] if too many other questions run and wait.
    pub async fn statement<T, W>(
        &self,
        work: impl FnOnce(SessionContext, Items<T>) -> W + Send + 'static,
    ) -> Result<Coming<T>, TooMany>
    where
        T: Send + 'static,
        W: Future<Output = Result<(), SqlFailure>> + Send + 'static,
    {
        let (mut started, mut ends, mut closed) = self.start("sql", false).await?;
        let cancel = started.cancel.clone();
        let (size, sessions) = (self.size(&cancel), self.sessions(&cancel));
        let (sender, items) = mpsc::channel(AHEAD);
        let to = Items { sender: sender.clone(), size: size.clone() };
        let sql = self.sql.handle().clone();
        self.sql.spawn(async move {
            let mut is_over = true;
            // Another thread works, so that an end is seen whatever it does.
            let mut run = sql.spawn(async move {
                let context = sessions.open(Options::default(), &Arc::default())?;
                work(context, to).await
            });
            let done = tokio::select! {
                done = &mut run => done.unwrap_or_else(|_| {
                    Err(SqlFailure { code: FAULT, ..SqlFailure::usage(FAULTY) })
                }),
                failure = ends.recv() => {
                    run.abort();
                    is_over = false;
                    Err(failure.unwrap_or_else(|| SqlFailure::usage("the question was cancelled")))
                }
            };
            started.end(done.as_ref().map_or_else(|failure| failure.code, |()| 0));
            if let Err(failure) = done {
                tokio::select! {
                    // The receiver may be gone.
                    _ = sender.send(Err(failure)) => {}
                    _ = closed.wait_for(|is_closed| *is_closed) => {}
                }
            }
            if !is_over {
                // The client need not wait until the work has seen its end. The next question does.
                drop(sender);
                let _ = run.await;
            }
            // All items are sent before the question counts as ended.
            drop(started);
        });
        let guard = Guard(cancel.clone());
        Ok(Coming { items, size, cancel, _guard: guard })
    }

    /// Starts a question: it has a permit, a longest time, and an end before its time.
    async fn start(
        &self,
        command: &'static str,
        is_tail: bool,
    ) -> Result<(Started, UnboundedReceiver<SqlFailure>, watch::Receiver<bool>), TooMany> {
        let permit = self.permit(is_tail).await?;
        let (cancel, ends, closed) = Cancel::new(is_tail);
        let number = self.running.next.fetch_add(1, Ordering::Relaxed);
        self.running.all().insert(number, cancel.clone());
        self.metrics.running.inc();
        let started = Started {
            number,
            command,
            code: FAULT,
            is_closed: false,
            since: Instant::now(),
            timer: (!is_tail).then(|| tokio::spawn(end_late(cancel.clone(), &self.settings))),
            metrics: self.metrics.clone(),
            running: self.running.clone(),
            permit: Some(permit),
            cancel,
        };
        Ok((started, ends, closed))
    }

    /// The size of a response.
    fn size(&self, cancel: &Cancel) -> Arc<Size> {
        Arc::new(Size::new(self.settings.most, cancel.clone(), self.metrics.clone()))
    }

    /// The sessions of SQL.
    fn sessions(&self, cancel: &Cancel) -> Sessions {
        Sessions {
            cancel: cancel.token.clone(),
            loaded: self.loaded.clone(),
            device: self.settings.device.clone(),
            workers: self.settings.workers,
            memory: self.settings.memory,
            known: self.known.clone(),
        }
    }

    /// Ends the inputs that a question follows. Returns false if no such question runs.
    pub fn end_inputs(&self, key: u64) -> bool {
        let all = self.running.all();
        let question = all.iter().find(|(number, question)| question.is_tail && self.key(**number) == key);
        question.inspect(|(_, question)| question.end.end()).is_some()
    }

    /// The key of a question, which only its client knows.
    fn key(&self, number: u64) -> u64 {
        self.keys.hash_one(number)
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

/// Makes sessions of SQL over the inputs of the server.
struct Sessions {
    cancel: CancelToken,
    loaded: Arc<Loaded>,
    device: DeviceChoice,
    workers: usize,
    memory: usize,
    known: KnownParts,
}

impl Sessions {
    /// A session with these options, within the limits of the server.
    fn open(self, mut options: Options, report: &Arc<Report>) -> Result<SessionContext, SqlFailure> {
        let Self { cancel, loaded, device, workers, memory, known } = self;
        (options.cancel, options.known) = (Some(cancel), Some(known));
        options.device = device;
        options.workers = options.workers.min(workers);
        options.memory = Some(options.memory.map_or(memory, |asked| asked.min(memory)));
        let resident = loaded.resident().clone();
        let all = loaded.names().iter().map(|name| name.display().to_string()).collect();
        options.names = Some(Names::new(all, move |name| loaded.location(name)));
        let current = Arc::new(move || resident.current());
        options.context_over(report, current).map_err(|error| SqlFailure::of_query(error, ""))
    }
}

/// A command that runs.
struct Question {
    client: Arc<HttpClient>,
    limits: Limits,
    sessions: Sessions,
    sql: Arc<Runtime>,
    ends: UnboundedReceiver<SqlFailure>,
}

impl Question {
    /// Runs the command. Returns its exit code, and the work that is left of a statement of SQL.
    fn run(self) -> (u8, Option<Left>) {
        let client = self.client.clone();
        catch_unwind(AssertUnwindSafe(|| self.unprotected())).unwrap_or_else(|_| {
            let text = match client.form {
                Form::Frames => format!("error: {FAULTY}\n"),
                Form::Output | Form::File => {
                    format!("{{\"kind\":\"error\",\"message\":\"{FAULTY}\"}}\n")
                }
            };
            // A client that is gone misses nothing.
            let _ = client.write(Stream::Error, text.as_bytes());
            (FAULT, None)
        })
    }

    fn unprotected(self) -> (u8, Option<Left>) {
        let Self { client, limits, sessions, sql, ends } = self;
        let arguments = client.about.arguments.clone();
        if arguments.first().is_some_and(|first| first == "sql") {
            let open = |options: Options, report: &Arc<Report>| sessions.open(options, report);
            let run = || warpath_sql::cli::served::run(&arguments[1..], sql, ends, open);
            return Streams::of(client).run(run);
        }
        (Served { client, inputs: sessions.loaded, limits }.run(&arguments), None)
    }
}
