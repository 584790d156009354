//! The search for the member, the element and the next child of a container, by leveled bitmaps.
//!
//! Inside a container of level *k*, between its brackets, the bits of level *k* are only its own `:` and `,`.
//! Its members and elements are therefore found by steps from bit to bit, whatever they contain. Bytes are
//! read only around names.
//!
//! ```text
//! text       {"id":7,"user":{"lang":"en"},"n":[1,2]}
//! level 0    ■    ■ ■      ■              ■   ■     ■
//!            region ↑      ↑ colon        ↑ end of the value
//! ```

use super::document::{Document, Gaps, MAX_GAP, Node, count_bits, find_gap, nth_bit, previous_bit};
use super::value::{equals, string_equals};
use crate::check::trim;
use crate::index::class::is_whitespace;
use crate::ir::{ABSENT, Instr, Program, Test};
use crate::units::{Level, PartOffset};
use crate::view::View;

/// The first and the last byte of a node. Both are loaded at once, because each load may take as long as the
/// other on a device.
#[inline(always)]
fn ends<D: Document>(doc: &D, node: Node) -> (u8, u8) {
    (doc.byte(node.start), doc.byte(node.end - 1))
}

/// Returns whether a node is an array: it begins with `[` and ends with `]`. (`[1] 2` does not. If such a
/// record is not checked, it is a value without elements.)
#[inline(always)]
pub fn is_array<D: Document>(doc: &D, node: Node) -> bool {
    let (first, last) = ends(doc, node);
    (first == b'[') & (last == b']')
}

/// Returns whether a node is an object: it begins with `{` and ends with `}`.
#[inline(always)]
pub fn is_object<D: Document>(doc: &D, node: Node) -> bool {
    let (first, last) = ends(doc, node);
    (first == b'{') & (last == b'}')
}

/// The value in `start..end`, or `None` if the range is only white space.
#[inline(always)]
pub fn value_in<D: Document>(doc: &D, start: PartOffset, end: PartOffset, level: Level) -> Option<Node> {
    let (start, end) = trim(start, end, |at| doc.byte(at))?;
    Some(Node { start, end, level })
}

/// The next bit of the level with a colon, or `end`. The first result is the start of the region before the
/// bit.
#[inline(always)]
fn next_colon<D: Document>(
    doc: &D,
    level: Level,
    mut region: PartOffset,
    end: PartOffset,
) -> (PartOffset, PartOffset) {
    loop {
        let at = doc.next_bit(level, region, end);
        if at == end || doc.byte(at) == b':' {
            return (region, at);
        }
        region = at + 1;
    }
}

/// Returns whether the quoted name in `region..colon` equals the literal.
#[inline(always)]
fn name_equals<D: Document>(
    doc: &D,
    mut region: PartOffset,
    mut colon: PartOffset,
    literals: View<'_, u8>,
    (offset, len): (u32, u32),
) -> bool {
    while region < colon && is_whitespace(doc.byte(region)) {
        region += 1;
    }
    while region < colon && is_whitespace(doc.byte(colon - 1)) {
        colon -= 1;
    }
    // The name has two quotes, and between them at least as many bytes as the literal.
    colon - region >= len + 2
        && doc.byte(region) == b'"'
        && doc.byte(colon - 1) == b'"'
        && string_equals(doc, region + 1, colon - 1, literals, offset, len)
}

/// The value of the first member of an object that has the name.
#[inline(always)]
pub fn member<D: Document>(doc: &D, node: Node, literals: View<'_, u8>, name: (u32, u32)) -> Option<Node> {
    if !is_object(doc, node) {
        return None;
    }
    let end = node.end - 1;
    let mut region = node.start + 1;
    loop {
        let (name_start, colon) = next_colon(doc, node.level, region, end);
        if colon == end {
            return None;
        }
        let value_end = doc.next_bit(node.level, colon + 1, end);
        if name_equals(doc, name_start, colon, literals, name) {
            return value_in(doc, colon + 1, value_end, node.level + 1);
        }
        region = member_end(doc, node.level, value_end, end) + 1;
        if region > end {
            return None;
        }
    }
}

/// The end of the member whose value ends at `at`. A colon after another colon belongs to no name.
#[inline(always)]
fn member_end<D: Document>(doc: &D, level: Level, mut at: PartOffset, end: PartOffset) -> PartOffset {
    while at < end && doc.byte(at) == b':' {
        at = doc.next_bit(level, at + 1, end);
    }
    at
}

/// Words of a level that are read at once in the search for names and strings of plain records.
const WORDS: usize = 4;

/// Finds the same value as [`member`], in a plain record. `name` is the literal as it is written there, with
/// quotes and a colon.
#[inline(always)]
pub fn plain_member<D: Document>(
    doc: &D,
    node: Node,
    literals: View<'_, u8>,
    name: (u32, u32),
) -> Option<Node> {
    // No plain record contains a name that cannot be written without an escape.
    if name.1 == 0 || !is_object(doc, node) {
        return None;
    }
    // A name may be too long for a search by its length. It is then compared at every colon.
    let wanted = if name.1 <= MAX_GAP { 1 << name.1 } else { 0 };
    let gaps = Gaps { level: node.level, range: (node.start, node.end - 1), wanted, escaped: 0 };
    let colon =
        find_gap::<WORDS, false, false, _>(doc, gaps, |colon| ends_plain_name(doc, colon, literals, name))?;
    value_behind(doc, node, colon)
}

