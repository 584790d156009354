//! Options of the commands whose results are about all records together: `count-by`, `distinct`, `stats`,
//! `sample`; and of `head`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use warpath::aggregate::{DEFAULT_MEMORY, Fraction};
use warpath::time::{Every, Zone};
use warpath_terminal::options::memory_size;

use super::endings::Ending;
use super::options::{
    ColumnArgs, EngineArgs, ExitStatusArgs, FileArgs, FollowArgs, LimitArgs, OutputArgs, PrettyArgs, RunArgs,
    SkipArgs,
};
use super::values::{every, number, zone};
use crate::cli::failure::Failure;
use crate::cli::{formats, paths, served};

/// Paths, and the files after them.
#[derive(Args)]
#[command(mut_arg("files", |arg| arg.last(true).help("Files whose names begin with `$`").long_help(None::<&str>)))]
pub struct PathsAndFiles {
    /// Paths, then files: JSONPath (RFC 9535), each beginning with `$`, then files of newline-delimited JSON,
    /// folders, patterns or URLs; `-`, or no file: standard input
    ///
    /// gzip, zstd, bzip2, xz and lz4 are recognised by content. A pattern (`*`, `?`, `[a-z]`,
    /// `**`, `{a,b}`) names the files that match it, sorted, unless a file has exactly that name. A folder
    /// names the files in it and in its folders that end in .json, .ndjson, .jsonl, .log, .log.1 and the
    /// like, compressed or not; hidden ones are left out. URLs: `s3://BUCKET/KEY`, with patterns, and
    /// `https://`, in builds with the feature `object-store`; `file://`.
    #[arg(value_name = "PATH|FILE")]
    words: Vec<OsString>,

    #[command(flatten)]
    files: FileArgs,
}

impl PathsAndFiles {
    /// The paths, and the files. There is at least one path.
    ///
    /// # Errors
    /// If there is no path, or if a path follows a file.
    pub fn split(self) -> Result<(Vec<String>, FileArgs), Failure> {
        let (paths, files) = self.split_any()?;
        if paths.is_empty() {
            let help = match files.files.first().map(|first| first.display().to_string()) {
                None => "such as '$.name'; files follow the paths".to_owned(),
                Some(first) => format!("`{first}` is a file; put a path before it, such as '$.name'"),
            };
            return Err(Failure::usage("no path is given: a path begins with `$`").with_help(help));
        }
        Ok((paths, files))
    }

    /// The paths, and the files. There may be no path. The words before the first file are paths, also
    /// without `$.`; the first word is one if it cannot be a file.
    ///
    /// # Errors
    /// If a path follows a file.
    pub fn split_any(self) -> Result<(Vec<String>, FileArgs), Failure> {
        let Self { words, mut files } = self;
        let is_path = |word: &OsString| word.to_str().is_some_and(|word| word.starts_with('$'));
        let has_file = words.iter().any(|word| !is_path(word) && paths::is_file(word));
        // `tags[*]` is a path: as a pattern it would name the file `tags*`.
        let is_file = |at: usize, word: &OsString| {
            paths::is_file(word) && !(at == 0 && words.len() > 1 && paths::ends_in_brackets(word))
        };
        let count = (words.iter().enumerate())
            .take_while(|(at, word)| is_path(word) || !is_file(*at, word) && (has_file || *at == 0))
            .count();
        let (paths, names) = words.split_at(count);
        let shown = |word: &OsString| word.to_string_lossy().into_owned();
        if let Some(path) = names.iter().find(|word| is_path(word)) {
            let file = shown(&names[0]);
            return Err(Failure::usage(format!("the path `{}` comes after the file `{file}`", shown(path)))
                .with_help(format!("paths come first, then files: `'{}' {file}`", shown(path))));
        }
        if let Some(failure) = paths.iter().find_map(|path| paths::misunderstood(&shown(path))) {
            return Err(failure);
        }
        let paths = paths.iter().map(|path| paths::full(&shown(path)).into_owned()).collect();
        files.files.splice(..0, names.iter().map(PathBuf::from));
        Ok((paths, files))
    }
}

#[derive(Args)]
pub struct MemoryArgs {
    /// Memory for values; more than fit are kept in temporary files
    ///
    /// Temporary files are in the folder that TMPDIR names. The buffers of workers come on top.
    #[arg(long, value_name = "SIZE", value_parser = memory_size, default_value = "1GiB", hide_short_help = true)]
    memory: usize,
}

