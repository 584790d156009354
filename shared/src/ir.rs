//! The memory layout of a compiled program.
//!
//! A program is a list of *blocks*. A block is a run of [`Instr`]s that ends in [`Op::Return`]. A block acts
//! on one node: it emits the node, or selects children of the node and enters another block with each child.
//! Paths with a common prefix share the blocks of that prefix, so one pass evaluates several paths. Block 0
//! acts on the record's root.
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
//! A depth-first visit, instruction by instruction and child by child, yields each path's matches in the
//! order of RFC 9535's nodelist, with duplicates (RFC 9535 sections 2.1.2 and 2.3.5.2).

use crate::units::{Level, PathIx};
use crate::view::View;

/// The greatest number of nested selections of several nodes in one path. The compiler refuses a deeper path.
pub const MAX_FRAMES: usize = 32;
/// The greatest number of paths in one program.
pub const MAX_PATHS: usize = 1 << 16;

/// The effect of an instruction on the node of its block. Stored as `u32`, because a device reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Op {
    /// Ends the block.
    Return = 0,
    /// Emits the node as a match of path `target`.
    Emit = 1,
    /// Selects the member whose name is literal `(a, b)` = (offset, length): the first member, where names
    /// repeat. The literals hold the name a second time, with quotes and a colon. The lower half of `c` is
    /// the offset of that copy, a multiple of four, and the upper half is its length. The length is 0 if the
    /// name cannot be written without an escape.
    Name = 2,
    /// Selects element `a` of an array, counted from the end where `a` is negative.
    Index = 3,
    /// Selects elements `a` to `b` by step `c` of an array (RFC 9535 section 2.3.4). An omitted bound is
    /// [`ABSENT`].
    Slice = 4,
    /// Selects every child.
    Wildcard = 5,
    /// Selects every child for which the tests from `a` on hold. `c` is 1 where some test runs a block
    /// ([`TestKind::FIRST_THAT_RUNS_BLOCK`]).
    ///
    /// `b` filters, this one and the next ones, may be evaluated together. For `b` > 1, each of them compares
    /// the child itself with a string of its own, and the [`gaps`](Test::gaps) of each test are known.
    ///
    /// For `b` = 0, selects the node itself if the tests hold. A predicate about the record is such a filter.
    Filter = 6,
    /// Selects the node and all its descendants, in the order of the text. Trees only.
    Descend = 7,
    /// Ends a query within a filter: the query selects the node. Trees only.
    Collect = 8,
}

/// An omitted bound of a slice. The value is outside the range of I-JSON integers, so no query contains it.
pub const ABSENT: i64 = i64::MIN;

/// One instruction. 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Instr {
    /// An [`Op`].
    pub op: u32,
    /// The block to enter with each child. For [`Op::Emit`], the [`PathIx`].
    pub target: u32,
    /// See [`Op`].
    pub a: i64,
    /// See [`Op`].
    pub b: i64,
    /// See [`Op`].
    pub c: i64,
}

impl Instr {
    /// Returns the offset among the literals and the length of the name of an [`Op::Name`].
    #[inline(always)]
    pub const fn name(&self) -> (u32, u32) {
        (self.a as u32, self.b as u32)
    }

    /// Returns the offset and the length of the name of an [`Op::Name`] with quotes and a colon. The length
    /// is 0 if the name cannot be written without an escape.
    #[inline(always)]
    pub const fn quoted(&self) -> (u32, u32) {
        (self.c as u32, (self.c >> 32) as u32)
    }
}

/// The kind of a literal in a comparison. Stored as `u32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum LiteralKind {
    /// `null`
    Null = 0,
    /// `false`
    False = 1,
    /// `true`
    True = 2,
    /// A number: ±0.*digits* × 10^*exponent*. The digits have no zero at either end, and zero has no digits.
    Number = 3,
    /// A string, decoded.
    String = 4,
}

/// The kind of a [`Test`]. Stored as `u32`. Numbers below [`Exists`](Self::Exists) are those of a
/// [`LiteralKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum TestKind {
    /// Holds if the singular path finds a value.
    Exists = 5,
    /// Holds if the singular path finds a string that the automaton at `offset` accepts.
    Pattern = 6,
    /// Loads the test's literal, whose kind is `raw`, into operand `slot`. Always holds.
    LoadLiteral = 7,
    /// Loads the value that the singular path finds, or nothing, into operand `slot`. Always holds.
    LoadPath = 8,
    /// Replaces operand `slot` with its length (RFC 9535 section 2.4.4). Always holds.
    Length = 9,
    /// Holds if operands 0 and 1 compare as `relation` says.
    Compare = 10,
    /// Holds if operand 0 is a string that the automaton at `offset` accepts.
    PatternOf = 11,
    /// Holds if operand 0 is a string that matches the pattern in operand 1 (`negative` is 0), or contains a
    /// match of it (`negative` is 1). Evaluated on the host only.
    PatternAtRun = 12,
    /// Loads the number of nodes that the block at `path` collects into operand `slot`. Always holds.
    Count = 13,
    /// Loads the one node that the block at `path` collects, or nothing, into operand `slot`. Always holds.
    Value = 14,
    /// Holds if the block at `path` collects any node.
    ExistsAny = 15,
}

