//! The search for the children of a node, by the links of its tree.

use super::document::{Node, Text};
use super::navigate::{Loaded, Navigate};
use super::operand::{self, Operand, Operands};
use super::select::{Visit, slice_bounds};
use super::value::string_equals;
use crate::ir::{Instr, Program, Test};
use crate::tree::NONE;
use crate::tree::tape::{TapeIx, TapeNode};
use crate::view::View;

/// The text of one partition and the trees of its records.
pub trait Trees: Text {
    /// The node at `at`.
    fn tape_node(&self, at: TapeIx) -> TapeNode;
}

/// A record as its tree presents it.
#[derive(Clone, Copy)]
pub struct Linked<'a, T>(pub &'a T);

/// The state that a frame of a tree keeps for tests that run blocks.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct TestState {
    /// The frame of the test that runs this block, counted from the bottom.
    pub asked_by: u32,
    /// The operands of the test that this frame evaluates.
    pub operands: [Operand; 2],
}

impl<T: Trees> Linked<'_, T> {
    /// The node of the tape at `at`.
    #[inline(always)]
    pub fn at(&self, at: TapeIx) -> TapeNode {
        self.0.tape_node(at)
    }

    /// The number of children of a container: its elements or its members, including members of repeated
    /// names.
    #[inline(always)]
    pub fn count_children(&self, at: TapeIx) -> u32 {
        let (mut count, end) = (0, self.at(at).next);
        let mut child = at + 1;
        while child < end {
            child = self.at(child).next;
            count += 1;
        }
        count
    }

    /// The element of an array before `behind`, which is another element or one past the array's last node.
    /// There must be such an element.
    ///
    /// ```text
    /// [ 1 , [ 2 , { "a" : 3 } ] , 4 ]       3 is just before 4; its links lead up to the element
    /// 0 1   2 3   4  5    6       7
    /// ```
    #[inline(always)]
    fn element_before(&self, array: TapeIx, behind: TapeIx) -> TapeIx {
        let mut at = behind - 1;
        loop {
            let up = self.at(at).up();
            if up == array {
                return at;
            }
            at = up;
        }
    }

    /// Returns whether a member has the name of an instruction.
    #[inline(always)]
    pub fn is_named(&self, member: &TapeNode, literals: View<'_, u8>, name: &Instr) -> bool {
        let (start, len) = (member.start(), member.end - member.start());
        // Both lengths include the quotes, and that of the literal also the colon. With escapes, a spelling
        // is only longer.
        let (quoted, quoted_len) = name.quoted();
        if len + 1 < quoted_len {
            return false;
        }
        if len + 1 == quoted_len {
            return self.0.stands_at(start, literals, quoted, len);
        }
        let (offset, len) = name.name();
        string_equals(self.0, start + 1, member.end - 1, literals, offset, len)
    }
}

impl<T: Trees> Navigate for Linked<'_, T> {
    type Text = T;
    type At = TapeIx;
    type State = TestState;
    const TREE: bool = true;

    #[inline(always)]
    fn text(&self) -> &T {
        self.0
    }

    #[inline(always)]
    fn node(&self, at: TapeIx) -> Node {
        let node = self.at(at);
        Node { start: node.start(), end: node.end, level: 0 }
    }

    #[inline(always)]
    fn member(&self, at: TapeIx, literals: View<'_, u8>, name: &Instr) -> Option<TapeIx> {
        let object = self.at(at);
        if !object.is_object() {
            return None;
        }
        let mut member = at + 1;
        while member < object.next {
            let node = self.at(member);
            if self.is_named(&node, literals, name) {
                return Some(member + 1);
            }
            member = node.next;
        }
        None
    }

    #[inline(always)]
    fn element(&self, at: TapeIx, index: i64) -> Option<TapeIx> {
        let array = self.at(at);
        let mut left = if index < 0 { -(index + 1) } else { index } as u64;
        // Each element takes at least one node.
        if !array.is_array() || left >= (array.next - at - 1) as u64 {
            return None;
        }
        let mut element = if index < 0 { self.element_before(at, array.next) } else { at + 1 };
        while left > 0 {
            if index < 0 {
                if element == at + 1 {
                    return None;
                }
                element = self.element_before(at, element);
            } else {
                element = self.at(element).next;
                if element == array.next {
                    return None;
                }
            }
            left -= 1;
        }
        Some(element)
    }

    #[inline(always)]
    fn next_child(&self, at: TapeIx, visit: &mut Visit) -> Option<TapeIx> {
        let node = self.at(at);
        if !node.is_container() {
            return None;
        }
        let child = if visit.cursor == 0 { at + 1 } else { visit.cursor };
        if child >= node.next {
            return None;
        }
        visit.cursor = self.at(child).next;
        // The value is the node after its name.
        Some(child + node.is_object() as u32)
    }

    #[inline(always)]
    fn next_in_slice(&self, at: TapeIx, slice: &Instr, visit: &mut Visit) -> Option<TapeIx> {
        let array = self.at(at);
        if !array.is_array() {
            return None;
        }
        let step = slice.c;
        if visit.cursor == 0 {
            visit.cursor = at + 1;
            let (first, count) = slice_bounds(slice, || self.count_children(at));
            visit.left = count;
            if count == 0 {
                return None;
            }
            let first = if step < 0 { -(self.count_children(at) as i64 - first) } else { first };
            match self.element(at, first) {
                Some(element) => visit.cursor = element,
                None => visit.left = 0,
            }
        }
        if visit.left == 0 {
            return None;
        }
        visit.left -= 1;
        let found = visit.cursor;
        // Advance to the next element of the slice, if there is one.
        let mut steps = if visit.left > 0 { step.unsigned_abs() } else { 0 };
        while steps > 0 && visit.left > 0 {
            let edge = if step < 0 { at + 1 } else { self.at(visit.cursor).next };
            if step < 0 && visit.cursor == edge || step > 0 && edge == array.next {
                visit.left = 0;
            } else {
                visit.cursor = if step < 0 { self.element_before(at, visit.cursor) } else { edge };
            }
            steps -= 1;
        }
        Some(found)
    }

    #[inline(always)]
    fn ask(
        &self,
        program: &Program<'_>,
        (test, number): (&Test, u32),
        found: Option<TapeIx>,
        state: &mut TestState,
    ) -> bool {
        operand::ask(&Operands { program, trees: self }, test, number, found, &mut state.operands)
    }

    #[inline(always)]
    fn load(state: &mut TestState, slot: u32, found: Loaded<TapeIx>) {
        state.operands[(slot & 1) as usize] = match found {
            Loaded::Node(at) => Operand::of(at),
            Loaded::Count(count) => Operand::number(count),
        };
    }

    #[inline(always)]
    fn asked_by(state: &TestState) -> usize {
        state.asked_by as usize
    }

    #[inline(always)]
    fn set_asked_by(state: &mut TestState, frame: usize) {
        state.asked_by = frame as u32;
    }

    #[inline(always)]
    fn next_container(&self, at: TapeIx, visit: &mut Visit) -> Option<TapeIx> {
        let end = self.at(at).next;
        let mut next = if visit.cursor == 0 { at } else { visit.cursor };
        while next < end {
            if self.at(next).is_container() {
                visit.cursor = next + 1;
                return Some(next);
            }
            next += 1;
        }
        None
    }
}

