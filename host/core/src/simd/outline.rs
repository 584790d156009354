//! A preview of many words of text, without a branch that depends on the text: strings, and the words that
//! may contain more.

use warpath_shared::units::WORD_BYTES;

/// Words of a stretch.
pub const WORDS: usize = 64;

/// The text that is outlined at once.
pub type Stretch = [[u8; WORD_BYTES]; WORDS];

/// The classes of a word, as the transposition of bits yields them. They are like
/// [`Classes`](warpath_shared::index::class::Classes), but have colons alone, and line feeds among `low`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Planes {
    /// Quotation marks.
    pub quote: u64,
    /// Backslashes.
    pub backslash: u64,
    /// Colons.
    pub colon: u64,
    /// Bytes below 0x20.
    pub low: u64,
    /// `[` and `{`.
    pub open: u64,
    /// `]` and `}`.
    pub close: u64,
    /// The brackets that are braces. Bits elsewhere have no meaning.
    pub brace: u64,
    /// Line feeds.
    pub newline: u64,
}

/// The outline of a stretch, which continues where the previous one ended.
pub struct Outline {
    /// The number of words to outline, a multiple of 8. It is less than [`WORDS`] only at the end of a text.
    /// Elements and bits of the other words have no meaning.
    pub words: usize,
    /// The bytes of each word that are in strings, including opening quotes. Element 0 is the word before the
    /// stretch.
    pub string: [u64; 1 + WORDS],
    /// Quotes that open or close strings, with the word before the stretch first.
    pub quote: [u64; 1 + WORDS],
    /// Backslashes, with the word before the stretch first.
    pub backslash: [u64; 1 + WORDS],
    /// The words that may have brackets or bytes below 0x20, one bit each.
    pub busy: u64,
    /// The words that may have bytes below 0x20, one bit each.
    pub low_words: u64,
    /// The classes of the busy words: their brackets, line feeds and bytes below 0x20, and possibly others.
    /// Elements of other words have no meaning.
    pub planes: [Planes; WORDS],
    /// The colons of each word outside strings. If names are not looked for, the elements have no meaning.
    pub colon: [u64; WORDS],
    /// The colons that do not follow a quote and, if names are looked for, those that follow a string with a
    /// backslash in it.
    pub odd: [u64; WORDS],
    /// The words that have odd colons, one bit each.
    pub odd_words: u64,
    /// The state that one stretch passes to the next.
    pub carry: Carry,
}

/// The state that a word passes to the next, in addition to the arrays.
#[derive(Clone, Copy, Default)]
pub struct Carry {
    /// 1 if an escape is pending.
    pub escape: u64,
    /// 1 if a string is open and has a backslash in it.
    pub spelt: u64,
    /// The quotes that close strings with a backslash in them.
    pub spelt_end: u64,
}

impl Default for Outline {
    fn default() -> Self {
        let none = [0; 1 + WORDS];
        Self {
            words: WORDS,
            string: none,
            quote: none,
            backslash: none,
            busy: 0,
            low_words: 0,
            planes: [Planes::default(); WORDS],
            colon: [0; WORDS],
            odd: [0; WORDS],
            odd_words: 0,
            carry: Carry::default(),
        }
    }
}

impl Outline {
    /// Starts at the beginning of a line.
    pub fn begin(&mut self) {
        (self.string[0], self.quote[0], self.backslash[0], self.carry) = (0, 0, 0, Carry::default());
    }

    /// Continues after the whole stretch.
    pub fn advance(&mut self) {
        for array in [&mut self.string, &mut self.quote, &mut self.backslash] {
            array[0] = array[WORDS];
        }
    }

    /// The colons of a word that may follow a name of one of these lengths, up to 63. A quote is at the right
    /// distance before such a colon.
    #[inline(always)]
    pub fn ends(&self, word: usize, lengths: [u32; 2]) -> u64 {
        let quote = &self.quote;
        let end = |length| quote[word + 1] << (length & 63) | quote[word] >> ((64 - length) & 63);
        self.colon[word] & (end(lengths[0]) | end(lengths[1]))
    }

    /// The words that have such colons (see [`ends`](Self::ends)), one bit each.
    #[inline(always)]
    pub fn words_with_ends(&self, lengths: [u32; 2]) -> u64 {
        (0..self.words.min(WORDS)).fold(0, |words, at| words | ((self.ends(at, lengths) != 0) as u64) << at)
    }
}

impl Carry {
    /// The odd colons of a word. The word before it has the quotes `before`.
    ///
    /// A backslash is added to the bits of the string that it is in. The sum carries out of the string at the
    /// closing quote, exactly once:
    ///
    /// ```text
    /// text         "a\\/b":1
    /// string       ■■■■■■.        bits of the text's bytes, the first at the left
    /// + backslash  ■■.■■■■        for any number of backslashes
    /// ```
    #[inline(always)]
    pub fn odd(&mut self, colon: u64, string: u64, backslash: u64, quote: u64, before: u64) -> u64 {
        let (sum, carry_1) = string.overflowing_add(backslash & string);
        let (sum, carry_2) = sum.overflowing_add(self.spelt);
        self.spelt = (carry_1 | carry_2) as u64;
        let spelt_end = sum & !string & quote;
        let odd = colon & (!(quote << 1 | before >> 63) | spelt_end << 1 | self.spelt_end >> 63);
        self.spelt_end = spelt_end;
        odd
    }
}

/// The bytes that are escaped. Equals [`warpath_shared::index::escape::escaped`], except at backslashes, and
/// is faster.
///
/// ```text
/// text           a \ " b \ \ " \ \ \ " c      (bit 0 at the left)
/// may escape     . 1 . . 1 1 . 1 1 1 . .
/// << 1, | odd    . 1 1 1 . 1 1 1 1 1 1 1      (bits 1, 3, 5, …)
/// - may escape   . . 1 1 . . 1 . . . 1 1 *    borrows run from the start of a run on
/// ```
///
/// The pending escape at the end depends only on the run at the end, unless that run is the whole word.
#[inline(always)]
pub fn escaped(backslash: u64, pending: &mut u64) -> u64 {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let may_escape = backslash & !*pending;
    let codes = (may_escape << 1 | ODD).wrapping_sub(may_escape) ^ ODD;
    let escaped = codes ^ (backslash | *pending);
    let run = (!backslash).leading_zeros() as u64;
    *pending = run & 1 | run >> 6 & *pending;
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpath_random::Rng;
    use warpath_shared::index::escape;

    #[test]
    fn escaped_bytes_are_those_of_the_rule() {
        let mut rng = Rng::new(11);
        for round in 0..100_000 {
            let bits = rng.next_u64();
            // Few backslashes, many, and runs of every length.
            let backslash = match round % 3 {
                0 => bits & bits.rotate_left(17),
                1 => bits | bits.rotate_left(23),
                _ => u64::MAX.checked_shr((bits >> 40) as u32 % 65).unwrap_or(0) << ((bits >> 50) % 64),
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
