//! The tree in the order of the text, with links: what queries walk.
//!
//! Nodes stand as they begin in the text, so a node's children and all below them follow it. Each says where the next node behind
//! them is, and what it is in. Nothing is sorted, and nothing is as deep as the deepest: the open containers are the links upwards,
//! so that one pass needs no stack.
//!
//! ```text
//! text      {"a":[1,true],"b":{}}
//! index      0   1   2 3   4   5   6
//!            {} "a"  [] 1 true "b" {}
//! next       7   5   5  4  5   7   7       one past all that is in it; of a name, past its value
//! up         .   0   1  2  2   0   5
//! ```
//!
//! [`Builder`] makes it of tokens, one after the other, and holds them to RFC 8259: that each stands where it may, and that brackets
//! match. What scalars and strings consist of it does not ask. Devices make the same otherwise, all nodes at the same time
//! ([`brackets`](super::brackets), [`follow`](super::follow)).

use super::NONE;
use crate::units::{MAX_DEPTH, PartOffset};

/// A node of a partition, counted from 0 as nodes begin in the text.
pub type TapeIx = u32;

/// A node of a tree in the order of the text. 16 bytes, which a device loads and stores at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct TapeNode {
    /// Its first byte; with [`FLAG`], of a container.
    start: u32,
    /// One past its last byte. A container ends with its closing bracket, and a name with its closing quote.
    pub end: PartOffset,
    /// The first node behind it and all that is in it. The value is in its name.
    pub next: TapeIx,
    /// What it is in: a container, or for a member's value its name; [`UP`] for a root. With [`FLAG`], of an object or a name.
    up: u32,
}

const _: () = assert!(size_of::<TapeNode>() == 16 && align_of::<TapeNode>() == 16);

/// The bit of an offset or index, all of which are less, that says what the node is.
const FLAG: u32 = 1 << 31;
/// What a root is in: no node.
const UP: u32 = FLAG - 1;

impl TapeNode {
    /// An object or array that begins at `start`, in `up` ([`NONE`]: a root). Where it ends is not known yet.
    #[inline(always)]
    pub const fn container(start: PartOffset, object: bool, up: TapeIx) -> Self {
        Self { start: start | FLAG, end: 0, next: 0, up: up & UP | if object { FLAG } else { 0 } }
    }

    /// A string or a scalar, the node at `at`.
    #[inline(always)]
    pub const fn scalar(start: PartOffset, end: PartOffset, at: TapeIx, up: TapeIx) -> Self {
        Self { start, end, next: at + 1, up: up & UP }
    }

    /// A string, after all, that is a name.
    #[inline(always)]
    pub const fn named(self) -> Self {
        Self { up: self.up | FLAG, ..self }
    }

    /// Its four words, as they lie in memory: start, end, next, up.
    #[inline(always)]
    pub const fn to_words(self) -> [u32; 4] {
        [self.start, self.end, self.next, self.up]
    }

    /// The node of such words.
    #[inline(always)]
    pub const fn from_words([start, end, next, up]: [u32; 4]) -> Self {
        Self { start, end, next, up }
    }

    /// Its first byte.
    #[inline(always)]
    pub const fn start(&self) -> PartOffset {
        self.start & !FLAG
    }

    /// Whether it is an object or an array.
    #[inline(always)]
    pub const fn is_container(&self) -> bool {
        self.start & FLAG != 0
    }

    /// Whether it is an object.
    #[inline(always)]
    pub const fn is_object(&self) -> bool {
        self.start & self.up & FLAG != 0
    }

    /// Whether it is an array.
    #[inline(always)]
    pub const fn is_array(&self) -> bool {
        self.start & !self.up & FLAG != 0
    }

    /// Whether it is a member's name.
    #[inline(always)]
    pub const fn is_name(&self) -> bool {
        !self.start & self.up & FLAG != 0
    }

    /// What it is in; [`NONE`] for a root.
    #[inline(always)]
    pub const fn up(&self) -> TapeIx {
        let up = self.up & UP;
        if up == UP { NONE } else { up }
    }
}

/// Where nodes are put, and read again while others are.
pub trait Tape {
    /// The node at an index below those that are put.
    fn node(&self, at: TapeIx) -> TapeNode;
    /// Puts a node. Each index is put once, and in order.
    fn put(&mut self, at: TapeIx, node: TapeNode);
    /// Changes [`TapeNode::next`].
    fn set_next(&mut self, at: TapeIx, next: TapeIx);
    /// Changes [`TapeNode::end`].
    fn set_end(&mut self, at: TapeIx, end: PartOffset);
    /// Makes the node at `at` a name: [`TapeNode::named`].
    fn set_named(&mut self, at: TapeIx);
}

/// What a container is in.
struct Around {
    /// The container around it; [`NONE`] around a root.
    container: TapeIx,
    /// Whether that is an object.
    object: bool,
    /// Whether it is a member's value. Then its name is the node before it.
    named: bool,
}

impl Around {
    /// What the container at `at` is in.
    #[inline(always)]
    fn of<T: Tape>(tape: &T, at: TapeIx) -> Self {
        let up = tape.node(at).up();
        if up == NONE {
            return Self { container: NONE, object: false, named: false };
        }
        let node = tape.node(up);
        if node.is_name() {
            Self { container: node.up(), object: true, named: true }
        } else {
            Self { container: up, object: node.is_object(), named: false }
        }
    }
}

