//! The matching of brackets: for each bracket, the innermost container after it; for each opening bracket,
//! the position where its container is closed.
//!
//! This is the only part of a tree that is found serially: about one token in twelve is a bracket in tweets.
//! All other nodes are made from it in parallel ([`follow`](super::follow)).
//!
//! ```text
//! text       {"a":[1,true],"b":{}}
//! bracket    0    1      2     3 4 5
//! top        0    2      0     6 0 .      the node of the innermost container after the bracket
//! closed     5    2            4          the closing bracket, stored as its end and the next node
//! ```
//!
//! The stack of open containers is the array of tops. The container around another one is the top of the
//! bracket before the opener.
//!
//! # Pieces
//!
//! A long line is cut into pieces. A piece finds in the [outline](super::outline) what it could not read: the
//! container in which it begins. It also finds there the container around each one that it closes and did not
//! open. No two pieces write the same entry. The piece that reads a bracket writes its top, and the piece
//! that reads a closing bracket writes where the container is closed. A piece reads only its own tops.
//!
//! The containers that a piece finds at its left are right if each bracket there is valid. So the piece with
//! the first invalid bracket finds it, as a reader of the whole line would. In a line without such a bracket
//! all pieces are right. After a line's last bracket there is no container, even if one was not closed, so
//! that the next line is independent of this one.

use super::outline::{BracketIx, Opener, Outline, STRETCH_WORDS, below, enclosing, place};
use super::tape::TapeIx;
use crate::units::{Depth, MAX_DEPTH, PartOffset, WORD_BYTES};

/// A range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first byte.
    pub from: PartOffset,
    /// The position after the last byte.
    pub to: PartOffset,
}

/// The innermost container after a bracket. 8 bytes, which a device moves at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Top {
    /// The node of the container, with [`OBJECT`] for an object. [`NO_NODE`] for none.
    container: u32,
    /// The bracket that opens the container.
    opener: BracketIx,
}

const OBJECT: u32 = 1 << 31;
/// No node. A [node](super::tape::TapeNode) in it is a root.
const NO_NODE: u32 = OBJECT - 1;

impl Top {
    /// No container.
    pub const NONE: Self = Self { container: NO_NODE, opener: 0 };

    /// The container that is node `node`, opened by bracket `opener`.
    #[inline(always)]
    pub const fn new(node: TapeIx, object: bool, opener: BracketIx) -> Self {
        Self { container: node | if object { OBJECT } else { 0 }, opener }
    }

    /// Returns true if there is no container.
    #[inline(always)]
    pub const fn is_none(self) -> bool {
        self.container == NO_NODE
    }

    /// Returns true for an object.
    #[inline(always)]
    pub const fn is_object(self) -> bool {
        self.container & OBJECT != 0
    }

    /// The node of the container. For no container, the number that
    /// [`TapeNode::up`](super::tape::TapeNode::up) reads as a root.
    #[inline(always)]
    pub const fn node(self) -> TapeIx {
        self.container & NO_NODE
    }
}

/// The position where a container is closed. 8 bytes, which a device moves at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Closed {
    /// The offset after its closing bracket.
    pub end: PartOffset,
    /// The first node after it.
    pub next: TapeIx,
}

/// The storage of the results for brackets.
pub trait Store {
    /// Returns a top that this piece has written.
    fn top(&self, bracket: BracketIx) -> Top;
    /// Writes the innermost container after a bracket.
    fn set_top(&mut self, bracket: BracketIx, top: Top);
    /// Writes the position where the container of an opening bracket is closed.
    fn set_closed(&mut self, opener: BracketIx, closed: Closed);
}

/// No container.
const NO_OPENER: Opener = Opener { at: 0, node: NO_NODE, object: false, bracket: 0 };

/// The state of a piece. `WHOLE`: the piece is a whole line, so no container is outside it.
struct Walk<'o, O, S, const WHOLE: bool> {
    outline: &'o O,
    store: S,
    /// The innermost open container.
    top: Top,
    /// The next bracket.
    bracket: BracketIx,
    /// The piece's first bracket. Earlier brackets belong to other pieces.
    first: BracketIx,
    /// The innermost open container of another piece; its node is [`NO_NODE`] for none.
    outer: Opener,
    /// The depth before the line.
    floor: Depth,
    /// The number of open containers.
    depth: Depth,
    faulty: bool,
}

