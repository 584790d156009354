//! Measures how fast a group of columns like those of tweets is written and read.
//!
//! ```sh
//! cargo run --release -p warpath-part --example speed -- [ROWS [WORKERS]]
//! ```

#[path = "../tests/file/records.rs"]
#[allow(dead_code, reason = "the example makes its own records")]
mod records;

use std::fmt::Write as _;
use std::time::Instant;

use bytes::Bytes;
use records::{Value, add, group, tree};
use warpath_part::file::{Options, Reader, Writer};
use warpath_part::group::{Group, Layout, NodeIx, Tree, Values};
use warpath_random::Rng;

const WORDS: [&str; 16] = [
    "the", "warpath", "ist", "schön", "of", "a", "columns", "and", "GPU", "日本", "json", "to", "in", "read",
    "fast", "😀",
];

fn text(rng: &mut Rng, words: usize) -> Value {
    let mut text = String::new();
    for _ in 0..words {
        _ = match rng.below(3) {
            0 => write!(text, "{:x} ", rng.below(1 << 24)),
            _ => write!(text, "{} ", rng.pick(&WORDS)),
        };
    }
    Value::Bytes(text.into_bytes())
}

/// A random value by the name of its node.
fn value(tree: &Tree, rng: &mut Rng, row: i64, node: NodeIx) -> Value {
    let children = |rng: &mut Rng| {
        let all = (0..).zip(&tree.nodes).skip(1).filter(|(_, child)| child.parent == node);
        let all: Vec<NodeIx> = all.map(|(child, _)| child).collect();
        all.into_iter().map(|child| (child, value(tree, rng, row, child))).collect::<Vec<_>>()
    };
    match tree.nodes[node as usize].name.as_str() {
        "id" => Value::Int(500_000_000_000_000_000 + row * 7_919 + rng.below(5000) as i64),
        "created_at" => {
            let (hour, minute, second) = (row / 3600 % 24, row / 60 % 60, row % 60);
            Value::Bytes(format!("Sun Aug 31 {hour:02}:{minute:02}:{second:02} +0000 2014").into_bytes())
        }
        "text" => {
            let words = 4 + rng.below(20);
            text(rng, words)
        }
        "lang" => Value::Bytes(rng.pick(&["en", "de", "ja", "es"]).into()),
        "source" => {
            let app = rng.below(40);
            Value::Bytes(format!("<a href=\"http://app{app}.example\">app {app}</a>").into_bytes())
        }
        "reply_to" if rng.below(4) > 0 => Value::Null,
        "reply_to" | "count" => Value::Int(rng.next_u64() as i64 >> (20 + rng.below(40))),
        "score" => Value::Double(rng.below(1 << 20) as f64 / 1024.0),
        "name" => text(rng, 2),
        "url" => Value::Bytes(format!("http://t.co/{:x}", rng.next_u64()).into_bytes()),
        "verified" => Value::Boolean(rng.below(50) == 0),
        "urls" => {
            let element = children(rng)[0].0;
            let len = rng.below(3);
            Value::List((0..len).map(|_| value(tree, rng, row, element)).collect())
        }
        _ => Value::Struct(children(rng)),
    }
}

fn tweets() -> Tree {
    let mut tree = tree();
    let root = [
        ("id", Layout::Int),
        ("created_at", Layout::String),
        ("text", Layout::String),
        ("lang", Layout::String),
        ("source", Layout::String),
        ("reply_to", Layout::Int),
        ("score", Layout::Double),
    ];
    root.iter().for_each(|(name, layout)| _ = add(&mut tree, 0, name, *layout));
    let user = add(&mut tree, 0, "user", Layout::Struct);
    let fields = [
        ("id", Layout::Int),
        ("name", Layout::String),
        ("text", Layout::String),
        ("url", Layout::String),
        ("count", Layout::Int),
        ("verified", Layout::Boolean),
    ];
    fields.iter().for_each(|(name, layout)| _ = add(&mut tree, user, name, *layout));
    let urls = add(&mut tree, 0, "urls", Layout::List);
    let element = add(&mut tree, urls, "element", Layout::Struct);
    let fields = [("url", Layout::String), ("count", Layout::Int)];
    fields.iter().for_each(|(name, layout)| _ = add(&mut tree, element, name, *layout));
    tree
}

fn bytes(group: &Group) -> usize {
    let of = |values: &Values| match values {
        Values::Boolean(values) => values.len(),
        Values::Int(values) => values.len() * 8,
        Values::Double(values) => values.len() * 8,
        Values::Bytes(strings) => strings.bytes.len(),
    };
    group.columns.iter().map(|column| of(&column.values)).sum()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().map_or(Ok(100_000), |rows| rows.parse::<i64>())?;
    let workers = arguments.next().map_or(Ok(1), |workers| workers.parse())?;
    let tree = tweets();
    let mut rng = Rng::new(1);
    let records: Vec<Value> = (0..rows).map(|row| value(&tree, &mut rng, row, 0)).collect();
    let group = group(&tree, tree.nodes.len() as u32, &records);
    let megabytes = bytes(&group) as f64 / 1e6;
    let speed = |start: Instant| megabytes / start.elapsed().as_secs_f64();

    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, Options { workers, ..Options::default() })?;
    let start = Instant::now();
    writer.write(&tree, &group)?;
    println!("write, with trial: {:.0} MB/s of {megabytes:.1} MB", speed(start));
    for _ in 0..2 {
        let start = Instant::now();
        writer.write(&tree, &group)?;
        println!("write: {:.0} MB/s", speed(start));
    }
    let summary = writer.finish(&tree, &[])?;
    println!("ratio {:.2}", megabytes * 3e6 / summary.bytes as f64);
    for leaf in &summary.leaves {
        let name = &tree.nodes[leaf.node as usize].name;
        println!("    {name:12} {:?} {} of {}", leaf.encoding, leaf.compressed, leaf.uncompressed);
    }
    let reader = Reader::open(Bytes::from(out))?.with_workers(workers);
    for _ in 0..3 {
        let start = Instant::now();
        let read = reader.group(1)?;
        println!("read: {:.0} MB/s", speed(start));
        if read != group {
            return Err("the group differs".into());
        }
    }
    let leaves: Vec<NodeIx> = tree.leaves(tree.nodes.len() as u32).collect();
    for row in [0, group.rows / 2, group.rows / 3] {
        let start = Instant::now();
        reader.rows(1, &leaves, row..row + 1)?;
        println!("row {row}: {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    }
    for leaf in &summary.leaves {
        let start = Instant::now();
        reader.column(1, leaf.node)?;
        let name = &tree.nodes[leaf.node as usize].name;
        println!("    {name:12} {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(())
}
