//! Subscriptions to the documents of [`dblp`], made like those of YFilter's query generator and the twigs of
//! Absalyamov et al. (EDBT 2013): random walks down the document type, with branches.
//!
//! A twig has a given number of query nodes, and a given number of them split: have 2 to 4 children. Its
//! shape is drawn first. Then each node is given an element that the document type allows below that of its
//! parent. With a chance of `percent` a step is `//` in place of `/`. The walk may then pass over levels,
//! each with a chance of a half. With the same chance of `percent`, drawn again, a node is `*` in place of
//! its name.
//!
//! DBLP is shallow. Many nodes of a large twig are therefore mark-up in titles, which may nest. The larger a
//! twig is, the fewer documents match it; of 200 twigs on 30 documents of 32 kB:
//!
//! | nodes | splits | percent | twigs that match any document | of all pairs |
//! |---|---|---|---|---|
//! | 5 | 1 | 0, 10, 25 | 71 %, 75 %, 82 % | 24 %, 34 %, 41 % |
//! | 10 | 3 | 0, 10, 25 | 6 %, 15 %, 27 % | 0.8 %, 1.9 %, 4.8 % |
//! | 15 | 6 | 0, 10, 25 | 0 %, 1 %, 5 % | 0 %, < 0.1 %, 0.3 % |
//!
//! With 5 nodes, one of which splits, there are 9,908 twigs without wildcards and descendants. Of every other
//! kind in this table there are more than 100,000.

use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;

use super::dblp;
use super::random::Random;

/// The key that separates the random streams of twigs from others. Part of the data's definition.
const KEY: u64 = 0x202;

/// The number of children of a split node.
pub const CHILDREN: RangeInclusive<usize> = 2..=4;

/// The deepest level of a node in a document: a title is on the third, and four levels of mark-up are below
/// it. Documents have some mark-up that is deeper.
const DEEPEST: usize = 7;

/// The parameters of twigs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Twigs {
    /// The query nodes of each, the document not among them.
    pub nodes: usize,
    /// The number of these that split.
    pub splits: usize,
    /// The number of `//` in a hundred steps, and of `*` in a hundred nodes.
    pub percent: u32,
}

/// The reason why the requested twigs cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotMade {
    /// Twigs of so few nodes have fewer splits: each needs two nodes more than those above it.
    TooManySplits,
    /// The number of twigs found, after which no other came for a long time.
    Only(usize),
}

impl fmt::Display for NotMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManySplits => {
                f.write_str("twigs of so few nodes have fewer splits: N nodes have (N - 1) / 2 at most")
            }
            Self::Only(count) => write!(f, "only {count} different twigs of this kind were found"),
        }
    }
}

impl std::error::Error for NotMade {}

/// The most twigs in a row that are drawn without a new one.
const TRIES: usize = 100_000;

/// Makes `count` different twigs, as XPath. A smaller list is the beginning of a larger one.
///
/// Twigs are different if their trees are, independent of the order of children. No two children of a node
/// are equal.
///
/// # Errors
///
/// [`NotMade`].
pub fn xpath(count: usize, twigs: Twigs, seed: u64) -> Result<Vec<String>, NotMade> {
    if twigs.nodes < 2 * twigs.splits + 1 {
        return Err(NotMade::TooManySplits);
    }
    // Each kind of twigs has a stream of its own.
    let kind = (twigs.nodes as u64) << 32 | (twigs.splits as u64) << 16 | u64::from(twigs.percent);
    let mut random = Random::new(KEY, seed, kind);
    let mut made = Vec::with_capacity(count);
    let mut known = HashSet::new();
    let mut tries = 0;
    while made.len() < count {
        tries += 1;
        if tries > TRIES {
            return Err(NotMade::Only(made.len()));
        }
        let shape = Shape::drawn(twigs, &mut random);
        let Some(twig) = Node::walked(&shape, "", 0, twigs.percent, &mut random) else { continue };
        let mut path = String::new();
        twig.put(&mut path);
        if known.insert(twig.sorted) {
            made.push(path);
            tries = 0;
        }
    }
    Ok(made)
}

/// The shape of a twig: what is below its root.
struct Shape(Vec<Shape>);

