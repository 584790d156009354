//! Which lines are not *plain*.
//!
//! In a plain line every string stands close to what is around it, and no name has an escape: then a name that is looked
//! for is known by the distance of the bits of its level, before a byte of it is read ([`crate::query::document::find_gap`]). In
//! most lines this is so, whoever wrote them: `{"a":1}`, `{"a": 1, "b": [2]}`. A line is *loose* if
//!
//! * a string does not begin one byte, or two, behind a separator or an opening bracket; or
//! * a separator, a closing bracket or the line's end does not follow a string at once; or
//! * a name has an escape in it.
//!
//! ```text
//! {"a":1, "b":2}        plain
//! {"a" :1}              loose: a space behind the string
//! {"a":1,  "b":2}       loose: two spaces before the string
//! {"\u0061":1}          loose: an escape in a name
//! {"a":"\u0061"}        plain: it is a value that has it
//! ```
//!
//! A plain line may be called loose, which costs time only: one with a name of which more than 64 bytes are in one tile and
//! some in the next, and one that is a string and nothing else.

/// What of one word matters, a bitmap each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strings {
    /// Quotes that open a string.
    pub opening: u64,
    /// Quotes that close one in which there is an escape.
    pub closing_escaped: u64,
    /// Quotes that close one.
    pub closing: u64,
    /// What may stand before a string: separators and opening brackets.
    pub before: u64,
    /// What may follow one: separators, closing brackets and newlines.
    pub behind: u64,
    /// Colons outside strings.
    pub colon: u64,
}

/// What a word has to say to the one at its right, in its highest bits: of its last byte and of the one before that, whether
/// they may stand before a string; whether the last closes a string; and whether it closes one with an escape in it. The
/// other bits mean nothing.
///
/// ```text
/// bit 31  the last byte may stand before a string       bit 29  the last byte closes a string
/// bit 30  the last but one may                          bit 28  and there is an escape in that
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Edge(pub u32);

impl Edge {
    /// The edge of two bytes, given whether the last of them closes a string, and whether there is an escape in that.
    #[inline(always)]
    pub const fn behind(closes: bool, escaped: bool, last: u8, last_but_one: u8) -> Self {
        const fn may_precede(byte: u8) -> u32 {
            matches!(byte, b',' | b':' | b'{' | b'[') as u32
        }
        let precede = may_precede(last) << 31 | may_precede(last_but_one) << 30;
        Self(precede | (closes as u32) << 29 | ((closes & escaped) as u32) << 28)
    }
}

/// A word moved up by one or two bytes, with the highest bits of what is at its left.
#[inline(always)]
const fn moved<const BY: u32>(word: u64, left: u32) -> u64 {
    let (low, high) = (word as u32, (word >> 32) as u32);
    (low << BY | left >> (32 - BY)) as u64 | ((high << BY | low >> (32 - BY)) as u64) << 32
}

impl Strings {
    /// Where the word's lines are loose, given the edge at its left.
    #[inline(always)]
    pub const fn loose(&self, left: Edge) -> u64 {
        let begins = moved::<1>(self.before, left.0) | moved::<2>(self.before, left.0);
        let behind_closed = moved::<1>(self.closing, left.0 << 2);
        let behind_escaped = moved::<1>(self.closing_escaped, left.0 << 3);
        behind_closed & !self.behind | self.opening & !begins | behind_escaped & self.colon
    }

    /// The edge at its right.
    #[inline(always)]
    pub const fn edge(&self) -> Edge {
        const fn high(word: u64) -> u32 {
            (word >> 32) as u32
        }
        let closes = high(self.closing) >> 2 & 0b10 << 28 | high(self.closing_escaped) >> 3 & !(0b10 << 28);
        Edge(high(self.before) & 0b11 << 30 | closes & !(0b11 << 30))
    }
}

/// The quotes that close strings with an escape in them: `string` is the word of the string bitmap, `escape` the backslashes
/// within it, and `open` (0 or 1) says whether a string reaches into the word that has an escape already. Returns also whether
/// one reaches out of it.
///
/// An addition carries each escape to the first byte behind its string:
///
/// ```text
/// text        "a\"b":"c"        bit 0 at the left
/// string      ■■■■■. ■■.
/// escape      ..■... ...
/// sum         ■■...■ ■■.        all that is not in a string and set is a quote
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
        // A string without an escape, into which an open one reaches.
        assert_eq!(closing_escaped(0b111, 0, 1), (0b1000, false));
        assert_eq!(closing_escaped(0, 0, 1), (1, false));
        // Out of the word: by an escape of its own, and passed on.
        assert_eq!(closing_escaped(!0 << 60, 1 << 62, 0), (0, true));
        assert_eq!(closing_escaped(!0, 0, 1), (0, true));
        assert_eq!(closing_escaped(!0, 0, 0), (0, false));
    }
}
