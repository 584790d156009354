//! The check of strings and scalars by RFC 8259 and RFC 3629: the rule for one word of 64 bytes, in a text
//! whose strings are known.
//!
//! The order of tokens is not checked here: the builder of trees does that ([`crate::tree::tape`]). Together
//! the two checks cover all of RFC 8259, in UTF-8.
//!
//! There is no loop over tokens. 64 bytes are checked at once, as eight *planes* ([`planes`]), and the effect
//! of a byte on the next one is a shift. Only numbers need to reach farther. There a carry runs through the
//! digits:
//!
//! ```text
//! text            1 2 . 3 4 5 , - 1 e + 0 7 . 5          (bit 0 at the left)
//! digit           1 1 . 1 1 1 . . 1 . . 1 1 . 1
//! after a point   . . . 1 . . . . . . . . . . 1
//! sum of both     1 1 . . . . 1 . 1 . . 1 1 . . 1        a carry ends where its digits do
//! fraction        . . . 1 1 1 . . . . . . . . 1          digits that the sum lacks
//! ```
//!
//! No point may follow a fraction's digits, and neither a point nor an `e` may follow those of an exponent.
//! The last point of the text above breaks this rule.
//!
//! *Words are linked* by a [`StrictCarry`], which a word computes alone, so there is no scan. In two cases
//! the carry depends on the word at the left: 63 digits, or 60 backslashes, in a row. In these cases the word
//! is suspected instead. So a suspicion is not a verdict: the caller reads a suspected line again. A text
//! that is not suspected is valid.

use crate::index::escape::escaped;
use crate::units::WORD_BYTES;

/// Bit *i* of plane *b* is bit *b* of byte *i*.
pub type Planes = [u64; 8];

/// The planes of a word, computed one bit at a time: the rule with which kernels, which swap halves, are
/// compared.
pub fn planes(word: &[u8; WORD_BYTES]) -> Planes {
    let mut planes = [0; 8];
    for (i, byte) in word.iter().enumerate() {
        for (b, plane) in planes.iter_mut().enumerate() {
            *plane |= (*byte as u64 >> b & 1) << i;
        }
    }
    planes
}

/// The state that a word passes to the word at its right. The default is the state at the start of a text or
/// a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StrictCarry(u32);

impl StrictCarry {
    /// The carry as bits of a word.
    #[inline(always)]
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// The carry that [`to_bits`](Self::to_bits) returned as `bits`.
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

/// The bits from the left word and for the right word, in the order in which the checks use them.
struct Sides {
    left: u32,
    right: u32,
    bits: u32,
}

impl Sides {
    /// Moves a set to the next position.
    #[inline(always)]
    fn behind(&mut self, set: u64) -> u64 {
        let at_left = self.take();
        self.give(set);
        set << 1 | at_left
    }

    /// The current bit from the left word, as position 0.
    #[inline(always)]
    const fn take(&self) -> u64 {
        (self.left >> self.bits & 1) as u64
    }

