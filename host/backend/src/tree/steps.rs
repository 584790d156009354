//! From what tokens do to number and depth to the array of nodes, step by step: T1 to T8.
//!
//! Each step is a scan, a scatter or a sort over whole arrays, with a rule of [`warpath_shared::tree`] for one element. In none
//! does an element wait for another but by the primitive. Arrays are by token, by node in the order of the text, or by rank.
//!
//! No step allocates. Those who call one bring arrays as long as what they are of, with what an earlier step wrote; a step
//! panics where an array is too short for that.

use warpath_shared::tree::operator::{Count, Siblings};
use warpath_shared::tree::{Address, MAX_NODE_DEPTH, NONE, NodeIx, Rank};
use warpath_shared::units::Depth;

use super::primitives::{exclusive_scan, inclusive_scan, scatter, stable_ranks};

/// Every array on the way from tokens to the output, as long as what it is of.
///
/// The example is the one of the document from which the steps come, `[[][[][][[]]][][]]`; `.` stands for [`NONE`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// By token, from [`number`] (T1): nodes that begin before it, and the depth before it.
    pub before: Vec<Count>,
    /// By node, from [`depths`] (T2): nodes around it. `0 1 1 2 2 2 3 1 1`
    pub depth: Vec<Depth>,
    /// By node, from [`ranks`] (T3): its place breadth first. `0 1 2 5 6 7 8 3 4`
    pub rank: Vec<Rank>,
    /// By rank, from [`first_children`] (T4): whose first child it is. `. 0 . . . 2 . . 7`
    pub first_of: Vec<Rank>,
    /// By rank, from [`parents`] (T5): its parent. `. 0 0 0 0 2 2 2 7`
    pub parent: Vec<Rank>,
    /// By rank, from [`parents`] (T5): how many of its siblings it comes behind, itself counted; the root is 1. `1 1 2 3 4 1 2 3 1`
    pub count: Vec<u32>,
    /// By rank, from [`child_counts`] (T6): how many children it has. `4 0 3 0 0 0 0 1 0`
    pub children: Vec<u32>,
    /// By rank, from [`allocate`] (T7): where its block begins in `cells`. `0 5 6 10 11 12 13 14 16`
    pub address: Vec<Address>,
    /// From [`fill`] (T8), the output: for each node, breadth first, a block of how many children it has, and their
    /// addresses. `4 5 6 10 11 0 3 12 13 14 0 0 0 0 1 16 0`
    pub cells: Vec<u32>,
}

impl Steps {
    /// All steps, over what each token does. Every array is allocated here, and as soon as its length is known: by token that of
    /// `weights`, by node and rank the nodes that T1 counts, and the cells that T7 counts.
    ///
    /// The weights are those of a tree: the depth is zero before the first token and behind the last and nowhere below, one
    /// node at most has depth zero, none more than [`MAX_NODE_DEPTH`].
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

/// T1, an exclusive scan over tokens: the nodes that begin before each, and the depth before it. Returns all of both.
pub fn number(weights: &[Count], before: &mut [Count]) -> Count {
    exclusive_scan(weights.iter().copied(), before)
}

/// T2, a scatter from tokens to nodes: where a node begins, the depth is its own.
pub fn depths(weights: &[Count], before: &[Count], depth: &mut [Depth]) {
    let begins =
        |(weight, before): (&Count, &Count)| (weight.nodes == 1).then_some((before.nodes, before.depth));
    scatter(weights.iter().zip(before).filter_map(begins), depth);
}

/// T3, a stable sort of nodes by depth, of which the rank of each is kept. `places` is scratch, of one entry more than the
/// greatest depth at least.
///
/// # Panics
/// If a depth is not below `places.len()`.
pub fn ranks(depth: &[Depth], places: &mut [u32], rank: &mut [Rank]) {
    stable_ranks(depth.iter().map(|depth| *depth as u32), places, rank);
}

/// T4, a scatter from nodes to ranks: the node behind another and one deeper is its first child. `first_of` is all [`NONE`].
pub fn first_children(depth: &[Depth], rank: &[Rank], first_of: &mut [Rank]) {
    let first = |node: usize| (depth[node + 1] == depth[node] + 1).then(|| (rank[node + 1], rank[node]));
    scatter((0..depth.len().saturating_sub(1)).filter_map(first), first_of);
}

/// T5, an inclusive scan over ranks: siblings stand together, so the first has the parent, and those behind it take it over.
pub fn parents(first_of: &[Rank], parent: &mut [Rank], count: &mut [u32]) {
    let mut out = parent.iter_mut().zip(count);
    inclusive_scan(first_of.iter().map(|parent| Siblings::of(*parent)), |siblings| {
        if let Some((parent, count)) = out.next() {
            (*parent, *count) = (siblings.parent, siblings.count);
        }
    });
}

/// T6, a scatter over ranks: the last of some siblings has counted all of them. A node is the last where the next has another
/// parent, or where there is none. The root is nobody's child. `children` is all zero.
pub fn child_counts(parent: &[Rank], count: &[u32], children: &mut [u32]) {
    let last =
        |rank: usize| (parent.get(rank + 1) != Some(&parent[rank])).then(|| (parent[rank], count[rank]));
    scatter((1..parent.len()).filter_map(last), children);
}

/// T7, an exclusive scan over ranks: each node's block is as long as it has children, and one. Returns the length of all.
pub fn allocate(children: &[u32], address: &mut [Address]) -> u32 {
    exclusive_scan(children.iter().map(|children| 1 + children), address)
}

/// T8, two scatters into the output: how many children each node has, at the start of its block; and each node's address into
/// its parent's block, where its count among its siblings says.
pub fn fill(parent: &[Rank], count: &[u32], children: &[u32], address: &[Address], cells: &mut [u32]) {
    scatter(address.iter().copied().zip(children.iter().copied()), cells);
    let into_parent = |rank: usize| (address[parent[rank] as usize] + count[rank], address[rank]);
    scatter((1..parent.len()).map(into_parent), cells);
}

/// By rank, what [`Steps::first_of`] says the other way round: each node's first child. `first_child` is all [`NONE`].
pub fn first_child(first_of: &[Rank], first_child: &mut [Rank]) {
    let of = |(rank, parent): (Rank, &Rank)| (*parent != NONE).then_some((*parent, rank));
    scatter((0..).zip(first_of).filter_map(of), first_child);
}

/// By rank, the sibling behind each node, or [`NONE`] behind the last.
pub fn next_sibling(parent: &[Rank], next: &mut [Rank]) {
    let is_next = |rank: usize| rank > 0 && parent.get(rank + 1) == Some(&parent[rank]);
    for (rank, next) in next.iter_mut().enumerate() {
        *next = if is_next(rank) { rank as Rank + 1 } else { NONE };
    }
}

/// A number per node as a number per rank.
pub(super) fn by_rank<T>(rank: &[Rank], values: impl Iterator<Item = (NodeIx, T)>, out: &mut [T]) {
    scatter(values.map(|(node, value)| (rank[node as usize], value)), out);
}
