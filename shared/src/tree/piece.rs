//! How a line is cut, and its pieces made into one tree at the same time.
//!
//! [`run`] gives a [`Builder`] the tokens of some bytes. That is all there is to a line that is not cut. Of one that is, each piece has
//! a builder, and asks the [outline](super::outline) what it could not read: the container it begins in, the token before it, and
//! around each container that it closes and did not open, which is around that.
//!
//! # Who writes what
//!
//! No field of a node is written by two pieces, so that nobody has to wait:
//!
//! | field | written by the piece |
//! |---|---|
//! | start | in which the token starts |
//! | end | in which its last byte is; of a container, in which it is closed |
//! | next of a container | in which it is closed |
//! | next of a name | in which its value ends: if that is a scalar, starts |
//! | next of another | as up |
//! | up | in which the token starts; of a string, in which the next token starts: a colon makes it a name |
//!
//! A string is therefore held back until the next token is known, and if that is in another piece, only its place is written.
//! The end of a line is asked for like a token.
//!
//! # Why this is right
//!
//! What a piece finds out about its left is so, if each token there stands where it may. So the piece with the first token of a line
//! that stands where it may not sees it as [`Builder`] would, and says that the line is faulty; of a line without one all pieces are
//! right. What is made of faulty lines means nothing, but all of it is in nodes of the same line.

use super::NONE;
use super::outline::{Opener, Outline, TokenCode, below, enclosing, place, token_before};
use super::tape::{Around, Before, Builder, Line, Tape, TapeIx, TapeNode, fields};
use crate::units::{PartOffset, WORD_BYTES};

/// Some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first.
    pub from: PartOffset,
    /// One past the last.
    pub to: PartOffset,
}

/// Where a token ends, given the places behind its first byte at which one in the same word does: there, or in a word behind it,
/// as far as `limit`. 0 where none does.
#[inline(always)]
fn end_behind<O: Outline>(outline: &O, mut word: usize, mut past: u64, limit: PartOffset) -> PartOffset {
    while past == 0 {
        word += 1;
        if word * WORD_BYTES > limit as usize || word >= outline.words() {
            return 0;
        }
        past = outline.word(word).past;
    }
    let end = (word * WORD_BYTES) as PartOffset + past.trailing_zeros();
    if end <= limit { end } else { 0 }
}

/// Gives a builder all tokens that start in some bytes. Of one that ends behind them the end is 0.
#[inline(always)]
pub fn run<O: Outline, T: Tape>(outline: &O, builder: &mut Builder, tape: &mut T, bytes: Stretch) {
    let Stretch { from, to } = bytes;
    if from >= to {
        return;
    }
    let mut word = from as usize / WORD_BYTES;
    let mut here = outline.word(word);
    let mut left = here.start & !below(from, word) & below(to, word);
    loop {
        while left == 0 {
            word += 1;
            if word * WORD_BYTES >= to as usize {
                return;
            }
            here = outline.word(word);
            left = here.start & below(to, word);
        }
        let bit = left & left.wrapping_neg();
        left ^= bit;
        let at = (word * WORD_BYTES) as PartOffset + bit.trailing_zeros();
        let code = here.code(bit);
        let mut end = 0;
        if code.is_scalar() {
            end = end_behind(outline, word, here.past & !(bit ^ (bit - 1)), to);
        }
        builder.coded(tape, at, code, end);
    }
}

/// The nodes of a partition, as a piece writes them.
pub trait Store {
    /// A node of which this piece has written start and up.
    fn read(&self, at: TapeIx) -> TapeNode;
    /// Writes some [`fields`] of a node.
    fn write(&mut self, at: TapeIx, node: TapeNode, which: u32);
}

/// A token that is held back until the next one is known.
#[derive(Clone, Copy)]
struct Held {
    at: TapeIx,
    node: TapeNode,
    /// What is to be written of it; 0 if nothing is held.
    which: u32,
}

/// The tape as a piece sees it.
struct PieceTape<'o, O, S> {
    outline: &'o O,
    store: S,
    /// Where the line begins.
    line: PartOffset,
    /// The depth there.
    floor: i32,
    /// The piece's first node: those before it are other pieces'.
    first: TapeIx,
    /// The innermost container of another piece's that is open; `node` is [`NONE`] for none.
    outer: Opener,
    held: Held,
}

/// None.
const NO_OPENER: Opener = Opener { at: 0, node: NONE, object: false };

impl<O: Outline, S: Store> PieceTape<'_, O, S> {
    /// Writes what is held.
    #[inline(always)]
    fn flush(&mut self) {
        if self.held.which != 0 {
            self.store.write(self.held.at, self.held.node, self.held.which);
            self.held.which = 0;
        }
    }

    /// The innermost container around a byte of the line at which the depth is given.
    #[inline(always)]
    fn container_of(&self, at: PartOffset, depth: i32) -> Opener {
        if depth > self.floor { enclosing(self.outline, at, depth) } else { NO_OPENER }
    }

    /// Whether the token at `at` is behind a name and its colon.
    #[inline(always)]
    fn is_named(&self, at: PartOffset) -> bool {
        match token_before(self.outline, at, self.line) {
            Some((colon, code)) if code.is_colon() => self.is_behind_string(colon),
            _ => false,
        }
    }

    #[inline(always)]
    fn is_behind_string(&self, at: PartOffset) -> bool {
        token_before(self.outline, at, self.line).is_some_and(|(_, code)| code.is_string())
    }

    /// What is before the piece, which begins at `from`; `None` where a token there stands where it may not.
    #[inline(always)]
    fn before(&mut self, from: PartOffset, depth: i32) -> Option<Before> {
        self.outer = self.container_of(from, depth);
        let token = token_before(self.outline, from, self.line);
        let mut named = false;
        if let Some((at, code)) = token {
            if code.is_colon() && !self.is_behind_string(at) {
                return None;
            }
            named = if code.closes() {
                let closed = self.container_of(at, place(self.outline, at).depth);
                closed.node != NONE && self.is_named(closed.at)
            } else {
                code.is_scalar() && self.is_named(at)
            };
        }
        let Opener { node: container, object, .. } = self.outer;
        let token = token.map(|(_, code)| code);
        if token.is_some_and(TokenCode::is_string) {
            let at = self.first - 1;
            let up = if named { at - 1 } else { container };
            let which = fields::NEXT | fields::UP;
            self.held = Held { at, node: TapeNode::scalar(0, 0, at, up), which };
        }
        let depth = (depth - self.floor).max(0) as u32;
        Some(Before { next: self.first, container, object, depth, token, named })
    }
}

