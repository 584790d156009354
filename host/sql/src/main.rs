//! The program `warpath-sql`, which `warpath sql` runs: SQL over newline-delimited JSON.

use std::process::ExitCode;

fn main() -> ExitCode {
    warpath_sql::cli::main()
}
