//! Twigs as bits of words, and documents as what happens to them; and the same as the paper has it.
//!
//! A document is a program of [`Op`]s, the same for all groups of twigs. What a group makes of it is told by its masks and rows:
//!
//! ```text
//! <a><b/><c><d/></c></a>      enter · leaf b · enter · leaf d · pass c · tell c · exit · pass a · tell a · exit · answer
//! ```
//!
//! A part of a document is such a program, too: where it ends a node that began before it, it *stores* what it found, and another program *loads* that.

pub mod dictionary;
pub mod program;

/// Words of 64 bits of a group, whose twigs are asked together.
pub const GROUP_WORDS: usize = 32;

/// No row, name or list of tests.
pub const NONE: u32 = u32::MAX;

/// Levels below the document that a program may enter.
pub const MAX_LEVELS: usize = 16;

/// The bit of a place of a row that says that it is a key of the group: a twig whose key no document passes does not match it.
pub const KEY: u16 = 1 << 15;

/// What happens to the words of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum OpKind {
    /// A node begins that has others below it: what was found is put aside, and nothing is found yet.
    Enter = 0,
    /// It ends: what it satisfies and has passed, and what is found anywhere below, joins what was put aside.
    Exit = 1,
    /// The nodes of a row that have nothing below them are found.
    Leaf = 2,
    /// The node that ends next has passed this row.
    Pass = 3,
    /// The nodes of this row that have nothing below them are found when the node ends next that was entered.
    Tell = 8,
    /// What was found is kept under this number; nothing is found then.
    Store = 4,
    /// What was kept under this number is found.
    Load = 5,
    /// What was put aside last is what was found.
    Pop = 6,
    /// The document of this number ends: which twigs match is told, and nothing is found.
    Answer = 7,
}

/// An [`OpKind`] and its operand, in 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Op(pub u32);

/// The bits of an operand.
const OPERAND_BITS: u32 = 28;

impl Op {
    /// Operands are less than this.
    pub const MAX_OPERAND: u32 = (1 << OPERAND_BITS) - 1;

    /// An operation.
    #[inline(always)]
    #[must_use]
    pub const fn new(kind: OpKind, operand: u32) -> Self {
        Self((kind as u32) << OPERAND_BITS | operand & Self::MAX_OPERAND)
    }

    /// Its kind, as a number.
    #[inline(always)]
    #[must_use]
    pub const fn kind(self) -> u32 {
        self.0 >> OPERAND_BITS
    }

    /// Its operand: a row, a number of what is kept, or of a document.
    #[inline(always)]
    #[must_use]
    pub const fn operand(self) -> u32 {
        self.0 & Self::MAX_OPERAND
    }
}

/// Part of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Task {
    /// Its first operation.
    pub begin: u32,
    /// One past its last.
    pub end: u32,
}

/// Twigs of one word that match a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub struct Matched {
    /// The document.
    pub document: u32,
    /// The word: of group `word / 32` the word `word % 32`.
    pub word: u32,
    /// The guards of the documents of those that match.
    pub bits: u64,
}

/// Masks of a group, each a word a lane: what of a group is not rows, moves or far moves.
pub mod mask {
    /// Nodes whose axis is `//`, where they report.
    pub const DESCENDANT: usize = 0;
    /// The first child of each node and of the document.
    pub const STARTS: usize = 1;
    /// The guards of nodes.
    pub const GUARDS: usize = 2;
    /// Those of them that move by one.
    pub const CHAINED: usize = 3;
    /// The guards of documents.
    pub const DOCUMENTS: usize = 4;
    /// How many masks there are.
    pub const COUNT: usize = 5;
}

/// Bits of a word that move to another word, or to the right. 8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct FarBit {
    /// The word and the bit that it comes from: `64 word + bit`.
    pub from: u32,
    /// Where it goes.
    pub to: u32,
}

/// Where one group's parts are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct GroupPlace {
    /// Its first words of rows, of 32 each.
    pub words: u32,
    /// Its first move: a mask and, behind it, how far each word moves, of 32 words each.
    pub moves: u32,
    /// How many moves.
    pub moves_len: u32,
    /// Its first far move.
    pub far: u32,
    /// How many.
    pub far_len: u32,
    /// 1 if it has twigs that match every document, so that it is asked all; else 0.
    pub matches_all: u32,
}

/// The paper's: a query node in four bytes (table 2), events of one (table 1), and stacks of one a node (table 3).
///
/// ```text
/// personality   31 leaf │ 30 axis is // │ 29 has / children │ 28 has // children │ 27..18 prefix │ … 14 any tag │ 13..11 children │ 9..8 which child │ 6..0 tag
/// event         7 it ends │ 6..0 tag
/// stack         7 for / children │ 6 for // children │ … │ 1 found below │ 0 found by all nested paths
/// ```
///
/// The bits that the paper leaves to padding hold what it does not say: how a wildcard is told, and which of its prefix's slots a child has.
pub mod seed {
    /// Threads of a block, each a query node.
    pub const BLOCK: usize = 256;
    /// Children of a node, at most: each has a slot.
    pub const CHILDREN: usize = 4;
    /// Levels of the stacks, the document's and what is below it: deeper documents are refused.
    pub const LEVELS: usize = 32;
    /// Tags with a name; the next one is any other.
    pub const TAGS: usize = 127;
    /// Events that a block reads together.
    pub const STAGED: usize = 1024;

    /// A query node.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[repr(transparent)]
    pub struct Personality(pub u32);

    impl Personality {
        /// It has nothing below it.
        pub const LEAF: u32 = 1 << 31;
        /// Its axis is `//`.
        pub const DESCENDANT: u32 = 1 << 30;
        /// It has children by `/`.
        pub const HAS_CHILDREN: u32 = 1 << 29;
        /// It has children by `//`.
        pub const HAS_DESCENDANTS: u32 = 1 << 28;
        /// It is `*`.
        pub const ANY: u32 = 1 << 14;
        /// It stands for the document, and so matches.
        pub const ROOT: u32 = 1 << 15;

        /// A node with flags: the thread of what it is below, how many children it has, which child it is, and its tag.
        #[must_use]
        pub const fn new(flags: u32, prefix: u32, children: u32, slot: u32, tag: u32) -> Self {
            Self(flags | prefix << 18 | children << 11 | slot << 8 | tag)
        }

        /// Whether it has any of these.
        #[inline(always)]
        #[must_use]
        pub const fn has(self, flags: u32) -> bool {
            self.0 & flags != 0
        }

        /// The thread of what it is below.
        #[inline(always)]
        #[must_use]
        pub const fn prefix(self) -> u32 {
            self.0 >> 18 & 0x3ff
        }

        /// How many children it has.
        #[inline(always)]
        #[must_use]
        pub const fn children(self) -> u32 {
            self.0 >> 11 & 7
        }

        /// Which of them it is.
        #[inline(always)]
        #[must_use]
        pub const fn slot(self) -> u32 {
            self.0 >> 8 & 3
        }

        /// Its tag.
        #[inline(always)]
        #[must_use]
        pub const fn tag(self) -> u32 {
            self.0 & 0x7f
        }
    }
}
