//! Tokens: brackets, separators, strings and scalars. Their positions in a word, and their effects on the
//! tree.
//!
//! ```text
//! text      {"a": 12,"b c":[] }
//! start     ■■  ■ ■ ■■    ■■■ ■
//! past       ■  ■■  ■■     ■■■ ■     the position after a token's last byte
//! ```
//!
//! Tokens do not overlap, so the token that begins at the *k*-th start ends at the *k*-th past.

use super::NodeKind;
use super::operator::Count;
use crate::index::class::is_whitespace;
use crate::index::line::IndexedWord;
use crate::units::{Depth, WORD_BYTES};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TokenKind {
    /// `{`
    OpenObject,
    /// `[`
    OpenArray,
    /// `}`
    CloseObject,
    /// `]`
    CloseArray,
    /// `:`
    Colon,
    /// `,`
    Comma,
    /// A string that is not followed by `:`.
    String,
    /// A string that is followed by `:`.
    Name,
    /// A token that begins as a number does.
    Number,
    /// `true`
    True,
    /// `false`
    False,
    /// `null`
    Null,
    /// Any other run of bytes.
    Other,
    /// No token: before the first one, and after the last one.
    Edge,
}

impl TokenKind {
    /// Returns the kind of the node that begins with the token, or `None` if no node does.
    #[inline(always)]
    pub const fn node(self) -> Option<NodeKind> {
        match self {
            Self::OpenObject => Some(NodeKind::Object),
            Self::OpenArray => Some(NodeKind::Array),
            Self::String => Some(NodeKind::String),
            Self::Name => Some(NodeKind::Name),
            Self::Number => Some(NodeKind::Number),
            Self::True => Some(NodeKind::True),
            Self::False => Some(NodeKind::False),
            Self::Null => Some(NodeKind::Null),
            _ => None,
        }
    }

    /// Returns true if the token opens a container.
    #[inline(always)]
    pub const fn opens(self) -> bool {
        matches!(self, Self::OpenObject | Self::OpenArray)
    }

    /// Returns true if the token closes a container.
    #[inline(always)]
    pub const fn closes(self) -> bool {
        matches!(self, Self::CloseObject | Self::CloseArray)
    }

    /// Returns true if the token closes the container that `opener` opens.
    #[inline(always)]
    pub const fn matches(self, opener: Self) -> bool {
        matches!((opener, self), (Self::OpenObject, Self::CloseObject) | (Self::OpenArray, Self::CloseArray))
    }

    /// The change of the number of open containers.
    #[inline(always)]
    pub const fn nesting(self) -> Depth {
        self.opens() as Depth - self.closes() as Depth
    }
}

/// The starts and ends of the tokens of one word, one bitmap for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenWord {
    /// The first byte of each token.
    pub start: u64,
    /// The position after the last byte of each token.
    pub past: u64,
}

/// The state of a word's last byte, for the word at its right. The default is the state at a text's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCarry {
    /// The byte is in a string, and is not the closing quote.
    string: bool,
    /// The byte is a whole token, or closes a string.
    done: bool,
    /// The byte is in a scalar.
    scalar: bool,
}

impl TokenCarry {
    /// The carry after a word. No byte at the word's left changes it.
    #[inline(always)]
    pub const fn behind(word: &IndexedWord, space: u64) -> Self {
        let mut carry = Self { string: false, done: false, scalar: false };
        tokens(word, space, &mut carry);
        carry
    }

    /// The carry from the last two bytes alone. `strings` says for each if it is in a string. `structure` and
    /// `space` say if the last byte is structure, or white space.
    #[inline(always)]
    pub const fn of_bytes(strings: [bool; 2], structure: bool, space: bool) -> Self {
        let [before, string] = strings;
        let done = !string && (structure || before);
        Self { string, done, scalar: !(string || done || space) }
    }

    /// The carry as three bits.
    #[inline(always)]
    pub const fn to_bits(self) -> u32 {
        self.string as u32 | (self.done as u32) << 1 | (self.scalar as u32) << 2
    }

    /// The carry that [`to_bits`](Self::to_bits) returned as `bits`.
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> Self {
        Self { string: bits & 1 != 0, done: bits & 2 != 0, scalar: bits & 4 != 0 }
    }
}

/// Returns the tokens of one word, given its strings and structure, its white space ([`white_space`]) and the
/// carry at its left. Moves `carry` to the word's right.
#[inline(always)]
pub const fn tokens(word: &IndexedWord, space: u64, carry: &mut TokenCarry) -> TokenWord {
    let structure = word.open | word.close | word.separator;
    let behind_string = word.string << 1 | carry.string as u64;
    let closing = behind_string & !word.string;
    let done = structure | closing;
    let scalar = !(word.string | done | space);
    let behind_scalar = scalar << 1 | carry.scalar as u64;
    let start = structure | word.string & !behind_string | scalar & !behind_scalar;
    let past = done << 1 | carry.done as u64 | behind_scalar & !scalar;
    *carry = TokenCarry { string: word.string >> 63 == 1, done: done >> 63 == 1, scalar: scalar >> 63 == 1 };
    TokenWord { start, past }
}

/// Returns the white space of one word, including white space in strings.
#[inline(always)]
pub fn white_space(word: &[u8; WORD_BYTES]) -> u64 {
    let mut space = 0;
    for (i, byte) in word.iter().enumerate() {
        space |= (is_whitespace(*byte) as u64) << i;
    }
    space
}

