//! The steps from tokens to the array of nodes: T1 to T8. They begin with the changes that tokens make to
//! number and depth.
//!
//! Each step is a scan, a scatter or a sort over whole arrays, with a rule of [`warpath_shared::tree`] for
//! one element. An element depends on others only through the primitive. Arrays are by token, by node in the
//! order of the text, or by rank.
//!
//! No step allocates. The caller provides arrays of the full length, with the results of earlier steps. A
//! step panics if an array is too short.

use warpath_shared::tree::operator::{Count, Siblings};
use warpath_shared::tree::{Address, MAX_NODE_DEPTH, NONE, NodeIx, Rank};
use warpath_shared::units::Depth;

use super::primitives::{exclusive_scan, inclusive_scan, scatter, stable_ranks};

/// The arrays between tokens and output, one of each kind.
///
/// The examples are for the document from which the steps come, `[[][[][][[]]][][]]`; `.` is [`NONE`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// By token, from [`number`] (T1): the number of nodes that begin before it, and the depth before it.
    pub before: Vec<Count>,
    /// By node, from [`depths`] (T2): the number of nodes around it. `0 1 1 2 2 2 3 1 1`
    pub depth: Vec<Depth>,
    /// By node, from [`ranks`] (T3): its index breadth first. `0 1 2 5 6 7 8 3 4`
    pub rank: Vec<Rank>,
    /// By rank, from [`first_children`] (T4): the node whose first child it is. `. 0 . . . 2 . . 7`
    pub first_of: Vec<Rank>,
    /// By rank, from [`parents`] (T5): its parent. `. 0 0 0 0 2 2 2 7`
    pub parent: Vec<Rank>,
    /// By rank, from [`parents`] (T5): its number among its siblings, from 1; the root has 1.
    /// `1 1 2 3 4 1 2 3 1`
    pub count: Vec<u32>,
    /// By rank, from [`child_counts`] (T6): the number of its children. `4 0 3 0 0 0 0 1 0`
    pub children: Vec<u32>,
    /// By rank, from [`allocate`] (T7): the index of its block in `cells`. `0 5 6 10 11 12 13 14 16`
    pub address: Vec<Address>,
    /// The output, from [`fill`] (T8). Each node, breadth first, has a block: the number of its children, and
    /// their addresses. `4 5 6 10 11 0 3 12 13 14 0 0 0 0 1 16 0`
    pub cells: Vec<u32>,
}

impl Steps {
    /// Runs all steps over the weights of tokens. Each array is allocated as soon as its length is known.
    /// Arrays by token are as long as `weights`. Arrays by node and by rank have the number of nodes that T1
    /// counts. T7 counts the cells.
    ///
    /// The weights must be those of a tree. The depth is zero before the first token and after the last, and
    /// never negative. At most one node has depth zero, and no node is deeper than [`MAX_NODE_DEPTH`].
    pub(super) fn of(weights: &[Count]) -> Self {
        let mut before = vec![Count::default(); weights.len()];
        let nodes = number(weights, &mut before).nodes as usize;
        let mut depth = vec![0; nodes];
        depths(weights, &before, &mut depth);
        let mut places = vec![0; MAX_NODE_DEPTH + 1];
        let mut rank = vec![0; nodes];
        ranks(&depth, &mut places, &mut rank);
        let mut first_of = vec![NONE; nodes];
        first_children(&depth, &rank, &mut first_of);
        let (mut parent, mut count) = (vec![NONE; nodes], vec![0; nodes]);
        parents(&first_of, &mut parent, &mut count);
        let mut children = vec![0; nodes];
        child_counts(&parent, &count, &mut children);
        let mut address = vec![0; nodes];
        let mut cells = vec![0; allocate(&children, &mut address) as usize];
        fill(&parent, &count, &children, &address, &mut cells);
        Self { before, depth, rank, first_of, parent, count, children, address, cells }
    }
}

/// T1, an exclusive scan over tokens: the number of nodes that begin before each token, and the depth before
/// it. Returns the totals.
pub fn number(weights: &[Count], before: &mut [Count]) -> Count {
    exclusive_scan(weights.iter().copied(), before)
}

