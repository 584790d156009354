//! Subscriptions, which may change while events come: the subscriptions that each event of a log matches.
//!
//! `cargo run -p warpath --example subscribe [FILE]`

use std::error::Error;

use warpath::twig::{Standing, Subscriptions};

/// A log of 20 events, if the caller names no file.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/people.ndjson");

fn main() -> Result<(), Box<dyn Error>> {
    let log = std::fs::read_to_string(std::env::args().nth(1).as_deref().unwrap_or(LOG))?;
    let mut subscriptions = Subscriptions::default();
    subscriptions.add("dutch", "$[?@.lang == 'nl']")?;
    subscriptions.add("slow", "/ms[. > 1000]")?;
    subscriptions.add("files", "//files//bytes")?;
    // Any number of threads may use it: `matches` evaluates all subscriptions in the caller's thread.
    let standing = Standing::new(subscriptions);
    for (number, event) in log.lines().enumerate() {
        if number == 10 {
            standing.change(|subscriptions| subscriptions.remove("dutch"));
            println!("without `dutch`:");
        }
        let found = standing.matches(event.as_bytes())?;
        if !found.is_empty() {
            println!("event {}: {}", number + 1, found.ids().collect::<Vec<_>>().join(", "));
        }
    }
    Ok(())
}
