//! Sessions whose queries run on a cluster.
//!
//! The client lists files, reads schemas and plans a query for as many partitions as the cluster runs tasks.
//! Queries without files run in the client, which also writes rows to files.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::config::BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK;
use ballista_core::extension::SessionConfigExt;
use ballista_core::optimizer::ballista_default_optimizer_rules;
use ballista_core::serde::protobuf::GetJobMetricsResult;
use datafusion::arrow::array::{RecordBatch, StringArray};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::error::DataFusionError;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::{SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::analyze::AnalyzeExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    ReplaceChildrenOptions, SendableRecordBatchStream,
};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::{StreamExt, TryStreamExt};
use warpath_sql::Options;
use warpath_sql::cli::Failure;
use warpath_sql::report::Report;

use crate::balance::balanced;
use crate::codec::{Codec, files_of};
use crate::hello;
use crate::job::{self, Job};

/// Connections to executors that are opened ahead.
const AHEAD: usize = 4;

/// A new session whose queries run on the cluster of the scheduler at `HOST:PORT`. Their reports are added to
/// `report`.
///
/// # Errors
/// An address that is none, and the errors of [`Options::context`]. The scheduler is not called yet.
pub fn context(address: &str, options: &Options, report: &Arc<Report>) -> Result<SessionContext> {
    hello::endpoint(address).map_err(|failure| DataFusionError::External(Box::new(failure)))?;
    let codec = Arc::new(Codec::new(options)?);
    let cluster = Arc::new(Cluster { address: address.to_owned(), report: report.clone(), codec });
    options.context_by(report, |mut builder| {
        let config = builder.config().take().unwrap_or_default().upgrade_for_ballista();
        // A task for each partition: an executor counts its free slots by tasks.
        let config = config.set_usize(BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK, 1);
        builder
            .with_config(config)
            .with_optimizer_rules(ballista_default_optimizer_rules())
            .with_query_planner(Arc::new(Planner { cluster }))
    })
}

/// A cluster as a client knows it.
pub struct Cluster {
    /// The address of its scheduler.
    pub address: String,
    /// The codec of plans.
    pub codec: Arc<Codec>,
    report: Arc<Report>,
}

impl Debug for Cluster {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Cluster({})", self.address)
    }
}

#[derive(Debug)]
struct Planner {
    cluster: Arc<Cluster>,
}

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(state) = session.as_any().downcast_ref::<SessionState>() else {
            return internal_err!("the session has another form");
        };
        let hello = hello::connect(&self.cluster.address).await;
        let (_, hello) = hello.map_err(|failure| DataFusionError::External(Box::new(failure)))?;
        if hello.slots == 0 {
            return Err(DataFusionError::External(Box::new(Failure {
                message: format!("the scheduler at {} has no executor", self.cluster.address),
                help: Some(format!(
                    "`warpath-cluster executor --scheduler {}` starts one",
                    self.cluster.address
                )),
                code: 2,
                ..Failure::usage("")
            })));
        }
        let config = state.config().clone().with_target_partitions(hello.slots);
        let state = SessionStateBuilder::new_from_existing(state.clone()).with_config(config).build();
        let plan = DefaultPhysicalPlanner::default().create_physical_plan(plan, &state).await?;
        self.distributed(plan, state.config())
    }
}

impl Planner {
    /// A plan whose part with files runs on the cluster.
    fn distributed(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &SessionConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !has_files(&plan)? {
            return Ok(plan);
        }
        if plan.is::<DataSinkExec>() {
            let inputs = plan.children().into_iter().cloned();
            let inputs = inputs.map(|input| self.distributed(input, config)).collect::<Result<Vec<_>>>()?;
            let properties = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            return plan.replace_children(inputs, properties);
        }
        let (schema, is_analyzed) = (plan.schema(), plan.is::<AnalyzeExec>());
        let plan = match plan.downcast_ref::<AnalyzeExec>() {
            Some(analyze) => analyze.input().clone(),
            None => plan,
        };
        Ok(Arc::new(OnCluster::new(self.cluster.clone(), balanced(plan)?, schema, is_analyzed, config)))
    }
}

fn has_files(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut has_files = false;
    plan.apply(|plan| {
        has_files |= files_of(plan).is_some();
        Ok(if has_files { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(has_files)
}

/// A plan that runs on a cluster.
#[derive(Debug)]
struct OnCluster {
    cluster: Arc<Cluster>,
    plan: Arc<dyn ExecutionPlan>,
    /// True if the rows are the metrics of the plan.
    is_analyzed: bool,
    config: SessionConfig,
    properties: Arc<PlanProperties>,
}

impl OnCluster {
    fn new(
        cluster: Arc<Cluster>,
        plan: Arc<dyn ExecutionPlan>,
        schema: SchemaRef,
        is_analyzed: bool,
        config: &SessionConfig,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { cluster, plan, is_analyzed, config: config.clone(), properties: Arc::new(properties) }
    }
}

impl DisplayAs for OnCluster {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "OnCluster: scheduler={}", self.cluster.address)
    }
}

impl ExecutionPlan for OnCluster {
    fn name(&self) -> &str {
        "OnCluster"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        // The plan is another process's. It is no input of an operator here.
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.is_empty() {
            true => Ok(self),
            false => internal_err!("a plan on a cluster has no inputs here"),
        }
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (cluster, plan, schema) = (self.cluster.clone(), self.plan.clone(), self.schema());
        let (config, is_analyzed, result_schema) = (self.config.clone(), self.is_analyzed, self.schema());
        let rows = async move {
            let (mut job, locations) = Job::run(&cluster, plan, &config).await?;
            let metrics = job.metrics().await?;
            job::add_reports(&metrics, &cluster.report);
            if is_analyzed {
                let batch = shown(&metrics, &schema)?;
                return Ok::<_, DataFusionError>(futures::stream::iter([Ok(batch)]).boxed());
            }
            let fetched = futures::stream::iter(locations).map(job::rows).buffered(AHEAD).try_flatten();
            // The job ends with the stream of its rows.
            let kept = move |batch| {
                let _job = &job;
                batch
            };
            Ok(fetched.map(kept).boxed())
        };
        let rows = futures::stream::once(rows).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(result_schema, rows)))
    }
}

/// The operators of a query with their metrics, stage by stage.
fn shown(metrics: &GetJobMetricsResult, schema: &SchemaRef) -> Result<RecordBatch> {
    use std::fmt::Write;
    let (mut titles, mut texts) = (Vec::new(), Vec::new());
    for stage in &metrics.stages {
        let mut text = String::new();
        for operator in &stage.operators {
            let indent = operator.depth as usize * 2;
            let metrics = job::totals(operator);
            let metrics: Vec<String> =
                metrics.into_iter().map(|(name, sum)| format!("{name}={sum}")).collect();
            // A string takes any text.
            let _ = writeln!(
                text,
                "{:indent$}{}, metrics=[{}]",
                "",
                operator.operator_desc.trim(),
                metrics.join(", ")
            );
        }
        titles.push(format!("stage {}", stage.stage_id));
        texts.push(text);
    }
    let columns = [titles, texts].map(|column| Arc::new(StringArray::from(column)) as _);
    Ok(RecordBatch::try_new(schema.clone(), columns.to_vec())?)
}
