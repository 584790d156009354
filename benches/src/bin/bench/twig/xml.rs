//! Twigs of documents that are parsed before they are timed.

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use warpath_benches::generate::twigs;
use warpath_benches::harness::machine;
use warpath_core::plain::{bytes, elements};
use warpath_cpu::twig::encode::{Compiled, Encoder};
use warpath_cpu::twig::{Events, Name, TwigSet, xml};
use warpath_device::{Accelerator as _, TwigStage, TwigTasks};
use warpath_lang::twig::{Twig, Value};
use warpath_rivals::twig_seed::{SeedQueries, SeedStage};
use warpath_rivals::yfilter::YFilter;

use super::{Bench, Case, documents, kernels};

/// The number of queues over which the paper's kernel is spread. The paper uses streams in this way.
const STREAMS: usize = 16;
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
            Name::Element(name) | Name::Member(name) => (name, false),
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

impl Bench<'_> {
    pub fn xml(&self, case: Case) -> Result<()> {
        let Case { chart, queries, twigs: kind, documents, bytes: size } = case;
        let texts = self::documents(documents as u64, size);
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
        let (kernels, _) =
            kernels(&mut stage, TwigStage::device, |stage| stage.run_into(tasks, &mut matched))?;
        println!("    {} operations, {} tasks; {kernels}", programs.ops.len(), programs.tasks.len());
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
}
