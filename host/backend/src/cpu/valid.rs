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
//! quote      .1...1.....1......1..
//! inside     .11111.....1111111...     an opening quote included, a closing one not
//! hex        .............1111....     wanted
//! starts     11....11 .11.......11     tokens begin
//! ```
//!
//! *The order of tokens* is checked token by token. A table gives the next state from the previous state, the
//! innermost container and the token's first byte. The kinds of the open containers are pairs of bits in one
//! word.

use warpath_core::simd::outline::escaped;
use warpath_core::simd::{Isa, Simd, Work};
use warpath_shared::units::WORD_BYTES;

/// The numbers of lines and records of a valid text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Valid {
    /// The number of lines, blank ones included.
    pub lines: u32,
    /// The number of lines that are not blank.
    pub records: u64,
}

/// Counts a text in which each line is blank or one JSON text. Returns `None` for any other text, and if it
/// cannot decide.
pub(crate) fn valid(text: &[u8]) -> Option<Valid> {
    Isa::best().run(Validate(text))
}

struct Validate<'a>(&'a [u8]);

impl Work for Validate<'_> {
    type Output = Option<Valid>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Option<Valid> {
        let text = self.0;
        let (mut strings, mut walk) = (Strings::default(), Walk::default());
        let mut lines = 0;
        let (words, rest) = text.as_chunks();
        for (at, word) in words.iter().enumerate() {
            let found = strings.word(simd, word)?;
            lines += found.newline.count_ones();
            walk.word(text, at * WORD_BYTES, word, found.starts)?;
        }
        if !rest.is_empty() {
            let mut word = [b' '; WORD_BYTES];
            word[..rest.len()].copy_from_slice(rest);
            let found = strings.word(simd, &word)?;
            lines += found.newline.count_ones();
            walk.word(text, words.len() * WORD_BYTES, &word, found.starts)?;
        }
        if text.last().is_some_and(|byte| *byte != b'\n') {
            lines += 1;
            walk.end_line()?;
        }
        // An open string contains the final newline, and every line that has ended is valid.
        (strings.open == 0).then_some(Valid { lines, records: walk.records })
    }
}

/// The state that one word passes to the next.
#[derive(Default)]
struct Strings {
    /// 1 if the first byte of the word is escaped.
    escape: u64,
    /// All ones if the word begins in a string.
    open: u64,
    /// The bits of the word's first bytes that must be hexadecimal digits.
    hex: u64,
    /// 1 if the byte before the word is part of a number or literal, or a byte that no token may have.
    scalar: u64,
}

/// The tokens of a word whose strings are valid.
struct Found {
    /// The first bytes of tokens.
    starts: u64,
    /// Line feeds.
    newline: u64,
}

impl Strings {
    #[inline(always)]
    fn word<S: Simd>(&mut self, simd: S, word: &[u8; WORD_BYTES]) -> Option<Found> {
        let equal = |byte| simd.equal(word, byte);
        let (backslash, quotes) = (equal(b'\\'), equal(b'"'));
        let escaped = escaped(backslash, &mut self.escape);
        let quote = quotes & !escaped;
        let inside = simd.prefix_xor(quote) ^ self.open;
        self.open = (inside as i64 >> 63) as u64;
        let mut bad = simd.below(word, 0x20) & inside;
        // A backslash outside strings is not part of a valid token.
        let escaped = escaped & inside;
        if escaped | self.hex != 0 {
            let u = equal(b'u') & escaped;
            let simple = equal(b'/') | equal(b'b') | equal(b'f') | equal(b'n') | equal(b'r') | equal(b't');
            bad |= escaped & !(quotes | backslash | simple | u);
            let range = |first, last| simd.below(word, last + 1) & !simd.below(word, first);
            let hex = range(b'0', b'9') | range(b'A', b'F') | range(b'a', b'f');
            bad |= (self.hex | u << 1 | u << 2 | u << 3 | u << 4) & !hex;
            self.hex = u >> 63 | u >> 62 | u >> 61 | u >> 60;
        }
        if bad != 0 {
            return None;
        }
        let newline = equal(b'\n');
        let bracket = equal(b'{') | equal(b'}') | equal(b'[') | equal(b']');
        let operator = bracket | equal(b':') | equal(b',') | newline;
        let other = !(operator | equal(b' ') | equal(b'\t') | equal(b'\r'));
        let scalar = other & !quote;
        let goes_on = scalar << 1 | self.scalar;
        self.scalar = scalar >> 63;
        // Tokens do not begin within a string or at its closing quote.
        Some(Found { starts: (operator | other & !goes_on) & !(inside ^ quote), newline })
    }
}

