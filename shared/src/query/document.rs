//! A record as the interpreter reads it: its bytes, and the bitmaps over them.

use crate::units::{Level, PartOffset, WORD_BYTES};
use crate::view::View;

/// The text of one partition, in whatever memory a backend keeps it.
pub trait Text {
    /// The byte at `at`.
    fn byte(&self, at: PartOffset) -> u8;
    /// The set of threads that are active here. They reconverge after a loop that they leave at different
    /// times, by calls of [`any`](Self::any). Without such calls, each thread of a device continues alone for
    /// as long as the threads run different code.
    #[inline(always)]
    fn together(&self) -> u32 {
        1
    }
    /// Returns whether `holds` is true in any of the `together` threads. All of these threads must call it.
    #[inline(always)]
    fn any(&self, _together: u32, holds: bool) -> bool {
        holds
    }
    /// Returns whether the work on this text is to end before its time, and its results are not wanted.
    #[inline(always)]
    fn is_stopped(&self) -> bool {
        false
    }
    /// Returns whether the text at `at` equals `len` bytes of `literals`, from `offset` on. `offset` is a
    /// multiple of four.
    #[inline(always)]
    fn stands_at(&self, at: PartOffset, literals: View<'_, u8>, offset: u32, len: u32) -> bool {
        let mut i = 0;
        while i < len && self.byte(at + i) == literals.get((offset + i) as usize) {
            i += 1;
        }
        i == len
    }
    /// Returns whether a string matches a pattern that another string holds. With `part`, some part of the
    /// string must match. Both strings are given byte by byte, decoded. Only the host supports this test
    /// ([`TestKind::PatternAtRun`](crate::ir::TestKind)).
    #[inline(always)]
    fn matches_at_run(
        &self,
        _subject: impl FnMut() -> Option<u8>,
        _pattern: impl FnMut() -> Option<u8>,
        _part: bool,
    ) -> bool {
        false
    }
}

/// The text of one partition and its structural index.
pub trait Document: Text {
    /// Word `word` of the leveled bitmap `level`.
    fn level_word(&self, level: Level, word: u32) -> u64;
    /// Returns whether the record is *plain*: no name contains an escape, and each string is as close to the
    /// separators and brackets around it as [`crate::index::loose`] requires. In a plain record, the distance
    /// between two bits determines the length of a name.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        false
    }
    /// `N` words of a leveled bitmap, from word `first` on, a multiple of `N`. `N` is the number of words
    /// that a device's memory delivers at once. For plain records only.
    #[inline(always)]
    fn level_words<const N: usize>(&self, level: Level, first: u32) -> [u64; N] {
        core::array::from_fn(|i| self.level_word(level, first + i as u32))
    }
    /// `N` words of a bitmap that contains every byte of a string except its closing quote, and perhaps other
    /// bytes. For plain records only.
    #[inline(always)]
    fn string_words<const N: usize>(&self, _first: u32) -> [u64; N] {
        [!0; N]
    }
    /// A mask of `N` bits. Bit *i* is set if word `first + i` may contain a backslash. For plain records
    /// only.
    #[inline(always)]
    fn words_with_escapes<const N: usize>(&self, _first: u32) -> u32 {
        (1 << N) - 1
    }
    /// The first bit of a level in `from..end`, or `end`.
    #[inline(always)]
    fn next_bit(&self, level: Level, from: PartOffset, end: PartOffset) -> PartOffset {
        nth_bit(self, level, from, end, 0)
    }
}

/// One JSON value: its bytes, and its level if it is a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Node {
    /// The first byte of the value.
    pub start: PartOffset,
    /// One past the last byte of the value. Never equal to `start`.
    pub end: PartOffset,
    /// The level of the container's brackets, `:` and `,`. Unused if the value is not a container.
    pub level: Level,
}

const WORD: u32 = WORD_BYTES as u32;

