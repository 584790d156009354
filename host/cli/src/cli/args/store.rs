//! Options of `store add`, `index`, `info`, `verify`, `text`, `drop`, `compact` and `vacuum`.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::index::LevelsArgs;
use super::options::{EngineArgs, FileArgs, OutputArgs, ProgressArgs, ReportArgs};
use super::values::{expression, latency, line_range, partition_size, time};

#[derive(Subcommand)]
pub enum StoreCommand {
    Add(StoreAddArgs),
    Index(StoreIndexArgs),
    Info(StoreInfoArgs),
    Verify(StoreVerifyArgs),
    Text(StoreTextArgs),
    Drop(StoreDropArgs),
    Compact(StoreCompactArgs),
    Vacuum(StoreVacuumArgs),
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
  warpath store add logs.wp --follow app.log
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

    /// Also keep lines and values in the form that they have in memory, so that `serve` loads them without
    /// decoding
    ///
    /// The new parts have their row groups a second time, in the form in which `warpath serve` has them in
    /// memory. It is loaded ten times as fast as columns, and takes about 0.6 of the bytes of the text:
    /// several times as much as the rest of a part. Other commands do not read it. `store info` shows
    /// its bytes. Parts that are written again by `drop` keep it.
    #[arg(long)]
    pub resident: bool,

    #[command(flatten)]
    pub follow: StoreFollowArgs,

    #[command(flatten)]
    pub report: ReportArgs,
}

#[derive(Args)]
#[command(next_help_heading = "Following")]
pub struct StoreFollowArgs {
    /// Add lines as they are written to the files, or come on standard input, until the program is
    /// interrupted
    ///
    /// For plain files. Each begins where the store ends, so after any interruption the same command goes on:
    /// no line of a file is lost, and none is added twice. A line waits for its end. Another file that takes
    /// a name, and a file that becomes shorter, is read from its start, with a note. The first SIGINT
    /// (Ctrl-C) or SIGTERM ends the inputs; all whole lines that have come are added, and the run ends as
    /// usual. Each version has a part of its own: `store compact` merges small parts.
    #[arg(long)]
    pub follow: bool,

    /// Longest time that a line waits for the next ones before it is added, such as 500ms or 1min
    /// [default: 10s]
    ///
    /// Lines with the text of a row group are added at once.
    #[arg(long, value_name = "TIME", value_parser = latency, requires = "follow")]
    pub max_latency: Option<Duration>,

    /// Print a line for each version of the store, such as {"version":7,"lines":1200}
    ///
    /// "lines" counts the lines that this run has added so far. They stay, whatever happens to the program.
    #[arg(long, requires = "follow")]
    pub acknowledge: bool,
}

/// Index files that stay where they are
///
/// The index of `log.ndjson` is the hidden file `.log.ndjson.warpath` beside it: the positions of lines and
/// structural characters, and the malformed lines. Queries over the file find it, and need not look for them.
/// With 8 levels it has about 15 % of the size of the file. When lines have been appended to the file, the
/// index serves for the lines before them. After any other change it is not used. An index that is there is
/// replaced, with its columns: name them again.
///
/// With `--column` it has columns of values, too. The values of each are cut into bins, and each bin has a
/// compressed bitmap of the lines whose value is in it. `--where EXPR` then reads only the lines that may
/// match. EXPR may test the paths of the columns. If the index is of the whole file, EXPR may also test the
/// columns by their names.
#[derive(Args)]
#[command(
    mut_arg("files", |arg| {
        arg.required(true).help("Files of newline-delimited JSON, folders or patterns").long_help(None::<&str>)
    }),
    mut_arg("files_from", |arg| arg.hide(true)),
    after_long_help = "\
Examples:
  warpath store index tweets.ndjson
  warpath store index --levels 3 'logs/*.ndjson'
  warpath query --count '$.user.lang' tweets.ndjson
  warpath store index tweets.ndjson --column followers='$.user.followers_count' \\
    --column lang='$.user.lang'
  warpath query '$.id' tweets.ndjson --where '$.user.followers_count >= 10000'
  warpath query '$.id' tweets.ndjson --where 'followers >= 10000 and lang in (\"en\", \"nl\")'
  warpath store index log.ndjson --column at='$.timestamp' --type at=time \\
    --column ms='$.duration' --bins ms=edges:10,100,1000
  warpath store index log.ndjson --subscriptions subs.txt
  warpath query '$' log.ndjson --where 'dutch = true and not theses = true'

Bins:
  auto            distinct values, if there are 256 or fewer, else quantiles:64; the default
  distinct        one for each distinct value
  edges:A,B,...   from one edge to the next, which is not in it
  width:N         N ranges of the same width
  quantiles:N     N ranges of about the same number of lines
  lloyd:N         N clusters, as near to their means as they can be (one-dimensional k-means)
Whatever the bins are, results are exact: lines of a bin that is cut are checked by their values.

