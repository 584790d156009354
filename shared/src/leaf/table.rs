//! A table of leaves as kernels see it, and the questions that they evaluate on it.
//!
//! A table has the rows of some segments, in blocks of [`BLOCK_ROWS`]. Each segment begins with a new block,
//! so the last block of a segment may have rows that do not exist. All columns have the same blocks. A column
//! has a set of the rows in which it has a value; the set 0 has the rows that are records. One lane of a warp
//! has one word of a block's set:
//!
//! ```text
//! word of the set    0            1             …   31
//! rows of the block  0 ‥ 31       32 ‥ 63       …   992 ‥ 1023
//! lane               0            1             …   31
//! ```
//!
//! The bits of the lanes for row 32 *i* + *lane* (a vote of the warp) are word *i*, which lane *i* keeps.
//!
//! A condition is a program ([`Instr`]) over an accumulator and a stack, both of one block's set of rows.

use super::{BLOCK_ROWS, Block};
use crate::view::View;

/// Words of 32 bits of the set of a block's rows.
pub const SET_WORDS: usize = BLOCK_ROWS / 32;
/// The set of the rows that are records.
pub const RECORDS: u32 = 0;
/// The most sets that a program may have pushed at once.
pub const MOST_PUSHED: usize = 8;
/// The most columns by which rows are grouped.
pub const MOST_KEYS: usize = 4;
/// The most numbers of all groups together that a block keeps in its shared memory: 32 KiB.
pub const FEW_NUMBERS: usize = 4096;

/// A column of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Column {
    /// The position of its first block.
    pub blocks: u32,
    /// The set of the rows that have a value.
    pub here: u32,
}

/// A table of leaves.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Leaves<'a> {
    /// The columns.
    pub columns: View<'a, Column>,
    /// The blocks of all columns.
    pub blocks: View<'a, Block>,
    /// The words of all blocks.
    pub words: View<'a, u32>,
    /// The sets of rows: [`SET_WORDS`] words for each block, set after set.
    pub sets: View<'a, u32>,
    /// The number of blocks of each column.
    pub count: u64,
}

impl Leaves<'_> {
    /// A block of a column.
    #[inline(always)]
    pub fn block(&self, column: Column, number: usize) -> Block {
        self.blocks.get(column.blocks as usize + number)
    }

    /// A word of the set of a block's rows.
    #[inline(always)]
    pub fn set_word(&self, set: u32, block: usize, word: u32) -> u32 {
        self.sets.get((set as usize * self.count as usize + block) * SET_WORDS + word as usize)
    }

    /// The difference of a row of a block.
    #[inline(always)]
    pub fn difference(&self, block: &Block, row: u32) -> u64 {
        let begin = block.begin as usize * super::LANES;
        block.difference(row, |at| self.words.get(begin + at as usize))
    }
}

/// The effect of an [`Instr`] on the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum OpCode {
    /// Adds the rows whose values are in `first..=last`.
    Within = 0,
    /// Adds the rows whose values are in the set of codes that begins at word `first` of the codes. Values
    /// from `last` on are not in it.
    Codes = 1,
    /// Adds the rows that have a value.
    Here = 2,
    /// Pushes the accumulator, and clears it.
    Push = 3,
    /// Pops a set: the accumulator becomes *popped* and *accumulator*.
    And = 4,
    /// Pops a set: the accumulator becomes *popped* or *accumulator*.
    Or = 5,
    /// The accumulator becomes the records that it does not have.
    Not = 6,
}

/// An instruction of a condition. 24 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Instr {
    /// The [`OpCode`].
    pub op: u32,
    /// The number of the column, or 0.
    pub column: u32,
    /// The first operand, or 0.
    pub first: u64,
    /// The second operand, or 0.
    pub last: u64,
}

impl Instr {
    /// An instruction without operands.
    #[must_use]
    pub const fn new(op: OpCode) -> Self {
        Self { op: op as u32, column: 0, first: 0, last: 0 }
    }

    /// The operation; `None` for a number that is none.
    #[inline(always)]
    #[must_use]
    pub const fn op(&self) -> Option<OpCode> {
        Some(match self.op {
            0 => OpCode::Within,
            1 => OpCode::Codes,
            2 => OpCode::Here,
            3 => OpCode::Push,
            4 => OpCode::And,
            5 => OpCode::Or,
            6 => OpCode::Not,
            _ => return None,
        })
    }
}

/// A column by which rows are grouped. Each row has a digit of it, and the group of a row is the sum of its
/// digits, each times its stride. 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Key {
    /// The number of the column.
    pub column: u32,
    /// Zero.
    pub reserved: u32,
    /// The least value.
    pub least: u64,
    /// Values whose differences to the least have the same quotient by this number have the same digit.
    pub divide: u64,
    /// The factor of the digit.
    pub stride: u64,
}

impl Key {
    /// The digit of a row with a value. A row without one has the digit 0.
    #[inline(always)]
    #[must_use]
    pub const fn digit(&self, value: u64) -> u64 {
        let mut digit = value.wrapping_sub(self.least);
        // It is the same for all rows, and divisions are slow.
        if self.divide != 1 {
            digit /= self.divide;
        }
        digit + 1
    }
}

