//! Values in memory, each once, with a count.
//!
//! The bytes of all keys are in one vector, and the entries in another. Slots find the entry of a key: a slot
//! has 32 bits of the key's hash, and the number of its entry, from 1 on. Both vectors keep their memory from
//! run to run, so the memory of a counter does not grow after the first run.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use warpath_core::error::Error;

/// A value, its count, and when it was first added.
#[derive(Clone, Copy)]
pub(super) struct ValueCount {
    /// The offset of its key in the bytes of all keys.
    begin: usize,
    len: u32,
    /// True if the value was reported as new.
    pub is_reported: bool,
    pub count: u64,
    /// The number of the call that first added the value.
    pub first: u64,
}

impl ValueCount {
    /// The key, among the bytes of all keys.
    pub fn key<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.begin..][..self.len as usize]
    }
}

/// The least number of slots, a power of two.
const SLOTS: usize = 64;

/// Values by their keys.
#[derive(Default)]
pub(super) struct ValueTable {
    /// The bytes of the keys.
    pub bytes: Vec<u8>,
    /// The entries, in the order in which their values were first added.
    pub entries: Vec<ValueCount>,
    slots: Vec<u64>,
}

impl ValueTable {
    /// Returns the entry of a key, or the slot in which its number belongs and its hash.
    pub fn find(&mut self, key: &[u8]) -> Result<&mut ValueCount, u32> {
        let hash = (FixedState::default().hash_one(key) >> 32) as u32;
        match self.slot(hash, |entry| entry.key(&self.bytes) == key) {
            Some(number) => Ok(&mut self.entries[number]),
            None => Err(hash),
        }
    }

    /// Returns the number of the entry with a hash for which `is` is true.
    fn slot(&self, hash: u32, is: impl Fn(&ValueCount) -> bool) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return None;
            }
            let number = (slot as u32 - 1) as usize;
            if (slot >> 32) as u32 == hash && is(&self.entries[number]) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
    }

    /// The memory that is in use if one more value is added, in bytes. While the slots grow, the old ones are
    /// there, too.
    pub fn bytes_with(&self, key: &[u8]) -> usize {
        let grown = if self.is_full() { 2 * self.slots.len().max(SLOTS / 2) } else { 0 };
        self.bytes.len()
            + key.len()
            + (self.entries.len() + 1) * size_of::<ValueCount>()
            + (self.slots.len() + grown) * size_of::<u64>()
    }

    /// The bytes of memory that a value takes, about.
    pub fn bytes_of(key: &[u8]) -> usize {
        key.len() + size_of::<ValueCount>() + 3 * size_of::<u64>()
    }

    /// Returns true if one more value requires more slots. At least a third of them is free.
    fn is_full(&self) -> bool {
        3 * (self.entries.len() + 1) > 2 * self.slots.len()
    }

    /// The greatest count.
    pub fn most(&self) -> u64 {
        self.entries.iter().map(|entry| entry.count).max().unwrap_or(0)
    }

    /// Returns true if there is a number for one more value.
    pub fn has_numbers(&self) -> bool {
        self.entries.len() < u32::MAX as usize - 1
    }

    /// Adds a value that is not there. `hash` is the one that [`find`](Self::find) returned.
    ///
    /// # Errors
    /// [`Error::Usage`] for a key of 4 GiB or more.
    pub fn add(&mut self, key: &[u8], hash: u32, entry: (u64, u64, bool)) -> Result<(), Error> {
        let len = u32::try_from(key.len());
        let len = len.map_err(|_| Error::Usage("a value of 4 GiB cannot be counted".into()))?;
        if self.is_full() {
            self.grow();
        }
        let (count, first, is_reported) = entry;
        self.entries.push(ValueCount { begin: self.bytes.len(), len, is_reported, count, first });
        self.bytes.extend_from_slice(key);
        self.fill(hash, self.entries.len() as u32);
        Ok(())
    }

    fn fill(&mut self, hash: u32, number: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = u64::from(hash) << 32 | u64::from(number);
    }

    fn grow(&mut self) {
        let len = (2 * self.slots.len()).max(SLOTS);
        for slot in std::mem::replace(&mut self.slots, vec![0; len]) {
            if slot != 0 {
                self.fill((slot >> 32) as u32, slot as u32);
            }
        }
    }

    /// Sorts the entries by their keys. The slots are wrong then, until the values are removed.
    pub fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries.sort_unstable_by(|a, b| a.key(bytes).cmp(b.key(bytes)));
    }

    /// Removes all values, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.slots.fill(0);
    }
}
