//! One query on a cluster: its plan sent, its end awaited, its rows and its report fetched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ballista_core::client::BallistaClient;
use ballista_core::extension::BallistaConfigGrpcEndpoint;
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::operator_metric::Metric;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    CancelJobParams, CleanJobDataParams, ExecuteQueryParams, GetJobMetricsParams, GetJobMetricsResult,
    GetJobStatusParams, KeyValuePair, OperatorWithMetrics, PartitionLocation, RemoveSessionParams,
    execute_query_result, job_status,
};
use ballista_core::version::insert_version_header;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream};
use datafusion::prelude::SessionConfig;
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::PhysicalPlanNode;
use tonic::Status;
use tonic::transport::Channel;
use warpath_sql::cli::Failure;
use warpath_sql::report::Report;
use warpath_sql::wire::left_out;

use crate::client::Cluster;
use crate::failure;
use crate::hello::{self, MESSAGE_BYTES};

/// The first and the longest interval between two requests for the status of a query.
const INTERVALS: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(50)];

/// A query that runs, or whose results are kept. It ends when it is dropped.
pub struct Job {
    address: String,
    scheduler: SchedulerGrpcClient<Channel>,
    session: String,
    id: String,
    /// True if the query has ended by itself.
    has_ended: bool,
}

impl Job {
    /// Runs a plan to its end. Returns the locations of its rows, in order.
    ///
    /// # Errors
    /// The failure of the query, or of the cluster.
    pub async fn run(
        cluster: &Cluster,
        plan: Arc<dyn ExecutionPlan>,
        config: &SessionConfig,
    ) -> Result<(Self, Vec<PartitionLocation>)> {
        let plan = encoded(cluster, plan)?;
        let (channel, hello) = hello::connect(&cluster.address).await.map_err(external)?;
        let mut scheduler = SchedulerGrpcClient::new(channel)
            .max_decoding_message_size(MESSAGE_BYTES)
            .max_encoding_message_size(MESSAGE_BYTES);
        let entries = config.options().entries();
        let session = uuid::Uuid::new_v4().to_string();
        let mut request = tonic::Request::new(ExecuteQueryParams {
            query: Some(Query::PhysicalPlan(plan)),
            settings: entries.into_iter().map(|it| KeyValuePair { key: it.key, value: it.value }).collect(),
            session_id: session.clone(),
            operation_id: session.clone(),
        });
        insert_version_header(request.metadata_mut());
        let lost = |status: Status| of_status(&cluster.address, &status);
        let response = scheduler.execute_query(request).await.map_err(lost)?.into_inner();
        let id = match response.result {
            Some(execute_query_result::Result::Success(success)) => success.job_id,
            other => return Err(failure::of_job(&format!("{other:?}"))),
        };
        let mut job = Self { address: cluster.address.clone(), scheduler, session, id, has_ended: false };
        let locations = job.ended(&hello.process).await?;
        job.has_ended = true;
        Ok((job, locations))
    }

    /// Waits for the end.
    async fn ended(&mut self, process: &str) -> Result<Vec<PartitionLocation>> {
        let [mut interval, longest] = INTERVALS;
        loop {
            let status = self.scheduler.get_job_status(GetJobStatusParams { job_id: self.id.clone() });
            let response = status.await.map_err(|status| of_status(&self.address, &status))?;
            if hello::process_of(response.metadata()).is_some_and(|now| now != process) {
                return Err(external(Failure {
                    message: format!(
                        "the scheduler at {} was started again while the query ran",
                        self.address
                    ),
                    help: Some("run the query again".into()),
                    code: 2,
                    ..Failure::usage("")
                }));
            }
            match response.into_inner().status.and_then(|status| status.status) {
                Some(job_status::Status::Failed(failed)) => {
                    self.has_ended = true;
                    return Err(failure::of_job(&failed.error));
                }
                Some(job_status::Status::Successful(job)) => return Ok(job.partition_location),
                _ => {}
            }
            tokio::time::sleep(interval).await;
            interval = longest.min(interval * 2);
        }
    }

    /// The metrics of all operators.
    ///
    /// # Errors
    /// The scheduler does not respond.
    pub async fn metrics(&mut self) -> Result<GetJobMetricsResult> {
        let metrics = self.scheduler.get_job_metrics(GetJobMetricsParams { job_id: self.id.clone() });
        let metrics = metrics.await.map_err(|status| of_status(&self.address, &status))?;
        Ok(metrics.into_inner())
    }
}

