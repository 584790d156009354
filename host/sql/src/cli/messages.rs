//! Failures with their positions and exit codes, and reports of what scans left out.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use warpath::Error;
use warpath_terminal::messages::{Location, Message, Ui, nearest};
use warpath_terminal::streams::Streams;

use crate::report::LeftOut;

/// The reason why a run failed.
///
/// An error of DataFusion that has a failure as its cause gets the failure's message
/// ([`of_query`](Self::of_query)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The message, without `error:` before it.
    pub message: String,
    /// The position in an input.
    pub place: Option<Box<Location>>,
    /// The text around a mistake in a statement, with a caret under it.
    pub excerpt: Option<String>,
    /// Advice.
    pub help: Option<String>,
    /// The exit code.
    pub code: u8,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<Failure> for DataFusionError {
    fn from(failure: Failure) -> Self {
        Self::External(Box::new(failure))
    }
}

impl Failure {
    /// Wrong usage, or a file that cannot be read or written.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None, excerpt: None, help: None, code: 2 }
    }

    /// A query that cannot be answered.
    pub fn query(message: impl Into<String>) -> Self {
        Self { code: 3, ..Self::usage(message) }
    }

    /// The same with advice.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// True for the end by a signal.
    pub fn is_signal(&self) -> bool {
        self.code > 128
    }

    /// An error of the operating system.
    pub fn of_system(error: io::Error) -> Self {
        Self::usage(error.to_string())
    }

    /// The end by a signal.
    pub fn signalled(code: u8) -> Self {
        Self { code, ..Self::usage("interrupted") }
    }

    /// An error of DataFusion about a statement, or of Warpath beneath it.
    pub fn of_query(error: DataFusionError, statement: &str) -> Self {
        Self::of(&error, statement)
    }

    /// The same for an error that the caller keeps.
    pub fn of(error: &DataFusionError, statement: &str) -> Self {
        if let Some(failure) = beneath::<Self>(error) {
            return failure.clone();
        }
        if let Some(error) = beneath::<Error>(error) {
            let code = match error {
                Error::Usage(_) | Error::Plan(_) | Error::Thread(_) => 2,
                Error::Query(_) | Error::Expression(_) | Error::Unsupported(_) => 3,
                Error::Device(_) | Error::Internal(_) => 5,
                _ => 4,
            };
            let place = match error {
                Error::Input(input) => Location::of(input).map(Box::new),
                _ => None,
            };
            return Self { message: error.chain(), place, excerpt: None, help: None, code };
        }
        let help = help(error);
        // Malformed input is an error of Warpath. The others are about the query.
        let code = match error.find_root() {
            DataFusionError::IoError(_) | DataFusionError::ObjectStore(_) => 2,
            _ => 3,
        };
        let (line, column) = position(error).unwrap_or((0, 0));
        let text = (line as usize).checked_sub(1).and_then(|line| statement.lines().nth(line));
        let excerpt = text.map(|text| {
            let before = text.chars().take((column as usize).saturating_sub(1));
            let caret: String = before.map(|char| if char == '\t' { char } else { ' ' }).collect();
            format!("  {text}\n  {caret}^")
        });
        Self { message: plain(error), place: None, excerpt, help, code }
    }

    /// Prints the failure on standard error.
    pub fn report(&self, ui: &Ui) {
        let Self { message, place, excerpt, help, .. } = self.clone();
        ui.report(&Message { text: message, place: place.map(|place| *place), excerpt, help });
    }

    /// The exit code.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

/// The error of this type that is beneath an error.
fn beneath<E: std::error::Error + 'static>(error: &DataFusionError) -> Option<&E> {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        source = match error.downcast_ref::<DataFusionError>() {
            Some(DataFusionError::External(inner)) => Some(&**inner),
            Some(DataFusionError::Shared(inner)) => Some(&**inner),
            _ => error.source(),
        };
    }
    None
}

/// A way to correct an error of DataFusion, if one is known.
fn help(error: &DataFusionError) -> Option<String> {
    if let DataFusionError::ResourcesExhausted(_) = error.find_root() {
        return Some("`--memory` sets the memory of sorts, joins and aggregates".to_owned());
    }
    if let DataFusionError::SchemaError(cause, _) = error.find_root()
        && let SchemaError::FieldNotFound { field, valid_fields } = &**cause
        && let [only] = &valid_fields[..]
        && only.name == "value"
    {
        let path = format!("json_path(value, '$.{}')", field.name);
        return Some(format!("a file with a record that is no object has one column of JSON: {path}"));
    }
    let text = error.strip_backtrace();
    if let Some((_, rest)) = text.split_once("table 'datafusion.")
        && let Some((name, _)) = rest.split_once("' not found")
    {
        let file = name.strip_prefix("public.").unwrap_or(name);
        if Streams::current().client().is_some() {
            return Some("SHOW TABLES lists the inputs of the server".to_owned());
        }
        let is_file = Path::new(file).exists() || Path::new(name).exists();
        return is_file.then(|| format!("the name of a file is in quotes: FROM '{file}'"));
    }
    if text.contains("Cannot cast") || text.contains("Cannot coerce") {
        return Some(
            "a column whose values have several kinds is JSON text: `try_cast(x AS BIGINT)` is null where a \
             value is another; `SELECT arrow_typeof(x)` and DESCRIBE show types"
                .to_owned(),
        );
    }
    if text.contains("failed to match any signature") {
        return Some("convert the value, for example by `try_cast(x AS DOUBLE)`".to_owned());
    }
    text.contains("was not provided a value").then(|| "write the value in its place".to_owned())
}