/// T2, a scatter from tokens to nodes: the depth before a token that begins a node is the depth of that node.
pub fn depths(weights: &[Count], before: &[Count], depth: &mut [Depth]) {
    let begins =
        |(weight, before): (&Count, &Count)| (weight.nodes == 1).then_some((before.nodes, before.depth));
    scatter(weights.iter().zip(before).filter_map(begins), depth);
}

/// T3, a stable sort of nodes by depth, which keeps the rank of each node. `places` is scratch memory. Its
/// length is at least one more than the greatest depth.
///
/// # Panics
/// If a depth is not below `places.len()`.
pub fn ranks(depth: &[Depth], places: &mut [u32], rank: &mut [Rank]) {
    stable_ranks(depth.iter().map(|depth| *depth as u32), places, rank);
}

/// T4, a scatter from nodes to ranks: a node that follows another and is one deeper is its first child.
/// `first_of` must be all [`NONE`].
pub fn first_children(depth: &[Depth], rank: &[Rank], first_of: &mut [Rank]) {
    let first = |node: usize| (depth[node + 1] == depth[node] + 1).then(|| (rank[node + 1], rank[node]));
    scatter((0..depth.len().saturating_sub(1)).filter_map(first), first_of);
}

/// T5, an inclusive scan over ranks. Siblings have consecutive ranks. The first has the parent from T4, and
/// the scan copies the parent to the others.
pub fn parents(first_of: &[Rank], parent: &mut [Rank], count: &mut [u32]) {
    let mut out = parent.iter_mut().zip(count);
    inclusive_scan(first_of.iter().map(|parent| Siblings::of(*parent)), |siblings| {
        if let Some((parent, count)) = out.next() {
            (*parent, *count) = (siblings.parent, siblings.count);
        }
    });
}

/// T6, a scatter over ranks: the last of some siblings has the number of all of them. A node is the last
/// sibling if the next node has another parent, or if there is no next node. The root is no node's child.
/// `children` must be all zero.
pub fn child_counts(parent: &[Rank], count: &[u32], children: &mut [u32]) {
    let last =
        |rank: usize| (parent.get(rank + 1) != Some(&parent[rank])).then(|| (parent[rank], count[rank]));
    scatter((1..parent.len()).filter_map(last), children);
}

/// T7, an exclusive scan over ranks: the length of each node's block is one plus the number of its children.
/// Returns the total length.
pub fn allocate(children: &[u32], address: &mut [Address]) -> u32 {
    exclusive_scan(children.iter().map(|children| 1 + children), address)
}

/// T8, two scatters into the output. The first writes the number of each node's children at the start of its
/// block. The second writes each node's address into its parent's block, at the index of its number among its
/// siblings.
pub fn fill(parent: &[Rank], count: &[u32], children: &[u32], address: &[Address], cells: &mut [u32]) {
    scatter(address.iter().copied().zip(children.iter().copied()), cells);
    let into_parent = |rank: usize| (address[parent[rank] as usize] + count[rank], address[rank]);
    scatter((1..parent.len()).map(into_parent), cells);
}

/// Inverts [`Steps::first_of`]: gives, by rank, each node's first child. `first_child` must be all [`NONE`].
pub fn first_child(first_of: &[Rank], first_child: &mut [Rank]) {
    let of = |(rank, parent): (Rank, &Rank)| (*parent != NONE).then_some((*parent, rank));
    scatter((0..).zip(first_of).filter_map(of), first_child);
}

/// Gives, by rank, the next sibling of each node; [`NONE`] for the last sibling.
pub fn next_sibling(parent: &[Rank], next: &mut [Rank]) {
    let is_next = |rank: usize| rank > 0 && parent.get(rank + 1) == Some(&parent[rank]);
    for (rank, next) in next.iter_mut().enumerate() {
        *next = if is_next(rank) { rank as Rank + 1 } else { NONE };
    }
}

/// Reorders values from nodes in the order of the text to ranks.
pub(super) fn by_rank<T>(rank: &[Rank], values: impl Iterator<Item = (NodeIx, T)>, out: &mut [T]) {
    scatter(values.map(|(node, value)| (rank[node as usize], value)), out);
}
