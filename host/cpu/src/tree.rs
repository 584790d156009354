//! Documents as trees for readers: the tree in the order of the text, numbered breadth first,
//! with the arrays of each step by which many threads could make the same tree.
//!
//! [`Tree::of_json`] takes one JSON text, and [`Tree::of_brackets`] takes a string of brackets.
//! `docs/trees.md` draws a tree and each step.
//!
//! ```
//! use warpath_cpu::tree::Tree;
//!
//! # fn main() -> Result<(), warpath_cpu::tree::TreeFault> {
//! let tree = Tree::of_brackets(b"[[][[][][[]]][][]]")?;
//! assert_eq!(tree.cells(), [4, 5, 6, 10, 11, 0, 3, 12, 13, 14, 0, 0, 0, 0, 1, 16, 0]);
//!
//! let tree = Tree::of_json(br#"{"a":[1,true]}"#)?;
//! let kinds: Vec<_> = tree.nodes().iter().map(|node| node.kind().as_str()).collect();
//! assert_eq!(kinds, ["object", "name", "array", "number", "true"]);
//! # Ok(())
//! # }
//! ```

pub mod dump;

use warpath_shared::check::{FaultKind, diagnose};
use warpath_shared::index::Monoid;
use warpath_shared::tree::operator::Count;
use warpath_shared::tree::tape::TapeNode;
use warpath_shared::tree::token::{TokenKind, bracket_weight, kind, weight};
use warpath_shared::tree::{Address, NodeIx};
pub use warpath_shared::tree::{NONE, Node, NodeKind, Rank, TreeFault, TreeFaultKind};
use warpath_shared::units::Depth;

pub use crate::placed::line_fault;
use crate::placed::{check_length, checked};
use crate::tape::{nodes_of, nodes_of_spans};

/// The arrays of the steps T1 to T8, between tokens and output, which `docs/trees.md` describes.
///
/// The examples are for the document from which the steps come, `[[][[][][[]]][][]]`; `.` is [`NONE`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// By token, from T1: the number of nodes that begin before it, and the depth before it.
    pub before: Vec<Count>,
    /// By node, from T2: the number of nodes around it. `0 1 1 2 2 2 3 1 1`
    pub depth: Vec<Depth>,
    /// By node, from T3: its index breadth first. `0 1 2 5 6 7 8 3 4`
    pub rank: Vec<Rank>,
    /// By rank, from T4: the node whose first child it is. `. 0 . . . 2 . . 7`
    pub first_of: Vec<Rank>,
    /// By rank, from T5: its parent. `. 0 0 0 0 2 2 2 7`
    pub parent: Vec<Rank>,
    /// By rank, from T5: its number among its siblings, from 1; the root has 1.
    /// `1 1 2 3 4 1 2 3 1`
    pub count: Vec<u32>,
    /// By rank, from T6: the number of its children. `4 0 3 0 0 0 0 1 0`
    pub children: Vec<u32>,
    /// By rank, from T7: the index of its block in `cells`. `0 5 6 10 11 12 13 14 16`
    pub address: Vec<Address>,
    /// The output, from T8. Each node, breadth first, has a block: the number of its children, and
    /// their addresses. `4 5 6 10 11 0 3 12 13 14 0 0 0 0 1 16 0`
    pub cells: Vec<u32>,
}

/// The tree of one document. Nodes are numbered by [`Rank`], breadth first; the root, if there is one, is 0.
///
/// All data of nodes is in arrays with one entry a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    tokens: Vec<TokenKind>,
    steps: Steps,
    nodes: Vec<Node>,
    first_child: Vec<Rank>,
    next_sibling: Vec<Rank>,
}

