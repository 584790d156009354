//! WAH-64, the word-aligned hybrid code of bitmaps (Wu, Otoo and Shoshani, 2002), in its canonical form.
//!
//! A bitmap of *n* rows is cut into chunks of 63 rows. A chunk that has both values is a *literal* atom,
//! which holds the chunk unchanged. A run of chunks that are all 0, or all 1, is one *fill* atom:
//!
//! ```text
//! bit      63 62 61                                0
//! literal   0 │ 63 rows, the first in bit 0         │
//! fill      1 │ v │ how many chunks, 1 to 2⁶² − 1   │     all rows of them are v
//! ```
//!
//! *Canonical*: no literal is all 0 or all 1, no two fills of one value are adjacent, and the bits after the
//! last row are 0. Equal bitmaps then have equal atoms. A last chunk that is not full is therefore never a
//! 1-fill.
//!
//! | type | contents |
//! |---|---|
//! | [`Atom`] | one atom |
//! | [`Wah`] | atoms that are known to be canonical: the type is the invariant |
//! | [`Encoder`] | a converter of chunks and fills to canonical atoms, one at a time, without a buffer |
//! | [`ops`] | set algebra on compressed atoms |

pub mod ops;

/// The number of rows of a chunk.
pub const CHUNK_ROWS: u32 = 63;
/// A chunk with all rows set.
pub const ALL: u64 = (1 << CHUNK_ROWS) - 1;
/// The longest fill, in chunks.
pub const MAX_FILL: u64 = (1 << 62) - 1;

const FILL: u64 = 1 << 63;
const VALUE: u64 = 1 << 62;

/// The number of chunks for `rows` rows.
#[inline]
pub const fn chunks_for(rows: u64) -> u64 {
    rows.div_ceil(CHUNK_ROWS as u64)
}

/// The last chunk of a bitmap of `rows` rows that are all 1. [`ALL`] for no rows.
#[inline]
pub const fn last_chunk(rows: u64) -> u64 {
    match rows % CHUNK_ROWS as u64 {
        0 => ALL,
        some => (1 << some) - 1,
    }
}

/// One atom: a literal or a fill.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Atom(pub u64);

impl Atom {
    /// A literal of one chunk. Bit 63 is dropped.
    #[inline]
    pub const fn literal(chunk: u64) -> Self {
        Self(chunk & ALL)
    }

    /// A fill of `chunks` chunks of all 0 or all 1: 1 to [`MAX_FILL`] chunks.
    #[inline]
    pub const fn fill(value: bool, chunks: u64) -> Self {
        Self(FILL | if value { VALUE } else { 0 } | chunks & MAX_FILL)
    }

    /// Returns true for a fill.
    #[inline]
    pub const fn is_fill(self) -> bool {
        self.0 & FILL != 0
    }

    /// Returns true for a fill of 1.
    #[inline]
    pub const fn is_one_fill(self) -> bool {
        self.0 >= FILL | VALUE
    }

    /// The number of chunks.
    #[inline]
    pub const fn chunks(self) -> u64 {
        if self.is_fill() { self.0 & MAX_FILL } else { 1 }
    }

    /// The value of each of the atom's chunks.
    #[inline]
    pub const fn chunk(self) -> u64 {
        if !self.is_fill() {
            self.0
        } else if self.is_one_fill() {
            ALL
        } else {
            0
        }
    }
}

impl core::fmt::Debug for Atom {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.is_fill() {
            write!(f, "{}×{}", self.is_one_fill() as u8, self.chunks())
        } else {
            write!(f, "{:#018x}", self.0)
        }
    }
}

/// The reason why atoms are not a canonical bitmap of the given rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WahFault {
    /// The literal at this index is all 0 or all 1, and should be a fill.
    Homogeneous(usize),
    /// The fill at this index has no chunks.
    EmptyFill(usize),
    /// The fill at this index has the same value as the fill before it.
    SplitFill(usize),
    /// The atoms have another number of chunks than the rows.
    Chunks {
        /// The chunks of the atoms, as far as they were read.
        found: u64,
        /// The chunks of the rows.
        wanted: u64,
    },
    /// The last chunk has a bit set after the last row.
    BeyondRows,
}

