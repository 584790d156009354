//! The `warpath` program: JSONPath over newline-delimited JSON, on a terminal.

use std::process::ExitCode;

/// An allocation that fails ends the program with a message.
#[cfg(unix)]
#[global_allocator]
static MEMORY: warpath_terminal::memory::Noting = warpath_terminal::memory::Noting;

fn main() -> ExitCode {
    warpath_cli::main()
}
