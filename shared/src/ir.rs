//! What a compiled program looks like in memory.
//!
//! A program is a list of *blocks*. A block is a run of [`Instr`]s that ends in [`Op::Return`], and it
//! acts on one node: it emits it, or selects children of it and enters another block with each. Paths
//! that begin alike share the blocks of their common prefix, so several paths are answered in one pass.
//! Block 0 acts on the record's root.
//!
//! ```text
//! $.user.lang                      0  name "user"  → 2
//! $.user['id','lang']              1  return
//!                                  2  name "lang"  → 6      path 0 first
//!                                  3  name "id"    → 8      path 1, its selectors in order
//!                                  4  name "lang"  → 8
//!                                  5  return
//!                                  6  emit 0
//!                                  7  return
//!                                  8  emit 1
//!                                  9  return
//! ```
//!
//! Visiting depth-first, instruction by instruction and child by child, yields each path's matches in
//! the order of RFC 9535's nodelist, duplicates kept (RFC 9535 sections 2.1.2 and 2.3.5.2).

use crate::units::{Level, PathIx};
use crate::view::View;

/// Nested selections of several nodes that one path may have. A deeper path is refused when compiled.
pub const MAX_FRAMES: usize = 32;
/// Paths of one program.
pub const MAX_PATHS: usize = 1 << 16;

/// What an instruction does to the node of its block. Stored as `u32`, since a device reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Op {
    /// The end of the block.
    Return = 0,
    /// The node is a match of path `target`.
    Emit = 1,
    /// The member whose name is literal `(a, b)` = (offset, length): the first, where names repeat. The lower half of `c` is
    /// where the name stands once more, with quotes and a colon, at a multiple of four, and the upper half how long that is: 0
    /// if it cannot be written without an escape.
    Name = 2,
    /// Element `a` of an array; from its end where negative.
    Index = 3,
    /// Elements `a` to `b` by step `c` of an array (RFC 9535 section 2.3.4); [`ABSENT`] for a bound left out.
    Slice = 4,
    /// Every child.
    Wildcard = 5,
    /// Every child of which the tests from `a` on hold. `b` filters, this one and those behind it, may be asked at once: where there
    /// are several, each asks the child itself for a string, no two for the same, and each test's [`gaps`](Test::gaps) are known.
    /// `c` is 1 where some test runs a block ([`TestKind::FIRST_THAT_RUNS_BLOCK`]).
    Filter = 6,
    /// The node itself and all below it, in the order of the text: trees only.
    Descend = 7,
    /// The end of a query within a filter: the node is one that it selects. Trees only.
    Collect = 8,
}

/// A bound of a slice that the path leaves out. Outside the range of I-JSON integers, so never written.
pub const ABSENT: i64 = i64::MIN;

/// One instruction. 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Instr {
    /// An [`Op`].
    pub op: u32,
    /// The block to enter with each child; for [`Op::Emit`], the [`PathIx`].
    pub target: u32,
    /// See [`Op`].
    pub a: i64,
    /// See [`Op`].
    pub b: i64,
    /// See [`Op`].
    pub c: i64,
}

impl Instr {
    /// Of [`Op::Name`]: where the name is among the literals, and how long it is.
    #[inline(always)]
    pub const fn name(&self) -> (u32, u32) {
        (self.a as u32, self.b as u32)
    }

    /// Of [`Op::Name`]: where it stands with quotes and a colon, and how long that is; 0 if it cannot be written so.
    #[inline(always)]
    pub const fn quoted(&self) -> (u32, u32) {
        (self.c as u32, (self.c >> 32) as u32)
    }
}

/// What a value is compared with. Stored as `u32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum LiteralKind {
    /// `null`
    Null = 0,
    /// `false`
    False = 1,
    /// `true`
    True = 2,
    /// A number: ±0.*digits* × 10^*exponent*, the digits with no zero at either end, none for zero.
    Number = 3,
    /// A string, decoded.
    String = 4,
}

/// What a [`Test`] asks. Stored as `u32`; numbers below [`Exists`](Self::Exists) are those of a [`LiteralKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum TestKind {
    /// Is there a value where the singular path leads?
    Exists = 5,
    /// Is that value a string that the automaton at `offset` accepts?
    Pattern = 6,
    /// Operand `slot` is to be the test's literal, whose kind is `raw`. Holds.
    LoadLiteral = 7,
    /// Operand `slot` is to be the value where the singular path leads, or nothing. Holds.
    LoadPath = 8,
    /// Operand `slot` is to be how long it is (RFC 9535 section 2.4.4). Holds.
    Length = 9,
    /// Do operands 0 and 1 compare so?
    Compare = 10,
    /// Is operand 0 a string that the automaton at `offset` accepts?
    PatternOf = 11,
    /// Is operand 0 a string that matches the pattern which operand 1 is (`negative` 0), or contains such a part (1)? The host alone
    /// answers it.
    PatternAtRun = 12,
    /// Operand `slot` is to be how many nodes the block at `path` collects. Holds.
    Count = 13,
    /// Operand `slot` is to be the one node that the block at `path` collects, or nothing. Holds.
    Value = 14,
    /// Does the block at `path` collect any node?
    ExistsAny = 15,
}

