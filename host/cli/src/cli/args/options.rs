//! Options that several subcommands share. Each is declared once, in a group.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use warpath::time::{Format as TimeFormat, Zone};
use warpath::{DeviceChoice, Error, FollowFrom, Format, OnError, Predicate, Query};

use warpath_terminal::options::{When, workers};

use super::endings::Ending;
use super::values::{device, expression, number, partition_size, time_format, zone};

#[derive(Args, Default)]
pub struct FileArgs {
    /// Files of newline-delimited JSON, folders, patterns or URLs; `-`, or no file: standard input
    ///
    /// gzip, zstd, bzip2, xz and lz4 are recognised by content. A pattern (`*`, `?`, `[a-z]`,
    /// `**`, `{a,b}`) names the files that match it, sorted, unless a file has exactly that name. A folder
    /// names the files in it and in its folders that end in .json, .ndjson, .jsonl, .log, .log.1 and the
    /// like, compressed or not; hidden ones are left out. URLs: `s3://BUCKET/KEY`, with patterns, and
    /// `https://`, in builds with the feature `object-store`; `file://`.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Read the files and folders that LIST names, after any FILE; `-`: the list is standard input
    ///
    /// One name a line; if the list contains a zero byte, zero bytes end the names (`find -print0`). Names in
    /// the list are no patterns.
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub files_from: Option<PathBuf>,
}

#[derive(Args, Default)]
pub struct ColumnArgs {
    /// The column of JSON text that is read of tables, with `--input parquet` or `--input arrow`
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub column: Option<String>,
}

#[derive(Args, Default)]
pub struct FollowArgs {
    /// Wait for lines that are written to the files later, also if they are replaced or made shorter
    ///
    /// `start`: read the files first; `end`: read only lines that come later. A line waits for its end.
    /// Another file that takes a name is read from its start. Files that come into a folder are followed,
    /// too. The first SIGINT (Ctrl-C) or SIGTERM ends the input, and the run as usual. Malformed records are
    /// skipped and counted, unless `--on-error fail` is given. For plain files of lines; compressed ones in
    /// folders are left out.
    #[arg(long, value_enum, value_name = "FROM", num_args = 0..=1, require_equals = true,
          default_missing_value = "start")]
    pub follow: Option<FollowFromArg>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FollowFromArg {
    /// From the start of the files
    Start,
    /// From the end that the files have now
    End,
}

impl From<FollowFromArg> for FollowFrom {
    fn from(from: FollowFromArg) -> Self {
        match from {
            FollowFromArg::Start => Self::Start,
            FollowFromArg::End => Self::End,
        }
    }
}

#[derive(Args, Default)]
pub struct OutputArgs {
    /// Write to FILE instead of standard output
    ///
    /// FILE must not be an input. It is overwritten when the first input has been read. Where a part of the
    /// results is of no use, as in Parquet, it is replaced when all of them are written. Where the format is
    /// not given, the ending of FILE names it; an ending of another format, or of a compression, is refused.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl OutputArgs {
    /// The file to write. `None` means standard output.
    pub fn path(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }

    /// Returns true if results are written to a file, and not to standard output.
    pub fn is_file(&self) -> bool {
        self.path().is_some()
    }

    /// The ending of the file's name, in lower case.
    pub fn ending(&self) -> Option<String> {
        Some(self.path()?.extension()?.to_str()?.to_ascii_lowercase())
    }
}

/// A file that appears under its name when it is complete.
#[derive(Args)]
pub struct NewFileArgs {
    /// File for the index; it has a temporary name until it is complete
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

#[derive(Args, Default)]
pub struct OnErrorArgs {
    /// Action at a malformed record [default: fail]
    ///
    /// Every record is checked: it is one value, its strings are closed, its brackets balance and match, a
    /// `:` follows a string, and it has at most 1024 levels. With `--strict`: all of RFC 8259.
    #[arg(long, value_enum, value_name = "ACTION")]
    on_error: Option<OnErrorArg>,
}

impl OnErrorArgs {
    pub const SKIP: Self = Self { on_error: Some(OnErrorArg::Skip) };

    /// The action at a malformed record.
    pub fn action(&self) -> OnErrorArg {
        self.on_error.unwrap_or_default()
    }

