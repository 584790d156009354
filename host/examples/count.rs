//! Counts the matches of a query in a file: `cargo run --release --example count -- '$.user.lang' tweets.ndjson`.

use std::time::Instant;

use warpath::{DeviceChoice, Engine, Query};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(path), Some(file)) = (args.next(), args.next()) else {
        return Err("usage: count PATH FILE".into());
    };
    let engine = Engine::builder().device(DeviceChoice::Auto).build()?;
    let query = Query::compile(&path)?;
    let start = Instant::now();
    let count = engine.open(&file)?.count(&query)?;
    println!("{count} matches in {:.3} s on {}", start.elapsed().as_secs_f64(), engine.backend_name());
    Ok(())
}
