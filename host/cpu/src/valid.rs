//! A validator for the grammar of RFC 8259, over a text of whole lines, a word of 64 bytes at a time. It does
//! not check UTF-8.
//!
//! It returns one result for all lines together, and refuses a text that it cannot decide. It cannot decide
//! lines that nest deeper than the number of containers that fit in a word. [`crate::strict`] then validates
//! line by line, and lines that are still refused are diagnosed byte by byte. So a shortcut here may refuse
//! valid text, but may never accept invalid text.
//!
//! There are two checks. *The contents of strings* are checked for a whole word at once. No byte may be below
//! 0x20, which excludes newlines too. An escaped byte must be one of eight bytes or `u`, and the four bytes
//! after `u` must be hexadecimal digits.
//!
//! ```text
//! text       {"a\n":[12,"\u00e9"]}
//! escaped    ....1.......1........
//! string     .11111.....1111111...     an opening quote included, a closing one not
//! hex        .............1111....     wanted
//! ```
//!
//! *The order of tokens* is checked for a whole word at once, too ([`super::order`]). Numbers and literals
//! are then read one by one.
//!
//! A walk over tokens with a table of states, and a comparison for each class of bytes, lost
//! (docs/lab/cpu.md has the times).

use warpath_core::simd::outline::escaped;
use warpath_core::simd::{Isa, Simd, Work};
use warpath_shared::units::WORD_BYTES;

use super::batch::{Tokens, WordBatch};
use super::order::{Order, Words};

/// The numbers of lines and records of a valid text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Valid {
    /// The number of lines, blank ones included.
    pub lines: u32,
    /// The number of lines that are not blank.
    pub records: u64,
}

/// The validator, with memory that is reused from text to text.
#[derive(Default)]
pub(crate) struct Validator {
    batch: WordBatch,
    words: Words,
}

impl Validator {
    /// Counts a text in which each line is blank or one JSON text. Returns `None` for any other text, and if
    /// it cannot decide.
    pub(crate) fn valid(&mut self, text: &[u8]) -> Option<Valid> {
        Isa::best().run(Validate(text, &mut self.batch, &mut self.words))
    }
}

struct Validate<'a>(&'a [u8], &'a mut WordBatch, &'a mut Words);

impl Work for Validate<'_> {
    type Output = Option<Valid>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Option<Valid> {
        let Self(text, batch, words) = self;
        let (mut strings, mut order, mut valid) = (Strings::default(), Order::default(), Valid::default());
        let mut open = 0;
        batch.clear(true);
        batch.begin(simd, text, 0);
        while batch.words > 0 {
            let together = order.words(simd, batch, text, words)?;
            let mut low_in_strings = words.low_in_strings;
            for at in 0..batch.words {
                let (word, string) = (batch.text(text, at), batch.string(at));
                low_in_strings |= strings.bad(simd, word, batch.backslashes(at), string);
                let scalars = if at < together {
                    valid.records += u64::from(words.records[at].count_ones());
                    words.scalars[at]
                } else {
                    let low = simd.below(word, 0x20);
                    low_in_strings |= low & string;
                    let ordered = order.word(&batch.tokens(simd, text, at, low))?;
                    valid.records += u64::from(ordered.records.count_ones());
                    ordered.scalars
                };
                valid.lines += batch.brackets(at).newline.count_ones();
                if scalars != 0 && !are_scalars(simd, text, batch.place(at), word, scalars) {
                    return None;
                }
            }
            open = batch.string(batch.words - 1) >> 63;
            if low_in_strings != 0 {
                return None;
            }
            batch.advance(simd, text);
        }
        if text.last().is_some_and(|byte| *byte != b'\n') {
            valid.lines += 1;
            valid.records += u64::from(order.word(&Tokens::NEWLINE)?.records.count_ones());
        }
        // An open string contains the final newline, and every line that has ended is valid.
        (open == 0).then_some(valid)
    }
}

/// The state that one word passes to the next.
#[derive(Default)]
struct Strings {
    /// 1 if the first byte of the word is escaped.
    escape: u64,
    /// The bits of the word's first bytes that must be hexadecimal digits.
    hex: u64,
}

impl Strings {
    /// The bytes of a word that no escape may have at their positions.
    #[inline(always)]
    fn bad<S: Simd>(&mut self, simd: S, word: &[u8; WORD_BYTES], backslash: u64, string: u64) -> u64 {
        if backslash | self.escape | self.hex == 0 {
            return 0;
        }
        let equal = |byte| simd.equal(word, byte);
        // A backslash outside strings is not part of a valid token.
        let escaped = escaped(backslash, &mut self.escape) & string;
        let u = equal(b'u') & escaped;
        let simple = equal(b'/') | equal(b'b') | equal(b'f') | equal(b'n') | equal(b'r') | equal(b't');
        let bad = escaped & !(equal(b'"') | backslash | simple | u);
        let wanted = self.hex | u << 1 | u << 2 | u << 3 | u << 4;
        self.hex = u >> 63 | u >> 62 | u >> 61 | u >> 60;
        if wanted == 0 {
            return bad;
        }
        let range = |first, last| simd.below(word, last + 1) & !simd.below(word, first);
        bad | wanted & !(range(b'0', b'9') | range(b'A', b'F') | range(b'a', b'f'))
    }
}

