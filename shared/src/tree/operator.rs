//! The operator of the scan of tokens. It is associative and has its default as the identity, so a scan may
//! be cut anywhere.

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
