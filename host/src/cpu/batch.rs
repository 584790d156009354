//! What a stretch of text holds, found for many words at once and without a branch that depends on the text.
//!
//! A branch on what a word holds is often predicted wrongly, and can be decided only when all that leads to it is known:
//! classes, escapes, strings. So these are found ahead, for 64 words, and [`super::scan`] then looks at few of them.

use warpath_shared::units::WORD_BYTES;

use super::classify::Simd;

/// Words of a batch.
pub(super) const WORDS: usize = 64;
/// Words that are looked at for names at once.
pub(super) const WINDOW: usize = 16;

/// The words of a stretch of text that begins where a line does, or where the batch before ended.
pub(super) struct Batch {
    /// Where the first word stands in the text.
    at: usize,
    /// How many words there are.
    pub words: usize,
    /// The words in which there may be brackets or line feeds, a bit each.
    pub busy: u64,
    /// The bytes in strings, an opening quote included: first those of the word before, at last zeros to the end of a window.
    string: [u64; 1 + WORDS + WINDOW],
    /// Quotes that open and close strings, likewise.
    quote: [u64; 1 + WORDS + WINDOW],
    /// Backslashes, likewise.
    backslash: [u64; 1 + WORDS + WINDOW],
    /// 1 where an escape is pending.
    escape: u64,
    /// The last word of a text that does not fill it, with zeros behind it.
    tail: [u8; WORD_BYTES],
}

/// Colons of some words of a batch, and which of them names may stand before.
#[derive(Default)]
pub(super) struct Window {
    /// The first word.
    word: usize,
    /// Colons outside strings that follow no quote, or may follow a string in which there is a backslash.
    odd: [u64; WINDOW],
    /// Those before which a name has one of the lengths that are looked for.
    ends: [u64; WINDOW],
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            at: 0,
            words: 0,
            busy: 0,
            string: [0; 1 + WORDS + WINDOW],
            quote: [0; 1 + WORDS + WINDOW],
            backslash: [0; 1 + WORDS + WINDOW],
            escape: 0,
            tail: [0; WORD_BYTES],
        }
    }
}

