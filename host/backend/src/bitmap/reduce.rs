//! Unions by set algebra on two compressed bitmaps at a time, as systems of bitmap indexes answer a range query on processors.
//!
//! Both are what Nelson, Sorenson, Myre, Sawin and Chiu (2019, sections 2.1 and 3.2) describe. They are here for what is asked without tiles, and
//! to be measured beside.
//!
//! ```text
//! iterative                        pairwise, of 5 columns: level by level, the pairs of a level side by side
//! r = a₀                           a₀ a₁ a₂ a₃ a₄      3 low, 2 high: a₀ ∪ a₃, a₁ ∪ a₄; a₂ has no partner, and stays
//! r = r ∪ a₁                       b₀ b₁ a₂            2 low, 1 high: b₀ ∪ a₂; b₁ stays
//! r = r ∪ a₂ …                     c₀ b₁               c₀ ∪ b₁
//! ```

use std::thread;

use warpath_shared::wah::Wah;
use warpath_shared::wah::ops::Op;

use warpath_core::wah::WahBuf;

/// The union of bitmaps of as many rows, one after the other. Of no bitmaps it is one of no rows.
///
/// # Panics
/// If they have different rows.
#[must_use]
pub fn union_iterative(columns: &[Wah<'_>]) -> WahBuf {
    let Some((first, rest)) = columns.split_first() else { return WahBuf::none(0) };
    rest.iter().fold(owned(*first), |union, column| WahBuf::of(Op::Or, union.as_wah(), *column))
}

/// The union of bitmaps of as many rows, in pairs, level by level, on so many threads. Of no bitmaps it is one of no rows.
///
/// Threads are started anew for each level that has several pairs; who has threads waiting takes [`union_pairwise_by`].
///
/// # Panics
/// If they have different rows.
#[must_use]
pub fn union_pairwise(columns: &[Wah<'_>], threads: usize) -> WahBuf {
    union_pairwise_by(columns, |pairs| {
        let share = pairs.len().div_ceil(threads.max(1));
        if share == pairs.len() {
            return unite(pairs);
        }
        let mut shares = pairs.chunks(share);
        let own = shares.next().unwrap_or_default();
        thread::scope(|scope| {
            let start = |share| thread::Builder::new().spawn_scoped(scope, move || unite(share));
            let others: Vec<_> = shares.map(|share| (share, start(share))).collect();
            let mut made = unite(own);
            for (share, thread) in others {
                // What no thread could be started for is done here.
                made.extend(match thread {
                    Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    Err(_) => unite(share),
                });
            }
            made
        })
    })
}

/// As [`union_pairwise`], by someone who unites the pairs of a level, side by side where that can be: a bitmap for each pair, in their order.
///
/// # Panics
/// If there is not a bitmap for each pair.
#[must_use]
pub fn union_pairwise_by(
    columns: &[Wah<'_>],
    mut unite: impl FnMut(&[(Wah<'_>, Wah<'_>)]) -> Vec<WahBuf>,
) -> WahBuf {
    let mut level: Vec<Part<'_>> = columns.iter().map(|column| Part::Given(*column)).collect();
    while level.len() > 1 {
        // The one in the middle of an odd number has no partner.
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

/// One of a level.
enum Part<'a> {
    /// As it was given.
    Given(Wah<'a>),
    /// A union.
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

fn unite(pairs: &[(Wah<'_>, Wah<'_>)]) -> Vec<WahBuf> {
    pairs.iter().map(|(a, b)| WahBuf::of(Op::Or, *a, *b)).collect()
}

fn owned(of: Wah<'_>) -> WahBuf {
    let mut builder = warpath_core::wah::Builder::default();
    of.atoms().for_each(|atom| builder.atom(atom));
    builder.finish(of.rows())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// SplitMix64, so that a failure is repeated by its seed.
    struct Rng(u64);

    impl Rng {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ z >> 31) % bound
        }

        /// Rows in runs, short ones or long ones, of a density.
        fn rows(&mut self, rows: u64) -> BTreeSet<u64> {
            let (longest, density) = ([1, 70, 1000][self.below(3) as usize], self.below(101));
            let (mut set, mut at) = (BTreeSet::new(), 0);
            while at < rows {
                let end = rows.min(at + 1 + self.below(longest));
                if self.below(100) < density {
                    set.extend(at..end);
                }
                at = end;
            }
            set
        }
    }

    fn check(sets: &[BTreeSet<u64>], rows: u64) {
        let columns: Vec<WahBuf> =
            sets.iter().map(|set| WahBuf::from_ones(set.iter().copied(), rows)).collect();
        let columns: Vec<Wah<'_>> = columns.iter().map(WahBuf::as_wah).collect();
        let union: BTreeSet<u64> = sets.iter().flatten().copied().collect();
        let want = WahBuf::from_ones(union, rows);
        assert_eq!(union_iterative(&columns), want, "{} columns of {rows} rows", columns.len());
        for threads in [0, 1, 2, 3, 4, 16] {
            let got = union_pairwise(&columns, threads);
            assert_eq!(got, want, "{} columns of {rows} rows, {threads} threads", columns.len());
            assert_eq!(Wah::new(got.words(), rows), Ok(got.as_wah()), "canonical");
        }
    }

    #[test]
    fn unions_are_right_for_every_number_of_columns() {
        let mut rng = Rng(1);
        for count in (1..=20).chain([31, 32, 33, 64, 100]) {
            let rows = [1, 62, 63, 64, 126, 1000, 8064][rng.below(7) as usize];
            let sets: Vec<_> = (0..count).map(|_| rng.rows(rows)).collect();
            check(&sets, rows);
        }
    }

    #[test]
    fn unions_are_right_for_every_sort_of_column() {
        let mut rng = Rng(2);
        for _ in 0..200 {
            let (rows, count) = (1 + rng.below(3000), 1 + rng.below(9));
            let sets: Vec<_> = (0..count).map(|_| rng.rows(rows)).collect();
            check(&sets, rows);
        }
        check(&[BTreeSet::new(), BTreeSet::new(), BTreeSet::new()], 100);
        check(&[(0..126).collect(), BTreeSet::new()], 126);
        check(&[(0..63).collect(), (63..126).collect()], 126);
    }

    #[test]
    fn no_columns_are_no_rows() {
        assert_eq!(union_iterative(&[]), WahBuf::none(0));
        assert_eq!(union_pairwise(&[], 4), WahBuf::none(0));
    }

    #[test]
    fn each_level_has_half_as_many() {
        let column = WahBuf::from_ones([3], 10);
        let mut levels = Vec::new();
        let union = union_pairwise_by(&[column.as_wah(); 11], |pairs| {
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
        let _ = union_pairwise(&[a.as_wah(), b.as_wah()], 1);
    }
}
