//! The command line.
//!
//! | module | contents |
//! |---|---|
//! | [`args`] | subcommands and options |
//! | `engines` | the engine that the options describe |
//! | [`failure`] | errors of a run, their messages and exit codes |
//! | [`files`] | the inputs that the arguments name |
//! | `locations` | stores and parts of stores at URLs |
//! | [`run`] | the run of a query: results, errors, limits, statistics and progress |
//! | [`rejects`] | records that a run leaves out |
//! | [`written`] | the files that a run writes, none of which it may read |
//! | [`query`], [`select`], [`count`], [`describe`], [`sample`], [`validate`], [`schema`], [`index`], [`tree`], [`explain`], [`devices`] | the subcommands and their output |
//! | [`groups`], [`paths`] | groups of records; paths without their `$.` |
//! | [`reasons`] | the reasons why a run found nothing |
//! | [`formats`], [`grid`], [`table`] | formats of rows: which there are, aligned columns, typed columns |
//! | [`rows`], [`sort`] | rows of few columns; rows that are sorted before they are printed |
//! | [`split`] | files that values of records name |
//! | [`out`], [`screen`] | results on standard output or in a file; a table that is drawn again |
//! | [`statistics`] | statistics of a run, as text and as JSON |
//! | [`programs`] | programs of their own: `warpath sql` and `warpath serve` |
//! | [`served`], [`client`] | a command that a server runs for a client; the client of a server |
//! | [`install`] | completions of shells, and man pages |
//! | [`face`] | the groups of commands, and command lines without a command |
//! | [`meant`], [`shell`] | what wrong arguments were probably meant to be; words as a shell reads them |
//! | [`inherited`], [`signals`], `memory` | the standard streams at the start of the program; signals that end it; memory that cannot be had |

mod args;
mod client;
mod count;
mod describe;
mod devices;
mod engines;
mod explain;
mod face;
mod failure;
mod files;
mod filter;
mod formats;
mod grid;
mod groups;
mod index;
mod inherited;
mod install;
#[cfg(feature = "parquet")]
mod locations;
mod meant;
mod out;
mod partitions;
mod paths;
mod programs;
mod query;
mod reasons;
mod rejects;
mod rows;
mod run;
mod sample;
mod schema;
mod screen;
mod select;
pub mod served;
mod shell;
#[cfg(unix)]
mod signals;
mod sort;
mod split;
mod statistics;
#[cfg(feature = "parquet")]
mod store;
mod table;
mod tree;
mod validate;
mod written;

use std::borrow::Cow;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use args::{Cli, Command, IndexCommand};
use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue};
use clap::{ColorChoice, FromArgMatches, ValueEnum};
use failure::Failure;
use warpath_terminal::escape::{escaped, escaped_lines};
#[cfg(unix)]
use warpath_terminal::memory;
use warpath_terminal::messages::{Message, Ui};
use warpath_terminal::options::{MessageFormat, When};

/// Runs the program. Reports its failure on standard error, and returns its exit code.
pub fn main() -> ExitCode {
    let started = Instant::now();
    let args: Vec<OsString> = std::env::args_os().collect();
    // All arguments after `sql` and `serve` are those of another program, also those that this one has.
    if let [_, first, rest @ ..] = &args[..]
        && (first == "sql" || first == "serve")
    {
        let run = match client::server_of(rest) {
            Some(server) if first == "sql" => {
                end_by_signals();
                client::run(&server, &args, None)
            }
            _ if first == "sql" => programs::sql(rest),
            _ => programs::serve(rest),
        };
        return run.unwrap_or_else(|failure| {
            failure.report(&Ui::new(When::Auto, false, MessageFormat::Human));
            failure.exit_code()
        });
    }
    let args = match face::meant(&args) {
        Some(face::Meant::Query(args)) => args,
        Some(face::Meant::Look(inputs)) => return look(&args[0], &inputs, started),
        None => args,
    };
    command_line(&args, started)
}

