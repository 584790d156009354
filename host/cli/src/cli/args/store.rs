//! Options of `store add`, `info`, `verify`, `text`, `drop` and `compact`.

use std::ops::Range;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::options::{FileArgs, OutputArgs, ReportArgs};
use super::values::{expression, line_range, partition_size};

#[derive(Subcommand)]
pub enum StoreCommand {
    Add(StoreAddArgs),
    Info(StoreInfoArgs),
    Verify(StoreVerifyArgs),
    Text(StoreTextArgs),
    Drop(StoreDropArgs),
    Compact(StoreCompactArgs),
}

/// Add lines to a store, or make it
///
/// A store is a folder of Parquet files, its parts, and a log of Delta Lake. Other tools read it as one
/// table. Every byte of every line comes back, and every command reads a store as it reads lines. Each file
/// is added once: a file that the store has is passed over, and of a plain file that has grown the new lines
/// are added. Either all lines are added, or none.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath store add logs.wp 'logs/*.ndjson.zst'
  zcat old.gz | warpath store add logs.wp -
  warpath query --count '$.user.lang' logs.wp")]
pub struct StoreAddArgs {
    /// The folder of the store; it is made if it does not exist
    #[arg(value_name = "STORE")]
    pub store: PathBuf,

    #[command(flatten)]
    pub files: FileArgs,

    /// Bytes of text per row group: a number, or one of K, M or G such as 64M [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = partition_size)]
    pub group_size: Option<usize>,

    #[command(flatten)]
    pub report: ReportArgs,
}

/// Describe a store or one part of it
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath store info logs.wp
  warpath store info --columns logs.wp")]
pub struct StoreInfoArgs {
    /// The folder of the store, or a part
    #[arg(value_name = "STORE")]
    pub store: PathBuf,

    /// List the columns: path, type, encoding, and bytes in the files
    #[arg(long)]
    pub columns: bool,
}

/// Check every byte of a store
///
/// Compares each checksum, builds the text of all lines again, and compares it with the checksum of the text
/// that was added.
#[derive(Args)]
pub struct StoreVerifyArgs {
    /// The folder of the store, or a part
    #[arg(value_name = "STORE")]
    pub store: PathBuf,
}

/// Write the lines of a store, byte for byte
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath store text logs.wp -o logs.ndjson
  warpath store text --lines 1000000-1000009 logs.wp")]
pub struct StoreTextArgs {
    /// The folder of the store, or a part
    #[arg(value_name = "STORE")]
    pub store: PathBuf,

    #[command(flatten)]
    pub output: OutputArgs,

    /// Only these lines, counted from 1, such as 1000-1009, 1000- or 1000; only their groups are read
    #[arg(long, value_name = "FIRST-LAST", value_parser = line_range)]
    pub lines: Option<Range<u64>>,
}

/// Remove the lines that match a condition
///
/// Parts without such a line stay as they are. The others are written again without these lines. Readers see
/// the store before or after the change. Lines that are no records stay.
#[derive(Args)]
#[command(after_long_help = "\
Example:
  warpath store drop logs.wp --where '$.level == \"debug\"'")]
pub struct StoreDropArgs {
    /// The folder of the store
    #[arg(value_name = "STORE")]
    pub store: PathBuf,

    /// The records to remove, a filter of RFC 9535 about the record
    #[arg(long = "where", value_name = "EXPR", allow_hyphen_values = true, value_parser = expression)]
    pub only: String,

    #[command(flatten)]
    pub report: ReportArgs,
}

/// Merge small parts of a store
///
/// Parts that follow one another become one, of at most 1 GiB of text. The order of the lines stays.
#[derive(Args)]
pub struct StoreCompactArgs {
    /// The folder of the store
    #[arg(value_name = "STORE")]
    pub store: PathBuf,

    #[command(flatten)]
    pub report: ReportArgs,
}