    /// Makes skipping the default where files are followed: a monitor must not end at one line.
    pub fn skip_if_followed(&mut self, follow: &FollowArgs) {
        if follow.follow.is_some() {
            self.on_error.get_or_insert(OnErrorArg::Skip);
        }
    }
}

#[derive(Args, Default)]
pub struct StrictArgs {
    /// Treat a record as malformed unless it is JSON by all of RFC 8259, and UTF-8
    ///
    /// A device runs this check itself. The CPU runs it before it evaluates a partition; that takes longer
    /// than most queries do.
    #[arg(long)]
    pub strict: bool,
}

#[derive(Args, Default)]
pub struct LimitArgs {
    /// Stop after N results
    #[arg(short = 'n', long, value_name = "N", value_parser = number::<u64>, allow_negative_numbers = true)]
    pub limit: Option<u64>,
}

#[derive(Args, Default)]
pub struct MapArgs {
    /// Keep all names of objects in the schema, also where they look like data (docs/schema.md)
    #[arg(long)]
    pub no_maps: bool,
}

#[derive(Args, Default)]
pub struct SkipArgs {
    /// Leave out the first N results
    #[arg(long, value_name = "N", default_value_t, hide_default_value = true, value_parser = number::<u64>,
          allow_negative_numbers = true)]
    pub skip: u64,
}

#[derive(Args, Default)]
pub struct ExitStatusArgs {
    /// Exit with 1 if nothing matched
    #[arg(short, long)]
    pub exit_status: bool,
}

#[derive(Args, Default)]
pub struct RowFormatArgs {
    /// Format of the rows [default: by the name of `-o FILE`, such as rows.csv or rows.parquet; a table on a
    /// terminal; else ndjson]
    #[arg(short = 'f', long, value_enum, value_name = "FORMAT")]
    pub format: Option<RowFormat>,

    #[command(flatten)]
    pub pretty: PrettyArgs,
}

#[derive(Args, Default)]
pub struct PrettyArgs {
    /// Print JSON with indentation, on several lines
    #[arg(long)]
    pub pretty: bool,
}

#[derive(Args, Default)]
pub struct RejectArgs {
    /// Write the records that are left out to FILE, one JSON object per line
    ///
    /// For records that `--on-error skip` or `--on-mismatch skip` leaves out:
    /// {"file":…,"line":…,"byte":…,"reason":…,"record":…}, and "column" for a value that a column does not
    /// take. "record" is the text as it was; one that is not UTF-8 is in Base64, as "record_base64".
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub rejects: Option<PathBuf>,

    /// End the run with an error when more than N records are left out
    ///
    /// Results may go on a little after the last of them: up to the end of the partition.
    #[arg(long, value_name = "N", value_parser = number::<u64>, allow_negative_numbers = true,
          hide_short_help = true)]
    pub max_errors: Option<u64>,
}

#[derive(Args, Default)]
pub struct IndexArgs {
    /// Do not use the index that lies beside the input
    ///
    /// Beside `log.ndjson` this is `.log.ndjson.warpath`, which `warpath store index` makes. Results are the
    /// same with and without it.
    #[arg(long, hide_short_help = true)]
    pub no_index: bool,
}

#[derive(Args, Default)]
pub struct WhereArgs {
    /// Evaluate only the records that match EXPR, a filter of RFC 9535 about the record
    ///
    /// Such as '$.followers >= 1000 && $.lang in ("en", "nl")'. `$` is the record. There are also `between A
    /// and B`, `like "a%"`, `is missing`, `is null`, and the words `and`, `or` and `not`. Functions are
    /// `contains`, `starts_with`, `ends_with` and `like`, `icontains` and so on to ignore case, `cidr($.ip,
    /// "10.0.0.0/8")` and `time($.at) >= now() - 1h`. If the index of a file has columns (`warpath store
    /// index --column`), EXPR may test them by their names, too.
    #[arg(id = "only", long = "where", value_name = "EXPR", allow_hyphen_values = true,
          value_parser = expression)]
    pub only: Option<String>,

    /// Format of the instants that `time(…)` reads in expressions [default: RFC 3339, or a number since 1970]
    ///
    /// A format of strftime, such as '%a %b %d %H:%M:%S %z %Y' (Twitter) or '%d/%b/%Y:%H:%M:%S %z' (Apache);
    /// or `s`, `ms`, `us` or `ns` for numbers since 1970. `time(PATH, FORMAT)` has a format of its own. As
    /// in '$.id' --where 'time($.created_at) >= "2017-03-01"'.
    #[arg(long, value_name = "FMT", value_parser = time_format)]
    pub time_format: Option<TimeFormat>,
}

impl WhereArgs {
    /// The predicate on records.
    pub fn predicate(&self) -> Result<Option<Predicate>, Error> {
        let Some(only) = &self.only else { return Ok(None) };
        Ok(Some(self.timed(Predicate::parse(only)?)))
    }

    /// A predicate with the format of instants.
    pub fn timed(&self, predicate: Predicate) -> Predicate {
        match &self.time_format {
            Some(format) => predicate.with_time_format(format),
            None => predicate,
        }
    }

