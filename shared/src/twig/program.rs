//! The program of a record, made from its tape. No stack is needed, because the links of the tape lead
//! upwards.
//!
//! Of the members of one name, the first has the name; the others are nodes without one. A member whose name
//! twigs test is compared with those before it only if the object may have had the name: if the name's bit at
//! the object's level is set. Names whose numbers are equal modulo 128 share a bit.

use super::dictionary::Dictionary;
use super::{MAX_LEVELS, NONE, Op, OpKind};
use crate::query::document::Text;
use crate::tree::tape::{TapeIx, TapeNode};

/// The row of nodes `*` without a test of their value.
const ANY: u32 = 0;
/// The greatest number of comparisons of members, for each node of a record. A long name counts as one more
/// for each 8 bytes. The host reads a record that would need more, so that no record takes quadratic time.
const COMPARED_A_NODE: u32 = 8;

/// Writes the program of the record at `root`, without the `Answer`, one operation at a time. Returns false
/// if the program is incomplete: the record is deeper than [`MAX_LEVELS`], its objects repeat names too
/// often, or `op` returned false because there was no room.
#[inline(always)]
pub fn write<T: Text>(
    dictionary: &Dictionary<'_>,
    text: &T,
    node: impl Fn(TapeIx) -> TapeNode,
    root: TapeIx,
    mut op: impl FnMut(Op) -> bool,
) -> bool {
    let mut fits = true;
    let (mut at, mut open, mut end) = (root + 1, root, node(root).next);
    // Bit *l*: the leaves `*` of level *l* have been written. To write them again has no effect.
    let (mut depth, mut told) = (0_u32, 0_u32);
    // For each level, the bits of the names that the open object has had so far.
    let mut had = [[0_u64; 2]; MAX_LEVELS + 1];
    let mut compared = 0;
    loop {
        // The next node that ends: the open container, or a node with nothing below it.
        let ends = at == end;
        let (value, name, called);
        if ends {
            if open == root {
                return fits;
            }
            value = node(open);
            let above = node(value.up());
            name = if above.is_name() { Some(above) } else { None };
            called = value.up();
            open = if above.is_name() { above.up() } else { value.up() };
            end = node(open).next;
            told &= !(1 << depth);
            depth -= 1;
        } else {
            let first = node(at);
            let place = at + first.is_name() as u32;
            name = if first.is_name() { Some(first) } else { None };
            called = at;
            value = if first.is_name() { node(place) } else { first };
            if value.is_container() && value.next > place + 1 {
                fits &= op(Op::new(OpKind::Enter, 0));
                depth += 1;
                if depth > MAX_LEVELS as u32 {
                    return false;
                }
                had[depth as usize] = [0; 2];
                (open, end, at) = (place, value.next, place + 1);
                continue;
            }
            at = value.next;
        }
        let mut tag = name.map_or(0, |name| dictionary.tag(text, name));
        if tag != 0 {
            let (had, bit) = (&mut had[depth as usize][(tag >> 6 & 1) as usize], 1 << (tag & 63));
            if *had & bit != 0 {
                let mut before = open + 1;
                while before < called && tag != 0 {
                    let other = node(before);
                    if dictionary.tag(text, other) == tag {
                        tag = 0;
                    }
                    before = other.next;
                    compared += 1 + (other.end - other.start()) / 8;
                }
                if compared > COMPARED_A_NODE * (node(root).next - root) {
                    return false;
                }
            }
            *had |= bit;
        }
        let is_told = told >> depth & 1 != 0;
        told |= 1 << depth;
        rows(dictionary, text, tag, value, |row| {
            let has = dictionary.rows.get(row as usize);
            if has & 1 != 0 && !(is_told && row == ANY) {
                fits &= op(Op::new(if ends { OpKind::Tell } else { OpKind::Leaf }, row));
            }
            if ends && has & 2 != 0 {
                fits &= op(Op::new(OpKind::Pass, row));
            }
        });
        if ends {
            fits &= op(Op::new(OpKind::Exit, 0));
        }
    }
}

/// Passes to `row` the rows that a value passes, with the number of its name, or 0.
#[inline(always)]
fn rows<T: Text>(dictionary: &Dictionary<'_>, text: &T, tag: u32, value: TapeNode, mut row: impl FnMut(u32)) {
    row(ANY);
    let mut list = NONE;
    if tag != 0 {
        let tag = dictionary.tags.get(tag as usize);
        if tag.row != NONE {
            row(tag.row);
        }
        list = tag.tests;
    }
    // The tests of `*` come after those of the name.
    let mut left = 1 + (dictionary.tests_any & 1);
    while left > 0 {
        if list != NONE {
            dictionary.passed(list, text, value, &mut row);
        }
        list = 0;
        left -= 1;
    }
}
