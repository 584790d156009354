//! The program of a document, made from its nodes in the order of the text. No stack is needed: the state of
//! an open element is stored at the node of its start.

use super::node::{XmlNode, XmlText, kind};
use super::{MAX_RUN_BYTES, XmlEvent, is_space};
use crate::twig::dictionary::Dictionary;
use crate::twig::{MAX_LEVELS, NONE, Op, OpKind};

/// The row of nodes `*` without a test of their value.
const ANY_ELEMENT: u32 = 0;
/// The row of nodes `@*` without a test of their value.
const ANY_ATTRIBUTE: u32 = 1;
/// The greatest number of attributes of an element.
const MAX_ATTRIBUTES: usize = 64;

/// The state of an element that is open while another one is, stored at its node. 16 bytes, which a device
/// moves at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct XmlOpen {
    /// The node of the element around it, or [`NONE`].
    pub up: u32,
    /// Bit 0: the element was entered. Bits 1 and 2: the number of stretches of its own text: none, one, or
    /// more.
    pub state: u32,
    /// The start of the first stretch of its own text.
    pub from: u32,
    /// The end of that stretch.
    pub to: u32,
}

const ENTERED: u32 = 1;
const STRETCH: u32 = 2;
const STRETCHES: u32 = 6;

/// One document.
#[derive(Clone, Copy, Debug)]
pub struct XmlDocument {
    /// The first byte.
    pub begin: u32,
    /// The position after the last byte.
    pub end: u32,
    /// The first event.
    pub first: usize,
    /// The position after the last event.
    pub last: usize,
}

/// The reason why a program was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The host has to read the document.
    Document,
    /// The program did not fit.
    Room,
}

/// The nodes of a batch, and storage for the states of open elements.
pub trait XmlNodes {
    /// Returns an event.
    fn event(&self, at: usize) -> XmlEvent;
    /// Returns the node of an event.
    fn node(&self, at: usize) -> XmlNode;
    /// Returns the state that was stored at a node.
    fn open(&self, at: usize) -> XmlOpen;
    /// Stores a state at a node.
    fn keep(&self, at: usize, open: XmlOpen);
}

/// Writes the program of a document, without the `Answer`, one operation at a time. The caller has checked
/// that all nodes, bytes and references of the document are valid.
///
/// # Errors
/// [`Unfit`].
#[inline(always)]
pub fn write<'a>(
    dictionary: &Dictionary<'a>,
    text: XmlText<'a>,
    nodes: &impl XmlNodes,
    document: XmlDocument,
    op: impl FnMut(Op) -> bool,
) -> Result<(), Unfit> {
    let mut writer = Writer::new(dictionary, text, nodes, op);
    // The start of the current text, if the state is text.
    let (mut from, mut is_text, mut at) = (document.begin, true, document.first);
    // Each node is loaded while the one before it is processed.
    let load = |at: usize| (nodes.event(at).at(), nodes.node(at));
    let mut next = if at < document.last { load(at) } else { (0, XmlNode::default()) };
    while at < document.last {
        let (place, node) = next;
        let here = at;
        at += 1;
        next = load(if at < document.last { at } else { here });
        let kind = node.kind();
        if is_text || kind == kind::CDATA_END {
            let to = if is_text { place } else { place - 2 };
            writer.own_text(from, to, is_text)?;
        }
        from = place + if kind == kind::CDATA { 9 } else { 1 };
        is_text = matches!(kind, kind::CLOSE | kind::CLOSE_EMPTY | kind::CDATA_END | kind::ASIDE_END);
        let is_attribute = kind == kind::ATTRIBUTE;
        let is_namespace = node.has(XmlNode::NAMESPACE);
        if is_attribute && !is_namespace || kind == kind::START && writer.open.is_some() {
            writer.enter()?;
        }
        let mut value = (0, 0);
        match kind {
            kind::START => writer.start(here, place, node)?,
            kind::ATTRIBUTE => {
                writer.attribute(here, &node)?;
                if at == document.last {
                    return Err(Unfit::Document);
                }
                value = (place + 1, next.0);
            }
            kind::END if !writer.open.is_some() || !is_same(text, &writer.open, (place, &node)) => {
                return Err(Unfit::Document);
            }
            kind::END | kind::CLOSE_EMPTY => value = (writer.open.now.from, writer.open.now.to),
            _ => {}
        }
        let is_end = kind == kind::END || kind == kind::CLOSE_EMPTY;
        if !(is_end || is_attribute) || is_namespace {
            continue;
        }
        // A node ends: the element that is open, or an attribute.
        let named = if is_attribute { node } else { writer.open.node };
        let is_exit = is_end && writer.open.now.state & ENTERED != 0;
        writer.end_node(&named, value, is_attribute, is_exit)?;
        if is_end {
            writer.leave();
        }
    }
    if !is_text || writer.open.is_some() || !writer.has_root || !is_blank(text, from, document.end) {
        return Err(Unfit::Document);
    }
    if writer.fits { Ok(()) } else { Err(Unfit::Room) }
}

