//! The run of a command line of a client, in a server.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::builder::Resettable;
use clap::{Command as Parser, CommandFactory, FromArgMatches};
use warpath_terminal::messages::Ui;
use warpath_terminal::options::{MessageFormat, When};
use warpath_terminal::streams::{Client, Streams};

use super::args::{Cli, Command, SchemaCommand};
use super::dispatch;
use super::failure::Failure;
use super::given::early_of;
use super::parsing::usage_message;
use super::served::{Entered, Inputs, Limits};

/// A command line of a client, and what it runs with.
pub struct Served {
    /// The streams and the files of the client.
    pub client: Arc<dyn Client>,
    /// The inputs of the server.
    pub inputs: Arc<dyn Inputs>,
    /// The limits of the command.
    pub limits: Limits,
}

impl Served {
    /// Runs a command line, without the name of the program, and returns its exit code. All output goes to
    /// the client, messages and failures included.
    pub fn run(self, arguments: &[OsString]) -> u8 {
        let Self { client, inputs, limits } = self;
        let entered = Entered::new(inputs, limits.clone());
        let code = Streams::of(client).run(|| command(arguments, &limits));
        drop(entered);
        number(code)
    }
}

/// The number of an exit code.
fn number(code: ExitCode) -> u8 {
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(u8::MAX)
}

/// Parses and runs a command line.
fn command(arguments: &[OsString], limits: &Limits) -> ExitCode {
    let started = Instant::now();
    let args: Vec<OsString> = std::iter::once("warpath".into()).chain(arguments.iter().cloned()).collect();
    let cli = match parse(&args) {
        Ok(cli) => cli,
        Err(error) => {
            let color = early_of::<When>(&args, "--color");
            let ui = Ui::new(color, false, early_of::<MessageFormat>(&args, "--message-format"));
            ui.report(&usage_message(&error));
            return ExitCode::from(2);
        }
    };
    let ui = Ui::of(&cli.messages);
    let done = refused(&cli.command).and_then(|()| dispatch(cli, &ui, started));
    done.unwrap_or_else(|failure| {
        let is_ended = failure.is_interrupt() || matches!(failure, Failure::Output { .. });
        let failure = limits.reason.get().filter(|_| is_ended).map_or(failure, Failure::usage);
        failure.report(&ui);
        failure.exit_code()
    })
}

/// Parses a command line. Variables of the server's environment are no defaults of its options.
fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    let name = args.get(1).and_then(|name| name.to_str()).unwrap_or_default();
    let parser = without_variables(Cli::with_only(name).unwrap_or_else(Cli::command));
    Cli::from_arg_matches(&parser.try_get_matches_from(args)?)
}

fn without_variables(command: Parser) -> Parser {
    command.mut_args(|arg| arg.env(Resettable::Reset)).mut_subcommands(without_variables)
}

/// Refuses the commands that are about this machine, and not about inputs.
fn refused(command: &Command) -> Result<(), Failure> {
    let refused = |name: &str| {
        Err(Failure::usage(format!("`warpath {name}` is not for a server"))
            .with_help("run it on the machine of the server"))
    };
    match command {
        Command::Query(_)
        | Command::Select(_)
        | Command::CountBy(_)
        | Command::Distinct(_)
        | Command::Stats(_)
        | Command::Sample(_)
        | Command::Head(_)
        | Command::Validate(_)
        | Command::Filter(_)
        | Command::Explain(_) => Ok(()),
        Command::Schema(args) => match &args.command {
            None => Ok(()),
            Some(SchemaCommand::Diff(_)) => refused("schema diff"),
        },
        #[cfg(feature = "parquet")]
        Command::Store { .. } => refused("store"),
        Command::Index { .. } => refused("index"),
        Command::Tree(_) => refused("tree"),
        Command::Devices => refused("devices"),
        Command::Sql { .. } => refused("sql"),
        Command::Serve { .. } => refused("serve"),
        Command::Completions { .. } => refused("completions"),
        Command::Man { .. } => refused("man"),
    }
}
