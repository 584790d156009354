//! The values of a member in a segment, block by block.

use std::ops::Range;

use warpath_core::rows::RowSet;
use warpath_shared::leaf::BLOCK_ROWS;

use super::wanted::Error;
use crate::packed::Packed;
use crate::segment::{Kind, Leaf, Rows, Segment};

/// Words of a set of rows that a block has.
const SET_WORDS: usize = BLOCK_ROWS / 64;

/// The numbers of a block, row by row.
pub type BlockNumbers = [u64; BLOCK_ROWS];

/// The values of a member in a segment.
pub struct Column<'a> {
    leaf: Numbered<'a>,
    here: &'a Rows,
}

enum Numbered<'a> {
    Nothing,
    Booleans(&'a RowSet),
    Numbers(&'a Packed),
    /// The numbers of codes, and the codes.
    Codes(&'a Packed, &'a [u32]),
}

/// The words of a block of a set of rows.
pub fn words_of(set: &RowSet, block: usize) -> &[u64] {
    let words = set.words();
    let first = (block * SET_WORDS).min(words.len());
    &words[first..words.len().min(first + SET_WORDS)]
}

/// Lists the rows of a block that are in a set.
pub fn select(set: &RowSet, block: usize, selected: &mut Vec<u32>) {
    selected.clear();
    for (at, word) in words_of(set, block).iter().enumerate() {
        let first = (64 * at) as u32;
        if *word == u64::MAX {
            selected.extend(first..first + 64);
            continue;
        }
        let mut left = *word;
        while left != 0 {
            selected.push(first + left.trailing_zeros());
            left &= left - 1;
        }
    }
}

impl<'a> Column<'a> {
    /// The values of a member.
    ///
    /// # Errors
    /// [`Error::NotInLeaves`] if leaves do not have all of them.
    pub fn of(segment: &'a Segment, path: &[Vec<u8>]) -> Result<Self, Error> {
        let member = segment.member(path).ok_or(Error::NotInLeaves)?;
        let Some(Kind { rows, leaf }) = member.and_then(|member| member.kinds.first()) else {
            return Ok(Self { leaf: Numbered::Nothing, here: &Rows::None });
        };
        let leaf = match leaf {
            Leaf::Booleans(is_true) => Numbered::Booleans(is_true),
            Leaf::Integers(packed) | Leaf::Doubles { packed, .. } => Numbered::Numbers(packed),
            Leaf::Codes { numbers, codes, .. } => Numbered::Codes(numbers, codes),
            Leaf::Whole(_) => return Err(Error::NotInLeaves),
        };
        Ok(Self { leaf, here: rows })
    }

    /// The least number of a block, and a bound of the greatest.
    pub fn bounds(&self, block: usize) -> Option<(u64, u64)> {
        match self.leaf {
            Numbered::Numbers(packed) => {
                let block = packed.blocks().get(block)?;
                Some((block.base, block.base.saturating_add(block.mask())))
            }
            _ => None,
        }
    }

    /// Counts the selected rows of some blocks by their codes. Calls `add` with slots ([`Slots::Small`]) and
    /// numbers of rows, each slot at least once. Returns false for other values, and for many codes.
    ///
    /// [`Slots::Small`]: super::slots::Slots::Small
    pub fn count_codes(&self, rows: &RowSet, blocks: &Range<usize>, mut add: impl FnMut(usize, u64)) -> bool {
        /// The most codes.
        const MOST: usize = 256;
        /// Neighbours often are equal. An addition to a count would wait for the one before it.
        const PLACES: usize = 4;

        let Numbered::Codes(packed, codes) = self.leaf else { return false };
        if codes.len() > MOST {
            return false;
        }
        let mut counts = [[0_u32; MOST]; PLACES];
        let (mut numbers, mut missing) = ([0; BLOCK_ROWS], 0);
        for block in blocks.clone() {
            packed.block(block, &mut numbers);
            let here = |at: usize| match self.here {
                Rows::None => 0,
                Rows::All => u64::MAX,
                Rows::Some(set) => words_of(set, block)[at],
            };
            for (at, (word, numbers)) in words_of(rows, block).iter().zip(numbers.chunks(64)).enumerate() {
                let with = word & here(at);
                missing += u64::from((word & !with).count_ones());
                // Rows without a value have any number.
                let mut count = |row: usize, of: u32| {
                    let count = &mut counts[row % PLACES][numbers[row] as usize % MOST];
                    *count = count.wrapping_add(of);
                };
                let (mut left, of) = match with.count_ones() > 32 {
                    true => {
                        (0..numbers.len()).for_each(|row| count(row, 1));
                        (!with, u32::MAX)
                    }
                    false => (with, 1),
                };
                while left != 0 {
                    count(left.trailing_zeros() as usize, of);
                    left &= left - 1;
                }
            }
        }
        add(0, missing);
        for (number, code) in codes.iter().enumerate() {
            let rows = counts.iter().fold(0_u32, |all, counts| all.wrapping_add(counts[number]));
            add(*code as usize + 1, rows.into());
        }
        true
    }

    /// Reads a block. `numbers` is memory for it. Calls `each` with each selected row's index among them,
    /// and its number: a code, 0 or 1, or a number in its order; `None` without a value.
    #[inline(always)]
    pub fn each(
        &self,
        block: usize,
        selected: &[u32],
        numbers: &mut BlockNumbers,
        each: impl FnMut(usize, Option<u64>),
    ) {
        match self.leaf {
            Numbered::Nothing => self.each_here(block, selected, |_| 0, each),
            Numbered::Booleans(is_true) => {
                let words = words_of(is_true, block);
                self.each_here(block, selected, |row| words[row / 64] >> (row % 64) & 1, each);
            }
            Numbered::Numbers(packed) => {
                packed.block(block, numbers);
                self.each_here(block, selected, |row| numbers[row % BLOCK_ROWS], each);
            }
            Numbered::Codes(packed, codes) => {
                packed.block(block, numbers);
                let code = |row: usize| {
                    let code = codes.get(numbers[row % BLOCK_ROWS] as usize);
                    code.copied().unwrap_or_default().into()
                };
                self.each_here(block, selected, code, each);
            }
        }
    }

    /// `number` is any number for a row without a value.
    #[inline(always)]
    fn each_here(
        &self,
        block: usize,
        selected: &[u32],
        number: impl Fn(usize) -> u64,
        mut each: impl FnMut(usize, Option<u64>),
    ) {
        match self.here {
            Rows::None => (0..selected.len()).for_each(|at| each(at, None)),
            // Selected rows are records.
            Rows::All => {
                for (at, row) in selected.iter().enumerate() {
                    each(at, Some(number(*row as usize)));
                }
            }
            Rows::Some(set) => {
                let words = words_of(set, block);
                for (at, row) in selected.iter().enumerate() {
                    let row = *row as usize;
                    let is_here = words[row / 64] >> (row % 64) & 1 != 0;
                    // Not by a branch, which processors foresee badly.
                    let number = number(row);
                    each(at, is_here.then_some(number));
                }
            }
        }
    }
}
