//! How a record is seen: its bytes, and the bitmaps over them.

use crate::units::{Level, PartOffset, WORD_BYTES};
use crate::view::View;

/// The text of one partition and its structural index, in whatever memory a backend keeps them.
pub trait Document {
    /// The byte at `at`.
    fn byte(&self, at: PartOffset) -> u8;
    /// Word `word` of the leveled bitmap `level`.
    fn level_word(&self, level: Level, word: u32) -> u64;
    /// The threads that are here together, to go on together behind a loop that they leave at different times: they say so by
    /// [`any`](Self::any). Else, on a device, each goes on alone for as long as what comes next is not the same for all.
    #[inline(always)]
    fn together(&self) -> u32 {
        1
    }
    /// Whether something holds for any of the threads that were together, all of which ask.
    #[inline(always)]
    fn any(&self, _together: u32, holds: bool) -> bool {
        holds
    }
    /// Whether the record is *plain*: no name has an escape in it, and each string stands as close to the separators and
    /// brackets around it as [`crate::index::loose`] says. So the distance between two bits tells how long a name is.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        false
    }
    /// Whether `len` bytes of `literals` from `offset` on, a multiple of four, stand at `at`.
    #[inline(always)]
    fn stands_at(&self, at: PartOffset, literals: View<'_, u8>, offset: u32, len: u32) -> bool {
        let mut i = 0;
        while i < len && self.byte(at + i) == literals.get((offset + i) as usize) {
            i += 1;
        }
        i == len
    }
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

/// The longest distance that [`Gaps`] can be asked for.
pub const MAX_GAP: u32 = 61;

/// Goes through the bits of a level that are as far from the bit before them as is wanted.
///
/// ```text
/// text       {"id":7,"user":{"lang":"en"},"n":[1,2]}
/// level 0    ■    ■ ■      ■              ■   ■     ■
/// distance        5 2      7             15   4     6      `"user":` is 7 bytes long
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Gaps {
    level: Level,
    /// One past the last bit that counts.
    end: PartOffset,
    /// The one distance that is wanted, or 0.
    only: u32,
    /// Bit *g* asks for the distance *g*.
    wanted: u64,
    /// The number of the word that is looked at, and of the last.
    index: u32,
    last: u32,
    /// It, and the one before it.
    word: u64,
    before: u64,
    /// Its bits that are yet to be looked at.
    left: u64,
}

impl Gaps {
    /// Looks at the bits of a level in `range`, which is not empty. With `only`, from 1 to [`MAX_GAP`], asks for that distance,
    /// and for one more, which leaves room for a space; without, for each distance *g* of which bit *g* of `wanted` is set,
    /// from 1 to [`MAX_GAP`], and for one more; and for all bits where all are set.
    #[inline(always)]
    pub fn new<D: Document>(
        doc: &D,
        level: Level,
        range: (PartOffset, PartOffset),
        only: u32,
        wanted: u64,
    ) -> Self {
        let (start, end) = range;
        let (index, last) = (start / WORD, (end - 1) / WORD);
        let wanted = if only != 0 { 0b11 << only } else { wanted | wanted << 1 };
        let mut gaps = Self { level, end, only, wanted, index, last, word: 0, before: 0, left: 0 };
        gaps.take(doc, !0u64 << (start % WORD));
        gaps
    }

    /// Looks at a word, as far as the mask goes.
    #[inline(always)]
    fn take<D: Document>(&mut self, doc: &D, mask: u64) {
        let mut word = doc.level_word(self.level, self.index) & mask;
        if self.index == self.last {
            word &= !0u64 >> (WORD - 1 - (self.end - 1) % WORD);
        }
        self.before = self.word;
        self.word = word;
        self.left = if self.only != 0 { word & behind(self.before, word, self.only) } else { word };
    }

    /// The next such bit, and the one before it. Where all are asked for, that is not known of the first.
    #[inline(always)]
    pub fn next<D: Document>(&mut self, doc: &D) -> Option<(PartOffset, PartOffset)> {
        loop {
            if let Some(found) = self.next_of_word() {
                return Some(found);
            }
            while self.left == 0 {
                if !self.advance(doc) {
                    return None;
                }
            }
        }
    }

    /// Goes on to the next word, if there is one.
    #[inline(always)]
    pub fn advance<D: Document>(&mut self, doc: &D) -> bool {
        if self.index == self.last {
            return false;
        }
        self.index += 1;
        self.take(doc, !0);
        true
    }

    /// As [`next`](Self::next), in this word alone.
    #[inline(always)]
    pub fn next_of_word(&mut self) -> Option<(PartOffset, PartOffset)> {
        while self.left != 0 {
            let bit = self.left.trailing_zeros();
            self.left &= self.left - 1;
            let lower = self.word & ((1u64 << bit) - 1);
            let gap = if lower != 0 {
                bit + lower.leading_zeros() - (WORD - 1)
            } else {
                bit + 1 + self.before.leading_zeros()
            };
            let at = self.index * WORD + bit;
            if self.wanted >> (gap & 63) & 1 == 1 && gap < WORD || self.wanted == !0 {
                return Some((at.saturating_sub(gap), at));
            }
        }
        None
    }
}

/// Where in a word there is a bit that far behind one of these, or a byte further. There may be others between.
///
/// ```text
/// before, word      ■..■.... ....■...
/// and once more     ■■.■■... ....■■..       the byte further
/// 6:                ......■■ .■■.....       all of them moved by 6
/// ```
#[inline(always)]
const fn behind(before: u64, word: u64, gap: u32) -> u64 {
    let (low, high) = (before | before << 1, word | word << 1 | before >> (WORD - 1));
    high << gap | low >> (WORD - gap)
}
