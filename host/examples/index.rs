//! Many queries over the same text, which is read and indexed once: counts of several paths, by two threads.
//!
//! `cargo run -p warpath --example index [FILE [PATH...]]`

use std::error::Error;
use std::thread;

use warpath::{Engine, Query};

/// A log of 20 records, if the caller names no file.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/people.ndjson");

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap_or_else(|| LOG.to_owned());
    let mut paths: Vec<String> = args.collect();
    if paths.is_empty() {
        paths = ["$.user.name", "$.tags[*]", "$.files[*].bytes", "$.error.code"].map(str::to_owned).into();
    }
    let queries = paths.iter().map(|path| Query::compile(path)).collect::<Result<Vec<_>, _>>()?;
    // The index has as many levels as the deepest query reads.
    let levels = queries.iter().map(Query::levels).max().unwrap_or_default();
    let engine = Engine::builder().build()?;
    let index = engine.open(file)?.index(levels)?;
    println!("{} bytes of text, {levels} levels", index.text_bytes());
    let half = queries.len() / 2;
    let count = |queries: &[Query]| {
        queries.iter().map(|query| index.input(&engine).count(query)).collect::<Result<Vec<_>, _>>()
    };
    let counts = thread::scope(|scope| {
        let first = scope.spawn(|| count(&queries[..half]));
        let second = count(&queries[half..])?;
        let first = first.join().map_err(|_| "a thread panicked")??;
        Ok::<_, Box<dyn Error>>([first, second].concat())
    })?;
    for (path, count) in paths.iter().zip(counts) {
        println!("{path}: {count}");
    }
    Ok(())
}