/// Kinds of tokens, by their first byte.
mod token {
    pub const STRING: usize = 0;
    pub const SCALAR: usize = 1;
    pub const OPEN_OBJECT: usize = 2;
    pub const OPEN_ARRAY: usize = 3;
    pub const CLOSE_OBJECT: usize = 4;
    pub const CLOSE_ARRAY: usize = 5;
    pub const COLON: usize = 6;
    pub const COMMA: usize = 7;
    pub const NEWLINE: usize = 8;
    pub const NONE: usize = 9;

    /// The kind of token that begins with each byte.
    pub static OF: [u8; 256] = {
        let mut of = [NONE as u8; 256];
        let bytes = b"\"{[}]:,\n-tfn0123456789";
        let mut i = 0;
        while i < bytes.len() {
            of[bytes[i] as usize] = match bytes[i] {
                b'"' => STRING,
                b'{' => OPEN_OBJECT,
                b'[' => OPEN_ARRAY,
                b'}' => CLOSE_OBJECT,
                b']' => CLOSE_ARRAY,
                b':' => COLON,
                b',' => COMMA,
                b'\n' => NEWLINE,
                _ => SCALAR,
            } as u8;
            i += 1;
        }
        of
    };
}

/// Kinds of the innermost container: the lowest two bits of `containers`.
const ROOT: usize = 0;
const ARRAY: usize = 1;
const OBJECT: usize = 2;

/// States: the tokens that are allowed next.
mod state {
    /// No token: the line is not JSON, whatever follows.
    pub const BAD: u8 = 0;
    /// A value; outside all containers also the end of a blank line.
    pub const VALUE: u8 = 1;
    /// A value, or the end of the array.
    pub const FIRST_VALUE: u8 = 2;
    /// A name.
    pub const NAME: u8 = 3;
    /// A name, or the end of the object.
    pub const FIRST_NAME: u8 = 4;
    /// A colon.
    pub const COLON: u8 = 5;
    /// A token after a value: a comma, a closing bracket, or the end of the line.
    pub const AFTER: u8 = 6;
}

/// The index of a transition in the table.
const fn place(state: u8, container: usize, token: usize) -> usize {
    (state as usize) << 6 | container << 4 | token
}

/// The next state for each index; transitions that are not listed are bad.
static NEXT: [u8; 512] = {
    use state::*;
    let mut next = [BAD; 512];
    let mut container = ROOT;
    while container <= OBJECT {
        let mut state = VALUE;
        while state <= FIRST_VALUE {
            next[place(state, container, token::STRING)] = AFTER;
            next[place(state, container, token::SCALAR)] = AFTER;
            next[place(state, container, token::OPEN_OBJECT)] = FIRST_NAME;
            next[place(state, container, token::OPEN_ARRAY)] = FIRST_VALUE;
            state += 1;
        }
        container += 1;
    }
    next[place(VALUE, ROOT, token::NEWLINE)] = VALUE;
    next[place(FIRST_VALUE, ARRAY, token::CLOSE_ARRAY)] = AFTER;
    next[place(NAME, OBJECT, token::STRING)] = COLON;
    next[place(FIRST_NAME, OBJECT, token::STRING)] = COLON;
    next[place(FIRST_NAME, OBJECT, token::CLOSE_OBJECT)] = AFTER;
    next[place(COLON, OBJECT, token::COLON)] = VALUE;
    next[place(AFTER, ARRAY, token::COMMA)] = VALUE;
    next[place(AFTER, ARRAY, token::CLOSE_ARRAY)] = AFTER;
    next[place(AFTER, OBJECT, token::COMMA)] = NAME;
    next[place(AFTER, OBJECT, token::CLOSE_OBJECT)] = AFTER;
    next[place(AFTER, ROOT, token::NEWLINE)] = VALUE;
    next
};

/// The state of the walk over tokens.
struct Walk {
    state: u8,
    /// The open containers, two bits each, the innermost in the lowest bits. Bits above the outermost are
    /// zeros.
    containers: u64,
    records: u64,
}

impl Default for Walk {
    fn default() -> Self {
        Self { state: state::VALUE, containers: 0, records: 0 }
    }
}

