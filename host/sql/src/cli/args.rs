//! The options of SQL.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use warpath::{DeviceChoice, OnError};
use warpath_core::pool::cores;
use warpath_terminal::options::{MessageArgs, When, memory_size, workers};

use super::messages::Failure;
use crate::{Options, SchemaFrom};

/// SQL over newline-delimited JSON
#[derive(Parser)]
#[command(
    name = "warpath sql",
    version,
    max_term_width = 100,
    after_long_help = "\
Examples:
  warpath sql \"SELECT level, count(*) FROM 'logs/*.ndjson.gz' GROUP BY level\"
  warpath sql \"SELECT user['lang'] AS lang, avg(ms) FROM 'log.ndjson' GROUP BY lang\"
  warpath sql --schema line \"SELECT json_path_int(line, '$.a.b') AS b FROM 'odd.ndjson'\"
  warpath sql -o langs.parquet \"SELECT DISTINCT user['lang'] AS lang FROM 'tweets.ndjson'\"
  warpath sql --filename \"SELECT filename, count(*) FROM 'logs/' GROUP BY filename\"
  warpath sql -f report.sql

A quoted name after FROM is a file, a folder or a pattern. Its columns are the members of all records: objects
become structs, arrays become lists, and members of several types become JSON text. If a record of a file is no
object, the file has one column, `value`. The schema is kept beside the file in `.NAME.schema`, or for objects
in ~/.cache/warpath. Without a query, statements come from standard input; on a terminal, that is a shell. The SQL is that of Apache DataFusion: https://datafusion.apache.org/user-guide/sql

Exit codes:
  0    done
  2    wrong usage, or a file that cannot be read or written
  3    bad query
  4    bad input
  5    device failure
  129, 130, 143
       ended by SIGHUP, SIGINT or SIGTERM"
)]
pub struct Args {
    /// Statements, separated by `;`
    #[arg(conflicts_with = "file")]
    pub query: Option<String>,

    /// File with statements
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Format of rows; by default `table`, or as the name after `--output` ends
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<Format>,

    /// File for the rows, which is replaced when they are complete
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Source of columns: `all` records, `sample:N` for the first N of each file, or `line` for none
    #[arg(long, value_name = "SOURCE", default_value = "all", value_parser = schema)]
    schema: SchemaFrom,

    /// Add the column `filename` to tables of local files: the file of each record
    #[arg(long)]
    filename: bool,

    /// Keep no schemas, neither beside files nor those of objects in the user's cache
    #[arg(long)]
    no_keep: bool,

    #[expect(missing_docs, reason = "documentation of a group of options would be in the help")]
    #[command(flatten)]
    pub engine: EngineArgs,

    /// Malformed records
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Policy::Fail)]
    on_error: Policy,

    /// Progress on standard error
    ///
    /// `auto`: on a terminal, unless rows are printed there while the query runs, and after half a second.
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        env = "WARPATH_PROGRESS",
        hide_env_values = true
    )]
    pub progress: When,

    #[expect(missing_docs, reason = "documentation of a group of options would be in the help")]
    #[command(flatten)]
    pub messages: MessageArgs,
}

#[expect(missing_docs, reason = "documentation of a group of options would be in the help")]
#[derive(clap::Args)]
pub struct EngineArgs {
    /// Device that evaluates paths and predicates: `cpu`, `auto`, `cuda` or `cuda:N`
    #[arg(
        long,
        value_name = "DEVICE",
        default_value = "cpu",
        env = "WARPATH_DEVICE",
        hide_env_values = true
    )]
    device: DeviceChoice,

    /// Partitions of a query that are evaluated at the same time; by default one on each core
    #[arg(long, value_name = "N", value_parser = workers, env = "WARPATH_WORKERS",
          hide_env_values = true)]
    workers: Option<usize>,

    /// Memory of sorts, joins and aggregates before they write to temporary files, such as `4G`
    #[arg(long, value_name = "SIZE", value_parser = memory_size)]
    memory: Option<usize>,
}

impl EngineArgs {
    /// The settings of sessions; those without an option are the default ones.
    pub fn options(&self) -> Options {
        Options {
            device: self.device.clone(),
            workers: self.workers.unwrap_or(0),
            memory: self.memory,
            ..Options::default()
        }
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.workers.unwrap_or_else(cores)
    }
}

/// The policy for malformed records.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Policy {
    /// End the query with an error
    Fail,
    /// Leave them out, and count them
    Skip,
}

/// A format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Aligned columns
    Table,
    /// A JSON object for each row
    Ndjson,
    /// Comma-separated values with a header
    Csv,
    /// Arrow: a file, or a stream on standard output
    Arrow,
    /// Parquet
    Parquet,
}

/// The folder for the schemas of objects, as the XDG Base Directory Specification has it.
fn cache() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let home = || home().filter(|path| path.is_absolute());
    Some(cache.or_else(home)?.join("warpath/schemas"))
}

fn schema(text: &str) -> Result<SchemaFrom, String> {
    text.parse()
}

impl Args {
    /// The settings of sessions.
    pub fn options(&self) -> Options {
        Options {
            on_error: if self.on_error == Policy::Skip { OnError::Skip } else { OnError::Fail },
            schema: self.schema,
            filename: self.filename,
            keeps_schemas: !self.no_keep,
            cache: cache(),
            ..self.engine.options()
        }
    }

    /// The format of rows.
    ///
    /// # Errors
    /// A format that standard output cannot have.
    pub(super) fn format(&self) -> Result<Format, Failure> {
        let ending = self.output.as_ref().and_then(|path| path.extension()?.to_str());
        let format = self.format.unwrap_or(match ending {
            Some("ndjson" | "jsonl" | "json") => Format::Ndjson,
            Some("csv") => Format::Csv,
            Some("arrow" | "feather") => Format::Arrow,
            Some("parquet") => Format::Parquet,
            _ => Format::Table,
        });
        if format == Format::Parquet && self.output.is_none() {
            return Err(Failure::usage("Parquet is written to a file: name it with `--output FILE`"));
        }
        Ok(format)
    }
}
