//! What may be asked, and how it is explained.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, Parser, Subcommand, ValueEnum};
use warpath::index_file::DEFAULT_LEVELS;
use warpath::{DeviceChoice, Format, OnError};
use warpath_shared::units::{MAX_DEPTH, MAX_PARTITION_BYTES};

/// JSONPath over newline-delimited JSON, on NVIDIA GPUs and on the CPU
#[derive(Parser)]
#[command(
    name = "warpath",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    subcommand_required = true,
    disable_help_subcommand = true,
    after_long_help = "\
Examples:
  warpath query '$.user.lang' tweets.ndjson
  warpath query --count '$.entities.urls[*]' 'logs/*.ndjson.zst'
  zcat old.gz | warpath select --format csv id='$.id' lang='$.user.lang' > langs.csv
  warpath select --format parquet -o langs.parquet id:int64='$.id' lang='$.user.lang' -- log.ndjson

Queries are JSONPath (RFC 9535); put them in single quotes, so that the shell leaves `$` and `*` alone.
Inputs are one JSON value a line, plain, packed, gzip or zstd, whatever their names. A malformed
line is reported as FILE:LINE:BYTE and never changes how its neighbours are read. With --input json,
each input is one JSON document, on one line or many.

Exit codes:
  0  done
  1  no match (with --exit-status)
  2  wrong usage, or a file that cannot be read or written
  3  bad query
  4  bad input
  5  device failure
  129, 130, 143
     ended by SIGHUP, SIGINT or SIGTERM; temporary files are removed"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    // The places of both in the help of subcommands are said, since they would else depend on how many subcommands there are.
    /// When to colour messages
    ///
    /// `auto`: on a terminal, unless NO_COLOR is set or TERM is `dumb`. Answers are never coloured.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = When::Auto, global = true, help_heading = "Messages",
          display_order = 5)]
    pub color: When,

    /// No warnings and notes; errors are still reported
    #[arg(short, long, global = true, help_heading = "Messages", display_order = 6)]
    pub quiet: bool,
}

#[derive(Subcommand)]
pub enum Command {
    /// Print what a query matches, one match a line
    Query(QueryArgs),
    /// Print a row per record, with a column per query
    Select(SelectArgs),
    /// Check that every record is JSON, by all of RFC 8259 and in UTF-8
    Validate(ValidateArgs),
    /// Make, describe or show the structural index of an input
    Index {
        #[command(subcommand)]
        command: IndexCommand,
    },
    /// Make, describe or ask a bitmap index: which records have such values
    Bitmap {
        #[command(subcommand)]
        command: BitmapCommand,
    },
    /// Pack lines, so that they take about half the room, and are read as they are
    Pack(PackArgs),
    /// Give back what was packed, or some lines of it
    Unpack(UnpackArgs),
    /// Print which of many subscriptions each document matches
    Filter(FilterArgs),
    /// Print the tree of each record, node by node
    Tree(TreeArgs),
    /// Show what queries compile to, and what would run where
    Explain(ExplainArgs),
    /// List the devices that can answer
    Devices,
}

/// Print what a query matches, one match a line
///
/// Each match is printed as it stands in the input, in record order, and within a record in the order of
/// RFC 9535.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath query '$.user.lang' tweets.ndjson
  warpath query -r '$.text' --limit 10 tweets.ndjson.gz
  warpath query --count '$.urls[*]' 'logs/*.ndjson'
  warpath query -e '$.error' < log.ndjson > errors.ndjson || echo none
  warpath query --input json --with-path '$.items[*].price' catalogue.json

Several queries in one pass: `warpath select`.")]
pub struct QueryArgs {
    /// The query: JSONPath (RFC 9535), such as '$.user.lang' or '$.tags[?@ == "new"]'
    pub path: String,

    #[command(flatten)]
    pub files: FileArgs,

    /// Exit with 1 if nothing matched
    #[arg(short, long)]
    pub exit_status: bool,

    /// Print strings as text: without quotes, escapes resolved
    ///
    /// `\n` becomes a line feed, so a match may take several lines. A surrogate without its partner becomes
    /// U+FFFD. Other values are printed as without this flag.
    #[arg(short, long)]
    pub raw_output: bool,

    /// Print only the number of matches, one for all files together
    #[arg(short, long, conflicts_with_all = ["raw_output", "offsets", "with_path"])]
    pub count: bool,

    /// Print where each match stands: START<TAB>END<TAB>TEXT
    ///
    /// START and END are bytes from the start of its file, decompressed, counted from 0; END is one past the
    /// match. With several files, FILE<TAB> comes first.
    #[arg(long)]
    pub offsets: bool,

