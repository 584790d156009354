//! The program `warpath-cluster`: scheduler, executors and SQL of a cluster.

use std::process::ExitCode;

fn main() -> ExitCode {
    warpath_cluster::cli::main()
}
