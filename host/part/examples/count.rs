//! Measures how fast values are counted and partial lines are built, from a part of the lines of a file.
//!
//! ```sh
//! cargo run --release -p warpath-part --example count -- FILE PATH...
//! ```
//!
//! A path is `$` and steps: `.name`, `.*` and `..name`.

use std::time::Instant;

use bytes::Bytes;
use warpath_core::projection::{Projection, Step};
use warpath_part::count::count;
use warpath_part::file::{Options, Reader, Writer};
use warpath_part::partial::partial;
use warpath_part::text::Shredder;

/// Bytes of text in a group.
const GROUP: usize = 64 << 20;

fn steps(path: &str) -> Vec<Step> {
    let (mut steps, mut is_deep) = (Vec::new(), false);
    for key in path.trim_start_matches('$').split('.').skip(1) {
        match key {
            "" => is_deep = true,
            "*" => steps.push(Step::Wildcard),
            key if std::mem::take(&mut is_deep) => steps.push(Step::Descendant(key.into())),
            key => steps.push(Step::Name(key.into())),
        }
    }
    steps
}

/// The milliseconds of the fastest of several calls.
fn best(mut call: impl FnMut()) -> f64 {
    let times = (0..9).map(|_| {
        let start = Instant::now();
        call();
        start.elapsed().as_secs_f64() * 1e3
    });
    times.fold(f64::MAX, f64::min)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: count FILE PATH...")?;
    let text = std::fs::read(&file)?;
    let (mut shredder, mut out, mut rest) = (Shredder::new(), Vec::new(), &text[..]);
    let mut writer = Writer::new(&mut out, Options::default())?;
    while !rest.is_empty() {
        let end = memchr::memrchr(b'\n', &rest[..rest.len().min(GROUP)]).map_or(rest.len(), |at| at + 1);
        let group = shredder.shred(&rest[..end])?;
        writer.write(shredder.tree(), &group)?;
        rest = &rest[end..];
    }
    writer.finish(shredder.tree(), &[])?;
    let reader = Reader::open(Bytes::from(out))?;
    println!("{file}: {} bytes, {} groups", text.len(), reader.groups());
    for (name, len) in reader.sections(0) {
        println!("    {name} {len}");
    }
    for path in arguments {
        let steps = steps(&path);
        let mut projection = Projection::NONE;
        projection.reach(&steps);
        let paths = [steps];
        let mut found = Vec::new();
        for group in 0..reader.groups() {
            found.push(count(&reader, group, &paths)?.map(|counts| counts[0]));
        }
        let counts = best(|| _ = count(&reader, 0, &paths));
        let mut lines = Vec::new();
        let partial = best(|| {
            lines.clear();
            _ = partial(&reader, 0, &projection, &mut lines);
        });
        let len = lines.len();
        println!(
            "{path}: {found:?}; group 0: counted in {counts:.3} ms, {len} bytes built in {partial:.1} ms"
        );
    }
    Ok(())
}
