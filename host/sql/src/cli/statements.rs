//! Statements, run one after the other.

use std::path::PathBuf;
use std::sync::Arc;

use crate::report::Report;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use futures::StreamExt;
use tokio::runtime::Runtime;

use super::args::Format;
use super::messages::{self, Failure};
use super::output::Output;

/// A session, and the form of its results.
pub(super) struct Session {
    pub runtime: Runtime,
    pub context: SessionContext,
    pub report: Arc<Report>,
    pub format: Format,
    pub output: Option<PathBuf>,
}

impl Session {
    /// Runs statements up to the first that fails.
    ///
    /// # Errors
    /// The error of the text, or of that statement.
    pub fn run(&mut self, text: &str) -> Result<(), Failure> {
        let failed = |error| Failure::of_query(error, text);
        let parser = DFParserBuilder::new(text).with_dialect(&GenericDialect {}).build().map_err(failed)?;
        let statements = { parser }.parse_statements().map_err(failed)?;
        if self.output.is_some() && statements.len() > 1 {
            return Err(Failure::usage("`--output` takes the rows of one statement"));
        }
        for statement in statements {
            let done = self.runtime.block_on(async {
                tokio::select! {
                    done = self.one(statement, text) => done,
                    _ = tokio::signal::ctrl_c() => Err(Failure::interrupted()),
                }
            });
            messages::left_out(&self.report.take());
            done?;
        }
        Ok(())
    }

    async fn one(&self, statement: Statement, text: &str) -> Result<(), Failure> {
        let failed = |error| Failure::of_query(error, text);
        let plan = self.context.state().statement_to_plan(statement).await.map_err(failed)?;
        let frame = self.context.execute_logical_plan(plan).await.map_err(failed)?;
        let task = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await.map_err(failed)?;
        let rows = execute_stream(plan, task).map_err(failed)?;
        if rows.schema().fields().is_empty() {
            return drain(rows).await.map_err(failed);
        }
        let mut output = Output::new(self.format, self.output.as_deref(), &rows.schema())?;
        let written = async {
            // Another thread evaluates while this one writes.
            let mut rows = ahead(rows);
            while let Some(batch) = rows.recv().await {
                output.add(batch?)?;
            }
            output.finish()
        };
        match written.await {
            Err(error) if is_broken_pipe(&error) => Ok(()),
            other => other.map_err(failed),
        }
    }
}

/// Batches that are evaluated ahead.
const AHEAD: usize = 4;

fn ahead(
    mut rows: SendableRecordBatchStream,
) -> tokio::sync::mpsc::Receiver<Result<datafusion::arrow::array::RecordBatch, DataFusionError>> {
    let (sender, receiver) = tokio::sync::mpsc::channel(AHEAD);
    tokio::spawn(async move {
        while let Some(batch) = rows.next().await {
            if sender.send(batch).await.is_err() {
                return;
            }
        }
    });
    receiver
}

async fn drain(mut rows: SendableRecordBatchStream) -> Result<(), DataFusionError> {
    while let Some(batch) = rows.next().await {
        batch?;
    }
    Ok(())
}

/// True if the reader of the rows has closed the pipe, which is no error.
fn is_broken_pipe(error: &DataFusionError) -> bool {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        if error
            .downcast_ref::<std::io::Error>()
            .is_some_and(|it| it.kind() == std::io::ErrorKind::BrokenPipe)
        {
            return true;
        }
        if error.to_string().contains("Broken pipe") {
            return true;
        }
        source = error.source();
    }
    false
}
