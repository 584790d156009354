//! A command line of `warpath sql`, or one statement, that a server runs for a client.

use std::ffi::OsString;
use std::sync::Arc;

use clap::builder::Resettable;
use clap::{CommandFactory, FromArgMatches};
use datafusion::prelude::{DataFrame, SessionContext};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::UnboundedReceiver;
use warpath_terminal::messages::{Message, Ui};
use warpath_terminal::options::{MessageFormat, When};

pub use super::statements::Left;
use super::statements::only_reads;
use super::watch::Signals;
use super::{Args, Failure, depth, session, statements};
use crate::options::Options;
use crate::report::Report;

/// Runs a command line, without the names of the program and of the command, in this thread's streams, which
/// are those of a client ([`Streams`](warpath_terminal::streams::Streams)). Returns the exit code, and the
/// work that is left of a statement which was ended.
///
/// `runtime` evaluates. The first failure that `ends` receives ends the statement. `open` makes the session:
/// its options are those of the command line, which it may change.
pub fn run(
    arguments: &[OsString],
    runtime: Arc<Runtime>,
    ends: UnboundedReceiver<Failure>,
    open: impl FnOnce(Options, &Arc<Report>) -> Result<SessionContext, Failure>,
) -> (u8, Option<Left>) {
    let name = OsString::from("warpath sql");
    let command = Args::command().mut_args(|arg| arg.env(Resettable::Reset));
    let matches = command.try_get_matches_from(std::iter::once(&name).chain(arguments));
    let args = match matches.and_then(|matches| Args::from_arg_matches(&matches)) {
        Ok(args) => args,
        Err(error) => {
            let ui = Ui::new(When::Never, false, MessageFormat::Human);
            if error.use_stderr() {
                ui.report(&Message::of_rendered(error.to_string().trim_end()));
                return (2, None);
            }
            ui.lines(&error.to_string());
            return (0, None);
        }
    };
    let ui = Ui::of(&args.messages);
    let mut left = None;
    let done = all(&args, &ui, runtime, ends, open, &mut left);
    let code = done.map_or_else(
        |failure| {
            failure.report(&ui);
            failure.code
        },
        |()| 0,
    );
    (code, left)
}

/// Plans one statement, which may only read.
///
/// # Errors
/// The mistake in the statement.
pub async fn plan(context: &SessionContext, statement: &str) -> Result<DataFrame, Failure> {
    depth::parsed(statement)?;
    let planned = context.sql_with_options(statement, only_reads()).await;
    planned.map_err(|error| Failure::of_query(error, statement))
}

fn all(
    args: &Args,
    ui: &Ui,
    runtime: Arc<Runtime>,
    ends: UnboundedReceiver<Failure>,
    open: impl FnOnce(Options, &Arc<Report>) -> Result<SessionContext, Failure>,
    left: &mut Option<Left>,
) -> Result<(), Failure> {
    let text = match (&args.query, &args.file) {
        (Some(query), _) => query.clone(),
        (None, Some(path)) => statements(path)?,
        (None, None) => {
            return Err(Failure::usage("a server has no shell and reads no standard input")
                .with_help("give the statements as an argument, or their file with `--file`"));
        }
    };
    let report = Arc::new(Report::default());
    let context = open(args.options(), &report)?;
    let mut session = session(args, ui, runtime, context, report, Signals::of(ends))?;
    let done = session.run(&text);
    *left = session.left;
    done
}