/// Returns whether numbers or literals begin at some bytes of a word.
#[inline(always)]
fn are_scalars<S: Simd>(simd: S, text: &[u8], base: usize, word: &[u8; WORD_BYTES], mut starts: u64) -> bool {
    let digits = simd.below(word, b'9' + 1) & !simd.below(word, b'0');
    let zeros = simd.equal(word, b'0');
    while starts != 0 {
        let bit = starts & starts.wrapping_neg();
        starts ^= bit;
        let at = bit.trailing_zeros() as usize;
        // Most numbers are digits alone. The sum carries to the byte after them.
        let end = digits.wrapping_add(bit) & !digits & bit.wrapping_neg();
        let past = end & end.wrapping_neg();
        let after = word[past.trailing_zeros() as usize % WORD_BYTES];
        let is_plain = digits & bit != 0 && past != 0 && matches!(after, b',' | b'}' | b']' | b'\n');
        if !(is_plain && (zeros & bit == 0 || past == bit << 1) || is_scalar(text, base + at)) {
            return false;
        }
    }
    true
}

/// The byte at an offset; a newline after the text.
#[inline(always)]
fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(b'\n')
}

/// Returns whether a number or literal begins at an offset, and a byte that may follow a token comes after
/// it.
#[inline(always)]
fn is_scalar(text: &[u8], at: usize) -> bool {
    let literal = |literal: &[u8]| text[at..].starts_with(literal).then_some(at + literal.len());
    let end = match byte(text, at) {
        b't' => literal(b"true"),
        b'f' => literal(b"false"),
        b'n' => literal(b"null"),
        _ => number(text, at),
    };
    end.is_some_and(|end| matches!(byte(text, end), b',' | b'}' | b']' | b':' | b'\n' | b' ' | b'\t' | b'\r'))
}

/// The end of the number at an offset. If the number begins with 0, a digit after that is not part of it.
#[inline(always)]
fn number(text: &[u8], mut at: usize) -> Option<usize> {
    at += (byte(text, at) == b'-') as usize;
    at = if byte(text, at) == b'0' { at + 1 } else { digits(text, at)? };
    if byte(text, at) == b'.' {
        at = digits(text, at + 1)?;
    }
    if let b'e' | b'E' = byte(text, at) {
        at += 1;
        at = digits(text, at + matches!(byte(text, at), b'+' | b'-') as usize)?;
    }
    Some(at)
}

/// The end of a run of at least one digit.
#[inline(always)]
fn digits(text: &[u8], begin: usize) -> Option<usize> {
    let mut at = begin;
    while byte(text, at).is_ascii_digit() {
        at += 1;
    }
    (at > begin).then_some(at)
}

#[cfg(test)]
mod tests {
    use warpath_random::Rng;
    use warpath_random::table::texts;

    use super::*;
    use crate::strict;

    /// Tests valid and invalid texts of all kinds, at every offset in a word and in every instruction set.
    #[test]
    fn what_is_valid_is_so_at_every_place() {
        let table = include_str!("../../../tests/data/json.txt");
        let texts = |section, good| texts(table, section).into_iter().map(move |[text]| (text, good));
        let bad = texts("bad", false).chain(texts("bad strings", false));
        let all: Vec<(String, bool)> = texts("good", true).chain(bad).collect();
        let mut validator = Validator::default();
        for isa in Isa::all() {
            for pad in 0..140 {
                // White space moves the text, and so does a string before it.
                for before in [" ".repeat(pad), format!("\"{}\"\n", "x".repeat(pad))] {
                    let lines = 1 + before.contains('\n') as u32;
                    for (text, good) in &all {
                        for end in ["", "\n", "\n\n{}"] {
                            let text = format!("{before}{text}{end}");
                            let valid = isa.run(Validate(
                                text.as_bytes(),
                                &mut validator.batch,
                                &mut validator.words,
                            ));
                            let more = if end.len() > 1 { (2, 1) } else { (0, 0) };
                            let records = u64::from(lines) + more.1;
                            let want = good.then_some(Valid { lines: lines + more.0, records });
                            assert_eq!(valid, want, "{}: {}", isa.name(), text.escape_debug());
                        }
                    }
                }
            }
        }
        assert_eq!(validator.valid(b""), Some(Valid::default()));
        assert_eq!(validator.valid(b" \t\r\n\n "), Some(Valid { lines: 3, records: 0 }));
    }

    /// Every text that the rule refuses is refused, and every text that it accepts is accepted, unless the
    /// text is too deep.
    #[test]
    fn no_more_is_valid_than_the_rule_says() {
        let mut rng = Rng::new(3);
        const PARTS: [&str; 24] = [
            "{", "}", "[", "]", ":", ",", "\"a\"", "\"", "\\", "1", "0", "-", ".", "e", "true", "null", " ",
            "\"a\":1", "[1]", "{}", "\\u00e9", "\t", "\"\\n\"", ",\"b\":",
        ];
        let (mut good, mut bad) = (0, 0);
        let mut validator = Validator::default();
        for _ in 0..200_000 {
            // Before it is white space, or a line that lets words be checked together.
            let mut text = " ".repeat(rng.below(70));
            let is_second = rng.below(2) == 0;
            if is_second {
                text = format!("{{\"x\":\"{}\"}}\n", "x".repeat(text.len()));
            }
            let begin = text.len();
            for _ in 0..1 + rng.below(7) {
                text.push_str(rng.pick(&PARTS));
            }
            if rng.below(2) == 0 {
                text.push('\n');
            }
            let line = &text[if is_second { begin } else { 0 }..];
            let blank = line.trim().is_empty();
            let want = blank || strict::fault(line.trim_end_matches('\n').as_bytes()).is_none();
            *if want { &mut good } else { &mut bad } += 1;
            for isa in Isa::all() {
                let valid = isa.run(Validate(text.as_bytes(), &mut validator.batch, &mut validator.words));
                let records = !blank as u64 + is_second as u64;
                let lines = 1 + (is_second && !line.is_empty()) as u32;
                let want = want.then_some(Valid { lines, records });
                assert_eq!(valid, want, "{}: {}", isa.name(), text.escape_debug());
            }
        }
        assert!(good > 5_000 && bad > 50_000, "{good} {bad}");
    }
}
