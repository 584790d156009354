//! Whether atoms and the places of their tiles are what they say, for any bytes.
//!
//! Both are gone through together, a tile at a time. In dense bitmaps most tiles are 128 literals: these are looked at as one, without a branch.

use warpath_shared::bitmap::{TILE_CHUNKS, TileStart, tiles_for};
use warpath_shared::wah::{Atom, WahFault, chunks_for, last_chunk};

/// Why atoms and tiles are no bitmap.
#[derive(Debug, PartialEq)]
pub(super) enum BitmapFault {
    Wah(WahFault),
    /// A tile, by its number, is said to begin elsewhere.
    Tile(u64),
}

impl std::fmt::Display for BitmapFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wah(fault) => fault.fmt(f),
            Self::Tile(number) => write!(f, "tile {number} does not begin where it is said to"),
        }
    }
}

impl From<WahFault> for BitmapFault {
    fn from(fault: WahFault) -> Self {
        Self::Wah(fault)
    }
}

const TILE: usize = TILE_CHUNKS as usize;

/// Whether all of these are literals, and none is all 0 or all 1.
fn are_literals(words: &[u64; TILE]) -> bool {
    // A literal is 1 to 2⁶³ − 2: only then neither it nor a neighbour has bit 63.
    //
    //   word         0     1 … 2⁶³−2   2⁶³−1   a fill
    //   word − 1     set   -           -       either
    //   word         -     -           -       set
    //   word + 1     -     -           set     either
    let seen = words.iter().fold(0, |seen, word| seen | word.wrapping_sub(1) | word | word.wrapping_add(1));
    seen >> 63 == 0
}