/// The state of [`write`] between two nodes.
struct Writer<'a, 'n, N, F> {
    dictionary: &'n Dictionary<'a>,
    text: XmlText<'a>,
    nodes: &'n N,
    op: F,
    /// True until an operation did not fit.
    fits: bool,
    has_root: bool,
    /// The open element.
    open: Element,
    /// The element around the open one, if that element is not stored.
    above: Element,
    /// The number of the open element's attributes so far.
    attributes: usize,
    depth: u32,
    /// The bits of the rows of `*` and `@*`, as in [`XmlNode`].
    any: [u32; 2],
    /// Bit *l*: the leaves of these rows in level *l* have been written. To write them again has no effect.
    told: [u32; 2],
}

impl<'a, 'n, N: XmlNodes, F: FnMut(Op) -> bool> Writer<'a, 'n, N, F> {
    #[inline(always)]
    fn new(dictionary: &'n Dictionary<'a>, text: XmlText<'a>, nodes: &'n N, op: F) -> Self {
        let rows = |row: u32| dictionary.rows.get(row as usize) as u32;
        let any = [rows(ANY_ELEMENT), rows(ANY_ATTRIBUTE)];
        let (open, above) = (Element::NONE, Element::NONE);
        let (fits, has_root, attributes, depth, told) = (true, false, 0, 0, [0; 2]);
        Self { dictionary, text, nodes, op, fits, has_root, open, above, attributes, depth, any, told }
    }

    /// Adds text to the open element. Outside of the root, only white space may be.
    #[inline(always)]
    fn own_text(&mut self, from: u32, to: u32, is_text: bool) -> Result<(), Unfit> {
        if self.open.is_some() {
            self.open.now.add(from, to);
        } else if !is_text || !is_blank(self.text, from, to) {
            return Err(Unfit::Document);
        }
        Ok(())
    }

    /// Enters the open element, which has something below it, unless it was entered.
    #[inline(always)]
    fn enter(&mut self) -> Result<(), Unfit> {
        if self.open.now.state & ENTERED == 0 {
            self.open.now.state |= ENTERED;
            self.fits &= (self.op)(Op::new(OpKind::Enter, 0));
            self.depth += 1;
            if self.depth > MAX_LEVELS as u32 {
                return Err(Unfit::Document);
            }
        }
        Ok(())
    }

    /// Opens an element.
    #[inline(always)]
    fn start(&mut self, here: usize, place: u32, node: XmlNode) -> Result<(), Unfit> {
        if !self.open.is_some() && self.has_root {
            return Err(Unfit::Document);
        }
        if self.above.is_some() {
            self.nodes.keep(self.above.at as usize, self.above.now);
        }
        self.has_root = true;
        self.above = self.open;
        let now = XmlOpen { up: self.open.at, ..XmlOpen::default() };
        (self.open, self.attributes) = (Element { at: here as u32, place, now, node }, 0);
        Ok(())
    }

    /// Counts an attribute of the open element, and compares its name with those before it. Attributes with
    /// the same name have the same hash. A document with other attributes of equal hash is left to the host.
    #[inline(always)]
    fn attribute(&mut self, here: usize, node: &XmlNode) -> Result<(), Unfit> {
        let mut other = 0;
        while other < self.attributes {
            other += 1;
            if self.nodes.node(here - 2 * other).hash == node.hash {
                return Err(Unfit::Document);
            }
        }
        self.attributes += 1;
        if self.attributes > MAX_ATTRIBUTES { Err(Unfit::Document) } else { Ok(()) }
    }

    /// Writes the operations at the end of a node: of the rows of its name, of `*` or `@*`, and of the tests
    /// that its value passes.
    #[inline(always)]
    fn end_node(
        &mut self,
        named: &XmlNode,
        value: (u32, u32),
        is_attribute: bool,
        is_exit: bool,
    ) -> Result<(), Unfit> {
        if is_exit {
            self.told = self.told.map(|told| told & !(1 << self.depth));
            self.depth -= 1;
        }
        let class = is_attribute as usize;
        let is_told = self.told[class] >> self.depth & 1 != 0;
        self.told[class] |= 1 << self.depth;
        self.row(class as u32, self.any[class] & 1 != 0 && !is_told, self.any[class] & 2 != 0, is_exit);
        self.row(named.row, named.has(XmlNode::LEAF), named.has(XmlNode::INNER), is_exit);
        if named.has(XmlNode::TESTED) {
            let is_known = if is_attribute {
                is_plain(self.text, value, 0x20)
            } else {
                self.open.now.is_one() && is_plain(self.text, value, 0)
            };
            if !is_known {
                return Err(Unfit::Document);
            }
            self.passed(named.tag, class, value, is_exit);
        }
        if is_exit {
            self.fits &= (self.op)(Op::new(OpKind::Exit, 0));
        }
        Ok(())
    }

