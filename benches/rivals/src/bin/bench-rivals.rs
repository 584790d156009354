//! Measures Warpath beside its rivals, and checks every result; see `benches/README.md`.

use anyhow::Result;
use clap::{Parser, Subcommand};
use warpath_benches::{bitmap, fsst, twig};
use warpath_rivals::{bench, cuda, settings};

/// Measure Warpath beside its rivals, and check every result.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Time the union of random columns of a bitmap index, by every method
    Bitmap(bitmap::command::Args),
    /// Time standing queries
    Twig(twig::command::Args),
    /// Time string columns on a device
    Fsst(fsst::Args),
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Task::Bitmap(args) => bitmap::command::run(&args, settings(), &bench::bitmap::all),
        Task::Twig(args) => twig::command::run(&args, cuda, &bench::twig::rivals),
        Task::Fsst(args) => fsst::run(&args, cuda, &bench::fsst::ladder),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
