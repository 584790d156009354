//! Times the FSST codec on the CPU and the crate `fsst-rs`: training, and compression and decompression on
//! one core and on all. `bench fsst-cpu [--mib 64] [DATA...]`, where data are the shapes `twitter`, `bestbuy`
//! and `walmart`, each as one text, and the columns `urls`, `records`, `names`, `random` and `equal`. Each
//! string of a column is compressed on its own.

use std::hint::black_box;

use anyhow::{Result, bail, ensure};
use rayon::prelude::*;
use warpath_benches::generate::columns::{self, Strings};
use warpath_benches::generate::{Shape, ndjson};
use warpath_benches::harness::timing::Loop;
use warpath_store::fsst::{CodeFault, Compressor, Decoder, SPLIT_CODES, Sample, Split, splits, train};

/// Splits that one core decodes at a time.
const SPLITS: usize = 64;

#[derive(clap::Args)]
pub struct Args {
    /// Data to compress: twitter, bestbuy, walmart; urls, records, names, random, equal
    #[arg(default_values = ["twitter", "bestbuy", "walmart", "urls", "records", "names", "random", "equal"])]
    data: Vec<String>,
    /// MiB of each
    #[arg(long, default_value_t = 64)]
    mib: usize,
    /// Rounds; the fastest is shown
    #[arg(long, default_value_t = 9)]
    rounds: usize,
}

/// The seconds of the fastest of `rounds` calls.
fn fastest(rounds: usize, mut run: impl FnMut()) -> Result<f64> {
    let (times, ()) = Loop::new(0, rounds).time(|| {
        run();
        Ok(())
    })?;
    Ok(times.least())
}

pub fn run(args: &Args) -> Result<()> {
    println!("{} threads; bytes are those of the strings; ratio: bytes a code", rayon::current_num_threads());
    println!(
        "{:9} {:9} {:>9} {:>7} {:>14} {:>14} {:>16} {:>16}",
        "data", "codec", "train ms", "ratio", "compress MB/s", "all cores", "decompress GB/s", "all cores"
    );
    for name in &args.data {
        let bytes = args.mib << 20;
        let shape = name.parse().ok().filter(|shape| *shape != Shape::Urls);
        match shape {
            Some(shape) => {
                measure(name, &Strings { values: ndjson(shape, 1, bytes), offsets: Vec::new() }, args)?;
            }
            None => measure(name, &column(name, bytes)?, args)?,
        }
    }
    Ok(())
}

/// A column of about `bytes` bytes.
fn column(name: &str, bytes: usize) -> Result<Strings> {
    let make = match name {
        "urls" => columns::urls,
        "records" => columns::records,
        "names" => columns::names,
        "random" => columns::random,
        "equal" => columns::equal,
        _ => bail!("{name} is neither a shape nor a column"),
    };
    let mean = make(1000, 1).values.len() / 1000;
    Ok(make((bytes / mean.max(1)) as u64, 1))
}

