//! Tests of SQL: scans against tables in memory, functions, schemas, bad input, and the program.

mod cookbook;
mod filters;
mod functions;
mod leaves;
mod objects;
mod parts;
mod program;
mod stored;
mod tables;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::FormatOptions;
use datafusion::arrow::util::pretty::pretty_format_batches_with_options;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use warpath_sql::Options;
use warpath_sql::report::Report;

/// A session over files of a folder, with the runtime that it runs on.
struct Session {
    runtime: Runtime,
    context: SessionContext,
    report: Arc<Report>,
    folder: TempDir,
}

impl Session {
    fn new() -> Self {
        Self::with(Options { workers: 2, ..Options::default() })
    }

    fn with(options: Options) -> Self {
        let report = Arc::new(Report::default());
        let runtime = Runtime::new().unwrap();
        let context = options.context_with(&report).unwrap();
        Self { runtime, context, report, folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, and returns its path as a quoted name.
    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        quoted(&path)
    }

    fn batches(&self, query: &str) -> Result<Vec<RecordBatch>, DataFusionError> {
        self.batches_in(&self.context, query)
    }

    fn batches_in(&self, context: &SessionContext, query: &str) -> Result<Vec<RecordBatch>, DataFusionError> {
        self.runtime.block_on(async { context.sql(query).await?.collect().await })
    }

    /// The rows of a query, a line for each, without the frame of the table.
    fn rows(&self, query: &str) -> Vec<String> {
        self.rows_in(&self.context, query)
    }

    fn rows_in(&self, context: &SessionContext, query: &str) -> Vec<String> {
        let batches = self.batches_in(context, query).unwrap_or_else(|error| panic!("{query}: {error}"));
        let options = FormatOptions::default().with_null("NULL");
        let table = pretty_format_batches_with_options(&batches, &options).unwrap().to_string();
        let lines = table.lines().filter(|line| line.starts_with('|')).skip(1);
        let cells =
            |line: &str| line.trim_matches('|').split('|').map(|it| it.trim().to_owned()).collect::<Vec<_>>();
        lines.map(|line| cells(line).join(" ")).collect()
    }

    fn error(&self, query: &str) -> String {
        self.batches(query).expect_err(query).to_string()
    }

    /// The plan that runs, as text.
    fn plan(&self, query: &str) -> String {
        self.rows(&format!("EXPLAIN {query}")).join("\n")
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display())
}
