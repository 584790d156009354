//! Inputs that stay in memory: they are loaded once, and any number of queries is evaluated on them.
//!
//! `cargo run -p warpath --features store --example loaded [FILE [PATH [PREDICATE]]]`

use std::error::Error;

use warpath::aggregate::DEFAULT_MEMORY;
use warpath::{Engine, Loaded, Predicate, Query, Source};

/// A log of 20 records, if the caller names no file.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/people.ndjson");

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap_or_else(|| LOG.to_owned());
    let path = Query::compile(&args.next().unwrap_or_else(|| "$.level".to_owned()))?;
    let predicate = Predicate::parse(&args.next().unwrap_or_else(|| "$.ms > 100".to_owned()))?;
    let engine = Engine::builder().build()?;
    let loaded: Loaded = engine.load(Source::named(file.as_ref(), Default::default())?)?;
    println!("{} lines, {} bytes of text", loaded.lines(), loaded.text_bytes());
    println!("all: {} values", loaded.input(&engine).count(&path)?);
    let some = loaded.input(&engine).matching(&predicate);
    for counted in some.count_by(&[path], DEFAULT_MEMORY)?.by_count(None)?.values() {
        let (value, count) = counted?;
        println!("{count} times {}", value[0].as_deref().unwrap_or("nothing"));
    }
    Ok(())
}
