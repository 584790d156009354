//! The effect of a stretch of text on the state at its left.
//!
//! The state between two bytes of a line has three parts: if a string is open, if an escape is pending, and
//! the number of open containers. A stretch is read without the state at its left, so its summary has the
//! effect on each part. The depth is counted twice, once as if no string were open and once as if one were.
//! An escape that is pending at the left can only change the first byte that is not a backslash. If that byte
//! is a quote, the escape cancels it. This has the same effect as the other string state at the left. A
//! newline resets all state from its left.

use super::Monoid;
use super::class::Classes;
use super::escape::escaped;
use super::string::{prefix_xor, strings};
use crate::units::{Depth, LineIx};

/// The state between two bytes of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineState {
    /// An odd run of backslashes ends at the left.
    pub escape: bool,
    /// A string is open.
    pub string: bool,
    /// The number of open containers. Negative where the line closed more than it opened.
    pub depth: Depth,
}

/// The effect of a stretch of text on the [`LineState`] at its left, and the number of its newlines.
///
/// A [`Monoid`]: the identity is the empty stretch, and `combine` is concatenation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct LineSummary {
    flags: u32,
    newlines: LineIx,
    /// The change of depth if no string was open at the left; after a newline, the depth itself.
    depth_outside: Depth,
    /// The change of depth if a string was open at the left; after a newline, the depth itself.
    depth_inside: Depth,
}

const _: () = assert!(size_of::<LineSummary>() == 16 && align_of::<LineSummary>() == 16);

/// The parts of a [`LineSummary`] by name, for callers that do not compute it by combining words. The stretch
/// is read as if no escape were pending at its left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordsSummary {
    /// The number of newlines in the stretch. If there is one, the other fields describe the text after the
    /// last newline, as in [`LineSummary`].
    pub newlines: LineIx,
    /// The number of unescaped quotes is odd.
    pub odd_quotes: bool,
    /// The stretch ends in an odd run of backslashes.
    pub escape: bool,
    /// The stretch has only backslashes.
    pub all_backslashes: bool,
    /// The first byte that is not a backslash is a quote.
    pub leading_quote: bool,
    /// The change of depth if no string was open at the left.
    pub depth_outside: Depth,
    /// The change of depth if a string was open at the left.
    pub depth_inside: Depth,
}

/// The stretch has a newline. The other fields describe the text after the last one.
const NEWLINE: u32 = 1;
/// The number of quotes is odd.
const ODD_QUOTES: u32 = 1 << 1;
/// The stretch ends in an odd run of backslashes, if no escape was pending at the left.
const ESCAPE: u32 = 1 << 2;
/// The stretch has only backslashes, or nothing. An escape that is pending at the left may then reach the
/// right.
const ALL_BACKSLASHES: u32 = 1 << 3;
/// The first byte that is not a backslash is a quote.
const LEADING_QUOTE: u32 = 1 << 4;

impl Default for LineSummary {
    fn default() -> Self {
        Self { flags: ALL_BACKSLASHES, newlines: 0, depth_outside: 0, depth_inside: 0 }
    }
}

impl LineSummary {
    /// The summary of all text to the left of a line's start, but with no newlines counted.
    pub const LINE_START: Self = Self { flags: NEWLINE, newlines: 0, depth_outside: 0, depth_inside: 0 };

    /// The summary of one word.
    #[inline(always)]
    pub fn of_word(c: &Classes) -> Self {
        let mut pending = false;
        let quote = c.quote & !escaped(c.backslash, &mut pending);
        let newlines = c.newline.count_ones();
        // The bytes after the last newline, or all bytes of a word without a newline.
        let after = if c.newline == 0 { !0 } else { (!0u64 << 1) << (63 - c.newline.leading_zeros()) };
        let quote = quote & after;
        let string = prefix_xor(quote);
        let net = |mask: u64| (c.open & mask).count_ones() as Depth - (c.close & mask).count_ones() as Depth;
        let depth_outside = net(after & !string);
        let depth_inside = if c.newline == 0 { net(string) } else { depth_outside };
        let lead = c.backslash.trailing_ones();
        let leading_quote = lead < 64 && c.quote >> lead & 1 == 1;
        let mut flags = 0;
        flags |= if newlines != 0 { NEWLINE } else { 0 };
        flags |= if string >> 63 == 1 { ODD_QUOTES } else { 0 };
        flags |= if pending { ESCAPE } else { 0 };
        flags |= if c.backslash == !0 { ALL_BACKSLASHES } else { 0 };
        flags |= if leading_quote { LEADING_QUOTE } else { 0 };
        Self { flags, newlines, depth_outside, depth_inside }
    }