impl core::fmt::Display for WahFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Homogeneous(at) => {
                write!(f, "atom {at} is a literal whose bits are all equal; expected a fill")
            }
            Self::EmptyFill(at) => write!(f, "atom {at} is a fill of 0 chunks"),
            Self::SplitFill(at) => write!(f, "atom {at} is a fill with the value of the fill before it"),
            Self::Chunks { found, wanted } => write!(f, "the atoms have {found} chunks; expected {wanted}"),
            Self::BeyondRows => f.write_str("a bit is set after the last row"),
        }
    }
}

impl core::error::Error for WahFault {}

/// A compressed bitmap: atoms that are canonical for their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wah<'a> {
    atoms: &'a [u64],
    rows: u64,
}

impl<'a> Wah<'a> {
    /// Checks each atom, and returns the bitmap of `rows` rows.
    ///
    /// # Errors
    /// [`WahFault`] if the atoms are not canonical, or not of `rows` rows.
    pub fn new(atoms: &'a [u64], rows: u64) -> Result<Self, WahFault> {
        let wanted = chunks_for(rows);
        let (mut found, mut before) = (0_u64, None);
        for (at, &word) in atoms.iter().enumerate() {
            let atom = Atom(word);
            if !atom.is_fill() && (word == 0 || word == ALL) {
                return Err(WahFault::Homogeneous(at));
            }
            if atom.chunks() == 0 {
                return Err(WahFault::EmptyFill(at));
            }
            let kind = atom.is_fill().then(|| atom.is_one_fill());
            if kind.is_some() && kind == before {
                return Err(WahFault::SplitFill(at));
            }
            before = kind;
            found = found.saturating_add(atom.chunks());
            if found > wanted {
                break;
            }
        }
        if found != wanted {
            return Err(WahFault::Chunks { found, wanted });
        }
        if atoms.last().is_some_and(|last| Atom(*last).chunk() & !last_chunk(rows) != 0) {
            return Err(WahFault::BeyondRows);
        }
        Ok(Self { atoms, rows })
    }

    /// A bitmap of atoms that are known to be canonical for their rows, for example from an [`Encoder`]. For
    /// other atoms, results are wrong, but there is no other harm: readers stop at the last row.
    #[inline]
    pub const fn assume_canonical(atoms: &'a [u64], rows: u64) -> Self {
        Self { atoms, rows }
    }

    /// The number of rows.
    #[inline]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// The atoms, as they are stored.
    #[inline]
    pub const fn words(&self) -> &'a [u64] {
        self.atoms
    }

    /// An iterator over the atoms.
    #[inline]
    pub fn atoms(&self) -> impl ExactSizeIterator<Item = Atom> + Clone + use<'a> {
        self.atoms.iter().map(|word| Atom(*word))
    }

    /// An iterator over the rows that are 1, in order.
    pub fn ones(&self) -> Ones<'a> {
        Ones { atoms: self.atoms.iter(), chunk: 0, first: 0, next: 0, fill: 0..0, rows: self.rows }
    }

    /// The number of rows that are 1.
    pub fn count(&self) -> u64 {
        let ones = |atom: Atom| atom.chunk().count_ones() as u64 * atom.chunks();
        self.atoms().map(ones).sum()
    }

    /// Returns the value of a row: false if there is no such row. Takes time proportional to the number of
    /// atoms before the row.
    pub fn get(&self, row: u64) -> bool {
        let (chunk, bit) = (row / CHUNK_ROWS as u64, row % CHUNK_ROWS as u64);
        let mut at = 0;
        for atom in self.atoms() {
            at += atom.chunks();
            if chunk < at {
                return row < self.rows && atom.chunk() >> bit & 1 != 0;
            }
        }
        false
    }

    /// The number of ones among the first `row` rows.
    pub fn rank(&self, row: u64) -> u64 {
        let (chunk, bit) = (row / CHUNK_ROWS as u64, row % CHUNK_ROWS as u64);
        let (mut at, mut ones) = (0, 0);
        for atom in self.atoms() {
            let (chunks, word) = (atom.chunks(), atom.chunk());
            if chunk < at + chunks {
                let within = (word & ((1 << bit) - 1)).count_ones() as u64;
                return ones + (chunk - at) * word.count_ones() as u64 + within;
            }
            at += chunks;
            ones += chunks * word.count_ones() as u64;
        }
        ones
    }

    /// The row of the 1 that has `rank` ones before it, or `None` if there are not as many ones.
    pub fn select(&self, rank: u64) -> Option<u64> {
        let (mut at, mut left) = (0, rank);
        for atom in self.atoms() {
            let (chunks, word) = (atom.chunks(), atom.chunk());
            let of_chunk = word.count_ones() as u64;
            if left < chunks * of_chunk {
                let mut word = word;
                for _ in 0..left % of_chunk {
                    word &= word - 1;
                }
                return Some((at + left / of_chunk) * CHUNK_ROWS as u64 + word.trailing_zeros() as u64);
            }
            left -= chunks * of_chunk;
            at += chunks;
        }
        None
    }
}

