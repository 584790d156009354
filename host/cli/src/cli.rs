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
//! | [`served`], [`serving`] | the inputs and limits that a command has in a server; the run of such a command |
//! | [`client`] | the client of a server |
//! | [`install`] | completions of shells, and man pages |
//! | [`face`] | the groups of commands, and command lines without a command |
//! | [`parsing`], [`given`] | arguments as a command; options that are read before that |
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
mod given;
mod grid;
mod groups;
mod index;
mod inherited;
mod install;
#[cfg(feature = "parquet")]
mod locations;
mod meant;
mod out;
mod parsing;
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
pub mod serving;
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
use failure::Failure;
use given::early;
use parsing::{parse, usage_message};
use warpath_terminal::escape::{escaped, escaped_lines};
#[cfg(unix)]
use warpath_terminal::memory;
use warpath_terminal::messages::Ui;
use warpath_terminal::options::{MessageFormat, When};

/// Runs the program. Reports its failure on standard error, and returns its exit code.
pub fn main() -> ExitCode {
    let started = Instant::now();
    let args: Vec<OsString> = std::env::args_os().collect();
    // All arguments after `sql` and `serve` are those of another program, also those that this one has.
    if let [_, first, rest @ ..] = &args[..]
        && (first == "sql" || first == "serve")
    {
        let run = match given::server(rest) {
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
