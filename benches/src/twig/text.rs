//! Twigs of XML documents, from their text on.

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;
use warpath_cpu::twig::encode::{Compiled, Encoder};
use warpath_cpu::twig::names::Names;
use warpath_cpu::twig::{TwigSet, xml};
use warpath_device::{Accelerator as _, TwigStage, TwigTasks, TwigXmlStage};
use warpath_lang::twig::Twig;

use super::command::{Bench, documents, kernels, shared};
use crate::generate::twigs::{self, Twigs};
use crate::harness::machine;

impl Bench<'_> {
    /// Documents of about `size` bytes, from their text to their matches, on the CPU and on the device.
    pub fn xml_text(&self, size: usize) -> Result<()> {
        let count = self.cli.event_bytes / size as u64;
        let texts = documents(count, size);
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
            let chunks: Vec<&[String]> = texts.chunks(texts.len().div_ceil(4 * cores)).collect();
            shared(&mut workers, &chunks, |(encoder, stage), chunk| {
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
                Ok(set.answers(&matched).len())
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
                shared(&mut stages, &locked, |stage, (text, begins)| {
                    let answer = stage.run(text, begins)?;
                    ensure!(answer.unfit.is_empty(), "{} documents are left", answer.unfit.len());
                    Ok(set.answers(&answer.matched).len())
                })
            })?;
            ensure!(found == want, "the device finds {found}, not {want}");
            show("gpu", workers, seconds, found)?;
            let (text, begins) = &locked[0];
            let (kernels, total) =
                kernels(&mut stages[0], TwigXmlStage::device, |stage| stage.run(text, begins).map(drop))?;
            println!("    one batch of {} bytes: {total:.3} ms; {kernels}", text.len());
        }
        Ok(())
    }
}
