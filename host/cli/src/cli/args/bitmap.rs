//! Options of `bitmap build`, `info` and `range`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use warpath_terminal::options::workers;

use super::options::{
    ApproximateArgs, DeviceArgs, EngineArgs, ExitStatusArgs, LimitArgs, NewFileArgs, OnErrorArgs, OutputArgs,
    ReportArgs, RowFormatArgs, StatsArgs, StrictArgs,
};
use super::values::expression;

#[derive(Subcommand)]
pub enum BitmapCommand {
    Build(BitmapBuildArgs),
    Info(BitmapInfoArgs),
    Range(BitmapRangeArgs),
}

/// Make a bitmap index of columns of a file
///
/// The values of each column are cut into bins. Each bin has a compressed bitmap of the lines whose value is
/// in it. `bitmap range`, and `--where` of `query` and `select`, read these bitmaps. The index is bound to
/// FILE as it is now. A line that is skipped is in no result of the index.
#[derive(Args)]
#[command(mut_arg("output", |arg| arg.value_name("FILE.wpb")), after_long_help = "\
Examples:
  warpath bitmap build tweets.ndjson --column followers='$.user.followers_count' \\
    --column lang='$.user.lang' -o tweets.wpb
  warpath bitmap build tweets.ndjson --column followers='$.user.followers_count' \\
    --bins lloyd:25 -o tweets.wpb
  warpath bitmap build log.ndjson --column at='$.timestamp' --type at=time \\
    --column ms='$.duration' --bins ms=edges:10,100,1000 -o log.wpb
  warpath bitmap build trips.parquet --column fare --column start=pickup_time -o trips.wpb

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

The device (--device) makes the bitmaps, too; the CPU makes those of columns with more than 4096 bins.

docs/bitmaps.md has the language of expressions, and more.")]
pub struct BitmapBuildArgs {
    /// A file of newline-delimited JSON, plain or compressed; or a table: Parquet, or Arrow IPC
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// A column: its name, and a JSONPath (RFC 9535) that matches at most one value of a record
    ///
    /// For a table: the name of its column, which may have another name in the index (NEW=OLD).
    #[arg(long = "column", value_name = "NAME=PATH", required = true)]
    pub columns: Vec<String>,

    /// Bins of all columns, or of one (NAME=BINS) [default: auto]
    #[arg(long, value_name = "[NAME=]BINS")]
    pub bins: Vec<String>,

    /// Type of a column's values: int, float, text, time or bool [default: that of most values]
    #[arg(long = "type", value_name = "NAME=TYPE")]
    pub types: Vec<String>,

    #[command(flatten)]
    pub output: NewFileArgs,
    #[command(flatten)]
    pub on_error: OnErrorArgs,
    #[command(flatten)]
    pub strict: StrictArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Describe a bitmap index, and check every byte of it
#[derive(Args)]
pub struct BitmapInfoArgs {
    /// The bitmap index
    #[arg(value_name = "FILE.wpb")]
    pub file: PathBuf,

    /// List the bins of all columns: lines, atoms of the bitmap, least and greatest value
    #[arg(long)]
    pub bins: bool,
}

/// Print the lines that match an expression over a bitmap index
///
/// Prints the numbers of the lines that match, counted from 1; or how many match, or the records, or columns
/// of them. For a table: its rows. Results are exact: where bins leave lines undecided, these are checked by
/// their values, which the index has too.
#[derive(Args)]
#[command(
    mut_arg("format", |arg| arg.requires("select")),
    mut_arg("limit", |arg| arg.conflicts_with("count")),
    mut_arg("exit_status", |arg| arg.conflicts_with("select")),
    mut_arg("device", |arg| {
        arg.help("Device that runs the program over the bitmaps: auto, cpu, cuda or cuda:N").long_help(
            "Device that runs the program over the bitmaps: auto, cpu, cuda or cuda:N\n\n\
             `auto`: the CPU, because a result takes milliseconds, and a device needs setup first. \
             All give the same results. With --records and --select it reads the records, too.",
        )
    }),
    after_long_help = "\
Examples:
  warpath bitmap range tweets.wpb 'followers >= 1000 and lang in (\"en\", \"nl\")'
  warpath bitmap range --count tweets.wpb 'lang is missing or not verified = true'
  warpath bitmap range tweets.wpb 'followers > 1e6' --select id='$.id' --format csv tweets.ndjson
  warpath bitmap range --explain tweets.wpb 'followers between 500 and 2000'

Expressions:
  =  !=  <  <=  >  >=         compare a column with a number, \"text\", true or false
  between A and B, in (A, B)  and with `not` before: lines that have a value
  is [not] missing, null,     lines without a value, with null, with a value of another type, with a
    other, nan, value           NaN, with one of the column's type
  not, and, or, ( )           `not` gives all other records; it binds tightest, `or` least
  $.a == 1, $.a is missing    tests of paths, as for `query --where`, where the text of the lines
                                is read: with `--records` or `--select`
Instants are texts: at >= \"2024-05-01T00:00:00Z\". Backticks quote a column with an odd name.

`query` and `select` evaluate the same lines with `--where EXPR --bitmap FILE.wpb`."
)]
pub struct BitmapRangeArgs {
    /// The bitmap index
    #[arg(value_name = "FILE.wpb")]
    pub index: PathBuf,

    /// The expression: tests of columns; with --records or --select, also of paths
    #[arg(value_name = "EXPR", allow_hyphen_values = true, value_parser = expression)]
    pub expression: String,

    /// The file that was indexed; required by --records and --select, and checked for changes
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Print the numbers of the lines; the default
    #[arg(long, group = "shown")]
    pub lines: bool,

    /// Print only how many match
    #[arg(short, long, group = "shown")]
    pub count: bool,

    /// Print the records
    #[arg(long, group = "shown", requires = "file")]
    pub records: bool,

    /// Print one row per record, with one column per query, as `select` does
    #[arg(long, value_name = "NAME[:TYPE]=PATH", group = "shown", requires = "file")]
    pub select: Vec<String>,

    /// Print the plan: each test with its bins, the bitmaps that are read, and the program
    #[arg(long, group = "shown")]
    pub explain: bool,

    #[command(flatten)]
    pub format: RowFormatArgs,
    #[command(flatten)]
    pub approximate: ApproximateArgs,
    #[command(flatten)]
    pub limit: LimitArgs,
    #[command(flatten)]
    pub exit_status: ExitStatusArgs,
    #[command(flatten, next_help_heading = "Input and output")]
    pub output: OutputArgs,
    #[command(flatten)]
    pub stats: StatsArgs,
    #[command(flatten, next_help_heading = "Engine")]
    pub device: DeviceArgs,

    /// Number of threads on the CPU [default: one per core]
    #[arg(long, value_name = "N", value_parser = workers, help_heading = "Engine",
          conflicts_with_all = ["records", "select"])]
    pub threads: Option<usize>,
}
