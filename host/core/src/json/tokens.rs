//! The tokens of whole lines: where strings, numbers, literals and operators begin.

use std::ops::Range;

use warpath_shared::units::WORD_BYTES;

use crate::simd::outline::escaped;
use crate::simd::{Isa, Simd, Work};

/// The tokens of whole lines. The memory is reused from text to text.
///
/// Tokens are strings, operators (`{}[]:,`), line feeds outside strings, and runs of all other bytes but
/// white space. A backslash escapes the next byte outside strings too, as in the structural index.
///
/// ```
/// use warpath_core::json::Tokens;
///
/// let text = br#"{"a b" : [1,true]}"#;
/// let mut tokens = Tokens::default();
/// assert!(tokens.find_here(text));
/// let found: Vec<&[u8]> = tokens.ranges(text).map(|range| &text[range]).collect();
/// assert_eq!(found, [&b"{"[..], b"\"a b\"", b":", b"[", b"1", b",", b"true", b"]", b"}"]);
/// ```
#[derive(Debug, Default)]
pub struct Tokens {
    /// The tokens, and the end of the lines [`ENDS`](Self::ENDS) times. What follows is of no use.
    starts: Vec<u32>,
    len: usize,
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
    /// The number of ends after the last token. A record is read without checks for the end.
    pub const ENDS: usize = 4;

    /// The offset of the first byte of each token in the text, then the end of the lines several times.
    #[inline(always)]
    #[must_use]
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The range of each token but line feeds. `text` is the text in which the tokens were found.
    pub fn ranges(&self, text: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let bounds = self.starts[..(self.len + 1).min(self.starts.len())].windows(2);
        let bounds = bounds.map(|bounds| bounds[0] as usize..bounds[1] as usize);
        let tokens = bounds.filter(|token| text[token.start] != b'\n');
        tokens.map(|token| token.start..token_end(text, token.end))
    }

    /// Finds the tokens of a text with the best instruction set of this processor. Returns false if a string
    /// is not closed in its line.
    pub fn find_here(&mut self, text: &[u8]) -> bool {
        struct Find<'a>(&'a mut Tokens, &'a [u8]);

        impl Work for Find<'_> {
            type Output = bool;

            #[inline(always)]
            fn run<S: Simd>(self, simd: S) -> bool {
                self.0.find(simd, self.1, 0, self.1.len())
            }
        }

        Isa::best().run(Find(self, text))
    }

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
        if self.starts.len() < self.len + Self::ENDS {
            self.starts.resize(self.len + Self::ENDS, 0);
        }
        self.starts[self.len..][..Self::ENDS].fill(end as u32);
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

/// The end of a token, without the white space before the next token at `next`.
#[inline(always)]
#[must_use]
pub fn token_end(text: &[u8], next: usize) -> usize {
    let mut end = next;
    while matches!(text[end - 1], b' ' | b'\t' | b'\r') {
        end -= 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens of a text, for every instruction set.
    fn found(text: &str) -> (bool, Vec<&str>) {
        struct Find<'a>(&'a str);

        impl<'a> Work for Find<'a> {
            type Output = (bool, Vec<&'a str>);

            fn run<S: Simd>(self, simd: S) -> Self::Output {
                let (mut tokens, text) = (Tokens::default(), self.0.as_bytes());
                let closed = tokens.find(simd, text, 0, text.len());
                let ends = &tokens.starts()[tokens.len..][..Tokens::ENDS];
                assert_eq!(ends, [text.len() as u32; Tokens::ENDS]);
                (closed, tokens.ranges(text).map(|range| &self.0[range]).collect())
            }
        }

        let mut all = Isa::all().into_iter().map(|isa| isa.run(Find(text)));
        let first = all.next().unwrap();
        all.for_each(|other| assert_eq!(other, first, "{text}"));
        first
    }

    #[test]
    fn tokens_are_found_wherever_words_end() {
        let cases: [(&str, &[&str]); 9] = [
            ("", &[]),
            ("7", &["7"]),
            (r#"{"a": 12,"b c":[] }"#, &["{", "\"a\"", ":", "12", ",", "\"b c\"", ":", "[", "]", "}"]),
            (r#""\"" "\\"x"#, &[r#""\"""#, r#""\\""#, "x"]),
            (r#"""""1"a""#, &["\"\"", "\"\"", "1", "\"a\""]),
            ("[1,\t-2.5e7\r,true]\n", &["[", "1", ",", "-2.5e7", ",", "true", "]"]),
            ("a{b}c:d,e", &["a", "{", "b", "}", "c", ":", "d", ",", "e"]),
            (r#"x\"y"z""#, &[r#"x\"y"#, "\"z\""]),
            ("[1,\n\n 2 ]\r\n", &["[", "1", ",", "2", "]"]),
        ];
        for (text, want) in cases {
            for pad in 0..130 {
                let text = " ".repeat(pad) + text;
                assert_eq!(found(&text), (true, want.to_vec()), "{text}");
            }
        }
    }

    #[test]
    fn strings_that_are_not_closed_are_told() {
        for text in ["\"", "[\"a\n\"]", "\"\\\"", "{}\n\"x"] {
            assert!(!found(text).0, "{text}");
        }
    }
}
