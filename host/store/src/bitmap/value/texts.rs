//! The texts of a column, and the texts that were seen last while a column is read.

use std::ops::Range;

/// The texts of a column's rows.
///
/// Many rows of a column often have few texts. Each row therefore has the number of an entry, and an entry
/// has the text. Several entries may have the same text. Entry 0 is empty: it is that of the rows without a
/// text, and of no other row.
#[derive(Clone, Debug, PartialEq)]
pub struct Texts {
    numbers: Vec<u64>,
    /// The start of each entry in `bytes`, and last the end of the last entry.
    offsets: Vec<u64>,
    /// The bytes of all entries, in UTF-8.
    bytes: Vec<u8>,
}

/// The memory for the texts of some rows.
pub(super) struct TextRoom<'a> {
    /// The number of each row's entry.
    pub numbers: &'a mut [u64],
    /// The end of each entry.
    pub ends: &'a mut [u64],
    pub bytes: &'a mut [u8],
}

impl Texts {
    /// Creates texts for rows, which are all without a text, with room for entries after entry 0.
    pub(super) fn new(rows: usize, entries: usize, bytes: usize) -> Self {
        Self { numbers: vec![0; rows], offsets: vec![0; entries + 2], bytes: vec![0; bytes] }
    }

    /// Returns the memory of all rows, and of all entries after entry 0.
    pub(super) fn room(&mut self) -> TextRoom<'_> {
        TextRoom { numbers: &mut self.numbers, ends: &mut self.offsets[2..], bytes: &mut self.bytes }
    }

    /// Returns the text of a row; an empty one if the row has none.
    #[must_use]
    pub fn get(&self, row: usize) -> &[u8] {
        self.entry(self.numbers[row])
    }

    /// Returns the text of an entry.
    #[must_use]
    pub fn entry(&self, number: u64) -> &[u8] {
        let number = number as usize;
        &self.bytes[self.offsets[number] as usize..self.offsets[number + 1] as usize]
    }

    /// Returns the number of each row's entry; 0 for a row without a text.
    #[must_use]
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }
}

impl<'a> TextRoom<'a> {
    /// Splits off the memory of the first rows, which have some entries and bytes.
    pub fn split(self, rows: usize, entries: usize, bytes: usize) -> (Self, Self) {
        let (numbers, numbers_after) = self.numbers.split_at_mut(rows);
        let (ends, ends_after) = self.ends.split_at_mut(entries);
        let (bytes, bytes_after) = self.bytes.split_at_mut(bytes);
        let after = Self { numbers: numbers_after, ends: ends_after, bytes: bytes_after };
        (Self { numbers, ends, bytes }, after)
    }
}

/// The number of slots.
const SLOTS: usize = 256;
/// The most bytes of keys.
const MOST_BYTES: usize = 32 << 10;

/// Strings of JSON that were seen lately, each with the number of its entry.
///
/// A string has one slot, by its length and some of its bytes. A string that comes later replaces it. So no
/// input makes a search longer; at worst, no string is found.
#[derive(Debug)]
pub(super) struct Recent {
    slots: [Slot; SLOTS],
    /// The strings as they are written, with escapes. If they are many, all are forgotten.
    keys: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    begin: u32,
    end: u32,
    number: u64,
}

impl Default for Recent {
    fn default() -> Self {
        Self { slots: [Slot::default(); SLOTS], keys: Vec::new() }
    }
}

impl Recent {
    /// Returns the number of the entry of a string, if it was seen lately. A string is not empty, because it
    /// has quotes.
    #[inline]
    pub fn find(&self, string: &[u8]) -> Option<u64> {
        let Slot { begin, end, number } = self.slots[slot(string)];
        let key = &self.keys[begin as usize..end as usize];
        (key == string).then_some(number)
    }

    /// Notes a string that was not found.
    #[inline]
    pub fn add(&mut self, string: &[u8], number: u64) {
        if self.keys.len() + string.len() > MOST_BYTES {
            self.keys.clear();
            self.slots.fill(Slot::default());
            if string.len() > MOST_BYTES {
                return;
            }
        }
        let Range { start, end } = self.keys.len()..self.keys.len() + string.len();
        self.keys.extend_from_slice(string);
        self.slots[slot(string)] = Slot { begin: start as u32, end: end as u32, number };
    }
}

/// Returns the slot of a string: by its length, and by its first eight and its last eight bytes.
#[inline]
fn slot(string: &[u8]) -> usize {
    let [head, tail] = match (string.first_chunk(), string.last_chunk()) {
        (Some(head), Some(tail)) => [u64::from_le_bytes(*head), u64::from_le_bytes(*tail)],
        _ => {
            let mut few = [0; 8];
            few[..string.len()].copy_from_slice(string);
            [u64::from_le_bytes(few), 0]
        }
    };
    let mixed = head ^ tail.rotate_left(23) ^ string.len() as u64;
    // Fibonacci hashing: the upper bits depend on all bits.
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SLOTS.ilog2())) as usize
}
