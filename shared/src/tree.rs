//! Documents as trees: the nodes, and the rules that make trees without a stack.
//!
//! A stack is serial. But in breadth-first order all children of a node are adjacent, and a stable sort of
//! nodes by depth gives that order. The rest is scans and scatters (Raph Levien, "Towards GPGPU JSON
//! parsing", 2018). So there are two numberings: a [`NodeIx`] counts nodes as they begin in the text, and a
//! [`Rank`] counts them breadth first.
//!
//! ```text
//! text      {"a":[1,true]}            object            NodeIx 0, Rank 0
//! NodeIx    0 1  2 3 4                └ name "a"               1       1
//!                                       └ array                2       2
//!                                         ├ number             3       3
//!                                         └ true               4       4
//! ```
//!
//! A member of an object is a node of kind [`NodeKind::Name`] with one child, its value. The name opens the
//! node, and the end of the value closes it.
//!
//! | module | contents |
//! |---|---|
//! | [`token`] | the start, end and kind of the tokens in a word, and their effect on node number and depth |
//! | [`grammar`] | the rules for which token may follow which |
//! | [`operator`] | the operators of the scans, each a [`Monoid`](crate::index::Monoid) |
//! | [`tape`] | the tree in the order of the text, with links, made in one pass |
//! | [`outline`] | the tokens of a text, and the counts before any position of it |
//! | [`brackets`] | the matching of brackets, for lines or for pieces of them |
//! | [`follow`] | the nodes of words, all at the same time, and the order of tokens, by bitmaps |

use crate::check::FaultKind;
use crate::units::{Depth, MAX_DEPTH, MAX_PARTITION_BYTES, PartOffset};

pub mod brackets;
pub mod follow;
pub mod grammar;
pub mod operator;
pub mod outline;
pub mod tape;
#[cfg(test)]
mod testing;
pub mod token;

/// A node of one document, counted from 0 in the order in which nodes begin in the text. A parent comes
/// before its children, and each child is followed by its descendants.
pub type NodeIx = u32;
/// A node of one document, counted from 0 breadth first: the root, its children, their children. Each depth
/// is in the order of the text.
pub type Rank = u32;
/// An offset in the output array, in words of 32 bits.
pub type Address = u32;

/// No node or token: the parent of the root, the next sibling of a last sibling, the first child of a leaf.
pub const NONE: u32 = u32::MAX;

/// The greatest depth of a node. The root has depth 0. Each of [`MAX_DEPTH`] containers may put two nodes
/// below it, a name and a value.
pub const MAX_NODE_DEPTH: usize = 2 * MAX_DEPTH;

/// The kind of a node. Stored as `u32`, because a device writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum NodeKind {
    /// `{…}`: its children are names.
    Object = 0,
    /// `[…]`: its children are its elements.
    Array = 1,
    /// A string that is a value.
    String = 2,
    /// A value that begins as a number does. The rest of it is not checked.
    Number = 3,
    /// `true`
    True = 4,
    /// `false`
    False = 5,
    /// `null`
    Null = 6,
    /// The name of a member. Its one child is the member's value.
    Name = 7,
}

impl NodeKind {
    /// The name of the kind in dumps.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Number => "number",
            Self::True => "true",
            Self::False => "false",
            Self::Null => "null",
            Self::Name => "name",
        }
    }
}

/// The extent, kind and depth of a node in its text. 16 bytes, which a device stores at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct Node {
    /// The offset of the first byte, from the start of the text.
    pub start: PartOffset,
    /// The offset after the last byte. A container ends with its closing bracket, and a name with its closing
    /// quote.
    pub end: PartOffset,
    kind: u32,
    /// The number of nodes around this one: 0 for the root, and at most [`MAX_NODE_DEPTH`].
    pub depth: Depth,
}

const _: () = assert!(size_of::<Node>() == 16 && align_of::<Node>() == 16);

impl Node {
    /// A node.
    #[inline(always)]
    pub const fn new(kind: NodeKind, start: PartOffset, end: PartOffset, depth: Depth) -> Self {
        Self { start, end, kind: kind as u32, depth }
    }

    /// The kind of the node. An invalid number, which [`Node::new`] does not write, reads as a name.
    #[inline(always)]
    pub const fn kind(&self) -> NodeKind {
        match self.kind {
            0 => NodeKind::Object,
            1 => NodeKind::Array,
            2 => NodeKind::String,
            3 => NodeKind::Number,
            4 => NodeKind::True,
            5 => NodeKind::False,
            6 => NodeKind::Null,
            _ => NodeKind::Name,
        }
    }
}

/// The reason why a text is not a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TreeFaultKind {
    /// One of the faults that every evaluation looks for in a record.
    Record(FaultKind),
    /// In a string of brackets, a byte is neither a bracket nor white space. Points at it.
    NotABracket,
    /// A member does not begin with a name. Points at the token that is there.
    NoName,
    /// A name is not followed by `:`. Points at the name.
    NoColon,
    /// A value is missing. Points at the token that is there.
    NoValue,
    /// A name is where a value should be. Points at the name.
    NameAsValue,
    /// `:` follows something other than a name. Points at it.
    StrayColon,
    /// A value or a member follows another without a comma. Points at it.
    NoComma,
    /// The token where a value should be is not a string, a number, `true`, `false` or `null`. Points at it.
    NotAValue,
    /// The text is longer than [`MAX_PARTITION_BYTES`]. Points at that offset.
    TooLong,
}

impl core::fmt::Display for TreeFaultKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Record(kind) => kind.fmt(f),
            Self::NotABracket => f.write_str("neither a bracket nor white space"),
            Self::NoName => f.write_str("a member should begin here, with a name"),
            Self::NoColon => f.write_str("name without a `:` after it"),
            Self::NoValue => f.write_str("a value should begin here"),
            Self::NameAsValue => f.write_str("a value should begin here, but a name does"),
            Self::StrayColon => f.write_str("`:` without a name before it"),
            Self::NoComma => f.write_str("a `,` is missing before this"),
            Self::NotAValue => f.write_str("neither a string, a number, `true`, `false` nor `null`"),
            Self::TooLong => write!(f, "longer than {MAX_PARTITION_BYTES} bytes"),
        }
    }
}

/// The first fault of a text that is not a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeFault {
    /// The kind of the fault.
    pub kind: TreeFaultKind,
    /// The position of the fault, in bytes from the start of the text.
    pub at: usize,
}

impl core::fmt::Display for TreeFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "byte {}: {}", self.at + 1, self.kind)
    }
}

impl core::error::Error for TreeFault {}