    /// Print the normalised path of each match: PATH<TAB>TEXT
    ///
    /// As RFC 9535 writes it, such as $['user']['tags'][0]. With --offsets, behind them.
    #[arg(long)]
    pub with_path: bool,

    /// Stop after N matches
    #[arg(short = 'n', long, value_name = "N", value_parser = limit)]
    pub limit: Option<u64>,

    #[command(flatten)]
    pub run: RunArgs,

    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Print a row per record, with a column per query
///
/// All queries are answered in one pass. A query that can match one value of a record at most ($.user.lang)
/// gives that value, or null; any other ($.tags[*]) gives an array of its matches. Every record gives a row,
/// also one in which nothing matches.
///
/// Rows are text, or, with `--format arrow` and `--format parquet`, typed columns.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath select id='$.id' lang='$.user.lang' -- tweets.ndjson
  warpath select --format csv id='$.id' 'urls=$.entities.urls[*].url' -- *.ndjson > urls.csv
  warpath select id='$.id' < tweets.ndjson
  warpath select --format arrow id:int64='$.id' 'tags:string=$.tags[*]' -o tags.arrow -- *.ndjson

Types, for `--format arrow` and `--format parquet`:
  bool     true and false
  int64    integers, written without fraction and exponent, that fit
  float64  numbers, to the nearest
  string   strings, with escapes resolved
  json     the JSON text of any value; the default
A value of another type is null, as are null and what is missing. A query that can match several
values of a record gives a list.

`--` ends the columns; what follows are files.")]
pub struct SelectArgs {
    /// Columns: a name, perhaps a type, `=`, and a query in JSONPath (RFC 9535)
    #[arg(value_name = "NAME[:TYPE]=PATH", required = true)]
    pub columns: Vec<String>,

    /// Files of newline-delimited JSON, or patterns; `-`, or no file: standard input
    ///
    /// gzip, zstd and packed lines are recognised by content. A pattern (`*`, `?`, `[a-z]`, `**`) stands for the files that
    /// it matches, sorted, unless a file has that very name.
    #[arg(value_name = "FILE", last = true)]
    pub files: Vec<PathBuf>,

    /// How to print rows
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = RowFormat::Ndjson)]
    pub format: RowFormat,

    /// Stop after N rows
    #[arg(short = 'n', long, value_name = "N", value_parser = limit)]
    pub limit: Option<u64>,

    #[command(flatten)]
    pub run: RunArgs,

    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Check that every record is JSON, by all of RFC 8259 and in UTF-8
///
/// If all are, says how many there are, and exits with 0; else reports the first that is not as FILE:LINE:BYTE, the first byte that
/// cannot stand there, and exits with 4. Blank lines are no records. The CPU does this, on all cores.
///
/// `--strict` checks the same where queries are answered.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath validate tweets.ndjson
  warpath validate --all 'logs/*.ndjson.zst' > malformed.txt
  zcat old.gz | warpath validate --limit 10 --stats")]
pub struct ValidateArgs {
    #[command(flatten)]
    pub files: FileArgs,

    /// List the malformed records on standard output, and stop after N
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,

    /// List all malformed records on standard output
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,

    /// Bytes to check at once: a number, or one of KiB, MiB or GiB such as 64MiB [default: 1MiB]
    #[arg(long, value_name = "SIZE", value_parser = partition_size, help_heading = "Engine")]
    pub partition_size: Option<usize>,

    /// How many partitions are at work at the same time [default: one a core]
    #[arg(long, value_name = "N", value_parser = workers, help_heading = "Engine")]
    pub workers: Option<usize>,

    #[command(flatten)]
    pub report: ReportArgs,
}

/// Pack lines, so that they take about half the room, and are read as they are
///
/// `query`, `select`, `validate`, `index` and `bitmap` read packed files as others, recognised by content, any part of them at once. On a GPU the packed bytes are
/// copied to the device and decoded there. Strings are compressed by FSST, in groups of lines with a table each.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath pack tweets.ndjson -o tweets.wpk
  warpath query '$.user.lang' tweets.wpk
  zcat old.gz | warpath pack - -o old.wpk --stats")]
pub struct PackArgs {
    /// The file, plain, gzip or zstd; `-`: standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Where to write the packed file, beside its place and renamed when all of it is there; `-`: standard output
    #[arg(short, long, value_name = "FILE.wpk")]
    pub output: PathBuf,

    /// Bytes of text of a group: a number, or one of KiB, MiB or GiB [default: 16MiB]
    ///
    /// A device answers a group at once, so that larger ones take more of its memory, and smaller ones more time.
    #[arg(long, value_name = "SIZE", value_parser = partition_size)]
    pub group_size: Option<usize>,

    /// Say at the end how much was packed into how much
    #[arg(long, help_heading = "Messages")]
    pub stats: bool,
}

