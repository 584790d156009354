//! Tokens: brackets, separators, strings and scalars; where they stand in a word, and what each does to the tree.
//!
//! ```text
//! text      {"a": 12,"b c":[] }
//! start     ■■  ■ ■ ■■    ■■■ ■
//! past       ■  ■■  ■■     ■■■ ■     one past a token's last byte
//! ```
//!
//! Tokens do not overlap, so the token that begins at the *k*-th start ends at the *k*-th past.

use super::NodeKind;
use super::operator::Count;
use crate::index::class::is_whitespace;
use crate::index::line::IndexedWord;
use crate::units::{Depth, WORD_BYTES};

/// What a token is.
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
    /// A string without a `:` behind it.
    String,
    /// A string with a `:` behind it.
    Name,
    /// What begins as a number does.
    Number,
    /// `true`
    True,
    /// `false`
    False,
    /// `null`
    Null,
    /// Any other run of bytes.
    Other,
    /// None: before the first token, and behind the last.
    Edge,
}

impl TokenKind {
    /// The kind of the node that begins with the token, if one does.
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

    /// Whether it opens a container.
    #[inline(always)]
    pub const fn opens(self) -> bool {
        matches!(self, Self::OpenObject | Self::OpenArray)
    }

    /// Whether it closes one.
    #[inline(always)]
    pub const fn closes(self) -> bool {
        matches!(self, Self::CloseObject | Self::CloseArray)
    }

    /// Whether it closes what `opener` opens.
    #[inline(always)]
    pub const fn matches(self, opener: Self) -> bool {
        matches!((opener, self), (Self::OpenObject, Self::CloseObject) | (Self::OpenArray, Self::CloseArray))
    }

    /// What it does to the number of containers that are open.
    #[inline(always)]
    pub const fn nesting(self) -> Depth {
        self.opens() as Depth - self.closes() as Depth
    }
}

/// What of one word matters to tokens, a bitmap each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenWord {
    /// The first byte of each token.
    pub start: u64,
    /// One past the last byte of each.
    pub past: u64,
}

/// What a word has to say of its last byte to the word at its right. The default is a text's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCarry {
    /// It is in a string, the closing quote left out.
    string: bool,
    /// It is a whole token, or closes a string.
    done: bool,
    /// It is in a scalar.
    scalar: bool,
}

impl TokenCarry {
    /// What a word has to say to its right. Nothing at its left changes that.
    #[inline(always)]
    pub const fn behind(word: &IndexedWord, space: u64) -> Self {
        let mut carry = Self { string: false, done: false, scalar: false };
        tokens(word, space, &mut carry);
        carry
    }

    /// The same by the last two bytes alone: is each in a string, and is the last one structure, or white space?
    #[inline(always)]
    pub const fn of_bytes(strings: [bool; 2], structure: bool, space: bool) -> Self {
        let [before, string] = strings;
        let done = !string && (structure || before);
        Self { string, done, scalar: !(string || done || space) }
    }

    /// In three bits.
    #[inline(always)]
    pub const fn to_bits(self) -> u32 {
        self.string as u32 | (self.done as u32) << 1 | (self.scalar as u32) << 2
    }

    /// The carry of such bits.
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> Self {
        Self { string: bits & 1 != 0, done: bits & 2 != 0, scalar: bits & 4 != 0 }
    }
}

/// The tokens of one word, given its strings and structure, its white space ([`white_space`]), and what is at its left.
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

/// The white space of one word, in strings too.
#[inline(always)]
pub fn white_space(word: &[u8; WORD_BYTES]) -> u64 {
    let mut space = 0;
    for (i, byte) in word.iter().enumerate() {
        space |= (is_whitespace(*byte) as u64) << i;
    }
    space
}

/// What a token is by its bytes, of which there is one at least. A string is a [`TokenKind::String`], until [`named`] says otherwise.
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

/// What a token is, given the one behind it.
#[inline(always)]
pub const fn named(this: TokenKind, next: TokenKind) -> TokenKind {
    match (this, next) {
        (TokenKind::String, TokenKind::Colon) => TokenKind::Name,
        _ => this,
    }
}

/// What a token of a JSON text does to node number and depth, given its neighbours.
///
/// A name is opened by itself, and closed by what ends its member: the comma before another name, or the brace. So no rule
/// needs to know what container it is in:
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

/// What a bracket does to node number and depth, where there is nothing but brackets: an opening one is a node, and any
/// container may be in any other.
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

    /// The tokens of a text by the rules for words, `pad` spaces before it.
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