/// The value after a colon of an object.
#[inline(always)]
fn value_behind<D: Document>(doc: &D, node: Node, colon: PartOffset) -> Option<Node> {
    let end = doc.next_bit(node.level, colon + 1, node.end - 1);
    value_in(doc, colon + 1, end, node.level + 1)
}

/// Returns whether the name `literal`, with quotes and a colon, ends at a colon and fills the space between
/// separators. In a plain record, every name that equals the literal is written like this.
#[inline(always)]
fn ends_plain_name<D: Document>(
    doc: &D,
    colon: PartOffset,
    literals: View<'_, u8>,
    (offset, len): (u32, u32),
) -> bool {
    if colon < len || !doc.stands_at(colon + 1 - len, literals, offset, len) {
        return false;
    }
    let mut at = colon - len;
    if at > 0 && is_whitespace(doc.byte(at)) {
        at -= 1;
    }
    // The byte may be a bracket if a value begins and ends with braces of different pairs: `{}["b":2]{}`.
    matches!(doc.byte(at), b',' | b'{' | b'[')
}

/// Returns whether a value of a plain record equals a string. The value ends as a string does.
#[inline(always)]
fn equals_plain_string<D: Document>(doc: &D, node: Node, literals: View<'_, u8>, test: &Test) -> bool {
    let len = node.end - node.start;
    if test.raw_len != 0 && len <= test.raw_len {
        return len == test.raw_len && doc.stands_at(node.start, literals, test.raw, len);
    }
    equals(doc, node, literals, test)
}

/// The next child of a plain record's node that equals the string of one of some filters, and the number of
/// that filter. All strings are short enough for a search by the distance of the separators around them.
#[inline(always)]
pub fn next_plain_string<D: Document>(
    doc: &D,
    node: Node,
    program: &Program<'_>,
    (filter, count): (u32, u32),
    visit: &mut Visit,
) -> Option<(Node, u32)> {
    let object = is_object(doc, node);
    if !object && !is_array(doc, node) || visit.cursor >= node.end {
        return None;
    }
    let start = if visit.cursor == 0 { node.start } else { visit.cursor - 1 };
    let test = |i: u32| program.tests.get(program.instrs.get((filter + i) as usize).a as usize);
    let (mut wanted, mut escaped, mut i) = (0, 0, 0);
    while i < count {
        let test = test(i);
        let raw = if test.raw_len == 0 { 0 } else { 1 << (test.raw_len + 1) };
        wanted |= raw;
        escaped |= test.gaps & !raw;
        i += 1;
    }
    let gaps = Gaps { level: node.level, range: (start, node.end), wanted, escaped };
    let mut found = None;
    let at = find_gap::<WORDS, true, true, _>(doc, gaps, |at| {
        let Some(before) = previous_bit(doc, node.level, start, at) else { return false };
        let child = before + 1 + is_whitespace(doc.byte(before + 1)) as PartOffset;
        let child = Node { start: child, end: at, level: node.level + 1 };
        let mut i = 0;
        while i < count && !equals_plain_string(doc, child, program.literals, &test(i)) {
            i += 1;
        }
        // In an object, the child is a value if it is after a colon. The preceding bit of the level must be
        // no colon.
        let follows_colon = || {
            let second = previous_bit(doc, node.level, node.start, before);
            doc.byte(before) == b':' && second.is_none_or(|at| doc.byte(at) != b':')
        };
        let holds = i < count && (!object || follows_colon());
        if holds {
            found = Some((child, filter + i));
        }
        holds
    });
    visit.cursor = at.map_or(node.end, |at| at + 1);
    found
}

/// The number of elements of an array.
#[inline(always)]
fn array_len<D: Document>(doc: &D, node: Node) -> u32 {
    let (start, end) = (node.start + 1, node.end - 1);
    let separators = count_bits(doc, node.level, start, end);
    if separators == 0 && trim(start, end, |at| doc.byte(at)).is_none() { 0 } else { separators + 1 }
}

/// The element at `index` of an array. A negative index counts from the end.
#[inline(always)]
pub fn element<D: Document>(doc: &D, node: Node, index: i64) -> Option<Node> {
    if !is_array(doc, node) {
        return None;
    }
    let (start, end) = (node.start + 1, node.end - 1);
    let index = if index < 0 { index + array_len(doc, node) as i64 } else { index };
    if index < 0 {
        return None;
    }
    let from = if index == 0 {
        start
    } else {
        let comma = nth_bit(doc, node.level, start, end, index as u64 - 1);
        if comma == end {
            return None;
        }
        comma + 1
    };
    value_in(doc, from, doc.next_bit(node.level, from, end), node.level + 1)
}

