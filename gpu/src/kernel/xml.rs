//! XML documents as programs for [`twig`](super::twig): [`warpath_shared::xml`].
//!
//! First comes the state before each word ([`xml_states`]), by a scan over the effect of each word on each
//! state. Then come the bytes that change the state, in the order of the text ([`xml_events`]), and the nodes
//! between them ([`xml_nodes`]). From the nodes come the programs ([`xml_ops`]).
//!
//! *Threads*: one thread a word of 64 bytes, twice; one thread an event; one thread a document. Where
//! documents are few, each document's thread has a warp to itself, because documents of one warp diverge most
//! of the time and wait for each other. Threads of a warp visit the bytes of their words that may change the
//! state, one byte each at a time. The beginnings of documents, and the document of a byte, are found by
//! search.
//! *Layout*: no stack; the state of an element, while another is open, is kept at its node.
//! *Overflow*: the number of events is not known in advance, so there is room for as many as the host
//! guesses. If there are more, they are counted, and no programs are made.
//! *Cost*, for a text of *n* bytes with *e* events: 2 *n* read, and the bytes around each event once more;
//! 4 *e* written; 16 *e* written and read for nodes; 4 to 8 bytes written for each operation.
//! *Measured* on an H100, 33.5 MB of documents of 1, 5 and 25 kB, with 256 twigs: states 0.10 ms, events
//! 0.13, nodes 0.19, programs 0.30, 0.51 and 1.29.
//! *Tried and lost*: programs by threads side by side, where documents are few: 3.48 ms for those of 25 kB.
//! With 160 or 80 registers a thread in place of 128: 0.79 and 1.03 ms for those of 5 kB.

use core::cell::Cell;

use cuda_std::atomic::mid::atomic_store_32_relaxed_device;
use cuda_std::kernel;
use cuda_std::shared::shared_array;
use cuda_std::thread::index_1d;
use warpath_shared::kernel::{XmlBatch, XmlEventsArgs, XmlNodesArgs, XmlOpsArgs, XmlStatesArgs, fitness};
use warpath_shared::twig::{Op, OpKind, Task};
use warpath_shared::units::WORD_BYTES;
use warpath_shared::view::{View, ViewMut};
use warpath_shared::xml::node::{XmlNode, XmlText, node};
use warpath_shared::xml::program::{Unfit, XmlDocument, XmlNodes, XmlOpen, write};
use warpath_shared::xml::word::{XmlRead, XmlWord};
use warpath_shared::xml::{MAX_EVENTS, XmlEvent, XmlMap, state};

use super::scan::{Scratch, scan};
use crate::coop::WARPS;
use crate::coop::stretch::planes_of_word;

/// The number of leading elements, of `len` ascending ones, for which `is_below` holds.
#[inline(always)]
fn below(len: usize, is_below: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_below(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// A word, and the bytes of it at which documents begin.
#[inline(always)]
fn word_of(batch: &XmlBatch<'_>, word: usize) -> (XmlWord, u64) {
    let (start, end) = (word * WORD_BYTES, (word + 1) * WORD_BYTES);
    let before = |bytes: usize| if start == 0 { 0 } else { batch.text.get(start - bytes) };
    let behind = |bytes: usize| if end == batch.text.len() { 0 } else { batch.text.get(end + bytes) };
    let planes = planes_of_word(batch.text, start);
    let (mut begins, documents) = (0, batch.len());
    let mut next = below(documents, |document| (batch.documents.get(document) as usize) < start);
    while next < documents && (batch.documents.get(next) as usize) < end {
        begins |= 1 << (batch.documents.get(next) as usize - start);
        next += 1;
    }
    (XmlWord::of(&planes, [before(3), before(2), before(1)], [behind(0), behind(1)]), begins)
}

/// Marks the document that a byte is in as one that the host has to read.
#[inline(always)]
fn mark(batch: &XmlBatch<'_>, fitness: ViewMut<'_, u32>, at: usize) {
    let documents = below(batch.len(), |document| batch.documents.get(document) as usize <= at);
    if documents > 0 {
        // SAFETY: `at` checks the index, and every write to the element during the launch is such an atomic
        // store.
        unsafe { atomic_store_32_relaxed_device(fitness.at(documents - 1, 1), fitness::UNFIT) };
    }
}

/// The text of a batch.
#[inline(always)]
fn text_of<'a>(batch: &XmlBatch<'a>) -> XmlText<'a> {
    XmlText { text: batch.text, end: batch.documents.get(batch.len()) }
}

/// Finds the state before each word.
///
/// # Safety
/// Launched as [`XmlStates`](warpath_shared::kernel::XmlStates) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn xml_states(args: XmlStatesArgs<'_>) {
    let shared = Scratch {
        sums: shared_array![XmlMap; WARPS],
        before: shared_array![XmlMap; 1],
        tile: shared_array![u32; 1],
    };
    let words = args.batch.words();
    let load = |word: usize| {
        if word < words {
            let (here, begins) = word_of(&args.batch, word);
            here.map(begins)
        } else {
            XmlMap::default()
        }
    };
    // SAFETY: no branch comes before this call, so every thread of the block is here. The shared memory is
    // this scan's own.
    let element = unsafe { scan(&args.look_back, &shared, load) };
    if element.at < words {
        // SAFETY: the scan gives each word to one thread, so each element has one writer.
        unsafe { args.states.set(element.at, element.before.get(state::TEXT) as u8) };
    }
}

