//! `warpath completions` and `warpath man`: files that an installation puts beside the program.

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use super::args::Cli;
use super::failure::Failure;
use super::out::Out;

/// Prints the script that completes commands and options in a shell.
pub fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    let mut out = Out::stdout();
    clap_complete::generate(shell, &mut Cli::command(), "warpath", &mut out.buffer);
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a man page for each command into a folder.
pub fn man(folder: &Path) -> Result<ExitCode, Failure> {
    let commands = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(commands, folder)
        .map_err(|source| Failure::Output { name: format!("`{}`", folder.display()), source })?;
    Ok(ExitCode::SUCCESS)
}
