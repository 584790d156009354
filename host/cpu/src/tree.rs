//! Documents as trees, made without a stack: by scans, scatters and a stable sort, on one thread.
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
//!
//! | module | contents |
//! |---|---|
//! | [`Tokens`] | the tokens of a text |
//! | [`nesting`] | the container of each token, and the check that brackets match |
//! | [`steps`] | the steps T1 to T8, from tokens to the output |
//! | [`primitives`] | the scans, scatters and sort that steps consist of |
//! | [`dump`] | trees as text |

pub mod dump;
pub mod nesting;
pub mod primitives;
pub mod steps;
mod tokens;

use warpath_shared::check::{Fault, FaultKind, diagnose};
use warpath_shared::tree::grammar::{Before, misplaced};
use warpath_shared::tree::operator::Count;
use warpath_shared::tree::token::{TokenKind, bracket_weight, weight};
pub use warpath_shared::tree::{NONE, Node, NodeIx, NodeKind, Rank, TokenIx, TreeFault, TreeFaultKind};
use warpath_shared::units::{MAX_PARTITION_BYTES, PartOffset};

pub use steps::Steps;
pub use tokens::Tokens;

/// The tree of one document. Nodes are numbered by [`Rank`], breadth first; the root, if there is one, is 0.
///
/// All data of nodes is in arrays with one entry a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    tokens: Tokens,
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
    /// The first fault, or a text of more than [`MAX_PARTITION_BYTES`]. Faults are:
    ///
    /// * a byte that is neither bracket nor white space,
    /// * brackets that do not balance or match,
    /// * a second root,
    /// * more than [`MAX_DEPTH`](warpath_shared::units::MAX_DEPTH) containers in each other.
    pub fn of_brackets(text: &[u8]) -> Result<Self, TreeFault> {
        check_length(text)?;
        let (tokens, stray) = Tokens::of_brackets(text);
        let owner = match (nesting::check(&tokens), stray) {
            (Ok(owner), None) => owner,
            (Err(fault), None) => return Err(fault),
            // Containers before the stray byte may still be open.
            (Err(fault), Some(_)) if !is_unclosed(fault) => return Err(fault),
            (_, Some(stray)) => return Err(stray),
        };
        let weights: Vec<Count> = tokens.kind.iter().map(|kind| bracket_weight(*kind)).collect();
        Ok(Self::build(tokens, &weights, &owner))
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
    /// of the other faults, or a text of more than [`MAX_PARTITION_BYTES`].
    pub fn of_json(text: &[u8]) -> Result<Self, TreeFault> {
        check_length(text)?;
        if let Some(fault) = diagnose(text) {
            return Err(TreeFault { kind: TreeFaultKind::Record(fault.kind), at: fault.at });
        }
        let tokens = Tokens::of_json(text);
        let (owner, faults) = placed(&tokens);
        if let Some(fault) = faults.into_iter().next() {
            return Err(fault);
        }
        let weight_at = |token| weight(tokens.before(token), tokens.at(token), tokens.at(token + 1));
        let weights: Vec<Count> = (0..tokens.len()).map(weight_at).collect();
        Ok(Self::build(tokens, &weights, &owner))
    }

    /// Builds the tree of tokens without a fault. For each closing bracket, `owner` has the bracket that it
    /// closes.
    fn build(tokens: Tokens, weights: &[Count], owner: &[TokenIx]) -> Self {
        let steps = Steps::of(weights);
        // A node ends at the end of its token. A container ends at the end of its closing bracket.
        let node_of = |token: usize| steps.before[token].nodes;
        let mut end: Vec<PartOffset> = vec![0; steps.rank.len()];
        let begins = |token: &usize| weights[*token].nodes == 1;
        let own = (0..tokens.len()).filter(begins).map(|token| (node_of(token), tokens.end[token]));
        primitives::scatter(own, &mut end);
        let closing = (0..tokens.len()).filter(|token| tokens.kind[*token].closes());
        let closed = closing.map(|token| (node_of(owner[token] as usize), tokens.end[token]));
        primitives::scatter(closed, &mut end);
        let mut nodes = vec![Node::new(NodeKind::Null, 0, 0, 0); steps.rank.len()];
        let begun = (0..tokens.len()).filter_map(|token| {
            let (kind, node) = (tokens.kind[token].node()?, node_of(token));
            let depth = steps.depth[node as usize];
            Some((node, Node::new(kind, tokens.start[token], end[node as usize], depth)))
        });
        steps::by_rank(&steps.rank, begun, &mut nodes);
        let mut first_child = vec![NONE; nodes.len()];
        steps::first_child(&steps.first_of, &mut first_child);
        let mut next_sibling = vec![NONE; nodes.len()];
        steps::next_sibling(&steps.parent, &mut next_sibling);
        Self { tokens, steps, nodes, first_child, next_sibling }
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

    /// The text's tokens.
    #[must_use]
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// The arrays that the steps made.
    #[must_use]
    pub fn steps(&self) -> &Steps {
        &self.steps
    }
}

fn check_length(text: &[u8]) -> Result<(), TreeFault> {
    if text.len() > MAX_PARTITION_BYTES {
        return Err(TreeFault { kind: TreeFaultKind::TooLong, at: MAX_PARTITION_BYTES });
    }
    Ok(())
}

fn is_unclosed(fault: TreeFault) -> bool {
    fault.kind == TreeFaultKind::Record(FaultKind::UnclosedContainer)
}

/// The container of each token, and the faults of tokens at positions where they are not allowed. Brackets
/// must be balanced and match.
fn placed(tokens: &Tokens) -> (Vec<TokenIx>, Vec<TreeFault>) {
    let mut open = vec![0; tokens.len()];
    nesting::open_before(&tokens.kind, &mut open);
    let mut owner = vec![NONE; tokens.len()];
    nesting::owners(&tokens.kind, &open, &mut owner);
    let in_object = |token: usize| {
        owner.get(token).is_some_and(|owner| tokens.at(*owner as usize) == TokenKind::OpenObject)
    };
    let misplaced = |token: usize| {
        let before =
            Before { kind: tokens.before(token), in_object: token.checked_sub(1).is_some_and(in_object) };
        let kind = misplaced(before, tokens.at(token), open[token] > 0)?;
        Some(TreeFault { kind, at: tokens.start[token] as usize })
    };
    let faults = (0..tokens.len()).filter_map(misplaced).collect();
    (owner, faults)
}

/// The first fault of a line that is to have a tree. This is the first of the faults that are checked in
/// every record ([`diagnose`]). If there is none, it is the first token at a position where RFC 8259 does not
/// allow it. The contents of scalars are not checked. A line of white space has no fault.
#[must_use]
pub fn line_fault(line: &[u8]) -> Option<Fault> {
    if let Some(fault) = diagnose(line) {
        return Some(fault);
    }
    let (_, faults) = placed(&Tokens::of_json(line));
    faults.into_iter().find_map(|TreeFault { kind, at }| {
        let kind = match kind {
            TreeFaultKind::Record(kind) => kind,
            TreeFaultKind::NoName | TreeFaultKind::NoValue if is_trailing(line, at) => {
                FaultKind::TrailingComma
            }
            TreeFaultKind::NoName => FaultKind::NoName,
            TreeFaultKind::NoColon => FaultKind::NoColon,
            TreeFaultKind::NoValue | TreeFaultKind::NameAsValue => FaultKind::NoValue,
            TreeFaultKind::StrayColon | TreeFaultKind::NoComma => FaultKind::NoSeparator,
            _ => return None,
        };
        Some(Fault { kind, at })
    })
}

/// Returns whether the token at `at` closes a container after a comma.
fn is_trailing(line: &[u8], at: usize) -> bool {
    let before = line[..at].trim_ascii_end().last();
    matches!(line[at], b'}' | b']') && before == Some(&b',')
}
