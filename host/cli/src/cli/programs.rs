//! Programs of their own, which take the place of this one: `warpath-sql` of `warpath sql`, `warpath-cluster`
//! of `warpath sql --cluster`, and `warpath-serve` of `warpath serve`.
//!
//! They are no part of this one because their builds take many minutes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::{io, iter};

use super::failure::Failure;

/// Runs SQL with these arguments.
///
/// # Errors
/// The program is not installed, or cannot be run.
pub fn sql(arguments: &[OsString]) -> Result<ExitCode, Failure> {
    if names_cluster(arguments) {
        let arguments: Vec<OsString> = iter::once("sql".into()).chain(arguments.iter().cloned()).collect();
        let help = "`cargo install --path host/cluster` builds it, which takes longer than for SQL alone";
        return run("warpath-cluster", "SQL on a cluster", help, &arguments);
    }
    let help = "`cargo install --path host/sql` builds it, in about 15 minutes on two cores";
    run("warpath-sql", "SQL", help, arguments)
}

/// Runs a server with these arguments.
///
/// # Errors
/// The program is not installed, or cannot be run.
pub fn serve(arguments: &[OsString]) -> Result<ExitCode, Failure> {
    let help = "`cargo install --path host/serve` builds it, in about 15 minutes on two cores";
    run("warpath-serve", "the server", help, arguments)
}

/// Runs a program of this name. `what` and `help` are for the message if it is not installed.
fn run(name: &str, what: &str, help: &str, arguments: &[OsString]) -> Result<ExitCode, Failure> {
    let program = beside(name).unwrap_or_else(|| name.into());
    let error = match replaced_by(Command::new(&program).args(arguments)) {
        Ok(code) => return Ok(code),
        Err(error) => error,
    };
    Err(match error.kind() {
        io::ErrorKind::NotFound => Failure::usage(format!(
            "{what} is a program of its own, `{name}`, which is neither beside `warpath` nor on the PATH"
        ))
        .with_help(help),
        _ => Failure::usage(format!("{}: {error}", program.display())),
    })
}

/// True if the option `--cluster` is among the arguments.
fn names_cluster(arguments: &[OsString]) -> bool {
    let options = arguments.iter().take_while(|argument| *argument != "--");
    options.into_iter().any(|argument| {
        argument.to_str().is_some_and(|text| text == "--cluster" || text.starts_with("--cluster="))
    })
}

/// The program of this name beside this one.
fn beside(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::current_exe().ok()?.with_file_name(name);
    path.is_file().then_some(path)
}

#[cfg(unix)]
fn replaced_by(command: &mut Command) -> io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

#[cfg(not(unix))]
fn replaced_by(command: &mut Command) -> io::Result<ExitCode> {
    let code = command.status()?.code();
    Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
