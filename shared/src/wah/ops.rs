//! Set algebra on compressed bitmaps, atom by atom: literal with literal, fill with fill, fill with literal.
//!
//! Both operands are stacks of atoms. The top atoms are consumed at the same pace:
//!
//! ```text
//! a   │ 0×5            │ 63 rows │ …     literal, literal   a ∘ b, one chunk
//! b   │ 63 rows │ 1×7            │ …     fill, fill         v(a) ∘ v(b), the chunks of the shorter
//! a∘b │ 63 rows │ 0∘1 ×4 │ …             fill, literal      the chunk of v(a) with the literal
//! ```
//!
//! The chunk of v(a) is all 0 or all 1. A fill with a literal gives one chunk.

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

/// Returns the atoms of an operation on two bitmaps with the same number of rows. The result has fewer rows
/// where one of the bitmaps ends early.
pub fn zip<'a>(op: Op, a: Wah<'a>, b: Wah<'a>) -> impl Iterator<Item = Atom> + 'a {
    let (mut a, mut b) = (Stack::new(a), Stack::new(b));
    let next = move || {
        if !(a.fetch() && b.fetch()) {
            return None;
        }
        // A literal has one chunk left, so the count is 1 where either atom is a literal.
        let chunks = a.left.min(b.left);
        a.left -= chunks;
        b.left -= chunks;
        Some((op.of(a.chunk, b.chunk) & ALL, chunks))
    };
    canonical(core::iter::from_fn(next))
}

/// Returns the atoms of the complement of a bitmap.
pub fn not(of: Wah<'_>) -> impl Iterator<Item = Atom> + '_ {
    let (last, mut left) = (last_chunk(of.rows()), chunks_for(of.rows()));
    let flipped = of.atoms().flat_map(move |atom| {
        let chunks = atom.chunks().min(left);
        left -= chunks;
        let chunk = !atom.chunk() & ALL;
        // The bits after the last row in the last chunk stay 0.
        let ends = left == 0 && chunks > 0;
        let before = (chunk, chunks - ends as u64);
        [before, (chunk & last, ends as u64)]
    });
    canonical(flipped)
}

/// Converts runs to canonical atoms. A run is a chunk and its number of repetitions. Only chunks that are all
/// 0 or all 1 are repeated.
pub fn canonical(runs: impl Iterator<Item = (u64, u64)>) -> impl Iterator<Item = Atom> {
    let mut encoder = Encoder::default();
    // `None` marks the end.
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
