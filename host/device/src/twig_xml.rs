//! Twigs evaluated on XML documents on a device. The host reads only unusual documents.

use warpath_core::error::Error;
use warpath_cpu::twig::encode::Compiled;
use warpath_cpu::twig::names::Names;
use warpath_shared::kernel::{
    TwigMatch, XmlBatch, XmlEvents, XmlEventsArgs, XmlNodes, XmlNodesArgs, XmlOps, XmlOpsArgs, XmlStates,
    XmlStatesArgs, fitness,
};
use warpath_shared::twig::{Matched, Op, Task};
use warpath_shared::units::WORD_BYTES;
use warpath_shared::xml::node::XmlNode;
use warpath_shared::xml::program::XmlOpen;
use warpath_shared::xml::{MAX_XML_BYTES, XmlEvent, XmlMap};

use super::dictionary::DictionaryStage;
use super::twig::GroupStage;
use super::{Accelerator, ScanScratch, Slot, launch, stages};

/// Bytes of text for each event in the initial room. The first text with more events is read twice.
const BYTES_OF_AN_EVENT: usize = 8;
/// The initial room for operations for each event. An element has four events, an attribute two, and most
/// pass one row or two.
const OPS_AN_EVENT: usize = 3;
/// The largest room for operations for each event.
const MOST_OPS_AN_EVENT: usize = 48;
/// The approximate number of threads that write programs. If documents are fewer, each has several threads,
/// up to a warp, of which one works. On an H100 this reduces the time for programs of documents of 25 kB to a
/// third. Twice or four times as many threads make those of 5 kB slower.
const WRITERS: usize = 1 << 15;
/// The part of the documents, as a divisor, that may lack room. If more documents lack room, the room grows.
const MANY_UNFIT: usize = 64;
/// Bytes of text for each match in the initial room. If there are more matches, the programs run again.
const BYTES_OF_A_MATCH: usize = 64;

/// The matches of documents.
#[derive(Clone, Debug, Default)]
pub struct XmlMatched {
    /// The matches, in no order.
    pub matched: Vec<Matched>,
    /// Documents that the host has to read itself, ascending: malformed and unusual ones. They have no
    /// matches here.
    pub unfit: Vec<u32>,
}

/// Evaluates twigs on XML documents on a device, in arrays that are kept from batch to batch.
///
/// The results equal those of [`xml::read`](warpath_cpu::twig::xml::read) and a matcher. The host reads the
/// documents that contain one of these:
///
/// * text that [`xml::read`](warpath_cpu::twig::xml::read) refuses;
/// * document types with declarations;
/// * references other than XML's own and those to the first 55,295 characters;
/// * tested values that have references or are in several stretches;
/// * programs of more than [`MAX_LEVELS`](warpath_shared::twig::MAX_LEVELS) levels;
/// * very long parts.
pub struct TwigXmlStage<A: Accelerator> {
    device: A,
    groups: GroupStage<A>,
    dictionary: DictionaryStage<A>,
    text: Slot<A, u8>,
    documents: Slot<A, u32>,
    states: Slot<A, u8>,
    map_scan: ScanScratch<A, XmlMap>,
    count_scan: ScanScratch<A, u64>,
    events: Slot<A, XmlEvent>,
    nodes: Slot<A, XmlNode>,
    opens: Slot<A, XmlOpen>,
    /// The number of events.
    count: Slot<A, u32>,
    /// The fitness of each document: the reason why the host has to read it, if there is one.
    fitness: Slot<A, u32>,
    ops: Slot<A, Op>,
    tasks: Slot<A, Task>,
    /// The room for matches and for events.
    room: usize,
    events_room: usize,
    ops_an_event: usize,
}

