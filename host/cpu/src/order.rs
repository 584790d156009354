//! The order of tokens by RFC 8259, for a word of 64 bytes at once.
//!
//! A token may follow another one by rules that are nearly all about two neighbours (RFC 8259, sections 2 to
//! 5). So tokens are not visited. They are sets of bits, and the token that follows is a shift away, or a sum
//! away where white space lies between:
//!
//! ```text
//! text          {"a" :[12, true],"b":{}}    the token after these is expected to be
//! to value      .....11..1..........1...    a value: colons, [, commas in arrays
//! to name       1...............1....1..    a name: {, commas in objects
//! name's end    ...1...............1....    a colon
//! other ends    ........1.....11......11    a comma, a closing bracket, or a line feed
//! ```
//!
//! A string is a name if a name is expected where it opens. A sum carries this to its closing quote.
//!
//! The kinds of brackets decide what commas mean. Brackets are visited one by one, with the kinds of the open
//! containers as a stack of bits, as in [`super::scan`]. In lines that lie within a batch they are not
//! visited: the shape of the line gives these kinds ([`super::shape`]).
//!
//! The contents of strings and of other scalars are left to the caller.

use warpath_core::simd::Simd;
use warpath_core::simd::outline::WORDS;

use super::batch::{Brackets, Tokens, WordBatch};
use super::shape::{self, Shapes};

/// The results of a word without a fault.
#[derive(Clone, Copy)]
pub(super) struct Ordered {
    /// The line feeds of lines that are not blank.
    pub records: u64,
    /// The first bytes of numbers and literals, or of what is there in their place.
    pub scalars: u64,
}

/// A stack of no containers. Each open container is a bit below the topmost one: 1 for an object.
const ROOT: u64 = 0b10;

/// The state that one word passes to the next. The default is the state at the start of a line.
pub(super) struct Order {
    /// The open containers.
    stack: u64,
    /// Set within a line.
    in_line: bool,
    /// 1 if the next token is expected to be a value.
    value: u64,
    /// 1 if the next token is expected to be a name.
    name: u64,
    /// 1 if the next token is expected to be a colon.
    colon: u64,
    /// 1 if the next token is the first of a line or a container.
    first: u64,
    /// 1 if a name is open.
    in_name: u64,
    /// 1 if the last byte belongs to a number or a literal.
    scalar: u64,
}

impl Default for Order {
    fn default() -> Self {
        Self { stack: ROOT, in_line: false, value: 1, name: 0, colon: 0, first: 1, in_name: 0, scalar: 0 }
    }
}

/// The tokens that follow other tokens. `carry` is 1 if one of these is the last of an earlier word.
///
/// ```text
/// tokens            1......1...
/// space             .111......1
/// << 1              .1......1..
/// + space           ....1.......     the sum carries to the end of the white space, or to the next word
/// ```
#[inline(always)]
fn after(tokens: u64, space: u64, carry: &mut u64) -> u64 {
    let next = tokens << 1 | *carry;
    let (sum, carried) = space.overflowing_add(next & space);
    *carry = tokens >> 63 | carried as u64;
    (next | sum) & !space
}

/// The results for words that are checked together, and memory for that.
pub(super) struct Words {
    shapes: Shapes,
    /// The first bytes of numbers and literals, or of what is there in their place.
    pub scalars: [u64; WORDS],
    /// The line feeds of lines that are not blank.
    pub records: [u64; WORDS],
    /// Not 0 if a byte below 0x20 is in a string.
    pub low_in_strings: u64,
}

impl Default for Words {
    fn default() -> Self {
        Self { shapes: Shapes::default(), scalars: [0; WORDS], records: [0; WORDS], low_in_strings: 0 }
    }
}

/// Words without white space other than line feeds. They are variables of one function, so that the compiler
/// knows that nothing else is at their addresses, and uses vectors.
struct Masks {
    comma: [u64; WORDS],
    open: [u64; WORDS],
    close: [u64; WORDS],
    brace: [u64; WORDS],
    newline: [u64; WORDS],
    /// The bytes in objects, as far as commas are concerned.
    in_object: [u64; WORDS],
}

