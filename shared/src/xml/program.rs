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
    mut op: impl FnMut(Op) -> bool,
) -> Result<(), Unfit> {
    let (mut fits, mut has_root) = (true, false);
    // The open element, the element around it, if that one is not stored, and the number of the open
    // element's attributes so far.
    let (mut open, mut above, mut attributes) = (Element::NONE, Element::NONE, 0);
    // The bits of the rows of `*` and `@*`, as in [`XmlNode`]. Bit *l* of `told`: the leaves of these rows in
    // level *l* have been written. To write them again has no effect.
    let rows = |row: u32| dictionary.rows.get(row as usize) as u32;
    let any = [rows(ANY_ELEMENT), rows(ANY_ATTRIBUTE)];
    let (mut depth, mut told) = (0_u32, [0_u32; 2]);
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
            if open.is_some() {
                open.now.add(from, to);
            } else if !is_text || !is_blank(text, from, to) {
                return Err(Unfit::Document);
            }
        }
        from = place + if kind == kind::CDATA { 9 } else { 1 };
        is_text = matches!(kind, kind::CLOSE | kind::CLOSE_EMPTY | kind::CDATA_END | kind::ASIDE_END);
        let is_attribute = kind == kind::ATTRIBUTE;
        let is_namespace = node.has(XmlNode::NAMESPACE);
        if is_attribute && !is_namespace || kind == kind::START && open.is_some() {
            // The open element has something below it.
            if open.now.state & ENTERED == 0 {
                open.now.state |= ENTERED;
                fits &= op(Op::new(OpKind::Enter, 0));
                depth += 1;
                if depth > MAX_LEVELS as u32 {
                    return Err(Unfit::Document);
                }
            }
        }
        let mut value = (0, 0);
        match kind {
            kind::START => {
                if !open.is_some() && has_root {
                    return Err(Unfit::Document);
                }
                if above.is_some() {
                    nodes.keep(above.at as usize, above.now);
                }
                has_root = true;
                above = open;
                let now = XmlOpen { up: open.at, ..XmlOpen::default() };
                (open, attributes) = (Element { at: here as u32, place, now, node }, 0);
            }
            kind::ATTRIBUTE => {
                // Attributes with the same name have the same hash. A document with other attributes of equal
                // hash is left to the host.
                let mut other = 0;
                while other < attributes {
                    other += 1;
                    if nodes.node(here - 2 * other).hash == node.hash {
                        return Err(Unfit::Document);
                    }
                }
                attributes += 1;
                if attributes > MAX_ATTRIBUTES || at == document.last {
                    return Err(Unfit::Document);
                }
                value = (place + 1, next.0);
            }
            kind::END if !open.is_some() || !is_same(text, &open, (place, &node)) => {
                return Err(Unfit::Document);
            }
            kind::END | kind::CLOSE_EMPTY => value = (open.now.from, open.now.to),
            _ => {}
        }
        let is_end = kind == kind::END || kind == kind::CLOSE_EMPTY;
        if !(is_end || is_attribute) || is_namespace {
            continue;
        }
        // A node ends: the element that is open, or an attribute.
        let named = if is_attribute { node } else { open.node };
        let is_exit = is_end && open.now.state & ENTERED != 0;
        if is_exit {
            told = told.map(|told| told & !(1 << depth));
            depth -= 1;
        }
        let class = is_attribute as usize;
        let is_told = told[class] >> depth & 1 != 0;
        told[class] |= 1 << depth;
        let mut row = |row: u32, is_leaf: bool, is_inner: bool| {
            if is_leaf {
                fits &= op(Op::new(if is_exit { OpKind::Tell } else { OpKind::Leaf }, row));
            }
            if is_exit && is_inner {
                fits &= op(Op::new(OpKind::Pass, row));
            }
        };
        row(class as u32, any[class] & 1 != 0 && !is_told, any[class] & 2 != 0);
        row(named.row, named.has(XmlNode::LEAF), named.has(XmlNode::INNER));
        if named.has(XmlNode::TESTED) {
            let is_known = if is_attribute {
                is_plain(text, value, 0x20)
            } else {
                open.now.is_one() && is_plain(text, value, 0)
            };
            if !is_known {
                return Err(Unfit::Document);
            }
            // The tests of `*` come after those of the name.
            let mut list = dictionary.tags.get(named.tag as usize).tests;
            let mut left = 1 + (dictionary.tests_any >> class & 1);
            while left > 0 {
                if list != NONE {
                    dictionary.passed_text(list, text.text, value.0, value.1, |passed| {
                        let has = rows(passed);
                        row(passed, has & 1 != 0, has & 2 != 0);
                    });
                }
                list = class as u32;
                left -= 1;
            }
        }
        if is_exit {
            fits &= op(Op::new(OpKind::Exit, 0));
        }
        if is_end {
            let up = open.now.up;
            if above.is_some() || up == NONE {
                open = above;
            } else {
                let (place, node) = load(up as usize);
                open = Element { at: up, place, now: nodes.open(up as usize), node };
            }
            above = Element::NONE;
        }
    }
    if !is_text || open.is_some() || !has_root || !is_blank(text, from, document.end) {
        return Err(Unfit::Document);
    }
    if fits { Ok(()) } else { Err(Unfit::Room) }
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
