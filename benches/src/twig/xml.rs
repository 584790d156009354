//! Twigs of documents that are parsed before they are timed.

use std::cell::OnceCell;

use anyhow::{Context as _, Result, ensure};
use warpath_core::plain::{bytes, elements};
use warpath_cpu::twig::encode::{Compiled, Encoder};
use warpath_cpu::twig::{Events, Name, TwigSet, xml};
use warpath_device::{Accelerator as _, TwigStage, TwigTasks};
use warpath_lang::twig::{Twig, Value};

use super::command::{Asked, Bench, Case, END, Pairs, Parsed, Processor, documents, kernels};
use crate::generate::twigs;
use crate::harness::machine;

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
        let mut set = TwigSet::default();
        for (number, twig) in asked.iter().enumerate() {
            ensure!(set.add(twig)?.number() == number, "twigs are numbered as they are added");
        }
        println!(
            "\n{chart}: {} twigs of {} nodes, {} splits, {} %; {documents} documents, {text_bytes} bytes, {events} events",
            queries.len(),
            kind.nodes,
            kind.splits,
            kind.percent
        );
        let want: OnceCell<Pairs> = OnceCell::new();
        let show = |what: &str, threads: usize, seconds: f64, mut found: Pairs| -> Result<()> {
            found.sort_unstable();
            let want = want.get_or_init(|| found.clone());
            ensure!(found == *want, "{what} finds {} pairs, not {}", found.len(), want.len());
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
        let asked = Asked::new(self, (&asked, &names), (&parsed, &texts), &show);
        let tags: Vec<_> = names.iter().map(|name| set.tag(*name)).collect();
        asked.on_cpu(
            "cpu",
            || set.matcher(),
            |matcher, events| {
                matcher.reset();
                for event in events {
                    if *event == END {
                        matcher.close(Value::None);
                    } else {
                        matcher.open_tag(tags[*event as usize]);
                    }
                }
                matcher.matches().map(|twig| twig.number() as u32).collect::<Vec<_>>()
            },
        )?;
        (self.more)(&asked, Processor::Cpu)?;
        let Some(cuda) = self.cuda else { return Ok(()) };
        let mut encoder = Encoder::new(&set);
        for (number, text) in texts.iter().enumerate() {
            xml::read(text, &mut encoder)?;
            encoder.finish(number as u32);
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
        asked.measure("gpu", 1, || {
            stage.run_into(tasks, &mut matched)?;
            let found = set.answers(&matched);
            Ok(found.iter().map(|(document, twig)| (*document, twig.number() as u32)).collect())
        })?;
        let (kernels, _) =
            kernels(&mut stage, TwigStage::device, |stage| stage.run_into(tasks, &mut matched))?;
        println!("    {} operations, {} tasks; {kernels} ms", programs.ops.len(), programs.tasks.len());
        (self.more)(&asked, Processor::Cuda)
    }
}
