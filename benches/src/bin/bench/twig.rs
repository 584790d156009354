//! Times standing queries. Twigs of XML are evaluated by Warpath's kernels, by the paper's kernel, on the CPU
//! and by YFilter. Twigs of JSON events are timed from the text in memory to the ids.
//!
//! | chart | what changes | as in the paper's |
//! |---|---|---|
//! | `bar` | nothing: 1,024 twigs of 10 nodes, 1,000 documents of 25 kB | |
//! | `queries` | twigs, 32 to 2,048, of 5, 10 and 15 nodes, on one document of 1 MB | figure 7 |
//! | `sizes` | the document, 32 kB to 2 MB; 256 twigs of 10 nodes; `*` and `//` at 10, 30, 50 % | figure 8 |
//! | `batch` | twigs, 32 to 2,048, of 5, 10 and 15 nodes, on 500 documents of 25 kB | figure 9 |
//! | `speedup` | twigs of 5 nodes, on 500 and 1,000 documents | figure 10 |
//! | `lengths` | nodes of 128 twigs, on 500 and 1,000 documents | figure 11 |
//! | `events` | twigs of JSON events of 900 bytes, 1,000 to 100,000 | |
//! | `xml` | the document, 1 to 25 kB; 256 twigs of 10 nodes, from the text on | |
//!
//! XML documents are parsed before they are timed, as in the paper. The timed part begins with each way's own
//! events in memory. It ends with the ids of the matches on the host. JSON events, and the documents of
//! `xml`, are timed from their text, which is in pinned memory if a device reads it. All ways must find the
//! same matches.

mod events;
mod text;
mod xml;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail, ensure};
use rayon::prelude::*;
use warpath_benches::generate::dblp;
use warpath_benches::generate::twigs::Twigs;
use warpath_benches::harness::machine;
use warpath_benches::harness::timing::Loop;
use warpath_device::cuda::Cuda;

/// The total time of one kind's runs after which no further run starts. At least three runs are made, the
/// first of which is dropped.
const MOST_SECONDS: f64 = 4.0;

#[derive(clap::Args)]
pub struct Args {
    /// Charts to measure
    #[arg(default_values = ["bar", "queries", "sizes", "batch", "speedup", "lengths", "events"])]
    charts: Vec<String>,

    /// The CUDA device; without one the CPU is timed alone
    #[arg(long, value_name = "NUMBER")]
    cuda: Option<usize>,

    /// Runs of each; the first is dropped
    #[arg(long, default_value_t = 6)]
    runs: usize,

    /// Bytes of events
    #[arg(long, default_value_t = 400_000_000)]
    event_bytes: u64,

    /// Bytes of XML that a worker reads at a time
    #[arg(long, default_value_t = 32 << 20)]
    xml_batch: usize,

    /// Subscriptions to events, at most
    #[arg(long, default_value_t = 100_000)]
    most_subscriptions: usize,

    /// Appends a line for each result, for `bench twig-plots`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The twigs and documents of a measurement.
#[derive(Clone, Copy)]
struct Case {
    chart: &'static str,
    queries: usize,
    twigs: Twigs,
    documents: usize,
    bytes: usize,
}

pub fn run(cli: &Args) -> Result<()> {
    ensure!(cli.runs > 1, "--runs: the first is dropped");
    println!("{}, {}", machine::describe(), machine::now());
    let cuda = cli.cuda.map(warpath_rivals::cuda).transpose()?;
    let bench = Bench { cli, cuda: cuda.as_ref(), machine: machine::describe() };
    let counts = [32, 64, 128, 256, 512, 1024, 2048];
    for chart in &cli.charts {
        let all: Vec<Case> = match chart.as_str() {
            "bar" => cases("bar", &[10], &[1024], &[10, 30, 50], &[1000], &[25_000]),
            "queries" => cases("queries", &[5, 10, 15], &counts, &[10], &[1], &[1_000_000]),
            "sizes" => {
                let sizes = [32_000, 64_000, 128_000, 256_000, 512_000, 1_000_000, 2_000_000];
                cases("sizes", &[10], &[256], &[10, 30, 50], &[1], &sizes)
            }
            "batch" => cases("batch", &[5, 10, 15], &counts, &[50], &[500], &[25_000]),
            "speedup" => cases("speedup", &[5], &counts, &[50], &[500, 1000], &[25_000]),
            "lengths" => cases("lengths", &[5, 10, 15], &[128], &[10], &[500, 1000], &[25_000]),
            "events" => {
                bench.events()?;
                continue;
            }
            "xml" => {
                for size in [1000, 5000, 25_000] {
                    bench.xml_text(size)?;
                }
                continue;
            }
            other => bail!("there is no chart {other:?}"),
        };
        for case in all {
            bench.xml(case)?;
        }
    }
    Ok(())
}

/// All combinations of the given properties.
fn cases(
    chart: &'static str,
    nodes: &[usize],
    queries: &[usize],
    percents: &[u32],
    documents: &[usize],
    bytes: &[usize],
) -> Vec<Case> {
    let mut all = Vec::new();
    for nodes in nodes {
        let splits = [1, 3, 6][nodes / 5 - 1];
        for percent in percents {
            let twigs = Twigs { nodes: *nodes, splits, percent: *percent };
            for (documents, bytes) in documents.iter().flat_map(|d| bytes.iter().map(move |b| (*d, *b))) {
                all.extend(queries.iter().map(|queries| Case {
                    chart,
                    queries: *queries,
                    twigs,
                    documents,
                    bytes,
                }));
            }
        }
    }
    all
}

struct Bench<'a> {
    cli: &'a Args,
    cuda: Option<&'a Cuda>,
    machine: String,
}

impl Bench<'_> {
    /// The median time of the runs in seconds, and the result of the last run.
    fn time<T>(&self, run: impl FnMut() -> Result<T>) -> Result<(f64, T)> {
        // If runs take long, two of them are as conclusive as six.
        let timing = Loop { most_seconds: MOST_SECONDS, ..Loop::new(1, self.cli.runs - 1) };
        let (times, last) = timing.time(run)?;
        Ok((times.median(), last))
    }

    fn record(&self, what: &serde_json::Value) -> Result<()> {
        if let Some(path) = &self.cli.json {
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            writeln!(file, "{what}")?;
        }
        Ok(())
    }
}

/// The documents of a measurement.
fn documents(count: u64, size: usize) -> Vec<String> {
    (0..count).into_par_iter().map(|number| dblp::document(1, number, size)).collect()
}

/// The kernels that one run of a stage launches, with their times, on one line; and the time of all.
fn kernels<S, E: Into<anyhow::Error>>(
    stage: &mut S,
    device: impl Fn(&S) -> &Cuda,
    run: impl FnMut(&mut S) -> Result<(), E>,
) -> Result<(String, f64)> {
    let kernels = Loop::new(0, 1).kernels(stage, device, run)?;
    Ok((kernels.last(), kernels.total()))
}

/// Has workers take the parts, each the next one that is left, and adds up the matches that they find.
fn shared<W: Send, P: Sync>(
    workers: &mut [W],
    parts: &[P],
    run: impl Fn(&mut W, &P) -> Result<usize> + Sync,
) -> Result<usize> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let spawned: Vec<_> = (workers.iter_mut())
            .map(|worker| {
                let (next, run) = (&next, &run);
                scope.spawn(move || -> Result<usize> {
                    let mut found = 0;
                    while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                        found += run(worker, part)?;
                    }
                    Ok(found)
                })
            })
            .collect();
        spawned.into_iter().map(|worker| worker.join().expect("no panic")).sum()
    })
}
