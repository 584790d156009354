//! Values and counts of a file, which all cores read: the matches of a path with their lines.
//!
//! `cargo run -p warpath --example values [FILE [PATH]]`

use warpath::{Engine, Error, Predicate, Query};

/// A log of 20 records, if the caller names no file.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/people.ndjson");

fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap_or_else(|| LOG.to_owned());
    let query = Query::compile(args.next().as_deref().unwrap_or("$.files[*].name"))?;
    // An engine chooses between the CPU and a GPU, and keeps what it has opened. Make one, and clone it.
    let engine = Engine::builder().build()?;
    let mut hits = engine.open(&file)?.query(&query)?;
    for hit in &mut hits {
        let hit = hit?;
        println!("line {}: {} = {}", hit.line(), hit.path(), hit.text());
    }
    println!("{} lines", hits.stats().lines);
    let warnings = Predicate::parse("$.level = 'warn'")?;
    println!("{} matches in warnings", engine.open(&file)?.matching(&warnings).count(&query)?);
    Ok(())
}