    #[inline(always)]
    const fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// The number of newlines in the stretch.
    #[inline(always)]
    pub const fn newlines(&self) -> LineIx {
        self.newlines
    }

    /// Returns true if the stretch has a newline. The state at the left then has no effect.
    #[inline(always)]
    pub const fn is_anchored(&self) -> bool {
        self.has(NEWLINE)
    }

    /// The state at the right of the stretch, if it begins at a line's start or contains one.
    #[inline(always)]
    pub const fn state(&self) -> LineState {
        LineState { escape: self.has(ESCAPE), string: self.has(ODD_QUOTES), depth: self.depth_outside }
    }

    /// The summary of 32 consecutive words, from the results of the 32 lanes of a warp, each of which
    /// classified one word.
    #[inline(always)]
    pub const fn of_words(words: WordsSummary) -> Self {
        let mut flags = 0;
        flags |= if words.newlines != 0 { NEWLINE } else { 0 };
        flags |= if words.odd_quotes { ODD_QUOTES } else { 0 };
        flags |= if words.escape { ESCAPE } else { 0 };
        flags |= if words.all_backslashes { ALL_BACKSLASHES } else { 0 };
        flags |= if words.leading_quote { LEADING_QUOTE } else { 0 };
        let WordsSummary { newlines, depth_outside, depth_inside, .. } = words;
        Self { flags, newlines, depth_outside, depth_inside }
    }

    /// The summary as four 32-bit words, for shuffles.
    #[inline(always)]
    pub const fn to_words(self) -> [u32; 4] {
        [self.flags, self.newlines, self.depth_outside as u32, self.depth_inside as u32]
    }

    /// The summary that [`to_words`](Self::to_words) returned as `words`.
    #[inline(always)]
    pub const fn from_words(words: [u32; 4]) -> Self {
        Self {
            flags: words[0],
            newlines: words[1],
            depth_outside: words[2] as Depth,
            depth_inside: words[3] as Depth,
        }
    }
}

impl Monoid for LineSummary {
    #[inline(always)]
    fn combine(self, right: Self) -> Self {
        // A kernel does this about twenty times a word, so the code works on the flags in place, without
        // branches.
        let (a, b) = (self.flags, right.flags);
        let flip = (a / ESCAPE) & (b / LEADING_QUOTE) & 1;
        let odd = (a / ODD_QUOTES) & 1;
        // After a newline in `self`, the string state at its left has no effect.
        let odd_from_inside = odd ^ 1 ^ (a & NEWLINE);
        let depth_right = |inside: u32| if inside != flip { right.depth_inside } else { right.depth_outside };
        let lead = if a & ALL_BACKSLASHES != 0 { b } else { a };
        // An escape passes through `right` only if `right` is all backslashes.
        let reaches = a & ((b / ALL_BACKSLASHES) * ESCAPE);
        let flags = (a & NEWLINE)
            | (((odd ^ flip) * ODD_QUOTES) ^ (b & ODD_QUOTES))
            | ((b ^ reaches) & ESCAPE)
            | (a & b & ALL_BACKSLASHES)
            | (lead & LEADING_QUOTE);
        let (depth_outside, depth_inside) = (
            self.depth_outside.wrapping_add(depth_right(odd)),
            self.depth_inside.wrapping_add(depth_right(odd_from_inside)),
        );
        let newlines = self.newlines + right.newlines;
        if b & NEWLINE != 0 {
            Self { newlines, ..right }
        } else {
            Self { flags, newlines, depth_outside, depth_inside }
        }
    }
}

