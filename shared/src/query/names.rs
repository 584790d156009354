//! The members of a name anywhere in a record, `$..name`. Threads test all nodes side by side, and visit no
//! container.
//!
//! RFC 9535 visits the containers of a record in the order of the text (section 2.5.2.2). From each it takes
//! the first member of the name. Each such member is therefore found independently, and the order of matches
//! is that of their containers.
//!
//! ```text
//! {"a":{"x":1},"x":2}        node of x  3  6      container  2  0      matches  2, 1
//! ```

use super::tree::{Linked, Trees};
use crate::ir::{Instr, Program};
use crate::tree::tape::{TapeIx, TapeNode};

/// Returns whether a node may be a name that equals the name of an instruction, and ends within a text of
/// `text` bytes. Callers may pass any node, even one of a faulty line, whose nodes may have any value.
#[inline(always)]
pub fn is_named<T: Trees>(
    trees: &Linked<'_, T>,
    program: &Program<'_>,
    name: &Instr,
    node: &TapeNode,
    text: usize,
) -> bool {
    node.is_name()
        && node.end as usize <= text
        && node.start() < node.end
        && trees.is_named(node, program.literals, name)
}

/// The container of the member at a node, if the member is the first of its name there.
#[inline(always)]
pub fn container<T: Trees>(
    trees: &Linked<'_, T>,
    program: &Program<'_>,
    name: &Instr,
    (at, node): (TapeIx, &TapeNode),
) -> Option<TapeIx> {
    let mut before = node.up() + 1;
    while before < at {
        let node = trees.at(before);
        if trees.is_named(&node, program.literals, name) {
            return None;
        }
        before = node.next;
    }
    Some(node.up())
}
