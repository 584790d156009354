//! The tree in the order of the text, with links: the form that queries walk.
//!
//! Nodes are in the order in which they begin in the text, so a node is followed by its descendants. Each
//! node has the index of the next node after its descendants, and that of the node around it. No sort is
//! needed, and no storage grows with the depth: the links upwards connect the open containers, so one pass
//! needs no stack.
//!
//! ```text
//! text      {"a":[1,true],"b":{}}
//! index      0   1   2 3   4   5   6
//!            {} "a"  [] 1 true "b" {}
//! next       7   5   5  4  5   7   7       after all its descendants; for a name, after its value
//! up         .   0   1  2  2   0   5
//! ```
//!
//! [`Builder`] makes the tape from tokens, one at a time. It checks the rules of RFC 8259 for the order of
//! tokens and for matching brackets. It does not check the contents of scalars and strings. Devices make the
//! same tape in another way, all nodes at the same time ([`brackets`](super::brackets),
//! [`follow`](super::follow)).

use super::NONE;
use crate::units::{MAX_DEPTH, PartOffset};

/// A node of a partition, counted from 0 as nodes begin in the text.
pub type TapeIx = u32;

/// A node of a tree in the order of the text. 16 bytes, which a device loads and stores at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct TapeNode {
    /// The offset of the first byte. With [`FLAG`] for a container.
    start: u32,
    /// The offset after the last byte. A container ends with its closing bracket, and a name with its closing
    /// quote.
    pub end: PartOffset,
    /// The first node after this one and its descendants. A name's value is one of its descendants.
    pub next: TapeIx,
    /// The node around this one: a container, or for a member's value its name. [`UP`] for a root. With
    /// [`FLAG`] for an object or a name.
    up: u32,
}

const _: () = assert!(size_of::<TapeNode>() == 16 && align_of::<TapeNode>() == 16);

/// The bit of an offset or index that marks the kind of the node. All offsets and indexes are less.
const FLAG: u32 = 1 << 31;
/// The node around a root: none.
const UP: u32 = FLAG - 1;

impl TapeNode {
    /// An object or array that begins at `start`, in `up` ([`NONE`] for a root). Its end is not known yet.
    #[inline(always)]
    pub const fn container(start: PartOffset, object: bool, up: TapeIx) -> Self {
        Self { start: start | FLAG, end: 0, next: 0, up: up & UP | if object { FLAG } else { 0 } }
    }

    /// A string or a scalar, as node `at`.
    #[inline(always)]
    pub const fn scalar(start: PartOffset, end: PartOffset, at: TapeIx, up: TapeIx) -> Self {
        Self { start, end, next: at + 1, up: up & UP }
    }

    /// The string as a name.
    #[inline(always)]
    pub const fn named(self) -> Self {
        Self { up: self.up | FLAG, ..self }
    }

    /// The four words of the node, as in memory: start, end, next, up.
    #[inline(always)]
    pub const fn to_words(self) -> [u32; 4] {
        [self.start, self.end, self.next, self.up]
    }

    /// The node of the four words of [`to_words`](Self::to_words).
    #[inline(always)]
    pub const fn from_words([start, end, next, up]: [u32; 4]) -> Self {
        Self { start, end, next, up }
    }

    /// The offset of the first byte.
    #[inline(always)]
    pub const fn start(&self) -> PartOffset {
        self.start & !FLAG
    }

    /// Returns true for an object or an array.
    #[inline(always)]
    pub const fn is_container(&self) -> bool {
        self.start & FLAG != 0
    }

    /// Returns true for an object.
    #[inline(always)]
    pub const fn is_object(&self) -> bool {
        self.start & self.up & FLAG != 0
    }

    /// Returns true for an array.
    #[inline(always)]
    pub const fn is_array(&self) -> bool {
        self.start & !self.up & FLAG != 0
    }

    /// Returns true for a member's name.
    #[inline(always)]
    pub const fn is_name(&self) -> bool {
        !self.start & self.up & FLAG != 0
    }

    /// The node around this one; [`NONE`] for a root.
    #[inline(always)]
    pub const fn up(&self) -> TapeIx {
        let up = self.up & UP;
        if up == UP { NONE } else { up }
    }
}

/// The storage of a tape, which is read while nodes are still added.
pub trait Tape {
    /// Returns the node at `at`, which has been put.
    fn node(&self, at: TapeIx) -> TapeNode;
    /// Puts a node. Each index is put once, in order.
    fn put(&mut self, at: TapeIx, node: TapeNode);
    /// Changes [`TapeNode::next`].
    fn set_next(&mut self, at: TapeIx, next: TapeIx);
    /// Changes [`TapeNode::end`].
    fn set_end(&mut self, at: TapeIx, end: PartOffset);
    /// Makes the node at `at` a name: [`TapeNode::named`].
    fn set_named(&mut self, at: TapeIx);
}

/// The surroundings of a container.
struct Around {
    /// The container around it; [`NONE`] for a root.
    container: TapeIx,
    /// True if that container is an object.
    object: bool,
    /// True if the container is a member's value. Its name is then the node before it.
    named: bool,
}

impl Around {
    /// The surroundings of the container at `at`.
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

/// Kinds of previous tokens. A set of them says after which tokens another one is valid.
mod after {
    /// The start of a record, or a comma.
    pub const START: u32 = 1;
    /// An opening bracket.
    pub const OPEN: u32 = 2;
    /// A colon.
    pub const COLON: u32 = 4;
    /// A string.
    pub const STRING: u32 = 8;
    /// Any other value that has ended.
    pub const VALUE: u32 = 16;
    /// A misplaced token. The rest of the record is not read.
    pub const FAULT: u32 = 32;
}

/// The result for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// White space.
    Blank,
    /// A record in which each token is valid at its position.
    Record,
    /// Something else.
    Faulty,
}

/// A builder of the trees of some lines, token by token. The default is at the start of a line.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Builder {
    /// The next node.
    pub next: TapeIx,
    /// The innermost open container, or [`NONE`].
    top: TapeIx,
    top_is_object: bool,
    /// The last or the next node is the value of a name.
    named: bool,
    /// The number of open containers.
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
    /// A builder at the start of a line whose first node is `next`.
    #[inline(always)]
    pub fn at_line(next: TapeIx) -> Self {
        Self { next, ..Self::default() }
    }

    /// Adds the token that begins at `at` with `byte` and ends at `end`. Only strings and scalars use `end`,
    /// and a caller may set it later with [`Tape::set_end`].
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

    /// Records a fault unless the last token is in the set `behind` and `holds` is true. Returns true while
    /// the record has no fault.
    #[inline(always)]
    fn follows(&mut self, behind: u32, holds: bool) -> bool {
        let good = self.after & behind != 0 && holds;
        self.after = if good { self.after } else { after::FAULT };
        good
    }

    /// The node around the next one: the name before it, or the innermost container.
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

    /// Returns true if the last node may be a whole element or member.
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

    /// Ends a line, and returns its result.
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