impl TestKind {
    /// The first kind that runs a block. These kinds are [`Count`](Self::Count), [`Value`](Self::Value) and
    /// [`ExistsAny`](Self::ExistsAny).
    pub const FIRST_THAT_RUNS_BLOCK: u32 = Self::Count as u32;
    /// The first kind that needs operands, and so a tree: all kinds from [`LoadLiteral`](Self::LoadLiteral)
    /// on.
    pub const FIRST_WITH_OPERANDS: u32 = Self::LoadLiteral as u32;
}

/// The relations between two values, one bit each. A [`Test::relation`] is the set of relations for which the
/// test holds.
pub mod relation {
    /// The left value is less.
    pub const LESS: u32 = 1;
    /// The values are equal.
    pub const EQUAL: u32 = 2;
    /// The left value is greater.
    pub const GREATER: u32 = 4;
    /// The values are not equal, and neither is less.
    pub const UNRELATED: u32 = 8;
    /// `!=`
    pub const UNEQUAL: u32 = LESS | GREATER | UNRELATED;
}

/// The filter's expression holds ([`Test::then`], [`Test::otherwise`]).
pub const PASS: u32 = u32::MAX;
/// The filter's expression does not hold ([`Test::then`], [`Test::otherwise`]).
pub const FAIL: u32 = u32::MAX - 1;

/// A step of a filter's expression: a condition, and the next test for either result. 64 bytes.
///
/// ```text
/// [?@.a == 1 && !(@.b || @.c)]      0  @.a == 1   then 1     otherwise FAIL
///                                   1  @.b        then FAIL  otherwise 2
///                                   2  @.c        then FAIL  otherwise PASS
/// ```
///
/// Most tests compare the value that a singular path finds with a literal. Numbers are compared by their
/// exact decimal values, whatever their size and spelling: `1`, `1.0` and `10e-1` are equal. Strings are
/// compared by their decoded code points.
///
/// Other tests have two *operands*, which earlier tests have loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Test {
    /// The singular path, or a block. A singular path is given by the first of a run of [`Op::Name`] and
    /// [`Op::Index`] that ends in [`Op::Return`].
    pub path: u32,
    /// A [`TestKind`], or a [`LiteralKind`]. With a [`LiteralKind`], the test compares the value that the
    /// path finds with the literal.
    pub kind: u32,
    /// The offset of the literal's bytes (decoded string, or digits) among the program's literals, or of an
    /// automaton among its automata.
    pub offset: u32,
    /// The length of the literal or of the automaton.
    pub len: u32,
    /// For numbers, 1 where the number is negative.
    pub negative: u32,
    /// For strings, the offset of a second copy of the string with its quotes, a multiple of four. See
    /// `raw_len`.
    pub raw: u32,
    /// The length of that copy: 0 if the string cannot be written without an escape.
    pub raw_len: u32,
    /// For comparisons, the relations for which the test holds ([`relation`]).
    pub relation: u32,
    /// For numbers, the exponent.
    pub exponent: i64,
    /// For a filter that only compares the child itself with a string: the possible lengths of the gap around
    /// it. Bit *g* is set if the string, in some spelling, may be between two bits of a level at distance
    /// *g*. All bits are 0 where some spelling is too long for 64 bits.
    pub gaps: u64,
    /// The next test if this one holds, or [`PASS`] or [`FAIL`].
    pub then: u32,
    /// The next test if this one does not hold, or [`PASS`] or [`FAIL`].
    pub otherwise: u32,
    /// 1 if the path or the block begins at the record's root, 0 if at the child.
    pub from_root: u32,
    /// The operand that the test loads.
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
    /// The number of paths.
    pub paths: PathIx,
    /// The number of leveled bitmaps that the program reads.
    pub levels: Level,
}

const _: () = {
    assert!(size_of::<Instr>() == 32);
    assert!(size_of::<Test>() == 64);
    assert!(size_of::<Program<'_>>() == 72);
};
