//! The facts about parts and inputs.

use std::fmt;
use std::time::{Duration, SystemTime};

use warpath_core::stamp::Stamp;

use crate::error::FolderError;
use crate::json::Json;

/// An instant, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub i64);

impl From<SystemTime> for Millis {
    fn from(time: SystemTime) -> Self {
        let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => Self(millis(after)),
            Err(before) => Self(-millis(before.duration())),
        }
    }
}

/// The position of a part among all parts of a folder. Rows have the order of their parts' positions.
///
/// Appended parts get the positions `0`, `1`, `2` and so on. A part that replaces others gets the position of
/// the first of them; several parts get `5.0`, `5.1` and so on in place of `5`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(Vec<u64>);

/// The most numbers of a position.
const MAX_NUMBERS: usize = 64;

impl Position {
    /// The position after all parts that are there, of which this one is the last.
    pub(crate) fn next(last: Option<&Self>) -> Option<Self> {
        let number = match last {
            None => 0,
            Some(last) => last.0.first()?.checked_add(1)?,
        };
        Some(Self(vec![number]))
    }

    /// The positions of a number of parts in place of the part at this one.
    pub(crate) fn split(&self, parts: usize) -> Option<Vec<Self>> {
        if parts == 1 {
            return Some(vec![self.clone()]);
        }
        let below = |index| Self(self.0.iter().copied().chain([index]).collect());
        (self.0.len() < MAX_NUMBERS).then(|| (0..parts as u64).map(below).collect())
    }

    /// The position of a text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<u64> = text
            .split('.')
            .take(MAX_NUMBERS + 1)
            .map(|number| digits(number)?.parse().ok())
            .collect::<Option<_>>()?;
        (numbers.len() <= MAX_NUMBERS).then_some(Self(numbers))
    }
}

/// A number without a sign.
fn digits(text: &str) -> Option<&str> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then_some(text)
}

impl fmt::Display for Position {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, number) in self.0.iter().enumerate() {
            write!(out, "{}{number}", if index > 0 { "." } else { "" })?;
        }
        Ok(())
    }
}

/// The facts about a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The name of the file in the folder, for example `part-20261128-0123456789abcdef.parquet`.
    pub name: String,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The time at which the file was written.
    pub modified: Millis,
    /// The number of rows.
    pub rows: u64,
    /// The bytes of text that the rows are made from.
    pub text_bytes: u64,
    /// The checksum of the part or of its footer, as the caller defines it.
    pub hash: u64,
    /// The least values of columns: a JSON object with the names of the schema.
    pub minima: Option<String>,
    /// The greatest values of columns, in the same form.
    pub maxima: Option<String>,
    /// The numbers of nulls of columns, in the same form.
    pub nulls: Option<String>,
    /// The position. The folder sets it when the part is added.
    pub position: Position,
}

/// Delta's numbers are signed.
const MAX_NUMBER: u64 = i64::MAX as u64;

impl Part {
    /// Checks the facts.
    pub(crate) fn check(&self) -> Result<(), FolderError> {
        if let Some(fault) = name_fault(&self.name) {
            return Err(FolderError::invalid(&self.name, fault));
        }
        if [self.bytes, self.rows, self.text_bytes].into_iter().any(|number| number > MAX_NUMBER) {
            return Err(FolderError::invalid(&self.name, "a size or number of rows above 2^63"));
        }
        for values in [&self.minima, &self.maxima, &self.nulls].into_iter().flatten() {
            let json =
                Json::parse(values.as_bytes()).map_err(|what| FolderError::invalid(&self.name, what))?;
            if json.object().is_none() {
                return Err(FolderError::invalid(&self.name, "statistics that are not a JSON object"));
            }
        }
        Ok(())
    }
}

/// The reason why a text is not the name of a part.
pub(crate) fn name_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() || name.len() > 255 {
        Some("a name of 1 to 255 bytes was expected")
    } else if name.starts_with(['.', '_']) {
        Some("readers ignore names that begin with `.` or `_`")
    } else if name.contains(['/', '\\']) {
        Some("a name without a folder was expected")
    } else if name.contains(|character: char| character.is_control()) {
        Some("a name without control characters was expected")
    } else {
        None
    }
}

/// An input whose rows are in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The name, for example a path or a URL.
    pub name: String,
    /// The size in bytes.
    pub size: u64,
    /// The state of the input in any form that the caller can compare, for example an entity tag.
    pub stamp: String,
}

/// The relation of an input to what a folder knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The folder does not know the input.
    New,
    /// The folder has the input in this state.
    Same,
    /// The input has more bytes than the folder knows.
    Grown,
    /// The input has changed in another way.
    Changed,
}

impl fmt::Display for Known {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::New => "is not in the store; add it first",
            Self::Same => "is in the store already",
            Self::Grown => "is in the store, and has grown since; add its new lines only",
            Self::Changed => "is in the store, and has changed since; add it under another name",
        })
    }
}

impl Input {
    /// An input of this name in this state.
    #[must_use]
    pub fn new(name: impl Into<String>, stamp: &Stamp) -> Self {
        let Stamp { size, seconds, nanoseconds, samples } = *stamp;
        Self { name: name.into(), size, stamp: format!("{seconds}.{nanoseconds:09}-{samples:016x}") }
    }

    /// True if the samples of the bytes are those of another state, whatever its time. False for a stamp that
    /// [`new`](Self::new) did not make.
    #[must_use]
    pub fn has_samples_of(&self, other: &Self) -> bool {
        self.samples().is_some_and(|own| other.samples() == Some(own))
    }

    /// The samples of a stamp that [`new`](Self::new) made.
    fn samples(&self) -> Option<&str> {
        let (time, samples) = self.stamp.rsplit_once('-')?;
        let (seconds, nanoseconds) = time.split_once('.')?;
        let is_time = digits(seconds.strip_prefix('-').unwrap_or(seconds)).is_some();
        let is_hexadecimal = samples.len() == 16 && samples.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_time && digits(nanoseconds).is_some() && is_hexadecimal).then_some(samples)
    }

    /// The relation to what is known of the input. The time alone makes no difference, because a file that
    /// was copied or restored has another one.
    #[must_use]
    pub fn known(&self, before: Option<&Self>) -> Known {
        match before {
            None => Known::New,
            Some(before) if before == self => Known::Same,
            Some(before) if before.size == self.size && before.has_samples_of(self) => Known::Same,
            Some(before) if self.size > before.size => Known::Grown,
            Some(_) => Known::Changed,
        }
    }

    pub(crate) fn check(&self) -> Result<(), FolderError> {
        if self.name.is_empty() || self.size > MAX_NUMBER {
            return Err(FolderError::invalid(
                &self.name,
                "an input with a name and less than 2^63 bytes was expected",
            ));
        }
        Ok(())
    }
}