/// Give back what was packed, byte for byte, or some lines of it
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

    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Only these lines, counted from 1, such as 1000-1009, 1000- or 1000: no others are decoded but those that stand near them
    #[arg(long, value_name = "FIRST-LAST", value_parser = line_range)]
    pub lines: Option<std::ops::Range<u64>>,

    /// Check every byte of the file, and say what it has; text is written only with `--lines`
    #[arg(long)]
    pub check: bool,
}

/// Lines, counted from 1, as a range counted from 0.
fn line_range(text: &str) -> Result<std::ops::Range<u64>, String> {
    let number = |text: &str| match text.parse::<u64>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("`{text}` is no line: they are counted from 1")),
    };
    let (first, last) = match text.split_once('-') {
        None => (number(text)?, number(text)?),
        Some((first, "")) => (number(first)?, u64::MAX),
        Some((first, last)) => (number(first)?, number(last)?),
    };
    if last < first {
        return Err(format!("there are no lines from {first} to {last}"));
    }
    Ok(first - 1..last)
}

#[derive(Subcommand)]
pub enum IndexCommand {
    /// Make the index file of a plain or packed file, for `--index`
    Build(BuildArgs),
    /// Say what an index file is of, and check every byte of it
    Info(InfoArgs),
    /// Print the structural indexes as text, the bitmaps aligned under the bytes that they speak of
    Dump(DumpArgs),
}

/// Make the index file of a plain or packed file, for `--index`
///
/// It says where lines and structural characters stand, so that queries need not look for them, and which lines are malformed.
/// It is bound to FILE as it is now: once that has been written to, `--index` refuses it. It is written beside its place and
/// renamed when all of it is there.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath index build tweets.ndjson -o tweets.wpi
  warpath index build tweets.ndjson -o tweets.wpi --for '$.user.lang' --for '$.entities.urls[*].url'
  warpath query --index tweets.wpi '$.user.lang' tweets.ndjson")]
pub struct BuildArgs {
    /// A file of newline-delimited JSON, plain or packed
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Where to write the index
    #[arg(short, long, value_name = "FILE.wpi")]
    pub output: PathBuf,

    /// For queries of how many levels
    ///
    /// A path reads a level for each of its segments, those in its filters included; `warpath explain` says how many. Stretches of a
    /// level without a bit take no room, so deep levels cost little.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LEVELS,
          value_parser = clap::value_parser!(u32).range(0..=MAX_DEPTH as i64))]
    pub levels: u32,

    /// For these queries: the levels that they read, and no more
    #[arg(long = "for", value_name = "PATH", conflicts_with = "levels")]
    pub queries: Vec<String>,

    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Say what an index file is of, and check every byte of it
#[derive(Args)]
pub struct InfoArgs {
    /// The index file
    #[arg(value_name = "FILE.wpi")]
    pub file: PathBuf,
}

/// Print the structural indexes as text, the bitmaps aligned under the bytes that they speak of
///
/// For each partition: its lines, then each 64-byte word with the string bitmap (1 from an opening quote up to
/// the closing one) and the leveled bitmaps (at level K: brackets, colons and commas of the containers at depth
/// K). Malformed lines are shown with what is wrong with them; they are no error here.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath index dump --levels 2 tests/data/edge.ndjson | less -S
  echo '{\"a\":[1,{\"b\":\"]\"}]}' | warpath index dump")]
pub struct DumpArgs {
    #[command(flatten)]
    pub files: FileArgs,

    /// How many levels to print, from 0 on
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(0..=MAX_DEPTH as i64))]
    pub levels: u32,

    /// Print the levels that this query needs
    #[arg(long, value_name = "PATH", conflicts_with = "levels")]
    pub query: Option<String>,

    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Show the lines that are malformed by `--strict`, too
    #[arg(long)]
    pub strict: bool,

    #[command(flatten)]
    pub engine: EngineArgs,
}

#[derive(Subcommand)]
pub enum BitmapCommand {
    /// Make a bitmap index of columns of a file
    Build(BitmapBuildArgs),
    /// Say what a bitmap index has, and check every byte of it
    Info(BitmapInfoArgs),
    /// Say which lines have such values
    Range(BitmapRangeArgs),
}

/// Make a bitmap index of columns of a file
///
/// For each column, values are cut into bins, and each bin has a compressed bitmap of the lines whose value is in it. `bitmap range`,
/// and `--where` of `query` and `select`, ask them which lines have such values. The index is bound to FILE as it is now.
#[derive(Args)]
#[command(after_long_help = "\
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
Whatever the bins are, answers are exact: lines of a bin that is cut are checked against their values.

