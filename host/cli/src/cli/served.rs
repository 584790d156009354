//! A command that a server runs for a client: over inputs of the server, with the streams and the files of the
//! client.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use clap::builder::Resettable;
use clap::{Command as Parser, CommandFactory, FromArgMatches};
use warpath::{CancelToken, DeviceChoice, EngineBuilder, Error, FollowEnd, FolderFiles, FollowFrom, Source};
use warpath_terminal::messages::Ui;
use warpath_terminal::options::{MessageFormat, When};
use warpath_terminal::streams::{Client, Streams};

use super::args::{Cli, Command, FileArgs, SchemaCommand};
use super::failure::Failure;
use super::{files, dispatch, early_of, usage_message};

/// The inputs that a server has loaded, by their names.
pub trait Inputs: Send + Sync {
    /// The names, in order. They are all inputs of a command that names none.
    fn names(&self) -> Vec<PathBuf>;

    /// The inputs of a name; `None` if nothing of this name is loaded. `files` are the files that are read of
    /// folders.
    ///
    /// # Errors
    /// Those of an input that is not what it was any more.
    fn sources(&self, name: &Path, files: FolderFiles) -> Result<Option<Vec<Source>>, Error>;

    /// True if an input of this name is loaded.
    fn has(&self, name: &Path) -> bool;

    /// The file or the folder of a name, as the server follows it; `None` for a store.
    fn path(&self, name: &Path) -> Option<PathBuf>;

    /// The lines of a store, and those of its later versions, until `cancel` is cancelled. `None` if no store
    /// has this name.
    ///
    /// # Errors
    /// Those of the store.
    fn tail(&self, name: &Path, from: FollowFrom, cancel: &CancelToken) -> Result<Option<Source>, Error>;
}

/// The limits of a command that a server runs.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Cancels the command.
    pub cancel: CancelToken,
    /// The reason for which the command was cancelled, or gets no more room for its results. The first one
    /// counts.
    pub reason: Arc<OnceLock<String>>,
    /// The most memory of partitions, and of values that are sorted or counted, in bytes each.
    pub memory: Option<usize>,
    /// The most workers.
    pub workers: Option<usize>,
    /// The device of commands that choose none.
    pub device: DeviceChoice,
}

/// A command line of a client, and what it runs with.
pub struct Served {
    /// The streams and the files of the client.
    pub client: Arc<dyn Client>,
    /// The inputs of the server.
    pub inputs: Arc<dyn Inputs>,
    /// The limits of the command.
    pub limits: Limits,
}

/// The parts of [`Served`] that commands look up, and what they leave to be ended.
struct Current {
    inputs: Arc<dyn Inputs>,
    limits: Limits,
    followed: Mutex<Vec<FollowEnd>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Current>>> = const { RefCell::new(None) };
}

fn current() -> Option<Arc<Current>> {
    CURRENT.with_borrow(Clone::clone)
}

/// The inputs of the server that runs the command of this thread; `None` in the program itself.
pub fn inputs() -> Option<Arc<dyn Inputs>> {
    current().map(|current| current.inputs.clone())
}

/// True if a word is the name of an input: a file of this machine or, in a server, one that is loaded.
pub fn is_input(word: &Path) -> bool {
    match inputs() {
        Some(inputs) => inputs.has(word),
        None => word.exists(),
    }
}

/// An engine with the limits of the server that runs the command of this thread.
pub fn limited(mut builder: EngineBuilder) -> EngineBuilder {
    if let Some(current) = current() {
        let limits = &current.limits;
        builder = builder.cancel(&limits.cancel);
        if let Some(memory) = limits.memory {
            builder = builder.memory(memory);
        }
    }
    builder
}

/// The device, given what the options say.
pub fn device(given: &DeviceChoice) -> DeviceChoice {
    match (given, current()) {
        (DeviceChoice::Auto, Some(current)) => current.limits.device.clone(),
        _ => given.clone(),
    }
}

