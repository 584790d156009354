//! Results as an asynchronous stream, for any runtime: two queries of a log at the same time, in one task.
//!
//! `cargo run -p warpath --features async --example stream [FILE]`

use std::error::Error;

use futures::{TryStreamExt, future};
use warpath::{Engine, Query};

/// A log of 20 records, if the caller names no file.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/people.ndjson");

async fn sum(engine: &Engine, file: &str, path: &str) -> Result<f64, Box<dyn Error>> {
    // Workers evaluate in threads of their own, and wake the task when a result is there.
    let mut hits = engine.open(file)?.query(&Query::compile(path)?)?.into_stream();
    let mut sum = 0.0;
    while let Some(hit) = hits.try_next().await? {
        sum += hit.text().parse::<f64>()?;
    }
    Ok(sum)
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| LOG.to_owned());
    let engine = Engine::builder().build()?;
    let both = future::try_join(sum(&engine, &file, "$.ms"), sum(&engine, &file, "$.files[*].bytes"));
    let (time, bytes) = pollster::block_on(both)?;
    println!("{time} ms, {bytes} bytes");
    Ok(())
}
