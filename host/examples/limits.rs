//! A budget of memory, a deadline, and a cancellation: a log that never ends.
//!
//! `cargo run -p warpath --example limits [FILE]`

use std::error::Error as StdError;
use std::io::{self, Read};
use std::time::Duration;

use warpath::{CancelToken, Engine, Error, Query};

/// A log of 20 records, if the caller names no file.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/people.ndjson");

/// A file that is read again at its end.
struct Endless(io::Cursor<Vec<u8>>);

impl Read for Endless {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.0.position() as usize >= self.0.get_ref().len() {
            self.0.set_position(0);
        }
        self.0.read(room)
    }
}

fn main() -> Result<(), Box<dyn StdError>> {
    let log = std::fs::read(std::env::args().nth(1).as_deref().unwrap_or(LOG))?;
    let endless = || Endless(io::Cursor::new(log.clone()));
    let query = Query::compile("$.user.name")?;
    // The texts in memory take at most 16 MiB, with all threads.
    let engine = Engine::builder().memory(16 << 20).build()?;

    let token = CancelToken::new();
    let mut names = 0_u64;
    for hit in engine.reader("log", endless()).cancel(&token).query(&query)? {
        match hit {
            Ok(_) => names += 1,
            Err(Error::Cancelled) => break,
            Err(error) => return Err(error.into()),
        }
        if names == 1000 {
            // Another thread may do this, for example at Ctrl-C.
            token.cancel();
        }
    }
    println!("cancelled after {names} names");

    let counted = engine.reader("log", endless()).timeout(Duration::from_millis(50)).count(&query);
    match counted {
        Err(Error::DeadlineExceeded) => println!("no count of an endless log in 50 ms"),
        other => println!("{other:?}"),
    }
    Ok(())
}
