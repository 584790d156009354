//! The layout of the bits of a twig.
//!
//! Each node has a bit in which it *reports*. The report bits of all children of one node are side by side.
//! After them is the *guard* of that node, or of the document: a bit that is never set in what was found. An
//! addition of one at the first child sets the guard if all children are set, because the carry runs through
//! set bits. A node's guard is then moved to the bit in which the node reports.
//!
//! ```text
//! /a[b][//c/d]      d ┊ c b ┊ a ┊       ┊: guards of c, a and the document
//! bits              0 1 2 3 4 5 6
//! found             1 0 1 1 0 0 0       d below a c, c and b below an a: found from the leaves upwards
//! + 1 at 0, 2, 5    0 1 0 0 1 1 0       the guards of c (1) and a (4) are set
//! moved by one      . → 2 . . → 5       to where c and a report
//! ```
//!
//! The first child that has others below it has its guard right before its own report bit. So a path moves
//! all of its bits by one. Other children move further, by the distance to their report bits.

use warpath_lang::twig::{Axis, Twig};

use crate::twig::group::GROUP_WORDS;

/// The reason why a twig cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it takes {bits} bits, one a node and one more a node with children, and a node has up to {children} children; the limits are {MAX_BITS} bits and {MAX_CHILDREN} children"
)]
pub struct TooLarge {
    /// The number of bits that the twig needs.
    pub bits: usize,
    /// The largest number of children of one node.
    pub children: usize,
}

/// The most bits of a twig: those of a group.
pub const MAX_BITS: usize = 64 * GROUP_WORDS;
/// The most children of a node of a twig. Their bits and the guard are in one word.
pub const MAX_CHILDREN: usize = 63;

/// The position of a bit in a group, or in some words of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bit {
    pub word: usize,
    /// The position in the word, from the lowest bit.
    pub at: usize,
}

/// The bits of the children of one node, side by side.
#[derive(Clone, Copy, Debug)]
pub struct BitRun {
    /// The node whose children they are; `None` for the document.
    pub owner: Option<usize>,
    /// The bit of the first child, or the guard if there are no children.
    pub first: Bit,
    pub guard: Bit,
}

/// The positions of a twig's bits.
#[derive(Debug)]
pub struct Layout {
    /// The report bit of each node.
    pub reports: Vec<Bit>,
    /// The run of each node that has children. The document's run is the last.
    pub runs: Vec<BitRun>,
    /// The number of words. If there is more than one, the words are the twig's alone.
    pub words: usize,
    /// The number of bits used in the last word.
    pub bits: usize,
}

impl Layout {
    /// # Errors
    /// [`TooLarge`].
    pub fn of(twig: &Twig) -> Result<Self, TooLarge> {
        let nodes = twig.nodes();
        // The document's index follows those of the nodes.
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
        // The number of bits of all that is below a node, with its guard. Children come after their parents.
        let mut sizes = vec![0; document];
        for at in (0..document).rev() {
            if !below[at].is_empty() {
                sizes[at] = 1 + below[at].iter().map(|child| 1 + sizes[*child]).sum::<usize>();
            }
        }
        for children in &mut below {
            // Children with others below them come first, the smallest of them before the larger. The later
            // ones then move least.
            children.sort_by_key(|child| if sizes[*child] == 0 { usize::MAX } else { sizes[*child] });
        }
        let mut layout =
            Self { reports: vec![Bit::default(); document], runs: Vec::new(), words: 1, bits: 0 };
        // Owners, later reversed to the order of their runs: all nodes below a node come before it, and those
        // of its first child last.
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
        self.runs.push(BitRun { owner, first: Bit { word, at: self.bits }, guard: Bit { word, at: guard } });
        self.bits = guard + 1;
    }

    /// The nodes whose axis is `//`.
    pub fn descendants(twig: &Twig) -> impl Iterator<Item = usize> {
        let nodes = twig.nodes().iter().enumerate();
        nodes.filter(|(_, node)| node.axis == Axis::Descendant).map(|(at, _)| at)
    }
}
