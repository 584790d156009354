//! The socket, connections and their end.

use std::io::{self, Cursor, Write as _};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Mutex, Semaphore, watch};
use warpath::store::Store;
use warpath_cli::Inputs as _;
use warpath_terminal::messages::Ui;

use crate::append::Appends;
use crate::args::Args;
use crate::failure::Failure;
use crate::guard::{Guard, LEAST_TOKEN};
use crate::http::{Server, router};
use crate::loaded::Loaded;
use crate::metrics::Metrics;
use crate::questions::{Questions, Settings};
use crate::resident::{LeftOut, Resident};
use crate::size::Most;

/// The stack of a thread that runs commands or SQL: both descend into each term of a condition. The system
/// gives memory for what is used alone.
const STACK: usize = 64 << 20;

/// The most bytes of the head of a request.
const MOST_HEAD: usize = 64 << 10;

/// The time before another connection is accepted if the system has no descriptor left.
const PAUSE: Duration = Duration::from_millis(50);

/// The time for the last bytes of responses after all questions were ended.
const LAST: Duration = Duration::from_millis(500);

/// The variable that has the token.
const TOKEN: &str = "WARPATH_TOKEN";

/// Serves until a signal ends the server.
///
/// # Errors
/// Inputs that cannot be read, an address that cannot be had, and a token that is missing or too short.
pub fn serve(args: Args, ui: &Ui) -> Result<(), Failure> {
    let token = token(args.token_file.as_deref())?;
    let is_loopback = args.listen.ip().is_loopback();
    if !is_loopback && token.is_none() {
        return Err(Failure::new(format!("{}: other machines reach this address", args.listen.ip()))
            .with_help("set a token by `--token-file FILE` or WARPATH_TOKEN, or listen on 127.0.0.1"));
    }
    // Each connection takes a descriptor. Without more of them, fewer connections are accepted.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    // Each question opens the stores that it names.
    Store::remember_versions();
    let resident = Resident::new(args.load.unwrap_or_else(half_of_memory), &args.device);
    let resident = resident.map_err(|error| Failure::new(error.chain()))?;
    let loaded = Arc::new(Loaded::new(args.inputs.clone(), Arc::new(resident))?);
    let left_out = loaded.load();
    for LeftOut { name, why } in left_out.iter().take(MOST_LEFT_OUT) {
        ui.warning(format_args!("{name} is read for each question, because it is not loaded: {why}"));
    }
    if let Some(more) = left_out.len().checked_sub(MOST_LEFT_OUT).filter(|more| *more > 0) {
        ui.warning(format_args!("so are {more} more files"));
    }
    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    let runtime = |name: &str| {
        let mut builder = Builder::new_multi_thread();
        builder.thread_name(name).thread_stack_size(STACK).enable_all();
        builder.build().map_err(|error| Failure::new(format!("no thread can be started: {error}")))
    };
    let (runtime, sql) = (runtime("serve")?, Arc::new(runtime("sql")?));
    let metrics = Arc::new(Metrics::default());
    let settings = Settings {
        running: args.questions.unwrap_or(cores.max(4)),
        queue: args.queue,
        tails: args.tails,
        time: args.time,
        idle: args.idle,
        most: Most { rows: args.rows, bytes: args.answer },
        memory: args.memory,
        device: args.device.clone(),
        workers: cores,
    };
    let server = Arc::new(Server {
        guard: Guard { token, is_loopback },
        questions: Questions::new(settings, loaded.clone(), metrics.clone(), sql.clone()),
        appends: Appends {
            is_writable: args.writable,
            most: args.append,
            idle: args.idle,
            turn: Arc::new(Mutex::default()),
            ui: ui.clone(),
        },
        loaded,
        metrics,
        body: usize::try_from(args.body).unwrap_or(usize::MAX),
        idle: args.idle,
        started: Instant::now(),
    });
    let served = runtime.block_on(listen(&args, server, ui));
    // Threads that wait for a client that is gone are not waited for.
    runtime.shutdown_background();
    end_sql(sql);
    served
}

/// The most files that are not loaded and are named at the start.
const MOST_LEFT_OUT: usize = 5;

/// Half of the memory that this process may use, in bytes; 1 GiB if it is not known.
fn half_of_memory() -> usize {
    /// The memory of the machine, and the limit of the control group of a container.
    const FILES: [&str; 2] = ["/proc/meminfo", "/sys/fs/cgroup/memory.max"];

    let number = |path: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        let (text, unit) = match text.strip_prefix("MemTotal:") {
            Some(rest) => (rest.lines().next()?.trim_end_matches("kB"), 1 << 10),
            None => (text.as_str(), 1),
        };
        text.trim().parse::<u64>().ok()?.checked_mul(unit)
    };
    let bytes = FILES.into_iter().filter_map(number).min().unwrap_or(2 << 30);
    usize::try_from(bytes / 2).unwrap_or(usize::MAX)
}

/// Ends the threads of SQL, if no statement holds them any more. Otherwise the process ends them.
fn end_sql(sql: Arc<Runtime>) {
    if let Some(sql) = Arc::into_inner(sql) {
        sql.shutdown_background();
    }
}

