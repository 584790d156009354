//! Unions by the methods of Nelson, Sorenson, Myre, Sawin and Chiu (2019): on CPUs here, and on a
//! [device](UnionStage).
//!
//! On CPUs, they are set algebra on two compressed bitmaps at a time (sections 2.1 and 3.2). Systems of
//! bitmap indexes evaluate range queries in this way.
//!
//! ```text
//! iterative           pairwise, of 5 columns: level by level, the pairs of a level side by side
//! r = a₀              a₀ a₁ a₂ a₃ a₄   3 low, 2 high: a₀ ∪ a₃, a₁ ∪ a₄; a₂ has no partner, and stays
//! r = r ∪ a₁          b₀ b₁ a₂         2 low, 1 high: b₀ ∪ a₂; b₁ stays
//! r = r ∪ a₂ …        c₀ b₁            c₀ ∪ b₁
//! ```

mod device;

use warpath_core::wah::{Builder, WahBuf};
use warpath_shared::wah::Wah;
use warpath_shared::wah::ops::Op;

pub use device::{Decompression, Reduction, UnionStage};

/// The union of bitmaps with equal numbers of rows, one after the other. The union of no bitmaps has no rows.
///
/// # Panics
/// If the bitmaps have different numbers of rows.
#[must_use]
pub fn iterative(columns: &[Wah<'_>]) -> WahBuf {
    let Some((first, rest)) = columns.split_first() else { return WahBuf::none(0) };
    rest.iter().fold(owned(*first), |union, column| WahBuf::of(Op::Or, union.as_wah(), *column))
}

/// The union of bitmaps with equal numbers of rows, in pairs, level by level. The union of no bitmaps has no
/// rows.
///
/// `unite` receives the pairs of a level. It returns a bitmap for each pair, in their order, and may use
/// threads.
///
/// # Panics
/// If `unite` does not return one bitmap for each pair.
#[must_use]
pub fn pairwise(columns: &[Wah<'_>], mut unite: impl FnMut(&[(Wah<'_>, Wah<'_>)]) -> Vec<WahBuf>) -> WahBuf {
    let mut level: Vec<Part<'_>> = columns.iter().map(|column| Part::Given(*column)).collect();
    while level.len() > 1 {
        // If the number is odd, the bitmap in the middle has no partner.
        let low = level.len().div_ceil(2);
        let pairs: Vec<_> = level.iter().zip(&level[low..]).map(|(a, b)| (a.as_wah(), b.as_wah())).collect();
        let made = unite(&pairs);
        assert_eq!(made.len(), pairs.len(), "a bitmap for each pair");
        level.truncate(low);
        for (part, union) in level.iter_mut().zip(made) {
            *part = Part::Made(union);
        }
    }
    match level.pop() {
        None => WahBuf::none(0),
        Some(Part::Given(only)) => owned(only),
        Some(Part::Made(union)) => union,
    }
}

/// A bitmap of a level.
enum Part<'a> {
    /// A bitmap of the input.
    Given(Wah<'a>),
    /// A union of two bitmaps.
    Made(WahBuf),
}

impl Part<'_> {
    fn as_wah(&self) -> Wah<'_> {
        match self {
            Self::Given(wah) => *wah,
            Self::Made(union) => union.as_wah(),
        }
    }
}

fn owned(of: Wah<'_>) -> WahBuf {
    let mut builder = Builder::default();
    of.atoms().for_each(|atom| builder.atom(atom));
    builder.finish(of.rows())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use warpath_random::Rng;

    use super::*;

    /// Random rows in runs. A set has short or long runs, and a density.
    fn some(rng: &mut Rng, rows: u64) -> BTreeSet<u64> {
        let (longest, density) = (rng.pick(&[1, 70, 1000]), rng.below(101));
        let (mut set, mut at) = (BTreeSet::new(), 0);
        while at < rows {
            let end = rows.min(at + 1 + rng.below(longest) as u64);
            if rng.below(100) < density {
                set.extend(at..end);
            }
            at = end;
        }
        set
    }

    fn unite(pairs: &[(Wah<'_>, Wah<'_>)]) -> Vec<WahBuf> {
        pairs.iter().map(|(a, b)| WahBuf::of(Op::Or, *a, *b)).collect()
    }

    fn check(sets: &[BTreeSet<u64>], rows: u64) {
        let columns: Vec<WahBuf> =
            sets.iter().map(|set| WahBuf::from_ones(set.iter().copied(), rows)).collect();
        let columns: Vec<Wah<'_>> = columns.iter().map(WahBuf::as_wah).collect();
        let union: BTreeSet<u64> = sets.iter().flatten().copied().collect();
        let want = WahBuf::from_ones(union, rows);
        assert_eq!(iterative(&columns), want, "{} columns of {rows} rows", columns.len());
        let got = pairwise(&columns, unite);
        assert_eq!(got, want, "{} columns of {rows} rows", columns.len());
        assert_eq!(Wah::new(got.words(), rows), Ok(got.as_wah()), "canonical");
    }

    #[test]
    fn unions_are_right_for_every_number_of_columns() {
        let mut rng = Rng::new(1);
        for count in (1..=20).chain([31, 32, 33, 64, 100]) {
            let rows = rng.pick(&[1, 62, 63, 64, 126, 1000, 8064]);
            let sets: Vec<_> = (0..count).map(|_| some(&mut rng, rows)).collect();
            check(&sets, rows);
        }
    }

    #[test]
    fn unions_are_right_for_every_sort_of_column() {
        let mut rng = Rng::new(2);
        for _ in 0..200 {
            let (rows, count) = (1 + rng.below(3000) as u64, 1 + rng.below(9));
            let sets: Vec<_> = (0..count).map(|_| some(&mut rng, rows)).collect();
            check(&sets, rows);
        }
        check(&[BTreeSet::new(), BTreeSet::new(), BTreeSet::new()], 100);
        check(&[(0..126).collect(), BTreeSet::new()], 126);
        check(&[(0..63).collect(), (63..126).collect()], 126);
    }

    #[test]
    fn no_columns_are_no_rows() {
        assert_eq!(iterative(&[]), WahBuf::none(0));
        assert_eq!(pairwise(&[], unite), WahBuf::none(0));
    }

    #[test]
    fn each_level_has_half_as_many() {
        let column = WahBuf::from_ones([3], 10);
        let mut levels = Vec::new();
        let union = pairwise(&[column.as_wah(); 11], |pairs| {
            levels.push(pairs.len());
            unite(pairs)
        });
        assert_eq!(union, column);
        assert_eq!(levels, [5, 3, 1, 1]);
    }

    #[test]
    #[should_panic(expected = "bitmaps of different rows")]
    fn bitmaps_of_different_rows_are_refused() {
        let (a, b) = (WahBuf::none(10), WahBuf::none(11));
        let _ = pairwise(&[a.as_wah(), b.as_wah()], unite);
    }
}