impl MemoryArgs {
    /// The memory for values, within that of a server.
    pub fn bytes(&self) -> usize {
        served::memory(self.memory)
    }
}

impl Default for MemoryArgs {
    fn default() -> Self {
        Self { memory: DEFAULT_MEMORY }
    }
}

#[derive(Args, Default)]
pub struct SortArgs {
    /// Sort the rows by this column; `:desc` for the greatest values first. Several: the first decides
    ///
    /// Numbers are sorted by value, strings by code points; null and missing values come last. Rows with
    /// equal values stay in the order of the input. Rows are printed when all of the input has been read.
    #[arg(long, value_name = "NAME[:desc]")]
    pub sort: Vec<String>,

    #[command(flatten)]
    pub memory: MemoryArgs,
}

/// Groups of records, beside those by values.
#[derive(Args)]
pub struct GroupArgs {
    /// Group by time, too: one group for each bucket, such as 15m, 1h, 1d, 1w, 1mo
    ///
    /// Units: ms, s, m, h, d, w, mo and y. Buckets of less than a day are counted from midnight; weeks begin
    /// on Monday. Rows are in the order of time.
    #[arg(long, value_name = "LENGTH", value_parser = every)]
    pub every: Option<Every>,

    /// The path of the time of a record, for `--every` [default: found in the first records]
    ///
    /// Strings of RFC 3339 or in the format of `--time-format`, and numbers since 1970. Values that are not
    /// instants are reported, and count as missing.
    #[arg(long, value_name = "PATH", requires = "every")]
    pub time: Option<String>,

    /// The time zone of `--every`: UTC, an offset such as +01:00, or a name such as Europe/Amsterdam
    #[arg(long, value_name = "ZONE", requires = "every", default_value = "UTC", hide_default_value = true,
          allow_hyphen_values = true, value_parser = zone)]
    pub time_zone: Zone,

    /// Group by input, too: a column `file` comes first
    #[arg(long)]
    pub by_file: bool,
}

#[derive(Args)]
pub struct RowsArgs {
    /// Format of the results [default: by the name of `-o FILE`, such as rows.csv; else text]
    #[arg(short = 'f', long, value_enum, value_name = "FORMAT")]
    pub format: Option<RowsFormat>,

    /// With `--format text`, print strings as text: without quotes, escapes resolved
    #[arg(short, long)]
    pub raw_output: bool,
}

impl RowsArgs {
    /// The format that the options name: `--format`, or else the ending of the output's name.
    ///
    /// # Errors
    /// If the ending is that of a file which is not written.
    pub fn of(&self, output: &OutputArgs) -> Result<RowsFormat, Failure> {
        formats::named(output, self.format, RowsFormat::of_ending)
    }
}

/// Formats of rows with few columns.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum RowsFormat {
    /// Fields separated by tabs, values as JSON; a missing value is `missing`, without quotes
    #[default]
    Text,
    /// One JSON object per line, without the missing values
    Ndjson,
    /// A header, then one line per row: strings as text, missing values empty, the rest as JSON, and so the
    /// string "null"
    Csv,
    /// The same as csv with tabs between fields
    Tsv,
    /// Aligned columns, shortened to fit the terminal
    Table,
}

impl RowsFormat {
    /// The format of files whose names have this ending.
    pub fn of_ending(ending: Ending) -> Option<Self> {
        match ending {
            Ending::Ndjson | Ending::Json => Some(Self::Ndjson),
            Ending::Csv => Some(Self::Csv),
            Ending::Tsv => Some(Self::Tsv),
            _ => None,
        }
    }
}

