//! Times standing queries. Twigs of XML are evaluated by Warpath's kernels, by the paper's kernel, on the CPU
//! and by YFilter. Twigs of JSON events are timed from the text in memory to the ids.
//!
//! ```text
//! bench-twig [--cuda NUMBER] [--runs N] [--json FILE] [CHART...]
//! ```
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

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use rayon::prelude::*;
use warpath::cuda::Cuda;
use warpath::device::{Accelerator as _, TwigLinesStage, TwigStage, TwigTasks, TwigXmlStage};
use warpath::plain::{bytes, elements};
use warpath::twig::encode::{Compiled, Encoder};
use warpath::twig::names::Names;
use warpath::twig::{Events, Name, Twig, TwigIx, TwigSet, Value, json, xml};
use warpath_benches::generate::event_twigs::{self, Kind};
use warpath_benches::generate::twigs::{self, Twigs};
use warpath_benches::generate::{Shape, dblp, write_ndjson_with_threads};
use warpath_benches::harness::machine;
use warpath_rivals::twig_seed::{SeedQueries, SeedStage};
use warpath_rivals::yfilter::YFilter;

/// The number of queues over which the paper's kernel is spread. The paper uses streams in this way.
const STREAMS: usize = 16;
/// The number of bytes of events that a worker reads at a time; and the number of workers.
const PARTITION_BYTES: usize = 16 << 20;
const WORKERS: usize = 8;
/// The total time of one kind's runs after which no further run starts. At least three runs are made, the
/// first of which is dropped.
const MOST_SECONDS: f64 = 4.0;
/// The number of subscriptions up to which the CPU reads all events. With more of them it reads fewer events,
/// in proportion.
const ALL_EVENTS: usize = 1000;
/// The number of bytes of events that a thread of the CPU reads at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// Times standing queries.
#[derive(Parser)]
struct Cli {
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

fn main() -> Result<()> {
    let cli = Cli::parse();
    ensure!(cli.runs > 1, "--runs: the first is dropped");
    println!("{}, {}", machine::describe(), machine::now());
    let cuda = cli.cuda.map(warpath_rivals::cuda).transpose()?;
    let bench = Bench { cli: &cli, cuda: cuda.as_ref(), machine: machine::describe() };
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

/// A parsed document: the names of the nodes that begin, and [`END`] for each node that ends.
type Parsed = Vec<u32>;
const END: u32 = u32::MAX;

/// A receiver that keeps the events of documents.
#[derive(Default)]
struct Recorder {
    names: Vec<(Box<[u8]>, bool)>,
    events: Parsed,
}

impl Events for Recorder {
    fn open(&mut self, name: Name<'_>) -> bool {
        let (name, is_attribute) = match name {
            Name::Element(name) => (name, false),
            Name::Attribute(name) => (name, true),
            Name::Item => (&b""[..], false),
        };
        let known = self.names.iter().position(|(known, is)| **known == *name && *is == is_attribute);
        let number = known.unwrap_or_else(|| {
            self.names.push((name.into(), is_attribute));
            self.names.len() - 1
        });
        self.events.push(number as u32);
        false
    }

    fn close(&mut self, _value: Value<'_>) {
        self.events.push(END);
    }
}

/// The matches: pairs of a document and a twig.
type Pairs = Vec<(u32, u32)>;

struct Bench<'a> {
    cli: &'a Cli,
    cuda: Option<&'a Cuda>,
    machine: String,
}

impl Bench<'_> {
    /// The median time of the runs in seconds, and the result of the last run.
    fn time<T>(&self, mut run: impl FnMut() -> Result<T>) -> Result<(f64, T)> {
        let mut times = Vec::new();
        let mut last = None;
        for _ in 0..self.cli.runs {
            let start = Instant::now();
            let found = run()?;
            times.push(start.elapsed().as_secs_f64());
            last = Some(found);
            // If runs take long, two of them are as conclusive as six.
            if times.len() > 2 && times.iter().sum::<f64>() > MOST_SECONDS {
                break;
            }
        }
        times.remove(0);
        times.sort_by(f64::total_cmp);
        Ok((times[times.len() / 2], last.context("no run")?))
    }

    fn record(&self, what: &serde_json::Value) -> Result<()> {
        if let Some(path) = &self.cli.json {
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            writeln!(file, "{what}")?;
        }
        Ok(())
    }