Types:
  int, float, text, bool  as what most values are, if it is not said
  time                    strings that are instants of RFC 3339, such as 2024-05-01T12:00:00Z
Values of another type are in a bin of their own, as are null and what is missing.

What answers (--device) makes the bitmaps, too; of columns with more than 4096 bins, the CPU does.

The language of expressions, and more: docs/bitmaps.md.")]
pub struct BitmapBuildArgs {
    /// A file of newline-delimited JSON, plain, packed, gzip or zstd; or a table: Parquet, or Arrow IPC
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// A column: its name, and a JSONPath (RFC 9535) that finds one value of a record at most
    ///
    /// Of a table: the name of its column, which may have another name in the index (NEW=OLD).
    #[arg(long = "column", value_name = "NAME=PATH", required = true)]
    pub columns: Vec<String>,

    /// How columns are cut: all of them, or one (NAME=BINS) [default: auto]
    #[arg(long, value_name = "[NAME=]BINS")]
    pub bins: Vec<String>,

    /// Of which type the values of a column are: int, float, text, time or bool [default: as most values are]
    #[arg(long = "type", value_name = "NAME=TYPE")]
    pub types: Vec<String>,

    /// Where to write the index
    #[arg(short, long, value_name = "FILE.wpb")]
    pub output: PathBuf,

    /// What to do at a malformed record
    ///
    /// A line that is skipped is in no answer of the index.
    #[arg(long, value_enum, value_name = "ACTION", default_value_t = OnErrorArg::Fail)]
    pub on_error: OnErrorArg,

    /// Take a record for malformed that is not JSON by all of RFC 8259, or not UTF-8
    #[arg(long)]
    pub strict: bool,

    /// Say at the end what made the bitmaps, and how long each part took, on standard error
    #[arg(long, help_heading = "Messages")]
    pub stats: bool,

    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Say what a bitmap index has, and check every byte of it
#[derive(Args)]
pub struct BitmapInfoArgs {
    /// The bitmap index
    #[arg(value_name = "FILE.wpb")]
    pub file: PathBuf,

    /// List the bins of all columns: lines, atoms of the bitmap, and the least and the greatest value
    #[arg(long)]
    pub bins: bool,
}

/// Say which lines have such values
///
/// Prints the numbers of the lines, counted from 1, of which the expression is true; or how many they are, the records themselves, or
/// columns of them. Of a table: its rows. Answers are exact: where bins leave lines undecided, these are checked against their values, which
/// the index has too.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath bitmap range tweets.wpb 'followers >= 1000 and lang in (\"en\", \"nl\")'
  warpath bitmap range --count tweets.wpb 'lang is missing or not verified = true'
  warpath bitmap range tweets.wpb 'followers > 1e6' --select id='$.id' --format csv tweets.ndjson
  warpath bitmap range --explain tweets.wpb 'followers between 500 and 2000'

Expressions:
  =  !=  <  <=  >  >=         compare a column with a number, \"text\", true or false
  between A and B, in (A, B)  and with `not` before: of lines that have a value
  is [not] missing, null,     lines without a value, with null, with a value of another type, with a
    other, nan, value           NaN, with one of the column's type
  not, and, or, ( )           `not` gives all other records; it binds tightest, `or` least
Instants are texts: at >= \"2024-05-01T00:00:00Z\". A column with an odd name stands in backticks.

The same lines are what `query` and `select` ask with `--where EXPR --bitmap FILE.wpb`.")]
pub struct BitmapRangeArgs {
    /// The bitmap index
    #[arg(value_name = "FILE.wpb")]
    pub index: PathBuf,

    /// The expression, over the columns of the index
    #[arg(value_name = "EXPR", allow_hyphen_values = true, value_parser = expression)]
    pub expression: String,

    /// The file that the index was made of, for --records and --select
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Print the numbers of the lines; the default
    #[arg(long, group = "shown")]
    pub lines: bool,

    /// Print only how many there are
    #[arg(short, long, group = "shown")]
    pub count: bool,

    /// Print the records
    #[arg(long, group = "shown", requires = "file")]
    pub records: bool,

    /// Print a row per record, with a column per query, as `select` does
    #[arg(long, value_name = "NAME[:TYPE]=PATH", group = "shown", requires = "file")]
    pub select: Vec<String>,

    /// Print what would be done: what bins say of each test, the bitmaps that are read, and the program
    #[arg(long, group = "shown")]
    pub explain: bool,

