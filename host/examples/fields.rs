//! Several fields of a message in one pass, and a condition: the slow requests of a log.
//!
//! `cargo run -p warpath --example fields [FILE]`

use std::error::Error;

use warpath::{Find, Predicate, Program, Query};

/// A log of 20 messages, if the caller names no file.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/people.ndjson");

fn main() -> Result<(), Box<dyn Error>> {
    let log = std::fs::read_to_string(std::env::args().nth(1).as_deref().unwrap_or(LOG))?;
    let paths = ["$.action", "$.user.name", "$.tags[*]"].map(Query::compile);
    let queries = paths.into_iter().collect::<Result<Vec<_>, _>>()?;
    let slow = Predicate::parse("$.ms >= 1000 and $.level != 'error'")?;
    let program = Program::new(&queries)?;
    for message in log.lines() {
        if !slow.matches(message.as_bytes())? {
            continue;
        }
        let row = program.find(message.as_bytes())?;
        let action = row.first(0).and_then(|action| action.string()).unwrap_or_default();
        let name = row.first(1).and_then(|name| name.string()).unwrap_or("nobody".into());
        let tags: Vec<_> = row.of(2).filter_map(|tag| tag.string()).collect();
        println!("{action} by {name}: {}", tags.join(" "));
    }
    Ok(())
}
