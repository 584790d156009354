//! `warpath sql`: the program `warpath-sql`, which takes the place of this one.
//!
//! SQL is a program of its own because its build takes many minutes.

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
    let program = beside().unwrap_or_else(|| "warpath-sql".into());
    let mut command = Command::new(&program);
    command.args(arguments);
    let error = match replaced_by(&mut command) {
        Ok(code) => return Ok(code),
        Err(error) => error,
    };
    Err(match error.kind() {
        io::ErrorKind::NotFound => Failure::usage(
            "SQL is a program of its own, `warpath-sql`, which is neither beside `warpath` nor on the PATH",
        )
        .with_help("`cargo install --path host/sql` builds it, in about 13 minutes on two cores"),
        _ => Failure::usage(format!("{}: {error}", program.display())),
    })
}

/// The program beside this one.
fn beside() -> Option<PathBuf> {
    let name = format!("warpath-sql{}", std::env::consts::EXE_SUFFIX);
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
