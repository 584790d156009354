//! The distinct values of a column chunk, numbered in the order in which they come.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// The least number of slots. It is a power of two.
const SLOTS: usize = 1 << 10;

/// Numbers of distinct values, by hash. The values are kept by the caller.
pub struct Distinct {
    /// The hasher has a seed of its own. With a fixed seed, an input could hold values that all collide.
    hasher: RandomState,
    /// The high half of each hash, and one more than the number of its value; 0 for a free slot. Half of the
    /// slots are free. The half decides where a search begins, so the slots can grow without the values.
    slots: Vec<u64>,
    len: u32,
}

impl Distinct {
    pub fn new() -> Self {
        Self { hasher: RandomState::default(), slots: vec![0; SLOTS], len: 0 }
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.slots.fill(0);
        self.len = 0;
    }

    /// The number of distinct values.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    pub fn hash_text(&self, text: &[u8]) -> u64 {
        self.hasher.hash_one(text)
    }

    pub fn hash_long(&self, value: i64) -> u64 {
        self.hasher.hash_one(value)
    }

    /// Returns the number of a value, and true if it is new. `is_it` compares it with the value of a number.
    #[inline]
    pub fn number(&mut self, hash: u64, is_it: impl Fn(u32) -> bool) -> (u32, bool) {
        let half = hash >> 32;
        let mask = self.slots.len() - 1;
        let mut at = half as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                break;
            }
            let number = slot as u32 - 1;
            if slot >> 32 == half && is_it(number) {
                return (number, false);
            }
            at = (at + 1) & mask;
        }
        let number = self.len;
        self.len += 1;
        self.slots[at] = half << 32 | u64::from(self.len);
        if self.len() * 2 > self.slots.len() {
            self.grow();
        }
        (number, true)
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 4 - 1;
        let mut slots = vec![0; mask + 1];
        for slot in self.slots.iter().filter(|slot| **slot != 0) {
            let mut at = (slot >> 32) as usize & mask;
            while slots[at] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = *slot;
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_order() {
        let mut distinct = Distinct::new();
        for turn in 0..2 {
            for value in 0..20_000_i64 {
                let hash = distinct.hash_long(value);
                let number = distinct.number(hash, |number| i64::from(number) == value);
                assert_eq!(number, (value as u32, turn == 0));
            }
        }
        assert_eq!(distinct.len(), 20_000);
    }

    #[test]
    fn values_of_one_hash_are_kept_apart() {
        let mut distinct = Distinct::new();
        for value in [5, 6, 5, 7, 6] {
            let known = [5, 6, 7];
            let (number, _) = distinct.number(1 << 40, |number| known[number as usize] == value);
            assert_eq!(known[number as usize], value);
        }
    }
}