impl Shape {
    /// Draws a shape with the given nodes and splits.
    fn drawn(twigs: Twigs, random: &mut Random) -> Self {
        let Twigs { nodes, splits, .. } = twigs;
        let (fewest, most) = (*CHILDREN.start(), *CHILDREN.end());
        // The number of children of each node. A tree without a split has one leaf, and each child but the
        // first makes one more. The remaining nodes go to split nodes beyond their minimum.
        let mut left_over = nodes - 1 - splits * fewest;
        let mut below = Vec::with_capacity(nodes);
        let mut leaves = 1;
        for _ in 0..splits {
            let more = random.below((most - fewest).min(left_over) as u32 + 1) as usize;
            left_over -= more;
            leaves += fewest + more - 1;
            below.push(fewest + more);
        }
        below.resize(nodes - leaves, 1);
        below.resize(nodes, 0);
        for last in (1..nodes).rev() {
            below.swap(last, random.below(last as u32 + 1) as usize);
        }
        // Exactly one rotation of such a row lists the nodes of a tree in preorder (the cycle lemma of
        // Dvoretzky and Motzkin). It begins after the position up to which the most nodes are missing.
        let (mut surplus, mut least, mut begin) = (0, 0, 0);
        for (at, children) in below.iter().enumerate() {
            surplus += *children as isize - 1;
            if surplus < least {
                (least, begin) = (surplus, at + 1);
            }
        }
        below.rotate_left(begin % nodes);
        Self::read(&mut below.into_iter())
    }

    /// Reads the shape that begins here, from a preorder list of the nodes' numbers of children.
    fn read(below: &mut impl Iterator<Item = usize>) -> Self {
        let children = below.next().expect("the row lists a whole tree");
        Self((0..children).map(|_| Self::read(below)).collect())
    }

    fn levels(&self) -> usize {
        1 + self.0.iter().map(Self::levels).max().unwrap_or(0)
    }
}

/// A node of a twig, with what is below it.
struct Node {
    /// The axis and the name: `/title`, `//*`.
    step: String,
    below: Vec<Node>,
    /// The node and its descendants, in an order that does not depend on that of `below`.
    sorted: String,
}

impl Node {
    /// Walks a twig of this shape down from an element, or from the document, whose level is `above`. `None`
    /// if it would be too deep, or two nodes would be the same.
    fn walked(shape: &Shape, below: &str, above: usize, percent: u32, random: &mut Random) -> Option<Self> {
        let passes_over = random.chance(10 * percent);
        let (mut element, mut level) = (below, above);
        let levels = shape.levels();
        loop {
            level += 1;
            let goes_on = passes_over && level + levels <= DEEPEST && random.chance(500);
            let has_more = goes_on || !shape.0.is_empty();
            let mut choices = allowed(element);
            choices.retain(|name| !has_more || !allowed(name).is_empty());
            element = random.pick(&choices);
            if !goes_on {
                break;
            }
        }
        if level + levels - 1 > DEEPEST {
            return None;
        }
        let name = if random.chance(10 * percent) { "*" } else { element };
        let step = format!("{}{name}", if passes_over { "//" } else { "/" });
        let children = shape.0.iter().map(|shape| Self::walked(shape, element, level, percent, random));
        let below: Vec<Self> = children.collect::<Option<_>>()?;
        let mut parts: Vec<&str> = below.iter().map(|node| node.sorted.as_str()).collect();
        parts.sort_unstable();
        if parts.windows(2).any(|two| two[0] == two[1]) {
            return None;
        }
        let sorted = format!("{step}[{}]", parts.join(""));
        Some(Self { step, below, sorted })
    }

    /// Appends the path: all children of a node in brackets, except the last, which continues the path.
    fn put(&self, out: &mut String) {
        out.push_str(&self.step);
        let Some((last, others)) = self.below.split_last() else { return };
        for node in others {
            out.push('[');
            let begin = out.len();
            node.put(out);
            // A child needs no axis there.
            if !out[begin..].starts_with("//") {
                out.remove(begin);
            }
            out.push(']');
        }
        last.put(out);
    }
}

/// The elements that may be right below another, or below the document, whose name is empty.
fn allowed(element: &str) -> Vec<&'static str> {
    if element.is_empty() { vec![dblp::ROOT] } else { dblp::children(element) }
}

/// Subscriptions as lines of a file: `q1`, `q2` and so on, a tab, and the query.
#[must_use]
pub fn lines(queries: &[String]) -> String {
    let lines = queries.iter().enumerate();
    lines.map(|(at, query)| format!("q{}\t{query}\n", at + 1)).collect()
}