    fn xml(&self, case: Case) -> Result<()> {
        let Case { chart, queries, twigs: kind, documents, bytes: size } = case;
        let texts: Vec<String> =
            (0..documents as u64).into_par_iter().map(|number| dblp::document(1, number, size)).collect();
        let text_bytes: usize = texts.iter().map(String::len).sum();
        let queries = twigs::xpath(queries, kind, 1).map_err(|error| anyhow::anyhow!("{error}"))?;
        let asked: Vec<Twig> = queries.iter().map(|query| Twig::parse(query)).collect::<Result<_, _>>()?;
        let mut parser = Recorder::default();
        let mut parsed: Vec<Parsed> = Vec::new();
        for text in &texts {
            xml::read(text, &mut parser)?;
            parsed.push(std::mem::take(&mut parser.events));
        }
        let names: Vec<Name<'_>> = (parser.names.iter())
            .map(
                |(name, is_attribute)| {
                    if *is_attribute { Name::Attribute(name) } else { Name::Element(name) }
                },
            )
            .collect();
        let events: usize = parsed.iter().map(Vec::len).sum();
        let (mut set, mut yfilter, mut seed) =
            (TwigSet::default(), YFilter::default(), SeedQueries::default());
        for (number, twig) in asked.iter().enumerate() {
            let at = set.add(twig)?;
            ensure!(
                at.number() == number && yfilter.add(twig) == number,
                "twigs are numbered as they are added"
            );
            seed.add(twig)?;
        }
        seed.fill();
        println!(
            "\n{chart}: {} twigs of {} nodes, {} splits, {} %; {documents} documents, {text_bytes} bytes, {events} events",
            queries.len(),
            kind.nodes,
            kind.splits,
            kind.percent
        );
        let mut want: Option<Pairs> = None;
        let mut show = |what: &str, threads: usize, seconds: f64, mut found: Pairs| -> Result<()> {
            found.sort_unstable();
            match &want {
                Some(want) => {
                    ensure!(found == *want, "{what} finds {} pairs, not {}", found.len(), want.len());
                }
                None => want = Some(found.clone()),
            }
            println!(
                "  {what:24} {threads:3} threads {:10.3} ms {:9.1} MB/s {:8.2} M events/s {:9} matches",
                seconds * 1e3,
                text_bytes as f64 / seconds / 1e6,
                events as f64 / seconds / 1e6,
                found.len()
            );
            self.record(&serde_json::json!({
                "chart": chart, "what": what, "threads": threads, "queries": queries.len(), "nodes": kind.nodes,
                "splits": kind.splits, "percent": kind.percent, "documents": documents, "bytes": text_bytes,
                "events": events, "seconds": seconds, "matches": found.len(), "machine": self.machine, "date": machine::now(),
            }))
        };
        let of_set: Vec<_> = names.iter().map(|name| set.tag(*name)).collect();
        let of_yfilter: Vec<_> = names.iter().map(|name| yfilter.tag(*name)).collect();
        let cores = rayon::current_num_threads();
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        for threads in [1, cores] {
            let run = || -> Pairs {
                let documents = parsed.par_iter().enumerate();
                let pairs = documents.map_init(
                    || set.matcher(),
                    |matcher, (number, events)| {
                        matcher.reset();
                        for event in events {
                            if *event == END {
                                matcher.close(Value::None);
                            } else {
                                matcher.open_tag(of_set[*event as usize]);
                            }
                        }
                        matcher
                            .matches()
                            .map(|twig| (number as u32, twig.number() as u32))
                            .collect::<Vec<_>>()
                    },
                );
                pairs.flatten().collect()
            };
            let (seconds, found) = self.time(|| Ok(if threads == 1 { one.install(run) } else { run() }))?;
            show("cpu", threads, seconds, found)?;
        }
        for threads in [1, cores] {
            let run = || -> Pairs {
                let documents = parsed.par_iter().enumerate();
                let pairs = documents.map_init(
                    || yfilter.runner(),
                    |runner, (number, events)| {
                        runner.reset();
                        for event in events {
                            if *event == END {
                                runner.close_value(Value::None);
                            } else {
                                runner.open_tag(of_yfilter[*event as usize]);
                            }
                        }
                        runner.matches().map(|twig| (number as u32, twig as u32)).collect::<Vec<_>>()
                    },
                );
                pairs.flatten().collect()
            };
            let (seconds, found) = self.time(|| Ok(if threads == 1 { one.install(run) } else { run() }))?;
            show("yfilter", threads, seconds, found)?;
        }
        let Some(cuda) = self.cuda else { return Ok(()) };
        let (mut encoder, mut paper) = (Encoder::new(&set), seed.encoder());
        for (number, text) in texts.iter().enumerate() {
            xml::read(text, &mut encoder)?;
            encoder.finish(number as u32);
            xml::read(text, &mut paper)?;
            ensure!(paper.finish(), "a document is too deep");
        }
        let programs = encoder.programs();
        ensure!(programs.deep.is_empty(), "a document is too deep");
        let mut locked = cuda.host_buffer(size_of_val(&programs.ops[..]))?;
        locked.copy_from_slice(bytes(&programs.ops));
        let tasks = TwigTasks {
            ops: elements(&locked).context("aligned")?,
            tasks: &programs.tasks,
            merges: &programs.merges,
            kept: programs.kept,
        };
        let mut stage = TwigStage::new(cuda.queue()?, &Compiled::of(&set))?;
        let mut matched = Vec::new();
        let (seconds, found) = self.time(|| {
            stage.run_into(tasks, &mut matched)?;
            Ok(set.answers(&matched))
        })?;
        show(
            "gpu",
            1,
            seconds,
            found.iter().map(|(document, twig)| (*document, twig.number() as u32)).collect(),
        )?;
        stage.device().start_timeline();
        stage.run_into(tasks, &mut matched)?;
        let (kernels, _) = stage.device().take_timeline()?;
        let kernels: Vec<String> =
            kernels.iter().map(|kernel| format!("{} {:.3} ms", kernel.name, kernel.milliseconds)).collect();
        println!(
            "    {} operations, {} tasks; {}",
            programs.ops.len(),
            programs.tasks.len(),
            kernels.join(", ")
        );
        let mut locked = cuda.host_buffer(paper.events.len())?;
        locked.copy_from_slice(&paper.events);
        for (what, queues, one) in [("paper's, streams", STREAMS, false), ("paper's, one launch", 1, true)] {
            let mut stage = SeedStage::new(cuda, &seed, queues)?;
            let (seconds, found) = self.time(|| {
                let matches = stage.run(&locked, &paper.documents, one)?;
                let mut pairs = Vec::new();
                for (document, matches) in matches.chunks(seed.personalities.len()).enumerate() {
                    let roots = seed.roots.iter().enumerate();
                    let found = roots.filter(|(_, root)| matches[**root] != 0);
                    pairs.extend(found.map(|(twig, _)| (document as u32, twig as u32)));
                }
                Ok(pairs)
            })?;
            show(what, 1, seconds, found)?;
        }
        Ok(())
    }