    /// How to print rows
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = RowFormat::Ndjson, requires = "select")]
    pub format: RowFormat,

    /// Answer by bins alone: all lines of which the expression is true, and perhaps others in a bin with these
    #[arg(long)]
    pub approximate: bool,

    /// Stop after N lines
    #[arg(short = 'n', long, value_name = "N", value_parser = limit, conflicts_with = "count")]
    pub limit: Option<u64>,

    /// Exit with 1 if there is no such line
    #[arg(short, long, conflicts_with = "select")]
    pub exit_status: bool,

    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Input and output")]
    pub output: Option<PathBuf>,

    /// Say at the end how much was read, how long it took and what answered, on standard error
    #[arg(long, help_heading = "Messages")]
    pub stats: bool,

    /// What runs the program over the bitmaps: auto, cpu, cuda or cuda:N
    ///
    /// `auto`: the CPU, since answers take milliseconds, and a device has to be set up first. All give the same answers.
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device, help_heading = "Engine",
          conflicts_with_all = ["records", "select"])]
    pub device: DeviceChoice,

    /// How many threads of the CPU are at work at the same time [default: one a core]
    #[arg(long, value_name = "N", value_parser = workers, help_heading = "Engine",
          conflicts_with_all = ["records", "select"])]
    pub threads: Option<usize>,
}

/// Print the tree of each record, node by node
///
/// Objects, arrays, strings, numbers, `true`, `false`, `null` and names are nodes; a name has one child, its value. Each
/// record has a tree of its own. For each: a row a node, in the order of the text, with its rank in breadth-first order and
/// those of its parent, first child and next sibling; then the array of cells, in which a node is the number of its children and their
/// addresses.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath tree tests/data/people.ndjson | less -S
  echo '{\"a\":[1,true]}' | warpath tree
  echo '[[][[][][[]]][][]]' | warpath tree --brackets --steps

What the arrays are: docs/trees.md.")]
pub struct TreeArgs {
    #[command(flatten)]
    pub files: FileArgs,

    /// Print the arrays too from which the tree is made, step by step
    #[arg(long)]
    pub steps: bool,

    /// Read lines of brackets, `[]` and `{}`, in place of JSON: each pair is a node
    #[arg(long)]
    pub brackets: bool,

    /// What to do at a line that is no tree
    ///
    /// Checked are strings, brackets and depth, as everywhere, and that values, names, commas and colons stand where they may.
    #[arg(long, value_enum, value_name = "ACTION", default_value_t = OnErrorArg::Fail)]
    pub on_error: OnErrorArg,

    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Print which of many subscriptions each document matches
///
/// A subscription says what a document has to consist of: `/dblp/*[author][year >= 2010]/title`, or `$[?@.lang == 'nl']`. For each document that matches any, a line is printed: where it is, a tab, and the ids of those that
/// it matches, in the order of the subscriptions.
///
/// All subscriptions are asked at once, on all cores of the CPU or on a GPU; `warpath explain --subscriptions FILE` says which part runs where. Standard input is read as it comes.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath filter --subscriptions tests/data/subscriptions.txt tests/data/people.ndjson
  warpath filter --subscriptions subs.txt --format ndjson 'news/*.xml'
  tail -f log.ndjson | warpath filter --subscriptions subs.txt --watch
  warpath filter --subscriptions subs.txt --format bitmap -o history.wpb log.ndjson
  warpath bitmap range history.wpb 'dutch = true and not theses = true'

A file of subscriptions has lines of an id, a tab, and a query; blank lines and lines that begin with `#` are passed over:
  dutch     $[?@.lang == 'nl']
  theses    /dblp/phdthesis[author][year >= 2010]//title
What a query may say, and what of a document it is asked of: docs/twigs.md.")]
pub struct FilterArgs {
    /// The file of subscriptions
    ///
    /// A line that is wrong is told, and the others are asked; the exit code is 3 then.
    #[arg(short, long, value_name = "FILE")]
    pub subscriptions: PathBuf,

    #[command(flatten)]
    pub files: FileArgs,

    /// What an input is [default: xml for a name with .xml, else ndjson]
    ///
    /// Of ndjson each line is a document, of json and xml each input.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub input: Option<DocumentsArg>,

    /// How answers are written
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = IdsFormatArg::Ids, conflicts_with = "count")]
    pub format: IdsFormatArg,

    /// Print only, for each subscription, how many documents match it: ID<TAB>COUNT
    #[arg(short, long)]
    pub count: bool,

    /// Exit with 1 if no document matched any
    #[arg(short, long)]
    pub exit_status: bool,

    /// Read the file of subscriptions again whenever it changes
    ///
    /// Those that are new are added, those that are gone removed, and the others stay as they are. What is read from then on is asked the new ones.
    #[arg(long, conflicts_with = "count")]
    pub watch: bool,

    /// How long a line may wait for those behind it, where they come slowly: a number of ms or s [default: 100ms]
    ///
    /// Lines of a pipe are asked together: when nothing has come for 2 ms, and otherwise when the first of them has waited so long.
    #[arg(long, value_name = "TIME", value_parser = latency)]
    pub max_latency: Option<Duration>,

    /// What to do at a document that is malformed
    #[arg(long, value_enum, value_name = "ACTION", default_value_t = OnErrorArg::Fail)]
    pub on_error: OnErrorArg,

    /// Write to FILE instead of standard output
    ///
    /// FILE must not be one of the inputs. It is overwritten once the first input could be read.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub report: ReportArgs,

    #[command(flatten)]
    pub backend: BackendArgs,
}

