//! The operators of the scans. Each is associative and has its default for identity, so that a scan may be cut anywhere.

use super::{NONE, Rank, TokenIx};
use crate::index::Monoid;
use crate::units::Depth;

/// How many nodes begin in a stretch of tokens, and how much deeper it ends than it began.
///
/// `combine` adds both, which is associative since addition is; the identity is zero and zero. An exclusive scan gives each token
/// the number of the next node and the depth at which it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Count {
    /// Nodes that begin.
    pub nodes: u32,
    /// Change of depth.
    pub depth: Depth,
}

const _: () = assert!(size_of::<Count>() == 8);

impl Monoid for Count {
    #[inline(always)]
    fn combine(self, right: Self) -> Self {
        Self { nodes: self.nodes.wrapping_add(right.nodes), depth: self.depth.wrapping_add(right.depth) }
    }
}

/// How a stretch of brackets changes the depth, and the least depth on its way, counted from its start.
///
/// A total of zero does not prove balance: `][` has it. Brackets are balanced where total and least are both zero.
///
/// `combine`: what is least is least on the left, or on the right as seen from the start of the left. Both groupings of
/// `a b c` take the least of `a.least`, `a.total + b.least` and `a.total + b.total + c.least`. The identity is the empty
/// stretch, of which both are zero; `least` is never above zero or `total`, since start and end are on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Balance {
    total: Depth,
    least: Depth,
}

const _: () = assert!(size_of::<Balance>() == 8);

impl Balance {
    /// One step up or down, or none.
    #[inline(always)]
    pub const fn of(change: Depth) -> Self {
        Self { total: change, least: if change < 0 { change } else { 0 } }
    }

    /// The change of depth.
    #[inline(always)]
    pub const fn total(self) -> Depth {
        self.total
    }

    /// The least depth: below zero where something is closed that was not opened in the stretch.
    #[inline(always)]
    pub const fn least(self) -> Depth {
        self.least
    }
}

impl Monoid for Balance {
    #[inline(always)]
    fn combine(self, right: Self) -> Self {
        let least_right = self.total + right.least;
        Self {
            total: self.total + right.total,
            least: if least_right < self.least { least_right } else { self.least },
        }
    }
}

/// The last bracket that opens in a stretch of tokens that stand in containers of one level.
///
/// `combine` takes the right one where there is one: of three it takes the last that there is, however they are grouped. The
/// identity is none. An inclusive scan, over tokens sorted by level, gives each token the container that it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Opener(pub TokenIx);

impl Default for Opener {
    fn default() -> Self {
        Self(NONE)
    }
}

impl Monoid for Opener {
    #[inline(always)]
    fn combine(self, right: Self) -> Self {
        if right.0 == NONE { self } else { right }
    }
}

/// Of a stretch of nodes in breadth-first order: the parent of its last node, as far as the stretch knows it, and the last node's
/// number among its siblings.
///
/// A node that is its parent's first child knows the parent; to all others it comes from the left. This is a segmented sum
/// that carries a value with each segment: `combine` takes the right stretch as it is where a first child is in it; else the
/// left one, and adds. Grouping changes nothing, since the last first child of `a b c` decides, and what is behind it is added.
/// The identity is the empty stretch, of no parent and no node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Siblings {
    /// The parent, or [`NONE`] where no first child is in the stretch.
    pub parent: Rank,
    /// Nodes from the last first child on, that one counted; all nodes where there is none.
    pub count: u32,
}

const _: () = assert!(size_of::<Siblings>() == 8);

impl Default for Siblings {
    fn default() -> Self {
        Self { parent: NONE, count: 0 }
    }
}

impl Siblings {
    /// A single node: `first_of` is its parent if it is the first child of that, else [`NONE`].
    #[inline(always)]
    pub const fn of(first_of: Rank) -> Self {
        Self { parent: first_of, count: 1 }
    }
}

impl Monoid for Siblings {
    #[inline(always)]
    fn combine(self, right: Self) -> Self {
        if right.parent == NONE {
            Self { parent: self.parent, count: self.count.wrapping_add(right.count) }
        } else {
            right
        }
    }
}
