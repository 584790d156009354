//! Options of `schema`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::endings::Ending;
use super::options::{
    ColumnArgs, EngineArgs, FileArgs, LimitArgs, MapArgs, OnErrorArgs, OutputArgs, ReportArgs, StrictArgs,
    WhereArgs,
};
use crate::cli::failure::Failure;
use crate::cli::formats;

/// Describe the records: every path, its types, and what its values are like
///
/// Reads every record, on all cores. Each path has the number of its values, its types with the first
/// FILE:LINE of each, how often it is null or missing, its least and greatest value, an estimate of its
/// distinct values (2.3 % standard error; up to 32 are exact), and an example. The elements of an array are
/// one path, `[*]`. So are the values of an object that is used as a map, `.*`. Strings at a path are of the
/// type `time` if all of them are instants of RFC 3339, and of the type `date` if all are dates.
///
/// Records are held to the grammar of JSON, which types depend on. The bytes within strings are checked
/// with `--strict`. `warpath schema diff A B` compares two inputs or saved schemas.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    mut_arg("limit", |arg| arg.help("Read only the first N records")),
    mut_arg("on_error", |arg| {
        arg.help("Action at a malformed record").long_help(
            "Action at a malformed record\n\n`fail` prints no schema. With `skip`, the schema has no value of \
             a malformed record.",
        )
    }),
    after_long_help = "\
Examples:
  warpath schema tweets.ndjson
  warpath schema --format table 'logs/*.ndjson.zst'
  warpath schema --where '$.type == \"push\"' events.ndjson
  warpath schema -o tweet.schema.json tweets.ndjson
  warpath schema --format sql events.ndjson
  warpath schema --format ndjson -o monday.schema monday.ndjson
  warpath schema diff monday.schema tuesday.ndjson

Exit codes of `schema diff`: 0 if the schemas are the same, 1 if they differ, else as for all commands."
)]
pub struct SchemaArgs {
    #[command(subcommand)]
    pub command: Option<SchemaCommand>,

    #[command(flatten)]
    pub files: FileArgs,

    /// Format of the schema [default: by the name of `-o FILE`, such as tweet.sql or tweet.json; else tree]
    #[arg(short = 'f', long, value_enum, value_name = "FORMAT")]
    pub format: Option<SchemaFormat>,

    #[command(flatten)]
    pub maps: MapArgs,
    #[command(flatten)]
    pub only: WhereArgs,
    #[command(flatten)]
    pub limit: LimitArgs,
    #[command(flatten)]
    pub on_error: OnErrorArgs,
    #[command(flatten)]
    pub strict: StrictArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub column: ColumnArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub report: ReportArgs,
}

impl SchemaArgs {
    /// The format that the options name: `--format`, or else the ending of the output's name.
    ///
    /// # Errors
    /// If the ending is that of a file which is not written.
    pub fn format(&self) -> Result<SchemaFormat, Failure> {
        formats::named(&self.output, self.format, |ending| match ending {
            Ending::Ndjson => Some(SchemaFormat::Ndjson),
            Ending::Json => Some(SchemaFormat::JsonSchema),
            Ending::Sql => Some(SchemaFormat::Sql),
            _ => None,
        })
    }
}

#[derive(Subcommand)]
pub enum SchemaCommand {
    Diff(SchemaDiffArgs),
}

/// Compare two schemas: what appeared, vanished, changed its type or became nullable
///
/// A and B are files, folders, patterns, URLs or stores, or schemas that `warpath schema --format ndjson` has
/// written. Exits with 0 if the schemas are the same, and with 1 if they differ. Values and their numbers are
/// not compared.
#[derive(Args)]
#[command(after_long_help = "\
Each line begins with `+` for a path that appeared, `-` for one that vanished, or `~` for one that changed.

Examples:
  warpath schema diff monday.ndjson tuesday.ndjson
  warpath schema diff expected.schema today.ndjson || echo changed")]
pub struct SchemaDiffArgs {
    /// First file, store or saved schema
    #[arg(value_name = "A")]
    pub before: PathBuf,

    /// Second file, store or saved schema
    #[arg(value_name = "B")]
    pub after: PathBuf,

    #[command(flatten)]
    pub maps: MapArgs,
    #[command(flatten)]
    pub on_error: OnErrorArgs,
    #[command(flatten)]
    pub strict: StrictArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum SchemaFormat {
    /// Paths as an indented tree, with what their values are like
    #[default]
    Tree,
    /// A row for each path, with aligned columns
    Table,
    /// One JSON object for each path; `schema diff` reads it again
    Ndjson,
    /// JSON Schema, draft 2020-12
    JsonSchema,
    /// Apache Arrow's types, as text
    Arrow,
    /// The message type of Apache Parquet, as text
    #[cfg(feature = "parquet")]
    Parquet,
    /// `CREATE TABLE`, in DuckDB's dialect
    Sql,
}
