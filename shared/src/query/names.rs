//! Members of a name wherever they are, `$..name`: all nodes looked at side by side, and no container visited.
//!
//! RFC 9535 visits a record's containers in the order of the text, and of each takes the first member of the name (section 2.5.2.2).
//! So each such member is found by itself, and the order of matches is that of their containers.
//!
//! ```text
//! {"a":{"x":1},"x":2}        node of x  3  6      container  2  0      matches  2, 1
//! ```

use super::tree::{Linked, Trees};
use crate::ir::{Instr, Program};
use crate::tree::tape::{TapeIx, TapeNode};

/// Whether a node may be a name that an instruction has, and ends within a text of so many bytes. To be asked of any node, also of
/// lines that are faulty, whose nodes may be anything.
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

/// The container that the member at a node is in, if it is the first of its name there.
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
