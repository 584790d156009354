//! The tokens of a text.

use warpath_shared::index::class::Classes;
use warpath_shared::index::line::{LineState, index_word};
use warpath_shared::index::string::prefix_xor;
use warpath_shared::tree::token::{self, TokenCarry, TokenKind};
use warpath_shared::tree::{TreeFault, TreeFaultKind};
use warpath_shared::units::{PartOffset, WORD_BYTES};

/// The tokens of a text, in order: three arrays of one length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The first byte of each token.
    pub start: Vec<PartOffset>,
    /// The offset after the last byte of each token.
    pub end: Vec<PartOffset>,
    /// The kind of each token.
    pub kind: Vec<TokenKind>,
}

impl Tokens {
    /// The number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Returns whether there is no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// The kind of the token with an index; [`TokenKind::Edge`] if there is none.
    #[must_use]
    pub fn at(&self, token: usize) -> TokenKind {
        self.kind.get(token).copied().unwrap_or(TokenKind::Edge)
    }

    /// The kind of the token before an index.
    #[must_use]
    pub fn before(&self, token: usize) -> TokenKind {
        token.checked_sub(1).map_or(TokenKind::Edge, |before| self.at(before))
    }

    /// The tokens of a JSON text in which [`diagnose`](warpath_shared::check::diagnose) finds no fault. The
    /// rules for words give the starts and ends, which are compacted to one array each.
    pub(super) fn of_json(text: &[u8]) -> Self {
        let mut tokens = Self::default();
        let (mut state, mut carry) = (LineState::default(), TokenCarry::default());
        // One word more than the full ones, because a token that ends with a full word has its end in the
        // next word.
        for w in 0..=text.len() / WORD_BYTES {
            let at = w * WORD_BYTES;
            let mut word = [b' '; WORD_BYTES];
            let bytes = &text[at..text.len().min(at + WORD_BYTES)];
            word[..bytes.len()].copy_from_slice(bytes);
            // The text is one document: a newline in it is white space.
            let classes = Classes { newline: 0, ..Classes::of(&word) };
            let indexed = index_word(&classes, &mut state, prefix_xor);
            let bits = token::tokens(&indexed, token::white_space(&word), &mut carry);
            places(bits.start, at, &mut tokens.start);
            places(bits.past, at, &mut tokens.end);
        }
        let spans = tokens.start.iter().zip(&tokens.end);
        let kinds: Vec<TokenKind> =
            spans.map(|(start, end)| token::kind(&text[*start as usize..*end as usize])).collect();
        tokens.kind = kinds;
        tokens.kind = (0..tokens.len()).map(|i| token::named(tokens.at(i), tokens.at(i + 1))).collect();
        tokens
    }

    /// The tokens of a string of brackets without white space, up to the first byte that is neither. That
    /// byte is the fault.
    pub(super) fn of_brackets(text: &[u8]) -> (Self, Option<TreeFault>) {
        let mut tokens = Self::default();
        for (at, byte) in text.iter().enumerate() {
            match byte {
                b'{' | b'[' | b'}' | b']' => {
                    tokens.start.push(at as PartOffset);
                    tokens.end.push(at as PartOffset + 1);
                    tokens.kind.push(token::kind(&[*byte]));
                }
                b' ' | b'\t' | b'\n' | b'\r' => {}
                _ => return (tokens, Some(TreeFault { kind: TreeFaultKind::NotABracket, at })),
            }
        }
        (tokens, None)
    }
}

/// Appends the offsets of a word's bits.
fn places(mut bits: u64, at: usize, out: &mut Vec<PartOffset>) {
    while bits != 0 {
        out.push((at + bits.trailing_zeros() as usize) as PartOffset);
        bits &= bits - 1;
    }
}