impl<O: Outline, S: Store, const WHOLE: bool> Walk<'_, O, S, WHOLE> {
    /// Finds the innermost container around a byte of the line. `depth` is the depth there, counted as in the
    /// outline.
    #[inline(always)]
    fn look_around(&mut self, at: PartOffset, depth: Depth) -> Top {
        self.outer = if depth > self.floor { enclosing(self.outline, at, depth) } else { NO_OPENER };
        let Opener { node, object, bracket, .. } = self.outer;
        Top::new(node, object, bracket)
    }

    /// The container around the innermost one, which bracket `opener` opens.
    #[inline(always)]
    fn around(&mut self, opener: BracketIx) -> Top {
        if opener > self.first {
            self.store.top(opener - 1)
        } else if WHOLE {
            Top::NONE
        } else if opener == self.first {
            let Opener { node, object, bracket, .. } = self.outer;
            Top::new(node, object, bracket)
        } else {
            let at = self.outer.at;
            self.look_around(at, place(self.outline, at).depth)
        }
    }

    #[inline(always)]
    fn open(&mut self, node: TapeIx, object: bool) {
        self.top = Top::new(node, object, self.bracket);
        self.depth += 1;
        self.faulty |= self.depth > MAX_DEPTH as Depth;
    }

    #[inline(always)]
    fn close(&mut self, object: bool, closed: Closed) {
        self.depth -= 1;
        let top = self.top;
        if top.is_none() {
            self.faulty = true;
        } else {
            self.faulty |= top.is_object() != object;
            self.store.set_closed(top.opener, closed);
            self.top = self.around(top.opener);
        }
    }

    /// Writes a default end for the containers that this piece opened and that are never closed. A reader of
    /// a faulty line then reads only entries that were written.
    #[inline(always)]
    fn leave_open(&mut self) {
        while !self.top.is_none() && self.top.opener >= self.first {
            let opener = self.top.opener;
            self.store.set_closed(opener, Closed::default());
            self.top = if opener > self.first { self.store.top(opener - 1) } else { Top::NONE };
        }
    }

    /// Reads the brackets of a range of bytes.
    #[inline(always)]
    fn run(&mut self, Stretch { from, to }: Stretch) {
        let mut word = from as usize / WORD_BYTES;
        let mut here = self.outline.word(word);
        let mut left = here.bracket & !below(from, word) & below(to, word);
        let mut nodes = self.outline.before(word / STRETCH_WORDS).nodes + here.nodes as u32;
        loop {
            while left == 0 {
                word += 1;
                if word * WORD_BYTES >= to as usize {
                    return;
                }
                nodes += here.node.count_ones();
                here = self.outline.word(word);
                left = here.bracket & below(to, word);
            }
            let bit = left & left.wrapping_neg();
            left ^= bit;
            let node = nodes + (here.node & (bit - 1)).count_ones();
            let object = here.alt & bit != 0;
            if here.node & bit != 0 {
                self.open(node, object);
            } else {
                let end = (word * WORD_BYTES) as PartOffset + bit.trailing_zeros() + 1;
                self.close(object, Closed { end, next: node });
            }
            self.store.set_top(self.bracket, self.top);
            self.bracket += 1;
        }
    }
}

/// Matches the brackets of the part of a line that is in `window`. Returns true if the part shows a fault: a
/// bracket closes nothing or another kind, is too deep, or is not closed. The caller passes windows that
/// together have each byte of the line once, in any order or at the same time. With `WHOLE` the line is in
/// one window.
#[inline(always)]
pub fn part<O: Outline, S: Store, const WHOLE: bool>(
    outline: &O,
    store: S,
    line: Stretch,
    window: Stretch,
) -> bool {
    let from = if WHOLE || line.from > window.from { line.from } else { window.from };
    let to = if WHOLE || line.to < window.to { line.to } else { window.to };
    if from >= to {
        return false;
    }
    let here = place(outline, from);
    let (floor, last) = if WHOLE {
        (here.depth, 0)
    } else {
        (place(outline, line.from).depth, place(outline, line.to).brackets)
    };
    let mut walk = Walk::<O, S, WHOLE> {
        outline,
        store,
        top: Top::NONE,
        bracket: here.brackets,
        first: here.brackets,
        outer: NO_OPENER,
        floor,
        depth: here.depth - floor,
        faulty: false,
    };
    if !WHOLE {
        walk.top = walk.look_around(from, here.depth);
    }
    walk.run(Stretch { from, to });
    let read_last = walk.bracket > walk.first && (WHOLE || walk.bracket == last);
    if read_last && !walk.top.is_none() {
        walk.faulty = true;
        walk.leave_open();
        walk.store.set_top(walk.bracket - 1, Top::NONE);
    }
    walk.faulty
}

#[cfg(test)]
mod tests;
