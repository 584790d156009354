//! The kernels that read XML ([`crate::xml`]).

use super::{Kernel, LookBack, SizeError, Sizes, blocks_for, scan_tiles};
use crate::twig::dictionary::Dictionary;
use crate::twig::{Op, Task};
use crate::units::WORD_BYTES;
use crate::view::{View, ViewMut};
use crate::xml::node::XmlNode;
use crate::xml::program::XmlOpen;
use crate::xml::{MAX_XML_BYTES, XmlEvent, XmlMap};

/// Threads of a block of [`XmlOps`].
pub const XML_OPS_THREADS: usize = 64;

/// Documents of XML, one behind the other.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct XmlBatch<'a> {
    /// Their text, padded with zeros, of which there is one at least, to whole words. 16-byte aligned.
    pub text: View<'a, u8>,
    /// Where each begins, ascending; and how long the text is.
    pub documents: View<'a, u32>,
}

impl XmlBatch<'_> {
    /// How many words there are.
    #[inline(always)]
    #[must_use]
    pub const fn words(&self) -> usize {
        self.text.len() / WORD_BYTES
    }

    /// How many documents there are.
    #[inline(always)]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.documents.len() - 1
    }

    /// Whether there are none.
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

/// What is said of a document.
pub mod fitness {
    /// Nothing was found that the host would have to read.
    pub const FIT: u32 = 0;
    /// The host has to read it.
    pub const UNFIT: u32 = 1;
    /// There was no room for its program.
    pub const NO_ROOM: u32 = 2;
}

/// Finds the state before each word. A thread a word.
pub struct XmlStates;

/// Arguments of [`XmlStates`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct XmlStatesArgs<'a> {
    /// The documents.
    pub batch: XmlBatch<'a>,
    /// For each word the [`state`](mod@crate::xml::state) before it.
    pub states: ViewMut<'a, u8>,
    /// Scratch.
    pub look_back: LookBack<'a, XmlMap>,
}

// SAFETY: `gpu/src/kernel/xml.rs` defines the entry so.
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

/// Finds events, and documents that are not UTF-8 or refer to what is not known. A thread a word.
pub struct XmlEvents;

/// Arguments of [`XmlEvents`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct XmlEventsArgs<'a> {
    /// The documents.
    pub batch: XmlBatch<'a>,
    /// As [`XmlStates`] leaves them.
    pub states: View<'a, u8>,
    /// All events, in the order of the text; those for which there is no room are counted only.
    pub events: ViewMut<'a, XmlEvent>,
    /// One: how many there are.
    pub count: ViewMut<'a, u32>,
    /// What is said of each document ([`fitness`]). Zero before.
    pub fitness: ViewMut<'a, u32>,
    /// Scratch.
    pub look_back: LookBack<'a, u64>,
}

// SAFETY: `gpu/src/kernel/xml.rs` defines the entry so.
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

/// Says what events are, and looks names up. A thread an event.
pub struct XmlNodes;

/// Arguments of [`XmlNodes`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct XmlNodesArgs<'a> {
    /// The documents.
    pub batch: XmlBatch<'a>,
    /// What twigs ask of names and values.
    pub dictionary: Dictionary<'a>,
    /// As [`XmlEvents`] leaves them.
    pub events: View<'a, XmlEvent>,
    /// As [`XmlEvents`] leaves it.
    pub count: View<'a, u32>,
    /// What each event is.
    pub nodes: ViewMut<'a, XmlNode>,
    /// What is said of each document.
    pub fitness: ViewMut<'a, u32>,
}

// SAFETY: `gpu/src/kernel/xml.rs` defines the entry so.
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

/// Makes programs of documents. A thread a document, or some of which one works.
pub struct XmlOps;

/// Arguments of [`XmlOps`].
#[derive(Clone, Copy)]
#[repr(C)]
pub struct XmlOpsArgs<'a> {
    /// The documents.
    pub batch: XmlBatch<'a>,
    /// What twigs ask of names and values.
    pub dictionary: Dictionary<'a>,
    /// As [`XmlEvents`] leaves them.
    pub events: View<'a, XmlEvent>,
    /// As [`XmlEvents`] leaves it. Where there was no room for all of them, no program is made.
    pub count: View<'a, u32>,
    /// As [`XmlNodes`] leaves them.
    pub nodes: View<'a, XmlNode>,
    /// What is kept of elements that are open, at their nodes.
    pub opens: ViewMut<'a, XmlOpen>,
    /// What is said of each document: those that are unfit stay so.
    pub fitness: ViewMut<'a, u32>,
    /// Where document *d* has its first event *e*, its program begins at [`Self::ops_an_event`] (*e* + *d*), and has as much room as is before the next.
    pub ops: ViewMut<'a, Op>,
    /// The program of each document: nothing where it is not fit.
    pub tasks: ViewMut<'a, Task>,
    /// Room for operations, for each event and document.
    pub ops_an_event: u32,
    /// Threads of a document, a power of two up to 32, of which the first works.
    pub threads_a_document: u32,
}

// SAFETY: `gpu/src/kernel/xml.rs` defines the entry so.
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
