//! Twigs asked of documents of XML, all on a device but for documents that are out of the ordinary.

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
use super::{Accelerator, ScanScratch, Slot, launch};
use crate::twig::encode::Compiled;
use crate::twig::names::Names;
use warpath_core::error::Error;

/// Bytes of text an event for which there is room at first. Where there are more, the first text with so many is read twice.
const BYTES_OF_AN_EVENT: usize = 8;
/// Room for operations for each event at first. An element has four, an attribute two, and most pass one row or two.
const OPS_AN_EVENT: usize = 3;
/// The most room for each event.
const MOST_OPS_AN_EVENT: usize = 48;
/// Threads for programs, about: where documents are fewer, each has more, up to a warp, of which one works. On an H100 programs of documents of 25 kB take a third of the time so; twice or four times as many threads make those of 5 kB slower.
const WRITERS: usize = 1 << 15;
/// Where there is no room for one document of so many, there is to be more.
const MANY_UNFIT: usize = 64;
/// Bytes of text a match for which there is room at first. Where there are more matches, programs run again.
const BYTES_OF_A_MATCH: usize = 64;

/// What documents match.
#[derive(Clone, Debug, Default)]
pub struct XmlMatched {
    /// What was found, in no order.
    pub matched: Vec<Matched>,
    /// Documents that the host has to read itself, ascending: malformed ones, and those in which anything is out of the ordinary. Nothing was found of them.
    pub unfit: Vec<u32>,
}

/// What asks twigs of documents of XML on a device, in arrays that are kept from batch to batch.
///
/// What it says of a document is what [`xml::read`](crate::twig::xml::read) and a matcher say. It leaves to the host: what that refuses; document types with declarations; references other than XML's own and to
/// the first 55,295 characters; values that are tested and have references, or stand in several stretches; programs of more than [`MAX_LEVELS`](warpath_shared::twig::MAX_LEVELS) levels; and what is very long.
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
    /// How many events there are.
    count: Slot<A, u32>,
    /// What is said of each document.
    fitness: Slot<A, u32>,
    ops: Slot<A, Op>,
    tasks: Slot<A, Task>,
    /// For how many matches and events there is room.
    room: usize,
    events_room: usize,
    ops_an_event: usize,
}

impl<A: Accelerator> TwigXmlStage<A> {
    /// On a queue, with these twigs.
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

    /// With room for so many matches at first.
    #[must_use]
    pub fn with_room(mut self, matches: usize) -> Self {
        self.room = matches.max(1);
        self
    }

    /// The queue.
    pub fn device(&self) -> &A {
        &self.device
    }

    /// Asks documents, which begin in the text where `documents` says: each ends where the next begins, the last with the text. They are numbered in this order. Waits.
    ///
    /// A copy of what is page-locked is as fast as the bus.
    ///
    /// # Errors
    /// [`Error::Device`], where memory is short too; [`Error::Internal`] for 256 MiB or 2²⁸ documents, or if documents do not begin one behind the other, within the text.
    pub fn run(&mut self, text: &[u8], documents: &[u32]) -> Result<XmlMatched, Error> {
        if text.len() >= MAX_XML_BYTES {
            return Err(Error::Internal(format!("a batch of {} bytes of XML", text.len())));
        }
        let ends = documents.iter().skip(1).copied().chain([text.len() as u32]);
        if documents.iter().zip(ends).any(|(begin, end)| *begin > end) {
            return Err(Error::Internal("documents that do not begin one behind the other".into()));
        }
        if documents.len() > Op::MAX_OPERAND as usize {
            return Err(Error::Internal(format!("a batch of {} documents", documents.len())));
        }
        if documents.is_empty() {
            return Ok(XmlMatched::default());
        }
        // SAFETY: the text and the documents are borrowed until this returns, and it waits below.
        let answer =
            unsafe { self.load(text, documents) }.and_then(|()| self.ask(text.len(), documents.len()));
        // Whatever failed, nobody reads them any more.
        self.device.wait()?;
        answer
    }

    /// Copies a batch to the device.
    ///
    /// # Safety
    /// What is copied stays where it is, and as it is, until the device has been waited for.
    unsafe fn load(&mut self, text: &[u8], documents: &[u32]) -> Result<(), Error> {
        let device = &self.device;
        let padded = padded(text.len());
        let buffer = self.text.room(device, padded)?;
        // SAFETY: the caller's promise is the same.
        unsafe { device.upload_later(buffer, 0, text) }?;
        device.zero(buffer, text.len(), padded)?;
        let buffer = self.documents.room(device, documents.len() + 1)?;
        // SAFETY: as above.
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

    /// Finds the events of a batch that is on the device, and what they are, as far as there is room.
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
        launch::<A, XmlStates>(device, &XmlStatesArgs { batch, states, look_back })?;
        let args = XmlEventsArgs {
            batch,
            states: device.view(self.states.get()?, words),
            events: device.view_mut(self.events.get_mut()?, room),
            count: device.view_mut(self.count.get_mut()?, 1),
            fitness: device.view_mut(self.fitness.get_mut()?, documents),
            look_back: self.count_scan.start(device, words)?,
        };
        launch::<A, XmlEvents>(device, &args)?;
        let args = XmlNodesArgs {
            batch,
            dictionary: self.dictionary.view(device)?,
            events: device.view(self.events.get()?, room),
            count: device.view(self.count.get()?, 1),
            nodes: device.view_mut(self.nodes.get_mut()?, room),
            fitness: device.view_mut(self.fitness.get_mut()?, documents),
        };
        launch::<A, XmlNodes>(device, &args)
    }

    /// Makes programs of documents whose events are known, and runs them. How many events there are: no programs, if that is more than there is room for.
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
        launch::<A, XmlOps>(device, &args)?;
        let (ops, tasks) = (device.view(self.ops.get()?, ops), device.view(self.tasks.get()?, documents));
        let mut count = [0];
        let numbers = &mut [(&self.count, &mut count[..]), (&self.fitness, fitness)];
        self.groups.ask(device, &mut self.room, matched, numbers, |groups| {
            if groups.is_empty() {
                return Ok(());
            }
            launch::<A, TwigMatch>(device, &groups.args(device, ops, tasks, 0)?)
        })?;
        Ok(count[0] as usize)
    }
}

/// The size of the buffer that holds so many bytes of text, one zero at least and the padding up to a word.
const fn padded(bytes: usize) -> usize {
    (bytes + 1).next_multiple_of(WORD_BYTES)
}
