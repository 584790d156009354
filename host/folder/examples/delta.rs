//! Changes the folder of a store from a shell. `tests/delta.py` uses it.
//!
//! ```sh
//! delta FOLDER create SCHEMA                    # Delta's text of a schema
//! delta FOLDER append PART ROWS [MINIMA MAXIMA] # JSON objects
//! delta FOLDER grow SCHEMA PART ROWS            # a part with new fields
//! delta FOLDER replace PART ROWS REMOVED...
//! delta FOLDER vacuum
//! delta FOLDER show                             # the parts, in the order of their rows
//! ```

use std::error::Error;
use std::path::Path;
use std::time::SystemTime;

use warpath_folder::{Change, Folder, LocalStorage, Millis, Part, Schema};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [path, command @ ..] = &arguments[..] else { return Err("FOLDER COMMAND were expected".into()) };
    let (storage, now) = (LocalStorage::new(path), Millis::from(SystemTime::now()));
    if let ["create", schema] = command {
        Folder::create(storage, Schema::parse(schema)?, now)?;
        return Ok(());
    }
    let mut folder = Folder::open(storage)?;
    match command {
        ["append", name, rows, statistics @ ..] => {
            let mut part = part(path, name, rows)?;
            if let [minima, maxima] = statistics {
                (part.minima, part.maxima) = (Some((*minima).into()), Some((*maxima).into()));
            }
            folder.append(vec![part], Vec::new(), now)?;
        }
        ["grow", schema, name, rows] => {
            let (schema, added) = (Some(Schema::parse(schema)?), vec![part(path, name, rows)?]);
            folder.commit(Change { operation: "WRITE".into(), added, schema, ..Change::default() }, now)?;
        }
        ["replace", name, rows, removed @ ..] => {
            let removed = removed.iter().map(|&name| name.into()).collect();
            folder.replace(removed, vec![part(path, name, rows)?], true, now)?;
        }
        ["vacuum"] => {
            for object in folder.vacuum(Millis(now.0 + 1000), &|_| true)? {
                println!("{}", object.name);
            }
        }
        ["show"] => {
            for part in folder.snapshot().parts() {
                println!("{} {} {}", part.position, part.name, part.rows);
            }
        }
        _ => return Err("an unknown command; see examples/delta.rs".into()),
    }
    Ok(())
}

fn part(folder: &str, name: &str, rows: &str) -> Result<Part, Box<dyn Error>> {
    let metadata = Path::new(folder).join(name).metadata()?;
    let modified = metadata.modified()?.into();
    Ok(Part { name: name.into(), bytes: metadata.len(), modified, rows: rows.parse()?, ..Part::default() })
}