impl Masks {
    /// Finds the bytes in objects of the line that begins at a bit of a word, by its shape. Returns the word
    /// and the bit at which the next line begins. `None` if the line does not end among the first `count`
    /// words, or is not one container that its brackets allow.
    #[inline(always)]
    fn by_shape<S: Simd>(
        &mut self,
        simd: S,
        shapes: &mut Shapes,
        start: (usize, u32),
        count: usize,
    ) -> Option<(usize, u32)> {
        let (first, bit) = start;
        let Self { open, close, brace, newline, in_object, .. } = self;
        if open[first] >> bit & 1 == 0 {
            return None;
        }
        let mut brackets = shape::Brackets::default();
        let (mut last, mut keep) = (first, u64::MAX << bit);
        let end = loop {
            let end = newline[last] & keep;
            keep &= end ^ end.wrapping_sub(1);
            let here = (open[last] | close[last]) & keep;
            let more = here.count_ones();
            if brackets.count + more > 63 {
                return None;
            }
            brackets.opens |= simd.gather(open[last], here) << brackets.count;
            brackets.braces |= simd.gather(brace[last], here) << brackets.count;
            brackets.count += more;
            if end != 0 {
                break end & end.wrapping_neg();
            }
            (last, keep) = (last + 1, u64::MAX);
            if last == count {
                return None;
            }
        };
        // The root's closing bracket comes just before the line feed.
        let closing = if end > 1 { close[last] & end >> 1 } else { close[last.checked_sub(1)?] >> 63 };
        let shape = shapes.of(brackets);
        if closing == 0 || !shape.regular {
            return None;
        }
        let (mut kinds, mut before) = (shape.objects, 0);
        keep = u64::MAX << bit;
        for word in first..=last {
            if word == last {
                keep &= end ^ end.wrapping_sub(1);
            }
            let here = (open[word] | close[word]) & keep;
            let more = here.count_ones();
            let changed = (kinds ^ (kinds << 1 | before)) & ((1 << more) - 1);
            let region = simd.prefix_xor(simd.scatter(changed, here)) ^ before.wrapping_neg();
            in_object[word] |= region & keep;
            before = (kinds << 1 | before) >> more & 1;
            kinds >>= more;
            keep = u64::MAX;
        }
        Some(after_bit(last, end))
    }
}

/// The word and the bit after a bit of a word.
fn after_bit(word: usize, bit: u64) -> (usize, u32) {
    let next = bit.trailing_zeros() + 1;
    if next == u64::BITS { (word + 1, 0) } else { (word, next) }
}

/// The bits after some bits. Element 0 is the word before.
#[inline(always)]
fn next(words: &[u64; 1 + WORDS], at: usize) -> u64 {
    words[at + 1] << 1 | words[at] >> 63
}

