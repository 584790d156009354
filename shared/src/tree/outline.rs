//! The tokens of a text, and the counts before any position of it, made for all words at the same time.
//!
//! Each word of 64 bytes has a [`TapeWord`], and each stretch of 2 KiB has its sum ([`StretchSum`]). After a
//! scan of the sums, one stretch and one word give the counts before a position. Depth is counted from the
//! start of the text, across lines, so only differences within a line are meaningful.
//!
//! The search for the container of a position goes backwards: its bracket is the last one before which the
//! depth is less. The search skips words and stretches in which the depth does not fall below that limit. It
//! also skips groups of 32 stretches, and of 32 times 32:
//!
//! ```text
//! depth          1 2 3 2 3 2 1 2 3 4 3 2
//! text         [ [ [ ] [ ] ] [ [ [ ] ]   here
//! container                  ^
//! ```

use super::token::{TokenCarry, tokens};
use crate::index::Monoid;
use crate::index::line::IndexedWord;
use crate::tree::tape::TapeIx;
use crate::units::{Depth, PartOffset, STRETCH_BYTES, WORD_BYTES};

/// The number of words of a stretch.
pub const STRETCH_WORDS: usize = STRETCH_BYTES / WORD_BYTES;
/// The number of stretches, or of groups, in a group of the next level.
pub const FAN_OUT: usize = 32;
/// The number of levels of groups above stretches. The groups of the last level are searched one by one: a
/// partition has at most 1,024.
pub const GROUP_LEVELS: usize = 2;

/// A bracket of a partition, counted from 0 in the order of the text.
pub type BracketIx = u32;

/// The tokens of one word, and the counts before it in its stretch. 48 bytes: three loads of a device.
///
/// The kind of a token, as far as its first byte shows it, and newlines:
///
/// ```text
///           {  [  }  ]  :  ,  "  other  newline
/// start     1  1  1  1  1  1  1  1      0
/// node      1  1  0  0  0  0  1  1      0
/// bracket   1  1  1  1  0  0  0  0      0
/// alt       1  0  1  0  1  0  1  0      1
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct TapeWord {
    /// The first byte of each token.
    pub start: u64,
    /// The position after the last byte of each token.
    pub past: u64,
    /// The first byte of each token that begins a node.
    pub node: u64,
    /// Brackets.
    pub bracket: u64,
    /// At starts of tokens: braces among brackets, colons among separators, strings among values. Elsewhere:
    /// newlines.
    pub alt: u64,
    /// The number of nodes that begin before the word in its stretch.
    pub nodes: u16,
    /// The number of brackets before the word in its stretch.
    pub brackets: u16,
    /// The number of opening brackets before the word in its stretch, less the number of closing ones.
    pub depth: Depth,
}

const _: () = assert!(size_of::<TapeWord>() == 48);

impl TapeWord {
    /// The tokens of a word at the start of a stretch. `word` has its strings and structure. `alt` has the
    /// braces among its brackets and the colons among its separators; its other bits are ignored. `space` and
    /// `newline` have its white space and newlines, and `left` is the carry of the word at its left.
    #[inline(always)]
    pub const fn of(word: &IndexedWord, alt: u64, [space, newline]: [u64; 2], mut left: TokenCarry) -> Self {
        let structure = word.open | word.close | word.separator;
        let found = tokens(word, space, &mut left);
        Self {
            start: found.start,
            past: found.past,
            node: found.start & !(word.close | word.separator),
            bracket: word.open | word.close,
            alt: alt & structure | found.start & word.string | newline & !found.start,
            nodes: 0,
            brackets: 0,
            depth: 0,
        }
    }

    /// The first bytes of tokens, and newlines.
    #[inline(always)]
    pub const fn mark(&self) -> u64 {
        self.start | self.alt
    }

    /// Newlines.
    #[inline(always)]
    pub const fn newline(&self) -> u64 {
        self.alt & !self.start
    }

