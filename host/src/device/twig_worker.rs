//! Subscriptions asked of partitions and of documents by a worker of a device's.

use std::sync::Arc;

use super::Accelerator;
use super::twig::{TwigStage, TwigTasks};
use super::twig_lines::{LinesMatched, TwigLinesStage};
use crate::error::Error;
use crate::twig::encode::Encoder;
use crate::twig::standing::{CpuTwigs, DocumentFault, Documents, Found, Snapshot, TwigWorker, read};

/// Asks subscriptions on a queue of its own. What is out of the ordinary it asks on the CPU.
pub(super) struct DeviceTwigs<A: Accelerator> {
    queue: A,
    cpu: CpuTwigs,
    /// What the device has of the subscriptions that were asked last.
    lines: Option<(Arc<Snapshot>, TwigLinesStage<A>)>,
    documents: Option<(Arc<Snapshot>, TwigStage<A>)>,
}

impl<A: Accelerator> DeviceTwigs<A> {
    /// On a queue.
    pub fn new(queue: A) -> Self {
        Self { queue, cpu: CpuTwigs::default(), lines: None, documents: None }
    }
}

/// What a device has of some subscriptions, made anew where it has others.
fn made<'a, S>(
    kept: &'a mut Option<(Arc<Snapshot>, S)>,
    subscriptions: &Arc<Snapshot>,
    make: impl FnOnce() -> Result<S, Error>,
) -> Result<&'a mut S, Error> {
    let same = kept.take().filter(|(of, _)| Arc::ptr_eq(of, subscriptions));
    let same = match same {
        Some(same) => same,
        None => (subscriptions.clone(), make()?),
    };
    Ok(&mut kept.insert(same).1)
}

impl<A: Accelerator> TwigWorker for DeviceTwigs<A> {
    fn lines(&mut self, subscriptions: &Arc<Snapshot>, text: &[u8]) -> Result<Found, Error> {
        let Self { queue, cpu, lines, .. } = self;
        let stage = made(lines, subscriptions, || {
            let (twigs, names) = subscriptions.arrays();
            TwigLinesStage::new(queue.queue()?, twigs, names)
        })?;
        let LinesMatched { matched, unfit, faults, lines } = stage.run(text)?;
        let mut found = Found { lines: lines as u32, pairs: subscriptions.pairs(&matched), faults };
        ask_unfit(subscriptions, cpu, text, unfit, &mut found);
        Ok(found)
    }

    /// The host reads the document, and the device asks it, in parts if it is large.
    fn document(
        &mut self,
        subscriptions: &Arc<Snapshot>,
        text: &[u8],
        documents: Documents,
    ) -> Result<Result<Found, DocumentFault>, Error> {
        if documents == Documents::Ndjson {
            return self.lines(subscriptions, text).map(Ok);
        }
        let mut encoder = Encoder::new(subscriptions.set());
        if let Err(fault) = read(text, documents, &mut encoder) {
            return Ok(Err(fault));
        }
        encoder.finish(0);
        let programs = encoder.programs();
        if !programs.deep.is_empty() {
            return self.cpu.document(subscriptions, text, documents);
        }
        let Self { queue, documents, .. } = self;
        let stage =
            made(documents, subscriptions, || TwigStage::new(queue.queue()?, &subscriptions.arrays().0))?;
        let matched = stage.run(TwigTasks {
            ops: &programs.ops,
            tasks: &programs.tasks,
            merges: &programs.merges,
            kept: programs.kept,
        })?;
        Ok(Ok(Found { lines: 1, pairs: subscriptions.pairs(&matched), faults: Vec::new() }))
    }
}

/// Asks the CPU of lines that the device leaves to the host.
fn ask_unfit(
    subscriptions: &Snapshot,
    cpu: &mut CpuTwigs,
    text: &[u8],
    mut unfit: Vec<u32>,
    found: &mut Found,
) {
    if unfit.is_empty() {
        return;
    }
    unfit.sort_unstable();
    let mut matcher = subscriptions.matcher();
    let mut unfit = unfit.into_iter().peekable();
    let mut of_cpu = Found::default();
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', text).map(|newline| newline + 1).chain([text.len()]);
    for (line, end) in (0..).zip(ends) {
        if unfit.next_if_eq(&line).is_some() {
            of_cpu.lines = line;
            cpu.add_lines(&mut matcher, &text[start..end], &mut of_cpu);
        }
        if unfit.peek().is_none() {
            break;
        }
        start = end;
    }
    // Faulty ones the device has found itself.
    found.pairs.append(&mut of_cpu.pairs);
    found.pairs.sort_unstable();
}
