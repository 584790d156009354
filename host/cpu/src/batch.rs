//! A batch of 64 words of text, classified at once and without a branch that depends on the text.
//!
//! A branch on the contents of a word is often predicted wrongly. The processor can resolve it only after it
//! has computed everything that the branch depends on: classes, escapes, strings. So these are computed
//! ahead, for 64 words, and [`super::scan`] then visits few of the words.
//!
//! For every word, a batch has the data that every program needs: the strings, and whether there may be
//! brackets. A fifth of the words of tweets have brackets. For programs that look for names, a batch also has
//! the colons.
//!
//! A class costs a comparison and a move from a mask register, two cycles together. Kinds of brackets are
//! therefore distinguished only where there are any. A processor that can transpose bits finds all classes at
//! once.

use warpath_core::simd::Simd;
use warpath_core::simd::outline::{Outline, Planes, Stretch, WORDS};
use warpath_shared::check::{follows_quote, is_space_below};
use warpath_shared::index::class::is_whitespace;
use warpath_shared::units::{PartOffset, WORD_BYTES, words_for};

/// The bytes of a word by their roles. All except `string` and `quote` are outside strings.
#[derive(Clone, Copy)]
pub(super) struct Tokens {
    /// The bytes in strings, including opening quotes.
    pub string: u64,
    /// Quotes that open or close strings.
    pub quote: u64,
    pub brackets: Brackets,
    pub colon: u64,
    pub comma: u64,
    /// White space other than line feeds.
    pub space: u64,
}

impl Tokens {
    /// A line feed, and nothing else.
    pub const NEWLINE: Self = Self {
        string: 0,
        quote: 0,
        brackets: Brackets { open: 0, close: 0, brace: 0, newline: 1 },
        colon: 0,
        comma: 0,
        space: !1,
    };
}

/// A value that was found, with the block for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockValue {
    /// The block of the plan.
    pub block: usize,
    /// The offset of its first byte.
    pub start: PartOffset,
    /// The offset after its last byte.
    pub end: PartOffset,
    /// Set if the value is a container.
    pub container: bool,
}

/// The offset after the white space at `at`. A line feed is not skipped.
#[inline(always)]
pub(super) fn skip_space(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|byte| *byte != b'\n' && is_whitespace(*byte)) {
        at += 1;
    }
    at
}

/// Returns whether all colons of a word follow a string, and whether all its bytes below 0x20 outside strings
/// are white space. Only the bytes of `keep` matter.
#[cold]
#[inline(never)]
pub(super) fn are_well(batch: &WordBatch, text: &[u8], word: usize, keep: u64) -> bool {
    let at = batch.place(word);
    let mut control = batch.control(word) & keep;
    while control != 0 {
        if !is_space_below(text[at + control.trailing_zeros() as usize]) {
            return false;
        }
        control &= control - 1;
    }
    let mut colons = batch.colons(word).1 & keep;
    while colons != 0 {
        let colon = (at + colons.trailing_zeros() as usize) as PartOffset;
        if !follows_quote(colon, |at| text[at as usize]) {
            return false;
        }
        colons &= colons - 1;
    }
    true
}

/// The words of a batch. It begins at the start of a line, or at the end of the previous batch.
#[derive(Default)]
pub(super) struct WordBatch {
    /// The offset of the first word in the text.
    at: usize,
    /// The number of words.
    pub words: usize,
    /// Set if names are looked for.
    names: bool,
    outline: Outline,
    /// The words at the end of a text that do not fill a batch, padded with spaces.
    end: End,
}

struct End(Stretch);

impl Default for End {
    fn default() -> Self {
        Self([[0; WORD_BYTES]; WORDS])
    }
}

/// The brackets and line feeds of a word.
#[derive(Clone, Copy, Default)]
pub(super) struct Brackets {
    /// Brackets that open, outside strings.
    pub open: u64,
    /// Brackets that close, outside strings.
    pub close: u64,
    /// The braces among them. Other bits are undefined.
    pub brace: u64,
    /// Line feeds.
    pub newline: u64,
}

