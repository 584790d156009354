//! The text between an event and the one before it: read for all events at the same time.

use super::{MAX_RUN_BYTES, XmlEvent, begins_name, event, is_name, is_space};
use crate::twig::NONE;
use crate::twig::dictionary::{ATTRIBUTES, Dictionary, NAMES};
use crate::view::View;

/// The kinds of events in a document.
pub mod kind {
    /// An element's start begins.
    pub const START: u32 = 0;
    /// An element's end begins.
    pub const END: u32 = 1;
    /// The value of an attribute begins.
    pub const ATTRIBUTE: u32 = 2;
    /// An element's start or end ends.
    pub const CLOSE: u32 = 3;
    /// An element's start ends, and the element with it.
    pub const CLOSE_EMPTY: u32 = 4;
    /// A section of characters begins.
    pub const CDATA: u32 = 5;
    /// A section of characters ends.
    pub const CDATA_END: u32 = 6;
    /// A part that is skipped begins: a comment, a processing instruction or a document type.
    pub const ASIDE: u32 = 7;
    /// A skipped part ends.
    pub const ASIDE_END: u32 = 8;
    /// Quotes end, or are in a skipped part.
    pub const QUOTE: u32 = 9;
}

/// An event, and the node at it. 16 bytes, which a device loads at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct XmlNode {
    /// The kind in four bits ([`kind`](mod@kind)); [`Self::LEAF`], [`Self::INNER`], [`Self::TESTED`] and
    /// [`Self::NAMESPACE`]; from bit 8 on, the length of the name.
    bits: u32,
    /// The row of the name, for the start of an element or for an attribute, or [`NONE`].
    pub row: u32,
    /// The number of the name of an element or attribute.
    pub tag: u32,
    /// The hash of the name.
    pub hash: u32,
}

impl XmlNode {
    /// The row has nodes with nothing below them.
    pub const LEAF: u32 = 1 << 4;
    /// The row has nodes with others below them.
    pub const INNER: u32 = 1 << 5;
    /// Twigs test the value.
    pub const TESTED: u32 = 1 << 6;
    /// The name is that of a namespace's declaration, which is no attribute (XPath 1.0, section 5.3).
    pub const NAMESPACE: u32 = 1 << 7;

    pub(super) const fn of(kind: u32) -> Self {
        Self { bits: kind, row: NONE, tag: 0, hash: 0 }
    }

    /// The kind ([`kind`](mod@kind)).
    #[inline(always)]
    #[must_use]
    pub const fn kind(&self) -> u32 {
        self.bits & 15
    }

    /// Returns true if the node has this bit.
    #[inline(always)]
    #[must_use]
    pub const fn has(&self, bit: u32) -> bool {
        self.bits & bit != 0
    }

    /// The length of the name.
    #[inline(always)]
    #[must_use]
    pub const fn name_len(&self) -> u32 {
        self.bits >> 8
    }
}

/// The texts of a batch. The last one ends at `end`.
#[derive(Clone, Copy)]
pub struct XmlText<'a> {
    /// All bytes.
    pub text: View<'a, u8>,
    /// The number of bytes.
    pub end: u32,
}

impl XmlText<'_> {
    /// Returns a byte, or zero after the last one.
    #[inline(always)]
    #[must_use]
    pub fn byte(&self, at: u32) -> u8 {
        if at < self.end { self.text.get(at as usize) } else { 0 }
    }

    /// Returns true if the text has these bytes at `at`.
    #[inline(always)]
    fn has(&self, at: u32, bytes: &[u8]) -> bool {
        let mut has = true;
        for (at, byte) in (at..).zip(bytes) {
            has &= self.byte(at) == *byte;
        }
        has
    }

    /// Returns the first position from `at` on with a byte outside `sort`, or `before`.
    #[inline(always)]
    fn skip(&self, mut at: u32, before: u32, sort: impl Fn(u8) -> bool) -> u32 {
        while at < before && sort(self.byte(at)) {
            at += 1;
        }
        at
    }

    /// Returns the end of the name that begins at `at`, or `at` if no name does.
    #[inline(always)]
    fn name(&self, at: u32, before: u32) -> u32 {
        if at < before && begins_name(self.byte(at)) { self.skip(at, before, is_name) } else { at }
    }

    /// Returns true if the reference that begins with `&` at `at` is one of these: an entity of XML, or a
    /// character by its number. The number has at most four hexadecimal or five decimal digits, and is not a
    /// surrogate or above.
    #[inline(always)]
    #[must_use]
    pub fn is_reference(&self, at: u32) -> bool {
        let at = at + 1;
        if self.byte(at) != b'#' {
            return self.has(at, b"amp;")
                || self.has(at, b"lt;")
                || self.has(at, b"gt;")
                || self.has(at, b"quot;")
                || self.has(at, b"apos;");
        }
        let is_hex = self.byte(at + 1) == b'x';
        let (first, base) = if is_hex { (at + 2, 16) } else { (at + 1, 10) };
        let most = if is_hex { 4 } else { 5 };
        let (mut next, mut number) = (first, 0);
        loop {
            let byte = self.byte(next);
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                b'A'..=b'F' => byte - b'A' + 10,
                _ => 16,
            } as u32;
            if digit >= base {
                return byte == b';' && number > 0 && number < 0xd800;
            }
            if next - first == most {
                return false;
            }
            number = base * number + digit;
            next += 1;
        }
    }
}

