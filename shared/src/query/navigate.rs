//! The trait by which the machine moves from a node to its children, for both kinds of index.

use super::document::{Document, Node, Text};
use super::select::{self, Visit};
use crate::ir::{Instr, Program, Test};
use crate::view::View;

/// A record as its index presents it.
pub trait Navigate {
    /// The text of the record.
    type Text: Text;
    /// A position in the record: a node.
    type At: Copy;
    /// The part of a frame beside its node and its visit: the state of tests that run blocks.
    type State: Copy + Default;
    /// True if the record has a tree. Then every [`TestKind`](crate::ir::TestKind) and
    /// [`Op`](crate::ir::Op) is supported.
    const TREE: bool;

    /// The text of the record.
    fn text(&self) -> &Self::Text;
    /// The bytes of a node.
    fn node(&self, at: Self::At) -> Node;
    /// The first member that has the name of an instruction.
    fn member(&self, at: Self::At, literals: View<'_, u8>, name: &Instr) -> Option<Self::At>;
    /// The element at an index. A negative index counts from the end.
    fn element(&self, at: Self::At, index: i64) -> Option<Self::At>;
    /// The next child in the order of the text, or `None` after the last.
    fn next_child(&self, at: Self::At, visit: &mut Visit) -> Option<Self::At>;
    /// The next element that a slice takes, or `None` after the last.
    fn next_in_slice(&self, at: Self::At, slice: &Instr, visit: &mut Visit) -> Option<Self::At>;
    /// Returns whether [`next_string`](Self::next_string) finds children that equal strings faster than a
    /// visit of all children does.
    #[inline(always)]
    fn finds_strings(&self) -> bool {
        false
    }
    /// The next child that equals the string of one of some filters, and the number of that filter.
    #[inline(always)]
    fn next_string(
        &self,
        _at: Self::At,
        _program: &Program<'_>,
        _filters: (u32, u32),
        _visit: &mut Visit,
    ) -> Option<(Self::At, u32)> {
        None
    }
    /// Evaluates a test that has operands and runs no block: [`operand::ask`](super::operand::ask). For trees
    /// only.
    #[inline(always)]
    fn ask(
        &self,
        _program: &Program<'_>,
        _test: (&Test, u32),
        _found: Option<Self::At>,
        _state: &mut Self::State,
    ) -> bool {
        false
    }
    /// Sets an operand. For trees only.
    #[inline(always)]
    fn load(_state: &mut Self::State, _slot: u32, _operand: Loaded<Self::At>) {}
    /// The frame whose test runs the block of this frame, counted from the bottom. For trees only.
    #[inline(always)]
    fn asked_by(_state: &Self::State) -> usize {
        0
    }
    /// Sets the frame that [`asked_by`](Self::asked_by) returns.
    #[inline(always)]
    fn set_asked_by(_state: &mut Self::State, _frame: usize) {}
    /// The next container among a node and all nodes below it, in the order of the text. For trees only.
    #[inline(always)]
    fn next_container(&self, _at: Self::At, _visit: &mut Visit) -> Option<Self::At> {
        None
    }
}

/// The result of a block that a test ran.
#[derive(Clone, Copy)]
pub enum Loaded<A> {
    /// A node, or nothing.
    Node(Option<A>),
    /// The number of nodes.
    Count(u32),
}

/// A record as its leveled bitmaps present it.
#[derive(Clone, Copy)]
pub struct Leveled<'a, D>(pub &'a D);

impl<D: Document> Navigate for Leveled<'_, D> {
    type Text = D;
    type At = Node;
    type State = ();
    const TREE: bool = false;

    #[inline(always)]
    fn text(&self) -> &D {
        self.0
    }

    #[inline(always)]
    fn node(&self, at: Node) -> Node {
        at
    }

    #[inline(always)]
    fn member(&self, at: Node, literals: View<'_, u8>, name: &Instr) -> Option<Node> {
        if self.0.is_plain() {
            return select::plain_member(self.0, at, literals, name.quoted());
        }
        select::member(self.0, at, literals, name.name())
    }

    #[inline(always)]
    fn element(&self, at: Node, index: i64) -> Option<Node> {
        select::element(self.0, at, index)
    }

    #[inline(always)]
    fn next_child(&self, at: Node, visit: &mut Visit) -> Option<Node> {
        select::next_child(self.0, at, visit)
    }

    #[inline(always)]
    fn next_in_slice(&self, at: Node, slice: &Instr, visit: &mut Visit) -> Option<Node> {
        select::next_in_slice(self.0, at, slice, visit)
    }

    #[inline(always)]
    fn finds_strings(&self) -> bool {
        self.0.is_plain()
    }

    #[inline(always)]
    fn next_string(
        &self,
        at: Node,
        program: &Program<'_>,
        filters: (u32, u32),
        visit: &mut Visit,
    ) -> Option<(Node, u32)> {
        select::next_plain_string(self.0, at, program, filters, visit)
    }
}