/// What documents inputs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DocumentsArg {
    /// Lines of JSON
    Ndjson,
    /// One JSON text
    Json,
    /// One XML document
    Xml,
}

/// How ids are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IdsFormatArg {
    /// FILE:LINE<TAB>ID ID …, and FILE<TAB>ID ID … where an input is one document
    Ids,
    /// {"file":…,"line":…,"ids":[…]}, without a line where an input is one document
    Ndjson,
    /// Columns `file`, `line` and `ids` as Arrow IPC: with `-o FILE` the file format (Feather), else the stream format
    Arrow,
    /// A bitmap index with a column for each subscription, true in the rows of documents that match it, for `warpath bitmap range` and `--where`; with `-o FILE`
    Bitmap,
}

impl fmt::Display for IdsFormatArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", PossibleValue::get_name))
    }
}

/// Show what queries compile to, and what would run where
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  warpath explain '$.user.lang'
  warpath explain --input json '$.items[*].price'
  warpath explain --device cuda '$.entities.urls[*].url' '$.entities.urls[0]'")]
pub struct ExplainArgs {
    /// Queries: JSONPath (RFC 9535). Several become one program
    #[arg(value_name = "PATH", required_unless_present = "subscriptions")]
    pub paths: Vec<String>,

    /// Show what would run where for the subscriptions of `warpath filter`, in place of queries
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["paths", "index", "strict", "input"])]
    pub subscriptions: Option<PathBuf>,

    /// Show what `--index FILE.wpi` changes
    #[arg(long, value_name = "FILE.wpi")]
    pub index: Option<PathBuf>,

    /// Show what `--strict` changes
    #[arg(long)]
    pub strict: bool,

    #[command(flatten)]
    pub engine: EngineArgs,
}

#[derive(Args)]
pub struct FileArgs {
    /// Files of newline-delimited JSON, or patterns; `-`, or no file: standard input
    ///
    /// gzip, zstd and packed lines are recognised by content. A pattern (`*`, `?`, `[a-z]`, `**`) stands for the files that
    /// it matches, sorted, unless a file has that very name.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Everything about a run that is not what is printed.
#[derive(Args)]
#[command(next_help_heading = "Input and output")]
pub struct RunArgs {
    /// What to do at a malformed record
    ///
    /// Checked of every record: strings are closed, brackets balance and match, it is one value, no more than
    /// 1024 levels deep. With `--strict`: all of RFC 8259.
    #[arg(long, value_enum, value_name = "ACTION", default_value_t = OnErrorArg::Fail)]
    pub on_error: OnErrorArg,

    /// Take a record for malformed that is not JSON by all of RFC 8259, or not UTF-8
    ///
    /// A device checks this itself. The CPU checks it before a partition is answered, which takes longer than most queries do.
    #[arg(long)]
    pub strict: bool,

    /// Answer by the index of the input, which `warpath index build` made
    ///
    /// For one file, plain or packed. The index is refused where the input has another size or another time of its last change than when it
    /// was made, or other bytes in one of 64 samples of 4 KiB; and where it is damaged. The CPU reads its bitmaps in place of making
    /// them; a device makes them faster than they could be copied to it, so there the index is checked and no more.
    #[arg(long, value_name = "FILE.wpi")]
    pub index: Option<PathBuf>,

    /// Compare all of the input with the index, not samples
    #[arg(long, requires = "index")]
    pub verify: bool,

    /// Ask only the records of which an expression over a bitmap index is true
    ///
    /// Such as 'followers >= 1000 and lang in ("en", "nl")': `warpath bitmap range --help` has the language. Only their lines are read.
    #[arg(long = "where", value_name = "EXPR", requires = "bitmap", allow_hyphen_values = true, value_parser = expression)]
    pub only: Option<String>,

    /// The bitmap index of the input, for `--where`, which `warpath bitmap build` made
    ///
    /// For one file, plain or packed. The index is refused where the input has changed since.
    #[arg(long, value_name = "FILE.wpb", requires = "only", conflicts_with = "index")]
    pub bitmap: Option<PathBuf>,