/// The window of an array at `at`.
#[inline(always)]
fn window(array: &[u64; 1 + WORDS + WINDOW], at: usize) -> [u64; WINDOW] {
    array.get(at..).and_then(<[u64]>::first_chunk).copied().unwrap_or_default()
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
        let text = text.get(self.at..).unwrap_or_default();
        let (words, rest) = text[..text.len().min(WORDS * WORD_BYTES)].as_chunks::<WORD_BYTES>();
        self.words = words.len();
        let mut escape = self.escape;
        let mut open = ((self.string[0] as i64) >> 63) as u64;
        let mut busy = 0;
        let mut read = |word: &[u8; WORD_BYTES], at: usize| {
            let backslash = simd.equal(word, b'\\');
            let quote = simd.equal(word, b'"') & !escaped(backslash, &mut escape);
            let string = simd.prefix_xor(quote) ^ open;
            open = ((string as i64) >> 63) as u64;
            self.string[at + 1] = string;
            self.quote[at + 1] = quote;
            self.backslash[at + 1] = backslash;
            busy |= ((simd.may_matter(word) != 0) as u64) << at;
        };
        for (at, word) in words.iter().enumerate() {
            read(word, at);
        }
        if !rest.is_empty() {
            self.tail = [0; WORD_BYTES];
            self.tail[..rest.len()].copy_from_slice(rest);
            read(&self.tail, self.words);
            self.words += 1;
        }
        (self.escape, self.busy) = (escape, busy);
    }

    /// Whether the string that is open after a word's left neighbour may have a backslash in it, as 0 or 1.
    #[inline(always)]
    fn may_be_spelt(&self, word: usize) -> u64 {
        // Where it began before that neighbour, nobody knows.
        let string = self.string[word];
        ((string & self.backslash[word] != 0) | (string == u64::MAX)) as u64 & string >> 63
    }

    /// The colons of a word outside strings, and those of them that follow no quote or may follow a string in which there is a
    /// backslash.
    #[inline(always)]
    pub(super) fn colons<S: Simd>(&self, simd: S, text: &[u8], word: usize) -> (u64, u64) {
        let (string, quote) = (self.string[word + 1], self.quote[word + 1]);
        let colon = simd.equal(self.text(text, word), b':') & !string;
        let gap = colon & !(quote << 1 | self.quote[word] >> 63);
        let sum = string.wrapping_add(self.backslash[word + 1] & string).wrapping_add(self.may_be_spelt(word));
        let before = self.quote[word] & !self.string[word];
        (colon, gap | colon & ((sum & !string & quote) << 1 | before >> 63))
    }

    /// Looks for names between quotes that have one of the `lengths`, in the window at `word`. Returns the words in which one
    /// may end, or a colon is odd, a bit each.
    ///
    /// A backslash, added to the bits of the string that it is in, carries out of them at the closing quote, once:
    ///
    /// ```text
    /// text         "a\\/b":1
    /// string       ■■■■■■.        bits of the text's bytes, the first at the left
    /// + backslash  ■■.■■■■        however many there are
    /// ```
    ///
    /// What carries from word to word is found for all at once, as adders do: a word that carries by itself does, and one
    /// that is all ones hands on.
    #[inline(always)]
    pub(super) fn names<S: Simd>(
        &self,
        simd: S,
        text: &[u8],
        word: usize,
        lengths: &[u32],
        found: &mut Window,
    ) -> u64 {
        let (string, quote) = (window(&self.string, word + 1), window(&self.quote, word + 1));
        let (string_before, quote_before) = (window(&self.string, word), window(&self.quote, word));
        let backslash = window(&self.backslash, word + 1);
        let colon = self.window_colons(simd, text, word, found);

        let mut sums = [0u64; WINDOW];
        let (mut carries, mut hands_on) = (0u64, 0u64);
        for i in 0..WINDOW {
            sums[i] = string[i].wrapping_add(backslash[i] & string[i]);
            carries |= ((sums[i] < string[i]) as u64) << i;
            hands_on |= ((sums[i] == u64::MAX) as u64) << i;
        }
        let carried = (carries << 1 | self.may_be_spelt(word)).wrapping_add(hands_on) ^ hands_on;
        let mut spelt = [0u64; 1 + WINDOW];
        spelt[0] = quote_before[0] & !string_before[0];
        for i in 0..WINDOW {
            spelt[i + 1] = sums[i].wrapping_add(carried >> i & 1) & !string[i] & quote[i];
        }
        for i in 0..WINDOW {
            let follows = quote[i] << 1 | quote_before[i] >> 63;
            found.odd[i] = colon[i] & (!follows | spelt[i + 1] << 1 | spelt[i] >> 63);
        }
        found.ends = [0; WINDOW];
        for length in lengths {
            let (left, right) = (length & 63, (64 - length) & 63);
            for i in 0..WINDOW {
                found.ends[i] |= colon[i] & (quote[i] << left | quote_before[i] >> right);
            }
        }
        (0..WINDOW).fold(0, |words, i| words | ((found.odd[i] | found.ends[i] != 0) as u64) << i) << word
    }

    /// The words of the window at `word` in which there is a colon outside strings, a bit each.
    #[inline(always)]
    pub(super) fn any_name<S: Simd>(&self, simd: S, text: &[u8], word: usize, found: &mut Window) -> u64 {
        let colon = self.window_colons(simd, text, word, found);
        found.odd = [0; WINDOW];
        found.ends = colon;
        (0..WINDOW).fold(0, |words, i| words | ((colon[i] != 0) as u64) << i) << word
    }

    #[inline(always)]
    fn window_colons<S: Simd>(&self, simd: S, text: &[u8], word: usize, found: &mut Window) -> [u64; WINDOW] {
        let mut colon = [0; WINDOW];
        for i in 0..WINDOW.min(self.words - word) {
            colon[i] = simd.equal(self.text(text, word + i), b':') & !self.string[word + i + 1];
        }
        found.word = word;
        colon
    }
}

impl Window {
    /// Of a word, the colons before which a name may have a length that is looked for, and the odd ones.
    #[inline(always)]
    pub(super) fn of(&self, word: usize) -> (u64, u64) {
        let i = word - self.word;
        (self.ends[i], self.odd[i])
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
                assert_eq!(bytes, escape::escaped(backslash, &mut want) & !backslash, "{backslash:b} {pending}");
                assert_eq!(got, want as u64, "{backslash:b} {pending}");
            }
        }
    }
}