/// The number that an [`Aggregate`] has of each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum AggregateCode {
    /// The number of rows.
    Rows = 0,
    /// The number of values.
    Count = 1,
    /// 2^64 - 1 minus the least value; 0 where there is none. All numbers of groups so begin at 0.
    Least = 2,
    /// The greatest value; 0 where there is none.
    Greatest = 3,
    /// The sum of the low halves of the values.
    LowSum = 4,
    /// The sum of the high halves of the values.
    HighSum = 5,
    /// The set of the values, which are codes: a bit for each.
    Distinct = 6,
}

/// A number about each group. 24 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Aggregate {
    /// The [`AggregateCode`].
    pub op: u32,
    /// The number of the column, or 0.
    pub column: u32,
    /// The first of the numbers, one for each group; of [`AggregateCode::Distinct`], the first word of the
    /// bits.
    pub at: u64,
    /// Words of 32 bits of each group of [`AggregateCode::Distinct`].
    pub words: u64,
}

impl Aggregate {
    /// The kind; `None` for a number that is none.
    #[inline(always)]
    #[must_use]
    pub const fn op(&self) -> Option<AggregateCode> {
        Some(match self.op {
            0 => AggregateCode::Rows,
            1 => AggregateCode::Count,
            2 => AggregateCode::Least,
            3 => AggregateCode::Greatest,
            4 => AggregateCode::LowSum,
            5 => AggregateCode::HighSum,
            6 => AggregateCode::Distinct,
            _ => return None,
        })
    }
}

/// The order of groups by a value that their numbers have. The value is one number, or the difference of two
/// numbers of integers; either may be divided. 48 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Order {
    /// The first of the numbers of the value, one for each group.
    pub value: u64,
    /// The first of the numbers that are subtracted, or [`NOTHING`](Self::NOTHING).
    pub minus: u64,
    /// The divisor of the value as an integer; not 0. 1 leaves the value as it is.
    pub divide: i64,
    /// All bits if the numbers of the value are least values ([`AggregateCode::Least`]), or 0.
    pub turn_value: u64,
    /// The same for the numbers that are subtracted.
    pub turn_minus: u64,
    /// All bits if the greatest values come first, or 0.
    pub turn_rank: u64,
}

impl Order {
    /// Nothing is subtracted.
    pub const NOTHING: u64 = u64::MAX;

    /// The rank of a group with these numbers: groups with lower ranks come first. Groups with equal values
    /// have equal ranks. Quotients are rounded towards zero, as those of SQL. Differences must have room in
    /// 64 bits: SQL has an error for others.
    #[inline(always)]
    #[must_use]
    pub const fn rank(&self, value: u64, minus: u64) -> u64 {
        let value = value ^ self.turn_value;
        let mut rank = value;
        if self.minus != Self::NOTHING {
            // The difference of two such numbers is that of their integers.
            rank = super::of_integer(value.wrapping_sub(minus ^ self.turn_minus) as i64);
        }
        if self.divide != 1 {
            rank = super::of_integer(super::integer(rank).wrapping_div(self.divide));
        }
        rank ^ self.turn_rank
    }
}

#[cfg(test)]
mod tests {
    use core::array::from_fn;

    use super::*;

    #[test]
    fn digits_are_quotients() {
        let key = Key { least: 100, divide: 10, stride: 1, ..Key::default() };
        for (value, digit) in [(100, 1), (109, 1), (110, 2), (129, 3), (130, 4)] {
            assert_eq!(key.digit(value), digit, "{value}");
        }
        let plain = Key { least: 7, divide: 1, stride: 1, ..Key::default() };
        assert_eq!((plain.digit(7), plain.digit(12)), (1, 6));
    }

    #[test]
    fn ranks_are_those_of_the_values() {
        let of = crate::leaf::of_integer;
        let (least, greatest) = ([5, -3, 9, i64::MIN], [7, 40, 9, i64::MAX]);
        for divide in [1, 3, -2] {
            for turn_rank in [0, u64::MAX] {
                let order = Order { divide, turn_minus: u64::MAX, turn_rank, ..Order::default() };
                let ranks: [u64; 4] = from_fn(|at| order.rank(of(greatest[at]), !of(least[at])));
                let values: [i64; 4] =
                    from_fn(|at| greatest[at].wrapping_sub(least[at]).wrapping_div(divide));
                for (one, other) in (0..4).flat_map(|one| (0..4).map(move |other| (one, other))) {
                    let order = values[one].cmp(&values[other]);
                    let order = if turn_rank == 0 { order } else { order.reverse() };
                    assert_eq!(ranks[one].cmp(&ranks[other]), order, "{one}, {other} by {divide}");
                }
            }
        }
        let least = Order { minus: Order::NOTHING, divide: 1, turn_value: u64::MAX, ..Order::default() };
        assert_eq!(least.rank(!17, 0), 17);
    }

    #[test]
    fn codes_are_their_numbers() {
        for code in 0..8 {
            let op = Instr { op: code, ..Instr::default() }.op();
            assert_eq!(op.map(|op| op as u32), (code < 7).then_some(code));
            let op = Aggregate { op: code, ..Aggregate::default() }.op();
            assert_eq!(op.map(|op| op as u32), (code < 7).then_some(code));
        }
    }
}
