//! Writes data of a shape that the field measures with, made from a seed; see [`warpath_benches::generate`].

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;
use std::{io, thread};

use anyhow::{Context, ensure};
use clap::Parser;
use warpath_benches::generate::event_twigs::{self, SubscriptionKind};
use warpath_benches::generate::{
    ArrayWriter, Generator, Shape, Stats, dblp, twigs, write_ndjson_with_threads,
};

/// Write data for benchmarks, made from a seed: NDJSON, XML documents, or subscriptions to them.
///
/// The same shape, size and seed give the same bytes, whatever the number of threads. A smaller size gives a
/// prefix of a larger one.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// The data to write.
    ///
    /// Lines of records: twitter, walmart, bestbuy, maps, urls (no JSON), events, bluesky, log:84, log:242,
    /// or sized:BYTES for records of that many bytes each. Lines of a log have 84 or 242 bytes on average.
    /// log:84:alternate has two orders of members in turns, log:84:random has any; log:242 likewise. XML
    /// documents, into a folder: dblp. Subscriptions: dblp-twigs to those documents; event-twigs to events;
    /// and event-patterns, the same as event-twigs in the language of quamina.
    #[arg(long)]
    shape: Output,

    /// Bytes to write, or of each document: the fewest whole lines that reach SIZE (with KiB, MiB or GiB)
    #[arg(long, value_parser = parse_size, required_unless_present = "records")]
    size: Option<u64>,

    /// Records or subscriptions to write, instead of a size; for small files, made by one thread
    #[arg(long, conflicts_with = "size")]
    records: Option<u64>,

    /// Documents to write, of SIZE bytes each, as 000000.xml, 000001.xml and so on
    #[arg(long, value_name = "COUNT", required_if_eq("shape", "dblp"))]
    documents: Option<u64>,

    /// Query nodes of each of dblp-twigs
    #[arg(long, default_value_t = 10)]
    nodes: usize,

    /// Query nodes of each of dblp-twigs that split, into 2 to 4 branches
    #[arg(long, default_value_t = 3)]
    splits: usize,

    /// Percentage of the steps of dblp-twigs that are `//`, and of the nodes that are `*`
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100))]
    percent: u32,

    /// For event-twigs: also ranges, existence, wildcards and descendants, not only values of fields
    #[arg(long)]
    mixed: bool,

    /// Other seeds give other records
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Write one document in place of lines, for `warpath query --input json`: an array of the records
    #[arg(long)]
    array: bool,

    /// Threads to generate with [default: one for each core]
    #[arg(long)]
    threads: Option<NonZeroUsize>,

    /// File to write; - is standard output. For documents, a folder
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// The forms of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Lines(Shape),
    Dblp,
    DblpTwigs,
    EventTwigs,
    EventPatterns,
}

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "dblp" => Self::Dblp,
            "dblp-twigs" => Self::DblpTwigs,
            "event-twigs" => Self::EventTwigs,
            "event-patterns" => Self::EventPatterns,
            _ => Self::Lines(text.parse().map_err(|shapes| {
                format!("{shapes}; others are dblp, dblp-twigs, event-twigs and event-patterns")
            })?),
        })
    }
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    args.check()?;
    let start = Instant::now();
    let name = || args.output.display().to_string();
    let stats = if args.shape == Output::Dblp {
        write_documents(&args).with_context(name)?
    } else if args.output == Path::new("-") {
        match write_form(&args, &mut io::stdout().lock()) {
            // The reader has closed the pipe and needs no more data.
            Err(error) if is_broken_pipe(&error) => return Ok(()),
            written => written.context("standard output")?,
        }
    } else {
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

impl Args {
    /// Checks that the options fit the shape.
    fn check(&self) -> anyhow::Result<()> {
        let are_lines = matches!(self.shape, Output::Lines(_));
        ensure!(are_lines || !self.array, "--array is for lines of records");
        ensure!(!self.mixed || self.shape == Output::EventTwigs, "--mixed is for event-twigs");
        if self.shape == Output::Dblp {
            ensure!(self.size.is_some(), "documents have a --size");
            ensure!(self.output != Path::new("-"), "documents go into a folder");
        } else {
            ensure!(self.documents.is_none(), "--documents is for dblp");
            ensure!(are_lines || self.records.is_some(), "subscriptions need a number of --records");
        }
        Ok(())
    }

    fn threads(&self) -> NonZeroUsize {
        let threads = self.threads.or_else(|| thread::available_parallelism().ok());
        threads.unwrap_or(NonZeroUsize::MIN)
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_some_and(|error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Writes the documents. Thread t writes the documents t, t + threads, t + 2 threads, ….
fn write_documents(args: &Args) -> io::Result<Stats> {
    let (seed, threads) = (args.seed, args.threads().get());
    let (documents, bytes) = (args.documents.unwrap_or(0), args.size.unwrap_or(0) as usize);
    fs::create_dir_all(&args.output)?;
    let written = thread::scope(|scope| {
        let writers: Vec<_> = (0..threads as u64)
            .map(|first| {
                scope.spawn(move || {
                    (first..documents).step_by(threads).try_fold(0, |written, number| {
                        let document = dblp::document(seed, number, bytes);
                        fs::write(args.output.join(format!("{number:06}.xml")), &document)?;
                        io::Result::Ok(written + document.len() as u64)
                    })
                })
            })
            .collect();
        writers
            .into_iter()
            .map(|writer| writer.join().expect("a writer does not panic"))
            .sum::<io::Result<_>>()
    })?;
    Ok(Stats { records: documents, bytes: written })
}

fn write_form(args: &Args, out: &mut impl Write) -> anyhow::Result<Stats> {
    let Output::Lines(shape) = args.shape else {
        let text = subscriptions(args)?;
        out.write_all(text.as_bytes())?;
        return Ok(Stats { records: text.lines().count() as u64, bytes: text.len() as u64 });
    };
    if !args.array {
        return Ok(write(shape, args, out)?);
    }
    let mut array = ArrayWriter::new(BufWriter::new(out));
    let stats = write(shape, args, &mut array)?;
    array.finish()?;
    Ok(stats)
}

fn subscriptions(args: &Args) -> anyhow::Result<String> {
    let count = args.records.unwrap_or(0) as usize;
    let kind = if args.mixed { SubscriptionKind::Mixed } else { SubscriptionKind::Exact };
    if args.shape == Output::DblpTwigs {
        let twigs = twigs::Twigs { nodes: args.nodes, splits: args.splits, percent: args.percent };
        return Ok(twigs::lines(&twigs::xpath(count, twigs, args.seed)?));
    }
    let subscriptions = event_twigs::subscriptions(count, kind, args.seed);
    if args.shape == Output::EventPatterns {
        return event_twigs::pattern_lines(&subscriptions).context("patterns cannot say all of it");
    }
    Ok(event_twigs::lines(&subscriptions))
}

fn write(shape: Shape, args: &Args, out: &mut impl Write) -> io::Result<Stats> {
    let Some(records) = args.records else {
        let size = args.size.unwrap_or(0);
        return write_ndjson_with_threads(shape, args.seed, size, args.threads(), out);
    };
    let mut out = BufWriter::new(out);
    let mut generator = Generator::new(shape, args.seed);
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
    fn what_is_written_is_as_its_shape_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let generate = |shape: &str, others: &str, output: &str| {
            let output = folder.path().join(output).display().to_string();
            let args = format!("generate --shape {shape} {others} -o");
            let args = Args::try_parse_from(args.split_whitespace().chain([output.as_str()]))?;
            args.check()?;
            if args.shape == Output::Dblp {
                return Ok(write_documents(&args)?);
            }
            write_form(&args, &mut File::create(&output)?)
        };
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();

        let stats = generate("dblp", "--documents 5 --size 9000 --seed 3 --threads 2", "a/b").unwrap();
        let documents: Vec<String> = (0..5).map(|number| read(&format!("a/b/{number:06}.xml"))).collect();
        assert_eq!(stats, Stats { records: 5, bytes: documents.concat().len() as u64 });
        assert!((0..5).all(|number| documents[number] == dblp::document(3, number as u64, 9000)));

        let stats = generate("dblp-twigs", "--records 7 --nodes 5 --splits 1", "twigs").unwrap();
        assert_eq!((stats.records, read("twigs").lines().count()), (7, 7));
        assert!(generate("dblp-twigs", "--records 7 --nodes 5 --splits 3", "none").is_err());
        generate("event-twigs", "--records 7", "events").unwrap();
        generate("event-twigs", "--records 7 --mixed", "mixed").unwrap();
        generate("event-patterns", "--records 7", "patterns").unwrap();
        for (name, begin) in
            [("events", "s1\t$[?"), ("mixed", "s1\t/event["), ("patterns", "s1\t{\"event\":{")]
        {
            assert!(read(name).starts_with(begin) && read(name).lines().count() == 7, "{name}");
        }
        generate("events", "--records 7", "lines").unwrap();
        assert_eq!(read("lines").lines().count(), 7);

        for (shape, others) in [
            ("dblp", "--size 10"),
            ("dblp", "--documents 1 --records 1"),
            ("dblp", "--documents 1 --size 10 --array"),
            ("event-twigs", "--size 10"),
            ("event-patterns", "--records 1 --mixed"),
            ("dblp-twigs", "--records 1 --percent 101"),
            ("twitter", "--size 10 --documents 1"),
            ("twitter", ""),
            ("dblps", "--size 10"),
        ] {
            assert!(generate(shape, others, "none").is_err(), "{shape} {others}");
        }
    }

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
