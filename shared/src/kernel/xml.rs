//! The kernels that read XML ([`crate::xml`]).

use super::launch::{Kernel, SizeError, Sizes, blocks_for};
use super::scan::{LookBack, scan_tiles};
use crate::twig::dictionary::Dictionary;
use crate::twig::{Op, Task};
use crate::units::WORD_BYTES;
use crate::view::{View, ViewMut};
use crate::xml::node::XmlNode;
use crate::xml::program::XmlOpen;
use crate::xml::{MAX_XML_BYTES, XmlEvent, XmlMap};

/// Threads of a block of [`XmlOps`].
pub const XML_OPS_THREADS: usize = 64;

/// Documents of XML, one after the other.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct XmlBatch<'a> {
    /// The text of the documents, padded to whole words with at least one zero. 16-byte aligned.
    pub text: View<'a, u8>,
    /// The offset of each document, ascending, and at the end the length of the text.
    pub documents: View<'a, u32>,
}

impl XmlBatch<'_> {
    /// The number of words.
    #[inline(always)]
    #[must_use]
    pub const fn words(&self) -> usize {
        self.text.len() / WORD_BYTES
    }

    /// The number of documents.
    #[inline(always)]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.documents.len() - 1
    }

    /// Returns whether there are no documents.
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn check(&self, sizes: &Sizes) -> Result<(), SizeError> {
        sizes.at_least("text ≥ a word", self.text.len(), WORD_BYTES)?;
        sizes.equal("text = whole words", self.text.len() % WORD_BYTES, 0)?;
        sizes.at_least("2²⁸ + a word ≥ text", MAX_XML_BYTES + WORD_BYTES, self.text.len())?;
        sizes.at_least("documents ≥ 1", self.documents.len(), 2)
    }
}

/// The status of a document.
pub mod fitness {
    /// The kernels found nothing for which the host must read the document.
    pub const FIT: u32 = 0;
    /// The host must read the document.
    pub const UNFIT: u32 = 1;
    /// The program of the document did not fit.
    pub const NO_ROOM: u32 = 2;
}

/// Finds the state before each word. One thread per word.
pub struct XmlStates;

/// Arguments of [`XmlStates`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct XmlStatesArgs<'a> {
    /// The documents.
    pub batch: XmlBatch<'a>,
    /// The [`state`](mod@crate::xml::state) before each word.
    pub states: ViewMut<'a, u8>,
    /// Scratch memory of the scan.
    pub look_back: LookBack<'a, XmlMap>,
}

// SAFETY: the entry in `gpu/src/kernel/xml.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for XmlStates {
    type Args<'a> = XmlStatesArgs<'a>;
    const NAME: &'static str = "xml_states";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        scan_tiles(args.batch.words()) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        args.batch.check(&sizes)?;
        sizes.equal("states = words", args.states.len(), args.batch.words())?;
        args.look_back.check(Self::NAME, args.batch.words())
    }
}

/// Finds events. Finds also the documents that are not UTF-8, or that contain an unknown reference. One
/// thread per word.
pub struct XmlEvents;

/// Arguments of [`XmlEvents`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct XmlEventsArgs<'a> {
    /// The documents.
    pub batch: XmlBatch<'a>,
    /// The states from [`XmlStates`].
    pub states: View<'a, u8>,
    /// All events, in the order of the text. Events without room are only counted.
    pub events: ViewMut<'a, XmlEvent>,
    /// The number of events: one element.
    pub count: ViewMut<'a, u32>,
    /// The status of each document ([`fitness`]). Zero before the launch.
    pub fitness: ViewMut<'a, u32>,
    /// Scratch memory of the scan.
    pub look_back: LookBack<'a, u64>,
}

// SAFETY: the entry in `gpu/src/kernel/xml.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for XmlEvents {
    type Args<'a> = XmlEventsArgs<'a>;
    const NAME: &'static str = "xml_events";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        scan_tiles(args.batch.words()) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        args.batch.check(&sizes)?;
        sizes.equal("states = words", args.states.len(), args.batch.words())?;
        sizes.equal("count = 1", args.count.len(), 1)?;
        sizes.equal("fitness = documents", args.fitness.len(), args.batch.len())?;
        args.look_back.check(Self::NAME, args.batch.words())
    }
}

/// Determines the kind of each event, and looks names up. One thread per event.
pub struct XmlNodes;