impl Tree {
    /// Makes the tree of a string of brackets, `[]` and `{}`. Each pair is a node of kind array or object,
    /// and may contain any other pairs. White space is ignored. A text without a bracket gives a tree without
    /// a node.
    ///
    /// # Errors
    /// The first fault, or a text of more than
    /// [`MAX_PARTITION_BYTES`](warpath_shared::units::MAX_PARTITION_BYTES). Faults are:
    ///
    /// * a byte that is neither bracket nor white space,
    /// * brackets that do not balance or match,
    /// * a second root,
    /// * more than [`MAX_DEPTH`](warpath_shared::units::MAX_DEPTH) containers in each other.
    pub fn of_brackets(text: &[u8]) -> Result<Self, TreeFault> {
        check_length(text)?;
        let is_stray = |byte: &u8| !matches!(byte, b'{' | b'[' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
        let stray = text.iter().position(is_stray);
        match (diagnose(&text[..stray.unwrap_or(text.len())]), stray) {
            // Containers before the stray byte may still be open.
            (Some(fault), stray) if stray.is_none() || fault.kind != FaultKind::UnclosedContainer => {
                return Err(TreeFault { kind: TreeFaultKind::Record(fault.kind), at: fault.at });
            }
            (_, Some(at)) => return Err(TreeFault { kind: TreeFaultKind::NotABracket, at }),
            (_, None) => {}
        }
        let brackets = text.iter().enumerate().filter(|(_, byte)| !byte.is_ascii_whitespace());
        let tokens: Vec<TokenKind> = brackets.clone().map(|(_, byte)| kind(&[*byte])).collect();
        let mut before = TokenKind::Edge;
        // Arrays, with a comma between two of them, are JSON.
        let spans = brackets.zip(&tokens).flat_map(|((at, _), token)| {
            let comma = (before.closes() && token.opens()).then_some((at, b',', at));
            before = *token;
            comma.into_iter().chain([(at, if token.opens() { b'[' } else { b']' }, at + 1)])
        });
        let nodes = nodes_of_spans(spans, tokens.len());
        let weights = tokens.iter().map(|token| bracket_weight(*token)).collect();
        Ok(Self::of_nodes(text, tokens, weights, &nodes))
    }

    /// Makes the tree of a JSON text. The text is a record, with or without its newline, or a document of
    /// several lines. Each value is a node, and so is each name. A text of white space gives a tree without a
    /// node.
    ///
    /// The function checks brackets, depth and strings, as in every record. It also checks that values,
    /// names, commas and colons are at allowed positions (RFC 8259). It does not check the digits of numbers,
    /// the contents of strings, or UTF-8.
    ///
    /// # Errors
    /// The first of the faults that are checked in every record ([`diagnose`]). If there is none, the first
    /// of the other faults, or a text of more than
    /// [`MAX_PARTITION_BYTES`](warpath_shared::units::MAX_PARTITION_BYTES).
    pub fn of_json(text: &[u8]) -> Result<Self, TreeFault> {
        let tokens = checked(text)?;
        let nodes = nodes_of(text, &tokens);
        let tokens: Vec<TokenKind> = tokens.into_iter().map(|token| token.kind).collect();
        let at =
            |token: Option<usize>| token.and_then(|at| tokens.get(at)).map_or(TokenKind::Edge, |kind| *kind);
        let weight_at = |token: usize| weight(at(token.checked_sub(1)), at(Some(token)), at(Some(token + 1)));
        let weights = (0..tokens.len()).map(weight_at).collect();
        Ok(Self::of_nodes(text, tokens, weights, &nodes))
    }

    /// Numbers nodes breadth first. `weights` are the changes that tokens make to node number and depth.
    fn of_nodes(text: &[u8], tokens: Vec<TokenKind>, weights: Vec<Count>, tape: &[TapeNode]) -> Self {
        let mut tree = Self { tokens, ..Self::default() };
        let steps = &mut tree.steps;
        let mut sum = Count::default();
        for weight in weights {
            steps.before.push(sum);
            sum = sum.combine(weight);
        }
        for node in tape {
            let depth = if node.up() == NONE { 0 } else { steps.depth[node.up() as usize] + 1 };
            steps.depth.push(depth);
        }
        let mut order: Vec<NodeIx> = (0..tape.len() as NodeIx).collect();
        order.sort_by_key(|node| steps.depth[*node as usize]);
        steps.rank = vec![0; tape.len()];
        for (rank, node) in (0..).zip(&order) {
            steps.rank[*node as usize] = rank;
        }
        steps.first_of = vec![NONE; tape.len()];
        steps.children = vec![0; tape.len()];
        tree.first_child = vec![NONE; tape.len()];
        tree.next_sibling = vec![NONE; tape.len()];
        for (rank, node) in (0..).zip(&order) {
            let (at, depth) = (&tape[*node as usize], steps.depth[*node as usize]);
            tree.nodes.push(Node::new(kind_of(text, at), at.start(), at.end, depth));
            let parent = if at.up() == NONE { NONE } else { steps.rank[at.up() as usize] };
            let count = if parent == NONE { 1 } else { steps.children[parent as usize] + 1 };
            match count {
                _ if parent == NONE => {}
                1 => {
                    steps.first_of[rank as usize] = parent;
                    tree.first_child[parent as usize] = rank;
                }
                _ => tree.next_sibling[rank as usize - 1] = rank,
            }
            if parent != NONE {
                steps.children[parent as usize] = count;
            }
            steps.parent.push(parent);
            steps.count.push(count);
        }
        for children in &steps.children {
            steps.address.push(steps.cells.len() as Address);
            steps.cells.resize(steps.cells.len() + 1 + *children as usize, *children);
        }
        for (rank, address) in steps.address.iter().enumerate().skip(1) {
            let (parent, count) = (steps.parent[rank] as usize, steps.count[rank]);
            steps.cells[(steps.address[parent] + count) as usize] = *address;
        }
        tree
    }

    /// The number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether the tree has no node, because the text was white space.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Each node's kind, bytes and depth.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Each node's parent; [`NONE`] for the root.
    #[must_use]
    pub fn parents(&self) -> &[Rank] {
        &self.steps.parent
    }

    /// Each node's first child, or [`NONE`]. The other children have the next ranks.
    #[must_use]
    pub fn first_children(&self) -> &[Rank] {
        &self.first_child
    }

    /// The next sibling of each node, or [`NONE`].
    #[must_use]
    pub fn next_siblings(&self) -> &[Rank] {
        &self.next_sibling
    }

    /// The number of children of each node.
    #[must_use]
    pub fn child_counts(&self) -> &[u32] {
        &self.steps.children
    }

    /// The index in [`cells`](Self::cells) of each node's block.
    #[must_use]
    pub fn addresses(&self) -> &[u32] {
        &self.steps.address
    }

    /// The tree as one array. Each node, breadth first, has a block: the number of its children, and the
    /// addresses of their blocks. The root's block is at 0. There are two cells a node, less one.
    #[must_use]
    pub fn cells(&self) -> &[u32] {
        &self.steps.cells
    }

    /// The nodes in the order in which they begin in the text.
    #[must_use]
    pub fn in_text_order(&self) -> &[Rank] {
        &self.steps.rank
    }

    /// The kinds of the text's tokens.
    #[must_use]
    pub fn tokens(&self) -> &[TokenKind] {
        &self.tokens
    }

    /// The arrays of the steps.
    #[must_use]
    pub fn steps(&self) -> &Steps {
        &self.steps
    }
}

/// The kind of a node.
fn kind_of(text: &[u8], node: &TapeNode) -> NodeKind {
    if node.is_name() {
        return NodeKind::Name;
    }
    let end = if node.is_container() { node.start() + 1 } else { node.end };
    // The tokens of nodes are at allowed positions, so each is a value.
    kind(&text[node.start() as usize..end as usize]).node().unwrap_or(NodeKind::Null)
}
