//! Writes NDJSON of a shape that the field measures with, made from a seed; see [`warpath_benches::generate`].

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use warpath_benches::generate::{ArrayWriter, Generator, Shape, Stats, write_ndjson_with_threads};

/// Write NDJSON of a shape that the field measures with, made from a seed.
///
/// The same shape, size and seed give the same bytes, whatever the number of threads, and a smaller size gives a
/// prefix of a larger one.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// What the records look like: twitter, walmart, bestbuy, maps, urls (no JSON), or sized:BYTES for records of that many bytes each
    #[arg(long)]
    shape: Shape,

    /// Bytes to write, in whole lines: the fewest that reach SIZE (KiB, MiB and GiB are understood)
    #[arg(long, value_parser = parse_size, required_unless_present = "records")]
    size: Option<u64>,

    /// Records to write, instead of a size; for small files, made by one thread
    #[arg(long, conflicts_with = "size")]
    records: Option<u64>,

    /// Other seeds give other records
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Write one document in place of lines: an array of the records, a line each, for `warpath query --input json`
    #[arg(long)]
    array: bool,

    /// Threads to generate with [default: one for each core]
    #[arg(long)]
    threads: Option<NonZeroUsize>,

    /// File to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let start = Instant::now();
    let stats = if args.output == Path::new("-") {
        match write_form(&args, &mut io::stdout().lock()) {
            // Whoever reads has had enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written.context("standard output")?,
        }
    } else {
        let name = || args.output.display().to_string();
        let mut file = File::create(&args.output).with_context(name)?;
        write_form(&args, &mut file).with_context(name)?
    };
    let seconds = start.elapsed().as_secs_f64();
    eprintln!(
        "{} records, {} bytes in {seconds:.2} s ({:.0} MB/s)",
        stats.records,
        stats.bytes,
        stats.bytes as f64 / seconds / 1e6
    );
    Ok(())
}

fn write_form(args: &Args, out: &mut impl Write) -> io::Result<Stats> {
    if !args.array {
        return write(args, out);
    }
    let mut array = ArrayWriter::new(BufWriter::new(out));
    let stats = write(args, &mut array)?;
    array.finish()?;
    Ok(stats)
}

fn write(args: &Args, out: &mut impl Write) -> io::Result<Stats> {
    let Some(records) = args.records else {
        let threads = args.threads.or_else(|| std::thread::available_parallelism().ok());
        let threads = threads.unwrap_or(NonZeroUsize::MIN);
        return write_ndjson_with_threads(args.shape, args.seed, args.size.unwrap_or(0), threads, out);
    };
    let mut out = BufWriter::new(out);
    let mut generator = Generator::new(args.shape, args.seed);
    let mut line = Vec::new();
    let mut bytes = 0;
    for _ in 0..records {
        line.clear();
        generator.line(&mut line);
        out.write_all(&line)?;
        bytes += line.len() as u64;
    }
    out.flush()?;
    Ok(Stats { records, bytes })
}

fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|char: char| !char.is_ascii_digit());
    let shift = match &text[digits.len()..] {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        unit => return Err(format!("unit {unit:?} is none of B, KiB, MiB, GiB")),
    };
    let number: u64 = digits.parse().map_err(|error| format!("{error}"))?;
    number.checked_mul(1 << shift).ok_or_else(|| "larger than 64 bits can say".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("1234"), Ok(1234));
        assert_eq!(parse_size("400MiB"), Ok(400 << 20));
        assert_eq!(parse_size("8GiB"), Ok(8 << 30));
        for bad in ["", "MiB", "4 MB", "4MB", "-1", "1.5GiB", "99999999999GiB"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
