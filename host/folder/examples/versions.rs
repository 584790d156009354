//! Measures how long it takes to create a number of versions, and to open the folder after that.
//!
//! ```sh
//! cargo run --release -p warpath-folder --example versions -- FOLDER 10000
//! ```

use std::error::Error;
use std::time::Instant;

use warpath_folder::{Field, Folder, Input, LocalStorage, Millis, Part, Schema, Type};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, versions] = &arguments[..] else { return Err("FOLDER VERSIONS were expected".into()) };
    let schema = Schema { fields: vec![Field::new("id", Type::Long), Field::new("name", Type::String)] };
    let mut folder = Folder::create(LocalStorage::new(path), schema, Millis(0))?;
    let begin = Instant::now();
    for version in 1..=versions.parse()? {
        let name = format!("part-{version:08}-0123456789abcdef.parquet");
        std::fs::write(std::path::Path::new(path).join(&name), "part")?;
        let (minima, maxima) = (r#"{"id":1,"name":"aaaaaaaa"}"#, r#"{"id":1000000,"name":"zzzzzzzz"}"#);
        let (minima, maxima) = (Some(minima.into()), Some(maxima.into()));
        let part = Part { name, bytes: 4, rows: 1, minima, maxima, ..Part::default() };
        let input =
            Input { name: format!("logs/{version}.ndjson"), size: 1000, stamp: "1.0-0123456789".into() };
        folder.append(vec![part], vec![input], Millis(version))?;
    }
    println!("created in {:?}", begin.elapsed());
    for _ in 0..5 {
        let begin = Instant::now();
        let folder = Folder::open(LocalStorage::new(path))?;
        println!("version {} opened in {:?}", folder.version(), begin.elapsed());
    }
    Ok(())
}
