//! What a stretch of text holds, found for many words at once and without a branch that depends on the text.
//!
//! A branch on what a word holds is often predicted wrongly, and can be decided only when all that leads to it is known:
//! classes, escapes, strings. So these are found ahead, for 64 words, and [`super::scan`] then looks at few of them.
//!
//! What is found for every word is what every program needs: three classes and the strings. Where a class costs a comparison and
//! a move from a mask register, two cycles together, the others are found where they are wanted: brackets in the words that have
//! any, a fifth of tweets' words, and colons where names are looked for. Where a processor can transpose bits, it finds all.

use warpath_shared::units::{WORD_BYTES, words_for};

use super::classify::Simd;
use super::outline::{Outline, Planes, WORDS};

/// The words of a stretch of text that begins where a line does, or where the batch before ended.
#[derive(Default)]
pub(super) struct Batch {
    /// Where the first word stands in the text.
    at: usize,
    /// How many words there are.
    pub words: usize,
    outline: Outline,
    /// The last word of a text that does not fill it, with zeros behind it.
    tail: Tail,
}

struct Tail([u8; WORD_BYTES]);

impl Default for Tail {
    fn default() -> Self {
        Self([0; WORD_BYTES])
    }
}

/// The brackets and line feeds of a word.
#[derive(Clone, Copy, Default)]
pub(super) struct Brackets {
    /// Brackets that open, outside strings.
    pub open: u64,
    /// Brackets that close, outside strings.
    pub close: u64,
    /// Among them, the braces. Elsewhere the bits mean nothing.
    pub brace: u64,
    /// Line feeds.
    pub newline: u64,
}

impl Batch {
    /// Forgets everything: what follows may not begin where a line does.
    pub(super) fn clear(&mut self) {
        self.words = 0;
    }

    /// The word in which a byte stands, if it is one of the batch.
    #[inline(always)]
    pub(super) fn word_of(&self, at: usize) -> Option<usize> {
        let word = at.checked_sub(self.at)? / WORD_BYTES;
        (word < self.words).then_some(word)
    }

    /// Where a word stands in the text.
    #[inline(always)]
    pub(super) fn place(&self, word: usize) -> usize {
        self.at + word * WORD_BYTES
    }

    /// The text of a word.
    #[inline(always)]
    pub(super) fn text<'a>(&'a self, text: &'a [u8], word: usize) -> &'a [u8; WORD_BYTES] {
        text.get(self.place(word)..).and_then(<[u8]>::first_chunk).unwrap_or(&self.tail.0)
    }

    /// The words in which there may be brackets or line feeds, a bit each.
    #[inline(always)]
    pub(super) fn busy(&self) -> u64 {
        self.outline.busy
    }

    /// The bytes of a word that are in strings, an opening quote included.
    #[inline(always)]
    pub(super) fn string(&self, word: usize) -> u64 {
        self.outline.string[word + 1]
    }

    /// The batch that begins at the start of a line.
    pub(super) fn begin<S: Simd>(&mut self, simd: S, text: &[u8], at: usize) {
        self.at = at;
        self.outline.begin();
        self.fill(simd, text);
    }

    /// The batch after this one. It has no words at the end of the text.
    pub(super) fn advance<S: Simd>(&mut self, simd: S, text: &[u8]) {
        self.at += self.words * WORD_BYTES;
        self.outline.advance();
        self.fill(simd, text);
    }

    fn fill<S: Simd>(&mut self, simd: S, text: &[u8]) {
        let rest = text.get(self.at..).unwrap_or_default();
        self.words = words_for(rest.len()).min(WORDS);
        if let Some(words) = rest.as_chunks().0.first_chunk::<WORDS>() {
            simd.outline(words, &mut self.outline);
        } else if self.words > 0 {
            // Once a text. What follows it is nothing.
            let mut words = [[0; WORD_BYTES]; WORDS];
            words.as_flattened_mut()[..rest.len()].copy_from_slice(rest);
            simd.outline(&words, &mut self.outline);
            self.tail = Tail(words[self.words - 1]);
        }
    }

    /// The brackets and line feeds of a word.
    #[inline(always)]
    pub(super) fn brackets(&self, word: usize) -> Brackets {
        if self.busy() >> word & 1 == 0 {
            return Brackets::default();
        }
        let Planes { open, close, brace, newline, .. } = self.outline.planes[word];
        let outside = !self.string(word);
        Brackets { open: open & outside, close: close & outside, brace, newline }
    }

    /// The commas of a word, in strings too.
    #[inline(always)]
    pub(super) fn commas<S: Simd>(&self, simd: S, text: &[u8], word: usize) -> u64 {
        if S::WHOLE { self.outline.planes[word].comma } else { simd.equal(self.text(text, word), b',') }
    }

    /// Whether the string that is open before a word may have a backslash in it, as 0 or 1.
    #[inline(always)]
    pub(super) fn may_be_spelt(&self, word: usize) -> u64 {
        // Where it began before the word that is before, nobody knows.
        let string = self.outline.string[word];
        ((string & self.outline.backslash[word] != 0) | (string == u64::MAX)) as u64 & string >> 63
    }

    /// The colons of a word outside strings, and those of them that follow no quote or may follow a string in which there is a
    /// backslash. `spelt` is [`may_be_spelt`](Self::may_be_spelt) of this word and becomes that of the next.
    ///
    /// A backslash, added to the bits of the string that it is in, carries out of them at the closing quote, once:
    ///
    /// ```text
    /// text         "a\\/b":1
    /// string       ■■■■■■.        bits of the text's bytes, the first at the left
    /// + backslash  ■■.■■■■        however many there are
    /// ```
    #[inline(always)]
    pub(super) fn colons<S: Simd>(&self, simd: S, text: &[u8], word: usize, spelt: &mut u64) -> (u64, u64) {
        let (string, quote) = (self.string(word), self.outline.quote[word + 1]);
        let colon = match S::WHOLE {
            true => self.outline.planes[word].colon,
            false => simd.equal(self.text(text, word), b':'),
        };
        let colon = colon & !string;
        let (sum, carry_1) = string.overflowing_add(self.outline.backslash[word + 1] & string);
        let (sum, carry_2) = sum.overflowing_add(*spelt);
        *spelt = (carry_1 | carry_2) as u64;
        // A colon at the start of a word follows the word before.
        let spelt_end = (sum & !string & quote) << 1 | 1;
        let follows = quote << 1 | self.outline.quote[word] >> 63;
        (colon, colon & (!follows | spelt_end))
    }

    /// Where a word has a colon before which a name between its quotes may have this length, up to 63.
    #[inline(always)]
    pub(super) fn ends(&self, word: usize, length: u32) -> u64 {
        let quote = &self.outline.quote;
        quote[word + 1] << (length & 63) | quote[word] >> ((64 - length) & 63)
    }
}
