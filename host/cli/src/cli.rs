//! The command line.
//!
//! | module | contents |
//! |---|---|
//! | [`args`] | subcommands and options |
//! | [`failure`] | errors of a run, their messages and exit codes |
//! | [`files`] | the inputs that the arguments name |
//! | [`run`] | the run of a query: results, errors, limits, statistics and progress |
//! | [`query`], [`select`], [`validate`], [`index`], [`bitmap`], [`pack`], [`tree`], [`explain`], [`devices`] | the subcommands and their output |
//! | [`formats`], [`grid`], [`table`] | formats of rows: which there are, aligned columns, typed columns |
//! | [`look`] | indentation and colours of JSON |
//! | [`out`], [`ui`], [`progress`] | results on standard output or in a file; messages and progress on standard error |
//! | [`escape`] | the printed form of names |
//! | [`inherited`], [`signals`] | the standard streams at the start of the program; signals that end it |

mod args;
mod bitmap;
mod devices;
mod escape;
mod explain;
mod failure;
mod files;
mod filter;
mod formats;
mod grid;
mod index;
mod inherited;
mod look;
mod out;
mod pack;
mod progress;
mod query;
mod run;
mod select;
#[cfg(unix)]
mod signals;
mod table;
mod tree;
mod ui;
mod validate;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use args::{BitmapCommand, Cli, Command, IndexCommand, When};
use clap::error::{ContextKind, ContextValue};
use clap::{ColorChoice, CommandFactory, FromArgMatches};
use escape::escaped;
use failure::Failure;
use ui::Ui;

/// Runs the program. Reports its failure on standard error, and returns its exit code.
pub fn main() -> ExitCode {
    let started = Instant::now();
    // A failure is no error here: a signal then ends the program all the same, but temporary files stay.
    #[cfg(unix)]
    let _ = signals::clean_up_after();
    let args: Vec<OsString> = std::env::args_os().collect();
    let color = color_asked(&args);
    let cli = match parse(&args, color) {
        Ok(cli) => cli,
        Err(error) => return explain_usage(&error, &args, color),
    };
    let ui = Ui::new(cli.color, cli.quiet);
    match dispatch(cli, &ui, started) {
        Ok(code) => code,
        Err(failure) => {
            failure.report(&ui);
            failure.exit_code()
        }
    }
}

fn dispatch(cli: Cli, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    match cli.command {
        Command::Query(args) => query::run(args, ui, started),
        Command::Select(args) => select::run(args, ui, started),
        Command::Validate(args) => validate::run(args, ui, started),
        Command::Index { command: IndexCommand::Build(args) } => index::build(&args),
        Command::Index { command: IndexCommand::Info(args) } => index::info(&args),
        Command::Index { command: IndexCommand::Dump(args) } => index::dump(args, ui),
        Command::Bitmap { command: BitmapCommand::Build(args) } => bitmap::build(&args, ui, started),
        Command::Bitmap { command: BitmapCommand::Info(args) } => bitmap::info(&args),
        Command::Bitmap { command: BitmapCommand::Range(args) } => bitmap::range(args, ui, started),
        Command::Pack(args) => pack::pack_file(&args, ui, started),
        Command::Unpack(args) => pack::unpack_file(&args, ui),
        Command::Filter(args) => filter::run(&args, ui, started),
        Command::Tree(args) => tree::run(&args, ui),
        Command::Explain(args) => explain::run(&args, ui),
        Command::Devices => devices::run(),
    }
}

fn parse(args: &[OsString], color: When) -> Result<Cli, clap::Error> {
    let choice = match color {
        When::Auto => ColorChoice::Auto,
        When::Always => ColorChoice::Always,
        When::Never => ColorChoice::Never,
    };
    let matches = Cli::command().color(choice).try_get_matches_from(args)?;
    Cli::from_arg_matches(&matches)
}

/// The value of `--color`, read before the arguments are parsed: messages about wrong arguments need it.
fn color_asked(args: &[OsString]) -> When {
    let given = |(i, arg): (usize, &'_ OsString)| match arg.to_str()?.strip_prefix("--color")? {
        "" => args.get(i + 1)?.to_str().map(str::to_owned),
        value => value.strip_prefix('=').map(str::to_owned),
    };
    let options = args.iter().take_while(|arg| *arg != "--").enumerate();
    match options.filter_map(given).last().as_deref() {
        Some("always") => When::Always,
        Some("never") => When::Never,
        _ => When::Auto,
    }
}

/// Subcommands that the documents mention and that do not exist yet.
const PLANNED: [&str; 1] = ["completions"];

/// The name of a planned subcommand, if `error` is about an unknown subcommand with this name.
fn planned(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let of_index = args.iter().any(|arg| arg == "index" || arg == "bitmap");
    match name.as_str() {
        name if !of_index && PLANNED.contains(&name) => Some(name.to_owned()),
        _ => None,
    }
}

/// Prints the help text, or the error in the arguments. Returns the exit code.
fn explain_usage(error: &clap::Error, args: &[OsString], color: When) -> ExitCode {
    if let Some(name) = planned(error, args) {
        let failure = Failure::usage(format!("there is no `warpath {name}` yet")).with_help(
            "the commands are `query`, `select`, `validate`, `index`, `bitmap`, `pack`, `unpack`, `filter`, `tree`, `explain` and `devices`",
        );
        failure.report(&Ui::new(color, false));
        return failure.exit_code();
    }
    if error.use_stderr() {
        // An argument may contain control characters. The printed message is then that of the escaped
        // arguments.
        let shown = escaped_arguments(args).and_then(|args| parse(&args, color).err());
        let _ = shown.as_ref().unwrap_or(error).print();
        return ExitCode::from(2);
    }
    let printed = inherited::stdout().and_then(|()| error.print());
    match printed.map_err(out::stdout_failed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report(&Ui::new(color, false));
            failure.exit_code()
        }
    }
}

/// The arguments with their control characters escaped. `None` if no argument has a control character.
fn escaped_arguments(args: &[OsString]) -> Option<Vec<OsString>> {
    let escaped =
        |arg: &OsString| arg.to_str().map_or_else(|| arg.clone(), |arg| escaped(arg).as_ref().into());
    let all: Vec<OsString> = args.iter().map(escaped).collect();
    (all != args).then_some(all)
}