/// The contribution of one word to the index, given the state at its left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedWord {
    /// The string bitmap's word.
    pub string: u64,
    /// Brackets that open, outside strings.
    pub open: u64,
    /// Brackets that close, outside strings.
    pub close: u64,
    /// `:` and `,` outside strings.
    pub separator: u64,
    /// Newlines at which a string is open or an escape is pending.
    pub faults: u64,
}

/// Reads one word, and moves `state` from the word's left to its right. It leaves `depth` to
/// [`level::walk`](super::level::walk).
#[inline(always)]
pub fn index_word(c: &Classes, state: &mut LineState, prefix: impl Fn(u64) -> u64) -> IndexedWord {
    let escaped = escaped(c.backslash, &mut state.escape);
    let strings = strings(c.quote & !escaped, c.newline, &mut state.string, prefix);
    let outside = !strings.string;
    IndexedWord {
        string: strings.string,
        open: c.open & outside,
        close: c.close & outside,
        separator: c.separator & outside,
        faults: strings.unclosed | c.newline & escaped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn classes(text: &[u8]) -> Classes {
        let mut word = [b' '; 64];
        word[..text.len()].copy_from_slice(text);
        Classes::of(&word)
    }

    fn random_word(seed: &mut u64) -> [u8; 64] {
        const ALPHABET: &[u8] = br#""\{}[]:,x  """\\\"#;
        let mut word = [0; 64];
        for byte in &mut word {
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let pick = (*seed >> 33) as usize;
            *byte = if pick.is_multiple_of(97) { b'\n' } else { ALPHABET[pick % ALPHABET.len()] };
        }
        if (*seed >> 20).is_multiple_of(7) {
            word = [b'\\'; 64];
        }
        if (*seed >> 20).is_multiple_of(29) {
            word[0] = b'"';
        }
        word
    }

    /// The state machine, one byte at a time.
    fn naive(text: &[u8]) -> (LineState, u32) {
        let (mut s, mut newlines) = (LineState::default(), 0);
        for byte in text {
            let escaped = s.escape;
            s.escape = *byte == b'\\' && !escaped;
            match byte {
                b'\n' => {
                    s = LineState::default();
                    newlines += 1;
                }
                b'"' if !escaped => s.string = !s.string,
                b'{' | b'[' if !s.string => s.depth += 1,
                b'}' | b']' if !s.string => s.depth -= 1,
                _ => {}
            }
        }
        (s, newlines)
    }

    #[test]
    fn summaries_agree_with_the_state_machine() {
        let mut seed = 1;
        for _ in 0..20_000 {
            let words: Vec<[u8; 64]> = (0..4).map(|_| random_word(&mut seed)).collect();
            let folded = words
                .iter()
                .map(|w| LineSummary::of_word(&Classes::of(w)))
                .fold(LineSummary::LINE_START, Monoid::combine);
            let (state, newlines) = naive(words.as_flattened());
            assert_eq!(folded.state(), state, "{:?}", words.as_flattened().escape_ascii());
            assert_eq!(folded.newlines(), newlines);
        }
    }

    #[test]
    fn combine_is_associative_and_has_an_identity() {
        let mut seed = 2;
        for _ in 0..50_000 {
            let [a, b, c] =
                core::array::from_fn(|_| LineSummary::of_word(&Classes::of(&random_word(&mut seed))));
            assert_eq!(a.combine(b).combine(c), a.combine(b.combine(c)));
            assert_eq!(a.combine(LineSummary::default()), a);
            // A newline makes some flags of a summary meaningless, so this compares only the observable ones.
            assert_eq!(LineSummary::default().combine(a), a);
        }
    }

    #[test]
    fn an_indexed_word_has_no_structure_in_strings() {
        let mut state = LineState::default();
        let word = index_word(&classes(br#"{"a{":[1,"x\"],"]}"#), &mut state, prefix_xor);
        assert_eq!(word.open, 1 | 1 << 6);
        assert_eq!(word.close, 1 << 16 | 1 << 17);
        assert_eq!(word.separator, 1 << 5 | 1 << 8);
        assert_eq!(word.faults, 0);
    }
}
