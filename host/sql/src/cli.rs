//! The command line of SQL, for the programs that have it.
//!
//! | module | contents |
//! |---|---|
//! | `args` | options |
//! | `statements` | the text of statements, run one after the other |
//! | `output` | rows as a table, NDJSON, CSV, Arrow or Parquet |
//! | `shell` | the interactive shell |
//! | `watch` | progress, and signals that end a statement |
//! | [`served`] | a command line that a server runs for a client |
//! | `messages` | failures with their positions and exit codes, and reports |

mod args;
mod depth;
mod messages;
mod output;
pub mod served;
mod shell;
mod statements;
mod watch;

use std::collections::BTreeSet;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use datafusion::prelude::SessionContext;
use tokio::runtime::Runtime;
#[cfg(unix)]
use warpath_terminal::memory;
use warpath_terminal::messages::Ui;
use warpath_terminal::streams::Streams;

use crate::options::Options;
use crate::report::Report;
use statements::Session;

pub use args::{Args, EngineArgs};
pub use messages::Failure;

/// Runs the program `warpath-sql`. Reports its failure on standard error, and returns its exit code.
pub fn main() -> ExitCode {
    let args: Args = match parsed() {
        Ok(args) => args,
        Err(code) => return code,
    };
    let ui = Ui::of(&args.messages);
    end_if_the_system_refuses();
    let open = |_: &Runtime, options: &Options, report: &Arc<Report>| {
        options.context_with(report).map_err(|error| Failure::of_query(error, ""))
    };
    ended(run(&args, &ui, open), &ui)
}

/// Ends the program with a message if an allocation fails, or if tokio cannot start a thread, which is a
/// panic there. A panic of one of its threads would leave the others waiting.
pub fn end_if_the_system_refuses() {
    #[cfg(unix)]
    {
        // A failure is no error here: the program then aborts all the same, without the message.
        let _ = memory::end_if_none_is_left(LESS);
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let message = panic.payload_as_str().unwrap_or_default();
            if let Some(error) = message.strip_prefix("OS can't spawn worker thread: ") {
                memory::end_with(format_args!("no thread can be started: {error}"), 2);
            }
            report(panic);
        }));
    }
}

/// The advice where memory is short.
const LESS: &str = "`--workers 1` takes less memory";

/// The arguments of a program. Shows help, and mistakes in arguments.
///
/// # Errors
/// The exit code of the program, which is to end.
pub fn parsed<A: Parser>() -> Result<A, ExitCode> {
    A::try_parse().map_err(|error| {
        // Nothing is left to be done if the message cannot be written.
        let _ = error.print();
        ExitCode::from(if error.use_stderr() { 2 } else { 0 })
    })
}

/// The exit code of a run. Reports its failure on standard error.
pub fn ended(run: Result<(), Failure>, ui: &Ui) -> ExitCode {
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report(ui);
            failure.exit_code()
        }
    }
}

/// The stack of a thread that evaluates: DataFusion descends into each term of a condition. The system gives
/// memory for what is used alone.
const STACK: usize = 64 << 20;

/// Runs the statements of arguments, or the shell, in the session that `open` makes.
///
/// # Errors
/// The failure of a statement, of `open`, or of a file of statements.
pub fn run(
    args: &Args,
    ui: &Ui,
    open: impl FnOnce(&Runtime, &Options, &Arc<Report>) -> Result<SessionContext, Failure>,
) -> Result<(), Failure> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(args.engine.threads()).thread_stack_size(STACK).enable_all();
    let refused = |error| Failure::usage(format!("the runtime cannot be started: {error}"));
    let runtime = runtime.build().map_err(refused)?;
    let report = Arc::new(Report::default());
    let context = open(&runtime, &args.options(), &report)?;
    let signals = watch::Signals::wait()
        .map_err(|error| Failure::usage(format!("no thread can be started: {error}")).with_help(LESS))?;
    let mut session = session(args, ui, runtime.into(), context, report, signals)?;
    let done = all(args, &mut session);
    if done.as_ref().is_err_and(Failure::is_signal) {
        session.give_up();
    }
    done
}

/// The session of a command line.
fn session(
    args: &Args,
    ui: &Ui,
    runtime: Arc<Runtime>,
    context: SessionContext,
    report: Arc<Report>,
    signals: watch::Signals,
) -> Result<Session, Failure> {
    Ok(Session {
        runtime,
        context,
        report,
        format: args.format()?,
        output: args.output.clone(),
        progress: args.progress,
        ui: ui.clone(),
        streams: Streams::current(),
        signals,
        columns: BTreeSet::new(),
        left: None,
    })
}

/// The statements of a file.
fn statements(path: &Path) -> Result<String, Failure> {
    let named = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
    let text = Streams::current().read(path).map_err(|error| named(&error))?;
    String::from_utf8(text).map_err(|_| named(&"stream did not contain valid UTF-8"))
}

/// Runs all statements of the arguments, or the shell.
fn all(args: &Args, session: &mut Session) -> Result<(), Failure> {
    if let Some(query) = &args.query {
        return session.run(query);
    }
    if let Some(path) = &args.file {
        return session.run(&statements(path)?);
    }
    if std::io::stdin().is_terminal() {
        return shell::run(session);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(Failure::of_system)?;
    session.run(&text)
}