impl Order {
    /// Follows the brackets of a word. Returns the bytes in objects, the bytes outside all containers, and a
    /// number that is not 0 if there is a fault.
    #[inline(always)]
    fn brackets(&mut self, brackets: Brackets) -> (u64, u64, u64) {
        let Brackets { open, close, brace, newline } = brackets;
        let (mut stack, mut bad) = (self.stack, 0);
        let (mut in_object, mut outside, mut rest) = (0, 0, u64::MAX);
        let mut left = open | close | newline;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            left ^= bit;
            let between = rest & (bit - 1);
            in_object |= between & (stack & 1).wrapping_neg();
            outside |= between & ((stack == ROOT) as u64).wrapping_neg();
            rest = (bit << 1).wrapping_neg();
            let kind = (brace & bit != 0) as u64;
            let (opens, closes) = (open & bit != 0, close & bit != 0);
            bad |= closes as u64 & ((stack ^ kind) & 1 | (stack == ROOT) as u64);
            bad |= (newline & bit != 0 && stack != ROOT) as u64 | (opens as u64) & stack >> 63;
            let pushed = stack << 1 | kind;
            let other = if closes { stack >> 1 } else { stack };
            stack = if opens { pushed } else { other };
        }
        in_object |= rest & (stack & 1).wrapping_neg();
        outside |= rest & ((stack == ROOT) as u64).wrapping_neg();
        self.stack = stack;
        (in_object, outside, bad)
    }

    /// Checks the order of the tokens of a word. `None` if it is not that of JSON, or if containers are too
    /// deep.
    #[inline(always)]
    pub(super) fn word(&mut self, tokens: &Tokens) -> Option<Ordered> {
        let Tokens { string, quote, brackets, colon, comma, space } = *tokens;
        let Brackets { open, close, brace, newline } = brackets;
        let (in_object, outside, mut bad) = self.brackets(brackets);
        let to_value = colon | open & !brace | comma & !in_object | newline;
        let to_name = open & brace | comma & in_object;
        let value = after(to_value, space, &mut self.value);
        let name = after(to_name, space, &mut self.name);
        let first = after(open | newline, space, &mut self.first);
        let opening = quote & string;
        // The sum carries out of each name at its closing quote.
        let (sum, carried) = string.overflowing_add(opening & name);
        let (sum, carried_too) = sum.overflowing_add(self.in_name);
        self.in_name = (carried | carried_too) as u64;
        let ahead = after(sum & !string, space, &mut self.colon);
        let scalar = !(string | quote | open | close | colon | comma | newline | space);
        let scalars = scalar & !(scalar << 1 | self.scalar);
        self.scalar = scalar >> 63;
        self.in_line = newline >> 63 == 0;

        bad |= comma & outside | colon ^ ahead;
        bad |= comma & (value | name) | opening & !(value | name) | (scalars | open) & !value;
        bad |= (close | newline) & (value | name) & !first;
        (bad == 0).then_some(Ordered { records: newline & !value, scalars })
    }

    /// Returns whether the tokens of all words of a batch are in the order of JSON, and no byte below 0x20 is
    /// in a string.
    #[inline(always)]
    pub(super) fn holds<S: Simd>(
        &mut self,
        simd: S,
        batch: &WordBatch,
        text: &[u8],
        words: &mut Words,
    ) -> bool {
        let Some(together) = self.words(simd, batch, text, words) else { return false };
        words.low_in_strings == 0
            && (together..batch.words).all(|at| {
                let low = simd.below(batch.text(text, at), 0x20);
                low & batch.string(at) == 0 && self.word(&batch.tokens(simd, text, at, low)).is_some()
            })
    }

    /// Checks the words of a batch up to one with white space other than line feeds, which needs
    /// [`word`](Self::word). Returns the number of words; `None` as [`word`](Self::word) does.
    #[inline(always)]
    pub(super) fn words<S: Simd>(
        &mut self,
        simd: S,
        batch: &WordBatch,
        text: &[u8],
        words: &mut Words,
    ) -> Option<usize> {
        let (strings, quotes, colons) = batch.strings();
        let count = batch.words.min(WORDS);
        let (mut low_in_strings, mut clean) = (0, count);
        let none = [0; WORDS];
        let mut masks =
            Masks { comma: none, open: none, close: none, brace: none, newline: none, in_object: none };
        for at in 0..count {
            let (string, bytes) = (strings[at + 1], batch.text(text, at));
            let (low, space) = (simd.below(bytes, 0x20), simd.equal(bytes, b' '));
            let Brackets { open, close, brace, newline } = batch.brackets(at);
            if (low & !newline | space) & !string != 0 {
                clean = at;
                break;
            }
            low_in_strings |= low & string;
            masks.comma[at] = simd.equal(bytes, b',') & !string;
            (masks.open[at], masks.close[at]) = (open, close);
            (masks.brace[at], masks.newline[at]) = (brace, newline);
        }
        words.low_in_strings = low_in_strings;
        if clean == 0 {
            return Some(0);
        }
        let mut bad = self.regions(simd, &mut masks, &mut words.shapes, clean);
        // The tokens after which a value, a name, or the first token of a line or a container is expected,
        // the closing quotes of names, and the bytes of numbers and literals. The word before is first.
        let none = [0; 1 + WORDS];
        let [mut to_value, mut to_name, mut to_first, mut to_colon, mut scalar] = [none; 5];
        let (mut scalars, mut records) = ([0; WORDS], [0; WORDS]);
        to_value[0] = self.value << 63;
        to_name[0] = self.name << 63;
        to_first[0] = self.first << 63;
        to_colon[0] = self.colon << 63;
        scalar[0] = self.scalar << 63;
        let (string, quote, colon) = (&strings[1..=clean], &quotes[1..=clean], &colons[..clean]);
        let (comma, in_object) = (&masks.comma[..clean], &masks.in_object[..clean]);
        let (open, brace) = (&masks.open[..clean], &masks.brace[..clean]);
        let (close, newline) = (&masks.close[..clean], &masks.newline[..clean]);
        for at in 0..clean {
            let to_element = open[at] & !brace[at] | comma[at] & !in_object[at];
            to_value[at + 1] = colon[at] | newline[at] | to_element;
            to_name[at + 1] = open[at] & brace[at] | comma[at] & in_object[at];
            to_first[at + 1] = open[at] | newline[at];
            let structure = open[at] | close[at] | colon[at] | comma[at] | newline[at];
            scalar[at + 1] = !(string[at] | quote[at] | structure);
        }
        for at in 0..clean {
            to_colon[at + 1] = quote[at] & string[at] & next(&to_name, at);
        }
        // The sum carries out of each name at its closing quote.
        let mut in_name = self.in_name;
        for at in 0..clean {
            let (sum, carried) = string[at].overflowing_add(to_colon[at + 1]);
            let (sum, carried_too) = sum.overflowing_add(in_name);
            in_name = (carried | carried_too) as u64;
            to_colon[at + 1] = sum & !string[at];
        }
        for at in 0..clean {
            let value = next(&to_value, at);
            let begin = value | next(&to_name, at);
            let opening = quote[at] & string[at];
            let starts = scalar[at + 1] & !next(&scalar, at);
            bad |= colon[at] ^ next(&to_colon, at);
            bad |= comma[at] & begin | opening & !begin | (starts | open[at]) & !value;
            bad |= (close[at] | newline[at]) & begin & !next(&to_first, at);
            scalars[at] = starts;
            records[at] = newline[at] & !value;
        }
        (words.scalars, words.records) = (scalars, records);
        (self.in_name, self.scalar) = (in_name, scalar[clean] >> 63);
        (self.value, self.name) = (to_value[clean] >> 63, to_name[clean] >> 63);
        (self.first, self.colon) = (to_first[clean] >> 63, to_colon[clean] >> 63);
        (bad == 0).then_some(clean)
    }

    /// Finds the bytes in objects of the first `count` masks. Returns a number that is not 0 if there is a
    /// fault.
    #[inline(always)]
    fn regions<S: Simd>(&mut self, simd: S, masks: &mut Masks, shapes: &mut Shapes, count: usize) -> u64 {
        let (mut at, mut bad) = ((0, 0), 0);
        while at.0 < count {
            if !self.in_line
                && let Some(next) = masks.by_shape(simd, shapes, at, count)
            {
                at = next;
                continue;
            }
            let (word, bit) = at;
            let keep = u64::MAX << bit;
            let end = masks.newline[word] & keep;
            let keep = keep & (end ^ end.wrapping_sub(1));
            let [open, close, newline] =
                [&masks.open, &masks.close, &masks.newline].map(|of| of[word] & keep);
            let brackets = Brackets { open, close, brace: masks.brace[word], newline };
            let (in_object, outside, fault) = self.brackets(brackets);
            masks.in_object[word] |= in_object & keep;
            bad |= fault | masks.comma[word] & outside & keep;
            self.in_line = end == 0;
            at = if end == 0 { (word + 1, 0) } else { after_bit(word, end & end.wrapping_neg()) };
        }
        bad
    }
}
