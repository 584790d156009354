//! Compressed bitmaps that own their atoms.

use warpath_shared::bitmap::{TILE_CHUNKS, TileStart, tiles_for};
use warpath_shared::wah::ops::{self, Op};
use warpath_shared::wah::{Atom, CHUNK_ROWS, Encoder, Wah, WahFault, chunks_for};

/// A compressed bitmap: the canonical atoms of `rows` rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WahBuf {
    atoms: Vec<u64>,
    rows: u64,
}

impl WahBuf {
    /// Takes atoms, and checks each.
    ///
    /// # Errors
    /// The errors of [`Wah::new`].
    pub fn new(atoms: Vec<u64>, rows: u64) -> Result<Self, WahFault> {
        Wah::new(&atoms, rows)?;
        Ok(Self { atoms, rows })
    }

    /// An empty set of `rows` rows.
    #[must_use]
    pub fn none(rows: u64) -> Self {
        Self::from_ones([], rows)
    }

    /// Compresses chunks of 63 rows, the first in bit 0. Chunks and bits after the last row are dropped;
    /// missing chunks are 0.
    #[must_use]
    pub fn from_chunks(chunks: impl IntoIterator<Item = u64>, rows: u64) -> Self {
        let count = chunks_for(rows);
        let (mut builder, mut at) = (Builder::default(), 0);
        for chunk in chunks.into_iter().take(usize::try_from(count).unwrap_or(usize::MAX)) {
            at += 1;
            builder.chunk(if at == count { chunk & warpath_shared::wah::last_chunk(rows) } else { chunk });
        }
        builder.fill(false, count - at);
        builder.finish(rows)
    }

    /// Compresses the rows that are 1, in ascending order.
    ///
    /// # Panics
    /// If a row is not after the one before it, or not below `rows`.
    #[must_use]
    pub fn from_ones(ones: impl IntoIterator<Item = u64>, rows: u64) -> Self {
        let mut rows_of = OnesBuilder::default();
        for row in ones {
            assert!(row < rows, "row {row} of {rows}");
            rows_of.push(row);
        }
        rows_of.finish(rows)
    }

    /// The bitmap as a borrowed [`Wah`].
    #[must_use]
    pub fn as_wah(&self) -> Wah<'_> {
        Wah::assume_canonical(&self.atoms, self.rows)
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The atoms as they are stored.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.atoms
    }

    /// The result of an operation on two bitmaps.
    ///
    /// # Panics
    /// If they have different numbers of rows.
    #[must_use]
    pub fn of(op: Op, a: Wah<'_>, b: Wah<'_>) -> Self {
        assert_eq!(a.rows(), b.rows(), "bitmaps of different rows");
        // This is the most atoms there can be. Pushing into enough memory takes half the time of collecting.
        let most = chunks_for(a.rows()).min((a.words().len() + b.words().len()) as u64);
        let mut atoms = Vec::with_capacity(most as usize);
        ops::zip(op, a, b).for_each(|atom| atoms.push(atom.0));
        Self { atoms, rows: a.rows() }
    }

    /// The rows that a bitmap does not have.
    #[must_use]
    pub fn not(of: Wah<'_>) -> Self {
        Self { atoms: ops::not(of).map(|atom| atom.0).collect(), rows: of.rows() }
    }

    /// The chunks, decompressed.
    #[must_use]
    pub fn chunks(&self) -> Vec<u64> {
        chunks(self.as_wah())
    }
}

/// A bitmap with the starts of its tiles, for running a program.
#[derive(Clone, Copy, Debug)]
pub struct Bitmap<'a> {
    /// The bitmap.
    pub wah: Wah<'a>,
    /// The start of each tile in the bitmap's atoms ([`tile_starts`]).
    pub tiles: &'a [TileStart],
}

/// The chunks of a bitmap, decompressed.
#[must_use]
pub fn chunks(of: Wah<'_>) -> Vec<u64> {
    let mut chunks = Vec::with_capacity(chunks_for(of.rows()) as usize);
    for atom in of.atoms() {
        chunks.resize(chunks.len() + atom.chunks() as usize, atom.chunk());
    }
    chunks
}

/// The start of each tile in the atoms of a bitmap. After the last comes the number of atoms.
#[must_use]
pub fn tile_starts(of: Wah<'_>) -> Vec<TileStart> {
    let tiles = tiles_for(chunks_for(of.rows()));
    let mut starts = Vec::with_capacity(tiles as usize + 1);
    let mut at = 0_u64;
    for (number, atom) in of.atoms().enumerate() {
        let end = at + atom.chunks();
        loop {
            let tile = starts.len() as u64 * u64::from(TILE_CHUNKS);
            if tile >= end {
                break;
            }
            starts.push(TileStart { atom: number as u32, skip: (tile - at) as u32 });
        }
        at = end;
    }
    starts.push(TileStart { atom: of.words().len() as u32, skip: 0 });
    starts
}

/// Makes a bitmap chunk by chunk.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    atoms: Vec<u64>,
    encoder: Encoder,
}

impl Builder {
    /// Adds the next 63 rows.
    #[inline]
    pub fn chunk(&mut self, chunk: u64) {
        let atoms = self.encoder.push(chunk);
        self.atoms.extend(atoms.into_iter().flatten().map(|atom| atom.0));
    }

    /// Adds the next `chunks` chunks, all 0 or all 1.
    #[inline]
    pub fn fill(&mut self, value: bool, chunks: u64) {
        self.atoms.extend(self.encoder.push_fill(value, chunks).map(|atom| atom.0));
    }

    /// Adds the next atom.
    #[inline]
    pub fn atom(&mut self, atom: Atom) {
        let atoms = self.encoder.push_atom(atom);
        self.atoms.extend(atoms.into_iter().flatten().map(|atom| atom.0));
    }

    /// The bitmap of what was added, which has to be `rows` rows.
    #[must_use]
    pub fn finish(mut self, rows: u64) -> WahBuf {
        self.atoms.extend(self.encoder.finish().map(|atom| atom.0));
        WahBuf { atoms: self.atoms, rows }
    }
}

/// Makes a bitmap of the rows that are 1.
#[derive(Clone, Debug, Default)]
pub struct OnesBuilder {
    builder: Builder,
    /// The chunk that is being filled, and its number.
    chunk: u64,
    at: u64,
}

impl OnesBuilder {
    /// Adds a row that is 1. It has to be after all earlier ones.
    ///
    /// # Panics
    /// If it is not.
    #[inline]
    pub fn push(&mut self, row: u64) {
        let (at, bit) = (row / u64::from(CHUNK_ROWS), row % u64::from(CHUNK_ROWS));
        if at != self.at {
            assert!(at > self.at, "row {row} comes late");
            self.builder.chunk(self.chunk);
            self.builder.fill(false, at - self.at - 1);
            (self.chunk, self.at) = (0, at);
        }
        assert!(self.chunk >> bit == 0, "row {row} comes late");
        self.chunk |= 1 << bit;
    }

    /// The bitmap, with `rows` rows.
    #[must_use]
    pub fn finish(mut self, rows: u64) -> WahBuf {
        let chunks = chunks_for(rows);
        if self.at < chunks {
            self.builder.chunk(self.chunk);
            self.builder.fill(false, chunks - self.at - 1);
        }
        self.builder.finish(rows)
    }
}
