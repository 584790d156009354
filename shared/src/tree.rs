//! Documents as trees: what a node is, and the rules from which trees are made without a stack.
//!
//! A stack is serial. But in breadth-first order all children of a node stand together, and a stable sort of nodes by depth
//! gives that order; the rest is scans and scatters (Raph Levien, "Towards GPGPU JSON parsing", 2018). Two numberings
//! therefore live side by side: a [`NodeIx`] counts nodes as they begin in the text, a [`Rank`] counts them breadth first.
//!
//! ```text
//! text      {"a":[1,true]}            object            NodeIx 0, Rank 0
//! NodeIx    0 1  2 3 4                └ name "a"               1       1
//!                                       └ array                2       2
//!                                         ├ number             3       3
//!                                         └ true               4       4
//! ```
//!
//! A member of an object is a node of kind [`NodeKind::Name`] with one child, its value: the name opens it, the end of its value closes it.
//!
//! | module | rule |
//! |---|---|
//! | [`token`] | where tokens begin and end in a word, what they are, and what they do to node number and depth |
//! | [`grammar`] | which token may follow which |
//! | [`operator`] | the operators of the scans, each a [`Monoid`](crate::index::Monoid) |
//! | [`tape`] | the tree in the order of the text, with links, made in one pass |
//! | [`outline`] | where the tokens of a text are, and what is before any place of it |
//! | [`brackets`] | brackets that match, of lines or of their pieces |
//! | [`follow`] | nodes of words, all at the same time, and which token may follow which, by bitmaps |

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

/// A node of one document, counted from 0 in the order in which nodes begin in the text: a parent before its children, and these
/// with all that is in them one after the other.
pub type NodeIx = u32;
/// A node of one document, counted from 0 breadth first: the root, its children, theirs, each depth in the order of the text.
pub type Rank = u32;
/// A token of one document, counted from 0.
pub type TokenIx = u32;
/// A place in the output array, in words of 32 bits.
pub type Address = u32;

/// Where there is no node or token: of the root's parent, of a last sibling's next one, of a leaf's first child.
pub const NONE: u32 = u32::MAX;

/// The depth that no node exceeds. The root has depth 0, and each of [`MAX_DEPTH`] containers may put two nodes below it, a name and a value.
pub const MAX_NODE_DEPTH: usize = 2 * MAX_DEPTH;

/// What a node is. Stored as `u32`, since a device writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum NodeKind {
    /// `{…}`: its children are names.
    Object = 0,
    /// `[…]`: its children are its elements.
    Array = 1,
    /// A string that is a value.
    String = 2,
    /// What begins as a number does. How it goes on is not checked.
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
    /// The kind in a word, as dumps have it.
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

/// A node's place in its text. 16 bytes, which a device stores at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct Node {
    /// Its first byte, counted from the start of the text.
    pub start: PartOffset,
    /// One past its last byte. A container ends with its closing bracket, and a name with its closing quote.
    pub end: PartOffset,
    kind: u32,
    /// How many nodes are around it: 0 for the root, and at most [`MAX_NODE_DEPTH`].
    pub depth: Depth,
}

const _: () = assert!(size_of::<Node>() == 16 && align_of::<Node>() == 16);

impl Node {
    /// A node.
    #[inline(always)]
    pub const fn new(kind: NodeKind, start: PartOffset, end: PartOffset, depth: Depth) -> Self {
        Self { start, end, kind: kind as u32, depth }
    }

    /// What it is. A word that is no kind, which [`Node::new`] does not write, reads as a name.
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

/// Why a text is no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TreeFaultKind {
    /// One of the faults that are always looked for in a record.
    Record(FaultKind),
    /// In a string of brackets: a byte that is neither bracket nor white space. Points at it.
    NotABracket,
    /// A member does not begin with a name. Points at what stands there.
    NoName,
    /// A name has no `:` behind it. Points at the name.
    NoColon,
    /// A value is missing. Points at what stands in its place.
    NoValue,
    /// A name stands where a value should. Points at the name.
    NameAsValue,
    /// `:` behind what is no name. Points at it.
    StrayColon,
    /// A value or a member follows another without a comma. Points at it.
    NoComma,
    /// What stands where a value should is no string, number, `true`, `false` or `null`. Points at it.
    NotAValue,
    /// The text is longer than [`MAX_PARTITION_BYTES`]. Points behind as many.
    TooLong,
}

impl core::fmt::Display for TreeFaultKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Record(kind) => kind.fmt(f),
            Self::NotABracket => f.write_str("neither a bracket nor white space"),
            Self::NoName => f.write_str("a member should begin here, with a name"),
            Self::NoColon => f.write_str("name without a `:` behind it"),
            Self::NoValue => f.write_str("a value should begin here"),
            Self::NameAsValue => f.write_str("a value should begin here, and a name does"),
            Self::StrayColon => f.write_str("`:` behind what is no name"),
            Self::NoComma => f.write_str("a `,` is missing before this"),
            Self::NotAValue => f.write_str("neither a string, a number, `true`, `false` nor `null`"),
            Self::TooLong => write!(f, "longer than {MAX_PARTITION_BYTES} bytes"),
        }
    }
}

/// The first fault of a text that is no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeFault {
    /// What is wrong.
    pub kind: TreeFaultKind,
    /// Where, in bytes from the start of the text.
    pub at: usize,
}

impl core::fmt::Display for TreeFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "byte {}: {}", self.at + 1, self.kind)
    }
}

impl core::error::Error for TreeFault {}
