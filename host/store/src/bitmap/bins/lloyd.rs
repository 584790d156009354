//! Lloyd's algorithm in one dimension (S. P. Lloyd, "Least squares quantization in PCM", IEEE Transactions on
//! Information Theory 28, 1982).
//!
//! Clusters are ranges of the distinct values, in order, so a cluster is two numbers: its start and its end.
//! A round takes the mean of each cluster, and cuts again in the middle between neighbouring means. A value
//! exactly in the middle joins the lower cluster. The algorithm ends with the round that moves no cut.
//!
//! ```text
//! values   0 1 2      7 8  10          40
//! means      ↑          ↑              ↑       of the rows: a value counts as often as it occurs
//! cuts           │             │               between neighbouring means
//! ```
//!
//! The first clusters are quantiles, so that the same values always give the same clusters. A cluster that
//! loses all of its values keeps its mean, and may gain values again. A cluster without values at the end is
//! not a bin.
//!
//! *Cost.* A round takes one sum and one search for each cluster whose neighbours have moved, independent of
//! the number of rows. Sums are kept for blocks of values, for pairs of blocks, and so on, and a range
//! consists of few of these.

use super::super::column::Kind;
use super::MAX_BINS;
use super::cut::{distinct_starts, finite, quantiles};
use super::sorted::float;

/// The maximum number of rounds. After it the clusters stay as they are: with many distinct values, the last
/// rounds move single values.
pub const MAX_ROUNDS: usize = 1000;
/// Number of distinct values of a block.
const BLOCK: usize = 256;

/// Distinct values as coordinates on a line, each a double.
#[derive(Clone, Copy)]
struct Coordinates<'a> {
    keys: &'a [u64],
    /// Number of rows with this value or a lesser one, for each value; `before` is the
    /// number of rows before all values.
    ends: &'a [u64],
    before: u64,
    kind: Kind,
    /// The factor on doubles that keeps every sum finite.
    scale: f64,
}

impl Coordinates<'_> {
    /// Returns a double unchanged but for the scale, or an integer's or instant's distance to the least
    /// value. The distance is exact up to 2⁵³.
    fn at(&self, value: usize) -> f64 {
        match self.kind {
            Kind::Float => float(self.keys[value]) * self.scale,
            _ => (self.keys[value] - self.keys[0]) as f64,
        }
    }

    fn rows_before(&self, value: usize) -> u64 {
        value.checked_sub(1).map_or(self.before, |last| self.ends[last])
    }

    /// Sums a range, value by value.
    fn sum(&self, values: std::ops::Range<usize>) -> f64 {
        let rows = |value| (self.ends[value] - self.rows_before(value)) as f64;
        values.map(|value| rows(value) * self.at(value)).sum()
    }
}

/// Precomputed sums of ranges.
struct Sums<'a> {
    places: Coordinates<'a>,
    /// The sums of blocks, of pairs of blocks, of pairs of pairs, and so on. Nothing is subtracted from a
    /// sum, so small values beside large ones are not lost.
    levels: Vec<Vec<f64>>,
}

impl<'a> Sums<'a> {
    fn of(places: Coordinates<'a>) -> Self {
        let blocks = (0..places.keys.len() / BLOCK).map(|block| block * BLOCK);
        let mut sums: Vec<f64> = blocks.map(|block| places.sum(block..block + BLOCK)).collect();
        let mut levels = Vec::new();
        while !sums.is_empty() {
            let pairs = sums.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect();
            levels.push(std::mem::replace(&mut sums, pairs));
        }
        Self { places, levels }
    }

    fn range(&self, begin: usize, end: usize) -> f64 {
        let (mut first, mut last) = (begin.div_ceil(BLOCK), end / BLOCK);
        if first >= last {
            return self.places.sum(begin..end);
        }
        let mut sum = self.places.sum(begin..first * BLOCK) + self.places.sum(last * BLOCK..end);
        for level in &self.levels {
            // Add a sum that has no partner within the range.
            if first % 2 == 1 && first < last {
                sum += level[first];
                first += 1;
            }
            if last % 2 == 1 && first < last {
                last -= 1;
                sum += level[last];
            }
            (first, last) = (first / 2, last / 2);
        }
        sum
    }

    /// Returns the mean of the rows of a range, which is not empty.
    fn mean(&self, begin: usize, end: usize) -> f64 {
        let rows = self.places.rows_before(end) - self.places.rows_before(begin);
        // The clamp keeps the means in order despite rounding.
        (self.range(begin, end) / rows as f64).clamp(self.places.at(begin), self.places.at(end - 1))
    }
}

