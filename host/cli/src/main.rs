//! The `warpath` program: JSONPath over newline-delimited JSON, on a terminal.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