impl Walk {
    /// Walks the tokens that begin in a word of the text. The word begins at offset `base`.
    #[inline(always)]
    fn word(&mut self, text: &[u8], base: usize, word: &[u8; WORD_BYTES], mut starts: u64) -> Option<()> {
        while starts != 0 {
            let place_in_word = starts.trailing_zeros() as usize;
            let at = base + place_in_word;
            starts &= starts - 1;
            let token = token::OF[word[place_in_word % WORD_BYTES] as usize] as usize;
            let next = NEXT[place(self.state, (self.containers & 3) as usize, token) % NEXT.len()];
            // Most tokens are strings, colons and commas, and need none of the following.
            if token == token::SCALAR && !is_scalar(text, at) {
                return None;
            }
            if token == token::NEWLINE {
                self.end_line()?;
                continue;
            }
            if (token::OPEN_OBJECT..=token::CLOSE_ARRAY).contains(&token) {
                if token >= token::CLOSE_OBJECT {
                    self.containers >>= 2;
                } else if self.containers >> 62 == 0 {
                    let kind = if token == token::OPEN_OBJECT { OBJECT } else { ARRAY };
                    self.containers = self.containers << 2 | kind as u64;
                } else {
                    return None;
                }
            }
            self.state = next;
        }
        Some(())
    }

    /// Ends a line, which must be valid.
    #[inline(always)]
    fn end_line(&mut self) -> Option<()> {
        let next = NEXT[place(self.state, (self.containers & 3) as usize, token::NEWLINE) % NEXT.len()];
        self.records += (self.state == state::AFTER) as u64;
        self.state = next;
        (next != state::BAD).then_some(())
    }
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

    use super::*;
    use crate::strict;

    /// Tests valid and invalid texts of all kinds, at every offset in a word and in every instruction set.
    #[test]
    fn what_is_valid_is_so_at_every_place() {
        const GOOD: [&str; 12] = [
            "1",
            "-0.5e+10",
            "true",
            "[false,null]",
            "\"\"",
            r#""\"\\\/\b\f\n\r\t\u00eF\ud800""#,
            "{}",
            "[[],{},[{}]]",
            " { \"a\" : [ 1 ,\t-0.0 , \"x\" ] , \"b\":{ \"c\":\"}\" }} \r",
            "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
            r#"{"\\":"\\\\","\\\"":1}"#,
            "0E0",
        ];
        const BAD: [&str; 34] = [
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "-",
            "1 2",
            "nul",
            "truex",
            "true\"a\"",
            "1\"a\"",
            "\"a\"1",
            "\"a\"\"b\"",
            "[1,]",
            "[,1]",
            "[1 2]",
            "[1:2]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "{1:2}",
            "{\"a\":1 \"b\":2}",
            "[1}",
            "{]",
            "]",
            "[",
            "{\"a\":[1,2}",
            "\"a",
            "\"a\tb\"",
            r#""\x""#,
            r#""\u00g0""#,
            r#""\u00""#,
            "\\\"a\"",
        ];
        for isa in Isa::all() {
            for pad in 0..140 {
                // White space moves the text, and so does a string before it.
                for before in [" ".repeat(pad), format!("\"{}\"\n", "x".repeat(pad))] {
                    let lines = 1 + before.contains('\n') as u32;
                    for (text, good) in
                        GOOD.map(|text| (text, true)).into_iter().chain(BAD.map(|text| (text, false)))
                    {
                        for end in ["", "\n", "\n\n{}"] {
                            let text = format!("{before}{text}{end}");
                            let valid = isa.run(Validate(text.as_bytes()));
                            let more = if end.len() > 1 { (2, 1) } else { (0, 0) };
                            let records = u64::from(lines) + more.1;
                            let want = good.then_some(Valid { lines: lines + more.0, records });
                            assert_eq!(valid, want, "{}: {}", isa.name(), text.escape_debug());
                        }
                    }
                }
            }
        }
        assert_eq!(valid(b""), Some(Valid::default()));
        assert_eq!(valid(b" \t\r\n\n "), Some(Valid { lines: 3, records: 0 }));
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
        for _ in 0..200_000 {
            let mut text = " ".repeat(rng.below(70));
            for _ in 0..1 + rng.below(7) {
                text.push_str(rng.pick(&PARTS));
            }
            let blank = text.trim().is_empty();
            let want = blank || strict::fault(text.as_bytes()).is_none();
            *if want { &mut good } else { &mut bad } += 1;
            for isa in Isa::all() {
                let valid = isa.run(Validate(text.as_bytes()));
                let records = !blank as u64;
                let want = want.then_some(Valid { lines: 1, records });
                assert_eq!(valid, want, "{}: {}", isa.name(), text.escape_debug());
            }
        }
        assert!(good > 5_000 && bad > 50_000, "{good} {bad}");
    }
}