    /// Passes the last position of a set to the right word, and goes on to the next bit.
    #[inline(always)]
    fn give(&mut self, set: u64) {
        self.right |= ((set >> 63) as u32) << self.bits;
        self.bits += 1;
    }
}

/// The digits from each position of `from` on. Each run of digits has at most one such position.
#[inline(always)]
const fn run(digits: u64, from: u64) -> u64 {
    digits & !digits.wrapping_add(from & digits)
}

/// One word as sets of its bytes. Unless a set's description says so, it has bytes in strings and outside
/// them.
#[derive(Clone, Copy, Debug)]
pub struct StrictWord {
    /// Bytes in strings, including the opening quote but not the closing one.
    string: u64,
    /// Bytes outside strings that are not white space, brackets or separators. Closing quotes are among them.
    plain: u64,
    /// Bytes that are faults at any position.
    never: u64,
    backslash: u64,
    /// `"`, `\`, `/`, `b`, `f`, `n`, `r` and `t`.
    simple_escape: u64,
    hex: u64,
    letters: Letters,
    number: NumberBytes,
    utf8: Utf8Bytes,
}

/// The letters that literals and numbers have, and `\u`.
#[derive(Clone, Copy, Debug)]
struct Letters {
    a: u64,
    e: u64,
    f: u64,
    l: u64,
    n: u64,
    r: u64,
    s: u64,
    t: u64,
    u: u64,
}

#[derive(Clone, Copy, Debug)]
struct NumberBytes {
    digit: u64,
    zero: u64,
    point: u64,
    minus: u64,
    plus: u64,
    /// `E`. The lower-case `e` is among the letters.
    upper_e: u64,
}

#[derive(Clone, Copy, Debug)]
struct Utf8Bytes {
    /// 80 to BF.
    tail: u64,
    /// The first bytes of characters of two, three and four bytes.
    lead: [u64; 3],
    /// E0 and F0: the next byte is at least A0, or 90.
    low: u64,
    /// ED and F4: the next byte is less than A0, or 90.
    high: u64,
    /// Bits 5 and 4 of each byte.
    bits: [u64; 2],
}

impl StrictWord {
    /// The sets of a word with the given strings. Only the positions in `text` are part of the text.
    #[inline(always)]
    pub fn of(planes: &Planes, string: u64, text: u64) -> Self {
        let [p0, p1, p2, p3, p4, p5, p6, p7] = *planes;
        let low = |nibble: u32| {
            let bit = |b: u32, plane: u64| if nibble >> b & 1 == 1 { plane } else { !plane };
            bit(0, p0) & bit(1, p1) & bit(2, p2) & bit(3, p3)
        };
        let ascii = !p7;
        let row = [
            ascii & !p6 & !p5 & !p4,
            ascii & !p6 & !p5 & p4,
            ascii & !p6 & p5 & !p4,
            ascii & !p6 & p5 & p4,
            ascii & p6 & !p5 & !p4,
            ascii & p6 & !p5 & p4,
            ascii & p6 & p5 & !p4,
            ascii & p6 & p5 & p4,
        ];
        let is = |byte: u8| row[(byte >> 4) as usize] & low((byte & 15) as u32);

        let bracket = (row[5] | row[7]) & p3 & p0 & (p2 ^ p1);
        let structure = bracket | is(b':') | is(b',');
        let space = is(b' ') | row[0] & p3 & (!p2 & (p1 ^ p0) | p2 & !p1 & p0);
        let letters = Letters {
            a: is(b'a'),
            e: is(b'e'),
            f: is(b'f'),
            l: is(b'l'),
            n: is(b'n'),
            r: is(b'r'),
            s: is(b's'),
            t: is(b't'),
            u: is(b'u'),
        };
        let Letters { f, n, r, t, .. } = letters;
        let backslash = is(b'\\');
        let digit = row[3] & (!p3 | !p2 & !p1);

        let first = p7 & p6;
        let lead = [first & !p5, first & p5 & !p4, first & p5 & p4 & !p3];
        // C0 and C1 are overlong; F5 to F7 are above U+10FFFF; F8 to FF begin no character.
        let no_lead = first & p5 & p4 & p3 | lead[0] & !p4 & !p3 & !p2 & !p1 | lead[2] & p2 & (p1 | p0);
        let control = (row[0] | row[1]) & string;
        Self {
            string,
            plain: !(string | structure | space) & text,
            never: no_lead | control,
            backslash,
            simple_escape: is(b'"') | backslash | is(b'/') | is(b'b') | f | n | r | t,
            hex: digit | (row[4] | row[6]) & !p3 & (p2 | p1 | p0) & !(p2 & p1 & p0),
            letters,
            number: NumberBytes {
                digit,
                zero: is(b'0'),
                point: is(b'.'),
                minus: is(b'-'),
                plus: is(b'+'),
                upper_e: is(b'E'),
            },
            utf8: Utf8Bytes {
                tail: p7 & !p6,
                lead,
                low: (lead[1] | lead[2]) & low(0),
                high: lead[1] & low(13) | lead[2] & low(4),
                bits: [p5, p4],
            },
        }
    }

    /// The carry to the word at the right. If the word at the left could change it, this word is suspected.
    #[inline(always)]
    pub fn carry(&self) -> StrictCarry {
        self.check(StrictCarry::default()).1
    }

    /// Returns the positions at which the word is suspected, given the carry of the word at the left. Each
    /// line with a faulty string or scalar has a suspected position in some word.
    #[inline(always)]
    pub fn suspects(&self, left: StrictCarry) -> u64 {
        self.check(left).0
    }

    #[inline(always)]
    fn check(&self, left: StrictCarry) -> (u64, StrictCarry) {
        let mut sides = Sides { left: left.0, right: 0, bits: 0 };
        let strings = self.strings(&mut sides);
        let utf8 = self.utf8.check(&mut sides);
        let scalars = self.scalars(&mut sides);
        (self.never | strings | utf8 | scalars, StrictCarry(sides.right))
    }

