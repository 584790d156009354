//! Errors of a run, their messages and exit codes.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use warpath::{DeviceError, Error, IndexError, InputError, RecordError, StoreError};

use warpath_terminal::messages::{Location, Message, Ui, instead_of, looks_like};

/// The reason why a run failed.
#[derive(Debug)]
pub enum Failure {
    /// An error of the library. The optional lines show the text around the fault in the input.
    Library(Box<Error>, Option<String>),
    /// The arguments are wrong, or a file that they name cannot be used.
    Usage {
        /// The error in the arguments.
        message: String,
        /// A way to correct the error.
        help: Option<String>,
    },
    /// The schema of `--schema` is no JSON Schema.
    #[cfg(feature = "json-schema")]
    Schema {
        /// The error, with its position.
        message: String,
        /// The file of the schema, and the line and the byte in it.
        place: Option<(String, u64, u64)>,
        /// The text around the position in the schema.
        excerpt: Option<String>,
        /// A way to correct the error.
        help: Option<String>,
    },
    /// The records are not as the options require.
    Data {
        /// The error, with its position.
        message: String,
        /// The input, and the line and the byte in it.
        place: Option<(String, u64, u64)>,
        /// The text around the position in the input.
        excerpt: Option<String>,
        /// A way to go on.
        help: String,
    },
    /// The results cannot be written.
    Output {
        /// The name of the destination.
        name: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The reader of the results has closed the pipe. Not an error.
    BrokenPipe,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Output { name, source } => Self::Output { name: format!("`{name}`"), source },
            error => Self::Library(Box::new(error), None),
        }
    }
}

impl Failure {
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), help: None }
    }

    /// Adds a way to correct the error. Only `Usage` has help of its own; other failures stay as they are.
    pub fn with_help(self, text: impl Into<String>) -> Self {
        match self {
            Self::Usage { message, .. } => Self::Usage { message, help: Some(text.into()) },
            other => other,
        }
    }

    /// The exit code. 2: usage, file or permission. 3: query or schema. 4: input. 5: device, or a fault of
    /// the program itself.
    pub fn exit_code(&self) -> ExitCode {
        let code = match self {
            Self::BrokenPipe => 0,
            Self::Usage { .. } | Self::Output { .. } => 2,
            #[cfg(feature = "json-schema")]
            Self::Schema { .. } => 3,
            Self::Data { .. } => 4,
            Self::Library(error, _) => match &**error {
                Error::Usage(_)
                | Error::Plan(_)
                | Error::Input(
                    InputError::Io { .. } | InputError::Directory(_) | InputError::NoFiles { .. },
                )
                | Error::Index(
                    IndexError::Io { .. } | IndexError::TooFewLevels { .. } | IndexError::NotPlain { .. },
                )
                | Error::Store(StoreError::Io { .. } | StoreError::Refused { .. }) => 2,
                Error::Query(_) | Error::Unsupported(_) | Error::Expression(_) => 3,
                Error::Input(_)
                | Error::Index(_)
                | Error::Column(_)
                | Error::Store(_)
                | Error::Memory { .. }
                | Error::OutOfMemory { .. } => 4,
                _ => 5,
            },
        };
        ExitCode::from(code)
    }

    /// True if the run was cancelled.
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Self::Library(error, _) if matches!(**error, Error::Cancelled))
    }

    /// Prints the failure on standard error.
    pub fn report(&self, ui: &Ui) {
        match self {
            Self::BrokenPipe => {}
            Self::Usage { message, help } => {
                let message = Message { text: message.clone(), help: help.clone(), ..Message::default() };
                ui.report(&message);
            }
            #[cfg(feature = "json-schema")]
            Self::Schema { message, place, excerpt, help } => ui.report(&Message {
                text: message.clone(),
                place: place.clone().map(|(file, line, byte)| Location::at(file, line, byte)),
                excerpt: excerpt.clone(),
                help: help.clone(),
            }),
            Self::Data { message, place, excerpt, help } => ui.report(&Message {
                text: message.clone(),
                place: place.clone().map(|(file, line, byte)| Location::at(file, line, byte)),
                excerpt: excerpt.clone(),
                help: Some(help.clone()),
            }),
            Self::Output { name, source } => {
                let no_folder = source.kind() == io::ErrorKind::NotFound;
                ui.report(&Message {
                    text: format!("cannot write to {name}: {}", reason(source)),
                    help: no_folder.then(|| "make the folder first: an output makes no folders".to_owned()),
                    ..Message::default()
                });
            }
            Self::Library(error, excerpt) => {
                report_library(error, excerpt.as_deref(), help(error), ui);
            }
        }
    }
}

