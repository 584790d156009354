//! Nodes made in parallel, after the brackets are matched: the role of each token, and the check of its
//! position, by a word's bitmaps.
//!
//! A *mark* is a token or a newline. The mark before each mark is found for all marks of a word at once. The
//! bits of a set, moved one up, are added to the gaps between marks, and carry through the gaps to the next
//! mark ([`to_next`]).
//!
//! ```text
//! text         {"a" :  17 }
//! mark         ■■  ■   ■  ■
//! colon            ■
//! colon << 1        ■
//! gaps           ■■ ■■■ ■■
//! sum, at marks        ■
//! ```
//!
//! # What is checked
//!
//! Each rule is about a mark and the one before it, and for strings also the one after it. Some rules also
//! use the innermost container before the mark. A line with matching brackets breaks none of these rules if
//! and only if RFC 8259 allows each of its tokens. So the rules find the same faulty lines as
//! [`Builder`](super::tape::Builder), which reads them token by token.
//!
//! | token | fault |
//! |---|---|
//! | the first token of a value or a name | after the end of a value |
//! | the same, in an object and not after a colon | is not a string with a colon after it |
//! | a string with a colon after it | after a colon |
//! | colon | not after a string in an object |
//! | comma | not after the end of a value in a container |
//! | closing bracket | after neither the end of a value nor an opening bracket |

use super::brackets::{Closed, Top};
use super::outline::TapeWord;
use super::tape::{TapeIx, TapeNode};
use crate::units::{PartOffset, STRETCH_BYTES};

/// A mark, or none: the neighbour of a word at its left or right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark(u32);

/// Bits of a [`Mark`]: the bits of the same names in its [`TapeWord`].
const NODE: u32 = 1;
const BRACKET: u32 = 2;
const ALT: u32 = 4;
const START: u32 = 8;

impl Mark {
    /// No mark.
    pub const NONE: Self = Self(0);

    /// The mark at a bit of a word, or none.
    #[inline(always)]
    pub const fn at(word: &TapeWord, bit: u64) -> Self {
        let node = if word.node & bit != 0 { NODE } else { 0 };
        let bracket = if word.bracket & bit != 0 { BRACKET } else { 0 };
        let alt = if word.alt & bit != 0 { ALT } else { 0 };
        let start = if word.start & bit != 0 { START } else { 0 };
        Self(node | bracket | alt | start)
    }

    /// The first mark of a word.
    #[inline(always)]
    pub const fn first(word: &TapeWord) -> Self {
        let marks = word.mark();
        Self::at(word, marks & marks.wrapping_neg())
    }

    /// The last mark of a word.
    #[inline(always)]
    pub const fn last(word: &TapeWord) -> Self {
        let marks = word.mark();
        Self::at(word, if marks == 0 { 0 } else { 1 << (63 - marks.leading_zeros()) })
    }

    /// The mark as four bits.
    #[inline(always)]
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// The mark that [`to_bits`](Self::to_bits) returned as `bits`.
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns true for a string.
    #[inline(always)]
    pub const fn is_string(self) -> bool {
        self.0 == START | NODE | ALT
    }

    /// Returns true for a string or a scalar.
    #[inline(always)]
    pub const fn is_scalar(self) -> bool {
        self.0 & !ALT == START | NODE
    }

    /// Returns true for a colon.
    #[inline(always)]
    pub const fn is_colon(self) -> bool {
        self.0 == START | ALT
    }

    /// Returns true if the mark opens a container.
    #[inline(always)]
    pub const fn opens(self) -> bool {
        self.0 & !ALT == START | NODE | BRACKET
    }

    /// Returns true if the mark ends a value, or is a name.
    #[inline(always)]
    pub const fn ends(self) -> bool {
        self.is_scalar() || self.0 & !ALT == START | BRACKET
    }
}

/// The next mark after each mark of a set. `carry` says if the mark before the word is in the set.
#[inline(always)]
pub const fn to_next(set: u64, carry: bool, marks: u64) -> u64 {
    (set << 1 | carry as u64).wrapping_add(!marks) & marks
}

/// The mark before each mark of a set. `carry` says if the mark after the word is in the set.
#[inline(always)]
pub const fn to_previous(set: u64, carry: bool, marks: u64) -> u64 {
    to_next(set.reverse_bits(), carry, marks.reverse_bits()).reverse_bits()
}

/// The colons that a container follows, given the mark after the word.
#[inline(always)]
pub const fn colons_of_containers(word: &TapeWord, right: Mark) -> u64 {
    word.colon() & to_previous(word.open(), right.opens(), word.mark())
}

/// The relations between the tokens of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Tokens after a colon.
    pub valued: u64,
    /// Strings before a colon: names.
    pub name: u64,
    /// The names whose value is a container.
    pub of_container: u64,
}

impl Roles {
    /// The roles of the tokens of a word. `colons` are its [colons of containers](colons_of_containers), and
    /// `left` and `right` are the marks around it. `right_of_container` says if the right mark is a colon of
    /// a container.
    #[inline(always)]
    pub const fn of(
        word: &TapeWord,
        colons: u64,
        [left, right]: [Mark; 2],
        right_of_container: bool,
    ) -> Self {
        let (mark, string) = (word.mark(), word.string());
        Self {
            valued: to_next(word.colon(), left.is_colon(), mark),
            name: string & to_previous(word.colon(), right.is_colon(), mark),
            of_container: string & to_previous(colons, right_of_container, mark),
        }
    }
}

