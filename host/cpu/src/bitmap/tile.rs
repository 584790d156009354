//! A tile of a compressed bitmap, decompressed by the CPU.

use warpath_core::wah::Bitmap;
use warpath_shared::bitmap::TILE_CHUNKS;
use warpath_shared::wah::{ALL, MAX_FILL};

/// The number of chunks of a tile.
pub(super) const TILE: usize = TILE_CHUNKS as usize;

/// The chunks of a tile. Chunks after the last one of the bitmap are 0.
pub(super) type Part = [u64; TILE];

/// The value of each chunk of an atom, computed without a branch.
#[inline(always)]
fn chunk_of(atom: u64) -> u64 {
    let fill = (atom as i64 >> 63) as u64;
    let value = ((atom << 1) as i64 >> 63) as u64;
    (atom & !fill | value & fill) & ALL
}

/// Adds the rows that a bitmap has in a tile of `chunks` chunks to `part`.
///
/// In the bitmap of a bin with a tenth of the rows, literals and fills of 0 alternate irregularly. The
/// processor cannot predict the next kind. So these two kinds of atoms are handled without a branch. Only
/// fills of 1 take a branch, and short fills of 1 are rare.
///
/// ```text
/// atoms      │ literal │ 0×3 │ literal │        sign bit, to all 64 bits:   0…0   1…1   0…0
/// or         word      0     word                 word & !fill
/// then on    1         3     1                    (count ^ 1) & fill ^ 1
/// ```
#[inline(always)]
pub(super) fn add(bitmap: &Bitmap<'_>, tile: usize, chunks: usize, part: &mut Part) {
    let (here, next) = (bitmap.tiles[tile], bitmap.tiles[tile + 1]);
    let end = next.atom as usize + usize::from(next.skip > 0);
    let atoms = &bitmap.wah.words()[here.atom as usize..end];
    if atoms.len() == chunks {
        for (part, atom) in part.iter_mut().zip(atoms) {
            *part |= chunk_of(*atom);
        }
        return;
    }
    // If the first atom begins before the tile, it is a fill, and the tile's offset in it makes `at`
    // negative.
    let mut at = -i64::from(here.skip);
    for &word in atoms {
        let fill = (word as i64 >> 63) as u64;
        let count = word & MAX_FILL;
        if word >= ONES {
            let (from, to) = (at.max(0) as usize, (at + count as i64).min(chunks as i64) as usize);
            part[from..to].fill(ALL);
        } else {
            part[at as usize % TILE] |= word & !fill;
        }
        at += ((count ^ 1) & fill ^ 1) as i64;
    }
}

/// The least atom, as a number, that is a fill of 1.
const ONES: u64 = 3 << 62;

#[cfg(test)]
mod tests {
    use warpath_core::wah::{WahBuf, chunks, tile_starts};
    use warpath_random::Rng;
    use warpath_shared::wah::chunks_for;

    use super::*;

    /// Tests runs of chunks of all kinds and lengths, single chunks among them.
    #[test]
    fn tiles_are_the_chunks_of_a_bitmap() {
        let mut rng = Rng::new(3);
        let mut next = |below: u64| rng.next_u64() % below;
        for rows in [1, 63, 64, 63 * 128, 63 * 128 + 1, 63 * 1000 + 5, 63 * 128 * 9] {
            for longest in [1, 2, 9, 300, 2000] {
                for kinds in 1..=4 {
                    let mut words = Vec::new();
                    while (words.len() as u64) < chunks_for(rows) {
                        let word = [0, ALL, 1 + next(ALL - 1), 1 << next(63)][next(kinds) as usize];
                        (0..=next(longest)).for_each(|_| words.push(word));
                    }
                    let bitmap = WahBuf::from_chunks(words, rows);
                    let (want, tiles) = (chunks(bitmap.as_wah()), tile_starts(bitmap.as_wah()));
                    let bitmap = Bitmap { wah: bitmap.as_wah(), tiles: &tiles };
                    for (tile, want) in want.chunks(TILE).enumerate() {
                        let mut part = [0; TILE];
                        part[0] = 1 << 5;
                        add(&bitmap, tile, want.len(), &mut part);
                        part[0] &= !(1 << 5) | want[0];
                        assert_eq!(&part[..want.len()], want, "{rows} rows, tile {tile}");
                        assert!(part[want.len()..].iter().all(|chunk| *chunk == 0));
                    }
                }
            }
        }
    }
}
