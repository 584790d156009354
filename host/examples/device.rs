//! Columns of a file that stay in the memory of a CUDA device: joined, exported to Arrow, and copied back.
//!
//! `cargo run -p warpath --features arrow,cuda --example device [FILE]`

use std::error::Error as StdError;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use warpath::columns::{ColumnType, DeviceBatch, Schema};
use warpath::{DeviceChoice, Engine, Error, Query};

/// A log of 20 records, if the caller names no file.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/people.ndjson");

fn main() -> Result<(), Box<dyn StdError>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| LOG.to_owned());
    let schema = Schema::new(&[(Query::compile("$.ms")?, ColumnType::Int64)])?;
    let engine = match Engine::builder().device(DeviceChoice::Cuda(0)).build() {
        Ok(engine) => engine,
        Err(Error::Device(why)) => {
            println!("no device: {why}");
            return Ok(());
        }
        Err(other) => return Err(other.into()),
    };
    // One batch for each partition. All of them stay on the device.
    let mut batches = engine.open(file)?.device_columns(&schema);
    let parts: Vec<DeviceBatch> = batches.by_ref().collect::<Result<_, _>>()?;
    let lost = &batches.losses().columns[0];
    let batch = DeviceBatch::join(&parts)?;
    println!("{} rows on device {}", batch.num_rows(), batch.device().number);

    // The address is for a kernel of this process.
    let values = batch.values(0)?;
    assert!(values.address() > 0);
    println!("{} values of {}, {} nulls", values.len(), values.data_type(), values.nulls());
    println!("{} of another type", lost.mismatch.count);

    // The structure is for a library that reads Arrow's C device data interface.
    let (array, format) = batch.export()?;
    println!("an array of {} rows, format {}", array.len(), format.format());

    let host = batch.to_host()?;
    let sum: i64 = host.column(0).as_primitive::<Int64Type>().iter().flatten().sum();
    println!("{sum} ms");
    Ok(())
}
