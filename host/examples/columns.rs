//! Columns of a file as Arrow's record batches: the sum of a column, and what its type does not take.
//!
//! `cargo run -p warpath --features arrow --example columns [FILE]`

use std::error::Error;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use warpath::columns::{ColumnType, Schema};
use warpath::{Engine, Program, Query};

/// A log of 20 records, if the caller names no file.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/people.ndjson");

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| LOG.to_owned());
    let program = Program::new(&[Query::compile("$.user.name")?, Query::compile("$.ms")?])?
        .with_names(&["name", "ms"])?
        .with_types(&[ColumnType::Utf8, ColumnType::Int64])?;
    let schema = Schema::of_program(program)?;
    let mut batches = Engine::builder().build()?.open(file)?.record_batches(&schema);
    let (mut rows, mut sum) = (0, 0);
    for batch in &mut batches {
        let batch = batch?;
        rows += batch.num_rows();
        sum += batch["ms"].as_primitive::<Int64Type>().iter().flatten().sum::<i64>();
    }
    println!("{rows} rows, {sum} ms");
    // A value that its column does not take is null, and counted with the line of the first one.
    for ((name, values), lost) in batches.counted().iter().zip(&batches.losses().columns) {
        println!("{name}: {values}, {} missing, {} of another type", lost.missing.count, lost.mismatch.count);
        if let Some((_, line)) = &lost.mismatch.first {
            println!("the first value that is not {values} is in line {line}");
        }
    }
    Ok(())
}
