//! Versions of programs, and what a scheduler says of its cluster.
//!
//! Each request to a scheduler names the program and its version in the header `user-agent`. The scheduler
//! refuses other versions. Each of its responses has its version, and a name of the process that is new when
//! the scheduler starts again. A request for [`PATH`] returns the size of the cluster, too, in headers.

use std::time::Duration;

use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::{HeaderMap, Method, Request};
use tonic::metadata::MetadataMap;
use tonic::transport::{Channel, Endpoint};
use warpath_sql::cli::Failure;

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The path that returns the size of the cluster.
pub const PATH: &str = "/warpath/cluster";
/// The header with a scheduler's version.
pub const VERSION_HEADER: &str = "warpath-version";
/// The header with the name of a scheduler's process.
pub const PROCESS_HEADER: &str = "warpath-process";
/// The header with the number of tasks that the executors run at the same time.
pub const SLOTS_HEADER: &str = "warpath-slots";
/// The greatest message, in bytes. A plan names all its files.
pub const MESSAGE_BYTES: usize = 256 << 20;

/// The name of this program before its version.
const AGENT: &str = "warpath-cluster/";

/// The process of a scheduler, and the size of its cluster.
#[derive(Clone, Debug)]
pub struct Hello {
    /// The name of the process.
    pub process: String,
    /// The number of tasks that the executors run at the same time.
    pub slots: usize,
}

/// Refuses a program of another version.
///
/// # Errors
/// A message for its user, with both versions.
pub fn check_agent(headers: &HeaderMap) -> Result<(), Status> {
    let agent = headers.get("user-agent").and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let version = agent.strip_prefix(AGENT).and_then(|rest| rest.split(' ').next());
    match version {
        Some(VERSION) => Ok(()),
        Some(other) => Err(Status::failed_precondition(differ(other, VERSION))),
        None => Err(Status::failed_precondition(format!(
            "this is a scheduler of Warpath {VERSION}, and `{agent}` is no program of Warpath"
        ))),
    }
}

fn differ(ours: &str, theirs: &str) -> String {
    format!(
        "this program is Warpath {ours}, and the scheduler is Warpath {theirs}; all programs of a cluster have \
         the same version"
    )
}

/// An endpoint of a scheduler or an executor, for requests that name this program.
///
/// # Errors
/// An address that is none.
pub fn endpoint(address: &str) -> Result<Endpoint, Failure> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))
        .ok()
        .filter(|endpoint| endpoint.uri().port().is_some())
        .ok_or_else(|| Failure::usage(format!("`{address}` is no address; expected HOST:PORT")))?;
    named(endpoint).map_err(|error| Failure::usage(error.to_string()))
}

/// Sets the name of this program and the limits of time.
///
/// # Errors
/// None: the name is valid in a header.
pub fn named(endpoint: Endpoint) -> Result<Endpoint, tonic::transport::Error> {
    Ok(endpoint
        .user_agent(format!("{AGENT}{VERSION}"))?
        .connect_timeout(Duration::from_secs(10))
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_timeout(Duration::from_secs(20))
        .keep_alive_while_idle(true)
        .tcp_nodelay(true))
}

/// Connects to a scheduler.
///
/// # Errors
/// There is none, or it has another version.
pub async fn connect(address: &str) -> Result<(Channel, Hello), Failure> {
    let channel = endpoint(address)?.connect().await.map_err(|error| Failure {
        message: format!("no scheduler of Warpath can be reached at {address}: {}", chain(&error)),
        help: Some("`warpath-cluster scheduler --listen HOST:PORT` starts one".into()),
        code: 2,
        ..Failure::usage("")
    })?;
    let hello = hello(address, channel.clone()).await?;
    Ok((channel, hello))
}

async fn hello(address: &str, mut channel: Channel) -> Result<Hello, Failure> {
    let is_none = |why: &str| Failure::usage(format!("{address} is no scheduler of Warpath: {why}"));
    let request = Request::builder().method(Method::GET).uri(PATH).body(Body::empty());
    let request = request.map_err(|error| Failure::usage(error.to_string()))?;
    let ready = std::future::poll_fn(|context| Service::poll_ready(&mut channel, context)).await;
    let response = match ready {
        Ok(()) => channel.call(request).await,
        Err(error) => Err(error),
    };
    let response = response.map_err(|error| is_none(&chain(&error)))?;
    let headers = response.headers();
    if let Some(status) = Status::from_header_map(headers) {
        return Err(Failure::usage(status.message()));
    }
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let version = text(VERSION_HEADER).ok_or_else(|| is_none("its response has no version"))?;
    if version != VERSION {
        return Err(Failure::usage(differ(VERSION, version)));
    }
    let process = text(PROCESS_HEADER).unwrap_or_default().to_owned();
    let slots = text(SLOTS_HEADER).and_then(|slots| slots.parse().ok());
    Ok(Hello { process, slots: slots.ok_or_else(|| is_none("its response has no size"))? })
}

/// The name of the scheduler's process that sent a response.
pub fn process_of(metadata: &MetadataMap) -> Option<&str> {
    metadata.get(PROCESS_HEADER)?.to_str().ok()
}

/// An error with its causes, each of them once.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut texts = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
        source = cause.source();
    }
    texts.join(": ")
}
