//! The command line of SQL.
//!
//! | module | contents |
//! |---|---|
//! | [`args`] | options |
//! | [`statements`] | the text of statements, run one after the other |
//! | [`output`] | rows as a table, NDJSON, CSV, Arrow or Parquet |
//! | [`shell`] | the interactive shell |
//! | [`watch`] | progress, and signals that end a statement |
//! | [`messages`] | failures with their positions and exit codes, and reports |

mod args;
mod messages;
mod output;
mod shell;
mod statements;
mod watch;

use std::collections::BTreeSet;
use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use warpath_sql::report::Report;
use warpath_terminal::messages::Ui;

use args::Args;
use messages::Failure;
use statements::Session;

/// Runs the program. Reports its failure on standard error, and returns its exit code.
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let code = if error.use_stderr() { 2 } else { 0 };
            // Nothing is left to be done if the message cannot be written.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let ui = Ui::of(&args.messages);
    match run(&args, &ui) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report(&ui);
            failure.exit_code()
        }
    }
}

fn run(args: &Args, ui: &Ui) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime =
        { runtime }.worker_threads(args.threads()).enable_all().build().map_err(Failure::of_system)?;
    let report = Arc::new(Report::default());
    let context = args.options().context_with(&report).map_err(|error| Failure::of_query(error, ""))?;
    let mut session = Session {
        runtime,
        context,
        report,
        format: args.format()?,
        output: args.output.clone(),
        progress: args.progress,
        ui: ui.clone(),
        columns: BTreeSet::new(),
    };
    if let Some(query) = &args.query {
        return session.run(query);
    }
    if let Some(path) = &args.file {
        let named = |error| Failure::usage(format!("{}: {error}", path.display()));
        return session.run(&std::fs::read_to_string(path).map_err(named)?);
    }
    if std::io::stdin().is_terminal() {
        return shell::run(&mut session);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(Failure::of_system)?;
    session.run(&text)
}
