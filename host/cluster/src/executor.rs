//! An executor: tasks fetched from a scheduler, and their results served to others.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::BALLISTA_PROTOCOL_VERSION;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::serde::BallistaCodec;
use ballista_core::serde::BallistaLogicalExtensionCodec;
use ballista_core::serde::protobuf::executor_resource::Resource;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    ExecutorOperatingSystemSpecification, ExecutorRegistration, ExecutorResource, ExecutorSpecification,
    ExecutorStoppedParams,
};
use ballista_core::utils::default_config_producer;
use ballista_executor::execution_loop::poll_loop;
use ballista_executor::executor::Executor;
use ballista_executor::flight_service::BallistaFlightService;
use ballista_executor::health::ExecutorHealth;
use ballista_executor::metrics::LoggingMetricsCollector;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use warpath_core::pool::cores;
use warpath_sql::cli::Failure;
use warpath_sql::{Options, functions};

use crate::codec::Codec;
use crate::engine::Engine;
use crate::hello::{self, MESSAGE_BYTES};
use crate::scheduler::{interrupted, of_ballista};
use crate::work::Work;

/// The interval at which the connection to the scheduler is looked at.
const HEALTH_INTERVAL: Duration = Duration::from_millis(20);

/// The settings of an executor.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address of the scheduler.
    pub scheduler: String,
    /// The address to listen at. The port 0 is any free port.
    pub listen: String,
    /// The name or address by which other machines reach this one; `None` for the address that the scheduler
    /// sees.
    pub host: Option<String>,
    /// The folder within which results are kept; `None` for the system's folder of temporary files.
    pub work: Option<PathBuf>,
    /// The device, the number of tasks at the same time (`workers`), and their memory.
    pub options: Options,
    /// True if each task is reported on standard error.
    pub is_verbose: bool,
}

/// Runs an executor until the process is interrupted. Prints the address at which it listens.
///
/// # Errors
/// The scheduler cannot be reached or has another version, the device cannot be opened, or the address or the
/// folder cannot be used.
pub async fn run(settings: &Settings) -> Result<(), Failure> {
    let (channel, _) = hello::connect(&settings.scheduler).await?;
    let codec = Codec::new(&settings.options).map_err(|error| Failure::of_query(error, ""))?;
    let named = |error: std::io::Error| Failure::usage(format!("{}: {error}", settings.listen));
    let listener = TcpListener::bind(&settings.listen).await.map_err(named)?;
    let address = listener.local_addr().map_err(named)?;
    let parent = settings.work.clone().unwrap_or_else(std::env::temp_dir);
    let work = Work::within(&parent)
        .map_err(|error| Failure::usage(format!("the folder {}: {error}", parent.display())))?;
    let folder = work.path().display().to_string();

    let slots = if settings.options.workers == 0 { cores() } else { settings.options.workers };
    let id = uuid::Uuid::new_v4().to_string();
    let executor = Arc::new(executor(settings, &codec, &id, &folder, address.port(), slots)?);
    let mut scheduler = SchedulerGrpcClient::new(channel)
        .max_decoding_message_size(MESSAGE_BYTES)
        .max_encoding_message_size(MESSAGE_BYTES);
    let codec = BallistaCodec::<LogicalPlanNode, PhysicalPlanNode>::new(
        Arc::new(BallistaLogicalExtensionCodec::default()),
        Arc::new(codec),
    );
    let flight = FlightServiceServer::new(BallistaFlightService::new(folder))
        .max_decoding_message_size(MESSAGE_BYTES)
        .max_encoding_message_size(MESSAGE_BYTES);
    let server = tonic::transport::Server::builder()
        .tcp_nodelay(true)
        .add_service(flight)
        .serve_with_incoming(TcpListenerStream::new(listener));
    let health = ExecutorHealth::new();
    let tasks = poll_loop(scheduler.clone(), executor, codec, None, None, health.clone());
    tokio::select! {
        () = reported(&health, &settings.scheduler, address) => Ok(()),
        ended = server => ended.map_err(|error| Failure::usage(hello::chain(&error))),
        ended = tasks => ended.map_err(of_ballista),
        () = interrupted() => {
            let stopped = ExecutorStoppedParams { executor_id: id, reason: "the executor was ended".into() };
            // Without a scheduler there is nobody to report the end to.
            let _ = scheduler.executor_stopped(stopped).await;
            Ok(())
        }
    }
}

/// Prints the address when the scheduler knows this executor. Afterwards reports when the scheduler is lost
/// and found again. Does not end.
async fn reported(health: &ExecutorHealth, scheduler: &str, address: SocketAddr) {
    let (mut is_known, mut was_ready) = (false, false);
    loop {
        let is_ready = health.is_ready();
        match (is_known, was_ready, is_ready) {
            (false, _, true) => {
                println!("warpath-cluster executor {} listens on {address}", hello::VERSION);
                is_known = true;
            }
            (true, true, false) => {
                eprintln!("warning: the scheduler at {scheduler} does not respond; trying again");
            }
            (true, false, true) => eprintln!("note: the scheduler at {scheduler} responds again"),
            _ => {}
        }
        was_ready = is_ready;
        tokio::time::sleep(HEALTH_INTERVAL).await;
    }
}

fn executor(
    settings: &Settings,
    codec: &Codec,
    id: &str,
    folder: &str,
    port: u16,
    slots: usize,
) -> Result<Executor, Failure> {
    let resource = ExecutorResource { resource: Some(Resource::Vcores(slots as u32)) };
    let registration = ExecutorRegistration {
        id: id.to_owned(),
        host: settings.host.clone(),
        port: u32::from(port),
        grpc_port: 0,
        specification: Some(ExecutorSpecification { resources: vec![resource] }),
        os_info: Some(ExecutorOperatingSystemSpecification::default()),
        ballista_protocol_version: BALLISTA_PROTOCOL_VERSION,
    };
    let runtime = RuntimeEnvBuilder::new().with_temp_file_path(folder);
    let mut runtime = runtime.with_object_store_registry(codec.stores());
    if let Some(memory) = settings.options.memory {
        runtime = runtime.with_memory_limit(memory, 1.0);
    }
    let failed = |error| Failure::of_query(error, "");
    let runtime = runtime.build_arc().map_err(failed)?;
    let mut registry = SessionStateBuilder::new().with_default_features().build();
    functions::register(&mut registry).map_err(failed)?;
    let host = settings.host.as_deref().or_else(|| Some(settings.listen.rsplit_once(':')?.0));
    let name = format!("{}:{port}", host.unwrap_or_default());
    Ok(Executor::new(
        registration,
        folder,
        Arc::new(move |_| Ok(runtime.clone())),
        Arc::new(default_config_producer),
        Arc::new(BallistaFunctionRegistry::from(&registry)),
        Arc::new(LoggingMetricsCollector::default()),
        slots,
        Arc::new(Engine { name, is_verbose: settings.is_verbose }),
    ))
}