/// Returns the kind of a token of at least one byte. A string is a [`TokenKind::String`]; [`named`] finds the
/// names among them.
#[inline(always)]
pub const fn kind(token: &[u8]) -> TokenKind {
    match token {
        [b'{', ..] => TokenKind::OpenObject,
        [b'[', ..] => TokenKind::OpenArray,
        [b'}', ..] => TokenKind::CloseObject,
        [b']', ..] => TokenKind::CloseArray,
        [b':', ..] => TokenKind::Colon,
        [b',', ..] => TokenKind::Comma,
        [b'"', ..] => TokenKind::String,
        [b'-' | b'0'..=b'9', ..] => TokenKind::Number,
        b"true" => TokenKind::True,
        b"false" => TokenKind::False,
        b"null" => TokenKind::Null,
        _ => TokenKind::Other,
    }
}

/// Returns the kind of a token, given the kind of the next one.
#[inline(always)]
pub const fn named(this: TokenKind, next: TokenKind) -> TokenKind {
    match (this, next) {
        (TokenKind::String, TokenKind::Colon) => TokenKind::Name,
        _ => this,
    }
}

/// Returns the effect of a token of a JSON text on node number and depth, given its neighbours.
///
/// A name opens a node. The comma before another name, or the closing brace, ends the member and closes that
/// node. So no rule depends on the kind of the container:
///
/// ```text
/// text      { "a" : [ 1 , 2 ] , "b" : { } }
/// nodes     1  1  0 1 1 0 1 0 0  1  0 1 0 0
/// depth    +1 +1  0+1 0 0 0-1-1 +1  0+1-1-2
/// ```
#[inline(always)]
pub const fn weight(previous: TokenKind, this: TokenKind, next: TokenKind) -> Count {
    let (nodes, depth) = match this {
        TokenKind::OpenObject | TokenKind::OpenArray | TokenKind::Name => (1, 1),
        TokenKind::String
        | TokenKind::Number
        | TokenKind::True
        | TokenKind::False
        | TokenKind::Null
        | TokenKind::Other => (1, 0),
        TokenKind::CloseArray => (0, -1),
        TokenKind::CloseObject => (0, if matches!(previous, TokenKind::OpenObject) { -1 } else { -2 }),
        TokenKind::Comma => (0, if matches!(next, TokenKind::Name) { -1 } else { 0 }),
        TokenKind::Colon | TokenKind::Edge => (0, 0),
    };
    Count { nodes, depth }
}

/// Returns the effect of a bracket on node number and depth, in a text of brackets only. An opening bracket
/// is a node, and any container may be in any other.
#[inline(always)]
pub const fn bracket_weight(this: TokenKind) -> Count {
    Count { nodes: this.opens() as u32, depth: this.nesting() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::class::Classes;
    use crate::index::line::{LineState, index_word};
    use crate::index::string::prefix_xor;
    use std::string::String;
    use std::vec::Vec;

    /// The tokens of a text by the rules for words, with `pad` spaces before it.
    fn found(text: &str, pad: usize) -> Vec<String> {
        let mut bytes = std::vec![b' '; pad];
        bytes.extend_from_slice(text.as_bytes());
        bytes.resize((bytes.len() / WORD_BYTES + 1) * WORD_BYTES, b' ');
        let (mut state, mut carry) = (LineState::default(), TokenCarry::default());
        let (mut starts, mut pasts) = (Vec::new(), Vec::new());
        for (w, word) in bytes.as_chunks::<WORD_BYTES>().0.iter().enumerate() {
            let indexed = index_word(&Classes::of(word), &mut state, prefix_xor);
            let bits = tokens(&indexed, white_space(word), &mut carry);
            let places = |bits: u64| (0..64).filter(move |i| bits >> i & 1 == 1).map(move |i| w * 64 + i);
            starts.extend(places(bits.start));
            pasts.extend(places(bits.past));
        }
        assert_eq!(starts.len(), pasts.len(), "{text}");
        let token = |(start, past)| std::str::from_utf8(&bytes[start..past]).unwrap().into();
        starts.into_iter().zip(pasts).map(token).collect()
    }

    #[test]
    fn tokens_of_words_wherever_words_end() {
        let cases: [(&str, &[&str]); 8] = [
            ("", &[]),
            ("7", &["7"]),
            (r#"{"a": 12,"b c":[] }"#, &["{", "\"a\"", ":", "12", ",", "\"b c\"", ":", "[", "]", "}"]),
            (r#""\"" "\\"x"#, &[r#""\"""#, r#""\\""#, "x"]),
            (r#"""""1"a""#, &["\"\"", "\"\"", "1", "\"a\""]),
            ("[1,\t-2.5e7\r,true]\n", &["[", "1", ",", "-2.5e7", ",", "true", "]"]),
            ("a{b}c:d,e", &["a", "{", "b", "}", "c", ":", "d", ",", "e"]),
            (r#"x\"y"z""#, &[r#"x\"y"#, "\"z\""]),
        ];
        for (text, want) in cases {
            for pad in 0..130 {
                assert_eq!(found(text, pad), want, "{text} behind {pad} spaces");
            }
        }
    }

    #[test]
    fn kinds() {
        for (text, want) in [
            ("true", TokenKind::True),
            ("false", TokenKind::False),
            ("null", TokenKind::Null),
            ("nul", TokenKind::Other),
            ("nulls", TokenKind::Other),
            ("True", TokenKind::Other),
            ("-", TokenKind::Number),
            ("0x1", TokenKind::Number),
            ("+1", TokenKind::Other),
            (".5", TokenKind::Other),
            ("\"true\"", TokenKind::String),
        ] {
            assert_eq!(kind(text.as_bytes()), want, "{text}");
        }
        assert_eq!(named(TokenKind::String, TokenKind::Colon), TokenKind::Name);
        assert_eq!(named(TokenKind::Number, TokenKind::Colon), TokenKind::Number);
        assert_eq!(named(TokenKind::String, TokenKind::Comma), TokenKind::String);
    }
}
