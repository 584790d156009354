//! Options of `query`, `select` and `explain`.

use std::path::PathBuf;

use clap::Args;

use super::aggregate::{MemoryArgs, SortArgs};
use super::options::{
    ColumnArgs, EngineArgs, ExitStatusArgs, FileArgs, FollowArgs, IndexArgs, LimitArgs, MapArgs,
    OnMismatchArg, PrettyArgs, RowFormatArgs, RunArgs, SkipArgs, StrictArgs, WhereArgs, ZoneArgs,
};
use super::values::expression;

/// Print the matches of a query, one per line
///
/// Each match is printed as it is in the input: in record order, and within a record in the order of RFC
/// 9535.
#[derive(Args, Default)]
#[command(after_long_help = "\
Examples:
  warpath query '$.user.lang' tweets.ndjson
  warpath query -r '$.text' --limit 10 tweets.ndjson.gz
  warpath query --count '$.urls[*]' 'logs/*.ndjson'
  warpath query -e '$.error' < log.ndjson > errors.ndjson || echo none
  warpath query --input json --with-path '$.items[*].price' catalogue.json
  warpath query --pretty '$' --limit 1 tweets.ndjson
  warpath query -H '$.error.code' 'logs/*.ndjson'
  warpath query '$.items[*]' --match '@.price > 10' orders.ndjson
  warpath query '$.id' --where '$.user.lang == \"nl\"' tweets.ndjson
  warpath query '$' --drop '$.user.email' --mask '$..token' --rename '$.ts=time' log.ndjson
  warpath query '$' --sort '$.upstream.ms:desc' -n 10 log.ndjson
  warpath query '$' -o 'out/{$.host}/{day($.at)}.ndjson' 'logs/*.ndjson.gz'

Several queries in one pass: `warpath select`.")]
pub struct QueryArgs {
    /// The query: JSONPath (RFC 9535), such as '$.user.lang' or '$.tags[?@ == "new"]'
    pub path: String,

    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub column: ColumnArgs,
    #[command(flatten)]
    pub follow: FollowArgs,
    #[command(flatten)]
    pub exit_status: ExitStatusArgs,
    #[command(flatten)]
    pub zone: ZoneArgs,

    /// Keep only the matches for which EXPR is true, a filter of RFC 9535 about the match
    ///
    /// `@` is the match, and `$` the record that has it: '@.price > 10 && @.currency == $.currency'. The
    /// rest is as for `--where`, which is about the record.
    #[arg(id = "each", long = "match", value_name = "EXPR", allow_hyphen_values = true,
          value_parser = expression)]
    pub each: Option<String>,

    /// Print strings as text: without quotes, escapes resolved
    ///
    /// `\n` becomes a line feed, so a match may take several lines. A lone surrogate becomes U+FFFD. Other
    /// values are printed as without this flag.
    #[arg(short, long)]
    pub raw_output: bool,

    /// Print only the number of matches, one for all files together; with `-H`, of each file
    #[arg(short, long, conflicts_with_all = ["raw_output", "offsets", "with_path", "pretty"])]
    pub count: bool,

    /// Print the offsets of each match: START<TAB>END<TAB>TEXT
    ///
    /// START and END count bytes of the decompressed file from 0; END is one past the match. With several
    /// files, FILE<TAB> comes first.
    #[arg(long)]
    pub offsets: bool,

    /// Print the normalised path of each match: PATH<TAB>TEXT
    ///
    /// In the form of RFC 9535, such as $['user']['tags'][0]. With --offsets, after them.
    #[arg(long)]
    pub with_path: bool,

    #[command(flatten)]
    pub pretty: PrettyArgs,

    /// End each match with a NUL byte, not with a newline, for `xargs -0` and others
    #[arg(long, conflicts_with = "count")]
    pub print0: bool,

    /// Print the file of each match before it: FILE:TEXT
    ///
    /// With --offsets and --with-path: FILE<TAB>. With --count: FILE:COUNT for each file.
    #[arg(short = 'H', long)]
    pub with_filename: bool,

    /// Print the line of each match before it, counted from 1: LINE:TEXT, or with `-H` FILE:LINE:TEXT
    #[arg(short = 'L', long, conflicts_with = "count")]
    pub line_number: bool,

    #[command(flatten)]
    pub limit: LimitArgs,
    #[command(flatten)]
    pub skip: SkipArgs,

    /// Leave out the values of PATH from the records that `query '$'` prints; the rest stays as it is
    ///
    /// Several options leave out several paths, also with `--mask` and `--rename`. Members of the same name
    /// in one object are all left out.
    #[arg(long, value_name = "PATH", help_heading = "Edits of records")]
    pub drop: Vec<String>,

    /// Print "***" in place of the values of PATH
    #[arg(long, value_name = "PATH", help_heading = "Edits of records")]
    pub mask: Vec<String>,

    /// Give the members at PATH another name
    #[arg(long, value_name = "PATH=NAME", help_heading = "Edits of records")]
    pub rename: Vec<String>,

    /// Sort the matches by this value of their record; `:desc` for the greatest values first
    ///
    /// Several: the first decides. Numbers are sorted by value, strings by code points; null and missing
    /// values come last. Matches are printed when all of the input has been read.
    #[arg(long, value_name = "PATH[:desc]", conflicts_with_all = ["count", "offsets", "with_path",
          "with_filename", "line_number", "print0"])]
    pub sort: Vec<String>,

    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Print one row per record, with one column per query
