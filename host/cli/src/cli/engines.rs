//! The engine that the options describe.

use warpath::{Engine, EngineBuilder};

use super::args::{BackendArgs, OnErrorArgs};
use super::served;

/// Returns the engine settings for the given options.
pub fn builder(args: &BackendArgs, on_error: &OnErrorArgs) -> EngineBuilder {
    let mut builder =
        Engine::builder().device(served::device(&args.device.device)).on_error(on_error.action().into());
    if let Some(bytes) = args.partitions.partition_size {
        builder = builder.partition_size(bytes);
    }
    if let Some(bytes) = args.partitions.max_record {
        builder = builder.max_record(bytes);
    }
    if let Some(workers) = served::workers(args.partitions.workers) {
        builder = builder.workers(workers);
    }
    served::limited(builder)
}