impl TestKind {
    /// The first that runs a block: [`Count`](Self::Count), [`Value`](Self::Value) and [`ExistsAny`](Self::ExistsAny).
    pub const FIRST_THAT_RUNS_BLOCK: u32 = Self::Count as u32;
    /// The first that needs operands, and so a tree: all from [`LoadLiteral`](Self::LoadLiteral) on.
    pub const FIRST_WITH_OPERANDS: u32 = Self::LoadLiteral as u32;
}

/// What two values are to one another, a bit each: a [`Test::relation`] is the set of those for which it holds.
pub mod relation {
    /// The left one is less.
    pub const LESS: u32 = 1;
    /// They are equal.
    pub const EQUAL: u32 = 2;
    /// The left one is greater.
    pub const GREATER: u32 = 4;
    /// They are not equal, and neither is less.
    pub const UNRELATED: u32 = 8;
    /// `!=`
    pub const UNEQUAL: u32 = LESS | GREATER | UNRELATED;
}

/// As [`Test::then`] or [`Test::otherwise`]: the filter's expression holds.
pub const PASS: u32 = u32::MAX;
/// The same: it does not hold.
pub const FAIL: u32 = u32::MAX - 1;

/// A step of a filter's expression: a question, and which test comes next by the answer. 64 bytes.
///
/// ```text
/// [?@.a == 1 && !(@.b || @.c)]      0  @.a == 1   then 1     otherwise FAIL
///                                   1  @.b        then FAIL  otherwise 2
///                                   2  @.c        then FAIL  otherwise PASS
/// ```
///
/// Most compare the value that a singular path finds with a literal. Numbers are compared by their exact decimal values, whatever
/// their size and spelling (`1`, `1.0` and `10e-1` are equal), strings by their decoded code points.
///
/// Other tests have two *operands*, which tests before them have loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Test {
    /// The singular path: the first of a run of [`Op::Name`] and [`Op::Index`], ended by [`Op::Return`]; or a block.
    pub path: u32,
    /// A [`TestKind`], or a [`LiteralKind`]: the value where the path leads compares so with the literal.
    pub kind: u32,
    /// Where the literal's bytes (decoded string, or digits) begin among the program's literals; or an automaton among its automata.
    pub offset: u32,
    /// How many there are.
    pub len: u32,
    /// For numbers, 1 where negative.
    pub negative: u32,
    /// For strings, where it stands once more with its quotes, at a multiple of four, ...
    pub raw: u32,
    /// ... and how long that is: 0 if it cannot be written without an escape.
    pub raw_len: u32,
    /// For comparisons: when they hold ([`relation`]).
    pub relation: u32,
    /// For numbers, the exponent.
    pub exponent: i64,
    /// For the child itself compared with a string, where that is all that the filter asks: bit *g* says that two bits of a level
    /// with the string between them, however it is spelt, may be *g* apart. 0 where some spelling is too long for that.
    pub gaps: u64,
    /// The next test if this one holds; or [`PASS`] or [`FAIL`].
    pub then: u32,
    /// The next test if not.
    pub otherwise: u32,
    /// 1 if the path, or the block, begins at the record's root, 0 if at the child.
    pub from_root: u32,
    /// Which operand.
    pub slot: u32,
}

/// A compiled program. `#[repr(C)]`: part of the query kernels' arguments.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Program<'a> {
    /// All blocks.
    pub instrs: View<'a, Instr>,
    /// All filters' tests.
    pub tests: View<'a, Test>,
    /// Names, strings and digits. Padded to a multiple of four bytes.
    pub literals: View<'a, u8>,
    /// The patterns of `match` and `search`.
    pub automata: View<'a, u16>,
    /// How many paths there are.
    pub paths: PathIx,
    /// How many leveled bitmaps the program reads.
    pub levels: Level,
}

const _: () = {
    assert!(size_of::<Instr>() == 32);
    assert!(size_of::<Test>() == 64);
    assert!(size_of::<Program<'_>>() == 72);
};
