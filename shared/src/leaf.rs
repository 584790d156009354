//! Values of a resident leaf, packed into few bits: the layout, and the rule that reads one value.
//!
//! The values of the rows of a leaf are numbers of 64 bits: codes of a dictionary, or integers and doubles in
//! their order. A block has [`BLOCK_ROWS`] rows. It subtracts its least value from all of its values, and
//! keeps as many bits of each difference as the greatest of them needs, its *width*.
//!
//! A block has [`LANES`] lanes, as FastLanes has (Afroozeh and Boncz, "The FastLanes Compression Layout",
//! VLDB 2023). Row *r* is in lane *r* mod 32, so 32 threads or SIMD lanes read 32 rows from 32 neighbouring
//! words, and the results of one step are one word of a set of rows. Each lane is a string of bits in words
//! of 32 bits, which alternate with those of the other lanes:
//!
//! ```text
//! width 5       word 0 of each lane                     word 1 of each lane
//! words         │ lane 0 │ lane 1 │ … │ lane 31 │       │ lane 0 │ …
//! lane 0        bits  0‥4   row 0
//!                     5‥9   row 32
//!                     …
//!                    25‥29  row 160
//!                    30‥31, and bits 0‥2 of word 1: row 192
//! ```
//!
//! A value of `width` bits spans at most three words. A block of width 0 has no words: all of its values are
//! equal. Rows without a value have any value, and another array says which rows these are.

pub mod table;

/// Rows of a block.
pub const BLOCK_ROWS: usize = 1024;
/// Lanes of a block.
pub const LANES: usize = 32;

/// The position and the form of a block.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The value that was subtracted from all values.
    pub base: u64,
    /// The first word, in units of [`LANES`] words.
    pub begin: u32,
    /// Bits of each value, at most 64.
    pub width: u32,
}

impl Block {
    /// The words of a block, in units of [`LANES`] words.
    #[inline(always)]
    #[must_use]
    pub const fn words(&self) -> u32 {
        self.width
    }

    /// The value of a row, from 0 to [`BLOCK_ROWS`] - 1, without its base. `word` reads a word of the block.
    #[inline(always)]
    pub fn difference(&self, row: u32, word: impl Fn(u32) -> u32) -> u64 {
        let lane = row % LANES as u32;
        let first = row / LANES as u32 * self.width;
        self.bits(first, |at| word(at * LANES as u32 + lane))
    }

    /// Reads a value that begins at a bit of a lane. `word` reads a word of the lane; none is read after the
    /// last bit of the value.
    #[inline(always)]
    pub fn bits(&self, first: u32, word: impl Fn(u32) -> u32) -> u64 {
        if self.width == 0 {
            return 0;
        }
        let (at, shift, end) = (first / 32, first % 32, first % 32 + self.width);
        let mut value = u64::from(word(at)) >> shift;
        if end > 32 {
            value |= u64::from(word(at + 1)) << (32 - shift);
        }
        // Only if the first word has less than all of its bits in the value.
        if end > 64 {
            value |= u64::from(word(at + 2)) << (64 - shift);
        }
        value & self.mask()
    }

    /// The bits of a difference.
    #[inline(always)]
    #[must_use]
    pub const fn mask(&self) -> u64 {
        match self.width {
            0 => 0,
            width => u64::MAX >> (64 - width),
        }
    }

    /// The differences that values from `least` to `greatest` have: the first, and the number of those after
    /// it. `None` if no value of the block is in the range.
    #[inline(always)]
    #[must_use]
    pub const fn within(&self, least: u64, greatest: u64) -> Option<(u64, u64)> {
        if greatest < least || greatest < self.base {
            return None;
        }
        let first = least.saturating_sub(self.base);
        if first > self.mask() {
            return None;
        }
        let last = greatest - self.base;
        let last = if last > self.mask() { self.mask() } else { last };
        Some((first, last - first))
    }
}

/// Maps integers to numbers in the same order.
#[inline(always)]
#[must_use]
pub const fn of_integer(value: i64) -> u64 {
    value as u64 ^ 1 << 63
}

/// Returns the integer of a number of [`of_integer`].
#[inline(always)]
#[must_use]
pub const fn integer(ordered: u64) -> i64 {
    (ordered ^ 1 << 63) as i64
}

/// Maps doubles to numbers in the same order; -0 comes before 0.
///
/// ```text
/// sign 0   the sign is set: greater than all negative numbers
/// sign 1   all bits are inverted: of two negative numbers the one with greater bits is less
/// ```
#[inline(always)]
#[must_use]
pub const fn of_double(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// Returns the double of a number of [`of_double`].
#[inline(always)]
#[must_use]
pub const fn double(ordered: u64) -> f64 {
    f64::from_bits(if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered })
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    /// Bits of all widths, written one by one, are read at every row.
    #[test]
    fn every_row_of_every_width() {
        for width in 0..=64_u32 {
            let mut words = vec![0_u32; LANES * width as usize];
            let block = Block { base: 7, begin: 0, width };
            let value = |row: u32| (u64::from(row) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) & block.mask();
            for row in 0..BLOCK_ROWS as u32 {
                for bit in 0..width {
                    let at = row / LANES as u32 * width + bit;
                    let word = (at / 32) as usize * LANES + row as usize % LANES;
                    words[word] |= ((value(row) >> bit & 1) as u32) << (at % 32);
                }
            }
            for row in 0..BLOCK_ROWS as u32 {
                assert_eq!(block.difference(row, |at| words[at as usize]), value(row), "{width}, row {row}");
            }
        }
    }

    #[test]
    fn numbers_keep_their_order() {
        let doubles = [f64::NEG_INFINITY, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.0, f64::MAX];
        for pair in doubles.windows(2) {
            assert!(of_double(pair[0]) < of_double(pair[1]));
            assert_eq!(double(of_double(pair[0])).to_bits(), pair[0].to_bits());
        }
        for pair in [i64::MIN, -1, 0, 1, i64::MAX].windows(2) {
            assert!(of_integer(pair[0]) < of_integer(pair[1]));
            assert_eq!(integer(of_integer(pair[0])), pair[0]);
        }
    }

    #[test]
    fn ranges_are_cut_to_the_block() {
        let block = Block { base: 100, begin: 0, width: 4 };
        for (least, greatest, want) in [
            (0, 99, None),
            (116, 200, None),
            (105, 104, None),
            (0, 100, Some((0, 0))),
            (115, 115, Some((15, 0))),
            (0, u64::MAX, Some((0, 15))),
            (103, 110, Some((3, 7))),
        ] {
            assert_eq!(block.within(least, greatest), want, "{least}..={greatest}");
        }
        assert_eq!(Block { base: 5, begin: 0, width: 0 }.within(5, 5), Some((0, 0)));
    }
}
