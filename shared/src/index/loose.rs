//! The lines that are not *plain*.
//!
//! In a plain line every string is close to the bytes around it, and no name has an escape. Then the search
//! for a name can use the distance of two bits of a level, before it reads a byte of the name
//! ([`crate::query::document::find_gap`]). Most lines from any source are plain: `{"a":1}`,
//! `{"a": 1, "b": [2]}`. A line is *loose* if
//!
//! * a string does not begin one or two bytes after a separator or an opening bracket; or
//! * a separator, a closing bracket or the line's end does not follow a string at once; or
//! * a name has an escape in it.
//!
//! ```text
//! {"a":1, "b":2}        plain
//! {"a" :1}              loose: a space after the string
//! {"a":1,  "b":2}       loose: two spaces before the string
//! {"\u0061":1}          loose: an escape in a name
//! {"a":"\u0061"}        plain: the escape is in a value
//! ```
//!
//! The check may call a plain line loose, which costs only time. This happens to two kinds of plain lines: a
//! line that is a single string, and a line with a name that crosses a tile's end and has more than 64 bytes
//! before it.

/// The bytes of one word that decide if a line is loose, one bitmap for each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strings {
    /// Quotes that open a string.
    pub opening: u64,
    /// Quotes that close a string with an escape in it.
    pub closing_escaped: u64,
    /// Quotes that close a string.
    pub closing: u64,
    /// Bytes that may precede a string: separators and opening brackets.
    pub before: u64,
    /// Bytes that may follow a string: separators, closing brackets and newlines.
    pub behind: u64,
    /// Colons outside strings.
    pub colon: u64,
    /// Brackets that open.
    pub open: u64,
    /// Brackets that close.
    pub close: u64,
    /// Newlines.
    pub newline: u64,
}

/// The state that a word passes to the word at its right, in the highest bits. The other bits are zero.
///
/// ```text
/// bit 31  the last byte may precede a string       bit 28  that string has an escape
/// bit 30  the last but one may                     bit 27  the last byte is a closing bracket
/// bit 29  the last byte closes a string            bit 26  the last byte is a newline
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Edge(pub u32);

impl Edge {
    /// The edge at the start of a text, as after a newline.
    pub const START: Self = Self(1 << 26);

    /// The edge after two bytes. `closes` says if the last byte closes a string, and `escaped` if that string
    /// has an escape.
    #[inline(always)]
    pub const fn behind(closes: bool, escaped: bool, last: u8, last_but_one: u8) -> Self {
        const fn may_precede(byte: u8) -> u32 {
            matches!(byte, b',' | b':' | b'{' | b'[') as u32
        }
        let precede = may_precede(last) << 31 | may_precede(last_but_one) << 30;
        let is_close = (last == b'}' || last == b']') as u32;
        let of_line = is_close << 27 | ((last == b'\n') as u32) << 26;
        Self(precede | (closes as u32) << 29 | ((closes & escaped) as u32) << 28 | of_line)
    }
}

/// Moves a word up by one or two bits, and fills it with the highest bits of `left`.
#[inline(always)]
const fn moved<const BY: u32>(word: u64, left: u32) -> u64 {
    let (low, high) = (word as u32, (word >> 32) as u32);
    (low << BY | left >> (32 - BY)) as u64 | ((high << BY | low >> (32 - BY)) as u64) << 32
}

impl Strings {
    /// Returns the positions at which the word's lines are loose, given the edge at its left.
    #[inline(always)]
    pub const fn loose(&self, left: Edge) -> u64 {
        let begins = moved::<1>(self.before, left.0) | moved::<2>(self.before, left.0);
        let behind_closed = moved::<1>(self.closing, left.0 << 2);
        let behind_escaped = moved::<1>(self.closing_escaped, left.0 << 3);
        behind_closed & !self.behind | self.opening & !begins | behind_escaped & self.colon
    }

    /// The colons that no string precedes at once, the newlines that no closing bracket precedes at once, and
    /// the bytes at the start of a line that are no opening bracket, given the edge at the left.
    #[inline(always)]
    pub const fn odd(&self, left: Edge) -> u64 {
        let behind_closed = moved::<1>(self.closing, left.0 << 2);
        let behind_close = moved::<1>(self.close, left.0 << 4);
        let begins = moved::<1>(self.newline, left.0 << 5);
        self.colon & !behind_closed | self.newline & !behind_close | begins & !self.open
    }

    /// The edge at the word's right.
    #[inline(always)]
    pub const fn edge(&self) -> Edge {
        const fn high(word: u64) -> u32 {
            (word >> 32) as u32
        }
        let closes = high(self.closing) >> 2 & 1 << 29 | high(self.closing_escaped) >> 3 & 1 << 28;
        let of_line = high(self.close) >> 4 & 1 << 27 | high(self.newline) >> 5 & 1 << 26;
        Edge(high(self.before) & 0b11 << 30 | closes | of_line)
    }
}

/// Returns the quotes that close strings with an escape in them, and true if such a string continues in the
/// next word. `string` is the word of the string bitmap, and `escape` has the backslashes within it. `open`
/// is 1 if a string with an escape continues from the word before, and 0 otherwise.
///
/// An addition carries each escape to the first byte after its string:
///
/// ```text
/// text        "a\"b":"c"        bit 0 at the left
/// string      ■■■■■. ■■.
/// escape      ..■... ...
/// sum         ■■...■ ■■.        a set bit that is not in a string is a quote
/// ```
#[inline(always)]
pub const fn closing_escaped(string: u64, escape: u64, open: u64) -> (u64, bool) {
    let (sum, over) = string.overflowing_add(escape);
    let (sum, over_open) = sum.overflowing_add(open);
    (sum & !string, over | over_open)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(text: &[u8], holds: impl Fn(usize) -> bool) -> u64 {
        (0..text.len()).filter(|i| holds(*i)).fold(0, |bits, i| bits | 1 << i)
    }

    #[test]
    fn escapes_are_carried_to_the_closing_quote() {
        let text = br#""a\"b\n":"c","\\""#;
        let string = bits(text, |i| (0..7).contains(&i) || (9..11).contains(&i) || (13..16).contains(&i));
        let escape = bits(text, |i| text[i] == b'\\');
        assert_eq!(closing_escaped(string, escape, 0), (1 << 7 | 1 << 16, false));
        // A string without an escape, which continues a string with an escape.
        assert_eq!(closing_escaped(0b111, 0, 1), (0b1000, false));
        assert_eq!(closing_escaped(0, 0, 1), (1, false));
        // The string continues in the next word: with an escape of its own, and with one from the word
        // before.
        assert_eq!(closing_escaped(!0 << 60, 1 << 62, 0), (0, true));
        assert_eq!(closing_escaped(!0, 0, 1), (0, true));
        assert_eq!(closing_escaped(!0, 0, 0), (0, false));
    }
}