    /// With `--where`: by bins alone, so that records of which the expression is not true may be among those that are asked
    #[arg(long, requires = "only")]
    pub approximate: bool,

    /// Write to FILE instead of standard output
    ///
    /// FILE must not be one of the inputs. It is overwritten once the first input could be read.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub report: ReportArgs,
}

impl RunArgs {
    /// All lines, and no index.
    pub fn new(on_error: OnErrorArg, output: Option<PathBuf>, report: ReportArgs) -> Self {
        Self {
            on_error,
            strict: false,
            index: None,
            verify: false,
            only: None,
            bitmap: None,
            approximate: false,
            output,
            report,
        }
    }
}

/// What is said of a run beside its answers.
#[derive(Args)]
#[command(next_help_heading = "Messages")]
pub struct ReportArgs {
    /// Say at the end how much was read, how long it took and what ran where, on standard error
    #[arg(long)]
    pub stats: bool,

    /// When to show progress, on standard error
    ///
    /// `auto`: on a terminal, unless answers are printed on it.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    pub progress: When,
}

/// What runs, and how.
#[derive(Args)]
#[command(next_help_heading = "Engine")]
pub struct BackendArgs {
    /// What answers: auto, cpu, cuda, cuda:N, cuda:N,N or cuda:all
    ///
    /// `auto`: the first CUDA device for large plain files, if there is a driver and a device; else the CPU, which
    /// needs no setting up. `cuda` is `cuda:0`; `warpath devices` lists the numbers. Several devices take
    /// partitions in turns. All give the same answers.
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device)]
    pub device: DeviceChoice,

    /// Bytes to index at once: a number, or one of KiB, MiB or GiB such as 64MiB [default: what suits the device]
    ///
    /// A partition grows to hold a longer record. Answers do not depend on it.
    #[arg(long, value_name = "SIZE", value_parser = partition_size)]
    pub partition_size: Option<usize>,

    /// How many partitions are at work at the same time [default: what suits the device; for the CPU, one a core]
    ///
    /// Each takes a thread, and memory for its partition.
    #[arg(long, value_name = "N", value_parser = workers)]
    pub workers: Option<usize>,
}

impl Default for BackendArgs {
    /// As without any of the flags.
    fn default() -> Self {
        Self { device: DeviceChoice::Auto, partition_size: None, workers: None }
    }
}

#[derive(Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArgs {
    #[command(flatten)]
    pub backend: BackendArgs,

    /// What the input is
    ///
    /// With `json` each file, or standard input, is one document and one record: a malformed one has no answers. Offsets and the
    /// places of faults are those of the file; newlines in what is printed are spaces. Large files are answered in parts where
    /// all queries go through the elements of one array, such as '$[*].id'; `warpath explain --input json` says whether they do.
    /// Indexes are of lines only.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = InputFormat::Ndjson)]
    pub input: InputFormat,
}

impl Default for EngineArgs {
    /// As without any of the flags.
    fn default() -> Self {
        Self { backend: BackendArgs::default(), input: InputFormat::Ndjson }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// One JSON value a line
    Ndjson,
    /// One JSON document an input, on one line or many
    Json,
}

impl From<InputFormat> for Format {
    fn from(format: InputFormat) -> Self {
        match format {
            InputFormat::Ndjson => Self::Ndjson,
            InputFormat::Json => Self::Json,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// One JSON object a line
    Ndjson,
    /// A header, then a line a row: strings as text, null and missing values empty, the rest as JSON
    Csv,
    /// Typed columns as Arrow IPC: with `-o FILE` the file format (Feather), else the stream format
    Arrow,
    /// Typed columns as Apache Parquet, compressed by Snappy
    #[cfg(feature = "parquet")]
    Parquet,
}

impl fmt::Display for RowFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", PossibleValue::get_name))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnErrorArg {
    /// Print the answers of every record before it, then stop
    Fail,
    /// Leave it out, and say so at the end
    Skip,
}

impl From<OnErrorArg> for OnError {
    fn from(action: OnErrorArg) -> Self {
        match action {
            OnErrorArg::Fail => Self::Fail,
            OnErrorArg::Skip => Self::Skip,
        }
    }
}

fn limit(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a limit is a whole number from 0 to {}", u64::MAX))
}

/// An expression may begin with a negative number. What else begins with `-` was meant as an option.
fn expression(text: &str) -> Result<String, String> {
    match text.strip_prefix('-') {
        Some(rest) if !rest.starts_with(|c: char| c.is_ascii_digit()) => {
            Err("an expression begins with `-` only where a number does; before it, options stand apart \
                 from their values: `-n 3`"
                .into())
        }
        _ => Ok(text.to_owned()),
    }
}

fn device(text: &str) -> Result<DeviceChoice, String> {
    let number = |digits: &str| -> Option<usize> {
        let digits = Some(digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        digits.and_then(|digits| digits.parse().ok())
    };
    let numbered = |list: &str| match list.split(',').map(number).collect::<Option<Vec<_>>>()?[..] {
        [number] => Some(DeviceChoice::Cuda(number)),
        ref several => Some(DeviceChoice::CudaList(several.to_vec())),
    };
    match text {
        "auto" => Some(DeviceChoice::Auto),
        "cpu" => Some(DeviceChoice::Cpu),
        "cuda" => Some(DeviceChoice::Cuda(0)),
        "cuda:all" => Some(DeviceChoice::CudaAll),
        _ => text.strip_prefix("cuda:").and_then(numbered),
    }
    .ok_or_else(|| "there are auto, cpu, cuda, cuda:N, cuda:N,N and cuda:all, N a device's number".to_owned())
}

fn latency(text: &str) -> Result<Duration, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, unit) = [("ms", 1), ("s", 1000)]
        .iter()
        .find_map(|(name, unit)| Some((lower.strip_suffix(name)?.trim_end(), *unit)))
        .unwrap_or(("", 1));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match digits.parse::<u64>().ok().filter(|_| is_number).and_then(|count| count.checked_mul(unit)) {
        Some(time @ 0..=3_600_000) => Ok(Duration::from_millis(time)),
        _ => Err("times are whole numbers of ms or s, an hour at most: 20ms, 1s".into()),
    }
}

fn workers(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(workers @ 1..=1024) => Ok(workers),
        _ => Err("there are 1 to 1024 workers".to_owned()),
    }
}