/// Measures a text, if there are no offsets, or strings.
fn measure(name: &str, Strings { values, offsets }: &Strings, args: &Args) -> Result<()> {
    let is_text = offsets.is_empty();
    let sample = || if is_text { Sample::of_text(values) } else { Sample::of_strings(values, offsets) };
    let table = train(&sample());
    let train_seconds = fastest(args.rounds, || {
        black_box(train(&sample()));
    })?;
    let compressor = Compressor::new(&table);
    let (mut codes, mut ends) = (Vec::new(), Vec::new());
    let compress_seconds = fastest(args.rounds, || {
        codes.clear();
        ends.clear();
        if is_text {
            compressor.compress(values, &mut codes);
        } else {
            compressor.compress_strings(values, offsets, &mut codes, &mut ends);
        }
    })?;
    let all_compress_seconds = fastest(args.rounds, || {
        if is_text {
            compressor.compress_parallel(values, &mut Vec::with_capacity(codes.len()));
        } else {
            let parts: Vec<&[u64]> = (0..offsets.len() - 1)
                .step_by(1 << 14)
                .map(|at| &offsets[at..offsets.len().min(at + (1 << 14) + 1)])
                .collect();
            parts.into_par_iter().for_each(|offsets| {
                compressor.compress_strings(values, offsets, &mut Vec::new(), &mut Vec::new());
            });
        }
    })?;
    let decoder = Decoder::new(&table);
    let mut room = vec![0; values.len()];
    let mut decoded = Ok(0);
    let seconds = fastest(args.rounds, || decoded = decoder.decode(&codes, &mut room))?;
    ensure!(decoded == Ok(values.len()) && room == *values, "{name} comes back changed");
    room.fill(0);
    let (splits, len) = splits(&table, &codes)?;
    let mut all_decoded = Ok(());
    let all_seconds = fastest(args.rounds, || {
        all_decoded = decode_on_all_cores(&decoder, &codes, &splits, len, &mut room);
    })?;
    all_decoded?;
    ensure!(room == *values, "{name} comes back changed");
    let megabytes = values.len() as f64 / 1e6;
    let ratio = values.len() as f64 / codes.len() as f64;
    println!(
        "{name:9} {:9} {:9.1} {ratio:7.3} {:14.0} {:14.0} {:16.2} {:16.2}",
        "warpath",
        train_seconds * 1e3,
        megabytes / compress_seconds,
        megabytes / all_compress_seconds,
        megabytes / 1e3 / seconds,
        megabytes / 1e3 / all_seconds
    );
    measure_other(name, values, offsets, args)
}

/// Decodes stretches of a stream side by side.
fn decode_on_all_cores(
    decoder: &Decoder,
    codes: &[u8],
    splits: &[Split],
    len: u64,
    room: &mut [u8],
) -> Result<(), CodeFault> {
    let place = |at: usize| match splits.get(at) {
        Some(split) => (at * SPLIT_CODES + usize::from(split.behind_escape()), split.offset() as usize),
        None => (codes.len(), len as usize),
    };
    let (mut stretches, mut rest) = (Vec::new(), room);
    for at in (0..splits.len()).step_by(SPLITS) {
        let ((from, begin), (to, end)) = (place(at), place(at + SPLITS));
        let (room, behind) = std::mem::take(&mut rest).split_at_mut(end - begin);
        stretches.push((&codes[from..to], room));
        rest = behind;
    }
    stretches.into_par_iter().try_for_each(|(codes, room)| decoder.decode(codes, room).map(|_| ()))
}

/// The measurements with `fsst-rs`, on one core.
fn measure_other(name: &str, values: &[u8], offsets: &[u64], args: &Args) -> Result<()> {
    let strings: Vec<&[u8]> = match offsets {
        [] => vec![values],
        _ => offsets.windows(2).map(|bounds| &values[bounds[0] as usize..bounds[1] as usize]).collect(),
    };
    let compressor = fsst::Compressor::train(&strings);
    let train_seconds = fastest(args.rounds, || drop(fsst::Compressor::train(&strings)))?;
    let longest = strings.iter().map(|string| string.len()).max().unwrap_or(0);
    let mut buffer = Vec::with_capacity(2 * longest + 16);
    let mut codes = Vec::new();
    let compress_seconds = fastest(args.rounds, || {
        codes.clear();
        for string in &strings {
            buffer.clear();
            // SAFETY: no string has more than two codes a byte, for which there is room.
            unsafe {
                let len = compressor.compress_into(string, buffer.spare_capacity_mut());
                buffer.set_len(len);
            }
            codes.extend_from_slice(&buffer);
        }
    })?;
    let decompressor = compressor.decompressor();
    let mut room: Vec<u8> = Vec::with_capacity(values.len() + 64);
    let mut len = 0;
    let seconds =
        fastest(args.rounds, || len = decompressor.decompress_into(&codes, room.spare_capacity_mut()))?;
    ensure!(len == values.len(), "{name} comes back changed from fsst-rs");
    let megabytes = values.len() as f64 / 1e6;
    println!(
        "{name:9} {:9} {:9.1} {:7.3} {:14.0} {:>14} {:16.2} {:>16}",
        "fsst-rs",
        train_seconds * 1e3,
        values.len() as f64 / codes.len() as f64,
        megabytes / compress_seconds,
        "",
        megabytes / 1e3 / seconds,
        ""
    );
    Ok(())
}