impl<O: Outline, S: Store> Tape for PieceTape<'_, O, S> {
    #[inline(always)]
    fn node(&self, at: TapeIx) -> TapeNode {
        self.store.read(at)
    }

    #[inline(always)]
    fn put(&mut self, at: TapeIx, node: TapeNode) {
        self.flush();
        if node.is_container() {
            self.store.write(at, node, fields::START | fields::UP);
        } else {
            let which = if node.end == 0 { fields::ALL & !fields::END } else { fields::ALL };
            self.held = Held { at, node, which };
        }
    }

    #[inline(always)]
    fn set_next(&mut self, at: TapeIx, next: TapeIx) {
        self.store.write(at, TapeNode::from_words([0, 0, next, 0]), fields::NEXT);
    }

    #[inline(always)]
    fn set_end(&mut self, at: TapeIx, end: PartOffset) {
        self.store.write(at, TapeNode::from_words([0, end, 0, 0]), fields::END);
    }

    #[inline(always)]
    fn set_named(&mut self, _: TapeIx) {
        // A colon makes the token before it a name, and that is held. The value says what is behind the name.
        self.held.node = self.held.node.named();
        self.held.which &= !fields::NEXT;
        self.flush();
    }

    #[inline(always)]
    fn around(&mut self, at: TapeIx) -> Around {
        if at < self.first {
            let closed = self.outer;
            let named = self.is_named(closed.at);
            self.outer = self.container_of(closed.at, place(self.outline, closed.at).depth);
            return Around { container: self.outer.node, object: self.outer.object, named };
        }
        let up = self.store.read(at).up();
        if up == NONE {
            Around::ROOT
        } else if up < self.first {
            let Opener { node: container, object, .. } = self.outer;
            // What is before the piece is the container, or a name in it.
            Around { container, object, named: up != container }
        } else {
            let node = self.store.read(up);
            if node.is_name() {
                Around { container: node.up(), object: true, named: true }
            } else {
                Around { container: up, object: node.is_object(), named: false }
            }
        }
    }
}

/// Where a token ends that starts before `bytes`, if its last byte is in them; and whether a token starts in them.
#[inline(always)]
fn at_left<O: Outline>(outline: &O, bytes: Stretch) -> (Option<PartOffset>, bool) {
    let Stretch { from, to } = bytes;
    let mut word = from as usize / WORD_BYTES;
    let mut end = None;
    while word * WORD_BYTES <= to as usize && word < outline.words() {
        let here = outline.word(word);
        let start = here.start & !below(from, word) & below(to, word);
        let past = here.past & !below(from + 1, word) & below(to + 1, word);
        // No token starts before the one before it has ended.
        if past != 0 && end.is_none() && past.trailing_zeros() <= start.trailing_zeros() {
            end = Some((word * WORD_BYTES) as PartOffset + past.trailing_zeros());
        }
        if start != 0 {
            return (end, true);
        }
        if end.is_some() && (word + 1) * WORD_BYTES > to as usize {
            break;
        }
        word += 1;
    }
    (end, false)
}

/// Makes the nodes of the part of a line that is in `window`, and says whether the line is faulty, if it can be seen there. To be
/// called for windows that together have each byte of the line once, in any order, or at the same time.
#[inline(always)]
pub fn part<O: Outline, S: Store>(outline: &O, store: S, line: Stretch, window: Stretch) -> bool {
    let from = if line.from > window.from { line.from } else { window.from };
    let to = if line.to < window.to { line.to } else { window.to };
    if from >= to {
        return false;
    }
    let here = place(outline, from);
    let floor = place(outline, line.from).depth;
    let held = Held { at: 0, node: TapeNode::default(), which: 0 };
    let mut tape =
        PieceTape { outline, store, line: line.from, floor, first: here.nodes, outer: NO_OPENER, held };
    let mut builder = Builder::at_line(here.nodes);
    let ends = to == line.to;
    if from > line.from {
        let (end, has_token) = at_left(outline, Stretch { from, to });
        if let Some(end) = end {
            tape.set_end(here.nodes - 1, end);
        }
        if !has_token && !ends {
            return false;
        }
        let Some(before) = tape.before(from, here.depth) else { return false };
        builder = Builder::within_line(&before);
    }
    run(outline, &mut builder, &mut tape, Stretch { from, to });
    if !ends && builder.is_behind_string() {
        // A name, or not: the next piece knows.
        tape.held.which &= !(fields::NEXT | fields::UP);
    }
    tape.flush();
    builder.is_faulty() || ends && builder.end_line() == Line::Faulty
}

#[cfg(test)]
mod tests;
