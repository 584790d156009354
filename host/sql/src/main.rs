//! The program `warpath-sql`, which `warpath sql` runs: SQL over newline-delimited JSON.

use std::process::ExitCode;

/// An allocation that fails ends the program with a message.
#[cfg(unix)]
#[global_allocator]
static MEMORY: warpath_terminal::memory::Noting = warpath_terminal::memory::Noting;

fn main() -> ExitCode {
    warpath_sql::cli::main()
}