/// Finds events, and marks documents that are not UTF-8 or that have an unknown reference.
///
/// # Safety
/// Launched as [`XmlEvents`](warpath_shared::kernel::XmlEvents) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn xml_events(args: XmlEventsArgs<'_>) {
    let shared = Scratch {
        sums: shared_array![u64; WARPS],
        before: shared_array![u64; 1],
        tile: shared_array![u32; 1],
    };
    let words = args.batch.words();
    let found = Cell::new(XmlRead::default());
    let load = |word: usize| {
        if word < words {
            let (here, begins) = word_of(&args.batch, word);
            found.set(here.read(begins, args.states.get(word) as u32));
        }
        found.get().events.count_ones() as u64
    };
    // SAFETY: no branch comes before this call, so every thread of the block is here. The shared memory is
    // this scan's own.
    let element = unsafe { scan(&args.look_back, &shared, load) };
    if element.at >= words {
        return;
    }
    let (read, start) = (found.get(), element.at * WORD_BYTES);
    let mut next = element.before as usize;
    let mut left = read.events;
    while left != 0 {
        let place = left.trailing_zeros();
        if next < args.events.len() {
            // SAFETY: the scan gives each event one number, so each element has one writer.
            unsafe { args.events.set(next, XmlEvent::new(start as u32 + place, read.kind(place))) };
        }
        next += 1;
        left &= left - 1;
    }
    if element.at + 1 == words {
        // SAFETY: only the thread of the last word is here.
        unsafe { args.count.set(0, next as u32) };
    }
    let mut left = read.references;
    while left != 0 {
        let at = start + left.trailing_zeros() as usize;
        if !text_of(&args.batch).is_reference(at as u32) {
            mark(&args.batch, args.fitness, at);
        }
        left &= left - 1;
    }
    let mut left = read.faults;
    while left != 0 {
        mark(&args.batch, args.fitness, start + left.trailing_zeros() as usize);
        left &= left - 1;
    }
}

/// Makes the node of each event, and looks names up.
///
/// # Safety
/// Launched as [`XmlNodes`](warpath_shared::kernel::XmlNodes) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn xml_nodes(args: XmlNodesArgs<'_>) {
    let at = index_1d() as usize;
    if at >= args.events.len().min(args.count.get(0) as usize) {
        return;
    }
    let (before, here) = (args.events.get(at.saturating_sub(1)), args.events.get(at));
    let found = node(&args.dictionary, text_of(&args.batch), before, here);
    if found.is_none() {
        mark(&args.batch, args.fitness, here.at() as usize);
    }
    // SAFETY: `at` is the thread's number in the grid, so each element has one writer.
    unsafe { args.nodes.set(at, found.unwrap_or_default()) };
}

/// The nodes of a batch. Each thread touches only those of its own document.
struct Nodes<'a> {
    events: View<'a, XmlEvent>,
    nodes: View<'a, XmlNode>,
    opens: ViewMut<'a, XmlOpen>,
}

impl XmlNodes for Nodes<'_> {
    #[inline(always)]
    fn event(&self, at: usize) -> XmlEvent {
        self.events.get(at)
    }

    #[inline(always)]
    fn node(&self, at: usize) -> XmlNode {
        self.nodes.get(at)
    }

    #[inline(always)]
    fn open(&self, at: usize) -> XmlOpen {
        // SAFETY: the element belongs to this thread's document, which no other thread has.
        unsafe { self.opens.get(at) }
    }

    #[inline(always)]
    fn keep(&self, at: usize, open: XmlOpen) {
        // SAFETY: the element belongs to this thread's document, which no other thread has.
        unsafe { self.opens.set(at, open) }
    }
}

/// Writes the program of each document.
///
/// # Safety
/// Launched as [`XmlOps`](warpath_shared::kernel::XmlOps) says, with sizes that its check accepts.
#[kernel(launch_bounds(64, 8))]
pub unsafe fn xml_ops(args: XmlOpsArgs<'_>) {
    let (document, other) = (index_1d() / args.threads_a_document, index_1d() % args.threads_a_document);
    let document = document as usize;
    if document >= args.batch.len() || other != 0 {
        return;
    }
    let events = args.count.get(0) as usize;
    let is_whole = events <= args.events.len();
    // SAFETY: the element belongs to this thread's document, which no other thread of this launch has.
    let is_fit = unsafe { args.fitness.get(document) } != fitness::UNFIT;
    let mut task = Task::default();
    if is_whole && is_fit {
        let place = |document: usize| {
            let begin = args.batch.documents.get(document);
            let first = below(events, |event| args.events.get(event).at() < begin);
            (begin, first, args.ops_an_event as usize * (first + document))
        };
        let ((begin, first, place_of), (end, last, next_place)) = (place(document), place(document + 1));
        let (mut next, room) = (place_of, next_place - 1);
        let nodes = Nodes { events: args.events, nodes: args.nodes, opens: args.opens };
        let result = if last - first > MAX_EVENTS {
            Err(Unfit::Document)
        } else {
            let here = XmlDocument { begin, end, first, last };
            write(&args.dictionary, text_of(&args.batch), &nodes, here, |op: Op| {
                let fits = next < room;
                if fits {
                    // SAFETY: the operations from `place_of` to `next_place` belong to this document alone.
                    unsafe { args.ops.set(next, op) };
                    next += 1;
                }
                fits
            })
        };
        let said = match result {
            Ok(()) => {
                // SAFETY: `next` is at most `room`, the last operation of this document, which was left free
                // for this one.
                unsafe { args.ops.set(next, Op::new(OpKind::Answer, document as u32)) };
                task = Task { begin: place_of as u32, end: next as u32 + 1 };
                fitness::FIT
            }
            Err(Unfit::Room) => fitness::NO_ROOM,
            Err(Unfit::Document) => fitness::UNFIT,
        };
        // SAFETY: the element belongs to this thread's document, which no other thread of this launch has.
        unsafe { args.fitness.set(document, said) };
    }
    // SAFETY: the element belongs to this thread's document, which no other thread of this launch has.
    unsafe { args.tasks.set(document, task) };
}