/// Arguments of [`XmlNodes`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct XmlNodesArgs<'a> {
    /// The documents.
    pub batch: XmlBatch<'a>,
    /// The names and values that twigs test.
    pub dictionary: Dictionary<'a>,
    /// The events from [`XmlEvents`].
    pub events: View<'a, XmlEvent>,
    /// The number of events from [`XmlEvents`].
    pub count: View<'a, u32>,
    /// The node of each event.
    pub nodes: ViewMut<'a, XmlNode>,
    /// The status of each document ([`fitness`]).
    pub fitness: ViewMut<'a, u32>,
}

// SAFETY: the entry in `gpu/src/kernel/xml.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for XmlNodes {
    type Args<'a> = XmlNodesArgs<'a>;
    const NAME: &'static str = "xml_nodes";
    fn blocks(args: &Self::Args<'_>) -> u32 {
        blocks_for(args.events.len())
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let sizes = Sizes(Self::NAME);
        args.batch.check(&sizes)?;
        args.dictionary.check(&sizes)?;
        sizes.equal("nodes = events", args.nodes.len(), args.events.len())?;
        sizes.equal("count = 1", args.count.len(), 1)?;
        sizes.equal("fitness = documents", args.fitness.len(), args.batch.len())
    }
}

/// Makes the programs of documents. One thread per document, or several threads, of which one works.
pub struct XmlOps;

/// Arguments of [`XmlOps`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct XmlOpsArgs<'a> {
    /// The documents.
    pub batch: XmlBatch<'a>,
    /// The names and values that twigs test.
    pub dictionary: Dictionary<'a>,
    /// The events from [`XmlEvents`].
    pub events: View<'a, XmlEvent>,
    /// The number of events from [`XmlEvents`]. If there was no room for all events, no program is made.
    pub count: View<'a, u32>,
    /// The nodes from [`XmlNodes`].
    pub nodes: View<'a, XmlNode>,
    /// Scratch memory for the open elements, each at the position of its node.
    pub opens: ViewMut<'a, XmlOpen>,
    /// The status of each document ([`fitness`]). A document that is unfit remains unfit.
    pub fitness: ViewMut<'a, u32>,
    /// The programs. If document *d* has its first event *e*, its program begins at [`Self::ops_an_event`]
    /// (*e* + *d*). Its room ends where the room of the next document begins.
    pub ops: ViewMut<'a, Op>,
    /// The program of each document. Empty if the document is not fit.
    pub tasks: ViewMut<'a, Task>,
    /// The room for operations, for each event and document.
    pub ops_an_event: u32,
    /// The number of threads of a document: a power of two up to 32. The first thread works.
    pub threads_a_document: u32,
}

// SAFETY: the entry in `gpu/src/kernel/xml.rs` takes one `Args` by value. It stays within its views for
// arguments that `check` accepts.
unsafe impl Kernel for XmlOps {
    type Args<'a> = XmlOpsArgs<'a>;
    const NAME: &'static str = "xml_ops";
    const THREADS: usize = XML_OPS_THREADS;
    fn blocks(args: &Self::Args<'_>) -> u32 {
        (args.batch.len() * args.threads_a_document as usize).div_ceil(XML_OPS_THREADS) as u32
    }
    fn check(args: &Self::Args<'_>) -> Result<(), SizeError> {
        let (sizes, documents) = (Sizes(Self::NAME), args.batch.len());
        args.batch.check(&sizes)?;
        args.dictionary.check(&sizes)?;
        sizes.equal("nodes = events", args.nodes.len(), args.events.len())?;
        sizes.equal("open elements = events", args.opens.len(), args.events.len())?;
        sizes.equal("count = 1", args.count.len(), 1)?;
        sizes.equal("fitness = documents", args.fitness.len(), documents)?;
        sizes.equal("tasks = documents", args.tasks.len(), documents)?;
        let threads = args.threads_a_document as usize;
        sizes.holds(
            "threads a document = 1, 2, … 32",
            threads.is_power_of_two() && threads <= 32,
            threads,
            32,
        )?;
        let room = args.ops_an_event as usize;
        sizes.at_least("room ≥ 1", room, 1)?;
        let ops = room * (args.events.len() + documents);
        sizes.at_least("operations ≥ room × (events + documents)", args.ops.len(), ops)?;
        sizes.at_least("2³² > operations", u32::MAX as usize, ops)
    }
}
