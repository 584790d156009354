//! What a stretch of text holds, found for many words at once and without a branch that depends on the text.
//!
//! A branch on what a word holds is often predicted wrongly, and can be decided only when all that leads to it is known:
//! classes, escapes, strings. So these are found ahead, for 64 words, and [`super::scan`] then looks at few of them.
//!
//! What is found for every word is what every program needs: three classes (each costs a comparison and a move from a mask
//! register, two cycles together) and the strings. Brackets are told apart in the words that have any, a fifth of tweets'
//! words, and colons found where names are looked for.

use warpath_shared::units::WORD_BYTES;

use super::classify::Simd;

/// Words of a batch.
pub(super) const WORDS: usize = 64;
/// The words of a stretch of text that begins where a line does, or where the batch before ended.
pub(super) struct Batch {
    /// Where the first word stands in the text.
    at: usize,
    /// How many words there are.
    pub words: usize,
    /// The words in which there may be brackets or line feeds, a bit each.
    pub busy: u64,
    /// The bytes in strings, an opening quote included: first those of the word before.
    string: [u64; 1 + WORDS],
    /// Quotes that open and close strings, likewise.
    quote: [u64; 1 + WORDS],
    /// Backslashes, likewise.
    backslash: [u64; 1 + WORDS],
    /// The brackets and line feeds of each busy word.
    brackets: [Brackets; WORDS],
    /// 1 where an escape is pending.
    escape: u64,
    /// The last word of a text that does not fill it, with zeros behind it.
    tail: [u8; WORD_BYTES],
}

/// What the words read so far tell the next.
#[derive(Clone, Copy)]
struct Carry {
    /// All ones where a string is open.
    string: u64,
    /// 1 where an escape is pending.
    escape: u64,
    /// The words that are busy.
    busy: u64,
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

impl Default for Batch {
    fn default() -> Self {
        Self {
            at: 0,
            words: 0,
            busy: 0,
            string: [0; 1 + WORDS],
            quote: [0; 1 + WORDS],
            backslash: [0; 1 + WORDS],
            brackets: [Brackets::default(); WORDS],
            escape: 0,
            tail: [0; WORD_BYTES],
        }
    }
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
        text.get(self.place(word)..).and_then(<[u8]>::first_chunk).unwrap_or(&self.tail)
    }

    /// The bytes of a word that are in strings, an opening quote included.
    #[inline(always)]
    pub(super) fn string(&self, word: usize) -> u64 {
        self.string[word + 1]
    }

    /// The batch that begins at the start of a line.
    #[inline(always)]
    pub(super) fn begin<S: Simd>(&mut self, simd: S, text: &[u8], at: usize) {
        self.at = at;
        (self.string[0], self.quote[0], self.backslash[0], self.escape) = (0, 0, 0, 0);
        self.fill(simd, text);
    }

    /// The batch after this one. It has no words at the end of the text.
    #[inline(always)]
    pub(super) fn advance<S: Simd>(&mut self, simd: S, text: &[u8]) {
        for array in [&mut self.string, &mut self.quote, &mut self.backslash] {
            array[0] = array[self.words];
        }
        self.at += self.words * WORD_BYTES;
        self.fill(simd, text);
    }

    #[inline(always)]
    fn fill<S: Simd>(&mut self, simd: S, text: &[u8]) {
        let rest = text.get(self.at..).unwrap_or_default();
        let (words, rest) = rest[..rest.len().min(WORDS * WORD_BYTES)].as_chunks::<WORD_BYTES>();
        self.words = words.len();
        let mut carry =
            Carry { string: ((self.string[0] as i64) >> 63) as u64, escape: self.escape, busy: 0 };
        for (at, word) in words.iter().enumerate() {
            carry = self.read(simd, word, at, carry);
        }
        if !rest.is_empty() {
            let mut tail = [0; WORD_BYTES];
            tail[..rest.len()].copy_from_slice(rest);
            carry = self.read(simd, &tail, self.words, carry);
            self.tail = tail;
            self.words += 1;
        }
        (self.escape, self.busy) = (carry.escape, carry.busy);
        let mut left = self.busy;
        while left != 0 {
            let word = left.trailing_zeros() as usize;
            left &= left - 1;
            let c = simd.classify(self.text(text, word));
            let outside = !self.string(word);
            self.brackets[word] = Brackets {
                open: c.open & outside,
                close: c.close & outside,
                brace: c.brace,
                newline: c.newline,
            };
        }
    }

