//! Arguments as the command that they name.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue};
use clap::{ColorChoice, FromArgMatches};
use warpath_terminal::messages::Message;
use warpath_terminal::options::When;

use super::args::Cli;
use super::given::given;
use super::{face, meant};

pub fn parse(args: &[OsString], color: When) -> Result<Cli, clap::Error> {
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

/// The error in the arguments as a message.
pub fn usage_message(error: &clap::Error) -> Message {
    let text = error.to_string();
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let help = Some(rest.trim().to_owned()).filter(|help| !help.is_empty());
    Message { text: first.trim_start_matches("error: ").to_owned(), help, ..Message::default() }
}
