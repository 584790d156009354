//! The data types of Absalyamov, Moussalli, Tsotras and Najjar, "High-Performance Holistic XML Twig Filtering
//! Using GPUs" (EDBT 2013): a query node in four bytes (table 2), an event in one byte (table 1), and a stack
//! entry in one byte for each node (table 3).
//!
//! ```text
//! personality   31 leaf │ 30 axis is // │ 29 has / children │ 28 has // children │ 27..18 prefix │
//!               … 14 any tag │ 13..11 children │ 9..8 which child │ 6..0 tag
//! event         7 it ends │ 6..0 tag
//! stack         7 for / children │ 6 for // children │ … │ 1 found below │ 0 found by all nested paths
//! ```
//!
//! The paper leaves some bits as padding. Here they have what the paper does not specify: the mark of a
//! wildcard, and a child's slot at its prefix.

/// Threads of a block, each a query node.
pub const BLOCK: usize = 256;
/// The greatest number of children of a node. Each child has a slot.
pub const CHILDREN: usize = 4;
/// The number of levels of the stacks: the document and the levels below it. Deeper documents are
/// refused.
pub const LEVELS: usize = 32;
/// The number of tags with a name. The next number means any other tag.
pub const TAGS: usize = 127;
/// Events that a block reads together.
pub const STAGED: usize = 1024;

/// A query node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Personality(pub u32);

impl Personality {
    /// The node has nothing below it.
    pub const LEAF: u32 = 1 << 31;
    /// The node's axis is `//`.
    pub const DESCENDANT: u32 = 1 << 30;
    /// The node has children by `/`.
    pub const HAS_CHILDREN: u32 = 1 << 29;
    /// The node has children by `//`.
    pub const HAS_DESCENDANTS: u32 = 1 << 28;
    /// The node is `*`.
    pub const ANY: u32 = 1 << 14;
    /// The node is the document, and so always matches.
    pub const ROOT: u32 = 1 << 15;

    /// A node with flags, the thread of its parent, the number of its children, its own number among its
    /// siblings, and its tag.
    #[must_use]
    pub const fn new(flags: u32, prefix: u32, children: u32, slot: u32, tag: u32) -> Self {
        Self(flags | prefix << 18 | children << 11 | slot << 8 | tag)
    }

    /// Returns true if the node has any of these flags.
    #[inline(always)]
    #[must_use]
    pub const fn has(self, flags: u32) -> bool {
        self.0 & flags != 0
    }

    /// The thread of the parent.
    #[inline(always)]
    #[must_use]
    pub const fn prefix(self) -> u32 {
        self.0 >> 18 & 0x3ff
    }

    /// The number of children.
    #[inline(always)]
    #[must_use]
    pub const fn children(self) -> u32 {
        self.0 >> 11 & 7
    }

    /// The number of the node among its siblings.
    #[inline(always)]
    #[must_use]
    pub const fn slot(self) -> u32 {
        self.0 >> 8 & 3
    }

    /// The tag.
    #[inline(always)]
    #[must_use]
    pub const fn tag(self) -> u32 {
        self.0 & 0x7f
    }
}