impl WordBatch {
    /// Forgets all words, because the next batch may not begin at the start of a line. `names` sets whether
    /// names are looked for from now on.
    pub(super) fn clear(&mut self, names: bool) {
        (self.words, self.names) = (0, names);
    }

    /// The index of the word that contains the byte at `at`, if the batch has it.
    #[inline(always)]
    pub(super) fn word_of(&self, at: usize) -> Option<usize> {
        let word = at.checked_sub(self.at)? / WORD_BYTES;
        (word < self.words).then_some(word)
    }

    /// Returns whether the batch has words, and begins at `at`.
    pub(super) fn begins_at(&self, at: usize) -> bool {
        self.words > 0 && self.at == at
    }

    /// The offset of a word in the text.
    #[inline(always)]
    pub(super) fn place(&self, word: usize) -> usize {
        self.at + word * WORD_BYTES
    }

    /// The text of a word.
    #[inline(always)]
    pub(super) fn text<'a>(&'a self, text: &'a [u8], word: usize) -> &'a [u8; WORD_BYTES] {
        text.get(self.place(word)..).and_then(<[u8]>::first_chunk).unwrap_or(&self.end.0[word])
    }

    /// The words in which there may be brackets or bytes below 0x20, one bit each.
    #[inline(always)]
    pub(super) fn busy(&self) -> u64 {
        self.outline.busy
    }

    /// The bytes of a word that are in strings, an opening quote included.
    #[inline(always)]
    pub(super) fn string(&self, word: usize) -> u64 {
        self.outline.string[word + 1]
    }

    /// The backslashes of a word.
    #[inline(always)]
    pub(super) fn backslashes(&self, word: usize) -> u64 {
        self.outline.backslash[word + 1]
    }

    /// The tokens of a word. Names must be looked for. `low` has the bytes below 0x20.
    #[inline(always)]
    pub(super) fn tokens<S: Simd>(&self, simd: S, text: &[u8], word: usize, low: u64) -> Tokens {
        let bytes = self.text(text, word);
        let string = self.string(word);
        let brackets = self.brackets(word);
        let mut space = simd.equal(bytes, b' ') & !string;
        if low & !brackets.newline != 0 {
            space |= (simd.equal(bytes, b'\t') | simd.equal(bytes, b'\r')) & !string;
        }
        let (quote, colon) = (self.outline.quote[word + 1], self.outline.colon[word]);
        Tokens { string, quote, brackets, colon, comma: simd.equal(bytes, b',') & !string, space }
    }

    /// The bytes in strings and the quotes, with the word before the batch first, and the colons. Names must
    /// be looked for.
    #[inline(always)]
    pub(super) fn strings(&self) -> (&[u64; 1 + WORDS], &[u64; 1 + WORDS], &[u64; WORDS]) {
        (&self.outline.string, &self.outline.quote, &self.outline.colon)
    }

    /// Fills the batch from the start of a line.
    pub(super) fn begin<S: Simd>(&mut self, simd: S, text: &[u8], at: usize) {
        self.at = at;
        self.outline.begin();
        self.fill(simd, text);
    }

    /// Fills the batch with the words after the current ones. At the end of the text it becomes empty.
    pub(super) fn advance<S: Simd>(&mut self, simd: S, text: &[u8]) {
        self.at += self.words * WORD_BYTES;
        self.outline.advance();
        self.fill(simd, text);
    }

    fn fill<S: Simd>(&mut self, simd: S, text: &[u8]) {
        let rest = text.get(self.at..).unwrap_or_default();
        self.words = words_for(rest.len()).min(WORDS);
        if let Some(words) = rest.as_chunks().0.first_chunk::<WORDS>() {
            self.outline.words = WORDS;
            simd.outline(words, self.names, &mut self.outline);
        } else if self.words > 0 {
            // Only at the end of a text. Eight words are outlined at a time, and spaces fill the last eight.
            self.outline.words = self.words.next_multiple_of(8);
            let (copied, padding) = self.end.0.as_flattened_mut().split_at_mut(rest.len());
            copied.copy_from_slice(rest);
            padding[..self.outline.words * WORD_BYTES - rest.len()].fill(b' ');
            simd.outline(&self.end.0, self.names, &mut self.outline);
        }
    }

