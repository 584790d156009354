//! WAH-64, the word-aligned hybrid code of bitmaps (Wu, Otoo and Shoshani, 2002), in its canonical form.
//!
//! A bitmap of *n* rows is cut into chunks of 63 rows. A chunk that has both values is a *literal* atom, which holds it as it is; chunks
//! in a row that are all 0, or all 1, are one *fill* atom:
//!
//! ```text
//! bit      63 62 61                                0
//! literal   0 │ 63 rows, the first in bit 0         │
//! fill      1 │ v │ how many chunks, 1 to 2⁶² − 1   │     all rows of them are v
//! ```
//!
//! *Canonical*: no literal is all 0 or all 1, no two fills of one value stand next to each other, and rows behind the last are 0. Then equal
//! bitmaps have equal atoms. A last chunk that is not full is therefore never a 1-fill.
//!
//! | type | what it is |
//! |---|---|
//! | [`Atom`] | one atom |
//! | [`Wah`] | atoms that are known to be canonical: the type is the invariant |
//! | [`Encoder`] | chunks and fills in, canonical atoms out, one at a time and without memory |
//! | [`ops`] | set algebra on atoms as they are, not decompressed |

pub mod ops;

/// Rows of a chunk.
pub const CHUNK_ROWS: u32 = 63;
/// All rows of a chunk.
pub const ALL: u64 = (1 << CHUNK_ROWS) - 1;
/// The longest fill, in chunks.
pub const MAX_FILL: u64 = (1 << 62) - 1;

const FILL: u64 = 1 << 63;
const VALUE: u64 = 1 << 62;

/// Chunks of so many rows.
#[inline]
pub const fn chunks_for(rows: u64) -> u64 {
    rows.div_ceil(CHUNK_ROWS as u64)
}

/// What the last of the chunks of so many rows has where all rows are 1; [`ALL`] for no rows.
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
    /// A chunk as it is. Bit 63 is dropped.
    #[inline]
    pub const fn literal(chunk: u64) -> Self {
        Self(chunk & ALL)
    }

    /// So many chunks of all 0 or all 1: 1 to [`MAX_FILL`].
    #[inline]
    pub const fn fill(value: bool, chunks: u64) -> Self {
        Self(FILL | if value { VALUE } else { 0 } | chunks & MAX_FILL)
    }

    /// Whether it is a fill.
    #[inline]
    pub const fn is_fill(self) -> bool {
        self.0 & FILL != 0
    }

    /// Whether it is a fill of 1.
    #[inline]
    pub const fn is_one_fill(self) -> bool {
        self.0 >= FILL | VALUE
    }

    /// How many chunks it is.
    #[inline]
    pub const fn chunks(self) -> u64 {
        if self.is_fill() { self.0 & MAX_FILL } else { 1 }
    }

    /// Each of its chunks.
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

/// Why atoms are no canonical bitmap of some rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WahFault {
    /// A literal, by its number, is all 0 or all 1, and should be a fill.
    Homogeneous(usize),
    /// A fill, by its number, has no chunk.
    EmptyFill(usize),
    /// A fill, by its number, goes on with what the one before it ends with.
    SplitFill(usize),
    /// The atoms have other chunks than the rows.
    Chunks {
        /// Those of the atoms, as far as they were read.
        found: u64,
        /// Those of the rows.
        wanted: u64,
    },
    /// The last chunk has rows behind the last.
    BeyondRows,
}

impl core::fmt::Display for WahFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Homogeneous(at) => write!(f, "atom {at} is a literal of one value"),
            Self::EmptyFill(at) => write!(f, "atom {at} is a fill of no chunks"),
            Self::SplitFill(at) => write!(f, "atom {at} is a fill of what is before it"),
            Self::Chunks { found, wanted } => write!(f, "atoms of {found} chunks, not of {wanted}"),
            Self::BeyondRows => f.write_str("a bit is set behind the last row"),
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
    /// Takes atoms for a bitmap of some rows, after a look at each.
    ///
    /// # Errors
    /// [`WahFault`] where they are not canonical, or not of so many rows.
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

    /// Takes atoms that are known to be canonical for their rows: such as an [`Encoder`] gave. Where they are not, answers are wrong, and
    /// nothing worse: what reads them stops at the last row.
    #[inline]
    pub const fn assume_canonical(atoms: &'a [u64], rows: u64) -> Self {
        Self { atoms, rows }
    }

    /// Its rows.
    #[inline]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Its atoms, as they are stored.
    #[inline]
    pub const fn words(&self) -> &'a [u64] {
        self.atoms
    }

    /// Its atoms.
    #[inline]
    pub fn atoms(&self) -> impl ExactSizeIterator<Item = Atom> + Clone + use<'a> {
        self.atoms.iter().map(|word| Atom(*word))
    }

    /// Rows that are 1, from the first on.
    pub fn ones(&self) -> Ones<'a> {
        Ones { atoms: self.atoms.iter(), chunk: 0, first: 0, next: 0, fill: 0..0, rows: self.rows }
    }

    /// How many rows are 1.
    pub fn count(&self) -> u64 {
        let ones = |atom: Atom| atom.chunk().count_ones() as u64 * atom.chunks();
        self.atoms().map(ones).sum()
    }

    /// Whether a row is 1; not if there is no such row. Takes as long as to go through the atoms before it.
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

    /// How many of the first `row` rows are 1.
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

    /// The row of the 1 that has `rank` of them before it, if there are so many.
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
    /// What is left of a literal, and the row of its bit 0.
    chunk: u64,
    first: u64,
    /// The row behind the last atom that was taken.
    next: u64,
    /// What is left of a fill.
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

/// Makes canonical atoms of chunks, in the order of rows.
///
/// What is pushed comes out as atoms later, when it is known what they are: at most one for each push, and one at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Encoder {
    /// The fill that may yet grow; no chunks if there is none.
    value: bool,
    chunks: u64,
}

impl Encoder {
    /// Takes a chunk. Where two atoms are finished by it, the first is a fill, and the second the literal.
    #[inline]
    pub fn push(&mut self, chunk: u64) -> [Option<Atom>; 2] {
        match chunk & ALL {
            0 => [self.push_fill(false, 1), None],
            ALL => [self.push_fill(true, 1), None],
            literal => [self.finish(), Some(Atom::literal(literal))],
        }
    }

    /// Takes chunks of all 0 or all 1; none is allowed.
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

    /// Takes an atom, or what is left of one.
    #[inline]
    pub fn push_atom(&mut self, atom: Atom) -> [Option<Atom>; 2] {
        if atom.is_fill() {
            [self.push_fill(atom.is_one_fill(), atom.chunks()), None]
        } else {
            self.push(atom.0)
        }
    }

    /// Ends, or begins anew: the fill that is open.
    #[inline]
    pub fn finish(&mut self) -> Option<Atom> {
        let chunks = core::mem::take(&mut self.chunks);
        (chunks > 0).then(|| Atom::fill(self.value, chunks))
    }
}
