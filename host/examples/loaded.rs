//! Inputs that stay in memory: they are loaded once, and any number of queries is evaluated on them.
//!
//! ```sh
//! cargo run --release --example loaded --features store -- FILE PATH [PREDICATE]
//! ```

use std::error::Error;
use std::time::Instant;

use warpath::aggregate::DEFAULT_MEMORY;
use warpath::{Engine, Loaded, Predicate, Query, Source};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, path, rest @ ..] = &args[..] else {
        return Err("expected FILE PATH [PREDICATE]".into());
    };
    let engine = Engine::builder().build()?;
    let since = Instant::now();
    let loaded: Loaded = engine.load(Source::named(file.as_ref(), Default::default())?)?;
    let size = loaded.size();
    println!(
        "{} lines, {} bytes of text: {} bytes in memory, {} of them for lines; {:.3} s",
        size.lines,
        size.text,
        size.memory,
        size.lines_memory,
        since.elapsed().as_secs_f64()
    );
    let path = Query::compile(path)?;
    let input = || -> Result<_, warpath::Error> {
        let input = loaded.input(&engine);
        Ok(match rest.first() {
            Some(predicate) => input.matching(&Predicate::parse(predicate)?),
            None => input,
        })
    };
    for _ in 0..3 {
        let since = Instant::now();
        let count = input()?.count(&path)?;
        println!("{count} values; {:.3} ms", since.elapsed().as_secs_f64() * 1e3);
    }
    for _ in 0..3 {
        let since = Instant::now();
        let counter = input()?.count_by(std::slice::from_ref(&path), DEFAULT_MEMORY)?;
        let most = counter.by_count(Some(3))?.values().collect::<Result<Vec<_>, _>>()?;
        println!("{most:?}; {:.3} ms", since.elapsed().as_secs_f64() * 1e3);
    }
    Ok(())
}