/// The progress of a visit of a container's children. The `cursor` is 0 before the visit begins, because no
/// child begins at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Visit {
    /// The start of the next child's region. For steps below zero, the end of that region.
    pub cursor: PartOffset,
    /// The number of children that a slice may still take.
    pub left: u32,
}

/// The next child in document order, or `None` after the last.
#[inline(always)]
pub fn next_child<D: Document>(doc: &D, node: Node, visit: &mut Visit) -> Option<Node> {
    let object = is_object(doc, node);
    if !object && !is_array(doc, node) {
        return None;
    }
    let end = node.end - 1;
    if visit.cursor == 0 {
        visit.cursor = node.start + 1;
    }
    while visit.cursor <= end {
        let mut from = visit.cursor;
        if object {
            let (_, colon) = next_colon(doc, node.level, from, end);
            if colon == end {
                return None;
            }
            from = colon + 1;
        }
        let value_end = doc.next_bit(node.level, from, end);
        visit.cursor = 1 + if object { member_end(doc, node.level, value_end, end) } else { value_end };
        if let Some(child) = value_in(doc, from, value_end, node.level + 1) {
            return Some(child);
        }
    }
    None
}

/// The next element that a slice takes, or `None` after the last (RFC 9535 section 2.3.4.2.2).
#[inline(always)]
pub fn next_in_slice<D: Document>(doc: &D, node: Node, slice: &Instr, visit: &mut Visit) -> Option<Node> {
    if !is_array(doc, node) {
        return None;
    }
    let (start, end) = (node.start + 1, node.end - 1);
    if visit.cursor == 0 {
        begin_slice(doc, node, slice, visit);
    }
    let step = slice.c;
    while visit.left > 0 {
        visit.left -= 1;
        let region = if step > 0 {
            let from = visit.cursor;
            if from > end {
                visit.left = 0;
                return None;
            }
            let to = doc.next_bit(node.level, from, end);
            // The next element begins `step` commas further on. The first of these commas is the one that
            // ends this element.
            let comma = if step == 1 { to } else { nth_bit(doc, node.level, to, end, step as u64 - 1) };
            visit.cursor = comma + 1;
            (from, to)
        } else {
            let to = visit.cursor;
            let comma = previous_bit(doc, node.level, start, to);
            let from = comma.map_or(start, |comma| comma + 1);
            if visit.left > 0 {
                let mut before = comma.unwrap_or(start);
                let mut steps = step.unsigned_abs() - 1;
                while steps > 0 {
                    before = previous_bit(doc, node.level, start, before).unwrap_or(start);
                    steps -= 1;
                }
                visit.cursor = before;
            }
            (from, to)
        };
        if let Some(child) = value_in(doc, region.0, region.1, node.level + 1) {
            return Some(child);
        }
    }
    None
}

/// Finds the first element of a slice and how many it takes.
#[inline(always)]
fn begin_slice<D: Document>(doc: &D, node: Node, slice: &Instr, visit: &mut Visit) {
    let (start, end) = (node.start + 1, node.end - 1);
    *visit = Visit { cursor: start, left: 0 };
    let step = slice.c;
    let mut len = 0;
    let (first, count) = slice_bounds(slice, || {
        len = array_len(doc, node);
        len
    });
    visit.left = count;
    if count == 0 {
        return;
    }
    if step > 0 && first > 0 {
        let comma = nth_bit(doc, node.level, start, end, first as u64 - 1);
        visit.cursor = comma + 1;
    } else if step < 0 {
        visit.cursor =
            if first == len as i64 - 1 { end } else { nth_bit(doc, node.level, start, end, first as u64) };
    }
}

/// The index of the first element that a slice takes, and the largest number of elements that it takes. If
/// the elements need not be counted, this number may exceed the number of elements.
#[inline(always)]
pub fn slice_bounds(slice: &Instr, count: impl FnOnce() -> u32) -> (i64, u32) {
    let Instr { a, b, c: step, .. } = *slice;
    if step == 0 {
        return (0, 0);
    }
    // If both bounds are from the front and the step is positive, no count is needed: the slice ends with the
    // elements.
    let counted = step < 0 || (a != ABSENT && a < 0) || (b != ABSENT && b < 0);
    let len = if counted { count() as i64 } else { u32::MAX as i64 };
    let from_end = |bound: i64| if bound < 0 { bound + len } else { bound };
    let (lower, upper) = if step > 0 {
        let lower = if a == ABSENT { 0 } else { from_end(a).clamp(0, len) };
        let upper = if b == ABSENT { len } else { from_end(b).clamp(0, len) };
        (lower, upper)
    } else {
        let upper = if a == ABSENT { len - 1 } else { from_end(a).clamp(-1, len - 1) };
        let lower = if b == ABSENT { -1 } else { from_end(b).clamp(-1, len - 1) };
        (lower, upper)
    };
    if lower >= upper {
        return (0, 0);
    }
    let taken = (((upper - lower - 1) as u64) / step.unsigned_abs() + 1) as u32;
    (if step > 0 { lower } else { upper }, taken)
}