impl<A: Accelerator> TwigXmlStage<A> {
    /// Makes a stage for these twigs on a queue.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn new(device: A, twigs: &Compiled, names: &Names) -> Result<Self, Error> {
        let (groups, dictionary) = (GroupStage::new(&device, twigs)?, DictionaryStage::new(&device, names)?);
        Ok(Self {
            device,
            groups,
            dictionary,
            text: Slot::default(),
            documents: Slot::default(),
            states: Slot::default(),
            map_scan: ScanScratch::default(),
            count_scan: ScanScratch::default(),
            events: Slot::default(),
            nodes: Slot::default(),
            opens: Slot::default(),
            count: Slot::default(),
            fitness: Slot::default(),
            ops: Slot::default(),
            tasks: Slot::default(),
            room: 0,
            events_room: 0,
            ops_an_event: OPS_AN_EVENT,
        })
    }

    /// Sets the initial room, in matches.
    #[must_use]
    pub fn with_room(mut self, matches: usize) -> Self {
        self.room = matches.max(1);
        self
    }

    /// The queue.
    pub fn device(&self) -> &A {
        &self.device
    }

    /// Evaluates documents that begin at the offsets in `documents`. Each ends where the next begins, and the
    /// last ends with the text. The documents are numbered in this order. Waits.
    ///
    /// A copy from pinned memory is as fast as the bus.
    ///
    /// # Errors
    /// [`Error::Device`], also if memory is short; [`Error::Internal`] for 256 MiB of text, for 2²⁸
    /// documents, or if the offsets are not ascending and within the text.
    pub fn run(&mut self, text: &[u8], documents: &[u32]) -> Result<XmlMatched, Error> {
        if text.len() >= MAX_XML_BYTES {
            return Err(Error::Internal(format!("a batch of {} bytes of XML", text.len())));
        }
        let ends = documents.iter().skip(1).copied().chain([text.len() as u32]);
        if documents.iter().zip(ends).any(|(begin, end)| *begin > end) {
            return Err(Error::Internal("the documents are not in ascending order".into()));
        }
        if documents.len() > Op::MAX_OPERAND as usize {
            return Err(Error::Internal(format!("a batch of {} documents", documents.len())));
        }
        if documents.is_empty() {
            return Ok(XmlMatched::default());
        }
        // SAFETY: the text and the documents are borrowed until this function returns, and it waits below.
        let answer =
            unsafe { self.load(text, documents) }.and_then(|()| self.ask(text.len(), documents.len()));
        // Even after an error, no copy reads the slices when the wait is over.
        self.device.wait()?;
        answer
    }

    /// Copies a batch to the device.
    ///
    /// # Safety
    /// The slices stay alive and unchanged until the device has been waited for.
    unsafe fn load(&mut self, text: &[u8], documents: &[u32]) -> Result<(), Error> {
        let device = &self.device;
        let padded = padded(text.len());
        let buffer = self.text.room(device, padded)?;
        // SAFETY: the caller guarantees this for the text.
        unsafe { device.upload_later(buffer, 0, text) }?;
        device.zero(buffer, text.len(), padded)?;
        let buffer = self.documents.room(device, documents.len() + 1)?;
        // SAFETY: the caller guarantees this for the documents.
        unsafe { device.upload_later(buffer, 0, documents) }?;
        device.upload(buffer, documents.len(), &[text.len() as u32])
    }

    fn ask(&mut self, bytes: usize, documents: usize) -> Result<XmlMatched, Error> {
        self.room = self.room.max(bytes / BYTES_OF_A_MATCH).max(1);
        self.events_room = self.events_room.max(bytes / BYTES_OF_AN_EVENT).max(1);
        let (mut matched, mut fitness) = (Vec::new(), vec![0; documents]);
        let (mut is_read, mut least) = (false, usize::MAX);
        loop {
            if !is_read {
                self.read(bytes, documents)?;
            }
            let events = self.match_documents(bytes, &mut matched, &mut fitness)?;
            is_read = events <= self.events_room;
            if !is_read {
                self.events_room = events + events / 4;
                continue;
            }
            let no_room = fitness.iter().filter(|said| **said == fitness::NO_ROOM).count();
            // More room may not help documents that pass very many tests.
            let helped = no_room < std::mem::replace(&mut least, no_room);
            let ops = 4 * self.ops_an_event * (self.events_room + documents);
            let may_grow = 4 * self.ops_an_event <= MOST_OPS_AN_EVENT && ops <= u32::MAX as usize;
            if no_room <= documents / MANY_UNFIT || !helped || !may_grow {
                break;
            }
            self.ops_an_event *= 4;
        }
        let unfit = (0..).zip(&fitness).filter(|(_, said)| **said != fitness::FIT);
        Ok(XmlMatched { matched, unfit: unfit.map(|(document, _)| document).collect() })
    }

    /// Finds the events of a batch that is on the device, and their nodes, as far as there is room.
    fn read(&mut self, bytes: usize, documents: usize) -> Result<(), Error> {
        let (device, padded, room) = (&self.device, padded(bytes), self.events_room);
        let words = padded / WORD_BYTES;
        self.states.room(device, words)?;
        self.events.room(device, room)?;
        self.nodes.room(device, room)?;
        self.opens.room(device, room)?;
        self.count.room(device, 1)?;
        device.zero(self.fitness.room(device, documents)?, 0, documents)?;
        let batch = XmlBatch {
            text: device.view(self.text.get()?, padded),
            documents: device.view(self.documents.get()?, documents + 1),
        };
        let look_back = self.map_scan.start(device, words)?;
        let states = device.view_mut(self.states.get_mut()?, words);
        launch::<A, stages::Xml, XmlStates>(device, &XmlStatesArgs { batch, states, look_back })?;
        let args = XmlEventsArgs {
            batch,
            states: device.view(self.states.get()?, words),
            events: device.view_mut(self.events.get_mut()?, room),
            count: device.view_mut(self.count.get_mut()?, 1),
            fitness: device.view_mut(self.fitness.get_mut()?, documents),
            look_back: self.count_scan.start(device, words)?,
        };
        launch::<A, stages::Xml, XmlEvents>(device, &args)?;
        let args = XmlNodesArgs {
            batch,
            dictionary: self.dictionary.view(device)?,
            events: device.view(self.events.get()?, room),
            count: device.view(self.count.get()?, 1),
            nodes: device.view_mut(self.nodes.get_mut()?, room),
            fitness: device.view_mut(self.fitness.get_mut()?, documents),
        };
        launch::<A, stages::Xml, XmlNodes>(device, &args)
    }

    /// Makes programs of documents whose events are known, and runs them. Returns the number of events. If
    /// there are more events than room, it makes no programs.
    fn match_documents(
        &mut self,
        bytes: usize,
        matched: &mut Vec<Matched>,
        fitness: &mut [u32],
    ) -> Result<usize, Error> {
        let (device, documents, room) = (&self.device, fitness.len(), self.events_room);
        let ops = self.ops_an_event * (room + documents);
        self.ops.room(device, ops)?;
        self.tasks.room(device, documents)?;
        let args = XmlOpsArgs {
            batch: XmlBatch {
                text: device.view(self.text.get()?, padded(bytes)),
                documents: device.view(self.documents.get()?, documents + 1),
            },
            dictionary: self.dictionary.view(device)?,
            events: device.view(self.events.get()?, room),
            count: device.view(self.count.get()?, 1),
            nodes: device.view(self.nodes.get()?, room),
            opens: device.view_mut(self.opens.get_mut()?, room),
            fitness: device.view_mut(self.fitness.get_mut()?, documents),
            ops: device.view_mut(self.ops.get_mut()?, ops),
            tasks: device.view_mut(self.tasks.get_mut()?, documents),
            ops_an_event: self.ops_an_event as u32,
            threads_a_document: (WRITERS / documents).clamp(1, 32).next_power_of_two() as u32,
        };
        launch::<A, stages::XmlPrograms, XmlOps>(device, &args)?;
        let (ops, tasks) = (device.view(self.ops.get()?, ops), device.view(self.tasks.get()?, documents));
        let mut count = [0];
        let numbers = &mut [(&self.count, &mut count[..]), (&self.fitness, fitness)];
        self.groups.ask(device, &mut self.room, matched, numbers, |groups| {
            if groups.is_empty() {
                return Ok(());
            }
            launch::<A, stages::Twigs, TwigMatch>(device, &groups.args(device, ops, tasks, 0)?)
        })?;
        Ok(count[0] as usize)
    }
}

/// The size of the buffer for `bytes` bytes of text, at least one zero, and the padding up to a word.
const fn padded(bytes: usize) -> usize {
    (bytes + 1).next_multiple_of(WORD_BYTES)
}