    /// Documents of about `size` bytes, from their text to their matches, on the CPU and on the device.
    fn xml_text(&self, size: usize) -> Result<()> {
        let count = self.cli.event_bytes / size as u64;
        let texts: Vec<String> =
            (0..count).into_par_iter().map(|number| dblp::document(1, number, size)).collect();
        let all: usize = texts.iter().map(String::len).sum();
        let mut set = TwigSet::default();
        let kind = Twigs { nodes: 10, splits: 3, percent: 10 };
        for query in twigs::xpath(256, kind, 1).map_err(|error| anyhow::anyhow!("{error}"))? {
            set.add(&Twig::parse(&query)?)?;
        }
        println!("\nxml: 256 twigs of 10 nodes; {count} documents, {all} bytes");
        // The batches: their text, and the offset at which each document begins.
        let mut batches: Vec<(Vec<u8>, Vec<u32>)> = Vec::new();
        for text in &texts {
            if batches.last().is_none_or(|(batch, _)| batch.len() + text.len() > self.cli.xml_batch) {
                batches.push((Vec::with_capacity(self.cli.xml_batch), Vec::new()));
            }
            let (batch, begins) = batches.last_mut().context("one was pushed")?;
            begins.push(batch.len() as u32);
            batch.extend_from_slice(text.as_bytes());
        }
        let show = |what: &str, threads: usize, seconds: f64, found: usize| -> Result<()> {
            println!(
                "  {what:24} {threads:3} threads {:10.3} ms {:9.1} MB/s {found:9} matches",
                seconds * 1e3,
                all as f64 / seconds / 1e6
            );
            self.record(&serde_json::json!({
                "chart": "xml", "what": what, "threads": threads, "queries": 256, "documents": count, "size": size, "bytes": all,
                "seconds": seconds, "matches": found, "machine": self.machine, "date": machine::now(),
            }))
        };
        let cores = rayon::current_num_threads();
        let (seconds, want) = self.time(|| {
            let found = texts.par_iter().map_init(
                || set.matcher(),
                |matcher, text| {
                    matcher.reset();
                    xml::read(text, matcher)?;
                    Ok(matcher.matches().count())
                },
            );
            found.sum::<Result<usize>>()
        })?;
        show("cpu", cores, seconds, want)?;
        let Some(cuda) = self.cuda else { return Ok(()) };
        let (compiled, names) = (Compiled::of(&set), Names::of(&set));
        let mut workers = Vec::new();
        for _ in 0..cores {
            workers.push((Encoder::new(&set), TwigStage::new(cuda.queue()?, &compiled)?));
        }
        let (seconds, found) = self.time(|| {
            let chunks = texts.len().div_ceil(4 * cores);
            let next = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                let spawned: Vec<_> = (workers.iter_mut())
                    .map(|(encoder, stage)| {
                        let (texts, next, set) = (&texts, &next, &set);
                        scope.spawn(move || -> Result<usize> {
                            let mut found = 0;
                            while let Some(chunk) =
                                texts.chunks(chunks).nth(next.fetch_add(1, Ordering::Relaxed))
                            {
                                encoder.clear();
                                for (number, text) in chunk.iter().enumerate() {
                                    xml::read(text, encoder)?;
                                    encoder.finish(number as u32);
                                }
                                let programs = encoder.programs();
                                let matched = stage.run(TwigTasks {
                                    ops: &programs.ops,
                                    tasks: &programs.tasks,
                                    merges: &programs.merges,
                                    kept: programs.kept,
                                })?;
                                found += set.answers(&matched).len();
                            }
                            Ok(found)
                        })
                    })
                    .collect();
                spawned.into_iter().map(|worker| worker.join().expect("no panic")).sum()
            })
        })?;
        ensure!(found == want, "the programs find {found}, not {want}");
        show("gpu, read by the cpu", cores, seconds, found)?;
        let mut locked = Vec::new();
        for (text, begins) in &batches {
            let mut buffer = cuda.host_buffer(text.len())?;
            buffer.copy_from_slice(text);
            locked.push((buffer, begins));
        }
        for workers in [1, 4, 8] {
            let mut stages = Vec::new();
            for _ in 0..workers {
                stages.push(TwigXmlStage::new(cuda.queue()?, &compiled, &names)?);
            }
            let (seconds, found) = self.time(|| {
                let next = AtomicUsize::new(0);
                std::thread::scope(|scope| {
                    let spawned: Vec<_> = (stages.iter_mut())
                        .map(|stage| {
                            let (locked, next, set) = (&locked, &next, &set);
                            scope.spawn(move || -> Result<usize> {
                                let mut found = 0;
                                while let Some((text, begins)) =
                                    locked.get(next.fetch_add(1, Ordering::Relaxed))
                                {
                                    let answer = stage.run(text, begins)?;
                                    ensure!(
                                        answer.unfit.is_empty(),
                                        "{} documents are left",
                                        answer.unfit.len()
                                    );
                                    found += set.answers(&answer.matched).len();
                                }
                                Ok(found)
                            })
                        })
                        .collect();
                    spawned.into_iter().map(|worker| worker.join().expect("no panic")).sum()
                })
            })?;
            ensure!(found == want, "the device finds {found}, not {want}");
            show("gpu", workers, seconds, found)?;
            let (stage, (text, begins)) = (&mut stages[0], &locked[0]);
            stage.device().start_timeline();
            stage.run(text, begins)?;
            let (kernels, total) = stage.device().take_timeline()?;
            let kernels: Vec<String> =
                kernels.iter().map(|kernel| format!("{} {:.3}", kernel.name, kernel.milliseconds)).collect();
            println!("    one batch of {} bytes: {total:.3} ms; {}", text.len(), kernels.join(", "));
        }
        Ok(())
    }

    fn events(&self) -> Result<()> {
        let mut text = Vec::new();
        let threads = std::thread::available_parallelism()?;
        write_ndjson_with_threads(Shape::Events, 1, self.cli.event_bytes, threads, &mut text)?;
        let lines = text.iter().filter(|byte| **byte == b'\n').count();
        println!("\nevents: {} bytes, {lines} events", text.len());
        let mut locked = None;
        if let Some(cuda) = self.cuda {
            let mut buffer = cuda.host_buffer(text.len())?;
            buffer.copy_from_slice(&text);
            locked = Some(buffer);
        }
        for (kind, name) in [(Kind::Exact, "exact"), (Kind::Mixed, "mixed")] {
            for count in [1000, 3000, 10_000, 30_000, 100_000]
                .into_iter()
                .filter(|count| *count <= self.cli.most_subscriptions)
            {
                if count > 1000 && kind == Kind::Mixed {
                    continue;
                }
                self.event_case(&text, locked.as_deref(), (kind, name), count)?;
            }
        }
        Ok(())
    }

    fn event_case(
        &self,
        text: &[u8],
        locked: Option<&[u8]>,
        (kind, name): (Kind, &str),
        count: usize,
    ) -> Result<()> {
        let mut set = TwigSet::default();
        let start = Instant::now();
        let twigs: Vec<Twig> = event_twigs::subscriptions(count, kind, 1)
            .iter()
            .map(|subscription| Twig::parse(&subscription.query()))
            .collect::<Result<_, _>>()?;
        for added in set.add_all(&twigs) {
            added?;
        }
        println!("\n{count} {name} subscriptions, added in {:.3} s", start.elapsed().as_secs_f64());
        let show = |what: &str, threads: usize, seconds: f64, (text, found): (&[u8], usize)| -> Result<()> {
            let lines = text.iter().filter(|byte| **byte == b'\n').count();
            println!(
                "  {what:24} {threads:3} threads {:10.3} ms {:9.1} MB/s {:8.3} M events/s {:6.2} matches an event",
                seconds * 1e3,
                text.len() as f64 / seconds / 1e6,
                lines as f64 / seconds / 1e6,
                found as f64 / lines as f64
            );
            self.record(&serde_json::json!({
                "chart": "events", "what": what, "threads": threads, "queries": count, "kind": name, "documents": lines,
                "bytes": text.len(), "seconds": seconds, "matches": found, "machine": self.machine, "date": machine::now(),
            }))
        };
        let (all, cores) = (cut(text, CHUNK_BYTES), rayon::current_num_threads());
        let chunks = &all[..(all.len() * ALL_EVENTS / count.max(ALL_EVENTS)).max(cores.min(all.len()))];
        let part = &text[..chunks.iter().map(|chunk| chunk.len()).sum()];
        let mut want = None;
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        for threads in [1, cores] {
            let run = || -> usize {
                let found = chunks.par_iter().map_init(
                    || (json::Lines::default(), set.matcher()),
                    |(lines, matcher), chunk| {
                        let mut ids: Vec<(usize, TwigIx)> = Vec::new();
                        lines.read(chunk, matcher, |matcher, line, _| {
                            ids.extend(matcher.matches().map(|twig| (line, twig)));
                            matcher.reset();
                        });
                        ids.len()
                    },
                );
                found.sum()
            };
            let (seconds, found) = self.time(|| Ok(if threads == 1 { one.install(run) } else { run() }))?;
            ensure!(*want.get_or_insert(found) == found, "the CPU finds {found}");
            show("cpu", threads, seconds, (part, found))?;
        }
        let (Some(cuda), Some(locked)) = (self.cuda, locked) else { return Ok(()) };
        let (compiled, names) = (Compiled::of(&set), Names::of(&set));
        let parts = cut(locked, PARTITION_BYTES);
        let mut stages = Vec::new();
        for _ in 0..WORKERS {
            stages.push(TwigLinesStage::new(cuda.queue()?, &compiled, &names)?);
        }
        let (seconds, found) = self.time(|| {
            let next = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                let workers: Vec<_> = (stages.iter_mut())
                    .map(|stage| {
                        let (parts, next, set) = (&parts, &next, &set);
                        scope.spawn(move || -> Result<usize> {
                            let mut found = 0;
                            while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                                let answer = stage.run(part)?;
                                ensure!(answer.unfit.is_empty(), "records that do not fit");
                                found += set.answers(&answer.matched).len();
                            }
                            Ok(found)
                        })
                    })
                    .collect();
                workers.into_iter().map(|worker| worker.join().expect("no panic")).sum()
            })
        })?;
        show("gpu", WORKERS, seconds, (text, found))?;
        // The CPU has read the beginning only. The device's result for it must be the same.
        let answer = stages[0].run(part)?;
        ensure!(Some(set.answers(&answer.matched).len()) == want, "the device finds others");
        let stage = &mut stages[0];
        stage.device().start_timeline();
        stage.run(parts[0])?;
        let (kernels, total) = stage.device().take_timeline()?;
        let kernels: Vec<String> =
            kernels.iter().map(|kernel| format!("{} {:.3}", kernel.name, kernel.milliseconds)).collect();
        println!("    one partition of {} bytes: {total:.3} ms; {}", parts[0].len(), kernels.join(", "));
        Ok(())
    }
}

/// Cuts a text into parts of whole lines, each of about `bytes` bytes.
fn cut(text: &[u8], bytes: usize) -> Vec<&[u8]> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let near = bytes.min(rest.len());
        let end = rest[near..].iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| near + at + 1);
        let (part, behind) = rest.split_at(end);
        parts.push(part);
        rest = behind;
    }
    parts
}
