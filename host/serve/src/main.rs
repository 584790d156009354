//! The program `warpath-serve`, which `warpath serve` runs: questions about lines of JSON, over HTTP.

use std::process::ExitCode;

/// An allocation that fails ends the program with a message.
#[cfg(unix)]
#[global_allocator]
static MEMORY: warpath_terminal::memory::Noting = warpath_terminal::memory::Noting;

fn main() -> ExitCode {
    warpath_serve::main()
}