fn partition_size(text: &str) -> Result<usize, String> {
    const UNITS: [(&str, u64); 4] = [("kib", 1 << 10), ("mib", 1 << 20), ("gib", 1 << 30), ("", 1)];
    let lower = text.to_ascii_lowercase();
    let (digits, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| Some((lower.strip_suffix(name)?.trim_end(), unit)))
        .unwrap_or(("", &1));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("sizes are whole numbers of bytes, KiB, MiB or GiB: 65536, 64KiB, 16MiB, 1GiB".into());
    }
    let bytes = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(*unit));
    match bytes.and_then(|bytes| usize::try_from(bytes).ok()) {
        Some(bytes @ 1..=MAX_PARTITION_BYTES) => Ok(bytes),
        _ => Err(format!("1 to {MAX_PARTITION_BYTES} bytes (2GiB less 32KiB) are possible")),
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

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("1", 1),
            ("65536", 65536),
            ("64KiB", 65536),
            ("16 MiB", 16 << 20),
            ("1gib", 1 << 30),
            ("007", 7),
        ] {
            assert_eq!(partition_size(text), Ok(bytes), "{text}");
        }
        for text in
            ["", "0", "-1", "+1", "1.5MiB", "64K", "64MB", "MiB", "2GiB", "99999999999999999999", "1e6", "☺"]
        {
            assert!(partition_size(text).is_err(), "{text}");
        }
        assert_eq!(partition_size(&MAX_PARTITION_BYTES.to_string()), Ok(MAX_PARTITION_BYTES));
        assert!(partition_size(&(MAX_PARTITION_BYTES + 1).to_string()).is_err());
    }

    #[test]
    fn latencies() {
        for (text, time) in [("0ms", 0), ("20ms", 20), ("1 S", 1000), ("3600s", 3_600_000)] {
            assert_eq!(latency(text), Ok(Duration::from_millis(time)), "{text}");
        }
        for text in ["", "20", "ms", "-1ms", "1.5s", "3601s", "99999999999999999999s", "1m"] {
            assert!(latency(text).is_err(), "{text}");
        }
    }

    #[test]
    fn devices() {
        assert_eq!(device("auto"), Ok(DeviceChoice::Auto));
        assert_eq!(device("cpu"), Ok(DeviceChoice::Cpu));
        assert_eq!(device("cuda"), Ok(DeviceChoice::Cuda(0)));
        assert_eq!(device("cuda:12"), Ok(DeviceChoice::Cuda(12)));
        assert_eq!(device("cuda:2,0"), Ok(DeviceChoice::CudaList(vec![2, 0])));
        assert_eq!(device("cuda:all"), Ok(DeviceChoice::CudaAll));
        for text in ["cuda:,", "cuda:0,", "cuda:0, 1", "cuda:0,all", "cuda:0:1"] {
            assert!(device(text).is_err(), "{text}");
        }
        for text in ["", "gpu", "cuda:", "cuda:x", "cuda:+1", "cuda:-1", "CUDA", "cuda:99999999999999999999"]
        {
            assert!(device(text).is_err(), "{text}");
        }
    }
}