/// Checks that atoms are a canonical bitmap of some rows, and that its tiles are where they are said to be.
pub(super) fn bitmap(atoms: &[u64], tiles: &[TileStart], rows: u64) -> Result<(), BitmapFault> {
    let chunks = chunks_for(rows);
    // Atoms that have been passed, and the first chunk of the next one; of which value the fill before it is.
    let (mut at, mut first, mut before) = (0_usize, 0_u64, None);
    let mut tiles = tiles.iter();
    for tile in 0..tiles_for(chunks) {
        let (begin, end) = (tile * u64::from(TILE_CHUNKS), (tile + 1) * u64::from(TILE_CHUNKS));
        let start = TileStart { atom: at as u32, skip: (begin - first) as u32 };
        if tiles.next() != Some(&start) {
            return Err(BitmapFault::Tile(tile));
        }
        if first == begin
            && end <= chunks
            && let Some(words) = atoms[at..].first_chunk()
            && are_literals(words)
        {
            (at, first, before) = (at + TILE, end, None);
            continue;
        }
        while first < end.min(chunks) {
            let Some(word) = atoms.get(at) else {
                return Err(WahFault::Chunks { found: first, wanted: chunks }.into());
            };
            let atom = Atom(*word);
            // An atom that reaches into later tiles is looked at again in each.
            let seen = first < begin;
            if !seen {
                let fill = atom.is_fill().then(|| atom.is_one_fill());
                if fill.is_none() && matches!(Atom::literal(*word).chunk(), 0 | warpath_shared::wah::ALL) {
                    return Err(WahFault::Homogeneous(at).into());
                }
                if atom.chunks() == 0 {
                    return Err(WahFault::EmptyFill(at).into());
                }
                if fill.is_some() && fill == before {
                    return Err(WahFault::SplitFill(at).into());
                }
                before = fill;
            }
            let behind = first.saturating_add(atom.chunks());
            if behind > chunks {
                return Err(WahFault::Chunks { found: behind, wanted: chunks }.into());
            }
            if behind > end {
                break;
            }
            (at, first) = (at + 1, behind);
        }
    }
    if at < atoms.len() {
        return Err(WahFault::Chunks { found: first.saturating_add(1), wanted: chunks }.into());
    }
    if tiles.next() != Some(&TileStart { atom: at as u32, skip: 0 }) || tiles.next().is_some() {
        return Err(BitmapFault::Tile(tiles_for(chunks)));
    }
    if atoms.last().is_some_and(|last| Atom(*last).chunk() & !last_chunk(rows) != 0) {
        return Err(WahFault::BeyondRows.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bitmap::wah::{WahBuf, tile_starts};
    use warpath_shared::wah::{ALL, Wah};

    fn next(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *seed >> 33
    }

    /// Chunks in runs, of which so many of 8 are literals.
    fn chunks(seed: &mut u64, rows: u64, literals: u64) -> Vec<u64> {
        let mut chunks = Vec::new();
        while (chunks.len() as u64) < chunks_for(rows) {
            let kind = next(seed) % 8;
            let run = next(seed) % 300;
            for _ in 0..run {
                let literal = 1 + (next(seed) << 31 ^ next(seed)) % (ALL - 1);
                chunks.push(if kind < literals { literal } else { [0, ALL][(kind % 2) as usize] });
            }
        }
        chunks
    }

    #[test]
    fn bitmaps_are_what_they_say() {
        let mut seed = 5;
        for rows in [0, 1, 62, 63, 64, 63 * 128, 63 * 128 + 1, 63 * 1000 + 5, 63 * 128 * 9] {
            for literals in [0, 4, 7, 8] {
                let bitmap = WahBuf::from_chunks(chunks(&mut seed, rows, literals), rows);
                let tiles = tile_starts(bitmap.as_wah());
                assert_eq!(super::bitmap(bitmap.words(), &tiles, rows), Ok(()), "{rows} rows");
            }
        }
    }

    /// Any one word is altered, left out or put in: it is refused for the reason that [`Wah::new`] gives, or, where that finds nothing, the
    /// tiles are not where they were.
    #[test]
    fn what_is_altered_is_refused() {
        let mut seed = 9;
        for rows in [1, 63 * 128 + 1, 63 * 700 + 5] {
            for literals in [1, 4, 8] {
                let bitmap = WahBuf::from_chunks(chunks(&mut seed, rows, literals), rows);
                let tiles = tile_starts(bitmap.as_wah());
                for at in 0..bitmap.words().len() {
                    let word = bitmap.words()[at];
                    let others =
                        [0, ALL, !0, 1 << 63, 3 << 62, word ^ 1, word ^ 1 << 62, word ^ 1 << 63, word + 1];
                    for other in others {
                        let mut atoms = bitmap.words().to_vec();
                        atoms[at] = other;
                        hold(&atoms, &tiles, rows);
                        atoms.insert(at, word);
                        hold(&atoms, &tiles, rows);
                    }
                    let mut atoms = bitmap.words().to_vec();
                    atoms.remove(at);
                    hold(&atoms, &tiles, rows);
                }
                for at in 0..tiles.len() {
                    for (atom, skip) in [(1, 0), (0, 1), (u32::MAX, 0), (0, u32::MAX)] {
                        let mut tiles = tiles.clone();
                        tiles[at].atom = tiles[at].atom.wrapping_add(atom);
                        tiles[at].skip = tiles[at].skip.wrapping_add(skip);
                        assert!(super::bitmap(bitmap.words(), &tiles, rows).is_err());
                    }
                }
                assert!(super::bitmap(bitmap.words(), &tiles[1..], rows).is_err());
                let more = [&tiles[..], &tiles[..1]].concat();
                assert!(super::bitmap(bitmap.words(), &more, rows).is_err());
            }
        }
    }

    fn hold(atoms: &[u64], tiles: &[TileStart], rows: u64) {
        let known = Wah::new(atoms, rows).map(tile_starts);
        let found = bitmap(atoms, tiles, rows);
        match known {
            Ok(known) => assert_eq!(found.is_ok(), known == tiles, "{found:?}"),
            Err(fault) => assert!(found.is_err(), "{fault}"),
        }
    }
}