    /// Writes the operations of a row.
    #[inline(always)]
    fn row(&mut self, row: u32, is_leaf: bool, is_inner: bool, is_exit: bool) {
        if is_leaf {
            self.fits &= (self.op)(Op::new(if is_exit { OpKind::Tell } else { OpKind::Leaf }, row));
        }
        if is_exit && is_inner {
            self.fits &= (self.op)(Op::new(OpKind::Pass, row));
        }
    }

    /// Writes the operations of the tests that a value passes: those of the name, then those of `*` or `@*`.
    #[inline(always)]
    fn passed(&mut self, tag: u32, class: usize, value: (u32, u32), is_exit: bool) {
        let dictionary = self.dictionary;
        let mut list = dictionary.tags.get(tag as usize).tests;
        let mut left = 1 + (dictionary.tests_any >> class & 1);
        while left > 0 {
            if list != NONE {
                dictionary.passed_text(list, self.text.text, value.0, value.1, |passed| {
                    let has = dictionary.rows.get(passed as usize) as u32;
                    self.row(passed, has & 1 != 0, has & 2 != 0, is_exit);
                });
            }
            list = class as u32;
            left -= 1;
        }
    }

    /// Returns to the element around the open one.
    #[inline(always)]
    fn leave(&mut self) {
        let up = self.open.now.up;
        self.open = if self.above.is_some() || up == NONE {
            self.above
        } else {
            let (place, node) = (self.nodes.event(up as usize).at(), self.nodes.node(up as usize));
            Element { at: up, place, now: self.nodes.open(up as usize), node }
        };
        self.above = Element::NONE;
    }
}

/// An element: its node and its state.
#[derive(Clone, Copy)]
struct Element {
    /// The index of the node, or [`NONE`].
    at: u32,
    /// The position of its start.
    place: u32,
    now: XmlOpen,
    node: XmlNode,
}

impl Element {
    const NONE: Self = Self {
        at: NONE,
        place: 0,
        now: XmlOpen { up: NONE, state: 0, from: 0, to: 0 },
        node: XmlNode::of(kind::QUOTE),
    };

    #[inline(always)]
    const fn is_some(&self) -> bool {
        self.at != NONE
    }
}

impl XmlOpen {
    /// Adds a stretch to the element's own text.
    #[inline(always)]
    fn add(&mut self, from: u32, to: u32) {
        if from < to {
            if self.state & STRETCHES == 0 {
                (self.from, self.to) = (from, to);
                self.state |= STRETCH;
            } else {
                self.state |= STRETCHES;
            }
        }
    }

    /// Returns true if the element's own text is one stretch, or empty.
    #[inline(always)]
    const fn is_one(&self) -> bool {
        self.state & STRETCHES != STRETCHES
    }
}

/// Returns true if the range is only white space, and not longer than [`MAX_RUN_BYTES`].
#[inline(always)]
fn is_blank(text: XmlText<'_>, mut from: u32, to: u32) -> bool {
    if to - from > MAX_RUN_BYTES {
        return false;
    }
    while from < to && is_space(text.byte(from)) {
        from += 1;
    }
    from == to
}

/// Returns true if the spelling of a value is the value itself, and it is not longer than [`MAX_RUN_BYTES`].
/// Such a value has no references and no bytes less than `least`.
#[inline(always)]
fn is_plain(text: XmlText<'_>, (mut from, to): (u32, u32), least: u8) -> bool {
    if to - from > MAX_RUN_BYTES {
        return false;
    }
    while from < to {
        let byte = text.byte(from);
        if byte == b'&' || byte < least || byte == b'<' {
            return false;
        }
        from += 1;
    }
    true
}

/// Returns true if the end of an element, at `place`, has the name of its start. Names with the same number
/// are equal, except for names that no twig has.
#[inline(always)]
fn is_same(text: XmlText<'_>, start: &Element, (place, end): (u32, &XmlNode)) -> bool {
    let Element { place: begin, node, .. } = start;
    if (node.tag, node.hash, node.name_len()) != (end.tag, end.hash, end.name_len()) {
        return false;
    }
    let mut left = if node.tag == 0 { node.name_len() } else { 0 };
    while left > 0 {
        if text.byte(begin + left) != text.byte(place + 1 + left) {
            return false;
        }
        left -= 1;
    }
    true
}