/// The token of the file, or else of the environment.
fn token(file: Option<&Path>) -> Result<Option<String>, Failure> {
    let token = match file {
        Some(path) => {
            let text = std::fs::read_to_string(path);
            Some(text.map_err(|error| Failure::new(format!("{}: {error}", path.display())))?)
        }
        None => std::env::var(TOKEN).ok(),
    };
    let token = token.map(|token| token.trim().to_owned());
    match token {
        Some(token) if token.is_empty() && file.is_none() => Ok(None),
        Some(token) if token.len() < LEAST_TOKEN => {
            Err(Failure::new(format!("the token has fewer than {LEAST_TOKEN} characters"))
                .with_help("`openssl rand -hex 32` makes one"))
        }
        Some(token) if !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err(Failure::new("the token has characters that a header does not have"))
        }
        token => Ok(token),
    }
}

/// Accepts connections until a signal comes. Then the questions that run get some time to end.
async fn listen(args: &Args, server: Arc<Server>, ui: &Ui) -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("{}: {error}", args.listen));
    // Before the address is printed: whoever reads it may send a signal.
    let mut signals = Signals::new().map_err(failed)?;
    let listener = TcpListener::bind(args.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let names: Vec<String> = server.loaded.names().iter().map(|name| name.display().to_string()).collect();
    ui.note(format_args!("serving {}; Ctrl-C ends it", names.join(", ")));
    let mut out = io::stdout();
    // The server serves whether somebody reads the address or not.
    let _ = writeln!(out, "http://{address}").and_then(|()| out.flush());
    let connections = Arc::new(Semaphore::new(args.connections));
    let graceful = GracefulShutdown::new();
    let (ending, end) = watch::channel(false);
    let speaks = Speaks::new(router(server.clone()), args.idle);
    loop {
        let accepted = async {
            let permit = connections.clone().acquire_owned().await;
            (listener.accept().await, permit)
        };
        let (stream, permit) = tokio::select! {
            accepted = accepted => match accepted {
                (Ok((stream, _)), Ok(permit)) => (stream, permit),
                (Err(error), _) => {
                    // A connection that ended before it was accepted, or no descriptor is left.
                    ui.warning(format_args!("a connection was not accepted: {error}"));
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                (Ok(_), Err(_)) => continue,
            },
            () = signals.next() => break,
        };
        // Answers are often short, and their client waits for them.
        let _ = stream.set_nodelay(true);
        let metrics = server.metrics.clone();
        metrics.connections.inc();
        let (speaks, watcher, end) = (speaks.clone(), graceful.watcher(), end.clone());
        tokio::spawn(async move {
            speaks.with(stream, watcher, end).await;
            metrics.connections.dec();
            drop(permit);
        });
    }
    drop(listener);
    ending.send_replace(true);
    server.questions.end_tails();
    let mut ended = pin!(async {
        graceful.shutdown().await;
        server.questions.ended().await;
        server.appends.ended().await;
    });
    tokio::select! {
        () = &mut ended => return Ok(()),
        () = tokio::time::sleep(args.grace) => {}
        () = signals.next() => {}
    }
    server.questions.end_all();
    tokio::select! {
        () = server.questions.ended() => {}
        () = tokio::time::sleep(args.grace) => {}
        () = signals.next() => {}
    }
    // Clients that read get the ends of their responses.
    tokio::select! {
        () = &mut ended => {}
        () = tokio::time::sleep(LAST) => {}
        () = signals.next() => {}
    }
    Ok(())
}

/// The first bytes of a connection of HTTP/2 (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The protocols of connections: HTTP/1.1, and HTTP/2 for clients of Flight SQL, which begin with it.
#[derive(Clone)]
struct Speaks {
    service: TowerToHyperService<Router>,
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    idle: Duration,
}

impl Speaks {
    fn new(router: Router, idle: Duration) -> Self {
        let mut http1 = http1::Builder::new();
        http1.timer(TokioTimer::new()).header_read_timeout(idle).max_buf_size(MOST_HEAD);
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        // A client that does not answer a ping is gone.
        http2.timer(TokioTimer::new()).keep_alive_interval(idle).keep_alive_timeout(idle);
        http2.max_header_list_size(MOST_HEAD as u32);
        Self { service: TowerToHyperService::new(router), http1, http2, idle }
    }

    /// Serves a connection to its end. Clients that send no HTTP, or are gone, miss nothing, so that failures
    /// are not reported.
    async fn with(&self, mut stream: TcpStream, watcher: Watcher, mut end: watch::Receiver<bool>) {
        let begin = tokio::select! {
            begin = tokio::time::timeout(self.idle, beginning(&mut stream)) => begin,
            // No request has come, so that no client waits.
            _ = end.wait_for(|is_ending| *is_ending) => return,
        };
        let Ok(Ok(begin)) = begin else { return };
        let is_http2 = begin == PREFACE;
        let (reader, writer) = stream.into_split();
        let stream = TokioIo::new(tokio::io::join(Cursor::new(begin).chain(reader), writer));
        let _ = match is_http2 {
            true => watcher.watch(self.http2.serve_connection(stream, self.service.clone())).await,
            false => watcher.watch(self.http1.serve_connection(stream, self.service.clone())).await,
        };
    }
}

/// The first bytes of a connection: as many as show whether it begins with [`PREFACE`].
async fn beginning(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = [0; PREFACE.len()];
    let mut len = 0;
    while len < PREFACE.len() && bytes[..len] == PREFACE[..len] {
        match stream.read(&mut bytes[len..]).await? {
            0 => break,
            read => len += read,
        }
    }
    Ok(bytes[..len].to_vec())
}

/// The signals that end the server.
struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    async fn next(&mut self) {
        // Without a handler, the system ends the process.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