/// Prints the schema of inputs, and their first records.
fn look(program: &OsString, inputs: &[OsString], started: Instant) -> ExitCode {
    let with = |words: &[&str]| -> Vec<OsString> {
        let words = words.iter().map(OsString::from);
        std::iter::once(program.clone()).chain(words).chain(inputs.iter().cloned()).collect()
    };
    let schema = command_line(&with(&["schema"]), started);
    if schema != ExitCode::SUCCESS {
        return schema;
    }
    let mut out = out::Out::stdout();
    out.buffer.push(b'\n');
    if out.finish().is_err() {
        // The reader of the output is gone.
        return ExitCode::SUCCESS;
    }
    // The notes of `schema` are enough.
    let is_quiet = inputs.iter().any(|word| word == "-q" || word == "--quiet");
    let head: &[&str] = if is_quiet { &["head", "-n", "3"] } else { &["head", "-n", "3", "--quiet"] };
    command_line(&with(head), started)
}

/// Runs the command of a command line.
fn command_line(args: &[OsString], started: Instant) -> ExitCode {
    if is_engine_help(args) {
        let mut out = out::Out::stdout();
        out.buffer.extend_from_slice(face::engine_help().as_bytes());
        return match out.finish() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                failure.report(&Ui::new(When::Auto, false, MessageFormat::Human));
                failure.exit_code()
            }
        };
    }
    let color = early(args, "--color", "WARPATH_COLOR");
    let format = early(args, "--message-format", "WARPATH_MESSAGE_FORMAT");
    let cli = match parse(args, color) {
        Ok(cli) => cli,
        Err(error) => return explain_usage(&error, args, color, format),
    };
    end_by_signals();
    #[cfg(unix)]
    let _ = memory::end_if_none_is_left(
        "`--max-record SIZE` refuses long records, and `--workers 1` takes less memory",
    );
    let ui = Ui::of(&cli.messages);
    let run = match &cli.server.server {
        Some(server) => client::run(server, args, Some(&cli)),
        None => dispatch(cli, &ui, started),
    };
    run.unwrap_or_else(|failure| {
        failure.report(&ui);
        failure.exit_code()
    })
}

/// Lets signals end the program after its temporary files are removed.
fn end_by_signals() {
    // A failure is no error here: a signal then ends the program all the same, but temporary files stay.
    #[cfg(unix)]
    let _ = signals::clean_up_after();
}

/// Returns true for `--help engine` and `help engine`.
fn is_engine_help(args: &[OsString]) -> bool {
    let asks = |word: &OsString| word == "--help" || word == "help" || word == "-h";
    matches!(args, [_, .., before, last] if last == "engine" && asks(before))
}

fn dispatch(cli: Cli, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    match cli.command {
        Command::Query(args) => query::run(args, ui, started),
        Command::Select(args) => select::run(args, ui, started),
        Command::CountBy(args) => count::count_by(args, ui, started),
        Command::Distinct(args) => count::distinct(args, ui, started),
        Command::Stats(args) => describe::run(args, ui, started),
        Command::Sample(args) => sample::run(args, ui, started),
        Command::Head(args) => query::head(args, ui, started),
        Command::Validate(args) => validate::run(args, ui, started),
        Command::Schema(args) => schema::run(args, ui, started),
        #[cfg(feature = "parquet")]
        Command::Store { command } => store::run(command, ui, started),
        Command::Index { command: IndexCommand::Dump(args) } => index::dump(args, ui),
        Command::Filter(args) => filter::run(args, ui, started),
        Command::Tree(args) => tree::run(&args, ui),
        Command::Explain(args) => explain::run(&args, ui),
        Command::Devices => devices::run(),
        Command::Sql { arguments } => programs::sql(&arguments),
        Command::Serve { arguments } => programs::serve(&arguments),
        Command::Completions { shell } => install::completions(shell),
        Command::Man { folder } => install::man(&folder),
    }
}

fn parse(args: &[OsString], color: When) -> Result<Cli, clap::Error> {
    let choice = match color {
        When::Auto => ColorChoice::Auto,
        When::Always => ColorChoice::Always,
        When::Never => ColorChoice::Never,
    };
    let has_empty = has_empty_variable();
    if !has_empty && let Some(parsed) = parse_alone(args) {
        return parsed;
    }
    let command = face::command().color(choice);
    let command = if has_empty { without_empty_variables(command) } else { command };
    let matches =
        command.try_get_matches_from(args).map_err(|error| meant::with_guess(named(error, args), args))?;
    Cli::from_arg_matches(&matches)
}

/// Returns true if a variable of this program is set, but empty.
fn has_empty_variable() -> bool {
    let is_ours = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with("WARPATH_"));
    std::env::vars_os().any(|(name, value)| value.is_empty() && is_ours(&name))
}

