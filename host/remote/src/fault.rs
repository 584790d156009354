//! Errors of stores as messages.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use object_store::client::{HttpError, HttpErrorKind};
use warpath_core::error::chain;

/// The credentials that are read, for messages.
const CREDENTIALS: &str = "credentials are read from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and \
    AWS_SESSION_TOKEN; AWS_SKIP_SIGNATURE=true reads public objects without them";

/// The reason why a store gave no bytes.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The store said no, or cannot be reached. The store's own retries are over.
    Refused(object_store::Error),
    /// The body of a response ended early.
    Cut(object_store::Error),
    /// Nothing came for this time.
    Stalled(Duration),
    /// The object is not the one that the first part is of.
    Changed,
    /// A response ended at this offset of the object, before the end that it announced.
    Short(u64),
    /// The task of a part ended without a word: the fault of this crate.
    Lost,
}

impl Fault {
    /// The error of a reader.
    pub fn into_io(self) -> io::Error {
        let kind = match &self {
            Self::Refused(object_store::Error::NotFound { .. }) => io::ErrorKind::NotFound,
            Self::Refused(object_store::Error::PermissionDenied { .. }) => io::ErrorKind::PermissionDenied,
            Self::Stalled(_) => io::ErrorKind::TimedOut,
            _ => io::ErrorKind::Other,
        };
        let text = match self {
            Self::Refused(error) => reason(&error),
            Self::Cut(error) => {
                format!("the connection was cut again and again: {}", cause(&error))
            }
            Self::Stalled(time) => format!(
                "the server sent nothing for {} s; WARPATH_REMOTE_TIMEOUT sets another time, in seconds",
                time.as_secs_f64()
            ),
            Self::Changed => "the object changed while it was read; read it once more".to_owned(),
            Self::Short(offset) => {
                format!("the response ended at byte {offset}, before the end that it announced")
            }
            Self::Lost => "internal error: a part was not fetched. Please report this".to_owned(),
        };
        io::Error::new(kind, text)
    }
}

/// The reason of an error of a store, for messages: what is wrong, and what to do. The name of the object is
/// not part of it.
#[must_use]
pub fn reason(error: &object_store::Error) -> String {
    let text = chain(error);
    let said = said(&text);
    // Lists have the status in their text alone.
    let status = status(&text);
    let is = |number: &str| status.is_some_and(|status| status.starts_with(number));
    match error {
        _ if text.contains("169.254.169.254") => format!("there are no credentials; {CREDENTIALS}"),
        _ if text.contains("<Code>NoSuchBucket</Code>") => "there is no such bucket (404)".to_owned(),
        object_store::Error::NotFound { .. } => "there is no such object (404)".to_owned(),
        _ if is("403") => format!("access is denied (403){said}; {CREDENTIALS}"),
        _ if is("401") => format!("the server requires credentials (401){said}; {CREDENTIALS}"),
        object_store::Error::Precondition { .. } => Fault::Changed.into_io().to_string(),
        object_store::Error::InvalidPath { source } => format!("no object has this name: {source}"),
        _ if text.contains("Received redirect without LOCATION") => {
            "the bucket is in another region: set AWS_REGION to it, or AWS_ENDPOINT to its server".to_owned()
        }
        _ => match (status, http_error(error)) {
            (Some(status), _) => format!("the server answered {status}{said}"),
            (None, Some(error))
                if matches!(error.kind(), HttpErrorKind::Connect | HttpErrorKind::Timeout)
                    && !is_without_response(error) =>
            {
                format!("no connection to the server: {}", cause(error))
            }
            _ => cause(error),
        },
    }
}

/// True if a server refuses a range of an object, but may send the whole object: it knows no ranges, or the
/// object is empty.
pub(crate) fn is_about_range(error: &object_store::Error) -> bool {
    let text = chain(error);
    matches!(error, object_store::Error::NotSupported { .. })
        || text.contains("non-partial response")
        || text.contains("CONTENT_RANGE")
        || text.contains("Content-Range")
        || status(&text).is_some_and(|status| status.starts_with("416"))
}

/// True if a server sent no response in time. A connection that is not made in time has another cause.
pub(crate) fn is_timeout(error: &object_store::Error) -> bool {
    http_error(error).is_some_and(is_without_response)
}

fn is_without_response(error: &HttpError) -> bool {
    error.kind() == HttpErrorKind::Timeout
        && error.source().and_then(|it| it.downcast_ref::<io::Error>()).is_some()
}

/// The status of a response: its number and its name.
fn status(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("non-2xx status code: ")?;
    let end = rest.find(':').unwrap_or(rest.len());
    Some(rest[..end].trim())
}

/// The message in the XML of a response of S3, after a colon.
fn said(text: &str) -> String {
    let tag = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        let (value, _) = rest.split_once(&format!("</{name}>"))?;
        Some(value)
    };
    match (tag("Code"), tag("Message")) {
        (Some(code), Some(message)) => format!(": {code}: {message}"),
        (Some(one), None) | (None, Some(one)) => format!(": {one}"),
        (None, None) => String::new(),
    }
}

fn sources<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

fn http_error<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a HttpError> {
    sources(error).find_map(|error| error.downcast_ref())
}

/// The message of the error beneath all others.
fn cause(error: &(dyn StdError + 'static)) -> String {
    sources(error).last().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_server_are_found_in_its_xml() {
        let text = "Server returned non-2xx status code: 400 Bad Request: <Error><Code>Wrong</Code><Message>no</Message>";
        assert_eq!(status(text), Some("400 Bad Request"));
        assert_eq!(said(text), ": Wrong: no");
        assert_eq!(said("<Code>Wrong</Code>"), ": Wrong");
        assert_eq!((status("none"), said("none").as_str()), (None, ""));
    }
}