/// Bit number `n` of a level, counted from 0, in `from..end`. Returns `end` if there are not that many bits.
#[inline(always)]
pub fn nth_bit<D: Document + ?Sized>(
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

/// The number of bits of a level in `from..end`.
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

/// Finds the same bit as [`Document::next_bit`], `N` words at a time.
#[inline(always)]
pub fn next_bit_in_words<const N: usize, D: Document>(
    doc: &D,
    level: Level,
    from: PartOffset,
    end: PartOffset,
) -> PartOffset {
    if from >= end {
        return end;
    }
    let (mut first, last) = (first_of_words::<N>(from), first_of_words::<N>(end - 1));
    let mut words: [u64; N] = doc.level_words(level, first);
    clear_before(&mut words, from - first * WORD);
    loop {
        let at = lowest(&words);
        if at.is_some() || first == last {
            return at.map_or(end, |at| (first * WORD + at).min(end));
        }
        first += N as u32;
        words = doc.level_words(level, first);
    }
}

/// The first word of the group of `N` words that contains the bit of the byte at `at`.
#[inline(always)]
const fn first_of_words<const N: usize>(at: PartOffset) -> u32 {
    at / (N as u32 * WORD) * N as u32
}

/// Clears all bits before a bit.
#[inline(always)]
fn clear_before<const N: usize>(words: &mut [u64; N], bit: u32) {
    let mut i = 0;
    while i < N {
        let bit = bit.saturating_sub(i as u32 * WORD);
        words[i] &= if bit < WORD { !0 << bit } else { 0 };
        i += 1;
    }
}

/// The lowest bit of some words.
#[inline(always)]
fn lowest<const N: usize>(words: &[u64; N]) -> Option<u32> {
    let (mut word, mut base) = (0, 0);
    let mut i = N;
    while i > 0 {
        i -= 1;
        if words[i] != 0 {
            (word, base) = (words[i], i as u32 * WORD);
        }
    }
    (word != 0).then(|| base + word.trailing_zeros())
}

/// Takes the lowest bit out of some words.
#[inline(always)]
fn take_lowest<const N: usize>(words: &mut [u64; N]) -> Option<u32> {
    let at = lowest(words)?;
    let mut i = 0;
    while i < N {
        if i as u32 == at / WORD {
            words[i] &= words[i] - 1;
        }
        i += 1;
    }
    Some(at)
}

/// The longest distance that [`find_gap`] can search for.
pub const MAX_GAP: u32 = 61;

/// The bits of a level that [`find_gap`] searches.
#[derive(Clone, Copy, Debug)]
pub struct Gaps {
    /// The level.
    pub level: Level,
    /// The range of the bits: from the position of the first bit of the level, after which others follow, to
    /// one past the last. Not empty.
    pub range: (PartOffset, PartOffset),
    /// The wanted distances: bit *g*, from 1 to [`MAX_GAP`], selects the bits that are *g* after an earlier
    /// bit. It also selects those one byte further, which leaves room for a space. Other bits may be between
    /// the two. If no distance is wanted, all bits are selected, whatever `escaped` is.
    pub wanted: u64,
    /// The wanted distances, in the same form, for two bits with an escape between them.
    pub escaped: u64,
}

/// The state of a search through the words of a level, `N` at a time: the words, and the bits in them that
/// are still to be tested.
struct Search<const N: usize> {
    gaps: Gaps,
    /// The words that come next; in a search for strings, also those of the string bitmap. They are loaded
    /// one step ahead.
    next: [u64; N],
    next_strings: [u64; N],
    /// The number of the first word of `next`, and that of the first word of the last group.
    first: u32,
    last: u32,
    /// The word before `next`, of the level and of the string bitmap; and whether it may contain an escape.
    before: u64,
    string_before: u64,
    escape_before: u32,
    /// The bits of the preceding words that are still to be tested.
    left: [u64; N],
}

impl<const N: usize> Search<N> {
    #[inline(always)]
    fn new<D: Document, const STRINGS: bool>(doc: &D, gaps: Gaps) -> Self {
        let (start, end) = gaps.range;
        let (first, last) = (first_of_words::<N>(start), first_of_words::<N>(end - 1));
        let mut next = doc.level_words(gaps.level, first);
        clear_before(&mut next, start - first * WORD);
        let next_strings = if STRINGS { doc.string_words(first) } else { [0; N] };
        Self {
            gaps,
            next,
            next_strings,
            first,
            last,
            before: 0,
            string_before: 0,
            escape_before: 0,
            left: [0; N],
        }
    }

    /// Advances to the next words. Returns whether there are any.
    #[inline(always)]
    fn advance<D: Document, const STRINGS: bool>(&mut self, doc: &D) -> bool {
        if self.first > self.last {
            return false;
        }
        let (words, strings) = (self.next, self.next_strings);
        // The next words arrive while the current ones are tested.
        if self.first != self.last {
            self.next = doc.level_words(self.gaps.level, self.first + N as u32);
            if STRINGS {
                self.next_strings = doc.string_words(self.first + N as u32);
            }
        }
        self.left = far_enough(&words, self.before, self.gaps.wanted);
        if STRINGS {
            let escapes = doc.words_with_escapes::<N>(self.first) << 1 | self.escape_before;
            self.escape_before = escapes >> N;
            if escapes != 0 && self.gaps.escaped != 0 {
                let escaped = far_enough(&words, self.before, self.gaps.escaped);
                let mut i = 0;
                while i < N {
                    self.left[i] |= if escapes >> i & 0b11 != 0 { escaped[i] } else { 0 };
                    i += 1;
                }
            }
            // The last byte of a string before its closing quote. For an empty string, its opening quote.
            let mut i = 0;
            while i < N {
                self.left[i] &= strings[i] << 2 | self.string_before >> (WORD - 2);
                self.string_before = strings[i];
                i += 1;
            }
        }
        self.before = words[N - 1];
        self.first += N as u32;
        true
    }
}

/// The first of the wanted bits of a plain record for which `holds` is true. With `STRINGS`, only the bits
/// that end a string are tested.
///
/// The search goes through `N` words at a time, with all active threads. Without `LOCKSTEP`, each thread
/// advances to its next wanted bit, and then all threads test theirs. With `LOCKSTEP`, all threads advance to
/// the next words, and then each thread tests all of its bits there.
///
/// ```text
/// text       {"id":7,"user":{"lang":"en"},"n":[1,2]}
/// level 0    ■    ■ ■      ■              ■   ■     ■
/// distance        5 2      7             15   4     6      `"user":` is 7 bytes long
/// ```
#[inline(always)]
pub fn find_gap<const N: usize, const STRINGS: bool, const LOCKSTEP: bool, D: Document>(
    doc: &D,
    gaps: Gaps,
    mut holds: impl FnMut(PartOffset) -> bool,
) -> Option<PartOffset> {
    let end = gaps.range.1;
    let mut search = Search::<N>::new::<D, STRINGS>(doc, gaps);
    let together = doc.together();
    let (mut found, mut more) = (end, true);
    while doc.any(together, more) {
        if LOCKSTEP {
            more = more && search.advance::<D, STRINGS>(doc);
        } else {
            while doc.any(together, more && lowest(&search.left).is_none()) {
                if more && lowest(&search.left).is_none() {
                    more = search.advance::<D, STRINGS>(doc);
                }
            }
        }
        while doc.any(together, more && lowest(&search.left).is_some()) {
            if more && let Some(at) = take_lowest(&mut search.left) {
                let at = (search.first - N as u32) * WORD + at;
                if at >= end {
                    more = false;
                } else if holds(at) {
                    (found, more) = (at, false);
                }
            }
            if !LOCKSTEP {
                break;
            }
        }
    }
    (found != end).then_some(found)
}

/// The bits of some words that are at a wanted distance after an earlier bit, or one byte further. All bits
/// if no distance is wanted.
///
/// ```text
/// before, word      ■..■.... ....■...
/// and once more     ■■.■■... ....■■..       the byte further
/// 6:                ......■■ .■■.....       all of them moved by 6
/// ```
#[inline(always)]
fn far_enough<const N: usize>(words: &[u64; N], before: u64, mut wanted: u64) -> [u64; N] {
    if wanted == 0 {
        return *words;
    }
    let mut found = [0; N];
    while wanted != 0 {
        let gap = wanted.trailing_zeros();
        wanted &= wanted - 1;
        let (mut before, mut i) = (before, 0);
        while i < N {
            let (low, high) = (before | before << 1, words[i] | words[i] << 1 | before >> (WORD - 1));
            found[i] |= words[i] & (high << gap | low >> (WORD - gap));
            before = words[i];
            i += 1;
        }
    }
    found
}