/// Treats variables that are empty as if they were not set.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty =
        |arg: &clap::Arg| arg.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty());
    command
        .mut_args(|arg| if is_empty(&arg) { arg.env(Resettable::Reset) } else { arg })
        .mut_subcommands(without_empty_variables)
}

/// Parses the arguments without the subcommands that they do not name. Returns `None` if that fails; the
/// whole command line then has the right message.
fn parse_alone(args: &[OsString]) -> Option<Result<Cli, clap::Error>> {
    let first = args.get(1)?.to_str()?;
    if args.len() == 2 && matches!(first, "--version" | "-V") {
        return Cli::version().try_get_matches_from(args).err().map(Err);
    }
    let matches = Cli::with_only(first)?.try_get_matches_from(args).ok()?;
    Cli::from_arg_matches(&matches).ok().map(Ok)
}

/// Names the environment variable in an error about its value.
fn named(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return error };
    let option = option.split(' ').next().unwrap_or(option).to_owned();
    let variable = format!("WARPATH_{}", option.trim_start_matches('-').replace('-', "_").to_uppercase());
    if std::env::var_os(&variable).is_some() && given(args, &option).is_none() {
        let value = ContextValue::String(format!("{variable} (an environment variable)"));
        error.insert(ContextKind::InvalidArg, value);
    }
    error
}

/// The last value of an option, read before the arguments are parsed.
fn given(args: &[OsString], option: &str) -> Option<String> {
    let value = |(at, arg): (usize, &'_ OsString)| match arg.to_str()?.strip_prefix(option)? {
        "" => args.get(at + 1)?.to_str().map(str::to_owned),
        value => value.strip_prefix('=').map(str::to_owned),
    };
    let options = args.iter().take_while(|arg| *arg != "--").enumerate();
    options.filter_map(value).last()
}

/// The value of an option that messages about wrong arguments need.
fn early<T: ValueEnum + Default>(args: &[OsString], option: &str, variable: &str) -> T {
    match std::env::var(variable) {
        Ok(text) if given(args, option).is_none() => T::from_str(&text, false).unwrap_or_default(),
        _ => early_of(args, option),
    }
}

/// The value of an option that messages about wrong arguments need, whatever the environment is.
fn early_of<T: ValueEnum + Default>(args: &[OsString], option: &str) -> T {
    given(args, option).and_then(|text| T::from_str(&text, false).ok()).unwrap_or_default()
}

/// The error in the arguments as a message.
fn usage_message(error: &clap::Error) -> Message {
    let text = error.to_string();
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let help = Some(rest.trim().to_owned()).filter(|help| !help.is_empty());
    Message { text: first.trim_start_matches("error: ").to_owned(), help, ..Message::default() }
}

/// Prints the help text, or the error in the arguments. Returns the exit code.
fn explain_usage(error: &clap::Error, args: &[OsString], color: When, format: MessageFormat) -> ExitCode {
    if error.use_stderr() {
        // An argument may contain control characters. The printed message is then that of the escaped
        // arguments.
        let shown = escaped_arguments(args).and_then(|args| parse(&args, color).err());
        let shown = shown.as_ref().unwrap_or(error);
        let text = shown.render().to_string();
        if format == MessageFormat::Json {
            Ui::new(color, false, format).report(&usage_message(shown));
        } else if let Cow::Owned(text) = escaped_lines(&text) {
            // A value of the environment has such characters, too.
            Ui::new(color, false, format).plain(text.trim_end());
        } else {
            let _ = shown.print();
        }
        return ExitCode::from(2);
    }
    let printed = inherited::stdout().and_then(|()| error.print());
    match printed.map_err(out::stdout_failed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report(&Ui::new(color, false, format));
            failure.exit_code()
        }
    }
}

/// The arguments with their control characters escaped. `None` if no argument has a control character.
fn escaped_arguments(args: &[OsString]) -> Option<Vec<OsString>> {
    // Bytes that are no UTF-8 are printed as U+FFFD, and others beside them may be control characters.
    let escaped = |arg: &OsString| OsString::from(escaped(&arg.to_string_lossy()).as_ref());
    let all: Vec<OsString> = args.iter().map(escaped).collect();
    (all != args).then_some(all)
}