Types:
  int, float, text, bool  the type of most values is the default
  time                    strings that are instants of RFC 3339, such as 2024-05-01T12:00:00Z
Values of another type have a bin of their own. So have null and missing values.

Tests of columns:
  =  !=  <  <=  >  >=         compare a column with a number, \"text\", true or false
  between A and B, in (A, B)  and with `not` before: lines that have a value
  is [not] missing, null,     lines without a value, with null, with a value of another type, with a
    other, nan, value           NaN, with one of the column's type
  not, and, or, ( )           `not` gives all other records; it binds tightest, `or` least
Instants are texts: at >= \"2024-05-01T00:00:00Z\". Backticks quote a column with an odd name.

The device (--device) makes the bitmaps, too; the CPU makes those of columns with more than 4096 bins.

docs/bitmaps.md has more."
)]
pub struct StoreIndexArgs {
    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub levels: LevelsArgs,

    /// A column: its name, and a JSONPath (RFC 9535) that matches at most one value of a record
    ///
    /// Without `--column` and `--subscriptions`, an index that is made again keeps its columns.
    #[arg(long = "column", value_name = "NAME=PATH")]
    pub columns: Vec<String>,

    /// Bins of all columns, or of one (NAME=BINS) [default: auto]
    #[arg(long, value_name = "[NAME=]BINS", requires = "columns")]
    pub bins: Vec<String>,

    /// Type of a column's values: int, float, text, time or bool [default: that of most values]
    #[arg(long = "type", value_name = "NAME=TYPE", requires = "columns")]
    pub types: Vec<String>,

    /// A column of truth values for each subscription of this file, by its id: the lines that it matches
    ///
    /// `warpath filter --help` describes the file.
    #[arg(short, long, value_name = "FILE")]
    pub subscriptions: Option<PathBuf>,

    /// Make an index without columns, if one is there that has some
    #[arg(long, conflicts_with_all = ["columns", "subscriptions"])]
    pub no_columns: bool,

    #[command(flatten)]
    pub progress: ProgressArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Describe a store, one part of it, or the index of a file
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath store info logs.wp
  warpath store info log.ndjson
  warpath store info --columns logs.wp
  warpath store info --columns log.ndjson")]
pub struct StoreInfoArgs {
    /// The folder of the store, a part, or a file with an index
    #[arg(value_name = "STORE|FILE")]
    pub store: PathBuf,

    /// List the columns: path, type, encoding, and bytes in the files; of a file with an index, the bins of
    /// its columns, with lines, atoms of the bitmap, least and greatest value
    #[arg(long)]
    pub columns: bool,
}

/// Check every byte of a store, or of the index of a file
///
/// Compares each checksum, builds the text of all lines again, and compares it with the checksum of the text
/// that was added. What `store add --resident` keeps is compared with the columns and the lines. Of a file
/// with an index, the text of the file is compared with that of the index.
#[derive(Args)]
pub struct StoreVerifyArgs {
    /// The folder of the store, a part, or a file with an index
    #[arg(value_name = "STORE|FILE")]
    pub store: PathBuf,
}

/// Write the lines of a store, byte for byte
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath store text logs.wp -o logs.ndjson
  warpath store text --lines 1000000-1000009 logs.wp
  warpath store text --where '$.level == \"error\"' logs.wp")]
pub struct StoreTextArgs {
    /// The folder of the store, or a part
    #[arg(value_name = "STORE")]
    pub store: PathBuf,

    #[command(flatten)]
    pub output: OutputArgs,

    /// Only these lines, counted from 1, such as 1000-1009, 1000- or 1000; only their groups are read
    #[arg(long, value_name = "FIRST-LAST", value_parser = line_range)]
    pub lines: Option<Range<u64>>,

    /// Only the lines of the records for which EXPR is true, a filter of RFC 9535 about the record
    #[arg(
        long = "where",
        value_name = "EXPR",
        allow_hyphen_values = true,
        value_parser = expression,
        conflicts_with = "lines"
    )]
    pub only: Option<String>,
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

    /// Also keep all parts in the form that they have in memory, as `store add --resident` does
    ///
    /// Without this option, a merged part has that form if the parts with most of its text have it.
    #[arg(long)]
    pub resident: bool,

    #[command(flatten)]
    pub report: ReportArgs,
}

/// Remove the files that a store does not need any more
///
/// `drop` and `compact` leave the parts that they replace, because others may still read them. An addition
/// that was interrupted may leave parts, too. This command removes them after a time. A command that began
/// longer ago may then fail.
#[derive(Args)]
#[command(after_long_help = "\
Example:
  warpath store vacuum logs.wp --keep 1d")]
pub struct StoreVacuumArgs {
    /// The folder of the store
    #[arg(value_name = "STORE")]
    pub store: PathBuf,

    /// The time for which files stay after they were removed from the store
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = time)]
    pub keep: Duration,

    #[command(flatten)]
    pub report: ReportArgs,
}
