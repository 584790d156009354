//! `warpath sql`: the program `warpath-sql`, which takes the place of this one; with `--cluster`, the program
//! `warpath-cluster`.
//!
//! SQL is a program of its own because its build takes many minutes, and so is SQL on a cluster.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use super::failure::Failure;

/// Runs SQL with these arguments.
///
/// # Errors
/// The program is not installed, or cannot be run.
pub fn run(arguments: &[OsString]) -> Result<ExitCode, Failure> {
    let is_on_cluster = names_cluster(arguments);
    let name = if is_on_cluster { "warpath-cluster" } else { "warpath-sql" };
    let program = beside(name).unwrap_or_else(|| name.into());
    let mut command = Command::new(&program);
    if is_on_cluster {
        command.arg("sql");
    }
    command.args(arguments);
    let error = match replaced_by(&mut command) {
        Ok(code) => return Ok(code),
        Err(error) => error,
    };
    Err(match (error.kind(), is_on_cluster) {
        (io::ErrorKind::NotFound, false) => Failure::usage(
            "SQL is a program of its own, `warpath-sql`, which is neither beside `warpath` nor on the PATH",
        )
        .with_help("`cargo install --path host/sql` builds it, in about 15 minutes on two cores"),
        (io::ErrorKind::NotFound, true) => Failure::usage(
            "SQL on a cluster is a program of its own, `warpath-cluster`, which is neither beside `warpath` \
             nor on the PATH",
        )
        .with_help("`cargo install --path host/cluster` builds it, which takes longer than for SQL alone"),
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
