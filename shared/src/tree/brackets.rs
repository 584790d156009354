//! Brackets that match: for each, which container is innermost behind it; for each that opens, where it is closed.
//!
//! Of all that trees consist of, only this is found one after the other: a bracket in twelve tokens, as tweets go. All
//! other nodes are made from it side by side ([`follow`](super::follow)).
//!
//! ```text
//! text       {"a":[1,true],"b":{}}
//! bracket    0    1      2     3 4 5
//! top        0    2      0     6 0 .      the node that is innermost behind it
//! closed     5    2            4          the bracket that closes it: what is stored is its place, and the next node there
//! ```
//!
//! The stack of open containers is the array of tops: around a container is what is innermost behind the bracket before it.
//!
//! # Pieces
//!
//! A long line is cut. A piece asks the [outline](super::outline) what it could not read: the container it begins in, and around
//! each container that it closes and did not open, which is around that. No entry is written by two pieces: a top is written by
//! who reads its bracket, and where a container is closed by who reads the closing one. A piece reads only tops of its own.
//!
//! What a piece finds out about its left is so, if each bracket there stands where it may. So the piece with the first that does not
//! sees it as one that reads the whole line would; and of a line without one all pieces are right. Behind a line's last bracket there
//! is no container, even if one was not closed: so that the next line needs to know nothing of this one.

use super::outline::{BracketIx, Opener, Outline, STRETCH_WORDS, below, enclosing, place};
use super::tape::TapeIx;
use crate::units::{Depth, MAX_DEPTH, PartOffset, WORD_BYTES};

/// Some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first.
    pub from: PartOffset,
    /// One past the last.
    pub to: PartOffset,
}

/// The container that is innermost behind a bracket. 8 bytes, which a device moves at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Top {
    /// Its node, with [`OBJECT`]; [`NO_NODE`] for none.
    container: u32,
    /// The bracket that opens it.
    opener: BracketIx,
}

const OBJECT: u32 = 1 << 31;
/// A node that there is not. As what a [node](super::tape::TapeNode) is in, it makes that a root.
const NO_NODE: u32 = OBJECT - 1;

impl Top {
    /// No container.
    pub const NONE: Self = Self { container: NO_NODE, opener: 0 };

    /// The container that is some node, opened by some bracket.
    #[inline(always)]
    pub const fn new(node: TapeIx, object: bool, opener: BracketIx) -> Self {
        Self { container: node | if object { OBJECT } else { 0 }, opener }
    }

    /// Whether there is none.
    #[inline(always)]
    pub const fn is_none(self) -> bool {
        self.container == NO_NODE
    }

    /// Whether it is an object.
    #[inline(always)]
    pub const fn is_object(self) -> bool {
        self.container & OBJECT != 0
    }

    /// Its node: of none, a number that as [`TapeNode::up`](super::tape::TapeNode::up) says so.
    #[inline(always)]
    pub const fn node(self) -> TapeIx {
        self.container & NO_NODE
    }
}

/// Where a container is closed. 8 bytes, which a device moves at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Closed {
    /// One past its closing bracket.
    pub end: PartOffset,
    /// The first node behind it.
    pub next: TapeIx,
}

/// What is found of brackets.
pub trait Store {
    /// A top that this piece has written.
    fn top(&self, bracket: BracketIx) -> Top;
    /// Writes what is innermost behind a bracket.
    fn set_top(&mut self, bracket: BracketIx, top: Top);
    /// Writes where the container is closed that a bracket opens.
    fn set_closed(&mut self, opener: BracketIx, closed: Closed);
}

/// None.
const NO_OPENER: Opener = Opener { at: 0, node: NO_NODE, object: false, bracket: 0 };

/// What a piece has read so far. `WHOLE`: it is a whole line, so nothing is outside.
struct Walk<'o, O, S, const WHOLE: bool> {
    outline: &'o O,
    store: S,
    /// The innermost open container.
    top: Top,
    /// The next bracket.
    bracket: BracketIx,
    /// The piece's first bracket: those before it are other pieces'.
    first: BracketIx,
    /// The innermost open container of another piece's; its node is [`NO_NODE`] for none.
    outer: Opener,
    /// The depth before the line.
    floor: Depth,
    /// How many containers are open.
    depth: Depth,
    faulty: bool,
}

impl<O: Outline, S: Store, const WHOLE: bool> Walk<'_, O, S, WHOLE> {
    /// Finds the innermost container around a byte of the line at which the depth is given, counted as the outline does.
    #[inline(always)]
    fn look_around(&mut self, at: PartOffset, depth: Depth) -> Top {
        self.outer = if depth > self.floor { enclosing(self.outline, at, depth) } else { NO_OPENER };
        let Opener { node, object, bracket, .. } = self.outer;
        Top::new(node, object, bracket)
    }

    /// What is around the container that a bracket opens, which is the innermost.
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

    /// Says of the containers that this piece has opened, and that nobody closes, that they end nowhere: so that whoever reads
    /// where they end, of a line that is faulty, reads what has been written.
    #[inline(always)]
    fn leave_open(&mut self) {
        while !self.top.is_none() && self.top.opener >= self.first {
            let opener = self.top.opener;
            self.store.set_closed(opener, Closed::default());
            self.top = if opener > self.first { self.store.top(opener - 1) } else { Top::NONE };
        }
    }

    /// Reads the brackets of some bytes.
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

/// Matches the brackets of the part of a line that is in `window`, and says whether the line is faulty, if it can be seen there: a
/// bracket closes nothing, or another kind; is too deep; or is not closed. To be called for windows that together have each byte
/// of the line once, in any order, or at the same time. With `WHOLE` the line is in one window.
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
