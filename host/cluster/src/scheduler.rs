//! The scheduler: plans cut into tasks, and the executors that fetch them.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpcServer;
use ballista_scheduler::cluster::{BallistaCluster, ClusterState};
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::create_scheduler;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::TcpListener;
use warpath_sql::cli::Failure;
use warpath_sql::{Options, functions};

use crate::codec::Codec;
use crate::hello::{self, MESSAGE_BYTES, PATH, PROCESS_HEADER, SLOTS_HEADER, VERSION_HEADER};

/// The settings of a scheduler.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address to listen at. The port 0 is any free port.
    pub listen: String,
    /// The seconds after which an executor that sends nothing is lost.
    pub executor_timeout: u64,
    /// The seconds for which the results of a query are kept if its client does not end the query.
    pub keep: u64,
}

/// Runs a scheduler until the process is interrupted. Prints the address at which it listens.
///
/// # Errors
/// The address cannot be used, or the server ends.
pub async fn run(settings: &Settings) -> Result<(), Failure> {
    let named = |error: std::io::Error| Failure::usage(format!("{}: {error}", settings.listen));
    let listener = TcpListener::bind(&settings.listen).await.map_err(named)?;
    let address = listener.local_addr().map_err(named)?;
    let failed = |error| Failure::of_query(error, "");
    let codec = Codec::new(&Options::default()).map_err(failed)?;
    // A plan names the stores of its Parquet files, and is decoded only where they can be made. Nothing is
    // read here.
    let runtime = RuntimeEnvBuilder::new().with_object_store_registry(codec.stores());
    let runtime = runtime.build_arc().map_err(failed)?;
    let config = SchedulerConfig {
        scheduling_policy: TaskSchedulingPolicy::PullStaged,
        external_host: address.ip().to_string(),
        bind_host: address.ip().to_string(),
        bind_port: address.port(),
        override_physical_codec: Some(Arc::new(codec)),
        override_session_builder: Some(Arc::new(move |config| session(config, runtime.clone()))),
        grpc_server_max_decoding_message_size: MESSAGE_BYTES as u32,
        grpc_server_max_encoding_message_size: MESSAGE_BYTES as u32,
        executor_timeout_seconds: settings.executor_timeout,
        expire_dead_executor_interval_seconds: (settings.executor_timeout / 4).max(1),
        no_executors_grace_period_seconds: settings.executor_timeout,
        finished_job_data_clean_up_interval_seconds: settings.keep,
        finished_job_state_clean_up_interval_seconds: settings.keep,
        ..SchedulerConfig::default()
    };
    let cluster = BallistaCluster::new_from_config(&config).await.map_err(of_ballista)?;
    let state = cluster.cluster_state();
    let server = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config));
    let server = SchedulerGrpcServer::new(server.await.map_err(of_ballista)?)
        .max_decoding_message_size(MESSAGE_BYTES)
        .max_encoding_message_size(MESSAGE_BYTES);
    let process = uuid::Uuid::new_v4().to_string();
    let mut services = tonic::service::RoutesBuilder::default();
    services.add_service(server);
    let routes: Router = services
        .routes()
        .into_axum_router()
        .route(PATH, get(move || size(state)))
        .layer(middleware::from_fn(move |request, next| checked(process.clone(), request, next)));
    println!("warpath-cluster scheduler {} listens on {address}", hello::VERSION);
    let server = axum::serve(listener, routes.into_make_service_with_connect_info::<SocketAddr>());
    tokio::select! {
        ended = server.into_future() => ended.map_err(Failure::of_system),
        () = interrupted() => Ok(()),
    }
}

/// Waits for Ctrl-C, or for a request to terminate.
pub(crate) async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // Without signals the process ends when it is killed.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

pub(crate) fn of_ballista(error: BallistaError) -> Failure {
    Failure::usage(error.to_string())
}

/// A session, which decodes plans.
fn session(config: SessionConfig, runtime: Arc<RuntimeEnv>) -> datafusion::common::Result<SessionState> {
    let state = SessionStateBuilder::new().with_config(config).with_runtime_env(runtime);
    let mut state = state.with_default_features().build();
    functions::register(&mut state)?;
    Ok(state)
}

/// The size of the cluster, in headers.
async fn size(state: Arc<dyn ClusterState>) -> impl IntoResponse {
    let executors = state.registered_executor_metadata().await;
    let slots: u32 = executors.iter().map(|executor| executor.specification.vcores).sum();
    [(HeaderName::from_static(SLOTS_HEADER), HeaderValue::from(slots))]
}

/// A response to a program of this version.
async fn checked(process: String, request: Request, next: Next) -> Response {
    let mut response = match hello::check_agent(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(status) => status.into_http(),
    };
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static(VERSION_HEADER), HeaderValue::from_static(hello::VERSION));
    if let Ok(process) = HeaderValue::from_str(&process) {
        headers.insert(HeaderName::from_static(PROCESS_HEADER), process);
    }
    response
}