    /// Reads one word, `at` of the batch.
    #[inline(always)]
    fn read<S: Simd>(&mut self, simd: S, word: &[u8; WORD_BYTES], at: usize, mut carry: Carry) -> Carry {
        let backslash = simd.equal(word, b'\\');
        let quote = simd.equal(word, b'"') & !escaped(backslash, &mut carry.escape);
        let string = simd.prefix_xor(quote) ^ carry.string;
        self.string[at + 1] = string;
        self.quote[at + 1] = quote;
        self.backslash[at + 1] = backslash;
        Carry {
            string: ((string as i64) >> 63) as u64,
            escape: carry.escape,
            busy: carry.busy | ((simd.may_matter(word) != 0) as u64) << at,
        }
    }

    /// The brackets and line feeds of a word.
    #[inline(always)]
    pub(super) fn brackets(&self, word: usize) -> Brackets {
        if self.busy >> word & 1 == 1 { self.brackets[word] } else { Brackets::default() }
    }

    /// Whether the string that is open before a word may have a backslash in it, as 0 or 1.
    #[inline(always)]
    pub(super) fn may_be_spelt(&self, word: usize) -> u64 {
        // Where it began before the word that is before, nobody knows.
        let string = self.string[word];
        ((string & self.backslash[word] != 0) | (string == u64::MAX)) as u64 & string >> 63
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
        let (string, quote) = (self.string[word + 1], self.quote[word + 1]);
        let colon = simd.equal(self.text(text, word), b':') & !string;
        let (sum, carry_1) = string.overflowing_add(self.backslash[word + 1] & string);
        let (sum, carry_2) = sum.overflowing_add(*spelt);
        *spelt = (carry_1 | carry_2) as u64;
        // A colon at the start of a word follows the word before.
        let spelt_end = (sum & !string & quote) << 1 | 1;
        let follows = quote << 1 | self.quote[word] >> 63;
        (colon, colon & (!follows | spelt_end))
    }

    /// Where a word has a colon before which a name between its quotes may have this length, up to 63.
    #[inline(always)]
    pub(super) fn ends(&self, word: usize, length: u32) -> u64 {
        self.quote[word + 1] << (length & 63) | self.quote[word] >> ((64 - length) & 63)
    }
}

/// The bytes that are escaped: a faster equal of [`warpath_shared::index::escape::escaped`], but for backslashes.
///
/// ```text
/// text           a \ " b \ \ " \ \ \ " c      (bit 0 at the left)
/// may escape     . 1 . . 1 1 . 1 1 1 . .
/// << 1, | odd    . 1 1 1 . 1 1 1 1 1 1 1      (bits 1, 3, 5, …)
/// - may escape   . . 1 1 . . 1 . . . 1 1 *    borrows run from the start of a run on
/// ```
#[inline(always)]
fn escaped(backslash: u64, pending: &mut u64) -> u64 {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let may_escape = backslash & !*pending;
    let codes = (may_escape << 1 | ODD).wrapping_sub(may_escape) ^ ODD;
    let escaped = codes ^ (backslash | *pending);
    *pending = (codes & backslash) >> 63;
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpath_shared::index::escape;

    #[test]
    fn escaped_bytes_are_those_of_the_rule() {
        let mut seed = 11u64;
        for round in 0..100_000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Few backslashes, many, and runs of every length.
            let backslash = match round % 3 {
                0 => seed & seed.rotate_left(17),
                1 => seed | seed.rotate_left(23),
                _ => u64::MAX.checked_shr((seed >> 40) as u32 % 65).unwrap_or(0) << ((seed >> 50) % 64),
            };
            for pending in [0, 1] {
                let (mut got, mut want) = (pending, pending == 1);
                let bytes = escaped(backslash, &mut got) & !backslash;
                assert_eq!(
                    bytes,
                    escape::escaped(backslash, &mut want) & !backslash,
                    "{backslash:b} {pending}"
                );
                assert_eq!(got, want as u64, "{backslash:b} {pending}");
            }
        }
    }
}
