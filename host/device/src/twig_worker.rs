//! A device worker that evaluates subscriptions on partitions and documents.

use std::sync::Arc;

use warpath_answer::buffer::Buffer;
use warpath_answer::stage::Stage;
use warpath_core::error::Error;
use warpath_cpu::twig::encode::Encoder;
use warpath_cpu::twig::standing::{
    CpuTwigs, DocumentFault, DocumentMatches, Documents, Snapshot, TwigForm, TwigWorker,
};
use warpath_shared::twig::Matched;

use super::twig::{TwigStage, TwigTasks};
use super::twig_lines::{LinesMatched, TwigLinesStage};
use super::twig_xml::{TwigXmlStage, XmlMatched};
use super::{Accelerator, Queues, stages};

impl<A: Accelerator> TwigForm for Queues<A> {
    fn worker(&self, _number: usize) -> Result<Box<dyn TwigWorker + '_>, Error> {
        Ok(Box::new(DeviceTwigs::new(self.0.queue()?)))
    }

    fn stages(&self, documents: Documents) -> Vec<Stage> {
        stages::of_documents(documents).into_iter().map(|row| row.stage(0)).collect()
    }
}

/// Evaluates subscriptions on its own queue. Unusual documents are evaluated on the CPU.
struct DeviceTwigs<A: Accelerator> {
    queue: A,
    cpu: CpuTwigs,
    /// The stages of the subscriptions that were evaluated last.
    lines: Option<(Arc<Snapshot>, TwigLinesStage<A>)>,
    documents: Option<(Arc<Snapshot>, TwigStage<A>)>,
    xml: Option<(Arc<Snapshot>, TwigXmlStage<A>)>,
    /// The buffer in which a batch of XML is put together.
    batch: Option<Buffer>,
}

impl<A: Accelerator> DeviceTwigs<A> {
    fn new(queue: A) -> Self {
        Self { queue, cpu: CpuTwigs::default(), lines: None, documents: None, xml: None, batch: None }
    }
}

/// The stage of the given subscriptions. It is made again if `kept` is of other subscriptions.
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
    fn lines(&mut self, subscriptions: &Arc<Snapshot>, text: &[u8]) -> Result<DocumentMatches, Error> {
        let Self { queue, cpu, lines, .. } = self;
        let stage = made(lines, subscriptions, || {
            let (twigs, names) = subscriptions.arrays();
            TwigLinesStage::new(queue.queue()?, twigs, names)
        })?;
        let LinesMatched { matched, unfit, faults, lines } = stage.run(text)?;
        let mut found = DocumentMatches {
            lines: lines as u32,
            pairs: subscriptions.pairs(&matched),
            faults,
            ..DocumentMatches::default()
        };
        ask_unfit(subscriptions, cpu, text, unfit, &mut found);
        Ok(found)
    }

    fn documents(
        &mut self,
        subscriptions: &Arc<Snapshot>,
        texts: &[&[u8]],
        documents: Documents,
    ) -> Result<Vec<Result<DocumentMatches, DocumentFault>>, Error> {
        let mut found = vec![None; texts.len()];
        let mut to_read: Vec<usize> = (0..texts.len()).collect();
        if documents == Documents::Xml {
            let small;
            (small, to_read) = to_read.into_iter().partition(|number| texts[*number].len() <= LARGEST_XML);
            for batch in batches(&small, texts) {
                to_read.append(&mut self.xml(subscriptions, texts, batch, &mut found)?);
            }
        }
        self.read_by_host(subscriptions, texts, &to_read, documents, &mut found)?;
        Ok(found
            .into_iter()
            .map(|found| found.unwrap_or_else(|| Ok(DocumentMatches::of_document([].into_iter()))))
            .collect())
    }
}

/// The results of documents that are known so far.
type Answers = [Option<Result<DocumentMatches, DocumentFault>>];

/// The largest XML document that the device reads; the host reads larger ones. One thread of the device reads
/// all events of a document, at about 20 MB/s, which is fast only for thousands of documents.
const LARGEST_XML: usize = 128 << 10;
/// The most bytes of XML in a batch. A batch of one document may be larger.
const XML_BATCH: usize = 32 << 20;

