//! Measures how fast some lines of a part are read: by number, and by a condition.
//!
//! ```sh
//! cargo run --release -p warpath-part --example rows -- NDJSON PART [RUNS [FOLLOWERS]]
//! ```
//!
//! The part is made of the lines if there is no such file.

use std::fs::File;
use std::io::{BufWriter, Read as _};
use std::path::Path;
use std::time::Instant;

use warpath_core::comparison::{Comparison, Condition, Constant, Test};
use warpath_core::projection::{Projection, Step};
use warpath_core::rows::RowSet;
use warpath_part::file::{Options, Reader, Writer};
use warpath_part::group::NodeIx;
use warpath_part::partial::{lines, lines_of, partial};
use warpath_part::select::{Candidates, candidates};
use warpath_part::text::Shredder;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Bytes of the text of a group.
const GROUP: usize = 64 << 20;

fn make(lines: &str, part: &Path) -> Result<()> {
    let mut source = File::open(lines)?;
    let mut shredder = Shredder::new();
    let mut writer = Writer::new(BufWriter::new(File::create(part)?), Options::default())?;
    let mut text = Vec::new();
    loop {
        let more = GROUP - text.len();
        let read = (&mut source).take(more as u64).read_to_end(&mut text)?;
        let end = match read < more {
            true => text.len(),
            false => text.iter().rposition(|byte| *byte == b'\n').map_or(text.len(), |at| at + 1),
        };
        if end == 0 {
            break;
        }
        let group = shredder.shred(&text[..end])?;
        writer.write(shredder.tree(), &group)?;
        text.drain(..end);
    }
    let summary = writer.finish(shredder.tree(), &[])?;
    println!("{} rows, {} of {} bytes", summary.rows, summary.bytes, summary.text_bytes);
    Ok(())
}

/// The number of runs of each measurement.
fn runs() -> u32 {
    std::env::args().nth(3).and_then(|runs| runs.parse().ok()).unwrap_or(5).max(1)
}

/// Prints the least time of several runs.
fn time<T>(what: &str, mut run: impl FnMut() -> Result<T>) -> Result<T> {
    let mut least = f64::INFINITY;
    for left in (0..runs()).rev() {
        let start = Instant::now();
        let made = run()?;
        least = least.min(start.elapsed().as_secs_f64());
        if left == 0 {
            println!("{what:40} {:9.3} ms", least * 1e3);
            return Ok(made);
        }
    }
    Err("no run".into())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(source), Some(part)) = (arguments.next(), arguments.next()) else {
        return Err("usage: rows NDJSON PART [RUNS [FOLLOWERS]]".into());
    };
    let part = Path::new(&part);
    if !part.exists() {
        make(&source, part)?;
    }
    let reader = time("open", || Ok(Reader::open(File::open(part)?)?.with_workers(2)))?;
    let group = reader.groups() / 2;
    let size = reader.size(group).ok_or("no group")?;
    let names: Vec<(String, u64)> = reader.sections(group).map(|(name, len)| (name.into(), len)).collect();
    for (name, len) in names.iter().filter(|_| runs() < 50) {
        time(&format!("section {name}, {len} bytes"), || Ok(reader.section(group, name)?))?;
    }
    let leaves: Vec<NodeIx> = reader.tree().leaves(size.nodes).collect();
    let row = size.rows / 2;
    if runs() < 50 {
        time(&format!("row {row} of {} leaves", leaves.len()), || {
            Ok(reader.rows(group, &leaves, row..row + 1)?)
        })?;
    }
    time(&format!("line {row}"), || {
        let mut out = Vec::new();
        lines(&reader, group, row..row + 1, None, &mut out)?;
        Ok(out)
    })?;
    if runs() < 50 {
        time("group", || Ok(reader.group(group)?))?;
    }
    // Members and a condition, for lines of tweets.
    let mut members = Projection::NONE;
    for path in [&["text"][..], &["user", "screen_name"], &["user", "followers_count"]] {
        let steps: Vec<Step> = path.iter().map(|name| Step::Name(name.as_bytes().to_vec())).collect();
        members.reach(&steps);
    }
    let path = vec![b"user".to_vec(), b"followers_count".to_vec()];
    let most = std::env::args().nth(4).unwrap_or_else(|| "100000".into());
    let test = Test::Greater(Constant::Number(most));
    let condition = Condition::Is(Comparison { path, test });
    time("partial lines of all groups", || {
        for group in 0..reader.groups() {
            partial(&reader, group, &members, &mut Vec::new())?;
        }
        Ok(())
    })?;
    let kept = time("candidates and their partial lines", || {
        let mut kept = 0;
        for group in 0..reader.groups() {
            let all = u64::from(reader.size(group).map_or(0, |size| size.rows));
            let rows = match candidates(&reader, group, &condition)? {
                Candidates::None => continue,
                Candidates::All => RowSet::all(all),
                Candidates::Some(rows) => rows,
            };
            lines_of(&reader, group, &rows, Some(&members), &mut Vec::new())?;
            kept += rows.count();
        }
        Ok(kept)
    })?;
    println!("{kept} rows");
    time("candidates", || {
        for group in 0..reader.groups() {
            candidates(&reader, group, &condition)?;
        }
        Ok(())
    })?;
    Ok(())
}
