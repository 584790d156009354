//! The tokens of a text: where strings, numbers, literals and operators begin.

use warpath_core::simd::outline::escaped;
use warpath_core::simd::{Simd, Work};
use warpath_shared::units::WORD_BYTES;

/// The tokens of some whole lines.
#[derive(Default)]
pub(super) struct Tokens {
    /// The offset of the first byte of each token in the text, then the end of the lines, a few times.
    ///
    /// Tokens are strings, operators (`{}[]:,`), line feeds outside strings, and runs of all other bytes but
    /// white space. A string that closes in these lines has no other token.
    pub starts: Vec<u32>,
    len: usize,
}

/// The number of ends after the last token. A record is read without checks for the end.
pub(super) const ENDS: usize = 4;

/// Finds the tokens of `text[begin..end]`.
pub(super) struct Find<'a, 'b> {
    pub text: &'a [u8],
    pub begin: usize,
    pub end: usize,
    pub tokens: &'b mut Tokens,
}

impl Work for Find<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> bool {
        self.tokens.find(simd, self.text, self.begin, self.end)
    }
}

/// The state that one word passes to the next.
#[derive(Default)]
struct Carry {
    /// 1 if the first byte of the word is escaped.
    escape: u64,
    /// All ones if the word begins in a string.
    open: u64,
    /// 1 if the byte before the word belongs to a number, a literal, or something that is no token of JSON.
    scalar: u64,
    /// Line feeds in strings.
    broken: u64,
}

impl Carry {
    /// The first bytes of the tokens of a word.
    #[inline(always)]
    fn word<S: Simd>(&mut self, simd: S, word: &[u8; WORD_BYTES]) -> u64 {
        let classes = simd.classify(word);
        let quote = classes.quote & !escaped(classes.backslash, &mut self.escape);
        let inside = simd.prefix_xor(quote) ^ self.open;
        self.open = (inside as i64 >> 63) as u64;
        self.broken |= classes.newline & inside;
        let operator = classes.open | classes.close | classes.separator | classes.newline;
        let space = simd.equal(word, b' ') | simd.equal(word, b'\t') | simd.equal(word, b'\r');
        let scalar = !(operator | space | quote | inside);
        let begins = scalar & !(scalar << 1 | self.scalar);
        self.scalar = scalar >> 63;
        operator & !inside | quote & inside | begins
    }
}

impl Tokens {
    /// Finds the tokens of `text[begin..end]`. Returns false if a string is not closed in its line.
    #[inline(always)]
    pub fn find<S: Simd>(&mut self, simd: S, text: &[u8], begin: usize, end: usize) -> bool {
        self.len = 0;
        let mut carry = Carry::default();
        let (words, rest) = text[begin..end].as_chunks();
        for (at, word) in words.iter().enumerate() {
            let starts = carry.word(simd, word);
            self.push(begin + at * WORD_BYTES, starts);
        }
        if !rest.is_empty() {
            let mut word = [b' '; WORD_BYTES];
            word[..rest.len()].copy_from_slice(rest);
            let starts = carry.word(simd, &word);
            self.push(begin + words.len() * WORD_BYTES, starts);
        }
        if self.starts.len() < self.len + ENDS {
            self.starts.resize(self.len + ENDS, 0);
        }
        self.starts[self.len..][..ENDS].fill(end as u32);
        carry.broken == 0 && carry.open == 0
    }

    /// Adds the tokens of the word at an offset.
    #[inline(always)]
    fn push(&mut self, base: usize, mut starts: u64) {
        if self.starts.len() < self.len + WORD_BYTES {
            self.grow();
        }
        let count = starts.count_ones() as usize;
        let room = &mut self.starts[self.len..][..WORD_BYTES];
        let mut at = 0;
        while at < count {
            // Four at once: those beyond the last are overwritten by the next word.
            for slot in &mut room[at % WORD_BYTES..][..4] {
                *slot = base as u32 + starts.trailing_zeros();
                starts &= starts.wrapping_sub(1);
            }
            at += 4;
        }
        self.len += count;
    }

    #[cold]
    fn grow(&mut self) {
        self.starts.resize((2 * self.starts.len()).max(4096), 0);
    }
}
