//! How a record is seen: its bytes, and the bitmaps over them.

use crate::units::{Level, PartOffset, WORD_BYTES};

/// The text of one partition and its structural index, in whatever memory a backend keeps them.
pub trait Document {
    /// The byte at `at`.
    fn byte(&self, at: PartOffset) -> u8;
    /// Word `word` of the leveled bitmap `level`.
    fn level_word(&self, level: Level, word: u32) -> u64;
}

/// One JSON value: where it stands, and the level of the container that it is, if it is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Node {
    /// Its first byte.
    pub start: PartOffset,
    /// One past its last byte. Never equal to `start`.
    pub end: PartOffset,
    /// The level of its brackets, `:` and `,`, if it is a container.
    pub level: Level,
}

const WORD: u32 = WORD_BYTES as u32;

/// The first bit of a level in `from..end`, or `end`.
#[inline(always)]
pub fn next_bit<D: Document>(doc: &D, level: Level, from: PartOffset, end: PartOffset) -> PartOffset {
    nth_bit(doc, level, from, end, 0)
}

/// Bit number `n` of a level, counted from 0, in `from..end`, or `end` where there are not as many.
#[inline(always)]
pub fn nth_bit<D: Document>(
    doc: &D,
    level: Level,
    from: PartOffset,
    end: PartOffset,
    mut n: u64,
) -> PartOffset {
    if from >= end {
        return end;
    }
    let mut index = from / WORD;
    let last = (end - 1) / WORD;
    let mut word = doc.level_word(level, index) & (!0u64 << (from % WORD));
    loop {
        let ones = word.count_ones() as u64;
        if n < ones {
            break;
        }
        if index == last {
            return end;
        }
        n -= ones;
        index += 1;
        word = doc.level_word(level, index);
    }
    while n > 0 {
        word &= word - 1;
        n -= 1;
    }
    (index * WORD + word.trailing_zeros()).min(end)
}

/// The last bit of a level in `start..before`, or `None`.
#[inline(always)]
pub fn previous_bit<D: Document>(
    doc: &D,
    level: Level,
    start: PartOffset,
    before: PartOffset,
) -> Option<PartOffset> {
    if before <= start {
        return None;
    }
    let mut index = (before - 1) / WORD;
    let first = start / WORD;
    let mut word = doc.level_word(level, index) & (!0u64 >> (WORD - 1 - (before - 1) % WORD));
    while word == 0 && index > first {
        index -= 1;
        word = doc.level_word(level, index);
    }
    if word == 0 {
        return None;
    }
    let at = index * WORD + (WORD - 1 - word.leading_zeros());
    (at >= start).then_some(at)
}

/// How many bits a level has in `from..end`.
#[inline(always)]
pub fn count_bits<D: Document>(doc: &D, level: Level, from: PartOffset, end: PartOffset) -> u32 {
    if from >= end {
        return 0;
    }
    let (first, last) = (from / WORD, (end - 1) / WORD);
    let mut count = 0;
    let mut index = first;
    while index <= last {
        let mut word = doc.level_word(level, index);
        if index == first {
            word &= !0u64 << (from % WORD);
        }
        if index == last {
            word &= !0u64 >> (WORD - 1 - (end - 1) % WORD);
        }
        count += word.count_ones();
        index += 1;
    }
    count
}