/// Returns the node of an event, given the event before it, if any. Returns `None` if anything there is not
/// as expected.
///
/// Tags are read strictly, between the end of the previous event and this one:
///
/// ```text
/// <name   a = "value"  b='value' />
/// ■           ■     ■    ■     ■  ■
/// name ─ space name = ─ space name = ─ space /
/// ```
#[inline(always)]
#[must_use]
pub fn node(
    dictionary: &Dictionary<'_>,
    text: XmlText<'_>,
    before: XmlEvent,
    here: XmlEvent,
) -> Option<XmlNode> {
    let at = here.at();
    let kind = match here.kind() {
        event::CDATA => {
            return if text.has(at, b"<![CDATA[") { Some(XmlNode::of(kind::CDATA)) } else { None };
        }
        event::COMMENT => {
            let is_one = text.has(at, b"<!--") && !text.has(at + 4, b">") && !text.has(at + 4, b"->");
            return if is_one { Some(XmlNode::of(kind::ASIDE)) } else { None };
        }
        event::INSTRUCTION => {
            return if begins_name(text.byte(at + 2)) { Some(XmlNode::of(kind::ASIDE)) } else { None };
        }
        event::TYPE => {
            // The name of the document type follows exactly one space.
            let is_one =
                text.has(at, b"<!DOCTYPE") && is_space(text.byte(at + 9)) && begins_name(text.byte(at + 10));
            return if is_one { Some(XmlNode::of(kind::ASIDE)) } else { None };
        }
        event::CDATA_END => kind::CDATA_END,
        event::COMMENT_END | event::INSTRUCTION_END => kind::ASIDE_END,
        event::VALUE_END | event::QUOTE_END => kind::QUOTE,
        event::QUOTE | event::TYPE_END => {
            // The host reads declarations between brackets.
            let from = before.at() + 1;
            let end = text.skip(from, at, |byte| byte != b'[' && byte != b'<');
            let is_end = here.kind() == event::TYPE_END;
            let kind = if is_end { kind::ASIDE_END } else { kind::QUOTE };
            return if end == at && at - from <= MAX_RUN_BYTES { Some(XmlNode::of(kind)) } else { None };
        }
        other => other,
    };
    if !matches!(here.kind(), event::TAG | event::VALUE | event::TAG_END) {
        return Some(XmlNode::of(kind));
    }
    // A tag begins here, or is read on from the previous event, which is in the same tag.
    let begins = here.kind() == event::TAG;
    let from = if begins { at } else { before.at() };
    let limit = if begins { (at + MAX_RUN_BYTES).min(text.end) } else { at };
    if limit - from > MAX_RUN_BYTES {
        return None;
    }
    let (mut next, mut is_end) = (from + 1, false);
    let (mut first, mut last) = (next, next);
    if begins || before.kind() == event::TAG {
        is_end = text.byte(next) == b'/';
        first = next + is_end as u32;
        last = text.name(first, limit);
        next = last;
        if first == last {
            return None;
        }
    }
    let (mut of, mut kind) = (NAMES, if is_end { kind::END } else { kind::START });
    if !begins {
        let spaced = text.skip(next, limit, is_space);
        if here.kind() == event::TAG_END {
            let is_empty = !is_end && spaced + 1 == at && text.byte(spaced) == b'/';
            let kind = if is_empty { kind::CLOSE_EMPTY } else { kind::CLOSE };
            return if is_empty || spaced == at { Some(XmlNode::of(kind)) } else { None };
        }
        // An attribute.
        first = spaced;
        last = text.name(first, limit);
        let equals = text.skip(last, limit, is_space);
        let is_one = !is_end
            && spaced > next
            && last > first
            && equals < limit
            && text.byte(equals) == b'='
            && text.skip(equals + 1, limit, is_space) == at;
        if !is_one {
            return None;
        }
        (of, kind) = (ATTRIBUTES, kind::ATTRIBUTE);
    }
    // A name that reaches the limit may be longer.
    if last == limit {
        return None;
    }
    let (tag, hash) = dictionary.name(of, text.text, first, last);
    let mut node = XmlNode { bits: kind | (last - first) << 8, row: NONE, tag, hash };
    if of == ATTRIBUTES && text.has(first, b"xmlns") && (last == first + 5 || text.byte(first + 5) == b':') {
        node.bits |= XmlNode::NAMESPACE;
    } else if !is_end {
        let place = dictionary.tags.get(tag as usize);
        node.row = place.row;
        if place.row != NONE {
            // The two bits of the row have the order of `LEAF` and `INNER`.
            node.bits |= (dictionary.rows.get(place.row as usize) as u32 & 3) * XmlNode::LEAF;
        }
        if place.tests != NONE || dictionary.tests_any >> (of == ATTRIBUTES) as u32 & 1 != 0 {
            node.bits |= XmlNode::TESTED;
        }
    }
    Some(node)
}
