//! Errors of the library as Python's exceptions, whose classes are in `warpath/_errors.py`.

use std::error;
use std::fmt::{self, Display, Formatter};

use arrow_schema::ArrowError;
use pyo3::prelude::*;
use warpath::{Error, InputError};
use warpath_core::diagnostic::QueryError;

/// The reason for which a read ends before its input does.
#[derive(Debug)]
pub enum Stop {
    /// An error of the library.
    Library(Error),
    /// A value that a column does not take, where the caller wants none to be lost.
    Mismatch(Mismatch),
    /// The text of a match, of which `json.loads` makes no value.
    NoValue {
        /// The input, and the line and the byte, which are counted from 1.
        place: (String, u64, u64),
        /// The reason that `json.loads` gives.
        why: String,
    },
    /// A panic, which is a fault of the library.
    Panic(String),
    /// An exception that a handler of a signal raised.
    Raised(PyErr),
}

/// A value that a column does not take.
#[derive(Debug)]
pub struct Mismatch {
    /// The input, and the line counted from 1.
    pub place: (String, u64),
    /// The byte in the line, counted from 1. `None` for nested columns, of which the line alone is known.
    pub byte: Option<u64>,
    /// The name of the column, and its type.
    pub column: (String, String),
    /// True for a number that the type does not hold.
    pub is_overflow: bool,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<Stop> for ArrowError {
    fn from(stop: Stop) -> Self {
        Self::ExternalError(Box::new(stop))
    }
}

impl From<PyErr> for Stop {
    fn from(raised: PyErr) -> Self {
        Self::Raised(raised)
    }
}

impl From<ArrowError> for Stop {
    fn from(error: ArrowError) -> Self {
        Self::Library(Error::Internal(error.to_string()))
    }
}

impl Display for Stop {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => out.write_str(&message(error)),
            Self::Mismatch(Mismatch { place: (name, line), byte, column: (column, values), is_overflow }) => {
                let byte = byte.map_or_else(String::new, |byte| format!(":{byte}"));
                let reason = match is_overflow {
                    true => "the number is beyond the type",
                    false => "the value is not of the type",
                };
                write!(out, "{name}:{line}{byte}: {reason} {values}, which column `{column}` has")
            }
            Self::NoValue { place: (name, line, byte), why } => {
                write!(out, "{name}:{line}:{byte}: `json.loads` refuses the value: {why}")
            }
            Self::Panic(what) => write!(out, "internal error: {what}"),
            Self::Raised(raised) => {
                let text = raised.to_string();
                write!(out, "interrupted by {}", text.trim_end_matches(": "))
            }
        }
    }
}

impl error::Error for Stop {}

/// The message of an error. A mistake in a query or a condition has several lines, with a caret.
fn message(error: &Error) -> String {
    match refused(error) {
        Some(refused) => refused.render().trim_start_matches("error: ").to_owned(),
        None => error.chain(),
    }
}

/// The text with a mistake, if an error is about one.
fn refused(error: &Error) -> Option<&QueryError> {
    match error {
        Error::Query(refused) | Error::Unsupported(refused) | Error::Expression(refused) => Some(refused),
        _ => None,
    }
}

/// An exception of a class of `warpath`, with attributes.
struct Exception<'py>(Bound<'py, PyAny>);

impl<'py> Exception<'py> {
    fn new(py: Python<'py>, class: &str, message: &str) -> PyResult<Self> {
        Ok(Self(py.import("warpath._errors")?.getattr(class)?.call1((message,))?))
    }

    fn with(self, name: &str, value: impl IntoPyObject<'py>) -> PyResult<Self> {
        self.0.setattr(name, value)?;
        Ok(self)
    }
}

impl Stop {
    /// The exception for this reason. An exception that cannot be made is replaced by the one that says why.
    pub fn raise(&self, py: Python<'_>) -> PyErr {
        let made = match self {
            Self::Library(error) => library(py, error),
            Self::Mismatch(Mismatch { place: (name, line), byte, column: (column, _), .. }) => {
                Exception::new(py, "MismatchError", &self.to_string()).and_then(|made| {
                    let made = made.with("filename", name)?.with("line", line)?;
                    made.with("byte", *byte)?.with("column", column)
                })
            }
            Self::NoValue { place: (name, line, byte), .. } => {
                Exception::new(py, "RecordError", &self.to_string())
                    .and_then(|made| made.with("filename", name)?.with("line", line)?.with("byte", byte))
            }
            Self::Panic(_) => Exception::new(py, "InternalError", &self.to_string()),
            Self::Raised(raised) => return raised.clone_ref(py),
        };
        made.map_or_else(|failed| failed, |made| PyErr::from_value(made.0))
    }
}

/// The exception for an error of the library.
pub fn raise(py: Python<'_>, error: Error) -> PyErr {
    Stop::Library(error).raise(py)
}

/// The exception for an argument that is not valid.
pub fn usage(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raise(py, Error::Usage(message.into()))
}

fn library<'py>(py: Python<'py>, error: &Error) -> PyResult<Exception<'py>> {
    let made = |class| Exception::new(py, class, &message(error));
    if let Some(refused) = refused(error) {
        let help = refused.diagnostic().help.as_deref();
        return made("QueryError")?.with("column", refused.column())?.with("hint", help);
    }
    match error {
        Error::Usage(_) | Error::Plan(_) => made("UsageError"),
        Error::Device(_) => made("DeviceError"),
        Error::Internal(_) => made("InternalError"),
        Error::Input(InputError::Io { name, source }) => {
            let is_missing = source.kind() == std::io::ErrorKind::NotFound;
            let class = if is_missing { "NotFoundError" } else { "InputError" };
            made(class)?.with("filename", name)?.with("errno", source.raw_os_error())
        }
        Error::Input(InputError::NoFiles { name, .. }) => made("NotFoundError")?.with("filename", name),
        Error::Input(InputError::Record(at)) => {
            let made = made("RecordError")?.with("filename", &at.name)?;
            made.with("line", at.line)?.with("byte", at.byte)
        }
        Error::Input(InputError::Table { name, .. }) => made("InputError")?.with("filename", name),
        Error::Input(_) => made("InputError"),
        _ => made("Error"),
    }
}
