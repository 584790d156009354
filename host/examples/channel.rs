//! Results in a bounded channel, which several threads take: two consumers of the tags of a log.
//!
//! `cargo run -p warpath --example channel [FILE]`

use std::error::Error;
use std::sync::Mutex;
use std::thread;

use warpath::{Engine, Query};

/// A log of 20 records, if the caller names no file.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/people.ndjson");

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| LOG.to_owned());
    let hits = Engine::builder().build()?.open(file)?.query(&Query::compile("$.tags[*]")?)?;
    // At most 16 results wait. Then the workers wait, until the consumers have taken some.
    let channel = Mutex::new(hits.into_channel(16)?);
    let consume = || -> Result<Vec<String>, warpath::Error> {
        let mut tags = Vec::new();
        loop {
            let next = channel.lock().map(|mut channel| channel.next());
            let Ok(Some(hit)) = next else { return Ok(tags) };
            tags.push(hit?.text().into_owned());
        }
    };
    let (first, second) = thread::scope(|scope| {
        let other = scope.spawn(consume);
        (consume(), other.join())
    });
    let mut tags = first?;
    tags.extend(second.map_err(|_| "a consumer panicked")??);
    tags.sort_unstable();
    let all = tags.len();
    tags.dedup();
    println!("{all} tags, {} different: {}", tags.len(), tags.join(" "));
    Ok(())
}