/// Returns whether two values of any kind are equal (RFC 9535 section 2.3.5.2.2). `names` compares two names,
/// and `scalars` compares two values that are no containers.
///
/// The walk visits the left value in the order of the text. In the right value it follows to the same
/// position: down by names and indices, up by links. If an object repeats a name, the first member counts, as
/// it does for a selector.
pub fn equal<T: Trees>(
    trees: &Linked<'_, T>,
    (left, right): (TapeIx, TapeIx),
    names: impl Fn(TapeIx, TapeIx) -> bool,
    scalars: impl Fn(TapeIx, TapeIx) -> bool,
) -> bool {
    let member = |object: TapeIx, name: TapeIx| {
        let end = trees.at(object).next;
        let mut at = object + 1;
        while at < end && !names(at, name) {
            at = trees.at(at).next;
        }
        if at < end { at } else { NONE }
    };
    // Finds the first member, from `from` on, that is the first of its name. Returns its value, and the value
    // of the same name on the right.
    let pair = |object: TapeIx, other: TapeIx, from: TapeIx| -> Result<Option<(TapeIx, TapeIx)>, ()> {
        let end = trees.at(object).next;
        let mut at = from;
        while at < end {
            if member(object, at) == at {
                let found = member(other, at);
                return if found == NONE { Err(()) } else { Ok(Some((at + 1, found + 1))) };
            }
            at = trees.at(at).next;
        }
        Ok(None)
    };
    let (mut l, mut r) = (left, right);
    loop {
        let (a, b) = (trees.at(l), trees.at(r));
        if a.is_container() != b.is_container() || a.is_object() != b.is_object() {
            return false;
        }
        let mut down = None;
        if a.is_array() {
            if trees.count_children(l) != trees.count_children(r) {
                return false;
            }
            down = (a.next > l + 1).then_some((l + 1, r + 1));
        } else if a.is_object() {
            let mut at = r + 1;
            while at < b.next {
                if member(l, at) == NONE {
                    return false;
                }
                at = trees.at(at).next;
            }
            match pair(l, r, l + 1) {
                Ok(pair) => down = pair,
                Err(()) => return false,
            }
        } else if !scalars(l, r) {
            return false;
        }
        if let Some(pair) = down {
            (l, r) = pair;
            continue;
        }
        // Advance to the next value, in the same container or in one that encloses it.
        loop {
            if l == left {
                return true;
            }
            let (mut up, mut other) = (trees.at(l).up(), trees.at(r).up());
            let name = trees.at(up);
            if name.is_name() {
                (up, other) = (name.up(), trees.at(other).up());
                match pair(up, other, name.next) {
                    Ok(Some(pair)) => {
                        (l, r) = pair;
                        break;
                    }
                    Ok(None) => {}
                    Err(()) => return false,
                }
            } else {
                let next = trees.at(l).next;
                if next < name.next {
                    (l, r) = (next, trees.at(r).next);
                    break;
                }
            }
            (l, r) = (up, other);
        }
    }
}
