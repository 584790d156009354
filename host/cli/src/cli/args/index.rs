//! Options of `index dump`.

use clap::{Args, Subcommand, value_parser};
use warpath::DEFAULT_LEVELS;
use warpath_shared::units::MAX_DEPTH;

use super::options::{EngineArgs, FileArgs, OutputArgs, StrictArgs};

#[derive(Subcommand)]
pub enum IndexCommand {
    Dump(DumpArgs),
}

/// Print structural indexes as text, each bitmap aligned under the input's bytes
///
/// For each partition: its lines, then each 64-byte word with its bitmaps. The string bitmap is 1 from an
/// opening quote up to the closing one. The leveled bitmap K has the brackets, colons and commas of the
/// containers at depth K. Malformed lines are shown with their faults; they are not an error here.
#[derive(Args)]
#[command(
    mut_arg("levels", |arg| {
        arg.default_value("3").help("Number of levels to print, from level 0").long_help(None::<&str>)
    }),
    mut_arg("strict", |arg| {
        arg.help("Show the lines that are malformed by `--strict`, too").long_help(None::<&str>)
    }),
    after_long_help = "\
Examples:
  warpath index dump --levels 2 tests/data/edge.ndjson | less -S
  echo '{\"a\":[1,{\"b\":\"]\"}]}' | warpath index dump"
)]
pub struct DumpArgs {
    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub levels: LevelsArgs,

    /// Print the levels that this query reads
    #[arg(long, value_name = "PATH", conflicts_with = "levels")]
    pub query: Option<String>,

    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub strict: StrictArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

#[derive(Args)]
pub struct LevelsArgs {
    /// Number of levels in the index
    ///
    /// A query reads one level per segment, those in its filters included; `warpath explain` prints the
    /// number. Empty stretches of a level take no space, so deep levels cost little.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LEVELS,
          value_parser = value_parser!(u32).range(0..=MAX_DEPTH as i64))]
    pub levels: u32,
}