/// The number of workers, given what the options say.
pub fn workers(given: Option<usize>) -> Option<usize> {
    let most = current().and_then(|current| current.limits.workers);
    most.map_or(given, |most| Some(given.map_or(most, |given| given.min(most))))
}

/// The bytes of memory for values, given what the options say.
pub fn memory(given: usize) -> usize {
    let most = current().and_then(|current| current.limits.memory);
    most.map_or(given, |most| given.min(most))
}

/// The inputs that the arguments name: all that the server has, if they name none.
///
/// # Errors
/// If a name is not loaded, and for a list of names.
pub fn sources(
    args: &FileArgs,
    files: FolderFiles,
    inputs: &dyn Inputs,
    ui: &Ui,
) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for name in names(args, inputs)? {
        match inputs.sources(&name, files)? {
            Some(named) => sources.extend(named),
            None => return Err(not_loaded(&name, inputs)),
        }
    }
    sources.iter().for_each(|source| files::note_if_empty(source, ui));
    Ok(sources)
}

/// The names of the inputs that are read.
///
/// # Errors
/// For a list of names, which is a file.
pub fn names(args: &FileArgs, inputs: &dyn Inputs) -> Result<Vec<PathBuf>, Failure> {
    if args.files_from.is_some() {
        refuse("`--files-from`")?;
    }
    Ok(if args.files.is_empty() { inputs.names() } else { args.files.clone() })
}

/// The token that cancels the command; a token of its own in the program itself.
pub fn token() -> CancelToken {
    current().map(|current| current.limits.cancel.clone()).unwrap_or_default()
}

/// Ends a followed input together with its command.
pub fn end_with_command(end: &FollowEnd) {
    if let Some(current) = current() {
        current.followed.lock().unwrap_or_else(PoisonError::into_inner).push(end.clone());
    }
}

/// Refuses an option that names files of this machine, if a server runs the command.
///
/// # Errors
/// In a server.
pub fn refuse(option: &str) -> Result<(), Failure> {
    match current() {
        Some(_) => Err(Failure::usage(format!("{option} is not for a server"))
            .with_help("run the command without `--server`, beside the files")),
        None => Ok(()),
    }
}

/// The failure for an input that the server does not have.
pub fn not_loaded(name: &Path, inputs: &dyn Inputs) -> Failure {
    let names: Vec<String> = inputs.names().iter().map(|name| name.display().to_string()).collect();
    let all = match names.len() {
        0..=MOST_NAMES => names.join(", "),
        more => format!("{}, and {} more", names[..MOST_NAMES].join(", "), more - MOST_NAMES),
    };
    Failure::usage(format!("{}: is not among the inputs of the server", name.display()))
        .with_help(format!("it has {all}; without a name, all of them are read"))
}

/// The most names in a message.
const MOST_NAMES: usize = 10;

impl Served {
    /// Runs a command line, without the name of the program, and returns its exit code. All output goes to
    /// the client, messages and failures included.
    pub fn run(self, arguments: &[OsString]) -> u8 {
        let Self { client, inputs, limits } = self;
        let current = Arc::new(Current { inputs, limits, followed: Mutex::default() });
        /// Leaves the thread as it was, also after a panic.
        struct Leave(Arc<Current>);
        impl Drop for Leave {
            fn drop(&mut self) {
                CURRENT.set(None);
                let followed = self.0.followed.lock();
                followed.unwrap_or_else(PoisonError::into_inner).iter().for_each(FollowEnd::end);
            }
        }
        let leave = Leave(current.clone());
        CURRENT.set(Some(current.clone()));
        let code = Streams::of(client).run(|| command(arguments, &current.limits));
        drop(leave);
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
    let args: Vec<OsString> =
        std::iter::once("warpath".into()).chain(arguments.iter().cloned()).collect();
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
        let failure = limits.reason.get().filter(|_| failure.is_interrupt()).map_or(failure, Failure::usage);
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
