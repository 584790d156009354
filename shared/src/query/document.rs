//! How a record is seen: its bytes, and the bitmaps over them.

use crate::units::{Level, PartOffset, WORD_BYTES};
use crate::view::View;

/// The text of one partition, in whatever memory a backend keeps it.
pub trait Text {
    /// The byte at `at`.
    fn byte(&self, at: PartOffset) -> u8;
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
    /// Whether `len` bytes of `literals` from `offset` on, a multiple of four, stand at `at`.
    #[inline(always)]
    fn stands_at(&self, at: PartOffset, literals: View<'_, u8>, offset: u32, len: u32) -> bool {
        let mut i = 0;
        while i < len && self.byte(at + i) == literals.get((offset + i) as usize) {
            i += 1;
        }
        i == len
    }
    /// Whether a string matches the pattern that another one is, or, with `part`, contains such a part; both are given byte by byte,
    /// decoded. Only the host is asked ([`TestKind::PatternAtRun`](crate::ir::TestKind)).
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
    /// Whether the record is *plain*: no name has an escape in it, and each string stands as close to the separators and
    /// brackets around it as [`crate::index::loose`] says. So the distance between two bits tells how long a name is.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        false
    }
    /// `N` words of a leveled bitmap, as many as a device's memory gives at once: from word `first` on, a multiple of `N`. Asked of
    /// plain records only.
    #[inline(always)]
    fn level_words<const N: usize>(&self, level: Level, first: u32) -> [u64; N] {
        core::array::from_fn(|i| self.level_word(level, first + i as u32))
    }
    /// As many words of a bitmap that has every byte of a string but its closing quote, and perhaps others. Asked of plain records
    /// only.
    #[inline(always)]
    fn string_words<const N: usize>(&self, _first: u32) -> [u64; N] {
        [!0; N]
    }
    /// As many bits as there are words, of which bit *i* says whether there may be a backslash in word `first + i`. Asked of plain
    /// records only.
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

/// Bit number `n` of a level, counted from 0, in `from..end`, or `end` where there are not as many.
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

/// As [`Document::next_bit`], `N` words at a time.
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

/// The first of the `N` words that have the bit of a byte among them.
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

/// The longest distance that [`find_gap`] can be asked for.
pub const MAX_GAP: u32 = 61;

/// Which bits of a level [`find_gap`] looks at.
#[derive(Clone, Copy, Debug)]
pub struct Gaps {
    /// The level.
    pub level: Level,
    /// The first of its bits, from which on there are others, and one past the last. Not empty.
    pub range: (PartOffset, PartOffset),
    /// Bit *g*, from 1 to [`MAX_GAP`], asks for bits that are *g* from one before them, or a byte further, which leaves room for a
    /// space. There may be others between. Where none is set all bits are asked for, whatever `escaped` says.
    pub wanted: u64,
    /// The same, for bits that have an escape between them.
    pub escaped: u64,
}

/// The words of a level, `N` at a time, and those of their bits that are yet to be looked at.
struct Search<const N: usize> {
    gaps: Gaps,
    /// The words that come next, and, of the search for strings, of the string bitmap. They are asked for one step ahead.
    next: [u64; N],
    next_strings: [u64; N],
    /// The first of them, and the first of the last ones.
    first: u32,
    last: u32,
    /// The word before them, of the level and of the string bitmap, and whether there may be an escape in it.
    before: u64,
    string_before: u64,
    escape_before: u32,
    /// Bits of the words before them.
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

    /// Goes on to the next words, if there are any.
    #[inline(always)]
    fn advance<D: Document, const STRINGS: bool>(&mut self, doc: &D) -> bool {
        if self.first > self.last {
            return false;
        }
        let (words, strings) = (self.next, self.next_strings);
        // They arrive while these are looked at.
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
            // The last byte of a string but its closing quote; of an empty one, its opening quote.
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

/// The first of such bits of a plain record of which `holds` is true; with `STRINGS`, only of those that end a string. Goes through
/// `N` words at a time, with all threads that are here: without `LOCKSTEP`, each to the next of its bits, and then all look at
/// theirs; with it, all to the next words, and then each looks at all bits of its own.
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

/// Those bits of some words that are as far as is wanted from a bit before them, or a byte further; all if nothing is wanted.
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