/// The message without the names of its kinds.
fn plain(error: &DataFusionError) -> String {
    if let DataFusionError::SchemaError(cause, _) = error.find_root()
        && let SchemaError::FieldNotFound { field, valid_fields } = &**cause
    {
        let names: Vec<&str> = valid_fields.iter().map(|field| field.name.as_str()).collect();
        let near = nearest(&field.name, &names).map(|name| format!("; did you mean `{name}`?"));
        let all = if names.len() <= 20 { format!("; there are {}", names.join(", ")) } else { String::new() };
        return format!("there is no column `{}`{}", field.name, near.unwrap_or(all));
    }
    if let DataFusionError::ObjectStore(cause) = error.find_root() {
        return warpath_remote::reason(cause);
    }
    if let DataFusionError::ResourcesExhausted(text) = error.find_root() {
        // The message goes on with the consumers of memory.
        let asks = text.rsplit_once("Failed to allocate additional ").map(|(_, asks)| asks);
        let asks = asks.and_then(|asks| asks.split(" with ").next()).map(|asks| format!(": {asks} more"));
        return format!("the statement needs more memory than it may use{}", asks.unwrap_or_default());
    }
    let text = error.find_root().strip_backtrace();
    // DataFusion calls it an internal error if no form of a function takes the types of its arguments.
    if let Some((_, types)) = text.split_once("No function matches the given name and argument types '") {
        let call = types.split('\'').next().unwrap_or_default();
        return format!("no function takes these types: {call}");
    }
    let kinds = [
        "Arrow error: ",
        "Cast error: ",
        "Compute error: ",
        "Error during planning: ",
        "SQL error: ",
        "Execution error: ",
        "Schema error: ",
        "External error: ",
        "IO error: ",
    ];
    let text = kinds.iter().fold(text.as_str(), |text, kind| text.strip_prefix(kind).unwrap_or(text));
    let parsed = text.strip_prefix("ParserError(\"").and_then(|text| text.strip_suffix("\")"));
    parsed.map_or_else(|| text.to_owned(), |text| text.replace("\\\"", "\""))
}

/// The line and the column of an error in its statement, from 1 on.
fn position(error: &DataFusionError) -> Option<(u64, u64)> {
    if let DataFusionError::Diagnostic(diagnostic, _) = error
        && let Some(span) = diagnostic.span
    {
        return Some((span.start.line, span.start.column));
    }
    if let DataFusionError::Context(_, inner) = error {
        return position(inner);
    }
    // The parser has the position in its message alone.
    let text = error.to_string();
    let number = |after: &str| {
        let digits = text.rsplit_once(after)?.1;
        digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    Some((number("Line: ")?, number("Column: ")?))
}

/// Reports the records and values that the scans of a statement left out.
pub fn left_out(left_out: &LeftOut, ui: &Ui) {
    for (file, records) in &left_out.skipped {
        let records =
            if *records == 1 { "1 malformed record".into() } else { format!("{records} malformed records") };
        let text = format!("{file}: {records} skipped; `warpath validate` shows them");
        ui.warning_at(Some(Location::of_file(file.clone())), text);
    }
    for (column, refused) in &left_out.columns {
        let values = if refused.count == 1 { "1 value".into() } else { format!("{} values", refused.count) };
        let place = refused.first.as_ref().map(|(file, line)| Location {
            file: file.clone(),
            line: Some(*line),
            byte: None,
        });
        let first = refused.first.as_ref();
        let first = first.map_or_else(String::new, |(file, line)| format!(" (one of them: {file}:{line})"));
        ui.warning_at(place, format!("{column}: {values} not taken, null instead{first}"));
    }
    for note in &left_out.notes {
        ui.note(note);
    }
}

/// True if the reader of the rows has closed the pipe, which is no error.
pub fn is_broken_pipe(error: &DataFusionError) -> bool {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        if error.downcast_ref::<io::Error>().is_some_and(|it| it.kind() == io::ErrorKind::BrokenPipe) {
            return true;
        }
        if error.to_string().contains("Broken pipe") {
            return true;
        }
        source = error.source();
    }
    false
}