    /// The brackets and line feeds of a word. No branch depends on the text, for short lines: nearly all of
    /// their words have brackets or line feeds.
    #[inline(always)]
    pub(super) fn brackets(&self, word: usize) -> Brackets {
        let busy = (self.busy() >> word & 1).wrapping_neg();
        let Planes { open, close, brace, newline, .. } = self.outline.planes[word];
        let outside = busy & !self.string(word);
        Brackets { open: open & outside, close: close & outside, brace, newline: newline & busy }
    }

    /// [`brackets`](Self::brackets), for long lines: few of their words have brackets.
    #[inline(always)]
    pub(super) fn few_brackets(&self, word: usize) -> Brackets {
        if self.busy() >> word & 1 == 0 { Brackets::default() } else { self.brackets(word) }
    }

    /// The commas of a word, in strings too.
    #[inline(always)]
    pub(super) fn commas<S: Simd>(&self, simd: S, text: &[u8], word: usize) -> u64 {
        simd.equal(self.text(text, word), b',')
    }

    /// The colons of a word outside strings, and the odd ones among them. A colon is odd if no quote precedes
    /// it and, if names are looked for, if it follows a string with a backslash. Without names, colons are 0.
    #[inline(always)]
    pub(super) fn colons(&self, word: usize) -> (u64, u64) {
        (if self.names { self.outline.colon[word] } else { 0 }, self.outline.odd[word])
    }

    /// Returns true if there are odd colons in the batch.
    #[inline(always)]
    pub(super) fn has_odd_colons(&self) -> bool {
        self.outline.odd_words != 0
    }

    /// The words in which there may be more to check than brackets, one bit each: odd colons, or bytes below
    /// 0x20.
    #[inline(always)]
    pub(super) fn unusual(&self) -> u64 {
        self.outline.odd_words | self.outline.low_words
    }

    /// Bytes of a word that include those below 0x20 other than line feeds, outside strings.
    #[inline(always)]
    pub(super) fn may_be_control(&self, word: usize) -> u64 {
        let Planes { newline, low, .. } = self.outline.planes[word];
        low & !newline
    }

    /// The bytes below 0x20 of a word outside strings, except line feeds.
    #[inline(always)]
    pub(super) fn control(&self, word: usize) -> u64 {
        let busy = (self.busy() >> word & 1).wrapping_neg();
        self.may_be_control(word) & busy & !self.string(word)
    }

    /// The offset in the text of the next quote that opens or closes a string. The search begins at an offset
    /// in the batch.
    #[inline(always)]
    pub(super) fn quote_from(&self, from: usize) -> Option<usize> {
        let mut word = self.word_of(from)?;
        let mut quotes = self.outline.quote[word + 1] & u64::MAX << (from - self.place(word));
        while quotes == 0 {
            word += 1;
            if word >= self.words {
                return None;
            }
            quotes = self.outline.quote[word + 1];
        }
        Some(self.place(word) + quotes.trailing_zeros() as usize)
    }

    /// The words that have an odd colon, or in which a name of one of these lengths may end. Lengths are
    /// between the quotes and at most 63.
    #[inline(always)]
    pub(super) fn words_with_ends<S: Simd>(&self, simd: S, lengths: [u32; 2]) -> u64 {
        simd.words_with_ends(&self.outline, lengths) | self.outline.odd_words
    }

    /// The words in which there are colons.
    pub(super) fn words_with_colons(&self) -> u64 {
        let colon = self.outline.colon.iter().enumerate().take(self.words);
        colon.fold(0, |words, (at, colon)| words | ((*colon != 0) as u64) << at)
    }

    /// The ends of names of one of these lengths in a word. Lengths are between the quotes and at most 63.
    #[inline(always)]
    pub(super) fn ends(&self, word: usize, lengths: [u32; 2]) -> u64 {
        self.outline.ends(word, lengths)
    }
}
