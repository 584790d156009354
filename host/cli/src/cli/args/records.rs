//! Options of `validate` and `tree`, which read each record as a whole.

#[cfg(feature = "json-schema")]
use std::path::PathBuf;

use clap::{Args, value_parser};

use super::options::{
    FileArgs, LayoutArgs, LimitArgs, OnErrorArgs, OutputArgs, PartitionArgs, RejectArgs, ReportArgs,
    WhereArgs,
};

/// Check that every record is JSON, by all of RFC 8259 and in UTF-8
///
/// If all are, prints their number, and exits with 0. Else reports the first malformed record, and exits with
/// 4. The report is FILE:LINE:BYTE, with the first byte that is not allowed there. Blank lines are not
/// records. The check runs on the CPU, on all cores.
///
/// `--strict` runs the same check before queries are evaluated.
#[derive(Args)]
#[command(
    mut_arg("limit", |arg| {
        arg.help("List the malformed records on standard output, and stop after N")
            .value_parser(value_parser!(u64).range(1..))
    }),
    mut_arg("rejects", |arg| {
        arg.help("Write all malformed records to FILE, one JSON object per line").long_help(
            "Write all malformed records to FILE, one JSON object per line\n\n\
             {\"file\":…,\"line\":…,\"byte\":…,\"reason\":…,\"record\":…}. \"record\" is the text as it was; one \
             that is not UTF-8 is in Base64, as \"record_base64\".",
        )
    }),
    mut_arg("only", |arg| {
        arg.help("Count only the records for which EXPR is true, a filter of RFC 9535 about the record")
            .long_help(
                "Count only the records for which EXPR is true, a filter of RFC 9535 about the \
                 record\n\nA malformed record has no value that EXPR could test, so it is always reported.",
            )
    }),
    after_long_help = "\
Examples:
  warpath validate tweets.ndjson
  warpath validate --rejects bad.ndjson tweets.ndjson
  warpath validate --all 'logs/*.ndjson.zst' > malformed.txt
  zcat old.gz | warpath validate --limit 10 --stats
  warpath schema -o tweet.json monday.ndjson && warpath validate --schema tweet.json tuesday.ndjson"
)]
pub struct ValidateArgs {
    #[command(flatten)]
    pub files: FileArgs,

    /// Validate each record against the JSON Schema in FILE, too
    ///
    /// Drafts 4, 6, 7, 2019-09 and 2020-12; `$schema` names the draft, and 2020-12 is the default. `format`
    /// is checked in all drafts. Only references inside the schema are read. Reports of invalid records are
    /// FILE:LINE:BYTE, the path of the value, what was expected and found there, and the location in the
    /// schema. `--all`, `--limit`, `--rejects` and `--max-errors` take invalid records as malformed ones.
    /// `warpath schema -o FILE.json` writes the schema of an input.
    #[cfg(feature = "json-schema")]
    #[arg(long, value_name = "FILE")]
    pub schema: Option<PathBuf>,

    #[command(flatten)]
    pub limit: LimitArgs,

    /// List all malformed records on standard output
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,

    #[command(flatten)]
    pub rejects: RejectArgs,
    #[command(flatten)]
    pub only: WhereArgs,
    #[command(flatten)]
    pub layout: LayoutArgs,
    #[command(flatten)]
    pub partitions: PartitionArgs,
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Print the tree of each record, node by node
///
/// Objects, arrays, strings, numbers, `true`, `false`, `null` and names are nodes; a name has one child, its
/// value. Each record has a tree of its own. First comes one row per node, in the order of the text. A row
/// has the breadth-first ranks of the node, its parent, its first child and its next sibling. Then comes the
/// array of cells. There a node is the number of its children and their addresses.
#[derive(Args)]
#[command(
    mut_arg("on_error", |arg| {
        arg.help("Action at a line that is not a tree").long_help(
            "Action at a line that is not a tree\n\nStrings, brackets and depth are checked as everywhere. \
             So is the order of values, names, commas and colons.",
        )
    }),
    after_long_help = "\
Examples:
  warpath tree tests/data/people.ndjson | less -S
  echo '{\"a\":[1,true]}' | warpath tree
  echo '[[][[][][[]]][][]]' | warpath tree --brackets --steps

docs/trees.md explains the arrays."
)]
pub struct TreeArgs {
    #[command(flatten)]
    pub files: FileArgs,

    /// Print the arrays that the tree is made from, too, step by step
    #[arg(long)]
    pub steps: bool,

    /// Read lines of brackets, `[]` and `{}`, in place of JSON: each pair is a node
    #[arg(long)]
    pub brackets: bool,

    #[command(flatten)]
    pub on_error: OnErrorArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}
