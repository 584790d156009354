//! Times standing queries. Twigs of XML are evaluated by Warpath's kernels and on the CPU; `bench-rivals
//! twig` adds the paper's kernel and YFilter. Twigs of JSON events are timed from the text in memory to the
//! ids.
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

use anyhow::{Result, bail, ensure};
use rayon::prelude::*;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use warpath::Error;
use warpath_cpu::twig::Name;
use warpath_device::cuda::Cuda;
use warpath_lang::twig::Twig;

use crate::generate::dblp;
use crate::generate::twigs::Twigs;
use crate::harness::machine;
use crate::harness::timing::Loop;

/// The total time of one kind's runs after which no further run starts. At least three runs are made, the
/// first of which is dropped.
const MOST_SECONDS: f64 = 4.0;

/// The arguments.
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
    pub(super) event_bytes: u64,

    /// Bytes of XML that a worker reads at a time
    #[arg(long, default_value_t = 32 << 20)]
    pub(super) xml_batch: usize,

    /// Subscriptions to events, at most
    #[arg(long, default_value_t = 100_000)]
    pub(super) most_subscriptions: usize,

    /// Appends a line for each result, for `bench twig-plots`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The twigs and documents of a measurement.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub chart: &'static str,
    pub queries: usize,
    pub twigs: Twigs,
    pub documents: usize,
    pub bytes: usize,
}

/// The matches: pairs of a document and a twig.
pub type Pairs = Vec<(u32, u32)>;

/// A parsed document: the numbers of the names of the nodes that begin, and [`END`] for each node that ends.
pub type Parsed = Vec<u32>;

/// The end of a node in a parsed document.
pub const END: u32 = u32::MAX;

/// The twigs and documents that all ways evaluate.
pub struct Asked<'a> {
    /// The twigs, in the order of their numbers.
    pub twigs: &'a [Twig],
    /// The names in the documents.
    pub names: &'a [Name<'a>],
    /// The documents, parsed.
    pub parsed: &'a [Parsed],
    /// The documents as text.
    pub texts: &'a [String],
    /// The device, if there is one.
    pub cuda: Option<&'a Cuda>,
    bench: &'a Bench<'a>,
    show: &'a dyn Fn(&str, usize, f64, Pairs) -> Result<()>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(
        bench: &'a Bench<'a>,
        (twigs, names): (&'a [Twig], &'a [Name<'a>]),
        (parsed, texts): (&'a [Parsed], &'a [String]),
        show: &'a dyn Fn(&str, usize, f64, Pairs) -> Result<()>,
    ) -> Self {
        Self { twigs, names, parsed, texts, cuda: bench.cuda, bench, show }
    }

    /// Times a way, and prints its time. Its matches must be those of the first way.
    ///
    /// # Errors
    /// Fails with an error of `run`, or if the matches differ from those of the first way.
    pub fn measure(&self, what: &str, threads: usize, run: impl FnMut() -> Result<Pairs>) -> Result<()> {
        let (seconds, found) = self.bench.time(run)?;
        (self.show)(what, threads, seconds, found)
    }

    /// Times a way of the CPU on one thread and on all. `run` evaluates a document and returns the twigs that
    /// match.
    ///
    /// # Errors
    /// Other matches than those of the first way.
    pub fn on_cpu<M, T: IntoIterator<Item = u32>>(
        &self,
        what: &str,
        make: impl Fn() -> M + Sync,
        run: impl Fn(&mut M, &Parsed) -> T + Sync,
    ) -> Result<()> {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        let all = || -> Pairs {
            let documents = self.parsed.par_iter().enumerate();
            let pairs = documents.map_init(&make, |way, (number, events)| {
                run(way, events).into_iter().map(|twig| (number as u32, twig)).collect::<Vec<_>>()
            });
            pairs.flatten().collect()
        };
        self.measure(what, 1, || Ok(one.install(all)))?;
        self.measure(what, rayon::current_num_threads(), || Ok(all()))
    }
}

/// Measures other ways to evaluate twigs: those of the CPU, or those of the device.
pub type More<'a> = &'a dyn Fn(&Asked<'_>, Processor) -> Result<()>;

/// The processor on which a way evaluates twigs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// The CPU.
    Cpu,
    /// A CUDA device.
    Cuda,
}

/// Measures the charts by Warpath and by more ways, on the device that `open` opens.
///
/// # Errors
/// Arguments that mean nothing, and the first error or wrong result.
pub fn run(cli: &Args, open: fn(usize) -> Result<Cuda, Error>, more: More<'_>) -> Result<()> {
    ensure!(cli.runs > 1, "--runs: the first is dropped");
    println!("{}, {}", machine::describe(), machine::now());
    let cuda = cli.cuda.map(open).transpose()?;
    let bench = Bench { cli, cuda: cuda.as_ref(), more, machine: machine::describe() };
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

pub(super) struct Bench<'a> {
    pub cli: &'a Args,
    pub cuda: Option<&'a Cuda>,
    pub more: More<'a>,
    pub machine: String,
}

impl Bench<'_> {
    /// The median time of the runs in seconds, and the result of the last run.
    pub fn time<T>(&self, run: impl FnMut() -> Result<T>) -> Result<(f64, T)> {
        // If runs take long, two of them are as conclusive as six.
        let timing = Loop { most_seconds: MOST_SECONDS, ..Loop::new(1, self.cli.runs - 1) };
        let (times, last) = timing.time(run)?;
        Ok((times.median(), last))
    }

    pub fn record(&self, what: &serde_json::Value) -> Result<()> {
        if let Some(path) = &self.cli.json {
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            writeln!(file, "{what}")?;
        }
        Ok(())
    }
}

/// The documents of a measurement.
pub(super) fn documents(count: u64, size: usize) -> Vec<String> {
    (0..count).into_par_iter().map(|number| dblp::document(1, number, size)).collect()
}

/// The kernels that one run of a stage launches, with their times, on one line; and the time of all.
pub(super) fn kernels<S, E: Into<anyhow::Error>>(
    stage: &mut S,
    device: impl Fn(&S) -> &Cuda,
    run: impl FnMut(&mut S) -> Result<(), E>,
) -> Result<(String, f64)> {
    let kernels = Loop::new(0, 1).kernels(stage, device, run)?;
    Ok((kernels.last(), kernels.total()))
}

/// Has workers take the parts, each the next one that is left, and adds up the matches that they find.
pub(super) fn shared<W: Send, P: Sync>(
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
