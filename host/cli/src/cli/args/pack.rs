//! Options of `pack` and `unpack`.

use std::ops::Range;
use std::path::PathBuf;

use clap::Args;

use super::options::{NewFileArgs, OutputArgs, ReportArgs};
use super::values::{line_range, partition_size};

/// Pack lines to about half their size; commands read packed files directly
///
/// `query`, `select`, `validate`, `index` and `bitmap` recognise packed files by content, and read any part
/// of them directly. Packed bytes are copied to a GPU and decoded there. Strings are compressed by FSST, in
/// groups of lines with one table each.
#[derive(Args)]
#[command(
    mut_arg("output", |arg| {
        arg.value_name("FILE.wpk")
            .help("Output file; it has a temporary name until it is complete. `-`: standard output")
    }),
    after_long_help = "\
Examples:
  warpath pack tweets.ndjson -o tweets.wpk
  warpath query '$.user.lang' tweets.wpk
  zcat old.gz | warpath pack - -o old.wpk --stats"
)]
pub struct PackArgs {
    /// The file, plain, gzip, zstd, bzip2, xz or lz4; `-`: standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub output: NewFileArgs,

    /// Bytes of text per group: a number, or one of K, M or G such as 64M [default: 16M]
    ///
    /// A device evaluates a group at once: larger groups take more of its memory, smaller ones more time.
    #[arg(long, value_name = "SIZE", value_parser = partition_size)]
    pub group_size: Option<usize>,

    #[command(flatten)]
    pub report: ReportArgs,
}

/// Unpack a file, byte for byte, or some of its lines
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath unpack tweets.wpk -o tweets.ndjson
  warpath unpack --lines 1000000-1000009 tweets.wpk
  warpath unpack --check tweets.wpk")]
pub struct UnpackArgs {
    /// The packed file; `-`: standard input
    #[arg(value_name = "FILE.wpk")]
    pub file: PathBuf,

    #[command(flatten)]
    pub output: OutputArgs,

    /// Only these lines, counted from 1, such as 1000-1009, 1000- or 1000; only they and their neighbours are
    /// decoded
    #[arg(long, value_name = "FIRST-LAST", value_parser = line_range)]
    pub lines: Option<Range<u64>>,

    /// Check every byte of the file, and describe it; text is written only with `--lines`
    #[arg(long)]
    pub check: bool,
}