///
/// All queries are evaluated in one pass. A query that can match at most one value of a record ($.user.lang)
/// gives that value, or null. Any other ($.tags[*]) gives an array of its matches. Every record gives a row,
/// even if nothing matches.
///
/// Rows are text, or, with `--format arrow` and `--format parquet`, typed columns.
#[derive(Args, Default)]
#[command(mut_arg("files", |arg| arg.last(true)), after_long_help = "\
Examples:
  warpath select id='$.id' lang='$.user.lang' tweets.ndjson
  warpath select --format table id='$.id' text='$.text' --limit 20 tweets.ndjson
  warpath select --format csv id='$.id' 'urls=$.entities.urls[*].url' -- *.ndjson > urls.csv
  warpath select id='$.id' 'lang=$.user.lang ?? \"und\"' < tweets.ndjson
  warpath select -o tags.parquet id:int64='$.id' 'tags:string=$.tags[*]' tweets.ndjson
  warpath select -o lines.csv --explode '$.items' order='$.id' price=@.price orders.ndjson
  warpath select id='$.id' lang='$.user.lang' --sort lang --sort id:desc --limit 10 tweets.ndjson
  warpath select --auto -o tweets.parquet tweets.ndjson

Types, for `--format arrow` and `--format parquet`:
  bool          true and false
  int64         integers, written without fraction and exponent, that fit
  float64       numbers, to the nearest
  decimal(P,S)  numbers, exactly: P digits at most, S of them after the point; P is at most 38
  int64(string), float64(string), decimal(P,S,string)
                the same numbers, also within strings, as OTLP and MongoDB write them: \"12\"
  string        strings, with escapes resolved
  text          any value: strings as with `string`, other values as JSON; the default
  json          the JSON text of any value: strings with their quotes
  time          instants, to the nanosecond: strings of RFC 3339, without an offset in UTC
  date          dates: strings such as \"2026-01-31\"
  list<TYPE>    arrays, whose elements are of TYPE
  struct<NAME:TYPE,…>  objects, of which these members are taken
  auto          the type of all values at the path; the input is read twice, or see --schema
null and a missing value are null, and so is a value that the type does not take. A warning at the
end counts the latter; so do --stats, and the file's metadata `warpath.columns`. A query that can
match several values of a record gives a list.

`NAME=PATH ?? VALUE` gives VALUE, in JSON, for null and for a missing value.

An argument without `=` that names a file or a pattern is a file. All arguments after `--` are files.")]
pub struct SelectArgs {
    /// Columns: a name, an optional type, `=`, and a query in JSONPath (RFC 9535); then files
    #[arg(value_name = "NAME[:TYPE]=PATH", required_unless_present = "auto")]
    pub columns: Vec<String>,