    /// Strings and scalars.
    #[inline(always)]
    pub const fn scalar(&self) -> u64 {
        self.node & !self.bracket
    }

    /// Strings.
    #[inline(always)]
    pub const fn string(&self) -> u64 {
        self.scalar() & self.alt
    }

    /// Colons.
    #[inline(always)]
    pub const fn colon(&self) -> u64 {
        self.start & !self.node & !self.bracket & self.alt
    }

    /// Commas.
    #[inline(always)]
    pub const fn comma(&self) -> u64 {
        self.start & !self.node & !self.bracket & !self.alt
    }

    /// Brackets that open.
    #[inline(always)]
    pub const fn open(&self) -> u64 {
        self.bracket & self.node
    }

    /// Brackets that close.
    #[inline(always)]
    pub const fn close(&self) -> u64 {
        self.bracket & !self.node
    }

    /// The number of opening brackets less the number of closing ones.
    #[inline(always)]
    pub const fn net(&self) -> Depth {
        self.open().count_ones() as Depth - self.close().count_ones() as Depth
    }

    /// The least depth before any byte of the word, counted from its start: 0 or less.
    #[inline(always)]
    pub const fn least(&self) -> Depth {
        // The least depth is after a closing bracket. The last byte is left out, because the position after
        // it is in the next word.
        let mut close = self.close() & !(1 << 63);
        let (mut closed, mut least) = (0, 0);
        while close != 0 {
            let below = close ^ (close - 1);
            closed += 1;
            let depth = (self.open() & below).count_ones() as Depth - closed;
            least = if depth < least { depth } else { least };
            close &= close - 1;
        }
        least
    }
}

/// The sums of some text. A [`Monoid`]: the identity is no text. `combine` adds the counts and keeps the last
/// mark, and both are associative. 16 bytes, which a device loads at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct StretchSum {
    /// The number of nodes that begin.
    pub nodes: u32,
    /// The number of brackets.
    pub brackets: u32,
    /// The number of opening brackets less the number of closing ones.
    pub depth: Depth,
    /// The offset after the first byte of the last token, or after the last newline if that is later. 0 for
    /// none.
    pub last: PartOffset,
}

impl Monoid for StretchSum {
    #[inline(always)]
    fn combine(self, right: Self) -> Self {
        Self {
            nodes: self.nodes.wrapping_add(right.nodes),
            brackets: self.brackets.wrapping_add(right.brackets),
            depth: self.depth.wrapping_add(right.depth),
            last: if right.last == 0 { self.last } else { right.last },
        }
    }
}

/// The words and sums of a text, in any storage.
pub trait Outline {
    /// The number of words: whole stretches.
    fn words(&self) -> usize;
    /// Returns a word.
    fn word(&self, word: usize) -> TapeWord;
    /// Returns the sum of all stretches before `stretch`.
    fn before(&self, stretch: usize) -> StretchSum;
    /// Returns the least depth before any byte of a stretch (level 0) or of a group of stretches. A group has
    /// [`FAN_OUT`] stretches at level 1, and the square of it at level 2.
    fn least(&self, level: usize, group: usize) -> Depth;
}

/// The counts before a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountsBefore {
    /// The index of the next node.
    pub nodes: TapeIx,
    /// The index of the next bracket.
    pub brackets: BracketIx,
    /// The depth.
    pub depth: Depth,
}

/// The bits of a word's positions before `limit`.
#[inline(always)]
pub const fn below(limit: PartOffset, word: usize) -> u64 {
    let bits = (limit as usize).saturating_sub(word * WORD_BYTES);
    if bits >= WORD_BYTES { !0 } else { (1 << bits) - 1 }
}