/// The rows of a bitmap that are 1 ([`Wah::ones`]).
#[derive(Clone, Debug)]
pub struct Ones<'a> {
    atoms: core::slice::Iter<'a, u64>,
    /// The remaining bits of a literal, and the row of its bit 0.
    chunk: u64,
    first: u64,
    /// The row after the last atom that was read.
    next: u64,
    /// The remaining rows of a fill.
    fill: core::ops::Range<u64>,
    rows: u64,
}

impl Iterator for Ones<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        loop {
            if self.chunk != 0 {
                let bit = self.chunk.trailing_zeros();
                self.chunk &= self.chunk - 1;
                return Some(self.first + bit as u64);
            }
            if let Some(row) = self.fill.next() {
                return Some(row);
            }
            let atom = Atom(*self.atoms.next()?);
            let end = self.next.saturating_add(atom.chunks().saturating_mul(CHUNK_ROWS as u64));
            if atom.is_one_fill() {
                self.fill = self.next..end.min(self.rows);
            } else {
                (self.chunk, self.first) = (atom.chunk(), self.next);
            }
            self.next = end;
        }
    }
}

/// Converts chunks to canonical atoms, in the order of rows.
///
/// The encoder returns an atom when it knows the whole atom. In total it returns at most one atom for each
/// push, and one at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Encoder {
    /// The open fill, which may still grow. No chunks if there is none.
    value: bool,
    chunks: u64,
}

impl Encoder {
    /// Adds a chunk. If this finishes two atoms, the first is a fill, and the second is the literal.
    #[inline]
    pub fn push(&mut self, chunk: u64) -> [Option<Atom>; 2] {
        match chunk & ALL {
            0 => [self.push_fill(false, 1), None],
            ALL => [self.push_fill(true, 1), None],
            literal => [self.finish(), Some(Atom::literal(literal))],
        }
    }

    /// Adds chunks of all 0 or all 1. `chunks` may be 0.
    #[inline]
    pub fn push_fill(&mut self, value: bool, chunks: u64) -> Option<Atom> {
        if chunks == 0 {
            return None;
        }
        if self.chunks > 0 && self.value == value {
            self.chunks += chunks;
            return None;
        }
        let done = self.finish();
        (self.value, self.chunks) = (value, chunks);
        done
    }

    /// Adds an atom, or the rest of one.
    #[inline]
    pub fn push_atom(&mut self, atom: Atom) -> [Option<Atom>; 2] {
        if atom.is_fill() {
            [self.push_fill(atom.is_one_fill(), atom.chunks()), None]
        } else {
            self.push(atom.0)
        }
    }

    /// Returns the open fill, if any. The encoder is then empty again.
    #[inline]
    pub fn finish(&mut self) -> Option<Atom> {
        let chunks = core::mem::take(&mut self.chunks);
        (chunks > 0).then(|| Atom::fill(self.value, chunks))
    }
}
