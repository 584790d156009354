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
    /// Every child of which test `a` holds. `b` filters, this one and those behind it, may be asked at once: where there are several,
    /// each asks the child itself for a string, no two for the same, and each test's [`gaps`](Test::gaps) are known.
    Filter = 6,
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

/// A filter's test: the value that a singular path finds from the child equals a literal. 48 bytes.
///
/// Numbers are equal if their exact decimal values are, whatever their size and spelling
/// (`1`, `1.0` and `10e-1` are), strings if their decoded code points are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Test {
    /// The singular path: the first of a run of [`Op::Name`] and [`Op::Index`], ended by [`Op::Return`].
    pub path: u32,
    /// A [`LiteralKind`].
    pub kind: u32,
    /// Where its bytes (decoded string, or digits) begin among the program's literals.
    pub offset: u32,
    /// How many there are.
    pub len: u32,
    /// For numbers, 1 where negative.
    pub negative: u32,
    /// For strings, where it stands once more with its quotes, at a multiple of four, ...
    pub raw: u32,
    /// ... and how long that is: 0 if it cannot be written without an escape.
    pub raw_len: u32,
    /// Zero.
    pub reserved: u32,
    /// For numbers, the exponent.
    pub exponent: i64,
    /// For the child itself compared with a string: bit *g* says that two bits of a level with the string between them, however
    /// it is spelt, may be *g* apart. 0 where some spelling is too long for that.
    pub gaps: u64,
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
    /// How many paths there are.
    pub paths: PathIx,
    /// How many leveled bitmaps the program reads.
    pub levels: Level,
}

const _: () = {
    assert!(size_of::<Instr>() == 32);
    assert!(size_of::<Test>() == 48);
    assert!(size_of::<Program<'_>>() == 56);
};
