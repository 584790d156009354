//! The command line: subcommands, their options, and their help.

mod aggregate;
mod endings;
mod filter;
mod index;
mod options;
mod query;
mod records;
mod schema;
#[cfg(feature = "parquet")]
mod store;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand};

pub use aggregate::{
    CountByArgs, DescribeArgs, DistinctArgs, GroupArgs, HeadArgs, RowsFormat, SampleArgs, SortArgs,
};
pub use endings::{Ending, compressor};
pub use filter::{DocumentsArg, FilterArgs, IdsFormatArg};
pub use index::{DumpArgs, IndexCommand};
pub use options::{
    BackendArgs, ColumnArgs, DeviceArgs, EngineArgs, FileArgs, FollowArgs, InputFormat, OnErrorArg,
    OnErrorArgs, OnMismatchArg, OutputArgs, RecordsArgs, RejectArgs, ReportArgs, RowFormat, RowFormatArgs,
    RunArgs, StatsFormat, StrictArgs, WhereArgs, ZoneArgs,
};
pub use query::{ExplainArgs, QueryArgs, SelectArgs};
pub use records::{TreeArgs, ValidateArgs};
pub use schema::{SchemaArgs, SchemaCommand, SchemaDiffArgs, SchemaFormat};
#[cfg(feature = "parquet")]
pub use store::{
    StoreAddArgs, StoreCommand, StoreCompactArgs, StoreDropArgs, StoreFollowArgs, StoreIndexArgs,
    StoreInfoArgs, StoreTextArgs, StoreVacuumArgs, StoreVerifyArgs,
};
pub use values::number;
use warpath_terminal::options::MessageArgs;

/// Query, count and describe JSON lines, at the speed of reading them
#[derive(Parser)]
#[command(
    name = "warpath",
    version,
    max_term_width = 100,
    override_usage = "warpath COMMAND [OPTIONS] [FILE]...\n       \
                      warpath FILE            the schema, and the first records\n       \
                      warpath '$.PATH' FILE   the matches of a path",
    arg_required_else_help = true,
    subcommand_required = true,
    after_long_help = "\
Examples:
  warpath tweets.ndjson
  warpath query '$.user.lang' tweets.ndjson
  warpath count-by --every 1h --bars --where '$.status >= 500' logs/
  zcat old.gz | warpath select --format csv id='$.id' lang='$.user.lang' > langs.csv
  warpath select -o langs.parquet id:int64='$.id' lang='$.user.lang' log.ndjson

Queries are JSONPath (RFC 9535); put them in single quotes, so that the shell leaves `$` and `*` alone.
Inputs are JSON lines, pretty-printed JSON, arrays of records, and tables: plain, gzip, zstd, bzip2,
xz or lz4, whatever their names. A malformed line is reported as FILE:LINE:BYTE and never changes how
its neighbours are read. Devices, threads and memory: `warpath --help engine`.

Defaults of options come from these environment variables, where they are set: WARPATH_DEVICE,
WARPATH_WORKERS, WARPATH_PARTITION_SIZE, WARPATH_PROGRESS, WARPATH_COLOR, WARPATH_MESSAGE_FORMAT.

Exit codes:
  0  done
  1  no match (with --exit-status), or different schemas (schema diff)
  2  wrong usage, or a file that cannot be read or written
  3  bad query, or a file that is no JSON Schema
  4  bad input
  5  device failure
  129, 130, 143
     ended by SIGHUP, SIGINT or SIGTERM; temporary files are removed"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    #[command(flatten)]
    pub messages: MessageArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// The server that runs a command.
#[derive(Args)]
pub struct ServerArgs {
    /// Run the command in the server at URL, which `warpath serve` is
    ///
    /// Names of inputs are then those of the server; without one, all that it has are read. Files that the
    /// command writes, and files of options, are those of this machine. The variable WARPATH_TOKEN has the
    /// token, if the server wants one.
    #[arg(
        long,
        value_name = "URL",
        global = true,
        help_heading = "Messages",
        display_order = 8,
        hide_short_help = true
    )]
    pub server: Option<String>,
}