/// Divides documents into batches of whole documents.
fn batches<'a>(numbers: &'a [usize], texts: &[&[u8]]) -> Vec<&'a [usize]> {
    let (mut batches, mut begin, mut bytes) = (Vec::new(), 0, 0);
    for (at, number) in numbers.iter().enumerate() {
        if bytes + texts[*number].len() > XML_BATCH && at > begin {
            batches.push(&numbers[begin..at]);
            (begin, bytes) = (at, 0);
        }
        bytes += texts[*number].len();
    }
    if begin < numbers.len() {
        batches.push(&numbers[begin..]);
    }
    batches
}

impl<A: Accelerator> DeviceTwigs<A> {
    /// Evaluates XML documents on the device, from their text on. Returns the documents that it leaves to the
    /// host.
    fn xml(
        &mut self,
        subscriptions: &Arc<Snapshot>,
        texts: &[&[u8]],
        batch: &[usize],
        found: &mut Answers,
    ) -> Result<Vec<usize>, Error> {
        let Self { queue, xml, batch: buffer, .. } = self;
        let stage = made(xml, subscriptions, || {
            let (twigs, names) = subscriptions.arrays();
            TwigXmlStage::new(queue.queue()?, twigs, names)
        })?;
        let bytes = batch.iter().map(|number| texts[*number].len()).sum();
        let buffer = match buffer.take().filter(|buffer| buffer.len() >= bytes) {
            Some(kept) => buffer.insert(kept),
            None => buffer.insert(queue.host_buffer(bytes.next_power_of_two())?),
        };
        let (mut begins, mut end) = (Vec::with_capacity(batch.len()), 0);
        for number in batch {
            begins.push(end as u32);
            let text = texts[*number];
            buffer[end..end + text.len()].copy_from_slice(text);
            end += text.len();
        }
        let XmlMatched { matched, unfit } = stage.run(&buffer[..end], &begins)?;
        put(subscriptions, &matched, |document| batch[document], found);
        Ok(unfit.into_iter().map(|document| batch[document as usize]).collect())
    }

    /// Reads documents on the host and evaluates them on the device, large ones in parts.
    fn read_by_host(
        &mut self,
        subscriptions: &Arc<Snapshot>,
        texts: &[&[u8]],
        numbers: &[usize],
        documents: Documents,
        found: &mut Answers,
    ) -> Result<(), Error> {
        let mut encoder = Encoder::new(subscriptions.set());
        for number in numbers {
            match self.cpu.read(texts[*number], documents, &mut encoder) {
                Ok(true) => encoder.finish(*number as u32),
                Ok(false) => {
                    encoder.abandon();
                    found[*number] = Some(Ok(DocumentMatches::of_blank()));
                }
                Err(fault) => {
                    encoder.abandon();
                    found[*number] = Some(Err(fault));
                }
            }
        }
        let programs = encoder.programs();
        for number in programs.deep.iter().map(|number| *number as usize) {
            let one = self.cpu.documents(subscriptions, &texts[number..=number], documents)?;
            found[number] = one.into_iter().next();
        }
        if programs.tasks.is_empty() {
            return Ok(());
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
        put(subscriptions, &matched, |document| document, found);
        Ok(())
    }
}

/// Stores the matches that a device found in the results of their documents.
fn put(subscriptions: &Snapshot, matched: &[Matched], number: impl Fn(usize) -> usize, found: &mut Answers) {
    for pairs in subscriptions.pairs(matched).chunk_by(|a, b| a.0 == b.0) {
        let numbers = pairs.iter().map(|(_, number)| *number);
        found[number(pairs[0].0 as usize)] = Some(Ok(DocumentMatches::of_document(numbers)));
    }
}

/// Evaluates the lines that the device leaves to the host on the CPU.
fn ask_unfit(
    subscriptions: &Snapshot,
    cpu: &mut CpuTwigs,
    text: &[u8],
    mut unfit: Vec<u32>,
    found: &mut DocumentMatches,
) {
    if unfit.is_empty() {
        return;
    }
    unfit.sort_unstable();
    let mut matcher = subscriptions.matcher();
    let mut unfit = unfit.into_iter().peekable();
    let mut of_cpu = DocumentMatches::default();
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
    // Only the matches are taken from the CPU, because the device has found the faulty lines itself.
    found.pairs.append(&mut of_cpu.pairs);
    found.pairs.sort_unstable();
}
