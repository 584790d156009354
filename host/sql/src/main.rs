//! The program `warpath-sql`, which `warpath sql` runs: SQL over newline-delimited JSON.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