    /// Make a column of every member of the records, nested as the records are
    ///
    /// As text, columns are flat: `user.lang` is a column, and arrays are JSON. For `--format parquet` and
    /// `--format arrow`, objects become structs, and arrays lists. The types are
    /// those of all records, which are read twice: no value is lost. Values of several types become JSON
    /// text. Strings are instants or dates where all of them are. Records are checked as with `--strict`.
    /// Standard input is copied to a temporary file. With columns, `--auto` gives a type to those that have
    /// none; so does the type `auto` of a single column, as in id:auto='$.id'.
    #[arg(long, conflicts_with_all = ["pretty", "follow"])]
    pub auto: bool,

    #[command(flatten)]
    pub maps: MapArgs,

    /// Take the columns of `--auto`, and the types `auto`, from FILE, in place of a first pass over the input
    ///
    /// FILE is a schema that `warpath schema --format ndjson` has saved, or a Parquet or Arrow file.
    /// A value that a column does not take is null then, and counted in a warning.
    #[arg(long, value_name = "FILE")]
    pub schema: Option<PathBuf>,

    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub column: ColumnArgs,
    #[command(flatten)]
    pub follow: FollowArgs,
    #[command(flatten)]
    pub format: RowFormatArgs,

    /// Action at a value that the type of its column does not take
    #[arg(long, value_enum, value_name = "ACTION", default_value_t)]
    pub on_mismatch: OnMismatchArg,

    /// Print one row per element of the array at PATH, in place of one per record
    ///
    /// PATH is the path of the array ($.items), or of its elements ($.items[*], $.items[?@.price > 9]). A
    /// column whose path begins with that of the elements has the value of the row's element; `@` is short
    /// for that path (price=@.price). Other columns repeat the value of the record. A record without elements
    /// gives no row.
    #[arg(long, value_name = "PATH")]
    pub explode: Option<String>,

    /// Print the name of each row's file in a first column, `file`
    #[arg(short = 'H', long)]
    pub with_filename: bool,

    #[command(flatten)]
    pub limit: LimitArgs,
    #[command(flatten)]
    pub skip: SkipArgs,
    #[command(flatten)]
    pub sort: SortArgs,
    #[command(flatten)]
    pub zone: ZoneArgs,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Show the plan of a run: the program, the indexes, and the stages that would run
///
/// With FILE, the plan is that of these inputs. It says which indexes are used, which are not, and why. The
/// text of the inputs is not read, but for lines that decide which lines are read.
#[derive(Args)]
#[command(
    mut_arg("strict", |arg| arg.help("Show what `--strict` changes").long_help(None::<&str>)),
    mut_arg("only", |arg| {
        arg.help("Show what `--where EXPR` changes").long_help(None::<&str>)
    }),
    after_long_help = "\
Examples:
  warpath explain '$.user.lang'
  warpath explain '$.id' tweets.ndjson --where '$.user.lang == \"nl\"'
  warpath explain id='$.id' lang='$.user.lang' tweets.ndjson
  warpath explain --subscriptions subs.txt logs.wp
  warpath explain --input json '$.items[*].price'
  warpath explain --device cuda '$.entities.urls[*].url' '$.entities.urls[0]'"
)]
pub struct ExplainArgs {
    /// Queries: JSONPath (RFC 9535), several as one program; or columns of `select` (NAME=PATH); then inputs
    #[arg(value_name = "PATH|FILE", required_unless_present = "subscriptions")]
    pub paths: Vec<String>,

    /// Show the plan of `warpath filter` with the subscriptions of this file, in place of queries
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["strict", "input"])]
    pub subscriptions: Option<PathBuf>,

    /// Show what `filter --watch` changes
    #[arg(long, requires = "subscriptions")]
    pub watch: bool,

    #[command(flatten)]
    pub only: WhereArgs,
    #[command(flatten)]
    pub index: IndexArgs,

    #[command(flatten)]
    pub strict: StrictArgs,
    #[command(flatten)]
    pub limit: LimitArgs,
    #[command(flatten)]
    pub column: ColumnArgs,
    #[command(flatten)]
    pub follow: FollowArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}