/// Count how often each value occurs
///
/// Prints COUNT<TAB>VALUE for each value of PATH, the most frequent first; values with the same count in
/// their order. A PATH that can match several values of a record ($.tags[*]) counts each. A record without a
/// match counts as `missing`, which is not `null`.
///
/// With several PATHs, each combination of their values is counted, once a record; each PATH must then match
/// at most one value of a record. With `--every` or `--by-file`, no PATH is needed: records are counted.
///
/// With `--follow`, a table on a terminal is drawn again when lines come; elsewhere the counts are printed
/// when the input ends (Ctrl-C).
///
/// Values are equal as RFC 9535 compares them: 1 and 1.0, "é" and "\u00e9", objects with the same members in
/// any order. Equal values are printed in one form.
#[derive(Args)]
#[command(
    override_usage = "warpath count-by [OPTIONS] PATH... [FILE...]",
    after_long_help = "\
Examples:
  warpath count-by '$.user.lang' tweets.ndjson
  warpath count-by --bars -n 20 '$.host' --where '$.status >= 500' 'logs/*.ndjson.gz'
  warpath count-by --every 1h --time '$.at' --bars logs/
  warpath count-by --every 1d --time-zone Europe/Amsterdam '$.level' logs/
  warpath count-by --top 10 '$.entities.hashtags[*].text' 'tweets/*.ndjson.zst'
  warpath count-by '$.user.lang' '$.user.verified' --format csv tweets.ndjson
  tail -n 100000 log.ndjson | warpath count-by --where '$.status >= 500' '$.path'

Paths begin with `$`, and files follow them; files whose names begin with `$` follow `--`.
Results do not depend on the number of workers. docs/everyday.md has more examples."
)]
pub struct CountByArgs {
    #[command(flatten)]
    pub words: PathsAndFiles,

    #[command(flatten)]
    pub groups: GroupArgs,

    /// Print only the N most frequent values; with `--every` and `--by-file`, of each group
    #[arg(short = 'n', long, value_name = "N", value_parser = number::<usize>, allow_negative_numbers = true)]
    pub top: Option<usize>,

    /// Print a table with a bar for each count
    ///
    /// With `--every` and no PATH, buckets without records have a row, too.
    #[arg(long, conflicts_with_all = ["format", "raw_output"])]
    pub bars: bool,

    #[command(flatten)]
    pub follow: FollowArgs,
    #[command(flatten)]
    pub rows: RowsArgs,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub exit_status: ExitStatusArgs,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub column: ColumnArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Print each value once, in the order in which values are first seen
///
/// With several PATHs, each combination of their values is printed once; each PATH must then match at most
/// one value of a record. Records without a match have no value.
///
/// Values are printed as soon as they are known to be new. Beyond `--memory`, the rest follows at the end.
/// Values are equal as for `warpath count-by`.
#[derive(Args)]
#[command(
    override_usage = "warpath distinct [OPTIONS] PATH... [FILE...]",
    after_long_help = "\
Examples:
  warpath distinct '$.user.lang' tweets.ndjson
  warpath distinct --count '$.user.id' tweets.ndjson
  warpath distinct -r '$.entities.urls[*].expanded_url' tweets.ndjson | head
  warpath distinct '$.user.lang' '$.user.time_zone' tweets.ndjson
  warpath distinct --by '$.user.id' tweets.ndjson > first-tweets.ndjson

Paths begin with `$`, and files follow them; files whose names begin with `$` follow `--`."
)]
pub struct DistinctArgs {
    #[command(flatten)]
    pub words: PathsAndFiles,

    /// Print whole records: the first one for each value of PATH; several options: for each combination
    ///
    /// Records without a value count as records with one value, `missing`.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["count", "format", "raw_output"])]
    pub by: Vec<String>,

    /// Print only the number of different values
    #[arg(short, long, conflicts_with_all = ["format", "raw_output", "limit"])]
    pub count: bool,

    #[command(flatten)]
    pub limit: LimitArgs,
    #[command(flatten)]
    pub rows: RowsArgs,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub exit_status: ExitStatusArgs,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub column: ColumnArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Describe the values of each path: kinds, sum, least, greatest, mean and quantiles
///
/// Numbers are exact in `sum`, `least` and `greatest`. The mean is the exact sum, rounded once, by the number
/// of numbers. Quantiles are about doubles: a quantile Q is the least number that a fraction Q of all numbers
/// does not exceed. Strings are in the order of their code points.
///
/// A record without a match is `missing`, which is not `null`. Each match of a path counts.
///
/// With `--by`, `--every` or `--by-file` the result is a table, one row for each group and path: the groups
/// with the most records first, or in the order of time. As text and as a table, `least` and `greatest` are
/// of the strings where a group has no numbers; `ndjson`, `csv` and `tsv` have all columns.
#[derive(Args)]
#[command(
    override_usage = "warpath stats [OPTIONS] PATH... [FILE...]",
    after_long_help = "\
Examples:
  warpath stats '$.user.followers_count' tweets.ndjson
  warpath stats --quantiles 0.5,0.95,0.999 '$.ms' 'logs/*.ndjson.zst'
  warpath stats '$.ms' '$.bytes' --where '$.status == 200' --format csv log.ndjson
  warpath stats '$.ms' --by '$.endpoint' --every 1h --quantiles 0.99 log.ndjson
  warpath stats '$.bytes' --by '$.client' --sort sum:desc -n 10 log.ndjson
  warpath stats '$.user' --by '$.host' --distinct log.ndjson

Paths begin with `$`, and files follow them; files whose names begin with `$` follow `--`."
)]
pub struct DescribeArgs {
    #[command(flatten)]
    pub words: PathsAndFiles,