    /// Checks escapes.
    #[inline(always)]
    fn strings(&self, sides: &mut Sides) -> u64 {
        let mut pending = sides.take() == 1;
        let escaped = escaped(self.backslash, &mut pending) & self.string & !self.backslash;
        sides.give((pending as u64) << 63);
        let u = escaped & self.letters.u;
        let mut digit = u;
        let mut digits = 0;
        let mut i = 0;
        while i < 4 {
            digit = sides.behind(digit);
            digits |= digit;
            i += 1;
        }
        let all_escapes = (self.backslash | 0xf << 60 == !0) as u64;
        escaped & !(self.simple_escape | u) | digits & !self.hex | all_escapes
    }

    /// Checks numbers and literals, and finds bytes that are neither.
    #[inline(always)]
    fn scalars(&self, sides: &mut Sides) -> u64 {
        let behind_string = sides.behind(self.string);
        let scalar = self.plain & !behind_string;
        let behind_scalar = sides.behind(scalar);
        let (literal, mut bad) = self.literals(sides, scalar, behind_scalar);

        let bytes = &self.number;
        let number = scalar & !literal;
        let start = number & !behind_scalar;
        let digit = bytes.digit & number;
        let point = bytes.point & number;
        let minus = bytes.minus & number;
        let e = (self.letters.e | bytes.upper_e) & number;
        let sign = minus | bytes.plus & number;
        bad |= number & !(digit | point | e | sign) | start & !(digit | minus);

        let behind_e = sides.behind(e);
        let behind_point = sides.behind(point);
        bad |= sign & !(behind_e | minus & start);
        bad |= (point | e) & !sides.behind(digit);
        bad |= (behind_point | sides.behind(sign)) & !digit | behind_e & !(digit | sign);
        let zero = bytes.zero & number & (start | sides.behind(minus & start));
        bad |= sides.behind(zero) & digit;

        let before = sides.take();
        let fraction = run(digit, behind_point | before);
        sides.give(fraction);
        bad |= (fraction << 1 | before) & point;
        let behind_sign = sides.behind(behind_e & sign);
        let before = sides.take();
        let exponent = run(digit, behind_e | behind_sign | before);
        sides.give(exponent);
        bad |= (exponent << 1 | before) & (point | e);
        // A carry from the left may pass through all digits to the right, even past the sign of an exponent.
        let all_digits = (digit | 1 == !0) as u64;
        bad | all_digits << 63
    }

    /// Returns the bytes of literals, and the positions at which a literal begins but does not go on.
    #[inline(always)]
    fn literals(&self, sides: &mut Sides, scalar: u64, behind_scalar: u64) -> (u64, u64) {
        let Letters { a, e, f, l, n, r, s, t, u } = self.letters;
        let mut bad = 0;
        let mut then = |set: u64, letter: u64| {
            let next = sides.behind(set);
            bad |= next & !letter;
            next & letter
        };
        let (t, f, n) = (t & scalar, f & scalar, n & scalar);
        let r = then(t, r);
        let u_of_true = then(r, u);
        let a = then(f, a);
        let l_of_false = then(a, l);
        let s = then(l_of_false, s);
        let e = then(u_of_true | s, e);
        let u_of_null = then(n, u);
        let first_l = then(u_of_null, l);
        let last_l = then(first_l, l);
        // A literal has `t`, `f` or `n` only as its first letter.
        bad |= (t | f | n) & behind_scalar | sides.behind(e | last_l) & scalar;
        let of_true_and_false = t | r | u_of_true | f | a | l_of_false | s | e;
        (of_true_and_false | n | u_of_null | first_l | last_l, bad)
    }
}

impl Utf8Bytes {
    /// Returns the positions at which the bytes are not UTF-8. A byte requires continuation bytes only while
    /// they follow, so a newline passes no requirement to the next line.
    #[inline(always)]
    fn check(&self, sides: &mut Sides) -> u64 {
        let [lead_2, lead_3, lead_4] = self.lead;
        // From here on three more bytes are required, or two, or one.
        let three = sides.behind(lead_4);
        let two = sides.behind(lead_3 | three & self.tail);
        let one = sides.behind(lead_2 | two & self.tail);
        let [bit_5, bit_4] = self.bits;
        let is_high = bit_5 | bit_4 & three;
        let second = sides.behind(self.low) & !is_high | sides.behind(self.high) & is_high;
        (one | two | three) ^ self.tail | second
    }
}

#[cfg(test)]
mod tests;