/// Cuts distinct numbers or instants into clusters. Returns the numbers of the values at which clusters
/// begin.
pub(super) fn cut(kind: Kind, keys: &[u64], ends: &[u64], bins: usize) -> Vec<usize> {
    let values = if kind == Kind::Float { finite(keys) } else { 0..keys.len() };
    let before = values.start.checked_sub(1).map_or(0, |last| ends[last]);
    let (distinct, first, keys, ends) = (keys.len(), values.start, &keys[values.clone()], &ends[values]);
    let scale = match (kind, keys) {
        // The sum of 2⁴⁰ rows of such values would be infinite.
        (Kind::Float, [least, .., greatest]) if float(*greatest).max(-float(*least)) > 2_f64.powi(960) => {
            2_f64.powi(-64)
        }
        _ => 1.0,
    };
    let starts = clusters(Coordinates { keys, ends, before, kind, scale }, bins.min(MAX_BINS as usize));
    // -∞ joins the first finite value, and ∞ the last.
    distinct_starts(starts.into_iter().skip(1).map(|start| first + start), distinct)
}

fn clusters(places: Coordinates<'_>, bins: usize) -> Vec<usize> {
    let count = places.keys.len();
    let mut cuts = quantiles(places.ends, places.before, bins);
    if cuts.len() == count {
        return cuts;
    }
    cuts.push(count);
    let sums = Sums::of(places);
    let bins = cuts.len() - 1;
    let mut means: Vec<f64> = (0..bins).map(|bin| sums.mean(cuts[bin], cuts[bin + 1])).collect();
    // Marks the means that have moved since the cuts beside them were computed.
    let mut moved = vec![true; bins];
    for _ in 0..MAX_ROUNDS {
        let before = cuts.clone();
        for bin in 1..bins {
            if moved[bin - 1] || moved[bin] {
                let middle = means[bin - 1] + (means[bin] - means[bin - 1]) / 2.0;
                cuts[bin] = partition_point(count, |value| places.at(value) <= middle);
            }
            cuts[bin] = cuts[bin].max(cuts[bin - 1]);
        }
        if cuts == before {
            break;
        }
        for bin in 0..bins {
            let range = (cuts[bin], cuts[bin + 1]);
            let mean = if range == (before[bin], before[bin + 1]) || range.0 == range.1 {
                means[bin]
            } else {
                sums.mean(range.0, range.1)
            };
            moved[bin] = mean != means[bin];
            means[bin] = mean;
        }
    }
    cuts.pop();
    cuts.dedup();
    cuts.retain(|cut| *cut < count);
    cuts
}

/// Returns the number of leading numbers for which `holds` is true. It is false for all later numbers.
fn partition_point(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut begin, mut end) = (0, count);
    while begin < end {
        let middle = begin + (end - begin) / 2;
        if holds(middle) { begin = middle + 1 } else { end = middle }
    }
    begin
}

#[cfg(test)]
mod tests {
    use super::super::sorted::KeyedValue;
    use super::*;

    #[test]
    fn sums_of_ranges_are_those_of_their_values() {
        // Blocks of small values between blocks of large ones, in whose sums the small values would vanish.
        let large = (0..600).map(|i| -1e300 + f64::from(i) * 1e290);
        let small = (0..2000).map(f64::from);
        let values: Vec<f64> = large.clone().chain(small).chain(large.map(|v| -v).rev()).collect();
        let keys: Vec<u64> = values.iter().map(|value| value.key()).collect();
        assert!(keys.is_sorted());
        // Values occur once and three times, after five rows of other values.
        let ends: Vec<u64> = (0..keys.len() as u64).map(|i| 6 + 2 * i + i % 2).collect();
        let places = Coordinates { keys: &keys, ends: &ends, before: 5, kind: Kind::Float, scale: 1.0 };
        let sums = Sums::of(places);
        for (begin, end) in
            [(600, 2600), (601, 2599), (600, 700), (800, 801), (768, 1024), (767, 1025), (700, 2300)]
        {
            let rows = |i: usize| ends[i] - if i == 0 { 5 } else { ends[i - 1] };
            let want: f64 = (begin..end).map(|i| rows(i) as f64 * values[i]).sum();
            assert!(want < 1e8 && sums.range(begin, end) == want, "{begin}..{end}");
            let count: u64 = (begin..end).map(rows).sum();
            assert_eq!(sums.mean(begin, end), want / count as f64);
        }
        assert_eq!(sums.range(0, 0), 0.0);
    }
}