/// The innermost container before each byte of a word: the bytes in an object, and the bytes in any
/// container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// In an object.
    pub object: u64,
    /// In any container.
    pub any: u64,
}

impl Inside {
    /// The bitmaps of a word, given the innermost container before it, and the one after each of its
    /// brackets, counted from the word's first.
    #[inline(always)]
    pub fn of(word: &TapeWord, before: Top, mut behind: impl FnMut(u32) -> Top) -> Self {
        let all = |holds: bool| if holds { !0 } else { 0u64 };
        let mut inside = Self { object: all(before.is_object()), any: all(!before.is_none()) };
        let (mut left, mut bracket) = (word.bracket, 0);
        // A line may end without closing its containers. So in a word with a newline, an opening bracket
        // alone does not determine the container after it.
        let known = if word.newline() == 0 { word.node } else { 0 };
        while left != 0 {
            let bit = left & left.wrapping_neg();
            left ^= bit;
            let (object, any) = if known & bit != 0 {
                (word.alt & bit != 0, true)
            } else {
                let top = behind(bracket);
                (top.is_object(), !top.is_none())
            };
            let above = !(bit | (bit - 1));
            inside.object = inside.object & !above | all(object) & above;
            inside.any = inside.any & !above | all(any) & above;
            bracket += 1;
        }
        inside
    }
}

/// The tokens of a word that are not valid at their positions, given the mark before the word.
#[inline(always)]
pub const fn faults(word: &TapeWord, left: Mark, roles: &Roles, inside: &Inside) -> u64 {
    let (mark, string, close) = (word.mark(), word.string(), word.close());
    let ended = to_next(word.scalar() | close, left.ends(), mark);
    let opened = to_next(word.open(), left.opens(), mark);
    let behind_string = to_next(string, left.is_string(), mark);
    word.node & (ended | inside.object & !roles.valued & !roles.name)
        | roles.name & roles.valued
        | word.colon() & !(behind_string & inside.object)
        | word.comma() & !(ended & inside.any)
        | close & !(ended | opened)
}

/// A node of a stretch without its surrounding node, in 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sketch(u64);

/// The number of bits of a position in a stretch.
const PLACE_BITS: u32 = STRETCH_BYTES.trailing_zeros();
/// The offset of the bits for the number of brackets, which is not more than the position.
const BRACKETS: u32 = PLACE_BITS;
/// The offset of four bits for the kind: a container; an object or a name; a value after a colon; a name of a
/// container.
const WHAT: u32 = BRACKETS + PLACE_BITS;
const _: () = assert!(WHAT + 4 <= 32);

impl Sketch {
    /// The node at bit `bit` of a word, at position `place` of its stretch, with `brackets` brackets before
    /// it in the stretch. A scalar or a string ends at `end`, or at 0 if its end is not known.
    #[inline(always)]
    pub const fn of(
        word: &TapeWord,
        roles: &Roles,
        bit: u64,
        (place, brackets): (u32, u32),
        end: PartOffset,
    ) -> Self {
        let container = word.bracket & bit != 0;
        let flag = (if container { word.alt } else { roles.name }) & bit != 0;
        let what = container as u32
            | (flag as u32) << 1
            | ((roles.valued & bit != 0) as u32) << 2
            | ((roles.of_container & bit != 0) as u32) << 3;
        Self((place | brackets << BRACKETS | what << WHAT) as u64 | (end as u64) << 32)
    }

    /// The sketch as 64 bits.
    #[inline(always)]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The sketch that [`to_bits`](Self::to_bits) returned as `bits`.
    #[inline(always)]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The number of brackets before the node in its stretch.
    #[inline(always)]
    pub const fn brackets(self) -> u32 {
        self.0 as u32 >> BRACKETS & ((1 << PLACE_BITS) - 1)
    }

    #[inline(always)]
    const fn is(self, what: u32) -> bool {
        self.0 as u32 >> (WHAT + what) & 1 == 1
    }

    /// Returns true if the node has the end of a container: its own, or its value's. The next bracket opens
    /// that container.
    #[inline(always)]
    pub const fn has_container(self) -> bool {
        self.is(0) || self.is(3)
    }

    /// Returns true if the node is after a colon, and so the value of the name before it.
    #[inline(always)]
    pub const fn is_valued(self) -> bool {
        self.is(2)
    }

    /// Returns true if the sketch is complete. A string or a scalar without its end is not.
    #[inline(always)]
    pub const fn is_whole(self) -> bool {
        self.is(0) || self.0 >> 32 != 0
    }

    /// The node, as node `at`. `stretch` is the start of its stretch. `top` is the innermost container before
    /// it, unless [`is_valued`](Self::is_valued). `closed` is the end of its container if it [has
    /// one](Self::has_container).
    #[inline(always)]
    pub const fn node(self, at: TapeIx, stretch: PartOffset, top: TapeIx, closed: Closed) -> TapeNode {
        let start = stretch + (self.0 as u32 & ((1 << PLACE_BITS) - 1));
        // The nodes of a faulty line are unspecified.
        let up = if self.is_valued() { at.wrapping_sub(1) } else { top };
        let flag = self.is(1);
        if self.is(0) {
            let mut node = TapeNode::container(start, flag, up);
            (node.end, node.next) = (closed.end, closed.next);
            return node;
        }
        let scalar = TapeNode::scalar(start, (self.0 >> 32) as PartOffset, at, up);
        if !flag {
            return scalar;
        }
        let mut name = scalar.named();
        name.next = if self.is(3) { closed.next } else { at + 2 };
        name
    }
}

#[cfg(test)]
mod tests;
