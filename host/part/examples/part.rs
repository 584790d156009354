//! Writes a part of random records, and prints the records as other readers of Parquet must see them. Each
//! row is one JSON object with all columns of the part. Bytes are hexadecimal digits. `tests/store.sh` runs
//! it.
//!
//! ```sh
//! cargo run -p warpath-part --example part -- SEED FILE
//! ```

#[path = "../tests/file/records.rs"]
mod records;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};

use records::Value;
use warpath_part::file::{Options, Reader, Writer};
use warpath_part::group::{Layout, Node, NodeIx, Tree};
use warpath_random::Rng;

fn string(out: &mut String, text: &str) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\0'..='\u{1f}' => _ = write!(out, "\\u{:04x}", u32::from(char)),
            _ => out.push(char),
        }
    }
    out.push('"');
}

/// Prints a value with all children of its node, those that it does not have as null.
fn print(out: &mut String, tree: &Tree, node: NodeIx, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Struct(fields) => {
            let mut separator = '{';
            for (child, Node { name, .. }) in
                (0..).zip(&tree.nodes).skip(1).filter(|(_, child)| child.parent == node)
            {
                out.push(separator);
                string(out, name);
                out.push(':');
                let field = fields.iter().find(|(field, _)| *field == child);
                print(out, tree, child, field.map_or(&Value::Null, |(_, value)| value));
                separator = ',';
            }
            out.push('}');
        }
        Value::List(elements) => {
            let element = tree.nodes.iter().skip(1).position(|child| child.parent == node);
            let element = element.map_or(0, |index| index as NodeIx + 1);
            out.push('[');
            for (index, value) in elements.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                print(out, tree, element, value);
            }
            out.push(']');
        }
        Value::Boolean(value) => _ = write!(out, "{value}"),
        Value::Int(value) => _ = write!(out, "{value}"),
        Value::Double(value) => _ = write!(out, "{value:?}"),
        Value::Bytes(bytes) if tree.nodes[node as usize].layout == Layout::Bytes => {
            let digits = bytes.iter().fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"));
            string(out, &digits);
        }
        Value::Bytes(bytes) => string(out, &String::from_utf8_lossy(bytes)),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(seed), Some(path)) = (arguments.next(), arguments.next()) else {
        return Err("usage: part SEED FILE".into());
    };
    let mut rng = Rng::new(seed.parse()?);
    let mut tree = records::tree();
    let mut all = Vec::new();
    let options = Options { page_rows: 1000, ..Options::default() };
    let mut writer = Writer::new(BufWriter::new(File::create(&path)?), options)?;
    for _ in 0..3 {
        records::grow_anywhere(&mut tree, &mut rng);
        let (rows, nulls) = (rng.pick(&[0, 1, 300, 4000]), rng.pick(&[0, 1, 3]));
        let made: Vec<Value> = (0..rows).map(|_| records::record(&tree, &mut rng, nulls)).collect();
        let mut group = records::group(&tree, tree.nodes.len() as u32, &made);
        group.sections.push(("shapes".into(), vec![1; 1000]));
        writer.write(&tree, &group)?;
        all.extend(made);
    }
    writer.finish(&tree, &[("source".into(), "random".into())])?;
    Reader::open(File::open(&path)?)?.verify()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    for record in &all {
        let mut line = String::new();
        print(&mut line, &tree, 0, record);
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}
