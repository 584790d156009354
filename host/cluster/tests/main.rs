//! Tests of clusters: a scheduler and executors as processes on this machine, compared with one process.

mod failures;
mod large;
mod objects;
mod processes;
mod queries;
mod records;

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::FormatOptions;
use datafusion::arrow::util::pretty::pretty_format_batches_with_options;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use tokio::runtime::Runtime;
use warpath_sql::Options;
use warpath_sql::report::{LeftOut, Report};

/// A session, with the runtime that it runs on.
struct Session {
    runtime: Runtime,
    context: SessionContext,
    report: Arc<Report>,
}

impl Session {
    /// A session of one process; with an address, a session of the cluster there.
    fn new(options: &Options, address: Option<&str>) -> Self {
        let report = Arc::new(Report::default());
        let runtime = Runtime::new().unwrap();
        let context = match address {
            Some(address) => warpath_cluster::context(address, options, &report).unwrap(),
            None => options.context_with(&report).unwrap(),
        };
        Self { runtime, context, report }
    }

    fn batches(&self, query: &str) -> Result<Vec<RecordBatch>, DataFusionError> {
        self.runtime.block_on(async { self.context.sql(query).await?.collect().await })
    }

    /// The rows of a query as lines, in their order if the query has one, and else sorted.
    fn rows(&self, query: &str) -> Vec<String> {
        let batches = self.batches(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        let options = FormatOptions::default().with_null("NULL");
        let table = pretty_format_batches_with_options(&batches, &options).unwrap().to_string();
        let lines = table.lines().filter(|line| line.starts_with('|')).skip(1);
        let cells =
            |line: &str| line.trim_matches('|').split('|').map(|it| it.trim().to_owned()).collect::<Vec<_>>();
        let mut rows: Vec<String> = lines.map(|line| cells(line).join("|")).collect();
        if !query.contains("ORDER BY") || query.contains("OVER (") {
            rows.sort();
        }
        rows
    }

    fn error(&self, query: &str) -> String {
        self.batches(query).expect_err(query).to_string()
    }

    fn left_out(&self) -> LeftOut {
        self.report.take()
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display())
}
