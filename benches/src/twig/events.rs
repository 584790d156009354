//! Twigs of JSON events, from the text in memory to the ids.

use anyhow::{Result, ensure};
use rayon::prelude::*;
use std::time::Instant;
use warpath_cpu::twig::encode::Compiled;
use warpath_cpu::twig::names::Names;
use warpath_cpu::twig::{TwigIx, TwigSet, json};
use warpath_device::{Accelerator as _, TwigLinesStage};
use warpath_lang::twig::Twig;

use super::command::{Bench, kernels, shared};
use crate::generate::event_twigs::{self, SubscriptionKind};
use crate::generate::{Shape, write_ndjson_with_threads};
use crate::harness::machine;

/// The number of bytes of events that a worker reads at a time; and the number of workers.
const PARTITION_BYTES: usize = 16 << 20;
const WORKERS: usize = 8;
/// The number of subscriptions up to which the CPU reads all events. With more of them it reads fewer events,
/// in proportion.
const ALL_EVENTS: usize = 1000;
/// The number of bytes of events that a thread of the CPU reads at a time.
const CHUNK_BYTES: usize = 256 << 10;

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

impl Bench<'_> {
    pub fn events(&self) -> Result<()> {
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
        for (kind, name) in [(SubscriptionKind::Exact, "exact"), (SubscriptionKind::Mixed, "mixed")] {
            for count in [1000, 3000, 10_000, 30_000, 100_000]
                .into_iter()
                .filter(|count| *count <= self.cli.most_subscriptions)
            {
                if count > 1000 && kind == SubscriptionKind::Mixed {
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
        (kind, name): (SubscriptionKind, &str),
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
                    || (json::LineReader::default(), set.matcher()),
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
            shared(&mut stages, &parts, |stage, part| {
                let answer = stage.run(part)?;
                ensure!(answer.unfit.is_empty(), "records that do not fit");
                Ok(set.answers(&answer.matched).len())
            })
        })?;
        show("gpu", WORKERS, seconds, (text, found))?;
        // The CPU has read the beginning only. The device's result for it must be the same.
        let answer = stages[0].run(part)?;
        ensure!(Some(set.answers(&answer.matched).len()) == want, "the device finds others");
        let (kernels, total) =
            kernels(&mut stages[0], TwigLinesStage::device, |stage| stage.run(parts[0]).map(drop))?;
        println!("    one partition of {} bytes: {total:.3} ms; {kernels}", parts[0].len());
        Ok(())
    }
}