    /// A query with the format of instants.
    pub fn query(&self, path: &str) -> Result<Query, Error> {
        match &self.time_format {
            Some(format) => Query::compile_with(path, format),
            None => Query::compile(path),
        }
    }
}

/// Input, output and checks of a run; not its queries.
#[derive(Args, Default)]
#[command(next_help_heading = "Input and output")]
pub struct RunArgs {
    /// True if the records are those of `select --explode`, whose paths the user does not see.
    #[arg(skip)]
    pub of_elements: bool,

    #[command(flatten)]
    pub on_error: OnErrorArgs,
    #[command(flatten)]
    pub rejects: RejectArgs,
    #[command(flatten)]
    pub strict: StrictArgs,
    #[command(flatten)]
    pub index: IndexArgs,

    #[command(flatten)]
    pub only: WhereArgs,

    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub report: ReportArgs,
}

#[derive(Args, Default)]
#[command(next_help_heading = "Messages")]
pub struct StatsArgs {
    /// Print statistics at the end, on standard error: what was read, what ran where, and how long it took
    ///
    /// `--stats=json`: one JSON object, with numbers of bytes and seconds.
    #[arg(long, value_enum, value_name = "FORMAT", num_args = 0..=1, require_equals = true,
          default_missing_value = "text")]
    pub stats: Option<StatsFormat>,
}

#[derive(Args, Default)]
#[command(next_help_heading = "Messages")]
pub struct ProgressArgs {
    /// Progress on standard error
    ///
    /// `auto`: on a terminal, unless results are printed there, and after half a second.
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        env = "WARPATH_PROGRESS",
        hide_env_values = true,
        hide_short_help = true
    )]
    pub progress: When,
}

/// Reports about a run, beside its results.
#[derive(Args, Default)]
#[command(next_help_heading = "Messages")]
pub struct ReportArgs {
    #[command(flatten)]
    pub stats: StatsArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

#[derive(Args, Default)]
pub struct DeviceArgs {
    /// Device that evaluates: auto, cpu, cuda, cuda:N, cuda:N,N or cuda:all
    ///
    /// `auto`: the first CUDA device for large plain files, if there is a driver and a device; else the CPU,
    /// which needs no setup. `cuda` is `cuda:0`; `warpath devices` lists the numbers. Several devices take
    /// partitions in turns. All give the same results.
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device, env = "WARPATH_DEVICE",
          hide_env_values = true, hide = true)]
    pub device: DeviceChoice,
}

#[derive(Args, Default)]
#[command(next_help_heading = "Engine")]
pub struct PartitionArgs {
    /// Bytes of a partition: a number, or one of K, M or G such as 64M [default: 1M; on a GPU, chosen for it]
    ///
    /// 64M, 64MB and 64MiB are all 64 × 1024 × 1024 bytes. A partition grows to hold a longer record. Results
    /// do not depend on it.
    #[arg(long, value_name = "SIZE", value_parser = partition_size, env = "WARPATH_PARTITION_SIZE",
          hide_env_values = true, hide = true)]
    pub partition_size: Option<usize>,

    /// The longest record, with its newline; a longer one is an error [default: 2G less 32K]
    ///
    /// A record takes a few times its length in memory. A document (`--input json`) is a record, too.
    #[arg(long, value_name = "SIZE", value_parser = partition_size, hide = true)]
    pub max_record: Option<usize>,

    /// Number of partitions in work at the same time [default: one per core; on a GPU, chosen for it]
    ///
    /// Each takes a thread, and memory for its partition.
    #[arg(long, value_name = "N", value_parser = workers, env = "WARPATH_WORKERS", hide_env_values = true,
          hide = true)]
    pub workers: Option<usize>,
}

/// The device, and the parts that it works on.
#[derive(Args, Default)]
#[command(next_help_heading = "Engine")]
pub struct BackendArgs {
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub partitions: PartitionArgs,
}

#[derive(Args, Default)]
#[command(next_help_heading = "Input and output")]
pub struct EngineArgs {
    #[command(flatten)]
    pub backend: BackendArgs,
    #[command(flatten)]
    pub layout: LayoutArgs,
}