    /// Group by the values of PATH; several options group by several paths
    #[arg(long, value_name = "PATH")]
    pub by: Vec<String>,

    #[command(flatten)]
    pub groups: GroupArgs,

    /// Quantiles to print, as fractions
    #[arg(long, value_name = "Q,Q", value_delimiter = ',', default_value = "0.5,0.9,0.99")]
    pub quantiles: Vec<Fraction>,

    /// Count the different values, too; `null` is none of them
    #[arg(long)]
    pub distinct: bool,

    /// Sort the groups by this column; `:desc` for the greatest values first. Several: the first decides
    #[arg(long, value_name = "NAME[:desc]")]
    pub sort: Vec<String>,

    /// Print only the first N groups
    #[arg(short = 'n', long, value_name = "N", value_parser = number::<usize>, allow_negative_numbers = true)]
    pub top: Option<usize>,

    #[command(flatten)]
    pub follow: FollowArgs,

    /// Format of the results [default: by the name of `-o FILE`, such as rows.csv; else text]
    #[arg(short = 'f', long, value_enum, value_name = "FORMAT")]
    pub format: Option<RowsFormat>,

    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub exit_status: ExitStatusArgs,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub column: ColumnArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Print random records, in the order of the input
///
/// Each set of N records is equally likely, and no record is printed twice. With `--where`, the sample is of
/// the records that match. With fewer records, all are printed. All of the input is read.
#[derive(Args)]
#[command(
    mut_arg("memory", |arg| {
        arg.help("Memory for the sample; a sample that does not fit is an error").long_help(None::<&str>)
    }),
    after_long_help = "\
Examples:
  warpath sample -n 1000 tweets.ndjson > some.ndjson
  warpath sample 10 --seed 1 --where '$.user.lang == \"nl\"' 'tweets/*.ndjson.zst'
  warpath sample 2 --by '$.user.lang' tweets.ndjson

The sample of a seed does not depend on the number of workers, and the sample of 2N records contains
the one of N."
)]
pub struct SampleArgs {
    #[command(flatten)]
    pub files: FileArgs,

    /// Number of records [default: 10]. A number before the files means the same
    #[arg(short = 'n', long = "limit", value_name = "N", value_parser = number::<usize>, allow_negative_numbers = true)]
    pub size: Option<usize>,

    /// Draw N records for each value of PATH; several options: for each combination of values
    #[arg(long, value_name = "PATH")]
    pub by: Vec<String>,

    /// Seed of the sample: the same seed and input give the same sample [default: another one each time]
    #[arg(long, value_name = "N", value_parser = number::<u64>, allow_negative_numbers = true)]
    pub seed: Option<u64>,

    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub exit_status: ExitStatusArgs,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub column: ColumnArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Print the first records
///
/// Reads little more of the input than it prints.
#[derive(Args)]
#[command(
    mut_arg("limit", |arg| arg.help("Number of records").default_value("10")),
    after_long_help = "\
Examples:
  warpath head tweets.ndjson.zst
  warpath head -n 3 --where '$.user.lang == \"nl\"' tweets.ndjson
  warpath head -n 1 --skip 1000 tweets.ndjson"
)]
pub struct HeadArgs {
    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub limit: LimitArgs,
    #[command(flatten)]
    pub skip: SkipArgs,
    #[command(flatten)]
    pub pretty: PrettyArgs,
    #[command(flatten)]
    pub exit_status: ExitStatusArgs,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub column: ColumnArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}