fn report_library(error: &Error, excerpt: Option<&str>, help: Option<String>, ui: &Ui) {
    let text = match error {
        Error::Query(query) | Error::Unsupported(query) => return ui.rendered(&query.render()),
        Error::Expression(expression) => return ui.rendered(&expression.render()),
        Error::Input(InputError::Io { name, source }) | Error::Index(IndexError::Io { name, source }) => {
            format!("{name}: {}", reason(source))
        }
        Error::Store(StoreError::Io { name, source }) => format!("{name}: {}", reason(source)),
        Error::Input(InputError::Unreadable { name, source }) => format!("{name}: {source}"),
        Error::Input(InputError::Compressed { name, format, source }) => {
            format!("{name}: {format} data is damaged or ends early: {}", reason(source))
        }
        other => other.chain(),
    };
    let (place, excerpt) = (place_of(error), excerpt.map(str::to_owned));
    ui.report(&Message { text, place, excerpt, help });
}

/// The position that an error is about, in an input or another file.
fn place_of(error: &Error) -> Option<Location> {
    match error {
        Error::Input(error) => Location::of(error),
        Error::Index(IndexError::Io { name, .. }) => Some(Location::of_file(name.clone())),
        _ => None,
    }
}

/// A way to correct an error, if one is known.
fn help(error: &Error) -> Option<String> {
    Some(match error {
        Error::Input(InputError::NoFiles { name, .. }) if Path::new(name).is_dir() => {
            "name its files by a pattern: `'folder/**/*.txt'`".to_owned()
        }
        Error::Input(InputError::NoFiles { name, .. }) if !name.contains(['*', '?', '[', '{']) => {
            "a list has the name of a file or a folder on each line, such as `find` prints".to_owned()
        }
        Error::Input(InputError::NoFiles { .. }) => {
            "patterns have `*`, `?`, `[a-z]` and `{a,b}`; `**` enters folders".to_owned()
        }
        Error::Input(InputError::Directory(_)) => {
            "name its files, or a pattern: `'folder/*.ndjson'`".to_owned()
        }
        Error::Input(InputError::Foreign { format, .. }) => instead_of(*format).to_owned(),
        Error::Input(InputError::Record(RecordError { input: Some(format), .. })) => looks_like(*format),
        Error::OutOfMemory { .. } => {
            "`--max-record SIZE` refuses long records, and `--workers 1` takes less memory".to_owned()
        }
        Error::Input(InputError::Record(_) | InputError::Tree(_)) => {
            "`--on-error skip` leaves malformed records out".to_owned()
        }
        Error::Device(DeviceError::NoDriver | DeviceError::NoDevice { .. }) => {
            "`--device auto` uses the CPU if there is no GPU; `warpath devices` lists the devices".to_owned()
        }
        Error::Index(IndexError::TooFewLevels { needed, .. }) => {
            format!("make it with `warpath store index --levels {needed} FILE`")
        }
        Error::Index(IndexError::NotAnIndex { .. }) => "`warpath store index FILE` makes one".to_owned(),
        Error::Index(
            IndexError::Version { .. } | IndexError::Damaged { .. } | IndexError::OtherInput { .. },
        ) => "make it again with `warpath store index`".to_owned(),
        Error::Index(IndexError::Unsettled { .. }) => "index it while nothing writes to it".to_owned(),
        Error::Index(IndexError::NotPlain { .. }) => "index the text".to_owned(),
        Error::Device(DeviceError::OutOfMemory { .. } | DeviceError::IndexTooLarge { .. }) => return None,
        Error::Device(_) => "`--device cpu` runs without it".to_owned(),
        Error::Internal(_) => "this is a fault of warpath itself; please report it".to_owned(),
        _ => return None,
    })
}

/// The operating system's message without its error number.
pub fn reason(error: &io::Error) -> impl Display {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}
