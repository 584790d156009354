//! Counts the matches of a query in a file:
//! `cargo run --release -p warpath --example count -- '$.user.lang' tweets.ndjson`.

use std::time::Instant;

use warpath::{DeviceChoice, Engine, Program, Query, Want};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(path), Some(file)) = (args.next(), args.next()) else {
        return Err("usage: count PATH FILE".into());
    };
    let engine = Engine::builder().device(DeviceChoice::Auto).build()?;
    let query = Query::compile(&path)?;
    let start = Instant::now();
    let mut answers = engine.open(&file)?.answers(Program::new(&[query])?, Want::default());
    let mut count = 0;
    for batch in &mut answers {
        count += batch?.count(0);
    }
    let (seconds, backend) = (start.elapsed().as_secs_f64(), &answers.plan().backend);
    println!("{count} matches in {seconds:.3} s on {backend}");
    Ok(())
}
