//! The operators of the scans. Each is associative and has its default as the identity, so a scan may be cut
//! anywhere.

use super::{NONE, Rank, TokenIx};
use crate::index::Monoid;
use crate::units::Depth;

/// The number of nodes that begin in a stretch of tokens, and its change of depth.
///
/// `combine` adds both, which is associative because addition is. The identity is zero and zero. An exclusive
/// scan gives each token the number of the next node and the depth at the token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Count {
    /// The number of nodes that begin.
    pub nodes: u32,
    /// The change of depth.
    pub depth: Depth,
}

const _: () = assert!(size_of::<Count>() == 8);

impl Monoid for Count {
    #[inline(always)]
    fn combine(self, right: Self) -> Self {
        Self { nodes: self.nodes.wrapping_add(right.nodes), depth: self.depth.wrapping_add(right.depth) }
    }
}

/// The change of depth over a stretch of brackets, and the least depth within it, counted from its start.
///
/// A total of zero does not prove balance: `][` has that total. Brackets are balanced if total and least are
/// both zero.
///
/// `combine`: the least depth is in the left stretch, or in the right one, counted from the start of the
/// left. Both groupings of `a b c` take the least of `a.least`, `a.total + b.least` and
/// `a.total + b.total + c.least`. The identity is the empty stretch, where both values are zero. `least` is
/// never above zero or `total`, because a stretch includes its start and its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Balance {
    total: Depth,
    least: Depth,
}

const _: () = assert!(size_of::<Balance>() == 8);

impl Balance {
    /// One step up or down, or no step.
    #[inline(always)]
    pub const fn of(change: Depth) -> Self {
        Self { total: change, least: if change < 0 { change } else { 0 } }
    }

    /// The change of depth.
    #[inline(always)]
    pub const fn total(self) -> Depth {
        self.total
    }

    /// The least depth: below zero if the stretch closes something that it did not open.
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

/// The last opening bracket in a stretch of tokens that are in containers of one level.
///
/// `combine` takes the right bracket if there is one. Of three stretches it takes the last bracket, in any
/// grouping. The identity is no bracket. An inclusive scan, over tokens sorted by level, gives each token its
/// container.
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

/// The parent of the last node in a stretch of nodes in breadth-first order. It also has the number of that
/// node among its siblings, as far as the stretch has them.
///
/// A first child knows its parent. All other nodes get the parent from the left. This is a segmented sum that
/// carries a value with each segment. `combine` takes the right stretch unchanged if it has a first child.
/// Otherwise it takes the left one, and adds the count. Grouping has no effect: the last first child of
/// `a b c` decides, and the nodes after it are added. The identity is the empty stretch, with no parent and
/// no node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Siblings {
    /// The parent, or [`NONE`] if the stretch has no first child.
    pub parent: Rank,
    /// The number of nodes from the last first child on, including that one. All nodes if there is no first
    /// child.
    pub count: u32,
}

const _: () = assert!(size_of::<Siblings>() == 8);

impl Default for Siblings {
    fn default() -> Self {
        Self { parent: NONE, count: 0 }
    }
}

impl Siblings {
    /// A single node. `first_of` is its parent if the node is a first child, and [`NONE`] otherwise.
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
