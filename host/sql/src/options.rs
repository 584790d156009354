//! Settings of SQL.

use std::fmt::{self, Debug, Formatter};
use std::path::PathBuf;
use std::sync::Arc;

use warpath::{CancelToken, DeviceChoice, OnError};
use warpath_core::pool::cores;
use warpath_remote::StoreSettings;

use crate::known::KnownParts;

/// The source of a table's columns.
///
/// ```
/// use warpath_sql::SchemaFrom;
///
/// assert_eq!("sample:1000".parse(), Ok(SchemaFrom::Sample(1000)));
/// assert_eq!("line".parse(), Ok(SchemaFrom::Line));
/// assert!("some".parse::<SchemaFrom>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaFrom {
    /// All records. The schema is kept, and made again when the file has changed.
    #[default]
    All,
    /// The first N records of each file. A value that does not fit is null, and counted.
    Sample(u64),
    /// None: the table has one column, `line`, with the JSON text of each record.
    Line,
}

impl std::str::FromStr for SchemaFrom {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sample = || text.strip_prefix("sample:")?.parse().ok().filter(|records| *records > 0);
        match text {
            "all" => Ok(Self::All),
            "line" => Ok(Self::Line),
            _ => sample()
                .map(Self::Sample)
                .ok_or_else(|| format!("`{text}` is none of `all`, `line` and `sample:N`, with N records")),
        }
    }
}

/// The file, folder or URL of a name.
type PathOfName = dyn Fn(&str) -> Result<String, String> + Send + Sync;

/// The inputs that statements may name, and no others.
///
/// ```
/// use warpath_sql::Names;
///
/// let names = Names::new(vec!["tweets".to_owned()], |name| match name {
///     "tweets" => Ok("/data/tweets.ndjson".to_owned()),
///     other => Err(format!("{other}: there is nothing but tweets")),
/// });
/// assert_eq!(names.path("tweets").as_deref(), Ok("/data/tweets.ndjson"));
/// assert!(names.path("/etc/passwd").is_err());
/// ```
#[derive(Clone)]
pub struct Names {
    all: Arc<[String]>,
    path: Arc<PathOfName>,
}

impl Names {
    /// Inputs by their names: `path` returns the file, folder or URL of a name, or why there is none. `all`
    /// are the names that SHOW TABLES lists.
    pub fn new(
        all: Vec<String>,
        path: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static,
    ) -> Self {
        Self { all: all.into(), path: Arc::new(path) }
    }

    /// The names that SHOW TABLES lists.
    #[must_use]
    pub fn all(&self) -> &[String] {
        &self.all
    }

    /// The file, folder or URL of a name.
    ///
    /// # Errors
    /// The reason why statements may not use the name.
    pub fn path(&self, name: &str) -> Result<String, String> {
        (self.path)(name)
    }
}

impl Debug for Names {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Names")
    }
}

/// Settings of SQL.
///
/// ```
/// use warpath_sql::{Options, SchemaFrom};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = Options { schema: SchemaFrom::Sample(1000), ..Options::default() };
/// let context = options.context()?;
/// assert!(context.state().scalar_functions().contains_key("json_path"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The device that evaluates paths and predicates.
    pub device: DeviceChoice,
    /// The number of partitions that are evaluated at the same time; 0 for one on each core.
    pub workers: usize,
    /// The policy for malformed records.
    pub on_error: OnError,
    /// The source of columns.
    pub schema: SchemaFrom,
    /// True if tables of local files have a column `filename`, with the file of each record.
    pub filename: bool,
    /// True if schemas are kept: those of files beside them, and those of objects in [`cache`](Self::cache).
    pub keeps_schemas: bool,
    /// The folder in which the schemas of objects are kept; `None` keeps none.
    pub cache: Option<PathBuf>,
    /// The bytes that operators such as sorts and joins may use before they write to temporary files; `None`
    /// for no limit.
    pub memory: Option<usize>,
    /// Credentials, endpoints and limits of object stores; `None` for those of the environment.
    pub stores: Option<StoreSettings>,
    /// The inputs that statements may name; `None` for all files and URLs. With names, statements only read:
    /// they make no tables and write no files.
    pub names: Option<Names>,
    /// Ends the reading and the functions of the session. Rows after it may be missing: they are not wanted.
    pub cancel: Option<CancelToken>,
    /// The footers of stores that sessions share; `None` for a session that reads them for each statement.
    pub known: Option<KnownParts>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            device: DeviceChoice::Cpu,
            workers: 0,
            on_error: OnError::Fail,
            schema: SchemaFrom::All,
            filename: false,
            keeps_schemas: true,
            cache: None,
            memory: None,
            stores: None,
            names: None,
            cancel: None,
            known: None,
        }
    }
}

impl Options {
    /// The number of workers.
    pub(crate) fn all_workers(&self) -> usize {
        if self.workers == 0 { cores() } else { self.workers }
    }
}
