//! SQL over newline-delimited JSON: Warpath's engine as a file format of [Apache DataFusion](datafusion).
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("log.ndjson");
//! # std::fs::write(&path, "{\"level\":\"error\",\"ms\":7}\n{\"level\":\"info\",\"ms\":1}\n{\"level\":\"error\",\"ms\":9}\n")?;
//! # let path = path.display();
//! let runtime = tokio::runtime::Runtime::new()?;
//! let batches = runtime.block_on(async {
//!     let context = warpath_sql::Options::default().context()?;
//!     let query = format!("SELECT level, sum(ms) AS ms FROM '{path}' GROUP BY level ORDER BY level");
//!     context.sql(&query).await?.collect().await
//! })?;
//! let shown = datafusion::arrow::util::pretty::pretty_format_batches(&batches)?.to_string();
//! assert!(shown.contains("| error | 16 |"), "{shown}");
//! # Ok(())
//! # }
//! ```
//!
//! A scan reads the paths that a query needs, all of them in one pass of one program. A filter becomes a
//! [`Predicate`](warpath::Predicate) of this program, so that other records are not decoded.
//!
//! | module | holds |
//! |---|---|
//! | [`options`], `session` | settings, and sessions that have them |
//! | `engines`, `stores` | the engines of a session; its object stores |
//! | [`functions`], `arrows` | `json_path` and its typed variants; the operators `->` and `->>` |
//! | `tables`, `files` | the names after FROM: files, folders, patterns, URLs |
//! | `stored` | stores and parts after FROM, on a disk and in object stores |
//! | `parts`, `groups`, `pages` | tables of the parts of stores; row groups and pages that conditions exclude |
//! | `known` | the footers of parts, which sessions of a server share |
//! | `format` | the file format: schemas and statistics of files |
//! | `schema`, `schema_cache` | the schema of all records; where it is kept |
//! | `source`, `paths`, `predicate` | scans: expressions as paths, filters as predicates |
//! | [`leaves`] | aggregates over loaded inputs, evaluated on their leaves |
//! | `semi` | a rule of the optimizer for semi and anti joins |
//! | `scan` | the evaluation of one file or a part of it |
//! | [`report`] | malformed records, and values that columns did not take |
//! | [`wire`] | scans as data, for plans that run in other processes |
//! | [`cli`] | the command line |

pub mod cli;
pub mod functions;
pub mod options;
pub mod report;
pub mod wire;

mod arrows;
mod engines;
mod files;
mod format;
mod groups;
mod integers;
mod known;
pub mod leaves;
mod pages;
mod parts;
mod paths;
mod predicate;
mod scan;
mod schema;
mod schema_cache;
mod semi;
mod session;
mod source;
mod stored;
mod stores;
mod sums;
mod tables;

pub use format::WarpathFormatFactory;
pub use known::KnownParts;
pub use options::{Names, Options, SchemaFrom};
pub use warpath_remote::StoreSettings;