/// The layout of the input, and the records in it.
#[derive(Args, Default)]
#[command(next_help_heading = "Input and output")]
pub struct LayoutArgs {
    /// Format of the input
    ///
    /// `auto` looks at the first bytes. A value on each line is a record. Pretty-printed and concatenated
    /// JSON, and JSON text sequences, are read value by value; the elements of an array of objects are
    /// records, and so are the rows of Parquet and Arrow files. `--stats` says what was found.
    ///
    /// With `json` each file, or standard input, is one document and one record; a malformed one has no
    /// results. Offsets, also of faults, are those of the file. Newlines in printed text are spaces.
    /// Large files are evaluated in parts if all queries go through the elements of one array, such as
    /// '$[*].id'. `warpath explain --input json` says if they do. Indexes require lines.
    ///
    /// With `parquet` and `arrow` each row is a record, or, with `--column`, each value of a column of text;
    /// a null is then a blank line.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t, help_heading = "Input and output")]
    pub input: InputFormat,

    #[command(flatten)]
    pub records: RecordsArgs,
}

impl LayoutArgs {
    /// The format of what commands evaluate: matches of `--records` are lines.
    pub fn format(&self) -> Format {
        if self.records.records.is_some() { Format::Ndjson } else { self.input.into() }
    }
}

/// The time zone of results.
#[derive(Args, Default)]
pub struct ZoneArgs {
    /// The time zone of printed times: UTC, an offset such as +01:00, or a name such as Europe/Amsterdam
    ///
    /// For `time` columns in text, and for the days and hours in the name of the output.
    #[arg(long, value_name = "ZONE", default_value = "UTC", hide_default_value = true,
          allow_hyphen_values = true, value_parser = zone)]
    pub time_zone: Zone,
}

/// Records within the records of the input.
#[derive(Args, Default)]
#[command(next_help_heading = "Input and output")]
pub struct RecordsArgs {
    /// The matches of PATH are the records, such as '$.Records[*]' or '$.spans[*]'
    ///
    /// In all other paths and conditions `$` is such a record. In place of a line, messages have the number
    /// of the record in its file. With `--input json`, PATH is evaluated on the whole document.
    #[arg(long, value_name = "PATH")]
    pub records: Option<String>,

    /// Add a member to each record of `--records`: a value of the record around it
    ///
    /// Such as host='$.host'. PATH may go through the same arrays as that of `--records`: the value is then
    /// of the same elements. A member of that name in the record itself is hidden. A record that is no object
    /// becomes the member `value`.
    #[arg(long, value_name = "NAME=PATH", requires = "records")]
    pub with: Vec<String>,
}

/// Formats of statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatsFormat {
    /// Lines of a name and a value
    Text,
    /// One JSON object
    Json,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// The format that the first bytes show
    #[default]
    Auto,
    /// One JSON value per line
    Ndjson,
    /// One JSON document per input, on one line or many
    Json,
    /// Parquet files: their rows, or a column of JSON text
    Parquet,
    /// Arrow IPC files (Feather) or streams: their rows, or a column of JSON text
    Arrow,
}

impl From<InputFormat> for Format {
    fn from(format: InputFormat) -> Self {
        match format {
            InputFormat::Auto | InputFormat::Ndjson | InputFormat::Parquet | InputFormat::Arrow => {
                Self::Ndjson
            }
            InputFormat::Json => Self::Json,
        }
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// One JSON object per line
    #[default]
    Ndjson,
    /// A header, then one line per row: strings as text, null and missing values empty, the rest as JSON
    Csv,
    /// The same as csv with tabs between fields; in a field, `\t`, `\n`, `\r` and `\\` mean tab, line feed,
    /// carriage return and backslash
    Tsv,
    /// Aligned columns, shortened to fit the terminal; the first 1000 rows decide how wide they are
    Table,
    /// Typed columns as Arrow IPC: with `-o FILE` the file format (Feather), else, and with `-o FILE.arrows`,
    /// the stream format
    Arrow,
    /// Typed columns as Apache Parquet, compressed by Snappy
    #[cfg(feature = "parquet")]
    Parquet,
}

impl RowFormat {
    /// The format of files whose names have this ending.
    pub fn of_ending(ending: Ending) -> Option<Self> {
        match ending {
            Ending::Ndjson | Ending::Json => Some(Self::Ndjson),
            Ending::Csv => Some(Self::Csv),
            Ending::Tsv => Some(Self::Tsv),
            Ending::ArrowFile | Ending::ArrowStream => Some(Self::Arrow),
            #[cfg(feature = "parquet")]
            Ending::Parquet => Some(Self::Parquet),
            _ => None,
        }
    }
}

/// Actions at a value that the type of its column does not take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnMismatchArg {
    /// Null in its place; counted, and reported at the end
    #[default]
    Null,
    /// Write the rows of every record before it, then stop
    Fail,
    /// No row for its record; counted, and reported at the end
    Skip,
    /// The columns with types are text, which takes every value
    String,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum OnErrorArg {
    /// Print the results of every record before it, then stop
    #[default]
    Fail,
    /// Skip it, and report at the end
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