#[derive(Subcommand)]
pub enum Command {
    Query(QueryArgs),
    Select(SelectArgs),
    CountBy(CountByArgs),
    Distinct(DistinctArgs),
    Stats(DescribeArgs),
    Sample(SampleArgs),
    Head(HeadArgs),
    Validate(ValidateArgs),
    Schema(SchemaArgs),
    /// Keep lines in a folder of Parquet files, from which every byte comes back
    #[cfg(feature = "parquet")]
    Store {
        #[command(subcommand)]
        command: StoreCommand,
    },
    /// Print the structural index of an input
    Index {
        #[command(subcommand)]
        command: IndexCommand,
    },
    Filter(FilterArgs),
    Tree(TreeArgs),
    Explain(ExplainArgs),
    /// Run SQL over newline-delimited JSON, by the program `warpath-sql`
    #[command(disable_help_flag = true)]
    Sql {
        /// Arguments of that program: `warpath sql --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
        arguments: Vec<OsString>,
    },
    /// Answer questions about inputs over HTTP, by the program `warpath-serve`
    #[command(disable_help_flag = true)]
    Serve {
        /// Arguments of that program: `warpath serve --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
        arguments: Vec<OsString>,
    },
    /// List the devices
    Devices,
    /// Print the script that completes commands and options in a shell
    #[command(after_long_help = "\
Examples:
  warpath completions bash > ~/.local/share/bash-completion/completions/warpath
  warpath completions zsh > ~/.zfunc/_warpath
  warpath completions fish > ~/.config/fish/completions/warpath.fish")]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Write the man pages of all commands into a folder
    #[command(hide = true)]
    Man {
        /// The folder, which exists
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
}

/// Adds the options of a subcommand to its empty command.
type Augment = fn(clap::Command) -> clap::Command;

/// The subcommands that can be parsed without the others, except those that are rarely run.
const SUBCOMMANDS: &[(&str, Augment)] = &[
    ("query", QueryArgs::augment_args),
    ("select", SelectArgs::augment_args),
    ("count-by", CountByArgs::augment_args),
    ("distinct", DistinctArgs::augment_args),
    ("stats", DescribeArgs::augment_args),
    ("sample", SampleArgs::augment_args),
    ("head", HeadArgs::augment_args),
    ("validate", ValidateArgs::augment_args),
    ("schema", SchemaArgs::augment_args),
    ("filter", FilterArgs::augment_args),
    ("tree", TreeArgs::augment_args),
    ("explain", ExplainArgs::augment_args),
];

impl Cli {
    /// The command line with one subcommand. To build all of them takes longer than a query of a small file.
    /// Arguments that this command line accepts have the same meaning in the whole one. Its errors and its
    /// help are incomplete. Returns `None` for the other subcommands, and for names that are none.
    pub fn with_only(subcommand: &str) -> Option<clap::Command> {
        let (name, augment) = SUBCOMMANDS.iter().find(|(name, _)| *name == subcommand)?;
        let program = ServerArgs::augment_args(MessageArgs::augment_args(clap::Command::new("warpath")));
        Some(program.subcommand_required(true).subcommand(augment(clap::Command::new(*name))))
    }

    /// Returns true for the name of a subcommand. All subcommands are built for rare names alone.
    pub fn has(subcommand: &str) -> bool {
        SUBCOMMANDS.iter().any(|(name, _)| *name == subcommand)
            || Self::command().find_subcommand(subcommand).is_some()
    }

    /// The command line without subcommands and options, for `--version`.
    pub fn version() -> clap::Command {
        clap::Command::new("warpath").version(env!("CARGO_PKG_VERSION"))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{Cli, SUBCOMMANDS};

    #[test]
    fn names_of_subcommands_are_known() {
        for command in Cli::command().get_subcommands() {
            assert!(Cli::has(command.get_name()), "{}", command.get_name());
        }
        assert!(!Cli::has("log.ndjson"));
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// The definition of a subcommand, with the options that it inherits.
    fn definition(program: clap::Command, name: &str) -> String {
        // Otherwise the width would be that of the terminal.
        let mut program = program.term_width(100);
        program.build();
        let subcommand = program.find_subcommand_mut(name).unwrap();
        let arguments: Vec<_> = subcommand.get_arguments().collect();
        let groups: Vec<_> = subcommand.get_groups().collect();
        let text = format!("{arguments:#?}\n{groups:#?}");
        text + &subcommand.render_long_help().to_string()
    }

    #[test]
    fn a_subcommand_is_the_same_without_the_others() {
        for (name, _) in SUBCOMMANDS {
            let alone = definition(Cli::with_only(name).unwrap(), name);
            assert_eq!(alone, definition(Cli::command(), name), "{name}");
        }
    }

    #[test]
    fn the_version_is_the_same_without_subcommands() {
        assert_eq!(Cli::version().render_version(), Cli::command().render_version());
    }
}