impl Drop for Job {
    /// Ends the query, and removes what the cluster keeps of it.
    fn drop(&mut self) {
        let (address, session, id) = (self.address.clone(), self.session.clone(), self.id.clone());
        let is_running = !self.has_ended;
        let end = async move {
            let channel = hello::endpoint(&address).ok()?.connect().await.ok()?;
            let mut scheduler = SchedulerGrpcClient::new(channel);
            if is_running {
                scheduler.cancel_job(CancelJobParams { job_id: id.clone() }).await.ok()?;
            } else {
                scheduler
                    .clean_job_data(CleanJobDataParams { job_id: id, remove_stage_ids: vec![] })
                    .await
                    .ok()?;
            }
            scheduler.remove_session(RemoveSessionParams { session_id: session }).await.ok()
        };
        // The caller's runtime may be about to end. A scheduler that is lost does not hold the caller up.
        let thread = std::thread::Builder::new().spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(async { tokio::time::timeout(Duration::from_secs(2), end).await.ok() })
        });
        // Cleaning is an aid: the scheduler forgets old queries by itself.
        if let Ok(thread) = thread {
            let _ = thread.join();
        }
    }
}

fn external(failure: Failure) -> DataFusionError {
    DataFusionError::External(Box::new(failure))
}

fn of_status(address: &str, status: &Status) -> DataFusionError {
    let message = match status.code() {
        tonic::Code::Unavailable | tonic::Code::Unknown | tonic::Code::Cancelled => {
            format!("the scheduler at {address} was lost: {}", status.message())
        }
        _ => format!("the scheduler at {address}: {}", status.message()),
    };
    external(Failure { message, help: None, code: 2, ..Failure::usage("") })
}

fn encoded(cluster: &Cluster, plan: Arc<dyn ExecutionPlan>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let node = PhysicalPlanNode::try_from_physical_plan(plan, &*cluster.codec);
    node.and_then(|node| node.try_encode(&mut bytes)).map_err(|error| {
        external(Failure {
            message: format!("the plan cannot be sent to a cluster: {error}"),
            help: Some("run the query without `--cluster`".into()),
            code: 3,
            ..Failure::usage("")
        })
    })?;
    Ok(bytes)
}

/// The rows at a location.
///
/// # Errors
/// The executor that has them is lost.
pub async fn rows(location: PartitionLocation) -> Result<SendableRecordBatchStream> {
    let layout = location.layout();
    let (Some(executor), Some(partition)) = (location.executor_meta, location.partition_id) else {
        return Err(failure::of_job("a part of the result has no location"));
    };
    let named = |endpoint| hello::named(endpoint).map_err(Into::into);
    let named = Arc::new(BallistaConfigGrpcEndpoint::new(Arc::new(named)));
    let port = executor.port as u16;
    let lost = |error: ballista_core::error::BallistaError| {
        external(Failure {
            message: format!(
                "the executor {}:{port}, which has a part of the result, cannot be reached: {error}",
                executor.host
            ),
            help: Some("run the query again".into()),
            code: 2,
            ..Failure::usage("")
        })
    };
    let client =
        BallistaClient::try_new(&executor.host, port, MESSAGE_BYTES, false, Some(named), 3, 500, 0, 0);
    let mut client = client.await.map_err(lost)?;
    let partition = partition.into();
    let fetched = client.fetch_partition(&executor.id, &partition, location.file_id, layout, true);
    fetched.await.map_err(lost)
}

/// Adds the reports of scans to that of the session.
pub fn add_reports(metrics: &GetJobMetricsResult, report: &Report) {
    for operator in metrics.stages.iter().flat_map(|stage| &stage.operators) {
        // A metric may be there once for each partition of its task.
        let named = operator.metrics.iter().filter_map(|metric| match &metric.metric {
            Some(Metric::Count(count)) => Some((&*count.name, count.value)),
            _ => None,
        });
        for (name, count) in named.collect::<BTreeSet<_>>() {
            if let Some(left_out) = left_out(name, count) {
                report.add_all(left_out);
            }
        }
    }
}

/// The sums of an operator's counts, by name.
pub fn totals(operator: &OperatorWithMetrics) -> BTreeMap<String, u64> {
    let mut totals = BTreeMap::new();
    for metric in &operator.metrics {
        let (name, value) = match &metric.metric {
            Some(Metric::OutputRows(rows)) => ("output_rows", *rows),
            Some(Metric::ElapseTime(time)) => ("elapsed_nanoseconds", *time),
            Some(Metric::SpillCount(count)) => ("spill_count", *count),
            Some(Metric::SpilledBytes(bytes)) => ("spilled_bytes", *bytes),
            Some(Metric::Count(count)) if left_out(&count.name, 0).is_none() => (&*count.name, count.value),
            _ => continue,
        };
        *totals.entry(name.to_owned()).or_default() += value;
    }
    totals
}
