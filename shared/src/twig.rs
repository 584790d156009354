//! Twigs as bits of words, and documents as programs of operations on these bits.
//!
//! A document is a program of [`Op`]s, the same for all groups of twigs. The result for a group depends on
//! its masks and rows:
//!
//! ```text
//! <a><b/><c><d/></c></a>
//! enter · leaf b · enter · leaf d · pass c · tell c · exit · pass a · tell a · exit · answer
//! ```
//!
//! A part of a document is also a program. Where it ends a node that began before the part, it *stores* the
//! found nodes, and another program *loads* them.

pub mod dictionary;
pub mod program;

/// The number of 64-bit words of a group. The twigs of a group are evaluated together.
pub const GROUP_WORDS: usize = 32;

/// No row, name or list of tests.
pub const NONE: u32 = u32::MAX;

/// The greatest number of levels below the document that a program may enter.
pub const MAX_LEVELS: usize = 16;

/// The bit of a row's position that marks a key of the group. A twig whose key is passed nowhere in a
/// document does not match it.
pub const KEY: u16 = 1 << 15;

/// The effect of an [`Op`] on the words of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum OpKind {
    /// A node with others below it begins: saves the found nodes, and starts with none.
    Enter = 0,
    /// The node ends: adds the nodes that it satisfies and has passed, and those found anywhere below, to the
    /// saved ones.
    Exit = 1,
    /// Finds the nodes of a row that have nothing below them.
    Leaf = 2,
    /// Records that the node of the next [`Exit`](Self::Exit) has passed this row.
    Pass = 3,
    /// Finds, at the next [`Exit`](Self::Exit), the nodes of this row that have nothing below them.
    Tell = 8,
    /// Stores the found nodes under this number, and starts with none.
    Store = 4,
    /// Loads the nodes that were stored under this number.
    Load = 5,
    /// Restores the nodes that were saved last.
    Pop = 6,
    /// The document of this number ends: reports the twigs that match, and starts with no nodes.
    Answer = 7,
}

/// An [`OpKind`] and its operand, in 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Op(pub u32);

/// The number of bits of an operand.
const OPERAND_BITS: u32 = 28;

impl Op {
    /// The greatest operand.
    pub const MAX_OPERAND: u32 = (1 << OPERAND_BITS) - 1;

    /// An operation.
    #[inline(always)]
    #[must_use]
    pub const fn new(kind: OpKind, operand: u32) -> Self {
        Self((kind as u32) << OPERAND_BITS | operand & Self::MAX_OPERAND)
    }

    /// The kind, as a number.
    #[inline(always)]
    #[must_use]
    pub const fn kind(self) -> u32 {
        self.0 >> OPERAND_BITS
    }

    /// The operand: a row, or the number of stored nodes or of a document.
    #[inline(always)]
    #[must_use]
    pub const fn operand(self) -> u32 {
        self.0 & Self::MAX_OPERAND
    }
}

/// A part of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Task {
    /// The first operation.
    pub begin: u32,
    /// The position after the last operation.
    pub end: u32,
}

/// The twigs of one word that match a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub struct Matched {
    /// The document.
    pub document: u32,
    /// The word: word `word % 32` of group `word / 32`.
    pub word: u32,
    /// The document guards of the twigs that match.
    pub bits: u64,
}

/// The masks of a group, each with one word a lane: the parts of a group other than rows, moves and far
/// moves.
pub mod mask {
    /// The nodes with axis `//`, at the bits where they report.
    pub const DESCENDANT: usize = 0;
    /// The first child of each node and of the document.
    pub const STARTS: usize = 1;
    /// The guards of nodes.
    pub const GUARDS: usize = 2;
    /// The guards of nodes that move by one bit.
    pub const CHAINED: usize = 3;
    /// The guards of documents.
    pub const DOCUMENTS: usize = 4;
    /// The number of masks.
    pub const COUNT: usize = 5;
}

/// A bit that moves to another word, or to the right. 8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct FarBit {
    /// The source word and bit: `64 word + bit`.
    pub from: u32,
    /// The target word and bit.
    pub to: u32,
}

/// The positions of the parts of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct GroupPlace {
    /// The first words of rows, 32 words each.
    pub words: u32,
    /// The first move. A move is a mask of 32 words, followed by the distance of each word, 32 words again.
    pub moves: u32,
    /// The number of moves.
    pub moves_len: u32,
    /// The first far move.
    pub far: u32,
    /// The number of far moves.
    pub far_len: u32,
    /// 1 if the group has twigs that match every document, so that it is evaluated for all documents; else 0.
    pub matches_all: u32,
}
