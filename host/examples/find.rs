//! A value of a message in memory: the user of each message of a log.
//!
//! `cargo run -p warpath --example find [FILE]`

use std::error::Error;

use warpath::{Find, Query};

/// A log of 20 messages, if the caller names no file.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/people.ndjson");

fn main() -> Result<(), Box<dyn Error>> {
    let log = std::fs::read_to_string(std::env::args().nth(1).as_deref().unwrap_or(LOG))?;
    // A query is compiled once. Threads may share it.
    let query = Query::compile("$.user.name")?;
    let mut absent = 0;
    // In a program of yours, messages come from a queue or a socket.
    for message in log.lines() {
        let found = query.find(message.as_bytes())?;
        match found.first(0).and_then(|found| found.string()) {
            Some(name) => println!("{name}"),
            None => absent += 1,
        }
    }
    println!("messages without a user: {absent}");
    Ok(())
}
