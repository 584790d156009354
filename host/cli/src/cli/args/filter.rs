//! Options of `filter`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::endings::Ending;
use super::options::{
    BackendArgs, ExitStatusArgs, FileArgs, FollowArgs, OnErrorArgs, OutputArgs, RejectArgs, ReportArgs,
    WhereArgs,
};
use super::values::latency;
use crate::cli::failure::Failure;
use crate::cli::formats;

/// Print the subscriptions that each document matches
///
/// A subscription is a query that a document matches or not: `/dblp/*[author][year >= 2010]/title`, or
/// `$[?@.lang == 'nl']`. Each document that matches any gives one line: FILE:LINE, a tab, and the ids of its
/// subscriptions, in their order.
///
/// All subscriptions are evaluated at once, on all cores of the CPU or on a GPU. `warpath explain
/// --subscriptions FILE` shows which part runs where. Standard input is read as it comes.
#[derive(Args)]
#[command(
    mut_arg("on_error", |arg| arg.help("Action at a malformed document").long_help(None::<&str>)),
    mut_arg("only", |arg| {
        arg.help("Match only the documents for which EXPR is true, a filter of RFC 9535 about the record")
            .long_help(
                "Match only the documents for which EXPR is true, a filter of RFC 9535 about the \
                 record\n\nSuch as '$.followers >= 1000 && $.lang in (\"en\", \"nl\")'. `$` is the document, \
                 which is JSON. The CPU evaluates EXPR, on the documents that match a subscription.",
            )
    }),
    after_long_help = "\
Examples:
  warpath filter --subscriptions tests/data/subscriptions.txt tests/data/people.ndjson
  warpath filter --subscriptions subs.txt --format ndjson 'news/*.xml'
  tail -f log.ndjson | warpath filter --subscriptions subs.txt --watch

A file of subscriptions has lines of an id, a tab, and a query. Blank lines and lines that begin with
`#` are ignored:
  dutch     $[?@.lang == 'nl']
  errors    $.level == 'error' && $.user
  theses    /dblp/phdthesis[author][year >= 2010]//title
docs/twigs.md has the language of these queries."
)]
pub struct FilterArgs {
    /// The file of subscriptions
    ///
    /// A wrong line is reported, and the others are evaluated; the exit code is 3 then.
    #[arg(short, long, value_name = "FILE")]
    pub subscriptions: PathBuf,

    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub follow: FollowArgs,

    /// Format of the inputs [default: xml for a name with .xml, else ndjson]
    ///
    /// In ndjson each line is a document; with json and xml each input is one.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub input: Option<DocumentsArg>,

    /// Format of the results [default: by the name of `-o FILE`, such as ids.arrow or ids.ndjson; else ids]
    #[arg(short = 'f', long, value_enum, value_name = "FORMAT", conflicts_with = "count")]
    pub format: Option<IdsFormatArg>,

    /// Print only, for each subscription, how many documents match it: ID<TAB>COUNT
    #[arg(short, long)]
    pub count: bool,

    /// Print the record after its ids: FILE:LINE<TAB>ID ID …<TAB>RECORD, or the member `record`
    ///
    /// For lines of JSON. Lines of stores are read whole.
    #[arg(long, conflicts_with = "count")]
    pub print_record: bool,

    #[command(flatten)]
    pub exit_status: ExitStatusArgs,

    #[command(flatten)]
    pub only: WhereArgs,

    /// Read the file of subscriptions again whenever it changes
    ///
    /// New subscriptions are added, missing ones are removed, and the others stay. Documents that are read
    /// from then on are matched with the new ones. Lines of stores are read whole.
    #[arg(long, conflicts_with = "count")]
    pub watch: bool,

    /// Longest time that a line waits for the next ones where they come slowly, such as 20ms or 1s
    /// [default: 100ms]
    ///
    /// Lines of a pipe are evaluated in batches. A batch ends when nothing has come for 2 ms, or when its
    /// first line has waited for TIME.
    #[arg(long, value_name = "TIME", value_parser = latency)]
    pub max_latency: Option<Duration>,

    #[command(flatten)]
    pub on_error: OnErrorArgs,
    #[command(flatten)]
    pub rejects: RejectArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    #[command(flatten)]
    pub backend: BackendArgs,
}

impl FilterArgs {
    /// The format that the options name: `--format`, or else the ending of the output's name.
    ///
    /// # Errors
    /// If the ending is that of a file which is not written.
    pub fn format(&self) -> Result<IdsFormatArg, Failure> {
        if self.count {
            formats::check_text(&self.output)?;
            return Ok(IdsFormatArg::Ids);
        }
        formats::named(&self.output, self.format, |ending| match ending {
            Ending::ArrowFile | Ending::ArrowStream => Some(IdsFormatArg::Arrow),
            Ending::Ndjson | Ending::Json => Some(IdsFormatArg::Ndjson),
            _ => None,
        })
    }
}

/// Kinds of documents in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DocumentsArg {
    /// Lines of JSON
    Ndjson,
    /// One JSON text
    Json,
    /// One XML document
    Xml,
}

/// Formats of printed ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum IdsFormatArg {
    #[default]
    /// FILE:LINE<TAB>ID ID …, or FILE<TAB>ID ID … for an input of one document
    Ids,
    /// {"file":…,"line":…,"ids":[…]}, without a line for an input of one document
    Ndjson,
    /// Columns `file`, `line` and `ids` as Arrow IPC: with `-o FILE` the file format (Feather), else, and
    /// with `-o FILE.arrows`, the stream format
    Arrow,
}