/// What may come next. A set of them says after what a token may stand.
mod after {
    /// The start of a record, or a comma.
    pub const START: u32 = 1;
    /// An opening bracket.
    pub const OPEN: u32 = 2;
    /// A colon.
    pub const COLON: u32 = 4;
    /// A string.
    pub const STRING: u32 = 8;
    /// Another value that has ended.
    pub const VALUE: u32 = 16;
    /// A token that may not stand where it does: nothing more is read of the record.
    pub const FAULT: u32 = 32;
}

/// What a line was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// White space.
    Blank,
    /// A record, each of whose tokens stands where it may.
    Record,
    /// Something else.
    Faulty,
}

/// Makes the trees of some lines, token by token. The default is at the start of a line.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Builder {
    /// The next node.
    pub next: TapeIx,
    /// The innermost open container, or [`NONE`].
    top: TapeIx,
    top_is_object: bool,
    /// What came last is, or is to be, the value behind a name.
    named: bool,
    /// How many containers are open.
    depth: u32,
    after: u32,
}

impl Default for Builder {
    #[inline(always)]
    fn default() -> Self {
        Self { next: 0, top: NONE, top_is_object: false, named: false, depth: 0, after: after::START }
    }
}

impl Builder {
    /// At the start of a line whose first node is `next`.
    #[inline(always)]
    pub fn at_line(next: TapeIx) -> Self {
        Self { next, ..Self::default() }
    }

    /// Takes the token that begins at `at` with `byte`, and ends at `end`; that is looked at only of strings and scalars, and may
    /// be told later by [`Tape::set_end`].
    #[inline(always)]
    pub fn token<T: Tape>(&mut self, tape: &mut T, at: PartOffset, byte: u8, end: PartOffset) {
        match byte {
            b'{' | b'[' => self.open(tape, at, byte == b'{'),
            b'}' | b']' => self.close(tape, at, byte == b'}'),
            b':' => self.colon(tape),
            b',' => self.comma(),
            _ => self.scalar(tape, at, end, byte == b'"'),
        }
    }

    /// Whether nothing stands where it may not, so far.
    #[inline(always)]
    fn follows(&mut self, behind: u32, holds: bool) -> bool {
        let good = self.after & behind != 0 && holds;
        self.after = if good { self.after } else { after::FAULT };
        good
    }

    /// What the next node is in: the name before it, or the innermost container.
    #[inline(always)]
    fn up(&self) -> TapeIx {
        if self.named { self.next - 1 } else { self.top }
    }

    #[inline(always)]
    fn open<T: Tape>(&mut self, tape: &mut T, at: PartOffset, object: bool) {
        let room = self.depth < MAX_DEPTH as u32;
        if self.follows(after::START | after::OPEN | after::COLON, room) {
            self.named = self.after == after::COLON;
            tape.put(self.next, TapeNode::container(at, object, self.up()));
            self.top = self.next;
            self.top_is_object = object;
            self.depth += 1;
            self.after = after::OPEN;
            self.named = false;
        }
        self.next += 1;
    }

    #[inline(always)]
    fn scalar<T: Tape>(&mut self, tape: &mut T, at: PartOffset, end: PartOffset, string: bool) {
        if self.follows(after::START | after::OPEN | after::COLON, true) {
            self.named = self.after == after::COLON;
            tape.put(self.next, TapeNode::scalar(at, end, self.next, self.up()));
            if self.named {
                tape.set_next(self.next - 1, self.next + 1);
            }
            self.after = if string { after::STRING } else { after::VALUE };
        }
        self.next += 1;
    }

    #[inline(always)]
    fn colon<T: Tape>(&mut self, tape: &mut T) {
        let name = self.top_is_object & !self.named;
        if self.follows(after::STRING, name) {
            tape.set_named(self.next - 1);
            self.after = after::COLON;
        }
    }

    /// Whether what came last may be the whole of an element or a member.
    #[inline(always)]
    fn is_item(&self) -> bool {
        self.top != NONE && self.named == self.top_is_object
    }

    #[inline(always)]
    fn comma(&mut self) {
        if self.follows(after::STRING | after::VALUE, self.is_item()) {
            self.after = after::START;
            self.named = false;
        }
    }

    #[inline(always)]
    fn close<T: Tape>(&mut self, tape: &mut T, at: PartOffset, object: bool) {
        let empty = self.top != NONE && self.after == after::OPEN;
        let whole = (empty || self.is_item()) && self.top_is_object == object;
        if self.follows(after::OPEN | after::STRING | after::VALUE, whole) {
            tape.set_end(self.top, at + 1);
            tape.set_next(self.top, self.next);
            let around = Around::of(tape, self.top);
            if around.named {
                tape.set_next(self.top - 1, self.next);
            }
            Around { container: self.top, object: self.top_is_object, named: self.named } = around;
            self.depth -= 1;
            self.after = after::VALUE;
        }
    }

    /// Ends a line, and says what it was.
    #[inline(always)]
    pub fn end_line(&mut self) -> Line {
        let line = match self.after {
            after::START if self.top == NONE => Line::Blank,
            after::STRING | after::VALUE if self.top == NONE => Line::Record,
            _ => Line::Faulty,
        };
        *self = Self { next: self.next, ..Self::default() };
        line
    }
}
