//! What a stretch of text holds, found for many words at once and without a branch that depends on the text.
//!
//! A branch on what a word holds is often predicted wrongly, and can be decided only when all that leads to it is known:
//! classes, escapes, strings. So these are found ahead, for 64 words, and [`super::scan`] then looks at few of them.
//!
//! What is found for every word is what every program needs: the strings, and whether there may be brackets, which a fifth of
//! tweets' words have; and colons for programs that look for names. A class costs a comparison and a move from a mask register,
//! two cycles together, so brackets are told apart where there are any; but a processor that can transpose bits finds all at
//! once.

use warpath_shared::units::{WORD_BYTES, words_for};

use warpath_core::simd::Simd;
use warpath_core::simd::outline::{Outline, Planes, WORDS};

/// The words of a stretch of text that begins where a line does, or where the batch before ended.
#[derive(Default)]
pub(super) struct Batch {
    /// Where the first word stands in the text.
    at: usize,
    /// How many words there are.
    pub words: usize,
    /// Whether names are looked for.
    names: bool,
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
    /// Forgets everything: what follows may not begin where a line does. From now on, `names` are looked for or not.
    pub(super) fn clear(&mut self, names: bool) {
        (self.words, self.names) = (0, names);
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
            simd.outline(words, self.names, &mut self.outline);
        } else if self.words > 0 {
            // Once a text. What follows it is nothing.
            let mut words = [[0; WORD_BYTES]; WORDS];
            words.as_flattened_mut()[..rest.len()].copy_from_slice(rest);
            simd.outline(&words, self.names, &mut self.outline);
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
        simd.equal(self.text(text, word), b',')
    }

    /// The colons of a word outside strings, and those of them that follow no quote or follow a string in which there is a
    /// backslash; none where no names are looked for.
    #[inline(always)]
    pub(super) fn colons(&self, word: usize) -> (u64, u64) {
        if self.names { (self.outline.colon[word], self.outline.odd[word]) } else { (0, 0) }
    }

    /// The words in which there is something odd, or a name may end that has one of these lengths between its quotes, up to 63.
    #[inline(always)]
    pub(super) fn words_with_ends<S: Simd>(&self, simd: S, lengths: [u32; 2]) -> u64 {
        simd.words_with_ends(&self.outline, lengths) | self.outline.odd_words
    }

    /// The words in which there are colons.
    pub(super) fn words_with_colons(&self) -> u64 {
        let colon = self.outline.colon.iter().enumerate();
        colon.fold(0, |words, (at, colon)| words | ((*colon != 0) as u64) << at)
    }

    /// Where a name ends in a word that has one of these lengths between its quotes, up to 63.
    #[inline(always)]
    pub(super) fn ends(&self, word: usize, lengths: [u32; 2]) -> u64 {
        self.outline.ends(word, lengths)
    }
}
