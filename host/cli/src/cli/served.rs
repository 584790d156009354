//! The inputs and the limits of a command that a server runs for a client. Its thread has them.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use warpath::{CancelToken, DeviceChoice, EngineBuilder, Error, FolderFiles, FollowEnd, FollowFrom, Source};

use super::failure::Failure;

/// The inputs that a server has loaded, by their names.
pub trait Inputs: Send + Sync {
    /// The names, in order. They are all inputs of a command that names none.
    fn names(&self) -> Vec<PathBuf>;

    /// The inputs of a name; `None` if nothing of this name is loaded. `files` are the files that are read of
    /// folders.
    ///
    /// # Errors
    /// The errors of an input that has changed into something else, or is gone.
    fn sources(&self, name: &Path, files: FolderFiles) -> Result<Option<Vec<Source>>, Error>;

    /// True if an input of this name is loaded.
    fn has(&self, name: &Path) -> bool;

    /// The inputs that a name may mean. A name means an input if it is the only one.
    fn all_of(&self, name: &Path) -> Vec<PathBuf>;

    /// The file or the folder of a name, as the server follows it; `None` for a store.
    fn path(&self, name: &Path) -> Option<PathBuf>;

    /// The lines of a store, and those of its later versions, until `end`. `None` if no store has this name.
    ///
    /// # Errors
    /// The errors of the store.
    fn tail(&self, name: &Path, from: FollowFrom, end: &FollowEnd) -> Result<Option<Source>, Error>;
}

/// The limits of a command that a server runs.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Cancels the command.
    pub cancel: CancelToken,
    /// Ends the inputs that the command follows, also when the command ends.
    pub end: FollowEnd,
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

/// The inputs and the limits of a command.
struct Current {
    inputs: Arc<dyn Inputs>,
    limits: Limits,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Current>>> = const { RefCell::new(None) };
}

/// A thread that runs a command. It is left as it was when this value is dropped, also after a panic.
pub struct Entered(Arc<Current>);

impl Entered {
    /// Lets the commands of this thread have these inputs and limits.
    pub fn new(inputs: Arc<dyn Inputs>, limits: Limits) -> Self {
        let current = Arc::new(Current { inputs, limits });
        CURRENT.set(Some(current.clone()));
        Self(current)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(None);
        self.0.limits.end.end();
    }
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
    given.map(|given| most.map_or(given, |most| given.min(most)))
}

/// The bytes of memory for values, given what the options say.
pub fn memory(given: usize) -> usize {
    let most = current().and_then(|current| current.limits.memory);
    most.map_or(given, |most| given.min(most))
}

/// The end of the inputs that the command follows; one of its own in the program itself.
pub fn end() -> FollowEnd {
    current().map(|current| current.limits.end.clone()).unwrap_or_default()
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
    let (message, help) = why_none(name, inputs);
    Failure::usage(message).with_help(format!("{help}; without a name, all of them are read"))
}

/// The reason why a name means none of the inputs, and what else there is.
pub fn why_none(name: &Path, inputs: &dyn Inputs) -> (String, String) {
    let (name, several) = (name.display(), inputs.all_of(name));
    match several.len() {
        0 => {
            let message = format!("{name}: is not among the inputs of the server");
            (message, format!("it has {}", listed(&inputs.names())))
        }
        _ => {
            (format!("{name}: means several inputs of the server"), format!("they are {}", listed(&several)))
        }
    }
}

/// Names, as many as a message has room for.
fn listed(names: &[PathBuf]) -> String {
    let first = names.iter().take(MOST_NAMES).map(|name| name.display().to_string());
    let first = first.collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(MOST_NAMES) {
        None | Some(0) => first,
        Some(more) => format!("{first}, and {more} more"),
    }
}

/// The most names in a message.
const MOST_NAMES: usize = 10;
