//! Tasks of an executor: those of Ballista, with failures that keep their message.

use std::fmt::{self, Debug, Display, Formatter};
use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::JobId;
use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::{
    RuntimeStatsReport, ShuffleWritePartition, TaskColumnStats, WindowStateReport,
};
use ballista_executor::execution_engine::{DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::prelude::SessionConfig;
use warpath_sql::cli::Failure;

use crate::failure::OfTask;

/// The engine of an executor.
pub struct Engine {
    /// The name of the executor in messages.
    pub name: String,
    /// True if each task is reported on standard error.
    pub is_verbose: bool,
}

impl ExecutionEngine for Engine {
    fn create_query_stage_exec(
        &self,
        job_id: JobId,
        stage_id: usize,
        task_id: usize,
        global_output_partition_ids: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let name = self.is_verbose.then(|| format!("task {task_id} of stage {stage_id} of job {job_id}"));
        let partitions = global_output_partition_ids;
        let stage = DefaultExecutionEngine::new()
            .create_query_stage_exec(job_id, stage_id, task_id, partitions, plan, work_dir, config)?;
        Ok(Arc::new(Task { stage, executor: self.name.clone(), name }))
    }
}

/// A task.
struct Task {
    stage: Arc<dyn QueryStageExecutor>,
    executor: String,
    /// The name on standard error.
    name: Option<String>,
}

impl Task {
    fn say(&self, what: &str) {
        if let Some(name) = &self.name {
            eprintln!("{name} {what}");
        }
    }
}

impl Debug for Task {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.stage, f)
    }
}

impl Display for Task {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.stage, f)
    }
}

#[async_trait]
impl QueryStageExecutor for Task {
    async fn execute_query_stage(
        &self,
        task_id: usize,
        context: Arc<TaskContext>,
    ) -> Result<Vec<ShuffleWritePartition>> {
        self.say("begins");
        let done = self.stage.execute_query_stage(task_id, context).await;
        self.say(if done.is_ok() { "ends" } else { "fails" });
        done.map_err(|error| marked(error, &self.executor))
    }

    fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
        self.stage.collect_plan_metrics()
    }

    fn collect_runtime_stats_reports(&self) -> Vec<RuntimeStatsReport> {
        self.stage.collect_runtime_stats_reports()
    }

    fn collect_window_state_reports(&self) -> Result<Vec<WindowStateReport>> {
        self.stage.collect_window_state_reports()
    }

    fn collect_column_stats(&self) -> Vec<TaskColumnStats> {
        self.stage.collect_column_stats()
    }
}

/// An error whose text has its failure. Errors after which Ballista tries again stay as they are.
fn marked(error: DataFusionError, executor: &str) -> DataFusionError {
    let Some(mut failure) = failure_of(&error) else { return error };
    let advice = match failure.message.contains("No such file") {
        true => "; it reads files at the paths that they have on the client",
        false => "",
    };
    failure.help.get_or_insert_with(|| format!("the executor {executor} reports this{advice}"));
    DataFusionError::External(Box::new(OfTask(failure)))
}

/// The failure that an error is; `None` for errors after which Ballista tries again.
fn failure_of(error: &DataFusionError) -> Option<Failure> {
    match error.find_root() {
        DataFusionError::IoError(_) => None,
        DataFusionError::External(inner) => match inner.downcast_ref::<BallistaError>() {
            // An error that went through an operator of Ballista.
            Some(BallistaError::DataFusionError(inner)) => failure_of(inner),
            Some(BallistaError::ArrowError(inner)) => {
                Some(Failure { code: 4, ..Failure::usage(inner.to_string()) })
            }
            Some(_) => None,
            None => Some(Failure::of(error, "")),
        },
        _ => Some(Failure::of(error, "")),
    }
}