/// Returns the counts before byte `at`.
#[inline(always)]
pub fn place<O: Outline>(outline: &O, at: PartOffset) -> CountsBefore {
    let word = at as usize / WORD_BYTES;
    let (sum, here, below) = (outline.before(word / STRETCH_WORDS), outline.word(word), below(at, word));
    let (open, close) = (here.open() & below, here.close() & below);
    CountsBefore {
        nodes: sum.nodes + here.nodes as u32 + (here.node & below).count_ones(),
        brackets: sum.brackets + here.brackets as u32 + (here.bracket & below).count_ones(),
        depth: sum.depth + here.depth + open.count_ones() as Depth - close.count_ones() as Depth,
    }
}

/// The start of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opener {
    /// The offset of its bracket.
    pub at: PartOffset,
    /// Its node.
    pub node: TapeIx,
    /// True if it is an object.
    pub object: bool,
    /// The index of its bracket.
    pub bracket: BracketIx,
}

/// Returns the innermost container around byte `at`, where the depth is `depth`. There is such a container if
/// the depth was less anywhere before.
#[inline(always)]
pub fn enclosing<O: Outline>(outline: &O, at: PartOffset, depth: Depth) -> Opener {
    let word = at as usize / WORD_BYTES;
    let first = word / STRETCH_WORDS * STRETCH_WORDS;
    let found = match in_words(outline, first, word, below(at, word), depth) {
        Some(found) => found,
        None => {
            let stretch = stretch_before(outline, word / STRETCH_WORDS, depth);
            let first = stretch * STRETCH_WORDS;
            in_words(outline, first, first + STRETCH_WORDS - 1, !0, depth).unwrap_or(0)
        }
    };
    let word = found as usize / WORD_BYTES;
    let bit = 1 << (found as usize % WORD_BYTES);
    let CountsBefore { nodes: node, brackets: bracket, .. } = place(outline, found);
    Opener { at: found, node, object: outline.word(word).alt & bit != 0, bracket }
}

/// Returns the last position at which the depth is less than `depth`, in words of one stretch. In the last
/// word, only positions in `mask` count.
#[inline(always)]
fn in_words<O: Outline>(
    outline: &O,
    first: usize,
    last: usize,
    mut mask: u64,
    depth: Depth,
) -> Option<PartOffset> {
    let base = outline.before(first / STRETCH_WORDS).depth;
    let mut word = last;
    loop {
        let here = outline.word(word);
        let (open, close) = (here.open() & mask, here.close() & mask);
        let mut now = base + here.depth + open.count_ones() as Depth - close.count_ones() as Depth;
        // Only before an opening bracket is the depth less than after it.
        if now - (open.count_ones() as Depth) < depth {
            let mut left = open | close;
            while left != 0 {
                let bit = 1 << (63 - left.leading_zeros());
                left ^= bit;
                now += if open & bit != 0 { -1 } else { 1 };
                if now < depth {
                    return Some((word * WORD_BYTES) as PartOffset + bit.trailing_zeros());
                }
            }
        }
        if word == first {
            return None;
        }
        word -= 1;
        mask = !0;
    }
}

/// Returns the last stretch before `stretch` in which the depth is less than `depth` somewhere.
#[inline(always)]
fn stretch_before<O: Outline>(outline: &O, stretch: usize, depth: Depth) -> usize {
    let (mut level, mut group) = (0, stretch);
    // Up, until one of the groups to the left in the same parent has it.
    loop {
        let first = if level == GROUP_LEVELS { 0 } else { group / FAN_OUT * FAN_OUT };
        let mut found = false;
        while group > first && !found {
            group -= 1;
            found = outline.least(level, group) < depth;
        }
        if found {
            break;
        }
        if level == GROUP_LEVELS {
            return 0;
        }
        level += 1;
        group /= FAN_OUT;
    }
    // Then down. All groups here are whole, because they are before `stretch`.
    while level > 0 {
        level -= 1;
        let first = group * FAN_OUT;
        group = first + FAN_OUT - 1;
        while group > first && outline.least(level, group) >= depth {
            group -= 1;
        }
    }
    group
}

#[cfg(test)]
mod tests;
