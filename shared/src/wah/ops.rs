//! Set algebra on compressed bitmaps, atom by atom: literal with literal, fill with fill, fill with literal.
//!
//! Both operands are stacks of atoms. The top atoms are consumed at the same pace:
//!
//! ```text
//! a   │ 0×5            │ 63 rows │ …         literal, literal   a ∘ b, one chunk
//! b   │ 63 rows │ 1×7            │ …         fill, fill         the value v(a) ∘ v(b), as many chunks as the shorter has left
//! a∘b │ 63 rows │ 0∘1 ×4 │ …                 fill, literal      the chunk of v(a), all 0 or all 1, with the literal: one chunk
//! ```

use super::{ALL, Atom, Encoder, Wah, chunks_for, last_chunk};

/// An operation on two sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Intersection.
    And,
    /// Union.
    Or,
    /// Symmetric difference.
    Xor,
    /// Difference: the rows of the first set that are not in the second.
    AndNot,
}

impl Op {
    /// Applies the operation to two chunks.
    #[inline]
    pub const fn of(self, a: u64, b: u64) -> u64 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::AndNot => a & !b,
        }
    }
}

/// A stack of atoms whose top atom is consumed chunk by chunk.
#[derive(Clone, Debug)]
struct Stack<'a> {
    rest: core::slice::Iter<'a, u64>,
    /// The chunk of the top atom, and the number of its chunks that are left.
    chunk: u64,
    left: u64,
}

impl<'a> Stack<'a> {
    fn new(of: Wah<'a>) -> Self {
        Self { rest: of.words().iter(), chunk: 0, left: 0 }
    }

    /// Replaces a consumed top with the next atom. Returns false at the end.
    #[inline]
    fn fetch(&mut self) -> bool {
        while self.left == 0 {
            let Some(word) = self.rest.next() else { return false };
            let atom = Atom(*word);
            (self.chunk, self.left) = (atom.chunk(), atom.chunks());
        }
        true
    }
}

/// The atoms of an operation on two bitmaps of as many rows, or of fewer where one of them ends early.
pub fn zip<'a>(op: Op, a: Wah<'a>, b: Wah<'a>) -> impl Iterator<Item = Atom> + 'a {
    let (mut a, mut b) = (Stack::new(a), Stack::new(b));
    let next = move || {
        if !(a.fetch() && b.fetch()) {
            return None;
        }
        // One chunk where either is a literal, of which one is left.
        let chunks = a.left.min(b.left);
        a.left -= chunks;
        b.left -= chunks;
        Some((op.of(a.chunk, b.chunk) & ALL, chunks))
    };
    canonical(core::iter::from_fn(next))
}

/// The atoms of the rows that a bitmap does not have.
pub fn not(of: Wah<'_>) -> impl Iterator<Item = Atom> + '_ {
    let (last, mut left) = (last_chunk(of.rows()), chunks_for(of.rows()));
    let flipped = of.atoms().flat_map(move |atom| {
        let chunks = atom.chunks().min(left);
        left -= chunks;
        let chunk = !atom.chunk() & ALL;
        // The last chunk has rows that are none, and these stay 0.
        let ends = left == 0 && chunks > 0;
        let before = (chunk, chunks - ends as u64);
        [before, (chunk & last, ends as u64)]
    });
    canonical(flipped)
}

/// Canonical atoms of chunks and how often each is repeated. Only chunks of one value are, more than once.
pub fn canonical(runs: impl Iterator<Item = (u64, u64)>) -> impl Iterator<Item = Atom> {
    let mut encoder = Encoder::default();
    // The end is a run of no chunks.
    let all = runs.map(Some).chain(core::iter::once(None));
    let atoms = all.flat_map(move |run| match run {
        None => [encoder.finish(), None],
        Some((_, 0)) => [None, None],
        Some((0, chunks)) => [encoder.push_fill(false, chunks), None],
        Some((ALL, chunks)) => [encoder.push_fill(true, chunks), None],
        Some((chunk, _)) => encoder.push(chunk),
    });
    atoms.flatten()
}
