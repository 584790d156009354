//! The children of the nodes of a tree.

use crate::group::{NodeIx, Tree};

/// The children of each node of a group. The record is no child, so 0 is none.
#[derive(Debug)]
pub(super) struct Children {
    first: Vec<NodeIx>,
    next: Vec<NodeIx>,
}

impl Children {
    /// The children among the first `count` nodes, each of which comes after its parent.
    pub(super) fn of(tree: &Tree, count: usize) -> Self {
        let (mut first, mut next) = (vec![0; count], vec![0; count]);
        for (index, node) in tree.nodes.iter().enumerate().take(count).skip(1).rev() {
            next[index] = first[node.parent as usize];
            first[node.parent as usize] = index as NodeIx;
        }
        Self { first, next }
    }

    /// The children of a node, ascending.
    pub(super) fn below(&self, node: NodeIx) -> impl Iterator<Item = NodeIx> + '_ {
        let some =
            |links: &[NodeIx], node: NodeIx| links.get(node as usize).copied().filter(|link| *link != 0);
        std::iter::successors(some(&self.first, node), move |node| some(&self.next, *node))
    }
}
