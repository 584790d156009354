//! Statements, run one after the other.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::{SQLOptions, SessionContext};
use datafusion::sql::parser::Statement;
use futures::StreamExt;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use warpath_terminal::messages::Ui;
use warpath_terminal::options::When;
use warpath_terminal::streams::{Stream, Streams};

use crate::report::Report;

use super::args::Format;
use super::depth;
use super::messages::{self, Failure, is_broken_pipe};
use super::output::Output;
use super::watch::{Signals, Total, Watch};

/// A session, and the form of its results.
pub(super) struct Session {
    pub runtime: Arc<Runtime>,
    pub context: SessionContext,
    pub report: Arc<Report>,
    pub format: Format,
    pub output: Option<PathBuf>,
    pub progress: When,
    pub ui: Ui,
    pub streams: Streams,
    pub signals: Signals,
    /// The columns of all tables that statements have named, and the members of their structs, as they are
    /// written in SQL.
    pub columns: BTreeSet<String>,
    /// The work of a statement that was ended before its time.
    pub left: Option<Left>,
}

/// The work of a statement that was ended before its time. Its threads see the end between two batches.
pub struct Left(mpsc::Receiver<Infallible>);

impl Left {
    /// Waits until the threads that work on the statement have seen its end.
    pub fn wait(mut self) {
        // Nothing is sent: the last sender goes with the work.
        self.0.blocking_recv();
    }
}

impl Session {
    /// Runs statements up to the first that fails.
    ///
    /// # Errors
    /// The error of the text, or of that statement.
    pub fn run(&mut self, text: &str) -> Result<(), Failure> {
        let statements = depth::parsed(text)?;
        if self.output.is_some() && statements.len() > 1 {
            return Err(Failure::usage("`--output` takes the rows of one statement"));
        }
        for statement in statements {
            // A bar of progress would be mixed with rows that are printed while the query runs.
            let is_shown = self.output.is_none()
                && self.format != Format::Table
                && self.streams.is_terminal(Stream::Output);
            let watch = Watch::start(self.progress, &self.report, is_shown);
            let (alive, left) = mpsc::channel(1);
            let run = StatementRun {
                alive,
                context: self.context.clone(),
                report: self.report.clone(),
                format: self.format,
                output: self.output.clone(),
                streams: self.streams.clone(),
                only_reads: self.streams.client().is_some(),
                total: watch.total(),
            };
            // Other threads plan and evaluate, so that a signal is seen whatever these do.
            let signals = &mut self.signals;
            let done = self.runtime.block_on(async {
                let mut run = tokio::spawn(run.of(statement));
                tokio::select! {
                    done = &mut run => match done {
                        Ok(done) => done.map_err(|error| Failure::of_query(error, text)),
                        Err(error) => match error.try_into_panic() {
                            Ok(panic) => std::panic::resume_unwind(panic),
                            Err(error) => Err(Failure::usage(error.to_string())),
                        },
                    },
                    failure = signals.next() => {
                        run.abort();
                        self.left = Some(Left(left));
                        Err(failure)
                    }
                }
            });
            self.signals.end();
            drop(watch);
            messages::left_out(&self.report.take(), &self.ui);
            let columns = done?;
            self.columns.extend(columns);
        }
        Ok(())
    }

    /// Ends a session that a signal has ended. The threads that evaluate are not waited for, and temporary
    /// files are removed.
    pub fn give_up(self) {
        // No output is begun or finished from now on.
        std::mem::forget(warpath::remove_unfinished());
        if let Some(runtime) = Arc::into_inner(self.runtime) {
            runtime.shutdown_background();
        }
    }
}

/// The rules of a statement that makes no table, writes no file and changes no setting.
pub(super) fn only_reads() -> SQLOptions {
    SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false)
}

/// The run of a statement.
struct StatementRun {
    /// Lives as long as the work.
    alive: mpsc::Sender<Infallible>,
    context: SessionContext,
    report: Arc<Report>,
    format: Format,
    output: Option<PathBuf>,
    streams: Streams,
    /// True if statements neither make tables nor write files.
    only_reads: bool,
    total: Total,
}

impl StatementRun {
    /// Runs a statement. Returns the columns of the tables that it names.
    async fn of(self, statement: Statement) -> Result<Vec<String>, DataFusionError> {
        let plan = self.context.state().statement_to_plan(statement).await?;
        if self.only_reads {
            only_reads().verify_plan(&plan)?;
        }
        // A server has no shell, which completes names.
        let columns = if self.only_reads { Vec::new() } else { columns(&plan)? };
        let frame = self.context.execute_logical_plan(plan).await?;
        let task = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await?;
        self.total.expect(&plan, &self.report);
        let rows = execute_stream(plan, task)?;
        if rows.schema().fields().is_empty() {
            drain(rows).await?;
            return Ok(columns);
        }
        let mut output = Output::new(self.format, self.output.as_deref(), &rows.schema(), &self.streams)?;
        let written = async {
            // Another thread evaluates while this one writes.
            let (mut rows, _task) = ahead(rows, self.alive.clone());
            while let Some(batch) = rows.recv().await {
                output.add(batch?)?;
            }
            // The bar is removed before the table is printed.
            output.finish()
        };
        match written.await {
            Err(error) if is_broken_pipe(&error) => Ok(columns),
            other => other.map(|()| columns),
        }
    }
}

/// The columns of all tables in a plan, and the members of their structs, as they are written in SQL.
fn columns(plan: &LogicalPlan) -> Result<Vec<String>, DataFusionError> {
    let mut columns = Vec::new();
    plan.apply_with_subqueries(|node| {
        let schema = match node {
            LogicalPlan::TableScan(scan) => scan.source.schema(),
            LogicalPlan::DescribeTable(described) => described.schema.clone(),
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        for field in schema.fields() {
            let name = field.name();
            let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            let name = if is_plain { name.clone() } else { format!("\"{}\"", name.replace('"', "\"\"")) };
            add(&name, field.data_type(), &mut columns);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(columns)
}

fn add(name: &str, data_type: &DataType, columns: &mut Vec<String>) {
    columns.push(name.to_owned());
    if let DataType::Struct(members) = data_type {
        for member in members {
            let inner = format!("{name}['{}']", member.name().replace('\'', "''"));
            add(&inner, member.data_type(), columns);
        }
    }
}

/// Batches that are evaluated ahead.
const AHEAD: usize = 4;

/// The rows, which another thread evaluates. It ends when the second value is dropped.
fn ahead(
    mut rows: SendableRecordBatchStream,
    alive: mpsc::Sender<Infallible>,
) -> (mpsc::Receiver<Result<RecordBatch, DataFusionError>>, SpawnedTask<()>) {
    let (sender, receiver) = mpsc::channel(AHEAD);
    let task = SpawnedTask::spawn(async move {
        let _alive = alive;
        while let Some(batch) = rows.next().await {
            if sender.send(batch).await.is_err() {
                return;
            }
        }
    });
    (receiver, task)
}

async fn drain(mut rows: SendableRecordBatchStream) -> Result<(), DataFusionError> {
    while let Some(batch) = rows.next().await {
        batch?;
    }
    Ok(())
}
