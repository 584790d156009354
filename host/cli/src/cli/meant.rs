//! Guesses at the meaning of wrong arguments.

use std::ffi::OsString;
use std::path::Path;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::shell::quoted;

/// An error in the arguments, with a guess at what they were meant to be. The parser's own guesses are kept
/// where they can be right: it takes each unknown option for a value.
pub fn with_guess(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Suggested);
    }
    if let Some(guess) = guess(&error, args) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(guess)]));
    }
    error
}

fn guess(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let of = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let given: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let option = of(ContextKind::InvalidArg)?;
            let file = given.iter().find(|arg| arg.starts_with(&option) && Path::new(arg).exists())?;
            Some(format!("to name the file: {}", quoted(&format!("./{file}"))))
        }
        ErrorKind::InvalidSubcommand => {
            let word = of(ContextKind::InvalidSubcommand)?;
            let rest: Vec<String> =
                given.iter().skip_while(|arg| **arg != word).map(|arg| quoted(arg)).collect();
            if word.starts_with('$') {
                Some(format!("a query has a command before it: warpath query {}", rest.join(" ")))
            } else if Path::new(&word).exists() {
                Some(format!(
                    "a file has a command before it: warpath schema {0}, or warpath head {0}",
                    rest.join(" ")
                ))
            } else {
                None
            }
        }
        ErrorKind::MissingRequiredArgument if given.first() == Some(&"filter") => {
            let (query, files) = given[1..].split_first()?;
            let files: Vec<String> = files.iter().map(|arg| quoted(arg)).collect();
            let files = files.join(" ");
            query.starts_with('$').then(|| {
                format!("to filter by one condition: warpath query '$' --where {} {files}", quoted(query))
            })
        }
        _ => None,
    }
}
