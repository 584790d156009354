//! Where the tokens of a text are, and what is before any place of it: made by words, all at the same time.
//!
//! Each word of 64 bytes has a [`TapeWord`]; each stretch of 2 KiB what it adds up to ([`StretchSum`]). After a scan of these, what is
//! before a place is known by looking at one stretch and one word. Depth is counted from the start of the text, whatever the
//! lines in it: only differences within a line mean anything.
//!
//! Which container a place is in is asked backwards: it is the last bracket before it at which the depth is less. Words and
//! stretches in which the depth does not fall so low are stepped over, and so are 32 stretches, and 32 times 32:
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

/// Words of a stretch.
pub const STRETCH_WORDS: usize = STRETCH_BYTES / WORD_BYTES;
/// How many stretches, or groups of them, make a group of the next level.
pub const FAN_OUT: usize = 32;
/// Levels of groups above stretches. Those of the last are gone through one by one: in a partition there are 1,024 at most.
pub const GROUP_LEVELS: usize = 2;

/// A bracket of a partition, counted from 0 in the order of the text.
pub type BracketIx = u32;

/// The tokens of one word, and what is before it in its stretch. 48 bytes: three loads of a device.
///
/// What a token is, as far as its first byte says so, and newlines:
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
    /// One past the last byte of each.
    pub past: u64,
    /// The first byte of each token that begins a node.
    pub node: u64,
    /// Brackets.
    pub bracket: u64,
    /// Of tokens, where they start: braces among brackets, colons among separators, strings among values. Elsewhere, newlines.
    pub alt: u64,
    /// Nodes that begin before it in its stretch.
    pub nodes: u16,
    /// Brackets before it in its stretch.
    pub brackets: u16,
    /// Brackets that open before it in its stretch, less those that close.
    pub depth: Depth,
}

const _: () = assert!(size_of::<TapeWord>() == 48);

impl TapeWord {
    /// The tokens of a word, at the start of a stretch: given its strings and structure, which of its brackets are braces and which of
    /// its separators colons (elsewhere `alt` may say anything), its white space and newlines, and what the word at its left says.
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

    /// Tokens' first bytes, and newlines.
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

    /// Brackets that open less those that close.
    #[inline(always)]
    pub const fn net(&self) -> Depth {
        self.open().count_ones() as Depth - self.close().count_ones() as Depth
    }

    /// The least depth before one of its bytes, counted from its start: 0 or less.
    #[inline(always)]
    pub const fn least(&self) -> Depth {
        // It is least behind a closing bracket, but for the last byte, behind which is another word.
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

/// What some text adds up to. A [`Monoid`]: the identity is no text, and `combine` adds, and keeps the last mark, which is
/// associative since both are. 16 bytes, which a device loads at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct StretchSum {
    /// Nodes that begin.
    pub nodes: u32,
    /// Brackets.
    pub brackets: u32,
    /// Brackets that open less those that close.
    pub depth: Depth,
    /// One past the first byte of the last token, or past the last newline if that is behind it; 0 for none.
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

/// A text's words and sums, wherever they are.
pub trait Outline {
    /// How many words there are: whole stretches.
    fn words(&self) -> usize;
    /// A word.
    fn word(&self, word: usize) -> TapeWord;
    /// The sum of all stretches before one.
    fn before(&self, stretch: usize) -> StretchSum;
    /// The least depth before a byte of a stretch (level 0), or of so many of them: [`FAN_OUT`] at level 1, its square at level 2.
    fn least(&self, level: usize, group: usize) -> Depth;
}

/// What is before a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The next node.
    pub nodes: TapeIx,
    /// The next bracket.
    pub brackets: BracketIx,
    /// The depth.
    pub depth: Depth,
}

/// The bits of the places of a word that are before `limit`.
#[inline(always)]
pub const fn below(limit: PartOffset, word: usize) -> u64 {
    let bits = (limit as usize).saturating_sub(word * WORD_BYTES);
    if bits >= WORD_BYTES { !0 } else { (1 << bits) - 1 }
}

/// What is before byte `at`.
#[inline(always)]
pub fn place<O: Outline>(outline: &O, at: PartOffset) -> Place {
    let word = at as usize / WORD_BYTES;
    let (sum, here, below) = (outline.before(word / STRETCH_WORDS), outline.word(word), below(at, word));
    let (open, close) = (here.open() & below, here.close() & below);
    Place {
        nodes: sum.nodes + here.nodes as u32 + (here.node & below).count_ones(),
        brackets: sum.brackets + here.brackets as u32 + (here.bracket & below).count_ones(),
        depth: sum.depth + here.depth + open.count_ones() as Depth - close.count_ones() as Depth,
    }
}

/// A container: where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opener {
    /// Its bracket.
    pub at: PartOffset,
    /// Its node.
    pub node: TapeIx,
    /// Whether it is an object.
    pub object: bool,
    /// Its bracket, by number.
    pub bracket: BracketIx,
}

/// The innermost container in which byte `at` is, which is at `depth`: there is one, wherever the depth was less before it.
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
    let Place { nodes: node, brackets: bracket, .. } = place(outline, found);
    Opener { at: found, node, object: outline.word(word).alt & bit != 0, bracket }
}

/// The last place at which the depth is less, in words of one stretch, of the last only those of `mask`.
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
        // Only an opening bracket has less before it than behind it.
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

/// The last stretch before `stretch` in which the depth is less somewhere.
#[inline(always)]
fn stretch_before<O: Outline>(outline: &O, stretch: usize, depth: Depth) -> usize {
    let (mut level, mut group) = (0, stretch);
    // Up, until there is one among those beside it.
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
    // And down: whatever is before `stretch` is a whole group.
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
