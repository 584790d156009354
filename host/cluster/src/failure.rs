//! Failures that keep their message, their advice and their exit code on the way to the client.
//!
//! Ballista returns the error of a task as text, within other text. A mark in this text has the failure.

use std::fmt::{self, Debug, Display, Formatter};

use datafusion::error::DataFusionError;
use serde_json::{Value, json};
use warpath_sql::cli::Failure;

/// The text before a failure, whose JSON is in hexadecimal digits, so that quoting leaves it as it is.
const MARK: &str = "warpath-failure:";

/// A failure as an error of a task.
pub struct OfTask(pub Failure);

impl Display for OfTask {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Failure { message, help, code, .. } = &self.0;
        write!(f, "{message} [{MARK}")?;
        for byte in json!([message, help, code]).to_string().bytes() {
            write!(f, "{byte:02x}")?;
        }
        f.write_str("]")
    }
}

impl Debug for OfTask {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

impl std::error::Error for OfTask {}

/// The failure that the error of a job is.
pub fn of_job(text: &str) -> DataFusionError {
    let failure = marked(text).unwrap_or_else(|| Failure {
        message: format!("the cluster could not run the query: {text}"),
        help: None,
        code: 4,
        ..Failure::usage("")
    });
    DataFusionError::External(Box::new(failure))
}

fn marked(text: &str) -> Option<Failure> {
    let (_, rest) = text.split_once(MARK)?;
    let digits = rest.split(|c: char| !c.is_ascii_hexdigit()).next()?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Vec<u8> = digits.chunks(2).map(byte).collect::<Option<_>>()?;
    let value: Value = serde_json::from_slice(&bytes).ok()?;
    Some(Failure {
        message: value[0].as_str()?.to_owned(),
        help: value[1].as_str().map(str::to_owned),
        code: u8::try_from(value[2].as_u64()?).ok()?,
        ..Failure::usage("")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_survives_quoting() {
        let failure = Failure {
            message: "a \"b\"\n  c\u{e9}".into(),
            help: Some("do".into()),
            code: 4,
            ..Failure::usage("")
        };
        let error: Box<dyn std::error::Error + Send + Sync> = Box::new(OfTask(failure.clone()));
        let text = format!("{:?}", format!("Job failed: {:?}", DataFusionError::External(error)));
        assert_eq!(marked(&text), Some(failure));
        assert_eq!(marked("Job failed"), None);
        assert_eq!(marked(&format!("{MARK}zz")), None);
    }
}
