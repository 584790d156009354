//! Where the bits of a twig are.
//!
//! Each node has a bit in which it *reports*, beside those of the other children of the node that it is below; behind these is a bit that is never set in what was found, the *guard* of that node, or of the document. One addition at the first of
//! the children, and the guard is set if all of them are: the carry runs through bits that are set. What a node's guard says then is moved to where it reports.
//!
//! ```text
//! /a[b][//c/d]      d ┊ c b ┊ a ┊       ┊: guards of c, a and the document
//! bits              0 1 2 3 4 5 6
//! found             1 0 1 1 0 0 0       d below a c, c and b below an a: told from the leaves upwards
//! + 1 at 0, 2, 5    0 1 0 0 1 1 0       the guards of c (1) and a (4) are set
//! moved by one      . → 2 . . → 5       to where c and a report
//! ```
//!
//! A node's first child with others below it has its guard right in front of where it reports, so that a path moves all of its bits by one. Other children move further, by as much as lies between.

use crate::twig::group::GROUP_WORDS;
use warpath_lang::twig::{Axis, Twig};

/// Why a twig cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it takes {bits} bits, one for each node and one for each that has others below it, of {MAX_BITS}; and one of its nodes has {children} right below it, where {MAX_CHILDREN} can be"
)]
pub struct TooLarge {
    /// How many it would take.
    pub bits: usize,
    /// Nodes right below one other, at most.
    pub children: usize,
}

/// Bits of a twig, at most: those of a group.
pub const MAX_BITS: usize = 64 * GROUP_WORDS;
/// Children of a node of a twig, at most: their bits and the guard are in one word.
pub const MAX_CHILDREN: usize = 63;

/// A bit of a group, or of some words of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bit {
    pub word: usize,
    /// From the lowest on.
    pub at: usize,
}

/// The children of one node, side by side.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Whose they are; `None`: the document's.
    pub owner: Option<usize>,
    /// The first of them, or the guard, if there are none.
    pub first: Bit,
    pub guard: Bit,
}

/// A twig's bits.
#[derive(Debug)]
pub struct Layout {
    /// Where each node reports.
    pub reports: Vec<Bit>,
    /// The document's is the last.
    pub runs: Vec<Run>,
    /// How many words they take, all of which are the twig's alone if there are several.
    pub words: usize,
    /// The bits that are taken of the last word.
    pub bits: usize,
}

impl Layout {
    /// # Errors
    /// [`TooLarge`].
    pub fn of(twig: &Twig) -> Result<Self, TooLarge> {
        let nodes = twig.nodes();
        // The document is behind the nodes.
        let document = nodes.len();
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); document + 1];
        for (at, node) in nodes.iter().enumerate() {
            below[node.parent.unwrap_or(document)].push(at);
        }
        let owners = 1 + below[..document].iter().filter(|children| !children.is_empty()).count();
        let bits = nodes.len() + owners;
        let children = below.iter().map(Vec::len).max().unwrap_or(0);
        if bits > MAX_BITS || children > MAX_CHILDREN {
            return Err(TooLarge { bits, children });
        }
        // Bits of all that is below a node, with its guard: children are behind their parents.
        let mut sizes = vec![0; document];
        for at in (0..document).rev() {
            if !below[at].is_empty() {
                sizes[at] = 1 + below[at].iter().map(|child| 1 + sizes[*child]).sum::<usize>();
            }
        }
        for children in &mut below {
            // Those with others below them first, of these the smallest: the further ones move least then.
            children.sort_by_key(|child| if sizes[*child] == 0 { usize::MAX } else { sizes[*child] });
        }
        let mut layout =
            Self { reports: vec![Bit::default(); document], runs: Vec::new(), words: 1, bits: 0 };
        // Owners in the order of their runs: all below a node before it, its first child's last.
        let (mut stack, mut order) = (vec![document], Vec::new());
        while let Some(owner) = stack.pop() {
            order.push(owner);
            stack.extend(below[owner].iter().rev().filter(|child| sizes[**child] > 0));
        }
        for owner in order.into_iter().rev() {
            layout.run((owner < document).then_some(owner), &below[owner], bits <= 64);
        }
        Ok(layout)
    }

    fn run(&mut self, owner: Option<usize>, children: &[usize], fits_a_word: bool) {
        if !fits_a_word && self.bits + children.len() + 1 > 64 {
            self.words += 1;
            self.bits = 0;
        }
        let word = self.words - 1;
        for (at, child) in children.iter().enumerate() {
            self.reports[*child] = Bit { word, at: self.bits + at };
        }
        let guard = self.bits + children.len();
        self.runs.push(Run { owner, first: Bit { word, at: self.bits }, guard: Bit { word, at: guard } });
        self.bits = guard + 1;
    }

    /// The nodes whose axis is `//`.
    pub fn descendants(twig: &Twig) -> impl Iterator<Item = usize> {
        let nodes = twig.nodes().iter().enumerate();
        nodes.filter(|(_, node)| node.axis == Axis::Descendant).map(|(at, _)| at)
    }
}
