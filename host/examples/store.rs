//! A store of a log: other programs read it as a table, and every byte of its lines comes back.
//!
//! `cargo run -p warpath --features store --example store STORE FILE...`

use std::error::Error;
use std::path::Path;

use warpath::store::{AddOptions, Store};
use warpath::{Engine, Query, Source};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: store STORE FILE...")?;
    let path = Path::new(&path);
    for file in args {
        let added = Store::add(path, vec![Source::from(&*file)], AddOptions::default(), &mut |_| {})?;
        println!("{} lines are added, {} bytes", added.lines, added.text_bytes);
    }
    let store = Store::open(path)?;
    store.verify()?;
    let names = Engine::builder().build()?.input(store.sources()).count(&Query::compile("$.user.name")?)?;
    println!("{} lines, {names} names of users", store.lines()?);
    Ok(())
}
